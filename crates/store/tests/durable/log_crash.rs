//! Crashes after every operation, and failures of every operation, of logs against a model: durable batches survive,
//! every batch is atomic, and none survives without the ones before it.

use hamdex_simulated_disk::{Failure, SimulatedDisk, Survival};
use hamdex_store::disk::Disk;
use hamdex_store::internals::log::{LogWriter, PendingSync};
use hamdex_store::{Error, Operation};
use proptest::collection::vec;
use proptest::prelude::*;

use crate::common::{Batch, IDENTITY, batch, disk, replayed, survivals};

/// A step of a history.
#[derive(Debug, Clone, Copy)]
enum Step {
    /// A batch with this number of operations.
    Push(usize),
    Write,
    Sync,
    Rotate,
    /// A sync that is concurrent with writes.
    Begin,
    End,
    /// The process ends, and another one opens the store.
    Reopen,
}

/// The known facts of a history.
#[derive(Debug, Default)]
struct Model {
    /// All batches, including failed ones.
    attempted: Vec<Batch<u64>>,
    /// The batches that were written without failure, in order.
    written: Vec<Batch<u64>>,
    /// The number of written batches that are acknowledged as durable.
    durable: usize,
    /// Whether the first log was created.
    is_created: bool,
    /// Whether an operation failed and the history went on.
    went_on: bool,
}

impl Model {
    /// Whether a store may have these batches after a crash.
    fn allows(&self, found: &[Batch<u64>]) -> Result<(), String> {
        if let Some(stranger) = found.iter().find(|batch| !self.attempted.contains(batch)) {
            return Err(format!("batch {} was never written so", stranger.0));
        }
        if !self.went_on && !self.attempted.starts_with(found) {
            return Err(format!("batches are lacking in the middle: {:?}", sequences(found)));
        }
        let kept: Vec<_> = found.iter().filter(|batch| self.written.contains(batch)).cloned().collect();
        if !self.written.starts_with(&kept) {
            return Err(format!("batches are lacking in the middle: {:?}", sequences(found)));
        }
        match kept.len() >= self.durable {
            true => Ok(()),
            false => Err(format!("{} of {} durable batches", kept.len(), self.durable)),
        }
    }
}

fn sequences(batches: &[Batch<u64>]) -> Vec<u64> {
    batches.iter().map(|batch| batch.0).collect()
}

/// A store that is written to until a failure ends it.
struct Run {
    disk: SimulatedDisk,
    log: LogWriter<u64>,
    model: Model,
    pushed: Vec<Batch<u64>>,
    /// A running sync, and the number of batches that it covers.
    pending: Option<(PendingSync, usize)>,
    next: u64,
}

/// Takes all possible steps, even after failures.
fn run(disk: &SimulatedDisk, steps: &[Step]) -> Model {
    let Ok(log) = LogWriter::create(disk, IDENTITY, 1, 0) else {
        return Model::default();
    };
    let model = Model { is_created: true, ..Model::default() };
    let mut run = Run { disk: disk.clone(), log, model, pushed: Vec::new(), pending: None, next: 1 };
    for step in steps {
        let outcome = run.step(*step);
        run.model.went_on |= outcome.is_err() && !disk.has_lost_power();
        if outcome.is_err() && (run.log.is_poisoned() || matches!(step, Step::Reopen)) {
            // As the error says: reopen the store.
            if run.reopen().is_err() {
                break;
            }
        }
    }
    run.model
}

impl Run {
    fn step(&mut self, step: Step) -> Result<(), Error> {
        match step {
            Step::Push(operations) => {
                let (sequence, operations) = batch(self.next, operations);
                self.log.push(sequence, &operations);
                self.pushed.push((sequence, operations));
                self.next += 1;
                Ok(())
            }
            Step::Write => {
                let outcome = self.log.write();
                self.note(outcome, false)
            }
            Step::Sync => {
                let outcome = self.log.sync();
                self.note(outcome, true)
            }
            Step::Rotate => {
                let outcome = self.log.rotate();
                self.note(outcome, true)
            }
            Step::Begin => {
                let pending = self.log.begin_sync();
                let (pending, outcome) = match pending {
                    Ok(pending) => (Some(pending), Ok(())),
                    Err(error) => (None, Err(error)),
                };
                self.note(outcome, false)?;
                self.pending = pending.map(|pending| (pending, self.model.written.len()));
                Ok(())
            }
            Step::End => {
                let Some((pending, covered)) = self.pending.take() else {
                    return Ok(());
                };
                self.log.end_sync(pending.run())?;
                self.model.durable = self.model.durable.max(covered);
                Ok(())
            }
            Step::Reopen => self.reopen(),
        }
    }

