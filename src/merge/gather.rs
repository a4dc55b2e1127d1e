//! Divides the tables of all inputs at common values, taken from the keys of their blocks, into parts that threads merge
//! independently; gathers and sorts the records of a part.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::convert::Infallible;
use std::ops::Range;

use crate::codec::Scratch;
use crate::digest::SetDigest;
use crate::error::{BuildError, Place, ReadError};
use crate::ids::Ids;
use crate::index::{SortedBlocks, TableView};
use crate::sorted_union::SortedUnion;
use crate::writer::{Record, WithId};
use hamdex_fingerprint::Fingerprint;

/// The fewest blocks that a part takes, all inputs together.
const MIN_BLOCKS: usize = 256;

/// Blocks per input of a part, if there are many inputs: each has one more that two parts read.
const BLOCKS_PER_INPUT: usize = 8;

/// Ids of a part; more only if a single block has more.
const IDS: u64 = 1 << 17;

/// All values between two bounds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Part<F> {
    /// For each input its blocks that may hold some.
    pub(super) blocks: Vec<Range<usize>>,
    /// They lie above this, unless it is the first part,
    pub(super) above: Option<F>,
    /// and not above this.
    pub(super) up_to: F,
    /// About how many ids they have.
    pub(super) ids: u64,
}

/// The parts of all tables, ascending.
pub(super) struct Parts<T, F> {
    tables: Vec<T>,
    /// The key of the first block of each input that no part has covered.
    next_keys: BinaryHeap<Reverse<(F, usize)>>,
    next_blocks: Vec<usize>,
    above: Option<F>,
    /// Whether the size of a part includes ids.
    with_ids: bool,
}

impl<F: Fingerprint, T: SortedBlocks<F>> Parts<T, F> {
    pub(super) fn new(tables: Vec<T>, with_ids: bool) -> Self {
        let keys = tables.iter().enumerate().filter(|(_, table)| table.blocks() > 0);
        let next_keys = keys.map(|(input, table)| Reverse((table.key(0), input))).collect();
        let next_blocks = vec![0; tables.len()];
        Self { tables, next_keys, next_blocks, above: None, with_ids }
    }

    /// Returns the next part.
    pub(super) fn next(&mut self) -> Result<Option<Part<F>>, ReadError> {
        let max_blocks = MIN_BLOCKS.max(BLOCKS_PER_INPUT * self.tables.len());
        let first_blocks = self.next_blocks.clone();
        let (mut blocks, mut ids, mut up_to) = (0, 0, None);
        while let Some(&Reverse((key, input))) = self.next_keys.peek() {
            // A value lies in one part, so blocks with the same key go together.
            if up_to != Some(key) && (blocks >= max_blocks || ids >= IDS) {
                break;
            }
            self.next_keys.pop();
            let (table, block) = (&self.tables[input], self.next_blocks[input]);
            if self.with_ids {
                ids += table.ids_before(block + 1)?.saturating_sub(table.ids_before(block)?);
            }
            blocks += 1;
            up_to = Some(key);
            self.next_blocks[input] += 1;
            if block + 1 < table.blocks() {
                self.next_keys.push(Reverse((table.key(block + 1), input)));
            }
        }
        let Some(up_to) = up_to else { return Ok(None) };
        let end = |(input, first): (usize, usize)| {
            // The block after the last one that ends here may begin with values of this part.
            first..self.tables[input].blocks().min(self.next_blocks[input] + 1)
        };
        let blocks = first_blocks.into_iter().enumerate().map(end).collect();
        Ok(Some(Part { blocks, above: self.above.replace(up_to), up_to, ids }))
    }
}

/// Maximum of ids of a part gathered in memory. A part with more is merged record by record.
const MAX_IDS: u64 = 1 << 20;

/// Records delivered at once.
const BATCH: usize = 1 << 16;

/// The contents of a part of table 0.
pub(super) enum Gathered<'i, F, R> {
    /// In memory.
    Whole(Batch<F, R>),
    /// Still in the inputs, since one fingerprint or more have very many ids.
    Large(Large<'i, F>),
}

