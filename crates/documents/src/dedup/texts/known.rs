//! Known documents, streamed past the new ones.
//!
//! The sets of the new documents are indexed by their prefixes; the known sets, which may be many times as many, pass
//! by once and are not kept. It is the batch of Manku, Jain and Das Sarma (section 4) turned round: the queries are
//! indexed, and the stored set is read front to back.
//!
//! A new set of n shingles shares at least s = ⌈t·n⌉ with any set that is t-similar. So one of *any* n − s + 1 of its
//! shingles is in a similar set, and since all shingles of a known set are looked up, the global order of other prefixes
//! is not needed: the rarest are taken. Of these n − s + 1, a similar set that must share m ≥ s has at least m − s + 1,
//! which leaves hardly a pair to compare that has only phrases in common.

use std::collections::HashMap;

use crate::dedup::grouping::hash_lists::HashLists;
use crate::dedup::known::KnownAs;
use crate::dedup::resources::{Progress, Resources, Stage};
use crate::dedup::similarity::Similarity;
use crate::dedup::spill::Spilled;
use crate::dedup::texts::join::share_at_least;
use crate::dedup::texts::shingle_counts::ShingleCounts;
use crate::error::Error;
use hamdex_simhash::resemblance;

/// Bits of the mark table per indexed shingle: 1/16 of all other shingles have a mark.
const MARKS_PER_SHINGLE: usize = 16;

/// The new documents, indexed by their shingles: what a [`KnownTexts`](crate::KnownTexts) is compared with.
pub struct NewTexts<'a> {
    similarity: Similarity,
    sets: &'a Spilled<u64>,
    /// A document of each distinct set.
    leaders: Vec<u32>,
    /// Numbers of `leaders` by the shingles of their prefixes.
    lists: HashLists,
    /// A bit for some bits of every shingle in `lists`, so that most others are not looked up.
    marks: Vec<u64>,
    resources: &'a Resources,
}

/// Compares known sets with the new ones; one per thread.
pub struct Matcher<'a> {
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

/// The most similar known document of each new one.
#[derive(Default)]
pub struct NearestTexts(HashMap<u32, (f64, KnownAs)>);

impl NearestTexts {
    /// Returns the most similar known document of a new text, by its number, and their similarity.
    pub(crate) fn get(&self, text: u32) -> Option<&(f64, KnownAs)> {
        self.0.get(&text)
    }

    /// Takes a similar pair; of equally similar known documents the first that is offered counts. `known` is called if
    /// the pair is the best so far.
    ///
    /// # Errors
    /// The error that `known` returns.
    pub fn offer(
        &mut self,
        similar: Similar,
        known: impl FnOnce() -> Result<KnownAs, Error>,
    ) -> Result<(), Error> {
        let is_better = |(best, _): &(f64, KnownAs)| similar.similarity > *best;
        if self.0.get(&similar.text).is_none_or(is_better) {
            self.0.insert(similar.text, (similar.similarity, known()?));
        }
        Ok(())
    }
}

impl<'a> NewTexts<'a> {
    /// Indexes the sets of these documents, whose sets are distinct.
    pub(crate) fn new(
        sets: &'a Spilled<u64>,
        leaders: Vec<u32>,
        similarity: Similarity,
        resources: &'a Resources,
    ) -> Result<Self, Error> {
        let total = Some(leaders.len() as u64);
        let report = |done| resources.report(Progress::new(Stage::Count, done, total));
        let counts = ShingleCounts::of(sets, &leaders, resources.count_bytes(), &report)?;
        let prefix_len = |set_len: usize| set_len + 1 - similarity.least_shared_with_any(set_len);
        let indexed: usize = leaders.iter().map(|&leader| prefix_len(sets.len(leader))).sum();
        let mark_bits = (indexed * MARKS_PER_SHINGLE).next_power_of_two().max(u64::BITS as usize);
        let mut new = Self {
            similarity,
            sets,
            leaders: Vec::new(),
            lists: HashLists::default(),
            marks: vec![0; mark_bits / u64::BITS as usize],
            resources,
        };
        let mut order: Vec<(u16, u64)> = Vec::new();
        for (number, &leader) in (0u32..).zip(&leaders) {
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
        new.leaders = leaders;
        Ok(new)
    }

    /// The similarity that is searched for, and the width of its shingles.
    #[must_use]
    pub fn similarity(&self) -> Similarity {
        self.similarity
    }

    /// Returns whether there is no text to compare with.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.leaders.is_empty()
    }

    /// Returns a comparison for one thread.
    #[must_use]
    pub fn matcher(&'a self) -> Matcher<'a> {
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
    /// Returns the new texts that are similar to a known one. Its shingles ascend, and each occurs once.
    ///
    /// # Errors
    /// When a temporary file cannot be read.
    pub fn similar(&mut self, known: &[u64]) -> Result<&[Similar], Error> {
        let Self { new, candidates, similar } = self;
        candidates.clear();
        similar.clear();
        for &shingle in known {
            let (word, bit) = new.mark(shingle);
            if new.marks[word] & bit != 0 {
                new.lists.each(shingle, |number| candidates.push(number));
            }
        }
        candidates.sort_unstable();
        for hits in candidates.chunk_by(|one, other| one == other) {
            let text = hits[0];
            let leader = new.leaders[text as usize];
            let size = new.sets.len(leader);
            let least = new.similarity.least_shared(size, known.len());
            let outside_prefix = new.similarity.least_shared_with_any(size) - 1;
            if least > size.min(known.len()) || hits.len() + outside_prefix < least {
                continue;
            }
            let set = new.sets.get(leader)?;
            if share_at_least(&set, known, least) {
                similar.push(Similar { text, similarity: resemblance(&set, known) });
            }
        }
        Ok(similar)
    }
}
