//! Stale files that stay until long reads of them have ended.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Names of files that only readers of an earlier moment need. They are removed when the last of these has ended. After
/// a crash the next writer removes them.
#[derive(Debug, Default)]
pub(crate) struct StaleFiles {
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    readers: usize,
    stale: Vec<String>,
}

impl StaleFiles {
    /// Keeps all present files until [`StaleFiles::unpin`].
    pub(crate) fn pin(&self) {
        self.lock().readers += 1;
    }

    /// Ends a reader. Returns the files to remove now.
    pub(crate) fn unpin(&self) -> Vec<String> {
        let mut inner = self.lock();
        inner.readers -= 1;
        if inner.readers == 0 { std::mem::take(&mut inner.stale) } else { Vec::new() }
    }

    /// Adds stale files. Returns the files to remove at once.
    pub(crate) fn retire(&self, names: Vec<String>) -> Vec<String> {
        let mut inner = self.lock();
        if inner.readers == 0 {
            return names;
        }
        inner.stale.extend(names);
        Vec::new()
    }

    /// Whether a file stays because of a reader.
    pub(crate) fn holds(&self, name: &str) -> bool {
        self.lock().stale.iter().any(|stale| stale == name)
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        // No critical section can leave a partial change.
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_stay_until_the_last_reader_has_ended() {
        let (pins, names) = (StaleFiles::default(), || vec!["a".to_owned()]);
        assert_eq!(pins.retire(names()), names());
        pins.pin();
        pins.pin();
        assert!(pins.retire(names()).is_empty());
        assert!(pins.unpin().is_empty());
        assert!(pins.holds("a") && !pins.holds("b"));
        assert_eq!(pins.unpin(), names());
        assert_eq!(pins.retire(names()), names());
    }
}
