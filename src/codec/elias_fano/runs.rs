//! The entries of a block in a range of values: their numbers, without decoding anything; and then the values of some.
//!
//! Whole buckets are compared by their number. Low bits are compared only in the two buckets that have the ends of
//! the range, which mostly are one.

use std::marker::PhantomData;
use std::ops::Range;

use crate::arch::{Instructions, Kernel, LINE_BYTES, prefetch};
use crate::codec::elias_fano::read::Uppers;
use crate::codec::elias_fano::{Block, Scratch};
use crate::codec::{BlockError, Blocks, Located, SCAN_BATCH};
use hamdex_fingerprint::Fingerprint;

/// Lines of a bucket that are prefetched: one that has more is searched by halves.
const PREFETCHED_LINES: usize = 3;

/// The buckets of the ends of a range, in which low bits decide: from one entry to another.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ends {
    least: (usize, usize),
    greatest: (usize, usize),
}

impl Ends {
    /// Finds the buckets of a range.
    #[inline(always)]
    fn find<F: Fingerprint>(
        instructions: impl Instructions,
        block: &Block<'_, F>,
        (least, greatest): (F, F),
    ) -> Self {
        // Before the first entry nothing is compared.
        let mut ends = Self { least: (0, 0), greatest: (0, 0) };
        if greatest < block.first {
            return ends;
        }
        let entries = |bucket: u64| {
            let (start, end) = Uppers::of(block).entries(instructions, bucket, bucket);
            (start + 1, end + 1)
        };
        let last = block.bucket_of(greatest);
        ends.greatest = entries(last);
        if least > block.first {
            let first = block.bucket_of(least);
            ends.least = if first == last { ends.greatest } else { entries(first) };
        }
        ends
    }

    /// Prefetches what [`Self::compare`] reads.
    #[inline(always)]
    fn prefetch<F: Fingerprint>(&self, block: &Block<'_, F>) {
        for (start, end) in [self.least, self.greatest] {
            if start < end && start > 0 {
                // A field is loaded with what lies before its end.
                let from = block.low_end(start - 1).div_ceil(8) - F::BYTES;
                let to = block.low_end(end - 2).div_ceil(8);
                (from..to)
                    .step_by(LINE_BYTES)
                    .take(PREFETCHED_LINES)
                    .for_each(|at| prefetch(block.bytes, at));
                prefetch(block.bytes, to - 1);
            }
            if self.least.0 == self.greatest.0 {
                break;
            }
        }
    }

    /// Returns the entries in the range.
    #[inline(always)]
    fn compare<F: Fingerprint>(self, block: &Block<'_, F>, (least, greatest): (F, F)) -> Range<usize> {
        let low_mask = !F::prefix_mask(F::BITS - block.low_bits);
        let start = first_entry(self.least, |entry| block.low(entry - 1) >= least & low_mask);
        let rest = (self.greatest.0.max(start), self.greatest.1.max(start));
        start..first_entry(rest, |entry| block.low(entry - 1) > greatest & low_mask)
    }
}

/// Returns the first entry from one to another that meets a condition, as all later ones do; the end if none does.
#[inline(always)]
fn first_entry((mut start, mut end): (usize, usize), is_met: impl Fn(usize) -> bool) -> usize {
    while start < end {
        let middle = start.midpoint(end);
        if is_met(middle) {
            end = middle;
        } else {
            start = middle + 1;
        }
    }
    start
}

/// Finds in many blocks the entries in a range: that of the prefix of the block's target, which admits no errors in it.
pub(crate) struct FindRuns<'a, F, B, V> {
    pub(crate) blocks: &'a B,
    pub(crate) scratch: &'a mut Scratch,
    /// Called with each block, in their order, and the numbers of the entries, if there are any.
    pub(crate) visit: V,
    pub(crate) width: PhantomData<F>,
}

impl<F, B, V> Kernel for FindRuns<'_, F, B, V>
where
    F: Fingerprint,
    B: Blocks<F>,
    V: FnMut(Located, Range<usize>),
{
    type Output = Result<(), B::Error>;

    #[inline(always)]
    fn run(mut self, instructions: impl Instructions) -> Self::Output {
        let Self { blocks, scratch: Scratch { ends, .. }, .. } = self;
        let range_of = |at| {
            let target = blocks.target(at);
            debug_assert_eq!(target.prefix_errors(), 0, "a range has one prefix");
            target.run_of(target.query, 0)
        };
        let mut batches = blocks.list().chunks(SCAN_BATCH).peekable();
        while let Some(together) = batches.next() {
            blocks.prefetch_fronts(batches.peek().copied().unwrap_or_default());
            ends.clear();
            for &at in together {
                let block =
                    Block::new(blocks.checked_bytes(at)?).map_err(|error| blocks.damaged(at, error))?;
                let found = Ends::find(instructions, &block, range_of(at));
                found.prefetch(&block);
                ends.push(found);
            }
            for (&at, ends) in together.iter().zip(&*ends) {
                let block = Block::new(blocks.bytes(at)).map_err(|error| blocks.damaged(at, error))?;
                let run = ends.compare(&block, range_of(at));
                if !run.is_empty() {
                    (self.visit)(at, run);
                }
            }
        }
        Ok(())
    }
}

