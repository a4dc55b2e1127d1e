//! Prefix filtering: the few shingles of a set by which similar sets are found, the rarest first.
//!
//! All shingles have one global order. Two sets that share at least s shingles have a common one among the first
//! n − s + 1 of each, n being its size: otherwise one of them would have at most s − 1 shingles left to share. This is
//! prefix filtering (Chaudhuri, Ganti and Kaushik, "A Primitive Operator for Similarity Joins in Data Cleaning", ICDE
//! 2006). The rarest shingles come first, so most prefixes have no shingle in common.
//!
//! With the threshold t, a set shares at least t·n shingles with any similar set, and at least 2t/(1 + t)·n with a
//! similar set that is as large or larger. The latter is more, so the smaller set of a pair needs a shorter prefix
//! (Xiao, Wang, Lin and Yu, "Efficient Similarity Joins for Near Duplicate Detection", WWW 2008).

use crate::dedup::grouping::hash_lists::HashLists;
use crate::dedup::similarity::Similarity;
use crate::dedup::texts::shingle_counts::ShingleCounts;
use crate::error::Error;

/// The prefix of a set, without shingles that occur in no other set.
#[derive(Debug, Default)]
pub(crate) struct Prefix {
    /// In the global order.
    pub(crate) shingles: Vec<u64>,
    /// The length of the short prefix, for sets that are as large or larger; the whole prefix is for smaller ones.
    pub(crate) short: usize,
}

impl Prefix {
    /// Returns the prefix of a set. `order` is a buffer.
    pub(crate) fn of(
        set: &[u64],
        counts: &ShingleCounts,
        similarity: Similarity,
        order: &mut Vec<(u16, u64)>,
    ) -> Self {
        if set.is_empty() {
            return Self::default();
        }
        let long = set.len() + 1 - similarity.least_shared_with_any(set.len());
        let short = set.len() + 1 - similarity.least_shared(set.len(), set.len());
        order.clear();
        // All counts are fetched before the first is used, so that the cache misses overlap.
        order.extend(set.iter().map(|&shingle| (counts.count(shingle), shingle)));
        // Shingles of no other set come first, and lead to nothing.
        let alone = order.iter().filter(|(count, _)| *count <= 1).count();
        if alone >= long {
            return Self::default();
        }
        order.retain(|(count, _)| *count > 1);
        let left = long - alone;
        if left < order.len() {
            order.select_nth_unstable(left);
            order.truncate(left);
        }
        order.sort_unstable();
        let shingles = order.iter().map(|(_, shingle)| *shingle).collect();
        Self { shingles, short: short.saturating_sub(alone) }
    }
}

/// Inverted lists: classes by the shingles of their prefixes.
#[derive(Default)]
pub(crate) struct Postings {
    /// Shingles in short prefixes.
    short: HashLists,
    /// The other shingles of prefixes.
    long: HashLists,
}

impl Postings {
    pub(crate) fn add(&mut self, class: u32, prefix: &Prefix) -> Result<(), Error> {
        for (place, &shingle) in prefix.shingles.iter().enumerate() {
            let lists = if place < prefix.short { &mut self.short } else { &mut self.long };
            lists.add(shingle, class)?;
        }
        Ok(())
    }

    /// Returns the memory of the lists, in bytes.
    pub(crate) fn bytes(&self) -> u64 {
        self.short.bytes() + self.long.bytes()
    }

    /// Calls `found` with every class that may be similar to a set with this prefix and size, possibly several times.
    pub(crate) fn candidates(&self, prefix: &Prefix, size: u32, sizes: &[u32], mut found: impl FnMut(u32)) {
        for (place, &shingle) in prefix.shingles.iter().enumerate() {
            let is_short = place < prefix.short;
            // The first common shingle is in the short prefix of the smaller set.
            for class in self.short.classes(shingle) {
                if is_short || sizes[class as usize] < size {
                    found(class);
                }
            }
            if is_short {
                for class in self.long.classes(shingle) {
                    if sizes[class as usize] > size {
                        found(class);
                    }
                }
            }
        }
    }
}
