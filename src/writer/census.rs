//! Counts over a table's values, before it is written.

use rayon::prelude::*;

use crate::codec::count_differences;
use crate::digest::SetDigest;
use crate::writer::record::Record;
use hamdex_fingerprint::Fingerprint;

/// Records that one thread counts at a time.
const COUNT_CHUNK: usize = 1 << 16;

/// Counts the occurrences of each h between neighbours, batch by batch.
pub(super) struct Counter<F> {
    pub(super) counts: Vec<u64>,
    before: Option<F>,
}

impl<F: Fingerprint> Counter<F> {
    pub(super) fn new() -> Self {
        Self { counts: vec![0; F::BITS as usize], before: None }
    }

    /// Counts a strictly ascending batch above the previous ones, on all threads.
    pub(super) fn add(&mut self, batch: &[F]) {
        let parts: Vec<Vec<u64>> = with_predecessors(self.before, batch, |&value| value)
            .map(|(before, values)| {
                let mut counts = vec![0; F::BITS as usize];
                count_differences(before, values, &mut counts);
                counts
            })
            .collect();
        parts.iter().for_each(|part| add_to(&mut self.counts, part));
        self.before = batch.last().copied().or(self.before);
    }
}

/// Counts over a set of records.
pub(super) struct Census<R> {
    pub(super) counts: Vec<u64>,
    pub(super) records: u64,
    pub(super) fingerprints: u64,
    pub(super) digest: SetDigest,
    /// The least and the greatest id.
    pub(super) ids: Option<(u64, u64)>,
    before: Option<R>,
}

impl<R: Record> Census<R> {
    pub(super) fn new() -> Self {
        let counts = vec![0; R::Fingerprint::BITS as usize];
        Self { counts, records: 0, fingerprints: 0, digest: SetDigest::default(), ids: None, before: None }
    }

    /// Takes an ascending batch, not below the previous ones, on all threads.
    pub(super) fn add(&mut self, batch: &[R]) {
        let before = self.before.map(|record| record.fingerprint());
        let parts: Vec<Self> = with_predecessors(before, batch, Record::fingerprint)
            .map(|(before, records)| Self::of(before, records))
            .collect();
        for part in parts {
            add_to(&mut self.counts, &part.counts);
            self.records += part.records;
            self.fingerprints += part.fingerprints;
            self.digest.join(part.digest);
            self.add_ids(part.ids);
        }
        self.before = batch.last().copied().or(self.before);
    }

    fn of(before: Option<R::Fingerprint>, records: &[R]) -> Self {
        let mut census = Self::new();
        // A fingerprint with several ids counts once, at its first record.
        let fingerprints = records.iter().map(Record::fingerprint);
        let mut distinct: Vec<R::Fingerprint> = fingerprints.skip_while(|&x| before == Some(x)).collect();
        distinct.dedup();
        count_differences(before, &distinct, &mut census.counts);
        census.records = records.len() as u64;
        census.fingerprints = distinct.len() as u64;
        for record in records {
            record.digest(&mut census.digest);
            census.add_ids(record.id().map(|id| (id, id)));
        }
        census
    }

    fn add_ids(&mut self, ids: Option<(u64, u64)>) {
        if let Some((least, greatest)) = ids {
            let so_far = self.ids.unwrap_or((least, greatest));
            self.ids = Some((so_far.0.min(least), so_far.1.max(greatest)));
        }
    }
}

/// Returns a batch in chunks, each with the fingerprint before it.
fn with_predecessors<R: Sync, F: Fingerprint>(
    before: Option<F>,
    batch: &[R],
    fingerprint: impl Fn(&R) -> F + Sync + Send,
) -> impl IndexedParallelIterator<Item = (Option<F>, &[R])> {
    batch.par_chunks(COUNT_CHUNK).enumerate().map(move |(number, chunk)| match number {
        0 => (before, chunk),
        _ => (Some(fingerprint(&batch[number * COUNT_CHUNK - 1])), chunk),
    })
}

fn add_to(sums: &mut [u64], parts: &[u64]) {
    sums.iter_mut().zip(parts).for_each(|(sum, part)| *sum += part);
}
