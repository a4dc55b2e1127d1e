//! Files and standard input, decompressed where they are compressed.

#[cfg(feature = "parquet")]
use std::fs::File;
use std::io::{self, BufRead, BufReader, Cursor, Read};
#[cfg(feature = "parquet")]
use std::io::{Seek, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::error::Error;
use crate::format::{self, Format};
use crate::source;

/// Bytes read at once. The format is detected from the first of them.
const BUFFER_BYTES: usize = 1 << 18;

/// Gzip with its one method, deflate.
const GZIP_MAGIC: &[u8] = &[0x1f, 0x8b, 8];
const ZSTD_MAGIC: &[u8] = &[0x28, 0xb5, 0x2f, 0xfd];
const COMPRESSED_ENDINGS: [&str; 4] = ["gz", "gzip", "zst", "zstd"];

/// The name of standard input in messages.
const STANDARD_INPUT: &str = "standard input";

/// Receives how many bytes have been read since the last call.
type OnRead = Arc<dyn Fn(u64) + Send + Sync>;

/// A file or standard input, ready to be read, its bytes decompressed.
///
/// Gzip and Zstandard are detected by the first bytes, whatever the name. It implements [`BufRead`].
///
/// ```
/// use std::io::BufRead;
/// use hamdex_documents::{Format, Input};
///
/// let directory = tempfile::tempdir()?;
/// let path = directory.path().join("fingerprints");
/// std::fs::write(&path, "00000000000000ff\n")?;
///
/// let input = Input::open(&path)?;
/// assert!(!input.is_compressed() && input.format() == Format::Lines);
/// assert_eq!(input.lines().next().unwrap()?, "00000000000000ff");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Input {
    name: String,
    reader: BufReader<Box<dyn Read + Send>>,
    format: Format,
    /// Where the file is, for formats that are read from their end.
    #[cfg_attr(not(feature = "parquet"), expect(dead_code, reason = "only Parquet and Arrow need a file"))]
    path: Option<PathBuf>,
    is_compressed: bool,
    is_binary: bool,
    temp_dir: Option<PathBuf>,
}

impl Input {
    /// Opens a file, or standard input for `-`.
    ///
    /// # Errors
    /// When it cannot be opened or its start not be read.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, Error> {
        Self::open_with(path.as_ref(), None)
    }

    /// Opens a file, or standard input for `-`; calls `report` with the number of bytes read since the last
    /// call, before they are decompressed.
    ///
    /// # Errors
    /// When it cannot be opened or its start not be read.
    pub fn open_reporting(
        path: impl AsRef<Path>,
        report: impl Fn(u64) + Send + Sync + 'static,
    ) -> Result<Self, Error> {
        Self::open_with(path.as_ref(), Some(Arc::new(report)))
    }

    pub(crate) fn open_with(path: &Path, on_read: Option<OnRead>) -> Result<Self, Error> {
        let is_standard_input = path.as_os_str() == "-";
        let name = if is_standard_input { STANDARD_INPUT.to_owned() } else { path.display().to_string() };
        let open = || -> io::Result<Self> {
            let inner = source::open((!is_standard_input).then_some(path))?;
            let reported = BufReader::with_capacity(BUFFER_BYTES, Reported { inner, on_read });
            let (reader, is_compressed) = decompress(reported)?;
            let mut reader = BufReader::with_capacity(BUFFER_BYTES, reader);
            let start = reader.fill_buf()?;
            let is_binary = format::is_binary(start);
            let format = Format::detect(&inner_name(path), start);
            let path = (!is_standard_input && path.is_file()).then(|| path.to_owned());
            Ok(Self { name: name.clone(), reader, format, path, is_compressed, is_binary, temp_dir: None })
        };
        open().map_err(|source| Error::Read { input: name.clone(), source })
    }

    /// The directory of the temporary file that Parquet and Arrow need where they are compressed or come from
    /// standard input; by default the system's place for large files
    /// ([`hamdex_atomic_file::temporary_directory`]).
    #[must_use]
    pub fn temp_dir(mut self, directory: impl Into<PathBuf>) -> Self {
        self.temp_dir = Some(directory.into());
        self
    }

    /// Returns the name of the input in messages: its path, or `standard input`.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the format detected from its name or its first bytes.
    #[must_use]
    pub fn format(&self) -> Format {
        self.format
    }

    /// Returns whether its bytes are decompressed while they are read.
    #[must_use]
    pub fn is_compressed(&self) -> bool {
        self.is_compressed
    }

    /// Returns whether there is a zero byte near its start, which no text has.
    #[must_use]
    pub fn is_binary(&self) -> bool {
        self.is_binary
    }

    /// Returns the buffered bytes without consuming them; none at the end of the input.
    ///
    /// # Errors
    /// When the input cannot be read.
    pub fn peek(&mut self) -> Result<&[u8], Error> {
        let Self { name, reader, .. } = self;
        reader.fill_buf().map_err(|source| Error::Read { input: name.clone(), source })
    }

    /// Returns a function that adds the name of the input to an I/O error.
    pub(crate) fn unreadable(&self) -> impl FnOnce(io::Error) -> Error + use<> {
        let input = self.name.clone();
        move |source| Error::Read { input, source }
    }

    /// Returns the input as a seekable file, for formats that are read from their end. Compressed data and
    /// standard input are copied to a temporary file.
    #[cfg(feature = "parquet")]
    pub(crate) fn into_file(mut self) -> Result<File, Error> {
        if let Some(path) = self.path.as_ref().filter(|_| !self.is_compressed) {
            return File::open(path).map_err(self.unreadable());
        }
        let directory = self.temp_dir.take().unwrap_or_else(|| hamdex_atomic_file::temporary_directory(None));
        let mut file = tempfile::tempfile_in(&directory)
            .map_err(Error::temporary("create a temporary file in it", &directory))?;
        loop {
            let bytes = self.peek()?;
            if bytes.is_empty() {
                break;
            }
            let count = bytes.len();
            file.write_all(bytes).map_err(Error::temporary("write a temporary file in it", &directory))?;
            self.consume(count);
        }
        file.rewind().map_err(Error::temporary("read a temporary file in it", &directory))?;
        Ok(file)
    }
}

