//! Names: a byte string per id of an index.
//!
//! All names are stored one after the other. A directory has the end of each, and, unless the ids are consecutive,
//! the id of each name. So a name is found by two short reads, and no name is kept in memory.
//!
//! - [`directory`]: the ids, and the ends of their names
//!
//! The name directory:
//!
//! ```text
//! 0   8  how many names
//! 8   8  the id of name 0
//! 16  1  bits of each id; 0: ids are consecutive, and are left out
//! 17  1  bits of each end, at least 1, so that there are no more names than the file has bits
//! 18  6  zero
//! 24  …  ids, each as what it exceeds the first one by; up to a whole byte
//! …   …  ends: where each name ends, counted from the start of name 0; up to a whole byte
//! ```

pub(crate) mod directory;

use std::borrow::Cow;
use std::fmt;
use std::path::Path;

use byteorder::{ByteOrder, LittleEndian};

use crate::bits::packed_bytes;
use crate::error::ReadError;
use crate::format::section::Section;
use crate::ids::reader::IdTable;
use crate::names::directory::Directory;

/// The most bytes of a name: an answer may have many. Longer ones in older files are read.
pub const MAX_NAME_BYTES: usize = 1 << 16;

/// Bytes before the ids.
pub(crate) const HEAD_BYTES: usize = 24;

/// The number of names, and the form of their list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Head {
    pub(crate) count: u64,
    /// The least id that has a name; 0 if there are no names.
    pub(crate) first: u64,
    /// Bits of each id; 0 if ids are consecutive.
    pub(crate) id_bits: u32,
    /// Bits of each end; 0 only if there are no names.
    pub(crate) end_bits: u32,
}

impl Head {
    /// Returns the head for `count` names with ids from `first` to `last` and `bytes` bytes in total.
    pub(crate) fn new(count: u64, (first, last): (u64, u64), bytes: u64) -> Self {
        let bits = |number: u64| u64::BITS - number.leading_zeros();
        let is_consecutive = count == 0 || last - first == count - 1;
        let id_bits = if is_consecutive { 0 } else { bits(last - first) };
        let end_bits = if count == 0 { 0 } else { bits(bytes).max(1) };
        Self { count, first: if count == 0 { 0 } else { first }, id_bits, end_bits }
    }

    pub(crate) fn to_bytes(self) -> [u8; HEAD_BYTES] {
        let mut bytes = [0; HEAD_BYTES];
        LittleEndian::write_u64(&mut bytes, self.count);
        LittleEndian::write_u64(&mut bytes[8..], self.first);
        bytes[16] = self.id_bits as u8;
        bytes[17] = self.end_bits as u8;
        bytes
    }

    /// `None` if a field is out of its range.
    pub(crate) fn from_bytes(bytes: &[u8; HEAD_BYTES]) -> Option<Self> {
        let head = Self {
            count: LittleEndian::read_u64(bytes),
            first: LittleEndian::read_u64(&bytes[8..]),
            id_bits: u32::from(bytes[16]),
            end_bits: u32::from(bytes[17]),
        };
        let in_range = head.id_bits <= 64 && head.end_bits <= 64 && bytes[18..] == [0; 6];
        let is_nothing = head == Self { count: 0, first: 0, id_bits: 0, end_bits: 0 };
        let last_fits = head.id_bits > 0 || head.first.checked_add(head.count.saturating_sub(1)).is_some();
        let is_bounded = if head.count > 0 { head.end_bits > 0 } else { is_nothing };
        (in_range && last_fits && is_bounded).then_some(head)
    }

    /// Returns the offset of the ends in the directory; `None` beyond 64 bits.
    fn ends_at(self) -> Option<u64> {
        packed_bytes(self.count, self.id_bits)?.checked_add(HEAD_BYTES as u64)
    }

    /// Returns the length of the directory; `None` beyond 64 bits.
    fn directory_bytes(self) -> Option<u64> {
        self.ends_at()?.checked_add(packed_bytes(self.count, self.end_bits)?)
    }
}

/// The two sections of an open file that have the name of each id.
pub(crate) struct NameTable {
    pub(crate) directory: Section,
    /// The names, by id.
    pub(crate) values: Section,
}

