//! The formats of documents, and how they are detected; and signatures: kinds of files, known by their first bytes, that
//! are not read as fingerprints or documents.

use std::fmt;
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// Bytes from the start that are searched for a zero byte.
const TEXT_PROBE_BYTES: usize = 1 << 16;

/// The fewest bytes of damaged text per zero byte.
const BYTES_PER_ZERO: usize = 200;

const PARQUET_MAGIC: &[u8] = b"PAR1";
const ZIP_MAGICS: [&[u8]; 2] = [b"PK\x03\x04", b"PK\x05\x06"];
const ARROW_FILE_MAGIC: &[u8] = b"ARROW1";
/// The start of a message of an Arrow stream.
const ARROW_STREAM_START: &[u8] = b"\xff\xff\xff\xff";
const WARC_MAGIC: &[u8] = b"WARC/1.";

/// The header of a file in a tar archive: its length, and the place of its checksum, an octal number.
const TAR_HEADER_BYTES: usize = 512;
const TAR_CHECKSUM: std::ops::Range<usize> = 148..156;
const TAR_MAGIC: (usize, &[u8]) = (257, b"ustar");

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
    /// Each file is one message of mail, its path the id; the text is its subject and its texts.
    Eml,
    /// A mailbox (mbox): a message after each line that starts with `From `. The id is the message's own.
    Mbox,
    /// A web archive: a document for each response, resource and conversion of text, the address its id; of HTML, the
    /// text is the page without tags.
    Warc,
}

impl Format {
    /// Detects the format of a file by its name (without the extension of a compressed file) and its first bytes.
    ///
    /// The extension of a table, of JSON or of mail says that a file has a document in each row. Any other file is one
    /// document ([`Format::Text`], [`Format::Html`], [`Format::Eml`]), unless it starts like a Parquet, Arrow or WARC
    /// file or, without an extension, like a mailbox. Standard input (`-`) has no name: it is JSON too if it starts
    /// with an object or an array of objects, and without any known start it is [`Format::Lines`].
    #[must_use]
    pub fn detect(name: &Path, start: &[u8]) -> Self {
        match Self::of_name(name) {
            Some(Self::Jsonl) if is_json_array(start) => Self::Json,
            // Texts have such extensions too.
            Some(format) if format.is_columnar() && !is_columns(start) && !is_binary(start) => Self::Text,
            Some(format) => format,
            None if is_standard_input(name) => of_stream(start),
            None => of_file(name, start),
        }
    }

    /// Returns the format given by the extension of a file's name.
    pub(crate) fn of_name(name: &Path) -> Option<Self> {
        let ending = name.extension().unwrap_or_default().to_string_lossy().to_lowercase();
        Some(match ending.as_str() {
            "jsonl" | "ndjson" | "jl" | "jsonlines" => Self::Jsonl,
            "json" => Self::Json,
            "csv" => Self::Csv,
            "tsv" => Self::Tsv,
            "parquet" => Self::Parquet,
            "arrow" | "arrows" | "feather" | "ipc" => Self::Arrow,
            "html" | "htm" | "xhtml" => Self::Html,
            "txt" | "text" | "md" | "rst" => Self::Text,
            "eml" => Self::Eml,
            "mbox" | "mbx" => Self::Mbox,
            "warc" | "wet" => Self::Warc,
            _ => return None,
        })
    }

    /// Returns whether a file has a document in each row.
    pub(crate) const fn has_rows(self) -> bool {
        !matches!(self, Self::Text | Self::Html | Self::Eml)
    }

    /// Returns whether it has columns with types.
    pub(crate) const fn is_columnar(self) -> bool {
        matches!(self, Self::Parquet | Self::Arrow)
    }

    /// Returns whether a file is text as a whole, in one encoding. The parts of mail and of web archives have encodings
    /// of their own.
    pub(crate) const fn is_text(self) -> bool {
        !self.is_columnar() && !matches!(self, Self::Eml | Self::Mbox | Self::Warc)
    }

    /// Returns the format with its article, as in "not an Arrow file".
    pub(crate) const fn with_article(self) -> &'static str {
        self.names().1
    }

    /// Returns the short name, and the one with its article.
    const fn names(self) -> (&'static str, &'static str) {
        match self {
            Self::Lines => ("lines", "lines of text"),
            Self::TextLines => ("text-lines", "lines of text"),
            Self::Jsonl => ("jsonl", "JSON Lines"),
            Self::Json => ("json", "JSON"),
            Self::Csv => ("csv", "comma-separated values"),
            Self::Tsv => ("tsv", "tab-separated values"),
            Self::Parquet => ("parquet", "a Parquet file"),
            Self::Arrow => ("arrow", "an Arrow file"),
            Self::Text => ("text", "a text file"),
            Self::Html => ("html", "an HTML file"),
            Self::Eml => ("eml", "a message of mail"),
            Self::Mbox => ("mbox", "a mailbox"),
            Self::Warc => ("warc", "a WARC file"),
        }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.names().0)
    }
}

