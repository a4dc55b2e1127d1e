//! How sorted fingerprints become the bytes of a block, and how a probe reads them.
//!
//! A block holds ascending, distinct, permuted fingerprints; the first is raw. How the others are coded is
//! the codec's affair, one codec per file.
//!
//! - [`huffman`]: first differing positions, Huffman-coded, and suffixes: the paper's
//! - [`elias_fano`]: low bits as they are, the rest in unary: for speed
//! - [`block_codec`]: either of them
//! - [`blocks`]: lists of blocks to be scanned
//! - [`estimate`]: how many entries a block will hold
//! - [`kind`]: the names of the codecs
//! - [`layout`]: how the blocks of a file are laid out
//! - [`reference`]: a slow second implementation, straight from format-spec.md
//! - [`target`]: what a probe looks for

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
pub use kind::{Codec, UnknownCodec};
pub use layout::Layout;
pub(crate) use layout::{CHECKSUM_BYTES, SIZES_LOG2, entry_count};
pub use target::Target;

#[cfg(test)]
mod tests;
