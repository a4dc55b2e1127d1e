//! The name of an id, found when it is wanted.

use std::borrow::Cow;
use std::fmt;
use std::path::Path;

use crate::error::ReadError;
use crate::format::section::Section;
use crate::names::directory::Directory;

/// The two sections of an open file that have the name of each id.
pub(crate) struct NameTable {
    pub(crate) directory: Section,
    /// The names, by id.
    pub(crate) values: Section,
}

/// The names of an index's ids: made by [`Index::names`](crate::Index::names).
#[derive(Clone, Copy)]
pub struct Names<'a> {
    pub(super) directory: Directory<'a>,
    values: &'a Section,
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
        let last = self.len().checked_sub(1).map(|place| self.directory.id(place)).transpose();
        last.map_err(|error| error.of_file(self.directory.path()))
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
