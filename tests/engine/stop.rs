//! Long work is cancelled: at whichever report it is, the work ends with an error that says so, calls the callback no
//! more, and leaves nothing.

use std::fs;
use std::mem::discriminant;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::thread;
use std::time::Instant;

use crate::common::{Numbers, Reports, Scratch, Shape, built, built_with_ids, data, index};
use hamdex::internals::{Tuning, Way};
use hamdex::similar::{Condition, Measure};
use hamdex::{
    BatchOptions, BuildError, BuildOptions, Builder, Cancellation, Category, Design, Index, Merger,
    MultiIndex, PairsOptions, Phase, ReadError, ReadErrorKind, Report, Strategy, VerifyOptions,
};

/// Reports to stop at: all of the first and the last, and some between.
fn places(reports: usize) -> impl Iterator<Item = usize> {
    let step = (reports / 8).max(1);
    (0..reports).filter(move |at| *at < 2 || at % step == 0 || at + 2 > reports)
}

/// Does the work on one thread as often as it takes to stop it in many places, and checks each time that it ends
/// as it should.
fn stops_everywhere<T>(work: impl Fn(&Reports, usize) -> Result<T, ReadError>) {
    let all = Reports::default();
    assert!(work(&all, usize::MAX).is_ok());
    let all = all.all();
    assert!(all.len() > 2, "{}", all.len());
    for at in places(all.len()) {
        let seen = Reports::default();
        let Err(error) = work(&seen, at) else { panic!("not stopped at report {at} of {}", all.len()) };
        assert!(matches!(error.kind(), ReadErrorKind::Stopped), "{error}");
        // On one thread the work takes the same course each time, as far as it gets.
        assert_eq!(seen.all(), all[..=at]);
    }
}

fn build(scratch: &Scratch, count: u64, seen: &Reports, at: usize) -> Result<(), BuildError> {
    let path = scratch.path("index.hamdex");
    let options = BuildOptions::new()
        .design(Design::named("thirds", 3)?)
        .ids(true)
        .memory(16 << 20)
        .threads(1)
        .overwrite(true)
        .report_to(seen.stopping(at));
    let mut builder = Builder::<u64>::with_options(&path, options)?;
    let mut numbers = Numbers(3);
    (0..count).try_for_each(|id| builder.push_with_id(numbers.word(), id))?;
    builder.finish().map(drop)
}

/// In memory, and with runs on disk.
#[test]
fn a_build_stops_in_each_phase_and_leaves_what_was_there_before() {
    for count in [80_000, 650_000] {
        let all = Reports::default();
        build(&Scratch::new(), count, &all, usize::MAX).unwrap();
        let all = all.all();
        let phases = [
            Phase::Read,
            Phase::Sort { table: 0, tables: 3 },
            Phase::Write { table: 0, tables: 3 },
            Phase::Ids,
            Phase::Sort { table: 2, tables: 3 },
            Phase::Write { table: 2, tables: 3 },
            Phase::Sync,
        ];
        let scratch = Scratch::new();
        fs::write(scratch.path("index.hamdex"), "what was there before").unwrap();
        for phase in phases {
            let of_phase = all.iter().position(|report| report.phase == phase);
            let first = of_phase.unwrap_or_else(|| panic!("{phase:?} is not reported"));
            let last = all.iter().rposition(|report| report.phase == phase).unwrap();
            // The number of reports of the last phase depends on the disk.
            let last = if phase == Phase::Sync { first } else { last };
            for at in [first, last] {
                let seen = Reports::default();
                let error = build(&scratch, count, &seen, at).unwrap_err();
                assert!(matches!(error, BuildError::Stopped), "{error}");
                assert!(!error.is_in_place());
                assert_eq!(seen.all(), all[..=at], "{phase:?}");
                let names = fs::read_dir(scratch.directory.path()).unwrap();
                assert_eq!(names.count(), 1, "{phase:?} leaves a file");
                let before = fs::read(scratch.path("index.hamdex")).unwrap();
                assert_eq!(before, b"what was there before");
            }
        }
    }
}

