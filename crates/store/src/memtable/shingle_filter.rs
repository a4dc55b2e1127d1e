//! A filter of the shingles of a memtable: a question that shares few shingles with all of its documents together is
//! like none of them, and searches no list.
//!
//! It is a Bloom filter; all bits of a shingle lie in one word. Bits are only ever set, before the documents can be
//! seen, so the filter is shared by all clones of a memtable: it has the shingles of each, and perhaps others, such as
//! those of a refused write. The number of shingles belongs to each clone.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// The shingles that the first level takes. Each level takes eight times as many as the one before, then twice as many,
/// so that a new one adds little to the memory in use.
const FIRST_LEVEL: u64 = 1 << 10;

/// The level from which on the next takes twice as many.
const LARGE_LEVEL: usize = 4;

/// Enough for 2^40 shingles.
const LEVELS: usize = 22;

/// Shingles per word: 8 bits each. With three bits set per shingle, one in thirty others seems to be in a full level.
const SHINGLES_PER_WORD: u64 = 8;

/// Shingles that are looked up at once, so that their waits for memory overlap.
const AT_ONCE: usize = 32;

/// Bytes of the lists of a shingle of a document: a pair, and its part of the directory.
const LIST_BYTES: u64 = 10;

type Level = Box<[AtomicU64]>;

/// The filter of a memtable.
#[derive(Debug, Default)]
pub(super) struct ShingleFilter {
    levels: [OnceLock<Level>; LEVELS],
    /// Whether a question has been asked, after which lists may be made.
    is_asked: AtomicBool,
}

impl ShingleFilter {
    /// Adds the shingles of a document to a clone that has `before` of them already.
    pub(super) fn add(&self, shingles: &[u64], before: u64) {
        let number = level_of(before + shingles.len() as u64);
        let level = self.levels[number].get_or_init(|| {
            let words = capacity(number) / SHINGLES_PER_WORD;
            (0..words).map(|_| AtomicU64::new(0)).collect()
        });
        for &shingle in shingles {
            let (word, bits) = place_of(shingle, level.len());
            level[word].fetch_or(bits, Ordering::Relaxed);
        }
    }

    /// Returns whether at least `least` of these shingles may be in documents.
    pub(super) fn may_have(&self, shingles: &[u64], least: usize) -> bool {
        // A store would take the cache line from other threads.
        if !self.is_asked.load(Ordering::Relaxed) {
            self.is_asked.store(true, Ordering::Relaxed);
        }
        let Some(mut spare) = shingles.len().checked_sub(least) else { return false };
        for some in shingles.chunks(AT_ONCE) {
            let mut are_there = [false; AT_ONCE];
            for level in self.levels.iter().filter_map(OnceLock::get) {
                for (is_there, &shingle) in are_there.iter_mut().zip(some) {
                    let (word, bits) = place_of(shingle, level.len());
                    *is_there |= level[word].load(Ordering::Relaxed) & bits == bits;
                }
            }
            let missing = are_there[..some.len()].iter().filter(|&&is_there| !is_there).count();
            match spare.checked_sub(missing) {
                Some(left) => spare = left,
                None => return false,
            }
        }
        true
    }

    /// Returns the memory that a clone with so many shingles uses, in bytes.
    pub(super) fn bytes(count: u64) -> usize {
        let levels = if count == 0 { 0 } else { level_of(count) + 1 };
        (0..levels).map(capacity).sum::<u64>() as usize
    }

    /// Returns the bytes that lists of all documents take, if questions make them; 0 as long as none is asked.
    pub(super) fn bytes_of_lists(&self, count: u64) -> usize {
        if self.is_asked.load(Ordering::Relaxed) { (count * LIST_BYTES) as usize } else { 0 }
    }
}

/// Returns the shingles that a level takes, and its bytes.
fn capacity(number: usize) -> u64 {
    FIRST_LEVEL << (3 * number.min(LARGE_LEVEL) + number.saturating_sub(LARGE_LEVEL))
}

/// Returns the level that takes the last of so many shingles.
fn level_of(count: u64) -> usize {
    let mut left = count;
    (0..LEVELS - 1)
        .find(|&number| {
            let fits = left <= capacity(number);
            left = left.saturating_sub(capacity(number));
            fits
        })
        .unwrap_or(LEVELS - 1)
}

/// Returns the word of a shingle, of so many, and its bits in it.
fn place_of(shingle: u64, words: usize) -> (usize, u64) {
    // Shingles may be any numbers, near each other too: two multiplications by odd numbers spread them.
    let spread = shingle.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let spread = (spread ^ spread >> 32).wrapping_mul(0xd6e8_feb8_6659_fd93);
    let word = (u128::from(spread) * words as u128) >> 64;
    let bit = |shift: u32| 1 << (spread >> shift & 63);
    (word as usize, bit(0) | bit(6) | bit(12))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_shingle_is_missed_and_few_others_seem_to_be_there() {
        let filter = ShingleFilter::default();
        assert!(!filter.may_have(&[1, 2, 3], 1), "it is empty");
        assert!(filter.may_have(&[], 0));
        // Into the fifth level; near each other, and apart.
        let set_of = |number: u64| -> Vec<u64> {
            (0..500)
                .map(
                    |own| if number.is_multiple_of(2) { 500 * number + own } else { number << 33 | own << 3 },
                )
                .collect()
        };
        let sets = 3_000;
        (0..sets).for_each(|number| filter.add(&set_of(number), 500 * number));
        assert!((0..sets).all(|number| filter.may_have(&set_of(number), 500)));
        assert_eq!(filter.levels.iter().filter(|level| level.get().is_some()).count(), 5);
        let half = |number| [set_of(number), set_of(sets + number)].concat();
        assert!((0..100).all(|number| filter.may_have(&half(number), 500)));
        assert!((0..100).all(|number| !filter.may_have(&half(number), 700)));
        let seem = (0..100).filter(|number| filter.may_have(&set_of(sets + number), 100)).count();
        assert_eq!(seem, 0, "one in ten seems to be there");
        let made: usize =
            filter.levels.iter().filter_map(OnceLock::get).map(|level| size_of_val(&**level)).sum();
        assert_eq!(ShingleFilter::bytes(500 * sets), made);
        assert_eq!(filter.bytes_of_lists(500 * sets), 500 * 3_000 * 10);
        assert_eq!((ShingleFilter::bytes(0), filter.bytes_of_lists(0)), (0, 0));
    }

    #[test]
    fn a_huge_document_goes_into_a_level_of_its_size() {
        let filter = ShingleFilter::default();
        filter.add(&(0..1 << 20).collect::<Vec<_>>(), 0);
        let others: Vec<u64> = (1 << 21..(1 << 21) + 1000).collect();
        assert!(!filter.may_have(&others, 200));
        // A new level is at most twice as large as all before together, beyond the small ones.
        for number in LARGE_LEVEL + 1..LEVELS {
            assert!(capacity(number) <= 2 * (0..number).map(capacity).sum::<u64>());
            assert_eq!(level_of((0..=number).map(capacity).sum()), number);
        }
    }
}
