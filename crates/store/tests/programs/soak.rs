//! A long run of a store under mixed load, killed again and again, and compared with a plain set each time.
//!
//! ```text
//! soak [--minutes N] [--seed N] [--directory DIR]
//! ```
//!
//! A child process writes: inserts, removals, pairs that are only inserted unless something is near, flushes and
//! compactions, over a bounded set of fingerprints that lie in crowds. What a step does depends on its number alone,
//! and the child says when it is done. This process kills it, or lets it end, opens the store, and compares all of it
//! with the set that the steps leave: after the last step that was acknowledged, or after the one behind it. It
//! queries the store and verifies it, and fails if files, disk or memory grow beyond what the set accounts for.
//!
//! Most children live for seconds. One in [`LIVES_PER_LONG`] lives for minutes, while memory and files are looked at
//! again and again: its second half must not need more than its first.
//!
//! A line per minute says what was done, and one per long life what it needed. The exit code is 1 at the first
//! difference.

#[path = "soak/load.rs"]
mod load;

use std::collections::BTreeSet;
use std::error::Error;
use std::io::{BufRead, BufReader, ErrorKind};
use std::path::{Path, PathBuf};
use std::process::{ChildStdout, Command, ExitCode, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use hamdex::VerifyOptions;
use hamdex_store::{CreateOptions, Store, StoreOptions, When};
use load::{Chance, Step, apply, fingerprint, step};

type Outcome<T> = Result<T, Box<dyn Error>>;

/// Maximum number of files: segments and their removals, a few logs, manifest, lock.
const MAX_FILES: usize = 60;

/// Memory that the set accounts for, in MiB; a child with more fails.
const MAX_MEMORY: u64 = 400;

/// Of so many children one lives for long: for [`LONG`], or a sixth of the run if that is less.
const LIVES_PER_LONG: u64 = 25;
const LONG: Duration = Duration::from_secs(600);

/// The second half of a long life may need half as much again as the first, and so much more: what is merged at a
/// moment, and what is in memory then, is by chance.
const MORE_FILES: u64 = 8;
const MORE_MEMORY: u64 = 8;

/// Steps between two looks at the files.
const STEPS_PER_LOOK: u64 = 32;

/// Memory for recent pairs: little, so that files are written and merged all the time.
const RECENT_BYTES: u64 = 1 << 20;

/// The set as plainly as can be.
type Model = BTreeSet<(u64, u64)>;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let outcome = match arguments.first().map(String::as_str) {
        Some("child") => child(&arguments[1..]),
        _ => Soak::from_arguments(&arguments).and_then(Soak::run),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("soak: {error}");
            ExitCode::FAILURE
        }
    }
}

fn options() -> StoreOptions {
    StoreOptions::new().memory(RECENT_BYTES).threads(2)
}

/// The writing child: takes steps from a number on and prints a line for each, until it is killed or has done them all.
fn child(arguments: &[String]) -> Outcome<()> {
    let [directory, seed, first, count] = arguments else { return Err("child DIR SEED FIRST COUNT".into()) };
    let (seed, first, count): (u64, u64, u64) = (seed.parse()?, first.parse()?, count.parse()?);
    let store = Store::<u64>::open(directory, options())?;
    let mut files = 0;
    for number in first..first + count {
        match step(seed, number) {
            Step::Write(operations) => drop(store.write(operations)?),
            Step::UnlessNear(pairs, distance) => {
                drop(store.put(&pairs, When::unless_near(distance))?);
            }
            Step::Forget(fingerprints) => drop(store.remove_fingerprints(fingerprints)?),
            Step::Flush => store.flush()?,
            Step::Compact => store.compact()?,
        }
        if number % STEPS_PER_LOOK == 0 {
            files = size(Path::new(directory))?.0;
        }
        println!("{number} {} {files}", resident_mib());
    }
    Ok(())
}

/// Memory of this process that is its own, in MiB; 0 where the system does not say.
fn resident_mib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:"));
    line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<u64>().ok()).unwrap_or(0) >> 10
}

/// The resources of the child, step by step: memory in MiB, and files.
#[derive(Default)]
struct Needs {
    memory: Vec<u64>,
    files: Vec<u64>,
}

