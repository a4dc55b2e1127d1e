//! Choices from bytes: fingerprints, sets of them, how to build an index, and what becomes of a file.

use arbitrary::Unstructured;
use hamdex::{AUTO, BuildOptions, Codec, Design, FilterChoice, Fingerprint};

use crate::common::file::HEADER_BYTES;

/// The most fingerprints of a set, so that brute force stays quick.
const MAX_SET: usize = 400;

/// A number below `end`; 0 when the bytes are used up.
pub fn below(bytes: &mut Unstructured<'_>, end: usize) -> usize {
    bytes.int_in_range(0..=end - 1).unwrap_or(0)
}

/// Yes or no; no when the bytes are used up.
pub fn flag(bytes: &mut Unstructured<'_>) -> bool {
    bytes.arbitrary().unwrap_or(false)
}

/// One of the values.
pub fn one_of<T: Clone>(bytes: &mut Unstructured<'_>, values: &[T]) -> T {
    values[below(bytes, values.len())].clone()
}

/// A fingerprint: near to one of `others`, at an end of the range, or any.
pub fn fingerprint<F: Fingerprint>(bytes: &mut Unstructured<'_>, others: &[F]) -> F {
    let last = others.last().copied().unwrap_or(F::ZERO);
    let bit = |bytes: &mut Unstructured<'_>| F::bit(below(bytes, F::BITS as usize) as u32);
    match below(bytes, 8) {
        0 => F::truncate(bytes.arbitrary().unwrap_or(0)),
        1 => last ^ bit(bytes),
        2 => F::truncate(last.to_u128().wrapping_add(1)),
        3 => F::truncate(last.to_u128().wrapping_add(bytes.arbitrary::<u16>().unwrap_or(0).into())),
        4 if !others.is_empty() => one_of(bytes, others) ^ bit(bytes) ^ bit(bytes),
        5 => F::prefix_mask(below(bytes, F::BITS as usize + 1) as u32),
        6 => F::ONES ^ bit(bytes),
        _ => last,
    }
}

/// A set of fingerprints, in no order, with repeats.
pub fn set<F: Fingerprint>(bytes: &mut Unstructured<'_>) -> Vec<F> {
    let most = one_of(bytes, &[0, 1, 2, 20, 100, MAX_SET]);
    let mut set: Vec<F> = Vec::new();
    while set.len() < most && !bytes.is_empty() {
        set.push(fingerprint(bytes, &set));
        // Runs of near-equal ones, so that few bytes fill a block.
        if below(bytes, 16) == 0 {
            let (start, step) = (*set.last().expect("one was pushed"), 1 + below(bytes, 200) as u128);
            let run = (1..=below(bytes, 100) as u128)
                .map(|i| F::truncate(start.to_u128().wrapping_add(i.wrapping_mul(step * step))));
            set.extend(run);
        }
    }
    set.truncate(MAX_SET);
    set
}

/// How to build an index: design, codec, size of blocks, metadata, filters.
pub fn options<F: Fingerprint>(bytes: &mut Unstructured<'_>) -> BuildOptions<F> {
    let distance = below(bytes, 9) as u32;
    let mut names = Design::<F>::names(distance);
    names.retain(|name| name != AUTO);
    let name = one_of(bytes, &names);
    let design = Design::named(&name, distance).expect("it was listed");
    let mut options = BuildOptions::new()
        .design(design)
        .codec(one_of(bytes, &Codec::ALL))
        .block_bytes(512 << below(bytes, 5))
        .threads(1);
    if flag(bytes) {
        options = options.metadata("a", "1").metadata("", "");
    }
    // With few fingerprints, 64 bits for each make a bitmap of short prefixes.
    options.filter(one_of(
        bytes,
        &[FilterChoice::None, FilterChoice::Bits(11), FilterChoice::Bits(1), FilterChoice::Bits(64)],
    ))
}

/// Pairs of some fingerprints with ids, several for some.
pub fn pairs<F: Fingerprint>(bytes: &mut Unstructured<'_>, set: &[F]) -> Vec<(F, u64)> {
    let base = one_of(bytes, &[0, 1, 1 << 33, u64::MAX - 1000]);
    let spread = one_of(bytes, &[1, 3, 1000]);
    let mut pairs = Vec::new();
    for &fingerprint in set {
        pairs.push((fingerprint, base + below(bytes, spread) as u64));
        if below(bytes, 4) == 1 {
            pairs.extend((0..below(bytes, 6)).map(|id| (fingerprint, base + id as u64)));
        }
    }
    pairs
}

/// Changes the bytes of a file in one place: other bytes there, an end there, or more at the end.
pub fn damage(contents: &mut Vec<u8>, bytes: &mut Unstructured<'_>) {
    let at = below(bytes, contents.len().max(1));
    match below(bytes, 15) {
        0 => contents.truncate(at),
        1 => contents.extend_from_slice(bytes.arbitrary::<&[u8]>().unwrap_or_default()),
        _ if at < contents.len() => {
            // The start of a file decides most.
            let at = if flag(bytes) { at % HEADER_BYTES.min(contents.len()) } else { at };
            let new: [u8; 4] = bytes.arbitrary().unwrap_or_default();
            let end = (at + 1 + below(bytes, 4)).min(contents.len());
            contents[at..end].copy_from_slice(&new[..end - at]);
        }
        _ => {}
    }
}