/// Appends the values of some entries of a block, which are in a range: as [`FindRuns`] finds them.
///
/// # Errors
/// When they do not ascend, or one is out of the range; some have been appended.
pub(crate) fn decode_entries<F: Fingerprint>(
    bytes: &[u8],
    entries: Range<usize>,
    (least, greatest): (F, F),
    values: &mut Vec<F>,
) -> Result<(), BlockError> {
    let block = Block::new(bytes)?;
    if entries.end > block.coded + 1 {
        return Err(BlockError::Count);
    }
    let start = values.len();
    if entries.contains(&0) {
        values.push(block.first);
    }
    // Without the first entry.
    let coded = entries.start.saturating_sub(1)..entries.end.saturating_sub(1);
    let from = least.max(block.first);
    if !coded.is_empty() && greatest >= from {
        if from >> block.low_bits == greatest >> block.low_bits {
            let upper = from >> block.low_bits << block.low_bits;
            values.extend(coded.map(|number| upper | block.low(number)));
        } else {
            decode_buckets(&block, coded, values)?;
        }
    }
    let found = &values[start..];
    let is_in_range = found.len() == entries.len()
        && found.is_sorted_by(|one, other| one < other)
        && found.first().is_none_or(|&first| first >= least)
        && found.last().is_none_or(|&last| last <= greatest);
    if is_in_range { Ok(()) } else { Err(BlockError::Order) }
}

