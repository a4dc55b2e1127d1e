//! How sorted fingerprints become the bytes of a block, and how a probe reads them.
//!
//! A block holds a run of ascending, distinct, permuted fingerprints; the first is raw. How the others
//! are told is the codec's affair, one codec a file.
//!
//! - [`huffman`]: first differing positions, Huffman-coded, and suffixes: the paper's
//! - [`elias_fano`]: low bits as they are, the rest in unary: for speed
//! - [`bits`]: bit strings, most significant bit first
//! - [`target`]: what a probe looks for
//! - [`reference`]: a slow second implementation, straight from format-spec.md

pub(crate) mod bits;
pub(crate) mod elias_fano;
mod error;
pub(crate) mod huffman;
pub mod reference;
mod target;

use std::fmt;
use std::ops::ControlFlow;
use std::str::FromStr;

use elias_fano::EliasFanoCodec;
pub use error::BlockError;
use huffman::{Candidate, Differences, HuffmanCodec, SCANNED_TOGETHER, Work, scan_together};
pub use target::Target;

use crate::arch::{self, Instructions, Kernel};
use crate::fingerprint::Fingerprint;

/// Where the checksum of a block ends: it covers what follows.
pub(crate) const CHECKSUM_BYTES: usize = 4;

/// The sizes that a block may have, as powers of two: 512 to 8,192 bytes.
pub(crate) const SIZES_LOG2: std::ops::RangeInclusive<u8> = 9..=13;

/// How blocks are coded: one way for all of a file.
///
/// ```
/// use hamdex::Codec;
///
/// assert_eq!("elias-fano".parse(), Ok(Codec::EliasFano));
/// assert_eq!(Codec::default().to_string(), "huffman");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum Codec {
    /// Huffman-coded first differing positions and suffixes (§3.1.3 of the paper): the smaller one
    /// where fingerprints lie in clusters, as those of real documents do.
    #[default]
    Huffman,
    /// Elias–Fano coding of each block: several times faster to ask, and the smaller one where
    /// fingerprints are spread evenly.
    EliasFano,
}

impl Codec {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::Huffman, Self::EliasFano];

    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Huffman => "huffman",
            Self::EliasFano => "elias-fano",
        }
    }

    /// Its tag in a file's footer.
    pub(crate) fn tag(self) -> u8 {
        match self {
            Self::Huffman => 1,
            Self::EliasFano => 2,
        }
    }

    /// Bytes of a block unless told otherwise; ARCHITECTURE.md has the measurements.
    #[must_use]
    pub fn default_block_bytes(self) -> usize {
        match self {
            // A page, so that a cold block is one read.
            Self::Huffman => 4096,
            Self::EliasFano => 1024,
        }
    }

    /// Entries from one raw fingerprint to the next; 0 where only a block's first is raw.
    pub(crate) fn restart_interval(self) -> usize {
        match self {
            Self::Huffman => 64,
            Self::EliasFano => 0,
        }
    }
}

impl fmt::Display for Codec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Codec {
    type Err = UnknownCodec;

    fn from_str(name: &str) -> Result<Self, UnknownCodec> {
        Self::ALL.into_iter().find(|codec| codec.name() == name).ok_or(UnknownCodec)
    }
}

/// A name that is none of a [`Codec`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("no such codec; there are huffman and elias-fano")]
pub struct UnknownCodec;

/// How blocks of a file are laid out: the same for all its tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Layout {
    /// How blocks are coded.
    pub codec: Codec,
    /// Bytes of a block, a power of two.
    pub block_bytes: usize,
    /// Entries from one raw fingerprint to the next; 0 where the codec has no such.
    pub restart_interval: usize,
}

/// Encodes and decodes the blocks of one table.
#[derive(Clone)]
pub enum BlockCodec {
    /// First differing positions and suffixes.
    Huffman(HuffmanCodec),
    /// Low bits, and the rest in unary.
    EliasFano(EliasFanoCodec),
}

