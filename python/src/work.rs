//! Long work without Python's lock: Ctrl-C cancels it, a progress bar shows it, and panics become exceptions.

use std::any::Any;
use std::num::NonZeroUsize;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use hamdex::{Cancellation, Phase, Report, Stopped};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::errors::{Error, IntoException, of_io};
use crate::numbers::Threads;

/// The interval of signal checks. Python runs signal handlers on its main thread only, and only on request.
const SIGNAL_INTERVAL: Duration = Duration::from_millis(20);

/// The interval of signal checks of a query on the calling thread.
const QUERY_SIGNAL_INTERVAL: Duration = Duration::from_millis(50);

/// The interval of progress reports.
const PROGRESS_INTERVAL: Duration = Duration::from_millis(100);

/// The most threads allowed, as in the engine: more than any machine has a use for.
const MAX_THREADS: usize = 1024;

/// Progress: the name of the phase, units done, and all units.
pub(crate) type ProgressReport = (&'static str, u64, Option<u64>);

/// The state that work shares with the thread that waits for it.
#[derive(Default)]
pub(crate) struct Watch {
    cancellation: Cancellation,
    is_done: AtomicBool,
    last: Mutex<Option<ProgressReport>>,
}

impl Watch {
    /// Fails when the work is cancelled.
    pub(crate) fn check(&self) -> Result<(), Stopped> {
        self.cancellation.check()
    }

    /// Returns what cancels the work.
    pub(crate) fn cancellation(&self) -> &Cancellation {
        &self.cancellation
    }

    /// Shows progress.
    pub(crate) fn note(&self, shown: ProgressReport) {
        // A concurrent report of another thread is as good.
        if let Ok(mut last) = self.last.try_lock() {
            *last = Some(shown);
        }
    }

    /// Returns the report for work of the engine.
    pub(crate) fn report(self: &Arc<Self>) -> Report {
        let watch = Arc::clone(self);
        Report::new().cancellation(self.cancellation.clone()).progress(move |progress| {
            watch.note((name_of(progress.phase), progress.done, progress.total));
        })
    }

    fn last(&self) -> Option<ProgressReport> {
        self.last.lock().ok().and_then(|last| *last)
    }
}

fn name_of(phase: Phase) -> &'static str {
    match phase {
        Phase::Read => "reading",
        Phase::Sort { .. } => "sorting",
        Phase::Write { .. } => "writing",
        Phase::Ids => "writing ids",
        Phase::Sync => "syncing",
        Phase::Verify => "verifying",
        Phase::Query | Phase::Batch => "searching",
        Phase::Pairs => "comparing",
        Phase::Copy => "copying",
        _ => "working",
    }
}

/// Runs work on a separate thread while the calling thread checks for signals and updates the bar.
///
/// `progress` is the argument of the package's functions: `None`, `True` for a bar, or a function of a phase,
/// units done and all units.
pub(crate) fn run<T: Send, E: IntoException + Send>(
    py: Python<'_>,
    progress: Option<&Bound<'_, PyAny>>,
    work: impl FnOnce(&Arc<Watch>) -> Result<T, E> + Send,
) -> PyResult<T> {
    let bar = bar_of(py, progress)?;
    let watch = Arc::new(Watch::default());
    let (done, interruption) = py.detach(|| {
        thread::scope(|scope| {
            let caller = thread::current();
            let worker_watch = &watch;
            let worker =
                thread::Builder::new().name("hamdex-work".to_owned()).spawn_scoped(scope, move || {
                    let outcome = catch_unwind(AssertUnwindSafe(|| work(worker_watch)));
                    worker_watch.is_done.store(true, Ordering::Release);
                    caller.unpark();
                    outcome
                });
            let worker = match worker {
                Ok(worker) => worker,
                Err(error) => {
                    return (None, Some(of_io(&error, None, format!("cannot start a thread: {error}"))));
                }
            };
            let interruption = attend(&watch, bar.as_ref());
            if interruption.is_some() {
                watch.cancellation.cancel();
            }
            (Some(worker.join().and_then(|outcome| outcome)), interruption)
        })
    });
    let last = watch.last().filter(|_| interruption.is_none());
    let closed = bar.map_or(Ok(()), |bar| close(bar.bind(py), last));
    match (interruption, done) {
        (Some(exception), _) => Err(exception),
        (None, Some(done)) => settle(done).and_then(|done| closed.map(|()| done)),
        (None, None) => Err(Error::new_err("the work did not start")),
    }
}

/// Waits until the work is done, or a signal or the bar cancels it.
fn attend(watch: &Watch, bar: Option<&Py<PyAny>>) -> Option<PyErr> {
    let mut shown_at = Instant::now();
    while !watch.is_done.load(Ordering::Acquire) {
        thread::park_timeout(SIGNAL_INTERVAL);
        let is_due = bar.is_some() && shown_at.elapsed() >= PROGRESS_INTERVAL;
        let outcome = Python::attach(|py| {
            py.check_signals()?;
            match (bar, watch.last()) {
                (Some(bar), Some(last)) if is_due => bar.call1(py, last).map(drop),
                _ => Ok(()),
            }
        });
        if is_due {
            shown_at = Instant::now();
        }
        if let Err(exception) = outcome {
            return Some(exception);
        }
    }
    None
}

/// Python items between two signal checks.
const ITEMS_PER_CHECK: usize = 1 << 14;

