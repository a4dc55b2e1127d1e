//! The shingles of documents: read back as they were given, by every way that a file comes about.

use std::collections::{BTreeMap, BTreeSet};

use hamdex::{BuildError, BuildOptions, Builder, Index, Merger, Phase, Place, ReadError, shingles};
use proptest::prelude::*;

use crate::common::{Reports, Scratch, damaged_at};

/// Documents by id: a fingerprint, and the shingles.
type Documents = BTreeMap<u64, (u64, Vec<u64>)>;

fn documents() -> impl Strategy<Value = Documents> {
    let set = prop_oneof![
        prop::collection::btree_set(0u64..1 << shingles::BITS, 0..60),
        prop::collection::btree_set(0u64..100, 0..90),
    ];
    let document = (prop_oneof![0u64..20, any::<u64>()], set.prop_map(|set| set.into_iter().collect()));
    prop::collection::btree_map(prop_oneof![0u64..40, any::<u64>()], document, 0..40)
}

fn options() -> BuildOptions<u64> {
    BuildOptions::new().shingles(true).block_bytes(512).memory(16 << 20)
}

fn built(documents: &Documents, options: BuildOptions<u64>) -> Vec<u8> {
    let has_names = options.has_names();
    let mut builder = Builder::in_memory(options).unwrap();
    for (&id, (fingerprint, shingles)) in documents {
        builder.push_with_id(*fingerprint, id).unwrap();
        builder.push_shingles(id, shingles).unwrap();
        if has_names {
            builder.push_name(id, id.to_string()).unwrap();
        }
    }
    builder.into_inner().unwrap().0
}

fn read(index: &Index<u64>) -> Vec<(u64, Vec<u64>)> {
    read_in(index, 1 << 12)
}

fn read_in(index: &Index<u64>, memory: u64) -> Vec<(u64, Vec<u64>)> {
    let stored = index.shingles().unwrap().unwrap();
    let mut all = Vec::new();
    for part in stored.parts(memory).unwrap() {
        let visit = |id, set: &[u64]| {
            all.push((id, set.to_vec()));
            Ok::<_, ReadError>(())
        };
        stored.for_each_while(part, &|| Ok(()), visit).unwrap();
    }
    assert_eq!(stored.len(), all.len() as u64);
    all
}

/// Reads all shingles, as far as they can be read.
fn read_through(index: &Index<u64>) -> Result<(), ReadError> {
    let stored = index.shingles()?.unwrap();
    for part in stored.parts(1 << 12)? {
        stored.for_each_while(part, &|| Ok(()), |_, _| Ok::<_, ReadError>(()))?;
    }
    Ok(())
}

fn sets(documents: &Documents) -> Vec<(u64, Vec<u64>)> {
    documents.iter().map(|(&id, (_, set))| (id, set.clone())).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn shingles_are_read_back_with_names_and_without(all in documents(), names: bool) {
        let bytes = built(&all, options().names(names));
        prop_assert_eq!(&bytes, &built(&all, options().names(names).threads(1)));
        let index = Index::from_bytes(bytes).unwrap();
        prop_assert!(index.has_shingles());
        prop_assert_eq!(read(&index), sets(&all));
        index.verify().unwrap();
        let stored = index.shingles().unwrap().unwrap();
        let documents = |memory| stored.parts(memory).unwrap().into_iter().flatten().count();
        // Whatever the memory, each document is in one part.
        for memory in [0, 1, 100, 5000, u64::MAX] {
            prop_assert_eq!(documents(memory), all.len());
        }
        prop_assert!(stored.parts(u64::MAX).unwrap().len() <= 1);
    }

    #[test]
    fn merges_have_the_shingles_of_what_they_keep(all in documents(), parts in 1usize..4, gap in 1u64..4) {
        let mut divided = vec![Documents::new(); parts];
        for (place, (&id, document)) in all.iter().enumerate() {
            divided[place % parts].insert(id, document.clone());
        }
        let inputs: Vec<Index<u64>> =
            divided.iter().map(|part| Index::from_bytes(built(part, options())).unwrap()).collect();
        let merged = |merger: Merger<'_, u64>| {
            let mut bytes = Vec::new();
            merger.write_to(&mut bytes).unwrap();
            bytes
        };
        let whole = merged(Merger::new(&inputs).unwrap().options(options()));
        prop_assert_eq!(&whole, &built(&all, options()));
        let keep = |_, _, id: Option<u64>| !id.unwrap().is_multiple_of(gap);
        let kept = merged(Merger::new(&inputs).unwrap().options(options()).filter(keep));
        let mut left = all.clone();
        left.retain(|id, _| !id.is_multiple_of(gap));
        prop_assert_eq!(&kept, &built(&left, options()));
    }
}

