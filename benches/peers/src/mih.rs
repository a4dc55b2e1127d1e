//! mih-rs: multi-index hashing (Norouzi, Punjani and Fleet) in memory.

use std::time::Instant;

use anyhow::Result;
use mih_rs::Index;

use crate::contender::{Built, Contender};
use crate::memory::held;

/// Builds it over its own sorted copy, with `blocks` blocks or with the number that it chooses itself.
pub(crate) fn build(stored: &[u64], blocks: Option<usize>) -> Result<Built> {
    let started = Instant::now();
    let (index, held_bytes) = held(|| {
        let mut codes = stored.to_vec();
        // Candidates that agree in their leading block then lie together: a tenth faster at 10 million.
        codes.sort_unstable();
        match blocks {
            None => Index::new(codes),
            Some(blocks) => Index::with_blocks(codes, blocks),
        }
    });
    let build_seconds = started.elapsed().as_secs_f64();
    Ok(Built { contender: Box::new(Mih(index?)), file_bytes: 0, held_bytes, build_seconds })
}

struct Mih(Index<u64>);

impl Contender for Mih {
    fn count(&self, queries: &[u64], distance: u32) -> Result<u64> {
        let mut searcher = self.0.range_searcher();
        Ok(queries.iter().map(|&query| searcher.run(query, distance as usize).len() as u64).sum())
    }

    fn for_each_match(
        &self,
        queries: &[u64],
        distance: u32,
        found: &mut dyn FnMut(usize, u64),
    ) -> Result<()> {
        let mut searcher = self.0.range_searcher();
        for (number, &query) in queries.iter().enumerate() {
            for &id in searcher.run(query, distance as usize) {
                found(number, self.0.codes()[id as usize]);
            }
        }
        Ok(())
    }
}
