//! Reading a block: all of it in order, or as little as a query needs. The unary part gives the entries per bucket, by
//! counting zeros and ones.
//!
//! Bucket after bucket, there is a one for each of its entries and a zero at its end. So the z-th zero
//! ends bucket z, and the ones before it are the entries up to there.
//!
//! If the bits that the whole block shares use up the errors of the prefix, only one run of neighbours can
//! match: the entries that share the rest of the prefix with the query. Their buckets are looked up, and their
//! low bits compared with the query's, which leaves hardly more than the results. If errors are left, all low
//! bits are compared.

use std::marker::PhantomData;
use std::ops::ControlFlow;

use crate::arch::{self, Instructions, Kernel, LANES, LINE_BYTES, prefetch};
use crate::codec::elias_fano::{Block, Scratch, uppers_at};
use crate::codec::{BlockError, Blocks, Located, SCAN_BATCH, Target};
use hamdex_fingerprint::Fingerprint;

const WORD_BITS: usize = 64;

/// Bytes in which zeros are counted at once.
const CHUNK_BYTES: usize = 64;

/// The unary part of a block, word by word.
#[derive(Clone, Copy)]
pub(super) struct Uppers<'a> {
    bytes: &'a [u8],
    /// Its offset, in bytes.
    start: usize,
    /// Its bits, zeros at its end included.
    bits: usize,
    /// The coded entries, each of which has a one.
    coded: usize,
}

impl<'a> Uppers<'a> {
    #[inline(always)]
    pub(super) fn of<F: Fingerprint>(block: &Block<'a, F>) -> Self {
        let start = uppers_at::<F>();
        Self { bytes: block.bytes, start, bits: block.lows_start - start * 8, coded: block.coded }
    }

    /// Returns the number of words.
    #[inline(always)]
    pub(super) fn words(&self) -> usize {
        self.bits.div_ceil(WORD_BITS)
    }

    /// Returns the word of that number, least significant bit first; zeros beyond the end.
    #[inline(always)]
    pub(super) fn word(&self, number: usize) -> u64 {
        let at = self.start + number * 8;
        if (number + 1) * WORD_BITS <= self.bits {
            u64::from_le_bytes(self.bytes[at..at + 8].try_into().expect("8 bytes"))
        } else {
            self.word_at_end(number)
        }
    }

    /// Returns a word of which only a part belongs to the unary numbers.
    #[inline(never)]
    fn word_at_end(&self, number: usize) -> u64 {
        let mut word = [0; 8];
        let tail = self.bytes.get(self.start + number * 8..).unwrap_or_default();
        let tail = &tail[..tail.len().min(8)];
        word[..tail.len()].copy_from_slice(tail);
        let left = self.bits.saturating_sub(number * WORD_BITS);
        u64::from_le_bytes(word) & !(u64::MAX << left)
    }

    /// Returns the number of coded entries in the buckets before `first`, and up to and including `last`.
    #[inline(always)]
    pub(super) fn entries(&self, instructions: impl Instructions, first: u64, last: u64) -> (usize, usize) {
        // No block has that many zeros.
        let most = u64::from(u32::MAX);
        let (before, last) = (first.saturating_sub(1).min(most) as u32, last.min(most) as u32);
        let mut tail = [0; CHUNK_BYTES];
        let [start, end] = instructions.select_zeros(self.chunk(0, &mut tail), [before, last]);
        let start = if first == 0 { 0 } else { self.ones_before(instructions, before, start) };
        (start, self.ones_before(instructions, last, end).max(start))
    }

    /// Returns the number of ones before the zero of that rank, given the counts of the first chunk.
    #[inline(always)]
    fn ones_before(&self, instructions: impl Instructions, zero: u32, found: Result<u32, u32>) -> usize {
        match found {
            Ok(place) => self.ones_up_to(place as usize, zero),
            Err(before) => self.ones_behind(instructions, zero, before),
        }
    }

    /// Returns the bytes from `at` on, with zeros after the end of the block.
    #[inline(always)]
    fn chunk<'c>(&self, at: usize, tail: &'c mut [u8; CHUNK_BYTES]) -> &'c [u8; CHUNK_BYTES]
    where
        'a: 'c,
    {
        let rest = &self.bytes[self.start + at..];
        if let Some(chunk) = rest.first_chunk() {
            return chunk;
        }
        tail[..rest.len()].copy_from_slice(rest);
        tail
    }

    /// Returns the ones before the zero of that rank, whose place is known.
    #[inline(always)]
    fn ones_up_to(&self, place: usize, zero: u32) -> usize {
        // Every place before it that is no zero is a one. Beyond the unary part there is something else, but by then
        // there have been all ones.
        (place - zero as usize).min(self.coded)
    }

    /// Returns the ones before the zero of that rank, which lies behind the first chunk, in which `before` do; all
    /// where there are fewer zeros.
    #[inline(always)]
    fn ones_behind(&self, instructions: impl Instructions, zero: u32, before: u32) -> usize {
        let mut rank = zero - before;
        for at in (CHUNK_BYTES..self.bits.div_ceil(8)).step_by(CHUNK_BYTES) {
            let mut tail = [0; CHUNK_BYTES];
            match instructions.select_zero(self.chunk(at, &mut tail), rank) {
                Ok(place) => return self.ones_up_to(at * 8 + place as usize, zero),
                Err(zeros) => rank -= zeros,
            }
        }
        self.coded
    }

    /// Returns the bucket of a coded entry, counted from 0.
    pub(super) fn bucket_of(&self, instructions: impl Instructions, coded: usize) -> Option<usize> {
        let mut ones = 0;
        for number in 0..self.words() {
            let word = self.word(number);
            let more = word.count_ones() as usize;
            if ones + more > coded {
                let place = instructions.select(word, (coded - ones) as u32) as usize;
                return Some(number * WORD_BITS + place - coded);
            }
            ones += more;
        }
        None
    }
}

