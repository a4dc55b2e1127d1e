//! Merging: the bytes of a build from everything, whatever the inputs are.

use std::collections::BTreeSet;
use std::fs;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use crate::common::{
    Numbers, Reports, SHAPES, Scratch, Shape, built, built_with_ids, data, id_lists, index,
    with_a_damaged_block,
};
use hamdex::{
    BuildError, BuildOptions, Builder, Codec, Design, Fingerprint, Index, MAX_MERGED, Merger, OutputError,
    Phase,
};

type Bytes<F> = Index<F>;

fn merged<F: Fingerprint>(merger: Merger<'_, F>) -> Vec<u8> {
    let mut bytes = Vec::new();
    let summary = merger.write_to(&mut bytes).unwrap();
    assert_eq!(summary.bytes, bytes.len() as u64);
    bytes
}

/// Distributes items over several inputs; some items go to more than one.
fn dealt<T: Copy>(items: &[T], hands: usize, seed: u64) -> Vec<Vec<T>> {
    let mut numbers = Numbers(seed);
    let mut dealt = vec![Vec::new(); hands];
    for &item in items {
        for _ in 0..=numbers.below(4) / 3 {
            dealt[numbers.below(hands as u64) as usize].push(item);
        }
    }
    dealt
}

fn options<F: Fingerprint>(codec: Codec, design: &str) -> BuildOptions<F> {
    BuildOptions::new().codec(codec).design(Design::named(design, 3).unwrap()).block_bytes(512)
}

fn merges_of_every_shape<F: Fingerprint>(count: usize) {
    for (seed, shape) in (0..).zip(SHAPES) {
        let stored = data::<F>(shape, count, seed);
        for (codec, hands) in Codec::ALL.into_iter().flat_map(|codec| [1, 2, 3, 7].map(|n| (codec, n))) {
            let options = || options::<F>(codec, "halves").metadata("a", "b");
            let inputs: Vec<Bytes<F>> =
                dealt(&stored, hands, seed).iter().map(|part| index(built(part, options()))).collect();
            let file = merged(Merger::new(&inputs).unwrap().options(options()));
            assert!(file == built(&stored, options()), "{shape:?}, {codec}, {hands} inputs");
        }
    }
}

#[test]
fn a_merge_has_the_bytes_of_a_build_at_64_bits() {
    merges_of_every_shape::<u64>(6000);
}

#[test]
fn a_merge_has_the_bytes_of_a_build_at_128_bits() {
    merges_of_every_shape::<u128>(2000);
}

/// Pairs with many ids, of which several inputs have some.
fn pairs<F: Fingerprint>(shape: Shape, count: usize) -> Vec<(F, u64)> {
    let mut numbers = Numbers(5);
    let stored = data::<F>(shape, count, 3);
    let ids = |x: F| (0..=numbers.below(4)).map(|_| (x, numbers.below(1 << 33))).collect::<Vec<_>>();
    stored.into_iter().flat_map(ids).collect()
}

#[test]
fn ids_are_united() {
    for (seed, shape) in (0..).zip(SHAPES) {
        let pairs = pairs::<u64>(shape, 3000);
        for hands in [1, 2, 5] {
            let options = || options::<u64>(Codec::EliasFano, "cover-5");
            let inputs: Vec<Bytes<u64>> = dealt(&pairs, hands, seed)
                .iter()
                .map(|part| index(built_with_ids(part, options())))
                .collect();
            let file = merged(Merger::new(&inputs).unwrap());
            assert!(file == built_with_ids(&pairs, options()), "{shape:?}, {hands} inputs");
            assert_eq!(index::<u64>(file).verify().unwrap().ids, {
                id_lists(&pairs).values().map(Vec::len).sum::<usize>() as u64
            });
        }
    }
}

/// More ids of one fingerprint than are gathered in memory, and more than a batch has.
#[test]
fn one_fingerprint_with_very_many_ids_is_merged() {
    let mut input: Vec<(u64, u64)> = (0..1_500_000).map(|id| (1 << 40, id)).collect();
    input.extend((0..500).map(|x| (x << 35, x % 7)));
    let options = || options::<u64>(Codec::EliasFano, "halves");
    let hands = dealt(&input, 2, 8);
    let inputs: Vec<Bytes<u64>> = hands.iter().map(|part| index(built_with_ids(part, options()))).collect();
    assert!(merged(Merger::new(&inputs).unwrap()) == built_with_ids(&input, options()));

    // One copy that is kept is enough; so even ids go only where the second input has them, and all of zero.
    let keep = |input: usize, x: u64, id: Option<u64>| x != 0 && (input == 1 || id.unwrap() % 2 == 1);
    let file = merged(Merger::new(&inputs).unwrap().filter(keep));
    let kept: Vec<(u64, u64)> = (0..)
        .zip(&hands)
        .flat_map(|(input, part)| part.iter().copied().filter(move |&(x, id)| keep(input, x, Some(id))))
        .collect();
    assert!(file == built_with_ids(&kept, options()));
}

