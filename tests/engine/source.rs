//! Builds from sorted and from repeatable input give the same bytes as any other build.

use std::fs;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use crate::common::{Numbers, SHAPES, Scratch, Shape, built, built_with_ids, data};
use hamdex::{BuildError, BuildOptions, Builder, Codec, Design, Take};

fn options(codec: Codec) -> BuildOptions<u64> {
    BuildOptions::new().codec(codec).design(Design::named("halves", 3).unwrap())
}

/// A source of these items, and how often it has been read.
fn source<T: Copy + Send + Sync + 'static>(
    items: &[T],
    readings: &Arc<AtomicUsize>,
) -> impl FnMut(&mut Take<'_, T>) -> Result<(), Box<dyn std::error::Error + Send + Sync>> + Send + 'static {
    let (items, readings) = (items.to_vec(), Arc::clone(readings));
    move |take| {
        readings.fetch_add(1, Relaxed);
        let _ = items.chunks(7777).try_for_each(&mut *take);
        Ok(())
    }
}

/// The bytes of a build from a source, and how often that was read.
fn from_source(items: &[u64], options: BuildOptions<u64>) -> (Vec<u8>, usize) {
    let readings = Arc::default();
    let mut builder = Builder::in_memory(options).unwrap();
    builder.read_from(source(items, &readings)).unwrap();
    let (bytes, summary) = builder.into_inner().unwrap();
    assert_eq!(summary.pushed, items.len() as u64);
    (bytes, readings.load(Relaxed))
}

#[test]
fn a_source_that_fits_into_memory_is_read_once_per_table() {
    for shape in SHAPES {
        let stored = data::<u64>(shape, 20_000, 1);
        let pairs: Vec<(u64, u64)> = stored.iter().zip(0..).map(|(&x, id)| (x, id % 900)).collect();
        for codec in Codec::ALL {
            let (file, readings) = from_source(&stored, options(codec));
            assert!(file == built(&stored, options(codec)), "{shape:?}, {codec}");
            assert_eq!(readings, 2);
            let mut builder = Builder::in_memory(options(codec).ids(true)).unwrap();
            builder.read_pairs_from(source(&pairs, &Arc::default())).unwrap();
            let file = builder.into_inner().unwrap().0;
            assert!(file == built_with_ids(&pairs, options(codec)), "{shape:?}, {codec}, with ids");
        }
    }
}

#[test]
fn a_source_larger_than_memory_is_read_again_and_needs_no_temporary_space() {
    // 16 MiB hold about 1.8 million fingerprints.
    let mut numbers = Numbers(2);
    let stored: Vec<u64> = (0..5_000_000).map(|_| numbers.word() >> 2).collect();
    for codec in Codec::ALL {
        let (file, readings) = from_source(&stored, options(codec).memory(16 << 20));
        assert!(file == built(&stored, options(codec)), "{codec}");
        // Three or four portions per table; each is read twice, but for those of later tables of elias-fano.
        let passes = if codec == Codec::Huffman { 4 } else { 3 };
        assert!((3 * passes..=4 * passes).contains(&readings), "{codec}: {readings} readings");
    }
}

#[test]
fn one_fingerprint_with_more_ids_than_memory_holds_is_built_from_a_source() {
    let mut pairs: Vec<(u64, u64)> = (0..2_000_000).map(|id| (1 << 50, id)).collect();
    let mut numbers = Numbers(4);
    pairs.extend((0..300_000).map(|id| (numbers.word(), id)));
    let options = || options(Codec::EliasFano).memory(16 << 20).ids(true);
    let mut builder = Builder::in_memory(options()).unwrap();
    builder.read_pairs_from(source(&pairs, &Arc::default())).unwrap();
    assert!(builder.into_inner().unwrap().0 == built_with_ids(&pairs, options().memory(1 << 30)));
}

/// Changes the items before a pass, given its number; returns whether the pass succeeds.
type Change = Box<dyn FnMut(usize, &mut Vec<u64>) -> bool + Send>;

#[test]
fn a_source_that_changes_or_fails_is_an_error_and_leaves_nothing() {
    let scratch = Scratch::new();
    let stored = data::<u64>(Shape::Uniform, 30_000, 3);
    let build = |mut change: Change| {
        let (mut items, mut reading) = (stored.clone(), 0);
        let mut builder =
            Builder::with_options(scratch.path("index.hamdex"), options(Codec::Huffman)).unwrap();
        let source = move |take: &mut Take<'_, u64>| {
            let works = change(reading, &mut items);
            reading += 1;
            let _ = take(&items);
            if works { Ok(()) } else { Err("the tape is torn".into()) }
        };
        builder.read_from(source).unwrap();
        let refused = builder.finish().unwrap_err();
        assert_eq!(fs::read_dir(scratch.directory.path()).unwrap().count(), 0);
        refused
    };
    // One bit of one item; one item less; one more, which is a repeat.
    let changes: [fn(&mut Vec<u64>); 3] =
        [|items| items[77] ^= 1, |items| items.truncate(items.len() - 1), |items| items.push(items[5])];
    for change in changes {
        let refused = build(Box::new(move |reading, items| {
            if reading == 1 {
                change(items);
            }
            true
        }));
        assert!(matches!(refused, BuildError::Changed { what: "the source" }), "{refused}");
    }
    for fails_at in [0, 1] {
        let refused = build(Box::new(move |reading, _| reading != fails_at));
        let BuildError::Source { source } = &refused else { panic!("{refused}") };
        assert_eq!(source.to_string(), "the tape is torn");
    }
}

