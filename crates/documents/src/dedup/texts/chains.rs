//! Chains of similar classes: the connected components of similarity.

use hamdex::sort_by_keys;
use rayon::prelude::*;

use crate::dedup::grouping::stars::{REPORT_EVERY, batches};
use crate::dedup::grouping::union_find::UnionFind;
use crate::dedup::resources::Report;
use crate::dedup::texts::prefix::Prefix;
use crate::dedup::texts::{Scratch, SetJoin};
use crate::error::Error;

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
    let prefixes: Vec<Prefix> = (0..similar.len())
        .into_par_iter()
        .map_init(Scratch::default, |scratch, class| {
            check(0, class)?;
            similar.prefix(class, scratch)
        })
        .collect::<Result<_, _>>()?;
    let postings = postings(&prefixes, stars, &|| report(0))?;
    let mut unions = UnionFind::of(similar.len());
    (0..).zip(stars).for_each(|(class, &star)| unions.join(class, star));
    for batch in batches(similar.len()) {
        let start = batch.start;
        report(start.into())?;
        let roots = unions.firsts();
        let links: Vec<Vec<(u32, u32)>> = batch
            .into_par_iter()
            .map_init(Vec::new, |candidates, class| {
                check(start, class)?;
                let mut links = Vec::new();
                candidates.clear();
                candidates_of(
                    class,
                    &prefixes[class as usize],
                    (&postings, &roots, similar.sizes()),
                    candidates,
                );
                similar.confirm(class, candidates, |other| {
                    links.push((class, other));
                    true
                })?;
                Ok(links)
            })
            .collect::<Result<_, Error>>()?;
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
