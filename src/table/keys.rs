//! The last fingerprint of each block: which block may hold a value?
//!
//! The keys stay where they are in the file: all processes that have mapped it share them. In memory is a directory,
//! which cuts the span of the keys into even parts, about four keys each where they are spread evenly, and has where
//! each part begins. In a part of up to eight keys all are compared; in a larger one, as clusters make them, a binary
//! search does the rest.

use std::ops::Range;

use crate::arch::prefetch;
use hamdex_fingerprint::Fingerprint;

/// Keys that are compared all at once.
const COMPARED: usize = 8;

/// Keys in a part of the directory, as a power of two, where they are spread evenly.
const KEYS_PER_PART_LOG2: u32 = 2;

/// Where the strictly ascending keys of a table are, and the directory of them.
#[derive(Debug)]
pub(crate) struct Keys<F> {
    /// Where in the file.
    bytes: Range<usize>,
    /// The bytes themselves, if those of the file may change.
    copy: Option<Box<[u8]>>,
    count: usize,
    /// For each part, how many keys lie before it; one more for the end.
    directory: Vec<u32>,
    /// What [`Self::part_of`] takes off a value: the first key.
    base: F,
    /// How far it shifts the rest.
    shift: u32,
}

impl<F: Fingerprint> Keys<F> {
    /// Keys that lie in that range of the file, at most `u32::MAX` of them; `None` where they are not strictly
    /// ascending.
    pub(crate) fn new(file: &[u8], bytes: Range<usize>) -> Option<Self> {
        let keys = &file[bytes.clone()];
        let count = keys.len() / F::BYTES;
        let key = |place: usize| F::read_le(&keys[place * F::BYTES..][..F::BYTES]);
        let (base, top) = if count == 0 { (F::ZERO, F::ZERO) } else { (key(0), key(count - 1)) };
        if base > top {
            return None;
        }
        let span_bits = F::BITS - top.minus(base).leading_zeros();
        let part_bits = (usize::BITS - count.leading_zeros()).saturating_sub(KEYS_PER_PART_LOG2);
        let shift = span_bits.saturating_sub(part_bits);
        let mut this = Self { bytes, copy: None, count, directory: Vec::new(), base, shift };
        // In one pass: before the first key of a part lie as many keys as have come by then.
        let parts = this.part_of(top) + 1;
        let mut directory = Vec::with_capacity(parts + 1);
        let mut previous = None;
        for (place, key) in keys.chunks_exact(F::BYTES).map(F::read_le).enumerate() {
            // Beyond the last one is no part, and no room for it.
            if previous >= Some(key) || key > top {
                return None;
            }
            previous = Some(key);
            let part = this.part_of(key);
            while directory.len() <= part {
                directory.push(place as u32);
            }
        }
        directory.resize(parts + 1, count as u32);
        this.directory = directory;
        Some(this)
    }

    /// Keeps a copy of the keys: for files that change under their readers.
    pub(crate) fn copied(mut self, file: &[u8]) -> Self {
        self.copy = Some(file[self.bytes.clone()].into());
        self
    }

    /// The part of a value not below the base; parts beyond the last have no keys.
    #[inline(always)]
    fn part_of(&self, value: F) -> usize {
        let offset = value.minus(self.base).to_u128();
        // A shift by the whole width leaves nothing.
        usize::try_from(offset.checked_shr(self.shift).unwrap_or(0)).unwrap_or(usize::MAX)
    }

    /// How many keys.
    #[inline(always)]
    pub(crate) fn len(&self) -> usize {
        self.count
    }

    /// The keys themselves, in the file that they are of.
    #[inline(always)]
    pub(crate) fn in_file<'a>(&'a self, file: &'a [u8]) -> KeysInFile<'a, F> {
        let bytes = match &self.copy {
            None => &file[self.bytes.clone()],
            Some(copy) => copy,
        };
        KeysInFile { keys: self, bytes }
    }

    /// Where the keys of a value's part start and end; `None` where the value is not above the first
    /// key, or above all.
    #[inline(always)]
    fn part(&self, value: F) -> Option<(usize, usize)> {
        let part = self.part_of(value);
        let is_inside = value > self.base && part < self.directory.len() - 1;
        is_inside.then(|| (self.directory[part] as usize, self.directory[part + 1] as usize))
    }

    /// Prefetches what a look-up of the value needs first.
    #[inline(always)]
    pub(crate) fn prefetch_directory(&self, value: F) {
        prefetch(&self.directory, self.part_of(value));
    }

    /// Bytes of memory in use, beside the file.
    pub(crate) fn bytes(&self) -> usize {
        self.copy.as_ref().map_or(0, |copy| copy.len()) + self.directory.len() * size_of::<u32>()
    }
}

/// The keys of a table, to be looked at.
#[derive(Clone, Copy)]
pub(crate) struct KeysInFile<'a, F> {
    keys: &'a Keys<F>,
    bytes: &'a [u8],
}

