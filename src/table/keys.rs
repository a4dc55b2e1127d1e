//! The last fingerprint of each block: which block may hold a value?
//!
//! A [directory](crate::table::directory) of the keys leads most values to their block; a key is read if it leaves a
//! doubt. By default the keys are copied when a file is opened; else they stay in the file, and all processes that have
//! mapped it share them.

use std::ops::Range;

use crate::arch::prefetch;
use crate::table::directory::Directory;
use hamdex_fingerprint::Fingerprint;

/// The position of the strictly ascending keys of a table, and their directory.
#[derive(Debug)]
pub(crate) struct Keys<F> {
    /// Their range in the file.
    bytes: Range<usize>,
    /// A copy of the bytes, if they are not read from the file.
    copy: Option<Box<[u8]>>,
    count: usize,
    pub(crate) directory: Directory<F>,
}

impl<F: Fingerprint> Keys<F> {
    /// Keys that lie in that range of the file, at most `u32::MAX` of them; `None` if they are not strictly
    /// ascending.
    pub(crate) fn new(file: &[u8], bytes: Range<usize>) -> Option<Self> {
        let keys = &file[bytes.clone()];
        let count = keys.len() / F::BYTES;
        let key = |place: usize| F::read_le(&keys[place * F::BYTES..][..F::BYTES]);
        let ends = (count > 0).then(|| (key(0), key(count - 1)));
        let directory = Directory::new(keys.chunks_exact(F::BYTES).map(F::read_le), count, ends)?;
        Some(Self { bytes, copy: None, count, directory })
    }

    /// Keeps a copy of the keys.
    pub(crate) fn copied(mut self, file: &[u8]) -> Self {
        self.copy = Some(file[self.bytes.clone()].into());
        self
    }

    /// Returns the number of keys.
    #[inline(always)]
    pub(crate) fn len(&self) -> usize {
        self.count
    }

    /// Returns the keys themselves, in the file that they are of.
    #[inline(always)]
    pub(crate) fn in_file<'a>(&'a self, file: &'a [u8]) -> KeysInFile<'a, F> {
        let bytes = match &self.copy {
            None => &file[self.bytes.clone()],
            Some(copy) => copy,
        };
        KeysInFile { keys: self, bytes }
    }

    /// Returns the first block whose key is not below either value, the number of blocks if there is none; `None` if
    /// that is not the same for both, or needs a key lookup. The first value is not above the second.
    #[inline(always)]
    pub(crate) fn find_for_both(&self, least: F, greatest: F) -> Option<usize> {
        let (first, _) = self.directory.bounds(least);
        let (_, last) = self.directory.bounds(greatest);
        (first == last).then_some(first)
    }

    /// Returns whether a copy of the keys is kept.
    pub(crate) fn is_copied(&self) -> bool {
        self.copy.is_some()
    }

    /// Returns the bytes of memory in use, in addition to the file.
    pub(crate) fn bytes(&self) -> usize {
        self.copy.as_ref().map_or(0, |copy| copy.len()) + self.directory.bytes()
    }
}

/// The keys of a table, readable.
#[derive(Clone, Copy)]
pub(crate) struct KeysInFile<'a, F> {
    keys: &'a Keys<F>,
    bytes: &'a [u8],
}

impl<F: Fingerprint> KeysInFile<'_, F> {
    /// Returns the number of keys.
    #[inline(always)]
    pub(crate) fn len(&self) -> usize {
        self.keys.count
    }

    /// Returns the key of a block.
    #[inline(always)]
    pub(crate) fn get(&self, block: usize) -> F {
        F::read_le(&self.bytes[block * F::BYTES..][..F::BYTES])
    }

    /// Returns the first block whose key is not below `value`: the only one that can hold it. The number of
    /// blocks if there is none.
    #[inline(always)]
    pub(crate) fn find(&self, value: F) -> usize {
        let (start, end) = self.keys.directory.bounds(value);
        match end - start {
            0 => start,
            1 => start + usize::from(self.get(start) < value),
            _ => self.search(start, end, value),
        }
    }

    /// Returns the blocks that may hold values from the first to the second one, which is not below it; an empty range after
    /// the last block if all values are smaller.
    #[inline(always)]
    pub(crate) fn range(&self, least: F, greatest: F) -> Range<usize> {
        let [first, last] = match self.keys.find_for_both(least, greatest) {
            Some(block) => [block; 2],
            None => [self.find(least), self.find(greatest)],
        };
        first..self.len().min(last + 1)
    }

    /// Returns the position of the first key from `start` to `end` that is not below `value`; `end` if there is
    /// none.
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

    /// Prefetches the data that a look-up of the value needs next: keys, if the directory does not settle it.
    #[inline(always)]
    pub(crate) fn prefetch_keys(&self, value: F) {
        let (start, end) = self.keys.directory.bounds(value);
        if start != end {
            self.prefetch_key(start.midpoint(end));
        }
    }

    /// Prefetches the key of a block.
    #[inline(always)]
    pub(crate) fn prefetch_key(&self, block: usize) {
        prefetch(self.bytes, block * F::BYTES);
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
        assert_eq!(in_file.bytes(), in_file.directory.bytes(), "no key is copied");
        let copied = Keys::new(&file, bytes).unwrap().copied(&file);
        assert_eq!(copied.bytes(), in_file.bytes() + keys.len() * F::BYTES);
        let edges = [F::ZERO, F::ONES];
        for value in values.into_iter().chain(keys.iter().copied()).chain(edges) {
            let expected = keys.partition_point(|&key| key < value);
            assert_eq!(in_file.in_file(&file).find(value), expected, "{value:?} in {keys:?}");
            assert_eq!(copied.in_file(&[]).find(value), expected, "{value:?} in {keys:?}");
            for greatest in [value, value | F::truncate(0xff), F::ONES] {
                let of_greatest = keys.partition_point(|&key| key < greatest);
                if let Some(found) = in_file.find_for_both(value, greatest) {
                    assert!(found == expected && found == of_greatest, "{value:?} in {keys:?}");
                }
            }
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
