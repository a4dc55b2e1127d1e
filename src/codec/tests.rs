//! Both codecs against the reference and against brute force.

use std::ops::ControlFlow;

use proptest::prelude::*;

use super::reference::Coding;
use super::*;
use crate::arch::{Level, limit_level};
use hamdex_fingerprint::Fingerprint;

/// Ascending, distinct values that are uniform, in clusters, in runs, or extreme.
fn values<F: Fingerprint>(words: fn(u64, u64) -> F) -> impl Strategy<Value = Vec<F>> {
    let uniform = prop::collection::vec(any::<(u64, u64)>(), 1..400);
    let clusters = (any::<(u64, u64)>(), prop::collection::vec((0u32..64, 0u32..64), 1..400)).prop_map(
        |((high, low), flips)| flips.into_iter().map(|(a, b)| (high, low ^ 1 << a ^ 1 << b)).collect(),
    );
    let runs = (any::<(u64, u64)>(), 1u64..3000)
        .prop_map(|((high, low), length)| (0..length).map(|i| (high, low.wrapping_add(i))).collect());
    let extreme =
        prop::collection::vec(prop::sample::select(vec![(0, 0), (0, 1), (u64::MAX, u64::MAX), (1, 0)]), 1..4);
    prop_oneof![uniform, clusters, runs, extreme].prop_map(move |words_in: Vec<(u64, u64)>| {
        let mut values: Vec<F> = words_in.into_iter().map(|(high, low)| words(high, low)).collect();
        values.sort_unstable();
        values.dedup();
        values
    })
}

fn layouts() -> impl Strategy<Value = Layout> {
    (9u32..=13, prop::sample::select(&Codec::ALL))
        .prop_map(|(log2, codec)| Layout { codec, block_bytes: 1 << log2 })
}

fn codec_for<F: Fingerprint>(layout: Layout, values: &[F]) -> BlockCodec {
    let mut counts = vec![0; F::BITS as usize];
    count_differences(None, values, &mut counts);
    BlockCodec::from_counts(layout, &counts, None)
}

fn coding(codec: &BlockCodec) -> Coding<'_> {
    match codec {
        BlockCodec::Huffman(_) => Coding::Huffman { code_lengths: codec.code_lengths() },
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
        codec.decode(&[&bytes], &mut scratch, &mut decoded, |_, _| Ok(())).unwrap();
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

fn target<F: Fingerprint>(values: &[F], pick: usize, flips: &[u32], numbers: (u32, u32, u32)) -> Target<F> {
    let near = values[pick % values.len()];
    let query = flips.iter().fold(near, |x, &flip| x ^ F::bit(flip % F::BITS));
    let prefix_bits = numbers.0.min(F::BITS);
    Target { query, prefix_bits, radius: numbers.1.min(prefix_bits), distance: numbers.2 }
}

/// Damage to a block, and a target in it.
#[derive(Debug)]
struct Lies {
    /// Bytes that change: where, and to what.
    bytes: Vec<(prop::sample::Index, u8)>,
    /// The fields of the header: entries, l, the byte after it.
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

/// Spoils a block and scans it: nothing panics; fast and reference codec agree on whether it is a
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
    let fast = codec.decode(&[&bytes], &mut Scratch::default(), &mut decoded, |_, _| Ok(()));
    let slow = reference::read_block::<F>(&bytes, coding(&codec));
    assert_eq!(fast.is_ok(), slow.is_ok(), "{fast:?} {slow:?}");
    if let Ok(fields) = slow {
        assert_eq!(reference::fingerprints(&fields), decoded);
    }

    let pick = |(at, words): (prop::sample::Index, Option<(u64, u64)>)| match words {
        Some((high, low)) => F::truncate(u128::from(high) << 64 | u128::from(low)),
        None => block[at.index(block.len())],
    };
    let query = lies.flips.iter().fold(pick(lies.query), |x, &flip| x ^ F::bit(flip % F::BITS));
    let (prefix_bits, radius, distance) = lies.numbers;
    let prefix_bits = prefix_bits.min(F::BITS);
    let target = Target { query, prefix_bits, radius: radius.min(prefix_bits), distance };
    // The right key, and a wrong one.
    for last in [block[block.len() - 1], pick(lies.key)] {
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
        codec.decode(&[&bytes], &mut Scratch::default(), &mut decoded, |_, _| Ok(())).unwrap();
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
    fn fast_and_reference_codec_agree_at_64_bits(values in values(narrow), layout in layouts()) {
        both_codecs_agree(layout, &values);
    }

    #[test]
    fn fast_and_reference_codec_agree_at_128_bits(values in values(wide), layout in layouts()) {
        both_codecs_agree(layout, &values);
    }

    #[test]
    fn a_scan_finds_what_brute_force_finds_with_any_instructions(
        values in values(narrow),
        wide_values in values(wide),
        layout in layouts(),
        pick: usize,
        flips in prop::collection::vec(any::<u32>(), 0..6),
        numbers in (0u32..=128, 0u32..4, 0u32..9),
    ) {
        let (narrow, wide) =
            (target(&values, pick, &flips, numbers), target(&wide_values, pick, &flips, numbers));
        scan_equals_brute_force(layout, &values, &narrow);
        scan_equals_brute_force(layout, &wide_values, &wide);
        all_instruction_sets_agree(layout, &values, &narrow);
        all_instruction_sets_agree(layout, &wide_values, &wide);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    /// Both codecs return for any bytes, and read what they accept alike.
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

#[test]
fn the_bound_is_that_of_the_formula() {
    for (count, bits) in
        [(1_000_000, 45.51), (10_000_000, 42.19), (100_000_000, 38.87), (8_000_000_000, 32.55)]
    {
        assert!((information_bound_bits(64, count) - bits).abs() < 0.01, "{count}");
    }
    assert_eq!(information_bound_bits(64, 0), 0.0);
    assert_eq!(information_bound_bits(64, 1), 64.0);
}

/// The estimate against blocks as they are filled.
#[test]
fn blocks_hold_as_many_entries_as_estimated() {
    let mut state = 7u64;
    let mut values: Vec<u64> = (0..100_000)
        .map(|_| {
            state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let z = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb)
        })
        .collect();
    values.sort_unstable();
    let mut counts = vec![0; 64];
    count_differences(None, &values, &mut counts);
    for codec in Codec::ALL {
        for block_bytes in [512, 1024, 4096] {
            let layout = Layout { codec, block_bytes };
            let (writer, mut rest, mut blocks) =
                (BlockCodec::from_counts(layout, &counts, None), values.as_slice(), 0);
            while !rest.is_empty() {
                rest = &rest[writer.fill(rest)..];
                blocks += 1;
            }
            let expected = codec.expected_entries::<u64>(values.len() as u64, block_bytes as u32);
            let found = values.len() as f64 / f64::from(blocks);
            assert!((found / expected - 1.0).abs() < 0.03, "{codec}, {block_bytes}: {found}, {expected}");
        }
    }
}