impl Needs {
    /// Prints the resources of a long life, and fails if its second half needed more than its first.
    fn are_flat(&self) -> Outcome<()> {
        let halves = |needs: &[u64]| {
            let (first, second) = needs.split_at(needs.len() / 2);
            [first, second].map(|half| half.iter().max().copied().unwrap_or(0))
        };
        let ([memory, more_memory], [files, more_files]) = (halves(&self.memory), halves(&self.files));
        let steps = self.memory.len();
        println!(
            "soak: a life of {steps} steps: at most {memory} MiB and {files} files in its first half, {more_memory} and {more_files} in its second"
        );
        let is_flat = |first: u64, second: u64, more: u64| second <= first + first / 2 + more;
        if is_flat(memory, more_memory, MORE_MEMORY) && is_flat(files, more_files, MORE_FILES) {
            return Ok(());
        }
        Err("it needs more and more".into())
    }
}

struct Soak {
    directory: PathBuf,
    /// Removes the directory at the end, if it was not named.
    _temporary: Option<tempfile::TempDir>,
    seed: u64,
    end: Instant,
    /// How long a long life is.
    long: Duration,
    chance: Chance,
    model: Model,
    /// The number of the next step.
    next: u64,
    kills: u64,
    ends: u64,
    queries: u64,
    most_files: usize,
    most_memory: u64,
    most_bytes: u64,
}

impl Soak {
    fn from_arguments(arguments: &[String]) -> Outcome<Self> {
        let (mut minutes, mut seed, mut directory) = (1.0, 1, None);
        for option in arguments.chunks(2) {
            match option {
                [name, value] if name == "--minutes" => minutes = value.parse()?,
                [name, value] if name == "--seed" => seed = value.parse()?,
                [name, value] if name == "--directory" => directory = Some(PathBuf::from(value)),
                _ => return Err("soak [--minutes N] [--seed N] [--directory DIR]".into()),
            }
        }
        let temporary = if directory.is_none() { Some(tempfile::tempdir()?) } else { None };
        let parent = directory.or_else(|| temporary.as_ref().map(|made| made.path().to_owned()));
        Ok(Self {
            directory: parent.ok_or("no directory")?.join("soak.store"),
            _temporary: temporary,
            seed,
            end: Instant::now() + Duration::from_secs_f64(minutes * 60.0),
            long: LONG.min(Duration::from_secs_f64(minutes * 10.0)),
            chance: Chance(seed),
            model: Model::new(),
            next: 0,
            kills: 0,
            ends: 0,
            queries: 0,
            most_files: 0,
            most_memory: 0,
            most_bytes: 0,
        })
    }

    fn run(mut self) -> Outcome<()> {
        drop(Store::<u64>::create(&self.directory, &CreateOptions::new(), options())?);
        let mut said = Instant::now();
        while Instant::now() < self.end {
            self.round()?;
            if said.elapsed() > Duration::from_secs(60) {
                self.say();
                said = Instant::now();
            }
        }
        self.say();
        println!("soak: no difference");
        Ok(())
    }

    fn say(&self) {
        println!(
            "soak: {} steps, {} kills, {} clean ends, {} queries; {} pairs; at most {} files, {} MiB on disk, {} MiB of memory",
            self.next,
            self.kills,
            self.ends,
            self.queries,
            self.model.len(),
            self.most_files,
            self.most_bytes >> 20,
            self.most_memory
        );
    }

    /// A life of the child, and what it has left.
    fn round(&mut self) -> Outcome<()> {
        let is_long = (self.kills + self.ends) % LIVES_PER_LONG == LIVES_PER_LONG - 1;
        let most = if self.chance.below(3) == 0 { 40 } else { 4000 };
        let count = if is_long { u64::MAX >> 1 } else { 1 + self.chance.below(most) };
        let left = self.end.saturating_duration_since(Instant::now());
        let patience =
            if is_long { self.long.min(left) } else { Duration::from_millis(20 + self.chance.below(4000)) };
        let mut child = Command::new(std::env::current_exe()?)
            .arg("child")
            .arg(&self.directory)
            .args([self.seed, self.next, count].map(|number| number.to_string()))
            .stdout(Stdio::piped())
            .spawn()?;
        let end = Instant::now() + patience;
        let lines = lines_of(child.stdout.take().ok_or("no pipe")?);
        let mut needs = Needs::default();
        let ended = loop {
            match lines.recv_timeout(end.saturating_duration_since(Instant::now())) {
                Ok(line) => self.follow(&line, &mut needs)?,
                Err(RecvTimeoutError::Disconnected) => break true,
                Err(RecvTimeoutError::Timeout) => break false,
            }
            // It may say more than is followed in time.
            if Instant::now() >= end {
                break false;
            }
        };
        if ended {
            let status = child.wait()?;
            if !status.success() {
                return Err(format!("the child: {status}").into());
            }
        } else {
            child.kill()?;
            child.wait()?;
            // The lines that it had printed before.
            lines.iter().try_for_each(|line| self.follow(&line, &mut needs))?;
        }
        self.compare(!ended)?;
        if is_long { needs.are_flat() } else { Ok(()) }
    }

