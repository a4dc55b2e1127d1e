//! Do the fingerprints look like fingerprints? Judged by what the build has counted anyway.

use std::io;
use std::path::Path;

use hamdex::inspect::Stats;
use hamdex::{Fingerprint, Index, ReadError, ReadErrorKind};
use indicatif::HumanCount;

use crate::failure::Failure;

/// With fewer fingerprints chance decides.
const MIN_FINGERPRINTS: u64 = 1000;

/// Suspicious is a table with fewer different prefixes than this share of what chance gives.
const MIN_SHARE: f64 = 0.25;

/// Suspicious are more fingerprints read for each distinct one.
const MAX_REPEATS: u64 = 10;

/// The statistics of a finished index; `None` where there is no memory to map it, for only a warning depends
/// on them.
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

/// A warning, if the fingerprints are hardly ever different, as those of empty texts or of a broken
/// recipe are; or if leading bits take far fewer values than those of uniform fingerprints: queries then
/// meet more candidates than the design was chosen for, and unlike texts may lie near each other.
///
/// The counts of h show it: of n sorted fingerprints, those that differ from the one before within
/// their first p bits start a new prefix of p bits.
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
        // Linux and macOS number it alike.
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
