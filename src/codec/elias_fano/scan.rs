//! Reading as little of a block as a query needs.
//!
//! If the bits that the whole block shares use up the errors of the prefix, only one run of neighbours can
//! match: the entries that share the rest of the prefix with the query. Their buckets are looked up, and their
//! low bits compared with the query's, which leaves hardly more than the results. If errors are left, all low
//! bits are compared.

use std::marker::PhantomData;
use std::ops::ControlFlow;

use crate::arch::{Instructions, Kernel, LANES, LINE_BYTES, prefetch};
use crate::codec::BlockError;
use crate::codec::elias_fano::decode::Uppers;
use crate::codec::elias_fano::{Block, Scratch};
use crate::codec::target::{Blocks, Located, SCAN_BATCH, Target};
use hamdex_fingerprint::Fingerprint;

/// The part of a block to compare, apart from its first entry: a run of the others.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Candidates {
    /// From 0, not counting the block's first entry.
    start: usize,
    end: usize,
    /// Range of the low fields of the run, in bytes.
    lows: (usize, usize),
}

impl Candidates {
    /// Finds what may hold something that `target` meets; with the block's first entry, if the target meets that. `key`
    /// returns the block's key, which is wanted only if the prefix may have errors.
    #[inline(always)]
    pub(crate) fn find<F: Fingerprint>(
        instructions: impl Instructions,
        bytes: &[u8],
        key: impl FnOnce() -> F,
        target: &Target<F>,
    ) -> Result<(Option<F>, Self), BlockError> {
        let block = Block::new(bytes)?;
        let (least, greatest) = if target.prefix_errors() == 0 {
            target.run_of(target.query, 0)
        } else {
            let last = key();
            if block.first > last {
                return Err(BlockError::Key);
            }
            let (least, greatest) = target.span(block.first, last);
            (least, greatest.min(last))
        };
        if greatest < block.first {
            return Ok((None, Self { start: 0, end: 0, lows: (0, 0) }));
        }
        let is_first_met = least <= block.first && target.admits(block.first);
        let (first, last) = (block.bucket_of(least.max(block.first)), block.bucket_of(greatest));
        let (start, end) = Uppers::of(&block).entries(instructions, first, last);
        let byte_of = |coded: usize| (block.lows_start + coded * block.low_bits as usize) / 8;
        let candidates = Self { start, end, lows: (byte_of(start), byte_of(end)) };
        Ok((is_first_met.then_some(block.first), candidates))
    }

    /// Returns whether there are none.
    #[inline(always)]
    fn are_none(&self) -> bool {
        self.start >= self.end
    }

    /// Prefetches what a scan reads.
    #[inline(always)]
    pub(crate) fn prefetch(&self, bytes: &[u8]) {
        // Eight fields are loaded at once, even beyond the end of the run.
        let (start, end) = (self.lows.0, self.lows.1.max(self.lows.0 + LINE_BYTES));
        prefetch(bytes, start);
        (start + LINE_BYTES - 1..end).step_by(LINE_BYTES).for_each(|at| prefetch(bytes, at));
    }

    /// Calls `visit` with the number in the block and the value of each candidate that `target` meets.
    #[inline(always)]
    pub(crate) fn scan<F: Fingerprint>(
        self,
        instructions: impl Instructions,
        bytes: &[u8],
        target: &Target<F>,
        visit: &mut impl FnMut(usize, F) -> ControlFlow<()>,
    ) -> Result<ControlFlow<()>, BlockError> {
        let block = Block::new(bytes)?;
        let mut at = self.start;
        while at < self.end {
            let count = LANES.min(self.end - at);
            let mut near = near(instructions, &block, at, count, target);
            while near != 0 {
                let coded = at + near.trailing_zeros() as usize;
                near &= near - 1;
                let bucket = Uppers::of(&block).bucket_of(instructions, coded).ok_or(BlockError::Length)?;
                let value = block.value(bucket, block.low(coded)).ok_or(BlockError::Order)?;
                if target.admits(value) && visit(coded + 1, value).is_break() {
                    return Ok(ControlFlow::Break(()));
                }
            }
            at += count;
        }
        Ok(ControlFlow::Continue(()))
    }
}

/// Returns a bit mask of the entries, of `count` from the coded one `at` on, whose low bits are near enough to
/// the target.
#[inline(always)]
fn near<F: Fingerprint>(
    instructions: impl Instructions,
    block: &Block<'_, F>,
    at: usize,
    count: usize,
    target: &Target<F>,
) -> u32 {
    let Target { query, distance, .. } = *target;
    if let Some(fields) = block.fields(at) {
        return instructions.near_fields(fields, count, query.to_u128() as u64, distance);
    }
    let low_mask = !F::prefix_mask(F::BITS - block.low_bits);
    (0..count).fold(0, |near, lane| {
        let difference = (block.low(at + lane) ^ query) & low_mask;
        near | u32::from(difference.count_ones() <= distance) << lane
    })
}

/// Finds the entries to compare in many blocks, then compares them: the first is done from the fronts of
/// the blocks, and decides what to prefetch.
pub(crate) struct ScanBlocks<'a, F, B, V> {
    pub(crate) blocks: &'a B,
    pub(crate) scratch: &'a mut Scratch,
    /// Called with the block, the number in the block, and the value.
    pub(crate) visit: V,
    pub(crate) width: PhantomData<F>,
}

impl<F, B, V> Kernel for ScanBlocks<'_, F, B, V>
where
    F: Fingerprint,
    B: Blocks<F>,
    V: FnMut(Located, usize, F) -> ControlFlow<()>,
{
    type Output = Result<ControlFlow<()>, B::Error>;

    #[inline(always)]
    fn run(mut self, instructions: impl Instructions) -> Self::Output {
        let Self { blocks, scratch: Scratch { candidates: chosen, .. }, .. } = self;
        let mut batches = blocks.list().chunks(SCAN_BATCH).peekable();
        while let Some(together) = batches.next() {
            blocks.prefetch_fronts(batches.peek().copied().unwrap_or_default());
            chosen.clear();
            for &at in together {
                let bytes = blocks.checked_bytes(at)?;
                let found = Candidates::find(instructions, bytes, || blocks.key(at), blocks.target(at));
                let (first, candidates) = found.map_err(|error| blocks.damaged(at, error))?;
                if first.is_some_and(|first| (self.visit)(at, 0, first).is_break()) {
                    return Ok(ControlFlow::Break(()));
                }
                if !candidates.are_none() {
                    candidates.prefetch(bytes);
                    chosen.push((at, candidates));
                }
            }
            for &(at, ref candidates) in &*chosen {
                let mut visit = |entry, value| (self.visit)(at, entry, value);
                let outcome = candidates.scan(instructions, blocks.bytes(at), blocks.target(at), &mut visit);
                if outcome.map_err(|error| blocks.damaged(at, error))?.is_break() {
                    return Ok(ControlFlow::Break(()));
                }
            }
        }
        Ok(ControlFlow::Continue(()))
    }
}
