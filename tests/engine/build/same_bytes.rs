//! The same bytes, however a file is built.

use std::fs;

use super::{names_in, shuffled};
use crate::common::allocations::by_this_thread;
use crate::common::{Numbers, Scratch, Shape, built, built_with_ids, data, id_lists, index};
use hamdex::{BuildOptions, Builder, Codec, Design};

#[test]
fn order_repeats_and_threads_do_not_change_a_byte() {
    let stored = data::<u64>(Shape::Mixed, 20_000, 1);
    for codec in Codec::ALL {
        let design = || Design::named("cover-5", 3).unwrap();
        let options = || BuildOptions::new().codec(codec).design(design()).metadata("a", "b");
        let first = built(&stored, options().threads(1));
        assert_eq!(index::<u64>(first.clone()).verify().unwrap().tables, 5);
        for threads in [1, 2, 4] {
            for seed in 0..3 {
                let mut input = shuffled(&stored, seed);
                // The second time with everything twice, the third time with some of it thrice.
                (0..seed).for_each(|_| input.extend_from_slice(&stored[..stored.len() / seed as usize]));
                let again = built(&input, options().threads(threads));
                assert!(again == first, "{codec}, {threads} threads, order {seed}");
            }
        }
    }
}

#[test]
fn order_repeats_and_threads_do_not_change_a_byte_with_ids() {
    let stored = data::<u128>(Shape::Mixed, 6000, 2);
    let mut numbers = Numbers(3);
    let with_ids: Vec<(u128, u64)> = (0..20_000)
        .map(|_| (stored[numbers.below(stored.len() as u64) as usize], numbers.below(50)))
        .collect();
    for codec in Codec::ALL {
        let options = || BuildOptions::new().codec(codec).block_bytes(1024);
        let first = built_with_ids(&with_ids, options().threads(1));
        assert_eq!(
            index::<u128>(first.clone()).verify().unwrap().ids,
            id_lists(&with_ids).values().map(Vec::len).sum::<usize>() as u64
        );
        for (seed, threads) in [(1, 1), (2, 2), (3, 4)] {
            let mut input = shuffled(&with_ids, seed);
            input.extend_from_slice(&with_ids[..seed as usize * 100]);
            let again = built_with_ids(&input, options().threads(threads));
            assert!(again == first, "{codec}, {threads} threads");
        }
    }
}

#[test]
fn other_contents_and_options_make_another_file_id() {
    let id = |file: Vec<u8>| crate::common::file::file_id(&file);
    let stored = data::<u64>(Shape::Uniform, 300, 1);
    let single = |distance| BuildOptions::new().design(Design::named("single", distance).unwrap());
    let with_ids: Vec<(u64, u64)> = stored.iter().map(|&x| (x, 0)).collect();
    let mut other_ids = with_ids.clone();
    other_ids[7].1 = 1;
    let mut ids = vec![
        id(built(&stored, single(3))),
        id(built(&stored[1..], single(3))),
        id(built(&stored, single(2))),
        id(built(&stored, BuildOptions::new().design(Design::named("halves", 3).unwrap()))),
        id(built(&stored, single(3).block_bytes(512))),
        id(built(&stored, single(3).block_bytes(512).codec(Codec::EliasFano))),
        id(built(&stored, single(3).metadata("a", "b"))),
        id(built(&stored, single(3).metadata("ab", ""))),
        id(built_with_ids(&with_ids, single(3))),
        id(built_with_ids(&other_ids, single(3))),
    ];
    let all = ids.len();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), all);
}