/// Appends the entries of a block to `values`, checking all that can be checked without its key.
pub(crate) fn decode<F: Fingerprint>(
    bytes: &[u8],
    scratch: &mut Scratch,
    values: &mut Vec<F>,
) -> Result<(), BlockError> {
    let places = &mut scratch.places;
    let block = Block::new(bytes)?;
    arch::run(Decode { block, places, values })
}

struct Decode<'a, F> {
    block: Block<'a, F>,
    places: &'a mut Vec<u16>,
    values: &'a mut Vec<F>,
}

impl<F: Fingerprint> Kernel for Decode<'_, F> {
    type Output = Result<(), BlockError>;

    #[inline(always)]
    fn run(self, instructions: impl Instructions) -> Self::Output {
        let Self { block, places, values } = self;
        let coded = block.coded;
        find_ones(instructions, &Uppers::of(&block), coded, places)?;
        // The greatest value comes last; if it is not beyond the width, none is.
        if let Some(last) = coded.checked_sub(1) {
            let bucket = usize::from(places[last]) - last;
            block.value(bucket, F::ZERO).ok_or(BlockError::Order)?;
        }

        let start = values.len();
        values.resize(start + coded + 1, F::ZERO);
        let (first, coded_values) = values[start..].split_first_mut().expect("it has just been made");
        *first = block.first;
        let base = (block.first >> block.low_bits).to_u128();
        let mut joined = 0;
        if let Some(words) = F::as_words(coded_values) {
            let (groups, _) = words.as_chunks_mut::<LANES>();
            if let Some(mut fields) = block.fields(0) {
                for (group, places) in groups.iter_mut().zip(places.as_chunks().0) {
                    *group = instructions.join((base as u64).wrapping_sub(joined as u64), places, fields);
                    fields = fields.skip_lanes();
                    joined += LANES;
                }
            }
        }
        for (number, value) in coded_values.iter_mut().enumerate().skip(joined) {
            let bucket = usize::from(places[number]) - number;
            *value = F::truncate(base + bucket as u128) << block.low_bits | block.low(number);
        }
        // Without a way out in the middle: so it goes several at a time.
        let is_ascending = values[start..].windows(2).fold(true, |so_far, pair| so_far & (pair[0] < pair[1]));
        if is_ascending { Ok(()) } else { Err(BlockError::Order) }
    }
}

/// Writes the place of each one of the unary part to `places`, and some room behind them.
#[inline(always)]
fn find_ones(
    instructions: impl Instructions,
    uppers: &Uppers<'_>,
    coded: usize,
    places: &mut Vec<u16>,
) -> Result<(), BlockError> {
    if places.len() < coded + 2 * WORD_BITS {
        places.resize(coded + 2 * WORD_BITS, 0);
    }
    let mut found = 0;
    for number in 0..uppers.words() {
        let word = uppers.word(number);
        let room = places[found..].first_chunk_mut().expect("there is room for another word");
        // A block has at most 65,536 bits.
        instructions.places_of_ones(word, (number * WORD_BITS) as u16, room);
        found += word.count_ones() as usize;
        if found > coded {
            return Err(BlockError::Padding);
        }
    }
    if found == coded { Ok(()) } else { Err(BlockError::Length) }
}

/// The part of a block to compare, apart from its first entry: a run of the others.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Candidates {
    /// From 0, not counting the block's first entry.
    start: usize,
    end: usize,
    /// Range of the low fields of the run, in bytes.
    lows: (usize, usize),
}

impl Candidates {
    /// Finds what may hold something that `target` meets; with the block's first entry, if the target meets that. `key`
    /// returns the block's key, which is wanted only if the prefix may have errors.
    #[inline(always)]
    pub(crate) fn find<F: Fingerprint>(
        instructions: impl Instructions,
        bytes: &[u8],
        key: impl FnOnce() -> F,
        target: &Target<F>,
    ) -> Result<(Option<F>, Self), BlockError> {
        let block = Block::new(bytes)?;
        let (least, greatest) = if target.prefix_errors() == 0 {
            target.run_of(target.query, 0)
        } else {
            let last = key();
            if block.first > last {
                return Err(BlockError::Key);
            }
            let (least, greatest) = target.span(block.first, last);
            (least, greatest.min(last))
        };
        if greatest < block.first {
            return Ok((None, Self { start: 0, end: 0, lows: (0, 0) }));
        }
        let is_first_met = least <= block.first && target.admits(block.first);
        let (first, last) = (block.bucket_of(least.max(block.first)), block.bucket_of(greatest));
        let (start, end) = Uppers::of(&block).entries(instructions, first, last);
        let byte_of = |coded: usize| (block.lows_start + coded * block.low_bits as usize) / 8;
        let candidates = Self { start, end, lows: (byte_of(start), byte_of(end)) };
        Ok((is_first_met.then_some(block.first), candidates))
    }

