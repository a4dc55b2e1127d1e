//! Reading all of a block, in order, checking all that can be checked.

use crate::codec::bits::read;
use crate::codec::block::{Block, BlockError};
use crate::codec::codebook::{Codebook, DECODE_SLACK, DecodedTo};
use crate::fingerprint::Fingerprint;

/// Room for the h of one segment, kept between blocks.
#[derive(Debug, Default)]
pub struct Differences(Vec<u8>);

impl Differences {
    /// Room for so many h and for what decoding writes beyond them.
    #[inline]
    pub(crate) fn room(&mut self, count: usize) -> &mut [u8] {
        if self.0.len() < count + DECODE_SLACK {
            self.0.resize(count + DECODE_SLACK, 0);
        }
        &mut self.0
    }
}

/// The entry that differs from `previous` first at `h` and goes on with `suffix`.
#[inline]
pub(crate) fn entry<F: Fingerprint>(previous: F, h: u32, suffix: F) -> F {
    (previous & F::prefix_mask(h)) | F::bit(h) | suffix
}

/// Appends all entries of a block to `values`.
pub(crate) fn decode<F: Fingerprint>(
    block: &Block<'_, F>,
    codebook: &Codebook,
    differences: &mut Differences,
    values: &mut Vec<F>,
) -> Result<(), BlockError> {
    let start = values.len();
    values.reserve(block.count());
    for number in 0..block.segments() {
        let segment = block.segment(number)?;
        let coded = segment.count - 1;
        let hs = differences.room(coded);
        let codes = codebook.decode(block.bytes(), DecodedTo::start(segment.start), coded, hs);
        let codes_end = codes.position - codebook.bits_of(&hs[coded..codes.symbols]);
        let mut value = segment.first;
        values.push(value);
        let mut end = segment.end;
        for &h in &hs[..coded] {
            let h = u32::from(h);
            let length = F::BITS - 1 - h;
            end = end.checked_sub(length as usize).ok_or(BlockError::Length)?;
            value = entry(value, h, read(block.bytes(), end, length));
            values.push(value);
        }
        if end != codes_end {
            return Err(BlockError::Length);
        }
    }
    if !values[start..].is_sorted_by(|a, b| a < b) {
        return Err(BlockError::Order);
    }
    Ok(())
}

/// Whether all bits after the last entry are zero.
pub(crate) fn padding_is_zero<F: Fingerprint>(block: &Block<'_, F>) -> bool {
    let (byte, bit) = (block.end() / 8, block.end() % 8);
    let Some((first, rest)) = block.bytes()[byte..].split_first() else { return true };
    *first & (0xff >> bit) == 0 && rest.iter().all(|&b| b == 0)
}
