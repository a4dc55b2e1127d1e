//! The codec for speed: Elias–Fano coding (Elias, J. ACM 1974; Fano, MIT 1971) of each block.
//!
//! The first fingerprint of a block is raw. Of each later one, the lowest `l` bits are stored plain, in fields
//! of equal size; the others, as a number of *buckets* above those of the first fingerprint, in unary. So a
//! probe finds the entries with a prefix by counting zeros in a few words, and compares their low bits, eight
//! at a time, without decoding anything.
//!
//! All bit strings here have the least significant bit first: bit i of a block is bit i mod 8 of its
//! byte i / 8, and the first bit of a field is its lowest.
//!
//! - [`codec`]: the codec of a table
//! - [`block`]: the layout of a block
//! - [`buckets`]: which entries are in which bucket
//! - [`encode`]: filling blocks
//! - [`decode`]: reading all of a block
//! - [`scan`]: reading as little of a block as a query needs
//! - [`scan_blocks`]: the same for many blocks

mod block;
mod buckets;
mod codec;
mod decode;
mod encode;
mod scan;
mod scan_blocks;
mod scratch;

pub(crate) use block::{max_low_bits, uppers_at};
pub use codec::EliasFanoCodec;
pub(crate) use decode::decode;
pub(crate) use scan_blocks::ScanBlocks;
pub(crate) use scratch::Scratch;
