//! Insertion and removal by the names of ids.

use std::collections::HashSet;
use std::ops::Range;
use std::sync::Arc;

use hamdex::Fingerprint;

use crate::error::Error;
use crate::log::MAX_OPERATIONS;
use crate::store::Store;
use crate::write::reply::Reply;
use crate::write::request::Request;
use crate::write::unless_near::inserted::Inserted;

/// Bytes of a name that count as one operation of a batch; real operations are longer.
const NAME_BYTES_PER_OPERATION: usize = 16;

impl<F: Fingerprint> Store<F> {
    /// Inserts fingerprints with names into a store with names, atomically. The store assigns the ids, which ascend and
    /// are never reused. Returns them.
    ///
    /// ```
    /// use hamdex_store::{CreateOptions, Store, StoreOptions};
    ///
    /// let directory = tempfile::tempdir()?;
    /// let create = CreateOptions::new().names(true);
    /// let store = Store::<u64>::create(directory.path().join("news.store"), &create, StoreOptions::new())?;
    /// let ids = store.insert_named(&[(0x00ff, "first.html"), (0xff00, "second.html")])?;
    /// assert_eq!(store.snapshot().name(ids.end - 1)?, Some(&b"second.html"[..]));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// When the store has no names, or the pairs cannot be made as durable as the options of the store require.
    pub fn insert_named(&self, named: &[(F, impl AsRef<[u8]>)]) -> Result<Range<u64>, Error> {
        let names = self.checked_names(named)?;
        let count = named.len() as u64;
        let named = named.iter().map(|(fingerprint, _)| *fingerprint).zip(names).collect();
        match self.commit(Request::Named(named))? {
            Reply::Named(first) => Ok(first..first + count),
            _ => Err(self.no_ids_left()),
        }
    }

    /// Inserts as [`Store::insert_all_unless_near`] in a store with names, which assigns the ids. The outcomes have
    /// them.
    ///
    /// # Errors
    /// As for [`Store::insert_named`]; when a block that has to be read is damaged.
    pub fn insert_named_unless_near(
        &self,
        named: &[(F, impl AsRef<[u8]>)],
        distance: u32,
    ) -> Result<Vec<Inserted<F>>, Error> {
        let names = self.checked_names(named)?;
        let pairs: Vec<(F, u64)> = named.iter().map(|(fingerprint, _)| (*fingerprint, 0)).collect();
        self.unless_near(&pairs, Some(&names), distance)
    }

    /// Removes all pairs whose ids have one of these names. Returns their number. It reads all names and the whole
    /// store once.
    ///
    /// # Errors
    /// As for [`Store::remove`].
    pub fn remove_names(&self, names: &HashSet<Vec<u8>>) -> Result<u64, Error> {
        self.check_names(true)?;
        let ids = self.snapshot().ids_of_names(names)?;
        if ids.is_empty() { Ok(0) } else { self.remove_ids(&ids) }
    }

    fn checked_names(&self, named: &[(F, impl AsRef<[u8]>)]) -> Result<Vec<Arc<[u8]>>, Error> {
        self.check_names(true)?;
        let names: Vec<Arc<[u8]>> = named.iter().map(|(_, name)| Arc::from(name.as_ref())).collect();
        let of_name = |name: &Arc<[u8]>| 2 + name.len().div_ceil(NAME_BYTES_PER_OPERATION);
        let count = names.iter().map(of_name).sum();
        if count > MAX_OPERATIONS {
            return Err(Error::BatchTooLarge { count, max: MAX_OPERATIONS });
        }
        self.check(std::iter::empty(), named.len())?;
        Ok(names)
    }
}