fn is_standard_input(name: &Path) -> bool {
    name.as_os_str() == "-"
}

/// Returns the format of a file with an unknown extension. Only starts that no other text has say more than that it is
/// one document: a text may begin with a brace.
fn of_file(name: &Path, start: &[u8]) -> Format {
    // Patches and the like begin as a mailbox does.
    let can_be_mailbox = name.extension().is_none();
    known_start(start).filter(|format| *format != Format::Mbox || can_be_mailbox).unwrap_or(Format::Text)
}

/// Returns the format of a stream without a name.
fn of_stream(start: &[u8]) -> Format {
    let text = trimmed(start);
    let is_json = text.starts_with(b"{") || is_json_array(text);
    known_start(start).or(is_json.then_some(Format::Json)).unwrap_or(Format::Lines)
}

fn known_start(start: &[u8]) -> Option<Format> {
    if start.starts_with(PARQUET_MAGIC) {
        Some(Format::Parquet)
    } else if is_columns(start) {
        Some(Format::Arrow)
    } else if start.starts_with(WARC_MAGIC) {
        Some(Format::Warc)
    } else if is_html(trimmed(start)) {
        Some(Format::Html)
    } else if is_mailbox(start) {
        Some(Format::Mbox)
    } else if is_message(start) {
        Some(Format::Eml)
    } else {
        None
    }
}

/// Returns whether text starts like an array of JSON objects. A bracket alone is not enough: a line can start with
/// one.
fn is_json_array(start: &[u8]) -> bool {
    let inner = trimmed(start).strip_prefix(b"[").map(<[u8]>::trim_ascii_start);
    inner.is_some_and(|inner| inner.is_empty() || inner.starts_with(b"{") || inner.starts_with(b"]"))
}

/// Removes a byte order mark and leading white space.
pub(crate) fn trimmed(start: &[u8]) -> &[u8] {
    start.strip_prefix(b"\xef\xbb\xbf").unwrap_or(start).trim_ascii_start()
}

/// Returns whether a file starts like Parquet or Arrow.
fn is_columns(start: &[u8]) -> bool {
    [PARQUET_MAGIC, ARROW_FILE_MAGIC, ARROW_STREAM_START].iter().any(|magic| start.starts_with(magic))
}

pub(crate) fn is_zip(start: &[u8]) -> bool {
    ZIP_MAGICS.iter().any(|magic| start.starts_with(magic))
}

/// Returns whether a file starts with the header of a tar archive. Archives older than its magic have its checksum.
pub(crate) fn is_tar(start: &[u8]) -> bool {
    let Some(header) = start.get(..TAR_HEADER_BYTES) else { return false };
    if header[TAR_MAGIC.0..].starts_with(TAR_MAGIC.1) {
        return true;
    }
    // The bytes of the checksum count as blanks.
    let sum: u64 = (0..)
        .zip(header)
        .map(|(at, &byte)| u64::from(if TAR_CHECKSUM.contains(&at) { b' ' } else { byte }))
        .sum();
    let digits = header[TAR_CHECKSUM].trim_ascii_start();
    let end = digits.iter().position(|byte| !byte.is_ascii_digit()).unwrap_or(digits.len());
    let written = str::from_utf8(&digits[..end]).ok().and_then(|digits| u64::from_str_radix(digits, 8).ok());
    header[0] != 0 && written == Some(sum)
}

/// Returns whether a file contains a zero byte near its start: nearly every binary file does, text in UTF-8 and most
/// other encodings does not.
pub(crate) fn is_binary(start: &[u8]) -> bool {
    start[..start.len().min(TEXT_PROBE_BYTES)].contains(&0)
}