/// Records in order, and what a filter has left out.
pub(super) struct Batch<F, R> {
    pub(super) records: Vec<R>,
    /// Fingerprints without any record that is kept.
    pub(super) dropped: Vec<F>,
    /// The digest of the records, with a filter.
    pub(super) digest: SetDigest,
}

/// The entries of a part: what each input has of it.
pub(super) struct Large<'i, F> {
    inputs: Vec<Vec<(F, Ids<'i>)>>,
}

/// Gathers the values of a part of any table.
pub(super) fn values<F: Fingerprint>(
    tables: &[impl SortedBlocks<F>],
    part: &Part<F>,
    scratch: &mut Scratch<F>,
) -> Result<Vec<F>, ReadError> {
    let stretches = read(tables, part, scratch)?;
    Ok(unite(&stretches.iter().map(Stretch::values).collect::<Vec<_>>()))
}

fn read<F: Fingerprint>(
    tables: &[impl SortedBlocks<F>],
    part: &Part<F>,
    scratch: &mut Scratch<F>,
) -> Result<Vec<Stretch<F>>, ReadError> {
    let bounds = (part.above, part.up_to);
    let blocks = tables.iter().zip(&part.blocks);
    blocks.map(|(table, blocks)| Stretch::read(table, blocks.clone(), bounds, scratch)).collect()
}

/// Gathers the records of a part of table 0.
pub(super) fn records<'i, F: Fingerprint, R: Stored<F>>(
    tables: &[TableView<'i, F>],
    part: &Part<F>,
    filter: Option<&Filter<'_, F>>,
    scratch: &mut Scratch<F>,
) -> Result<Gathered<'i, F, R>, ReadError> {
    let stretches = read(tables, part, scratch)?;
    if R::HAS_ID && part.ids > MAX_IDS {
        let inputs = stretches.iter().zip(tables).map(|(stretch, table)| stretch.with_ids(table)?.collect());
        return Ok(Gathered::Large(Large { inputs: inputs.collect::<Result<_, _>>()? }));
    }
    let inputs = stretches.iter().zip(tables).enumerate();
    let lists = inputs.map(|(input, (stretch, table))| match filter {
        None => R::list(table, stretch, None),
        Some(filter) => R::list(table, stretch, Some(&|fingerprint, id| filter(input, fingerprint, id))),
    });
    let lists: Vec<Vec<R>> = lists.collect::<Result<_, _>>()?;
    let records = unite(&lists.iter().map(Vec::as_slice).collect::<Vec<_>>());
    let mut dropped = Vec::new();
    if filter.is_some() {
        let all = unite(&stretches.iter().map(Stretch::values).collect::<Vec<_>>());
        dropped = without(&all, records.iter().map(R::fingerprint));
    }
    Ok(Gathered::Whole(Batch::new(records, dropped, filter.is_some())))
}

impl<F: Fingerprint, R: Stored<F>> Batch<F, R> {
    fn new(records: Vec<R>, dropped: Vec<F>, has_filter: bool) -> Self {
        let mut digest = SetDigest::default();
        if has_filter {
            records.iter().for_each(|record| record.digest(&mut digest));
        }
        Self { records, dropped, digest }
    }
}

