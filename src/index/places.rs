//! Places: stable numbers for stored entries.

use std::ops::Range;

use crate::codec::{Scratch, entry_count};
use crate::error::{Place, ReadError};
use crate::index::Index;
use crate::table::scanner::Scanner;
use crate::widths::per_width;
use hamdex_fingerprint::Fingerprint;

type Places<F> = fn(&Index<F>, F) -> Result<Range<u64>, ReadError>;
type PlaceOf<F> = fn(&Index<F>, F, u64) -> Result<Option<u64>, ReadError>;
type Rank<F> = fn(&Index<F>, F) -> Result<u64, ReadError>;
type FingerprintAt<F> = fn(&Index<F>, u64) -> Result<F, ReadError>;

per_width! {
    compiled_places: Places = places;
    compiled_place_of: PlaceOf = place_of;
    compiled_rank: Rank = rank;
    compiled_fingerprint_at: FingerprintAt = fingerprint_at;
}

impl<F: Fingerprint> Index<F> {
    /// Returns the number of places: one for each pair of fingerprint and id, or for each fingerprint if the
    /// index has no ids.
    #[must_use]
    pub fn place_count(&self) -> u64 {
        self.ids.as_ref().map_or(self.len(), |ids| ids.record.count)
    }

    /// Returns the places of a fingerprint: none if it is not stored. Places number the pairs of fingerprint
    /// and id in natural order, from 0; or the fingerprints, if the index has no ids. The first place belongs
    /// to the first of [`Index::ids`].
    ///
    /// Without ids, the first call reads all of table 0.
    ///
    /// ```
    /// use hamdex::{BuildOptions, Builder, Index};
    ///
    /// let mut builder = Builder::in_memory(BuildOptions::new().ids(true))?;
    /// for (fingerprint, id) in [(5_u64, 1), (5, 2), (7, 1)] {
    ///     builder.push_with_id(fingerprint, id)?;
    /// }
    /// let index = Index::<u64>::from_bytes(builder.into_inner()?.0)?;
    /// assert_eq!((index.places(5)?, index.places(7)?, index.place_count()), (0..2, 2..3, 3));
    /// assert!(index.places(6)?.is_empty());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// When a block or page that is read is damaged.
    pub fn places(&self, fingerprint: F) -> Result<Range<u64>, ReadError> {
        compiled_places()(self, fingerprint)
    }

    /// Returns the [place](Index::places) of a fingerprint with this id: `None` if it is not stored with it. If the
    /// index has no ids, the id does not matter. Of many ids of a fingerprint it reads few.
    ///
    /// Without ids, the first call reads all of table 0.
    ///
    /// # Errors
    /// When a block or page that is read is damaged.
    pub fn place_of(&self, fingerprint: F, id: u64) -> Result<Option<u64>, ReadError> {
        compiled_place_of()(self, fingerprint, id)
    }

    /// Returns the fingerprint at a place: see [`Index::places`].
    ///
    /// Without ids, the first call reads all of table 0.
    ///
    /// # Panics
    /// When the place is not below [`Index::place_count`].
    ///
    /// # Errors
    /// When a block or page that is read is damaged.
    pub fn fingerprint_at(&self, place: u64) -> Result<F, ReadError> {
        assert!(place < self.place_count(), "place {place} of {}", self.place_count());
        compiled_fingerprint_at()(self, place)
    }

    /// Returns the number of stored fingerprints below this one.
    ///
    /// The first call reads all of table 0.
    ///
    /// # Errors
    /// When a block that is read is damaged.
    pub fn rank(&self, fingerprint: F) -> Result<u64, ReadError> {
        compiled_rank()(self, fingerprint)
    }

    /// Returns the number of fingerprints before each block of table 0.
    pub(super) fn ranks(&self) -> Result<&[u64], ReadError> {
        if let Some(ranks) = self.ranks.get() {
            return Ok(ranks);
        }
        let (table, file) = (&self.tables[0], self.data.as_ref());
        let mut windows = self.read_ahead.windows(&self.data);
        let (mut ranks, mut rank) = (Vec::with_capacity(table.keys.len()), 0);
        for block in 0..table.keys.len() {
            windows.reach(table, block);
            let bytes = table.block(file, block).map_err(|error| self.error(error))?;
            ranks.push(rank);
            rank += entry_count(bytes) as u64;
        }
        Ok(self.ranks.get_or_init(|| ranks.into()))
    }
}

fn places<F: Fingerprint>(index: &Index<F>, fingerprint: F) -> Result<Range<u64>, ReadError> {
    let Some((block, entry)) = index.find(fingerprint, &mut Scanner::default())? else { return Ok(0..0) };
    if let Some(ids) = &index.ids {
        return ids.places(index.data.as_ref(), block, entry).map_err(|error| index.error(error));
    }
    let place = index.ranks()?[block] + entry as u64;
    Ok(place..place + 1)
}

fn place_of<F: Fingerprint>(index: &Index<F>, fingerprint: F, id: u64) -> Result<Option<u64>, ReadError> {
    let mut places = places(index, fingerprint)?;
    match &index.ids {
        Some(ids) => ids.find(index.data.as_ref(), places, id).map_err(|error| index.error(error)),
        None => Ok(places.next()),
    }
}

fn fingerprint_at<F: Fingerprint>(index: &Index<F>, place: u64) -> Result<F, ReadError> {
    let file = index.data.as_ref();
    let (block, entry) = match &index.ids {
        Some(ids) => ids.entry_at(file, place).map_err(|error| index.error(error))?,
        None => {
            let ranks = index.ranks()?;
            let block = ranks.partition_point(|&rank| rank <= place) - 1;
            (block, place - ranks[block])
        }
    };
    let mut values = Vec::new();
    let decoded = index.tables[0].decode(file, block, &mut Scratch::default(), &mut values);
    decoded.map_err(|error| index.error(error))?;
    let found = usize::try_from(entry).ok().and_then(|entry| values.get(entry)).copied();
    found.ok_or_else(|| index.error(ReadError::damaged(Place::IdDirectory, "it leads beyond a block")))
}

fn rank<F: Fingerprint>(index: &Index<F>, fingerprint: F) -> Result<u64, ReadError> {
    let file = index.data.as_ref();
    let block = index.tables[0].keys.in_file(file).find(fingerprint);
    let Some(&before) = index.ranks()?.get(block) else { return Ok(index.len()) };
    let mut values = Vec::new();
    let decoded = index.tables[0].decode(file, block, &mut Scratch::default(), &mut values);
    decoded.map_err(|error| index.error(error))?;
    Ok(before + values.partition_point(|&value| value < fingerprint) as u64)
}
