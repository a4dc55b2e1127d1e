//! The formats of documents, and how they are detected.

use std::fmt;
use std::path::Path;

/// How many bytes from the start are searched for a zero byte.
const TEXT_PROBE_BYTES: usize = 1 << 16;

const PARQUET_MAGIC: &[u8] = b"PAR1";
const ARROW_FILE_MAGIC: &[u8] = b"ARROW1";
/// The start of a message of an Arrow stream.
const ARROW_STREAM_START: &[u8] = b"\xff\xff\xff\xff";

/// The format of an input.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Format {
    /// A document on each line: an id, a blank or tab, the text.
    Lines,
    /// A JSON object on each line.
    Jsonl,
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
    /// Each file is one HTML page, its path the id; the text is that without the tags.
    Html,
}

impl Format {
    /// Returns the format of a file with this name (without the ending of a compressed file) that starts with
    /// these bytes. Text with no known ending and no known start is [`Format::Lines`].
    #[must_use]
    pub fn detect(name: &Path, start: &[u8]) -> Self {
        let ending = name.extension().unwrap_or_default().to_string_lossy().to_lowercase();
        match ending.as_str() {
            "jsonl" | "ndjson" | "json" => Self::Jsonl,
            "csv" => Self::Csv,
            "tsv" => Self::Tsv,
            "parquet" => Self::Parquet,
            "arrow" | "arrows" | "feather" | "ipc" => Self::Arrow,
            "html" | "htm" | "xhtml" => Self::Html,
            "md" | "rst" => Self::Text,
            _ => by_content(start),
        }
    }

    /// Returns whether its documents are rows of a table with named columns: CSV, TSV, Parquet or Arrow.
    #[must_use]
    pub const fn is_table(self) -> bool {
        matches!(self, Self::Csv | Self::Tsv | Self::Parquet | Self::Arrow)
    }

    /// The format with its article, as in "not an Arrow file".
    pub(crate) const fn with_article(self) -> &'static str {
        match self {
            Self::Lines => "lines of text",
            Self::Jsonl => "JSON Lines",
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
            Self::Jsonl => "jsonl",
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
    let text = start.strip_prefix(b"\xef\xbb\xbf").unwrap_or(start).trim_ascii_start();
    if start.starts_with(PARQUET_MAGIC) {
        Format::Parquet
    } else if start.starts_with(ARROW_FILE_MAGIC) || start.starts_with(ARROW_STREAM_START) {
        Format::Arrow
    } else if text.starts_with(b"{") {
        Format::Jsonl
    } else if is_html(text) {
        Format::Html
    } else {
        Format::Lines
    }
}

/// Nearly every file that is not text contains a zero byte; text does not, except UTF-16, which is not supported.
pub(crate) fn is_binary(start: &[u8]) -> bool {
    start[..start.len().min(TEXT_PROBE_BYTES)].contains(&0)
}

pub(crate) fn is_html(text: &[u8]) -> bool {
    let starts = |with: &[u8]| text.get(..with.len()).is_some_and(|start| start.eq_ignore_ascii_case(with));
    starts(b"<!doctype html") || starts(b"<html")
}

/// An Arrow file starts with its magic; a stream does not.
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
        assert_eq!(detected("-", b" \n{\"id\":1}"), Format::Jsonl);
        assert_eq!(detected("-", b"\xef\xbb\xbf{}"), Format::Jsonl);
        assert_eq!(detected("page", b"<!DOCTYPE HTML>"), Format::Html);
        assert_eq!(detected("x", b"PAR1\x15"), Format::Parquet);
        assert_eq!(detected("x", b"ARROW1\0\0"), Format::Arrow);
    }

    #[test]
    fn a_zero_byte_is_no_text() {
        assert!(is_binary(b"\x7fELF\0"));
        assert!(!is_binary("tschüß".as_bytes()) && !is_binary(b"\xe9t\xe9") && !is_binary(b""));
    }
}