/// Returns whether zero bytes are so few near a file's start that it is damaged text.
pub(crate) fn is_mostly_text(start: &[u8]) -> bool {
    let start = &start[..start.len().min(TEXT_PROBE_BYTES)];
    start.iter().filter(|&&byte| byte == 0).count() <= 1 + start.len() / BYTES_PER_ZERO
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

/// Names of header fields that mail has. Two of them are needed, since other texts begin with one.
const FIELDS: &str = "from to cc date subject message-id received return-path delivered-to reply-to \
    mime-version x-mozilla-status x-gmail-labels";

/// The start of the line before each message of a mailbox.
const SEPARATOR: &[u8] = b"From ";

/// Returns whether a file starts like a mailbox: with a line of sender and date, and a header.
fn is_mailbox(start: &[u8]) -> bool {
    let mut lines = start.splitn(2, |&byte| byte == b'\n');
    let (Some(first), Some(rest)) = (lines.next(), lines.next()) else { return false };
    let has_time =
        first.split(|&byte| byte == b' ').any(|word| word.iter().filter(|&&byte| byte == b':').count() == 2);
    first.starts_with(SEPARATOR) && has_time && is_message(rest)
}

/// Returns whether a text starts with the header of a message.
fn is_message(start: &[u8]) -> bool {
    let mut known = 0;
    let is_cut = !start.contains(&b'\n');
    for (number, line) in start.split_inclusive(|&byte| byte == b'\n').enumerate() {
        let is_whole = line.ends_with(b"\n");
        let line = line.strip_suffix(b"\n").unwrap_or(line);
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if line.is_empty() || !is_whole {
            break;
        }
        if number > 0 && (line[0] == b' ' || line[0] == b'\t') {
            continue;
        }
        let name = line.split(|&byte| byte == b':').next().unwrap_or_default();
        if name.len() == line.len() || name.is_empty() || !name.iter().all(|&byte| byte.is_ascii_graphic()) {
            return false;
        }
        known += usize::from(FIELDS.split(' ').any(|field| name.eq_ignore_ascii_case(field.as_bytes())));
    }
    known >= 2 && !is_cut
}

/// The category of a file that is not read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum FileSort {
    /// Neither text nor data: a program, a picture, audio.
    Other,
    /// Compressed data, decompressed by this program.
    Compressed(&'static str),
    /// An archive of other files.
    Archive,
    /// An index.
    Index,
    /// The names of an index.
    Names,
    /// Data in an unsupported format.
    Data,
    /// A text in an unsupported format.
    Document,
    /// A text in place of data that was not downloaded.
    Pointer,
    /// Web pages in an unsupported format.
    Pages,
}

/// A kind of file that is not read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct FileKind {
    /// Its name, with its article.
    pub name: &'static str,
    /// Its category.
    pub sort: FileSort,
}

/// Name, category, offset of the signature, and the signature.
type Row = (&'static str, FileSort, usize, &'static [u8]);

const OLD_ARCHIVE: FileKind = FileKind { name: "a web archive of the old format ARC", sort: FileSort::Pages };

/// The first bytes of the manifests of stores and sets of shards (`store-spec.md`, `shards-spec.md`).
const STORE_MANIFEST: &[u8] = b"{\"hamdex_store\":";
const SHARDS_MANIFEST: &[u8] = b"{\"hamdex_shards\":";

/// The first bytes of the file in a copy of a store that is not whole yet (`store-spec.md`).
const UNFINISHED_COPY: &[u8] = b"this copy of a store";

