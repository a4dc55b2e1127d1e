//! The description of a file: design, metadata, sizes; and options rejected before anything is written.

use std::fs;

use super::names_in;
use crate::common::{Reports, Scratch, Shape, brute_force, built, built_with_ids, data, index, pairs};
use hamdex::{
    BuildError, BuildOptions, Builder, Codec, Design, DesignError, FilterChoice, Fingerprint, Index, Phase,
    Progress, ReadErrorKind, VerifyOptions,
};

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
    // Once, and again as long as the disk takes.
    assert!(!of(Phase::Sync).is_empty());
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
            let index = index::<u64>(built(&stored, options.filter(FilterChoice::None)));
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
