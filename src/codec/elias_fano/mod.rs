//! The codec for speed: Elias–Fano coding (Elias, J. ACM 1974; Fano, MIT 1971) of each block.
//!
//! The first fingerprint of a block is raw. Of each later one, the lowest `l` bits stand as they are,
//! in fields of equal size; the others, as a number of *buckets* above those of the first fingerprint,
//! in unary. So a probe finds the entries with a prefix by counting zeros in a few words, and compares
//! their low bits, eight at a time, without decoding anything.
//!
//! All bit strings here have the least significant bit first: bit i of a block is bit i mod 8 of its
//! byte i / 8, and the first bit of a field is its lowest.
//!
//! - [`block`]: the layout of a block
//! - [`buckets`]: which entries are in which bucket
//! - [`encode`]: filling blocks
//! - [`decode`]: reading all of a block
//! - [`scan`]: reading as little as a query needs

mod block;
mod buckets;
mod decode;
mod encode;
mod scan;

use crate::codec::Layout;
pub(crate) use decode::decode;
pub(crate) use scan::Candidates;

/// Encodes and decodes blocks.
#[derive(Clone, Copy)]
pub struct EliasFanoCodec {
    layout: Layout,
}

impl EliasFanoCodec {
    pub(crate) fn new(layout: Layout) -> Self {
        Self { layout }
    }

    pub(crate) fn layout(self) -> Layout {
        self.layout
    }
}
