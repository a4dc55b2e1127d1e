//! The formats of documents, and how they are detected.
//!
//! - [`signatures`]: kinds of files that are not read, by their first bytes

pub(crate) mod signatures;

use std::fmt;
use std::path::Path;

/// Bytes from the start that are searched for a zero byte.
const TEXT_PROBE_BYTES: usize = 1 << 16;

const PARQUET_MAGIC: &[u8] = b"PAR1";
const ZIP_MAGICS: [&[u8]; 2] = [b"PK\x03\x04", b"PK\x05\x06"];
const ARROW_FILE_MAGIC: &[u8] = b"ARROW1";
/// The start of a message of an Arrow stream.
const ARROW_STREAM_START: &[u8] = b"\xff\xff\xff\xff";

/// The format of an input.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Format {
    /// A document on each line: an id, a blank or tab, the text.
    Lines,
    /// A document on each line, without an id.
    TextLines,
    /// A JSON object on each line.
    Jsonl,
    /// JSON objects: an array of them, or one after the other over any number of lines.
    Json,
    /// Comma-separated values, the first record naming the fields.
    Csv,
    /// Tab-separated values, the first record naming the fields.
    Tsv,
    /// A Parquet file.
    Parquet,
    /// An Arrow IPC file or stream.
    Arrow,
    /// Each file is one document, its path the id.
    Text,
    /// Each file is one HTML page, its path the id; the text is the page without tags.
    Html,
}

impl Format {
    /// Detects the format of a file by its name (without the extension of a compressed file) and its first bytes.
    /// Text with an unknown extension and an unknown start is [`Format::Lines`].
    #[must_use]
    pub fn detect(name: &Path, start: &[u8]) -> Self {
        match Self::of_name(name) {
            Some(Self::Jsonl) if is_json_array(start) => Self::Json,
            Some(format) => format,
            None => by_content(start),
        }
    }

    /// Returns the format given by the extension of a file's name.
    pub(crate) fn of_name(name: &Path) -> Option<Self> {
        let ending = name.extension().unwrap_or_default().to_string_lossy().to_lowercase();
        Some(match ending.as_str() {
            "jsonl" | "ndjson" => Self::Jsonl,
            "json" => Self::Json,
            "csv" => Self::Csv,
            "tsv" => Self::Tsv,
            "parquet" => Self::Parquet,
            "arrow" | "arrows" | "feather" | "ipc" => Self::Arrow,
            "html" | "htm" | "xhtml" => Self::Html,
            "txt" | "text" | "md" | "rst" => Self::Text,
            _ => return None,
        })
    }

    /// Returns whether a file has a document in each row.
    pub(crate) const fn has_rows(self) -> bool {
        !matches!(self, Self::Text | Self::Html)
    }

    /// Returns whether it is a text format, which has an encoding.
    pub(crate) const fn is_text(self) -> bool {
        !matches!(self, Self::Parquet | Self::Arrow)
    }

    /// Returns the format with its article, as in "not an Arrow file".
    pub(crate) const fn with_article(self) -> &'static str {
        match self {
            Self::Lines | Self::TextLines => "lines of text",
            Self::Jsonl => "JSON Lines",
            Self::Json => "JSON",
            Self::Csv => "comma-separated values",
            Self::Tsv => "tab-separated values",
            Self::Parquet => "a Parquet file",
            Self::Arrow => "an Arrow file",
            Self::Text => "a text file",
            Self::Html => "an HTML file",
        }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Lines => "lines",
            Self::TextLines => "text-lines",
            Self::Jsonl => "jsonl",
            Self::Json => "json",
            Self::Csv => "csv",
            Self::Tsv => "tsv",
            Self::Parquet => "parquet",
            Self::Arrow => "arrow",
            Self::Text => "text",
            Self::Html => "html",
        })
    }
}

fn by_content(start: &[u8]) -> Format {
    let text = trimmed(start);
    if start.starts_with(PARQUET_MAGIC) {
        Format::Parquet
    } else if start.starts_with(ARROW_FILE_MAGIC) || start.starts_with(ARROW_STREAM_START) {
        Format::Arrow
    } else if text.starts_with(b"{") || is_json_array(text) {
        Format::Json
    } else if is_html(text) {
        Format::Html
    } else {
        Format::Lines
    }
}

/// Returns whether text starts like an array of JSON objects. A bracket alone is not enough: a line can start with
/// one.
fn is_json_array(start: &[u8]) -> bool {
    let inner = trimmed(start).strip_prefix(b"[").map(<[u8]>::trim_ascii_start);
    inner.is_some_and(|inner| inner.is_empty() || inner.starts_with(b"{") || inner.starts_with(b"]"))
}

/// Removes a byte order mark and leading white space.
fn trimmed(start: &[u8]) -> &[u8] {
    start.strip_prefix(b"\xef\xbb\xbf").unwrap_or(start).trim_ascii_start()
}

/// Returns whether a file starts like Parquet or Arrow.
pub(crate) fn is_columns(start: &[u8]) -> bool {
    [PARQUET_MAGIC, ARROW_FILE_MAGIC, ARROW_STREAM_START].iter().any(|magic| start.starts_with(magic))
}

pub(crate) fn is_zip(start: &[u8]) -> bool {
    ZIP_MAGICS.iter().any(|magic| start.starts_with(magic))
}

/// Returns whether a file contains a zero byte near its start: nearly every binary file does, text in UTF-8 and most
/// other encodings does not.
pub(crate) fn is_binary(start: &[u8]) -> bool {
    start[..start.len().min(TEXT_PROBE_BYTES)].contains(&0)
}

pub(crate) fn is_html(text: &[u8]) -> bool {
    let starts = |with: &[u8]| text.get(..with.len()).is_some_and(|start| start.eq_ignore_ascii_case(with));
    starts(b"<!doctype html") || starts(b"<html")
}

/// Returns whether an Arrow input is a file; a stream does not start with the magic.
#[cfg(feature = "parquet")]
pub(crate) fn is_arrow_file(start: &[u8]) -> bool {
    start.starts_with(ARROW_FILE_MAGIC)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_decides_and_then_the_contents() {
        let detected = |name: &str, start: &[u8]| Format::detect(Path::new(name), start);
        assert_eq!(detected("a.JSONL", b""), Format::Jsonl);
        assert_eq!(detected("a.csv", b"{"), Format::Csv);
        assert_eq!(detected("a.train", b"t1 some text"), Format::Lines);
        assert_eq!(detected("a.txt", b"{}"), Format::Text);
        assert_eq!(detected("a.jsonl", b"\n[ {\"id\": 1},"), Format::Json);
        assert_eq!(detected("-", b"[1] a footnote"), Format::Lines);
        assert_eq!(detected("-", b" \n{\"id\":1}"), Format::Json);
        assert_eq!(detected("-", b"\xef\xbb\xbf{}"), Format::Json);
        assert_eq!(detected("page", b"<!DOCTYPE HTML>"), Format::Html);
        assert_eq!(detected("x", b"PAR1\x15"), Format::Parquet);
        assert_eq!(detected("x", b"ARROW1\0\0"), Format::Arrow);
    }

    #[test]
    fn a_file_with_a_zero_byte_is_binary() {
        assert!(is_binary(b"\x7fELF\0"));
        assert!(!is_binary("tschüß".as_bytes()) && !is_binary(b"\xe9t\xe9") && !is_binary(b""));
    }
}
