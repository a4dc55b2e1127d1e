//! The codec of a table: its layout and its code.

use std::sync::Arc;

use crate::arch::{LINE_BYTES, prefetch};
use crate::codec::error::BlockError;
use crate::codec::huffman::block::{self, Block, TYPICAL_CODE_BITS};
use crate::codec::huffman::candidate::{self, Candidate};
use crate::codec::huffman::codebook::Codebook;
use crate::codec::huffman::decode;
use crate::codec::huffman::lengths::{code_lengths, cost};
use crate::codec::huffman::scratch::Scratch;
use crate::codec::layout::Layout;
use crate::codec::target::Target;
use hamdex_fingerprint::Fingerprint;

/// Encodes and decodes the blocks of one table.
#[derive(Clone)]
pub struct HuffmanCodec {
    pub(super) layout: Layout,
    /// Shared by tables with the same code: the look-ups of a query find it in the nearest cache.
    pub(super) codebook: Arc<Codebook>,
}

/// What one entry may take more, on average, for the sake of a code that another table has already: a
/// 64th of a bit.
const SHARING_SHARE: u64 = 64;

impl HuffmanCodec {
    /// The codec with the best code for first differing positions that occur so often; with that of
    /// `other`, which has one already, where it takes hardly more.
    pub(crate) fn from_counts(layout: Layout, counts: &[u64], other: Option<&Self>) -> Self {
        let best = code_lengths(counts);
        if let Some(other) = other {
            let most = cost(counts, &best)
                + counts.iter().map(|&count| u128::from(count)).sum::<u128>() / u128::from(SHARING_SHARE);
            if cost(counts, other.code_lengths()) <= most {
                return Self { layout, codebook: Arc::clone(&other.codebook) };
            }
        }
        Self::from_lengths(layout, &best, None).expect("the best code is complete")
    }

    /// The codec with the code of these lengths; `None` when they are not those of a complete code.
    /// Shares that of `other` where it is the same.
    pub(crate) fn from_lengths(layout: Layout, lengths: &[u8], other: Option<&Self>) -> Option<Self> {
        let codebook = match other.filter(|other| other.code_lengths() == lengths) {
            Some(other) => Arc::clone(&other.codebook),
            None => Arc::new(Codebook::from_lengths(lengths)?),
        };
        Some(Self { layout, codebook })
    }

    pub(crate) fn layout(&self) -> Layout {
        self.layout
    }

    /// The lengths of the codes, by h.
    pub(crate) fn code_lengths(&self) -> &[u8] {
        self.codebook.lengths()
    }

    /// The codes, by h: the low bits of each, as many as its length.
    pub(crate) fn codes(&self) -> &[u16] {
        self.codebook.codes()
    }

    /// Bytes of memory in use, the table's share of those that several use.
    pub(crate) fn memory_bytes(&self) -> usize {
        self.codebook.memory_bytes() / Arc::strong_count(&self.codebook)
    }

    /// Appends the entries of a block to `values`, checking all that can be checked without its key.
    pub(crate) fn decode<F: Fingerprint>(
        &self,
        bytes: &[u8],
        scratch: &mut Scratch<F>,
        values: &mut Vec<F>,
    ) -> Result<(), BlockError> {
        let block = Block::new(bytes, self.layout.restart_interval)?;
        decode::decode(&block, &self.codebook, &mut scratch.differences, values)?;
        if decode::padding_is_zero(&block) { Ok(()) } else { Err(BlockError::Padding) }
    }

    /// Prefetches what a scan would read behind the front of a block if all entries were evenly spread: see
    /// [`BlockCodec::prefetch_likely`](crate::codec::BlockCodec::prefetch_likely).
    #[inline(always)]
    pub(crate) fn prefetch_likely<F: Fingerprint>(
        &self,
        file: &[u8],
        start: usize,
        target: &Target<F>,
        [low, high]: [F; 2],
        entries: usize,
    ) {
        let entry = target.place_between(low, high, entries);
        let (codes, suffix) = self.likely_reads::<F>(entry, entries);
        prefetch(file, start + codes);
        prefetch(file, start + codes + LINE_BYTES);
        prefetch(file, start + suffix);
        prefetch(file, start + suffix + LINE_BYTES);
    }

    /// Where the codes of the segment with that entry start, and its suffix, in bytes from the start of the
    /// block, if that has so many entries and all take the same; or rather a bit before.
    #[inline(always)]
    fn likely_reads<F: Fingerprint>(&self, entry: usize, entries: usize) -> (usize, usize) {
        let Layout { block_bytes, restart_interval, .. } = self.layout;
        let place = entry % restart_interval;
        let front = block::streams_at::<F>(entries.div_ceil(restart_interval));
        // In bits; an entry's code and suffix together.
        let each = 8 * block_bytes.saturating_sub(front) / entries.max(1);
        let start = 8 * front + (entry - place) * each;
        let end = (start + restart_interval.min(entries) * each).min(8 * block_bytes);
        let suffix = end.saturating_sub(place * each.saturating_sub(TYPICAL_CODE_BITS));
        ((start / 8).saturating_sub(LINE_BYTES / 2), (suffix / 8).saturating_sub(LINE_BYTES))
    }

    /// Calls `choose` with each segment of a block that may hold what `target` meets. `last` is the
    /// block's key. Reads nothing but the front of the block.
    ///
    /// # Errors
    /// When the block contradicts itself.
    #[inline(always)]
    pub(crate) fn candidates<F: Fingerprint>(
        &self,
        bytes: &[u8],
        last: F,
        target: &Target<F>,
        choose: &mut impl FnMut(Candidate<F>),
    ) -> Result<(), BlockError> {
        let block = Block::new(bytes, self.layout.restart_interval)?;
        candidate::choose(&block, last, target, choose)
    }
}