/// Checks for signals periodically while iterating over Python items; `number` is that of the item.
pub(crate) fn check_signals_at(py: Python<'_>, number: usize) -> PyResult<()> {
    if number.is_multiple_of(ITEMS_PER_CHECK) { py.check_signals() } else { Ok(()) }
}

/// Lets Python run the handlers of pending signals.
pub(crate) fn check_signals() -> PyResult<()> {
    Python::attach(|py| {
        py.check_signals()?;
        Ok(())
    })
}

/// Runs short work on the calling thread.
pub(crate) fn run_here<T: Send, E: IntoException + Send>(
    py: Python<'_>,
    work: impl FnOnce() -> Result<T, E> + Send,
) -> PyResult<T> {
    settle(py.detach(|| catch_unwind(AssertUnwindSafe(work))))
}

/// Runs work on the calling thread. If it takes long, it checks for signals.
pub(crate) fn run_checked<T: Send, E: IntoException + Send>(
    py: Python<'_>,
    check: &SignalCheck,
    work: impl FnOnce() -> Result<T, E> + Send,
) -> PyResult<T> {
    check.start();
    let outcome = py.detach(|| catch_unwind(AssertUnwindSafe(work)));
    let interruption = check.0.lock().ok().and_then(|mut state| state.interruption.take());
    match interruption {
        Some(exception) => Err(exception),
        None => settle(outcome),
    }
}

/// Checks for signals from within work on the calling thread.
#[derive(Clone, Default)]
pub(crate) struct SignalCheck(Arc<Mutex<CheckState>>);

#[derive(Default)]
struct CheckState {
    /// The time of the last signal check, or of the start of the work.
    at: Option<Instant>,
    interruption: Option<PyErr>,
}

impl SignalCheck {
    /// Starts a new piece of work.
    fn start(&self) {
        if let Ok(mut state) = self.0.lock() {
            *state = CheckState { at: Some(Instant::now()), interruption: None };
        }
    }

    /// Returns the report of a searcher. Once a signal has interrupted a query, later ones fail.
    pub(crate) fn report(&self) -> Report {
        let (check, cancellation) = (self.clone(), Cancellation::new());
        Report::new().cancellation(cancellation.clone()).progress(move |_| {
            if check.is_interrupted() {
                cancellation.cancel();
            }
        })
    }

    /// Lets Python run the handlers of pending signals, from time to time. Returns whether one has failed.
    fn is_interrupted(&self) -> bool {
        let Ok(mut state) = self.0.lock() else { return true };
        if state.at.is_none_or(|at| at.elapsed() >= QUERY_SIGNAL_INTERVAL) {
            state.at = Some(Instant::now());
            if let Err(exception) = check_signals() {
                state.interruption = Some(exception);
            }
        }
        state.interruption.is_some()
    }
}

fn settle<T, E: IntoException>(outcome: Result<Result<T, E>, Box<dyn Any + Send>>) -> PyResult<T> {
    match outcome {
        Ok(done) => done.map_err(IntoException::into_exception),
        Err(panic) => {
            let text = panic.downcast_ref::<String>().map(String::as_str);
            let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no text");
            Err(Error::new_err(format!("a bug of hamdex, please report it: {text}")))
        }
    }
}

/// Returns the function to call with progress.
fn bar_of(py: Python<'_>, progress: Option<&Bound<'_, PyAny>>) -> PyResult<Option<Py<PyAny>>> {
    let Some(progress) = progress.filter(|progress| !progress.is_none()) else { return Ok(None) };
    if let Ok(is_wanted) = progress.extract::<bool>() {
        return if is_wanted {
            Ok(Some(py.import("hamdex._bars")?.getattr("Bar")?.call0()?.unbind()))
        } else {
            Ok(None)
        };
    }
    if progress.is_callable() {
        return Ok(Some(progress.clone().unbind()));
    }
    Err(pyo3::exceptions::PyTypeError::new_err(
        "progress must be True, False or a function of a phase, done and total",
    ))
}

/// Shows the final progress, unless the work was interrupted, and closes the bar.
fn close(bar: &Bound<'_, PyAny>, last: Option<ProgressReport>) -> PyResult<()> {
    if let Some(last) = last {
        bar.call1(last)?;
    }
    if bar.hasattr("close")? {
        bar.call_method0("close")?;
    }
    Ok(())
}

/// Returns the number of threads to use. The engine must not choose: its threads live as long as the process,
/// and a forked child would wait for them forever.
pub(crate) fn threads(threads: Option<Threads>) -> PyResult<usize> {
    match threads.map(|threads| threads.0) {
        Some(0) => Err(PyValueError::new_err("threads must be at least 1, or None for all")),
        Some(threads) if threads > MAX_THREADS => {
            Err(PyValueError::new_err(format!("threads must be at most {MAX_THREADS}, not {threads}")))
        }
        Some(threads) => Ok(threads),
        None => {
            let variable = std::env::var("RAYON_NUM_THREADS").ok().and_then(|text| text.parse().ok());
            Ok(variable.or_else(|| thread::available_parallelism().ok()).map_or(1, NonZeroUsize::get))
        }
    }
}

/// Starts a pool of threads for one piece of work.
pub(crate) fn pool(threads: usize) -> PyResult<rayon::ThreadPool> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
    pool.map_err(|error| Error::new_err(format!("cannot start threads: {error}")))
}
