//! What is known of a table's values once they have been sorted.

use rayon::prelude::*;

use crate::build::record::Record;
use crate::build::sort::Sorted;
use crate::codec::count_differences;
use crate::digest::SetDigest;
use crate::error::BuildError;
use hamdex_fingerprint::Fingerprint;

/// Records that one thread counts at a time.
const COUNT_CHUNK: usize = 1 << 16;

/// What is known of a table's values once they have been sorted.
pub(super) struct Census {
    pub(super) counts: Vec<u64>,
    pub(super) fingerprints: u64,
    pub(super) digest: SetDigest,
}

impl Census {
    /// Counts and digests what has been sorted.
    pub(super) fn of<R: Record>(sorted: &Sorted<R>) -> Result<Self, BuildError> {
        let bits = R::Fingerprint::BITS as usize;
        let mut census = Self { counts: vec![0; bits], fingerprints: 0, digest: SetDigest::default() };
        let mut before: Option<R> = None;
        sorted.for_each_batch(|batch| {
            let parts: Vec<Census> = batch
                .par_chunks(COUNT_CHUNK)
                .enumerate()
                .map(|(number, chunk)| {
                    let before = if number == 0 { before } else { Some(batch[number * COUNT_CHUNK - 1]) };
                    count(before, chunk)
                })
                .collect();
            for part in parts {
                census.counts.iter_mut().zip(part.counts).for_each(|(sum, count)| *sum += count);
                census.fingerprints += part.fingerprints;
                census.digest.join(part.digest);
            }
            before = batch.last().copied();
            Ok(())
        })?;
        Ok(census)
    }
}

fn count<R: Record>(before: Option<R>, records: &[R]) -> Census {
    let bits = R::Fingerprint::BITS as usize;
    let mut census = Census { counts: vec![0; bits], fingerprints: 0, digest: SetDigest::default() };
    let mut fingerprints: Vec<R::Fingerprint> = records.iter().map(Record::fingerprint).collect();
    fingerprints.dedup();
    let before = before.map(|record| record.fingerprint());
    // A fingerprint with several ids counts once, where it comes first.
    let distinct = &fingerprints[usize::from(before.is_some() && before == fingerprints.first().copied())..];
    count_differences(before, distinct, &mut census.counts);
    census.fingerprints = distinct.len() as u64;
    for record in records {
        record.digest(&mut census.digest);
    }
    census
}
