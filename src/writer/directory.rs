//! The directory of a column: the ids that have an entry, and the end of each; and the names, a column of these and the
//! bytes of each entry. Both are gathered with the fingerprints of a file.

use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Seek, Write};
use std::path::{Path, PathBuf};

use byteorder::{ByteOrder, LittleEndian};

use crate::digest;
use crate::error::{BuildError, IdColumn};
use crate::format::checksum::UnitKind;
use crate::ids::Packer;
use crate::names::Head;
use crate::progress::{Counter, Phase};
use crate::writer::options::BuildOptions;
use crate::writer::sections::Sections;
use crate::writer::sort::Sorted;
use crate::writer::spill::{Watched, failed, rewind, spool};
use hamdex_fingerprint::Fingerprint;

/// Bytes of a place: the id, and the end of its entry.
const PLACE_BYTES: usize = 16;

/// Bytes gathered before they are written.
const GATHER_BYTES: usize = 1 << 16;

/// The source of a column of a file.
pub(crate) trait ColumnSource: Send {
    /// The column, spooled.
    type Spool;

    /// Returns whether it needs all ids of the file before it returns the column.
    fn wants_ids(&self) -> bool;

    /// Returns the column. `ids` are all ids of the file, if they are wanted.
    fn spool(self: Box<Self>, ids: Option<&Sorted<u64>>) -> Result<Self::Spool, BuildError>;
}

/// The ids of a column, and where the entry of each ends, spooled to a temporary file.
pub(crate) struct DirectorySpool {
    column: IdColumn,
    places: BufWriter<File>,
    count: u64,
    /// The least and the greatest id.
    ids: (u64, u64),
    /// The end of the last entry.
    end: u64,
    temp_dir: PathBuf,
}

impl DirectorySpool {
    /// Nothing so far.
    pub(crate) fn new(column: IdColumn, temp_dir: &Path) -> Result<Self, BuildError> {
        let temp_dir = temp_dir.to_owned();
        Ok(Self { column, places: spool(&temp_dir)?, count: 0, ids: (0, 0), end: 0, temp_dir })
    }

    /// Takes the next id, and the length of its entry.
    pub(crate) fn push(&mut self, id: u64, length: u64) -> Result<(), BuildError> {
        if self.count > 0 && id <= self.ids.1 {
            return Err(BuildError::ColumnUnsorted { column: self.column, id, last: self.ids.1 });
        }
        self.ids = (if self.count == 0 { id } else { self.ids.0 }, id);
        self.count += 1;
        self.end += length;
        let mut place = [0; PLACE_BYTES];
        LittleEndian::write_u64(&mut place, id);
        LittleEndian::write_u64(&mut place[8..], self.end);
        self.places.write_all(&place).map_err(|source| self.failed(source))
    }

    /// Fails if the first or the last id has no entry.
    pub(super) fn check_bounds(&self, ids: Option<(u64, u64)>) -> Result<(), BuildError> {
        let Some((least, greatest)) = ids else { return Ok(()) };
        let has_entry = |id| self.count > 0 && (self.ids.0..=self.ids.1).contains(&id);
        match [least, greatest].into_iter().find(|&id| !has_entry(id)) {
            Some(id) => Err(BuildError::ColumnMissing { column: self.column, id }),
            None => Ok(()),
        }
    }

    /// Returns whether all ids of the file are needed to see that each has an entry.
    pub(super) fn wants_ids(&self) -> bool {
        // If they are consecutive, their bounds suffice.
        self.head().id_bits > 0
    }

    /// Fails if an id has no entry.
    pub(super) fn check_all(&mut self, ids: &Sorted<u64>) -> Result<(), BuildError> {
        let (column, temp_dir) = (self.column, self.temp_dir.clone());
        let reading = |source| failed(&temp_dir, source);
        self.places.flush().map_err(reading)?;
        let mut file = self.places.get_ref();
        file.rewind().map_err(reading)?;
        let mut places = BufReader::with_capacity(GATHER_BYTES, file);
        let mut left = self.count;
        let mut last = None;
        let mut ids = ids.one_by_one()?;
        while let Some(id) = ids.next()? {
            while last < Some(id) && left > 0 {
                last = Some(read_place(&mut places).map_err(reading)?.0);
                left -= 1;
            }
            if last != Some(id) {
                return Err(BuildError::ColumnMissing { column, id });
            }
        }
        Ok(())
    }

    /// Writes the section, and returns the places, to be read again.
    pub(super) fn write<'d>(
        self,
        kind: UnitKind,
        file: &mut Sections<'_>,
        done: &'d Counter,
    ) -> Result<Places<'d>, BuildError> {
        let head = self.head();
        let (count, temp_dir) = (self.count, self.temp_dir);
        let spool = rewind(self.places).map_err(|source| failed(&temp_dir, source))?;
        let mut places = Watched { spool, done };
        let written = file.stream(kind, |put| {
            put(&head.to_bytes())?;
            pack(&mut places, &head, head.id_bits, |id, _| id - head.first, put)?;
            places.spool.rewind()?;
            pack(&mut places, &head, head.end_bits, |_, end| end, put)?;
            places.spool.rewind()
        });
        // If the build was cancelled, that is why reading failed.
        done.check()?;
        written?;
        Ok(Places { places, left: count, temp_dir })
    }

    /// Returns the number of entries.
    pub(crate) fn count(&self) -> u64 {
        self.count
    }

    /// Returns the end of the last entry.
    pub(crate) fn end(&self) -> u64 {
        self.end
    }

    fn head(&self) -> Head {
        Head::new(self.count, self.ids, self.end)
    }

    #[cold]
    pub(super) fn failed(&self, source: io::Error) -> BuildError {
        failed(&self.temp_dir, source)
    }
}

