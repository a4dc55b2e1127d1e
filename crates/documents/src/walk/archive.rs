//! The files of archives: zip, in the order of their names, and tar in any compression, in the order in which they lie
//! there, since it is read once from its start.

use std::cell::Cell;
use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;

use hamdex::Names;
use rawzip::{CompressionMethod, FileReader, RangeReader, ZipArchive};
use tar::{Archive, EntryType};

use crate::error::Error;
use crate::format::{FileKind, FileSort};
use crate::input::{Input, spool};
use crate::problem::{Place, Problem};
use crate::read::collector::Collector;
use crate::walk::FileSet;
use crate::walk::litter::Litter;

/// Returns whether an input is an archive that can be read.
pub(crate) fn is_archive(input: &Input) -> bool {
    input.is_zip() || input.is_tar()
}

/// Reads all files of an archive. Globs match `path` followed by the path within the archive.
pub(crate) fn read(input: Input, path: &Path, collector: &mut Collector<'_>) -> Result<(), Error> {
    if input.is_zip() { read_zip(input, path, collector) } else { read_tar(input, path, collector) }
}

const DAMAGED: &str = "cannot read the archive";

/// Files that identify an archive as an Office document or an e-book.
const OFFICE_FILES: [&str; 2] = ["[Content_Types].xml", "mimetype"];

/// A file of an archive: its compressed range, and its length and checksum.
struct ZipEntry {
    name: String,
    start: u64,
    end: u64,
    method: CompressionMethod,
    is_encrypted: bool,
    crc: u32,
    bytes: u64,
}

fn read_zip(input: Input, path: &Path, collector: &mut Collector<'_>) -> Result<(), Error> {
    collector.expect_several();
    let name = input.name().to_owned();
    let globs = collector.documents.selection.globs(path)?;
    let file = input.into_file()?;
    let damaged = |source| Error::Damaged { place: Place::whole(&name), what: DAMAGED, source };
    let (archive, entries) = entries(file, collector).map_err(|error| damaged(error.into()))?;
    if entries.iter().any(|entry| OFFICE_FILES.contains(&&*entry.name)) {
        let kind = FileKind { name: "an Office document or e-book", sort: FileSort::Document };
        return Err(Error::Document { place: Place::whole(name), problem: Problem::NotRead { kind } });
    }
    collector.refuse_file_form(&name, "an archive")?;
    if entries.windows(2).any(|pair| pair[1].start < pair[0].end) {
        return Err(damaged("its files overlap, so it may hold far more than it says".into()));
    }
    let mut litter = Litter::of(path, collector.documents)?;
    let is_selected = |entry: &&ZipEntry| !globs.matched(path.join(&entry.name), false).is_ignore();
    for entry in entries.iter().filter(is_selected) {
        litter.weigh(&path.join(&entry.name), entry.bytes);
    }
    let mut file_set = FileSet::of(&name, litter);
    let mut entries = entries;
    entries.sort_by(|one, other| one.name.cmp(&other.name));
    for entry in &entries {
        let inner = path.join(&entry.name);
        if !is_selected(&entry) || file_set.is_hidden(&inner) {
            continue;
        }
        let opened = open_zipped(&archive, entry, format!("{name}/{}", entry.name), &inner);
        file_set.read_member(&inner, opened, collector)?;
    }
    file_set.finish(collector);
    Ok(())
}

type Zip = Arc<FileReader>;

/// Returns the files of the archive, in the order of their positions. Links are ignored.
fn entries(file: File, collector: &mut Collector<'_>) -> Result<(Zip, Vec<ZipEntry>), rawzip::Error> {
    let mut buffer = vec![0; rawzip::RECOMMENDED_BUFFER_SIZE];
    let archive = ZipArchive::from_file(file, &mut buffer)?;
    let mut headers = archive.entries(&mut buffer);
    let mut found = Vec::new();
    while let Some(header) = headers.next_entry()? {
        if header.is_dir() {
            continue;
        }
        if header.mode().is_symlink() {
            collector.ignore();
            continue;
        }
        let entry = archive.get_entry(header.wayfinder())?;
        let (start, end) = entry.compressed_data_range();
        found.push(ZipEntry {
            name: Names::text_of(header.file_path().as_bytes()).into_owned(),
            start,
            end,
            method: header.compression_method(),
            is_encrypted: header.flags().is_encrypted(),
            crc: header.crc32(),
            bytes: header.uncompressed_size_hint(),
        });
    }
    found.sort_by_key(|entry| (entry.start, entry.end));
    Ok((Arc::new(archive.into_inner()), found))
}

/// Opens a file of the archive.
fn open_zipped(archive: &Zip, entry: &ZipEntry, name: String, path: &Path) -> Result<Input, Error> {
    let refused = |what: &str| Error::Read { input: name.clone(), source: io::Error::other(what.to_owned()) };
    if entry.is_encrypted {
        return Err(refused("it is encrypted; unpack the archive"));
    }
    let packed = BufReader::new(RangeReader::new(Arc::clone(archive), entry.start..entry.end));
    let inner: Box<dyn Read + Send> = match entry.method {
        CompressionMethod::STORE => Box::new(packed),
        CompressionMethod::DEFLATE => Box::new(flate2::bufread::DeflateDecoder::new(packed)),
        CompressionMethod::BZIP2 => Box::new(bzip2::bufread::BzDecoder::new(packed)),
        CompressionMethod::ZSTD => match zstd::Decoder::with_buffer(packed) {
            Ok(decoder) => Box::new(decoder),
            Err(source) => return Err(Error::Read { input: name, source }),
        },
        _ => return Err(refused("its compression method is not supported; unpack the archive")),
    };
    let checked = Checked { inner, crc: crc32fast::Hasher::new(), expected: entry.crc, left: entry.bytes };
    Input::of(name, path, Box::new(checked))
}

