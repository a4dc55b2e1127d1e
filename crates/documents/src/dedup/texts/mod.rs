//! Near-duplicates by the similarity of texts, as sets of shingles. This file has their join: all classes with similar
//! sets are found, by their prefixes; fingerprints are not needed. It links similar classes to chains, too.
//!
//! - [`prefix`]: the shingles of a set that lead to similar ones, the rarest, and the lists of these
//! - [`new_texts`]: known documents, streamed past the new ones

pub(crate) mod new_texts;
pub(crate) mod prefix;

use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

use hamdex::sort_by_keys;
use hamdex::threads::map_numbers;

use crate::dedup::classes::{Classes, UnionFind};
use crate::dedup::grouping::stars::{Neighbourhood, REPORT_EVERY, batches};
use crate::dedup::resources::Report;
use crate::dedup::similarity::Similarity;
use crate::dedup::spill::Spilled;
use crate::dedup::texts::prefix::{Postings, Prefix, ShingleCounts};
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

/// Classes whose postings are listed between two cancellation checks.
const TAKEN_AT_ONCE: u32 = 1 << 14;

/// A shingle in the prefix of a class.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Posting {
    shingle: u64,
    /// Whether it is outside the short prefix, so that it leads to smaller sets only.
    is_long: bool,
    /// The star of the class; the members of a star are linked already, and sorted together.
    star: u32,
    class: u32,
}

/// Returns the first class of the chain of every class, given its star. Calls `report` with the number of classes
/// done.
pub(crate) fn linked(similar: &SetJoin<'_>, stars: &[u32], report: &Report<'_>) -> Result<Vec<u32>, Error> {
    let check = |done: u32, class: u32| {
        if class.is_multiple_of(REPORT_EVERY) { report(done.into()) } else { Ok(()) }
    };
    let prefixes = map_numbers(similar.len() as usize, Scratch::default, |scratch, class| {
        check(0, class as u32)?;
        similar.prefix(class as u32, scratch)
    })?;
    let postings = postings(&prefixes, stars, &|| report(0))?;
    let mut unions = UnionFind::of(similar.len());
    (0..).zip(stars).for_each(|(class, &star)| unions.join(class, star));
    for batch in batches(0..similar.len(), 0, |_| 0) {
        let start = batch.start;
        report(start.into())?;
        let roots = unions.firsts();
        let links = map_numbers(batch.len(), Vec::new, |candidates, number| {
            let class = start + number as u32;
            check(start, class)?;
            let mut links = Vec::new();
            candidates.clear();
            candidates_of(class, &prefixes[class as usize], (&postings, &roots, similar.sizes()), candidates);
            similar.confirm(class, candidates, |other| {
                links.push((class, other));
                true
            })?;
            Ok::<_, Error>(links)
        })?;
        links.into_iter().flatten().for_each(|(one, other)| unions.join(one, other));
    }
    Ok(unions.firsts())
}

/// Returns all postings, sorted. Calls `check` now and then, until it fails.
fn postings(
    prefixes: &[Prefix],
    stars: &[u32],
    check: &(impl Fn() -> Result<(), Error> + Sync),
) -> Result<Vec<Posting>, Error> {
    let mut all = Vec::with_capacity(prefixes.iter().map(|prefix| prefix.shingles.len()).sum());
    for ((class, prefix), &star) in (0u32..).zip(prefixes).zip(stars) {
        if class.is_multiple_of(TAKEN_AT_ONCE) {
            check()?;
        }
        let posting = |(place, &shingle)| Posting { shingle, is_long: place >= prefix.short, star, class };
        all.extend((0..).zip(&prefix.shingles).map(posting));
    }
    let rest = |posting: &Posting| {
        let Posting { is_long, star, class, .. } = *posting;
        u128::from(is_long) << 64 | u128::from(star) << 32 | u128::from(class)
    };
    sort_by_keys(&mut all, |posting| posting.shingle, rest, check)?;
    Ok(all)
}

/// Finds the earlier classes that may be similar and are not linked to this class yet.
fn candidates_of(
    class: u32,
    prefix: &Prefix,
    (postings, roots, sizes): (&[Posting], &[u32], &[u32]),
    candidates: &mut Vec<u32>,
) {
    let size = sizes[class as usize];
    let root = roots[class as usize];
    for (place, &shingle) in prefix.shingles.iter().enumerate() {
        let is_short = place < prefix.short;
        // The first common shingle is in the short prefix of the smaller set.
        for is_long in [false, true] {
            if is_long && !is_short {
                continue;
            }
            let key = |posting: &Posting| (posting.shingle, posting.is_long);
            let start = postings.partition_point(|posting| key(posting) < (shingle, is_long));
            let mut rest = &postings[start..];
            while let Some((posting, others)) =
                rest.split_first().filter(|(first, _)| key(first) == (shingle, is_long))
            {
                let is_same =
                    |other: &Posting| (key(other), other.star) == ((shingle, is_long), posting.star);
                let other_size = sizes[posting.class as usize];
                rest = others;
                if roots[posting.star as usize] == root {
                    // A star can be large: skip all of it.
                    if others.first().is_some_and(is_same) {
                        rest = &others[others.partition_point(is_same)..];
                    }
                } else if posting.class < class
                    && if is_long { other_size > size } else { is_short || other_size < size }
                {
                    candidates.push(posting.class);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

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