/// Memory that reading blocks uses again and again.
#[derive(Debug)]
pub struct Scratch<F> {
    pub(crate) differences: Differences,
    candidates: Vec<Candidate<F>>,
    places: Vec<u16>,
}

impl<F> Default for Scratch<F> {
    fn default() -> Self {
        Self { differences: Differences::default(), candidates: Vec::new(), places: Vec::new() }
    }
}

impl BlockCodec {
    /// The codec for a table in which first differing positions occur so often; `other` is that of another
    /// table of the file, whose code it may share.
    pub fn from_counts(layout: Layout, counts: &[u64], other: Option<&Self>) -> Self {
        match layout.codec {
            Codec::Huffman => {
                Self::Huffman(HuffmanCodec::from_counts(layout, counts, other.and_then(Self::huffman)))
            }
            Codec::EliasFano => Self::EliasFano(EliasFanoCodec::new(layout)),
        }
    }

    /// The codec with the code of these lengths; `None` when they are not those of a complete code, or
    /// not all zero where there is no code. `other` is that of another table of the file, with which it
    /// shares the code where it is the same.
    pub fn from_lengths(layout: Layout, lengths: &[u8], other: Option<&Self>) -> Option<Self> {
        match layout.codec {
            Codec::Huffman => {
                let other = other.and_then(Self::huffman);
                HuffmanCodec::from_lengths(layout, lengths, other).map(Self::Huffman)
            }
            Codec::EliasFano => {
                lengths.iter().all(|&l| l == 0).then(|| Self::EliasFano(EliasFanoCodec::new(layout)))
            }
        }
    }

    pub(crate) fn huffman(&self) -> Option<&HuffmanCodec> {
        match self {
            Self::Huffman(codec) => Some(codec),
            Self::EliasFano(_) => None,
        }
    }

    pub(crate) fn layout(&self) -> Layout {
        match self {
            Self::Huffman(codec) => codec.layout(),
            Self::EliasFano(codec) => codec.layout(),
        }
    }

    /// The lengths of the codes for first differing positions; empty where there is no code.
    pub(crate) fn code_lengths(&self) -> &[u8] {
        match self {
            Self::Huffman(codec) => codec.code_lengths(),
            Self::EliasFano(_) => &[],
        }
    }

    /// The codes for first differing positions: the low bits of each, as many as its length;
    /// empty where there is no code.
    pub(crate) fn codes(&self) -> &[u16] {
        match self {
            Self::Huffman(codec) => codec.codes(),
            Self::EliasFano(_) => &[],
        }
    }

    /// Bytes of memory in use.
    pub(crate) fn memory_bytes(&self) -> usize {
        match self {
            Self::Huffman(codec) => codec.memory_bytes(),
            Self::EliasFano(_) => 0,
        }
    }

    /// How many of the ascending, distinct `values`, which are not empty, the next block takes. When it
    /// takes all of them, more might have fitted.
    pub fn fill<F: Fingerprint>(&self, values: &[F]) -> usize {
        match self {
            Self::Huffman(codec) => codec.fill(values),
            Self::EliasFano(codec) => codec.fill(values),
        }
    }

    /// Writes a block, all but its checksum, into `bytes`, which are zero.
    pub fn encode<F: Fingerprint>(&self, values: &[F], bytes: &mut [u8]) {
        match self {
            Self::Huffman(codec) => codec.encode(values, bytes),
            Self::EliasFano(codec) => codec.encode(values, bytes),
        }
    }

    /// Appends the entries of a block to `values`, checking all that the block alone can tell.
    ///
    /// # Errors
    /// When the block contradicts itself.
    pub fn decode<F: Fingerprint>(
        &self,
        bytes: &[u8],
        scratch: &mut Scratch<F>,
        values: &mut Vec<F>,
    ) -> Result<(), BlockError> {
        match self {
            Self::Huffman(codec) => codec.decode(bytes, &mut scratch.differences, values),
            Self::EliasFano(_) => elias_fano::decode(bytes, &mut scratch.places, values),
        }
    }

