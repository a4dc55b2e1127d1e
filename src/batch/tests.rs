//! The way that a batch takes, and its cost by the counts of the model: nothing here reads a clock.

use crate::batch::chunks::Chunks;
use crate::batch::cost::{Choice, Sample, choose};
use crate::batch::gather::Room;
use crate::batch::groups;
use crate::batch::scan::design::Crowding;
use crate::batch::scan::{self, Scan, design};
use crate::batch::{BatchContext, BatchOptions, Strategy};
use crate::error::ReadErrorKind;
use crate::progress::{Counter, Phase, Report, Stopped};
use crate::{BuildOptions, Builder, Design, Index};

/// SplitMix64 (Steele, Lea and Flood, OOPSLA 2014) of a counter.
fn number(counter: u64) -> u64 {
    let mut z = counter.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// One fingerprint with ten random flips in its low 40 bits.
fn cluster(i: u64) -> u64 {
    (0..10).fold(0x0123_4567_89ab_cdef, |x, flip| x ^ 1 << (number(i * 10 + flip) % 40))
}

fn consecutive(i: u64) -> u64 {
    0x1234_5678_0000_0000 + i
}

/// A cluster, and as many fingerprints that are spread evenly.
fn half_cluster(i: u64) -> u64 {
    if i.is_multiple_of(2) { number(i) } else { cluster(i) }
}

fn index(stored: impl Fn(u64) -> u64, count: u64, design: &str) -> Index<u64> {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("test.hamdex");
    let options = BuildOptions::new().design(Design::named(design, 3).unwrap());
    let mut builder = Builder::<u64>::with_options(&path, options).unwrap();
    (0..count).try_for_each(|i| builder.push(stored(i))).unwrap();
    builder.finish().unwrap();
    Index::from_bytes(std::fs::read(&path).unwrap()).unwrap()
}

/// Stored fingerprints, the same ones again and again.
fn queries_among(stored: impl Fn(u64) -> u64, count: u64, queries: u64) -> Vec<u64> {
    (0..queries).map(|i| stored(number(i ^ 0x5eed_0000) % count)).collect()
}

fn counter() -> Counter {
    Counter::new(Report::default(), Phase::Batch, None)
}

fn way(index: &Index<u64>, queries: &[u64], strategy: Strategy) -> Choice<u64> {
    let options = BatchOptions::new().strategy(strategy);
    let (plan, done) = (index.plan(3), counter());
    let context = BatchContext { index, plan, queries, options: &options, done: &done, is_crowded: false };
    choose(&context, &Sample::of(&context).unwrap())
}

#[test]
fn crowded_queries_are_not_scanned() {
    let shapes =
        [("cluster", cluster as fn(u64) -> u64), ("consecutive", consecutive), ("half", half_cluster)];
    for (shape, stored) in shapes {
        // Half a cluster in a file of one table is scanned as fast as it is probed.
        for design in ["single", "halves", "cover-6"].into_iter().skip(usize::from(shape == "half")) {
            let index = index(stored, 200_000, design);
            let queries = queries_among(stored, 200_000, 5000);
            let way = way(&index, &queries, Strategy::Auto);
            assert!(matches!(way, Choice::Probe), "{shape}, {design}");
        }
    }
}

#[test]
fn many_queries_of_one_table_are_scanned() {
    let index = index(number, 300_000, "single");
    let queries: Vec<u64> = (0..50_000).map(|i| number(i ^ 0xabcd_0000_0000)).collect();
    assert!(matches!(way(&index, &queries, Strategy::Auto), Choice::Scan(_)));
}

#[test]
fn queries_that_meet_nowhere_are_answered_alone() {
    let index = index(number, 300_000, "cover-6");
    let queries: Vec<u64> = (0..64).map(|i| number(i ^ 0xabcd_0000_0000)).collect();
    assert!(matches!(way(&index, &queries, Strategy::Auto), Choice::Alone));
}

/// A scan's cost of meetings, by the counts of the model, compared with the estimate from the sample.
#[test]
fn meetings_of_a_scan_are_as_many_as_estimated() {
    let shapes = [("even", number as fn(u64) -> u64), ("cluster", cluster), ("consecutive", consecutive)];
    for (shape, stored) in shapes {
        let index = index(stored, 40_000, "single");
        // Even fingerprints among themselves: no sample tells how often one meets itself.
        let queries = if shape == "even" {
            (0..4000).map(|i| number(i ^ 0xabcd_0000)).collect()
        } else {
            queries_among(stored, 40_000, 4000)
        };
        let (options, done) = (BatchOptions::new(), counter());
        let context = BatchContext {
            index: &index,
            plan: index.plan(3),
            queries: &queries,
            options: &options,
            done: &done,
            is_crowded: false,
        };
        let choice = design::choose(3, queries.len(), &Crowding::of(&context), f64::MAX);
        let estimated = choice.cost.meeting_ns * index.len() as f64;
        let is_enough = |share: f64| {
            let most = Some((estimated * share) as u64);
            let scan = Scan { tables: choice.tables.clone(), is_sieved: false, most_meeting_ns: most };
            let room = Room::of_bytes::<u64>(1 << 30);
            let Ok((_, answered)) = scan::scan(&context, &scan, &room) else { panic!("{shape}: no answer") };
            // A scan that is left gives back all the room that it took.
            assert!(answered == queries.len() || (answered == 0 && room.taken() == 0), "{shape}: {answered}");
            answered == queries.len()
        };
        assert!(is_enough(1.6), "{shape}: more than estimated");
        assert!(!is_enough(0.5), "{shape}: far less than estimated");
    }
}

/// No thread is started, no memory counted, and few queries located twice, if single queries take no time.
#[test]
fn a_small_batch_is_answered_at_once_as_single_queries_are() {
    let index = index(number, 300_000, "cover-6");
    let queries: Vec<u64> = (0..20_000).map(|i| number(i ^ 0xabcd_0000_0000)).collect();
    for (strategy, first_worth) in
        [(Strategy::Auto, 33..5000), (Strategy::Probe, 32..33), (Strategy::Scan, 32..33)]
    {
        let options = BatchOptions::new().strategy(strategy);
        let chunks = Chunks::new(&index, 3, &options).unwrap();
        let is_worth =
            |count: &usize| chunks.sample_if_worth(&queries[..*count], &counter()).unwrap().is_some();
        let first = (0..queries.len()).find(is_worth);
        assert!(first.is_some_and(|first| first_worth.contains(&first)), "{strategy:?}: {first:?}");
    }
}

/// Whether all matches of a group are in memory at once, or those of one query after the other.
#[test]
fn groups_give_what_single_queries_give_however_many_match() {
    for (stored, count) in [(consecutive as fn(u64) -> u64, 3000), (number, 20_000)] {
        let index = index(stored, count, "halves");
        let queries = queries_among(stored, count, 100);
        for (distance, limit) in [(0, usize::MAX), (3, usize::MAX), (8, usize::MAX), (8, 5)] {
            let (mut searcher, mut checked, mut next) = (index.searcher(), 0, 0);
            let check = || {
                checked += 1;
                Ok(())
            };
            let outcome = groups::answer(&index, &queries, (distance, limit), check, |place, matches| {
                let expected = searcher.within(queries[place], distance).unwrap();
                assert_eq!(matches, &expected[..expected.len().min(limit)]);
                assert_eq!(place, next);
                next += 1;
                if place == 90 { Err(Stopped) } else { Ok(()) }
            });
            assert!(matches!(outcome.unwrap_err().kind(), ReadErrorKind::Stopped));
            assert_eq!(next, 91);
            assert!(checked >= 91 / 16, "{checked}");
        }
    }
}
