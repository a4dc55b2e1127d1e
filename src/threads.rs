//! Whose threads long work runs on, the one convention that the crate's documentation describes; and how work is divided
//! among them.
//!
//! Rayon's generic functions would be compiled again for every caller: they were a third of the intermediate code of the
//! engine. Here they are called with functions whose types are erased, so they are compiled once. Such a call is made
//! once per thread, never per value.

use std::convert::Infallible;
use std::io;
use std::num::NonZeroUsize;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use rayon::{BroadcastContext, ThreadPool, ThreadPoolBuildError, ThreadPoolBuilder};

pub use crate::memory::{can_reserve, has_address_limit, hold};

/// Address space for each thread: its stack, what the allocator sets aside for it (64 MiB with glibc), and
/// something to work in.
const THREAD_BYTES: usize = 96 << 20;

/// The most threads that an option may name: more than any machine has a use for.
pub(crate) const MAX_THREADS: NonZeroUsize = NonZeroUsize::new(1024).unwrap();

/// The pool of parallel work.
pub(crate) enum Pool {
    /// In the pool of the caller, or the global one.
    Current,
    /// In one of its own.
    Own(ThreadPool),
}

impl Pool {
    /// Returns a pool of `threads` threads, or of fewer if the system refuses some; for 0 the current one. New threads
    /// leave `room` bytes of a limited address space to the work.
    ///
    /// # Errors
    /// When the system refuses to start a single thread.
    pub(crate) fn new(threads: usize, room: u64) -> io::Result<Self> {
        let _held = hold(room);
        match NonZeroUsize::new(threads) {
            None if rayon::current_thread_index().is_some() || has_global_pool() => Ok(Self::Current),
            None => Self::own(default_threads()),
            Some(threads) => Self::own(threads),
        }
    }

    fn own(threads: NonZeroUsize) -> io::Result<Self> {
        let threads = affordable(threads.min(MAX_THREADS));
        as_many_as_start(threads.get(), start_pool).map(Self::Own).map_err(io::Error::other)
    }

    /// Does work that is divided among the threads of this pool.
    pub(crate) fn install<T: Send>(&self, work: impl FnOnce() -> T + Send) -> T {
        match self {
            Self::Current => work(),
            Self::Own(pool) => {
                let mut result = None;
                install_erased(pool, &mut keeping(work, &mut result));
                result.expect(FINISHED)
            }
        }
    }
}

/// Returns the number of threads for an option of `threads`: for 0, as many as the current pool has.
pub(crate) fn count(threads: usize) -> NonZeroUsize {
    let wanted = NonZeroUsize::new(threads).unwrap_or_else(|| {
        let is_in_pool = rayon::current_thread_index().is_some() || has_global_pool();
        // Only if there is a pool: rayon panics if it could not start one.
        let of_pool = is_in_pool.then(rayon::current_num_threads).and_then(NonZeroUsize::new);
        of_pool.unwrap_or_else(default_threads)
    });
    affordable(wanted)
}

/// The work of a pool ends by a result or by a panic, which goes on in its caller.
const FINISHED: &str = "it has returned";

/// The most numbers that are taken one by one; more are taken in runs.
const TAKEN_ALONE: usize = 1024;

/// Runs per thread into which numbers are divided, so that no thread waits long for another.
const RUNS_PER_THREAD: usize = 16;

/// The most numbers of a run.
const MAX_RUN: usize = 256;

/// Numbers that are divided among threads, in runs.
struct Runs {
    count: usize,
    length: usize,
    next: AtomicUsize,
    /// The first run that has failed.
    failed: AtomicUsize,
}

impl Runs {
    fn of(count: usize) -> Self {
        let length = match count {
            // Without a look at the pool, which must not be started for a single number.
            0..=TAKEN_ALONE => 1,
            _ => (count / (RUNS_PER_THREAD * rayon::current_num_threads())).clamp(1, MAX_RUN),
        };
        Self { count, length, next: AtomicUsize::new(0), failed: AtomicUsize::new(usize::MAX) }
    }

    /// The number of runs.
    fn len(&self) -> usize {
        self.count.div_ceil(self.length)
    }

    /// Returns the next run and its numbers. Runs are taken in order, so all before one that fails have been taken too.
    fn take(&self) -> Option<(usize, Range<usize>)> {
        let run = self.next.fetch_add(1, Ordering::Relaxed);
        let numbers = run * self.length..self.count.min((run + 1) * self.length);
        (run < self.len() && !self.is_after_failure(run)).then_some((run, numbers))
    }

    fn fail(&self, run: usize) {
        self.failed.fetch_min(run, Ordering::Relaxed);
    }

