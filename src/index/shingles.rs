//! The shingles of a file's documents.

use std::fmt;
use std::ops::{ControlFlow, Range};
use std::path::Path;

use rayon::prelude::*;

use crate::error::ReadError;
use crate::index::Index;
use crate::index::read_ahead::ReadAhead;
use crate::mapping::Mapping;
use crate::names::Names;
use crate::names::reader::ColumnTable;
use crate::shingles;

/// Bytes of shingles that one thread reads at a time.
const PART_BYTES: u64 = 4 << 20;

/// Sets verified between cancellation checks.
const VERIFIED_AT_ONCE: u64 = 1 << 14;

/// The shingles of an index's documents: made by [`Index::shingles`](crate::Index::shingles).
#[derive(Clone, Copy)]
pub struct Shingles<'a> {
    encoded: Names<'a>,
    table: &'a ColumnTable,
    path: Option<&'a Path>,
    /// The file, and how it is read ahead.
    source: (&'a Mapping, &'a ReadAhead),
}

impl<F> Index<F> {
    /// Returns whether the ids have the shingles of their documents.
    #[must_use]
    pub fn has_shingles(&self) -> bool {
        self.shingles.is_some()
    }

    /// Returns whether the documents are listed by their shingles, so that similar ones are found: not in older files.
    #[must_use]
    pub fn lists_shingles(&self) -> bool {
        self.pairs.is_some()
    }

    /// Returns the shingles of the documents; `None` if there are none.
    ///
    /// # Errors
    /// When the head of their directory is damaged. The rest of the index can still be queried.
    pub fn shingles(&self) -> Result<Option<Shingles<'_>>, ReadError> {
        let Some(table) = &self.shingles else { return Ok(None) };
        let (file, path) = (self.data.as_ref(), self.path.as_deref());
        let encoded = table.open(file, path).map_err(|error| error.of_file(path))?;
        Ok(Some(Shingles { encoded, table, path, source: (&self.data, &self.read_ahead) }))
    }
}

impl<'a> Shingles<'a> {
    /// Returns the number of documents.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.encoded.len()
    }

    /// Returns whether there are no documents.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.encoded.is_empty()
    }

    /// Returns the shingles of a document as [`encode`](crate::shingles::encode) returns them; `None` if there is no
    /// such id.
    ///
    /// # Errors
    /// When a page that is read is damaged.
    pub fn encoded_of(&self, id: u64) -> Result<Option<&'a [u8]>, ReadError> {
        self.encoded.get(id)
    }

    /// Returns all sets in their encoded form, by id.
    pub(crate) fn encoded(&self) -> Names<'a> {
        self.encoded
    }

    /// Divides the documents into parts of some MiB, for [`Shingles::for_each_in`].
    ///
    /// # Errors
    /// When a page of the directory is damaged.
    pub fn parts(&self) -> Result<Vec<Range<u64>>, ReadError> {
        self.find_parts().map_err(|error| error.of_file(self.path))
    }

    fn find_parts(&self) -> Result<Vec<Range<u64>>, ReadError> {
        let (mut parts, mut start) = (Vec::new(), 0);
        while start < self.len() {
            let limit = self.start_of(start)? + PART_BYTES;
            // The first place that starts at the limit or beyond.
            let (mut least, mut end) = (start + 1, self.len());
            while least < end {
                let middle = least + (end - least) / 2;
                if self.start_of(middle)? < limit {
                    least = middle + 1;
                } else {
                    end = middle;
                }
            }
            parts.push(start..least);
            start = least;
        }
        Ok(parts)
    }

    /// Calls `visit` with the id and the shingles of every document of a part, by id, until it breaks. Reads the part
    /// once, from front to back.
    ///
    /// # Errors
    /// When a page is damaged.
    pub fn for_each_in<B>(
        &self,
        part: Range<u64>,
        visit: impl FnMut(u64, &[u64]) -> ControlFlow<B>,
    ) -> Result<ControlFlow<B>, ReadError> {
        self.visit(part, visit).map_err(|error| error.of_file(self.path))
    }

    fn visit<B>(
        &self,
        part: Range<u64>,
        mut visit: impl FnMut(u64, &[u64]) -> ControlFlow<B>,
    ) -> Result<ControlFlow<B>, ReadError> {
        let (data, read_ahead) = self.source;
        let bytes = self.start_of(part.start)?..self.start_of(part.end)?;
        let contents = self.table.values.contents().start;
        read_ahead.bytes(data, contents + bytes.start as usize..contents + bytes.end as usize);
        let mut shingles = Vec::new();
        for place in part {
            let id = self.encoded.id(place)?;
            self.read_set(place, &mut shingles)?;
            if let ControlFlow::Break(value) = visit(id, &shingles) {
                return Ok(ControlFlow::Break(value));
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    /// Replaces the contents of `set` by the shingles of the document at a place.
    pub(crate) fn read_set(&self, place: u64, set: &mut Vec<u64>) -> Result<(), ReadError> {
        let is_set = shingles::decode(self.encoded.name(place)?, set);
        if is_set { Ok(()) } else { Err(self.damaged(self.encoded.id(place)?)) }
    }

    /// Checks that every document has a set.
    pub(crate) fn verify(
        &self,
        check_cancelled: &dyn Fn() -> Result<(), ReadError>,
    ) -> Result<(), ReadError> {
        for start in (0..self.len()).step_by(VERIFIED_AT_ONCE as usize) {
            check_cancelled()?;
            let check = |set: &mut Vec<u64>, place| self.read_set(place, set);
            let places = (start..self.len().min(start + VERIFIED_AT_ONCE)).into_par_iter();
            let first = places.map_init(Vec::new, check).find_map_first(Result::err);
            first.map_or(Ok(()), Err)?;
        }
        Ok(())
    }

    /// Returns the start of the set of a place, from that of place 0; the end of all for the place after the last.
    fn start_of(&self, place: u64) -> Result<u64, ReadError> {
        if place == 0 { Ok(0) } else { self.encoded.end(place - 1) }
    }

    #[cold]
    fn damaged(&self, id: u64) -> ReadError {
        self.table.values.damaged(format_args!("those of id {id} are not a set"))
    }
}

impl fmt::Debug for Shingles<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shingles").field("len", &self.len()).finish_non_exhaustive()
    }
}
