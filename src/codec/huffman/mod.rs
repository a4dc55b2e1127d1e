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
//! - [`codec`]: the codec of a table
//! - [`lengths`]: optimal code lengths under a limit, canonical codes
//! - [`codebook`]: the tables that encode and decode h fast
//! - [`block`]: the layout of a block
//! - [`encode`]: filling blocks
//! - [`decode`]: reading all of some blocks
//! - [`differences`]: decoding the h of several blocks in lockstep
//! - [`candidate`]: a candidate block of a query
//! - [`scan`]: reading as little of a block as a query needs
//! - [`scan_blocks`]: the same for many blocks
//! - [`prefix_run`]: finding the entries that may have a prefix without reading any suffix

mod block;
mod candidate;
mod codebook;
mod codec;
mod decode;
mod differences;
mod encode;
mod lengths;
mod prefix_run;
mod scan;
mod scan_blocks;
mod scratch;

pub(crate) use block::codes_at;
pub use codec::HuffmanCodec;
pub(crate) use scan_blocks::ScanBlocks;
pub(crate) use scratch::Scratch;
