//! Many queries at once.

use hamdex::{BatchOptions, Fingerprint, Match, ReadError};

use crate::error::Error;
use crate::read::Snapshot;

impl<F: Fingerprint> Snapshot<F> {
    /// Calls `visit` with the index of each query and all fingerprints within `distance` of it, nearest first, then by
    /// fingerprint. Queries are visited in order, including those without a match. An error of `visit` ends it. Memory
    /// stays within that of the options, except for the matches of a single query.
    ///
    /// # Errors
    /// When a block that has to be read is damaged, and earlier queries may have been visited; or the distance exceeds
    /// the width; the error of `visit`.
    pub fn batch_with<E: From<ReadError>>(
        &self,
        queries: &[F],
        distance: u32,
        options: &BatchOptions,
        visit: impl FnMut(usize, &[Match<F>]) -> Result<(), E>,
    ) -> Result<(), E> {
        self.parts().batch_with(queries, distance, options, visit)
    }

    /// Returns the nearest fingerprint within `distance` of each query; the least of several.
    ///
    /// # Errors
    /// When a block that has to be read is damaged.
    pub(crate) fn nearest_of_each(
        &self,
        queries: &[F],
        distance: u32,
        options: BatchOptions,
    ) -> Result<Vec<Option<Match<F>>>, Error> {
        // Records that crowd often have one fingerprint.
        let mut asked = queries.to_vec();
        asked.sort_unstable();
        asked.dedup();
        // What is in memory itself is nearest to itself, whatever the segments have.
        let is_recent =
            |value: &F| self.view().memtables().any(|memtable| memtable.contains_fingerprint(*value));
        let (recent, asked): (Vec<F>, Vec<F>) = asked.into_iter().partition(is_recent);
        let mut nearest = Vec::with_capacity(asked.len());
        self.batch_with(&asked, distance, &options.limit(1), |_, matches| {
            nearest.push(matches.first().copied());
            Ok::<_, ReadError>(())
        })?;
        let of = |&query: &F| match recent.binary_search(&query) {
            Ok(_) => Some(Match::new(query, query)),
            Err(_) => nearest[asked.partition_point(|asked| *asked < query)],
        };
        Ok(queries.iter().map(of).collect())
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::disk::layout;
    use crate::{CreateOptions, Operation, Store, StoreOptions};

    #[test]
    fn what_is_in_memory_itself_needs_no_segment() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path();
        let values: Vec<u64> = (0..200).map(|n: u64| n.wrapping_mul(0x9e37_79b9_7f4a_7c15)).collect();
        let insert = |store: &Store<u64>| {
            store.write(values.iter().map(|&value| Operation::Insert(value, 1)).collect()).unwrap();
        };
        let options = StoreOptions::new().merges(false);
        let store = Store::create(path, &CreateOptions::new(), options).unwrap();
        insert(&store);
        store.flush().unwrap();
        store.close().unwrap();
        let segment = path.join(layout::segment(1));
        let mut bytes = fs::read(&segment).unwrap();
        // The first block.
        bytes[4096..4200].fill(0x55);
        fs::write(&segment, bytes).unwrap();
        let store = Store::<u64>::open(path, options).unwrap();
        insert(&store);
        let snapshot = store.snapshot();
        let found = snapshot.nearest_of_each(&values, 3, BatchOptions::new()).unwrap();
        assert!(found.iter().zip(&values).all(|(found, &value)| *found == Some(Match::new(value, value))));
        let near: Vec<u64> = values.iter().map(|value| value ^ 1).collect();
        snapshot.nearest_of_each(&near, 3, BatchOptions::new()).unwrap_err();
    }
}
