//! Stars: every member is a neighbour of its centre.
//!
//! Classes are processed in the order of preference. A class that is a neighbour of centres joins the first of them;
//! any other becomes a centre. The result depends only on this order and on which classes are neighbours, not on
//! threads or on the order in which neighbours are found. Classes are compared with centres only, so a crowd of
//! near-equal documents takes one comparison per document.

use std::ops::Range;

use rayon::prelude::*;

use crate::dedup::resources::Report;
use crate::error::Error;

/// Classes in the first batch, and in the largest. The first batches are small, since one thread compares the
/// classes of a batch with each other.
const FIRST_BATCH: u32 = 64;
const LARGEST_BATCH: u32 = 1 << 13;

/// Classes processed between two progress reports.
pub(crate) const REPORT_EVERY: u32 = 16;

/// A relation between classes, and an index by which neighbours are found.
pub(crate) trait Neighbourhood: Sync {
    /// The key under which an index stores a class.
    type Key: Send + Sync;
    /// Finds neighbours among the classes added to it.
    type Index: Default + Sync;
    /// Memory reused between calls.
    type Scratch: Default + Send;

    fn key(&self, class: u32, scratch: &mut Self::Scratch) -> Result<Self::Key, Error>;

    fn add(&self, index: &mut Self::Index, class: u32, key: &Self::Key) -> Result<(), Error>;

    /// Returns the smallest class in the index that is a neighbour.
    fn first(
        &self,
        index: &Self::Index,
        class: u32,
        key: &Self::Key,
        scratch: &mut Self::Scratch,
    ) -> Result<Option<u32>, Error>;
}

/// Returns the centre of every class; `count` is the number of classes. Calls `report` with the number of classes
/// done.
pub(crate) fn stars<N: Neighbourhood>(
    count: u32,
    neighbourhood: &N,
    report: &Report<'_>,
) -> Result<Vec<u32>, Error> {
    let mut centres: Vec<u32> = (0..count).collect();
    let mut index = N::Index::default();
    let mut scratch = N::Scratch::default();
    for batch in batches(count) {
        let start = batch.start;
        let check =
            |class: u32| if class.is_multiple_of(REPORT_EVERY) { report(start.into()) } else { Ok(()) };
        report(start.into())?;
        // Compare with the centres of earlier batches, which precede all classes of this one.
        let found: Vec<(N::Key, Option<u32>)> = batch
            .clone()
            .into_par_iter()
            .map_init(N::Scratch::default, |scratch, class| {
                check(class)?;
                let key = neighbourhood.key(class, scratch)?;
                let centre = neighbourhood.first(&index, class, &key, scratch)?;
                Ok((key, centre))
            })
            .collect::<Result<_, Error>>()?;
        // Compare with the centres of this batch.
        let mut fresh = N::Index::default();
        for (class, (key, centre)) in batch.zip(found) {
            check(class)?;
            let centre = match centre {
                Some(centre) => Some(centre),
                None => neighbourhood.first(&fresh, class, &key, &mut scratch)?,
            };
            if let Some(centre) = centre {
                centres[class as usize] = centre;
            } else {
                neighbourhood.add(&mut fresh, class, &key)?;
                neighbourhood.add(&mut index, class, &key)?;
            }
        }
    }
    Ok(centres)
}

/// Returns consecutive ranges of classes of growing size.
pub(crate) fn batches(count: u32) -> impl Iterator<Item = Range<u32>> {
    let (mut start, mut size) = (0u32, FIRST_BATCH);
    std::iter::from_fn(move || {
        let batch = start..count.min(start.saturating_add(size));
        (start, size) = (batch.end, LARGEST_BATCH.min(size * 2));
        (!batch.is_empty()).then_some(batch)
    })
}
