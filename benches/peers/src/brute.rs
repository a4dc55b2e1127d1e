//! A scan of all fingerprints: the slowest contender, and the reference for the answers of all others.

use std::time::Instant;

use anyhow::Result;

use crate::contender::{Built, Contender};
use crate::memory::held;

pub(crate) fn build(stored: &[u64]) -> Built {
    let started = Instant::now();
    let (copy, held_bytes) = held(|| stored.to_vec());
    let build_seconds = started.elapsed().as_secs_f64();
    Built { contender: Box::new(Scan(copy)), file_bytes: 0, held_bytes, build_seconds }
}

/// A scan over owned or borrowed fingerprints.
pub(crate) struct Scan<V>(pub(crate) V);

impl<V: AsRef<[u64]>> Scan<V> {
    fn near(&self, query: u64, distance: u32) -> impl Iterator<Item = u64> {
        self.0.as_ref().iter().copied().filter(move |x| (x ^ query).count_ones() <= distance)
    }
}

impl<V: AsRef<[u64]>> Contender for Scan<V> {
    fn count(&self, queries: &[u64], distance: u32) -> Result<u64> {
        Ok(queries.iter().map(|&query| self.near(query, distance).count() as u64).sum())
    }

    fn for_each_match(
        &self,
        queries: &[u64],
        distance: u32,
        found: &mut dyn FnMut(usize, u64),
    ) -> Result<()> {
        for (number, &query) in queries.iter().enumerate() {
            self.near(query, distance).for_each(|x| found(number, x));
        }
        Ok(())
    }
}
