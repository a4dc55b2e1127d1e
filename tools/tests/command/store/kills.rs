//! Processes that are killed at any time.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use crate::common::Scratch;
use crate::store::{Model, dumped, lines, pairs, with_store};

/// How many processes are killed, unless this variable says otherwise: `.ci/campaign-store` asks for hundreds.
const KILLS: &str = "HAMDEX_KILLS";
const USUAL_KILLS: u64 = 16;

/// Records that a process is given before it is killed.
const RECORDS: usize = 4000;

/// How many processes a test kills.
pub(super) fn kills() -> u64 {
    std::env::var(KILLS).map_or(USUAL_KILLS, |kills| kills.parse().unwrap())
}

pub(super) fn spawn(directory: &Path, args: &[&str], input: Stdio) -> Child {
    Command::new(assert_cmd::cargo::cargo_bin!("hamdex"))
        .args(args)
        .current_dir(directory)
        .stdin(input)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

pub(super) fn kill(mut child: Child) {
    child.kill().unwrap();
    child.wait().unwrap();
}

/// A store, what it holds, and numbers by chance.
struct Killing {
    scratch: Scratch,
    model: Model,
    chance: u64,
    acknowledged: u64,
}

impl Killing {
    fn chance(&mut self, below: u64) -> u64 {
        // Knuth's generator, TAOCP 2, 3.3.4; its high bits.
        self.chance =
            self.chance.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.chance >> 33) % below
    }

    fn pause(&mut self, below_microseconds: u64) {
        thread::sleep(Duration::from_micros(self.chance(below_microseconds)));
    }

    /// Records are inserted until the process is killed. What it has acknowledged is there, and what is there are its
    /// first batches.
    fn insert(&mut self, round: u64) {
        let batch = [1, 7, 100, 1000][self.chance(4) as usize];
        let durability = ["sync", "interval=1ms", "none"][self.chance(3) as usize];
        let ids = (round * RECORDS as u64)..;
        let new: Vec<(u128, u64)> =
            ids.zip(pairs(64, RECORDS as u64, round)).map(|(id, pair)| (pair.0, id)).collect();
        let batch_text = batch.to_string();
        let args =
            ["store", "insert", "s", "--acknowledge", "--batch", &batch_text, "--durability", durability];
        let mut child = spawn(&self.scratch.path(""), &args, Stdio::piped());
        let (mut input, output) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        let text = lines(64, new.iter().copied());
        // A process that is killed reads no more.
        let writer = thread::spawn(move || drop(input.write_all(text.as_bytes())));
        let (said, has_said) = mpsc::channel();
        let reader = thread::spawn(move || {
            let lines = BufReader::new(output).lines().map_while(Result::ok);
            let last = lines.inspect(|_| _ = said.send(())).last();
            last.and_then(|line| line.strip_prefix("acknowledged ")?.parse().ok()).unwrap_or(0usize)
        });
        // Half of them are killed only after they have acknowledged something, however slow the machine is.
        if self.chance(2) == 0 {
            has_said.recv().unwrap();
        }
        self.pause(60_000);
        kill(child);
        writer.join().unwrap();
        let acknowledged = reader.join().unwrap();
        self.acknowledged += acknowledged as u64;
        // Read without being put in order, and then by the next writer.
        let held = dumped(&self.scratch, "s").lines().count() - self.model.len();
        assert!(held >= acknowledged, "{held} of {acknowledged}, round {round}");
        self.model.extend(&new[..held]);
        self.check(round);
    }

    /// Records are removed until the process is killed. Its first batches are gone, and nothing else.
    fn remove(&mut self, round: u64) {
        let every = 2 + self.chance(20) as usize;
        let gone: Vec<(u128, u64)> = self.model.iter().copied().step_by(every).collect();
        self.scratch.write("gone.txt", lines(64, gone.iter().copied()));
        let child = spawn(&self.scratch.path(""), &["store", "remove", "s", "gone.txt"], Stdio::null());
        self.pause(40_000);
        kill(child);
        let left = dumped(&self.scratch, "s").lines().count();
        for pair in &gone[..self.model.len() - left] {
            self.model.remove(pair);
        }
        self.check(round);
    }

    /// The store is brought into another form until the process is killed: it holds what it held.
    fn maintain(&mut self, round: u64) {
        let command = ["flush", "compact", "purge"][self.chance(3) as usize];
        let child = spawn(&self.scratch.path(""), &["store", command, "s"], Stdio::null());
        self.pause(40_000);
        kill(child);
        self.check(round);
    }

    fn check(&mut self, round: u64) {
        assert_eq!(dumped(&self.scratch, "s"), lines(64, self.model.iter().copied()), "round {round}");
        if self.chance(4) == 0 {
            self.scratch.output(&["verify", "s"]);
            // The next writer puts in order what was left.
            self.scratch.output(&["store", "flush", "s"]);
            assert_eq!(dumped(&self.scratch, "s"), lines(64, self.model.iter().copied()), "round {round}");
        }
    }
}