/// Merging is reported batch by batch, runs piece by piece: so a build can be stopped soon.
#[test]
fn the_sort_of_a_table_that_spills_is_reported_many_times() {
    let seen = Reports::default();
    build(&Scratch::new(), 650_000, &seen, usize::MAX).unwrap();
    let sort = discriminant(&Phase::Sort { table: 0, tables: 0 });
    let sorts = seen.all().iter().filter(|report| discriminant(&report.phase) == sort).count();
    assert!(sorts > 3 * 6, "{sorts}");
}

#[test]
fn a_verification_stops() {
    let stored: Vec<(u64, u64)> =
        (0..).zip(data(Shape::Mixed, 30_000, 4)).map(|(id, x)| (x, id / 2)).collect();
    let index = index::<u64>(built_with_ids(&stored, BuildOptions::new().block_bytes(512)));
    stops_everywhere(|seen, at| {
        index.verify_with(&VerifyOptions::new().threads(1).report_to(seen.stopping(at)))
    });
}

#[test]
fn a_batch_stops() {
    let stored = data::<u64>(Shape::Mixed, 30_000, 5);
    let index = index::<u64>(built(&stored, BuildOptions::new().block_bytes(512)));
    let queries = &stored[..10_000];
    for strategy in [Strategy::Probe, Strategy::Scan] {
        stops_everywhere(|seen, at| {
            let options = BatchOptions::new().strategy(strategy).threads(1).report_to(seen.stopping(at));
            index.batch_with(queries, 3, &options, |_, _| Ok::<_, ReadError>(()))
        });
    }
    // A few are answered one by one.
    stops_everywhere(|seen, at| {
        let options = BatchOptions::new().threads(1).report_to(seen.stopping(at));
        index.batch_with(&queries[..20], 3, &options, |_, _| Ok::<_, ReadError>(()))
    });
}

/// With crowded queries, one block is searched for all of them, and a fingerprint is compared with all of them.
#[test]
fn a_batch_that_crowds_stops() {
    let stored: Vec<u64> = (0..1000).map(|i| 0x0123_4567_0000_0000 | i).collect();
    let index = index::<u64>(built(&stored, BuildOptions::new()));
    let queries = vec![stored[7]; 70_000];
    for strategy in [Strategy::Probe, Strategy::Scan] {
        stops_everywhere(|seen, at| {
            let options = BatchOptions::new().strategy(strategy).threads(1).report_to(seen.stopping(at));
            index.batch_with(&queries, 1, &options, |_, _| Ok::<_, ReadError>(()))
        });
    }
}

#[test]
fn a_self_join_stops() {
    let stored = data::<u64>(Shape::Mixed, 30_000, 6);
    let index = index::<u64>(built(&stored, BuildOptions::new().block_bytes(512)));
    let slices = Some(stored.len() / 5);
    for tuning in [
        Tuning { blocks_per_task: Some(50), ..Tuning::default() },
        Tuning { way: Way::Gather, capacity: slices, ..Tuning::default() },
        Tuning { way: Way::Query, queries_per_task: Some(1000), ..Tuning::default() },
    ] {
        stops_everywhere(|seen, at| {
            let options = PairsOptions::new().threads(1).report_to(seen.stopping(at));
            index.pairs(2).tuning(tuning).options(&options).count_by_distance()
        });
    }
}

/// If all fingerprints agree in all leads, all of the work is in one task.
#[test]
fn a_self_join_of_one_long_run_stops() {
    let stored: Vec<u64> = (0..1 << 16).map(|i| 0x0123_4567_0000_0000 | i).collect();
    let index = index::<u64>(built(&stored, BuildOptions::new()));
    stops_everywhere(|seen, at| {
        let options = PairsOptions::new().threads(1).report_to(seen.stopping(at));
        index.pairs(2).options(&options).count_by_distance()
    });
}

