//! Either codec, for the blocks of one table.

use std::marker::PhantomData;
use std::ops::{ControlFlow, Range};

use crate::arch;
use crate::codec::elias_fano::{self, EliasFanoCodec};
use crate::codec::huffman::{self, HuffmanCodec};
use crate::codec::{BlockError, Blocks, Codec, Layout, Located, Target};
use hamdex_fingerprint::Fingerprint;

/// Encodes and decodes the blocks of one table.
#[derive(Clone)]
pub enum BlockCodec {
    /// First differing positions and suffixes.
    Huffman(HuffmanCodec),
    /// Low bits, and the rest in unary.
    EliasFano(EliasFanoCodec),
}

/// The reusable memory of reading blocks.
#[derive(Debug, Default)]
pub struct Scratch<F> {
    huffman: huffman::Scratch<F>,
    elias_fano: elias_fano::Scratch,
}

impl BlockCodec {
    /// Returns the codec for a table in which first differing positions occur so often; `other` is that of another
    /// table of the file, whose code it may share.
    pub fn from_counts(layout: Layout, counts: &[u64], other: Option<&Self>) -> Self {
        match layout.codec {
            Codec::Huffman => {
                Self::Huffman(HuffmanCodec::from_counts(layout, counts, other.and_then(Self::huffman)))
            }
            Codec::EliasFano => Self::EliasFano(EliasFanoCodec::new(layout)),
        }
    }

    /// Returns the codec with the code of these lengths; `None` if they do not make a complete code, or not all
    /// zero without a code. `other` is the codec of another table of the file, with which it shares an equal
    /// code.
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

    /// Returns the lengths of the codes for first differing positions; empty if there is no code.
    pub(crate) fn code_lengths(&self) -> &[u8] {
        self.huffman().map_or(&[], HuffmanCodec::code_lengths)
    }

    /// Returns the codes for first differing positions: the low bits of each, as many as its length;
    /// empty if there is no code.
    pub(crate) fn codes(&self) -> &[u16] {
        self.huffman().map_or(&[], HuffmanCodec::codes)
    }

    /// Returns the bytes of memory in use.
    pub(crate) fn memory_bytes(&self) -> usize {
        self.huffman().map_or(0, HuffmanCodec::memory_bytes)
    }

    /// Returns how many of the ascending, distinct, non-empty `values` the next block takes. If it takes all of
    /// them, more might fit.
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

    /// Appends the entries of some blocks to `values`, checking all that can be checked without their keys; `check`
    /// checks the rest, given the place of each block and its entries. Several blocks take less time together.
    ///
    /// # Errors
    /// When a block contradicts itself, or `check` refuses it; with its place. The entries of earlier blocks
    /// have been appended.
    pub fn decode<F: Fingerprint>(
        &self,
        blocks: &[&[u8]],
        scratch: &mut Scratch<F>,
        values: &mut Vec<F>,
        mut check: impl FnMut(usize, &[F]) -> Result<(), BlockError>,
    ) -> Result<(), (usize, BlockError)> {
        let (mut place, mut start) = (0, values.len());
        let each = &mut |values: &mut Vec<F>| {
            check(place, &values[start..])?;
            (place, start) = (place + 1, values.len());
            Ok(())
        };
        let decoded = match self {
            Self::Huffman(codec) => codec.decode(blocks, &mut scratch.huffman, values, each),
            Self::EliasFano(_) => blocks.iter().try_for_each(|bytes| {
                elias_fano::decode(bytes, &mut scratch.elias_fano, values)?;
                each(values)
            }),
        };
        decoded.map_err(|error| {
            values.truncate(start);
            (place, error)
        })
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
        mut visit: impl FnMut(usize, F) -> ControlFlow<()>,
    ) -> Result<ControlFlow<()>, BlockError> {
        let block = OneBlock { bytes, last, target };
        scan_blocks(&block, |_| self, scratch, |_, entry, value| visit(entry, value))
    }

    /// Returns whether a scan of a block for `target` reads its key.
    #[inline(always)]
    pub(crate) fn needs_key<F: Fingerprint>(&self, target: &Target<F>) -> bool {
        match self {
            Self::Huffman(_) => true,
            Self::EliasFano(_) => target.prefix_errors() > 0,
        }
    }

