//! Files and standard input, decompressed where they are compressed.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use indicatif::ProgressBar;

use crate::documents::{Format, detect, html};
use crate::failure::Failure;
use crate::input::{BUFFER_BYTES, Source};

/// Gzip with its one method, deflate.
const GZIP_MAGIC: [u8; 3] = [0x1f, 0x8b, 8];
const ZSTD_MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];
const PACKED_ENDINGS: [&str; 4] = ["gz", "gzip", "zst", "zstd"];

/// Decompressed bytes, buffered.
pub(super) type Reader<'a> = BufReader<Box<dyn Read + 'a>>;

/// An input, ready to be read.
pub(super) struct Opened<'a> {
    pub(super) source: Source,
    pub(super) reader: Reader<'a>,
    /// The one asked for, or the one detected; never [`Format::Auto`].
    pub(super) format: Format,
    /// Where its bytes lie as they are: a plain file, not compressed.
    pub(super) plain: Option<PathBuf>,
    /// Whether it looks like no text at all.
    pub(super) is_binary: bool,
}

/// Opens a file, or standard input for `-`.
pub(super) fn open<'a>(path: &Path, format: Format, bar: &'a ProgressBar) -> Result<Opened<'a>, Failure> {
    let (source, reader): (_, Box<dyn Read>) = if path.as_os_str() == "-" {
        (Source { name: "standard input".to_owned() }, Box::new(io::stdin()))
    } else {
        let source = Source { name: path.display().to_string() };
        let file = File::open(path).map_err(|error| source.unreadable(&error))?;
        (source, Box::new(file))
    };
    let compressed = BufReader::with_capacity(BUFFER_BYTES, bar.wrap_read(reader));
    let (reader, is_packed) = decompress(compressed).map_err(|error| source.unreadable(&error))?;
    let mut reader = BufReader::with_capacity(BUFFER_BYTES, reader);
    let start = reader.fill_buf().map_err(|error| source.unreadable(&error))?;
    let is_binary = detect::is_binary(start);
    let format = match format {
        Format::Auto => detect::format(&inner_name(path), start),
        given => given,
    };
    let plain = (!is_packed && path.is_file()).then(|| path.to_owned());
    Ok(Opened { source, reader, format, plain, is_binary })
}

/// The text of a file that is one document.
pub(crate) fn one_text(path: &Path) -> Result<String, Failure> {
    let bar = ProgressBar::hidden();
    let mut opened = open(path, Format::Auto, &bar)?;
    if opened.is_binary {
        return Err(opened.source.complaint("is not text"));
    }
    let mut bytes = Vec::new();
    opened.reader.read_to_end(&mut bytes).map_err(|error| opened.source.unreadable(&error))?;
    if opened.format == Format::Html {
        return Ok(html::text(&bytes));
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Sees by the first bytes whether there is something to decompress, and tells.
fn decompress<'a, R: BufRead + 'a>(mut reader: R) -> io::Result<(Box<dyn Read + 'a>, bool)> {
    let start = reader.fill_buf()?;
    Ok(if start.starts_with(&GZIP_MAGIC) {
        (Box::new(flate2::bufread::MultiGzDecoder::new(reader)), true)
    } else if start.starts_with(&ZSTD_MAGIC) {
        (Box::new(zstd::Decoder::with_buffer(reader)?), true)
    } else {
        (Box::new(reader), false)
    })
}

/// `pages.csv` for `pages.csv.gz`.
fn inner_name(path: &Path) -> PathBuf {
    let ending = path.extension().unwrap_or_default().to_string_lossy().to_lowercase();
    if PACKED_ENDINGS.contains(&ending.as_str()) { path.with_extension("") } else { path.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ending_of_a_compressed_file_is_not_that_of_its_contents() {
        assert_eq!(inner_name(Path::new("a/pages.csv.gz")), Path::new("a/pages.csv"));
        assert_eq!(inner_name(Path::new("pages.jsonl.ZST")), Path::new("pages.jsonl"));
        assert_eq!(inner_name(Path::new("pages.csv")), Path::new("pages.csv"));
    }
}
