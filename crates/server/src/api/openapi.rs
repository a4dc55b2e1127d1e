//! The OpenAPI document.

use axum::http::header;
use axum::response::IntoResponse;
use utoipa::openapi::security::{HttpAuthScheme, HttpBuilder, SecurityScheme};
use utoipa::{Modify, OpenApi};

use crate::api::{insert, inspect, lookup, maintenance, query, remove, service, sets, streams};

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
        query::query, query::fingerprints, lookup::records, insert::insert, remove::remove,
        maintenance::flush, maintenance::compact, maintenance::backup, maintenance::verify,
        maintenance::jobs, maintenance::job, maintenance::cancel,
        streams::entries, streams::pairs,
        inspect::tables, inspect::block,
        service::healthz, service::readyz, service::metrics,
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
pub(crate) async fn get() -> impl IntoResponse {
    ([(header::CONTENT_TYPE, "application/json")], openapi())
}
