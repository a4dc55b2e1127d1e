//! The tables of the output, merged from the inputs' tables.

use std::marker::PhantomData;

use crate::codec::Scratch;
use crate::digest::SetDigest;
use crate::error::{BuildError, ReadError};
use crate::index::{Index, SortedBlocks, TableView};
use crate::merge::gather::{self, Batch, Filter, Gathered, Part, Parts, Stored, without};
use crate::permutation::Permutation;
use crate::progress::{Counter, Phase};
use crate::threads::{join, map_in_order};
use crate::writer::{Job, OneByOne, Select, Sorted, Sorter, TableSource, Visit};
use hamdex_fingerprint::Fingerprint;

/// The merge of several indexes, as the input of a build.
pub(super) struct Merged<'m, F, R> {
    job: &'m Job<F>,
    inputs: &'m [&'m Index<F>],
    /// The number added to the ids of each input.
    id_offsets: &'m [u64],
    filter: Option<&'m Filter<'m, F>>,
    /// The fingerprints that the filter left out at the first reading, and the digest of the kept records.
    dropped: Dropped<F>,
    kept: Option<SetDigest>,
    table: Source<'m, F>,
    records: PhantomData<fn() -> R>,
}

/// The source of the values of a table.
enum Source<'m, F> {
    /// This table of each input, without dropped entries, in the table's order.
    Tables(Vec<TableView<'m, F>>, Dropped<F>),
    /// Some input has no such table.
    Sorted(Sorted<F>),
}

impl<'m, F: Fingerprint, R: Stored<F>> Merged<'m, F, R> {
    pub(super) fn new(
        job: &'m Job<F>,
        (inputs, id_offsets): (&'m [&'m Index<F>], &'m [u64]),
        filter: Option<&'m Filter<'m, F>>,
    ) -> Self {
        let table = Source::Tables(Vec::new(), Dropped::NOTHING);
        Self {
            job,
            inputs,
            id_offsets,
            filter,
            dropped: Dropped::NOTHING,
            kept: None,
            table,
            records: PhantomData,
        }
    }

    fn natural_tables(&self) -> Vec<TableView<'m, F>> {
        let inputs = self.inputs.iter().zip(self.id_offsets);
        inputs.map(|(index, &offset)| index.natural_table().renumbered(offset)).collect()
    }

    fn sorter<T: crate::writer::Record>(&self) -> Sorter<T> {
        Sorter::new(self.job.options.sort_memory(), &self.job.temp_dir)
    }

    /// Sorts all values for a table that some input lacks.
    fn sort(&self, table: &Select<'_, F>, done: &Counter) -> Result<Sorted<F>, BuildError> {
        let mut sorter = self.sorter();
        values(self.natural_tables(), &self.dropped, &mut |batch| {
            let mut permuted = batch.iter().map(|&fingerprint| table.permutation.apply(fingerprint));
            permuted.try_for_each(|value| sorter.push(value, done))?;
            Ok(done.check()?)
        })?;
        sorter.finish(done)
    }
}

impl<F: Fingerprint, R: Stored<F>> TableSource<F> for Merged<'_, F, R> {
    type Record = R;

    fn read(&self) -> u64 {
        let records = self.inputs.iter().map(|index| index.stats().ids.map_or(index.len(), |ids| ids.count));
        records.sum()
    }

    fn records(&mut self, visit: &mut Visit<'_, R>) -> Result<(), BuildError> {
        let mut sorter = self.sorter();
        let done = self.job.options.silent_counter(Phase::Sort { table: 0, tables: 1 });
        let mut kept = SetDigest::default();
        let mut each = |batch: Batch<F, R>| {
            kept.join(batch.digest);
            if self.kept.is_none() {
                batch.dropped.iter().try_for_each(|&fingerprint| sorter.push(fingerprint, &done))?;
            }
            visit(&batch.records)
        };
        let (tables, filter) = (self.natural_tables(), self.filter);
        let parts = Parts::new(tables.clone(), R::HAS_ID);
        let gather =
            |part: &Part<F>, scratch: &mut Scratch<F>| gather::records(&tables, part, filter, scratch);
        for_each_part(parts, gather, |gathered| match gathered {
            Gathered::Whole(batch) => each(batch),
            Gathered::Large(large) => large.for_each_batch(filter, &mut each),
        })?;
        match self.kept.replace(kept) {
            None if filter.is_some() => self.dropped = Dropped::new(sorter, &done)?,
            Some(before) if before != kept => return Err(BuildError::Changed { what: "the filter" }),
            _ => {}
        }
        Ok(())
    }

    fn select(&mut self, table: Select<'_, F>) -> Result<(), BuildError> {
        // The data of the previous table are no longer needed.
        self.table = Source::Tables(Vec::new(), Dropped::NOTHING);
        let phase = Phase::Sort { table: table.number, tables: table.tables };
        let done = self.job.options.counter(phase, Some(table.fingerprints))?;
        let mask = table.permutation.mask();
        let tables: Option<Vec<_>> = self.inputs.iter().map(|index| index.table_of(mask)).collect();
        self.table = match tables {
            None => Source::Sorted(self.sort(&table, &done)?),
            Some(tables) => {
                let dropped = self.dropped.permuted(table.permutation, self.sorter(), &done)?;
                Source::Tables(tables, dropped)
            }
        };
        Ok(())
    }

    fn values(&mut self, visit: &mut Visit<'_, F>) -> Result<(), BuildError> {
        match &self.table {
            Source::Tables(tables, dropped) => values(tables.clone(), dropped, visit),
            Source::Sorted(sorted) => sorted.for_each_batch(visit),
        }
    }
}

