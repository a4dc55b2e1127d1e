//! Known documents, streamed past the new ones.
//!
//! The sets of the new documents are indexed by their prefixes; the known sets, which may be many times as many, pass
//! by once and are not kept. It is the batch of Manku, Jain and Das Sarma (section 4) turned round: the queries are
//! indexed, and the stored set is read front to back.
//!
//! A new set of n shingles shares at least s = ⌈t·n⌉ with any set that is t-similar. So one of *any* n − s + 1 of its
//! shingles is in a similar set, and since all shingles of a known set are looked up, the global order of other
//! prefixes is not needed: the rarest are taken. Of these n − s + 1, a similar set that must share m ≥ s has at least m
//! − s + 1, which leaves hardly a pair to compare that has only phrases in common.
//!
//! If the new sets exceed their share of the memory, the known ones pass by once for each part of them.

use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::Range;

use crate::dedup::classes::HashLists;
use crate::dedup::resources::{Progress, Resources, Stage};
use crate::dedup::similarity::Similarity;
use crate::dedup::spill::Spilled;
use crate::dedup::texts::prefix::ShingleCounts;
use crate::dedup::texts::share_at_least;
use crate::error::Error;
use hamdex_simhash::resemblance;

/// Bits of the mark table per indexed shingle: 1/16 of all other shingles have a mark.
const MARKS_PER_SHINGLE: usize = 16;

/// A document that is known already.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Known {
    /// The document.
    pub document: u32,
    /// The source of the known document, if texts were compared with several
    /// ([`NearestTexts::set_source`](crate::known::NearestTexts::set_source)); otherwise 0.
    pub source: u32,
    /// The known document: the most similar one, or the nearest fingerprint; of several the first.
    pub known: KnownAs,
    /// The distance of the two fingerprints, in bits; `None` if texts were compared.
    pub distance: Option<u32>,
    /// The share of common shingles, from 0 to 1; `None` if fingerprints were compared.
    pub similarity: Option<f64>,
}

/// The name or id of a known document in its reference.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum KnownAs {
    /// A stored fingerprint.
    Fingerprint(u128),
    /// An id of a set whose ids are numbers.
    Id(u64),
    /// A name, or the id of a document.
    Name(String),
}

/// New documents, indexed by their shingles: all, or as many as memory allows at a time. A
/// [`KnownTexts`](crate::known::KnownTexts) is compared with them.
pub struct NewTexts<'a> {
    similarity: Similarity,
    sets: &'a Spilled<u64>,
    /// A document of each distinct set.
    leaders: &'a [u32],
    /// The number of the first of them among all distinct sets.
    first: u32,
    /// Numbers of `leaders` by the shingles of their prefixes.
    lists: HashLists,
    /// A bit for some bits of every shingle in `lists`, so that most others are not looked up.
    marks: Vec<u64>,
    pub(crate) resources: &'a Resources,
}

/// Compares known sets with the new ones, as [`NewTexts::similar`] does, in memory of its own; one per thread.
pub(crate) struct Matcher<'a> {
    new: &'a NewTexts<'a>,
    candidates: Vec<u32>,
    similar: Vec<Similar>,
}

/// A new text that is similar to a known one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Similar {
    /// The number of the text among distinct new ones.
    text: u32,
    /// The share of common shingles.
    similarity: f64,
}

impl Similar {
    pub(crate) fn new(text: u32, similarity: f64) -> Self {
        Self { text, similarity }
    }
}

/// The most similar known document of each new one.
#[derive(Default)]
pub struct NearestTexts {
    by_text: HashMap<u32, Nearest>,
    source: u32,
}

struct Nearest {
    similarity: f64,
    /// The source of the known document, and its place there.
    place: (u32, u64),
    known: KnownAs,
}

impl NearestTexts {
    /// Returns the most similar known document of a new text, by its number: their similarity, and its source.
    pub(crate) fn get(&self, text: u32) -> Option<(f64, u32, &KnownAs)> {
        self.by_text.get(&text).map(|nearest| (nearest.similarity, nearest.place.0, &nearest.known))
    }

    /// Sets the source of the known documents that follow, in a reference that has several; by default 0. It is returned
    /// as [`Known::source`](crate::known::Known::source).
    pub fn set_source(&mut self, source: u32) {
        self.source = source;
    }

    /// Takes a similar pair; of equally similar known documents the one of the least source counts, and there the one
    /// with the least `place`, its number or id. `known` is called if the pair is the best so far.
    ///
    /// # Errors
    /// The error that `known` returns.
    pub fn offer(
        &mut self,
        similar: Similar,
        place: u64,
        known: impl FnOnce() -> Result<KnownAs, Error>,
    ) -> Result<(), Error> {
        let Similar { text, similarity } = similar;
        let place = (self.source, place);
        let is_better = |best: &Nearest| {
            similarity > best.similarity || (similarity == best.similarity && place < best.place)
        };
        if self.by_text.get(&text).is_none_or(is_better) {
            self.by_text.insert(text, Nearest { similarity, place, known: known()? });
        }
        Ok(())
    }
}

/// The number of shingles by which a set is found.
pub(crate) fn prefix_len(set_len: usize, similarity: Similarity) -> usize {
    set_len + 1 - similarity.least_shared_with_any(set_len)
}

