//! The documents of several indexes, and the lists of their shingles, united without sorting them.
//!
//! The places of documents are numbered anew, ascending as before, so that the pairs of each input stay in order. Two
//! passes over the lists: the first digests them, for the id of the file, which stands before everything; the second
//! writes them.

use std::collections::HashMap;
use std::ops::Range;
use std::path::{Path, PathBuf};

use crate::codec::Scratch;
use crate::digest::SetDigest;
use crate::error::{BuildError, IdColumn, ReadError};
use crate::index::{Shingles, SortedBlocks};
use crate::merge::Kept;
use crate::merge::gather::{self, Part, Parts};
use crate::merge::merged::for_each_part;
use crate::progress::Counter;
use crate::shingles::table::Head;
use crate::sorted_union::SortedUnion;
use crate::writer::{ColumnSource, DirectorySpool, PairSource, ShingleSpool, Sorted, Visit, digested};

/// Marks the place of a document that the output lacks.
const DROPPED: u64 = 1 << 63;

/// Marks the place of a document that an input before has, too.
const REPEATED: u64 = 1 << 62;

/// The documents of several indexes.
pub(super) struct MergedShingles<'i> {
    /// Those of each, and the number added to its ids.
    inputs: Vec<(Shingles<'i>, u64)>,
    /// Whether documents whose ids are left out are left out, too.
    is_filtered: bool,
    temp_dir: PathBuf,
    done: Counter,
}

/// The documents of an index, and the place in the output of each.
struct Input<'i> {
    shingles: Shingles<'i>,
    /// By place in the input, ascending except for the marks; for a dropped document, that of the last one kept before it.
    places: Vec<u64>,
}

impl<'i> MergedShingles<'i> {
    pub(super) fn new(
        inputs: Vec<(Shingles<'i>, u64)>,
        is_filtered: bool,
        temp_dir: &Path,
        done: Counter,
    ) -> Self {
        Self { inputs, is_filtered, temp_dir: temp_dir.to_owned(), done }
    }
}

impl<'i> ColumnSource for MergedShingles<'i> {
    type Spool = ShingleSpool<'i>;

    fn wants_ids(&self) -> bool {
        self.is_filtered
    }

    fn spool(self: Box<Self>, ids: Option<&Sorted<u64>>) -> Result<ShingleSpool<'i>, BuildError> {
        let Self { inputs, temp_dir, done, .. } = *self;
        let mut directory = DirectorySpool::new(IdColumn::Shingles, &temp_dir)?;
        let mut kept = Kept::new(ids)?;
        let mut digest = SetDigest::default();
        let mut repeats = Repeats::default();
        let mut all = inputs.iter().map(Input::new).collect::<Result<Vec<_>, _>>()?;
        let lists = inputs.iter().map(|&(shingles, offset)| {
            let documents = shingles.documents();
            (0..documents.len()).map(move |place| {
                let id = documents.id(place)?.saturating_add(offset);
                Ok::<_, ReadError>((id, documents.length(place)?))
            })
        });
        let mut last = None;
        for item in SortedUnion::of(lists) {
            let (id, number, length) = item?;
            let places = &mut all[number].places;
            let latest = directory.count().saturating_sub(1);
            if last == Some((id, length)) {
                repeats.add(id, latest);
                places.push(latest | REPEATED);
            } else if last.is_some_and(|(last, _)| last == id) {
                return Err(BuildError::ShinglesDiffer { id });
            } else if kept.contains(id)? {
                last = Some((id, length));
                places.push(directory.count());
                directory.push(id, length)?;
                digest.add_pair(id, length);
            } else {
                places.push(latest | DROPPED);
            }
            done.check()?;
        }
        for input in &all {
            input.digest(&mut digest, &mut repeats, &done)?;
        }
        repeats.check()?;
        Ok(ShingleSpool::of_lists(directory, digest, Box::new(MergedLists(all))))
    }
}