impl Read for Input {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.reader.read(buffer)
    }
}

impl BufRead for Input {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.reader.fill_buf()
    }

    fn consume(&mut self, count: usize) {
        self.reader.consume(count);
    }
}

impl std::fmt::Debug for Input {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Input")
            .field("name", &self.name)
            .field("format", &self.format)
            .finish_non_exhaustive()
    }
}

/// Reports the number of bytes read.
struct Reported {
    inner: Box<dyn Read + Send>,
    on_read: Option<OnRead>,
}

impl Read for Reported {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        if let Some(report) = &self.on_read {
            report(count as u64);
        }
        Ok(count)
    }
}

/// Decompresses the data if it starts like compressed data; returns whether it does.
fn decompress(mut reader: impl BufRead + Send + 'static) -> io::Result<(Box<dyn Read + Send>, bool)> {
    let (start, is_taken) = magic(&mut reader)?;
    let taken = if is_taken { start.clone() } else { Vec::new() };
    let reader = Cursor::new(taken).chain(reader);
    Ok(if start.starts_with(GZIP_MAGIC) {
        (Box::new(flate2::bufread::MultiGzDecoder::new(reader)), true)
    } else if start.starts_with(ZSTD_MAGIC) {
        (Box::new(zstd::Decoder::with_buffer(reader)?), true)
    } else {
        (Box::new(reader), false)
    })
}

/// Returns the first bytes, and whether they were taken out of the reader. They are if more bytes are needed to
/// know whether the data is compressed, since a pipe may deliver them one by one. No more bytes are read than
/// are needed for that.
fn magic(reader: &mut impl BufRead) -> io::Result<(Vec<u8>, bool)> {
    let is_undecided = |start: &[u8]| {
        [GZIP_MAGIC, ZSTD_MAGIC].iter().any(|magic| magic.len() > start.len() && magic.starts_with(start))
    };
    let at_hand = reader.fill_buf()?;
    if at_hand.is_empty() || !is_undecided(at_hand) {
        return Ok((at_hand[..at_hand.len().min(ZSTD_MAGIC.len())].to_vec(), false));
    }
    let mut start = Vec::new();
    while is_undecided(&start) {
        let mut byte = [0];
        match reader.read(&mut byte) {
            Ok(0) => break,
            Ok(_) => start.push(byte[0]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok((start, true))
}

/// `pages.csv` for `pages.csv.gz`.
fn inner_name(path: &Path) -> PathBuf {
    let ending = path.extension().unwrap_or_default().to_string_lossy().to_lowercase();
    if COMPRESSED_ENDINGS.contains(&ending.as_str()) { path.with_extension("") } else { path.to_owned() }
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

    /// Returns one byte per call, like a slow pipe.
    struct Slow(Vec<u8>);

    impl Read for Slow {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            if self.0.is_empty() || buffer.is_empty() {
                return Ok(0);
            }
            buffer[0] = self.0.remove(0);
            Ok(1)
        }
    }

    #[test]
    fn compressed_data_is_recognised_however_slowly_it_comes() {
        let packed = zstd::encode_all(&b"some text"[..], 0).unwrap();
        for (bytes, expected) in [(packed, true), (b"some text".to_vec(), false)] {
            let (mut reader, is_compressed) = decompress(BufReader::new(Slow(bytes))).unwrap();
            let mut text = String::new();
            reader.read_to_string(&mut text).unwrap();
            assert_eq!((text.as_str(), is_compressed), ("some text", expected));
        }
        for start in [&b""[..], b"\x28\xb5", b"\x1f"] {
            let (mut reader, is_compressed) = decompress(start).unwrap();
            let mut rest = Vec::new();
            reader.read_to_end(&mut rest).unwrap();
            assert_eq!((rest.as_slice(), is_compressed), (start, false));
        }
    }
}
