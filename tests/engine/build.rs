//! Building: the same bytes however it is done, ids as they were given, and nothing left behind by a
//! build that fails.

use std::fs;
use std::path::Path;

use crate::common::allocations::by_this_thread;
use crate::common::{
    Numbers, Reports, Scratch, Shape, brute_force, built, built_with_ids, data, id_lists, index, pairs,
};
use hamdex::{
    BuildError, BuildOptions, Builder, Codec, Design, DesignError, Fingerprint, Index, OutputError, Phase,
    Progress, ReadErrorKind, VerifyOptions,
};

fn shuffled<T: Clone>(items: &[T], seed: u64) -> Vec<T> {
    let (mut items, mut numbers) = (items.to_vec(), Numbers(seed));
    for end in (1..items.len()).rev() {
        items.swap(end, numbers.below(end as u64 + 1) as usize);
    }
    items
}

fn names_in(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).unwrap();
    entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

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
    // 16 MiB hold about 1.8 million fingerprints: two runs on disk, and what is left.
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

/// That every fingerprint has its ids, and others have none.
fn ids_are_right<F: Fingerprint>(input: &[(F, u64)], options: BuildOptions<F>) -> Index<F, Vec<u8>> {
    let index = index::<F>(built_with_ids(input, options));
    let expected = id_lists(input);
    let verified = index.verify().unwrap();
    assert!(index.has_ids());
    assert_eq!(verified.fingerprints, expected.len() as u64);
    assert_eq!(verified.ids, expected.values().map(Vec::len).sum::<usize>() as u64);
    let mut numbers = Numbers(9);
    for (&fingerprint, list) in &expected {
        let mut ids = index.ids(fingerprint).unwrap();
        for (left, &id) in (0..list.len()).rev().zip(list) {
            assert_eq!((ids.next(), ids.len()), (Some(id), left));
        }
        assert_eq!((ids.next(), ids.next()), (None, None));
        let other = numbers.near(fingerprint, 2);
        if !expected.contains_key(&other) {
            assert_eq!(index.ids(other).unwrap().len(), 0);
            assert!(!index.contains(other).unwrap());
        }
    }
    index
}

#[test]
fn many_ids_of_a_fingerprint_come_back() {
    let mut numbers = Numbers(10);
    let stored = data::<u64>(Shape::Mixed, 3000, 11);
    let input: Vec<(u64, u64)> = stored
        .iter()
        .flat_map(|&x| (0..numbers.below(6) + 1).map(|_| (x, numbers.below(1 << 33))).collect::<Vec<_>>())
        .collect();
    let options = || BuildOptions::new().block_bytes(512);
    for codec in Codec::ALL {
        let index = ids_are_right(&input, options().codec(codec));
        // The same pairs again, and again, are the same pairs.
        let twice = [&input[..], &input[..], &input[..100]].concat();
        let again = built_with_ids(&twice, options().codec(codec));
        assert!(again == built_with_ids(&input, options().codec(codec)), "{codec}");
        assert_eq!(index.stats().ids.unwrap().count, index.verify().unwrap().ids);
    }
}

#[test]
fn a_single_id_for_each_fingerprint_comes_back() {
    let mut stored = data::<u128>(Shape::Mixed, 3000, 12);
    stored.sort_unstable();
    stored.dedup();
    let input: Vec<(u128, u64)> = (1000..).zip(shuffled(&stored, 1)).map(|(id, x)| (x, id)).collect();
    for codec in Codec::ALL {
        ids_are_right(&input, BuildOptions::new().codec(codec).block_bytes(512));
    }
}

#[test]
fn ids_at_both_ends_of_their_range_come_back() {
    let stored = data::<u64>(Shape::Uniform, 500, 13);
    let ends = [0, 1, u64::MAX - 1, u64::MAX];
    let spread: Vec<(u64, u64)> = stored.iter().flat_map(|&x| ends.map(|id| (x, id))).collect();
    let index = ids_are_right(&spread, BuildOptions::new());
    let stats = index.stats().ids.unwrap();
    assert_eq!((stats.base, stats.bits), (0, 64));
    let greatest: Vec<(u64, u64)> = stored.iter().map(|&x| (x, u64::MAX)).collect();
    let stats = ids_are_right(&greatest, BuildOptions::new()).stats().ids.unwrap();
    assert_eq!((stats.base, stats.bits), (u64::MAX, 0));
    let least: Vec<(u64, u64)> = stored.iter().map(|&x| (x, 0)).collect();
    ids_are_right(&least, BuildOptions::new());
}

