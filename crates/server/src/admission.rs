//! Admission control: a lane limits the running and the waiting requests of one kind, and a budget the bytes of long bodies
//! and answers that are held at once, however many clients send or read them slowly.
//!
//! Work never runs on the threads that poll sockets, and lanes do not wait for each other: a pair stream or a
//! compaction does not delay small queries. A request that may neither run nor wait is refused.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use axum::body::Body;
use axum::response::Response;
use hamdex::Cancellation;
use http_body_util::BodyExt;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::{self, JoinError};
use tokio::time;

use crate::problem::Problem;

/// Work of one kind, in plural: `queries`.
pub(crate) struct Lane {
    name: &'static str,
    running: Arc<Semaphore>,
    waiting: Arc<Semaphore>,
    max_waiting: usize,
}

/// Cancels the work when the request is dropped, since its client is gone.
pub(crate) struct CancelOnDrop(pub(crate) Cancellation);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

/// A place in a lane: to run, or to wait until one to run is free.
pub(crate) enum Place {
    Running(OwnedSemaphorePermit),
    Waiting(Arc<Semaphore>, OwnedSemaphorePermit),
}

impl Place {
    /// Waits for the permit to run.
    ///
    /// # Errors
    /// When the deadline passes, or the service ends.
    pub(crate) async fn permit(self, deadline: Option<Instant>) -> Result<OwnedSemaphorePermit, Problem> {
        let (running, _waiting) = match self {
            Self::Running(permit) => return Ok(permit),
            Self::Waiting(running, waiting) => (running, waiting),
        };
        let permit = running.acquire_owned();
        let permit = match deadline {
            Some(deadline) => {
                time::timeout_at(deadline.into(), permit).await.map_err(|_| Problem::timeout())?
            }
            None => permit.await,
        };
        permit.map_err(|_| Problem::shutting_down())
    }
}

impl Lane {
    pub(crate) fn new(name: &'static str, running: usize, waiting: usize) -> Self {
        Self {
            name,
            running: Arc::new(Semaphore::new(running)),
            waiting: Arc::new(Semaphore::new(waiting)),
            max_waiting: waiting,
        }
    }

    pub(crate) fn name(&self) -> &'static str {
        self.name
    }

    /// The number of requests that wait.
    pub(crate) fn waiting(&self) -> usize {
        self.max_waiting - self.waiting.available_permits()
    }

    /// Waits for a permit to run.
    ///
    /// # Errors
    /// When too many wait already, or the deadline passes.
    pub(crate) async fn admit(&self, deadline: Option<Instant>) -> Result<OwnedSemaphorePermit, Problem> {
        self.place()?.permit(deadline).await
    }

    /// Takes a place at once.
    ///
    /// # Errors
    /// When too many wait already.
    pub(crate) fn place(&self) -> Result<Place, Problem> {
        if let Ok(permit) = Arc::clone(&self.running).try_acquire_owned() {
            return Ok(Place::Running(permit));
        }
        let waiting = Arc::clone(&self.waiting).try_acquire_owned();
        let waiting = waiting.map_err(|_| Problem::too_many(self.name))?;
        Ok(Place::Waiting(Arc::clone(&self.running), waiting))
    }

    /// Runs work on a thread of its own, once there is a place. When the request is dropped or the deadline passes, the
    /// work is cancelled.
    ///
    /// # Errors
    /// That of the work; when it is not admitted.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        deadline: Instant,
        work: impl FnOnce(&Cancellation) -> Result<T, Problem> + Send + 'static,
    ) -> Result<T, Problem> {
        let permit = self.admit(Some(deadline)).await?;
        let cancellation = Cancellation::at(deadline);
        let _cancel_on_drop = CancelOnDrop(cancellation.clone());
        on_thread(permit, move || work(&cancellation)).await
    }
}

/// Runs work that has been admitted on a thread of its own. It goes on to its end if this future is dropped.
///
/// # Errors
/// That of the work.
pub(crate) async fn on_thread<T: Send + 'static>(
    permit: OwnedSemaphorePermit,
    work: impl FnOnce() -> Result<T, Problem> + Send + 'static,
) -> Result<T, Problem> {
    let work = task::spawn_blocking(move || {
        let _permit = permit;
        work()
    });
    work.await.unwrap_or_else(|error| Err(broken(&error)))
}

/// The problem of work that panicked. The panic itself is in the log.
pub(crate) fn broken(error: &JoinError) -> Problem {
    tracing::error!(%error, "a request ended in a panic");
    panicked()
}

/// As [`broken`].
pub(crate) fn panicked() -> Problem {
    Problem::internal("an error in the service itself; its log has more")
}

/// The lanes of the service. Those of writes belong to stores.
pub(crate) struct Lanes {
    /// Small queries.
    pub(crate) queries: Lane,
    /// Queries at a great distance, or many at once.
    pub(crate) heavy: Lane,
    /// Streams of entries and pairs.
    pub(crate) streams: Lane,
    /// Maintenance.
    pub(crate) jobs: Lane,
}

/// Small queries that may wait per thread.
const WAITING_QUERIES: usize = 1024;

/// Heavy queries, streams and jobs that may wait.
const WAITING_HEAVY: usize = 64;

impl Lanes {
    pub(crate) fn new(threads: usize) -> Self {
        Self {
            queries: Lane::new("queries", threads, threads.saturating_mul(WAITING_QUERIES)),
            heavy: Lane::new("heavy queries", threads.div_ceil(2), WAITING_HEAVY),
            streams: Lane::new("streams", (2 * threads).max(4), WAITING_HEAVY),
            jobs: Lane::new("jobs", 2, WAITING_HEAVY),
        }
    }

