//! The stages of a run. Each returns its figures.

use std::path::Path;
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use hamdex::{BatchOptions, BuildOptions, Builder, Codec, Design, FilterChoice, Index, Strategy};
use rayon::prelude::*;

use crate::bar;
use crate::figures::{Batch, Build, Check, Online, Pairs};
use crate::set::{DISTANCE, Set, is_planted};
use crate::system::{PAGE, PeakMemory, Used, forget, sequential_rate};

/// Seeds of the queries of each stage.
const ONLINE: u64 = 1;
const BATCH: u64 = 2;

/// The set, and the file that it is in.
pub(crate) struct Stages<'a> {
    pub set: Set,
    pub design: Design<u64>,
    pub codec: Codec,
    pub filter: FilterChoice,
    pub memory: u64,
    pub index: &'a Path,
}

impl Stages<'_> {
    /// From fingerprints in no order; beyond the memory limit, they are sorted in temporary files.
    pub(crate) fn build(&self) -> Result<Build> {
        let (used, memory) = (Used::now()?, PeakMemory::watch()?);
        let options = BuildOptions::new().design(self.design.clone()).codec(self.codec).filter(self.filter);
        let options = options.memory(self.memory);
        // Only a run that was killed between the build and its figures leaves a file.
        let options = options.overwrite(true).progress(bar::report());
        let mut builder = Builder::with_options(self.index, options)?;
        self.set.read(|batch| batch.iter().try_for_each(|&fingerprint| builder.push(fingerprint)))?;
        let summary = builder.finish()?;
        ensure!(summary.fingerprints == self.set.len(), "{} fingerprints were stored", summary.fingerprints);
        let cost = used.since()?;
        Ok(Build {
            cost,
            peak_memory_bytes: memory.bytes(),
            file_bytes: summary.bytes,
            temporary_bytes: self.temporary_bytes(),
        })
    }

    /// The temporary files of a build: the set in natural order, and in the order of a later table.
    pub(crate) fn temporary_bytes(&self) -> u64 {
        let bytes = self.set.len() * size_of::<u64>() as u64;
        if bytes <= self.memory - self.memory / 8 {
            0
        } else {
            bytes * self.design.tables().len().min(2) as u64
        }
    }

    /// One query after the other, each waiting for storage.
    pub(crate) fn online(&self, count: usize) -> Result<Online> {
        forget(self.index)?;
        let memory = PeakMemory::watch()?;
        let started = Instant::now();
        let index = self.open()?;
        let (open_seconds, open_memory_bytes) = (started.elapsed().as_secs_f64(), memory.bytes());
        let block_bytes = index.stats().block_bytes.max(PAGE as u32);
        let expected = self.design.filter_cost(self.set.len(), self.codec, block_bytes, self.filter);
        let expected = expected.blocks_per_query;

        let mut searcher = index.searcher();
        let (queries, mut seconds) = (self.set.queries(count, ONLINE), Vec::with_capacity(count));
        let used = Used::now()?;
        for (place, &query) in queries.iter().enumerate() {
            let started = Instant::now();
            let found = searcher.within(query, DISTANCE)?;
            seconds.push(started.elapsed().as_secs_f64());
            ensure!(
                !is_planted(place) || !found.is_empty(),
                "query {query:016x} was planted and is not found"
            );
        }
        let cost = used.since()?;
        seconds.sort_by(f64::total_cmp);
        Ok(Online {
            open_seconds,
            open_memory_bytes,
            median_seconds: seconds[count / 2],
            p99_seconds: seconds[count * 99 / 100],
            pages_per_query: cost.bytes_read as f64 / PAGE / count as f64,
            expected_pages_per_query: expected,
            major_faults_per_query: cost.major_faults as f64 / count as f64,
        })
    }

    /// All queries at once.
    pub(crate) fn batch(&self, count: usize, strategy: Strategy) -> Result<Batch> {
        let sequential_rate = sequential_rate(self.index)?;
        let queries = self.set.queries(count, BATCH);
        forget(self.index)?;
        let index = self.open()?;
        let options = BatchOptions::new().strategy(strategy).memory(self.memory).progress(bar::report());
        let (used, memory) = (Used::now()?, PeakMemory::watch()?);
        let (mut matches, mut planted_found) = (0, 0);
        index.batch_with(&queries, DISTANCE, &options, |place, found| {
            matches += found.len() as u64;
            planted_found += u64::from(is_planted(place) && !found.is_empty());
            Ok::<_, hamdex::ReadError>(())
        })?;
        let cost = used.since()?;
        let planted = (0..count).filter(|&place| is_planted(place)).count() as u64;
        ensure!(planted_found == planted, "{planted} queries were planted, {planted_found} are found");
        Ok(Batch {
            cost,
            peak_memory_bytes: memory.bytes(),
            matches,
            planted,
            planted_found,
            sequential_seconds: index.stats().file_bytes as f64 / sequential_rate,
        })
    }

    /// Compares queries of the batch, one by one and as a batch, with brute force over the set.
    pub(crate) fn check(&self, count: usize) -> Result<Check> {
        let index = self.open()?;
        let queries = self.set.queries(count, BATCH);
        let right: Vec<Vec<u64>> = queries.par_iter().map(|&query| self.set.brute_force(query)).collect();
        let mut searcher = index.searcher();
        let mut matches = 0;
        index.batch_with(&queries, DISTANCE, &BatchOptions::new(), |place, found| {
            matches += found.len() as u64;
            let single = searcher.within(queries[place], DISTANCE);
            let is_right = fingerprints(found) == right[place]
                && single.is_ok_and(|single| fingerprints(single) == right[place]);
            ensure!(is_right, "query {:016x} has another answer than brute force", queries[place]);
            Ok(())
        })?;
        Ok(Check { queries: count, matches })
    }

    /// All against all.
    pub(crate) fn pairs(&self) -> Result<Pairs> {
        forget(self.index)?;
        let index = self.open()?;
        let (used, memory) = (Used::now()?, PeakMemory::watch()?);
        let pairs = index.pairs(DISTANCE).memory(self.memory).progress(bar::report());
        let by_distance = pairs.count_by_distance()?;
        Ok(Pairs {
            cost: used.since()?,
            peak_memory_bytes: memory.bytes(),
            found: by_distance.iter().sum(),
            expected: self.set.expected_pairs(),
        })
    }

    fn open(&self) -> Result<Index<u64>> {
        Index::open(self.index).with_context(|| "the index of this run cannot be opened")
    }
}

fn fingerprints(found: &[hamdex::Match<u64>]) -> Vec<u64> {
    let mut fingerprints: Vec<u64> = found.iter().map(|found| found.fingerprint).collect();
    fingerprints.sort_unstable();
    fingerprints
}