    /// Whether the results of a run are not needed, since one before it has failed.
    fn is_after_failure(&self, run: usize) -> bool {
        run > self.failed.load(Ordering::Relaxed)
    }
}

/// Returns the results of `work` for each number below `count`, in order. The numbers are divided among the threads of the
/// current pool; each thread has a state of its own.
///
/// # Errors
/// The error of the first number that fails, in the order of the numbers and not of time: the same one on every run.
/// Numbers after it may be left out.
pub fn map_numbers<S, R: Send, E: Send>(
    count: usize,
    state: impl Fn() -> S + Sync,
    work: impl Fn(&mut S, usize) -> Result<R, E> + Sync,
) -> Result<Vec<R>, E> {
    let runs = Runs::of(count);
    let mut done = Vec::with_capacity(runs.len());
    (0..runs.len()).for_each(|_| done.push((Vec::new(), None)));
    let done = Mutex::new(done);
    on_threads(runs.len(), &|| {
        let Some(mut next) = runs.take() else { return };
        let mut state = state();
        loop {
            let (run, numbers) = next;
            let (mut results, mut error) = (Vec::with_capacity(numbers.len()), None);
            for number in numbers {
                if runs.is_after_failure(run) {
                    return;
                }
                match work(&mut state, number) {
                    Ok(result) => results.push(result),
                    Err(failed) => {
                        runs.fail(run);
                        error = Some(failed);
                        break;
                    }
                }
            }
            lock(&done)[run] = (results, error);
            let Some(another) = runs.take() else { return };
            next = another;
        }
    });
    let mut all = Vec::with_capacity(count);
    for (mut results, error) in done.into_inner().unwrap_or_else(PoisonError::into_inner) {
        if let Some(error) = error {
            return Err(error);
        }
        all.append(&mut results);
    }
    Ok(all)
}

/// Locks what no panic leaves half changed.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns the results of `work` for each task, as [`map_numbers`] does.
///
/// # Errors
/// As for [`map_numbers`].
pub fn map_in_order<T: Send, S, R: Send, E: Send>(
    tasks: Vec<T>,
    state: impl Fn() -> S + Sync,
    work: impl Fn(&mut S, T) -> Result<R, E> + Sync,
) -> Result<Vec<R>, E> {
    let tasks: Vec<_> = tasks.into_iter().map(|task| Mutex::new(Some(task))).collect();
    map_numbers(tasks.len(), state, |state, number| {
        let task = lock(&tasks[number]).take();
        work(state, task.expect("each number comes once"))
    })
}

/// Calls `work` with each number below `count`, on the threads of the current pool, until a call fails.
///
/// # Errors
/// As for [`map_numbers`].
pub fn try_for_each_number<E: Send>(
    count: usize,
    work: impl Fn(usize) -> Result<(), E> + Sync,
) -> Result<(), E> {
    map_numbers(count, || (), |(), number| work(number)).map(drop)
}

/// Calls `work` with each task, on the threads of the current pool, until a call fails.
///
/// # Errors
/// As for [`map_numbers`].
pub fn try_for_each<T: Send, E: Send>(
    tasks: Vec<T>,
    work: impl Fn(T) -> Result<(), E> + Sync,
) -> Result<(), E> {
    map_in_order(tasks, || (), |(), task| work(task)).map(drop)
}

/// Calls `work` with each task, on the threads of the current pool.
pub fn for_each<T: Send>(tasks: Vec<T>, work: impl Fn(T) + Sync) {
    let Ok(()) = try_for_each(tasks, |task| {
        work(task);
        Ok::<(), Infallible>(())
    });
}

/// Returns the results of two functions, which run at the same time if the current pool has a thread to spare.
pub(crate) fn join<A: Send, B: Send>(
    one: impl FnOnce() -> A + Send,
    other: impl FnOnce() -> B + Send,
) -> (A, B) {
    let (mut a, mut b) = (None, None);
    join_erased(&mut keeping(one, &mut a), &mut keeping(other, &mut b));
    (a.expect(FINISHED), b.expect(FINISHED))
}

/// Returns a function that calls another once, and keeps its result.
fn keeping<T>(work: impl FnOnce() -> T, result: &mut Option<T>) -> impl FnMut() {
    let mut work = Some(work);
    move || *result = work.take().map(|work| work())
}

fn install_erased(pool: &ThreadPool, work: &mut (dyn FnMut() + Send)) {
    pool.install(work);
}

fn join_erased(one: &mut (dyn FnMut() + Send), other: &mut (dyn FnMut() + Send)) {
    rayon::join(one, other);
}

