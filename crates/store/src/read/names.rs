//! The names of ids, in both directions.

use std::collections::HashSet;

use hamdex::Fingerprint;

use crate::error::Error;
use crate::read::snapshot::Snapshot;

impl<F: Fingerprint> Snapshot<F> {
    /// Returns the name of a stored id; `None` in a store without names.
    ///
    /// # Errors
    /// When a page that has to be read is damaged.
    pub fn name(&self, id: u64) -> Result<Option<&[u8]>, Error> {
        Ok(self.view().name(id)?)
    }

    /// Returns the ids that have one of these names, perhaps including ids of removed pairs. It reads all names.
    ///
    /// # Errors
    /// When a page is damaged.
    pub fn ids_of_names(&self, names: &HashSet<Vec<u8>>) -> Result<HashSet<u64>, Error> {
        let mut ids = HashSet::new();
        for memtable in self.view().memtables() {
            let found = memtable.names.iter().filter(|(_, name)| names.contains(name.name()));
            ids.extend(found.map(|(id, _)| *id));
        }
        for live in &*self.view().segments {
            for named in live.index().names()?.iter().flatten() {
                let (id, name) = named?;
                if names.contains(name) {
                    ids.insert(id);
                }
            }
        }
        Ok(ids)
    }
}
