//! The codec of the paper: Huffman-coded first differing positions.
//!
//! The first fingerprint of a block is raw. Each later one is told by h, the position of the first bit
//! in which it differs from its predecessor (bit h of the predecessor is 0 and its own is 1), and by
//! the bits to the right of h: its *suffix* (§3.1.3 of the paper). h is Huffman-coded with one codebook
//! a table.
//!
//! The layout serves the probe. Every `restart_interval` entries a *segment* begins with a raw
//! fingerprint, all of them together at the front of the block, where a probe sees at once which
//! segments can matter. Inside a segment the codes come first, in order, and the suffixes after them,
//! in reverse order: where an entry's suffix lies, back from the segment's end, follows from the h up
//! to its own. The codes of several segments, of as many blocks and tables, are decoded in lockstep.
//!
//! - [`lengths`]: optimal code lengths under a limit, canonical codes
//! - [`codebook`]: the tables that encode and decode h fast
//! - [`block`]: the layout of a block
//! - [`encode`]: filling blocks
//! - [`decode`]: reading all of a block
//! - [`scan`]: reading as little as a query needs
//! - [`search`]: finding what can have a prefix without reading any suffix

mod block;
mod codebook;
mod decode;
mod encode;
mod lengths;
mod scan;
mod search;

use std::ops::ControlFlow;
use std::sync::Arc;

use block::Block;
use codebook::Codebook;
pub(crate) use decode::Differences;
use lengths::{code_lengths, cost};
pub(crate) use scan::Candidate;
use search::Run;

use crate::arch::{Instructions, LINE_BYTES, prefetch};
use crate::codec::{BlockError, Layout, Target};
use hamdex_fingerprint::Fingerprint;

/// Encodes and decodes the blocks of one table.
#[derive(Clone)]
pub struct HuffmanCodec {
    layout: Layout,
    /// Shared by tables with the same code: the look-ups of a query find it in the nearest cache.
    codebook: Arc<Codebook>,
}

/// Bits of a code, where only a guess is wanted.
const CODE_BITS: usize = 3;

/// What one entry may take more, on average, for the sake of a code that another table has already: a
/// 64th of a bit.
const SHARING_SHARE: u64 = 64;

impl HuffmanCodec {
    /// The codec with the best code for first differing positions that occur so often; with that of
    /// `other`, which has one already, where it takes hardly more.
    pub(crate) fn from_counts(layout: Layout, counts: &[u64], other: Option<&Self>) -> Self {
        let best = code_lengths(counts);
        if let Some(other) = other {
            let most = cost(counts, &best)
                + counts.iter().map(|&count| u128::from(count)).sum::<u128>() / u128::from(SHARING_SHARE);
            if cost(counts, other.code_lengths()) <= most {
                return Self { layout, codebook: Arc::clone(&other.codebook) };
            }
        }
        Self::from_lengths(layout, &best, None).expect("the best code is complete")
    }

    /// The codec with the code of these lengths; `None` when they are not those of a complete code.
    /// Shares that of `other` where it is the same.
    pub(crate) fn from_lengths(layout: Layout, lengths: &[u8], other: Option<&Self>) -> Option<Self> {
        let codebook = match other.filter(|other| other.code_lengths() == lengths) {
            Some(other) => Arc::clone(&other.codebook),
            None => Arc::new(Codebook::from_lengths(lengths)?),
        };
        Some(Self { layout, codebook })
    }

    pub(crate) fn layout(&self) -> Layout {
        self.layout
    }

    /// The lengths of the codes, by h.
    pub(crate) fn code_lengths(&self) -> &[u8] {
        self.codebook.lengths()
    }

    /// The codes, by h: the low bits of each, as many as its length.
    pub(crate) fn codes(&self) -> &[u16] {
        self.codebook.codes()
    }

    /// Bytes of memory in use, the table's share of those that several use.
    pub(crate) fn memory_bytes(&self) -> usize {
        self.codebook.memory_bytes() / Arc::strong_count(&self.codebook)
    }

