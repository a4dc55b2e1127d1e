//! `GET /v1/sets/{set}/entries` and `pairs`: rows of JSON that are sent as they are found.

use std::io;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::body::Body;
use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use futures_util::stream::{self, StreamExt, TryStreamExt};
use hamdex::{Cancellation, Fingerprint, FingerprintSet, Names, PairsOptions, SetError};
use hamdex_any::{AnySet, for_width};
use serde::Deserialize;
use tokio::runtime::Handle;
use tokio::sync::mpsc;
use tokio::{task, time};
use utoipa::IntoParams;

use crate::admission::{CancelOnDrop, panicked};
use crate::api::App;
use crate::api::answer::{write_fingerprint, write_number, write_text};
use crate::api::payload::{Named, Parameters, ROWS};
use crate::api::query::check_distance;
use crate::problem::Problem;
use crate::sets::{IdKind, Served};

/// Bytes that are sent at once.
const CHUNK: usize = 1 << 16;

/// The time after which a row is sent alone.
const LONGEST_WAIT: Duration = Duration::from_millis(100);

/// Chunks that wait for the client.
const WAITING_CHUNKS: usize = 4;

/// Parameters of a walk through a set.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct EntriesParameters {
    /// Begins after this fingerprint, which need not be stored.
    after: Option<String>,
    /// The most entries.
    limit: Option<u64>,
    /// Whether entries have their ids; true if it is not given.
    ids: Option<bool>,
}

/// Parameters of a self-join.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct PairsParameters {
    /// The greatest distance, in bits; without it, that of the set.
    distance: Option<u32>,
    /// The most pairs.
    limit: Option<u64>,
}

/// Why a stream ends before its last row.
enum End {
    /// There are as many rows as are wanted, or the client is gone.
    Enough,
    Failed(Problem),
}

impl From<Problem> for End {
    fn from(problem: Problem) -> Self {
        Self::Failed(problem)
    }
}

impl From<SetError> for End {
    fn from(error: SetError) -> Self {
        Self::Failed(error.into())
    }
}

/// Buffers rows for a client.
struct Rows {
    chunk: Vec<u8>,
    to: mpsc::Sender<Result<Bytes, Problem>>,
    left: u64,
    /// The time of the last chunk.
    sent: Instant,
    patience: Duration,
    cancellation: Cancellation,
    /// Checks that the files read are unchanged.
    check: Box<dyn Fn() -> Result<(), Problem> + Send>,
}

impl Rows {
    /// Returns a set as it is now, from which rows come; they are sent if no file was overwritten or cut off.
    fn read(&mut self, set: Arc<Served>) -> Result<AnySet, Problem> {
        let any = set.current()?;
        let read = any.clone();
        self.check = Box::new(move || set.check(&read));
        Ok(any)
    }

    /// Adds a row without its end; fails after the last one that is wanted. A row may be longer than memory: `write` calls
    /// [`Rows::send_full`] as it grows.
    fn add(&mut self, write: impl FnOnce(&mut Self) -> Result<(), End>) -> Result<(), End> {
        if self.left == 0 {
            return Err(End::Enough);
        }
        write(self)?;
        self.chunk.push(b'\n');
        self.left -= 1;
        let is_due = self.chunk.len() >= CHUNK || self.sent.elapsed() >= LONGEST_WAIT;
        if (is_due && !self.send()?) || self.left == 0 { Err(End::Enough) } else { Ok(()) }
    }

    /// Sends the part of a row that fills a chunk.
    fn send_full(&mut self) -> Result<(), End> {
        if self.chunk.len() >= CHUNK && !self.send()? { Err(End::Enough) } else { Ok(()) }
    }

    /// Sends what there is. Returns whether the client still reads.
    ///
    /// # Errors
    /// When it may be wrong.
    fn send(&mut self) -> Result<bool, Problem> {
        let chunk = std::mem::replace(&mut self.chunk, Vec::with_capacity(CHUNK + 1024));
        (self.check)()?;
        if chunk.is_empty() {
            return Ok(true);
        }
        self.sent = Instant::now();
        Ok(self.deliver(Ok(chunk.into())))
    }