impl NameTable {
    /// Opens the directory, and checks that it fits the names.
    pub(crate) fn open<'a>(&'a self, file: &'a [u8], path: Option<&'a Path>) -> Result<Names<'a>, ReadError> {
        let directory = Directory::open(file, &self.directory, path)?;
        if directory.start(directory.len())? != self.values.length() as u64 {
            return Err(directory.damaged("its last entry does not end with the section it describes"));
        }
        Ok(Names { directory, values: &self.values })
    }

    /// Checks both sections, and that every id of the file has a name. Returns the number of names. Ends early with an
    /// error of `check_cancelled`.
    pub(crate) fn verify(
        &self,
        file: &[u8],
        ids: &IdTable,
        check_cancelled: &dyn Fn() -> Result<(), ReadError>,
    ) -> Result<u64, ReadError> {
        self.values.verify_while(file, check_cancelled)?;
        let names = self.open(file, None)?;
        names.directory.verify(ids, check_cancelled)?;
        Ok(names.len())
    }
}

/// The names of an index's ids: made by [`Index::names`](crate::Index::names).
#[derive(Clone, Copy)]
pub struct Names<'a> {
    directory: Directory<'a>,
    values: &'a Section,
}

impl<'a> Names<'a> {
    /// Returns a name as text: bytes that are not UTF-8 are written as `\xff`, so that different names have different
    /// texts, unless one has that very text as its name.
    ///
    /// ```
    /// assert_eq!(hamdex::Names::text_of("café".as_bytes()), "café");
    /// assert_eq!(hamdex::Names::text_of(b"caf\xe9"), "caf\\xe9");
    /// ```
    #[must_use]
    pub fn text_of(name: &[u8]) -> Cow<'_, str> {
        if let Ok(text) = std::str::from_utf8(name) {
            return Cow::Borrowed(text);
        }
        let mut text = String::new();
        for chunk in name.utf8_chunks() {
            text.push_str(chunk.valid());
            chunk.invalid().iter().for_each(|byte| text.push_str(&format!("\\x{byte:02x}")));
        }
        Cow::Owned(text)
    }

    /// Returns the names that [`Names::text_of`] may have given a text for: the text itself, and, if bytes that are not
    /// UTF-8 are written in it, the name with these bytes.
    ///
    /// ```
    /// let of = |text| hamdex::Names::with_text(text).collect::<Vec<_>>();
    /// assert_eq!(of("caf\\xe9"), [b"caf\\xe9".to_vec(), b"caf\xe9".to_vec()]);
    /// assert_eq!(of("caf\\x65"), [b"caf\\x65"]);
    /// ```
    pub fn with_text(text: &str) -> impl Iterator<Item = Vec<u8>> {
        let mut bytes = Vec::with_capacity(text.len());
        let mut rest = text;
        while let Some((before, after)) = rest.split_once("\\x") {
            bytes.extend_from_slice(before.as_bytes());
            let digits = after.get(..2).filter(|digits| digits.bytes().all(|byte| byte.is_ascii_hexdigit()));
            match digits.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
                Some(byte) if !byte.is_ascii() => {
                    bytes.push(byte);
                    rest = &after[2..];
                }
                _ => {
                    bytes.extend_from_slice(b"\\x");
                    rest = after;
                }
            }
        }
        bytes.extend_from_slice(rest.as_bytes());
        let is_written_so = bytes != text.as_bytes() && Self::text_of(&bytes) == text;
        [Some(text.as_bytes().to_vec()), is_written_so.then_some(bytes)].into_iter().flatten()
    }

    /// Returns the number of names.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.directory.len()
    }

    /// Returns whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the name of an id; `None` if it has none.
    ///
    /// # Errors
    /// When a page that is read is damaged.
    pub fn get(&self, id: u64) -> Result<Option<&'a [u8]>, ReadError> {
        let name = || match self.directory.place_of(id)? {
            Some(place) => Ok(Some(self.name(place)?)),
            None => Ok(None),
        };
        name().map_err(|error: ReadError| error.of_file(self.directory.path()))
    }

    /// Returns the name of an id of the index; a missing name is damage.
    ///
    /// # Errors
    /// When the id has no name, or a page that is read is damaged.
    pub fn name_of(&self, id: u64) -> Result<&'a [u8], ReadError> {
        let missing =
            || self.directory.damaged(format_args!("id {id} has none")).of_file(self.directory.path());
        self.get(id)?.ok_or_else(missing)
    }

    /// Returns the greatest id that has a name; `None` if there are no names.
    ///
    /// # Errors
    /// When a page that is read is damaged.
    pub fn last_id(&self) -> Result<Option<u64>, ReadError> {
        self.directory.last_id()
    }

    /// Returns all ids that have a name, ascending, each with its name.
    #[must_use]
    pub fn iter(&self) -> NamesIter<'a> {
        NamesIter { names: *self, next: 0 }
    }

    /// Returns the id of the name at a place.
    pub(crate) fn id_at(&self, place: u64) -> Result<u64, ReadError> {
        self.directory.id(place)
    }

    /// Returns the bytes of the name at a place.
    pub(crate) fn name(&self, place: u64) -> Result<&'a [u8], ReadError> {
        let (start, length) = (self.directory.start(place)?, self.directory.length(place)?);
        let end = (start + length) as usize;
        if end > self.values.length() {
            return Err(self.directory.damaged(format_args!("the end of entry {place} is out of order")));
        }
        self.values.read(self.directory.file(), start as usize..end)
    }
}