impl<'i> Input<'i> {
    fn new(&(shingles, _): &(Shingles<'i>, u64)) -> Result<Self, BuildError> {
        let (mut places, count) = (Vec::new(), shingles.len());
        let bytes = count.saturating_mul(size_of::<u64>() as u64);
        let room = places.try_reserve_exact(usize::try_from(count).unwrap_or(usize::MAX));
        room.map_err(|_| BuildError::OutOfMemory { bytes })?;
        Ok(Self { shingles, places })
    }

    /// Adds the pairs to a digest, except those of repeated documents.
    fn digest(
        &self,
        digest: &mut SetDigest,
        repeats: &mut Repeats,
        done: &Counter,
    ) -> Result<(), BuildError> {
        let (documents, pairs) = (self.shingles.documents(), self.shingles.pairs());
        let head = *pairs.head();
        let mut found = SetDigest::default();
        let read = self.shingles.for_each_run(&Err, &mut |run| {
            for &pair in run {
                found.add(head.place_of(pair));
                let (new, shingle) = (self.place(pair)?, digested(head.shingle_of(pair)));
                if new & DROPPED != 0 {
                    continue;
                }
                if new & REPEATED == 0 {
                    digest.add_pair(new, shingle);
                }
                repeats.digest(new, shingle);
            }
            Ok(done.check()?)
        });
        // Contradictions would become those of the output.
        let read = read.and_then(|()| pairs.check_counts(&documents, found, &|| Ok(done.check()?)));
        read.map(drop).map_err(|error| error.of_file(documents.path()).into())
    }

    /// Returns the place in the output of the document of a pair.
    fn place(&self, pair: u128) -> Result<u64, ReadError> {
        let (documents, pairs) = (self.shingles.documents(), self.shingles.pairs());
        Ok(self.places[pairs.place_of(documents.file(), pair)? as usize])
    }
}

/// Documents that several inputs have: their sets must be equal.
#[derive(Default)]
struct Repeats {
    /// By place in the output: the id, the number of repeats, and digests of the first set, and of all others together.
    documents: HashMap<u64, Repeat>,
}

struct Repeat {
    id: u64,
    others: u64,
    first: SetDigest,
    rest: SetDigest,
}

impl Repeats {
    fn add(&mut self, id: u64, place: u64) {
        let nothing = SetDigest::default();
        let repeat = || Repeat { id, others: 0, first: nothing, rest: nothing };
        self.documents.entry(place).or_insert_with(repeat).others += 1;
    }

    /// Adds a shingle to the document of a place in the output, marked if it is a repeat.
    fn digest(&mut self, place: u64, shingle: u64) {
        if self.documents.is_empty() {
            return;
        }
        if let Some(repeat) = self.documents.get_mut(&(place & !REPEATED)) {
            if place & REPEATED == 0 {
                repeat.first.add(shingle);
            } else {
                repeat.rest.add(shingle);
            }
        }
    }

    /// Fails if the sets of a document differ.
    fn check(&self) -> Result<(), BuildError> {
        let differs = |repeat: &&Repeat| repeat.first.times(repeat.others) != repeat.rest;
        match self.documents.values().filter(differs).map(|repeat| repeat.id).min() {
            Some(id) => Err(BuildError::ShinglesDiffer { id }),
            None => Ok(()),
        }
    }
}

/// The lists of several indexes.
struct MergedLists<'i>(Vec<Input<'i>>);

impl PairSource for MergedLists<'_> {
    fn for_each_batch(&self, head: &Head, visit: &mut Visit<'_, u128>) -> Result<(), BuildError> {
        let lists: Vec<_> = self.0.iter().map(|input| PairsView { input, head: *head }).collect();
        let gather = |part: &Part<u128>, scratch: &mut Scratch<u128>| gather::values(&lists, part, scratch);
        for_each_part(Parts::new(lists.clone(), false), gather, |pairs: Vec<u128>| visit(&pairs))
    }
}

/// The pairs of an input, as the output has them.
#[derive(Clone)]
struct PairsView<'m, 'i> {
    input: &'m Input<'i>,
    /// That of the output.
    head: Head,
}

impl SortedBlocks<u128> for PairsView<'_, '_> {
    fn blocks(&self) -> usize {
        self.input.shingles.pairs().table().keys.len()
    }

    fn key(&self, block: usize) -> u128 {
        let (shingles, places) = (self.input.shingles, &self.input.places);
        let key = shingles.key(block);
        let old = shingles.pairs().head();
        // A dropped one becomes the last before it, so that the key is not below any pair of the block.
        let place = places.get(old.place_of(key) as usize).or(places.last()).copied().unwrap_or(0);
        self.head.pair(old.shingle_of(key), place & !(DROPPED | REPEATED))
    }

    fn ids_before(&self, _: usize) -> Result<u64, ReadError> {
        Ok(0)
    }

    fn decode(
        &self,
        blocks: Range<usize>,
        scratch: &mut Scratch<u128>,
        values: &mut Vec<u128>,
    ) -> Result<(), ReadError> {
        let (shingles, start) = (self.input.shingles, values.len());
        let run = |values: &mut Vec<u128>| {
            shingles.decode(blocks, scratch, values)?;
            let (old, mut kept) = (shingles.pairs().head(), start);
            for at in start..values.len() {
                let new = self.input.place(values[at])?;
                if new & (DROPPED | REPEATED) == 0 {
                    values[kept] = self.head.pair(old.shingle_of(values[at]), new);
                    kept += 1;
                }
            }
            values.truncate(kept);
            Ok(())
        };
        run(values).map_err(|error: ReadError| error.of_file(shingles.documents().path()))
    }
}
