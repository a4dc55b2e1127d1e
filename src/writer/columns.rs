//! Columns: names, and the shingles of documents, one per id. They are gathered with the fingerprints of a file.

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
use crate::writer::spill::{Watched, rewind, spool};
use hamdex_fingerprint::Fingerprint;

/// Bytes of a place: the id, and the end of its name.
const PLACE_BYTES: usize = 16;

/// Bytes gathered before they are written.
const GATHER_BYTES: usize = 1 << 16;

/// Takes the number and the bytes of an entry; the counter is for cancellation.
pub(super) type Each<'e> = dyn FnMut(u64, &[u8], &Counter) -> Result<(), BuildError> + 'e;

/// The source of a column of a file.
pub(crate) trait ColumnSource: Send {
    /// Returns whether it needs all ids of the file before it returns the column.
    fn wants_ids(&self) -> bool;

    /// Returns the column. `ids` are all ids of the file, if they are wanted.
    fn spool(self: Box<Self>, ids: Option<&Sorted<u64>>) -> Result<ColumnSpool, BuildError>;
}

/// The columns of a file.
#[derive(Default)]
pub(crate) struct Columns<'s> {
    pub(crate) names: Option<Box<dyn ColumnSource + 's>>,
    pub(crate) shingles: Option<Box<dyn ColumnSource + 's>>,
}

impl Columns<'_> {
    /// Returns whether a column needs all ids of the file.
    pub(super) fn want_ids(&self) -> bool {
        [&self.names, &self.shingles].into_iter().flatten().any(|column| column.wants_ids())
    }
}

/// A column, spooled to temporary files.
pub(crate) struct ColumnSpool {
    column: IdColumn,
    values: BufWriter<File>,
    places: BufWriter<File>,
    count: u64,
    /// The least and the greatest id.
    ids: (u64, u64),
    /// Bytes of all entries.
    bytes: u64,
    digest: u128,
    temp_dir: PathBuf,
}

impl ColumnSpool {
    /// Nothing so far.
    pub(crate) fn new(column: IdColumn, temp_dir: &Path) -> Result<Self, BuildError> {
        Ok(Self {
            column,
            values: spool(temp_dir)?,
            places: spool(temp_dir)?,
            count: 0,
            ids: (0, 0),
            bytes: 0,
            digest: 0,
            temp_dir: temp_dir.to_owned(),
        })
    }

    /// Takes the bytes of the next id.
    pub(crate) fn push(&mut self, id: u64, value: &[u8]) -> Result<(), BuildError> {
        if self.count > 0 && id <= self.ids.1 {
            return Err(BuildError::ColumnUnsorted { column: self.column, id, last: self.ids.1 });
        }
        self.ids = (if self.count == 0 { id } else { self.ids.0 }, id);
        self.count += 1;
        self.bytes += value.len() as u64;
        self.digest = digest::of_bytes(self.digest.wrapping_add(u128::from(id)), value);
        let mut place = [0; PLACE_BYTES];
        LittleEndian::write_u64(&mut place, id);
        LittleEndian::write_u64(&mut place[8..], self.bytes);
        let written = self.values.write_all(value).and_then(|()| self.places.write_all(&place));
        written.map_err(|source| failed(&self.temp_dir, source))
    }

    /// Returns a digest of all ids and their bytes.
    pub(super) fn digest(&self) -> u128 {
        self.digest
    }

    /// Fails if the first or the last id has no value.
    pub(super) fn check_bounds(&self, ids: Option<(u64, u64)>) -> Result<(), BuildError> {
        let Some((least, greatest)) = ids else { return Ok(()) };
        let has_value = |id| self.count > 0 && (self.ids.0..=self.ids.1).contains(&id);
        match [least, greatest].into_iter().find(|&id| !has_value(id)) {
            Some(id) => Err(BuildError::ColumnMissing { column: self.column, id }),
            None => Ok(()),
        }
    }

