//! The codec of a table: its layout and its code.

use std::sync::Arc;

use crate::arch::{self, LANES, LINE_BYTES, prefetch, prefetch_lines};
use crate::codec::error::BlockError;
use crate::codec::huffman::block::{TYPICAL_CODE_BITS, codes_at};
use crate::codec::huffman::codebook::Codebook;
use crate::codec::huffman::decode::Decode;
use crate::codec::huffman::lengths::{code_lengths, cost};
use crate::codec::huffman::scratch::Scratch;
use crate::codec::layout::Layout;
use hamdex_fingerprint::Fingerprint;

/// Encodes and decodes the blocks of one table.
#[derive(Clone)]
pub struct HuffmanCodec {
    pub(super) layout: Layout,
    /// Shared by tables with the same code: the look-ups of a query find it in the nearest cache.
    pub(super) codebook: Arc<Codebook>,
}

/// Cost of sharing a code with another table: at most a 64th of a bit more per entry, on average.
const SHARING_SHARE: u64 = 64;

impl HuffmanCodec {
    /// Returns the codec with the best code for first differing positions of these counts, or with the code of
    /// `other` if that takes hardly more.
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

    /// Returns the codec with the code of these lengths; `None` if they do not make a complete code.
    /// Shares the code of `other` if it is the same.
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

    /// Returns the lengths of the codes, by h.
    pub(crate) fn code_lengths(&self) -> &[u8] {
        self.codebook.lengths()
    }

    /// Returns the codes, by h: the low bits of each, as many as its length.
    pub(crate) fn codes(&self) -> &[u16] {
        self.codebook.codes()
    }

    /// Returns the bytes of memory in use, with the table's share of a code that several tables use.
    pub(crate) fn memory_bytes(&self) -> usize {
        self.codebook.memory_bytes() / Arc::strong_count(&self.codebook)
    }

    /// Appends the entries of some blocks, and calls `each` after each block: see
    /// [`BlockCodec::decode`](crate::codec::BlockCodec::decode).
    pub(crate) fn decode<F: Fingerprint>(
        &self,
        blocks: &[&[u8]],
        scratch: &mut Scratch<F>,
        values: &mut Vec<F>,
        each: &mut impl FnMut(&mut Vec<F>) -> Result<(), BlockError>,
    ) -> Result<(), BlockError> {
        blocks.chunks(LANES).try_for_each(|blocks| {
            let (codebook, differences) = (&*self.codebook, &mut scratch.differences);
            arch::run(Decode { blocks, codebook, differences, values: &mut *values, each: &mut *each })
        })
    }

    /// Prefetches what a scan would read behind the front of a block if all entries were evenly spread: see
    /// [`BlockCodec::prefetch_likely`](crate::codec::BlockCodec::prefetch_likely).
    #[inline(always)]
    pub(crate) fn prefetch_likely<F: Fingerprint>(
        &self,
        file: &[u8],
        start: usize,
        fraction: f32,
        entries: usize,
    ) {
        let front = codes_at::<F>();
        let codes = entries * TYPICAL_CODE_BITS / 8;
        let suffixes = self.layout.block_bytes - front - codes.min(self.layout.block_bytes / 2);
        let place = (fraction * suffixes as f32) as usize;
        // The first two lines have been prefetched.
        prefetch_lines(&file[start..], 2 * LINE_BYTES..front + codes);
        prefetch(file, start + self.layout.block_bytes - place - LINE_BYTES);
        prefetch(file, start + self.layout.block_bytes - place);
    }
}