const MARKS: &[Row] = &[
    ("a hamdex index", FileSort::Index, 0, b"\x89HDX\r\n\x1a\n"),
    ("the names file of a hamdex index", FileSort::Names, 0, b"\x89HDXID\r\n"),
    ("an ELF executable", FileSort::Other, 0, b"\x7fELF"),
    ("a Mach-O executable", FileSort::Other, 0, b"\xcf\xfa\xed\xfe"),
    ("a Mach-O executable", FileSort::Other, 0, b"\xce\xfa\xed\xfe"),
    ("a Mach-O executable", FileSort::Other, 0, b"\xfe\xed\xfa\xcf"),
    ("a Mach-O executable", FileSort::Other, 0, b"\xfe\xed\xfa\xce"),
    ("a Java class or Mach-O executable", FileSort::Other, 0, b"\xca\xfe\xba\xbe"),
    ("a WebAssembly module", FileSort::Other, 0, b"\0asm"),
    ("a library archive", FileSort::Other, 0, b"!<arch>\n"),
    ("an lzip file", FileSort::Compressed("lzip"), 0, b"LZIP"),
    ("a ZIP archive", FileSort::Archive, 0, b"PK\x03\x04"),
    ("a ZIP archive", FileSort::Archive, 0, b"PK\x05\x06"),
    ("a 7-Zip archive", FileSort::Archive, 0, b"7z\xbc\xaf\x27\x1c"),
    ("a RAR archive", FileSort::Archive, 0, b"Rar!\x1a\x07"),
    ("a tar archive", FileSort::Archive, 257, b"ustar"),
    ("an Avro file", FileSort::Data, 0, b"Obj\x01"),
    ("an HDF5 file", FileSort::Data, 0, b"\x89HDF\r\n\x1a\n"),
    ("an SQLite database", FileSort::Data, 0, b"SQLite format 3\0"),
    ("a Python pickle", FileSort::Data, 0, b"\x80\x03c"),
    ("a Python pickle", FileSort::Data, 0, b"\x80\x04\x95"),
    ("a Python pickle", FileSort::Data, 0, b"\x80\x05\x95"),
    ("a PDF document", FileSort::Document, 0, b"%PDF-"),
    ("a PostScript document", FileSort::Document, 0, b"%!PS-"),
    ("an RTF document", FileSort::Document, 0, b"{\\rtf"),
    ("an old Office document", FileSort::Document, 0, b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"),
    ("a Feather file of version 1", FileSort::Data, 0, b"FEA1"),
    (OLD_ARCHIVE.name, OLD_ARCHIVE.sort, 0, b"filedesc://"),
    ("a pointer of Git LFS", FileSort::Pointer, 0, b"version https://git-lfs.github.com/spec/"),
    ("a PNG picture", FileSort::Other, 0, b"\x89PNG\r\n\x1a\n"),
    ("a JPEG picture", FileSort::Other, 0, b"\xff\xd8\xff"),
    ("a GIF picture", FileSort::Other, 0, b"GIF8"),
    ("a RIFF file", FileSort::Other, 0, b"RIFF"),
    ("an Ogg file", FileSort::Other, 0, b"OggS"),
    ("a FLAC file", FileSort::Other, 0, b"fLaC"),
    ("an MP4 file", FileSort::Other, 4, b"ftyp"),
];

/// Returns the kind of a file if its first bytes have a known signature. Signatures of two bytes are not used: one
/// file of raw numbers in 65,536 begins with them.
#[must_use]
pub fn kind_of_file(start: &[u8]) -> Option<FileKind> {
    let marked =
        MARKS.iter().find(|(_, _, at, mark)| start.get(*at..).is_some_and(|rest| rest.starts_with(mark)));
    match marked {
        Some((name, sort, ..)) => Some(FileKind { name, sort: *sort }),
        None => is_windows_executable(start)
            .then_some(FileKind { name: "a Windows executable", sort: FileSort::Other }),
    }
}

/// Returns the kind of a directory that is a store or a set of shards, whose files are not documents.
pub(crate) fn kind_of_directory(directory: &Path) -> Option<FileKind> {
    let starts_with = |name: &str, mark: &[u8]| {
        let (mut start, path) = (Vec::new(), directory.join(name));
        // Opening a pipe would wait for a writer.
        if !path.symlink_metadata().is_ok_and(|file| file.is_file()) {
            return false;
        }
        let read = File::open(path).and_then(|file| file.take(mark.len() as u64).read_to_end(&mut start));
        read.is_ok() && start == mark
    };
    let has = |mark: &[u8]| ["manifest", "manifest.copy"].iter().any(|name| starts_with(name, mark));
    let sort = FileSort::Index;
    if has(STORE_MANIFEST) {
        return Some(FileKind { name: "a hamdex store", sort });
    }
    if starts_with("backup.new", UNFINISHED_COPY) {
        return Some(FileKind { name: "an unfinished copy of a hamdex store", sort });
    }
    has(SHARDS_MANIFEST).then_some(FileKind { name: "a set of hamdex shards", sort })
}

/// Returns the kind of an unsupported file by the extension of its name.
pub(crate) fn kind_of_name(name: &Path) -> Option<FileKind> {
    let is_archive = name.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("arc"));
    is_archive.then_some(OLD_ARCHIVE)
}

