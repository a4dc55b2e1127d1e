//! Shingles: hashes of the runs of words of a document, by which documents are compared as texts.
//!
//! An index has them if it was built with [`BuildOptions::shingles`](crate::BuildOptions::shingles): for each shingle the
//! documents that have it, in three optional sections that queries by fingerprint do not read.
//! [`similar`](crate::similar) has the search through them.
//!
//! The bytes of a set by itself, as the logs of stores have it, are an Elias-Fano code (Elias, "Efficient storage and
//! retrieval by content and address of static files", J. ACM 21, 1974; Fano, MIT 1971).
//!
//! ```text
//! LEB128   n, the number of shingles
//! n × l    the low l = 48 − ⌈log2 n⌉ bits of each
//! …        the rest of each, as the zeros by which it exceeds the one before, and a one
//! ```
//!
//! That is at most two bits per shingle more than ⌈48 − log2 n⌉, and within 2 % of the bound of information for the
//! documents of a crawl. It is decoded at about a nanosecond per shingle, without a table.

// - `table`: the lists of documents of a file: one more sorted table in blocks, of pairs of shingle and document
// - `memory`: lists in memory
// - `condition`: how alike two documents have to be
// - `search`: from lists to the documents that meet a condition

pub(crate) mod condition;
pub(crate) mod memory;
pub(crate) mod search;
pub(crate) mod table;

pub(crate) use condition::{Condition, SimilarDocument};
pub(crate) use search::{Alike, List, Lists, Search};
pub(crate) use table::{PairTable, ShingleTable};

use crate::bits::{self, WINDOW_BITS, window};

/// The metadata key under which a set says how its shingles are made. Sets are compared only if they say the same.
pub const KEY: &str = "hamdex.shingles";

/// Bits of a shingle.
pub const BITS: u32 = 48;

/// The most shingles of a document.
pub const MAX_COUNT: usize = 1 << 28;

/// Returns the bits of each shingle that are stored as they are.
fn low_bits(count: usize) -> u32 {
    BITS - (usize::BITS - (count - 1).leading_zeros())
}

/// Returns whether shingles ascend, do not exceed [`BITS`], and are at most [`MAX_COUNT`].
pub(crate) fn are_set(shingles: &[u64]) -> bool {
    shingles.is_sorted_by(|a, b| a < b)
        && shingles.last().is_none_or(|last| last >> BITS == 0)
        && shingles.len() <= MAX_COUNT
}

/// Returns the bytes of a set of shingles; `None` if they do not ascend, exceed [`BITS`] or are more than
/// [`MAX_COUNT`].
#[must_use]
pub fn encode(shingles: &[u64]) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    let mut rest = shingles.len();
    while rest >= 0x80 {
        bytes.push(rest as u8 | 0x80);
        rest >>= 7;
    }
    bytes.push(rest as u8);
    if !are_set(shingles) {
        return None;
    }
    let Some(&last) = shingles.last() else { return Some(bytes) };
    let low = low_bits(shingles.len());
    let start = bytes.len();
    let length = shingles.len() * (low as usize + 1) + (last >> low) as usize;
    // The writer writes whole words.
    bytes.resize(start + length.div_ceil(8) + 8, 0);
    let mut writer = bits::Writer::new(&mut bytes[start..], 0);
    for shingle in shingles {
        writer.put(shingle & ((1 << low) - 1), low);
    }
    let mut high = 0;
    for shingle in shingles {
        let mut zeros = (shingle >> low) - high;
        high = shingle >> low;
        while zeros >= 32 {
            writer.put(0, 32);
            zeros -= 32;
        }
        writer.put(1, zeros as u32 + 1);
    }
    let end = writer.finish();
    bytes.truncate(start + end.div_ceil(8));
    Some(bytes)
}

/// Replaces the contents of `shingles` by a set; returns `false` if these are not the bytes of one, and leaves any
/// contents then.
#[must_use]
pub fn decode(bytes: &[u8], shingles: &mut Vec<u64>) -> bool {
    shingles.clear();
    let Some((count, bytes)) = read_count(bytes) else { return false };
    if count == 0 {
        return bytes.is_empty();
    }
    let low = low_bits(count);
    // Each shingle has its low bits and a one, so that no more memory is reserved than the bytes are long.
    let lows = count * low as usize;
    if lows + count > bytes.len() * 8 {
        return false;
    }
    shingles.reserve(count);
    let end = bytes.len() * 8;
    let (mut at, mut high) = (lows, 0u64);
    let (mut word, mut valid) = (window(bytes, at), WINDOW_BITS);
    for number in 0..count {
        let mut zeros = word.leading_zeros();
        while zeros >= valid {
            high += u64::from(valid);
            at += valid as usize;
            if at >= end {
                return false;
            }
            (word, valid) = (window(bytes, at), WINDOW_BITS);
            zeros = word.leading_zeros();
        }
        high += u64::from(zeros);
        let taken = zeros + 1;
        (word, valid, at) = (word << zeros << 1, valid - taken, at + taken as usize);
        shingles.push(high << low | bits::read::<u64>(bytes, number * low as usize, low));
    }
    let is_at_end = at <= end && at.div_ceil(8) == bytes.len();
    is_at_end
        && bits::are_zero_after(bytes, at as u64)
        && high >> (BITS - low) == 0
        && shingles.is_sorted_by(|a, b| a < b)
}