    /// Calls `visit` with the number in the block and the value of each entry of a block that `target`
    /// meets. `last` is the block's key.
    ///
    /// # Errors
    /// When the block contradicts itself.
    pub fn scan<F: Fingerprint>(
        &self,
        bytes: &[u8],
        last: F,
        target: &Target<F>,
        scratch: &mut Scratch<F>,
        visit: impl FnMut(usize, F) -> ControlFlow<()>,
    ) -> Result<ControlFlow<()>, BlockError> {
        match self {
            Self::Huffman(codec) => arch::run(HuffmanScan { codec, bytes, last, target, scratch, visit }),
            Self::EliasFano(_) => arch::run(EliasFanoScan { bytes, last, target, visit }),
        }
    }
}

/// A scan of one block, Huffman-coded.
struct HuffmanScan<'a, F, V> {
    codec: &'a HuffmanCodec,
    bytes: &'a [u8],
    last: F,
    target: &'a Target<F>,
    scratch: &'a mut Scratch<F>,
    visit: V,
}

impl<F: Fingerprint, V: FnMut(usize, F) -> ControlFlow<()>> Kernel for HuffmanScan<'_, F, V> {
    type Output = Result<ControlFlow<()>, BlockError>;

    #[inline(always)]
    fn run(mut self, instructions: impl Instructions) -> Self::Output {
        let Self { codec, bytes, last, target, .. } = self;
        let Scratch { differences, candidates, .. } = self.scratch;
        candidates.clear();
        codec.candidates(bytes, last, target, &mut |candidate| candidates.push(candidate))?;
        let mut visit = |_, entry, value| (self.visit)(entry, value);
        for together in candidates.chunks(SCANNED_TOGETHER) {
            let work = together.iter().map(|candidate| Work { codec, bytes, candidate, target });
            let outcome = scan_together(instructions, work, differences, &mut visit);
            if outcome.map_err(|(_, error)| error)?.is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
        Ok(ControlFlow::Continue(()))
    }
}

/// A scan of one block, Elias–Fano coded.
struct EliasFanoScan<'a, F, V> {
    bytes: &'a [u8],
    last: F,
    target: &'a Target<F>,
    visit: V,
}

impl<F: Fingerprint, V: FnMut(usize, F) -> ControlFlow<()>> Kernel for EliasFanoScan<'_, F, V> {
    type Output = Result<ControlFlow<()>, BlockError>;

    #[inline(always)]
    fn run(mut self, instructions: impl Instructions) -> Self::Output {
        let Self { bytes, last, target, .. } = self;
        let (candidates, _) = elias_fano::Candidates::find(instructions, bytes, last, target)?;
        candidates.scan(instructions, bytes, target, &mut self.visit)
    }
}

