//! Reading as little of a block as a query needs.
//!
//! The entries of a block are walked in order. Once an entry is dead for the query, because its bits
//! up to position m already hold too many errors, every later entry with h > m shares those bits and
//! is dead too: it is passed over without a look at its suffix. The same holds for a whole segment,
//! whose entries all share what its first one shares with the next segment's, and for a whole block.

use std::ops::ControlFlow;

use crate::codec::bits::read;
use crate::codec::block::{Block, BlockError};
use crate::codec::codebook::Codebook;
use crate::codec::decode::{Differences, entry};
use crate::fingerprint::Fingerprint;

/// What a probe looks for in a table: all in the table's permuted order of bits.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Target<F> {
    /// The permuted query.
    pub(crate) query: F,
    /// The length of the prefix.
    pub(crate) prefix_bits: u32,
    /// The errors admitted inside the prefix.
    pub(crate) radius: u32,
    /// The errors admitted in all.
    pub(crate) distance: u32,
}

impl<F: Fingerprint> Target<F> {
    /// Where a fingerprint that differs in `difference` becomes dead: the position of the first error
    /// too many; the width if it is alive.
    #[inline]
    pub(crate) fn dead_at(&self, mut difference: F) -> u32 {
        let mut errors = 0;
        loop {
            let position = difference.leading_zeros();
            if position == F::BITS {
                return position;
            }
            let allowed =
                if position < self.prefix_bits { self.radius.min(self.distance) } else { self.distance };
            if errors >= allowed {
                return position;
            }
            errors += 1;
            difference ^= F::bit(position);
        }
    }

    /// Whether everything between the two, which are ascending, is dead.
    #[inline]
    pub(crate) fn rules_out(&self, low: F, high: F) -> bool {
        self.dead_at(self.query ^ low) < low.first_difference(high)
    }

    /// Whether everything after `value`, which is dead at `position`, is dead too.
    #[inline]
    fn is_passed_by(&self, value: F, position: u32) -> bool {
        self.radius == 0 && position < self.prefix_bits && value > self.query
    }
}

/// Calls `visit` with the number in the block and the value of each entry that is alive. `last` is
/// the block's last entry.
#[inline]
pub(crate) fn scan<F: Fingerprint>(
    block: &Block<'_, F>,
    last: F,
    codebook: &Codebook,
    target: &Target<F>,
    differences: &mut Differences,
    visit: &mut impl FnMut(usize, F) -> ControlFlow<()>,
) -> Result<ControlFlow<()>, BlockError> {
    let segments = block.segments();
    let mut first = block.first_of(0);
    for number in 0..segments {
        let next = if number + 1 < segments { block.first_of(number + 1) } else { last };
        if !target.rules_out(first, next) {
            let before = block.first_entry_of(number);
            let outcome = scan_segment(block, number, codebook, target, differences, &mut |at, value| {
                visit(before + at, value)
            })?;
            match outcome {
                SegmentOutcome::Done => {}
                SegmentOutcome::Passed => return Ok(ControlFlow::Continue(())),
                SegmentOutcome::Stopped => return Ok(ControlFlow::Break(())),
            }
        }
        first = next;
    }
    Ok(ControlFlow::Continue(()))
}

enum SegmentOutcome {
    /// All entries have been seen to.
    Done,
    /// Nothing after this place can be alive.
    Passed,
    /// The visitor has had enough.
    Stopped,
}

#[inline]
fn scan_segment<F: Fingerprint>(
    block: &Block<'_, F>,
    number: usize,
    codebook: &Codebook,
    target: &Target<F>,
    differences: &mut Differences,
    visit: &mut impl FnMut(usize, F) -> ControlFlow<()>,
) -> Result<SegmentOutcome, BlockError> {
    let segment = block.segment(number)?;
    let mut value = segment.first;
    let mut dead_at = target.dead_at(value ^ target.query);
    if dead_at == F::BITS && visit(0, value).is_break() {
        return Ok(SegmentOutcome::Stopped);
    }
    if target.is_passed_by(value, dead_at) {
        return Ok(SegmentOutcome::Passed);
    }
    let (hs, mut position) = differences.read(block.bytes(), codebook, &segment)?;
    for (at, &h) in hs.iter().enumerate() {
        let h = u32::from(h);
        let length = F::BITS - 1 - h;
        if h <= dead_at {
            value = entry(value, h, read(block.bytes(), position, length));
            dead_at = target.dead_at(value ^ target.query);
            if dead_at == F::BITS && visit(at + 1, value).is_break() {
                return Ok(SegmentOutcome::Stopped);
            }
            if target.is_passed_by(value, dead_at) {
                return Ok(SegmentOutcome::Passed);
            }
        }
        position += length as usize;
    }
    if position > segment.end { Err(BlockError::Length) } else { Ok(SegmentOutcome::Done) }
}
