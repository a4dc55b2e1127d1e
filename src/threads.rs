//! Whose threads long work runs on: the one convention that the crate's documentation describes.

use std::io;
use std::num::NonZeroUsize;
use std::sync::OnceLock;

use rayon::{ThreadPool, ThreadPoolBuilder};

/// The most threads that an option may name: more than any machine has a use for.
pub(crate) const MAX_THREADS: usize = 1024;

/// Where parallel work is done.
pub(crate) enum Pool {
    /// In the pool of the caller, or the global one.
    Current,
    /// In one of its own.
    Own(ThreadPool),
}

impl Pool {
    /// A pool of so many threads; for 0 the current one.
    ///
    /// # Errors
    /// When the system refuses to start a single thread.
    pub(crate) fn new(threads: usize) -> io::Result<Self> {
        match NonZeroUsize::new(threads) {
            None if rayon::current_thread_index().is_some() || has_global_pool() => Ok(Self::Current),
            None => Self::own(std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN)),
            Some(threads) => Self::own(threads),
        }
    }

    fn own(threads: NonZeroUsize) -> io::Result<Self> {
        let threads = NonZeroUsize::new(MAX_THREADS).map_or(threads, |most| threads.min(most));
        let start = |threads: usize| ThreadPoolBuilder::new().num_threads(threads).build();
        as_many_as_start(threads.get(), start).map(Self::Own).map_err(io::Error::other)
    }

    /// Does work in which parallel iterators use this pool.
    pub(crate) fn install<T: Send>(&self, work: impl FnOnce() -> T + Send) -> T {
        match self {
            Self::Current => work(),
            Self::Own(pool) => pool.install(work),
        }
    }
}

/// How many threads are meant: as many as the current pool has where that is left open.
pub(crate) fn count(threads: usize) -> NonZeroUsize {
    NonZeroUsize::new(threads).unwrap_or_else(|| {
        let of_pool = if rayon::current_thread_index().is_some() || has_global_pool() {
            NonZeroUsize::new(rayon::current_num_threads())
        } else {
            std::thread::available_parallelism().ok()
        };
        of_pool.unwrap_or(NonZeroUsize::MIN)
    })
}

/// Whether there is a global pool. Rayon panics where it cannot start one; so it is started here, once.
fn has_global_pool() -> bool {
    static HAS_POOL: OnceLock<bool> = OnceLock::new();
    *HAS_POOL.get_or_init(|| match ThreadPoolBuilder::new().build_global() {
        Ok(()) => true,
        // It has been started before, unless there is a reason why it could not.
        Err(error) => std::error::Error::source(&error).is_none(),
    })
}

/// What `start` gives for `threads`, or for the most of them with which it succeeds, halving their number
/// each time.
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
    fn a_pool_has_as_many_threads_as_its_option_says() {
        assert_eq!(Pool::new(3).unwrap().install(rayon::current_num_threads), 3);
        let outer = Pool::new(2).unwrap();
        assert_eq!(outer.install(|| Pool::new(0).unwrap().install(rayon::current_num_threads)), 2);
        assert_eq!(outer.install(|| count(0)).get(), 2);
        assert_eq!(outer.install(|| count(5)).get(), 5);
    }
}
