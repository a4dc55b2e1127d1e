//! The name of an id, found when it is wanted.

use std::borrow::Cow;
use std::fmt;
use std::path::Path;

use crate::bits;
use crate::error::ReadError;
use crate::format::section::Section;
use crate::names::{HEAD_BYTES, Head};

/// Two sections of an open file that have a byte string for each id: its name, or the shingles of its document.
pub(crate) struct ColumnTable {
    pub(crate) directory: Section,
    /// The byte strings, by id.
    pub(crate) values: Section,
}

/// The names of an index's ids: made by [`Index::names`](crate::Index::names).
#[derive(Clone, Copy)]
pub struct Names<'a> {
    file: &'a [u8],
    table: &'a ColumnTable,
    /// Path of the index, for errors.
    path: Option<&'a Path>,
    pub(super) head: Head,
    /// Offset of the ends in the directory.
    ends_at: u64,
}

impl ColumnTable {
    /// Reads what the directory begins with, and checks whether the rest fits it.
    pub(crate) fn open<'a>(&'a self, file: &'a [u8], path: Option<&'a Path>) -> Result<Names<'a>, ReadError> {
        let damaged = |what: &str| self.directory.damaged(what);
        let bytes = self.directory.read(file, 0..HEAD_BYTES)?;
        let head = Head::from_bytes(bytes.try_into().expect("24 bytes"))
            .ok_or_else(|| damaged("a field of its first bytes is out of range"))?;
        let ends_at =
            head.ends_at().filter(|_| head.directory_bytes() == Some(self.directory.length() as u64));
        let ends_at = ends_at.ok_or_else(|| damaged("it is shorter or longer than its entries need"))?;
        let names = Names { file, table: self, path, head, ends_at };
        let end = if head.count == 0 { 0 } else { names.end(head.count - 1)? };
        if end != self.values.length() as u64 {
            return Err(damaged("its last entry does not end with the section it describes"));
        }
        Ok(names)
    }
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
        self.head.count
    }

    /// Returns whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.head.count == 0
    }

    /// Returns the name of an id; `None` if it has none.
    ///
    /// # Errors
    /// When a page that is read is damaged.
    pub fn get(&self, id: u64) -> Result<Option<&'a [u8]>, ReadError> {
        let name = || match self.place_of(id)? {
            Some(place) => Ok(Some(self.name(place)?)),
            None => Ok(None),
        };
        name().map_err(|error: ReadError| error.of_file(self.path))
    }

    /// Returns the name of an id of the index; a missing name is damage.
    ///
    /// # Errors
    /// When the id has no name, or a page that is read is damaged.
    pub fn name_of(&self, id: u64) -> Result<&'a [u8], ReadError> {
        let missing = || self.damaged(format_args!("id {id} has none")).of_file(self.path);
        self.get(id)?.ok_or_else(missing)
    }

    /// Returns the greatest id that has a name; `None` if there are no names.
    ///
    /// # Errors
    /// When a page that is read is damaged.
    pub fn last_id(&self) -> Result<Option<u64>, ReadError> {
        let last = self.head.count.checked_sub(1);
        last.map(|place| self.id(place)).transpose().map_err(|error| error.of_file(self.path))
    }

    /// Returns all ids that have a name, ascending, each with its name.
    #[must_use]
    pub fn iter(&self) -> NamesIter<'a> {
        NamesIter { names: *self, next: 0 }
    }

    /// Returns an error about the directory.
    pub(super) fn damaged(&self, what: impl fmt::Display) -> ReadError {
        self.table.directory.damaged(what)
    }

    /// Returns whether an id has a name.
    pub(super) fn contains(&self, id: u64) -> Result<bool, ReadError> {
        Ok(self.place_of(id)?.is_some())
    }

    /// Returns the number of the name of an id, from 0.
    fn place_of(&self, id: u64) -> Result<Option<u64>, ReadError> {
        let Some(wanted) = id.checked_sub(self.head.first) else { return Ok(None) };
        if self.head.id_bits == 0 {
            return Ok((wanted < self.head.count).then_some(wanted));
        }
        let (mut least, mut end) = (0, self.head.count);
        while least < end {
            let middle = least + (end - least) / 2;
            if self.number_of_id(middle)? < wanted {
                least = middle + 1;
            } else {
                end = middle;
            }
        }
        let is_there = least < self.head.count && self.number_of_id(least)? == wanted;
        Ok(is_there.then_some(least))
    }

    /// Returns the id of the name of that number.
    pub(crate) fn id(&self, place: u64) -> Result<u64, ReadError> {
        let number = if self.head.id_bits == 0 { place } else { self.number_of_id(place)? };
        let id = self.head.first.checked_add(number);
        id.ok_or_else(|| self.damaged(format_args!("the id of entry {place} exceeds 64 bits")))
    }

    /// Returns the bytes of the name of that number.
    pub(crate) fn name(&self, place: u64) -> Result<&'a [u8], ReadError> {
        let start = if place == 0 { 0 } else { self.end(place - 1)? };
        let end = self.end(place)?;
        if start > end || end > self.table.values.length() as u64 {
            return Err(self.damaged(format_args!("the end of entry {place} is out of order")));
        }
        self.table.values.read(self.file, start as usize..end as usize)
    }

    /// Returns the end of the name of that number, from the start of name 0.
    pub(crate) fn end(&self, place: u64) -> Result<u64, ReadError> {
        self.number(self.ends_at, place, self.head.end_bits)
    }

    /// By what an id exceeds the first one, as the directory has it.
    fn number_of_id(&self, place: u64) -> Result<u64, ReadError> {
        self.number(HEAD_BYTES as u64, place, self.head.id_bits)
    }

    /// Returns a number of a packed list that starts at a byte of the directory.
    fn number(&self, list_at: u64, place: u64, bits: u32) -> Result<u64, ReadError> {
        // It lies inside the directory, whose length has been compared, so nothing here overflows.
        let first_bit = place * u64::from(bits);
        let start = list_at + first_bit / 8;
        let end = list_at + (first_bit + u64::from(bits)).div_ceil(8);
        let bytes = self.table.directory.read(self.file, start as usize..end as usize)?;
        Ok(bits::read::<u64>(bytes, (first_bit % 8) as usize, bits))
    }
}

impl fmt::Debug for Names<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Names").field("len", &self.head.count).finish_non_exhaustive()
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
        if place == self.names.head.count {
            return None;
        }
        self.next += 1;
        let pair = || Ok((self.names.id(place)?, self.names.name(place)?));
        Some(pair().map_err(|error: ReadError| error.of_file(self.names.path)))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = usize::try_from(self.names.head.count - self.next);
        (left.unwrap_or(usize::MAX), left.ok())
    }
}