/// The entries of a directory that has been written.
pub(super) struct Places<'d> {
    places: Watched<'d>,
    left: u64,
    temp_dir: PathBuf,
}

impl Places<'_> {
    /// Returns the end of the next entry.
    pub(super) fn next_end(&mut self) -> Result<Option<u64>, BuildError> {
        let Some(left) = self.left.checked_sub(1) else { return Ok(None) };
        self.left = left;
        let read = read_place(&mut self.places).map_err(|source| self.failed(source))?;
        Ok(Some(read.1))
    }

    /// Returns the error of reading a spool. If the build was cancelled, that is why.
    #[cold]
    pub(super) fn failed(&self, source: io::Error) -> BuildError {
        self.places.done.check().map_or_else(BuildError::from, |()| failed(&self.temp_dir, source))
    }
}

fn read_place(places: &mut impl Read) -> io::Result<(u64, u64)> {
    let mut place = [0; PLACE_BYTES];
    places.read_exact(&mut place)?;
    Ok((LittleEndian::read_u64(&place), LittleEndian::read_u64(&place[8..])))
}

/// Packs a number of each place; none if each would take no bits.
fn pack(
    places: &mut impl Read,
    head: &Head,
    bits: u32,
    number: impl Fn(u64, u64) -> u64,
    put: &mut dyn FnMut(&[u8]) -> io::Result<()>,
) -> io::Result<()> {
    if bits == 0 {
        return Ok(());
    }
    let (mut packer, mut packed) = (Packer::default(), Vec::with_capacity(GATHER_BYTES + 8));
    for _ in 0..head.count {
        let (id, end) = read_place(places)?;
        packer.put(number(id, end), bits, &mut packed);
        if packed.len() >= GATHER_BYTES {
            put(&packed)?;
            packed.clear();
        }
    }
    packer.finish(&mut packed);
    put(&packed)
}

/// Takes the number and the bytes of a name; the counter is for cancellation.
pub(super) type Each<'e> = dyn FnMut(u64, &[u8], &Counter) -> Result<(), BuildError> + 'e;

/// The names of a file, spooled to temporary files.
pub(crate) struct NameSpool {
    directory: DirectorySpool,
    values: BufWriter<File>,
    digest: u128,
}

impl NameSpool {
    /// Nothing so far.
    pub(crate) fn new(temp_dir: &Path) -> Result<Self, BuildError> {
        let directory = DirectorySpool::new(IdColumn::Names, temp_dir)?;
        Ok(Self { directory, values: spool(temp_dir)?, digest: 0 })
    }

    /// Takes the name of the next id.
    pub(crate) fn push(&mut self, id: u64, name: &[u8]) -> Result<(), BuildError> {
        self.directory.push(id, name.len() as u64)?;
        self.digest = digest::of_bytes(self.digest.wrapping_add(u128::from(id)), name);
        self.values.write_all(name).map_err(|source| self.directory.failed(source))
    }

    /// Returns a digest of all ids and their names.
    pub(super) fn digest(&self) -> u128 {
        self.digest
    }

    /// Returns the directory.
    pub(super) fn directory(&self) -> &DirectorySpool {
        &self.directory
    }

    /// Writes the sections, then gives the number and the bytes of each name to `each`, if there is one.
    pub(super) fn write<F: Fingerprint>(
        self,
        file: &mut Sections<'_>,
        options: &BuildOptions<F>,
        each: Option<&mut Each<'_>>,
    ) -> Result<(), BuildError> {
        let done = options.counter(Phase::Ids, None)?;
        let spool = rewind(self.values).map_err(|source| self.directory.failed(source))?;
        let mut values = Watched { spool, done: &done };
        let mut places = self.directory.write(UnitKind::NameDirectory, file, &done)?;
        let copied = file.copy(UnitKind::Names, &mut values);
        done.check()?;
        copied?;
        let Some(each) = each else { return Ok(()) };
        values.spool.rewind().map_err(|source| places.failed(source))?;
        let (mut value, mut number, mut start) = (Vec::new(), 0, 0);
        while let Some(end) = places.next_end()? {
            value.resize((end - start) as usize, 0);
            values.read_exact(&mut value).map_err(|source| places.failed(source))?;
            each(number, &value, &done)?;
            (number, start) = (number + 1, end);
        }
        Ok(())
    }
}

/// Names that have been pushed.
impl ColumnSource for NameSpool {
    type Spool = Self;

    fn wants_ids(&self) -> bool {
        self.directory.wants_ids()
    }

    fn spool(mut self: Box<Self>, ids: Option<&Sorted<u64>>) -> Result<Self, BuildError> {
        ids.map_or(Ok(()), |ids| self.directory.check_all(ids))?;
        Ok(*self)
    }
}
