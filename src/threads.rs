//! Whose threads long work runs on: the one convention that the crate's documentation describes.

use std::io;
use std::num::NonZeroUsize;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use rayon::prelude::*;
use rayon::{BroadcastContext, ThreadPool, ThreadPoolBuildError, ThreadPoolBuilder};

use crate::memory::{can_reserve, has_address_limit, hold};

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
    /// Returns a pool of `threads` threads, or of fewer if the system refuses some; for 0 the current one.
    ///
    /// # Errors
    /// When the system refuses to start a single thread.
    pub(crate) fn new(threads: usize) -> io::Result<Self> {
        match NonZeroUsize::new(threads) {
            None if rayon::current_thread_index().is_some() || has_global_pool() => Ok(Self::Current),
            None => Self::own(default_threads()),
            Some(threads) => Self::own(threads),
        }
    }

    /// Returns a pool as [`Self::new`] does, whose threads, if they are new, leave `bytes` of a limited address space to
    /// the work.
    pub(crate) fn leaving(threads: usize, bytes: u64) -> io::Result<Self> {
        let _room = hold(bytes);
        Self::new(threads)
    }

    fn own(threads: NonZeroUsize) -> io::Result<Self> {
        let threads = affordable(threads.min(MAX_THREADS));
        as_many_as_start(threads.get(), start_pool).map(Self::Own).map_err(io::Error::other)
    }

    /// Does work in which parallel iterators use this pool.
    pub(crate) fn install<T: Send>(&self, work: impl FnOnce() -> T + Send) -> T {
        match self {
            Self::Current => work(),
            Self::Own(pool) => pool.install(work),
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

/// Returns the results of `work` for each task, in order. Each thread has a state of its own.
///
/// # Errors
/// The error of the first task that fails, in the order of the tasks and not of time: the same one on every run.
/// Tasks after it may be left out.
pub(crate) fn map_in_order<T: Send, S, R: Send, E: Send>(
    tasks: Vec<T>,
    state: impl Fn() -> S + Sync + Send,
    work: impl Fn(&mut S, T) -> Result<R, E> + Sync + Send,
) -> Result<Vec<R>, E> {
    let first_failed = AtomicUsize::new(usize::MAX);
    let done = tasks.into_par_iter().enumerate().map_init(state, |state, (number, task)| {
        if number > first_failed.load(Ordering::Relaxed) {
            return None;
        }
        let result = work(state, task);
        if result.is_err() {
            first_failed.fetch_min(number, Ordering::Relaxed);
        }
        Some(result)
    });
    let done: Vec<Option<Result<R, E>>> = done.collect();
    done.into_iter().flatten().collect()
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
    fn a_pool_has_as_many_threads_as_its_option_says() {
        assert_eq!(Pool::new(3).unwrap().install(rayon::current_num_threads), 3);
        let outer = Pool::new(2).unwrap();
        assert_eq!(outer.install(|| Pool::new(0).unwrap().install(rayon::current_num_threads)), 2);
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
