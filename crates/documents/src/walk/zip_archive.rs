//! The files of a zip archive, in the order of their names.

use hamdex::Names;
use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::Path;
use std::sync::Arc;

use rawzip::{CompressionMethod, FileReader, RangeReader, ZipArchive};

use crate::error::Error;
use crate::format::signatures::{FileKind, FileSort};
use crate::input::Input;
use crate::problem::{Place, Problem};
use crate::read::collector::Collector;
use crate::walk::file_set::FileSet;
use crate::walk::litter::Litter;
use crate::walk::selection::globs;

/// Files that identify an archive as an Office document or an e-book.
const OFFICE_FILES: [&str; 2] = ["[Content_Types].xml", "mimetype"];

/// A file of an archive: its compressed range, and its length and checksum.
struct Entry {
    name: String,
    start: u64,
    end: u64,
    method: CompressionMethod,
    is_encrypted: bool,
    crc: u32,
    bytes: u64,
}

/// Reads all files of an archive. Globs match `path` followed by the path within the archive.
pub(crate) fn read(input: Input, path: &Path, collector: &mut Collector<'_>) -> Result<(), Error> {
    collector.expect_several();
    let name = input.name().to_owned();
    let globs = globs(&collector.documents.selection, path)?;
    let file = input.into_file()?;
    let damaged = |error: rawzip::Error| Error::NotArchive { input: name.clone(), source: Box::new(error) };
    let (archive, entries) = entries(file, collector).map_err(damaged)?;
    if entries.iter().any(|entry| OFFICE_FILES.contains(&&*entry.name)) {
        let kind = FileKind { name: "an Office document or e-book", sort: FileSort::Document };
        return Err(Error::Document { place: Place::whole(name), problem: Problem::NotRead { kind } });
    }
    collector.refuse_file_form(&name, "an archive")?;
    if entries.windows(2).any(|pair| pair[1].start < pair[0].end) {
        let source = "its files overlap, so it may hold far more than it says".into();
        return Err(Error::NotArchive { input: name, source });
    }
    let mut litter = Litter::of(path, collector.documents)?;
    let is_selected = |entry: &&Entry| !globs.matched(path.join(&entry.name), false).is_ignore();
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
        let opened = open(&archive, entry, format!("{name}/{}", entry.name), &inner);
        file_set.read_member(&inner, opened, collector)?;
    }
    file_set.finish(collector);
    Ok(())
}

type Archive = Arc<FileReader>;

/// Returns the files of the archive, in the order of their positions. Links are ignored.
fn entries(file: File, collector: &mut Collector<'_>) -> Result<(Archive, Vec<Entry>), rawzip::Error> {
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
        found.push(Entry {
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
fn open(archive: &Archive, entry: &Entry, name: String, path: &Path) -> Result<Input, Error> {
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
