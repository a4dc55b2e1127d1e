//! The h of several blocks, decoded in lockstep.

use crate::arch::{BYTES, LANES};
use crate::codec::huffman::codebook::{CodeReader, Codebook, DECODE_SLACK, decode_together};
use hamdex_fingerprint::Fingerprint;

/// Room for the h of a few blocks, kept between them.
#[derive(Debug, Default)]
pub(crate) struct Differences([Vec<u8>; LANES]);

/// The codes of a block: which book, where they are.
#[derive(Clone, Copy)]
pub(crate) struct Codes<'a> {
    pub(crate) codebook: &'a Codebook,
    pub(crate) bytes: &'a [u8],
    pub(crate) start: usize,
    pub(crate) count: usize,
}

impl Differences {
    /// Decodes the h of up to [`LANES`] blocks; returns where the codes of each end.
    #[inline(always)]
    pub(crate) fn decode<'a>(&mut self, codes: impl Iterator<Item = Codes<'a>>) -> [usize; LANES] {
        let mut readers: [Option<CodeReader<'_>>; LANES] = [const { None }; LANES];
        for ((room, reader), Codes { codebook, bytes, start, count }) in
            self.0.iter_mut().zip(&mut readers).zip(codes)
        {
            // As many more as a search may look at.
            let needed = count + BYTES.max(DECODE_SLACK);
            if room.len() < needed {
                room.resize(needed, 0);
            }
            *reader = Some(CodeReader::new(codebook, bytes, start, room, count));
        }
        decode_together(&mut readers);
        readers.map(|reader| reader.map_or(0, |reader| reader.end()))
    }

    /// The h of the block in that lane.
    #[inline]
    pub(crate) fn lane(&self, lane: usize, count: usize) -> &[u8] {
        &self.0[lane][..count]
    }

    /// The same, with [`BYTES`] more of no meaning behind them.
    #[inline]
    pub(super) fn padded_lane(&self, lane: usize, count: usize) -> &[u8] {
        &self.0[lane][..count + BYTES]
    }
}

/// The entry that differs from `previous` first at `h` and goes on with `suffix`.
#[inline(always)]
pub(crate) fn entry<F: Fingerprint>(previous: F, h: u32, suffix: F) -> F {
    // What is at and behind h goes; h is below the width.
    (previous & !(F::ONES >> h)) | F::bit(h) | suffix
}
