//! Detects the format of an input by its name and first bytes, and refuses it if they leave a doubt that
//! matters, or if it holds no fingerprints.

use std::io::{self, BufRead};
use std::path::Path;

use hamdex::Fingerprint;
use hamdex_documents::problems::FileSort;

use crate::failure::Failure;
use crate::input::format::{Evidence, Notation};
use crate::input::{Beside, Format, Source, text};
use crate::names;

const NPY_MAGIC: &[u8] = b"\x93NUMPY";

/// The number of first bytes that decide.
const WINDOW_BYTES: usize = 1 << 16;

/// In this many bytes, raw numbers have more than one that is not text: more than half of random bytes are
/// not, and most bytes of small numbers are zero. Text with a few odd bytes stays text, and is refused at the
/// line that has them.
const TEXT_OF_RAW: usize = 8;

/// The first bytes of an input.
#[derive(Debug, Default)]
pub(super) struct Start {
    pub(super) bytes: Vec<u8>,
    /// Whether the input has no further bytes.
    pub(super) is_all: bool,
}

impl Start {
    /// Reads the first bytes: all of them up to a limit, however slowly they come; or, if `is_prompt`, no
    /// more than have come with the first line.
    pub(super) fn read(reader: &mut impl BufRead, is_prompt: bool) -> io::Result<Self> {
        let mut start = Self::default();
        while start.bytes.len() < WINDOW_BYTES && !(is_prompt && start.has_line()) {
            let piece = match reader.fill_buf() {
                Ok(piece) => piece,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            if piece.is_empty() {
                start.is_all = true;
                break;
            }
            let count = piece.len().min(WINDOW_BYTES - start.bytes.len());
            start.bytes.extend_from_slice(&piece[..count]);
            reader.consume(count);
        }
        Ok(start)
    }

    /// Whether a line that is not blank has come to its end.
    fn has_line(&self) -> bool {
        self.bytes
            .split_inclusive(|&byte| byte == b'\n')
            .any(|line| line.ends_with(b"\n") && !line.trim_ascii().is_empty())
    }

    /// Returns the lines, without the last one if it may be truncated, and without a byte order mark.
    fn lines(&self) -> impl Iterator<Item = &[u8]> {
        let text = self.bytes.strip_prefix(names::BYTE_ORDER_MARK).unwrap_or(&self.bytes);
        let whole = match text.iter().rposition(|&byte| byte == b'\n') {
            Some(last) if !self.is_all => &text[..last],
            None if !self.is_all => &[],
            _ => text,
        };
        whole.split(|&byte| byte == b'\n')
    }

    fn is_text(&self) -> bool {
        let is_text = |byte: &u8| byte.is_ascii_graphic() || byte.is_ascii_whitespace();
        let odd = self.bytes.iter().filter(|&byte| !is_text(byte)).count();
        odd <= self.bytes.len() / TEXT_OF_RAW || self.bytes.starts_with(names::BYTE_ORDER_MARK)
    }
}

/// Returns the format of an input that is a table with named columns, by its name and first bytes, or by the
/// column `fingerprint` in its first line.
pub(super) fn table<F: Fingerprint>(
    path: Option<&Path>,
    found: hamdex_documents::Format,
    bytes: &[u8],
    fingerprint: &str,
) -> Option<Format> {
    use hamdex_documents::Format as Found;
    if bytes.is_empty() {
        // Without a header, as some programs write a table without rows.
        return match found {
            Found::Csv => Some(Format::Csv),
            Found::Tsv => Some(Format::Tsv),
            _ => None,
        };
    }
    let first = bytes.split(|&byte| byte == b'\n').next().unwrap_or_default();
    let first = first.strip_prefix(names::BYTE_ORDER_MARK).unwrap_or(first).trim_ascii();
    let names_fingerprint = |delimiter| {
        first.split(|&byte| byte == delimiter).any(|cell| {
            cell.trim_ascii() == fingerprint.as_bytes() || is_quoted(cell.trim_ascii(), fingerprint)
        })
    };
    match found {
        Found::Parquet => Some(Format::Parquet),
        // Raw numbers can begin with the magic of an Arrow stream.
        Found::Arrow if !path.is_some_and(is_raw_name::<F>) => Some(Format::Arrow),
        Found::Csv if !text::starts_with_number::<F>(first) => Some(Format::Csv),
        Found::Tsv if !text::starts_with_number::<F>(first) => Some(Format::Tsv),
        _ if names_fingerprint(b',') => Some(Format::Csv),
        _ if names_fingerprint(b'\t') => Some(Format::Tsv),
        _ => None,
    }
}

fn is_quoted(cell: &[u8], name: &str) -> bool {
    let inner = cell.strip_prefix(b"\"").and_then(|rest| rest.strip_suffix(b"\""));
    inner == Some(name.as_bytes())
}

/// Refuses an empty file whose name has the ending of a format without empty files.
pub(super) fn check_empty(source: &Source, path: Option<&Path>, start: &[u8]) -> Result<(), Failure> {
    let ending = path.and_then(Path::extension).unwrap_or_default().to_string_lossy().to_lowercase();
    let has_a_head = ["npy", "parquet", "arrow", "arrows", "feather", "ipc", "gz", "zst", "xz", "bz2", "lz4"];
    if !start.is_empty() || !has_a_head.contains(&ending.as_str()) {
        return Ok(());
    }
    Err(source.complaint(format_args!("is empty, and no .{ending} file is: write it again, or leave it out")))
}

/// Returns the format of an input; `path` is its file, unless it is standard input.
pub(super) fn format<F: Fingerprint>(
    source: &Source,
    path: Option<&Path>,
    start: &Start,
    beside: Beside,
) -> Result<Format, Failure> {
    let raw = if F::BITS == 64 { Format::U64le } else { Format::U128le };
    let raw_option = if F::BITS == 64 { "--format u64le" } else { "--format u128le" };
    if start.bytes.starts_with(NPY_MAGIC) {
        return Ok(Format::Npy);
    }
    if let Some(kind) = hamdex_documents::problems::kind_of_file(&start.bytes) {
        return Err(source.complaint(format_args!(
            "is {}; {} (raw numbers that only look like it: {raw_option})",
            kind.name,
            advice(kind.sort)
        )));
    }
    match (start.is_text(), path.is_some_and(is_raw_name::<F>)) {
        (false, true) => Ok(raw),
        (false, false) => Err(source.complaint(format_args!(
            "is binary and of no known format; raw little-endian numbers are read from files named .u64, \
             .u64le, .bin or .raw (128 bits: .u128, .u128le), and with {raw_option}"
        ))),
        (true, false) => notation::<F>(source, start, beside).map(Format::of),
        // A text of numbers has eight digits or more in positions that can have any byte in raw numbers.
        (true, true) if start.lines().all(|line| text::starts_with_number::<F>(line)) && !start.bytes.is_empty() => {
            Err(source.complaint(format_args!(
                "is named as raw numbers are and looks like text; choose one with --format hex, --format decimal \
                 or {raw_option}"
            )))
        }
        (true, true) => Ok(raw),
    }
}

/// Whether a file name has an ending of raw numbers of this width.
fn is_raw_name<F: Fingerprint>(path: &Path) -> bool {
    let ending = path.extension().unwrap_or_default().to_string_lossy().to_lowercase();
    match ending.as_str() {
        "bin" | "raw" => true,
        "u64" | "u64le" => F::BITS == 64,
        "u128" | "u128le" => F::BITS == 128,
        _ => false,
    }
}

/// Tells hexadecimal from decimal lines.
fn notation<F: Fingerprint>(source: &Source, start: &Start, beside: Beside) -> Result<Notation, Failure> {
    let mut evidence = Evidence::default();
    for (number, line) in (1..).zip(start.lines()).filter(|(_, line)| !text::lacks_number(line, beside)) {
        if let Some(token) = text::first_token(line) {
            evidence.note::<F>(token, number);
        }
    }
    evidence.notation().map_err(|(hex, decimal)| {
        let other_bits = if F::BITS == 64 { 128 } else { 64 };
        let has_other_width =
            |token: &[u8]| token.len() == other_bits as usize / 4 && token.iter().all(u8::is_ascii_hexdigit);
        if start.lines().filter_map(text::first_token).all(has_other_width) {
            return source.complaint(format_args!(
                "has fingerprints of {other_bits} bits, and {} are expected (--width, or a set of that width)",
                F::BITS
            ));
        }
        source.complaint(format_args!(
            "line {hex} looks hexadecimal and line {decimal} decimal; choose one with --format"
        ))
    })
}

/// Returns the advice for a sort of file, as the end of a sentence.
pub(crate) fn advice(sort: FileSort) -> String {
    match sort {
        FileSort::Compressed(program) => format!("decompress it first: {program} -dc FILE | hamdex …"),
        FileSort::Archive => "unpack it, and name the files in it".to_owned(),
        FileSort::Index => "its fingerprints are printed by: hamdex dump FILE --fingerprints".to_owned(),
        FileSort::Names => "it belongs to the index whose name it has without .ids".to_owned(),
        FileSort::Data => "write its fingerprints as Parquet, CSV, .npy or a text line each".to_owned(),
        FileSort::Pointer => "download it, as with git lfs pull".to_owned(),
        _ => "name a file of fingerprints".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn start(bytes: &[u8]) -> Start {
        let mut reader = bytes;
        Start::read(&mut reader, false).unwrap()
    }

    fn detected(name: &str, bytes: &[u8]) -> Result<Format, String> {
        let path = (name != "-").then(|| Path::new(name));
        let source = Source { name: name.to_owned() };
        format::<u64>(&source, path, &start(bytes), Beside::Nothing).map_err(|failure| failure.to_string())
    }

    #[test]
    fn each_format_is_known() {
        assert_eq!(detected("-", b"\x93NUMPY\x01\x00"), Ok(Format::Npy));
        assert_eq!(detected("-", b"00000000000000ff\n0123456789abcdef\n"), Ok(Format::Hex));
        assert_eq!(detected("-", b"0x1f\n"), Ok(Format::Hex));
        assert_eq!(detected("-", b"17\n18446744073709551615\n"), Ok(Format::Decimal));
        assert_eq!(detected("-", b"\n-17\n"), Ok(Format::Decimal));
        assert_eq!(detected("-", b""), Ok(Format::Hex));
    }

    #[test]
    fn raw_numbers_need_a_name_that_says_so() {
        let raw = b"\x00\x01\x02\x03\x04\x05\x06\x07";
        for name in ["a.u64", "a.u64le", "a.bin", "a.RAW"] {
            assert_eq!(detected(name, raw), Ok(Format::U64le), "{name}");
        }
        for name in ["-", "a", "a.u128", "a.txt", "a.hamdex"] {
            assert!(detected(name, raw).unwrap_err().contains("--format u64le"), "{name}");
        }
        assert!(detected("a.bin", b"\x7fELF\x02\x01\x01\x00").unwrap_err().contains("an ELF executable"));
    }

    #[test]
    fn raw_numbers_that_are_text_by_chance_are_raw_unless_they_could_be_either() {
        assert_eq!(detected("a.u64", b"abcdefgh"), Ok(Format::U64le));
        assert_eq!(detected("a.u64", b""), Ok(Format::U64le));
        assert!(detected("a.u64", b"12345678").unwrap_err().contains("choose one with"));
    }

    #[test]
    fn a_mixture_is_refused() {
        let refusal = detected("-", b"17\n0123456789abcdef\n").unwrap_err();
        assert!(refusal.contains("line 2 looks hexadecimal and line 1 decimal"), "{refusal}");
    }

    #[test]
    fn a_line_that_is_cut_off_says_nothing() {
        let mut long = b"0123456789abcdef\n".repeat(5000);
        long.truncate(WINDOW_BYTES);
        assert_ne!(long.last(), Some(&b'\n'));
        long.extend(b"0123456789abcdef");
        assert_eq!(detected("-", &long), Ok(Format::Hex));
    }

    #[test]
    fn text_with_a_few_odd_bytes_is_text() {
        assert_eq!(detected("-", b"\xef\xbb\xbf0123456789abcdef\n"), Ok(Format::Hex));
        let odd = "# caf\u{e9}\n0123456789abcdef\n0123456789abcdef\n";
        assert_eq!(detected("-", odd.as_bytes()), Ok(Format::Hex));
    }

    #[test]
    fn what_has_come_is_enough_when_it_must_be_prompt() {
        /// A program that waits for an answer after each line.
        struct Waiting<'a>(std::slice::Iter<'a, &'a [u8]>);
        impl io::Read for Waiting<'_> {
            fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
                let line = self.0.next().expect("the caller reads on only after an answer");
                buffer[..line.len()].copy_from_slice(line);
                Ok(line.len())
            }
        }
        let lines: [&[u8]; 3] = [b"\n", b"012345", b"6789abcdef\n"];
        let mut reader = io::BufReader::new(Waiting(lines.iter()));
        let start = Start::read(&mut reader, true).unwrap();
        assert_eq!(start.bytes, b"\n0123456789abcdef\n");
        assert!(!start.is_all);
    }
}
