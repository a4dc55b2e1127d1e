//! Documents from files, directory trees or standard input, in any of the formats that they come in.
//!
//! - [`detect`]: which format is it
//! - [`open`]: files and standard input, decompressed
//! - [`lines`], [`json`], [`csv`], [`columns`]: many documents in a file
//! - [`tree`], [`html`]: a file for each document
//! - [`intake`]: what becomes of each, and of what is wrong with it
//! - [`parallel`]: their fingerprints, in order
//! - [`recipe`]: by which recipe

#[cfg(feature = "parquet")]
pub(crate) mod columns;
mod csv;
mod detect;
mod html;
mod intake;
mod json;
mod lines;
mod open;
pub(crate) mod parallel;
pub(crate) mod recipe;
pub(crate) mod report;
mod tree;

use std::path::{Path, PathBuf};

use bytesize::ByteSize;
use clap::ValueEnum;

use crate::bars;
use crate::documents::intake::Intake;
use crate::documents::open::Opened;
use crate::failure::Failure;
use crate::input::{self, Source};

pub(crate) use intake::Counts;
pub(crate) use open::one_text;

/// A document as a program takes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Document {
    pub(crate) id: String,
    pub(crate) text: String,
    /// What the field of [`Reading::extra`] holds, if one was asked for and is there.
    pub(crate) extra: Option<String>,
    /// The line that it stood on, where whole lines can be handed on (JSON Lines).
    pub(crate) line: Option<String>,
}

/// How documents are written down.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// Look at the name and the first bytes of each input
    Auto,
    /// A line each: an id, a blank or tab, the text
    Lines,
    /// A JSON object on each line
    Jsonl,
    /// Comma-separated values, the first record naming the fields
    Csv,
    /// The same, separated by tabs
    Tsv,
    /// A Parquet file
    Parquet,
    /// An Arrow IPC file or stream
    Arrow,
    /// Each input is one document, its path the id
    Text,
    /// Each input is one HTML page, its path the id; its text without the tags counts
    Html,
}

/// Where in its input a document and its parts are, and what is too much.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Fields {
    /// The field or column that holds a document's text
    #[arg(long, value_name = "NAME", default_value = "text", help_heading = "Documents")]
    pub(crate) text_field: String,
    /// The field or column that holds its id, a string or a number
    #[arg(long, value_name = "NAME", default_value = "id", help_heading = "Documents")]
    pub(crate) id_field: String,
    /// End at the first document that is wrong (invalid UTF-8, malformed, a field missing, too long)
    #[arg(long, help_heading = "Documents")]
    pub(crate) strict: bool,
    /// Longest line or file; longer ones are skipped and counted, without being kept in memory
    #[arg(long, value_name = "SIZE", default_value = "64MiB", help_heading = "Documents")]
    pub(crate) max_document: ByteSize,
}

/// Documents as most commands take them.
///
/// Every command that reads documents reads all of these.
#[derive(Debug, clap::Args)]
pub(crate) struct Inputs {
    /// Files of documents, or directories of text and HTML files; - or none for standard input
    #[arg(value_name = "INPUT")]
    pub(crate) paths: Vec<PathBuf>,
    /// How the documents are written down (compressed by gzip or zstd or not). In auto, text without a
    /// telling name or start is taken as lines
    #[arg(long, value_enum, default_value = "auto", help_heading = "Documents")]
    pub(crate) format: Format,
    #[command(flatten)]
    pub(crate) fields: Fields,
}

impl Inputs {
    pub(crate) fn reading(&self) -> Reading<'_> {
        Reading {
            paths: &self.paths,
            format: self.format,
            fields: &self.fields,
            extra: None,
            keep_lines: false,
        }
    }
}

/// What is to be read, and how.
#[derive(Clone, Copy)]
pub(crate) struct Reading<'a> {
    pub(crate) paths: &'a [PathBuf],
    pub(crate) format: Format,
    pub(crate) fields: &'a Fields,
    /// One more field to read, if it is there.
    pub(crate) extra: Option<&'a str>,
    /// Whether to hand on lines as they are, too.
    pub(crate) keep_lines: bool,
}

/// What takes the documents.
pub(crate) type Sink<'a> = dyn FnMut(Document) -> Result<(), Failure> + 'a;

/// Reads all inputs, in order. What is wrong with a document is told on standard error and counted,
/// and the rest read on, unless the reading is strict; an input that cannot be opened or ends in the
/// middle is a failure.
pub(crate) fn read(reading: &Reading<'_>, sink: &mut Sink<'_>) -> Result<Counts, Failure> {
    let standard_input = [PathBuf::from("-")];
    let paths = if reading.paths.is_empty() { &standard_input } else { reading.paths };
    let bar = bars::of_bytes("Reading", input::total_bytes(paths));
    let mut intake = Intake::new(reading, &bar, sink);
    let outcome = paths.iter().try_for_each(|path| {
        if path.is_dir() {
            tree::read(path, reading.format, &mut intake)
        } else {
            read_one(path, &mut intake)
        }
    });
    bar.finish_and_clear();
    outcome.map(|()| intake.counts)
}

fn read_one(path: &Path, intake: &mut Intake<'_>) -> Result<(), Failure> {
    let Opened { source, mut reader, format, plain, .. } =
        open::open(path, intake.reading.format, intake.bar)?;
    match format {
        Format::Lines => lines::read(&source, &mut reader, intake),
        Format::Jsonl => json::read(&source, &mut reader, intake),
        Format::Csv => csv::read(&source, &mut reader, b',', intake),
        Format::Tsv => csv::read(&source, &mut reader, b'\t', intake),
        Format::Parquet | Format::Arrow => {
            read_columns(&source, plain.as_deref(), &mut reader, format, intake)
        }
        Format::Text | Format::Html => {
            let id = source.name.clone();
            tree::read_file(&source, id, &mut reader, format == Format::Html, intake)
        }
        Format::Auto => unreachable!("detection gives a format"),
    }
}

#[cfg(feature = "parquet")]
fn read_columns(
    source: &Source,
    plain: Option<&Path>,
    reader: &mut open::Reader<'_>,
    format: Format,
    intake: &mut Intake<'_>,
) -> Result<(), Failure> {
    if format == Format::Parquet {
        columns::read_parquet(source, plain, reader, intake)
    } else {
        columns::read_arrow(source, plain, reader, intake)
    }
}

#[cfg(not(feature = "parquet"))]
fn read_columns(
    source: &Source,
    _: Option<&Path>,
    _: &mut open::Reader<'_>,
    _: Format,
    _: &mut Intake<'_>,
) -> Result<(), Failure> {
    Err(source.complaint("this build of hamdex was made without Parquet and Arrow (cargo feature parquet)"))
}