/// Appends the values of some coded entries, of which there are some.
fn decode_buckets<F: Fingerprint>(
    block: &Block<'_, F>,
    coded: Range<usize>,
    values: &mut Vec<F>,
) -> Result<(), BlockError> {
    let uppers = Uppers::of(block);
    let (mut before, mut next) = (0, coded.start);
    for number in 0..uppers.words() {
        let mut word = uppers.word(number);
        let ones = word.count_ones() as usize;
        if before + ones > next {
            (before..next).for_each(|_| word &= word - 1);
            while word != 0 {
                let place = number * u64::BITS as usize + word.trailing_zeros() as usize;
                let value = block.value(place - next, block.low(next)).ok_or(BlockError::Order)?;
                values.push(value);
                word &= word - 1;
                next += 1;
                if next == coded.end {
                    return Ok(());
                }
            }
        }
        before += ones;
    }
    Err(BlockError::Length)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::arch::{Level, limit_level};
    use crate::codec::{BlockCodec, Codec, Layout, Scratch, Target, find_runs};

    /// A block, and a range that is a prefix.
    struct Ranged<'a, F> {
        bytes: &'a [u8],
        target: Target<F>,
    }

    impl<F: Fingerprint> Blocks<F> for Ranged<'_, F> {
        type Error = BlockError;

        fn list(&self) -> &[Located] {
            &[Located { table: 0, block: 0, target: 0 }]
        }

        fn prefetch_fronts(&self, _: &[Located]) {}

        fn checked_bytes(&self, _: Located) -> Result<&[u8], BlockError> {
            Ok(self.bytes)
        }

        fn key(&self, _: Located) -> F {
            unreachable!("a range without errors needs no key")
        }

        fn bytes(&self, _: Located) -> &[u8] {
            self.bytes
        }

        fn target(&self, _: Located) -> &Target<F> {
            &self.target
        }

        fn damaged(&self, _: Located, error: BlockError) -> BlockError {
            error
        }
    }

    fn run_of<F: Fingerprint>(bytes: &[u8], query: F, prefix_bits: u32) -> Result<Range<usize>, BlockError> {
        // The second is how one value is looked for.
        let distance = if prefix_bits < F::BITS { F::BITS } else { 0 };
        let target = Target { query, prefix_bits, radius: 0, distance };
        let mut found = 0..0;
        let mut calls = 0;
        find_runs(&Ranged { bytes, target }, &mut Scratch::default(), |_, run| {
            (found, calls) = (run, calls + 1);
        })?;
        assert!(calls <= 1 && (calls == 0) == found.is_empty());
        Ok(found)
    }

    /// Encodes a block of the first of these values, and looks for ranges around some.
    fn check<F: Fingerprint>(mut values: Vec<F>, queries: &[F], block_bytes: usize) {
        values.sort_unstable();
        values.dedup();
        let codec = BlockCodec::from_counts(Layout { codec: Codec::EliasFano, block_bytes }, &[], None);
        values.truncate(codec.fill(&values));
        let mut bytes = vec![0; block_bytes];
        codec.encode(&values, &mut bytes);
        let ends = [F::ZERO, F::ONES, values[0], values[values.len() - 1]];
        for &query in queries.iter().chain(&ends).chain(values.iter().step_by(7)) {
            for prefix_bits in [0, 1, 7, 20, F::BITS / 2, F::BITS - 17, F::BITS - 4, F::BITS - 1, F::BITS] {
                let mask = F::prefix_mask(prefix_bits);
                let range = (query & mask, query | !mask);
                let start = values.partition_point(|&value| value < range.0);
                let end = values.partition_point(|&value| value <= range.1);
                let found = run_of(&bytes, query, prefix_bits).unwrap();
                if start == end {
                    assert!(found.is_empty(), "{query:?}, {prefix_bits} bits in {values:?}");
                } else {
                    assert_eq!(found, start..end, "{query:?}, {prefix_bits} bits in {values:?}");
                }
                let mut decoded = vec![F::ONES];
                decode_entries(&bytes, start..end, range, &mut decoded).unwrap();
                assert_eq!(decoded[1..], values[start..end]);
            }
        }
        assert!(
            decode_entries(&bytes, 0..values.len() + 1, (F::ZERO, F::ONES), &mut Vec::new())
                == Err(BlockError::Count)
        );
    }

    /// Checks values of both widths.
    fn check_both(words: &[(u64, u64)], queries: &[(u64, u64)], block_bytes: usize) {
        let wide = |words: &[(u64, u64)]| -> Vec<u128> {
            words.iter().map(|&(high, low)| u128::from(high) << 64 | u128::from(low)).collect()
        };
        let narrow = |words: &[(u64, u64)]| -> Vec<u64> {
            words.iter().map(|&(high, low)| high ^ low.rotate_left(8)).collect()
        };
        check(wide(words), &wide(queries), block_bytes);
        check(narrow(words), &narrow(queries), block_bytes);
    }

    /// Words that are spread, near each other, in crowds of a few, or in a row.
    fn words() -> impl Strategy<Value = Vec<(u64, u64)>> {
        let spread = prop::collection::vec(any::<(u64, u64)>(), 1..300);
        let near = prop::collection::vec((Just(5), 0u64..1 << 20), 1..300);
        let crowds = prop::collection::vec((0u64..4, 0u64..1 << 12), 1..600);
        let row = (any::<u64>(), 1u64..2000).prop_map(|(start, length)| {
            (0..length).map(|number| (3, start.saturating_add(number))).collect::<Vec<_>>()
        });
        let one = prop::collection::vec(any::<(u64, u64)>(), 1..2);
        prop_oneof![spread, near, crowds, row, one]
    }

    proptest! {
        #[test]
        fn the_run_is_that_of_the_decoded_block(
            words in words(),
            queries in prop::collection::vec(any::<(u64, u64)>(), 0..4),
            near in prop::collection::vec((0u64..6, 0u64..1 << 14), 0..8),
            log2 in 9u32..=13,
        ) {
            let queries: Vec<_> = queries.into_iter().chain(near).collect();
            for level in [Level::Portable, Level::Avx2, Level::Avx512] {
                limit_level(level);
                check_both(&words, &queries, 1 << log2);
            }
        }

        /// Nothing panics, and results are within the range.
        #[test]
        fn a_block_of_any_bytes_is_refused_or_consistent(
            mut bytes in prop::collection::vec(any::<u8>(), 512),
            count in 1u16..200,
            low_bits in 0u8..=121,
            query: u128,
            prefix_bits in 0u32..=128,
        ) {
            bytes[4..6].copy_from_slice(&count.to_le_bytes());
            bytes[6..8].copy_from_slice(&[low_bits, 0]);
            let mask = u128::prefix_mask(prefix_bits);
            let range = (query & mask, query | !mask);
            if let Ok(run) = run_of(&bytes, query, prefix_bits) {
                prop_assert!(run.end <= usize::from(count));
                for entries in [run, 0..usize::from(count), 3..9, 0..1, 5..5] {
                    let mut values = Vec::new();
                    if decode_entries(&bytes, entries.clone(), range, &mut values).is_ok() {
                        prop_assert_eq!(values.len(), entries.len());
                        prop_assert!(values.is_sorted_by(|one, other| one < other));
                        prop_assert!(values.iter().all(|value| (range.0..=range.1).contains(value)));
                    }
                }
            }
        }
    }

    #[test]
    fn few_and_extreme_values() {
        let queries = [(0, 0), (0, 1), (1, 0), (7, 7), (u64::MAX, u64::MAX), (u64::MAX, 0)];
        check_both(&[(7, 7)], &queries, 512);
        check_both(&[(0, 0), (u64::MAX, u64::MAX)], &queries, 512);
        check_both(&[(0, 0), (0, 1), (0, 2), (0, 3)], &queries, 512);
        // Many in one bucket, since one is far off.
        let crowd: Vec<_> = (0..60).map(|number| (7, 5 * number)).chain([(u64::MAX, 1)]).collect();
        check_both(&crowd, &queries, 8192);
    }
}
