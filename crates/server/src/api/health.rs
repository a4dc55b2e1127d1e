//! `/healthz`, `/readyz` and `/metrics`.

use std::sync::Arc;

use axum::extract::State;
use axum::http::header;
use axum::response::IntoResponse;

use crate::api::gauges;
use crate::app::App;
use crate::lane::broken;
use crate::problem::Problem;

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
    let text = tokio::task::spawn_blocking(move || app.metrics.render(|| gauges::observe(&app))).await;
    let text = text.map_err(|error| broken(&error))?;
    Ok(([(header::CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")], text))
}