#[test]
fn a_process_that_is_killed_at_any_time_loses_nothing_that_it_acknowledged() {
    let kills = kills();
    let new_killing = |chance: u64| Killing {
        scratch: with_store(&["--design", "halves"]),
        model: Model::new(),
        chance,
        acknowledged: 0,
    };
    let mut acknowledged = 0;
    let mut killing = new_killing(1);
    for round in 0..kills {
        match killing.chance(6) {
            0..=2 => killing.insert(round),
            3 => killing.remove(round),
            _ => killing.maintain(round),
        }
        if killing.model.len() > 30_000 || round + 1 == kills {
            killing.scratch.output(&["verify", "s"]);
            acknowledged += killing.acknowledged;
            killing = new_killing(round + 2);
        }
    }
    println!("{kills} processes killed; {acknowledged} records acknowledged before, all of them found");
    assert!(acknowledged > 0, "none lived long enough to say anything");
}

#[test]
fn a_repair_that_is_killed_at_any_time_can_be_repeated() {
    let kills = kills() / 8;
    let scratch = with_store(&["--design", "halves"]);
    let all: Vec<(u128, u64)> = (0..).zip(pairs(64, 6000, 5)).map(|(id, pair)| (pair.0, id)).collect();
    scratch.write("first.txt", lines(64, all[..5000].iter().copied()));
    scratch.write("second.txt", lines(64, all[5000..].iter().copied()));
    scratch.output(&["store", "insert", "s", "first.txt"]);
    scratch.output(&["store", "flush", "s"]);
    scratch.output(&["store", "insert", "s", "--batch", "10", "second.txt"]);
    let flip = |name: &str, at: usize| {
        let path = scratch.path(name);
        let mut bytes = std::fs::read(&path).unwrap();
        bytes[at] ^= 1;
        std::fs::remove_file(&path).unwrap();
        std::fs::write(path, bytes).unwrap();
    };
    flip("s/segments/000001.hamdex", 4096 + 1024 + 20);
    let logs = std::fs::read_dir(scratch.path("s/log")).unwrap();
    let log = logs.map(|log| log.unwrap().file_name().into_string().unwrap()).max().unwrap();
    flip(&format!("s/log/{log}"), 1000);
    let mut expected = None;
    for round in 0..kills {
        // A store of its own, damaged alike.
        let name = format!("r{round}");
        let copied =
            Command::new("cp").args(["-r", "s", &name]).current_dir(scratch.path("")).status().unwrap();
        assert!(copied.success());
        let child = spawn(&scratch.path(""), &["store", "repair", &name], Stdio::null());
        thread::sleep(Duration::from_micros(round * 40_000 / kills.max(1)));
        kill(child);
        // A batch of the log is lost, which the exit code says, unless the one that was killed had ended.
        let repaired = scratch.hamdex(&["store", "repair", &name, "--json"]).output().unwrap();
        assert!(matches!(repaired.status.code(), Some(0 | 3)), "{repaired:?}");
        scratch.output(&["verify", &name]);
        let found = dumped(&scratch, &name);
        assert_eq!(*expected.get_or_insert_with(|| found.clone()), found, "round {round}");
    }
    println!("{kills} repairs killed; each repeated with the same outcome");
}
