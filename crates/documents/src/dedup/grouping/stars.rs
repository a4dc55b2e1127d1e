//! Stars: every member is a neighbour of its centre.
//!
//! The classes are taken in their order, which is that of preference. One that is a neighbour of a centre joins the
//! first such centre; any other is a centre from then on. So what is found depends on the order and on which
//! classes are neighbours, and on nothing else: neither on threads nor on the order in which neighbours are found.
//! Only centres are ever compared with, so a crowd of near-equal documents takes one comparison for each.

use std::ops::Range;

use rayon::prelude::*;

use crate::dedup::resources::Report;
use crate::error::Error;

/// Classes of the first batch, and of the largest. The first ones are small, since the classes of a batch are
/// compared with each other by one thread.
const FIRST_BATCH: u32 = 64;
const LARGEST_BATCH: u32 = 1 << 13;

/// Classes that are looked at between two reports.
pub(crate) const REPORT_EVERY: u32 = 16;

/// Which classes are neighbours, and how those among many are found.
pub(crate) trait Neighbourhood: Sync {
    /// What an index needs to know of a class.
    type Key: Send + Sync;
    /// Finds neighbours among the classes added to it.
    type Index: Default + Sync;
    /// Memory that is used again.
    type Scratch: Default + Send;

    fn key(&self, class: u32, scratch: &mut Self::Scratch) -> Result<Self::Key, Error>;

    fn add(&self, index: &mut Self::Index, class: u32, key: &Self::Key) -> Result<(), Error>;

    /// Returns the least class of the index that is a neighbour.
    fn first(
        &self,
        index: &Self::Index,
        class: u32,
        key: &Self::Key,
        scratch: &mut Self::Scratch,
    ) -> Result<Option<u32>, Error>;
}

/// Returns the centre of each of that many classes. Calls `report` with the number of those that have one.
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
        // With the centres of earlier batches; these come before all of this one.
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
        // With those of this batch.
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

/// Ranges of classes in their order, that grow.
pub(crate) fn batches(count: u32) -> impl Iterator<Item = Range<u32>> {
    let (mut start, mut size) = (0u32, FIRST_BATCH);
    std::iter::from_fn(move || {
        let batch = start..count.min(start.saturating_add(size));
        (start, size) = (batch.end, LARGEST_BATCH.min(size * 2));
        (!batch.is_empty()).then_some(batch)
    })
}
