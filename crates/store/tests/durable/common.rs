//! Helpers of these tests.

use hamdex::Fingerprint;
use hamdex_simulated_disk::{SimulatedDisk, Survival};
use hamdex_store::disk::Disk;
use hamdex_store::inspect::{Identity, StoreId};
use hamdex_store::internals::log::{LogWriter, Position, Replayed, Sealed, replay};
use hamdex_store::{Error, Operation};

/// A batch and its sequence number.
pub(crate) type Batch<F> = (u64, Vec<Operation<F>>);

/// The kind of store that most tests use.
pub(crate) const IDENTITY: Identity =
    Identity { store: StoreId([0x5a; 16]), width: 64, has_ids: true, has_names: false, has_shingles: false };

/// A disk with the directories of a store.
pub(crate) fn disk() -> SimulatedDisk {
    let disk = SimulatedDisk::new();
    for directory in ["segments", "deletes", "log"] {
        disk.create_directory(directory).unwrap();
    }
    disk
}

/// A batch of operations that are unique to it.
pub(crate) fn batch(sequence: u64, operations: usize) -> Batch<u64> {
    let pair = |number: usize| (sequence << 32 | number as u64, sequence * 1000 + number as u64);
    let operation = |number| match pair(number) {
        (fingerprint, id) if number % 3 == 2 => Operation::Remove(fingerprint, id),
        (fingerprint, id) => Operation::Insert(fingerprint, id),
    };
    (sequence, (0..operations).map(operation).collect())
}

/// Replays all logs.
pub(crate) fn replayed<F: Fingerprint>(
    disk: &SimulatedDisk,
    identity: &Identity,
    sealed: Option<Sealed>,
) -> Result<(Vec<Batch<F>>, Replayed), Error> {
    replayed_from(disk, identity, Position::start_of(1, 0), sealed)
}

/// Replays the logs from a position on.
pub(crate) fn replayed_from<F: Fingerprint>(
    disk: &SimulatedDisk,
    identity: &Identity,
    from: Position,
    sealed: Option<Sealed>,
) -> Result<(Vec<Batch<F>>, Replayed), Error> {
    let mut batches = Vec::new();
    let replayed = replay(disk, identity, from, sealed, |sequence, batch| {
        batches.push((sequence, batch.operations.clone()));
        Ok(())
    })?;
    Ok((batches, replayed))
}

/// A writer of the first log.
pub(crate) fn writer<F: Fingerprint>(disk: &SimulatedDisk, identity: Identity) -> LogWriter<F> {
    LogWriter::create(disk, identity, 1, 0).unwrap()
}

/// Ways of surviving a crash, `any` of them drawn.
pub(crate) fn survivals(any: u64) -> impl Iterator<Item = Survival> {
    let certain = [Survival::Nothing, Survival::Everything, Survival::Names, Survival::Bytes];
    certain.into_iter().chain((0..any).map(Survival::Any))
}