/// Delivers the merged values of tables of one order, without the dropped ones.
fn values<F: Fingerprint>(
    tables: Vec<TableView<'_, F>>,
    dropped: &Dropped<F>,
    visit: &mut Visit<'_, F>,
) -> Result<(), BuildError> {
    let gather = |part: &Part<F>, scratch: &mut Scratch<F>| gather::values(&tables, part, scratch);
    for_each_part(Parts::new(tables.clone(), false), gather, dropped.leave_out(visit)?)
}

/// Calls `visit` with what `gather` makes of each part, in order. While some parts are visited, the ones behind
/// them are gathered.
pub(super) fn for_each_part<F: Fingerprint, T: Send>(
    mut parts: Parts<impl SortedBlocks<F>, F>,
    gather: impl Fn(&Part<F>, &mut Scratch<F>) -> Result<T, ReadError> + Sync + Send,
    mut visit: impl FnMut(T) -> Result<(), BuildError> + Send,
) -> Result<(), BuildError> {
    let at_once = 2 * rayon::current_num_threads();
    let mut gathered: Vec<T> = Vec::new();
    loop {
        let mut next = Vec::with_capacity(at_once);
        while next.len() < at_once
            && let Some(part) = parts.next()?
        {
            next.push(part);
        }
        if next.is_empty() && gathered.is_empty() {
            return Ok(());
        }
        let gather = || {
            map_in_order(next, Scratch::default, |scratch: &mut Scratch<F>, part: Part<F>| {
                gather(&part, scratch)
            })
        };
        let (next, visited) = join(gather, || gathered.into_iter().try_for_each(&mut visit));
        visited?;
        gathered = next?;
    }
}

/// Fingerprints without any record that is kept, in natural order.
struct Dropped<F>(Option<Sorted<F>>);

impl<F: Fingerprint> Dropped<F> {
    /// Nothing is left out.
    const NOTHING: Self = Self(None);

    pub(super) fn new(sorter: Sorter<F>, done: &Counter) -> Result<Self, BuildError> {
        Ok(Self(Some(sorter.finish(done)?)))
    }

    /// Returns the same in the order of a table, sorted by `sorter`.
    fn permuted(
        &self,
        permutation: &Permutation<F>,
        mut sorter: Sorter<F>,
        done: &Counter,
    ) -> Result<Self, BuildError> {
        let Some(natural) = &self.0 else { return Ok(Self::NOTHING) };
        natural.for_each_unordered(&mut |batch| {
            batch.iter().try_for_each(|&fingerprint| sorter.push(permutation.apply(fingerprint), done))?;
            Ok(done.check()?)
        })?;
        Self::new(sorter, done)
    }

    /// Returns a visitor that leaves them out of ascending batches and passes the rest to `visit`.
    fn leave_out<'d>(
        &'d self,
        visit: &'d mut Visit<'_, F>,
    ) -> Result<impl FnMut(Vec<F>) -> Result<(), BuildError> + Send + 'd, BuildError> {
        let mut rest = self.0.as_ref().map(Sorted::one_by_one).transpose()?;
        let mut next = rest.as_mut().map_or(Ok(None), OneByOne::next)?;
        Ok(move |batch: Vec<F>| {
            let (Some(rest), Some(&last)) = (&mut rest, batch.last()) else { return visit(&batch) };
            let mut dropped = Vec::new();
            while let Some(fingerprint) = next.filter(|&fingerprint| fingerprint <= last) {
                dropped.push(fingerprint);
                next = rest.next()?;
            }
            if dropped.is_empty() { visit(&batch) } else { visit(&without(&batch, dropped)) }
        })
    }
}