#[test]
fn one_fingerprint_with_very_many_ids_stands_among_others() {
    let mut input: Vec<(u64, u64)> = (0..300_000).map(|id| (0, id)).collect();
    input.extend(data::<u64>(Shape::Uniform, 2000, 14).into_iter().map(|x| (x, 5)));
    input.push((u64::MAX, 1));
    for codec in Codec::ALL {
        let index = ids_are_right(&input, BuildOptions::new().codec(codec));
        assert_eq!(index.ids(0).unwrap().nth(299_999), Some(299_999));
    }
}

/// Ranks are 4,096 places apart: marks lie right before, at and behind such places, and far from each other.
#[test]
fn numbers_of_ids_around_the_distance_of_ranks_come_back() {
    let mut numbers = Numbers(19);
    let counts = [4095, 1, 4096, 4097, 1, 1, 8191, 1, 3, 20_000, 2, 4094, 1, 12_288, 1];
    let input: Vec<(u64, u64)> = counts
        .iter()
        .chain(&counts)
        .flat_map(|&count| {
            let fingerprint = numbers.word();
            (0..count).map(move |id| (fingerprint, id))
        })
        .collect();
    for codec in Codec::ALL {
        ids_are_right(&input, BuildOptions::new().codec(codec).block_bytes(512));
    }
}

/// What stands beside a fingerprint with very many ids is found without a look at their marks.
#[test]
fn ids_beside_very_many_others_are_found_without_reading_these() {
    use crate::common::file;

    let mut input: Vec<(u64, u64)> = (0..300_000).map(|id| (1 << 32, id)).collect();
    input.extend((0..20).map(|x| (1 << 32 | x, 7)));
    input.extend((0..20).map(|x| (x, x)));
    let mut bytes = built_with_ids(&input, BuildOptions::new());
    // Marks of the many: no checksum of theirs is right any more.
    let marks = file::section(&bytes, file::ID_STARTS, 0);
    assert!(marks.length > 8 * file::PAGE);
    bytes[marks.offset + file::PAGE..][..marks.length - 2 * file::PAGE].fill(0xaa);
    let index = index::<u64>(bytes);
    for x in 1..20 {
        assert_eq!(index.ids(1 << 32 | x).unwrap().collect::<Vec<_>>(), [7]);
        assert_eq!(index.ids(x).unwrap().collect::<Vec<_>>(), [x]);
    }
    assert_eq!(index.ids(1 << 32).unwrap().len(), 300_000);
    assert!(index.verify().is_err());
}

#[test]
fn ids_are_all_or_nothing() {
    let scratch = Scratch::new();
    let mut plain = Builder::<u64>::new(scratch.path("plain")).unwrap();
    plain.push(1).unwrap();
    assert!(matches!(plain.push_with_id(2, 3), Err(BuildError::Ids(_))));
    let mut with_ids =
        Builder::<u64>::with_options(scratch.path("ids"), BuildOptions::new().ids(true)).unwrap();
    with_ids.push_with_id(1, 2).unwrap();
    assert!(matches!(with_ids.push(2), Err(BuildError::Ids(_))));
    // What was refused is not in the index; what was taken is.
    let (plain, with_ids) = (plain.finish().unwrap(), with_ids.finish().unwrap());
    assert_eq!((plain.pushed, plain.fingerprints), (1, 1));
    assert_eq!((with_ids.pushed, with_ids.ids), (1, 1));
    let index = Index::<u64>::open(scratch.path("plain")).unwrap();
    assert!(!index.has_ids());
    assert_eq!(index.ids(1).unwrap().len(), 0);
    assert_eq!(Index::<u64>::open(scratch.path("ids")).unwrap().len(), 1);
}

