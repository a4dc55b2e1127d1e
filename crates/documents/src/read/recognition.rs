//! The format of each input, if the caller gave none.
//!
//! A named file is one document, unless its name or its first bytes say that it has a document in each row
//! ([`Format::detect`]). Standard input has no name, so its structure is looked at: a header with the name of the text
//! field, or records that all have the same number of fields. Without any structure it is lines.

use csv::ReaderBuilder;
use serde::de::IgnoredAny;

use crate::format::{self, Format};
use crate::input::Input;
use crate::parsers::json::fields::to_standard_json;
use crate::problem::{Place, Problem};
use crate::read::collector::Collector;
use crate::read::options::Documents;

/// The delimiters that are recognised, the most frequent first.
const DELIMITERS: [u8; 4] = [b',', b'\t', b';', b'|'];

/// Records from the start that are compared.
const COMPARED_RECORDS: usize = 32;

/// The fewest records that make a table without the text field.
const MIN_RECORDS: usize = 3;

/// The longest name of a column, in bytes and words; longer ones are texts.
const MAX_NAME_BYTES: usize = 40;
const MAX_NAME_WORDS: usize = 3;

/// Returns the format in which an input is read.
pub(crate) fn format_of(input: &Input, documents: &Documents) -> Format {
    match (documents.format, input.format()) {
        (Some(format), _) => format,
        (None, Format::Lines) => match stream_delimiter(input, documents) {
            Some(b'\t') => Format::Tsv,
            Some(_) => Format::Csv,
            None => Format::Lines,
        },
        (None, format) => format,
    }
}

/// Returns the delimiter of CSV or TSV: the one given, or the one by which the header has the text fields.
pub(crate) fn delimiter_of(input: &Input, format: Format, documents: &Documents) -> u8 {
    if let Some(delimiter) = documents.delimiter {
        return delimiter;
    }
    if format == Format::Tsv {
        return b'\t';
    }
    let starts = || DELIMITERS.map(|delimiter| Start::of(input, delimiter));
    let named = || starts().into_iter().find(|start| start.has_fields(documents));
    let is_stream = input.format() == Format::Lines;
    let found = if documents.has_header { named() } else { None };
    match found {
        Some(start) => start.delimiter,
        None if is_stream => stream_delimiter(input, documents).unwrap_or(b','),
        None => b',',
    }
}

/// Returns the delimiter of standard input if it is a table.
fn stream_delimiter(input: &Input, documents: &Documents) -> Option<u8> {
    if documents.delimiter.is_some() {
        return documents.delimiter;
    }
    let starts = DELIMITERS.map(|delimiter| Start::of(input, delimiter));
    if !documents.has_header {
        return Some(starts.iter().find(|start| start.is_even()).map_or(b',', |start| start.delimiter));
    }
    let named = starts.iter().find(|start| start.has_fields(documents));
    named.or_else(|| starts.iter().find(|start| start.is_table())).map(|start| start.delimiter)
}

/// Reports a named file that is read as one document although it looks like JSON with a document in each row.
pub(crate) fn notice(input: &Input, format: Format, collector: &mut Collector<'_>) {
    let is_named = collector.documents.format.is_none() && input.format() != Format::Lines;
    let (start, _) = input.start();
    if is_named && format == Format::Text && has_object_lines(start) {
        collector.notify(Place::whole(input.name()), Problem::OneDocument { format: Format::Jsonl });
    }
}

/// Returns the format of a text that is a table by its start: JSON Lines, or records whose header has the text fields.
pub(crate) fn table_of(input: &Input, documents: &Documents) -> Option<Format> {
    let (start, is_all) = input.start();
    if starts_with_object(start, is_all) {
        return Some(Format::Jsonl);
    }
    let delimiters = DELIMITERS.into_iter().filter(|_| documents.has_header);
    let named = { delimiters }.find(|&delimiter| Start::of(input, delimiter).has_fields(documents))?;
    Some(if named == b'\t' { Format::Tsv } else { Format::Csv })
}

/// Returns whether the first line is a JSON object; of a line that the known start cuts off, whether it begins one.
fn starts_with_object(start: &[u8], is_all: bool) -> bool {
    let text = format::trimmed(start);
    let line = text.split(|&byte| byte == b'\n').next().unwrap_or_default();
    let is_cut = line.len() == text.len() && !is_all;
    let is_object = |line: &str| match serde_json::from_str::<IgnoredAny>(line) {
        Ok(_) => true,
        Err(error) => is_cut && error.is_eof(),
    };
    let line = String::from_utf8_lossy(line);
    line.starts_with('{')
        && (is_object(&line) || to_standard_json(&line).is_some_and(|line| is_object(&line)))
}

/// Returns whether the first line is a whole object and the second begins like one.
fn has_object_lines(start: &[u8]) -> bool {
    let mut lines = start.split(|&byte| byte == b'\n');
    let (Some(first), Some(second)) = (lines.next(), lines.next()) else { return false };
    first.starts_with(b"{") && second.starts_with(b"{") && serde_json::from_slice::<IgnoredAny>(first).is_ok()
}

/// The records at the start of an input, as a delimiter splits them.
struct Start {
    delimiter: u8,
    names: Vec<String>,
    /// The number of fields of each record.
    widths: Vec<usize>,
}

impl Start {
    fn of(input: &Input, delimiter: u8) -> Self {
        let (start, is_all) = input.start();
        let start = start.strip_prefix(b"\xef\xbb\xbf").unwrap_or(start);
        // The last line may be cut off.
        let end =
            if is_all { start.len() } else { start.iter().rposition(|&byte| byte == b'\n').unwrap_or(0) };
        let mut reader = ReaderBuilder::new()
            .has_headers(false)
            .flexible(true)
            .delimiter(delimiter)
            .from_reader(&start[..end]);
        let records: Vec<_> =
            reader.byte_records().map_while(Result::ok).take(COMPARED_RECORDS + 1).collect();
        // A text in quotes may be cut off, too.
        let whole = if is_all { records.len() } else { records.len().saturating_sub(1) };
        let owned = |name: &[u8]| String::from_utf8_lossy(name).into_owned();
        Self {
            delimiter,
            names: records.first().map(|names| names.iter().map(owned).collect()).unwrap_or_default(),
            widths: records[..whole.min(COMPARED_RECORDS)].iter().map(csv::ByteRecord::len).collect(),
        }
    }

    /// Returns whether the header has the fields of the text, among others.
    fn has_fields(&self, documents: &Documents) -> bool {
        self.names.len() >= 2 && documents.text_fields.iter().all(|field| self.names.contains(field))
    }

    /// Returns whether there are columns, and every record has as many fields as the first.
    fn is_even(&self) -> bool {
        self.names.len() >= 2 && self.widths.iter().all(|&width| width == self.names.len())
    }

    /// Returns whether it is a table with names of columns.
    fn is_table(&self) -> bool {
        // A tab in each line can separate ids and texts.
        let min_columns = if self.delimiter == b'\t' { 3 } else { 2 };
        let mut names: Vec<&str> = self.names.iter().map(String::as_str).collect();
        names.sort_unstable();
        names.dedup();
        let is_name = |name: &&str| {
            let has_letter = name.starts_with(|c: char| c.is_alphabetic() || c == '_');
            let is_trim = name.trim() == *name && name.len() <= MAX_NAME_BYTES;
            has_letter && is_trim && name.split_whitespace().count() <= MAX_NAME_WORDS
        };
        self.is_even()
            && self.widths.len() >= MIN_RECORDS
            && names.len() == self.names.len()
            && names.len() >= min_columns
            && names.iter().all(is_name)
    }
}
