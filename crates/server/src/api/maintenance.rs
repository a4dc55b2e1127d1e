//! `/v1/sets/{set}/flush`, `compact`, `backup` and `verify`, and the jobs that do it.

use hamdex_store::for_any_store;
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::SystemTime;

use axum::Json;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use hamdex::{Report, Verified, VerifyOptions};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use utoipa::ToSchema;

use crate::api::App;
use crate::api::payload::{Named, Optional, PathParts};
use crate::jobs::{Job, State as JobState};
use crate::problem::{Problem, store_io};
use crate::sets::{Served, check_name};

/// A body without fields.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Nothing {}

/// The place of a backup.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct BackupRequest {
    /// The name of the copy in the directory of backups; without it, that of the set with the time.
    #[schema(example = "pages-monday")]
    name: Option<String>,
}

/// All jobs.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct JobList {
    /// The jobs, the oldest first.
    jobs: Vec<Job>,
}

/// A job with status 202, or 200 if it has ended.
fn accepted(job: Job) -> Response {
    let status = if job.state == JobState::Running { StatusCode::ACCEPTED } else { StatusCode::OK };
    let location = format!("/v1/jobs/{}", job.id);
    (status, [(header::LOCATION, location)], Json(job)).into_response()
}

/// Starts a job, and answers at once.
///
/// # Errors
/// When too many jobs wait already.
fn start(
    app: &Arc<App>,
    set: Arc<Served>,
    work: &'static str,
    run: impl FnOnce(&Served, Report) -> Result<Value, Problem> + Send + 'static,
) -> Result<Response, Problem> {
    let (place, name) = (app.lanes.jobs.place()?, set.name.clone());
    Ok(accepted(app.jobs.start(work, place, &name, move |report| run(&set, report)).0))
}

/// Write what is in memory to a segment
///
/// Answers when it is written, or with status 202 and a job if that takes longer than a request may.
#[utoipa::path(
    post, path = "/v1/sets/{set}/flush", tag = "maintenance", operation_id = "flush",
    params(("set" = String, Path, description = "The name of the set.")),
    request_body(content = Option<Nothing>, content_type = "application/json"),
    responses(
        (status = 200, description = "It is written.", body = Job),
        (status = 202, description = "It is being written.", body = Job),
        (status = "4XX", description = "The request is wrong.", body = Problem, content_type = "application/problem+json"),
        (status = "5XX", description = "It cannot be done now.", body = Problem, content_type = "application/problem+json"),
    ),
)]
pub(crate) async fn flush(
    State(app): State<Arc<App>>,
    Named(set): Named,
    Optional(Nothing {}): Optional<Nothing>,
) -> Result<Response, Problem> {
    let written = set.opened_for_writing()?;
    let run = {
        let set = Arc::clone(&set);
        // Nothing cancels a flush.
        move |_| {
            for_any_store!(&set.writable()?.store, store => store.flush())?;
            Ok(json!({}))
        }
    };
    // As a write, it does not wait for long jobs.
    let place = written.writes.place()?;
    let (job, end) = app.jobs.start("flush", place, &set.name, run);
    match tokio::time::timeout_at(app.deadline().into(), end).await {
        Err(_) => Ok(accepted(job)),
        Ok(Job { problem: Some(problem), .. }) => Err(problem),
        Ok(job) => Ok(accepted(job)),
    }
}

/// Merge all segments of a store into one
///
/// Queries and writes go on meanwhile.
#[utoipa::path(
    post, path = "/v1/sets/{set}/compact", tag = "maintenance", operation_id = "compact",
    params(("set" = String, Path, description = "The name of the set.")),
    request_body(content = Option<Nothing>, content_type = "application/json"),
    responses(
        (status = 202, description = "The job.", body = Job),
        (status = "4XX", description = "The request is wrong.", body = Problem, content_type = "application/problem+json"),
        (status = "5XX", description = "It cannot be done now.", body = Problem, content_type = "application/problem+json"),
    ),
)]
pub(crate) async fn compact(
    State(app): State<Arc<App>>,
    Named(set): Named,
    Optional(Nothing {}): Optional<Nothing>,
) -> Result<Response, Problem> {
    check(&app, &set, |set| set.writable().map(drop)).await?;
    start(&app, set, "compact", |set, report| {
        let store = &set.writable()?.store;
        for_any_store!(store, store => {
            store.compact_with(&report)?;
            Ok(json!({ "segments": store.stats().segments.len() }))
        })
    })
}

