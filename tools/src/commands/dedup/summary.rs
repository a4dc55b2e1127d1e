//! The summary on standard error, in a line or two.

use std::time::Instant;

use hamdex_documents::{Clusters, Copied, Extent};
use indicatif::HumanCount;

use crate::documents::report;
use crate::failure::Failure;
use crate::messages::{self, counted};

/// The most clusters that the summary names.
const NAMED: usize = 3;

/// The fewest documents of a cluster that the summary names.
const MIN_NAMED: u64 = 3;

/// The most characters of an id in the summary. Long ids are often addresses, which begin alike.
const MAX_ID: usize = 120;

/// Prints how many documents and clusters there are, and the largest clusters.
pub(super) fn print(
    clusters: &Clusters,
    copied: Option<&Copied>,
    kind: Kind,
    are_linked: bool,
    started: Instant,
) -> Result<(), Failure> {
    if let Some(copied) = copied {
        caution(copied, kind);
    }
    let mut parts = vec![
        counted(clusters.count(), "cluster", "clusters"),
        counted(clusters.duplicates(), "duplicate", "duplicates"),
    ];
    if let Some(known) = clusters.known() {
        parts.push(format!("{} known already", HumanCount(known.len() as u64)));
    }
    if clusters.too_short().count() > 0 {
        parts.push(format!("{} too short", HumanCount(clusters.too_short().count())));
    }
    if let Some(copied) = copied.filter(|copied| copied.unread > 0) {
        let are = if copied.unread == 1 { "is" } else { "are" };
        let rows = counted(copied.unread, "row", "rows");
        parts.push(format!("{rows} without {} {are} kept", kind.usable()));
    }
    if let Some(copied) = copied {
        parts.extend(files(copied));
    }
    let (counts, skipped) = (clusters.counts(), report::skipped(clusters.counts()));
    let rate = match kind {
        Kind::Texts => report::rate(counts, started),
        Kind::Fingerprints => report::timed(
            &counted(counts.documents, "fingerprint", "fingerprints"),
            counts.documents,
            started,
        ),
    };
    messages::summary(format_args!("{rate}; {}{skipped}", parts.join(", ")));
    let mut named = Vec::new();
    for extent in clusters.largest(NAMED).iter().filter(|extent| extent.documents >= MIN_NAMED) {
        named.push(describe(clusters, extent, are_linked)?);
    }
    if !named.is_empty() {
        let what = if are_linked { "the largest chains" } else { "the largest clusters" };
        messages::summary(format_args!("{what}: {}", named.join("; ")));
    }
    Ok(())
}

/// Returns which files there are in a copy in which each input has a file of its own.
fn files(copied: &Copied) -> Vec<String> {
    let kinds = [
        (copied.files, "file is written", "files are written"),
        (copied.duplicate_files, "file is a duplicate as a whole", "files are duplicates as a whole"),
        (copied.passed_over, "file was not read and is not copied", "files were not read and are not copied"),
    ];
    let some = kinds.into_iter().filter(|(count, ..)| *count > 0);
    some.map(|(count, one, several)| counted(count, one, several)).collect()
}

/// Says how a file with a document on each line is read, after one was read as a single document.
pub(super) fn alone() {
    messages::notice("one document has no duplicates; --format lines reads one on each line");
}

/// Prints which columns and rows a copy of the unique documents lacks.
fn caution(copied: &Copied, kind: Kind) {
    let all = kind.plural();
    if copied.is_partial {
        messages::caution(format_args!(
            "only ids and {all} are written; without --drop-columns, all columns are"
        ));
    }
    if copied.without_text > 0 {
        messages::caution(format_args!(
            "{} left out: without {}, where only ids and {all} are written",
            counted(copied.without_text, "row is", "rows are"),
            kind.singular()
        ));
    }
}

/// What is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Texts,
    Fingerprints,
}

impl Kind {
    fn singular(self) -> &'static str {
        if self == Self::Texts { "a text" } else { "a fingerprint" }
    }

    fn usable(self) -> &'static str {
        if self == Self::Texts { "a usable text" } else { "a fingerprint" }
    }

    fn plural(self) -> &'static str {
        if self == Self::Texts { "texts" } else { "fingerprints" }
    }
}

/// Returns the error of a copy that lacks rows.
pub(super) fn incomplete(copied: &Copied, kind: Kind) -> Failure {
    if kind == Kind::Fingerprints {
        let rows = counted(copied.without_text, "row of a list is", "rows of lists are");
        return Failure::Wrong(format!(
            "{rows} not written: next to tables, a row of a list without a fingerprint has no place"
        ));
    }
    let rows = counted(copied.left_out + copied.without_text, "row is", "rows are");
    let without =
        if copied.without_text > 0 { ", or without a text where only ids and texts are written" } else { "" };
    Failure::Wrong(format!(
        "{rows} not written: malformed, not UTF-8 or too long (--max-document){without}; --skip-unreadable accepts that"
    ))
}

/// Describes a cluster: `"t980" and 11 others`; for a chain also how far it reaches.
fn describe(clusters: &Clusters, extent: &Extent, are_linked: bool) -> Result<String, Failure> {
    let id = clusters.id(extent.kept)?;
    let mut text = format!("{} and {} others", named(&id), HumanCount(extent.documents - 1));
    if are_linked {
        text += &match extent.least_similarity {
            Some(similarity) => format!(", down to {similarity:.2} similar to it"),
            None => format!(", up to {} bits from it", extent.greatest_distance),
        };
    }
    Ok(text)
}

/// Returns an id in quotes; of a long one, both ends.
fn named(id: &str) -> String {
    let count = id.chars().count();
    if count <= MAX_ID {
        return format!("{id:?}");
    }
    let (start, end) = (id.char_indices().nth(MAX_ID / 2), id.char_indices().nth(count - MAX_ID / 2));
    let (start, end) = (&id[..start.map_or(0, |(at, _)| at)], &id[end.map_or(0, |(at, _)| at)..]);
    format!("{:?}", format!("{start}…{end}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_ids_keep_their_ends() {
        let long = format!("https://example.com/{}/page-7é", "é".repeat(200));
        assert_eq!(named("a\"b"), "\"a\\\"b\"");
        let short = named(&long);
        assert!(short.starts_with("\"https://example.com/é") && short.ends_with("é/page-7é\""), "{short}");
        assert_eq!(short.chars().count(), MAX_ID + 3);
        assert_eq!(named(&"é".repeat(MAX_ID)).chars().count(), MAX_ID + 2);
    }
}