    /// Returns whether a scan of a block for a prefix probably reads more than its front, if
    /// `entries_per_prefix` entries share a prefix.
    #[inline(always)]
    pub(crate) fn reads_behind_front(&self, entries_per_prefix: u64) -> bool {
        match self {
            Self::Huffman(_) => true,
            Self::EliasFano(_) => entries_per_prefix > 0,
        }
    }

    /// Prefetches what a scan would read after the front of a block if all entries of the table were evenly spread.
    /// The block begins at `start` of `file` and has about `entries` entries; the target lies at that `fraction` of the
    /// way from the first to the last.
    #[inline(always)]
    pub(crate) fn prefetch_likely<F: Fingerprint>(
        &self,
        file: &[u8],
        start: usize,
        fraction: f32,
        entries: usize,
    ) {
        match self {
            Self::Huffman(codec) => codec.prefetch_likely::<F>(file, start, fraction, entries),
            Self::EliasFano(codec) => codec.prefetch_likely(file, start, fraction),
        }
    }
}

/// Calls `visit` with each entry that meets the target of its block: its block, its number in the block, and
/// its value. Returns whether it broke. All of the blocks have the same kind of codec; `codec` returns that of
/// each.
///
/// # Errors
/// When a block is damaged.
pub(crate) fn scan_blocks<'a, F: Fingerprint, B: Blocks<F>>(
    blocks: &B,
    codec: impl Fn(Located) -> &'a BlockCodec,
    scratch: &mut Scratch<F>,
    visit: impl FnMut(Located, usize, F) -> ControlFlow<()>,
) -> Result<ControlFlow<()>, B::Error> {
    match blocks.list().first().map(|&at| codec(at)) {
        Some(BlockCodec::Huffman(_)) => {
            let codec = |at| codec(at).huffman().expect("the first one has a Huffman code, too");
            arch::run(huffman::ScanBlocks { blocks, codec, scratch: &mut scratch.huffman, visit })
        }
        Some(BlockCodec::EliasFano(_)) => {
            let (scratch, width) = (&mut scratch.elias_fano, PhantomData);
            arch::run(elias_fano::ScanBlocks { blocks, scratch, visit, width })
        }
        None => Ok(ControlFlow::Continue(())),
    }
}

/// Calls `visit` with each block that has entries with the prefix of its target, which admits no errors in it, and with
/// their numbers in the block. The blocks are Elias–Fano ones.
///
/// # Errors
/// When a block is damaged.
pub(crate) fn find_runs<F: Fingerprint, B: Blocks<F>>(
    blocks: &B,
    scratch: &mut Scratch<F>,
    visit: impl FnMut(Located, Range<usize>),
) -> Result<(), B::Error> {
    let (scratch, width) = (&mut scratch.elias_fano, PhantomData);
    arch::run(elias_fano::FindRuns { blocks, scratch, visit, width })
}

/// A single block, whose owner checks its checksum.
struct OneBlock<'a, F> {
    bytes: &'a [u8],
    last: F,
    target: &'a Target<F>,
}

impl<F: Fingerprint> Blocks<F> for OneBlock<'_, F> {
    type Error = BlockError;

    fn list(&self) -> &[Located] {
        &[Located { table: 0, block: 0, target: 0 }]
    }

    fn prefetch_fronts(&self, _: &[Located]) {}

    fn checked_bytes(&self, _: Located) -> Result<&[u8], BlockError> {
        Ok(self.bytes)
    }

    fn key(&self, _: Located) -> F {
        self.last
    }

    fn bytes(&self, _: Located) -> &[u8] {
        self.bytes
    }

    fn target(&self, _: Located) -> &Target<F> {
        self.target
    }

    fn damaged(&self, _: Located, error: BlockError) -> BlockError {
        error
    }
}

/// Counts h over ascending, distinct values; `before` precedes them, if any.
pub fn count_differences<F: Fingerprint>(before: Option<F>, values: &[F], counts: &mut [u64]) {
    let mut previous = before;
    for &value in values {
        if let Some(previous) = previous {
            counts[value.first_difference(previous) as usize] += 1;
        }
        previous = Some(value);
    }
}
