//! Records spooled for a shard: in memory while they fit, then in a temporary file.
//!
//! ```text
//! 8   the id, where there are ids
//! W   the fingerprint, 8 or 16 bytes
//! 4   the length of the name, where there are names
//! …   the name
//! 4   the length of the encoded shingles, where there are shingles
//! …   the shingles
//! ```
//!
//! All numbers are little-endian. The format is private to the process.

use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom, Write};
use std::marker::PhantomData;
use std::path::{Path, PathBuf};

use hamdex::Fingerprint;

use crate::error::Error;

/// Bytes read at once.
const READ_BYTES: usize = 1 << 18;

/// A record. Without ids, the id is 0; without names, the name is empty, and so are the shingles.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Record<'n, F> {
    pub(super) fingerprint: F,
    pub(super) id: u64,
    pub(super) name: &'n [u8],
    /// As [`hamdex::shingles::encode`] returns them.
    pub(super) shingles: &'n [u8],
}

/// The optional fields of records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Fields {
    pub(super) ids: bool,
    pub(super) names: bool,
    pub(super) shingles: bool,
}

/// Records in the order in which they were pushed.
#[derive(Debug)]
pub(super) struct Spool<F> {
    fields: Fields,
    directory: PathBuf,
    /// Capacity of memory, in bytes.
    room: usize,
    /// The latest records, in memory.
    recent: Vec<u8>,
    /// The earlier records, in an anonymous temporary file.
    file: Option<File>,
    count: u64,
    width: PhantomData<F>,
}

impl<F: Fingerprint> Spool<F> {
    /// Creates an empty spool. Beyond `room` bytes, records go to a temporary file in `directory`.
    pub(super) fn new(fields: Fields, room: usize, directory: &Path) -> Self {
        let (directory, recent) = (directory.to_owned(), Vec::new());
        Self { fields, directory, room, recent, file: None, count: 0, width: PhantomData }
    }

    /// Creates an empty spool of the same fields with a part of the memory.
    pub(super) fn shared_by(&self, parts: usize) -> Self {
        Self::new(self.fields, self.room / parts, &self.directory)
    }

    pub(super) fn push(&mut self, record: Record<'_, F>) -> Result<(), Error> {
        if self.fields.ids {
            self.recent.extend_from_slice(&record.id.to_le_bytes());
        }
        self.recent.extend_from_slice(&record.fingerprint.to_u128().to_le_bytes()[..F::BYTES]);
        for (_, bytes) in [(self.fields.names, record.name), (self.fields.shingles, record.shingles)]
            .into_iter()
            .filter(|(has_field, _)| *has_field)
        {
            let length = u32::try_from(bytes.len()).map_err(|_| Error::NameTooLong { id: record.id })?;
            self.recent.extend_from_slice(&length.to_le_bytes());
            self.recent.extend_from_slice(bytes);
        }
        self.count += 1;
        if self.recent.len() > self.room { self.spill() } else { Ok(()) }
    }

    #[cold]
    fn spill(&mut self) -> Result<(), Error> {
        let failed = |error| Error::io("write a temporary file to it", &self.directory)(error);
        let file = match &mut self.file {
            Some(file) => file,
            none => none.insert(tempfile::tempfile_in(&self.directory).map_err(failed)?),
        };
        file.write_all(&self.recent).map_err(failed)?;
        self.recent.clear();
        Ok(())
    }

    /// Calls `take` with all records, in order.
    pub(super) fn for_each(
        &mut self,
        take: &mut dyn FnMut(Record<'_, F>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let failed = |error| Error::io("read a temporary file in it", &self.directory)(error);
        let mut left = self.count;
        let (mut name, mut shingles) = (Vec::new(), Vec::new());
        if let Some(file) = &mut self.file {
            let written = file.stream_position().map_err(failed)?;
            file.seek(SeekFrom::Start(0)).map_err(failed)?;
            let mut reader = BufReader::with_capacity(READ_BYTES, &*file).take(written);
            while reader.limit() > 0 {
                let (fingerprint, id) =
                    read(&mut reader, self.fields, [&mut name, &mut shingles]).map_err(failed)?;
                take(Record { fingerprint, id, name: &name, shingles: &shingles })?;
                left -= 1;
            }
            // Later records are appended.
            file.seek(SeekFrom::Start(written)).map_err(failed)?;
        }
        let mut rest = self.recent.as_slice();
        while !rest.is_empty() {
            let (fingerprint, id) =
                read(&mut rest, self.fields, [&mut name, &mut shingles]).map_err(failed)?;
            take(Record { fingerprint, id, name: &name, shingles: &shingles })?;
            left -= 1;
        }
        debug_assert_eq!(left, 0);
        Ok(())
    }
}

/// Reads a record; its name and shingles into these.
fn read<F: Fingerprint>(
    reader: &mut impl Read,
    fields: Fields,
    [name, shingles]: [&mut Vec<u8>; 2],
) -> io::Result<(F, u64)> {
    let mut id = [0; 8];
    if fields.ids {
        reader.read_exact(&mut id)?;
    }
    let mut bits = [0; 16];
    reader.read_exact(&mut bits[..F::BYTES])?;
    for (has_field, bytes) in [(fields.names, name), (fields.shingles, shingles)] {
        bytes.clear();
        if has_field {
            let mut length = [0; 4];
            reader.read_exact(&mut length)?;
            bytes.resize(u32::from_le_bytes(length) as usize, 0);
            reader.read_exact(bytes)?;
        }
    }
    Ok((F::truncate(u128::from_le_bytes(bits)), u64::from_le_bytes(id)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_are_read_in_order_any_number_of_times() {
        fn check<F: Fingerprint>(fields: Fields, room: usize) {
            let directory = tempfile::tempdir().unwrap();
            let mut records = Spool::<F>::new(fields, room, directory.path());
            let record = |number: u64| {
                let id = if fields.ids { number * 7 } else { 0 };
                let bytes = |has_field, length| vec![b'x'; if has_field { length } else { 0 }];
                let name = bytes(fields.names, number as usize % 5);
                let shingles = bytes(fields.shingles, number as usize % 7);
                (F::truncate(u128::MAX / u128::from(number + 1)), id, name, shingles)
            };
            for round in 1..=3u64 {
                for number in (round - 1) * 100..round * 100 {
                    let (fingerprint, id, name, shingles) = record(number);
                    records.push(Record { fingerprint, id, name: &name, shingles: &shingles }).unwrap();
                }
                let mut number = 0;
                let mut take = |found: Record<'_, F>| {
                    let Record { fingerprint, id, name, shingles } = found;
                    assert_eq!((fingerprint, id, name.to_vec(), shingles.to_vec()), record(number));
                    number += 1;
                    Ok(())
                };
                records.for_each(&mut take).unwrap();
                assert_eq!(number, round * 100);
            }
            assert_eq!(directory.path().read_dir().unwrap().count(), 0, "it has no name");
        }
        for room in [0, 1, 100, 1 << 20] {
            for (ids, names, shingles) in [
                (false, false, false),
                (true, false, false),
                (true, true, false),
                (true, false, true),
                (true, true, true),
            ] {
                check::<u64>(Fields { ids, names, shingles }, room);
                check::<u128>(Fields { ids, names, shingles }, room);
            }
        }
    }
}
