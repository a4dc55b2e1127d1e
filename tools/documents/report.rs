//! What a command says about documents when it is done, on standard error: standard output is for
//! results.

use std::borrow::Cow;
use std::time::Instant;

use hamdex_simhash::Outcome;
use indicatif::{DecimalBytes, HumanCount};

use crate::documents::Counts;

/// So many texts that are too short are named; all are counted.
const MOST_NAMED: usize = 20;

/// Counts and names the texts that are too short for a fingerprint.
#[derive(Debug, Default)]
pub(crate) struct TooShort {
    pub(crate) count: u64,
    /// The first ones, and how many features they have.
    named: Vec<(String, usize)>,
}

impl TooShort {
    pub(crate) fn note<F>(&mut self, id: &str, outcome: &Outcome<F>) {
        if let Outcome::TooShort { features, .. } = outcome {
            self.count += 1;
            if self.named.len() < MOST_NAMED {
                self.named.push((id.to_owned(), *features));
            }
        }
    }

    /// Once nothing is drawn any more.
    pub(crate) fn print(&self) {
        for (id, features) in &self.named {
            anstream::eprintln!("hamdex: {id:?} is too short for a fingerprint ({features} features)");
        }
        let others = self.count - self.named.len() as u64;
        if others > 0 {
            anstream::eprintln!("hamdex: {} others are too short for a fingerprint", HumanCount(others));
        }
    }
}

/// An id for a line of plain text: what would end the line or the column is escaped.
pub(crate) fn plain(id: &str) -> Cow<'_, str> {
    if !id.contains(char::is_control) {
        return Cow::Borrowed(id);
    }
    let escape = |c: char| if c.is_control() { c.escape_default().to_string() } else { c.to_string() };
    Cow::Owned(id.chars().map(escape).collect())
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
pub(crate) fn summary(counts: &Counts, too_short: &TooShort, started: Instant) {
    too_short.print();
    let short = match too_short.count {
        0 => String::new(),
        some => format!(", {} too short", HumanCount(some)),
    };
    anstream::eprintln!("{}{short}{counts}", rate(counts, started));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_stays_on_its_line() {
        assert_eq!(plain("notes/été 1.txt"), "notes/été 1.txt");
        assert_eq!(plain("a\tb\nc"), "a\\tb\\nc");
    }
}
