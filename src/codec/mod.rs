//! How sorted fingerprints become the bytes of a block, and how a probe reads them.
//!
//! A block holds a run of ascending, distinct, permuted fingerprints; the first is raw. How the others
//! are told is the codec's affair, one codec a file.
//!
//! - [`huffman`]: first differing positions, Huffman-coded, and suffixes: the paper's
//! - [`elias_fano`]: low bits as they are, the rest in unary: for speed
//! - [`bits`]: bit strings, most significant bit first
//! - [`target`]: what a probe looks for
//! - [`kind`]: the names of the codecs
//! - [`one_block`]: a scan of a single block
//! - [`reference`]: a slow second implementation, straight from format-spec.md

pub(crate) mod bits;
pub(crate) mod elias_fano;
mod error;
pub(crate) mod huffman;
mod kind;
mod one_block;
pub mod reference;
mod target;

use std::ops::ControlFlow;

use elias_fano::EliasFanoCodec;
pub use error::BlockError;
use huffman::{Candidate, Differences, HuffmanCodec};
pub use kind::{Codec, UnknownCodec};
use one_block::{EliasFanoScan, HuffmanScan};
pub use target::Target;

use crate::arch;
use hamdex_fingerprint::Fingerprint;

/// Where the checksum of a block ends: it covers what follows.
pub(crate) const CHECKSUM_BYTES: usize = 4;

/// The sizes that a block may have, as powers of two: 512 to 8,192 bytes.
pub(crate) const SIZES_LOG2: std::ops::RangeInclusive<u8> = 9..=13;

/// How blocks of a file are laid out: the same for all its tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Layout {
    /// How blocks are coded.
    pub codec: Codec,
    /// Bytes of a block, a power of two.
    pub block_bytes: usize,
    /// Entries from one raw fingerprint to the next; 0 where the codec has no such.
    pub restart_interval: usize,
}

/// Encodes and decodes the blocks of one table.
#[derive(Clone)]
pub enum BlockCodec {
    /// First differing positions and suffixes.
    Huffman(HuffmanCodec),
    /// Low bits, and the rest in unary.
    EliasFano(EliasFanoCodec),
}

/// Memory that reading blocks uses again and again.
#[derive(Debug)]
pub struct Scratch<F> {
    pub(crate) differences: Differences,
    candidates: Vec<Candidate<F>>,
    places: Vec<u16>,
}

impl<F> Default for Scratch<F> {
    fn default() -> Self {
        Self { differences: Differences::default(), candidates: Vec::new(), places: Vec::new() }
    }
}

impl BlockCodec {
    /// The codec for a table in which first differing positions occur so often; `other` is that of another
    /// table of the file, whose code it may share.
    pub fn from_counts(layout: Layout, counts: &[u64], other: Option<&Self>) -> Self {
        match layout.codec {
            Codec::Huffman => {
                Self::Huffman(HuffmanCodec::from_counts(layout, counts, other.and_then(Self::huffman)))
            }
            Codec::EliasFano => Self::EliasFano(EliasFanoCodec::new(layout)),
        }
    }

    /// The codec with the code of these lengths; `None` when they are not those of a complete code, or
    /// not all zero where there is no code. `other` is that of another table of the file, with which it
    /// shares the code where it is the same.
    pub fn from_lengths(layout: Layout, lengths: &[u8], other: Option<&Self>) -> Option<Self> {
        match layout.codec {
            Codec::Huffman => {
                let other = other.and_then(Self::huffman);
                HuffmanCodec::from_lengths(layout, lengths, other).map(Self::Huffman)
            }
            Codec::EliasFano => {
                lengths.iter().all(|&l| l == 0).then(|| Self::EliasFano(EliasFanoCodec::new(layout)))
            }
        }
    }

    pub(crate) fn huffman(&self) -> Option<&HuffmanCodec> {
        match self {
            Self::Huffman(codec) => Some(codec),
            Self::EliasFano(_) => None,
        }
    }

    pub(crate) fn layout(&self) -> Layout {
        match self {
            Self::Huffman(codec) => codec.layout(),
            Self::EliasFano(codec) => codec.layout(),
        }
    }

    /// The lengths of the codes for first differing positions; empty where there is no code.
    pub(crate) fn code_lengths(&self) -> &[u8] {
        match self {
            Self::Huffman(codec) => codec.code_lengths(),
            Self::EliasFano(_) => &[],
        }
    }

    /// The codes for first differing positions: the low bits of each, as many as its length;
    /// empty where there is no code.
    pub(crate) fn codes(&self) -> &[u16] {
        match self {
            Self::Huffman(codec) => codec.codes(),
            Self::EliasFano(_) => &[],
        }
    }

    /// Bytes of memory in use.
    pub(crate) fn memory_bytes(&self) -> usize {
        match self {
            Self::Huffman(codec) => codec.memory_bytes(),
            Self::EliasFano(_) => 0,
        }
    }

    /// How many of the ascending, distinct `values`, which are not empty, the next block takes. When it
    /// takes all of them, more might have fitted.
    pub fn fill<F: Fingerprint>(&self, values: &[F]) -> usize {
        match self {
            Self::Huffman(codec) => codec.fill(values),
            Self::EliasFano(codec) => codec.fill(values),
        }
    }

    /// Writes a block, all but its checksum, into `bytes`, which are zero.
    pub fn encode<F: Fingerprint>(&self, values: &[F], bytes: &mut [u8]) {
        match self {
            Self::Huffman(codec) => codec.encode(values, bytes),
            Self::EliasFano(codec) => codec.encode(values, bytes),
        }
    }

    /// Appends the entries of a block to `values`, checking all that the block alone can tell.
    ///
    /// # Errors
    /// When the block contradicts itself.
    pub fn decode<F: Fingerprint>(
        &self,
        bytes: &[u8],
        scratch: &mut Scratch<F>,
        values: &mut Vec<F>,
    ) -> Result<(), BlockError> {
        match self {
            Self::Huffman(codec) => codec.decode(bytes, &mut scratch.differences, values),
            Self::EliasFano(_) => elias_fano::decode(bytes, &mut scratch.places, values),
        }
    }

    /// Calls `visit` with the number in the block and the value of each entry of a block that `target`
    /// meets. `last` is the block's key.
    ///
    /// # Errors
    /// When the block contradicts itself.
    pub fn scan<F: Fingerprint>(
        &self,
        bytes: &[u8],
        last: F,
        target: &Target<F>,
        scratch: &mut Scratch<F>,
        visit: impl FnMut(usize, F) -> ControlFlow<()>,
    ) -> Result<ControlFlow<()>, BlockError> {
        match self {
            Self::Huffman(codec) => arch::run(HuffmanScan { codec, bytes, last, target, scratch, visit }),
            Self::EliasFano(_) => arch::run(EliasFanoScan { bytes, last, target, visit }),
        }
    }
}

/// Counts h over ascending, distinct values; `before` precedes them, if there is one.
pub fn count_differences<F: Fingerprint>(before: Option<F>, values: &[F], counts: &mut [u64]) {
    let mut previous = before;
    for &value in values {
        if let Some(previous) = previous {
            counts[value.first_difference(previous) as usize] += 1;
        }
        previous = Some(value);
    }
}

#[cfg(test)]
mod tests;
