//! Prints the distribution on a terminal.

use std::io::{self, Write};
use std::path::Path;

use indicatif::HumanCount;

use crate::commands::dump::stats::gather::{LEADING_BITS, Spread};
use crate::messages::counted;

/// The length of the longest bar, in characters.
const BAR: usize = 50;

/// The number of leading bits shown; more are counted.
const SHOWN_BITS: u32 = 5;

pub(super) fn print(path: &Path, spread: &Spread, output: &mut impl Write) -> io::Result<()> {
    writeln!(
        output,
        "{}: {} of {} bits",
        path.display(),
        counted(spread.fingerprints, "distinct fingerprint", "distinct fingerprints"),
        spread.bits
    )?;

    writeln!(output, "\nfingerprints by their first {SHOWN_BITS} bits")?;
    let together = 1 << (LEADING_BITS - SHOWN_BITS);
    let leading: Vec<u64> = spread.leading.chunks(together).map(|counts| counts.iter().sum()).collect();
    let name = |bits: usize| format!("{bits:0width$b}", width = SHOWN_BITS as usize);
    bars(&leading, None, name, output)?;
    for (bits, count) in &spread.crowded {
        writeln!(
            output,
            "spike: {} fingerprints start with {bits:0width$b}, {:.1} times as many as by chance",
            HumanCount(*count),
            *count as f64 * spread.leading.len() as f64 / spread.fingerprints as f64,
            width = LEADING_BITS as usize
        )?;
    }

    match &spread.spikes {
        None => writeln!(output, "\nthis index has no ids")?,
        Some(spikes) if spikes.is_empty() => writeln!(output, "\nno fingerprint has more than one id")?,
        Some(spikes) => {
            writeln!(output, "\nfingerprints with the most of the {} ids", HumanCount(spread.ids))?;
            for spike in spikes {
                let share = spike.ids as f64 / spread.ids as f64 * 100.0;
                writeln!(
                    output,
                    "  {}  {:>12} ids  {share:5.1} %  {}",
                    spike.fingerprint,
                    HumanCount(spike.ids).to_string(),
                    spike.shown_ids()
                )?;
            }
        }
    }

    writeln!(
        output,
        "\ndistances between the pairs of {}, compared with uniform ones",
        counted(spread.sampled, "fingerprint", "fingerprints")
    )?;
    bars(&spread.distances, Some(&spread.expected_distances()), |distance| distance.to_string(), output)?;

    writeln!(output, "\nh, the first bit in which a fingerprint differs from the one before it")?;
    bars(&spread.h, None, |h| h.to_string(), output)
}

/// Prints a line for each count that is not zero.
fn bars(
    counts: &[u64],
    expected: Option<&[f64]>,
    name: impl Fn(usize) -> String,
    output: &mut impl Write,
) -> io::Result<()> {
    let most = counts.iter().copied().max().unwrap_or(0).max(1);
    for (number, &count) in counts.iter().enumerate().filter(|(_, count)| **count > 0) {
        let bar = "█".repeat((count as f64 / most as f64 * BAR as f64).ceil() as usize);
        let beside = expected.map_or(String::new(), |expected| {
            format!(" {:>14}", HumanCount(expected[number].round() as u64).to_string())
        });
        writeln!(output, "  {:>8} {:>14}{beside}  {bar}", name(number), HumanCount(count).to_string())?;
    }
    Ok(())
}