    /// Returns whether there are none.
    #[inline(always)]
    fn are_none(&self) -> bool {
        self.start >= self.end
    }

    /// Prefetches what a scan reads.
    #[inline(always)]
    pub(crate) fn prefetch(&self, bytes: &[u8]) {
        // Eight fields are loaded at once, even beyond the end of the run.
        let (start, end) = (self.lows.0, self.lows.1.max(self.lows.0 + LINE_BYTES));
        prefetch(bytes, start);
        (start + LINE_BYTES - 1..end).step_by(LINE_BYTES).for_each(|at| prefetch(bytes, at));
    }

    /// Calls `visit` with the number in the block and the value of each candidate that `target` meets.
    #[inline(always)]
    pub(crate) fn scan<F: Fingerprint>(
        self,
        instructions: impl Instructions,
        bytes: &[u8],
        target: &Target<F>,
        visit: &mut impl FnMut(usize, F) -> ControlFlow<()>,
    ) -> Result<ControlFlow<()>, BlockError> {
        let block = Block::new(bytes)?;
        let mut at = self.start;
        while at < self.end {
            let count = LANES.min(self.end - at);
            let mut near = near(instructions, &block, at, count, target);
            while near != 0 {
                let coded = at + near.trailing_zeros() as usize;
                near &= near - 1;
                let bucket = Uppers::of(&block).bucket_of(instructions, coded).ok_or(BlockError::Length)?;
                let value = block.value(bucket, block.low(coded)).ok_or(BlockError::Order)?;
                if target.admits(value) && visit(coded + 1, value).is_break() {
                    return Ok(ControlFlow::Break(()));
                }
            }
            at += count;
        }
        Ok(ControlFlow::Continue(()))
    }
}

/// Returns a bit mask of the entries, of `count` from the coded one `at` on, whose low bits are near enough to
/// the target.
#[inline(always)]
fn near<F: Fingerprint>(
    instructions: impl Instructions,
    block: &Block<'_, F>,
    at: usize,
    count: usize,
    target: &Target<F>,
) -> u32 {
    let Target { query, distance, .. } = *target;
    if let Some(fields) = block.fields(at) {
        return instructions.near_fields(fields, count, query.to_u128() as u64, distance);
    }
    let low_mask = !F::prefix_mask(F::BITS - block.low_bits);
    (0..count).fold(0, |near, lane| {
        let difference = (block.low(at + lane) ^ query) & low_mask;
        near | u32::from(difference.count_ones() <= distance) << lane
    })
}

/// Finds the entries to compare in many blocks, then compares them: the first is done from the fronts of
/// the blocks, and decides what to prefetch.
pub(crate) struct ScanBlocks<'a, F, B, V> {
    pub(crate) blocks: &'a B,
    pub(crate) scratch: &'a mut Scratch,
    /// Called with the block, the number in the block, and the value.
    pub(crate) visit: V,
    pub(crate) width: PhantomData<F>,
}

impl<F, B, V> Kernel for ScanBlocks<'_, F, B, V>
where
    F: Fingerprint,
    B: Blocks<F>,
    V: FnMut(Located, usize, F) -> ControlFlow<()>,
{
    type Output = Result<ControlFlow<()>, B::Error>;

    #[inline(always)]
    fn run(mut self, instructions: impl Instructions) -> Self::Output {
        let Self { blocks, scratch: Scratch { candidates: chosen, .. }, .. } = self;
        let mut batches = blocks.list().chunks(SCAN_BATCH).peekable();
        while let Some(together) = batches.next() {
            blocks.prefetch_fronts(batches.peek().copied().unwrap_or_default());
            chosen.clear();
            for &at in together {
                let bytes = blocks.checked_bytes(at)?;
                let found = Candidates::find(instructions, bytes, || blocks.key(at), blocks.target(at));
                let (first, candidates) = found.map_err(|error| blocks.damaged(at, error))?;
                if first.is_some_and(|first| (self.visit)(at, 0, first).is_break()) {
                    return Ok(ControlFlow::Break(()));
                }
                if !candidates.are_none() {
                    candidates.prefetch(bytes);
                    chosen.push((at, candidates));
                }
            }
            for &(at, ref candidates) in &*chosen {
                let mut visit = |entry, value| (self.visit)(at, entry, value);
                let outcome = candidates.scan(instructions, blocks.bytes(at), blocks.target(at), &mut visit);
                if outcome.map_err(|error| blocks.damaged(at, error))?.is_break() {
                    return Ok(ControlFlow::Break(()));
                }
            }
        }
        Ok(ControlFlow::Continue(()))
    }
}