impl<F: Fingerprint> Large<'_, F> {
    /// Delivers all records in order, batch by batch.
    pub(super) fn for_each_batch<R: Stored<F>>(
        self,
        filter: Option<&Filter<'_, F>>,
        visit: &mut (dyn FnMut(Batch<F, R>) -> Result<(), BuildError> + '_),
    ) -> Result<(), BuildError> {
        let (mut records, mut dropped, mut last) = (Vec::new(), Vec::new(), None);
        let mut entries: Vec<_> = self.inputs.into_iter().map(|list| list.into_iter().peekable()).collect();
        while let Some(fingerprint) = entries.iter_mut().filter_map(|e| Some(e.peek()?.0)).min() {
            let lists = entries.iter_mut().enumerate().filter_map(|(input, entries)| {
                Some((input, entries.next_if(|entry| entry.0 == fingerprint)?.1))
            });
            let mut is_dropped = true;
            for (input, id) in united(lists) {
                let record = R::new(fingerprint, Some(id));
                if last > Some(record) {
                    return Err(ReadError::damaged(Place::Ids, "some are out of order").into());
                }
                // An id that several inputs have is kept if one of them keeps it.
                if filter.is_some_and(|filter| !filter(input, fingerprint, Some(id)))
                    || last.replace(record) == Some(record)
                {
                    continue;
                }
                is_dropped = false;
                records.push(record);
                if records.len() == BATCH {
                    let records = std::mem::take(&mut records);
                    visit(Batch::new(records, std::mem::take(&mut dropped), filter.is_some()))?;
                }
            }
            if is_dropped {
                dropped.push(fingerprint);
            }
        }
        visit(Batch::new(records, dropped, filter.is_some()))
    }
}

/// Returns the ids of several ascending lists, ascending, each with the number of its list; what several have comes
/// several times.
fn united<'i>(lists: impl Iterator<Item = (usize, Ids<'i>)>) -> impl Iterator<Item = (usize, u64)> {
    let lists = lists.map(|(input, ids)| ids.map(move |id| Ok::<_, Infallible>((id, input))));
    SortedUnion::of(lists).map(|item| {
        let Ok((id, _, input)) = item;
        (input, id)
    })
}

/// Returns whether a record of the input of that number is kept.
pub(super) type Filter<'f, F> = dyn Fn(usize, F, Option<u64>) -> bool + Sync + 'f;

/// Values of one input and the block in which the first of them lies.
pub(super) struct Stretch<F> {
    /// All values of some blocks.
    pub(super) values: Vec<F>,
    /// The range of the values in the part.
    pub(super) part: Range<usize>,
    first_block: usize,
}

impl<F: Fingerprint> Stretch<F> {
    /// Reads the values above one bound and up to the other.
    pub(super) fn read(
        table: &impl SortedBlocks<F>,
        blocks: Range<usize>,
        (above, up_to): (Option<F>, F),
        scratch: &mut Scratch<F>,
    ) -> Result<Self, ReadError> {
        let mut values = Vec::new();
        table.decode(blocks.clone(), scratch, &mut values)?;
        let start = above.map_or(0, |above| values.partition_point(|&value| value <= above));
        let end = values.partition_point(|&value| value <= up_to);
        Ok(Self { values, part: start..end.max(start), first_block: blocks.start })
    }

    /// Returns the values in the part.
    pub(super) fn values(&self) -> &[F] {
        &self.values[self.part.clone()]
    }

    /// Each value in the part with its ids.
    pub(super) fn with_ids<'i>(
        &self,
        table: &TableView<'i, F>,
    ) -> Result<impl Iterator<Item = Result<(F, Ids<'i>), ReadError>> + use<'_, 'i, F>, ReadError> {
        let mut next_ids = (!self.values.is_empty()).then(|| table.ids_from(self.first_block)).transpose()?;
        let mut number = 0;
        let part = self.part.clone();
        Ok(self.values[..part.end].iter().filter_map(move |&value| {
            let ids = next_ids.as_mut().map_or(Ok(Ids::NONE), |next| next());
            number += 1;
            match ids {
                Ok(_) if number <= part.start => None,
                ids => Some(ids.map(|ids| (value, ids))),
            }
        }))
    }
}

/// A record that an index has.
pub(super) trait Stored<F: Fingerprint>: Record<Fingerprint = F> {
    /// Whether records have ids.
    const HAS_ID: bool;

    /// Returns the records of a stretch of table 0 that are kept, ascending.
    fn list(
        table: &TableView<'_, F>,
        stretch: &Stretch<F>,
        keep: Option<&(dyn Fn(F, Option<u64>) -> bool + '_)>,
    ) -> Result<Vec<Self>, ReadError>;

    fn new(fingerprint: F, id: Option<u64>) -> Self;
}

impl<F: Fingerprint> Stored<F> for F {
    const HAS_ID: bool = false;