    pub(crate) fn all(&self) -> [&Lane; 4] {
        [&self.queries, &self.heavy, &self.streams, &self.jobs]
    }
}

/// Returns the deadline of a request that begins now.
pub(crate) fn deadline(timeout: Duration) -> Instant {
    Instant::now() + timeout
}

/// The least limit, which several answers of the greatest length fit into.
const LEAST: usize = 1 << 30;

/// Bodies of the greatest length that can be held at once.
const BODIES: usize = 4;

/// The bytes that are held, and their limit.
#[derive(Debug)]
pub(crate) struct Budget {
    held: AtomicUsize,
    most: usize,
}

/// Bytes that are held, until this is dropped.
#[derive(Debug)]
pub(crate) struct Held {
    budget: Arc<Budget>,
    bytes: usize,
}

impl Budget {
    /// Creates a budget for bodies of at most `body` bytes.
    pub(crate) fn new(body: usize) -> Arc<Self> {
        Arc::new(Self { held: AtomicUsize::new(0), most: body.saturating_mul(BODIES).max(LEAST) })
    }

    /// Returns the number of bytes that are held.
    pub(crate) fn held(&self) -> usize {
        self.held.load(Ordering::Relaxed)
    }

    /// Begins to hold bytes.
    pub(crate) fn hold(self: &Arc<Self>) -> Held {
        Held { budget: Arc::clone(self), bytes: 0 }
    }

    /// Holds the bytes of an answer until it is sent.
    ///
    /// # Errors
    /// When too many are held.
    pub(crate) fn answer(self: &Arc<Self>, answer: Response) -> Result<Response, Problem> {
        let mut held = self.hold();
        held.add(length(&answer))?;
        Ok(held.until_sent(answer))
    }

    /// As [`Budget::answer`], however many are held: the answer says what has been done.
    pub(crate) fn answer_done(self: &Arc<Self>, answer: Response) -> Response {
        let mut held = self.hold();
        held.add_done(length(&answer));
        held.until_sent(answer)
    }
}

/// Returns the bytes of an answer.
fn length(answer: &Response) -> usize {
    let bytes = hyper::body::Body::size_hint(answer.body()).exact().unwrap_or_default();
    usize::try_from(bytes).unwrap_or(usize::MAX)
}

impl Held {
    /// Holds more bytes.
    ///
    /// # Errors
    /// When too many are held.
    pub(crate) fn add(&mut self, bytes: usize) -> Result<(), Problem> {
        let sum = |held: usize| held.checked_add(bytes).filter(|&sum| sum <= self.budget.most);
        let added = self.budget.held.fetch_update(Ordering::Relaxed, Ordering::Relaxed, sum);
        added.map_err(|_| Problem::too_many("bytes of bodies and answers"))?;
        self.bytes += bytes;
        Ok(())
    }

    /// Holds bytes that cannot be refused any more.
    pub(crate) fn add_done(&mut self, bytes: usize) {
        self.budget.held.fetch_add(bytes, Ordering::Relaxed);
        self.bytes += bytes;
    }

    /// Holds the bytes until an answer is sent.
    fn until_sent(self, answer: Response) -> Response {
        answer.map(|body| {
            Body::new(body.map_err(move |error| {
                // The body owns this function.
                let _held = &self;
                error
            }))
        })
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.budget.held.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn work_beyond_the_queue_is_refused_and_work_whose_request_is_gone_is_stopped() {
        let lane = Arc::new(Lane::new("tests", 1, 1));
        let late = deadline(Duration::from_secs(60));
        let (started, has_started) = tokio::sync::oneshot::channel();
        let (ended, has_ended) = tokio::sync::oneshot::channel();
        let first = task::spawn({
            let lane = Arc::clone(&lane);
            async move {
                lane.run(late, |cancellation| {
                    started.send(()).unwrap();
                    while !cancellation.is_cancelled() {
                        std::thread::yield_now();
                    }
                    ended.send(()).unwrap();
                    Ok(())
                })
                .await
            }
        });
        has_started.await.unwrap();
        let second = task::spawn({
            let lane = Arc::clone(&lane);
            async move { lane.run(late, |_| Ok(2)).await }
        });
        while lane.waiting() == 0 {
            task::yield_now().await;
        }
        assert_eq!(lane.run(late, |_| Ok(3)).await.unwrap_err().code(), "too_many_requests");
        // Without waiting, so that the client of a job knows it.
        assert_eq!(lane.place().err().unwrap().code(), "too_many_requests");
        first.abort();
        has_ended.await.unwrap();
        assert_eq!(second.await.unwrap().unwrap(), 2);
        assert!(lane.run(Instant::now(), |cancellation| Ok(cancellation.is_cancelled())).await.unwrap());
        let panicked = lane.run(late, |_| -> Result<(), Problem> { panic!("on purpose") }).await;
        assert_eq!(panicked.unwrap_err().code(), "internal");
        assert_eq!(lane.waiting(), 0);
    }

    #[test]
    fn bytes_beyond_the_limit_are_refused_and_given_back() {
        let budget = Budget::new(LEAST);
        let mut all = budget.hold();
        all.add(BODIES * LEAST).unwrap();
        let answer = || Response::new(Body::from("four"));
        assert_eq!(budget.answer(answer()).unwrap_err().code(), "too_many_requests");
        let mut refused = budget.hold();
        assert_eq!(refused.add(1).unwrap_err().code(), "too_many_requests");
        assert_eq!(budget.held(), BODIES * LEAST);
        let done = budget.answer_done(answer());
        assert_eq!(budget.held(), BODIES * LEAST + 4);
        drop(done);
        drop(all);
        let held = budget.answer(answer()).unwrap();
        assert_eq!(budget.held(), 4);
        drop(held);
        assert_eq!(budget.held(), 0);
    }
}
