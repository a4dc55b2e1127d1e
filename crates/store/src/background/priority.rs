//! Low priority for background threads.

use std::num::NonZeroUsize;
use std::thread::available_parallelism;

/// Lowers the priority of this thread and of the threads it starts: on a busy processor they get about a tenth of the
/// share of others. It has no effect on systems without priorities of threads.
pub(crate) fn lower() {
    #[cfg(target_os = "linux")]
    {
        // POSIX means the process; on Linux it is the thread. A lower priority is never refused.
        let _ = rustix::process::nice(10);
    }
}

/// Returns the number of threads that a thread of low priority starts for its work. The pool of the process has normal
/// priority, so 0, which means this pool, becomes a number.
pub(crate) fn threads(option: usize) -> usize {
    match option {
        0 => available_parallelism().map_or(1, NonZeroUsize::get),
        threads => threads,
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::thread;

    use rustix::process::getpriority_process;

    use super::*;

    #[test]
    fn a_thread_gives_way_with_the_threads_that_it_starts_and_no_other_does() {
        let of_this_thread = || getpriority_process(None).unwrap();
        let before = of_this_thread();
        let inherited = thread::spawn(move || {
            lower();
            thread::spawn(of_this_thread).join().unwrap()
        });
        assert_eq!(inherited.join().unwrap(), (before + 10).min(19));
        assert_eq!(of_this_thread(), before);
        assert!(threads(0) > 0 && threads(3) == 3);
    }
}