    /// A client that reads nothing for a while counts as gone.
    fn deliver(&self, part: Result<Bytes, Problem>) -> bool {
        let sent = Handle::current().block_on(time::timeout(self.patience, self.to.send(part)));
        let is_sent = matches!(sent, Ok(Ok(())));
        if !is_sent {
            self.cancellation.cancel();
        }
        is_sent
    }
}

/// Runs a producer of rows on a thread of its own, as long as the response is not dropped. Errors before the first chunk
/// have their own status.
async fn stream(
    app: Arc<App>,
    limit: Option<u64>,
    produce: impl FnOnce(&App, &mut Rows) -> Result<(), End> + Send + 'static,
) -> Result<Response, Problem> {
    let place = app.lanes.streams.admit(Some(app.deadline())).await?;
    let (to, mut rows) = mpsc::channel(WAITING_CHUNKS);
    let cancellation = Cancellation::new();
    let work = {
        let (cancellation, patience) = (cancellation.clone(), app.limits.timeout);
        move || {
            let _place = place;
            let left = limit.unwrap_or(u64::MAX);
            let check = Box::new(|| Ok(()));
            let mut rows =
                Rows { chunk: Vec::new(), to, left, sent: Instant::now(), patience, cancellation, check };
            // A stream that ends in a panic is not one that ends.
            let outcome = panic::catch_unwind(AssertUnwindSafe(|| produce(&app, &mut rows)));
            let outcome = outcome.unwrap_or_else(|_| Err(panicked().into()));
            let outcome = match outcome {
                Ok(()) | Err(End::Enough) => Ok(()),
                Err(End::Failed(problem)) => Err(problem),
            };
            match outcome.and_then(|()| rows.send().map(drop)) {
                Ok(()) => {}
                Err(problem) if !rows.cancellation.is_cancelled() => {
                    tracing::warn!(
                        code = problem.code(),
                        detail = problem.detail(),
                        "a stream of rows failed"
                    );
                    if !matches!(rows.send(), Ok(false)) {
                        rows.deliver(Err(problem));
                    }
                }
                Err(_) => {}
            }
        }
    };
    drop(task::spawn_blocking(work));
    let cancel_on_drop = CancelOnDrop(cancellation);
    let first = rows.recv().await.transpose()?;
    let rest = stream::poll_fn(move |context| {
        let _own = &cancel_on_drop;
        rows.poll_recv(context)
    });
    // The connection is cut, so that the client sees an incomplete response.
    let cut = |problem: Problem| io::Error::other(problem.detail().to_owned());
    let body = Body::from_stream(stream::iter(first.map(Ok)).chain(rest).map_err(cut));
    Ok(([(header::CONTENT_TYPE, ROWS)], body).into_response())
}

/// Walk through a set
///
/// A line of JSON per fingerprint, ascending, with its ids. A stream that is cut off ends without its last chunk.
#[utoipa::path(
    get, path = "/v1/sets/{set}/entries", tag = "streams", operation_id = "entries",
    params(("set" = String, Path, description = "The name of the set."), EntriesParameters),
    responses(
        (status = 200, description = "The entries: `{\"fingerprint\":\"0123456789abcdef\",\"ids\":[17]}`.", body = String, content_type = "application/x-ndjson"),
        (status = "4XX", description = "The request is wrong.", body = Problem, content_type = "application/problem+json"),
        (status = "5XX", description = "It cannot be answered now.", body = Problem, content_type = "application/problem+json"),
    ),
)]
pub(crate) async fn entries(
    State(app): State<Arc<App>>,
    Named(set): Named,
    Parameters(parameters): Parameters<EntriesParameters>,
) -> Result<Response, Problem> {
    let EntriesParameters { after, limit, ids } = parameters;
    let with_ids = ids.unwrap_or(true);
    let produce = move |_: &App, rows: &mut Rows| {
        let any = rows.read(set)?;
        for_width!(any.description().width, F => {
            let parse = |text: String| {
                F::parse_hex(&text).map_err(|error| Problem::bad_request("bad_parameter", format!("after: {error}")))
            };
            write_entries::<F>(&any, after.map(parse).transpose()?, with_ids, rows)
        })
    };
    stream(app, limit, produce).await
}

