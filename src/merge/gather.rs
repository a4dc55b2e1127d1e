//! The records of a part, from all inputs.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::codec::Scratch;
use crate::digest::SetDigest;
use crate::error::{BuildError, Place, ReadError};
use crate::ids::Ids;
use crate::index::TableView;
use crate::merge::parts::Part;
use crate::merge::records::{Filter, Stored, Stretch};
use crate::merge::unite::{unite, without};
use hamdex_fingerprint::Fingerprint;

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
    tables: &[TableView<'_, F>],
    part: &Part<F>,
    scratch: &mut Scratch<F>,
) -> Result<Vec<F>, ReadError> {
    let stretches = read(tables, part, scratch)?;
    Ok(unite(&stretches.iter().map(Stretch::values).collect::<Vec<_>>()))
}

fn read<F: Fingerprint>(
    tables: &[TableView<'_, F>],
    part: &Part<F>,
    scratch: &mut Scratch<F>,
) -> Result<Vec<Stretch<F>>, ReadError> {
    let bounds = (part.above, part.up_to);
    let read = |(table, blocks): (&TableView<'_, F>, &std::ops::Range<usize>)| {
        Stretch::read(table, blocks.clone(), bounds, scratch)
    };
    tables.iter().zip(&part.blocks).map(read).collect()
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
            for (input, id) in united(lists.collect()) {
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
fn united(lists: Vec<(usize, Ids<'_>)>) -> impl Iterator<Item = (usize, u64)> {
    let mut lists: Vec<(usize, Ids<'_>)> = lists;
    let mut heads: BinaryHeap<Reverse<(u64, usize)>> = BinaryHeap::with_capacity(lists.len());
    for (place, (_, ids)) in lists.iter_mut().enumerate() {
        heads.extend(ids.next().map(|id| Reverse((id, place))));
    }
    std::iter::from_fn(move || {
        let Reverse((id, place)) = heads.pop()?;
        let (input, ids) = &mut lists[place];
        heads.extend(ids.next().map(|next| Reverse((next, place))));
        Some((*input, id))
    })
}