impl<F: Fingerprint> KeysInFile<'_, F> {
    /// How many keys.
    #[inline(always)]
    pub(crate) fn len(&self) -> usize {
        self.keys.count
    }

    /// The key of a block.
    #[inline(always)]
    pub(crate) fn get(&self, block: usize) -> F {
        F::read_le(&self.bytes[block * F::BYTES..][..F::BYTES])
    }

    /// The first block whose key is not below `value`: the only one that can hold it. The number of
    /// blocks if there is none.
    #[inline(always)]
    pub(crate) fn find(&self, value: F) -> usize {
        let Some((start, end)) = self.keys.part(value) else {
            return if value <= self.keys.base { 0 } else { self.keys.count };
        };
        let is_short = end - start <= COMPARED;
        match self.keys.count.checked_sub(COMPARED) {
            // Keys of earlier parts are smaller than the value, and those of later ones greater: near the end, some of
            // the former are compared, too.
            Some(last) if is_short => self.count_below(start.min(last), value),
            _ => self.search(start, end, value),
        }
    }

    /// The place of the first of the keys from `start` on that is not below `value`, if the first [`COMPARED`] are
    /// not all below it; where these end, if they are.
    #[inline(always)]
    fn count_below(&self, start: usize, value: F) -> usize {
        let keys = &self.bytes[start * F::BYTES..][..COMPARED * F::BYTES];
        start + keys.chunks_exact(F::BYTES).map(|key| usize::from(F::read_le(key) < value)).sum::<usize>()
    }

    /// The place of the first key that is not below `value` among those from `start` to `end`; `end` if there is none.
    #[inline]
    fn search(&self, mut start: usize, mut end: usize, value: F) -> usize {
        while start < end {
            let middle = start.midpoint(end);
            if self.get(middle) < value {
                start = middle + 1;
            } else {
                end = middle;
            }
        }
        start
    }

    /// Prefetches what a look-up of the value needs next. Returns a block near to the one that it
    /// will find.
    #[inline(always)]
    pub(crate) fn prefetch_keys(&self, value: F) -> Option<usize> {
        self.keys.part(value).map(|(start, end)| {
            // They may lie in two cache lines.
            prefetch(self.bytes, start * F::BYTES);
            prefetch(self.bytes, (start + COMPARED) * F::BYTES - 1);
            start.midpoint(end)
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Keys as a file has them, with something before and behind.
    fn file<F: Fingerprint>(keys: &[F]) -> (Vec<u8>, Range<usize>) {
        let mut file = vec![0xa5; 13 + keys.len() * F::BYTES + 5];
        let bytes = 13..13 + keys.len() * F::BYTES;
        for (bytes, key) in file[bytes.clone()].chunks_exact_mut(F::BYTES).zip(keys) {
            key.write_le(bytes);
        }
        (file, bytes)
    }

    fn check<F: Fingerprint>(mut keys: Vec<F>, values: Vec<F>) {
        keys.sort_unstable();
        keys.dedup();
        let (file, bytes) = file(&keys);
        let in_file = Keys::new(&file, bytes.clone()).unwrap();
        let parts = in_file.directory.len();
        assert!(parts <= keys.len() + 2, "{parts} for {}", keys.len());
        assert_eq!(in_file.bytes(), parts * 4, "no key is copied");
        let copied = Keys::new(&file, bytes).unwrap().copied(&file);
        assert_eq!(copied.bytes(), parts * 4 + keys.len() * F::BYTES);
        let edges = [F::ZERO, F::ONES];
        for value in values.into_iter().chain(keys.iter().copied()).chain(edges) {
            let expected = keys.partition_point(|&key| key < value);
            assert_eq!(in_file.in_file(&file).find(value), expected, "{value:?} in {keys:?}");
            assert_eq!(copied.in_file(&[]).find(value), expected, "{value:?} in {keys:?}");
        }
        for (block, &key) in keys.iter().enumerate() {
            assert_eq!(in_file.in_file(&file).get(block), key);
        }
    }

    proptest! {
        #[test]
        fn the_block_is_the_one_a_plain_search_finds(
            keys: Vec<u64>,
            cluster: u64,
            offsets in prop::collection::vec(0u64..5000, 0..200),
            values: Vec<u64>,
        ) {
            check(keys.clone(), values.clone());
            check(offsets.iter().map(|o| cluster.saturating_add(*o)).collect(), values.clone());
            let widened = |v: &u64| u128::from(*v) << 64 | u128::from(v.reverse_bits());
            check(keys.iter().map(widened).collect(), values.iter().map(widened).collect());
        }

        #[test]
        fn keys_that_do_not_ascend_are_refused(mut keys in prop::collection::vec(0u64..50, 0..12)) {
            let (file, bytes) = file(&keys);
            let is_ascending = keys.is_sorted_by(|a, b| a < b);
            prop_assert_eq!(Keys::<u64>::new(&file, bytes).is_some(), is_ascending);
            keys.sort_unstable();
            keys.dedup();
            let (file, bytes) = self::file(&keys);
            prop_assert!(Keys::<u64>::new(&file, bytes).is_some());
        }
    }

    #[test]
    fn few_and_extreme_keys() {
        check::<u64>(vec![], vec![5]);
        check(vec![0u64], vec![1]);
        check(vec![u64::MAX], vec![1]);
        check(vec![0, u64::MAX], vec![1, u64::MAX - 1]);
        check(vec![0, u128::MAX], vec![1, u128::MAX - 1]);
    }
}
