//! The codec of the paper: Huffman-coded first differing positions.
//!
//! The first fingerprint of a block is raw. Each later one is given by h, the position of the first bit
//! in which it differs from its predecessor (bit h of the predecessor is 0 and its own is 1), and by
//! the bits to the right of h: its *suffix* (§3.1.3 of the paper). h is Huffman-coded with one codebook
//! per table.
//!
//! The layout serves the probe. Every `restart_interval` entries a *segment* begins with a raw
//! fingerprint, all of them together at the front of the block, where a probe sees at once which
//! segments can matter. Inside a segment the codes come first, in order, and the suffixes after them,
//! in reverse order: where an entry's suffix lies, back from the segment's end, follows from the h up
//! to its own. The codes of several segments, of as many blocks and tables, are decoded in lockstep.
//!
//! - [`codec`]: the codec of a table
//! - [`lengths`]: optimal code lengths under a limit, canonical codes
//! - [`codebook`]: the tables that encode and decode h fast
//! - [`block`]: the layout of a block
//! - [`encode`]: filling blocks
//! - [`decode`]: reading all of a block
//! - [`differences`]: decoding the h of several segments in lockstep
//! - [`candidate`]: choosing the segments of a block that a query has to read
//! - [`scan`]: reading as little of a segment as a query needs
//! - [`scan_blocks`]: the same for many blocks
//! - [`search`]: finding what can have a prefix without reading any suffix

mod block;
mod candidate;
mod codebook;
mod codec;
mod decode;
mod differences;
mod encode;
mod lengths;
mod scan;
mod scan_blocks;
mod scratch;
mod search;

pub(crate) use block::{START_BYTES, streams_at};
pub use codec::HuffmanCodec;
pub(crate) use scan_blocks::ScanBlocks;
pub(crate) use scratch::Scratch;
