//! A callback stops long work: at whichever report it does, the work ends with an error that says so, calls the
//! callback no more, and leaves nothing.

use std::fs;
use std::mem::discriminant;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use crate::common::{Numbers, Reports, Scratch, Shape, built, built_with_ids, data, index};
use hamdex::internals::{Tuning, Way};
use hamdex::{
    BatchOptions, BuildError, BuildOptions, Builder, Design, Phase, Progress, ReadError, ReadErrorKind,
    Strategy, VerifyOptions,
};

/// A callback that records the reports, and stops the work at the report with this number.
fn stopping(seen: &Reports, at: usize) -> impl Fn(Progress) -> ControlFlow<()> + Send + Sync + use<> {
    let (keep, count) = (seen.keep(), AtomicUsize::new(0));
    move |progress| {
        let _ = keep(progress);
        if count.fetch_add(1, Relaxed) >= at { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

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
        .progress(stopping(seen, at));
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
        index.verify_with(&VerifyOptions::new().threads(1).progress(stopping(seen, at)))
    });
}

#[test]
fn a_batch_stops() {
    let stored = data::<u64>(Shape::Mixed, 30_000, 5);
    let index = index::<u64>(built(&stored, BuildOptions::new().block_bytes(512)));
    let queries = &stored[..10_000];
    for strategy in [Strategy::Probe, Strategy::Scan] {
        stops_everywhere(|seen, at| {
            let options = BatchOptions::new().strategy(strategy).threads(1).progress(stopping(seen, at));
            index.batch_with(queries, 3, &options, |_, _| Ok::<_, ReadError>(()))
        });
    }
    // A few are answered one by one.
    stops_everywhere(|seen, at| {
        let options = BatchOptions::new().threads(1).progress(stopping(seen, at));
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
            let options = BatchOptions::new().strategy(strategy).threads(1).progress(stopping(seen, at));
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
            index.pairs(2).tuning(tuning).threads(1).progress(stopping(seen, at)).count_by_distance()
        });
    }
}

/// If all fingerprints agree in all leads, all of the work is in one task.
#[test]
fn a_self_join_of_one_long_run_stops() {
    let stored: Vec<u64> = (0..1 << 16).map(|i| 0x0123_4567_0000_0000 | i).collect();
    let index = index::<u64>(built(&stored, BuildOptions::new()));
    stops_everywhere(|seen, at| index.pairs(2).threads(1).progress(stopping(seen, at)).count_by_distance());
}

/// The threads that did not stop the work themselves end with it, and nothing waits for ever.
#[test]
fn work_of_many_threads_stops() {
    let stored = data::<u64>(Shape::Mixed, 100_000, 7);
    let index = index::<u64>(built(&stored, BuildOptions::new().block_bytes(512)));
    let is_stopped = |error: ReadError| matches!(error.kind(), ReadErrorKind::Stopped);
    for at in [0, 1, 3] {
        let stop = || stopping(&Reports::default(), at);
        let verified = index.verify_with(&VerifyOptions::new().threads(4).progress(stop()));
        assert!(is_stopped(verified.unwrap_err()));
        let pairs = index.pairs(3).threads(4).progress(stop()).count_by_distance();
        assert!(is_stopped(pairs.unwrap_err()));
        for strategy in [Strategy::Probe, Strategy::Scan] {
            let options = BatchOptions::new().strategy(strategy).threads(4).progress(stop());
            let batch = index.batch_with(&stored, 3, &options, |_, _| Ok::<_, ReadError>(()));
            assert!(is_stopped(batch.unwrap_err()));
        }
    }
}