fn write_entries<F: Fingerprint>(
    any: &AnySet,
    after: Option<F>,
    with_ids: bool,
    rows: &mut Rows,
) -> Result<(), End> {
    let set = any.typed::<F>().expect("the width was asked for");
    let from = match after {
        None => F::ZERO,
        Some(after) if after == F::ONES => return Ok(()),
        Some(after) => F::truncate(after.to_u128() + 1),
    };
    let kind = if with_ids { IdKind::of(any.description()) } else { IdKind::None };
    let cancellation = rows.cancellation.clone();
    for entry in set.read_entries(from)? {
        let (fingerprint, ids) = entry?;
        rows.add(|rows| {
            rows.chunk.extend_from_slice(b"{\"fingerprint\":");
            write_fingerprint(fingerprint, &mut rows.chunk);
            if kind != IdKind::None {
                rows.chunk.extend_from_slice(b",\"ids\":[");
                for (place, stored) in ids.enumerate() {
                    rows.send_full()?;
                    if place > 0 {
                        rows.chunk.push(b',');
                    }
                    match kind {
                        IdKind::Names => {
                            let name = set.name_of(stored)?.unwrap_or_default();
                            write_text(&Names::text_of(&name), &mut rows.chunk);
                        }
                        _ => write_number(stored.id, &mut rows.chunk),
                    }
                }
                rows.chunk.push(b']');
            }
            rows.chunk.push(b'}');
            Ok(())
        })?;
        if cancellation.is_cancelled() {
            return Err(End::Enough);
        }
    }
    Ok(())
}

/// Find all pairs within a distance of each other
///
/// A line of JSON per pair, each once. A stream that is cut off ends without its last chunk.
#[utoipa::path(
    get, path = "/v1/sets/{set}/pairs", tag = "streams", operation_id = "pairs",
    params(("set" = String, Path, description = "The name of the set."), PairsParameters),
    responses(
        (status = 200, description = "The pairs: `{\"a\":\"0123456789abcdee\",\"b\":\"0123456789abcdef\",\"distance\":1}`.", body = String, content_type = "application/x-ndjson"),
        (status = "4XX", description = "The request is wrong.", body = Problem, content_type = "application/problem+json"),
        (status = "5XX", description = "It cannot be answered now.", body = Problem, content_type = "application/problem+json"),
    ),
)]
pub(crate) async fn pairs(
    State(app): State<Arc<App>>,
    Named(set): Named,
    Parameters(PairsParameters { distance, limit }): Parameters<PairsParameters>,
) -> Result<Response, Problem> {
    let produce = move |app: &App, rows: &mut Rows| {
        let any = rows.read(set)?;
        let distance = distance.unwrap_or(any.description().distance);
        check_distance(app, any.description(), distance)?;
        let threads = app.threads.div_ceil(2);
        for_width!(any.description().width, F => write_pairs::<F>(&any, distance, threads, rows))
    };
    stream(app, limit, produce).await
}

fn write_pairs<F: Fingerprint>(
    any: &AnySet,
    distance: u32,
    threads: usize,
    rows: &mut Rows,
) -> Result<(), End> {
    let set: &dyn FingerprintSet<F> = &**any.typed::<F>().expect("the width was asked for");
    let options = PairsOptions::new().threads(threads).cancellation(rows.cancellation.clone());
    set.pairs_with(distance, &options, |pairs| {
        for pair in pairs {
            rows.add(|Rows { chunk, .. }| {
                chunk.extend_from_slice(b"{\"a\":");
                write_fingerprint(pair.a, chunk);
                chunk.extend_from_slice(b",\"b\":");
                write_fingerprint(pair.b, chunk);
                chunk.extend_from_slice(format!(",\"distance\":{}}}", pair.distance).as_bytes());
                Ok(())
            })?;
        }
        Ok(())
    })
}
