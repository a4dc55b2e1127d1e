//! Documents similar to a set of shingles: those of the memtables, and those of the segments.

use std::collections::HashSet;
use std::sync::Arc;

use hamdex::set::StoredId;
use hamdex::similar::{Condition, SimilarDocument};
use hamdex::{Fingerprint, ReadError, ReadErrorKind};

use crate::error::Error;
use crate::read::Snapshot;
use crate::read::searcher::Searcher;
use crate::segment::LiveSegment;

impl<F: Fingerprint> Searcher<F> {
    /// Returns the documents that meet a condition with a set of shingles, which ascend, each once: the most similar
    /// first, then by id; at most `limit`. None is missed. In a store without look-ups, the first search after a removal
    /// reads the pairs of the segments that have removed ones.
    ///
    /// ```
    /// use hamdex::similar::{Condition, Measure};
    /// use hamdex_store::{CreateOptions, Record, Store, StoreOptions, When};
    ///
    /// let directory = tempfile::tempdir()?;
    /// let create = CreateOptions::new().shingles("of my own");
    /// let store = Store::<u64>::create(directory.path().join("s"), &create, StoreOptions::new())?;
    /// store.put([Record::document(0x00ff, "first.html", &[1, 2, 3, 4])], When::always())?;
    ///
    /// let condition = Condition::new(Measure::Resemblance, 0.7).expect("it is a share");
    /// let snapshot = store.snapshot();
    /// let similar = snapshot.searcher().similar(&[1, 2, 3], &condition, 10)?;
    /// assert_eq!(snapshot.name(similar[0].id.id)?, Some(&b"first.html"[..]));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// When the store has no shingles, or a block or page that has to be read is damaged.
    pub fn similar(
        &mut self,
        shingles: &[u64],
        condition: &Condition,
        limit: usize,
    ) -> Result<Vec<SimilarDocument>, Error> {
        let (snapshot, parts) = self.split();
        if !snapshot.schema.identity.has_shingles {
            return Err(ReadError::from(ReadErrorKind::NoShingles).into());
        }
        let mut found = Vec::new();
        let document = |id, similarity| SimilarDocument::new(StoredId { part: 0, id }, similarity);
        let view = snapshot.view();
        for memtable in view.memtables() {
            memtable.names.for_each_similar((shingles, condition), 0, parts.report(), |id, similarity| {
                if memtable.has_id(id) {
                    found.push(document(id, similarity));
                }
            })?;
        }
        let mut of_segments = Vec::new();
        parts.for_each_similar(shingles, condition, |segment, id, similarity| {
            of_segments.push((segment, document(id, similarity)));
            Ok(())
        })?;
        for (number, one) in of_segments {
            let live = &view.segments[number];
            if live.removed.is_empty() || snapshot.is_left(number, live, one.id.id)? {
                found.push(one);
            }
        }
        SimilarDocument::keep_nearest(&mut found, limit);
        Ok(found)
    }
}

impl<F: Fingerprint> Snapshot<F> {
    /// Returns whether a document of a segment is left.
    fn is_left(&self, number: usize, live: &LiveSegment<F>, id: u64) -> Result<bool, ReadError> {
        match live.has_id(id)? {
            Some(is_left) => Ok(is_left),
            None => Ok(!self.removed_ids()?[number].contains(&id)),
        }
    }

    /// Returns the ids of the removed pairs of each segment.
    pub(super) fn removed_ids(&self) -> Result<&[HashSet<u64>], ReadError> {
        if let Some(removed) = self.removed_ids.get() {
            return Ok(removed);
        }
        let removed = self.view().segments.iter().map(removed_ids).collect::<Result<_, _>>()?;
        // Another thread may have been quicker, with the same ids.
        Ok(self.removed_ids.get_or_init(|| Arc::new(removed)).as_slice())
    }
}

/// Returns the ids of the removed pairs of a segment. It reads the pairs of the segment, unless none are removed.
fn removed_ids<F: Fingerprint>(live: &LiveSegment<F>) -> Result<HashSet<u64>, ReadError> {
    if live.removed.is_empty() {
        return Ok(HashSet::new());
    }
    let removed = live.placed_pairs_from(F::ZERO)?.filter_map(|placed| match placed {
        Ok((place, (_, id))) => live.removed.contains(place).then_some(Ok(id)),
        Err(error) => Some(Err(error)),
    });
    removed.collect()
}
