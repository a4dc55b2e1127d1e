//! The API: a file per group of requests, and the parts that they share.
//!
//! - [`sets`]: the sets, and new stores
//! - [`query`], [`insert`], [`remove`]: queries and changes
//! - [`streams`]: entries and pairs, as lines of JSON
//! - [`maintenance`]: long work, as jobs
//! - [`inspect`]: a look inside index files
//! - [`service`]: the service itself
//! - [`payload`], [`json`], [`records`], [`answer`]: the parts of requests and responses
//! - [`guard`]: tokens, origins, logs and metrics of every request

mod answer;
mod guard;
mod insert;
mod inspect;
mod json;
mod maintenance;
mod payload;
mod query;
mod records;
mod remove;
pub(crate) mod service;
mod sets;
mod streams;

use std::sync::Arc;

use axum::http::StatusCode;
use axum::routing::{get, post};
use axum::{Router, middleware};

use crate::app::App;
use crate::problem::Problem;

pub(crate) use guard::{Client, MAX_HEAD};

/// Returns all routes.
pub(crate) fn router(app: &Arc<App>) -> Router {
    let set = Router::new()
        .route("/", get(sets::list))
        .route("/{set}", get(sets::get).put(sets::create).delete(sets::delete))
        .route("/{set}/query", post(query::query))
        .route("/{set}/fingerprints", post(query::fingerprints))
        .route("/{set}/insert", post(insert::insert))
        .route("/{set}/remove", post(remove::remove))
        .route("/{set}/records/{id}", get(records::records))
        .route("/{set}/flush", post(maintenance::flush))
        .route("/{set}/compact", post(maintenance::compact))
        .route("/{set}/backup", post(maintenance::backup))
        .route("/{set}/verify", post(maintenance::verify))
        .route("/{set}/entries", get(streams::entries))
        .route("/{set}/pairs", get(streams::pairs))
        .route("/{set}/tables", get(inspect::tables))
        .route("/{set}/blocks", get(inspect::block));
    Router::new()
        .nest("/v1/sets", set)
        .route("/v1/jobs", get(maintenance::jobs))
        .route("/v1/jobs/{job}", get(maintenance::job).delete(maintenance::cancel))
        .route("/healthz", get(service::healthz))
        .route("/readyz", get(service::readyz))
        .route("/metrics", get(service::metrics))
        .route("/openapi.json", get(service::description))
        .route("/", get(service::page))
        .fallback(async || {
            Problem::not_found("not_found", "there is nothing at this path; /openapi.json lists all")
        })
        .method_not_allowed_fallback(async || {
            let detail = "this path has no such method; /openapi.json lists all";
            Problem::new(StatusCode::METHOD_NOT_ALLOWED, "method_not_allowed", detail)
        })
        .layer(middleware::from_fn_with_state(Arc::clone(app), guard::guard))
        .with_state(Arc::clone(app))
}
