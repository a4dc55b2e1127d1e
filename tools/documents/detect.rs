//! Which format is it? Told by the name, then by the first bytes.

use std::path::Path;

use crate::documents::Format;

/// How many of the first bytes are looked at for what no text holds.
const LOOKED_AT: usize = 1 << 16;

const PARQUET_MAGIC: &[u8] = b"PAR1";
const ARROW_FILE_MAGIC: &[u8] = b"ARROW1";
/// How messages of an Arrow stream start.
const ARROW_STREAM_START: &[u8] = b"\xff\xff\xff\xff";

/// A byte 0 is in nearly every file that is not text, and in no text but UTF-16, which is no input here.
pub(super) fn is_binary(start: &[u8]) -> bool {
    start[..start.len().min(LOOKED_AT)].contains(&0)
}

/// The format of a file of this name, without the ending of a compressed one.
pub(super) fn format(name: &Path, start: &[u8]) -> Format {
    let ending = name.extension().unwrap_or_default().to_string_lossy().to_lowercase();
    match ending.as_str() {
        "jsonl" | "ndjson" | "json" => Format::Jsonl,
        "csv" => Format::Csv,
        "tsv" => Format::Tsv,
        "parquet" => Format::Parquet,
        "arrow" | "arrows" | "feather" | "ipc" => Format::Arrow,
        "html" | "htm" | "xhtml" => Format::Html,
        "md" | "rst" => Format::Text,
        _ => by_content(start),
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

pub(super) fn is_html(text: &[u8]) -> bool {
    let starts = |with: &[u8]| text.get(..with.len()).is_some_and(|start| start.eq_ignore_ascii_case(with));
    starts(b"<!doctype html") || starts(b"<html")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_and_else_contents() {
        let told = |name: &str, start: &[u8]| format(Path::new(name), start);
        assert_eq!(told("a.JSONL", b""), Format::Jsonl);
        assert_eq!(told("a.csv", b"{"), Format::Csv);
        assert_eq!(told("a.train", b"t1 some text"), Format::Lines);
        assert_eq!(told("-", b" \n{\"id\":1}"), Format::Jsonl);
        assert_eq!(told("-", b"\xef\xbb\xbf{}"), Format::Jsonl);
        assert_eq!(told("page", b"<!DOCTYPE HTML>"), Format::Html);
        assert_eq!(told("x", b"PAR1\x15"), Format::Parquet);
        assert_eq!(told("x", b"ARROW1\0\0"), Format::Arrow);
    }

    #[test]
    fn a_zero_byte_is_no_text() {
        assert!(is_binary(b"\x7fELF\0"));
        assert!(!is_binary("tschüß".as_bytes()) && !is_binary(b"\xe9t\xe9") && !is_binary(b""));
    }
}
