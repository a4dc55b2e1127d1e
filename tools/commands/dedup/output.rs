//! Output: clusters, or the documents without the duplicates.

use std::io::{self, BufWriter, Write};
use std::path::Path;

use hamdex_atomic_file::AtomicFile;
use hamdex_documents::{Cell, Clusters, Kind, Rows, TableFormat, write_json};

use crate::documents::report::plain;
use crate::failure::Failure;

/// Returns the format of results: by the ending of the file's name; JSON Lines for standard output.
pub(super) fn format_of(out: Option<&Path>) -> Result<TableFormat, Failure> {
    match out {
        Some(path) if path.as_os_str() != "-" => Ok(TableFormat::of(path)?),
        _ => Ok(TableFormat::Jsonl),
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
        let mut rows = Rows::new(file, format, &Clusters::COLUMNS)?;
        clusters.write(&mut rows)?;
        return Ok(rows.finish()?);
    }
    let mut output = BufWriter::with_capacity(1 << 16, io::stdout().lock());
    for member in clusters.members() {
        if json {
            let names = Clusters::COLUMNS.map(|(name, _)| name);
            write_json(&mut output, &names, &clusters.cells(member))?;
        } else {
            let what = if member.is_kept { "kept" } else { "duplicate" };
            let id = plain(clusters.id(member.document));
            writeln!(output, "{}\t{what}\t{}\t{id}", member.cluster, member.distance)?;
        }
    }
    Ok(output.flush()?)
}

/// Writes the documents that are neither duplicates nor known already.
pub(super) struct Unique<'a> {
    pub(super) clusters: &'a Clusters,
    /// The names of id and text.
    pub(super) fields: [&'a str; 2],
}

impl Unique<'_> {
    pub(super) fn write(&self, file: Option<AtomicFile>, format: TableFormat) -> Result<(), Failure> {
        let Some(mut file) = file else {
            let mut output = BufWriter::with_capacity(1 << 16, io::stdout().lock());
            self.write_lines(|line| Ok(writeln!(output, "{line}")?))?;
            return Ok(output.flush()?);
        };
        if format != TableFormat::Jsonl {
            return self.write_table(file, format);
        }
        self.write_lines(|line| Ok(writeln!(file, "{line}").map_err(file.failed())?))?;
        Ok(file.finish()?)
    }

    fn write_lines(&self, mut write: impl FnMut(&str) -> Result<(), Failure>) -> Result<(), Failure> {
        for document in self.clusters.unique() {
            write(&self.clusters.line(document)?.expect("lines were kept"))?;
        }
        Ok(())
    }

    fn write_table(&self, file: AtomicFile, format: TableFormat) -> Result<(), Failure> {
        let mut rows = Rows::new(file, format, &self.fields.map(|name| (name, Kind::Text)))?;
        for document in self.clusters.unique() {
            let text = self.clusters.text(document)?.expect("texts were kept");
            rows.push(&[Cell::Text(self.clusters.id(document)), Cell::Text(&text)])?;
        }
        Ok(rows.finish()?)
    }
}
