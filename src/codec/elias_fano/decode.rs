//! Reading all of a block, in order, checking all that can be checked.

use crate::arch::{self, Instructions, Kernel, LANES};
use crate::codec::elias_fano::block::Block;
use crate::codec::elias_fano::buckets::Uppers;
use crate::codec::elias_fano::scratch::Scratch;
use crate::codec::error::BlockError;
use hamdex_fingerprint::Fingerprint;

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
    const WORD_BITS: usize = 64;
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
