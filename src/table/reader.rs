//! A table of an open file.

use std::ops::Range;

use byteorder::{ByteOrder, LittleEndian};

use crate::arch::{LINE_BYTES, prefetch, prefetch_lines};
use crate::checked::Checked;
use crate::codec::huffman::{Candidate, HuffmanCodec, Work};
use crate::codec::{BlockCodec, BlockError, CHECKSUM_BYTES, Scratch, Target};
use crate::error::{Place, ReadError};
use crate::format::checksum::Context;
use crate::permutation::Permutation;
use crate::table::keys::Keys;
use hamdex_fingerprint::Fingerprint;

/// A range of this many blocks is looked into without narrowing it further.
const FEW_BLOCKS: usize = 2;

/// A prefix with more blocks than this is narrowed by the bits behind it, as far as the errors go: real
/// crawls have long runs of equal prefixes.
const SHORT_RANGE: usize = 4;

/// A table: where its blocks are and how to read them.
pub(crate) struct Table<F> {
    pub(crate) number: usize,
    pub(crate) permutation: Permutation<F>,
    pub(crate) codec: BlockCodec,
    pub(crate) keys: Keys<F>,
    /// Entries of a block, on average: for guesses.
    pub(crate) entries_a_block: usize,
    /// Where block 0 starts in the file.
    pub(crate) offset: usize,
    pub(crate) context: Context,
    /// The blocks that have been looked at and were whole.
    pub(crate) checked: Checked,
    /// Whether checksums are looked at every time all the same.
    pub(crate) always_check: bool,
}

impl<F: Fingerprint> Table<F> {
    fn block_bytes(&self) -> usize {
        self.codec.layout().block_bytes
    }

    /// Bytes of memory in use.
    pub(crate) fn memory_bytes(&self) -> usize {
        self.keys.bytes() + self.codec.memory_bytes() + self.checked.bytes()
    }

    fn place(&self, block: usize) -> Place {
        let offset = (self.offset + block * self.block_bytes()) as u64;
        Place::Block { table: self.number, block: block as u64, offset }
    }

    /// Says of a block that it contradicts itself.
    #[cold]
    pub(crate) fn damaged(&self, block: usize, error: BlockError) -> ReadError {
        ReadError::damaged(self.place(block), error)
    }

