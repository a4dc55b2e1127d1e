//! The files and streams behind inputs, and their compression, by their first bytes and their names.

use std::fs::File;
use std::io::{self, BufRead, Read};
use std::path::{Path, PathBuf};

/// Opens a file, or standard input for no path.
pub(crate) fn open(path: Option<&Path>) -> io::Result<Box<dyn Read + Send>> {
    let Some(path) = path else { return Ok(Box::new(Once { inner: io::stdin(), has_ended: false })) };
    let file = File::open(path)?;
    let metadata = file.metadata()?;
    let left = if metadata.is_file() { metadata.len() } else { 0 };
    Ok(Box::new(Watched { inner: file, left }))
}

/// A stream that is not read again after its end: a terminal would wait for more input.
struct Once<R> {
    inner: R,
    has_ended: bool,
}

impl<R: Read> Read for Once<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.has_ended || buffer.is_empty() {
            return Ok(0);
        }
        let count = self.inner.read(buffer)?;
        self.has_ended = count == 0;
        Ok(count)
    }
}

/// A file that must not end before the length that it had when it was opened.
struct Watched<R> {
    inner: R,
    /// Bytes not read yet.
    left: u64,
}

impl<R: Read> Read for Watched<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        if count == 0 && !buffer.is_empty() && self.left > 0 {
            let what = format!("it became shorter while it was read: {} bytes are missing", self.left);
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, what));
        }
        self.left = self.left.saturating_sub(count as u64);
        Ok(count)
    }
}

/// Gzip with its one method, deflate.
pub(crate) const GZIP_MAGIC: &[u8] = &[0x1f, 0x8b, 8];
pub(crate) const ZSTD_MAGIC: &[u8] = &[0x28, 0xb5, 0x2f, 0xfd];
const XZ_MAGIC: &[u8] = b"\xfd7zXZ\0";
const LZ4_MAGIC: &[u8] = &[0x04, 0x22, 0x4d, 0x18];

/// `BZh`, a level, and the start of a block or the end of the stream.
const BZIP2_START: &[u8] = b"BZh";
const BZIP2_BLOCKS: [&[u8]; 2] = [b"\x31\x41\x59\x26\x53\x59", b"\x17\x72\x45\x38\x50\x90"];

const ENDINGS: [&str; 11] =
    ["gz", "gzip", "zst", "zstd", "xz", "bz2", "bzip2", "lz4", "bgz", "bz", BROTLI_ENDING];

/// Brotli has no signature: only its name tells it.
pub(super) const BROTLI_ENDING: &str = "br";

/// The compression of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Compression {
    Gzip,
    Zstd,
    Xz,
    Bzip2,
    Lz4,
    Brotli,
}

/// The result of inspecting the first bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    Is(Compression),
    IsNone,
    /// More bytes are needed.
    Undecided,
}

fn verdict(start: &[u8]) -> Verdict {
    let magics = [
        (GZIP_MAGIC, Compression::Gzip),
        (ZSTD_MAGIC, Compression::Zstd),
        (XZ_MAGIC, Compression::Xz),
        (LZ4_MAGIC, Compression::Lz4),
    ];
    for (magic, compression) in magics {
        if start.starts_with(magic) {
            return Verdict::Is(compression);
        }
        if magic.starts_with(start) {
            return Verdict::Undecided;
        }
    }
    bzip2_verdict(start)
}

fn bzip2_verdict(start: &[u8]) -> Verdict {
    let (Some(rest), level) = (start.strip_prefix(BZIP2_START), start.get(3)) else {
        return if BZIP2_START.starts_with(start) { Verdict::Undecided } else { Verdict::IsNone };
    };
    let block = rest.get(1..).unwrap_or_default();
    match level {
        None => Verdict::Undecided,
        Some(b'1'..=b'9') if BZIP2_BLOCKS.iter().any(|mark| block.starts_with(mark)) => {
            Verdict::Is(Compression::Bzip2)
        }
        Some(b'1'..=b'9') if BZIP2_BLOCKS.iter().any(|mark| mark.starts_with(block)) => Verdict::Undecided,
        Some(_) => Verdict::IsNone,
    }
}

/// Inspects the first bytes. Returns them too if they were consumed, which happens if the buffered bytes do not decide,
/// since a pipe may deliver them one by one. No more bytes are consumed than needed.
pub(super) fn inspect(reader: &mut impl BufRead) -> io::Result<(Verdict, Vec<u8>)> {
    let buffered = reader.fill_buf()?;
    match verdict(buffered) {
        Verdict::Undecided if !buffered.is_empty() => {}
        known => return Ok((known, Vec::new())),
    }
    let mut start = Vec::new();
    while verdict(&start) == Verdict::Undecided {
        let mut byte = [0];
        match reader.read(&mut byte) {
            Ok(0) => break,
            Ok(_) => start.push(byte[0]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok((verdict(&start), start))
}

/// Returns the name without the extension of a compressed file: `pages.csv` for `pages.csv.gz`.
pub(crate) fn inner_name(path: &Path) -> PathBuf {
    let ending = path.extension().unwrap_or_default().to_string_lossy().to_lowercase();
    if ENDINGS.contains(&ending.as_str()) { path.with_extension("") } else { path.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_becomes_shorter_is_an_error() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("in.u64");
        std::fs::write(&path, [7; 4096]).unwrap();
        let mut reader = open(Some(&path)).unwrap();
        reader.read_exact(&mut [0; 1024]).unwrap();
        File::options().write(true).open(&path).unwrap().set_len(2048).unwrap();
        let error = reader.read_to_end(&mut Vec::new()).unwrap_err();
        assert!(error.to_string().contains("2048 bytes are missing"), "{error}");
    }

    #[test]
    fn the_end_is_read_once() {
        /// Ends after every line, as a terminal does with Ctrl-D.
        struct Terminal(Vec<&'static [u8]>);
        impl Read for Terminal {
            fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
                let Some(line) = self.0.pop() else { return Ok(0) };
                buffer[..line.len()].copy_from_slice(line);
                Ok(line.len())
            }
        }
        let mut typed = Vec::new();
        let mut reader = Once { inner: Terminal(vec![b"second\n", b"", b"first\n"]), has_ended: false };
        reader.read_to_end(&mut typed).unwrap();
        reader.read_to_end(&mut typed).unwrap();
        assert_eq!(typed, b"first\n");
    }

    #[test]
    fn the_extension_of_a_compressed_file_is_removed() {
        assert_eq!(inner_name(Path::new("a/pages.csv.gz")), Path::new("a/pages.csv"));
        assert_eq!(inner_name(Path::new("pages.jsonl.ZST")), Path::new("pages.jsonl"));
        assert_eq!(inner_name(Path::new("pages.csv")), Path::new("pages.csv"));
    }
}
