//! The output, which is clusters or ids alone, and the summary on standard error, in a line or two.

use std::io::Write;
use std::path::Path;
use std::time::Instant;

use clap::ValueEnum;
use hamdex::Fingerprint;
use hamdex_atomic_file::AtomicFile;
use hamdex_documents::tables::{Rows, TableFormat, write_json};
use hamdex_documents::{Clusters, Copied, Extent};
use indicatif::HumanCount;

use crate::commands::dedup::known::{self, Against};
use crate::documents;
use crate::failure::Failure;
use crate::messages::{self, counted};
use crate::{names, standard_output};

/// The documents whose ids are printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Which {
    /// Duplicates
    Duplicates,
    /// All others: kept documents, and those without duplicates
    Kept,
}

/// Returns the format of results by the ending of the file name; `None` for standard output.
pub(super) fn format_of(out: Option<&Path>) -> Result<Option<TableFormat>, Failure> {
    match out {
        Some(path) if path.as_os_str() != "-" => Ok(Some(TableFormat::of(path)?)),
        _ => Ok(None),
    }
}

/// Writes every document of a cluster.
pub(super) fn clusters(
    file: Option<AtomicFile>,
    format: TableFormat,
    json: bool,
    clusters: &Clusters,
) -> Result<(), Failure> {
    if let Some(file) = file {
        let mut rows = Rows::new(file, format, clusters.columns())?;
        clusters.write(&mut rows)?;
        return Ok(rows.finish()?);
    }
    let mut output = standard_output::buffered();
    if json {
        let names: Vec<&str> = clusters.columns().iter().map(|(name, _)| *name).collect();
        clusters.for_each_row(|_, cells| Ok::<(), Failure>(write_json(&mut output, &names, cells)?))?;
        return Ok(output.flush()?);
    }
    for member in clusters.members() {
        let what = if member.is_kept { "kept" } else { "duplicate" };
        write!(output, "{}\t{what}\t{}\t", member.cluster, member.distance)?;
        if let Some(similarity) = member.similarity {
            write!(output, "{similarity:.3}\t")?;
        }
        output.write_all(&names::written(&clusters.id_bytes(member.document)?))?;
        writeln!(output)?;
    }
    Ok(output.flush()?)
}

/// Prints the numbers of documents and clusters, and of the files and rows of a copy; the problems of the inputs, if they
/// were read as documents.
pub(super) fn summary(
    clusters: &Clusters,
    copied: Option<&Copied>,
    problems: Option<Vec<serde_json::Value>>,
) -> Result<(), Failure> {
    let counts = clusters.counts();
    let mut summary = serde_json::json!({
        "documents": counts.documents,
        "clusters": clusters.count(),
        "duplicates": clusters.duplicates(),
    });
    if counts.skipped() > 0 {
        summary["skipped"] = counts.skipped().into();
    }
    if let Some(problems) = problems.filter(|problems| !problems.is_empty()) {
        summary["problems"] = problems.into();
    }
    if let Some(copied) = copied {
        for (name, number) in [
            ("files", copied.files),
            ("duplicate_files", copied.duplicate_files),
            ("passed_over", copied.passed_over.max(counts.passed_over + counts.litter)),
            ("rows", copied.rows),
            ("rows_without_text", copied.unread),
            ("rows_left_out", copied.left_out),
        ] {
            summary[name] = number.into();
        }
    }
    standard_output::print_json(&summary)
}

/// Prints a line for each known document.
pub(super) fn known<F: Fingerprint>(
    clusters: &Clusters,
    against: &Against<F>,
    json: bool,
) -> Result<(), Failure> {
    let mut output = standard_output::buffered();
    known::for_each(clusters, against, |row| {
        if json {
            standard_output::write_json(&mut output, &row)?;
        } else {
            // The column of cluster numbers is empty.
            write!(output, "-\tknown\t")?;
            match row.distance {
                Some(distance) => write!(output, "{distance}\t")?,
                None => write!(output, "-\t")?,
            }
            match row.similarity {
                Some(similarity) => write!(output, "{similarity:.3}\t")?,
                None if clusters.has_similarities() => write!(output, "-\t")?,
                None => {}
            }
            output.write_all(&names::written(&row.id_bytes))?;
            row.known.print(&mut output)?;
            writeln!(output)?;
        }
        Ok(())
    })?;
    Ok(output.flush()?)
}

/// Prints ids alone: one per line, or ended by a zero byte, as `xargs -0` reads them.
pub(super) fn ids(clusters: &Clusters, which: Which, with_zeros: bool) -> Result<(), Failure> {
    let mut output = standard_output::buffered();
    let mut print = |document: u32| -> Result<(), Failure> {
        let id = clusters.id_bytes(document)?;
        let (id, end) = if with_zeros { (id.into(), b"\0") } else { (names::written(&id), b"\n") };
        output.write_all(&id)?;
        Ok(output.write_all(end)?)
    };
    match which {
        Which::Kept => clusters.unique().try_for_each(&mut print)?,
        Which::Duplicates => {
            let duplicates = clusters.members().iter().filter(|member| !member.is_kept);
            duplicates.map(|member| member.document).try_for_each(&mut print)?;
        }
    }
    Ok(output.flush()?)
}

/// The most clusters that the summary names.
const NAMED: usize = 3;

/// The fewest documents of a cluster that the summary names.
const MIN_NAMED: u64 = 3;

/// The most characters of an id in the summary. Long ids are often addresses, which begin alike.
const MAX_ID: usize = 120;

/// Prints how many documents and clusters there are, and the largest clusters.
pub(super) fn print_summary(
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
    let (counts, skipped) = (clusters.counts(), documents::skipped(clusters.counts()));
    let rate = match kind {
        Kind::Texts => documents::rate(counts, started),
        Kind::Fingerprints => documents::timed(
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

/// The kind of records that are compared.
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
