//! Encoding sorted fingerprints as blocks, and scanning these for a probe: the codecs, and the layout of blocks.
//!
//! A block holds ascending, distinct, permuted fingerprints; the first is raw. The codec of the file codes the
//! others.
//!
//! - [`huffman`]: first differing positions, Huffman-coded, and suffixes: the paper's
//! - [`elias_fano`]: low bits plain, the rest in unary: for speed
//! - [`block_codec`]: either of them
//! - [`reference`]: a slow second implementation, straight from format-spec.md
//! - [`target`]: the target of a probe, and lists of blocks to scan

mod block_codec;
pub(crate) mod elias_fano;
pub(crate) mod huffman;
pub mod reference;
mod target;

use std::fmt;
use std::str::FromStr;

pub use block_codec::{BlockCodec, Scratch, count_differences};
pub(crate) use block_codec::{find_runs, scan_blocks};
use byteorder::{ByteOrder, LittleEndian};
pub use target::Target;
pub(crate) use target::{Blocks, Located, SCAN_BATCH};

use crate::category::ParseOptionError;
use hamdex_fingerprint::Fingerprint;

/// The block codec of a file.
///
/// ```
/// use hamdex::Codec;
///
/// assert_eq!("elias-fano".parse(), Ok(Codec::EliasFano));
/// assert_eq!(Codec::default().to_string(), "huffman");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum Codec {
    /// Huffman-coded first differing positions and suffixes (§3.1.3 of the paper): the smaller one
    /// for clustered fingerprints, as of real documents.
    #[default]
    Huffman,
    /// Elias–Fano coding of each block: 1.5 to 1.8 times as fast to query with filters, 3 to 4 times without, and smaller
    /// if fingerprints are spread evenly.
    EliasFano,
}

impl Codec {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::Huffman, Self::EliasFano];

    /// Returns its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Huffman => "huffman",
            Self::EliasFano => "elias-fano",
        }
    }

    /// Returns its tag in a file's footer.
    pub(crate) fn tag(self) -> u8 {
        match self {
            Self::Huffman => 1,
            Self::EliasFano => 2,
        }
    }

    /// Returns the bytes of a block by default; ARCHITECTURE.md has the measurements.
    #[must_use]
    pub fn default_block_bytes(self) -> usize {
        match self {
            Self::Huffman | Self::EliasFano => 1024,
        }
    }
}

impl fmt::Display for Codec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Codec {
    type Err = ParseOptionError;

    fn from_str(name: &str) -> Result<Self, ParseOptionError> {
        let unknown = || ParseOptionError::new("unknown codec; use huffman or elias-fano");
        Self::ALL.into_iter().find(|codec| codec.name() == name).ok_or_else(unknown)
    }
}

/// Length of the checksum of a block; it covers the bytes after it.
pub(crate) const CHECKSUM_BYTES: usize = 4;

/// Returns the number of entries of a block, which follows the checksum in both codecs.
pub(crate) fn entry_count(block: &[u8]) -> usize {
    usize::from(LittleEndian::read_u16(&block[CHECKSUM_BYTES..]))
}

/// The sizes that a block may have, as powers of two: 512 to 8,192 bytes.
pub(crate) const SIZES_LOG2: std::ops::RangeInclusive<u8> = 9..=13;

/// The layout of the blocks of a file, the same for all its tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Layout {
    /// The codec of the blocks.
    pub codec: Codec,
    /// Bytes of a block, a power of two.
    pub block_bytes: usize,
}

/// Bits of a Huffman-coded entry beyond the information bound: the entropy of h is 3.25 bits, 1.443 of which
/// the bound leaves out, and the code loses 0.04.
const HUFFMAN_OVERHEAD_BITS: f64 = 1.92;

/// Returns the information bound: bits per fingerprint that no code for a set of `count` uniformly spread
/// fingerprints goes below, `width − log2 count + log2 e`.
pub(crate) fn information_bound_bits(width: u32, count: u64) -> f64 {
    if count == 0 {
        return 0.0;
    }
    // log2 C(2^w, n) / n, exact enough from n = 1 (w bits) on.
    let n = count as f64;
    let ln_factorial = if n < 2.0 { 0.0 } else { n * n.ln() - n + 0.5 * (std::f64::consts::TAU * n).ln() };
    (f64::from(width) - ln_factorial / n * std::f64::consts::LOG2_E).max(0.0)
}

impl Codec {
    /// Returns the entries of a block, on average, among `count` uniformly spread fingerprints.
    pub(crate) fn expected_entries<F: Fingerprint>(self, count: u64, block_bytes: u32) -> f64 {
        let entry_bits = entry_bits::<F>(self, count);
        // The first coded entry starts after the header and the first fingerprint, which is raw.
        let front_bytes = match self {
            Self::Huffman => huffman::codes_at::<F>(),
            Self::EliasFano => elias_fano::uppers_at::<F>(),
        };
        let coded_bits = f64::from(block_bytes) * 8.0 - (front_bytes * 8) as f64;
        // On average half an entry is left over.
        1.0 + (coded_bits - entry_bits / 2.0).max(0.0) / entry_bits
    }
}

/// Returns the bits of one entry among `count` uniformly spread ones, without the overhead of the block.
fn entry_bits<F: Fingerprint>(codec: Codec, count: u64) -> f64 {
    let bound = information_bound_bits(F::BITS, count);
    match codec {
        Codec::Huffman => bound + HUFFMAN_OVERHEAD_BITS,
        Codec::EliasFano => {
            // l low bits, a one, and the zeros of the buckets that the gap crosses.
            let log2_gap = f64::from(F::BITS) - (count.max(1) as f64).log2();
            let bits = |low_bits: u32| f64::from(low_bits + 1) + (log2_gap - f64::from(low_bits)).exp2();
            (0..=elias_fano::max_low_bits::<F>()).map(bits).fold(f64::INFINITY, f64::min)
        }
    }
}

/// An error in a block whose checksum is right: no correct writer wrote it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BlockError {
    /// No entries, or more than a block of that size can hold.
    #[error("its entry count is impossible")]
    Count,
    /// The size of the low fields is out of range, or a byte that must be zero is not.
    #[error("the size of its low fields is impossible")]
    LowBits,
    /// Codes and suffixes overlap, or there are fewer unary numbers than entries.
    #[error("its entries do not end where they should")]
    Length,
    /// Entries are not strictly ascending.
    #[error("its entries are not ascending")]
    Order,
    /// Bits that belong to no entry are set.
    #[error("bits that belong to no entry are set")]
    Padding,
    /// The last entry is not the block's key.
    #[error("its last entry is not the one its key says")]
    Key,
}

#[cfg(test)]
mod tests;
