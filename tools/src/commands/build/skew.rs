//! Warnings about fingerprints that look wrong, by counts that the build keeps anyway.

use std::io;
use std::path::Path;

use hamdex::inspect::Stats;
use hamdex::{Fingerprint, Index, ReadError, ReadErrorKind};
use indicatif::HumanCount;

use crate::failure::Failure;

/// The fewest fingerprints that are judged; with fewer, chance decides.
const MIN_FINGERPRINTS: u64 = 1000;

/// A table with fewer distinct prefixes than this share of the number expected by chance is suspicious.
const MIN_SHARE: f64 = 0.25;

/// More fingerprints read than this for each distinct one are suspicious.
const MAX_REPEATS: u64 = 10;

/// Returns the statistics of a finished index; `None` if there is no memory to map it, for only a warning
/// depends on them.
pub(super) fn stats<F: Fingerprint>(index: &Path) -> Result<Option<Stats<F>>, Failure> {
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
pub(super) fn warning<F: Fingerprint>(read: u64, stats: &Stats<F>) -> Option<String> {
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
        assert!(matches!(stats::<u64>(file.path()), Err(Failure::Index(_))));
        assert!(matches!(stats::<u64>(Path::new("/no/such/index")), Err(Failure::Index(_))));
    }
}
