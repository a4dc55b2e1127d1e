//! Fingerprints in memory.

use std::ops::{ControlFlow, Range};
use std::sync::OnceLock;

use crate::design::lead_sets_of_all;
use crate::error::{ReadError, ReadErrorKind};
use crate::join::population::{Neighbours, Part, Population, ranges};
use crate::join::workspace::Workspace;
use crate::progress::Counter;
use crate::sorting;
use crate::table::reader::Table;
use crate::threads::Pool;
use hamdex_fingerprint::Fingerprint;

/// Fingerprints of a slice; equal ones are one.
pub(in crate::join) struct OfValues<'a, F> {
    given: &'a [F],
    /// Ascending, each once; made when it is needed.
    distinct: OnceLock<Vec<F>>,
}

impl<'a, F: Fingerprint> OfValues<'a, F> {
    pub(in crate::join) fn new(given: &'a [F]) -> Self {
        Self { given, distinct: OnceLock::new() }
    }

    fn values(&self) -> &[F] {
        self.distinct.get().map_or(self.given, Vec::as_slice)
    }
}

impl<F: Fingerprint> Population<F> for OfValues<'_, F> {
    fn len(&self) -> u64 {
        self.values().len() as u64
    }

    fn has_repeats(&self) -> bool {
        false
    }

    fn prepare(&self, threads: usize, done: &Counter) -> Result<(), ReadError> {
        if self.distinct.get().is_some() {
            return Ok(());
        }
        let mut distinct = Vec::new();
        let bytes = size_of_val(self.given) as u64;
        distinct
            .try_reserve_exact(self.given.len())
            .map_err(|_| ReadError::from(ReadErrorKind::OutOfMemory { bytes }))?;
        distinct.extend_from_slice(self.given);
        let pool = Pool::new(threads).map_err(|error| ReadError::from(ReadErrorKind::Threads(error)))?;
        let look = || done.check();
        pool.install(|| sorting::sort(&mut distinct, &look))?;
        sorting::dedup(&mut distinct, &look)?;
        // Another thread may have been quicker: it has made the same.
        let _ = self.distinct.set(distinct);
        Ok(())
    }

    fn held(&self) -> u64 {
        self.len()
    }

    fn lead_sets(&self, distance: u32) -> Vec<Vec<F>> {
        lead_sets_of_all(distance)
    }

    fn tables(&self) -> (&[Table<F>], &[u8]) {
        (&[], &[])
    }

    fn read_ahead(&self, _: &Table<F>, _: Range<usize>) {}

    fn parts(&self, _: usize, size: u64) -> Vec<Part> {
        let size = usize::try_from(size).unwrap_or(usize::MAX);
        ranges(self.values().len(), size).map(|range| Part { source: 0, range }).collect()
    }

    fn bounds(&self, part: &Part) -> (F, F) {
        let values = &self.values()[part.range.clone()];
        (values[0], values[values.len() - 1])
    }

    fn read(&self, part: &Part, _: &mut Workspace<F>, take: &mut dyn FnMut(&[F])) -> Result<(), ReadError> {
        take(&self.values()[part.range.clone()]);
        Ok(())
    }

    fn neighbours(&self) -> Box<dyn Neighbours<F> + '_> {
        Box::new(All(self.values()))
    }

    fn error(&self, error: ReadError) -> ReadError {
        error
    }
}

/// Compares with all.
struct All<'a, F>(&'a [F]);

impl<F: Fingerprint> Neighbours<F> for All<'_, F> {
    fn for_each(
        &mut self,
        _: usize,
        query: F,
        distance: u32,
        visit: &mut dyn FnMut(F) -> ControlFlow<()>,
    ) -> Result<ControlFlow<()>, ReadError> {
        let mut near = self.0.iter().filter(|value| value.distance(query) <= distance);
        Ok(near.try_for_each(|&value| visit(value)))
    }
}