fn every_design_may_be_empty<F: Fingerprint>() {
    for distance in 0..=8 {
        for (number, name) in Design::<F>::names(distance).into_iter().enumerate() {
            // Without blocks, the codec is a matter of the footer alone: they take turns.
            let codec = Codec::ALL[number % Codec::ALL.len()];
            let design = Design::named(&name, distance).unwrap();
            let options = || BuildOptions::new().codec(codec).design(design.clone());
            for file in [built::<F>(&[], options()), built_with_ids::<F>(&[], options())] {
                let index = index::<F>(file);
                let verified = index.verify().unwrap();
                assert_eq!((verified.fingerprints, verified.blocks, verified.ids), (0, 0, 0));
                assert!(index.is_empty());
                let mut searcher = index.searcher();
                for asked in [0, distance, F::BITS] {
                    assert!(searcher.within(F::ONES, asked).unwrap().is_empty());
                    assert_eq!(searcher.first(F::ZERO, asked).unwrap(), None);
                }
                assert!(searcher.nearest(F::ZERO, 5).unwrap().is_empty());
                assert_eq!(index.ids(F::ZERO).unwrap().len(), 0);
                assert!(!index.contains(F::ZERO).unwrap());
            }
        }
    }
}

#[test]
fn an_empty_input_makes_a_valid_empty_index_of_every_design() {
    every_design_may_be_empty::<u64>();
    every_design_may_be_empty::<u128>();
}

#[test]
fn an_output_that_exists_is_left_untouched() {
    let scratch = Scratch::new();
    let path = scratch.path("index.hamdex");
    fs::write(&path, "precious").unwrap();
    let refused = Builder::<u64>::new(&path).err().unwrap();
    let BuildError::Output(OutputError::Exists { path: named }) = &refused else { panic!("{refused}") };
    assert_eq!((named, refused.is_in_place()), (&path, false));
    assert_eq!(fs::read(&path).unwrap(), b"precious");
    // One that comes to exist while the build goes on is no less precious.
    let path = scratch.path("later.hamdex");
    let mut builder = Builder::<u64>::new(&path).unwrap();
    builder.push(1).unwrap();
    fs::write(&path, "came first").unwrap();
    assert!(matches!(builder.finish(), Err(BuildError::Output(OutputError::Exists { .. }))));
    assert_eq!(fs::read(&path).unwrap(), b"came first");
    assert_eq!(names_in(scratch.directory.path()).len(), 2);
}

#[test]
fn an_output_that_may_be_replaced_is_replaced_when_the_new_one_is_whole() {
    let scratch = Scratch::new();
    let path = scratch.path("index.hamdex");
    let build = |fingerprint: u64| {
        let mut builder = Builder::with_options(&path, BuildOptions::new().overwrite(true)).unwrap();
        builder.push(fingerprint).unwrap();
        builder
    };
    build(1).finish().unwrap();
    let old = Index::<u64>::open(&path).unwrap();
    let builder = build(2);
    assert!(Index::<u64>::open(&path).unwrap().contains(1).unwrap(), "nothing has changed so far");
    builder.finish().unwrap();
    assert!(Index::<u64>::open(&path).unwrap().contains(2).unwrap());
    assert!(old.contains(1).unwrap() && !old.contains(2).unwrap(), "who has it open keeps the old one");
    old.verify().unwrap();
    assert_eq!(names_in(scratch.directory.path()), ["index.hamdex"]);
}

#[test]
fn a_directory_is_never_replaced() {
    let scratch = Scratch::new();
    let path = scratch.path("directory");
    fs::create_dir(&path).unwrap();
    for overwrite in [false, true] {
        let refused =
            Builder::<u64>::with_options(&path, BuildOptions::new().overwrite(overwrite)).err().unwrap();
        assert!(matches!(&refused, BuildError::Output(OutputError::NotAFile { .. })), "{refused}");
    }
    assert!(path.is_dir());
}