/// Counts h over ascending, distinct values; `before` precedes them, if there is one.
pub fn count_differences<F: Fingerprint>(before: Option<F>, values: &[F], counts: &mut [u64]) {
    let mut previous = before;
    for &value in values {
        if let Some(previous) = previous {
            counts[value.first_difference(previous) as usize] += 1;
        }
        previous = Some(value);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::reference::Coding;
    use super::*;
    use crate::arch::{Level, limit_level};

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
        let huffman = prop::sample::select(vec![1usize, 2, 7, 64, 128, 65_535]);
        let codec = prop_oneof![huffman.prop_map(|i| (Codec::Huffman, i)), Just((Codec::EliasFano, 0))];
        (9u32..=13, codec).prop_map(|(log2, (codec, restart_interval))| Layout {
            codec,
            block_bytes: 1 << log2,
            restart_interval,
        })
    }

    fn codec_for<F: Fingerprint>(layout: Layout, values: &[F]) -> BlockCodec {
        let mut counts = vec![0; F::BITS as usize];
        count_differences(None, values, &mut counts);
        BlockCodec::from_counts(layout, &counts, None)
    }

    fn coding(codec: &BlockCodec) -> Coding<'_> {
        match codec {
            BlockCodec::Huffman(_) => Coding::Huffman {
                code_lengths: codec.code_lengths(),
                restart_interval: codec.layout().restart_interval,
            },
            BlockCodec::EliasFano(_) => Coding::EliasFano,
        }
    }

    /// Encodes all values, block after block, and holds both codecs against each other.
    fn both_codecs_agree<F: Fingerprint>(layout: Layout, values: &[F]) {
        let codec = codec_for(layout, values);
        let (mut rest, mut scratch) = (values, Scratch::default());
        let mut decoded: Vec<F> = Vec::new();
        while !rest.is_empty() {
            let count = codec.fill(rest);
            let mut bytes = vec![0; layout.block_bytes];
            codec.encode(&rest[..count], &mut bytes);
            let slow = |count| reference::write_block(&rest[..count], coding(&codec), layout.block_bytes);
            assert!(slow(count).as_ref() == Some(&bytes), "the two codecs write different bytes");
            assert!(count == rest.len() || slow(count + 1).is_none(), "a block takes all that fits");
            codec.decode(&bytes, &mut scratch, &mut decoded).unwrap();
            let fields = reference::read_block::<F>(&bytes, coding(&codec)).unwrap();
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
        let visit = |at, value| {
            found.push((at, value));
            ControlFlow::Continue(())
        };
        let outcome = codec.scan(&bytes, last, target, &mut Scratch::default(), visit);
        assert_eq!(outcome, Ok(ControlFlow::Continue(())));
        found.sort_unstable();
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

    /// What may be wrong with a block and with what is asked of it.
    #[derive(Debug)]
    struct Lies {
        /// Bytes that change: where, and to what.
        bytes: Vec<(prop::sample::Index, u8)>,
        /// Those of the header: entries, l, the byte after it.
        header: Option<(u16, u8, u8)>,
        /// The key: another entry, or anything at all.
        key: (prop::sample::Index, Option<(u64, u64)>),
        /// The query, likewise.
        query: (prop::sample::Index, Option<(u64, u64)>),
        flips: Vec<u32>,
        /// Prefix bits, radius, distance.
        numbers: (u32, u32, u32),
    }

    fn lies() -> impl Strategy<Value = Lies> {
        let words = || {
            let ends = prop::sample::select(vec![(0, 0), (u64::MAX, u64::MAX), (u64::MAX, 0)]);
            prop_oneof![2 => any::<(u64, u64)>().boxed(), 1 => ends.boxed()]
        };
        let header = (0u16..700, 0u8..130, prop::sample::select(vec![0u8, 0, 0, 1]));
        (
            prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
            prop::option::weighted(0.3, header),
            (any::<prop::sample::Index>(), prop::option::of(words())),
            (any::<prop::sample::Index>(), prop::option::of(words())),
            prop::collection::vec(any::<u32>(), 0..4),
            (0u32..=128, 0u32..4, 0u32..9),
        )
            .prop_map(|(bytes, header, key, query, flips, numbers)| Lies {
                bytes,
                header,
                key,
                query,
                flips,
                numbers,
            })
    }

    /// Spoils a block and asks it: nothing panics; fast and reference codec agree on whether it is a
    /// block, and on its entries.
    fn both_survive<F: Fingerprint>(layout: Layout, values: &[F], lies: &Lies) {
        let codec = codec_for(layout, values);
        let block = &values[..codec.fill(values)];
        let mut bytes = vec![0; layout.block_bytes];
        codec.encode(block, &mut bytes);
        for (at, byte) in &lies.bytes {
            bytes[at.index(layout.block_bytes)] = *byte;
        }
        if let Some((count, low_bits, zero)) = lies.header {
            bytes[4..6].copy_from_slice(&count.to_le_bytes());
            bytes[6..8].copy_from_slice(&[low_bits, zero]);
        }
        let mut decoded: Vec<F> = Vec::new();
        let fast = codec.decode(&bytes, &mut Scratch::default(), &mut decoded);
        let slow = reference::read_block::<F>(&bytes, coding(&codec));
        assert_eq!(fast.is_ok(), slow.is_ok(), "{fast:?} {slow:?}");
        if let Ok(fields) = slow {
            assert_eq!(reference::fingerprints(&fields), decoded);
        }

        let told = |(at, words): (prop::sample::Index, Option<(u64, u64)>)| match words {
            Some((high, low)) => F::truncate(u128::from(high) << 64 | u128::from(low)),
            None => block[at.index(block.len())],
        };
        let query = lies.flips.iter().fold(told(lies.query), |x, &flip| x ^ F::bit(flip % F::BITS));
        let (prefix_bits, radius, distance) = lies.numbers;
        let prefix_bits = prefix_bits.min(F::BITS);
        let target = Target { query, prefix_bits, radius: radius.min(prefix_bits), distance };
        // The right key, and a wrong one.
        for last in [block[block.len() - 1], told(lies.key)] {
            let mut visited = 0;
            let visit = |entry, value: F| {
                assert!(target.admits(value) && entry < usize::from(u16::MAX));
                visited += 1;
                ControlFlow::Continue(())
            };
            let _ = codec.scan(&bytes, last, &target, &mut Scratch::default(), visit);
            assert!(visited <= layout.block_bytes * 8);
        }
    }

    /// Entries of a block and matches of a probe, as an instruction set gives them.
    type Read<F> = (Vec<F>, Vec<(usize, F)>);

    /// Decodes and scans the first block of `values` with every instruction set that there is.
    fn all_instruction_sets_agree<F: Fingerprint>(layout: Layout, values: &[F], target: &Target<F>) {
        let codec = codec_for(layout, values);
        let block = &values[..codec.fill(values)];
        let mut bytes = vec![0; layout.block_bytes];
        codec.encode(block, &mut bytes);
        let read = || -> Read<F> {
            let (mut decoded, mut found) = (Vec::new(), Vec::new());
            codec.decode(&bytes, &mut Scratch::default(), &mut decoded).unwrap();
            let visit = |at, value| {
                found.push((at, value));
                ControlFlow::Continue(())
            };
            let last = block[block.len() - 1];
            let outcome = codec.scan(&bytes, last, target, &mut Scratch::default(), visit);
            assert_eq!(outcome, Ok(ControlFlow::Continue(())));
            (decoded, found)
        };
        // No other unit test sets the limit, which holds for all threads.
        for level in [Level::Portable, Level::Avx2, Level::Avx512] {
            limit_level(level);
            let (decoded, mut found) = read();
            assert_eq!(decoded, block, "{level:?}");
            found.sort_unstable();
            let expected = block.iter().copied().enumerate().filter(|&(_, value)| target.admits(value));
            assert!(found.iter().copied().eq(expected), "{level:?}, {target:?}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(96))]

        #[test]
        fn every_instruction_set_reads_a_block_alike(
            values in values(narrow),
            wide_values in values(wide),
            layout in layouts(),
            pick: usize,
            flips in prop::collection::vec(any::<u32>(), 0..6),
            numbers in (0u32..=128, 0u32..4, 0u32..9),
        ) {
            all_instruction_sets_agree(layout, &values, &target(&values, pick, &flips, numbers));
            all_instruction_sets_agree(layout, &wide_values, &target(&wide_values, pick, &flips, numbers));
        }
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

    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(600))]

        /// Whatever the bytes, both codecs come back, and what one accepts the other reads alike.
        #[test]
        fn hostile_blocks_are_refused_alike(
            values in values(narrow),
            wide_values in values(wide),
            layout in layouts(),
            lies in lies(),
        ) {
            both_survive(layout, &values, &lies);
            both_survive(layout, &wide_values, &lies);
        }
    }
}
