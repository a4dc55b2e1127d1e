//! The names of documents, in a file beside their index: `news.hamdex.ids` beside `news.hamdex`.
//!
//! The index holds numbers: those of the documents that have a fingerprint, from 0 on in the order of the
//! input; this file, what they are called. Little-endian:
//!
//! ```text
//! 8   magic: 89 "HDXID" 0D 0A
//! 4   version: 1
//! 4   zero
//! 16  the file id of the index
//! 8   n, how many names
//! 8   bytes of all names
//! 8   for each of the n names, where its record ends, counted from the first record on
//! 4   CRC-32 of all above but the ends
//! …   a record for each name: its UTF-8 bytes, then the CRC-32 of file id, number (8 bytes), name
//! ```
//!
//! A name is found by two short reads, and its own checksum tells damage and the names of another
//! index apart; nothing is kept in memory.

use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use hamdex::{Fingerprint, Index};
use hamdex_atomic_file::AtomicFile;

use crate::failure::Failure;

/// The name under which an index says, in its metadata, that its ids are numbers of names.
pub(crate) const NAMES_KEY: &str = "hamdex.names";

/// What it says: the version of the file beside it.
pub(crate) const NAMES_VERSION: &str = "1";

const MAGIC: &[u8; 8] = b"\x89HDXID\r\n";
const VERSION: u32 = 1;
/// All before the ends but the checksum.
const HEADER_BYTES: usize = 48;
const CRC_BYTES: u64 = 4;
/// No name is longer: a document's whole line is not.
const MOST_NAME_BYTES: u64 = 1 << 30;

/// Where the names of an index are.
pub(crate) fn path_beside(index: &Path) -> PathBuf {
    let mut path = index.as_os_str().to_owned();
    path.push(".ids");
    path.into()
}

/// Names on their way to a file: their index must be known before they can be written.
pub(crate) struct Collected {
    spool: BufWriter<File>,
    directory: PathBuf,
    count: u64,
    bytes: u64,
}

impl Collected {
    /// Keeps names in a nameless file in `directory`.
    pub(crate) fn new(directory: &Path) -> Result<Self, Failure> {
        let spool = tempfile::tempfile_in(directory).map_err(failed(directory, "make a file in it"))?;
        Ok(Self { spool: BufWriter::new(spool), directory: directory.to_owned(), count: 0, bytes: 0 })
    }

    /// Adds a name; tells its number.
    pub(crate) fn push(&mut self, name: &str) -> Result<u64, Failure> {
        let write = |spool: &mut BufWriter<File>| {
            spool.write_all(&(name.len() as u64).to_le_bytes())?;
            spool.write_all(name.as_bytes())
        };
        write(&mut self.spool).map_err(failed(&self.directory, "write to a file in it"))?;
        self.count += 1;
        self.bytes += name.len() as u64;
        Ok(self.count - 1)
    }

    /// Writes the file beside the index with this id.
    pub(crate) fn finish(self, mut output: AtomicFile, file_id: &[u8; 16]) -> Result<(), Failure> {
        let in_spool = failed(&self.directory, "read a file in it");
        let mut spool = self.spool.into_inner().map_err(|error| in_spool(error.into_error()))?;
        write(&mut spool, &mut output, file_id, self.count, self.bytes).map_err(output.failed())?;
        Ok(output.finish()?)
    }
}

fn write(
    spool: &mut File,
    output: &mut impl Write,
    file_id: &[u8; 16],
    count: u64,
    bytes: u64,
) -> io::Result<()> {
    let mut header = Vec::with_capacity(HEADER_BYTES);
    header.extend(MAGIC);
    header.extend(VERSION.to_le_bytes());
    header.extend([0; 4]);
    header.extend(file_id);
    header.extend(count.to_le_bytes());
    header.extend(bytes.to_le_bytes());
    output.write_all(&header)?;
    output.write_all(&crc32fast::hash(&header).to_le_bytes())?;
    let mut end = 0u64;
    each(spool, count, |_, name| {
        end += name.len() as u64 + CRC_BYTES;
        output.write_all(&end.to_le_bytes())
    })?;
    each(spool, count, |number, name| {
        output.write_all(name)?;
        output.write_all(&checksum(file_id, number, name).to_le_bytes())
    })
}

/// Reads the spool from its start.
fn each(spool: &mut File, count: u64, mut visit: impl FnMut(u64, &[u8]) -> io::Result<()>) -> io::Result<()> {
    spool.seek(SeekFrom::Start(0))?;
    let mut reader = BufReader::new(spool);
    let mut name = Vec::new();
    for number in 0..count {
        let mut length = [0; 8];
        reader.read_exact(&mut length)?;
        name.resize(u64::from_le_bytes(length) as usize, 0);
        reader.read_exact(&mut name)?;
        visit(number, &name)?;
    }
    Ok(())
}

fn checksum(file_id: &[u8; 16], number: u64, name: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(file_id);
    hasher.update(&number.to_le_bytes());
    hasher.update(name);
    hasher.finalize()
}

/// The names beside an index, read one by one.
pub(crate) struct Names {
    path: PathBuf,
    file: File,
    file_id: [u8; 16],
    count: u64,
}

impl Names {
    /// The names of an index, if its ids stand for names.
    pub(crate) fn of<F: Fingerprint>(path: &Path, index: &Index<F>) -> Result<Option<Self>, Failure> {
        let has_names = index.metadata().contains_key(NAMES_KEY);
        has_names.then(|| Self::open(path, &index.stats().file_id)).transpose()
    }

