//! How sorted fingerprints become the bytes of a block, and how a probe reads them.
//!
//! A block holds a run of ascending, distinct, permuted fingerprints. The first is raw. Each later
//! one is told by h, the position of the first bit in which it differs from its predecessor (bit h
//! of the predecessor is 0 and its own is 1), and by the bits to the right of h: its *suffix*
//! (§3.1.3 of the paper). h is Huffman-coded with one codebook a table.
//!
//! The layout serves the probe. Every `restart_interval` entries a *segment* begins with a raw
//! fingerprint, all of them together at the front of the block, where a probe sees at once which
//! segments can matter. Inside a segment the codes come first, in order, and the suffixes after them,
//! in reverse order: where an entry's suffix lies, back from the segment's end, follows from the h up
//! to its own. The codes of several segments, of as many blocks and tables, are decoded in lockstep.
//!
//! - [`bits`]: bit strings, most significant bit first
//! - [`huffman`]: optimal code lengths under a limit, canonical codes
//! - [`codebook`]: the tables that encode and decode h fast
//! - [`block`]: the layout of a block
//! - [`encode`]: filling blocks
//! - [`decode`]: reading all of a block
//! - [`scan`]: reading as little as a query needs
//! - [`reference`]: a slow second implementation, straight from format-spec.md

pub(crate) mod bits;
pub(crate) mod block;
pub(crate) mod codebook;
pub(crate) mod decode;
pub(crate) mod encode;
pub(crate) mod huffman;
pub mod reference;
pub(crate) mod scan;

use std::ops::ControlFlow;

use block::{Block, BlockError};
use codebook::Codebook;
pub use decode::Differences;
pub use encode::{Layout, count_differences};
pub use scan::{Candidate, Target};

use crate::fingerprint::Fingerprint;

/// The codec tag of format-spec.md for blocks of Huffman-coded first differing positions.
pub(crate) const HUFFMAN: u8 = 1;

/// Encodes and decodes the blocks of one table.
#[derive(Clone)]
pub struct BlockCodec {
    layout: Layout,
    codebook: Codebook,
}

impl BlockCodec {
    /// The codec with the best code for first differing positions that occur so often.
    pub fn from_counts(layout: Layout, counts: &[u64]) -> Self {
        Self { layout, codebook: Codebook::from_counts(counts) }
    }

    /// The codec with the code of these lengths; `None` when they are not those of a complete code.
    pub fn from_lengths(layout: Layout, lengths: &[u8]) -> Option<Self> {
        Some(Self { layout, codebook: Codebook::from_lengths(lengths)? })
    }

    pub(crate) fn layout(&self) -> Layout {
        self.layout
    }

    pub(crate) fn codebook(&self) -> &Codebook {
        &self.codebook
    }

    /// Bytes of memory in use.
    pub(crate) fn memory_bytes(&self) -> usize {
        self.codebook.memory_bytes()
    }

    /// How many of the ascending, distinct `values` the next block takes.
    pub fn fill<F: Fingerprint>(&self, values: &[F]) -> usize {
        self.layout.fill(&self.codebook, values)
    }

    /// Writes a block, all but its checksum, into `bytes`, which are zero.
    pub fn encode<F: Fingerprint>(&self, values: &[F], bytes: &mut [u8]) {
        self.layout.encode(&self.codebook, values, bytes);
    }

    /// Appends the entries of a block to `values`, checking all that the block alone can tell.
    pub fn decode<F: Fingerprint>(
        &self,
        bytes: &[u8],
        differences: &mut Differences,
        values: &mut Vec<F>,
    ) -> Result<(), BlockError> {
        let block = Block::new(bytes, self.layout.restart_interval)?;
        decode::decode(&block, &self.codebook, differences, values)?;
        if decode::padding_is_zero(&block) { Ok(()) } else { Err(BlockError::Padding) }
    }

    /// Calls `choose` with each segment of a block that may hold what `target` meets. `last` is the
    /// block's key. Reads nothing but the front of the block.
    ///
    /// # Errors
    /// When the block contradicts itself.
    #[inline]
    pub fn candidates<F: Fingerprint>(
        &self,
        bytes: &[u8],
        last: F,
        target: &Target<F>,
        choose: &mut impl FnMut(Candidate<F>),
    ) -> Result<(), BlockError> {
        let block = Block::new(bytes, self.layout.restart_interval)?;
        scan::candidates(&block, last, target, choose)
    }
}

/// A segment to be scanned for what a target meets.
#[derive(Clone, Copy)]
pub struct Work<'a, F> {
    /// The codec of its table.
    pub codec: &'a BlockCodec,
    /// Its block.
    pub bytes: &'a [u8],
    /// Which segment.
    pub candidate: &'a Candidate<F>,
    /// What is looked for.
    pub target: &'a Target<F>,
}

