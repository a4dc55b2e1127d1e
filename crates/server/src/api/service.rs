//! The service itself: `/healthz`, `/readyz`, `/metrics`, whose gauges are set at each scrape, `/openapi.json`, and `/`, the
//! page, one HTML file that loads nothing else.

use std::sync::Arc;

use ::metrics::{counter, gauge};
use axum::extract::State;
use axum::http::{HeaderName, StatusCode, header};
use axum::response::{IntoResponse, Response};
use hamdex::inspect::blocks_read;
use hamdex_store::for_any_store;
use utoipa::openapi::security::{HttpAuthScheme, HttpBuilder, SecurityScheme};
use utoipa::{Modify, OpenApi};

use crate::admission::broken;
use crate::api::{App, insert, inspect, maintenance, query, records, remove, sets, streams};
use crate::problem::Problem;
use crate::sets::Served;

/// Whether the service is alive
///
/// It needs no token.
#[utoipa::path(
    get, path = "/healthz", tag = "service", operation_id = "healthz", security(()),
    responses((status = 200, description = "It is.", body = String, content_type = "text/plain")),
)]
pub(crate) async fn healthz() -> &'static str {
    "ok\n"
}

/// Whether the service takes requests
///
/// It does not while it shuts down. It needs no token.
#[utoipa::path(
    get, path = "/readyz", tag = "service", operation_id = "readyz", security(()),
    responses(
        (status = 200, description = "It does.", body = String, content_type = "text/plain"),
        (status = 503, description = "It shuts down.", body = Problem, content_type = "application/problem+json"),
    ),
)]
pub(crate) async fn readyz(State(app): State<Arc<App>>) -> Result<&'static str, Problem> {
    if app.is_ending() { Err(Problem::shutting_down()) } else { Ok("ready\n") }
}

/// Metrics, in the text form of Prometheus
#[utoipa::path(
    get, path = "/metrics", tag = "service", operation_id = "metrics",
    responses((status = 200, description = "The metrics.", body = String, content_type = "text/plain")),
)]
pub(crate) async fn metrics(State(app): State<Arc<App>>) -> Result<impl IntoResponse, Problem> {
    // Logs are listed, which a full queue of queries must not delay.
    let text = tokio::task::spawn_blocking(move || app.metrics.render(|| observe(&app))).await;
    let text = text.map_err(|error| broken(&error))?;
    Ok(([(header::CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")], text))
}

/// Sets all gauges.
pub(super) fn observe(app: &App) {
    counter!("hamdex_blocks_read_total").absolute(blocks_read());
    gauge!("hamdex_held_bytes").set(app.budget.held() as f64);
    for lane in app.lanes.all() {
        gauge!("hamdex_waiting", "for" => lane.name()).set(lane.waiting() as f64);
    }
    let sets = app.sets.all();
    gauge!("hamdex_sets").set(sets.len() as f64);
    sets.iter().for_each(|set| of_set(set));
}

fn of_set(set: &Served) {
    let of = |name: &'static str| gauge!(name, "set" => set.name.clone());
    let description = set.description();
    of("hamdex_set_up").set(if description.is_ok() { 1.0 } else { 0.0 });
    let Ok(description) = description else { return };
    of("hamdex_set_fingerprints").set(description.fingerprints as f64);
    let Some(written) = set.written() else { return };
    let stats = for_any_store!(&written.store, store => store.stats());
    of("hamdex_store_segments").set(stats.segments.len() as f64);
    of("hamdex_store_bytes").set(stats.bytes as f64);
    of("hamdex_store_memtable_records").set(stats.recent as f64);
    of("hamdex_store_memtable_bytes").set(stats.recent_bytes as f64);
    of("hamdex_store_removed_records").set(stats.removed as f64);
    of("hamdex_store_write_amplification").set(stats.write_amplification);
    of("hamdex_store_writes_waiting").set(written.writes.waiting() as f64);
    if let Ok(inspected) = hamdex_store::inspect(&set.path) {
        of("hamdex_store_log_bytes").set(inspected.logs.iter().map(|log| log.bytes).sum::<u64>() as f64);
    }
    if let Some(health) = stats.health {
        of("hamdex_store_unsynced_seconds").set(health.unsynced.map_or(0.0, |age| age.as_secs_f64()));
        of("hamdex_store_pressure").set(f64::from(health.pressure as u8));
        for work in ["flush", "merge", "sync", "log"] {
            let failure = health.failures.iter().find(|failure| failure.work.to_string() == work);
            gauge!("hamdex_store_failing", "set" => set.name.clone(), "work" => work)
                .set(failure.map_or(0.0, |failure| failure.attempts as f64));
        }
    }
}

const PAGE: &str = include_str!("page.html");

/// The page may load nothing but what the service answers, and no other page may show it.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; connect-src 'self'; \
                      img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// `GET /`
pub(crate) async fn page() -> Response {
    page_with(StatusCode::OK)
}

/// Returns the page, which asks for a token if requests need one.
pub(crate) fn page_with(status: StatusCode) -> Response {
    let headers: [(HeaderName, &str); 3] = [
        (header::CONTENT_TYPE, "text/html; charset=utf-8"),
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::CACHE_CONTROL, "no-cache"),
    ];
    (status, headers, PAGE).into_response()
}

/// The description of the API.
#[derive(OpenApi)]
#[openapi(
    info(
        title = "hamdex",
        description = "Sets of simhash fingerprints: all stored ones within k bits of a query, exactly.",
        license(name = "MIT OR Apache-2.0", identifier = "MIT OR Apache-2.0"),
        version = "1",
    ),
    servers((url = "/", description = "This service.")),
    security(("token" = [])),
    modifiers(&Tokens),
    paths(
        sets::list, sets::get, sets::create, sets::delete,
        query::query, query::fingerprints, records::records, insert::insert, remove::remove,
        maintenance::flush, maintenance::compact, maintenance::backup, maintenance::verify,
        maintenance::jobs, maintenance::job, maintenance::cancel,
        streams::entries, streams::pairs,
        inspect::tables, inspect::block,
        healthz, readyz, metrics,
    ),
    tags(
        (name = "sets", description = "The sets of the service."),
        (name = "queries", description = "Near fingerprints."),
        (name = "changes", description = "Changes of stores."),
        (name = "streams", description = "Whole sets, as lines of JSON."),
        (name = "maintenance", description = "Long work on sets, as jobs."),
        (name = "inspection", description = "A look inside index files."),
        (name = "service", description = "The service itself."),
    ),
)]
struct Document;

/// Adds the tokens, which requests need if the service has some.
struct Tokens;

impl Modify for Tokens {
    fn modify(&self, document: &mut utoipa::openapi::OpenApi) {
        let components = document.components.get_or_insert_default();
        let token = HttpBuilder::new()
            .scheme(HttpAuthScheme::Bearer)
            .description(Some("A token of the service; none if it has none."))
            .build();
        components.add_security_scheme("token", SecurityScheme::Http(token));
    }
}

/// Returns the OpenAPI document of the service, as JSON.
#[must_use]
pub fn openapi() -> String {
    let mut text = Document::openapi().to_pretty_json().expect("a document is plain data");
    text.push('\n');
    text
}

/// `GET /openapi.json`
pub(crate) async fn description() -> impl IntoResponse {
    ([(header::CONTENT_TYPE, "application/json")], openapi())
}