    /// Writes the sections, then gives the number and the bytes of each entry to `each`, if there is one.
    pub(super) fn write<F: Fingerprint>(
        self,
        file: &mut Sections<'_>,
        options: &BuildOptions<F>,
        each: Option<&mut Each<'_>>,
    ) -> Result<(), BuildError> {
        let done = options.counter(Phase::Ids, None)?;
        let watched = |spool| Watched { spool, done: &done };
        let head = self.head();
        let failed = |source| failed(&self.temp_dir, source);
        let mut places = watched(rewind(self.places).map_err(failed)?);
        let mut values = watched(rewind(self.values).map_err(failed)?);
        let (directory, contents) = match self.column {
            IdColumn::Names => (UnitKind::NameDirectory, UnitKind::Names),
            IdColumn::Shingles => (UnitKind::ShingleDirectory, UnitKind::Shingles),
        };
        let directory = file.stream(directory, |put| {
            put(&head.to_bytes())?;
            pack(&mut places, &head, head.id_bits, |id, _| id - head.first, put)?;
            places.spool.rewind()?;
            pack(&mut places, &head, head.end_bits, |_, end| end, put)
        });
        let outcome = directory.and_then(|()| file.copy(contents, &mut values));
        let outcome = outcome.and_then(|()| match each {
            Some(each) => for_each(&mut values, &mut places, head.count, each).map_err(failed)?,
            None => Ok(()),
        });
        // If the build was cancelled, that is why reading failed.
        done.check()?;
        outcome
    }

    /// Returns the number of entries.
    pub(super) fn count(&self) -> u64 {
        self.count
    }

    fn head(&self) -> Head {
        Head::new(self.count, self.ids, self.bytes)
    }

    /// Fails if an id has no value.
    fn check_all(&mut self, ids: &Sorted<u64>) -> Result<(), BuildError> {
        let reading = |source| failed(&self.temp_dir, source);
        self.places.flush().map_err(reading)?;
        let mut file = self.places.get_ref();
        file.rewind().map_err(reading)?;
        let mut places = BufReader::with_capacity(GATHER_BYTES, file);
        let mut left = self.count;
        let mut named = None;
        let mut ids = ids.one_by_one()?;
        while let Some(id) = ids.next()? {
            while named < Some(id) && left > 0 {
                named = Some(read_place(&mut places).map_err(reading)?.0);
                left -= 1;
            }
            if named != Some(id) {
                return Err(BuildError::ColumnMissing { column: self.column, id });
            }
        }
        Ok(())
    }
}

/// A column that has been pushed.
impl ColumnSource for ColumnSpool {
    fn wants_ids(&self) -> bool {
        // If they are consecutive, their bounds suffice.
        self.head().id_bits > 0
    }

    fn spool(mut self: Box<Self>, ids: Option<&Sorted<u64>>) -> Result<ColumnSpool, BuildError> {
        if let Some(ids) = ids {
            self.check_all(ids)?;
        }
        Ok(*self)
    }
}

/// Gives the number and the bytes of each entry to `each`.
fn for_each(
    values: &mut Watched<'_>,
    places: &mut Watched<'_>,
    count: u64,
    each: &mut Each<'_>,
) -> io::Result<Result<(), BuildError>> {
    values.spool.rewind()?;
    places.spool.rewind()?;
    let (mut value, mut start) = (Vec::new(), 0);
    for number in 0..count {
        let (_, end) = read_place(places)?;
        value.resize((end - start) as usize, 0);
        values.read_exact(&mut value)?;
        if let Err(error) = each(number, &value, values.done) {
            return Ok(Err(error));
        }
        start = end;
    }
    Ok(Ok(()))
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

#[cold]
fn failed(temp_dir: &Path, source: io::Error) -> BuildError {
    BuildError::Io { doing: "use a temporary file in", path: temp_dir.to_owned(), source }
}
