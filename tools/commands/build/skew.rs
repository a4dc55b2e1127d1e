//! Do the fingerprints look like fingerprints? Told by what the build has counted anyway.

use hamdex::{Fingerprint, Stats};
use indicatif::HumanCount;

/// With fewer fingerprints chance decides.
const FEWEST: u64 = 1000;

/// Suspicious is a table with fewer different prefixes than this share of what chance gives.
const LEAST_SHARE: f64 = 0.25;

/// Suspicious are more fingerprints read for each distinct one.
const MOST_REPEATS: u64 = 10;

/// A warning, if the fingerprints are hardly ever different, as those of empty texts or of a broken
/// recipe are; or if leading bits take far fewer values than those of uniform fingerprints: queries then
/// meet more candidates than the design was chosen for, and unlike texts may lie near each other.
///
/// The counts of h tell it: of n sorted fingerprints, those that differ from the one before within
/// their first p bits start a new prefix of p bits.
pub(super) fn warning<F: Fingerprint>(read: u64, stats: &Stats<F>) -> Option<String> {
    if read >= FEWEST && stats.fingerprints < read / MOST_REPEATS {
        return Some(format!(
            "only {} of {} fingerprints are distinct (which: `hamdex dump --stats`, with ids)",
            HumanCount(stats.fingerprints),
            HumanCount(read)
        ));
    }
    if stats.fingerprints < FEWEST {
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
    ((least as f64) < expected * LEAST_SHARE).then(|| {
        format!(
            "the fingerprints are skewed: the first {bits} bits of table {table} take only {least} values, where \
             {expected:.0} are to be expected; queries will be slower (see `hamdex dump --stats`)"
        )
    })
}
