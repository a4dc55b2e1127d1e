//! What a command says about documents when it is done, on standard error: standard output is for
//! results.

use std::time::Instant;

use hamdex_simhash::Outcome;
use indicatif::{DecimalBytes, HumanCount};

use crate::documents::Counts;

/// So many texts that are too short are named; all are counted.
const MOST_NAMED: u64 = 20;

/// Counts and names the texts that are too short for a fingerprint.
#[derive(Debug, Default)]
pub(crate) struct TooShort {
    pub(crate) count: u64,
}

impl TooShort {
    pub(crate) fn tell<F>(&mut self, id: &str, outcome: &Outcome<F>) {
        let Outcome::TooShort { features, .. } = outcome else { return };
        self.count += 1;
        if self.count <= MOST_NAMED {
            let more = if self.count == MOST_NAMED { "; further ones are only counted" } else { "" };
            anstream::eprintln!("hamdex: {id:?} is too short for a fingerprint ({features} features){more}");
        }
    }
}

/// `1,000 documents (2.5 MB) in 0.1 s: 10,000 a second`.
pub(crate) fn rate(counts: &Counts, started: Instant) -> String {
    let seconds = started.elapsed().as_secs_f64().max(1e-9);
    format!(
        "{} documents ({}) in {seconds:.1} s: {} a second",
        HumanCount(counts.documents),
        DecimalBytes(counts.text_bytes),
        HumanCount((counts.documents as f64 / seconds) as u64)
    )
}

/// Prints what was done to how many, and what was not.
pub(crate) fn summary(counts: &Counts, too_short: u64, started: Instant) {
    let short = match too_short {
        0 => String::new(),
        some => format!(", {} too short", HumanCount(some)),
    };
    anstream::eprintln!("{}{short}{counts}", rate(counts, started));
}
