//! The file system: the assumptions of the simulated disk, and concurrent processes.

use std::io::{self, BufRead, BufReader, Write};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};

use hamdex_simulated_disk::SimulatedDisk;
use hamdex_store::Error;
use hamdex_store::disk::{Disk, DiskFile, RealDisk};
use hamdex_store::inspect::Identity;
use hamdex_store::internals::StoreLock;
use hamdex_store::internals::log::{LogWriter, Position, replay};
use proptest::collection::vec;
use proptest::prelude::*;

use crate::common::{IDENTITY, batch};

const NAMES: [&str; 4] = ["one", "two", "sub/one", "sub/two"];

#[derive(Debug, Clone)]
enum Step {
    CreateDirectory,
    Create(usize, Vec<u8>),
    Append(usize, Vec<u8>),
    Truncate(usize, u8),
    Rename(usize, usize),
    Link(usize, usize),
    Remove(usize),
    Read(usize, u8),
    List,
    Lock,
}

/// Takes a step. Returns its outcome as text, or the kind of its error.
fn take(disk: &dyn Disk, step: &Step) -> Result<String, io::ErrorKind> {
    let shown = |outcome: io::Result<String>| outcome.map_err(|error| error.kind());
    let write = |file: io::Result<Box<dyn DiskFile>>, bytes: &[u8]| {
        let mut file = file?;
        file.write_all(bytes)?;
        file.sync()?;
        Ok(String::new())
    };
    shown(match step {
        Step::CreateDirectory => disk.create_directory("sub").map(|()| String::new()),
        Step::Create(name, bytes) => write(disk.create_new(NAMES[*name]), bytes),
        Step::Append(name, bytes) => write(disk.append(NAMES[*name]), bytes),
        Step::Truncate(name, length) => disk.append(NAMES[*name]).and_then(|mut file| {
            let length = disk.length(NAMES[*name])?.min((*length).into());
            file.truncate(length)?;
            write(Ok(file), b"behind the cut")
        }),
        // Within a directory, as stores do it.
        Step::Rename(from, to) => {
            disk.rename(NAMES[*from], NAMES[from / 2 * 2 + to % 2]).map(|()| String::new())
        }
        Step::Link(from, to) => disk.link(NAMES[*from], disk, NAMES[*to]).map(|()| String::new()),
        Step::Remove(name) => disk.remove(NAMES[*name]).map(|()| String::new()),
        Step::Read(name, offset) => (|| {
            let name = NAMES[*name];
            let mapped = disk.map(name)?.as_ref().to_vec();
            assert_eq!(disk.read(name)?, mapped);
            assert_eq!(disk.length(name)?, mapped.len() as u64);
            assert!(disk.exists(name)?);
            let first = &mapped[..mapped.len().min((*offset).into())];
            assert_eq!(disk.read_first(name, (*offset).into())?, first);
            disk.read_from(name, (*offset).into()).map(|bytes| format!("{bytes:?}"))
        })(),
        Step::List => (|| Ok(format!("{:?} {:?}", disk.list("")?, disk.list("sub")?)))(),
        Step::Lock => disk.lock("lock", "someone").map(|held| {
            let second = disk.lock("lock", "someone else").map(|held| held.map(drop));
            format!("{:?} {second:?}", held.map(drop))
        }),
    })
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let name = || 0..NAMES.len();
    let bytes = || vec(any::<u8>(), 0..30);
    let step = prop_oneof![
        Just(Step::CreateDirectory),
        (name(), bytes()).prop_map(|(name, bytes)| Step::Create(name, bytes)),
        (name(), bytes()).prop_map(|(name, bytes)| Step::Append(name, bytes)),
        (name(), 0..40_u8).prop_map(|(name, length)| Step::Truncate(name, length)),
        (name(), name()).prop_map(|(from, to)| Step::Rename(from, to)),
        (name(), name()).prop_map(|(from, to)| Step::Link(from, to)),
        name().prop_map(Step::Remove),
        (name(), 0..40_u8).prop_map(|(name, offset)| Step::Read(name, offset)),
        Just(Step::List),
    ];
    vec(step, 0..40)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn the_simulated_disk_does_what_the_file_system_does(steps in steps()) {
        let directory = tempfile::tempdir().unwrap();
        let (real, simulated) = (RealDisk::new(directory.path()), SimulatedDisk::new());
        for step in steps {
            prop_assert_eq!(take(&real, &step), take(&simulated, &step), "{:?}", step);
        }
    }
}

#[test]
fn a_lock_is_held_once_on_either_disk() {
    let directory = tempfile::tempdir().unwrap();
    let real = take(&RealDisk::new(directory.path()), &Step::Lock).unwrap();
    assert_eq!(real, take(&SimulatedDisk::new(), &Step::Lock).unwrap());
    assert_eq!(real, "Ok(()) Ok(Err(\"someone\"))");
}