#[test]
fn tables_that_an_input_lacks_are_sorted() {
    let stored = data::<u64>(Shape::Mixed, 8000, 4);
    let hands = dealt(&stored, 3, 4);
    let with = |part: &[u64], design: &str, codec| index::<u64>(built(part, options(codec, design)));
    let inputs = [
        with(&hands[0], "halves", Codec::Huffman),
        with(&hands[1], "cover-6", Codec::EliasFano),
        with(&hands[2], "single", Codec::Huffman),
    ];
    for (codec, design) in
        [(Codec::EliasFano, "halves"), (Codec::Huffman, "cover-5"), (Codec::Huffman, "single")]
    {
        let merger = Merger::new(&inputs).unwrap().options(options(codec, design));
        assert!(merged(merger) == built(&stored, options(codec, design)), "{codec}, {design}");
    }
    // A design that depends on the number of fingerprints is that of the number in the output.
    let auto = || BuildOptions::new().distance(3);
    assert!(merged(Merger::new(&inputs).unwrap().options(auto())) == built(&stored, auto()));
}

#[test]
fn what_a_filter_leaves_out_is_in_no_table() {
    for shape in SHAPES {
        let (plain, with_ids) = (data::<u64>(shape, 5000, 2), pairs::<u64>(shape, 2000));
        let halves = || options::<u64>(Codec::Huffman, "halves");
        for design in ["halves", "cover-5"] {
            let options = || options::<u64>(Codec::Huffman, design);
            let hands = dealt(&plain, 2, 9);
            let inputs: Vec<Bytes<u64>> = hands.iter().map(|part| index(built(part, halves()))).collect();
            let keep = |input: usize, x: u64, _: Option<u64>| x.count_ones() % 3 != input as u32;
            let kept = |input: usize| hands[input].iter().copied().filter(move |&x| keep(input, x, None));
            let expected: Vec<u64> = kept(0).chain(kept(1)).collect();
            let file = merged(Merger::new(&inputs).unwrap().options(options()).filter(keep));
            assert!(file == built(&expected, options()), "{shape:?}, {design}");

            let hands = dealt(&with_ids, 2, 9);
            let inputs: Vec<Bytes<u64>> =
                hands.iter().map(|part| index(built_with_ids(part, halves()))).collect();
            let keep =
                |input: usize, x: u64, id: Option<u64>| x.wrapping_add(id.unwrap()) % 3 != input as u64;
            let kept =
                |input: usize| hands[input].iter().copied().filter(move |&(x, id)| keep(input, x, Some(id)));
            let expected: Vec<(u64, u64)> = kept(0).chain(kept(1)).collect();
            let file = merged(Merger::new(&inputs).unwrap().options(options()).filter(keep));
            assert!(file == built_with_ids(&expected, options()), "{shape:?}, {design}, with ids");

            let nothing = merged(Merger::new(&inputs).unwrap().options(options()).filter(|_, _, _| false));
            assert!(nothing == built_with_ids::<u64>(&[], options()));
        }
    }
}

#[test]
fn what_is_left_out_may_exceed_memory() {
    // 16 MiB hold about 1.8 million fingerprints.
    let scratch = Scratch::new();
    let mut numbers = Numbers(11);
    let stored: Vec<u64> = (0..4_500_000).map(|_| numbers.word()).collect();
    let options = || options::<u64>(Codec::EliasFano, "halves").memory(16 << 20);
    let inputs =
        [&stored[..2_000_000], &stored[1_900_000..]].map(|part| index::<u64>(built(part, options())));
    let merger = Merger::new(&inputs).unwrap().options(options().temp_dir(scratch.directory.path()));
    let file = merged(merger.filter(|_, x, _| x % 8 == 0));
    let kept: Vec<u64> = stored.into_iter().filter(|x| x % 8 == 0).collect();
    assert!(file == built(&kept, options()));
    assert_eq!(fs::read_dir(scratch.directory.path()).unwrap().count(), 0, "temporary files are gone");
}

#[test]
fn a_filter_that_changes_its_mind_is_an_error() {
    let stored = data::<u64>(Shape::Uniform, 3000, 6);
    let inputs = [index::<u64>(built(&stored, BuildOptions::new()))];
    let calls = AtomicUsize::new(0);
    let merger = Merger::new(&inputs).unwrap().filter(|_, _, _| calls.fetch_add(1, Relaxed) < 5000);
    let refused = merger.write_to(&mut Vec::new()).unwrap_err();
    assert!(matches!(refused, BuildError::Changed { what: "the filter" }), "{refused}");
}

