//! Near-duplicates by the similarity of texts, as sets of shingles. This file has their join: all classes with similar
//! sets are found, by their prefixes; fingerprints are not needed.
//!
//! - [`prefix`]: the shingles of a set that lead to similar ones, and the lists of these
//! - [`shingle_counts`]: the number of sets that have a shingle
//! - [`chains`]: chains of similar sets
//! - [`new_texts`]: known documents, streamed past the new ones

pub(super) mod chains;
pub(crate) mod new_texts;
mod prefix;
pub(crate) mod shingle_counts;

use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

use crate::dedup::classes::Classes;
use crate::dedup::grouping::stars::Neighbourhood;
use crate::dedup::resources::Report;
use crate::dedup::similarity::Similarity;
use crate::dedup::spill::Spilled;
use crate::dedup::texts::prefix::Postings;
use crate::dedup::texts::prefix::Prefix;
use crate::dedup::texts::shingle_counts::ShingleCounts;
use crate::error::Error;

/// A further condition on pairs of documents.
pub(crate) type Admits<'a> = &'a (dyn Fn(u32, u32) -> bool + Sync);

/// The neighbourhood of similar sets.
pub(crate) struct SetJoin<'a> {
    sets: &'a Spilled<u64>,
    classes: &'a Classes,
    similarity: Similarity,
    admits: Admits<'a>,
    counts: ShingleCounts,
    /// The size of the set of each class.
    sizes: Vec<u32>,
    /// A bit for each class whose prefix is known to be empty, so that its set is not read again.
    alone: Vec<AtomicU64>,
}

/// Memory reused between calls.
#[derive(Default)]
pub(crate) struct Scratch {
    order: Vec<(u16, u64)>,
    candidates: Vec<u32>,
}

impl<'a> SetJoin<'a> {
    /// Counts all shingles in up to `max_bytes`, and calls `report` meanwhile.
    pub(crate) fn new(
        sets: &'a Spilled<u64>,
        classes: &'a Classes,
        similarity: Similarity,
        admits: Admits<'a>,
        max_bytes: u64,
        report: &Report<'_>,
    ) -> Result<Self, Error> {
        let counts = ShingleCounts::of(sets, classes.leaders(), max_bytes, report)?;
        let sizes = classes.leaders().iter().map(|&leader| sets.len(leader) as u32).collect();
        let alone = (0..classes.len().div_ceil(u64::BITS as usize)).map(|_| AtomicU64::new(0)).collect();
        Ok(Self { sets, classes, similarity, admits, counts, sizes, alone })
    }

    pub(crate) fn len(&self) -> u32 {
        self.classes.len() as u32
    }

    pub(crate) fn sizes(&self) -> &[u32] {
        &self.sizes
    }

    pub(crate) fn prefix(&self, class: u32, scratch: &mut Scratch) -> Result<Prefix, Error> {
        let (alone, bit) = (&self.alone[class as usize / u64::BITS as usize], 1 << (class % u64::BITS));
        if alone.load(Relaxed) & bit != 0 {
            return Ok(Prefix::default());
        }
        let set = self.sets.get(self.classes.leader(class))?;
        let prefix = Prefix::of(&set, &self.counts, self.similarity, &mut scratch.order);
        if prefix.shingles.is_empty() {
            alone.fetch_or(bit, Relaxed);
        }
        Ok(prefix)
    }

    /// Calls `visit` with the classes among the candidates that are similar, each once and in ascending order,
    /// until it returns false. Sorts the candidates.
    pub(crate) fn confirm(
        &self,
        class: u32,
        candidates: &mut Vec<u32>,
        mut visit: impl FnMut(u32) -> bool,
    ) -> Result<(), Error> {
        if candidates.is_empty() {
            return Ok(());
        }
        candidates.sort_unstable();
        candidates.dedup();
        let document = self.classes.leader(class);
        let set = self.sets.get(document)?;
        for &candidate in &*candidates {
            let other = self.classes.leader(candidate);
            let size = self.sizes[candidate as usize] as usize;
            let least = self.similarity.least_shared(set.len(), size);
            let is_possible = least <= set.len().min(size) && (self.admits)(document, other);
            if is_possible && share_at_least(&set, &self.sets.get(other)?, least) && !visit(candidate) {
                break;
            }
        }
        Ok(())
    }
}

impl Neighbourhood for SetJoin<'_> {
    type Key = Prefix;
    type Index = Postings;
    type Scratch = Scratch;

    fn key(&self, class: u32, scratch: &mut Scratch) -> Result<Prefix, Error> {
        self.prefix(class, scratch)
    }

    fn add(&self, index: &mut Postings, class: u32, prefix: &Prefix) -> Result<(), Error> {
        index.add(class, prefix)
    }

    fn bytes(&self, index: &Postings) -> u64 {
        index.bytes()
    }

    fn key_bytes(&self, class: u32) -> u64 {
        // At most the whole set.
        u64::from(self.sizes[class as usize]) * size_of::<u64>() as u64
    }

    fn first(
        &self,
        index: &Postings,
        class: u32,
        prefix: &Prefix,
        scratch: &mut Scratch,
    ) -> Result<Option<u32>, Error> {
        let candidates = &mut scratch.candidates;
        candidates.clear();
        index.candidates(prefix, self.sizes[class as usize], &self.sizes, |class| candidates.push(class));
        let mut first = None;
        self.confirm(class, candidates, |candidate| {
            first = Some(candidate);
            false
        })?;
        Ok(first)
    }
}

/// Returns whether two ascending sets share at least `least` shingles.
pub(super) fn share_at_least(one: &[u64], other: &[u64], least: usize) -> bool {
    let (mut mine, mut its, mut shared) = (0, 0, 0);
    // The rest of a set bounds the number of shingles that can still be shared.
    while shared + (one.len() - mine).min(other.len() - its) >= least {
        if shared >= least {
            return true;
        }
        let (first, second) = (one[mine], other[its]);
        shared += usize::from(first == second);
        mine += usize::from(first <= second);
        its += usize::from(second <= first);
    }
    false
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn shared_shingles_are_counted(
            one in prop::collection::btree_set(0u64..60, 0..40),
            other in prop::collection::btree_set(0u64..60, 0..40),
        ) {
            let shared = one.intersection(&other).count();
            let [one, other] = [one, other].map(|set| set.into_iter().collect::<Vec<_>>());
            for least in 0..42 {
                prop_assert_eq!(share_at_least(&one, &other, least), shared >= least);
            }
        }
    }
}