    fn list(
        _: &TableView<'_, F>,
        stretch: &Stretch<F>,
        keep: Option<&(dyn Fn(F, Option<u64>) -> bool + '_)>,
    ) -> Result<Vec<F>, ReadError> {
        let mut list = stretch.values().to_vec();
        if let Some(keep) = keep {
            list.retain(|&fingerprint| keep(fingerprint, None));
        }
        Ok(list)
    }

    fn new(fingerprint: F, _: Option<u64>) -> F {
        fingerprint
    }
}

impl<F: Fingerprint> Stored<F> for WithId<F> {
    const HAS_ID: bool = true;

    fn list(
        table: &TableView<'_, F>,
        stretch: &Stretch<F>,
        keep: Option<&(dyn Fn(F, Option<u64>) -> bool + '_)>,
    ) -> Result<Vec<Self>, ReadError> {
        let values = stretch.values();
        let mut list = Vec::with_capacity(values.len());
        table.for_each_id(stretch.first_block, stretch.part.clone(), |entry, id| {
            // More entries than there are would be damage, which verification finds.
            let Some(&fingerprint) = values.get(entry) else { return };
            if keep.is_none_or(|keep| keep(fingerprint, Some(id))) {
                list.push(Self { fingerprint, id });
            }
        })?;
        Ok(list)
    }

    fn new(fingerprint: F, id: Option<u64>) -> Self {
        Self { fingerprint, id: id.unwrap_or_default() }
    }
}

/// Unites lists that each ascend strictly; what several have comes once.
fn unite<T: Copy + Ord>(lists: &[&[T]]) -> Vec<T> {
    match lists {
        [] => Vec::new(),
        [list] => list.to_vec(),
        [a, b] => unite_two(a, b),
        _ => {
            // As in a tournament, so that each value is moved few times.
            let (a, b) = lists.split_at(lists.len() / 2);
            unite_two(&unite(a), &unite(b))
        }
    }
}

fn unite_two<T: Copy + Ord>(a: &[T], b: &[T]) -> Vec<T> {
    let mut united = Vec::with_capacity(a.len() + b.len());
    let (mut next_a, mut next_b) = (0, 0);
    // The smaller of the two is unpredictable, so there is no branch on it.
    while next_a < a.len() && next_b < b.len() {
        let (x, y) = (a[next_a], b[next_b]);
        united.push(if x < y { x } else { y });
        next_a += usize::from(x <= y);
        next_b += usize::from(y <= x);
    }
    united.extend_from_slice(&a[next_a..]);
    united.extend_from_slice(&b[next_b..]);
    united
}

/// Returns the items of `all` that are not in `some`, both strictly ascending.
pub(super) fn without<T: Copy + Ord>(all: &[T], some: impl IntoIterator<Item = T>) -> Vec<T> {
    let mut some = some.into_iter().peekable();
    let mut left = Vec::new();
    for &item in all {
        while some.next_if(|other| *other < item).is_some() {}
        if some.peek() != Some(&item) {
            left.push(item);
        }
    }
    left
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn sets_are_united(sets: Vec<BTreeSet<u8>>) {
            let lists: Vec<Vec<u8>> = sets.iter().map(|set| set.iter().copied().collect()).collect();
            let lists: Vec<&[u8]> = lists.iter().map(Vec::as_slice).collect();
            let expected: BTreeSet<u8> = sets.into_iter().flatten().collect();
            prop_assert!(unite(&lists).into_iter().eq(expected));
        }

        #[test]
        fn a_set_without_another(all: BTreeSet<u8>, some: BTreeSet<u8>) {
            let list: Vec<u8> = all.iter().copied().collect();
            prop_assert!(without(&list, some.iter().copied()).iter().eq(all.difference(&some)));
        }
    }
}