/// The most segments that [`scan_together`] takes at once.
pub const SCANNED_TOGETHER: usize = decode::LANES;

/// Calls `visit` with the place of the work, and with number in the block and value of each entry that
/// its target meets. Segments of several blocks, and tables, are decoded in lockstep: see
/// `codebook::decode_together`.
///
/// # Errors
/// When a block contradicts itself; with the place of the work.
#[inline]
pub fn scan_together<'a, F: Fingerprint + 'a>(
    work: impl Iterator<Item = Work<'a, F>> + Clone,
    differences: &mut Differences,
    visit: &mut impl FnMut(usize, usize, F) -> ControlFlow<()>,
) -> Result<ControlFlow<()>, (usize, BlockError)> {
    debug_assert!(work.clone().count() <= SCANNED_TOGETHER, "what is too much would be left out");
    let mut codes = work.clone().map(|work| work.candidate.codes(&work.codec.codebook, work.bytes));
    let Some(first) = codes.next() else { return Ok(ControlFlow::Continue(())) };
    let ends = differences.decode(first, codes);
    for (place, work) in work.enumerate().take(SCANNED_TOGETHER) {
        let hs = differences.lane(place, work.candidate.coded());
        let mut visit = |entry, value| visit(place, entry, value);
        let outcome = scan::scan(work.bytes, work.candidate, (hs, ends[place]), work.target, &mut visit);
        if outcome.map_err(|error| (place, error))?.is_break() {
            return Ok(ControlFlow::Break(()));
        }
    }
    Ok(ControlFlow::Continue(()))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Ascending, distinct values that are uniform, in clusters, in runs, or extreme.
    fn values<F: Fingerprint>(words: fn(u64, u64) -> F) -> impl Strategy<Value = Vec<F>> {
        let uniform = prop::collection::vec(any::<(u64, u64)>(), 1..400);
        let clusters = (any::<(u64, u64)>(), prop::collection::vec((0u32..64, 0u32..64), 1..400)).prop_map(
            |((high, low), flips)| flips.into_iter().map(|(a, b)| (high, low ^ 1 << a ^ 1 << b)).collect(),
        );
        let runs = (any::<(u64, u64)>(), 1u64..3000)
            .prop_map(|((high, low), length)| (0..length).map(|i| (high, low.wrapping_add(i))).collect());
        let extreme = prop::collection::vec(
            prop::sample::select(vec![(0, 0), (0, 1), (u64::MAX, u64::MAX), (1, 0)]),
            1..4,
        );
        prop_oneof![uniform, clusters, runs, extreme].prop_map(move |words_in: Vec<(u64, u64)>| {
            let mut values: Vec<F> = words_in.into_iter().map(|(high, low)| words(high, low)).collect();
            values.sort_unstable();
            values.dedup();
            values
        })
    }

    fn layouts() -> impl Strategy<Value = Layout> {
        (9u32..=13, prop::sample::select(vec![1usize, 2, 7, 64, 128, 65_535]))
            .prop_map(|(log2, restart_interval)| Layout { block_bytes: 1 << log2, restart_interval })
    }

    fn codec_for<F: Fingerprint>(layout: Layout, values: &[F]) -> BlockCodec {
        let mut counts = vec![0; F::BITS as usize];
        count_differences(None, values, &mut counts);
        BlockCodec::from_counts(layout, &counts)
    }

    /// Encodes all values, block after block, and holds both codecs against each other.
    fn both_codecs_agree<F: Fingerprint>(layout: Layout, values: &[F]) {
        let codec = codec_for(layout, values);
        let lengths = codec.codebook().lengths();
        let (mut rest, mut differences) = (values, Differences::default());
        let mut decoded: Vec<F> = Vec::new();
        while !rest.is_empty() {
            let count = codec.fill(rest);
            let mut bytes = vec![0; layout.block_bytes];
            codec.encode(&rest[..count], &mut bytes);
            let slow = |count| {
                reference::write_block(&rest[..count], lengths, layout.restart_interval, layout.block_bytes)
            };
            assert!(slow(count).as_ref() == Some(&bytes), "the two codecs write different bytes");
            assert!(count == rest.len() || slow(count + 1).is_none(), "a block takes all that fits");
            codec.decode(&bytes, &mut differences, &mut decoded).unwrap();
            let fields = reference::read_block::<F>(&bytes, lengths, layout.restart_interval).unwrap();
            assert_eq!(reference::fingerprints(&fields), rest[..count]);
            assert!(fields.windows(2).all(|pair| pair[0].bits.end == pair[1].bits.start));
            rest = &rest[count..];
        }
        assert_eq!(decoded, values);
    }

    fn scan_equals_brute_force<F: Fingerprint>(layout: Layout, values: &[F], target: &Target<F>) {
        let codec = codec_for(layout, values);
        let block = &values[..codec.fill(values)];
        let mut bytes = vec![0; layout.block_bytes];
        codec.encode(block, &mut bytes);
        let prefix = F::prefix_mask(target.prefix_bits);
        let expected: Vec<(usize, F)> = block
            .iter()
            .copied()
            .enumerate()
            .filter(|&(_, x)| x.distance(target.query) <= target.distance)
            .filter(|&(_, x)| (x & prefix).distance(target.query & prefix) <= target.radius)
            .collect();
        let mut found = Vec::new();
        let last = block[block.len() - 1];
        let mut candidates = Vec::new();
        codec.candidates(&bytes, last, target, &mut |candidate| candidates.push(candidate)).unwrap();
        for together in candidates.chunks(SCANNED_TOGETHER) {
            let mut visit = |_, at, value| {
                found.push((at, value));
                ControlFlow::Continue(())
            };
            let work =
                together.iter().map(|candidate| Work { codec: &codec, bytes: &bytes, candidate, target });
            let outcome = scan_together(work, &mut Differences::default(), &mut visit);
            assert_eq!(outcome, Ok(ControlFlow::Continue(())));
        }
        assert_eq!(found, expected, "{target:?}");
    }

    fn narrow(_: u64, low: u64) -> u64 {
        low
    }

    fn wide(high: u64, low: u64) -> u128 {
        u128::from(high) << 64 | u128::from(low)
    }

    fn target<F: Fingerprint>(
        values: &[F],
        pick: usize,
        flips: &[u32],
        numbers: (u32, u32, u32),
    ) -> Target<F> {
        let near = values[pick % values.len()];
        let query = flips.iter().fold(near, |x, &flip| x ^ F::bit(flip % F::BITS));
        let prefix_bits = numbers.0.min(F::BITS);
        Target { query, prefix_bits, radius: numbers.1.min(prefix_bits), distance: numbers.2 }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(96))]

        #[test]
        fn fast_and_reference_codec_agree_at_64_bits(values in values(narrow), layout in layouts()) {
            both_codecs_agree(layout, &values);
        }

        #[test]
        fn fast_and_reference_codec_agree_at_128_bits(values in values(wide), layout in layouts()) {
            both_codecs_agree(layout, &values);
        }

        #[test]
        fn a_scan_finds_what_brute_force_finds(
            values in values(narrow),
            wide_values in values(wide),
            layout in layouts(),
            pick: usize,
            flips in prop::collection::vec(any::<u32>(), 0..6),
            numbers in (0u32..=128, 0u32..4, 0u32..9),
        ) {
            scan_equals_brute_force(layout, &values, &target(&values, pick, &flips, numbers));
            scan_equals_brute_force(layout, &wide_values, &target(&wide_values, pick, &flips, numbers));
        }

        /// Whatever the bytes, both codecs come back, and what one accepts the other reads alike.
        #[test]
        fn hostile_blocks_are_refused_alike(
            values in values(narrow),
            restart_interval in 1usize..200,
            damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
        ) {
            let layout = Layout { block_bytes: 512, restart_interval };
            let codec = codec_for(layout, &values);
            let mut bytes = vec![0; 512];
            codec.encode(&values[..codec.fill(&values)], &mut bytes);
            for (at, byte) in damage {
                bytes[at.index(512)] = byte;
            }
            let mut decoded: Vec<u64> = Vec::new();
            let fast = codec.decode(&bytes, &mut Differences::default(), &mut decoded);
            let slow = reference::read_block::<u64>(&bytes, codec.codebook().lengths(), restart_interval);
            prop_assert_eq!(fast.is_ok(), slow.is_ok(), "{:?} {:?}", fast, slow);
            if let Ok(fields) = slow {
                prop_assert_eq!(reference::fingerprints(&fields), decoded);
            }
            let target = Target { query: values[0], prefix_bits: 20, radius: 1, distance: 3 };
            let last = values[values.len() - 1];
            let mut candidates = Vec::new();
            let _ = codec.candidates(&bytes, last, &target, &mut |candidate| candidates.push(candidate));
            for candidate in &candidates {
                let work = std::iter::once(Work { codec: &codec, bytes: &bytes, candidate, target: &target });
                let mut visit = |_, _, _| ControlFlow::Continue(());
                let _ = scan_together(work, &mut Differences::default(), &mut visit);
            }
        }
    }
}
