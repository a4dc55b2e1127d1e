//! Files and standard input, decompressed if they are compressed.
//!
//! - [`source`]: files and streams, and their compression, by the first bytes and the name
//! - [`decompress`], [`gzip`]: decompression, and the members of a gzip file
//! - [`encoding`]: text in other encodings than UTF-8

mod decompress;
pub(crate) mod encoding;
mod gzip;
pub(crate) mod source;

use std::fs::File;
use std::io::{self, BufRead, BufReader, Cursor, Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use encoding_rs::Encoding;
use hamdex::Names;

use crate::error::Error;
use crate::format::{self, FileSort, Format, kind_of_file, kind_of_name};
use crate::input::encoding::Encoded;
use crate::input::gzip::Trailing;
use crate::input::source::Compression;
use crate::problem::Problem;

/// Bytes read at once.
const BUFFER_BYTES: usize = 1 << 18;

/// Bytes at the start from which the format of documents is detected.
const START_BYTES: u64 = 1 << 16;

/// The name of standard input in messages.
const STANDARD_INPUT: &str = "standard input";

/// A callback for the number of bytes read since the last call.
pub(crate) type OnRead = Arc<dyn Fn(u64) + Send + Sync>;

/// A file or standard input, opened and decompressed.
///
/// Gzip, Zstandard, xz, bzip2 and LZ4 are detected by the first bytes, whatever the name; Brotli by the ending `.br`.
/// It implements [`BufRead`].
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
/// assert!(!input.is_compressed() && input.format() == Format::Text);
/// assert_eq!(input.lines().next().unwrap()?, "00000000000000ff");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Input {
    name: String,
    /// The name without the extension of a compressed file; its own extension gives the format.
    inner_name: PathBuf,
    reader: BufReader<Box<dyn Read + Send>>,
    format: Format,
    /// The path of the file, if its bytes are read unchanged.
    plain: Option<PathBuf>,
    on_read: Option<OnRead>,
    /// Set at the end if something follows the compressed data.
    trailing: Trailing,
    /// Whether that is an error of reading; a parser of documents reports it by itself.
    is_whole: bool,
    /// The path of the file, if it is not UTF-8.
    undecodable: Option<PathBuf>,
    compression: Option<Compression>,
    /// Whether its name is that of a compressed file or of a table with types, which are never empty, and it is empty.
    is_hollow: bool,
    encoded: Encoded,
    /// Whether the buffered bytes at the start are the whole input.
    is_short: bool,
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
        let name = input_name(path);
        let opened = source::open((!is_standard_input).then_some(path));
        let inner = opened.map_err(|source| Error::Read { input: name.clone(), source })?;
        let mut input = Self::of(name, path, Box::new(Reported { inner, on_read: on_read.clone() }))?;
        input.on_read = on_read;
        input.undecodable = path.to_str().is_none().then(|| path.to_owned());
        input.plain =
            (!is_standard_input && !input.is_compressed() && path.is_file()).then(|| path.to_owned());
        Ok(input)
    }

    /// Creates an input that was copied to an anonymous file.
    pub(crate) fn of_stream(path: &Path, file: File) -> Result<Self, Error> {
        let mut input = Self::of(input_name(path), path, Box::new(file))?;
        input.undecodable = path.to_str().is_none().then(|| path.to_owned());
        Ok(input)
    }

    /// Creates an input with this name in messages; the extension of `path` gives the format.
    pub(crate) fn of(name: String, path: &Path, reader: Box<dyn Read + Send>) -> Result<Self, Error> {
        let trailing = Trailing::default();
        let is_archive = Format::of_name(&source::inner_name(path)) == Some(Format::Warc);
        let start = || -> io::Result<_> {
            let reader = BufReader::with_capacity(BUFFER_BYTES, reader);
            let (reader, compression) =
                decompress::decompress(reader, path, Arc::clone(&trailing), is_archive)?;
            let mut reader = BufReader::with_capacity(BUFFER_BYTES, reader);
            match reader.fill_buf() {
                Err(error) if is_archive => {
                    reader = BufReader::with_capacity(BUFFER_BYTES, Late::boxed(error, reader));
                }
                outcome => _ = outcome?,
            }
            Ok((reader, compression))
        };
        let (reader, compression) = match start() {
            Ok(started) => started,
            Err(source) => return Err(Error::Read { input: name, source }),
        };
        let inner_name = source::inner_name(path);
        let format = Format::detect(&inner_name, reader.buffer());
        let is_packed = compression.is_none() && inner_name != path;
        let has_columns = Format::of_name(&inner_name).is_some_and(Format::is_columnar);
        let is_hollow = reader.buffer().is_empty() && (is_packed || has_columns);
        Ok(Self {
            name,
            inner_name,
            reader,
            format,
            plain: None,
            on_read: None,
            trailing,
            is_whole: true,
            undecodable: None,
            compression,
            is_hollow,
            encoded: Encoded::default(),
            is_short: false,
            temp_dir: None,
        })
    }

    /// Sets the directory of the temporary file for Parquet, Arrow and zip archives that are compressed or come from
    /// standard input; by default the system's place for large files
    /// ([`hamdex_atomic_file::temporary_directory`]).
    #[must_use]
    pub fn temp_dir(mut self, directory: impl Into<PathBuf>) -> Self {
        self.temp_dir = Some(directory.into());
        self
    }

    /// Decodes text in another encoding: by a byte order mark, by the declaration of an HTML page, else from
    /// `encoding`. `format` is the given format. Without one it is detected, by the start of the input, which is waited
    /// for however slowly it comes; a program that sends documents and waits for answers has to give the format.
    pub(crate) fn decoded(
        self,
        format: Option<Format>,
        encoding: Option<&'static Encoding>,
    ) -> Result<Self, Error> {
        if self.is_hollow {
            let what = "it is empty, as no file of its format is";
            let source = io::Error::new(io::ErrorKind::UnexpectedEof, what);
            return Err(Error::Read { input: self.name, source });
        }
        let waits = format.is_none();
        let this = if waits { self.with_start()? } else { self };
        if !format.unwrap_or(this.format).is_text() || this.is_zip() || this.is_tar() {
            return Ok(this);
        }
        let Self { name, inner_name, reader, .. } = this;
        let start = reader.buffer();
        let declared = if this.format == Format::Html { encoding::declared(start) } else { None };
        let (reader, encoded) = match encoding::decode(reader, declared.or(encoding)) {
            Ok(decoded) => decoded,
            Err(source) => return Err(Error::Read { input: name, source }),
        };
        let reader = BufReader::with_capacity(BUFFER_BYTES, reader);
        let plain = this.plain.filter(|_| encoded.encoding.is_none());
        let mut decoded = Self { name, inner_name, reader, plain, encoded, ..this };
        if waits {
            return decoded.with_start();
        }
        decoded.peek()?;
        decoded.format = Format::detect(&decoded.inner_name, decoded.reader.buffer());
        Ok(decoded)
    }

    /// Buffers the start of the input and detects its format again.
    fn with_start(self) -> Result<Self, Error> {
        let this = self.buffered(START_BYTES)?;
        let format = Format::detect(&this.inner_name, this.reader.buffer());
        Ok(Self { format, ..this })
    }

    /// Buffers as many bytes from the start of the input, which are waited for however slowly they come.
    pub(crate) fn buffered(self, bytes: u64) -> Result<Self, Error> {
        let Self { name, mut reader, .. } = self;
        let mut start = Vec::new();
        let outcome = (&mut reader).take(bytes).read_to_end(&mut start);
        let is_short = outcome.is_ok() && (start.len() as u64) < bytes;
        let rest: Box<dyn Read + Send> = match outcome {
            Err(error) if Format::detect(&self.inner_name, &start) == Format::Warc => {
                Late::boxed(error, reader)
            }
            Err(source) => return Err(Error::Read { input: name, source }),
            Ok(_) => Box::new(reader),
        };
        let is_empty = start.is_empty();
        let capacity = BUFFER_BYTES.max(start.len());
        let mut reader: BufReader<Box<dyn Read + Send>> =
            BufReader::with_capacity(capacity, Box::new(Cursor::new(start).chain(rest)));
        if !is_empty && let Err(source) = reader.fill_buf() {
            return Err(Error::Read { input: name, source });
        }
        Ok(Self { name, reader, is_short, ..self })
    }

    /// Returns whether it may be a program that sends documents and waits for answers.
    pub(crate) fn is_stream(&self) -> bool {
        self.inner_name.as_os_str() == "-"
    }

    /// Returns the bytes at the start, and whether they are all; after [`Self::decoded`].
    pub(crate) fn start(&self) -> (&[u8], bool) {
        (self.reader.buffer(), self.is_short)
    }

    /// Returns the name of the input in messages: its path, or `standard input`.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the path of its file, if that is not UTF-8, so that the name does not tell it.
    pub(crate) fn undecodable_path(&self) -> Option<&Path> {
        self.undecodable.as_deref()
    }

    /// Returns the format detected from its name or its first bytes.
    #[must_use]
    pub fn format(&self) -> Format {
        self.format
    }

    /// Returns what is set at the end if something follows the compressed data, which is not an error of reading then.
    pub(crate) fn take_trailing(&mut self) -> Trailing {
        self.is_whole = false;
        Arc::clone(&self.trailing)
    }

    /// Fails at the end if something follows the compressed data.
    fn check_end(&self) -> io::Result<()> {
        if self.is_whole && self.trailing.load(Ordering::Relaxed) {
            let what = "other data follows the compressed data, or a part of it is damaged";
            return Err(io::Error::new(io::ErrorKind::InvalidData, what));
        }
        Ok(())
    }

    /// Returns whether its bytes are decompressed while they are read.
    #[must_use]
    pub fn is_compressed(&self) -> bool {
        self.compression.is_some()
    }

    /// Returns whether it is text in another encoding than UTF-8.
    pub(crate) fn is_transcoded(&self) -> bool {
        self.encoded.encoding.is_some()
    }

    /// Returns how the file is compressed, and the form of its text.
    pub(crate) fn packing(&self) -> (Option<Compression>, Encoded) {
        (self.compression, self.encoded)
    }

    /// Returns whether there is a zero byte near its start, which text does not have.
    pub(crate) fn is_binary(&self) -> bool {
        format::is_binary(self.reader.buffer())
    }

    /// Returns whether it is a zip archive.
    pub(crate) fn is_zip(&self) -> bool {
        format::is_zip(self.reader.buffer())
    }

    /// Returns whether it is a tar archive.
    pub(crate) fn is_tar(&self) -> bool {
        format::is_tar(self.reader.buffer())
    }

    /// Returns why it is not read in this format, judging by its first bytes. With `is_given`, the format is the
    /// caller's, and zero bytes count as text.
    pub(crate) fn refusal(&self, format: Format, is_given: bool, is_encoding_given: bool) -> Option<Problem> {
        let (start, is_whole) = self.start();
        let is_foreign = !self.is_transcoded() && encoding::is_foreign(start, !is_whole);
        let is_clean = format.is_text() && !self.is_binary() && !is_foreign;
        let named = || kind_of_name(&self.inner_name).filter(|_| !is_given);
        let is_text_of = |sort| matches!(sort, FileSort::Document | FileSort::Pointer | FileSort::Pages);
        match kind_of_file(start).or_else(named) {
            Some(kind) if is_text_of(kind.sort) || !is_clean => Some(Problem::NotRead { kind }),
            _ if !format.is_text() => None,
            // A zero byte in a row is a defect of the row.
            _ if self.is_binary() && !is_given && !(format.has_rows() && format::is_mostly_text(start)) => {
                Some(Problem::Binary)
            }
            _ if is_foreign && !is_encoding_given => Some(Problem::NotUtf8),
            _ => None,
        }
    }

    /// Returns the buffered bytes without consuming them; none at the end of the input.
    ///
    /// # Errors
    /// When the input cannot be read.
    pub fn peek(&mut self) -> Result<&[u8], Error> {
        if let Err(source) = self.fill_buf().map(drop) {
            return Err(Error::Read { input: self.name.clone(), source });
        }
        Ok(self.reader.buffer())
    }

    /// Returns a function that adds the name of the input to an I/O error.
    pub(crate) fn unreadable(&self) -> impl FnOnce(io::Error) -> Error + use<> {
        let input = self.name.clone();
        move |source| Error::Read { input, source }
    }

    /// Returns the rest of a file whose bytes are not read through this input but as a seekable file, and what reports
    /// them.
    #[cfg(feature = "parquet")]
    pub(crate) fn unreported(&self) -> Option<(u64, OnRead)> {
        let bytes = self.plain.as_ref()?.metadata().ok()?.len();
        Some((bytes.saturating_sub(self.reader.buffer().len() as u64), self.on_read.clone()?))
    }

    /// Returns the input as a seekable file, for formats that are read from their end. Compressed data and
    /// standard input are copied to a temporary file.
    pub(crate) fn into_file(mut self) -> Result<File, Error> {
        if let Some(path) = &self.plain {
            return File::open(path).map_err(self.unreadable());
        }
        let directory = self.temp_dir.take().unwrap_or_else(|| hamdex_atomic_file::temporary_directory(None));
        let mut file = tempfile::tempfile_in(&directory)
            .map_err(Error::temporary("create a temporary file in it", &directory))?;
        let unreadable = self.unreadable();
        spool(&mut self, &mut file, &directory, unreadable, |_| {})?;
        Ok(file)
    }
}

