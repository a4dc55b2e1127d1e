//! The unary part of a block: entries per bucket, by counting zeros and ones, and reading the whole block in order.
//!
//! Bucket after bucket, there is a one for each of its entries and a zero at its end. So the z-th zero
//! ends bucket z, and the ones before it are the entries up to there.

use crate::arch::{self, Instructions, Kernel, LANES};
use crate::codec::BlockError;
use crate::codec::elias_fano::{Block, Scratch, uppers_at};
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