    /// Records the outcome of the pushed batches.
    fn note(&mut self, outcome: Result<(), Error>, makes_durable: bool) -> Result<(), Error> {
        let pushed = std::mem::take(&mut self.pushed);
        self.model.attempted.extend(pushed.iter().cloned());
        // The log shows whether a failure came before the write or after it.
        if outcome.is_ok() || self.is_in_log(&pushed) {
            self.model.written.extend(pushed);
        }
        outcome?;
        if makes_durable {
            self.model.durable = self.model.written.len();
        }
        Ok(())
    }

    fn is_in_log(&self, pushed: &[Batch<u64>]) -> bool {
        let found = replayed::<u64>(&self.disk, &IDENTITY, None).map(|(found, _)| found).unwrap_or_default();
        pushed.iter().all(|batch| found.contains(batch))
    }

    fn reopen(&mut self) -> Result<(), Error> {
        // Batches that were never written are lost with the process.
        self.pushed.clear();
        self.pending = None;
        let (found, state) = replayed(&self.disk, &IDENTITY, None)?;
        if let Err(what) = self.model.allows(&found) {
            panic!("{what}");
        }
        self.log = LogWriter::resume(&self.disk, IDENTITY, &state)?;
        self.next = self.next.max(state.end.sequence + 1);
        self.model.written = found;
        self.model.durable = self.model.written.len();
        Ok(())
    }
}

/// Opens a store after a crash, and continues it.
fn check(disk: &SimulatedDisk, model: &Model) -> Result<(), String> {
    let (found, state) = match replayed::<u64>(disk, &IDENTITY, None) {
        Ok(outcome) => outcome,
        // The first log is part of the creation of a store, which ends when the manifest names it.
        Err(_) if !model.is_created => return Ok(()),
        Err(error) => return Err(error.to_string()),
    };
    model.allows(&found)?;
    let mut log = LogWriter::resume(disk, IDENTITY, &state).map_err(|error| error.to_string())?;
    // Replayed batches are durable once the store is open.
    for survival in survivals(2) {
        let again =
            replayed::<u64>(&disk.crashed(survival), &IDENTITY, None).map_err(|error| error.to_string())?;
        if again.0 != found {
            return Err(format!("{:?} after {:?}", sequences(&again.0), sequences(&found)));
        }
    }
    let more = batch(1_000_000, 3);
    log.push(more.0, &more.1);
    log.rotate().map_err(|error| error.to_string())?;
    let expected: Vec<_> = found.into_iter().chain([more]).collect();
    match replayed::<u64>(&disk.crashed(Survival::Nothing), &IDENTITY, None) {
        Ok((found, _)) if found == expected => Ok(()),
        outcome => Err(format!("after going on: {:?}", outcome.map(|(found, _)| sequences(&found)))),
    }
}

/// Crashes after every change of the disk.
fn crash_everywhere(steps: &[Step], any: u64) {
    let whole = disk();
    let before = whole.changes();
    run(&whole, steps);
    for changes in before..=whole.changes() {
        let disk = disk();
        disk.lose_power_after(changes);
        let model = run(&disk, steps);
        for survival in survivals(any) {
            if let Err(what) = check(&disk.crashed(survival), &model) {
                panic!("{what}\nafter {changes} changes, {survival:?}, {steps:?}\n{:#?}", disk.trace());
            }
        }
    }
}

/// Fails every operation, or every few in a row, continues, and then crashes.
fn fail_everywhere(steps: &[Step], any: u64) {
    let whole = disk();
    let before = whole.operations();
    run(&whole, steps);
    for first in before + 1..=whole.operations() {
        for (length, failure) in [(1, Failure::Io), (1, Failure::Full), (2, Failure::Io), (4, Failure::Full)]
        {
            let disk = disk();
            disk.fail_operations(first..first + length, failure);
            let model = run(&disk, steps);
            for survival in survivals(any) {
                if let Err(what) = check(&disk.crashed(survival), &model) {
                    let trace = disk.trace();
                    panic!(
                        "{what}\n{length} from {first} on: {failure:?}, {survival:?}, {steps:?}\n{trace:#?}"
                    );
                }
            }
        }
    }
}

const SCRIPTS: &[&[Step]] = {
    use Step::{Begin, End, Push, Reopen, Rotate, Sync, Write};
    &[
        &[Push(1), Sync, Push(60), Sync, Push(2), Sync],
        &[Push(1), Push(40), Push(3), Sync, Push(70), Write, Push(5), Write],
        &[Push(3), Write, Push(50), Rotate, Push(2), Sync, Rotate, Rotate, Push(4), Write],
        &[
            Push(30),
            Write,
            Reopen,
            Push(30),
            Sync,
            Reopen,
            Push(1),
            Write,
            Rotate,
            Push(1),
            Reopen,
            Push(2),
            Sync,
        ],
        &[Push(9), Begin, Push(50), Write, End, Push(1), Begin, Rotate, Push(40), Write, End, Push(2), Sync],
    ]
};