    /// The bytes of a block, unchecked.
    #[inline]
    pub(crate) fn bytes<'a>(&self, file: &'a [u8], block: usize) -> &'a [u8] {
        &file[self.offset + block * self.block_bytes()..][..self.block_bytes()]
    }

    /// Where some blocks lie in the file: offset and length.
    #[inline]
    pub(crate) fn extent(&self, blocks: Range<usize>) -> (usize, usize) {
        (self.offset + blocks.start * self.block_bytes(), blocks.len() * self.block_bytes())
    }

    /// Checks a block's checksum.
    pub(crate) fn check(&self, file: &[u8], block: usize) -> Result<(), ReadError> {
        let bytes = self.bytes(file, block);
        let stored = LittleEndian::read_u32(bytes);
        if self.context.checksum(block as u64, &bytes[CHECKSUM_BYTES..]) == stored {
            Ok(())
        } else {
            Err(ReadError::damaged(self.place(block), "its checksum does not match"))
        }
    }

    /// The bytes of a block, its checksum looked at unless it has been.
    #[inline(always)]
    pub(crate) fn block<'a>(&self, file: &'a [u8], block: usize) -> Result<&'a [u8], ReadError> {
        if self.always_check || !self.checked.contains(block) {
            self.first_check(file, block)?;
        }
        Ok(self.bytes(file, block))
    }

    /// Checks a block's checksum and remembers that it was right.
    #[cold]
    fn first_check(&self, file: &[u8], block: usize) -> Result<(), ReadError> {
        self.check(file, block)?;
        self.checked.insert(block);
        Ok(())
    }

    /// Asks the processor for what [`Self::locate`] needs first for this target.
    #[inline(always)]
    pub(crate) fn prefetch_directory(&self, target: &Target<F>) {
        self.keys.prefetch_directory(target.query);
    }

    /// Asks the processor for what [`Self::locate`] needs next for this target; and for some bytes near to the
    /// block that it will find, so that their page has been looked up by then.
    #[inline(always)]
    pub(crate) fn prefetch_keys(&self, file: &[u8], target: &Target<F>) {
        if let Some(block) = self.keys.prefetch_keys(target.query) {
            prefetch(file, self.offset + block * self.block_bytes());
        }
    }

    /// Appends the numbers of all blocks that may hold what `target` meets, each once, in no particular
    /// order.
    #[inline(always)]
    pub(crate) fn locate(&self, target: &Target<F>, blocks: &mut Vec<u32>) {
        if self.keys.len() == 0 {
            return;
        }
        let is_done = match target.radius.min(target.distance) {
            0 => {
                let home = self.range(target, target.query, 0);
                let is_short = home.len() <= SHORT_RANGE;
                if is_short {
                    blocks.extend(home);
                }
                is_short
            }
            1 => self.locate_flips(target, blocks),
            _ => false,
        };
        if !is_done {
            self.locate_all(target, blocks);
        }
    }

    /// The blocks that can hold values with the prefix that `value` has, which differs from the query's
    /// in so many errors; empty, behind the last block, where all values are smaller.
    #[inline(always)]
    fn range(&self, target: &Target<F>, value: F, errors: u32) -> Range<u32> {
        // Where no further error is admitted, all bits must be the value's.
        let depth = if errors < target.distance { target.prefix_bits } else { F::BITS };
        let mask = F::prefix_mask(depth);
        let (least, greatest) = (value & mask, value | !mask);
        let first = self.keys.find(least);
        if first >= self.keys.len() {
            let end = self.keys.len() as u32;
            return end..end;
        }
        // Most of the time the block that holds the least holds the greatest.
        let last = if self.keys.get(first) >= greatest { first } else { self.keys.find(greatest) };
        first as u32..last.min(self.keys.len() - 1) as u32 + 1
    }

    /// The blocks of the query's own prefix, and of those that differ from it in one bit; none, and
    /// `false`, where one of these prefixes has too many.
    #[inline(always)]
    fn locate_flips(&self, target: &Target<F>, blocks: &mut Vec<u32>) -> bool {
        let before = blocks.len();
        let flips = (0..target.prefix_bits).rev();
        for position in flips.clone() {
            self.keys.prefetch_keys(target.query ^ F::bit(position));
        }
        let home = self.range(target, target.query, 0);
        if home.len() > SHORT_RANGE {
            return false;
        }
        blocks.extend(home.clone());
        let (start, end) = (home.start as usize, home.end as usize);
        // Home holds what is above the first of these and up to the second; behind the last block is nothing.
        let above = if start > 0 { self.keys.get(start - 1) } else { F::ZERO };
        let up_to = if end < self.keys.len() { self.keys.get(end - 1) } else { F::ONES };
        let suffix = !F::prefix_mask(target.prefix_bits);
        // From the last bit of the prefix to the first, flips lead further and further from home, to
        // the left or to the right: what has been met there already is all between here and home.
        let (mut left, mut right) = (home.start, home.end);
        for position in flips {
            let flipped = target.query ^ F::bit(position);
            if (flipped & !suffix) > above && flipped | suffix <= up_to {
                continue;
            }
            let flipped = self.range(target, flipped, 1);
            if flipped.len() > SHORT_RANGE {
                blocks.truncate(before);
                return false;
            }
            if target.query & F::bit(position) == F::ZERO {
                let beyond = flipped.start.max(right)..flipped.end;
                right = right.max(beyond.end);
                blocks.extend(beyond);
            } else {
                let beyond = flipped.start..flipped.end.min(left);
                left = left.min(beyond.start);
                blocks.extend(beyond);
            }
        }
        true
    }

    /// Walks the bits of the query as a binary trie over the keys: a subtree whose values all lie in a
    /// block or two is settled; another is narrowed by its next bit, as it is in the query and, while
    /// errors are left, as it is not. So nothing is looked up twice that lies in one block, however
    /// many ways there are to place the errors.
    fn locate_all(&self, target: &Target<F>, blocks: &mut Vec<u32>) {
        let start = blocks.len();
        self.descend(target, target.query, 0, 0, blocks);
        // Without the blocks that several subtrees share, and those that cannot hold a match after all:
        // nobody shall wait for storage for their sake.
        blocks[start..].sort_unstable();
        let (mut kept, mut before) = (start, None);
        for at in start..blocks.len() {
            let block = blocks[at];
            if before.replace(block) != Some(block) && !self.rules_out(target, block as usize) {
                blocks[kept] = block;
                kept += 1;
            }
        }
        blocks.truncate(kept);
    }

    /// Whether the keys tell that a block holds nothing that `target` meets.
    pub(crate) fn rules_out(&self, target: &Target<F>, block: usize) -> bool {
        block > 0 && target.rules_out(self.keys.get(block - 1), self.keys.get(block))
    }

    /// Settles the subtree of the values that begin as `value` does up to bit `depth`; `errors` of
    /// these bits differ from the query.
    fn descend(&self, target: &Target<F>, value: F, mut depth: u32, errors: u32, blocks: &mut Vec<u32>) {
        let in_prefix = target.radius.min(target.distance);
        loop {
            // Where no further error is admitted, the query's own bits are the only way on.
            if depth < target.prefix_bits && errors >= in_prefix {
                depth = target.prefix_bits;
            }
            if errors >= target.distance {
                depth = F::BITS;
            }
            let mask = F::prefix_mask(depth);
            let first = self.keys.find(value & mask);
            let last = self.keys.find(value | !mask).min(self.keys.len() - 1);
            if first >= self.keys.len() {
                return;
            }
            if last - first < FEW_BLOCKS || depth == F::BITS {
                blocks.extend(first as u32..=last as u32);
                return;
            }
            self.descend(target, value ^ F::bit(depth), depth + 1, errors + 1, blocks);
            depth += 1;
        }
    }

    /// Asks the processor for the front of a block, and for what tells that it has been checked.
    #[inline(always)]
    pub(crate) fn prefetch_front(&self, file: &[u8], block: u32) {
        let start = self.offset + block as usize * self.block_bytes();
        prefetch(file, start);
        prefetch(file, start + LINE_BYTES);
        self.checked.prefetch(block as usize);
    }

    /// Asks the processor for what a scan would read behind the front of a block if all entries of the table
    /// were evenly spread.
    #[inline(always)]
    pub(crate) fn prefetch_likely(&self, file: &[u8], block: u32, target: &Target<F>) {
        let (block, block_bytes) = (block as usize, self.block_bytes());
        let start = self.offset + block * block_bytes;
        let low = if block > 0 { self.keys.get(block - 1) } else { F::ZERO };
        let high = self.keys.get(block);
        match &self.codec {
            BlockCodec::EliasFano(_) => {
                let place = target.place_between(low, high, block_bytes - LINE_BYTES);
                // The line in which the nearest to the query would be, and those next to it.
                prefetch(file, start + LINE_BYTES / 2 + place);
                prefetch(file, start + LINE_BYTES * 3 / 2 + place);
                prefetch(file, start + LINE_BYTES * 5 / 2 + place);
            }
            BlockCodec::Huffman(codec) => {
                let entry = target.place_between(low, high, self.entries_a_block);
                let (codes, suffix) = codec.likely_reads::<F>(entry, self.entries_a_block);
                prefetch(file, start + codes);
                prefetch(file, start + codes + LINE_BYTES);
                prefetch(file, start + suffix);
                prefetch(file, start + suffix + LINE_BYTES);
            }
        }
    }

    fn huffman(&self) -> &HuffmanCodec {
        self.codec.huffman().expect("the scanner asks for the codec first")
    }

    /// Calls `choose` with each segment of a block that may hold what `target` meets, having asked the
    /// processor for what a scan of it will read.
    #[inline(always)]
    pub(crate) fn candidates(
        &self,
        file: &[u8],
        block: u32,
        target: &Target<F>,
        choose: &mut impl FnMut(Candidate<F>),
    ) -> Result<(), ReadError> {
        let block = block as usize;
        let last = self.keys.get(block);
        let bytes = self.block(file, block)?;
        let mut choose = |candidate: Candidate<F>| {
            candidate.reads().into_iter().for_each(|reads| prefetch_lines(bytes, reads));
            choose(candidate);
        };
        self.huffman()
            .candidates(bytes, last, target, &mut choose)
            .map_err(|error| self.damaged(block, error))
    }

    /// What is to be scanned of a chosen segment.
    #[inline]
    pub(crate) fn work<'a>(
        &'a self,
        file: &'a [u8],
        block: u32,
        candidate: &'a Candidate<F>,
        target: &'a Target<F>,
    ) -> Work<'a, F> {
        Work { codec: self.huffman(), bytes: self.bytes(file, block as usize), candidate, target }
    }

    /// Appends the permuted entries of a block, which ends with its key and starts after the one
    /// before it.
    pub(crate) fn decode(
        &self,
        file: &[u8],
        block: usize,
        scratch: &mut Scratch<F>,
        values: &mut Vec<F>,
    ) -> Result<(), ReadError> {
        let start = values.len();
        let bytes = self.block(file, block)?;
        self.codec.decode(bytes, scratch, values).map_err(|error| self.damaged(block, error))?;
        if values.last() != Some(&self.keys.get(block)) {
            return Err(self.damaged(block, BlockError::Key));
        }
        if block > 0 && values[start] <= self.keys.get(block - 1) {
            return Err(self.damaged(block, BlockError::Order));
        }
        Ok(())
    }
}
