//! Encoding sorted fingerprints as blocks, and scanning these for a probe.
//!
//! A block holds ascending, distinct, permuted fingerprints; the first is raw. The codec of the file codes the
//! others.
//!
//! - [`huffman`]: first differing positions, Huffman-coded, and suffixes: the paper's
//! - [`elias_fano`]: low bits plain, the rest in unary: for speed
//! - [`block_codec`]: either of them
//! - [`blocks`]: lists of blocks to scan
//! - [`estimate`]: an estimate of the entries per block
//! - [`kind`]: the names of the codecs
//! - [`layout`]: the layout of the blocks of a file
//! - [`reference`]: a slow second implementation, straight from format-spec.md
//! - [`target`]: the target of a probe

mod block_codec;
mod blocks;
pub(crate) mod elias_fano;
mod error;
mod estimate;
pub(crate) mod huffman;
mod kind;
mod layout;
pub mod reference;
mod target;

pub(crate) use block_codec::scan_blocks;
pub use block_codec::{BlockCodec, Scratch, count_differences};
pub(crate) use blocks::{Blocks, Located, SCAN_BATCH};
pub use error::BlockError;
pub(crate) use estimate::information_bound_bits;
pub use kind::Codec;
pub use layout::Layout;
pub(crate) use layout::{CHECKSUM_BYTES, SIZES_LOG2, entry_count};
pub use target::Target;

#[cfg(test)]
mod tests;