impl fmt::Debug for Names<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Names").field("len", &self.len()).finish_non_exhaustive()
    }
}

impl<'a> IntoIterator for &Names<'a> {
    type Item = Result<(u64, &'a [u8]), ReadError>;
    type IntoIter = NamesIter<'a>;

    fn into_iter(self) -> NamesIter<'a> {
        self.iter()
    }
}

/// Ids and their names, by ascending id: made by [`Names::iter`].
#[derive(Debug, Clone)]
pub struct NamesIter<'a> {
    names: Names<'a>,
    next: u64,
}

impl<'a> Iterator for NamesIter<'a> {
    type Item = Result<(u64, &'a [u8]), ReadError>;

    fn next(&mut self) -> Option<Self::Item> {
        let place = self.next;
        if place == self.names.len() {
            return None;
        }
        self.next += 1;
        let pair = || Ok((self.names.directory.id(place)?, self.names.name(place)?));
        Some(pair().map_err(|error: ReadError| error.of_file(self.names.directory.path())))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = usize::try_from(self.names.len() - self.next);
        (left.unwrap_or(usize::MAX), left.ok())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_read_back_and_consecutive_ids_take_no_bits() {
        for (head, id_bits, end_bits) in [
            (Head::new(0, (9, 9), 0), 0, 0),
            (Head::new(1, (u64::MAX, u64::MAX), 5), 0, 3),
            (Head::new(3, (7, 9), 8), 0, 4),
            (Head::new(3, (7, 10), 0), 2, 1),
            (Head::new(2, (0, u64::MAX), u64::MAX), 64, 64),
        ] {
            assert_eq!((head.id_bits, head.end_bits), (id_bits, end_bits));
            assert_eq!(Head::from_bytes(&head.to_bytes()), Some(head));
        }
    }

    #[test]
    fn what_is_out_of_range_is_refused() {
        let head = Head::new(3, (7, 10), 100).to_bytes();
        for (at, byte) in [(16, 65), (17, 65), (18, 1), (23, 1)] {
            let mut bytes = head;
            bytes[at] = byte;
            assert_eq!(Head::from_bytes(&bytes), None, "byte {at}");
        }
        // No names, and yet something of them; ids beyond 64 bits; names without ends.
        for head in [
            Head { count: 0, first: 1, id_bits: 0, end_bits: 0 },
            Head { count: 0, first: 0, id_bits: 0, end_bits: 1 },
            Head { count: 2, first: u64::MAX, id_bits: 0, end_bits: 1 },
            Head { count: 2, first: 0, id_bits: 5, end_bits: 0 },
        ] {
            assert_eq!(Head::from_bytes(&head.to_bytes()), None, "{head:?}");
        }
        let long = Head { count: u64::MAX, first: 0, id_bits: 64, end_bits: 64 };
        assert_eq!(long.directory_bytes(), None);
    }
}