#[test]
fn directories_are_created_and_synced_wherever_they_are() {
    let directory = tempfile::tempdir().unwrap();
    let disk = RealDisk::new(directory.path().join("store"));
    assert_eq!(disk.sync_directory("").unwrap_err().kind(), io::ErrorKind::NotFound);
    disk.create_directory("").unwrap();
    disk.create_directory("").unwrap();
    disk.create_directory("log").unwrap();
    disk.sync_directory("log").unwrap();
    disk.create_new("file").unwrap();
    assert_eq!(disk.create_directory("file").unwrap_err().kind(), io::ErrorKind::AlreadyExists);
    assert_eq!(disk.path(""), directory.path().join("store"));
    assert_eq!(disk.path("log/000001"), directory.path().join("store/log/000001"));
}

#[cfg(unix)]
#[test]
fn a_pipe_is_no_file_of_a_store() {
    let directory = tempfile::tempdir().unwrap();
    let status = Command::new("mkfifo").arg(directory.path().join("manifest")).status().unwrap();
    assert!(status.success());
    let disk = RealDisk::new(directory.path());
    assert_eq!(disk.read("manifest").unwrap_err().kind(), io::ErrorKind::InvalidInput);
    assert_eq!(disk.map("manifest").unwrap_err().kind(), io::ErrorKind::InvalidInput);
}

/// The variable that makes a process hold a store.
const HOLD: &str = "HAMDEX_TEST_HOLD";

/// The other process of the next test; not a test of its own.
#[test]
fn hold_a_store_when_another_process_wants_it() {
    let Some(directory) = std::env::var_os(HOLD) else {
        return;
    };
    let _lock = StoreLock::take(&RealDisk::new(directory)).unwrap();
    println!("\nheld");
    io::stdin().read_line(&mut String::new()).unwrap();
}

#[test]
fn a_store_that_another_process_holds_is_refused_by_name_until_that_is_killed() {
    let directory = tempfile::tempdir().unwrap();
    let disk = RealDisk::new(directory.path());
    let mut other = Command::new(std::env::current_exe().unwrap())
        .args(["real::hold_a_store_when_another_process_wants_it", "--exact", "--nocapture"])
        .env(HOLD, directory.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let output = BufReader::new(other.stdout.take().unwrap());
    assert!(output.lines().any(|line| line.unwrap() == "held"), "the other process holds it");
    let error = StoreLock::take(&disk).unwrap_err();
    assert!(matches!(error, Error::InUse { .. }), "{error}");
    assert!(error.to_string().contains(&format!("in use by process {} on ", other.id())), "{error}");
    other.kill().unwrap();
    other.wait().unwrap();
    StoreLock::take(&disk).unwrap();
}

#[cfg(unix)]
#[test]
fn a_store_that_was_let_go_is_free_at_once_also_while_processes_are_started() {
    let directory = tempfile::tempdir().unwrap();
    let disk = RealDisk::new(directory.path());
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for _ in 0..100 {
                assert!(Command::new("true").status().unwrap().success());
            }
            is_over.store(true, Ordering::Relaxed);
        });
        while !is_over.load(Ordering::Relaxed) {
            drop(StoreLock::take(&disk).unwrap());
        }
    });
}

#[test]
fn a_reader_beside_the_writer_sees_every_batch_in_order_and_no_damage() {
    const BATCHES: u64 = 3_000;
    let directory = tempfile::tempdir().unwrap();
    let disk = RealDisk::new(directory.path());
    disk.create_directory("log").unwrap();
    let identity = Identity { has_ids: false, ..IDENTITY };
    let mut log = LogWriter::<u64>::create(&disk, identity, 1, 0).unwrap();
    let is_done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for sequence in 1..=BATCHES {
                log.push(sequence, &batch(sequence, sequence as usize % 50).1);
                match sequence % 1_000 {
                    0 => log.rotate().unwrap(),
                    _ => log.write().unwrap(),
                }
            }
            is_done.store(true, Ordering::Release);
        });
        let mut position = Position::start_of(1, 0);
        let mut last = 0;
        loop {
            let was_done = is_done.load(Ordering::Acquire);
            let replayed = replay::<u64>(&disk, &identity, position, None, |sequence, batch| {
                assert_eq!(sequence, last + 1);
                assert_eq!(batch.operations.len() as u64, sequence % 50);
                last = sequence;
                Ok(())
            });
            position = replayed.unwrap().end;
            if was_done {
                break;
            }
        }
        assert_eq!(last, BATCHES);
    });
}