/// Returns the number of shingles and the bytes after it; the number takes as few bytes as it can.
fn read_count(bytes: &[u8]) -> Option<(usize, &[u8])> {
    let mut count = 0usize;
    for (place, &byte) in bytes.iter().enumerate().take(5) {
        count |= usize::from(byte & 0x7f) << (7 * place);
        if byte & 0x80 == 0 {
            let is_shortest = place == 0 || byte != 0;
            return (is_shortest && count <= MAX_COUNT).then_some((count, &bytes[place + 1..]));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    fn sets() -> impl Strategy<Value = BTreeSet<u64>> {
        let uniform = prop::collection::btree_set(0u64..1 << BITS, 0..300);
        let dense = prop::collection::btree_set(0u64..2000, 0..900);
        let ends = prop::sample::subsequence(vec![0, 1, 2, (1 << BITS) - 2, (1 << BITS) - 1], 0..5);
        prop_oneof![uniform, dense, ends.prop_map(|ends| ends.into_iter().collect())]
    }

    proptest! {
        #[test]
        fn sets_are_read_back_and_no_other_bytes_are_sets(set in sets(), flip: u64, cut in 1usize..9) {
            let set: Vec<u64> = set.into_iter().collect();
            let bytes = encode(&set).unwrap();
            let mut read = vec![7];
            prop_assert!(decode(&bytes, &mut read));
            prop_assert_eq!(&read, &set);
            // A set has one form: other bytes are another set, or none.
            let mut other = bytes.clone();
            let bit = flip as usize % (other.len() * 8);
            other[bit / 8] ^= 1 << (bit % 8);
            if decode(&other, &mut read) {
                prop_assert_eq!(encode(&read).unwrap(), other);
                prop_assert_ne!(&read, &set);
            }
            prop_assert!(!decode(&bytes[..bytes.len().saturating_sub(cut)], &mut read) || bytes.len() <= cut);
            prop_assert!(!decode(&[&bytes[..], &[0]].concat(), &mut read));
        }

        #[test]
        fn no_bytes_panic(bytes: Vec<u8>) {
            let mut read = Vec::new();
            if decode(&bytes, &mut read) {
                prop_assert_eq!(encode(&read).unwrap(), bytes);
            }
        }
    }

    #[test]
    fn high_bits_beyond_64_are_not_lost() {
        for set in [&[7][..], &[7, 9], &[1, 2, 3, 4, 5]] {
            let low = low_bits(set.len());
            let zeros = 1usize << (u64::BITS - low);
            let mut bytes = vec![0; 1 + (set.len() * (low as usize + 1) + zeros).div_ceil(8) + 8];
            bytes[0] = set.len() as u8;
            let mut writer = bits::Writer::new(&mut bytes[1..], 0);
            set.iter().for_each(|&shingle| writer.put(shingle, low));
            // The high bits of the last one, shifted by the low ones, would be zero.
            (1..set.len()).for_each(|_| writer.put(1, 1));
            (0..zeros / 32).for_each(|_| writer.put(0, 32));
            writer.put(1, 1);
            let end = writer.finish();
            bytes.truncate(1 + end.div_ceil(8));
            assert!(!decode(&bytes, &mut Vec::new()), "{set:?}");
        }
    }

    #[test]
    fn only_sets_are_encoded() {
        assert_eq!(encode(&[]), Some(vec![0]));
        assert_eq!(encode(&[2, 2]), None);
        assert_eq!(encode(&[3, 2]), None);
        assert_eq!(encode(&[1 << BITS]), None);
    }

    #[test]
    fn a_set_takes_little_more_than_its_information() {
        for count in [100u64, 257, 300, 1000, 5000] {
            let set: BTreeSet<u64> =
                (0..count).map(|n| (n + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - BITS)).collect();
            let set: Vec<u64> = set.into_iter().collect();
            // log2 of the binomial coefficient, term by term.
            let bound: f64 =
                (0..count).map(|n| (((1u64 << BITS) - n) as f64 / (count - n) as f64).log2()).sum::<f64>()
                    / 8.0;
            let bytes = encode(&set).unwrap().len() as f64;
            assert!(bytes < bound * 1.03, "{count} shingles: {bytes} bytes, {bound:.0} at least");
        }
    }
}