#[test]
fn threads_do_not_change_a_byte_and_many_inputs_are_merged() {
    let stored = data::<u64>(Shape::Mixed, 60_000, 12);
    let options = || options::<u64>(Codec::Huffman, "halves");
    let inputs: Vec<Bytes<u64>> =
        dealt(&stored, MAX_MERGED, 3).iter().map(|part| index(built(part, options()))).collect();
    let expected = built(&stored, options());
    for threads in [1, 2, 4] {
        let file = merged(Merger::new(&inputs).unwrap().options(options().threads(threads)));
        assert!(file == expected, "{threads} threads");
    }
    let more = inputs.iter().chain(&inputs[..1]);
    let refused = Merger::new(more).err().unwrap();
    assert!(refused.to_string().contains("cannot be 257: from 1 to 256; merge more in steps"), "{refused}");
    assert!(Merger::new(&inputs[..0]).is_err());
}

#[test]
fn a_merge_to_a_file_has_its_name_when_it_is_whole() {
    let scratch = Scratch::new();
    let build = |name: &str, fingerprints: &[u64]| {
        let mut builder = Builder::<u64>::new(scratch.path(name)).unwrap();
        fingerprints.iter().try_for_each(|&x| builder.push(x)).unwrap();
        builder.finish().unwrap();
        Index::<u64>::open(scratch.path(name)).unwrap()
    };
    let inputs = [build("a", &[1, 2]), build("b", &[2, 3])];
    let summary = Merger::new(&inputs).unwrap().finish(scratch.path("out")).unwrap();
    assert_eq!((summary.pushed, summary.fingerprints), (4, 3));
    Index::<u64>::open(scratch.path("out")).unwrap().verify().unwrap();

    // Neither over what exists, nor over an input at all.
    let before = fs::read(scratch.path("a")).unwrap();
    for (target, overwrite) in [("out", false), ("a", true), ("b", true)] {
        let options = inputs[0].build_options().overwrite(overwrite);
        let refused =
            Merger::new(&inputs).unwrap().options(options).finish(scratch.path(target)).unwrap_err();
        let expected = match &refused {
            BuildError::Output(OutputError::Exists { .. }) => !overwrite,
            BuildError::Output(OutputError::IsInput { .. }) => overwrite,
            _ => false,
        };
        assert!(expected, "{refused}");
    }
    assert!(fs::read(scratch.path("a")).unwrap() == before);
}

#[test]
fn inputs_that_do_not_fit_or_are_damaged_leave_no_output() {
    let scratch = Scratch::new();
    let whole = data::<u64>(Shape::Uniform, 4000, 1);
    let plain = index::<u64>(built(&whole, BuildOptions::new()));
    let with_ids = index::<u64>(built_with_ids(&[(1u64, 2)], BuildOptions::new()));
    let refused = Merger::new([&plain, &with_ids]).err().unwrap();
    assert!(matches!(refused, BuildError::IdsInSome), "{refused}");

    let damaged = index::<u64>(with_a_damaged_block().0);
    let refused = Merger::new([&plain, &damaged]).unwrap().finish(scratch.path("out")).unwrap_err();
    assert!(matches!(refused, BuildError::Input(_)), "{refused}");
    assert!(refused.to_string().contains("block 3"), "{refused}");
    assert_eq!(fs::read_dir(scratch.directory.path()).unwrap().count(), 0);
}

/// At each report: of counting, dropping, sorting, writing, syncing.
#[test]
fn a_merge_that_is_stopped_leaves_nothing() {
    let scratch = Scratch::new();
    let pairs = pairs::<u64>(Shape::Uniform, 30_000);
    let halves = || options::<u64>(Codec::Huffman, "halves");
    let inputs: Vec<Bytes<u64>> =
        dealt(&pairs, 2, 1).iter().map(|part| index(built_with_ids(part, halves()))).collect();
    for design in ["halves", "cover-5"] {
        let merge = |stop_at: usize| {
            let seen = Reports::default();
            let options = options(Codec::Huffman, design).threads(1).temp_dir(scratch.directory.path());
            let merger = Merger::new(&inputs).unwrap().options(options.report_to(seen.stopping(stop_at)));
            let outcome = merger.filter(|_, x, _| x % 5 > 0).finish(scratch.path("out"));
            (outcome, seen.all())
        };
        let (outcome, mut all) = merge(usize::MAX);
        outcome.unwrap();
        // While the file is synced, the callback is called repeatedly; how often depends on the system.
        let sync = all.iter().position(|progress| progress.phase == Phase::Sync);
        all.truncate(sync.unwrap() + 1);
        let phases: BTreeSet<String> = all.iter().map(|progress| format!("{:?}", progress.phase)).collect();
        assert!(phases.iter().any(|phase| phase.contains("Sync")) && phases.len() > 5, "{phases:?}");
        fs::remove_file(scratch.path("out")).unwrap();
        for stop_at in (0..all.len()).step_by(1 + all.len() / 20).chain([all.len() - 1]) {
            let (outcome, seen) = merge(stop_at);
            assert!(matches!(outcome, Err(BuildError::Stopped)), "report {stop_at}: {outcome:?}");
            assert_eq!(seen, all[..=stop_at]);
            assert_eq!(fs::read_dir(scratch.directory.path()).unwrap().count(), 0);
        }
    }
}
