//! Changes of a store.

use std::time::Instant;

use hamdex::Fingerprint;
use hamdex_store::{Error, Store, for_any_store};

use crate::problem::Problem;
use crate::sets::served::Written;

/// Calls `write` with a handle that gives up at the deadline. A store that refuses writes since an earlier one failed
/// is read from the disk again, as after a crash, and the write is made once more.
///
/// # Errors
/// That of the write.
pub(crate) fn write<F: Fingerprint, T>(
    store: &Store<F>,
    deadline: Instant,
    write: impl Fn(&Store<F>) -> Result<T, Error>,
) -> Result<T, Problem> {
    let store = store.with_deadline(deadline);
    match write(&store) {
        Err(Error::Poisoned { path, .. }) => {
            tracing::warn!(path = %path.display(), "an earlier write failed: the store is read from the disk again");
            store.reopen()?;
            Ok(write(&store)?)
        }
        outcome => Ok(outcome?),
    }
}

impl Written {
    /// Makes everything durable and closes the store.
    ///
    /// # Errors
    /// When the disk refuses it.
    pub(super) fn close(&self) -> Result<(), Error> {
        for_any_store!(&self.store, store => store.shutdown())
    }
}