/// The threads that did not stop the work themselves end with it, and nothing waits for ever.
#[test]
fn work_of_many_threads_stops() {
    let stored = data::<u64>(Shape::Mixed, 100_000, 7);
    let index = index::<u64>(built(&stored, BuildOptions::new().block_bytes(512)));
    let is_stopped = |error: ReadError| matches!(error.kind(), ReadErrorKind::Stopped);
    for at in [0, 1, 3] {
        let stop = || Reports::default().stopping(at);
        let verified = index.verify_with(&VerifyOptions::new().threads(4).report_to(stop()));
        assert!(is_stopped(verified.unwrap_err()));
        let pairs =
            index.pairs(3).options(&PairsOptions::new().threads(4).report_to(stop())).count_by_distance();
        assert!(is_stopped(pairs.unwrap_err()));
        for strategy in [Strategy::Probe, Strategy::Scan] {
            let options = BatchOptions::new().strategy(strategy).threads(4).report_to(stop());
            let batch = index.batch_with(&stored, 3, &options, |_, _| Ok::<_, ReadError>(()));
            assert!(is_stopped(batch.unwrap_err()));
        }
    }
}

type Outcome = Result<(), Category>;

fn of_reading<T>(outcome: Result<T, ReadError>) -> Outcome {
    outcome.map(drop).map_err(|error| error.category())
}

fn of_building<T>(outcome: Result<T, BuildError>) -> Outcome {
    outcome.map(drop).map_err(|error| error.category())
}

/// Calls `check` with each kind of long work, which takes a report and a number of threads.
fn each_kind(mut check: impl FnMut(&str, &dyn Fn(Report, usize) -> Outcome)) {
    let scratch = Scratch::new();
    let stored = data::<u64>(Shape::Mixed, 30_000, 8);
    let small = || index::<u64>(built(&stored, BuildOptions::new().block_bytes(512)));
    let (one, other) = (small(), small());
    let multi = MultiIndex::new([small(), small()].map(Arc::new));
    let options =
        |report: Report, threads| BuildOptions::new().overwrite(true).threads(threads).report_to(report);
    let build = |report, threads| {
        let mut builder = Builder::<u64>::with_options(scratch.path("built"), options(report, threads))?;
        stored.iter().try_for_each(|&value| builder.push(value))?;
        builder.finish()
    };
    check("build", &|report, threads| of_building(build(report, threads)));
    check("merge", &|report, threads| {
        let merger = Merger::new([&one, &other]).unwrap().options(options(report, threads));
        of_building(merger.finish(scratch.path("merged")))
    });
    check("verification", &|report, threads| {
        of_reading(one.verify_with(&VerifyOptions::new().threads(threads).report_to(report)))
    });
    for (strategy, queries) in [
        (Strategy::Probe, &stored[..10_000]),
        (Strategy::Scan, &stored[..10_000]),
        (Strategy::Auto, &stored[..20]),
    ] {
        let options =
            |report, threads| BatchOptions::new().strategy(strategy).threads(threads).report_to(report);
        check(&format!("batch, {strategy:?}"), &|report, threads| {
            of_reading(one.batch_with(queries, 3, &options(report, threads), |_, _| Ok::<_, ReadError>(())))
        });
        check(&format!("batch of several, {strategy:?}"), &|report, threads| {
            of_reading(multi.batch_with(queries, 3, &options(report, threads), |_, _| Ok::<_, ReadError>(())))
        });
    }
    let joined = |report, threads| PairsOptions::new().threads(threads).report_to(report);
    check("pairs", &|report, threads| {
        of_reading(one.pairs(3).options(&joined(report, threads)).count_by_distance())
    });
    check("pairs of a slice", &|report, threads| {
        of_reading(hamdex::pairs(&stored, 3).options(&joined(report, threads)).count_by_distance())
    });
    check("pairs of several", &|report, threads| {
        of_reading(multi.pairs(3).options(&joined(report, threads)).count_by_distance())
    });
    // A query is checked after some hundred blocks.
    let blocks = built(&data::<u64>(Shape::Uniform, 300_000, 16), BuildOptions::new().block_bytes(512));
    let large = Arc::new(index::<u64>(blocks));
    check("query", &|report, _| {
        let mut searcher = large.searcher();
        searcher.report_to(report);
        of_reading(searcher.within(7, 20))
    });
    let several = MultiIndex::new([Arc::clone(&large), Arc::clone(&large)]);
    check("query of several", &|report, _| {
        let mut searcher = several.searcher();
        searcher.report_to(report);
        of_reading(searcher.within(7, 20))
    });
    let sets = of_shingles();
    check("similar documents", &|report, _| {
        let mut searcher = sets.searcher();
        searcher.report_to(report);
        let condition = Condition::new(Measure::Resemblance, 0.5).unwrap();
        of_reading(searcher.similar(&(0..100).collect::<Vec<_>>(), &condition, 10))
    });
}

