//! The API: a file per group of requests, the parts that they share, and the state of the service.
//!
//! - [`sets`]: the sets, and new stores
//! - [`query`], [`similar`], [`insert`], [`remove`]: queries and changes
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
mod similar;
mod streams;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use arc_swap::ArcSwap;
use axum::http::StatusCode;
use axum::routing::{get, post};
use axum::{Router, middleware};

pub(crate) use guard::{Client, MAX_HEAD};

use crate::admission::{self, Budget, Lanes};
use crate::jobs::Jobs;
use crate::metrics::Metrics;
use crate::options::{Config, Limits};
use crate::problem::{Failure, Problem};
use crate::sets::Sets;
use crate::tokens::Tokens;

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

/// The state that all requests share.
pub(crate) struct App {
    pub(crate) sets: Sets,
    pub(crate) lanes: Lanes,
    pub(crate) limits: Limits,
    pub(crate) budget: Arc<Budget>,
    pub(crate) threads: usize,
    pub(crate) tokens: ArcSwap<Tokens>,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) jobs: Jobs,
    /// Whether requests without a token may come by any name of this machine.
    pub(crate) allows_any_host: bool,
    /// Whether the log has the addresses of clients.
    pub(crate) logs_clients: bool,
    is_ending: AtomicBool,
}

impl App {
    pub(crate) fn open(config: &Config) -> Result<Arc<Self>, Failure> {
        let tokens = Tokens::load(config.token_file.as_deref(), config.read_token_file.as_deref())?;
        let metrics = Arc::new(Metrics::new());
        Ok(Arc::new(Self {
            sets: Sets::open(config, &metrics)?,
            lanes: Lanes::new(config.threads),
            limits: config.limits,
            budget: Budget::new(config.limits.body),
            threads: config.threads,
            allows_any_host: config.insecure,
            logs_clients: config.log_clients,
            tokens: ArcSwap::from_pointee(tokens),
            metrics,
            jobs: Jobs::default(),
            is_ending: AtomicBool::new(false),
        }))
    }

    /// The deadline of a request that begins now.
    pub(crate) fn deadline(&self) -> Instant {
        admission::deadline(self.limits.timeout)
    }

    pub(crate) fn begin_ending(&self) {
        self.is_ending.store(true, Ordering::Relaxed);
    }

    pub(crate) fn is_ending(&self) -> bool {
        self.is_ending.load(Ordering::Relaxed)
    }
}