/// Calls `work` at most `calls` times, each on another thread of the current pool if it has one to spare. A thread that
/// waits for another may take a share of other work meanwhile, and returns when that is done. A single call needs no pool.
fn on_threads(calls: usize, work: &(dyn Fn() + Sync)) {
    fn divide(calls: usize, work: &(dyn Fn() + Sync)) {
        match calls {
            1 => work(),
            _ => drop(rayon::join(|| divide(calls - calls / 2, work), || divide(calls / 2, work))),
        }
    }
    match calls {
        0 => {}
        1 => work(),
        _ => divide(calls.min(rayon::current_num_threads()), work),
    }
}

/// Returns the address space that so many new threads take, in bytes.
pub(crate) fn room(threads: NonZeroUsize) -> u64 {
    (threads.get() as u64).saturating_mul(THREAD_BYTES as u64)
}

/// As many threads as there is address space for: at least one, at most `wanted`. It is found out beforehand
/// because it cannot be handled later: a thread that starts without memory for it ends the process.
fn affordable(wanted: NonZeroUsize) -> NonZeroUsize {
    let reserve =
        |threads: usize| can_reserve(threads.saturating_mul(THREAD_BYTES)).then_some(threads).ok_or(());
    as_many_as_start(wanted.get(), reserve).ok().and_then(NonZeroUsize::new).unwrap_or(NonZeroUsize::MIN)
}

/// Default number of threads of a pool: as in rayon, the number of the variable or of the machine.
fn default_threads() -> NonZeroUsize {
    let variable = std::env::var("RAYON_NUM_THREADS").ok().and_then(|text| text.parse().ok());
    variable.or_else(|| std::thread::available_parallelism().ok()).unwrap_or(NonZeroUsize::MIN)
}

/// Returns whether there is a global pool. Rayon panics if it cannot start one, so it is started here, once.
fn has_global_pool() -> bool {
    static HAS_POOL: OnceLock<bool> = OnceLock::new();
    *HAS_POOL.get_or_init(|| {
        let threads = affordable(default_threads());
        match ThreadPoolBuilder::new().num_threads(threads.get()).build_global() {
            Ok(()) => {
                if has_address_limit() {
                    rayon::broadcast(allocate);
                }
                true
            }
            // It has been started before, unless there is a reason why it could not.
            Err(error) => std::error::Error::source(&error).is_none(),
        }
    })
}

/// Starts a pool. If that fails, none of its threads remains.
fn start_pool(threads: usize) -> Result<ThreadPool, ThreadPoolBuildError> {
    let mut started = Vec::with_capacity(threads);
    let pool = ThreadPoolBuilder::new()
        .num_threads(threads)
        .spawn_handler(|thread| {
            let builder = std::thread::Builder::new().name("hamdex-worker".to_owned());
            started.push(builder.spawn(|| thread.run())?);
            Ok(())
        })
        .build();
    if pool.is_err() {
        // A thread without work has not panicked.
        started.into_iter().for_each(|thread| drop(thread.join()));
    }
    pool.inspect(|pool| {
        if has_address_limit() {
            pool.broadcast(allocate);
        }
    })
}

/// Makes an allocation in a thread. With its first one a thread takes address space of its own, or does without if there
/// is none; after that it takes no more at once.
fn allocate(_: BroadcastContext<'_>) {
    drop(std::hint::black_box(Box::new(0u8)));
}

