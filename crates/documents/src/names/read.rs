//! Reading names, one by one.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use hamdex::{Engine, FileId, Fingerprint, Index};

use crate::error::Error;
use crate::names::layout::{
    CRC_BYTES, END_BYTES, HEADER_BYTES, MAGIC, MAX_NAME_BYTES, NAMES_KEY, NAMES_VERSION, VERSION, checksum,
    names_path,
};

/// The offset of the ends of the records.
const ENDS_AT: u64 = HEADER_BYTES as u64 + CRC_BYTES;

/// The names of the documents of an index, read one by one from the file beside it.
#[derive(Debug)]
pub struct Names {
    path: PathBuf,
    file: File,
    file_id: FileId,
    count: u64,
    /// The bytes of all records: names and checksums.
    records_bytes: u64,
}

impl Names {
    /// Opens the names of an index. Returns `None` if its ids are not numbers of names.
    ///
    /// # Errors
    /// [`Error::NamesMissing`] when there is no file of names; [`Error::Names`] when the file is damaged, of
    /// another version, or belongs to another index. The index is usable without names: its ids are numbers.
    pub fn of<F: Fingerprint>(path: &Path, index: &Index<F>) -> Result<Option<Self>, Error> {
        let version = index.metadata().get(NAMES_KEY).filter(|_| index.has_ids());
        let Some(version) = version else { return Ok(None) };
        if version != NAMES_VERSION.as_bytes() {
            let version = String::from_utf8_lossy(version).into_owned();
            return Err(Error::Names {
                path: names_path(path),
                what: format!(
                    "the index has names of version {version:?}; this build reads version {NAMES_VERSION}"
                ),
            });
        }
        Self::open(path, index.file_id()).map(Some)
    }

    fn open(index: &Path, file_id: FileId) -> Result<Self, Error> {
        let path = names_path(index);
        let mut file = File::open(&path).map_err(|source| match source.kind() {
            io::ErrorKind::NotFound => Error::NamesMissing { path: path.clone(), source },
            _ => unreadable(&path)(source),
        })?;
        let damaged = |what: &str| Error::Names { path: path.clone(), what: what.to_owned() };
        let mut header = [0; ENDS_AT as usize];
        file.read_exact(&mut header).map_err(|error| match error.kind() {
            io::ErrorKind::UnexpectedEof => damaged("it is too short"),
            _ => unreadable(&path)(error),
        })?;
        let (header, crc) = header.split_at(HEADER_BYTES);
        if !header.starts_with(MAGIC) {
            return Err(damaged("it is not a file of names"));
        }
        if crc32fast::hash(header).to_le_bytes() != crc {
            return Err(damaged("its checksum does not match"));
        }
        if header[8..12] != VERSION.to_le_bytes() {
            return Err(damaged("it has another version"));
        }
        if header[12..16] != [0; 4] {
            return Err(damaged("its reserved bytes are not zero"));
        }
        if header[16..32] != file_id.to_bytes() {
            return Err(damaged("it belongs to another index"));
        }
        let [count, bytes] = [32, 40].map(|at| number(&header[at..at + 8]));
        let expected = count
            .checked_mul(END_BYTES + CRC_BYTES)
            .and_then(|fixed| fixed.checked_add(bytes)?.checked_add(ENDS_AT));
        let length = file.metadata().map_err(unreadable(&path))?.len();
        if expected != Some(length) {
            return Err(damaged("it is truncated or longer than it should be"));
        }
        Ok(Self { path, file, file_id, count, records_bytes: bytes + count * CRC_BYTES })
    }

    /// Returns the number of names.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Returns the path of the file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the name of the document with this number.
    ///
    /// # Errors
    /// When there is none, or the name is damaged or cannot be read.
    pub fn get(&mut self, number: u64) -> Result<String, Error> {
        if number >= self.count {
            return Err(self.damaged(number));
        }
        let (start, end) = self.bounds(number)?;
        let length = end.checked_sub(start).filter(|length| {
            end <= self.records_bytes && (CRC_BYTES..=MAX_NAME_BYTES + CRC_BYTES).contains(length)
        });
        let length = length.ok_or_else(|| self.damaged(number))?;
        let at = ENDS_AT + self.count * END_BYTES + start;
        let mut record = vec![0; length as usize];
        self.read_at(at, &mut record)?;
        let (name, crc) = record.split_at(record.len() - CRC_BYTES as usize);
        if checksum(self.file_id, number, name).to_le_bytes() != crc {
            return Err(self.damaged(number));
        }
        String::from_utf8(name.to_vec()).map_err(|_| self.damaged(number))
    }

