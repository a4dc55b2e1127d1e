//! From fingerprints to ids and names, and back.
//!
//! The ids of many matches are found together: matches that know the place of their ids need no look-up, and the others
//! are looked up together, so that their memory accesses overlap.

use std::fmt;

use crate::codec::{Located, SCAN_BATCH, Target};
use crate::error::ReadError;
use crate::ids::Ids;
use crate::ids::reader::IdTable;
use crate::index::{Index, Match};
use crate::lookup::{Lookup, hash_of_id, hash_of_name};
use crate::names::Names;
use crate::progress::Stopped;
use crate::table::scanner::{Scanner, prefetch_fronts};
use crate::widths::per_width;
use hamdex_fingerprint::Fingerprint;

/// Matches that are looked up together.
const TOGETHER: usize = 256;

type IdsOf<F> = for<'i> fn(&'i Index<F>, &[Match<F>], &mut Scanner<F>) -> Result<Vec<Ids<'i>>, ReadError>;

per_width! {
    compiled_ids_of: IdsOf = ids_of_with;
}

impl<F: Fingerprint> Index<F> {
    /// Returns the ids of each of these matches, in their order, each list ascending; empty if the index has no
    /// ids. Matches of other indexes are looked up, too; fingerprints that are not stored in this index have no
    /// ids.
    ///
    /// It saves the look-up for matches that a [`Searcher`](crate::Searcher) has found in table 0: all of them
    /// with the design `single`, most with `halves`, a part with others. The rest are looked up together, which
    /// is faster than one by one.
    ///
    /// ```
    /// use hamdex::{BuildOptions, Builder, Index};
    ///
    /// let directory = tempfile::tempdir()?;
    /// let path = directory.path().join("news.hamdex");
    /// let mut builder = Builder::<u64>::with_options(&path, BuildOptions::new().ids(true))?;
    /// [(0xff, 3), (0xfe, 8), (0xff, 1)].into_iter().try_for_each(|(x, id)| builder.push_with_id(x, id))?;
    /// builder.finish()?;
    ///
    /// let index = Index::<u64>::open(&path)?;
    /// let mut searcher = index.searcher();
    /// let found = searcher.within(0xff, 3)?;
    /// let lists = index.ids_of(found)?;
    /// for (found, ids) in found.iter().zip(lists) {
    ///     println!("{:016x} is {} bits away: {:?}", found.fingerprint, found.distance, ids.collect::<Vec<_>>());
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// When a block or page that is read is damaged.
    pub fn ids_of(&self, matches: &[Match<F>]) -> Result<Vec<Ids<'_>>, ReadError> {
        self.ids_of_through(matches, &mut Scanner::default())
    }

    /// Returns the ids of matches, with this scanner.
    pub(crate) fn ids_of_through(
        &self,
        matches: &[Match<F>],
        scanner: &mut Scanner<F>,
    ) -> Result<Vec<Ids<'_>>, ReadError> {
        compiled_ids_of()(self, matches, scanner)
    }

    /// Finds the block of table 0, and the number in it, of each match; `None` if it is not stored.
    fn places_of(
        &self,
        matches: &[Match<F>],
        scanner: &mut Scanner<F>,
        places: &mut [Option<(usize, usize)>],
    ) -> Result<(), ReadError> {
        let tag = self.tag();
        let (table, file) = (&self.tables[0], self.data.as_ref());
        let mut targets = [Target { query: F::ZERO, prefix_bits: F::BITS, radius: 0, distance: 0 }; TOGETHER];
        let mut wanted = [0; TOGETHER];
        let mut unknown = 0;
        for (number, (found, place)) in matches.iter().zip(&mut *places).enumerate() {
            *place = found.entry.of_file(tag);
            if place.is_none() {
                targets[unknown].query = found.fingerprint;
                table.prefetch_directory(&targets[unknown]);
                wanted[unknown] = number;
                unknown += 1;
            }
        }
        if unknown == 0 {
            return Ok(());
        }
        let targets = &targets[..unknown];
        for target in targets {
            table.prefetch_keys(file, target);
        }
        let mut located = [Located { table: 0, block: 0, target: 0 }; TOGETHER];
        let mut count = 0;
        for (number, target) in targets.iter().enumerate() {
            let block = table.keys.in_file(file).find(target.query);
            if block < table.keys.len() {
                located[count] = Located { table: 0, block: block as u32, target: number as u32 };
                count += 1;
            }
        }
        let located = &located[..count];
        self.read_ahead.query(&self.data, &self.tables, located);
        prefetch_fronts(&self.tables, file, &located[..count.min(SCAN_BATCH)], targets);
        self.scan(scanner, located, targets, |at, entry, _| {
            places[wanted[at.target as usize]] = Some((at.block as usize, entry));
            Ok(())
        })
    }
}

