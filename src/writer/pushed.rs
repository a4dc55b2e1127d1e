//! Tables from records that have been pushed: each is sorted anew.

use std::path::{Path, PathBuf};

use rayon::prelude::*;

use crate::error::BuildError;
use crate::permutation::Permutation;
use crate::progress::{Counter, Phase};
use crate::sorting;
use crate::writer::options::BuildOptions;
use crate::writer::record::Record;
use crate::writer::sort::{Sorted, Sorter};
use crate::writer::table_source::{Select, TableSource, Visit};
use hamdex_fingerprint::Fingerprint;

/// Values that one thread permutes at a time.
const CHUNK: usize = 1 << 16;

/// Records in order, and what becomes of them table by table.
pub(super) struct Pushed<'o, R: Record> {
    options: &'o BuildOptions<R::Fingerprint>,
    temp_dir: PathBuf,
    pushed: u64,
    state: State<R>,
}

enum State<R: Record> {
    /// All of them in memory, for table 0.
    Records(Vec<R>),
    /// Their fingerprints in memory, in the order of a table.
    Values(Vec<R::Fingerprint>, Permutation<R::Fingerprint>),
    /// All of them on disk, and the fingerprints in the order of a later table.
    Spilled(Sorted<R>, Option<Sorted<R::Fingerprint>>),
}

impl<'o, R: Record> Pushed<'o, R> {
    /// Sorts for table 0.
    pub(super) fn new(
        sorter: Sorter<R>,
        options: &'o BuildOptions<R::Fingerprint>,
        temp_dir: &Path,
        pushed: u64,
    ) -> Result<Self, BuildError> {
        let phase = Phase::Sort { table: 0, tables: options.known_tables() };
        let done = options.counter(phase, None)?;
        let state = match sorter.finish(&done)? {
            Sorted::InMemory(records) => State::Records(records),
            spilled @ Sorted::Spilled(_) => State::Spilled(spilled, None),
        };
        Ok(Self { options, temp_dir: temp_dir.to_owned(), pushed, state })
    }

    fn sort_spilled(
        &self,
        records: &Sorted<R>,
        permutation: &Permutation<R::Fingerprint>,
        done: &Counter,
    ) -> Result<Sorted<R::Fingerprint>, BuildError> {
        let mut sorter = Sorter::new(self.options.sort_memory(), &self.temp_dir);
        records.for_each_unordered(&mut |batch| {
            let mut permuted = batch.iter().map(|record| permutation.apply(record.fingerprint()));
            permuted.try_for_each(|value| sorter.push(value, done))?;
            Ok(done.check()?)
        })?;
        sorter.finish(done)
    }
}

impl<F: Fingerprint, R: Record<Fingerprint = F>> TableSource<F> for Pushed<'_, R> {
    type Record = R;

    fn read(&self) -> u64 {
        self.pushed
    }

    fn records(&mut self, visit: &mut Visit<'_, R>) -> Result<(), BuildError> {
        match &self.state {
            State::Records(records) => Sorted::batches(records, visit),
            State::Spilled(records, _) => records.for_each_batch(visit),
            State::Values(..) => unreachable!("table 0 comes before all others"),
        }
    }

    fn select(&mut self, table: Select<'_, F>) -> Result<(), BuildError> {
        let phase = Phase::Sort { table: table.number, tables: table.tables };
        let done = self.options.counter(phase, Some(table.fingerprints))?;
        let to = table.permutation;
        let nothing = State::Records(Vec::new());
        let (mut values, from) = match std::mem::replace(&mut self.state, nothing) {
            // Table 0 is in natural order.
            State::Records(records) => (R::into_fingerprints(records, &done)?, Permutation::new(F::ONES)),
            State::Values(values, from) => (values, from),
            State::Spilled(records, before) => {
                drop(before);
                let values = self.sort_spilled(&records, to, &done)?;
                self.state = State::Spilled(records, Some(values));
                return Ok(());
            }
        };
        values.par_chunks_mut(CHUNK).try_for_each(|values| {
            values.iter_mut().for_each(|value| *value = to.apply(from.undo(*value)));
            done.check()
        })?;
        sorting::sort(&mut values, &|| done.check())?;
        self.state = State::Values(values, to.clone());
        Ok(())
    }

    fn values(&mut self, visit: &mut Visit<'_, F>) -> Result<(), BuildError> {
        match &self.state {
            State::Values(values, _) => Sorted::batches(values, visit),
            State::Spilled(_, Some(values)) => values.for_each_batch(visit),
            State::Records(_) | State::Spilled(_, None) => unreachable!("no table has been selected"),
        }
    }
}
