//! Measures the memory that work takes, as the growth of the process's private memory.

use std::fs;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

const BETWEEN_SAMPLES: Duration = Duration::from_millis(5);

/// Returns the result of `work`, and the most bytes by which the process has grown while it ran; `None` if
/// the system does not say, or does not start the sampling thread.
pub(super) fn growth<T>(work: impl FnOnce() -> T) -> (T, Option<u64>) {
    let Some(before) = own_bytes() else { return (work(), None) };
    let (most, is_done) = (AtomicU64::new(before), AtomicBool::new(false));
    let look = || most.fetch_max(own_bytes().unwrap_or(0), Ordering::Relaxed);
    thread::scope(|scope| {
        let looking = thread::Builder::new().spawn_scoped(scope, || {
            while !is_done.load(Ordering::Relaxed) {
                look();
                thread::sleep(BETWEEN_SAMPLES);
            }
        });
        let result = work();
        look();
        is_done.store(true, Ordering::Relaxed);
        (result, looking.is_ok().then(|| most.load(Ordering::Relaxed) - before))
    })
}

/// Returns the bytes of anonymous memory.
fn own_bytes() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:"))?;
    line.trim().strip_suffix(" kB")?.parse::<u64>().ok().map(|kibibytes| kibibytes * 1024)
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn what_work_has_allocated_is_in_its_growth() {
        let (held, bytes) = growth(|| vec![1_u8; 64 << 20]);
        assert_eq!(held.len(), 64 << 20);
        // Other tests may free memory meanwhile.
        assert!(bytes.is_none_or(|bytes| bytes >= 32 << 20), "{bytes:?}");
    }
}
