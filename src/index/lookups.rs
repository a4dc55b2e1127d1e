//! Fingerprints by id, and ids by name.

use std::fmt;
use std::ops::ControlFlow;

use crate::error::ReadError;
use crate::ids::reader::IdTable;
use crate::index::handle::Index;
use crate::lookup::{Lookup, hash_of_id, hash_of_name};
use crate::names::Names;
use hamdex_fingerprint::Fingerprint;

/// The look-ups of an index: made by [`Index::lookups`].
pub struct Lookups<'i, F> {
    index: &'i Index<F>,
    ids: &'i IdTable,
    by_id: Lookup<'i>,
    by_name: Option<(Names<'i>, Lookup<'i>)>,
}

impl<F> Index<F> {
    /// Returns whether fingerprints are found by id, and ids by name if they have names.
    #[must_use]
    pub fn has_lookups(&self) -> bool {
        self.id_lookup.is_some()
    }
}

impl<F: Fingerprint> Index<F> {
    /// Returns the look-ups; `None` if the index was built without
    /// [`BuildOptions::lookups`](crate::BuildOptions::lookups).
    ///
    /// ```
    /// use hamdex::{BuildOptions, Builder, Index};
    ///
    /// let mut builder = Builder::in_memory(BuildOptions::new().names(true).lookups(true))?;
    /// builder.push_with_id(0x00ff_u64, 17)?;
    /// builder.push_with_id(0xff00, 17)?;
    /// builder.push_name(17, "first.html")?;
    /// let index = Index::<u64>::from_bytes(builder.into_inner()?.0)?;
    ///
    /// let lookups = index.lookups()?.expect("the index was built with look-ups");
    /// assert_eq!(lookups.ids_of_name(b"first.html")?, [17]);
    /// assert_eq!(lookups.fingerprints_of(17)?, [0x00ff, 0xff00]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// When a section has another length than its entries need. The rest of the index can still be queried.
    pub fn lookups(&self) -> Result<Option<Lookups<'_, F>>, ReadError> {
        let (Some(ids), Some(by_id)) = (&self.ids, &self.id_lookup) else { return Ok(None) };
        let open = || {
            let file = self.data.as_ref();
            let by_id = by_id.open(file, ids.record.count)?;
            let by_name = match (self.names()?, &self.name_lookup) {
                (Some(names), Some(lookup)) => Some((names, lookup.open(file, names.len())?)),
                _ => None,
            };
            Ok(Some(Lookups { index: self, ids, by_id, by_name }))
        };
        open().map_err(|error| self.error(error))
    }
}

impl<F: Fingerprint> Lookups<'_, F> {
    /// Returns the places of an id that are wanted, ascending: see [`Index::places`]; the first `most` of them. Empty
    /// if it is not stored.
    ///
    /// # Errors
    /// When a page that is read is damaged.
    pub fn places_of(
        &self,
        id: u64,
        most: usize,
        is_wanted: impl Fn(u64) -> bool,
    ) -> Result<Vec<u64>, ReadError> {
        let (file, mut places) = (self.index.data.as_ref(), Vec::new());
        let outcome = self.by_id.places(hash_of_id(id), |place| {
            if is_wanted(place) && self.ids.id_at(file, place)? == id {
                places.push(place);
            }
            Ok(until(places.len() >= most))
        });
        let _ = outcome.map_err(|error| self.index.error(error))?;
        Ok(places)
    }

    /// Returns the fingerprints of an id, ascending. Empty if it is not stored.
    ///
    /// # Errors
    /// When a page or block that is read is damaged.
    pub fn fingerprints_of(&self, id: u64) -> Result<Vec<F>, ReadError> {
        let places = self.places_of(id, usize::MAX, |_| true)?;
        places.into_iter().map(|place| self.index.fingerprint_at(place)).collect()
    }

    /// Returns the ids with a name, ascending, whether or not they are stored with a fingerprint. Empty if the ids have
    /// no names.
    ///
    /// # Errors
    /// When a page that is read is damaged.
    pub fn ids_of_name(&self, name: &[u8]) -> Result<Vec<u64>, ReadError> {
        self.ids_of_name_from(name, 0, usize::MAX)
    }

    /// As [`ids_of_name`](Self::ids_of_name), from an id on: the first `most` of them.
    ///
    /// # Errors
    /// When a page that is read is damaged.
    pub fn ids_of_name_from(&self, name: &[u8], from: u64, most: usize) -> Result<Vec<u64>, ReadError> {
        let Some((names, lookup)) = &self.by_name else { return Ok(Vec::new()) };
        let mut ids = Vec::new();
        let outcome = lookup.places(hash_of_name(name), |number| {
            if names.name(number)? == name {
                ids.extend(Some(names.id(number)?).filter(|id| *id >= from));
            }
            Ok(until(ids.len() >= most))
        });
        let _ = outcome.map_err(|error| self.index.error(error))?;
        Ok(ids)
    }
}

fn until(is_enough: bool) -> ControlFlow<()> {
    if is_enough { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
}

impl<F> fmt::Debug for Lookups<'_, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lookups").field("has_names", &self.by_name.is_some()).finish_non_exhaustive()
    }
}