#[test]
fn a_target_directory_that_is_missing_is_told() {
    let scratch = Scratch::new();
    let path = scratch.path("missing").join("index.hamdex");
    let refused = Builder::<u64>::new(&path).err().unwrap();
    let BuildError::Output(OutputError::Io { path: estimated, source, .. }) = &refused else {
        panic!("{refused}")
    };
    assert_eq!((estimated, source.kind()), (&path, std::io::ErrorKind::NotFound));
    assert_eq!(names_in(scratch.directory.path()), [""; 0]);
}

#[test]
fn a_builder_that_is_dropped_leaves_nothing() {
    let scratch = Scratch::new();
    let mut builder = Builder::<u64>::new(scratch.path("index.hamdex")).unwrap();
    (0..1000).try_for_each(|x| builder.push(x)).unwrap();
    drop(builder);
    assert_eq!(names_in(scratch.directory.path()), [""; 0]);
}

#[test]
fn a_temporary_directory_that_is_missing_is_noticed_before_the_first_fingerprint() {
    let scratch = Scratch::new();
    let missing = scratch.path("missing");
    for ids in [false, true] {
        let options = BuildOptions::new().temp_dir(&missing).ids(ids);
        let refused = Builder::<u64>::with_options(scratch.path("index.hamdex"), options).err().unwrap();
        assert!(matches!(&refused, BuildError::Io { path, .. } if *path == missing), "{refused}");
        assert!(refused.to_string().contains("temporary file"), "{refused}");
        assert_eq!(names_in(scratch.directory.path()), [""; 0]);
    }
}

#[cfg(unix)]
#[test]
fn a_replaced_file_keeps_its_mode_and_a_link_to_it() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let scratch = Scratch::new();
    let (path, link) = (scratch.path("index.hamdex"), scratch.path("link.hamdex"));
    fs::write(&path, "old").unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
    symlink("index.hamdex", &link).unwrap();
    let mut builder = Builder::<u64>::with_options(&link, BuildOptions::new().overwrite(true)).unwrap();
    builder.push(1).unwrap();
    builder.finish().unwrap();
    assert!(Index::<u64>::open(&path).unwrap().contains(1).unwrap());
    assert!(link.symlink_metadata().unwrap().is_symlink());
    assert_eq!(path.metadata().unwrap().permissions().mode() & 0o7777, 0o640);
}

