//! Stars: every member is a neighbour of its centre.
//!
//! Classes are processed in the order of preference. A class that is a neighbour of centres joins the first of them;
//! any other becomes a centre. The result depends only on this order and on which classes are neighbours, not on
//! threads or on the order in which neighbours are found. Classes are compared with centres only, so a crowd of
//! near-equal documents takes one comparison per document.
//!
//! The index of centres stays within its share of the memory. When it is full, all later classes are compared with
//! these centres, which precede all others, and the index begins anew after them.

use std::ops::Range;

use hamdex::threads::map_numbers;

use crate::dedup::resources::Report;
use crate::error::Error;

/// Classes in the first batch, and in the largest. The first batches are small, since one thread compares the
/// classes of a batch with each other.
const FIRST_BATCH: u32 = 64;
const LARGEST_BATCH: u32 = 1 << 13;

/// The share of the memory that keys take.
const KEYS_SHARE: u64 = 4;

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

    /// Returns the memory of an index, in bytes.
    fn bytes(&self, index: &Self::Index) -> u64;

    /// Returns about the memory of the key of a class, in bytes.
    fn key_bytes(&self, class: u32) -> u64;

    /// Returns the smallest class in the index that is a neighbour.
    fn first(
        &self,
        index: &Self::Index,
        class: u32,
        key: &Self::Key,
        scratch: &mut Self::Scratch,
    ) -> Result<Option<u32>, Error>;
}

/// Returns the centre of every class; `count` is the number of classes. The index and the keys that wait take about
/// `max_bytes`. Calls `report` with the number of classes done.
pub(crate) fn stars<N: Neighbourhood>(
    count: u32,
    neighbourhood: &N,
    max_bytes: u64,
    report: &Report<'_>,
) -> Result<Vec<u32>, Error> {
    let key_bytes = |class| neighbourhood.key_bytes(class);
    let mut centres: Vec<u32> = (0..count).collect();
    let mut start = 0;
    while start < count {
        let mut index = N::Index::default();
        let mut end = start;
        for batch in batches(start..count, max_bytes / KEYS_SHARE, key_bytes) {
            // A batch is added as a whole, and one in any case.
            if end > start && neighbourhood.bytes(&index) >= max_bytes {
                break;
            }
            end = batch.end;
            add_batch(batch, neighbourhood, &mut index, &mut centres, report)?;
        }
        for batch in batches(end..count, max_bytes / KEYS_SHARE, key_bytes) {
            let found = compare(batch.clone(), neighbourhood, &index, &centres, end, report)?;
            for (class, (_, centre)) in batch.zip(found) {
                centres[class as usize] = centre.unwrap_or(centres[class as usize]);
            }
        }
        start = end;
    }
    Ok(centres)
}

/// Finds the centres of a batch of classes, and adds the new ones to the index.
fn add_batch<N: Neighbourhood>(
    batch: Range<u32>,
    neighbourhood: &N,
    index: &mut N::Index,
    centres: &mut [u32],
    report: &Report<'_>,
) -> Result<(), Error> {
    let start = batch.start;
    // Compare with the centres of earlier batches, which precede all classes of this one.
    let found = compare(batch.clone(), neighbourhood, index, centres, start, report)?;
    // Compare with the centres of this batch.
    let mut fresh = N::Index::default();
    let mut scratch = N::Scratch::default();
    for (class, (key, centre)) in batch.zip(found) {
        if class.is_multiple_of(REPORT_EVERY) {
            report(start.into())?;
        }
        // One that has a centre before this index has no key.
        let Some(key) = key else { continue };
        let centre = match centre {
            Some(centre) => Some(centre),
            None => neighbourhood.first(&fresh, class, &key, &mut scratch)?,
        };
        if let Some(centre) = centre {
            centres[class as usize] = centre;
        } else {
            neighbourhood.add(&mut fresh, class, &key)?;
            neighbourhood.add(index, class, &key)?;
        }
    }
    Ok(())
}

/// The key of a class that has no centre yet, and its first centre in an index.
type Compared<K> = (Option<K>, Option<u32>);

/// Compares the classes of a batch that have no centre yet with an index.
fn compare<N: Neighbourhood>(
    batch: Range<u32>,
    neighbourhood: &N,
    index: &N::Index,
    centres: &[u32],
    done: u32,
    report: &Report<'_>,
) -> Result<Vec<Compared<N::Key>>, Error> {
    report(done.into())?;
    let compare = |scratch: &mut N::Scratch, number| {
        let class = batch.start + number as u32;
        if class.is_multiple_of(REPORT_EVERY) {
            report(done.into())?;
        }
        if centres[class as usize] != class {
            return Ok((None, None));
        }
        let key = neighbourhood.key(class, scratch)?;
        let centre = neighbourhood.first(index, class, &key, scratch)?;
        Ok((Some(key), centre))
    };
    map_numbers(batch.len(), N::Scratch::default, compare)
}

/// Returns consecutive ranges of classes of growing size, each of about `max_bytes` at most.
pub(crate) fn batches(
    classes: Range<u32>,
    max_bytes: u64,
    bytes_of: impl Fn(u32) -> u64,
) -> impl Iterator<Item = Range<u32>> {
    let (mut start, mut size) = (classes.start, FIRST_BATCH);
    std::iter::from_fn(move || {
        let most = classes.end.min(start.saturating_add(size));
        let mut bytes = 0;
        let full = (start..most).find(|&class| {
            bytes += bytes_of(class);
            bytes > max_bytes
        });
        // At least one class, however large its key.
        let end = full.map_or(most, |class| (class + 1).min(most));
        let batch = start..end;
        (start, size) = (batch.end, LARGEST_BATCH.min(size * 2));
        (!batch.is_empty()).then_some(batch)
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Numbers are neighbours if they differ by at most one; an index is a list of them.
    struct Numbers(Vec<u32>);

    impl Neighbourhood for Numbers {
        type Key = ();
        type Index = Vec<u32>;
        type Scratch = ();

        fn key(&self, _: u32, (): &mut ()) -> Result<(), Error> {
            Ok(())
        }

        fn add(&self, index: &mut Vec<u32>, class: u32, (): &()) -> Result<(), Error> {
            index.push(class);
            Ok(())
        }

        fn bytes(&self, index: &Vec<u32>) -> u64 {
            index.len() as u64
        }

        fn key_bytes(&self, class: u32) -> u64 {
            self.0[class as usize].into()
        }

        fn first(&self, index: &Vec<u32>, class: u32, (): &(), (): &mut ()) -> Result<Option<u32>, Error> {
            let near = |&&other: &&u32| self.0[other as usize].abs_diff(self.0[class as usize]) <= 1;
            Ok(index.iter().find(near).copied())
        }
    }

    proptest! {
        #[test]
        fn stars_do_not_depend_on_memory(numbers in prop::collection::vec(0u32..60, 0..400), max_bytes in 0u64..20) {
            let mut expected: Vec<u32> = Vec::new();
            for (class, number) in numbers.iter().enumerate() {
                let is_near = |&other: &usize| expected[other] as usize == other && numbers[other].abs_diff(*number) <= 1;
                let centre = (0..class).find(is_near).unwrap_or(class);
                expected.push(centre as u32);
            }
            let count = numbers.len() as u32;
            prop_assert_eq!(stars(count, &Numbers(numbers), max_bytes, &|_| Ok(())).unwrap(), expected);
        }
    }
}
