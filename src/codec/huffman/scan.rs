//! Reading as little of a block as a query needs.
//!
//! The entries of a block are walked in order. Once an entry is dead for the query, because its bits
//! up to position m already hold too many errors, every later entry with h > m shares those bits and
//! is dead too: it is skipped without reading its suffix. The same holds for a whole block
//! ([`candidate`](super::candidate)).

use std::ops::ControlFlow;

use crate::bits::read;
use crate::codec::error::BlockError;
use crate::codec::huffman::candidate::Candidate;
use crate::codec::huffman::differences::entry;
use crate::codec::target::Target;
use hamdex_fingerprint::Fingerprint;

/// Calls `visit` with the number in the block and the value of each entry that is alive, given the h of the
/// later ones.
#[inline(always)]
pub(crate) fn scan<F: Fingerprint>(
    bytes: &[u8],
    candidate: &Candidate<F>,
    hs: &[u8],
    target: &Target<F>,
    visit: &mut impl FnMut(usize, F) -> ControlFlow<()>,
) -> Result<ControlFlow<()>, BlockError> {
    let mut value = candidate.first;
    let mut dead_at = target.dead_at(value ^ target.query);
    if dead_at == F::BITS && visit(0, value).is_break() {
        return Ok(ControlFlow::Break(()));
    }
    // The suffixes of the entries before `at` take the bits from `end` to the block's end.
    let (mut at, mut end) = (0, candidate.end);
    while !(candidate.used_up && target.is_passed_by(value, dead_at)) {
        let (dead, dead_bits) = skip_greater::<F>(&hs[at..], dead_at);
        at += dead;
        let Some(&h) = hs.get(at) else { break };
        let h = u32::from(h);
        let length = F::BITS - 1 - h;
        at += 1;
        end = candidate.suffix(end, dead_bits + length as usize)?;
        value = entry(value, h, read(bytes, end, length));
        dead_at = target.dead_at(value ^ target.query);
        if dead_at == F::BITS && visit(at, value).is_break() {
            return Ok(ControlFlow::Break(()));
        }
    }
    Ok(ControlFlow::Continue(()))
}

/// A one in every byte of a word, and the top bit of every byte.
const ONES: u64 = 0x0101_0101_0101_0101;
const TOPS: u64 = ONES << 7;

/// The low byte of every pair of bytes.
const LOWS: u64 = 0x00ff_00ff_00ff_00ff;

/// Returns the number of leading `hs` that are greater than `limit`, and the bits of their suffixes. Eight at a
/// time: h is below 128, so the top bit of each byte is free to catch a borrow.
#[inline]
fn skip_greater<F: Fingerprint>(hs: &[u8], limit: u32) -> (usize, usize) {
    let (mut count, mut sum) = (0, 0);
    if limit < F::BITS - 1 {
        for word in hs.chunks_exact(8) {
            let word = u64::from_le_bytes(word.try_into().expect("8 bytes"));
            let greater = ((word | TOPS) - ONES * u64::from(limit + 1)) & TOPS;
            let kept_bytes = (greater ^ TOPS).trailing_zeros() / 8;
            let kept = word & 1u64.unbounded_shl(kept_bytes * 8).wrapping_sub(1);
            // The sum of eight bytes below 128, in pairs that cannot overflow.
            let pairs = (kept & LOWS) + (kept >> 8 & LOWS);
            sum += (pairs.wrapping_mul(0x0001_0001_0001_0001) >> 48) as usize;
            count += kept_bytes as usize;
            if kept_bytes < 8 {
                return (count, count * (F::BITS - 1) as usize - sum);
            }
        }
    }
    for &h in &hs[count..] {
        if u32::from(h) <= limit {
            break;
        }
        count += 1;
        sum += usize::from(h);
    }
    (count, count * (F::BITS - 1) as usize - sum)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn skipping_is_what_it_says(hs in prop::collection::vec(0u8..128, 0..40), limit in 0u32..=128) {
            let expected = hs.iter().position(|&h| u32::from(h) <= limit).unwrap_or(hs.len());
            let bits: usize = hs[..expected].iter().map(|&h| 127 - usize::from(h)).sum();
            prop_assert_eq!(skip_greater::<u128>(&hs, limit), (expected, bits));
        }
    }
}
