//! The codec of the paper: Huffman-coded first differing positions.
//!
//! The first fingerprint of a block is raw. Each later one is given by h, the position of the first bit
//! in which it differs from its predecessor (bit h of the predecessor is 0 and its own is 1), and by
//! the bits to the right of h: its *suffix* (§3.1.3 of the paper). h is Huffman-coded with one codebook
//! per table.
//!
//! The layout serves the query. The codes come first, in order; the suffixes end with the block, in reverse
//! order: the position of an entry's suffix, back from the block's end, follows from the h up to its own. The
//! codes of several blocks, of as many tables, are decoded in lockstep.
//!
//! - [`codebook`]: optimal code lengths under a limit, and the tables that encode and decode h fast
//! - [`read`]: reading a block, all of it or as little as a query needs
//! - [`candidate`]: blocks that may hold a match, and the entries of one that may have a prefix
//!
//! The layout of a block:
//!
//! ```text
//! offset  size       what
//! 0       4          CRC-32 of the block's context and of its bytes from offset 4 on
//! 4       2          n: entries, at least 1
//! 6       W / 8      the first entry, raw
//! …                  the codes of the later entries, in order
//! …                  zeros
//! …                  the suffixes of the later entries, in reverse order: they end with the block
//! ```

mod candidate;
mod codebook;
mod read;

use std::sync::Arc;

use byteorder::{ByteOrder, LittleEndian};
use candidate::Candidate;
use codebook::{Codebook, code_lengths, cost};
pub(crate) use read::ScanBlocks;
use read::{Decode, Differences};

use crate::arch::{self, LANES, LINE_BYTES, prefetch, prefetch_lines};
use crate::bits::Writer;
use crate::codec::{BlockError, CHECKSUM_BYTES, Layout, Located};
use hamdex_fingerprint::Fingerprint;

/// Encodes and decodes the blocks of one table.
#[derive(Clone)]
pub struct HuffmanCodec {
    layout: Layout,
    /// Shared by tables with the same code: the look-ups of a query find it in the nearest cache.
    codebook: Arc<Codebook>,
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

    /// Prefetches what a scan would read after the front of a block if all entries were evenly spread: see
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

/// Bytes before the first entry.
const HEADER_BYTES: usize = 6;

/// Bits of a code, about: for guesses.
const TYPICAL_CODE_BITS: usize = 3;

/// A block whose header has been checked.
#[derive(Clone, Copy)]
pub(crate) struct Block<'a, F> {
    bytes: &'a [u8],
    /// Number of entries after the first.
    coded: usize,
    /// The first entry.
    first: F,
}

impl<'a, F: Fingerprint> Block<'a, F> {
    /// Reads the header. Everything that later reads rely on is checked here.
    #[inline(always)]
    pub(crate) fn new(bytes: &'a [u8]) -> Result<Self, BlockError> {
        let count = usize::from(LittleEndian::read_u16(&bytes[CHECKSUM_BYTES..]));
        let coded = count.checked_sub(1).ok_or(BlockError::Count)?;
        // A code has at least one bit.
        if coded > (bytes.len() - codes_at::<F>()) * 8 {
            return Err(BlockError::Count);
        }
        Ok(Self { bytes, coded, first: F::read_le(&bytes[HEADER_BYTES..]) })
    }

    /// End of the suffix of the first coded entry, in bits.
    #[inline(always)]
    fn end(&self) -> usize {
        self.bytes.len() * 8
    }
}

/// Offset of the codes, in bytes.
#[inline(always)]
pub(crate) const fn codes_at<F: Fingerprint>() -> usize {
    HEADER_BYTES + F::BYTES
}

impl HuffmanCodec {
    /// Returns how many of the ascending, distinct, non-empty `values` the next block takes. If it takes all of
    /// them, more might fit.
    pub(crate) fn fill<F: Fingerprint>(&self, values: &[F]) -> usize {
        let mut room = (self.layout.block_bytes - codes_at::<F>()) * 8;
        let most = values.len().min(usize::from(u16::MAX));
        for at in 1..most {
            let h = values[at].first_difference(values[at - 1]);
            let bits = usize::from(self.codebook.lengths()[h as usize]) + (F::BITS - 1 - h) as usize;
            match room.checked_sub(bits) {
                Some(rest) => room = rest,
                None => return at,
            }
        }
        most
    }

    /// Writes a block of these values into `bytes`, which are zero, all but its checksum.
    pub(crate) fn encode<F: Fingerprint>(&self, values: &[F], bytes: &mut [u8]) {
        LittleEndian::write_u16(&mut bytes[CHECKSUM_BYTES..], values.len() as u16);
        values[0].write_le(&mut bytes[HEADER_BYTES..]);
        let hs = || values.windows(2).map(|pair| pair[1].first_difference(pair[0]));
        let mut codes = Writer::new(bytes, codes_at::<F>() * 8);
        hs().for_each(|h| self.codebook.encode(&mut codes, h));
        codes.finish();
        // The suffixes run backwards from the end of the block, so that a query that has decoded some
        // codes knows where the suffixes of these entries are.
        let suffix_bits: usize = hs().map(|h| (F::BITS - 1 - h) as usize).sum();
        let start = bytes.len() * 8 - suffix_bits;
        let mut suffixes = Writer::new(bytes, start);
        for pair in values.windows(2).rev() {
            let suffix_bits = F::BITS - 1 - pair[1].first_difference(pair[0]);
            suffixes.put_fingerprint(pair[1] & !F::prefix_mask(F::BITS - suffix_bits), suffix_bits);
        }
        suffixes.finish();
    }
}

/// Memory that reading blocks uses again and again.
#[derive(Debug, Default)]
pub(crate) struct Scratch<F> {
    differences: Differences,
    /// Blocks to be scanned.
    candidates: Vec<(Located, Candidate<F>)>,
}

/// Returns the entry that first differs from `previous` at `h`, and ends with `suffix`.
#[inline(always)]
fn entry<F: Fingerprint>(previous: F, h: u32, suffix: F) -> F {
    // Clears the bits at and after h; h is below the width.
    (previous & !(F::ONES >> h)) | F::bit(h) | suffix
}
