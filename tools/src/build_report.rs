//! The report on an index, or a set of shards, that was built or merged, and a warning about fingerprints that look wrong,
//! by counts that the build keeps anyway.

use std::io;
use std::path::Path;

use hamdex::inspect::Stats;
use hamdex::{Codec, Fingerprint, Index, ReadError, ReadErrorKind, Summary};
use hamdex_shards::ShardsSummary;
use hamdex_shards::inspect::Manifest;
use indicatif::{HumanBytes, HumanCount};

use crate::failure::Failure;
use crate::messages::{self, counted};
use crate::standard_output::{Object, print_json};

/// A finished build.
pub(crate) enum Finished {
    File(Summary),
    Shards(ShardsSummary),
}

/// A finished build, how it was made, and how long it took.
pub(crate) struct BuildReport<'a> {
    /// The path as the user gave it.
    pub(crate) output: &'a Path,
    pub(crate) finished: &'a Finished,
    pub(crate) codec: Codec,
    /// The number of documents, and how many of them were too short, if the inputs were documents.
    pub(crate) documents: Option<(u64, u64)>,
    /// The number of merged indexes, after a merge.
    pub(crate) merged: Option<usize>,
    pub(crate) seconds: f64,
}

impl BuildReport<'_> {
    /// Prints the report as a JSON object on standard output, or as a sentence on standard error.
    pub(crate) fn print(&self, json: bool) -> Result<(), Failure> {
        let ((read, fingerprints, ids, bytes), design, shards) = match self.finished {
            Finished::File(Summary { pushed, fingerprints, ids, bytes, design, .. }) => {
                ((*pushed, *fingerprints, *ids, *bytes), Some(design.as_str()), None)
            }
            Finished::Shards(ShardsSummary { pushed, manifest, .. }) => {
                let counts = (*pushed, manifest.fingerprints(), manifest.ids(), manifest.bytes());
                (counts, None, Some(manifest))
            }
        };
        let bytes_per_fingerprint = bytes as f64 / fingerprints.max(1) as f64;
        if json {
            let report = Object::default()
                .field("output", self.output.to_string_lossy())
                .optional("layout", shards.map(|manifest| manifest.layout.to_string()))
                .optional("families", shards.map(Manifest::families))
                .optional("shards", shards.map(|manifest| manifest.shards.len()))
                .optional("merged", self.merged)
                .field("read", read)
                .field("fingerprints", fingerprints)
                .field("ids", ids)
                .optional("documents", self.documents.map(|(all, _)| all))
                .optional("too_short", self.documents.map(|(_, too_short)| too_short))
                .optional("design", design)
                .field("codec", self.codec.name())
                .field("bytes", bytes)
                .field("bytes_per_fingerprint", bytes_per_fingerprint)
                .field("seconds", self.seconds);
            return print_json(&report);
        }
        let from = match self.merged {
            None => String::new(),
            Some(count) => format!(" from {}", counted(count as u64, "index", "indexes")),
        };
        let ids = match ids {
            0 => String::new(),
            some => format!(", {}", counted(some, "id", "ids")),
        };
        let shape = match shards.map(|manifest| (manifest.families(), manifest.shards.len())) {
            None => format!("design {}", design.unwrap_or_default()),
            Some((1, shards)) => format!("{} shards", HumanCount(shards as u64)),
            Some((families, shards)) => format!("{families} families of {} shards", shards / families),
        };
        messages::summary(format_args!(
            "{}: {} read{from}, {} distinct{ids}; {shape}, {}; {} ({bytes_per_fingerprint:.2} bytes per fingerprint) in \
             {:.1} s",
            self.output.display(),
            counted(read, "fingerprint", "fingerprints"),
            HumanCount(fingerprints),
            self.codec,
            HumanBytes(bytes),
            self.seconds,
        ));
        Ok(())
    }
}

/// The fewest fingerprints that are judged; with fewer, chance decides.
const MIN_FINGERPRINTS: u64 = 1000;

/// A table with fewer distinct prefixes than this share of the number expected by chance is suspicious.
const MIN_SHARE: f64 = 0.25;

/// More fingerprints read than this for each distinct one are suspicious.
const MAX_REPEATS: u64 = 10;

/// Returns the statistics of a finished index; `None` if there is no memory to map it, for only a warning
/// depends on them.
pub(crate) fn stats_of<F: Fingerprint>(index: &Path) -> Result<Option<Stats<F>>, Failure> {
    match Index::<F>::open(index) {
        Ok(index) => Ok(Some(index.stats())),
        Err(error) if is_out_of_memory(&error) => Ok(None),
        Err(error) => Err(Failure::Index(error)),
    }
}

fn is_out_of_memory(error: &ReadError) -> bool {
    matches!(error.kind(), ReadErrorKind::Io(error) if error.kind() == io::ErrorKind::OutOfMemory)
}

/// Returns a warning if few fingerprints are distinct, as for empty texts or a broken recipe; or if their
/// leading bits take far fewer values than uniform fingerprints would. Queries then meet more candidates than
/// the design was chosen for, and dissimilar texts may have similar fingerprints.
///
/// The counts of h show it: of n sorted fingerprints, each that differs from the one before within the first
/// p bits starts a new prefix of p bits.
pub(crate) fn skew_warning<F: Fingerprint>(read: u64, stats: &Stats<F>) -> Option<String> {
    if read >= MIN_FINGERPRINTS && stats.fingerprints < read / MAX_REPEATS {
        return Some(format!(
            "only {} of {} fingerprints are distinct (which: `hamdex dump --stats`, with ids)",
            HumanCount(stats.fingerprints),
            HumanCount(read)
        ));
    }
    if stats.fingerprints < MIN_FINGERPRINTS {
        return None;
    }
    let bits = stats.fingerprints.ilog2();
    let all = 2f64.powf(bits.into());
    let expected = all * (1.0 - (-(stats.fingerprints as f64) / all).exp());
    let (table, least) = stats
        .tables
        .iter()
        .map(|table| 1 + table.counts.iter().take(bits as usize).sum::<u64>())
        .enumerate()
        .min_by_key(|&(_, prefixes)| prefixes)?;
    ((least as f64) < expected * MIN_SHARE).then(|| {
        format!(
            "the fingerprints are skewed: the first {bits} bits of table {table} take only {least} values, where \
             {expected:.0} are to be expected; queries will be slower (see `hamdex dump --stats`)"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_lack_of_memory_is_no_failure() {
        // The same number on Linux and macOS.
        let io = |code| ReadError::from(ReadErrorKind::Io(io::Error::from_raw_os_error(code)));
        assert!(cfg!(not(unix)) || is_out_of_memory(&io(12)));
        assert!(!is_out_of_memory(&io(5)));
        assert!(!is_out_of_memory(&ReadErrorKind::NotHamdex.into()));

        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "something else that has taken the name of the index").unwrap();
        assert!(matches!(stats_of::<u64>(file.path()), Err(Failure::Index(_))));
        assert!(matches!(stats_of::<u64>(Path::new("/no/such/index")), Err(Failure::Index(_))));
    }
}
