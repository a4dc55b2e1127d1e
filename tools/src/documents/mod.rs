//! Documents on the command line.
//!
//! - [`inputs`]: options for reading documents, and documents of a pipe, as they come
//! - [`recipe`]: options for recipes
//! - [`notices`]: problems with single documents, and the messages that name options
//!
//! This file has the summaries of documents, which are printed at the end, on standard error, since standard output is
//! for results.

pub(crate) mod inputs;
pub(crate) mod notices;
pub(crate) mod recipe;

use std::time::Instant;

use hamdex::Fingerprint;
use hamdex_documents::{Counts, Document, TooShort};
use hamdex_simhash::{Outcome, Shingles};
use indicatif::{DecimalBytes, HumanCount};

use crate::failure::{Failure, shown};
use crate::messages::{self, counted};

/// Prints the first documents that are too short, and the number of the others. The caller hides the progress
/// bar.
pub(crate) fn too_short(too_short: &TooShort) {
    for (id, features) in too_short.examples() {
        messages::warning(format_args!(
            "{} is too short for a fingerprint ({})",
            shown(id),
            counted(*features as u64, "feature", "features")
        ));
    }
    let others = too_short.count() - too_short.examples().len() as u64;
    if others > 0 {
        messages::warning(format_args!("{} more are too short for a fingerprint", HumanCount(others)));
    }
}

/// Returns `, 3 skipped (1 malformed, 2 binary), 1 with invalid UTF-8 replaced`, or nothing.
pub(crate) fn skipped(counts: &Counts) -> String {
    let mut text = String::new();
    if counts.skipped() > 0 {
        text = format!(", {} skipped ({})", HumanCount(counts.skipped()), reasons(counts));
    }
    for (count, what) in [(counts.replaced, "with invalid UTF-8 replaced"), (counts.empty, "without text")] {
        if count > 0 {
            text += &format!(", {} {what}", HumanCount(count));
        }
    }
    if counts.repeated_ids > 0 {
        let least = if counts.ids_are_sampled { "at least " } else { "" };
        text += &format!(", {least}{} with the id of an earlier one", HumanCount(counts.repeated_ids));
    }
    text + &passed_over(counts)
}

/// Returns `, 2 links or special files passed over`, or nothing.
fn passed_over(counts: &Counts) -> String {
    let kinds = [
        (counts.passed_over, "link or special file", "links or special files"),
        (counts.litter, "file that is no document", "files that are no documents"),
        (counts.repeated_files, "file reached again", "files reached again"),
    ];
    let some = kinds.into_iter().filter(|(count, ..)| *count > 0);
    some.map(|(count, one, several)| format!(", {} passed over", counted(count, one, several))).collect()
}

/// Returns why documents were skipped: `1 malformed, 2 binary`.
fn reasons(counts: &Counts) -> String {
    let reasons = [
        (counts.malformed, "malformed"),
        (counts.missing_field, "without a field"),
        (counts.too_long, "too long"),
        (counts.binary, "binary"),
        (counts.not_utf8, "not UTF-8"),
        (counts.unreadable, "unreadable"),
    ];
    let reasons = reasons.iter().filter(|(count, _)| *count > 0);
    let reasons: Vec<String> =
        reasons.map(|(count, reason)| format!("{} {reason}", HumanCount(*count))).collect();
    reasons.join(", ")
}

/// Returns an error if no document was read, except from inputs that are whole and have none: a header alone, `[]`.
pub(crate) fn require_some(counts: &Counts) -> Result<(), Failure> {
    let is_empty_result = counts.skipped() == 0 && counts.inputs > 0;
    if counts.documents > 0 || is_empty_result {
        return Ok(());
    }
    let why = match counts.skipped() {
        0 => format!("no document was found: the inputs hold no file to read{}", passed_over(counts)),
        some => format!("no document could be used: {} skipped ({})", HumanCount(some), reasons(counts)),
    };
    Err(Failure::Wrong(why))
}

/// Returns `1,000 documents (2.5 MB) in 0.1 s: 10,000 per second`.
pub(crate) fn rate(counts: &Counts, started: Instant) -> String {
    let documents = counted(counts.documents, "document", "documents");
    timed(&format!("{documents} ({})", DecimalBytes(counts.text_bytes)), counts.documents, started)
}

/// Returns `1,000 fingerprints in 0.1 s: 10,000 per second`; `what` says how many there were.
pub(crate) fn timed(what: &str, count: u64, started: Instant) -> String {
    let seconds = started.elapsed().as_secs_f64().max(1e-9);
    format!("{what} in {seconds:.1} s: {} per second", HumanCount((count as f64 / seconds) as u64))
}

/// Returns the fingerprint of a document that is kept: one with shingles whenever its text is not blank, another one
/// if it is not too short, which is noted.
pub(crate) fn kept<F: Fingerprint>(
    document: &Document,
    outcome: &Outcome<F>,
    shingles: Option<&Shingles>,
    too_short: &mut TooShort,
) -> Option<F> {
    match shingles {
        Some(shingles) => outcome.value_of_text(shingles),
        None => {
            too_short.note(&document.id, outcome);
            outcome.reliable()
        }
    }
}

/// Prints the summary of documents, and returns an error if there was none.
pub(crate) fn finish(counts: &Counts, short: &TooShort, started: Instant) -> Result<(), Failure> {
    require_some(counts)?;
    summary(counts, short, started);
    Ok(())
}

/// Prints how many documents there were, and how many were skipped.
pub(crate) fn summary(counts: &Counts, short: &TooShort, started: Instant) {
    too_short(short);
    let short = match short.count() {
        0 => String::new(),
        some => format!(", {} too short", HumanCount(some)),
    };
    messages::summary(format_args!("{}{short}{}", rate(counts, started), skipped(counts)));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_there_is_is_counted() {
        assert_eq!(skipped(&Counts::default()), "");
        let mut few = Counts::default();
        (few.repeated_ids, few.passed_over) = (2, 1);
        assert_eq!(skipped(&few), ", 2 with the id of an earlier one, 1 link or special file passed over");
        let mut counts = Counts::default();
        (counts.malformed, counts.binary, counts.replaced, counts.empty) = (1, 2, 1, 4);
        assert_eq!(
            skipped(&counts),
            ", 3 skipped (1 malformed, 2 binary), 1 with invalid UTF-8 replaced, 4 without text"
        );
    }
}