/// Returns whether a file starts with `MZ` and has `PE` at the offset given by byte 60.
fn is_windows_executable(start: &[u8]) -> bool {
    let Some(pointer) = start.get(60..64).filter(|_| start.starts_with(b"MZ")) else { return false };
    let at = u32::from_le_bytes(pointer.try_into().expect("four bytes")) as usize;
    start.get(at..).is_some_and(|rest| rest.starts_with(b"PE\0\0"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_decides_and_then_the_contents() {
        let detected = |name: &str, start: &[u8]| Format::detect(Path::new(name), start);
        assert_eq!(detected("a.JSONL", b""), Format::Jsonl);
        assert_eq!(detected("a.csv", b"{"), Format::Csv);
        assert_eq!(detected("a.train", b"t1 some text"), Format::Text);
        assert_eq!(detected("main.rs", b"{\"id\": 1}"), Format::Text);
        assert_eq!(detected("-", b"t1 some text"), Format::Lines);
        assert_eq!(detected("a.txt", b"{}"), Format::Text);
        assert_eq!(detected("a.jsonl", b"\n[ {\"id\": 1},"), Format::Json);
        assert_eq!(detected("keys.arrows", b"up and down"), Format::Text);
        assert_eq!(detected("-", b"[1] a footnote"), Format::Lines);
        assert_eq!(detected("-", b" \n{\"id\":1}"), Format::Json);
        assert_eq!(detected("-", b"\xef\xbb\xbf{}"), Format::Json);
        assert_eq!(detected("page", b"<!DOCTYPE HTML>"), Format::Html);
        assert_eq!(detected("x", b"PAR1\x15"), Format::Parquet);
        assert_eq!(detected("x", b"ARROW1\0\0"), Format::Arrow);
        assert_eq!(detected("crawl", b"WARC/1.0\r\nWARC-Type: warcinfo\r\n"), Format::Warc);
        assert_eq!(detected("CC-MAIN.warc.wet", b"WARC/1.0\r\n"), Format::Warc);
        let mailbox = b"From a@example.org Mon Sep 17 00:00:00 2001\nFrom: a\nSubject: b\n\nc\n";
        assert_eq!(detected("inbox", mailbox), Format::Mbox);
        assert_eq!(detected("-", mailbox), Format::Mbox);
        assert_eq!(detected("0001-fix.patch", mailbox), Format::Text);
        assert_eq!(detected("17.M5P6.host:2,S", &mailbox[44..]), Format::Eml);
    }

    #[test]
    fn a_tar_archive_has_a_magic_or_a_checksum() {
        let mut header = [0; 512];
        header[..5].copy_from_slice(b"a.txt");
        let sum = 8 * 32 + b"a.txt".iter().map(|&byte| u64::from(byte)).sum::<u64>();
        header[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
        assert!(is_tar(&header));
        header[300] = 1;
        assert!(!is_tar(&header) && !is_tar(&[0; 512]) && !is_tar(b"ustar"));
        header[257..262].copy_from_slice(b"ustar");
        assert!(is_tar(&header));
    }

    #[test]
    fn a_file_with_a_zero_byte_is_binary() {
        assert!(is_binary(b"\x7fELF\0"));
        assert!(!is_binary("tschüß".as_bytes()) && !is_binary(b"\xe9t\xe9") && !is_binary(b""));
    }

    #[test]
    fn mail_starts_with_a_header() {
        let message = b"Received: from a\r\n\tby b\r\nSubject: c\r\n\r\nText\r\n";
        assert!(is_message(message) && !is_mailbox(message));
        assert!(is_message(b"From: a\nTo: b\n"));
        assert!(is_message(b"MIME-Version: 1.0\nSubject: c\n"));
        for text in [
            &b""[..],
            b"Subject: one field alone\n\nText",
            b"Note: this\nSubject: that\nis no header\n",
            b"From: a line without an end, To: b",
            b"\nFrom: a\nTo: b\n",
            b"Version: 1\nSubject: c\n",
        ] {
            assert!(!is_message(text), "{}", String::from_utf8_lossy(text));
        }
    }

    #[test]
    fn a_mailbox_starts_with_sender_and_time() {
        let header = "From: a\nTo: b\n\nText\n";
        assert!(is_mailbox(format!("From a@b Thu Jan  1 00:00:01 1970\n{header}").as_bytes()));
        assert!(!is_mailbox(format!("From here on\n{header}").as_bytes()));
        assert!(!is_mailbox(b"From a@b Thu Jan  1 00:00:01 1970\nText\n"));
    }

    #[test]
    fn files_are_known_by_their_marks() {
        let name = |start: &[u8]| kind_of_file(start).map(|kind| kind.name);
        assert_eq!(name(b"\x7fELF\x02\x01\x01\0"), Some("an ELF executable"));
        assert_eq!(name(b"%PDF-1.7\n%"), Some("a PDF document"));
        let mut tar = vec![0; 512];
        tar[257..262].copy_from_slice(b"ustar");
        assert_eq!(name(&tar), Some("a tar archive"));
        let mut windows = vec![0; 256];
        windows[..2].copy_from_slice(b"MZ");
        windows[60] = 128;
        windows[128..132].copy_from_slice(b"PE\0\0");
        assert_eq!(name(&windows), Some("a Windows executable"));
    }

    #[test]
    fn raw_numbers_are_not_taken_for_them() {
        for start in [&b""[..], b"MZ\x90\0\x03\0\0\0", b"BZh9\0\0\0\0\0\0\0\0", b"BM\0\0\0\0\0\0"] {
            assert!(kind_of_file(start).is_none(), "{start:?}");
        }
    }
}
