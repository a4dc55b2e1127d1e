//! The h of several blocks, decoded in lockstep.

use crate::arch::{BYTES, LANES};
use crate::codec::huffman::codebook::{CodeReader, Codebook, DECODE_SLACK, decode_together};
use hamdex_fingerprint::Fingerprint;

/// The h of a few blocks, each in a lane of its own; the memory is kept between blocks.
#[derive(Debug, Default)]
pub(crate) struct Differences {
    lanes: [Vec<u8>; LANES],
    /// For each lane the start of its next code, in bits, and its number of h.
    states: [(usize, usize); LANES],
}

/// The codes of a block: their codebook and position.
#[derive(Clone, Copy)]
pub(crate) struct Codes<'a> {
    pub(crate) codebook: &'a Codebook,
    pub(crate) bytes: &'a [u8],
    pub(crate) start: usize,
    pub(crate) count: usize,
}

impl Differences {
    /// Decodes h of up to [`LANES`] blocks from the first one on.
    #[inline(always)]
    pub(crate) fn decode<'a>(&mut self, codes: impl Iterator<Item = Codes<'a>> + Clone) {
        for (state, codes) in self.states.iter_mut().zip(codes.clone()) {
            *state = (codes.start, 0);
        }
        let mut all = [None; LANES];
        all.iter_mut().zip(codes).for_each(|(lane, codes)| *lane = Some(codes));
        self.decode_more(all);
    }

    /// Decodes the number of h that each of the codes has; nothing in lanes of `None`.
    #[inline(always)]
    pub(crate) fn decode_more(&mut self, codes: [Option<Codes<'_>>; LANES]) {
        let Self { lanes, states } = self;
        let mut readers = [const { None }; LANES];
        for (((reader, room), &state), codes) in readers.iter_mut().zip(lanes).zip(&*states).zip(codes) {
            let Some(Codes { codebook, bytes, count, .. }) = codes else { continue };
            // More may be decoded than wanted, and a search may read the codes after them.
            let needed = count + DECODE_SLACK + BYTES;
            if room.len() < needed {
                room.resize(needed, 0);
            }
            *reader = Some(CodeReader::new(codebook, bytes, state, room, count));
        }
        decode_together(&mut readers);
        for (state, reader) in states.iter_mut().zip(&readers) {
            *state = reader.as_ref().map_or(*state, CodeReader::state);
        }
    }

    /// Returns the end of the first `count` codes of a lane, in bits: more may have been decoded, since a
    /// look-up yields several.
    pub(super) fn end(&self, lane: usize, codebook: &Codebook, count: usize) -> usize {
        let (position, done) = self.states[lane];
        let excess = self.lanes[lane][count..done].iter();
        position - excess.map(|&h| usize::from(codebook.lengths()[usize::from(h)])).sum::<usize>()
    }

    /// Returns the first h of a lane: the decoded ones, followed by meaningless ones.
    #[inline]
    pub(crate) fn lane(&self, lane: usize, count: usize) -> &[u8] {
        let lane = &self.lanes[lane];
        &lane[..count.min(lane.len())]
    }

    /// Returns the number of h of a lane, at most `count`, and these with [`BYTES`] meaningless ones after
    /// them.
    #[inline]
    pub(super) fn padded_lane(&self, lane: usize, count: usize) -> (usize, &[u8]) {
        let known = self.states[lane].1.min(count);
        (known, &self.lanes[lane][..known + BYTES])
    }
}

/// Returns the entry that first differs from `previous` at `h`, and ends with `suffix`.
#[inline(always)]
pub(crate) fn entry<F: Fingerprint>(previous: F, h: u32, suffix: F) -> F {
    // Clears the bits at and after h; h is below the width.
    (previous & !(F::ONES >> h)) | F::bit(h) | suffix
}
