//! Locks after a panic.

use std::sync::PoisonError;

/// The outcome of a lock, or of a wait under it.
pub(crate) trait Unpoisoned<T> {
    /// Returns the guard, also after a panic under the lock: no critical section can leave a partial change.
    fn unpoisoned(self) -> T;
}

impl<T> Unpoisoned<T> for Result<T, PoisonError<T>> {
    fn unpoisoned(self) -> T {
        self.unwrap_or_else(PoisonError::into_inner)
    }
}