#[test]
fn after_a_crash_at_any_operation_what_is_durable_is_there() {
    for script in SCRIPTS {
        crash_everywhere(script, 30);
    }
}

#[test]
fn after_a_failure_of_any_operation_what_is_durable_is_there() {
    for script in SCRIPTS {
        fail_everywhere(script, 6);
    }
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        6 => (0..60_usize).prop_map(Step::Push),
        3 => Just(Step::Write),
        3 => Just(Step::Sync),
        2 => Just(Step::Rotate),
        1 => Just(Step::Begin),
        1 => Just(Step::End),
        1 => Just(Step::Reopen),
    ];
    vec(step, 1..14)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn whatever_is_done_to_a_log(steps in steps()) {
        crash_everywhere(&steps, 6);
        fail_everywhere(&steps, 2);
    }
}

/// A sync fails, the process ends, and another one answers from the bytes that the system still shows. Then power is
/// lost.
#[test]
fn what_is_read_after_a_failed_sync_is_written_and_synced_again() {
    let disk = disk();
    let mut log = LogWriter::create(&disk, IDENTITY, 1, 0).unwrap();
    let (first, second) = (batch(1, 20), batch(2, 20));
    log.push(first.0, &first.1);
    log.sync().unwrap();
    log.push(second.0, &second.1);
    disk.fail_operation(disk.operations() + 2, Failure::Io);
    log.sync().unwrap_err();
    assert!(matches!(log.write(), Err(Error::Poisoned { .. })), "nothing more is acknowledged");
    assert!(matches!(log.sync(), Err(Error::Poisoned { .. })));
    drop(log);
    let (found, state) = replayed::<u64>(&disk, &IDENTITY, None).unwrap();
    assert_eq!(found, [first.clone(), second.clone()]);
    let lost = replayed::<u64>(&disk.crashed(Survival::Nothing), &IDENTITY, None).unwrap().0;
    assert_eq!(lost, [first], "the disk does not have it");
    LogWriter::<u64>::resume(&disk, IDENTITY, &state).unwrap();
    let kept = replayed::<u64>(&disk.crashed(Survival::Nothing), &IDENTITY, None).unwrap().0;
    assert_eq!(kept, found);
}

#[test]
fn a_full_disk_refuses_a_batch_and_takes_the_next_when_there_is_room() {
    let disk = disk();
    let mut log = LogWriter::create(&disk, IDENTITY, 1, 0).unwrap();
    let one = |sequence: u64| [Operation::Insert(sequence, sequence)];
    log.push(1, &one(1));
    log.sync().unwrap();
    disk.set_full(true);
    log.push(2, &one(2));
    assert!(matches!(log.sync(), Err(Error::Io { .. })));
    assert!(matches!(log.rotate(), Err(Error::Io { .. })));
    assert!(!log.is_poisoned());
    disk.set_full(false);
    // The number was not used.
    log.push(2, &one(7));
    log.rotate().unwrap();
    let (found, _) = replayed(&disk.crashed(Survival::Nothing), &IDENTITY, None).unwrap();
    assert_eq!(found, [(1, one(1).to_vec()), (2, one(7).to_vec())]);
}

#[test]
fn a_log_whose_creation_was_interrupted_is_none() {
    let disk = disk();
    let mut log = LogWriter::create(&disk, IDENTITY, 1, 0).unwrap();
    log.push(1, &batch(1, 3).1);
    log.sync().unwrap();
    for contents in [&b""[..], &[0; 64], b"\x89HDXL\r\n\x1a", &[7; 30]] {
        let disk = disk.crashed(Survival::Nothing);
        std::io::Write::write_all(&mut disk.create_new("log/000002").unwrap(), contents).unwrap();
        let (found, state) = replayed::<u64>(&disk, &IDENTITY, None).unwrap();
        assert_eq!((found, state.unfinished_log), (vec![batch(1, 3)], Some(2)));
        LogWriter::<u64>::resume(&disk, IDENTITY, &state).unwrap().rotate().unwrap();
        assert_eq!(replayed::<u64>(&disk, &IDENTITY, None).unwrap().1.end.log, 2);
    }
    // With more than a header in it, it had records, so its header was durable once.
    std::io::Write::write_all(&mut disk.create_new("log/000002").unwrap(), &[0; 65]).unwrap();
    assert!(matches!(replayed::<u64>(&disk, &IDENTITY, None), Err(Error::Damaged { .. })));
}
