//! Tables from a source that can be read again and again: no temporary space, for any number of records.
//!
//! Each reading keeps as many records as memory holds, the next ones in the order of the table: see
//! [`portions`](super::portions). So a table that is n times as large as memory takes about n readings, or
//! twice as many if it is counted before it is written.

use std::error::Error;
use std::ops::ControlFlow;

use rayon::prelude::*;

use crate::digest::Tally;
use crate::error::BuildError;
use crate::permutation::Permutation;
use crate::progress::{Counter, Phase};
use crate::writer::options::BuildOptions;
use crate::writer::portions::Portions;
use crate::writer::record::{Record, WithId};
use crate::writer::tables::{Select, Tables, Visit};
use hamdex_fingerprint::Fingerprint;

/// Receives a batch of a source's items; breaks to end the reading early.
pub type Take<'t, T> = dyn FnMut(&[T]) -> ControlFlow<()> + 't;

/// Reads a source from its start: calls what it is given with all that there is.
pub(super) type Reader<T> = dyn FnMut(&mut Take<'_, T>) -> Result<(), Box<dyn Error + Send + Sync>> + Send;

/// Items that one thread digests at a time.
const CHUNK: usize = 1 << 14;

/// An item of a source: a fingerprint, with or without an id.
pub(super) trait Item<F: Fingerprint>: Copy + Send + Sync + 'static {
    type Record: Record<Fingerprint = F>;

    fn record(&self) -> Self::Record;
}

impl<F: Fingerprint> Item<F> for F {
    type Record = F;

    fn record(&self) -> F {
        *self
    }
}

impl<F: Fingerprint> Item<F> for (F, u64)
where
    WithId<F>: Record<Fingerprint = F>,
{
    type Record = WithId<F>;

    fn record(&self) -> WithId<F> {
        WithId { fingerprint: self.0, id: self.1 }
    }
}

/// The records of a source.
pub(super) struct Passes<'o, F: Fingerprint, T: Item<F>> {
    source: Source<'o, F, T>,
    records: Portions<T::Record>,
    /// Of the table selected.
    values: Portions<F>,
    order: Permutation<F>,
    /// Of this table.
    sorting: Counter,
}

/// A source, and what it has had so far.
struct Source<'o, F, T> {
    options: &'o BuildOptions<F>,
    reader: Box<Reader<T>>,
    /// Of each reading.
    contents: Option<Tally>,
}

impl<F: Fingerprint, T: Item<F>> Source<'_, F, T> {
    fn read(&mut self, take: &mut dyn FnMut(&[T]) -> Result<(), BuildError>) -> Result<(), BuildError> {
        let done = self.options.counter(Phase::Read, self.contents.map(Tally::items))?;
        let (mut contents, mut outcome) = (Tally::default(), Ok(()));
        let read = (self.reader)(&mut |items| {
            items.par_chunks(CHUNK).map(tally).collect::<Vec<_>>().into_iter().for_each(|t| contents.join(t));
            outcome = done.add(items.len() as u64).map_err(BuildError::from).and_then(|()| take(items));
            if outcome.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        });
        outcome?;
        read.map_err(|source| BuildError::Source { source })?;
        match self.contents.replace(contents) {
            Some(before) if before != contents => Err(BuildError::Changed { what: "the source" }),
            _ => Ok(()),
        }
    }
}

fn tally<F: Fingerprint, T: Item<F>>(items: &[T]) -> Tally {
    let mut tally = Tally::default();
    for item in items {
        let record = item.record();
        tally.add(record.fingerprint(), record.id().unwrap_or_default());
    }
    tally
}

impl<'o, F: Fingerprint, T: Item<F>> Passes<'o, F, T> {
    pub(super) fn new(reader: Box<Reader<T>>, options: &'o BuildOptions<F>) -> Self {
        let memory = options.sort_memory();
        let phase = Phase::Sort { table: 0, tables: options.known_tables() };
        Self {
            source: Source { options, reader, contents: None },
            records: Portions::new(memory),
            values: Portions::new(memory),
            order: Permutation::new(F::ONES),
            sorting: options.silent_counter(phase),
        }
    }
}

impl<F: Fingerprint, T: Item<F>> Tables<F> for Passes<'_, F, T> {
    type Record = T::Record;

    fn read(&self) -> u64 {
        self.source.contents.map_or(0, Tally::items)
    }

    fn records(&mut self, visit: &mut Visit<'_, T::Record>) -> Result<(), BuildError> {
        self.records.for_each(&mut |take| self.source.read(take), T::record, visit, &self.sorting)
    }

    fn select(&mut self, table: Select<'_, F>) -> Result<(), BuildError> {
        let options = self.source.options;
        let memory = options.sort_memory();
        // Nothing of the tables before is needed any more.
        self.records = Portions::new(memory);
        self.values = Portions::new(memory);
        self.order = table.permutation.clone();
        let phase = Phase::Sort { table: table.number, tables: table.tables };
        self.sorting = options.silent_counter(phase);
        Ok(())
    }

    fn values(&mut self, visit: &mut Visit<'_, F>) -> Result<(), BuildError> {
        let order = &self.order;
        let key = |item: &T| order.apply(item.record().fingerprint());
        self.values.for_each(&mut |take| self.source.read(take), key, visit, &self.sorting)
    }
}
