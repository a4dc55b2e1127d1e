//! The directory of a column: the ids that have an entry, ascending, and where each entry ends.
//!
//! The number of an entry, from 0, is its *place*. Ends of names count bytes; ends of documents count shingles.

use std::fmt;
use std::path::Path;

use crate::bits;
use crate::error::ReadError;
use crate::format::section::{PAGE, Section};
use crate::ids::reader::IdTable;
use crate::names::{HEAD_BYTES, Head};
use crate::sorting::partition_point;
use crate::threads::map_numbers;

/// Entries, or ids, verified between cancellation checks.
const AT_ONCE: u64 = 1 << 20;

/// A directory in an open file.
#[derive(Clone, Copy)]
pub(crate) struct Directory<'a> {
    file: &'a [u8],
    section: &'a Section,
    /// Path of the file, for errors.
    path: Option<&'a Path>,
    head: Head,
    /// Offset of the ends in the section.
    ends_at: u64,
}

impl<'a> Directory<'a> {
    /// Reads what the section begins with, and checks whether the rest fits it.
    pub(crate) fn open(
        file: &'a [u8],
        section: &'a Section,
        path: Option<&'a Path>,
    ) -> Result<Self, ReadError> {
        let damaged = |what: &str| section.damaged(what);
        let bytes = section.read(file, 0..HEAD_BYTES)?;
        let head = Head::from_bytes(bytes.try_into().expect("24 bytes"))
            .ok_or_else(|| damaged("a field of its first bytes is out of range"))?;
        let ends_at = head.ends_at().filter(|_| head.directory_bytes() == Some(section.length() as u64));
        let ends_at = ends_at.ok_or_else(|| damaged("it is shorter or longer than its entries need"))?;
        Ok(Self { file, section, path, head, ends_at })
    }

    /// Returns the bytes of the file.
    pub(crate) fn file(&self) -> &'a [u8] {
        self.file
    }

    /// Returns the path of the file.
    pub(crate) fn path(&self) -> Option<&'a Path> {
        self.path
    }

    /// Returns the number of entries.
    pub(crate) fn len(&self) -> u64 {
        self.head.count
    }

    /// Returns an error about the directory.
    #[cold]
    pub(crate) fn damaged(&self, what: impl fmt::Display) -> ReadError {
        self.section.damaged(what)
    }

    /// Returns the place of an id; `None` if it has no entry.
    pub(crate) fn place_of(&self, id: u64) -> Result<Option<u64>, ReadError> {
        let Some(wanted) = id.checked_sub(self.head.first) else { return Ok(None) };
        if self.head.id_bits == 0 {
            return Ok((wanted < self.head.count).then_some(wanted));
        }
        let is_before = |place| Ok::<_, ReadError>(self.number_of_id(place)? < wanted);
        let least = partition_point(0..self.head.count, is_before)?;
        let is_there = least < self.head.count && self.number_of_id(least)? == wanted;
        Ok(is_there.then_some(least))
    }

    /// Returns the id of the entry at a place.
    pub(crate) fn id(&self, place: u64) -> Result<u64, ReadError> {
        let number = if self.head.id_bits == 0 { place } else { self.number_of_id(place)? };
        let id = self.head.first.checked_add(number);
        id.ok_or_else(|| self.damaged(format_args!("the id of entry {place} exceeds 64 bits")))
    }

    /// Returns the greatest id; `None` if there is none.
    pub(crate) fn last_id(&self) -> Result<Option<u64>, ReadError> {
        let last = self.len().checked_sub(1).map(|place| self.id(place)).transpose();
        last.map_err(|error| error.of_file(self.path))
    }

    /// Returns the start of the entry at a place; the end of all for the place after the last.
    pub(crate) fn start(&self, place: u64) -> Result<u64, ReadError> {
        if place == 0 { Ok(0) } else { self.end(place - 1) }
    }

    /// Returns the greatest start of an entry at or before a place that can be read.
    pub(crate) fn readable_start(&self, mut place: u64) -> u64 {
        loop {
            if let Ok(start) = self.start(place) {
                return start;
            }
            // The start of an entry is the end of the one before. All that end in the same page are damaged, too.
            let end = self.ends_at + (place * u64::from(self.head.end_bits)).div_ceil(8);
            let page = (end - 1) / PAGE as u64 * PAGE as u64;
            place = page.saturating_sub(self.ends_at) * 8 / u64::from(self.head.end_bits);
        }
    }

    /// Returns the end of the entry at a place.
    fn end(&self, place: u64) -> Result<u64, ReadError> {
        self.section.packed(self.file, self.ends_at, place, self.head.end_bits)
    }

    /// Returns the length of the entry at a place.
    pub(crate) fn length(&self, place: u64) -> Result<u64, ReadError> {
        let (start, end) = (self.start(place)?, self.end(place)?);
        end.checked_sub(start)
            .ok_or_else(|| self.damaged(format_args!("the end of entry {place} is out of order")))
    }

    /// By what an id exceeds the first one, as the directory has it.
    fn number_of_id(&self, place: u64) -> Result<u64, ReadError> {
        self.section.packed(self.file, HEAD_BYTES as u64, place, self.head.id_bits)
    }

    /// Checks that ids and ends ascend, that bits after them are zero, and that every id of the file has an entry. Ends
    /// early with an error of `check_cancelled`.
    pub(crate) fn verify(
        &self,
        ids: &IdTable,
        check_cancelled: &dyn Fn() -> Result<(), ReadError>,
    ) -> Result<(), ReadError> {
        self.section.verify_while(self.file, check_cancelled)?;
        self.verify_order(check_cancelled)?;
        self.verify_spare_bits(self.section.read_all(self.file)?)?;
        for start in (0..ids.record.count).step_by(AT_ONCE as usize) {
            check_cancelled()?;
            let end = ids.record.count.min(start + AT_ONCE);
            let check = |place| {
                let id = ids.id_at(self.file, place)?;
                match self.place_of(id)? {
                    Some(_) => Ok(()),
                    None => Err(self.damaged(format_args!("id {id} has none"))),
                }
            };
            // The first in the file, so that damage is described in the same words every time.
            map_numbers((end - start) as usize, || (), |(), number| check(start + number as u64))?;
        }
        Ok(())
    }

    fn verify_order(&self, check_cancelled: &dyn Fn() -> Result<(), ReadError>) -> Result<(), ReadError> {
        let (mut last_id, mut last_end) = (None, 0);
        for place in 0..self.len() {
            if place % AT_ONCE == 0 {
                check_cancelled()?;
            }
            let (id, end) = (self.id(place)?, self.end(place)?);
            // The first one is the base of all others.
            if last_id.replace(id) >= Some(id) || (place == 0 && id != self.head.first) {
                return Err(self.damaged(format_args!("the id of entry {place} is out of order")));
            }
            if end < last_end {
                return Err(self.damaged(format_args!("the end of entry {place} is out of order")));
            }
            last_end = end;
        }
        Ok(())
    }

    /// The bits after the last id and the last end are zero.
    fn verify_spare_bits(&self, directory: &[u8]) -> Result<(), ReadError> {
        let ends_at = self.head.ends_at().expect("the directory is that long") as usize;
        let (ids, ends) = directory.split_at(ends_at);
        let are_zero = |bytes, bits| bits::are_zero_after(bytes, self.len().wrapping_mul(u64::from(bits)));
        match are_zero(&ids[HEAD_BYTES..], self.head.id_bits) && are_zero(ends, self.head.end_bits) {
            true => Ok(()),
            false => Err(self.damaged("bits after its end are set")),
        }
    }
}