/// Copies a stream to a temporary file in this directory, and returns to its start. Calls `on_read` with the number of
/// bytes read since the last call, and returns that of all.
pub(crate) fn spool(
    from: &mut impl Read,
    file: &mut (impl Write + Seek),
    directory: &Path,
    unreadable: impl FnOnce(io::Error) -> Error,
    on_read: impl Fn(u64),
) -> Result<u64, Error> {
    let mut buffer = vec![0; 1 << 16];
    let mut bytes = 0;
    loop {
        match from.read(&mut buffer) {
            Ok(0) => break,
            Ok(count) => {
                let written = file.write_all(&buffer[..count]);
                written.map_err(Error::temporary("write a temporary file in it", directory))?;
                bytes += count as u64;
                on_read(count as u64);
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(unreadable(error)),
        }
    }
    file.rewind().map_err(Error::temporary("read a temporary file in it", directory))?;
    Ok(bytes)
}

/// Returns the name of an input, in messages and as the id of a file that is one document: its path, or `standard
/// input` for `-`. Bytes that are not UTF-8 are written as `\xff`, so that different paths have different names: a list
/// of duplicates to be removed names no other file, unless one has that very text as its name.
pub(crate) fn input_name(path: &Path) -> String {
    if path.as_os_str() == "-" {
        return STANDARD_INPUT.to_owned();
    }
    Names::text_of(path.as_os_str().as_encoded_bytes()).into_owned()
}

impl Read for Input {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.reader.read(buffer)?;
        if count == 0 && !buffer.is_empty() {
            self.check_end()?;
        }
        Ok(count)
    }
}

impl BufRead for Input {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.reader.fill_buf()?.is_empty() {
            self.check_end()?;
        }
        Ok(self.reader.buffer())
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

/// A web archive whose start was met with an error, which its parser is to meet: there may be records behind it.
struct Late {
    error: Option<io::Error>,
    rest: BufReader<Box<dyn Read + Send>>,
}

impl Late {
    fn boxed(error: io::Error, rest: BufReader<Box<dyn Read + Send>>) -> Box<dyn Read + Send> {
        Box::new(Self { error: Some(error), rest })
    }
}

impl Read for Late {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.error.take().map_or_else(|| self.rest.read(buffer), Err)
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