#[test]
fn a_build_that_spills_makes_the_same_bytes() {
    // 16 MiB hold about 1.8 million fingerprints: two runs on disk, and the rest.
    let design = || Design::named("halves", 3).unwrap();
    let input = |builder: &mut Builder<u64>| {
        let mut numbers = Numbers(5);
        (0..4_000_000).try_for_each(|_| builder.push(numbers.word() >> 3))
    };
    let scratch = Scratch::new();
    let spills = tempfile::tempdir().unwrap();
    let build = |name: &str, options: BuildOptions<u64>| {
        let path = scratch.path(name);
        let options = options.design(design()).overwrite(true);
        let mut builder = Builder::with_options(&path, options).unwrap();
        input(&mut builder).unwrap();
        builder.finish().unwrap();
        fs::read(path).unwrap()
    };
    for codec in Codec::ALL {
        let options = || BuildOptions::new().codec(codec);
        let in_memory = build("memory", options().memory(1 << 30));
        let spilled = build("spilled", options().memory(16 << 20).temp_dir(spills.path()).threads(2));
        assert!(in_memory == spilled, "{codec}");
    }
    assert_eq!(names_in(spills.path()), [""; 0], "temporary files are gone");
}

#[test]
fn a_build_with_ids_that_spills_makes_the_same_bytes() {
    // 16 MiB hold about 600,000 pairs. One fingerprint has more ids than a batch has records.
    let mut numbers = Numbers(6);
    let popular = 0x0123_4567_89ab_cdefu64;
    let mut input: Vec<(u64, u64)> = (0..300_000).map(|id| (popular, id * 3)).collect();
    input.extend((0..600_000).map(|_| (numbers.word(), numbers.below(1 << 30))));
    let input = shuffled(&input, 7);
    let options = || BuildOptions::new().design(Design::named("halves", 2).unwrap());
    let in_memory = built_with_ids(&input, options().memory(1 << 30));
    let spilled = built_with_ids(&input, options().memory(16 << 20));
    assert!(in_memory == spilled);
    let index = index::<u64>(spilled);
    assert_eq!(index.verify().unwrap().ids, 900_000);
    let ids = index.ids(popular).unwrap();
    assert_eq!(ids.len(), 300_000);
    assert!(ids.eq((0..300_000).map(|id| id * 3)));
}

#[test]
fn merging_runs_allocates_by_the_batch_and_not_by_the_record() {
    const RECORDS: u64 = 1_500_000;
    let scratch = Scratch::new();
    // On this thread alone, which counts its allocations.
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).use_current_thread().build().unwrap();
    let options = BuildOptions::new().design(Design::named("single", 0).unwrap()).ids(true).memory(16 << 20);
    let mut builder = Builder::<u64>::with_options(scratch.path("index.hamdex"), options).unwrap();
    let mut numbers = Numbers(5);
    (0..RECORDS).try_for_each(|id| builder.push_with_id(numbers.word(), id)).unwrap();
    let before = by_this_thread();
    pool.install(|| builder.finish()).unwrap();
    let allocations = by_this_thread() - before;
    assert!(allocations < RECORDS / 20, "{allocations}");
}

#[test]
fn a_writer_gets_the_bytes_of_the_file() {
    let stored = data::<u64>(Shape::Mixed, 5000, 20);
    let with_ids: Vec<(u64, u64)> = stored.iter().zip(0..).map(|(&x, id)| (x, id % 700)).collect();
    for codec in Codec::ALL {
        let options = || BuildOptions::new().codec(codec).metadata("a", "b");
        let mut builder = Builder::in_memory(options()).unwrap();
        stored.iter().try_for_each(|&x| builder.push(x)).unwrap();
        let (bytes, summary) = builder.into_inner().unwrap();
        assert_eq!((summary.bytes, summary.pushed), (bytes.len() as u64, stored.len() as u64));
        assert!(bytes == built(&stored, options()), "{codec}");

        let mut builder = Builder::to_writer(Vec::new(), options().ids(true)).unwrap();
        with_ids.iter().try_for_each(|&(x, id)| builder.push_with_id(x, id)).unwrap();
        let (bytes, _) = builder.into_inner().unwrap();
        assert!(bytes == built_with_ids(&with_ids, options()), "{codec}");
    }
}
