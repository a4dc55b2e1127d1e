//! Reading all of a block, in order, checking all that can be checked.

use crate::codec::bits::read;
use crate::codec::block::{Block, BlockError, Segment};
use crate::codec::codebook::{Codebook, DECODE_SLACK};
use crate::fingerprint::Fingerprint;

/// Room for the h of one segment, kept between blocks.
#[derive(Debug, Default)]
pub(crate) struct Differences(Vec<u8>);

impl Differences {
    /// Decodes the h of a segment's later entries. Gives them, and where its suffixes start.
    #[inline]
    pub(crate) fn read<F: Fingerprint>(
        &mut self,
        bytes: &[u8],
        codebook: &Codebook,
        segment: &Segment<F>,
    ) -> Result<(&[u8], usize), BlockError> {
        let count = segment.count - 1;
        if self.0.len() < count + DECODE_SLACK {
            self.0.resize(count + DECODE_SLACK, 0);
        }
        let suffixes = codebook.decode(bytes, segment.start, count, &mut self.0);
        if suffixes > segment.end {
            return Err(BlockError::Length);
        }
        Ok((&self.0[..count], suffixes))
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
        let (hs, mut position) = differences.read(block.bytes(), codebook, &segment)?;
        let mut value = segment.first;
        values.push(value);
        for &h in hs {
            let h = u32::from(h);
            let length = F::BITS - 1 - h;
            value = entry(value, h, read(block.bytes(), position, length));
            position += length as usize;
            values.push(value);
        }
        if position != segment.end {
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
