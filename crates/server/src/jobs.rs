//! Long work on a set, which a client starts and asks for later.

use std::collections::BTreeMap;
use std::future::Future;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use hamdex::{Cancellation, Report};
use serde::Serialize;
use serde_json::Value;
use tokio::sync::Notify;
use tokio::{select, task};
use utoipa::ToSchema;

use crate::admission::{Place, on_thread};
use crate::problem::Problem;

/// Ended jobs that are remembered.
const REMEMBERED: usize = 1000;

/// All jobs, by number.
#[derive(Default)]
pub(crate) struct Jobs {
    all: Mutex<BTreeMap<u64, Arc<Running>>>,
    last: AtomicU64,
}

/// The state of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum State {
    /// It waits for another job, or is at work.
    Running,
    /// It has succeeded.
    Done,
    /// It has failed: see `problem`.
    Failed,
    /// A client or the end of the service has stopped it.
    Cancelled,
}

/// Long work on a set.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub(crate) struct Job {
    /// Its number, as a text.
    #[schema(example = "7")]
    pub(crate) id: String,
    /// The set.
    pub(crate) set: String,
    /// The work: `flush`, `compact`, `backup` or `verify`.
    pub(crate) work: &'static str,
    /// Its state.
    pub(crate) state: State,
    /// The units done in its current phase, and of how many, if that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) progress: Option<Done>,
    /// The time of its start, in seconds since 1970, UTC.
    pub(crate) started: f64,
    /// The time of its end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) ended: Option<f64>,
    /// The outcome, if it has succeeded.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub(crate) result: Option<Value>,
    /// The error, if it has failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) problem: Option<Problem>,
}

/// A part of the work.
#[derive(Debug, Clone, Copy, Serialize, ToSchema)]
pub(crate) struct Done {
    /// Units that are done.
    pub(crate) done: u64,
    /// Units in all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) total: Option<u64>,
}

struct Running {
    job: Mutex<Job>,
    cancellation: Cancellation,
    /// Wakes a job that waits for its place, once it is cancelled.
    stopped: Notify,
}

impl Running {
    fn job(&self) -> MutexGuard<'_, Job> {
        self.job.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the job as it is now.
    fn now(&self) -> Job {
        self.job().clone()
    }

    fn stop(&self) {
        self.cancellation.cancel();
        self.stopped.notify_one();
    }

    fn end(&self, outcome: Result<Value, Problem>) {
        let mut job = self.job();
        job.ended = Some(now());
        match outcome {
            Ok(result) => (job.state, job.result) = (State::Done, Some(result)),
            Err(_) if self.cancellation.is_cancelled() => job.state = State::Cancelled,
            Err(problem) => (job.state, job.problem) = (State::Failed, Some(problem)),
        }
        tracing::info!(job = job.id, set = job.set, work = job.work, state = ?job.state, "job ended");
    }
}

/// Returns the report that shows the progress of a job and cancels it.
fn report_of(running: &Arc<Running>) -> Report {
    let shown = Arc::clone(running);
    Report::new().cancellation(running.cancellation.clone()).progress(move |progress| {
        shown.job().progress = Some(Done { done: progress.done, total: progress.total });
    })
}

impl Jobs {
    fn all(&self) -> MutexGuard<'_, BTreeMap<u64, Arc<Running>>> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts work on a thread of its own, once its place is one to run, and returns the future of its end, which need
    /// not be awaited.
    pub(crate) fn start(
        &self,
        name: &'static str,
        place: Place,
        set: &str,
        work: impl FnOnce(Report) -> Result<Value, Problem> + Send + 'static,
    ) -> (Job, impl Future<Output = Job>) {
        let number = self.last.fetch_add(1, Ordering::Relaxed) + 1;
        let job = Job {
            id: number.to_string(),
            set: set.to_owned(),
            work: name,
            state: State::Running,
            progress: None,
            started: now(),
            ended: None,
            result: None,
            problem: None,
        };
        let running = Arc::new(Running {
            job: Mutex::new(job.clone()),
            cancellation: Cancellation::new(),
            stopped: Notify::new(),
        });
        self.remember(number, Arc::clone(&running));
        let task = task::spawn({
            let running = Arc::clone(&running);
            async move {
                let permit = select! {
                    permit = place.permit(None) => permit,
                    () = running.stopped.notified() => Err(Problem::shutting_down()),
                };
                let outcome = match permit {
                    Err(problem) => Err(problem),
                    Ok(_) if running.cancellation.is_cancelled() => Err(Problem::shutting_down()),
                    Ok(permit) => {
                        let report = report_of(&running);
                        on_thread(permit, move || work(report)).await
                    }
                };
                running.end(outcome);
            }
        });
        let end = async move {
            // A panic of the task itself leaves the job as it is.
            let _ = task.await;
            running.now()
        };
        (job, end)
    }

    fn remember(&self, number: u64, running: Arc<Running>) {
        let mut all = self.all();
        all.insert(number, running);
        let ended = all.iter().filter(|(_, running)| running.job().state != State::Running);
        let ended: Vec<u64> = ended.map(|(number, _)| *number).collect();
        for number in ended.iter().take(ended.len().saturating_sub(REMEMBERED)) {
            all.remove(number);
        }
    }

    pub(crate) fn list(&self) -> Vec<Job> {
        self.all().values().map(|running| running.now()).collect()
    }

    fn find(&self, id: &str) -> Result<Arc<Running>, Problem> {
        let found = id.parse().ok().and_then(|number: u64| self.all().get(&number).cloned());
        found.ok_or_else(|| {
            Problem::not_found("no_job", format!("there is no job {id:?}; GET /v1/jobs lists all"))
        })
    }

    /// # Errors
    /// When there is no such job.
    pub(crate) fn get(&self, id: &str) -> Result<Job, Problem> {
        Ok(self.find(id)?.now())
    }

    /// Cancels a job.
    ///
    /// # Errors
    /// When there is no such job.
    pub(crate) fn stop(&self, id: &str) -> Result<Job, Problem> {
        let running = self.find(id)?;
        running.stop();
        Ok(running.now())
    }

    pub(crate) fn stop_all(&self) {
        self.all().values().for_each(|running| running.stop());
    }
}

/// Seconds since 1970, to the millisecond.
fn now() -> f64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    (since.as_secs_f64() * 1000.0).round() / 1000.0
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::time::timeout;

    use super::*;
    use crate::admission::Lane;

    #[tokio::test]
    async fn a_waiting_job_that_is_cancelled_ends_at_once_and_gives_up_its_place() {
        let (lane, jobs) = (Lane::new("jobs", 1, 1), Jobs::default());
        let taken = lane.admit(None).await.unwrap();
        let stops: [fn(&Jobs, &str); 2] =
            [|jobs, id| drop(jobs.stop(id).unwrap()), |jobs, _| jobs.stop_all()];
        for (stop, is_waiting) in stops.into_iter().flat_map(|stop| [(stop, false), (stop, true)]) {
            let work = |_| unreachable!("it is cancelled before it begins");
            let (job, end) = jobs.start("verify", lane.place().unwrap(), "s", work);
            if is_waiting {
                task::yield_now().await;
            }
            stop(&jobs, &job.id);
            let ended = timeout(Duration::from_secs(60), end).await.expect("it does not wait for its place");
            assert_eq!((ended.state, lane.waiting()), (State::Cancelled, 0));
        }
        drop(taken);
        let (_, end) = jobs.start("verify", lane.place().unwrap(), "s", |_| Ok(Value::Null));
        assert_eq!(end.await.state, State::Done);
    }
}