#[test]
fn a_source_is_left_when_the_build_is_stopped() {
    let stored = data::<u64>(Shape::Uniform, 100_000, 3);
    let readings = Arc::default();
    let stop = |progress: hamdex::Progress| {
        if progress.done > 50_000 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let mut builder = Builder::in_memory(options(Codec::Huffman).progress(stop)).unwrap();
    builder.read_from(source(&stored, &readings)).unwrap();
    assert!(matches!(builder.into_inner().err(), Some(BuildError::Stopped)));
    assert_eq!(readings.load(Relaxed), 1);
}

#[test]
fn a_source_excludes_what_is_pushed() {
    let nothing = |_: &mut Take<'_, u64>| Ok(());
    let no_pairs = |_: &mut Take<'_, (u64, u64)>| Ok(());
    let mut builder = Builder::in_memory(BuildOptions::<u64>::new()).unwrap();
    assert!(matches!(builder.read_pairs_from(no_pairs), Err(BuildError::Ids(_))));
    builder.push(1).unwrap();
    assert!(matches!(builder.read_from(nothing), Err(BuildError::Mixed(_))));
    let mut builder = Builder::in_memory(BuildOptions::<u64>::new().ids(true)).unwrap();
    assert!(matches!(builder.read_from(nothing), Err(BuildError::Ids(_))));
    builder.read_pairs_from(no_pairs).unwrap();
    assert!(matches!(builder.read_pairs_from(no_pairs), Err(BuildError::Mixed(_))));
    assert!(matches!(builder.push_with_id(1, 2), Err(BuildError::Mixed(_))));
    assert_eq!(builder.into_inner().unwrap().1.fingerprints, 0);
}

#[test]
fn what_is_sorted_already_makes_the_same_bytes() {
    // The last one spills.
    let spilling: Vec<u64> = (0..3_000_000).map(|x| x * 5 / 4).collect();
    let shapes = SHAPES.map(|shape| data::<u64>(shape, 20_000, 5));
    for mut stored in shapes.into_iter().chain([spilling]) {
        stored.sort_unstable();
        let build = |options: BuildOptions<u64>| {
            let mut builder = Builder::in_memory(options.sorted(true)).unwrap();
            stored.iter().try_for_each(|&x| builder.push(x)).unwrap();
            builder.into_inner().unwrap().0
        };
        let options = || options(Codec::EliasFano).memory(16 << 20);
        assert!(build(options()) == built(&stored, options().memory(1 << 30)));
    }
    let mut pairs: Vec<(u64, u64)> =
        data::<u64>(Shape::Mixed, 3000, 6).into_iter().zip((0..).map(|id| id % 50)).collect();
    pairs.sort_unstable();
    let file = built_with_ids(&pairs, options(Codec::Huffman).sorted(true));
    assert!(file == built_with_ids(&pairs, options(Codec::Huffman)));
}

#[test]
fn what_is_not_sorted_is_refused_where_it_is_not() {
    let mut builder = Builder::in_memory(BuildOptions::<u64>::new().sorted(true)).unwrap();
    [3, 3, 8].into_iter().try_for_each(|x| builder.push(x)).unwrap();
    let refused = builder.push(7).unwrap_err();
    assert!(matches!(refused, BuildError::Unsorted { number: 3 }), "{refused}");
    // Rejected items are not in the index; items in order are.
    builder.push(8).unwrap();
    assert_eq!(builder.into_inner().unwrap().1.pushed, 4);

    let mut builder = Builder::in_memory(BuildOptions::<u64>::new().sorted(true).ids(true)).unwrap();
    builder.push_with_id(3, 9).unwrap();
    let refused = builder.push_with_id(3, 8).unwrap_err();
    assert!(matches!(refused, BuildError::Unsorted { number: 1 }), "{refused}");
}
