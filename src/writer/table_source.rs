//! The source of a file's tables.

use crate::error::BuildError;
use crate::permutation::Permutation;
use crate::writer::record::Record;
use hamdex_fingerprint::Fingerprint;

/// Takes a batch.
pub(crate) type Visit<'v, R> = dyn FnMut(&[R]) -> Result<(), BuildError> + Send + 'v;

/// A set of records: for each table its values in ascending order, any number of times.
pub(crate) trait TableSource<F: Fingerprint>: Send {
    /// The records of table 0.
    type Record: Record<Fingerprint = F>;

    /// Returns the number of records read for these, repeats counted.
    fn read(&self) -> u64;

    /// Delivers all records, strictly ascending, in batches.
    fn records(&mut self, visit: &mut Visit<'_, Self::Record>) -> Result<(), BuildError>;

    /// Switches to a later table; earlier ones become unavailable.
    fn select(&mut self, table: Select<'_, F>) -> Result<(), BuildError>;

    /// Delivers the values of the selected table, strictly ascending, in batches.
    fn values(&mut self, visit: &mut Visit<'_, F>) -> Result<(), BuildError>;
}

/// A table other than the first.
#[derive(Clone, Copy)]
pub(crate) struct Select<'a, F> {
    pub(crate) number: usize,
    /// Number of tables.
    pub(crate) tables: usize,
    pub(crate) permutation: &'a Permutation<F>,
    /// Distinct fingerprints.
    pub(crate) fingerprints: u64,
}
