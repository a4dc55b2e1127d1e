//! Work in the background gives way to queries and writes.

use std::num::NonZeroUsize;
use std::thread::available_parallelism;

/// How much less this thread, and each that it starts, is to get of a processor that others want as well: about a tenth
/// of what they get. Where there is no such thing for threads, nothing changes.
pub(crate) fn give_way() {
    #[cfg(target_os = "linux")]
    {
        // POSIX means the process; on Linux it is the thread. Nobody is refused less.
        let _ = rustix::process::nice(10);
    }
}

/// How many threads a thread that gives way starts for its work. Those of the process's own pool do not give way, so 0,
/// which means these, becomes a number.
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
    fn a_thread_gives_way_with_those_that_it_starts_and_nobody_else_does() {
        let of_this_thread = || getpriority_process(None).unwrap();
        let before = of_this_thread();
        let inherited = thread::spawn(move || {
            give_way();
            thread::spawn(of_this_thread).join().unwrap()
        });
        assert_eq!(inherited.join().unwrap(), (before + 10).min(19));
        assert_eq!(of_this_thread(), before);
        assert!(threads(0) > 0 && threads(3) == 3);
    }
}
