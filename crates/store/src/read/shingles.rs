//! The shingles of the documents of a snapshot.

use std::collections::HashSet;
use std::ops::ControlFlow;
use std::sync::Arc;

use hamdex::set::{ShinglePart, ShingleVisitor, StoredId};
use hamdex::{Fingerprint, ReadError, SetError, shingles};

use crate::read::snapshot::Snapshot;
use crate::segment::LiveSegment;

/// Documents of a memtable in one part.
const MEMTABLE_PART: u64 = 1 << 12;

impl<F: Fingerprint> Snapshot<F> {
    /// Divides the documents into parts: those of the segments, from 0 on, and then those of the memtables.
    pub(super) fn parts_of_shingles(&self) -> Result<Option<Vec<ShinglePart>>, SetError> {
        if !self.schema.identity.has_shingles {
            return Ok(None);
        }
        if self.removed_ids.get().is_none() {
            let removed = self.view().segments.iter().map(removed_ids).collect::<Result<_, _>>()?;
            // Another thread may have been quicker, with the same ids.
            let _ = self.removed_ids.set(Arc::new(removed));
        }
        let mut parts = Vec::new();
        for (file, live) in self.view().segments.iter().enumerate() {
            let documents = live.index().shingles()?.map_or(Ok(Vec::new()), |shingles| shingles.parts())?;
            parts.extend(documents.into_iter().map(|documents| ShinglePart { file, documents }));
        }
        let first = self.view().segments.len();
        for (file, memtable) in (first..).zip(self.view().memtables()) {
            let count = memtable.names.len() as u64;
            let starts = (0..count).step_by(MEMTABLE_PART as usize);
            parts.extend(
                starts.map(|start| ShinglePart { file, documents: start..count.min(start + MEMTABLE_PART) }),
            );
        }
        Ok(Some(parts))
    }

    /// Visits the documents of a part whose pairs have not been removed.
    pub(super) fn visit_shingles_of(
        &self,
        part: &ShinglePart,
        visit: &mut ShingleVisitor<'_>,
    ) -> Result<ControlFlow<()>, SetError> {
        let documents = part.documents.clone();
        let mut visit = |id, set: &[u64]| visit(StoredId { part: 0, id }, set);
        let view = self.view();
        let Some(live) = view.segments.get(part.file) else {
            let Some(memtable) = view.memtables().nth(part.file - view.segments.len()) else {
                return Ok(ControlFlow::Continue(()));
            };
            let count = (documents.end - documents.start) as usize;
            let names = || memtable.names.iter_from(documents.start as usize).take(count);
            let mut pairs = Vec::new();
            memtable.append_pairs_with_ids(&names().map(|(id, _)| *id).collect(), &mut pairs);
            let stored: HashSet<u64> = pairs.into_iter().map(|(_, id)| id).collect();
            let mut set = Vec::new();
            for (id, document) in names().filter(|(id, _)| stored.contains(id)) {
                let is_set = shingles::decode(document.shingles(), &mut set);
                debug_assert!(is_set, "it was encoded, or checked when it was read from the log");
                if visit(*id, &set).is_break() {
                    return Ok(ControlFlow::Break(()));
                }
            }
            return Ok(ControlFlow::Continue(()));
        };
        let Some(shingles) = live.index().shingles()? else { return Ok(ControlFlow::Continue(())) };
        let removed = self.removed_ids.get().map(|removed| &removed[part.file]);
        Ok(shingles.for_each_in(documents, |id, set| {
            if removed.is_some_and(|removed| removed.contains(&id)) {
                ControlFlow::Continue(())
            } else {
                visit(id, set)
            }
        })?)
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
