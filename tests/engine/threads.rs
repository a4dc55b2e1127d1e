//! Many threads, one index; and no memory taken once a searcher has warmed up.

use std::sync::atomic::{AtomicUsize, Ordering};

use crate::common::allocations::by_this_thread;
use crate::common::{
    Scratch, Shape, brute_force, built, built_with_ids, data, id_lists, is_damage, pairs, queries,
    with_a_damaged_block,
};
use hamdex::{
    BuildOptions, Builder, Checksums, Design, Fingerprint, Ids, Index, Mapping, OpenOptions, ReadError,
    Searcher,
};

const fn is_send_and_sync<T: Send + Sync>() {}

const _: () = {
    is_send_and_sync::<Index<u64>>();
    is_send_and_sync::<Index<u128>>();
    is_send_and_sync::<Index<u64>>();
    is_send_and_sync::<Index<u64>>();
    is_send_and_sync::<Mapping>();
    is_send_and_sync::<Searcher<std::sync::Arc<Index<u64>>>>();
    is_send_and_sync::<Ids<'static>>();
    is_send_and_sync::<Design<u64>>();
    is_send_and_sync::<BuildOptions<u64>>();
    is_send_and_sync::<ReadError>();
};

const CHECKSUMS: [Checksums; 3] = [Checksums::FirstTouch, Checksums::Always, Checksums::UpFront];

#[test]
fn many_threads_get_right_answers_from_one_index() {
    let stored = data::<u64>(Shape::Mixed, 6000, 1);
    let with_ids: Vec<(u64, u64)> = (0..).zip(&stored).map(|(n, &x)| (x, n)).collect();
    let ids = id_lists(&with_ids);
    let options = BuildOptions::new().design(Design::named("cover-6", 3).unwrap()).block_bytes(512);
    let file = built_with_ids(&with_ids, options);
    let queries = queries(&stored, 40, 2);
    let expected: Vec<_> = queries.iter().map(|&query| brute_force(&stored, query, 3)).collect();
    for checksums in CHECKSUMS {
        let index: Index<u64> = OpenOptions::new().checksums(checksums).from_bytes(file.as_slice()).unwrap();
        let asked = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            for thread in 0..8 {
                let (index, queries, expected, ids, asked) = (&index, &queries, &expected, &ids, &asked);
                scope.spawn(move || {
                    let mut searcher = index.searcher();
                    for turn in 0..queries.len() {
                        // A different order per thread, so that first accesses collide.
                        let at = (turn * (2 * thread + 1) + thread) % queries.len();
                        let found = pairs(searcher.within(queries[at], 3).unwrap());
                        assert_eq!(found, expected[at], "{checksums:?}");
                        for (_, x) in found.into_iter().take(3) {
                            assert_eq!(index.ids(x).unwrap().collect::<Vec<_>>(), ids[&x]);
                        }
                        asked.fetch_add(1, Ordering::Relaxed);
                    }
                });
            }
            // Verify concurrently.
            scope.spawn(|| assert_eq!(index.verify().unwrap().fingerprints, ids.len() as u64));
        });
        assert_eq!(asked.into_inner(), 8 * queries.len());
    }
}

#[test]
fn many_threads_all_see_damage() {
    let (file, keys) = with_a_damaged_block();
    let in_block = keys[3];
    let elsewhere = keys[5];
    for checksums in [Checksums::FirstTouch, Checksums::Always] {
        let index: Index<u64> = OpenOptions::new().checksums(checksums).from_bytes(file.as_slice()).unwrap();
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..50 {
                        assert!(
                            index.contains(in_block).is_err(),
                            "a second look is refused as the first was"
                        );
                        assert!(index.contains(elsewhere).unwrap());
                    }
                });
            }
        });
    }
    let up_front = OpenOptions::new().checksums(Checksums::UpFront).from_bytes::<u64>(file.as_slice());
    assert!(is_damage(&up_front));
}

/// Asks everything once to warm up, and again to count.
fn allocations_of_a_second_round<F: Fingerprint>(stored: &[F], index: &Index<F>) -> (u64, usize) {
    let queries = queries(stored, 50, 3);
    let mut searcher = index.searcher();
    let mut round = || {
        let mut found = 0;
        for &query in &queries {
            for distance in [0, 1, 3, 5] {
                found += searcher.within(query, distance).unwrap().len();
                found += usize::from(searcher.first(query, distance).unwrap().is_some());
                let mut last = None;
                searcher
                    .for_each(query, distance, |m| {
                        last = Some(m);
                        Ok::<_, ReadError>(())
                    })
                    .unwrap();
                found += usize::from(last.is_some());
            }
        }
        found
    };
    let warm = round();
    let before = by_this_thread();
    let found = round();
    let allocations = by_this_thread() - before;
    assert_eq!(found, warm);
    (allocations, found)
}

#[test]
fn a_warm_searcher_allocates_nothing() {
    for name in ["single", "halves", "cover-8", "paper-10"] {
        let stored = data::<u64>(Shape::Mixed, 5000, 4);
        let file = built(&stored, BuildOptions::new().design(Design::named(name, 3).unwrap()));
        for checksums in CHECKSUMS {
            let index = OpenOptions::new().checksums(checksums).from_bytes(file.as_slice()).unwrap();
            let (allocations, found) = allocations_of_a_second_round::<u64>(&stored, &index);
            assert_eq!(allocations, 0, "{name}, {checksums:?}");
            assert!(found > 1000, "{found}");
        }
    }
}

#[test]
fn a_warm_searcher_allocates_nothing_at_128_bits_over_a_mapping() {
    let stored = data::<u128>(Shape::Mixed, 5000, 4);
    let scratch = Scratch::new();
    let path = scratch.path("wide.hamdex");
    let mut builder = Builder::new(&path).unwrap();
    stored.iter().try_for_each(|&x| builder.push(x)).unwrap();
    builder.finish().unwrap();
    let (allocations, found) = allocations_of_a_second_round::<u128>(&stored, &Index::open(&path).unwrap());
    assert_eq!(allocations, 0);
    assert!(found > 1000, "{found}");
}

#[test]
fn the_nearest_are_found_without_allocating_too() {
    let stored = data::<u64>(Shape::Mixed, 5000, 4);
    let index = crate::common::index(built(&stored, BuildOptions::new()));
    let queries = queries(&stored, 20, 3);
    let mut searcher = index.searcher();
    let mut round =
        || queries.iter().map(|&query| searcher.nearest(query, 30).unwrap()[29].distance).sum::<u32>();
    let warm = round();
    let before = by_this_thread();
    assert_eq!(round(), warm);
    assert_eq!(by_this_thread() - before, 0);
}

#[test]
fn ids_are_found_without_allocating_too() {
    let stored: Vec<(u64, u64)> = data::<u64>(Shape::Mixed, 5000, 4).into_iter().zip(0..).collect();
    let lists = id_lists(&stored);
    let index = Index::<u64>::from_bytes(built_with_ids(&stored, BuildOptions::new())).unwrap();
    let mut searcher = index.searcher();
    let mut round = || stored.iter().map(|&(x, _)| searcher.ids(x).unwrap().count()).sum::<usize>();
    let warm = round();
    let before = by_this_thread();
    let found = round();
    assert_eq!(by_this_thread() - before, 0);
    assert_eq!(found, warm);
    assert_eq!(found, stored.iter().map(|(x, _)| lists[x].len()).sum::<usize>());
}
