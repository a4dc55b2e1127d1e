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
//! A line per minute says what was done. The exit code is 1 at the first difference.

#[path = "soak/load.rs"]
mod load;

use std::collections::BTreeSet;
use std::error::Error;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use hamdex::VerifyOptions;
use hamdex_store::{CreateOptions, Store, StoreOptions};
use load::{Chance, Step, apply, fingerprint, step};

type Outcome<T> = Result<T, Box<dyn Error>>;

/// More files than this are never there at once: segments and their removals, a few logs, manifest, lock.
const MAX_FILES: usize = 60;

/// Beyond this the child has more memory than its set accounts for, in MiB.
const MAX_MEMORY: u64 = 400;

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

/// The one who writes: steps from a number on, each said to be done by a line, until it is killed or has done so many.
fn child(arguments: &[String]) -> Outcome<()> {
    let [directory, seed, first, count] = arguments else { return Err("child DIR SEED FIRST COUNT".into()) };
    let (seed, first, count): (u64, u64, u64) = (seed.parse()?, first.parse()?, count.parse()?);
    let store = Store::<u64>::open(directory, options())?;
    for number in first..first + count {
        match step(seed, number) {
            Step::Write(operations) => drop(store.write(operations)?),
            Step::UnlessNear(pairs, distance) => drop(store.insert_all_unless_near(&pairs, distance)?),
            Step::Forget(fingerprints) => drop(store.remove_fingerprints(fingerprints)?),
            Step::Flush => store.flush()?,
            Step::Compact => store.compact()?,
        }
        println!("{number} {}", resident_mib());
    }
    Ok(())
}

/// Memory of this process that is its own, in MiB; 0 where the system does not say.
fn resident_mib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:"));
    line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<u64>().ok()).unwrap_or(0) >> 10
}

struct Soak {
    directory: PathBuf,
    /// Removes the directory at the end, if it was not named.
    _temporary: Option<tempfile::TempDir>,
    seed: u64,
    end: Instant,
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
        let most = if self.chance.below(3) == 0 { 40 } else { 4000 };
        let count = 1 + self.chance.below(most);
        let mut child = Command::new(std::env::current_exe()?)
            .arg("child")
            .arg(&self.directory)
            .args([self.seed, self.next, count].map(|number| number.to_string()))
            .stdout(Stdio::piped())
            .spawn()?;
        let patience = Duration::from_millis(20 + self.chance.below(4000));
        let was_killed = !ends_within(&mut child, patience)?;
        // What it has said stays in the pipe.
        let mut done = 0;
        for line in BufReader::new(child.stdout.take().ok_or("no pipe")?).lines() {
            let line = line?;
            let (number, memory) = line.split_once(' ').ok_or("half a line")?;
            if number.parse::<u64>()? != self.next + done {
                return Err(format!("step {number} after step {}", self.next + done).into());
            }
            done += 1;
            self.most_memory = self.most_memory.max(memory.parse()?);
        }
        self.compare(done, was_killed)
    }

    /// Compares the store with the set after so many more steps, or one more if the child was killed.
    fn compare(&mut self, done: u64, was_killed: bool) -> Outcome<()> {
        for _ in 0..done {
            apply(&mut self.model, step(self.seed, self.next));
            self.next += 1;
        }
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
        if files > MAX_FILES {
            return Err(format!("{files} files after step {}", self.next).into());
        }
        if self.most_memory > MAX_MEMORY {
            return Err(format!("{} MiB of memory before step {}", self.most_memory, self.next).into());
        }
        Ok(())
    }
}

/// Whether a process ends by itself, and well; after that time it is killed.
fn ends_within(child: &mut Child, patience: Duration) -> Outcome<bool> {
    let start = Instant::now();
    loop {
        if let Some(status) = child.try_wait()? {
            return if status.success() { Ok(true) } else { Err(format!("the child: {status}").into()) };
        }
        if start.elapsed() > patience {
            child.kill()?;
            child.wait()?;
            return Ok(false);
        }
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Files of a directory and all below it, and their bytes.
fn size(directory: &Path) -> Outcome<(usize, u64)> {
    let (mut files, mut bytes) = (0, 0);
    for entry in std::fs::read_dir(directory)? {
        let entry = entry?;
        let kind = entry.metadata()?;
        let (more, more_bytes) = if kind.is_dir() { size(&entry.path())? } else { (1, kind.len()) };
        files += more;
        bytes += more_bytes;
    }
    Ok((files, bytes))
}