    /// Appends the entries of a block to `values`, checking all that the block alone can tell.
    pub(crate) fn decode<F: Fingerprint>(
        &self,
        bytes: &[u8],
        differences: &mut Differences,
        values: &mut Vec<F>,
    ) -> Result<(), BlockError> {
        let block = Block::new(bytes, self.layout.restart_interval)?;
        decode::decode(&block, &self.codebook, differences, values)?;
        if decode::padding_is_zero(&block) { Ok(()) } else { Err(BlockError::Padding) }
    }

    /// Where the codes of the segment with that entry start, and its suffix, in bytes from the start of the
    /// block, if that has so many entries and all take the same; or rather a bit before.
    #[inline(always)]
    pub(crate) fn likely_reads<F: Fingerprint>(&self, entry: usize, entries: usize) -> (usize, usize) {
        let Layout { block_bytes, restart_interval, .. } = self.layout;
        let place = entry % restart_interval;
        let front = block::streams_at::<F>(entries.div_ceil(restart_interval));
        // In bits; an entry's code and suffix together.
        let each = 8 * block_bytes.saturating_sub(front) / entries.max(1);
        let start = 8 * front + (entry - place) * each;
        let end = (start + restart_interval.min(entries) * each).min(8 * block_bytes);
        let suffix = end.saturating_sub(place * each.saturating_sub(CODE_BITS));
        ((start / 8).saturating_sub(LINE_BYTES / 2), (suffix / 8).saturating_sub(LINE_BYTES))
    }

    /// Calls `choose` with each segment of a block that may hold what `target` meets. `last` is the
    /// block's key. Reads nothing but the front of the block.
    ///
    /// # Errors
    /// When the block contradicts itself.
    #[inline(always)]
    pub(crate) fn candidates<F: Fingerprint>(
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
pub(crate) struct Work<'a, F> {
    /// The codec of its table.
    pub(crate) codec: &'a HuffmanCodec,
    /// Its block.
    pub(crate) bytes: &'a [u8],
    /// Which segment.
    pub(crate) candidate: &'a Candidate<F>,
    /// What is looked for.
    pub(crate) target: &'a Target<F>,
}

/// The most segments that [`scan_together`] takes at once.
pub(crate) const SCANNED_TOGETHER: usize = decode::LANES;

/// Calls `visit` with the place of the work, and with number in the block and value of each entry that
/// its target meets. Segments of several blocks, and tables, are decoded in lockstep: see
/// `codebook::decode_together`. Then all are searched for what can have the prefix, and only then the
/// first suffix is read, so that memory brings them all at once.
///
/// # Errors
/// When a block contradicts itself; with the place of the work.
#[inline(always)]
pub(crate) fn scan_together<'a, F: Fingerprint + 'a>(
    instructions: impl Instructions,
    work: impl Iterator<Item = Work<'a, F>> + Clone,
    differences: &mut Differences,
    visit: &mut impl FnMut(usize, usize, F) -> ControlFlow<()>,
) -> Result<ControlFlow<()>, (usize, BlockError)> {
    debug_assert!(work.clone().count() <= SCANNED_TOGETHER, "what is too much would be left out");
    let mut codes = work.clone().map(|work| work.candidate.codes(&work.codec.codebook, work.bytes));
    let Some(first) = codes.next() else { return Ok(ControlFlow::Continue(())) };
    differences.decode(first, codes);

    let mut runs = [None; SCANNED_TOGETHER];
    for (place, (work, run)) in work.clone().zip(&mut runs).enumerate() {
        if let Some(hs) = differences.searchable_lane(place, work.candidate.coded()) {
            *run = Run::find(instructions, hs, work.candidate, work.target);
            if let Some(run) = run {
                prefetch(work.bytes, run.reads() / 8);
            }
        }
    }
    for (place, work) in work.enumerate().take(SCANNED_TOGETHER) {
        let hs = differences.lane(place, work.candidate.coded());
        if let Some(run) = runs[place]
            && !run.may_match(work.bytes, work.candidate, hs, work.target).map_err(|error| (place, error))?
        {
            continue;
        }
        let mut visit = |entry, value| visit(place, entry, value);
        let outcome = scan::scan(work.bytes, work.candidate, hs, work.target, &mut visit);
        if outcome.map_err(|error| (place, error))?.is_break() {
            return Ok(ControlFlow::Break(()));
        }
    }
    Ok(ControlFlow::Continue(()))
}
