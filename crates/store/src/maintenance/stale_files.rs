//! Files that stay while they are read for long.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Names of files that nothing needs any more, but for readers that began before: they are removed when the last of
/// these has ended. After a crash the next writer removes them.
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
    /// Keeps all files that there are until [`StaleFiles::unpin`].
    pub(crate) fn pin(&self) {
        self.lock().readers += 1;
    }

    /// Ends a reader. Returns the files that are to be removed now.
    pub(crate) fn unpin(&self) -> Vec<String> {
        let mut inner = self.lock();
        inner.readers -= 1;
        if inner.readers == 0 { std::mem::take(&mut inner.stale) } else { Vec::new() }
    }

    /// Takes files that are to be removed. Returns those that can go at once.
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
        // Whatever is done under the lock is done whole.
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