/// Returns how many of these documents, whose sets are distinct, are indexed together in `max_bytes` bytes: at least
/// one.
pub(crate) fn fitting(sets: &Spilled<u64>, leaders: &[u32], similarity: Similarity, max_bytes: u64) -> usize {
    let mut shingles = 0;
    let fits = |&&leader: &&u32| {
        shingles += prefix_len(sets.len(leader), similarity) as u64;
        HashLists::bytes_of(shingles) + shingles * MARKS_PER_SHINGLE as u64 / 8 <= max_bytes
    };
    leaders.iter().take_while(fits).count().max(1).min(leaders.len())
}

impl<'a> NewTexts<'a> {
    /// Indexes the sets of some documents: distinct sets, of which `first` is the number of the first.
    pub(crate) fn new(
        sets: &'a Spilled<u64>,
        (leaders, first): (&'a [u32], u32),
        (similarity, counts): (Similarity, &ShingleCounts),
        resources: &'a Resources,
    ) -> Result<Self, Error> {
        let prefix_len = |set_len| prefix_len(set_len, similarity);
        let indexed: usize = leaders.iter().map(|&leader| prefix_len(sets.len(leader))).sum();
        let mark_bits = (indexed * MARKS_PER_SHINGLE).next_power_of_two().max(u64::BITS as usize);
        let mut new = Self {
            similarity,
            sets,
            leaders,
            first,
            lists: HashLists::default(),
            marks: vec![0; mark_bits / u64::BITS as usize],
            resources,
        };
        let mut order: Vec<(u16, u64)> = Vec::new();
        for (number, &leader) in (0u32..).zip(leaders) {
            new.check_cancelled()?;
            let set = sets.get(leader)?;
            let len = prefix_len(set.len());
            order.clear();
            order.extend(set.iter().map(|&shingle| (counts.count(shingle), shingle)));
            if len < order.len() {
                order.select_nth_unstable(len);
            }
            for &(_, shingle) in &order[..len] {
                new.lists.add(shingle, number)?;
                let (word, bit) = new.mark(shingle);
                new.marks[word] |= bit;
            }
        }
        Ok(new)
    }

    /// Returns whether these are the first of the new documents, so that the known ones have not been read yet.
    #[must_use]
    pub fn are_first(&self) -> bool {
        self.first == 0
    }

    /// The similarity that is searched for, and the width of its shingles.
    #[must_use]
    pub fn similarity(&self) -> Similarity {
        self.similarity
    }

    /// Returns the number of texts to compare with.
    #[must_use]
    pub fn len(&self) -> usize {
        self.leaders.len()
    }

    /// Returns the numbers of the texts among all distinct ones.
    pub(crate) fn texts(&self) -> Range<u32> {
        self.first..self.first + self.leaders.len() as u32
    }

    /// Returns the set of a text, by its number.
    pub(crate) fn set(&self, text: u32) -> Result<Cow<'a, [u64]>, Error> {
        self.sets.get(self.leaders[(text - self.first) as usize])
    }

    /// Returns whether there is no text to compare with.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.leaders.is_empty()
    }

    /// Returns the new texts that are similar to a known one. Its shingles ascend, and each occurs once.
    ///
    /// # Errors
    /// When a temporary file cannot be read.
    pub fn similar(&self, known: &[u64]) -> Result<Vec<Similar>, Error> {
        let mut matcher = self.matcher();
        matcher.similar(known)?;
        Ok(matcher.similar)
    }

    /// Returns a comparison for one thread.
    pub(crate) fn matcher(&'a self) -> Matcher<'a> {
        Matcher { new: self, candidates: Vec::new(), similar: Vec::new() }
    }

    /// Fails if the caller has stopped the search.
    ///
    /// # Errors
    /// [`Error::Stopped`].
    pub fn check_cancelled(&self) -> Result<(), Error> {
        self.resources.report(Progress::new(Stage::Known, 0, None))
    }

    /// The word and the bit of a shingle in the mark table.
    fn mark(&self, shingle: u64) -> (usize, u64) {
        let bits = self.marks.len() * u64::BITS as usize;
        let place = shingle as usize & (bits - 1);
        (place / u64::BITS as usize, 1 << (place % u64::BITS as usize))
    }
}

impl Matcher<'_> {
    /// Returns the new texts that are similar to a known one.
    pub(crate) fn similar(&mut self, known: &[u64]) -> Result<&[Similar], Error> {
        let Self { new, candidates, similar } = self;
        candidates.clear();
        similar.clear();
        for &shingle in known {
            let (word, bit) = new.mark(shingle);
            if new.marks[word] & bit != 0 {
                candidates.extend(new.lists.classes(shingle));
            }
        }
        candidates.sort_unstable();
        for hits in candidates.chunk_by(|one, other| one == other) {
            let leader = new.leaders[hits[0] as usize];
            let size = new.sets.len(leader);
            let least = new.similarity.least_shared(size, known.len());
            let outside_prefix = new.similarity.least_shared_with_any(size) - 1;
            if least > size.min(known.len()) || hits.len() + outside_prefix < least {
                continue;
            }
            let set = new.sets.get(leader)?;
            if share_at_least(&set, known, least) {
                similar.push(Similar { text: new.first + hits[0], similarity: resemblance(&set, known) });
            }
        }
        Ok(similar)
    }
}