/// Wherever it is: shingles are digested, sorted and written, and read from inputs.
#[test]
fn a_merge_of_shingles_that_is_cancelled_says_so_in_each_phase() {
    let part = |from: u64| -> Documents {
        let set = |id: u64| (0..40).map(|number| (number << 20) | (id % 50)).collect();
        (from..from + 2000).map(|id| (id, (id.wrapping_mul(0x9e37_79b9_7f4a_7c15), set(id)))).collect()
    };
    let inputs = [0, 2000].map(|from| Index::<u64>::from_bytes(built(&part(from), options())).unwrap());
    let scratch = Scratch::new();
    let merge = |stop_at: usize| {
        let seen = Reports::default();
        let options =
            options().threads(1).temp_dir(scratch.directory.path()).report_to(seen.stopping(stop_at));
        let merger = Merger::new(&inputs).unwrap().options(options);
        (merger.filter(|_, x, _| x % 5 > 0).finish(scratch.path("out")), seen.all())
    };
    let (outcome, all) = merge(usize::MAX);
    outcome.unwrap();
    std::fs::remove_file(scratch.path("out")).unwrap();
    // The first and the last report of each phase, and some between. While the file is synced, the callback is called
    // repeatedly; how often depends on the system.
    let sync = all.iter().position(|progress| progress.phase == Phase::Sync).unwrap();
    let ends = (1..=sync).filter(|&at| all[at - 1].phase != all[at].phase).flat_map(|at| [at - 1, at]);
    let stops: BTreeSet<usize> = ends.chain((0..sync).step_by(1 + sync / 20)).collect();
    assert!(stops.len() > 10, "{stops:?}");
    for stop_at in stops {
        let outcome = merge(stop_at).0;
        let phase = all[stop_at].phase;
        assert!(matches!(outcome, Err(BuildError::Stopped)), "report {stop_at}, {phase:?}: {outcome:?}");
    }
}

/// More than are put together at once: sets of very different sizes, among them one that is as large as hundreds.
#[test]
fn many_sets_are_put_together() {
    let shingle = |id: u64, number: u64| (id << 32 | number).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 16;
    let set = |id: u64| {
        let count = if id == 700 { 70_000 } else { id * 7919 % 300 };
        // Every third one is a phrase that others have.
        let all = (0..count).map(|number| shingle(if number % 3 == 0 { 0 } else { id }, number));
        Vec::from_iter(BTreeSet::from_iter(all))
    };
    let all: Documents = (0..1500).map(|id| (id * 5, (id, set(id)))).collect();
    let index = Index::from_bytes(built(&all, options())).unwrap();
    for memory in [1 << 20, u64::MAX] {
        assert_eq!(read_in(&index, memory), sets(&all));
    }
}

#[test]
fn what_is_no_set_or_belongs_to_no_id_is_refused() {
    let mut builder = Builder::in_memory(options()).unwrap();
    builder.push_with_id(5, 1).unwrap();
    for wrong in [&[2, 1][..], &[3, 3], &[1 << shingles::BITS]] {
        let refused = builder.push_shingles(1, wrong);
        assert!(matches!(refused, Err(BuildError::InvalidShingles { id: 1 })), "{refused:?}");
    }
    builder.push_shingles(2, &[7]).unwrap();
    assert!(matches!(builder.push_shingles(2, &[7]), Err(BuildError::ColumnUnsorted { id: 2, .. })));
    assert!(matches!(builder.into_inner(), Err(BuildError::ColumnMissing { id: 1, .. })));

    let mut without = Builder::in_memory(BuildOptions::<u64>::new().ids(true)).unwrap();
    without.push_with_id(5, 1).unwrap();
    assert!(matches!(without.push_shingles(1, &[7]), Err(BuildError::ColumnUnexpected { .. })));
    let without = Index::<u64>::from_bytes(without.into_inner().unwrap().0).unwrap();
    assert!(!without.has_shingles() && without.shingles().unwrap().is_none());
    let with = Index::<u64>::from_bytes(built(&Documents::from([(1, (5, vec![7]))]), options())).unwrap();
    assert!(matches!(Merger::new([&with, &without]), Err(BuildError::ColumnInSome { .. })));
    // The same id with other shingles is another document.
    let other = Index::<u64>::from_bytes(built(&Documents::from([(1, (5, vec![8]))]), options())).unwrap();
    let merged = Merger::new([&with, &other]).unwrap().write_to(&mut Vec::new());
    assert!(matches!(merged, Err(BuildError::ShinglesDiffer { id: 1 })), "{merged:?}");
}

#[test]
fn a_damaged_set_is_found_and_harms_no_query() {
    let all: Documents = (0..300).map(|id| (id, (id * 3, (id..id + 200).collect()))).collect();
    let whole = built(&all, options());
    let index = Index::<u64>::from_bytes(whole.clone()).unwrap();
    let size = index.stats().shingle_bytes.unwrap() as usize;
    assert!(size > 4096);
    // The sections of shingles are the last before the footer, which takes less than a page here.
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("damaged.hamdex");
    let (mut found, mut told) = (0, 0);
    for at in (whole.len() - 4096 - size..whole.len() - 4096).step_by(509) {
        let mut damaged = whole.clone();
        damaged[at] ^= 0x10;
        std::fs::write(&path, &damaged).unwrap();
        let Ok(index) = Index::<u64>::open(&path) else { continue };
        if let Err(error) = read_through(&index) {
            assert_eq!(error.path(), Some(&*path), "{error}");
            told += 1;
        }
        assert_eq!(index.searcher().within(30, 0).unwrap().len(), 1);
        let Err(error) = index.verify() else { continue };
        let place = damaged_at(&error);
        found += usize::from(matches!(place, Some(Place::ShingleBlock { .. } | Place::ShingleDirectory)));
    }
    assert!(found > 10 && told > 10, "{found} and {told} times");
}
