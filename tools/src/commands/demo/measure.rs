//! Measures one codec: builds, verifies and queries an index, and compares it with brute force.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use hamdex::inspect::Stats;
use hamdex::{
    BuildOptions, Builder, Codec, Fingerprint, Index, OutputError, ReadError, SealedIndex, Summary,
    VerifyOptions,
};
use tempfile::TempPath;

use crate::commands::build::choose;
use crate::commands::demo::Args;
use crate::commands::demo::data::Data;
use crate::failure::Failure;
use crate::progress::Phases;

/// The number of queries whose answers are compared with brute force.
const CHECKED_QUERIES: usize = 200;

/// The measurements of an index.
pub(super) struct Measured {
    pub(super) codec: Codec,
    pub(super) summary: Summary,
    pub(super) stats: Stats<u64>,
    pub(super) built_in: Duration,
    pub(super) verified_in: Duration,
    /// The time of each query, ascending.
    pub(super) query_times: Vec<Duration>,
    pub(super) matches: u64,
    pub(super) checked: Checked,
}

/// A sample of the answers compared with brute force.
pub(super) struct Checked {
    pub(super) queries: usize,
    /// Matches that brute force finds.
    pub(super) expected: usize,
    /// Matches that the index finds as well.
    pub(super) found: usize,
    /// Matches that only the index finds.
    pub(super) excess: usize,
}

impl Measured {
    pub(super) fn is_exact(&self) -> bool {
        self.checked.found == self.checked.expected && self.checked.excess == 0
    }
}

/// Builds an index with a codec in `directory`, and measures it. The file loses its name as soon as it is
/// open, so that nothing is left of it, however the command ends.
pub(super) fn measure(args: &Args, codec: Codec, data: &Data, directory: &Path) -> Result<Measured, Failure> {
    let path = directory.join(format!("hamdex-demo-{}-{codec}.hamdex", std::process::id()));
    let started = Instant::now();
    let summary = build(args, codec, data, &path).inspect_err(|failure| {
        if failure.about_output().is_some_and(OutputError::is_in_place) {
            let _ = std::fs::remove_file(&path);
        }
    })?;
    let built_in = started.elapsed();

    // Some systems keep the name of a mapped file: it is removed at the end.
    let named = TempPath::try_from_path(&path);
    let index = Index::<u64>::open(&path).map_err(Failure::Index)?;
    let removed = std::fs::remove_file(&path);
    let phases = Arc::new(Phases::default());
    let started = Instant::now();
    index.verify_with(&VerifyOptions::new().progress(phases.reporter())).map_err(Failure::Index)?;
    let verified_in = started.elapsed();
    phases.finish();

    let (query_times, matches) =
        time_queries(&index, &data.queries, args.distance).map_err(Failure::Index)?;
    let checked = check(&index, data, args.distance).map_err(Failure::Index)?;
    let stats = index.stats();
    drop(index);
    if let (Err(_), Ok(named)) = (removed, named) {
        named.close().map_err(|source| Failure::Io { doing: "remove it", path, source })?;
    }
    Ok(Measured { codec, summary, stats, built_in, verified_in, query_times, matches, checked })
}

fn build(args: &Args, codec: Codec, data: &Data, path: &Path) -> Result<Summary, Failure> {
    let phases = Arc::new(Phases::default());
    let options = choose(BuildOptions::new(), &args.design, args.distance)?
        .codec(codec)
        .filter(args.filter)
        .threads(args.threads.count())
        .progress(phases.reporter());
    let mut builder = Builder::with_options(path, options)?;
    data.stored.iter().try_for_each(|&fingerprint| builder.push(fingerprint))?;
    let summary = builder.seal().and_then(SealedIndex::publish);
    phases.finish();
    Ok(summary?)
}

/// Returns the time of each query, ascending, and the number of all matches.
fn time_queries(
    index: &Index<u64>,
    queries: &[u64],
    distance: u32,
) -> Result<(Vec<Duration>, u64), ReadError> {
    let mut searcher = index.searcher();
    let mut times = Vec::with_capacity(queries.len());
    let mut matches = 0;
    // One untimed run, so that the first access to pages is not measured.
    for warm in [true, false] {
        for &query in queries {
            let started = Instant::now();
            let found = searcher.within(query, distance)?.len();
            if !warm {
                times.push(started.elapsed());
                matches += found as u64;
            }
        }
    }
    times.sort_unstable();
    Ok((times, matches))
}

fn check(index: &Index<u64>, data: &Data, distance: u32) -> Result<Checked, ReadError> {
    let mut searcher = index.searcher();
    let mut checked = Checked { queries: 0, expected: 0, found: 0, excess: 0 };
    for &query in data.queries.iter().take(CHECKED_QUERIES) {
        let found: Vec<u64> =
            searcher.within(query, distance)?.iter().map(|found| found.fingerprint).collect();
        let mut expected: Vec<u64> =
            data.stored.iter().copied().filter(|stored| stored.distance(query) <= distance).collect();
        expected.sort_unstable();
        expected.dedup();
        let hits = found.iter().filter(|found| expected.binary_search(found).is_ok()).count();
        checked.queries += 1;
        checked.expected += expected.len();
        checked.found += hits;
        checked.excess += found.len() - hits;
    }
    Ok(checked)
}