/// An index of documents that have shingles in common.
fn of_shingles() -> Index<u64> {
    let mut builder = Builder::in_memory(BuildOptions::new().shingles(true).memory(16 << 20)).unwrap();
    for id in 0..500 {
        builder.push_with_id(id, id).unwrap();
        builder.push_shingles(id, &(id % 7..100 + id % 5).collect::<Vec<_>>()).unwrap();
    }
    Index::from_bytes(builder.into_inner().unwrap().0).unwrap()
}

#[test]
fn what_is_cancelled_before_its_start_reports_nothing() {
    let cancelled = Cancellation::new();
    cancelled.cancel();
    each_kind(|kind, work| {
        for threads in [1, 3] {
            // The first cancels it as well as the last of several.
            for cancellation in [cancelled.clone(), Cancellation::at(Instant::now())] {
                let report = Report::new().cancellation(Cancellation::new()).cancellation(cancellation);
                assert_eq!(work(report.clone(), threads), Err(Category::Stopped), "{kind}");
                let report = report.progress(|progress| panic!("{progress:?}"));
                assert_eq!(work(report, threads), Err(Category::Stopped), "{kind}");
            }
            let report = Report::new().cancellation(Cancellation::new());
            assert_eq!(work(report, threads), Ok(()), "{kind}");
        }
    });
}

#[test]
fn what_another_thread_cancels_in_the_middle_reports_no_more() {
    each_kind(|kind, work| {
        for (threads, at) in [(1, 1), (1, 2), (3, 2)] {
            let (cancellation, count) = (Cancellation::new(), Arc::new(AtomicUsize::new(0)));
            let counted = Arc::clone(&count);
            let report = Report::new().cancellation(cancellation.clone()).progress(move |_| {
                if counted.fetch_add(1, Relaxed) + 1 == at {
                    thread::scope(|scope| scope.spawn(|| cancellation.cancel()).join()).unwrap();
                }
            });
            assert_eq!(work(report, threads), Err(Category::Stopped), "{kind}");
            // Each of the other threads may have been about to report.
            assert!(
                (at..at + threads).contains(&count.load(Relaxed)),
                "{kind}: {count:?} reports, {threads} threads"
            );
        }
    });
}

/// Without a callback, it is noticed as soon.
#[test]
fn a_visitor_cancels_what_it_visits() {
    let stored = data::<u64>(Shape::Mixed, 30_000, 9);
    let index = index::<u64>(built(&stored, BuildOptions::new().block_bytes(512)));
    for (strategy, threads) in [(Strategy::Probe, 1), (Strategy::Scan, 3)] {
        let cancellation = Cancellation::new();
        let options = BatchOptions::new().strategy(strategy).threads(threads);
        let mut visited = 0;
        let outcome = index.batch_with(&stored, 3, &options.cancellation(cancellation.clone()), |_, _| {
            cancellation.cancel();
            visited += 1;
            Ok::<_, ReadError>(())
        });
        assert_eq!(of_reading(outcome), Err(Category::Stopped));
        assert!(visited <= stored.len() / 2, "{visited} queries");
    }
    for threads in [1, 3] {
        let cancellation = Cancellation::new();
        let pairs = index.pairs(3).threads(threads).cancellation(cancellation.clone());
        let outcome = pairs.for_each_batch(|_| {
            cancellation.cancel();
            Ok::<_, ReadError>(())
        });
        assert_eq!(of_reading(outcome), Err(Category::Stopped));
    }
}