    /// Applies the steps that the child reports.
    fn follow(&mut self, line: &str, needs: &mut Needs) -> Outcome<()> {
        let said: Vec<u64> = line.split(' ').map(str::parse).collect::<Result<_, _>>()?;
        let &[number, memory, files] = said.as_slice() else { return Err("half a line".into()) };
        if number != self.next {
            return Err(format!("step {number} after step {}", self.next).into());
        }
        apply(&mut self.model, step(self.seed, self.next));
        self.next += 1;
        needs.memory.push(memory);
        needs.files.push(files);
        self.most_memory = self.most_memory.max(memory);
        self.most_files = self.most_files.max(files as usize);
        Ok(())
    }

    /// Compares the store with the set, or with the set after one more step if the child was killed.
    fn compare(&mut self, was_killed: bool) -> Outcome<()> {
        let store = Store::<u64>::open(&self.directory, options())?;
        let snapshot = store.snapshot();
        let found: Model = snapshot.pairs_in_order().collect::<Result<_, _>>()?;
        if was_killed {
            self.kills += 1;
            if found != self.model {
                apply(&mut self.model, step(self.seed, self.next));
                self.next += 1;
            }
        } else {
            self.ends += 1;
        }
        if found != self.model {
            let lost = self.model.difference(&found).count();
            let more = found.difference(&self.model).count();
            return Err(format!("after step {}: {lost} pairs are lost, {more} too many", self.next).into());
        }
        let mut searcher = snapshot.searcher();
        for _ in 0..20 {
            let query = fingerprint(self.seed, &mut self.chance) ^ 1 << self.chance.below(64);
            for distance in [0, 3, 5] {
                let mut expected: Vec<(u32, u64)> = self
                    .model
                    .iter()
                    .map(|pair| ((pair.0 ^ query).count_ones(), pair.0))
                    .filter(|near| near.0 <= distance)
                    .collect();
                expected.sort_unstable();
                expected.dedup();
                let near =
                    searcher.within(query, distance)?.iter().map(|near| (near.distance, near.fingerprint));
                if !near.eq(expected) {
                    return Err(format!("{query:016x} within {distance}, after step {}", self.next).into());
                }
                self.queries += 1;
            }
        }
        store.verify(&VerifyOptions::new())?;
        drop((searcher, snapshot, store));
        self.measure()
    }

    fn measure(&mut self) -> Outcome<()> {
        let (files, bytes) = size(&self.directory)?;
        self.most_files = self.most_files.max(files);
        self.most_bytes = self.most_bytes.max(bytes);
        if self.most_files > MAX_FILES {
            return Err(format!("{} files before step {}", self.most_files, self.next).into());
        }
        if self.most_memory > MAX_MEMORY {
            return Err(format!("{} MiB of memory before step {}", self.most_memory, self.next).into());
        }
        Ok(())
    }
}

/// The lines of a process as they come, until it ends. It never has to wait for the reader.
fn lines_of(output: ChildStdout) -> Receiver<String> {
    let (lines, received) = channel();
    std::thread::spawn(move || {
        // The last line may be half of one, if the process was killed: it is not there then.
        let mut output = BufReader::new(output);
        let mut line = String::new();
        while output.read_line(&mut line).is_ok() && line.ends_with('\n') {
            if lines.send(line.trim_end().to_owned()).is_err() {
                return;
            }
            line.clear();
        }
    });
    received
}

/// Files of a directory and all below it, and their bytes; files that go meanwhile may be missing.
fn size(directory: &Path) -> Outcome<(usize, u64)> {
    let (mut files, mut bytes) = (0, 0);
    for entry in std::fs::read_dir(directory)? {
        let entry = entry?;
        let kind = match entry.metadata() {
            Err(error) if error.kind() == ErrorKind::NotFound => continue,
            kind => kind?,
        };
        let (more, more_bytes) = if kind.is_dir() { size(&entry.path())? } else { (1, kind.len()) };
        files += more;
        bytes += more_bytes;
    }
    Ok((files, bytes))
}
