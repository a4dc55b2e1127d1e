//! The output: clusters, or ids alone.

use std::io::Write;
use std::path::Path;

use clap::ValueEnum;
use hamdex::Fingerprint;
use hamdex_atomic_file::AtomicFile;
use hamdex_documents::tables::{Rows, TableFormat, write_json};
use hamdex_documents::{Clusters, Copied};

use crate::commands::dedup::known::{self, Against};
use crate::failure::Failure;
use crate::names;
use crate::standard_output;

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