/// Copy a store
///
/// The copy is a store of the moment of the request or later, in the directory of backups of the service, and is checked
/// as it is made. On a file system that can do it, segments share their blocks with the originals, so that a copy takes
/// little space. Queries and writes go on meanwhile.
#[utoipa::path(
    post, path = "/v1/sets/{set}/backup", tag = "maintenance", operation_id = "backup",
    params(("set" = String, Path, description = "The name of the set.")),
    request_body(content = Option<BackupRequest>, content_type = "application/json"),
    responses(
        (status = 202, description = "The job. Its result has the path of the copy.", body = Job),
        (status = 409, description = "There is a copy of that name.", body = Problem, content_type = "application/problem+json"),
        (status = "4XX", description = "The request is wrong.", body = Problem, content_type = "application/problem+json"),
        (status = "5XX", description = "It cannot be done now.", body = Problem, content_type = "application/problem+json"),
    ),
)]
pub(crate) async fn backup(
    State(app): State<Arc<App>>,
    Named(set): Named,
    Optional(request): Optional<BackupRequest>,
) -> Result<Response, Problem> {
    set.opened_for_writing()?;
    let name = match request.name {
        Some(name) => {
            check_name(&name)?;
            name
        }
        None => {
            format!("{}-{}", set.name, humantime::format_rfc3339_millis(SystemTime::now())).replace(':', "")
        }
    };
    let directory = app.sets.backups_of(&set);
    let target: PathBuf = directory.join(&name);
    let exists = format!("there is a backup {name:?} already; choose another name");
    let new = target.clone();
    let check_target = move |set: &Served| {
        set.writable()?;
        let is_new = new.symlink_metadata().is_err();
        if is_new { Ok(()) } else { Err(Problem::new(StatusCode::CONFLICT, "exists", exists)) }
    };
    check(&app, &set, check_target).await?;
    start(&app, set, "backup", move |set, report| {
        fs::create_dir_all(&directory).map_err(store_io("create it", &directory))?;
        let store = &set.writable()?.store;
        for_any_store!(store, store => store.backup_with(&target, &report))?;
        Ok(json!({ "name": name, "path": target.display().to_string() }))
    })
}

/// Read and check every byte of a set
#[utoipa::path(
    post, path = "/v1/sets/{set}/verify", tag = "maintenance", operation_id = "verify",
    params(("set" = String, Path, description = "The name of the set.")),
    request_body(content = Option<Nothing>, content_type = "application/json"),
    responses(
        (status = 202, description = "The job. It fails with the code `damaged` and the file if something is.", body = Job),
        (status = "4XX", description = "The request is wrong.", body = Problem, content_type = "application/problem+json"),
        (status = "5XX", description = "It cannot be done now.", body = Problem, content_type = "application/problem+json"),
    ),
)]
pub(crate) async fn verify(
    State(app): State<Arc<App>>,
    Named(set): Named,
    Optional(Nothing {}): Optional<Nothing>,
) -> Result<Response, Problem> {
    start(&app, set, "verify", |set, report| {
        let options = VerifyOptions::new().threads(1).report_to(report);
        Ok(summary(&set.verify(&options)?))
    })
}

/// Checks a set before a job begins, apart from the threads that poll sockets, since it looks at the disk.
///
/// # Errors
/// That of the check; when too many requests wait.
async fn check(
    app: &App,
    set: &Arc<Served>,
    check: impl FnOnce(&Served) -> Result<(), Problem> + Send + 'static,
) -> Result<(), Problem> {
    let set = Arc::clone(set);
    app.lanes.queries.run(app.deadline(), move |_| check(&set)).await
}

fn summary(verified: &Verified) -> Value {
    json!({
        "files": verified.files,
        "bytes": verified.bytes,
        "tables": verified.tables,
        "blocks": verified.blocks,
        "fingerprints": verified.fingerprints,
        "ids": verified.ids,
        "names": verified.names,
        "batches": verified.batches,
        "notes": verified.notes,
    })
}

/// List all jobs
#[utoipa::path(
    get, path = "/v1/jobs", tag = "maintenance", operation_id = "list_jobs",
    responses((status = 200, description = "The jobs that run, and the last ones that have ended.", body = JobList)),
)]
pub(crate) async fn jobs(State(app): State<Arc<App>>) -> Json<JobList> {
    Json(JobList { jobs: app.jobs.list() })
}

/// Get a job
#[utoipa::path(
    get, path = "/v1/jobs/{job}", tag = "maintenance", operation_id = "get_job",
    params(("job" = String, Path, description = "The number of the job.")),
    responses(
        (status = 200, description = "The job.", body = Job),
        (status = "4XX", description = "There is no such job.", body = Problem, content_type = "application/problem+json"),
    ),
)]
pub(crate) async fn job(
    State(app): State<Arc<App>>,
    PathParts(id): PathParts<String>,
) -> Result<Json<Job>, Problem> {
    app.jobs.get(&id).map(Json)
}

/// Cancel a job
///
/// It ends soon, and leaves nothing unfinished. A flush goes on to its end, since nothing cancels it.
#[utoipa::path(
    delete, path = "/v1/jobs/{job}", tag = "maintenance", operation_id = "cancel_job",
    params(("job" = String, Path, description = "The number of the job.")),
    responses(
        (status = 202, description = "The job, which is being cancelled.", body = Job),
        (status = "4XX", description = "There is no such job.", body = Problem, content_type = "application/problem+json"),
    ),
)]
pub(crate) async fn cancel(
    State(app): State<Arc<App>>,
    PathParts(id): PathParts<String>,
) -> Result<(StatusCode, Json<Job>), Problem> {
    app.jobs.stop(&id).map(|job| (StatusCode::ACCEPTED, Json(job)))
}
