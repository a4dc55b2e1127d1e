//! Reading as little of a block as a query needs.
//!
//! Where the errors that a prefix may have are used up by what the whole block shares, what can still
//! match is one run of neighbours: those that have the rest of the prefix as the query has it. Their
//! buckets are looked up, and their low bits compared with the query's, which hardly any survives but
//! the results. Where errors are left, all low bits are compared.

use std::ops::ControlFlow;

use crate::arch::{Instructions, LANES};
use crate::codec::elias_fano::block::Block;
use crate::codec::elias_fano::buckets::Uppers;
use crate::codec::{BlockError, Target};
use crate::fingerprint::Fingerprint;

/// Calls `visit` with the number in the block and the value of each entry that `target` meets. `last`
/// is the block's key.
#[inline(always)]
pub(crate) fn scan<F: Fingerprint>(
    instructions: impl Instructions,
    bytes: &[u8],
    last: F,
    target: &Target<F>,
    visit: &mut impl FnMut(usize, F) -> ControlFlow<()>,
) -> Result<ControlFlow<()>, BlockError> {
    let block = Block::new(bytes)?;
    if block.first > last {
        return Err(BlockError::Key);
    }
    if target.admits(block.first) && visit(0, block.first).is_break() {
        return Ok(ControlFlow::Break(()));
    }
    let (least, greatest) = target.span(block.first, last);
    let (least, greatest) = (least.max(block.first), greatest.min(last));
    if least > greatest || block.coded == 0 {
        return Ok(ControlFlow::Continue(()));
    }
    let uppers = Uppers::of(&block);
    let (start, end) = uppers.entries(instructions, block.bucket_of(least), block.bucket_of(greatest));
    let query_low = if block.low_bits == 0 {
        F::ZERO
    } else {
        target.query << (F::BITS - block.low_bits) >> (F::BITS - block.low_bits)
    };
    let mut at = start;
    while at < end {
        let count = LANES.min(end - at);
        let mut near = match block.fields(at) {
            Some(fields) => {
                instructions.near_fields(fields, count, query_low.to_u128() as u64, target.distance)
            }
            None => (0..count).fold(0, |near, lane| {
                let is_near = block.low(at + lane).distance(query_low) <= target.distance;
                near | u32::from(is_near) << lane
            }),
        };
        while near != 0 {
            let coded = at + near.trailing_zeros() as usize;
            near &= near - 1;
            let bucket = uppers.bucket_of(instructions, coded).ok_or(BlockError::Length)?;
            let value = block.value(bucket, block.low(coded)).ok_or(BlockError::Order)?;
            if target.admits(value) && visit(coded + 1, value).is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
        at += count;
    }
    Ok(ControlFlow::Continue(()))
}
