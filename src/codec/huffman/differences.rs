//! The h of several segments, decoded in lockstep.

use crate::arch;
use crate::codec::huffman::codebook::{CodeReader, Codebook, DECODE_SLACK, decode_together};
use hamdex_fingerprint::Fingerprint;

/// Coded entries of the longest segment that is searched: see [`super::search`].
pub(super) const MAX_SEARCHED: usize = 128;

/// Segments whose codes are decoded in lockstep.
pub(crate) const LANES: usize = arch::LANES;

/// Room for the h of a few segments, kept between blocks.
#[derive(Debug, Default)]
pub(crate) struct Differences([Vec<u8>; LANES]);

/// The codes of a segment: which book, where they are.
#[derive(Clone, Copy)]
pub(crate) struct Codes<'a> {
    pub(crate) codebook: &'a Codebook,
    pub(crate) bytes: &'a [u8],
    pub(crate) start: usize,
    pub(crate) count: usize,
}

impl Differences {
    /// Decodes the h of the first segment and of as many others as there are, up to [`LANES`] in all.
    #[inline(always)]
    pub(crate) fn decode<'a>(&mut self, first: Codes<'a>, mut others: impl Iterator<Item = Codes<'a>>) {
        self.read_codes(first, &mut others);
    }

    /// As [`Self::decode`]; returns where the codes of each end.
    #[inline(always)]
    pub(super) fn decode_to_ends<'a>(
        &mut self,
        first: Codes<'a>,
        mut others: impl Iterator<Item = Codes<'a>>,
    ) -> [usize; LANES] {
        let readers = self.read_codes(first, &mut others);
        std::array::from_fn(|lane| readers[lane].end())
    }

    #[inline(always)]
    fn read_codes<'a, 's>(
        &'s mut self,
        first: Codes<'a>,
        others: &mut impl Iterator<Item = Codes<'a>>,
    ) -> [CodeReader<'s>; LANES]
    where
        'a: 's,
    {
        let mut rooms = self.0.iter_mut();
        let mut next = Some(first);
        let mut readers: [CodeReader<'s>; LANES] = std::array::from_fn(|_| {
            let room = rooms.next().expect("as many as there are lanes");
            // A lane without a segment has nothing to do.
            let Codes { codebook, bytes, start, count } = next.unwrap_or(Codes { count: 0, ..first });
            next = others.next();
            let needed = count.max(MAX_SEARCHED) + DECODE_SLACK;
            if room.len() < needed {
                room.resize(needed, 0);
            }
            CodeReader::new(codebook, bytes, start, room, count)
        });
        decode_together(&mut readers);
        readers
    }

    /// The h of the segment in that lane.
    #[inline]
    pub(crate) fn lane(&self, lane: usize, count: usize) -> &[u8] {
        &self.0[lane][..count]
    }

    /// The h of the segment in that lane, and whatever lies behind them; `None` where there are too many
    /// to be searched.
    #[inline]
    pub(super) fn searchable_lane(&self, lane: usize, count: usize) -> Option<&[u8; MAX_SEARCHED]> {
        (count <= MAX_SEARCHED).then(|| self.0[lane].first_chunk().expect("there is room for as many"))
    }
}

/// The entry that differs from `previous` first at `h` and goes on with `suffix`.
#[inline(always)]
pub(crate) fn entry<F: Fingerprint>(previous: F, h: u32, suffix: F) -> F {
    // What is at and behind h goes; h is below the width.
    (previous & !(F::ONES >> h)) | F::bit(h) | suffix
}