/// A reader that checks the length and the checksum of a file at its end.
struct Checked<R> {
    inner: R,
    crc: crc32fast::Hasher,
    expected: u32,
    /// Bytes not read yet.
    left: u64,
}

impl<R: Read> Read for Checked<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        self.crc.update(&buffer[..count]);
        let damaged = |what| Err(io::Error::new(io::ErrorKind::InvalidData, what));
        match self.left.checked_sub(count as u64) {
            None => damaged("it is longer than the archive says"),
            Some(left) if count == 0 && !buffer.is_empty() && left > 0 => {
                damaged("it is shorter than the archive says")
            }
            Some(0) if count == 0 && !buffer.is_empty() && self.crc.clone().finalize() != self.expected => {
                damaged("its checksum is wrong")
            }
            Some(left) => {
                self.left = left;
                Ok(count)
            }
        }
    }
}

/// The most bytes of the headers between two files: names and attributes, which are kept in memory, and padding.
const MAX_HEADER_BYTES: u64 = 16 << 20;

/// Bytes of a file in memory; a longer one goes through a temporary file.
const MAX_FILE_BYTES: usize = 4 << 20;

/// Zero bytes at the end of an archive that is whole.
const END_BYTES: u64 = 512;

fn read_tar(input: Input, path: &Path, collector: &mut Collector<'_>) -> Result<(), Error> {
    collector.expect_several();
    let name = input.name().to_owned();
    collector.refuse_file_form(&name, "an archive")?;
    let globs = collector.documents.selection.globs(path)?;
    // Read once from its start, so that no file tells in advance whether it is one of tables.
    let mut file_set = FileSet::of(&name, Litter::of(path, collector.documents)?);
    let damaged = |source: io::Error| Error::Damaged {
        place: Place::whole(&name),
        what: DAMAGED,
        source: source.into(),
    };
    let meter = Rc::new(Meter::default());
    let mut archive = Archive::new(MeteredReader { inner: input, meter: Rc::clone(&meter) });
    // Archives can follow each other; and whatever follows the last one is read to its end.
    archive.set_ignore_zeros(true);
    let mut entries = archive.entries().map_err(damaged)?;
    let mut unread = 0;
    loop {
        meter.allow(MAX_HEADER_BYTES.saturating_add(unread));
        let Some(entry) = entries.next() else { break };
        let mut entry = entry.map_err(damaged)?;
        meter.allow(u64::MAX);
        unread = entry.header().entry_size().map_err(damaged)?.max(entry.size());
        match entry.header().entry_type() {
            EntryType::Regular | EntryType::Continuous => {}
            EntryType::Directory => continue,
            // Links, whose targets are in the archive under another name, and devices; and files with holes.
            _ => {
                collector.ignore();
                continue;
            }
        }
        let inner = Names::text_of(&entry.path_bytes()).into_owned();
        let inner = inner.trim_start_matches("./").trim_start_matches('/');
        let whole = path.join(inner);
        if globs.matched(&whole, false).is_ignore() || file_set.is_hidden(&whole) {
            continue;
        }
        let bytes = entry.size();
        let directory = collector.temp_dir();
        let mut file = tempfile::spooled_tempfile_in(MAX_FILE_BYTES, &directory);
        if spool(&mut entry, &mut file, &directory, damaged, |_| {})? != bytes {
            return Err(damaged(io::Error::other(format!("it ends within {inner}"))));
        }
        unread = 0;
        let opened = Input::of(format!("{name}/{inner}"), &whole, Box::new(file));
        file_set.read_member(&whole, opened, collector)?;
    }
    if meter.zeros.get() < END_BYTES {
        return Err(damaged(io::Error::other("it has no end, so it may be cut off")));
    }
    file_set.finish(collector);
    Ok(())
}

/// Bytes that may still be read, and the zero bytes at the end of the bytes read.
#[derive(Default)]
struct Meter {
    left: Cell<u64>,
    zeros: Cell<u64>,
}

impl Meter {
    fn allow(&self, bytes: u64) {
        self.left.set(bytes);
    }
}

/// A reader that fails when it has read what it may.
struct MeteredReader<R> {
    inner: R,
    meter: Rc<Meter>,
}

impl<R: Read> Read for MeteredReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        let Meter { left, zeros } = &*self.meter;
        match left.get().checked_sub(count as u64) {
            Some(rest) => left.set(rest),
            None => return Err(io::Error::other("the headers of a file are too long")),
        }
        let tail = buffer[..count].iter().rev().take_while(|&&byte| byte == 0).count();
        zeros.set(if tail == count { zeros.get() + tail as u64 } else { tail as u64 });
        Ok(count)
    }
}
