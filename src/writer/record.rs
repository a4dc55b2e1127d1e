//! The records that a build sorts: fingerprints, with or without an id each; and the source of a file's tables.

use byteorder::{ByteOrder, LittleEndian};

use crate::digest::SetDigest;
use crate::error::BuildError;
use crate::permutation::Permutation;
use crate::progress::{Counter, Stopped};
use hamdex_fingerprint::Fingerprint;

/// Records between cancellation checks.
const PIECE: usize = 1 << 20;

/// Something that is sorted by fingerprint, first of all.
pub(crate) trait Record: Copy + Ord + Send + Sync + 'static {
    /// The type of its fingerprint.
    type Fingerprint: Fingerprint;

    /// Bytes when spilled.
    const BYTES: usize;

    /// Bytes of memory that it takes while a table is sorted and the next one prepared.
    const MEMORY_BYTES: usize;

    fn fingerprint(&self) -> Self::Fingerprint;

    /// Returns its id, if it has one.
    fn id(&self) -> Option<u64>;

    fn write(&self, bytes: &mut [u8]);

    fn read(bytes: &[u8]) -> Self;

    fn digest(&self, digest: &mut SetDigest);

    /// Returns the distinct fingerprints of sorted records.
    fn into_fingerprints(records: Vec<Self>, done: &Counter) -> Result<Vec<Self::Fingerprint>, Stopped>;
}

impl<F: Fingerprint> Record for F {
    type Fingerprint = F;
    const BYTES: usize = F::BYTES;
    const MEMORY_BYTES: usize = size_of::<F>();

    fn fingerprint(&self) -> F {
        *self
    }

    fn id(&self) -> Option<u64> {
        None
    }

    fn write(&self, bytes: &mut [u8]) {
        self.write_le(bytes);
    }

    fn read(bytes: &[u8]) -> Self {
        F::read_le(bytes)
    }

    fn digest(&self, digest: &mut SetDigest) {
        digest.add(*self);
    }

    fn into_fingerprints(records: Vec<Self>, _: &Counter) -> Result<Vec<Self>, Stopped> {
        Ok(records)
    }
}

/// A fingerprint and one of its ids.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct WithId<F> {
    pub(crate) fingerprint: F,
    pub(crate) id: u64,
}

impl<F: Fingerprint> Record for WithId<F> {
    type Fingerprint = F;
    const BYTES: usize = F::BYTES + 8;
    const MEMORY_BYTES: usize = size_of::<Self>() + size_of::<F>();

    fn fingerprint(&self) -> F {
        self.fingerprint
    }

    fn id(&self) -> Option<u64> {
        Some(self.id)
    }

    fn write(&self, bytes: &mut [u8]) {
        self.fingerprint.write_le(bytes);
        LittleEndian::write_u64(&mut bytes[F::BYTES..], self.id);
    }

    fn read(bytes: &[u8]) -> Self {
        Self { fingerprint: F::read_le(bytes), id: LittleEndian::read_u64(&bytes[F::BYTES..]) }
    }

    fn digest(&self, digest: &mut SetDigest) {
        digest.add_pair(self.fingerprint, self.id);
    }

    fn into_fingerprints(records: Vec<Self>, done: &Counter) -> Result<Vec<F>, Stopped> {
        let mut fingerprints = Vec::with_capacity(records.len());
        for piece in records.chunks(PIECE) {
            done.check()?;
            for record in piece {
                if fingerprints.last() != Some(&record.fingerprint) {
                    fingerprints.push(record.fingerprint);
                }
            }
        }
        Ok(fingerprints)
    }
}

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
