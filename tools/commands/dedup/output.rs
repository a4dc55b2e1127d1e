//! Clusters, or what is left without the duplicates.

use std::io::{self, BufWriter, Write};

use hamdex_atomic_file::AtomicFile;

use crate::commands::dedup::clusters::Clusters;
use crate::commands::dedup::corpus::{Corpus, State};
use crate::commands::dedup::spool::Spooled;
use crate::documents::report::plain;
use crate::documents::{Document, Fields};
use crate::failure::Failure;
use crate::rows::{Cell, Form, Kind, Rows, write_json};

const COLUMNS: [(&str, Kind); 4] =
    [("cluster", Kind::Number), ("id", Kind::Text), ("kept", Kind::Flag), ("distance", Kind::Number)];

/// Writes every document of a cluster.
pub(super) fn clusters<F>(
    file: Option<AtomicFile>,
    form: Form,
    json: bool,
    corpus: &Corpus<F>,
    clusters: &Clusters,
) -> Result<(), Failure> {
    let mut file = file.map(|file| Rows::create(file, form, &COLUMNS)).transpose()?;
    let mut output = BufWriter::with_capacity(1 << 16, io::stdout().lock());
    for member in clusters.members() {
        let id = corpus.names.get(member.document);
        let cells = [
            Cell::Number(member.cluster.into()),
            Cell::Text(id),
            Cell::Flag(member.is_kept),
            Cell::Number(member.distance.into()),
        ];
        match &mut file {
            Some(rows) => rows.push(&cells)?,
            None if json => write_json(&mut output, &COLUMNS.map(|(name, _)| name), &cells)?,
            None => {
                let what = if member.is_kept { "kept" } else { "duplicate" };
                writeln!(output, "{}\t{what}\t{}\t{}", member.cluster, member.distance, plain(id))?;
            }
        }
    }
    output.flush()?;
    file.map_or(Ok(()), Rows::finish)
}

/// What is known of the documents that are left.
pub(super) struct Rest<'a> {
    pub(super) texts: Option<Spooled>,
    /// For JSON Lines: the lines themselves.
    pub(super) lines: Option<Spooled>,
    pub(super) fields: &'a Fields,
}

/// Writes every document that is neither a duplicate nor known already.
pub(super) fn unique<F>(
    file: Option<AtomicFile>,
    form: Form,
    corpus: &Corpus<F>,
    clusters: &Clusters,
    mut rest: Rest<'_>,
) -> Result<(), Failure> {
    let duplicates = clusters.duplicates(corpus.states.len());
    let left = (0u32..)
        .zip(corpus.states.iter().zip(duplicates))
        .filter(|(_, (state, is_duplicate))| **state != State::Known && !is_duplicate)
        .map(|(document, _)| document);
    if let Some(lines) = &mut rest.lines {
        return match file {
            Some(mut file) => {
                for document in left {
                    writeln!(file, "{}", lines.get(document)?).map_err(file.failed())?;
                }
                Ok(file.finish()?)
            }
            None => {
                let mut output = BufWriter::with_capacity(1 << 16, io::stdout().lock());
                for document in left {
                    writeln!(output, "{}", lines.get(document)?)?;
                }
                Ok(output.flush()?)
            }
        };
    }
    let (Some(file), Some(texts)) = (file, &mut rest.texts) else {
        unreachable!("texts are kept for files that are not JSON Lines");
    };
    let columns =
        [(rest.fields.id_field.as_str(), Kind::Text), (rest.fields.text_field.as_str(), Kind::Text)];
    let mut rows = Rows::create(file, form, &columns)?;
    for document in left {
        let text = texts.get(document)?;
        rows.push(&[Cell::Text(corpus.names.get(document)), Cell::Text(&text)])?;
    }
    rows.finish()
}

/// A document as JSON Lines have it.
pub(super) fn line_of(document: &Document, fields: &Fields) -> String {
    let mut line = Vec::new();
    let names = [fields.id_field.as_str(), fields.text_field.as_str()];
    write_json(&mut line, &names, &[Cell::Text(&document.id), Cell::Text(&document.text)])
        .expect("memory takes what is written");
    String::from_utf8_lossy(&line).trim_end().to_owned()
}