    /// Reads every name, and checks that the records fill the file and that every id of the index has a name;
    /// returns the number of names.
    ///
    /// # Errors
    /// When a name is damaged, missing or cannot be read, or the index cannot be read.
    pub fn verify<F: Engine>(&mut self, index: &Index<F>) -> Result<u64, Error> {
        let count = self.verify_names()?;
        for fingerprint in index.fingerprints() {
            if let Some(id) = F::ids(index, fingerprint?)?.find(|&id| id >= count) {
                let what = format!("it has {count} names, and the index has the id {id}");
                return Err(Error::Names { path: self.path.clone(), what });
            }
        }
        Ok(count)
    }

    fn verify_names(&mut self) -> Result<u64, Error> {
        (0..self.count).try_for_each(|number| self.get(number).map(drop))?;
        let end = if self.count == 0 { 0 } else { self.bounds(self.count - 1)?.1 };
        if end != self.records_bytes {
            return Err(Error::Names {
                path: self.path.clone(),
                what: "its names do not fill it".to_owned(),
            });
        }
        Ok(self.count)
    }

    /// Returns the start and the end of a name's record, counted from the start of the first record.
    fn bounds(&mut self, number: u64) -> Result<(u64, u64), Error> {
        let mut bounds = [0; 2 * END_BYTES as usize];
        if number == 0 {
            // The first record starts at 0, which is not stored.
            self.read_at(ENDS_AT, &mut bounds[END_BYTES as usize..])?;
        } else {
            self.read_at(ENDS_AT + (number - 1) * END_BYTES, &mut bounds)?;
        }
        let (start, end) = bounds.split_at(END_BYTES as usize);
        Ok((self::number(start), self::number(end)))
    }

    fn damaged(&self, number: u64) -> Error {
        Error::Names { path: self.path.clone(), what: format!("name {number} is damaged") }
    }

    fn read_at(&mut self, at: u64, bytes: &mut [u8]) -> Result<(), Error> {
        let mut read = || {
            self.file.seek(SeekFrom::Start(at))?;
            self.file.read_exact(bytes)
        };
        read().map_err(unreadable(&self.path))
    }
}

fn number(bytes: &[u8]) -> u64 {
    u64::from_le_bytes(bytes.try_into().expect("8 bytes"))
}

fn unreadable(path: &Path) -> impl FnOnce(io::Error) -> Error + use<> {
    let input = path.display().to_string();
    move |source| Error::Read { input, source }
}

#[cfg(test)]
mod tests {
    use hamdex_atomic_file::AtomicFile;

    use super::*;
    use crate::names::write::NamesWriter;

    const ID: [u8; 16] = *b"0123456789abcdef";

    fn written() -> (tempfile::TempDir, PathBuf) {
        let directory = tempfile::tempdir().unwrap();
        let index = directory.path().join("a.hamdex");
        let mut names = NamesWriter::new(directory.path()).unwrap();
        for (number, name) in (0..).zip(["one", "", "twó"]) {
            assert_eq!(names.push(name).unwrap(), number);
        }
        let output = AtomicFile::options().create(names_path(&index)).unwrap();
        names.finish(output, ID.into()).unwrap();
        (directory, index)
    }

    #[test]
    fn names_are_read_back() {
        let (_directory, index) = written();
        let mut names = Names::open(&index, ID.into()).unwrap();
        assert_eq!([2, 0, 1].map(|number| names.get(number).unwrap()), ["twó", "one", ""]);
        assert!(names.get(3).is_err());
        assert_eq!(names.verify_names().unwrap(), 3);
    }

    #[test]
    fn any_changed_byte_and_any_other_index_is_detected() {
        let (_directory, index) = written();
        let path = names_path(&index);
        let whole = std::fs::read(&path).unwrap();
        assert!(matches!(Names::open(&index, (*b"another index id").into()), Err(Error::Names { .. })));
        for at in 0..whole.len() {
            let mut bytes = whole.clone();
            bytes[at] ^= 4;
            std::fs::write(&path, bytes).unwrap();
            let all = Names::open(&index, ID.into())
                .and_then(|mut names| (0..3).map(|number| names.get(number)).collect::<Result<Vec<_>, _>>());
            assert!(matches!(all, Err(Error::Names { .. })), "byte {at}: {all:?}");
        }
        std::fs::write(&path, &whole[..whole.len() - 1]).unwrap();
        assert!(matches!(Names::open(&index, ID.into()), Err(Error::Names { .. })));
        std::fs::remove_file(&path).unwrap();
        assert!(matches!(Names::open(&index, ID.into()), Err(Error::NamesMissing { .. })));
    }
}
