//! hamdex by codec and design: a file, read into memory since the others' indexes are in memory too.

use std::time::Instant;

use anyhow::Result;
use hamdex::{BuildOptions, Builder, Codec, Design, Index, OpenOptions};
use tempfile::TempDir;

use crate::contender::{Built, Contender};
use crate::memory::held;

pub(crate) const DESIGNS: [&str; 6] = ["halves", "thirds", "quarters", "cover-6", "cover-8", "paper-10"];

/// Memory of a build: enough to sort 100 million fingerprints without temporary files, and little
/// compared with the largest of the others.
const BUILD_MEMORY_BYTES: u64 = 3 << 30;

pub(crate) fn build(stored: &[u64], codec: Codec, design: &str, distance: u32) -> Result<Built> {
    let directory = tempfile::Builder::new().prefix("hamdex-peers-").tempdir()?;
    let path = directory.path().join("peers.hamdex");
    let options = BuildOptions::new().design(Design::named(design, distance)?).codec(codec);
    let started = Instant::now();
    let mut builder = Builder::with_options(&path, options.threads(1).memory(BUILD_MEMORY_BYTES))?;
    stored.iter().try_for_each(|&x| builder.push(x))?;
    let file_bytes = builder.finish()?.bytes;
    let build_seconds = started.elapsed().as_secs_f64();
    let (index, held_bytes) = held(|| OpenOptions::new().in_memory(true).open(&path));
    let contender = Box::new(Loaded { index: index?, _directory: directory });
    Ok(Built { contender, file_bytes, held_bytes, build_seconds })
}

struct Loaded {
    index: Index<u64>,
    /// Removes the file when it is dropped.
    _directory: TempDir,
}

impl Contender for Loaded {
    fn count(&self, queries: &[u64], distance: u32) -> Result<u64> {
        let mut searcher = self.index.searcher();
        let mut matches = 0;
        for &query in queries {
            matches += searcher.within(query, distance)?.len() as u64;
        }
        Ok(matches)
    }

    fn for_each_match(
        &self,
        queries: &[u64],
        distance: u32,
        found: &mut dyn FnMut(usize, u64),
    ) -> Result<()> {
        let mut searcher = self.index.searcher();
        for (number, &query) in queries.iter().enumerate() {
            searcher.within(query, distance)?.iter().for_each(|near| found(number, near.fingerprint));
        }
        Ok(())
    }
}
