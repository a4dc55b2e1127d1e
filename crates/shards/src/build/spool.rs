//! Records on their way to a shard: in memory while they fit, then in a temporary file.
//!
//! ```text
//! 8   the id, where there are ids
//! W   the fingerprint, 8 or 16 bytes
//! 4   the length of the name, where there are names
//! …   the name
//! ```
//!
//! All numbers are little-endian. They never leave the process.

use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom, Write};
use std::marker::PhantomData;
use std::path::{Path, PathBuf};

use hamdex::Fingerprint;

use crate::error::Error;

/// Bytes read at once.
const READ_BYTES: usize = 1 << 18;

/// A record: the id is 0 where there are none, the name empty.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Record<'n, F> {
    pub(super) fingerprint: F,
    pub(super) id: u64,
    pub(super) name: &'n [u8],
}

/// What records have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Shape {
    pub(super) ids: bool,
    pub(super) names: bool,
}

/// Records in the order in which they were pushed.
#[derive(Debug)]
pub(super) struct Spool<F> {
    shape: Shape,
    directory: PathBuf,
    /// Bytes to keep in memory.
    room: usize,
    /// Those that came last.
    recent: Vec<u8>,
    /// Those before, once there were too many.
    file: Option<File>,
    count: u64,
    width: PhantomData<F>,
}

impl<F: Fingerprint> Spool<F> {
    /// None so far. With more than `room` bytes, they go to a temporary file in `directory`.
    pub(super) fn new(shape: Shape, room: usize, directory: &Path) -> Self {
        let (directory, recent) = (directory.to_owned(), Vec::new());
        Self { shape, directory, room, recent, file: None, count: 0, width: PhantomData }
    }

    /// None so far, of the same shape, with the room of these shared by so many.
    pub(super) fn shared_by(&self, parts: usize) -> Self {
        Self::new(self.shape, self.room / parts, &self.directory)
    }

    pub(super) fn push(&mut self, record: Record<'_, F>) -> Result<(), Error> {
        if self.shape.ids {
            self.recent.extend_from_slice(&record.id.to_le_bytes());
        }
        self.recent.extend_from_slice(&record.fingerprint.to_u128().to_le_bytes()[..F::BYTES]);
        if self.shape.names {
            let length = u32::try_from(record.name.len()).map_err(|_| too_long(record.id))?;
            self.recent.extend_from_slice(&length.to_le_bytes());
            self.recent.extend_from_slice(record.name);
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

    /// Calls `take` with all records, in their order.
    pub(super) fn for_each(
        &mut self,
        take: &mut dyn FnMut(Record<'_, F>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let failed = |error| Error::io("read a temporary file in it", &self.directory)(error);
        let mut left = self.count;
        let mut name = Vec::new();
        if let Some(file) = &mut self.file {
            let written = file.stream_position().map_err(failed)?;
            file.seek(SeekFrom::Start(0)).map_err(failed)?;
            let mut reader = BufReader::with_capacity(READ_BYTES, &*file).take(written);
            while reader.limit() > 0 {
                let (fingerprint, id) = read(&mut reader, self.shape, &mut name).map_err(failed)?;
                take(Record { fingerprint, id, name: &name })?;
                left -= 1;
            }
            // What comes next is appended.
            file.seek(SeekFrom::Start(written)).map_err(failed)?;
        }
        let mut rest = self.recent.as_slice();
        while !rest.is_empty() {
            let (fingerprint, id) = read(&mut rest, self.shape, &mut name).map_err(failed)?;
            take(Record { fingerprint, id, name: &name })?;
            left -= 1;
        }
        debug_assert_eq!(left, 0);
        Ok(())
    }
}

#[cold]
fn too_long(id: u64) -> Error {
    hamdex::BuildError::Names(format!("the name of id {id} has more than 4 GiB")).into()
}

/// Reads a record, and its name into `name`.
fn read<F: Fingerprint>(reader: &mut impl Read, shape: Shape, name: &mut Vec<u8>) -> io::Result<(F, u64)> {
    let mut id = [0; 8];
    if shape.ids {
        reader.read_exact(&mut id)?;
    }
    let mut bits = [0; 16];
    reader.read_exact(&mut bits[..F::BYTES])?;
    name.clear();
    if shape.names {
        let mut length = [0; 4];
        reader.read_exact(&mut length)?;
        name.resize(u32::from_le_bytes(length) as usize, 0);
        reader.read_exact(name)?;
    }
    Ok((F::truncate(u128::from_le_bytes(bits)), u64::from_le_bytes(id)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_come_back_in_their_order_as_often_as_asked() {
        fn check<F: Fingerprint>(shape: Shape, room: usize) {
            let directory = tempfile::tempdir().unwrap();
            let mut records = Spool::<F>::new(shape, room, directory.path());
            let record = |number: u64| {
                let id = if shape.ids { number * 7 } else { 0 };
                let name = if shape.names { vec![b'x'; number as usize % 5] } else { Vec::new() };
                (F::truncate(u128::MAX / u128::from(number + 1)), id, name)
            };
            for round in 1..=3u64 {
                for number in (round - 1) * 100..round * 100 {
                    let (fingerprint, id, name) = record(number);
                    records.push(Record { fingerprint, id, name: &name }).unwrap();
                }
                let mut number = 0;
                let mut take = |found: Record<'_, F>| {
                    assert_eq!((found.fingerprint, found.id, found.name.to_vec()), record(number));
                    number += 1;
                    Ok(())
                };
                records.for_each(&mut take).unwrap();
                assert_eq!(number, round * 100);
            }
            assert_eq!(directory.path().read_dir().unwrap().count(), 0, "it has no name");
        }
        for room in [0, 1, 100, 1 << 20] {
            for (ids, names) in [(false, false), (true, false), (true, true)] {
                check::<u64>(Shape { ids, names }, room);
                check::<u128>(Shape { ids, names }, room);
            }
        }
    }
}