    fn open(index: &Path, file_id: &[u8; 16]) -> Result<Self, Failure> {
        let path = path_beside(index);
        let mut file = File::open(&path).map_err(|source| Failure::Io {
            doing: "read the names of the documents in it",
            path: path.clone(),
            source,
        })?;
        let damaged = |what: &str| Failure::Names { path: path.clone(), what: what.to_owned() };
        let mut header = [0; HEADER_BYTES + 4];
        file.read_exact(&mut header).map_err(|_| damaged("it is too short"))?;
        let (header, crc) = header.split_at(HEADER_BYTES);
        if !header.starts_with(MAGIC) {
            return Err(damaged("it is no file of names"));
        }
        if crc32fast::hash(header).to_le_bytes() != crc {
            return Err(damaged("its checksum does not match"));
        }
        if header[8..12] != VERSION.to_le_bytes() {
            return Err(damaged("it is of another version"));
        }
        if header[16..32] != *file_id {
            return Err(damaged("it belongs to another index"));
        }
        let count = u64::from_le_bytes(header[32..40].try_into().expect("8 bytes"));
        let bytes = u64::from_le_bytes(header[40..48].try_into().expect("8 bytes"));
        let whole = count
            .checked_mul(8 + CRC_BYTES)
            .and_then(|fixed| fixed.checked_add(bytes)?.checked_add(HEADER_BYTES as u64 + 4));
        let length = file.metadata().map_err(failed(&path, "read it"))?.len();
        if whole != Some(length) {
            return Err(damaged("it is truncated or longer than it should be"));
        }
        Ok(Self { path, file, file_id: *file_id, count })
    }

    /// The name of a document.
    pub(crate) fn get(&mut self, number: u64) -> Result<String, Failure> {
        if number >= self.count {
            return Err(self.damaged(number));
        }
        let ends = HEADER_BYTES as u64 + 4;
        let mut bounds = [0; 16];
        // The first record starts where no end is written.
        let (at, skipped) = if number == 0 { (ends, 8) } else { (ends + (number - 1) * 8, 0) };
        self.read_at(at, &mut bounds[skipped..])?;
        let start = u64::from_le_bytes(bounds[..8].try_into().expect("8 bytes"));
        let end = u64::from_le_bytes(bounds[8..].try_into().expect("8 bytes"));
        let length = end.checked_sub(start).filter(|length| (CRC_BYTES..MOST_NAME_BYTES).contains(length));
        let mut record = vec![0; length.ok_or_else(|| self.damaged(number))? as usize];
        let at = (ends + self.count * 8).checked_add(start).ok_or_else(|| self.damaged(number))?;
        self.read_at(at, &mut record)?;
        let (name, crc) = record.split_at(record.len() - CRC_BYTES as usize);
        if checksum(&self.file_id, number, name).to_le_bytes() != crc {
            return Err(self.damaged(number));
        }
        String::from_utf8(name.to_vec()).map_err(|_| self.damaged(number))
    }

    /// Reads every name.
    pub(crate) fn verify(&mut self) -> Result<u64, Failure> {
        (0..self.count).try_for_each(|number| self.get(number).map(|_| ()))?;
        Ok(self.count)
    }

    fn damaged(&self, number: u64) -> Failure {
        Failure::Names { path: self.path.clone(), what: format!("name {number} is damaged") }
    }

    fn read_at(&mut self, at: u64, bytes: &mut [u8]) -> Result<(), Failure> {
        let mut read = || {
            self.file.seek(SeekFrom::Start(at))?;
            self.file.read_exact(bytes)
        };
        read().map_err(failed(&self.path, "read it"))
    }
}

fn failed(path: &Path, doing: &'static str) -> impl FnOnce(io::Error) -> Failure + use<> {
    let path = path.to_owned();
    move |source| Failure::Io { doing, path, source }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: [u8; 16] = *b"0123456789abcdef";

    fn written() -> (tempfile::TempDir, PathBuf) {
        let directory = tempfile::tempdir().unwrap();
        let index = directory.path().join("a.hamdex");
        let mut names = Collected::new(directory.path()).unwrap();
        for (number, name) in (0..).zip(["one", "", "twó"]) {
            assert_eq!(names.push(name).unwrap(), number);
        }
        names.finish(AtomicFile::options().create(path_beside(&index)).unwrap(), &ID).unwrap();
        (directory, index)
    }

    #[test]
    fn names_are_read_back() {
        let (_directory, index) = written();
        let mut names = Names::open(&index, &ID).unwrap();
        assert_eq!([2, 0, 1].map(|number| names.get(number).unwrap()), ["twó", "one", ""]);
        assert!(names.get(3).is_err());
    }

    #[test]
    fn any_changed_byte_and_any_other_index_is_told() {
        let (_directory, index) = written();
        let path = path_beside(&index);
        let whole = std::fs::read(&path).unwrap();
        assert!(Names::open(&index, b"another index id").is_err());
        for at in 0..whole.len() {
            let mut bytes = whole.clone();
            bytes[at] ^= 4;
            std::fs::write(&path, bytes).unwrap();
            let all = Names::open(&index, &ID)
                .and_then(|mut names| (0..3).map(|number| names.get(number)).collect::<Result<Vec<_>, _>>());
            assert!(all.is_err(), "byte {at}");
        }
        std::fs::write(&path, &whole[..whole.len() - 1]).unwrap();
        assert!(Names::open(&index, &ID).is_err());
    }
}
