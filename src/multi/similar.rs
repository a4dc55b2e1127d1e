//! Documents of several indexes that are similar to a set of shingles.

use std::collections::HashSet;

use crate::error::ReadError;
use crate::ids::StoredId;
use crate::multi::MultiSearcher;
use crate::similar::{Condition, SimilarDocument};
use hamdex_fingerprint::Fingerprint;

impl<F: Fingerprint> MultiSearcher<F> {
    /// Calls `visit` with the number of an index, an id and the similarity of every document that meets a condition
    /// with a set of shingles, which ascend. Filters, which are of fingerprints, do not apply.
    ///
    /// # Errors
    /// When an index has no shingles, or a block or page that is read is damaged; an error of `visit`.
    pub fn for_each_similar(
        &mut self,
        shingles: &[u64],
        condition: &Condition,
        mut visit: impl FnMut(usize, u64, f64) -> Result<(), ReadError>,
    ) -> Result<(), ReadError> {
        let mut found = Vec::new();
        for (number, index) in self.indexes.as_slice().iter().enumerate() {
            let part = index.similar_part()?;
            found.clear();
            self.similar.for_each(part, (shingles, condition), &self.report, |id, similarity| {
                found.push((id, similarity));
            })?;
            found.iter().try_for_each(|&(id, similarity)| visit(number, id, similarity))?;
        }
        Ok(())
    }

    /// Returns the documents of all indexes that meet a condition with a set of shingles, as
    /// [`Searcher::similar`](crate::Searcher::similar) does. An id without a name is one document, in any number of
    /// indexes.
    ///
    /// # Errors
    /// When an index has no shingles, or a block or page that is read is damaged.
    pub fn similar(
        &mut self,
        shingles: &[u64],
        condition: &Condition,
        limit: usize,
    ) -> Result<Vec<SimilarDocument>, ReadError> {
        let has_names = self.indexes.as_slice().iter().any(|index| index.has_names());
        let mut found = Vec::new();
        self.for_each_similar(shingles, condition, |number, id, similarity| {
            let part = if has_names { number } else { 0 };
            found.push(SimilarDocument { id: StoredId { part, id }, similarity });
            Ok(())
        })?;
        if !has_names {
            SimilarDocument::keep_nearest(&mut found, usize::MAX);
            let mut ids = HashSet::new();
            found.retain(|one| ids.insert(one.id.id));
        }
        SimilarDocument::keep_nearest(&mut found, limit);
        Ok(found)
    }
}