#[cfg(unix)]
#[test]
fn a_fifo_takes_the_bytes_of_the_index() {
    let scratch = Scratch::new();
    let (fifo, path) = (scratch.path("fifo"), scratch.path("index.hamdex"));
    assert!(std::process::Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    let build = |path: &Path| {
        let mut builder = Builder::<u64>::with_options(path, BuildOptions::new().ids(true)).unwrap();
        (0..5000).try_for_each(|x| builder.push_with_id(x * x, x)).unwrap();
        builder.finish().unwrap();
    };
    let received = std::thread::scope(|scope| {
        let reader = scope.spawn(|| fs::read(&fifo).unwrap());
        build(&fifo);
        reader.join().unwrap()
    });
    build(&path);
    assert_eq!(received, fs::read(&path).unwrap());
}

#[test]
fn options_out_of_range_are_refused_before_anything_is_written() {
    let scratch = Scratch::new();
    let refusal = |options: BuildOptions<u64>| {
        let refused = Builder::with_options(scratch.path("index.hamdex"), options).err().unwrap();
        assert_eq!(names_in(scratch.directory.path()), [""; 0]);
        refused
    };
    for bytes in [0, 1, 256, 511, 513, 1000, 3072, 16_384, usize::MAX] {
        let refused = refusal(BuildOptions::new().block_bytes(bytes));
        assert!(matches!(refused, BuildError::Option { option: "the block size", .. }), "{refused}");
    }
    for bytes in [0, 1, (16 << 20) - 1] {
        let refused = refusal(BuildOptions::new().memory(bytes));
        assert!(matches!(refused, BuildError::Option { option: "the memory limit", .. }), "{refused}");
    }
    let refused = refusal(BuildOptions::new().metadata("much", vec![0; 16 << 20]));
    assert!(matches!(refused, BuildError::Option { option: "the metadata", .. }), "{refused}");
    let refused = refusal(BuildOptions::new().distance(17));
    assert!(
        matches!(refused, BuildError::Design(DesignError::DistanceTooLarge { distance: 17, .. })),
        "{refused}"
    );
    let sizes = [512, 1024, 2048, 4096, 8192];
    for (codec, bytes) in Codec::ALL.into_iter().flat_map(|codec| sizes.map(|bytes| (codec, bytes))) {
        let path = scratch.path(&format!("{codec}-{bytes}"));
        let options = BuildOptions::new().codec(codec).block_bytes(bytes);
        let mut builder = Builder::<u64>::with_options(&path, options).unwrap();
        (0..5000).try_for_each(|x| builder.push(x * x)).unwrap();
        builder.finish().unwrap();
        let index = Index::<u64>::open(&path).unwrap();
        assert_eq!((index.stats().block_bytes as usize, index.stats().codec), (bytes, codec));
        index.verify().unwrap();
    }
}

#[test]
fn metadata_comes_back() {
    let entries: Vec<(String, Vec<u8>)> = vec![
        (String::new(), vec![]),
        ("recipe".into(), b"words, 3, lower".to_vec()),
        ("ein Name mit Ümläuten".into(), vec![0, 255, 0]),
        ("large".into(), (0..100_000u32).map(|i| i as u8).collect()),
    ];
    let options = entries
        .iter()
        .fold(BuildOptions::new(), |options, (name, value)| options.metadata(name.clone(), value.clone()));
    // A name given twice keeps the later value.
    let file = built::<u64>(&[1, 2], options.metadata("recipe", "old").metadata("recipe", "words, 3, lower"));
    let index = index::<u64>(file);
    assert_eq!(index.metadata(), &entries.into_iter().collect());
    index.verify().unwrap();
    // The most that there may be: 16 MiB, names and lengths included.
    let most = vec![7; (16 << 20) - 8 - 4];
    let largest =
        crate::common::index::<u64>(built(&[1u64], BuildOptions::new().metadata("most", most.clone())));
    assert_eq!(largest.metadata()["most"], most);
    largest.verify().unwrap();
}

#[test]
fn a_file_is_of_the_width_that_it_was_built_with() {
    let scratch = Scratch::new();
    let mut builder = Builder::<u128>::new(scratch.path("wide")).unwrap();
    builder.push(1).unwrap();
    builder.finish().unwrap();
    assert_eq!(hamdex::width(scratch.path("wide")).unwrap(), 128);
    let refused = Index::<u64>::open(scratch.path("wide")).unwrap_err();
    assert!(matches!(refused.kind(), ReadErrorKind::Width { found: 128, expected: 64 }), "{refused}");
    let missing = hamdex::width(scratch.path("none")).unwrap_err();
    assert!(matches!(missing.kind(), ReadErrorKind::Io(_)));
    fs::write(scratch.path("empty"), "").unwrap();
    assert!(hamdex::width(scratch.path("empty")).is_err());
    assert!(Index::<u64>::open(scratch.directory.path()).is_err());
}

#[test]
fn progress_ascends_to_its_totals() {
    let reports = Reports::default();
    let stored = data::<u64>(Shape::Uniform, 700_000, 15);
    let options = BuildOptions::new().design(Design::named("thirds", 3).unwrap()).progress(reports.keep());
    let index = index::<u64>(built(&stored, options));
    let reports = reports.all();
    let of = |phase| -> Vec<Progress> { reports.iter().copied().filter(|p| p.phase == phase).collect() };
    let count = index.len();
    let read = of(Phase::Read);
    assert!(read.len() > 10, "{}", read.len());
    assert_eq!(read.last().map(|p| (p.done, p.total)), Some((700_000, Some(700_000))));
    for table in 0..3 {
        let write = of(Phase::Write { table, tables: 3 });
        assert!(write.len() > 1);
        assert_eq!(write.last().map(|p| (p.done, p.total)), Some((count, Some(count))));
    }
    assert_eq!(of(Phase::Sync).len(), 1);
    for phase in [Phase::Read].into_iter().chain((0..3).map(|table| Phase::Write { table, tables: 3 })) {
        assert!(of(phase).is_sorted_by_key(|p| p.done), "{phase:?}");
    }
    let mut sorts: Vec<Phase> =
        reports.iter().map(|p| p.phase).filter(|phase| matches!(phase, Phase::Sort { .. })).collect();
    sorts.dedup();
    assert_eq!(sorts, [0, 1, 2].map(|table| Phase::Sort { table, tables: 3 }));
    for sort in sorts {
        assert_eq!(of(sort).last().map(|p| p.done), Some(count));
    }

    let seen = Reports::default();
    let verified = index.verify_with(&VerifyOptions::new().progress(seen.keep())).unwrap();
    let seen = seen.all();
    assert!(seen.iter().all(|p| p.phase == Phase::Verify && p.total == Some(verified.blocks)));
    assert_eq!(seen.iter().map(|p| p.done).max(), Some(verified.blocks));
    assert_eq!(seen.first().map(|p| p.done), Some(0));
}

/// The model and the files agree, for uniform fingerprints and all sizes of blocks.
#[test]
fn files_are_as_large_as_the_cost_model_says() {
    let stored = data::<u64>(Shape::Uniform, 200_000, 18);
    let design = Design::named("halves", 3).unwrap();
    for codec in Codec::ALL {
        for block_bytes in [512, 1024, 2048, 4096, 8192] {
            let options = BuildOptions::new().codec(codec).design(design.clone()).block_bytes(block_bytes);
            let index = index::<u64>(built(&stored, options));
            let real = index.stats().file_bytes as f64 / index.len() as f64;
            let estimated = design.cost(index.len(), codec, block_bytes as u32).bytes_per_fingerprint;
            let ratio = estimated / real;
            assert!((0.985..1.015).contains(&ratio), "{codec}, {block_bytes}: {estimated} {real}");
        }
    }
}

#[test]
fn the_summary_says_what_has_been_built() {
    let scratch = Scratch::new();
    let path = scratch.path("index.hamdex");
    let options = BuildOptions::new().design(Design::named("halves", 3).unwrap()).ids(true);
    let mut builder = Builder::<u64>::with_options(&path, options).unwrap();
    for (x, id) in [(5, 1), (5, 2), (5, 1), (9, 1)] {
        builder.push_with_id(x, id).unwrap();
    }
    let summary = builder.finish().unwrap();
    assert_eq!((summary.pushed, summary.fingerprints, summary.ids), (4, 2, 3));
    assert_eq!((summary.design.as_str(), summary.bytes), ("halves", fs::metadata(&path).unwrap().len()));
}

#[test]
fn an_index_without_a_named_design_is_exact_too() {
    for distance in 0..=8 {
        let stored = data::<u64>(Shape::Mixed, 3000, 16);
        let index = index::<u64>(built(&stored, BuildOptions::new().distance(distance)));
        assert_eq!(index.design().distance(), distance);
        let mut searcher = index.searcher();
        for query in crate::common::queries(&stored, 10, 17) {
            let found = pairs(searcher.within(query, distance).unwrap());
            assert_eq!(found, brute_force(&stored, query, distance));
        }
    }
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

#[test]
fn a_writer_that_fails_is_the_error_of_the_build() {
    /// Takes so many bytes.
    struct Full(usize);

    impl std::io::Write for Full {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0 = self.0.checked_sub(bytes.len()).ok_or(std::io::ErrorKind::StorageFull)?;
            Ok(bytes.len())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    for room in [0, 4096, 10_000] {
        let mut builder = Builder::to_writer(Full(room), BuildOptions::new()).unwrap();
        data::<u64>(Shape::Uniform, 5000, 21).into_iter().try_for_each(|x| builder.push(x)).unwrap();
        let refused = builder.into_inner().err().unwrap();
        let BuildError::Write { source } = &refused else { panic!("{refused}") };
        assert_eq!(source.kind(), std::io::ErrorKind::StorageFull);
        assert!(!refused.is_in_place());
    }
}