/// Returns the result of `start` for `threads`, or for the greatest number with which it succeeds as that is
/// halved again and again.
fn as_many_as_start<T, E>(mut threads: usize, mut start: impl FnMut(usize) -> Result<T, E>) -> Result<T, E> {
    loop {
        match start(threads) {
            Err(_) if threads > 1 => threads /= 2,
            outcome => return outcome,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fewer_threads_do_where_more_cannot_be_started() {
        let system = |limit| move |threads| if threads <= limit { Ok(threads) } else { Err("refused") };
        assert_eq!(as_many_as_start(8, system(64)), Ok(8));
        assert_eq!(as_many_as_start(64, system(5)), Ok(4));
        assert_eq!(as_many_as_start(7, system(1)), Ok(1));
        assert_eq!(as_many_as_start(64, system(0)), Err("refused"));
    }

    #[test]
    fn the_first_task_that_fails_is_the_one_reported() {
        for limit in [1, 700, 1000] {
            let work =
                |_: &mut (), task: usize| if task % limit == limit - 1 { Err(task) } else { Ok(2 * task) };
            let expected: Result<Vec<_>, _> = (0..1000).map(|task| work(&mut (), task)).collect();
            for _ in 0..20 {
                assert_eq!(map_in_order((0..1000).collect(), || (), work), expected);
            }
        }
        assert_eq!(map_in_order(Vec::new(), || (), |(), task: u8| Err::<(), _>(task)), Ok(Vec::new()));
    }

    #[test]
    fn each_number_comes_once_whatever_the_count_and_the_threads() {
        for threads in [1, 2, 3] {
            let pool = Pool::new(threads, 0).unwrap();
            for count in [0, 1, 2, 17, 1000, 20_001] {
                let states = AtomicUsize::new(0);
                let state = || states.fetch_add(1, Ordering::Relaxed);
                let visits: Vec<AtomicUsize> = (0..count).map(|_| AtomicUsize::new(0)).collect();
                let visit = |number: usize| {
                    visits[number].fetch_add(1, Ordering::Relaxed);
                    Ok::<_, Infallible>(())
                };
                let Ok(numbers) =
                    pool.install(|| map_numbers(count, state, |_, number| Ok::<_, Infallible>(number)));
                assert!(numbers.into_iter().eq(0..count));
                assert!(states.into_inner() <= threads.min(count));
                let Ok(()) = pool.install(|| try_for_each_number(count, visit));
                assert!(visits.into_iter().all(|visits| visits.into_inner() == 1));
            }
        }
    }

    #[test]
    fn work_within_work_and_beside_other_work_gives_the_same_results() {
        let sum = |count: usize| (0..count).sum::<usize>();
        let inner = |(): &mut (), count: usize| {
            let numbers = map_numbers(count, || (), |(), number| Ok::<_, Infallible>(number))?;
            let (one, other) = join(|| numbers.iter().sum::<usize>(), || sum(count));
            assert_eq!(one, other);
            Ok::<_, Infallible>(one)
        };
        let expected: Vec<usize> = (0..300).map(sum).collect();
        for threads in [1, 2, 3] {
            let pool = Pool::new(threads, 0).unwrap();
            let (Ok(one), Ok(other)) = pool.install(|| {
                join(|| map_numbers(300, || (), inner), || map_in_order((0..300).collect(), || (), inner))
            });
            assert!(one == expected && other == expected);
        }
    }

    #[test]
    fn an_error_or_a_panic_of_a_task_is_that_of_the_caller() {
        for threads in [1, 3] {
            let pool = Pool::new(threads, 0).unwrap();
            let work = |task: usize| if task == 500 { Err(task) } else { Ok(()) };
            assert_eq!(pool.install(|| try_for_each((0..1000).collect(), work)), Err(500));
            let refused = |(): &mut (), number: usize| {
                assert_ne!(number, 500);
                Ok::<(), Infallible>(())
            };
            let panicking = || pool.install(|| map_numbers(1000, || (), refused));
            assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(panicking)).is_err());
            let panicking =
                || pool.install(|| for_each((0..1000).collect(), |task: usize| assert!(task != 500)));
            assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(panicking)).is_err());
            let panicking = || pool.install(|| join(|| (), || panic!("as it is to")));
            assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(panicking)).is_err());
        }
    }

    #[test]
    fn the_first_of_many_errors_is_returned_and_little_is_done_after_it() {
        for (threads, count) in [(1, 1000), (1, 20_000), (3, 1000), (3, 20_000)] {
            let pool = Pool::new(threads, 0).unwrap();
            for first in [0, 300, 999] {
                let calls = AtomicUsize::new(0);
                let work = |number: usize| {
                    calls.fetch_add(1, Ordering::Relaxed);
                    if number >= first { Err(number) } else { Ok(()) }
                };
                assert_eq!(pool.install(|| try_for_each_number(count, work)), Err(first));
                assert_eq!(pool.install(|| map_numbers(count, || (), |(), number| work(number))), Err(first));
                // Each thread ends with its first error.
                assert!(calls.into_inner() <= 2 * (first + threads * MAX_RUN));
            }
        }
    }

    #[test]
    fn a_pool_has_as_many_threads_as_its_option_says() {
        assert_eq!(Pool::new(3, 0).unwrap().install(rayon::current_num_threads), 3);
        let outer = Pool::new(2, 0).unwrap();
        assert_eq!(outer.install(|| Pool::new(0, 0).unwrap().install(rayon::current_num_threads)), 2);
        assert_eq!(outer.install(|| count(0)).get(), 2);
        assert_eq!(outer.install(|| count(5)).get(), 5);
    }

    #[test]
    fn no_more_threads_are_started_than_there_is_address_space_for() {
        let wanted = NonZeroUsize::new(usize::MAX).unwrap();
        // All of it together is more than any process can address.
        assert!(affordable(wanted) < wanted);
        assert_eq!(affordable(NonZeroUsize::MIN), NonZeroUsize::MIN);
    }
}