fn ids_of_with<'i, F: Fingerprint>(
    index: &'i Index<F>,
    matches: &[Match<F>],
    scanner: &mut Scanner<F>,
) -> Result<Vec<Ids<'i>>, ReadError> {
    let Some(ids) = &index.ids else { return Ok(vec![Ids::NONE; matches.len()]) };
    let mut lists = Vec::with_capacity(matches.len());
    let mut places = [None; TOGETHER];
    for matches in matches.chunks(TOGETHER) {
        let places = &mut places[..matches.len()];
        index.places_of(matches, scanner, places)?;
        for place in places {
            let of = |(block, entry)| ids.of(index.data.as_ref(), block, entry);
            lists.push(place.map_or(Ok(Ids::NONE), of).map_err(|error| index.error(error))?);
        }
    }
    Ok(lists)
}

type Find<F> = fn(&Index<F>, F, &mut Scanner<F>) -> Result<Option<(usize, usize)>, ReadError>;
type IdsWith<F> = for<'i> fn(&'i Index<F>, F, &mut Scanner<F>) -> Result<Ids<'i>, ReadError>;

per_width! {
    compiled_find: Find = Index::find;
    compiled_ids: IdsWith = Index::ids_with;
}

impl<F: Fingerprint> Index<F> {
    /// Returns whether a fingerprint is stored.
    ///
    /// # Errors
    /// When a block that is read is damaged.
    pub fn contains(&self, fingerprint: F) -> Result<bool, ReadError> {
        Ok(compiled_find()(self, fingerprint, &mut Scanner::default())?.is_some())
    }

    /// Returns the ids of a fingerprint, ascending: none if it is not stored, or the index has no ids.
    /// [`Searcher::ids`](crate::Searcher::ids) allocates nothing, for many look-ups in a row.
    ///
    /// # Errors
    /// When a block or page that is read is damaged.
    pub fn ids(&self, fingerprint: F) -> Result<Ids<'_>, ReadError> {
        self.ids_through(fingerprint, &mut Scanner::default())
    }

    /// Returns the ids of a fingerprint, with this scanner.
    pub(super) fn ids_through(&self, fingerprint: F, scanner: &mut Scanner<F>) -> Result<Ids<'_>, ReadError> {
        compiled_ids()(self, fingerprint, scanner)
    }

    fn ids_with(&self, fingerprint: F, scanner: &mut Scanner<F>) -> Result<Ids<'_>, ReadError> {
        let Some(ids) = &self.ids else { return Ok(Ids::NONE) };
        match self.find(fingerprint, scanner)? {
            Some((block, entry)) => {
                ids.of(self.data.as_ref(), block, entry).map_err(|error| self.error(error))
            }
            None => Ok(Ids::NONE),
        }
    }

    /// Returns the block of table 0, and the number in it, of a fingerprint.
    pub(crate) fn find(
        &self,
        fingerprint: F,
        scanner: &mut Scanner<F>,
    ) -> Result<Option<(usize, usize)>, ReadError> {
        // Table 0 is in natural order, so the whole width serves as the prefix.
        let table = &self.tables[0];
        let target = Target { query: fingerprint, prefix_bits: F::BITS, radius: 0, distance: 0 };
        let block = table.keys.in_file(self.data.as_ref()).find(fingerprint);
        if block == table.keys.len() {
            return Ok(None);
        }
        let mut found = None;
        let at = Located { table: 0, block: block as u32, target: 0 };
        let outcome = self.scan(scanner, &[at], &[target], |_, entry, _| {
            found = Some((block, entry));
            Err(ReadError::from(Stopped))
        });
        if found.is_some() { Ok(found) } else { outcome.map(|()| None) }
    }
}

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
        let find = || {
            let (file, mut places) = (self.index.data.as_ref(), Vec::new());
            for place in self.by_id.places(hash_of_id(id))? {
                let place = place?;
                if is_wanted(place) && self.ids.id_at(file, place)? == id {
                    places.push(place);
                }
                if places.len() >= most {
                    break;
                }
            }
            Ok(places)
        };
        find().map_err(|error| self.index.error(error))
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
        let find = || {
            let mut ids = Vec::new();
            for number in lookup.places(hash_of_name(name))? {
                let number = number?;
                if names.name(number)? == name {
                    ids.extend(Some(names.id_at(number)?).filter(|id| *id >= from));
                }
                if ids.len() >= most {
                    break;
                }
            }
            Ok(ids)
        };
        find().map_err(|error| self.index.error(error))
    }
}

impl<F> fmt::Debug for Lookups<'_, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lookups").field("has_names", &self.by_name.is_some()).finish_non_exhaustive()
    }
}
