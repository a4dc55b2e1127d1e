//! Processes that are killed while they insert texts unless one is similar, also in place of others. A program that knows
//! all texts decides about each, and counts shared shingles as plainly as can be.

use std::collections::{BTreeSet, HashMap};
use std::io::{BufRead, BufReader, Write};
use std::process::Stdio;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use hamdex::FingerprintSet;
use hamdex_simhash::Shingler;
use hamdex_store::StoreReader;
use serde_json::Value;

use crate::common::{Scratch, json_line};
use crate::store::kills::{kill, kills, spawn};
use crate::store::with_store;

/// Texts that a process is given before it is killed.
const TEXTS: usize = 400;

/// Texts of which the variants are inserted; those of different ones share no word.
const ORIGINALS: u64 = 24;

/// Names, so that a text often replaces one of another original.
const NAMES: u64 = 60;

/// Words of a shingle, and of a text.
const WORDS: usize = 5;
const LENGTH: u64 = 30;

/// The least similarity, as a number and as the command is given it.
const LEAST: f64 = 0.7;
const LEAST_TEXT: &str = "0.7";

/// A text as numbers of words.
struct Text {
    name: String,
    original: u64,
    words: Vec<u64>,
    shingles: BTreeSet<Vec<u64>>,
}

/// The number of a word in letters.
fn word(mut number: u64) -> String {
    let mut letters = String::from("w");
    while number > 0 {
        letters.push(char::from(b'a' + (number % 26) as u8));
        number /= 26;
    }
    letters
}

impl Text {
    fn new(name: String, original: u64, words: Vec<u64>) -> Self {
        let shingles = words.windows(WORDS).map(<[u64]>::to_vec).collect();
        Self { name, original, words, shingles }
    }

    fn written(&self) -> String {
        self.words.iter().map(|&number| word(number)).collect::<Vec<_>>().join(" ")
    }

    fn similarity(&self, other: &Self) -> f64 {
        if self.original != other.original {
            return 0.0;
        }
        let shared = self.shingles.intersection(&other.shingles).count();
        shared as f64 / (self.shingles.len() + other.shingles.len() - shared) as f64
    }
}

/// The outcome of a text.
#[derive(Debug, PartialEq)]
enum Outcome {
    Inserted,
    /// The names of the most similar ones, and their similarity.
    Similar(BTreeSet<String>, f64),
}

/// A store, all texts that were made, the numbers of those that it holds, and numbers by chance.
struct Killing {
    scratch: Scratch,
    texts: Vec<Text>,
    /// The numbers of texts by their shingles in the store.
    numbers: HashMap<Vec<u64>, usize>,
    held: BTreeSet<usize>,
    chance: u64,
    acknowledged: usize,
    refused: usize,
    replaced: usize,
    removed: usize,
}

impl Killing {
    fn new(chance: u64) -> Self {
        Self {
            scratch: with_store(&["--documents", "--shingles", "--lookups"]),
            texts: Vec::new(),
            numbers: HashMap::new(),
            held: BTreeSet::new(),
            chance,
            acknowledged: 0,
            refused: 0,
            replaced: 0,
            removed: 0,
        }
    }

    fn chance(&mut self, below: u64) -> u64 {
        // Knuth's generator, TAOCP 2, 3.3.4; its high bits.
        self.chance =
            self.chance.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.chance >> 33) % below
    }

    fn pause(&mut self, below_microseconds: u64) {
        thread::sleep(Duration::from_micros(self.chance(below_microseconds)));
    }

    /// Makes a variant of an original: some words differ, and the last is in no other text.
    fn new_text(&mut self, shingler: &mut Shingler) -> usize {
        let (number, original) = (self.texts.len(), self.chance(ORIGINALS));
        let mut words: Vec<u64> = (0..LENGTH).map(|place| (original + 1) * 1000 + place).collect();
        for _ in 0..self.chance(4) {
            let (place, other) = (self.chance(LENGTH) as usize, 500 + self.chance(100));
            words[place] = (original + 1) * 1000 + other;
        }
        words.push(1_000_000 + number as u64);
        let text = Text::new(format!("page {}", self.chance(NAMES)), original, words);
        let shingles = shingler.shingles(&text.written()).hashes().to_vec();
        assert_eq!(shingles.len(), text.shingles.len(), "every run of words is a shingle");
        assert_eq!(self.numbers.insert(shingles, number), None);
        self.texts.push(text);
        number
    }

    /// Decides about a text as the only writer that there is, and takes it in if it is new.
    fn decide(&mut self, number: usize, replaces: bool) -> Outcome {
        let (new, mut most, mut names) = (&self.texts[number], 0.0, BTreeSet::new());
        for other in self.held.iter().map(|&other| &self.texts[other]) {
            let similarity = new.similarity(other);
            if similarity < LEAST || similarity < most || (replaces && other.name == new.name) {
                continue;
            }
            if similarity > most {
                names.clear();
            }
            most = similarity;
            names.insert(other.name.clone());
        }
        if !names.is_empty() {
            return Outcome::Similar(names, most);
        }
        if replaces {
            let before = self.held.len();
            self.held.retain(|&other| self.texts[other].name != self.texts[number].name);
            self.replaced += before - self.held.len();
        }
        self.held.insert(number);
        Outcome::Inserted
    }

    /// Texts are inserted until the process is killed. It has decided about its first ones as the model does, at least about
    /// those that it has acknowledged or told the outcome of.
    fn insert(&mut self, round: u64) {
        let replaces = self.chance(2) == 0;
        let each = self.chance(2) == 0;
        let batch = [1, 7, 40, 400][self.chance(4) as usize].to_string();
        let durability = ["sync", "interval=1ms", "none"][self.chance(3) as usize];
        let mut shingler = Shingler::new(WORDS.try_into().unwrap());
        let new: Vec<usize> = (0..TEXTS).map(|_| self.new_text(&mut shingler)).collect();
        let input: String =
            new.iter().map(|&text| json_line(&self.texts[text].name, &self.texts[text].written())).collect();
        let mut args = vec!["store", "insert", "s", "--documents=jsonl", "--unless-similar", LEAST_TEXT];
        args.extend(["--acknowledge", "--batch", &batch, "--durability", durability]);
        args.extend(replaces.then_some("--replace").into_iter().chain(each.then_some("--each")));
        let mut child = spawn(&self.scratch.path(""), &args, Stdio::piped());
        let (mut to_child, from_child) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        // A process that is killed reads no more.
        let writer = thread::spawn(move || drop(to_child.write_all(input.as_bytes())));
        let (said, has_said) = mpsc::channel();
        let reader = thread::spawn(move || {
            let (mut reader, mut lines, mut line) = (BufReader::new(from_child), Vec::new(), String::new());
            // The last line may be cut.
            while reader.read_line(&mut line).is_ok() && line.ends_with('\n') {
                lines.push(std::mem::take(&mut line));
                _ = said.send(());
            }
            lines
        });
        // Most of them are killed only after they have said something, however slow the machine is.
        if self.chance(4) > 0 {
            has_said.recv().unwrap();
        }
        self.pause(60_000);
        kill(child);
        writer.join().unwrap();
        let lines = reader.join().unwrap();
        self.check_insertions(&new, replaces, each, &lines, round);
    }

    fn check_insertions(&mut self, new: &[usize], replaces: bool, each: bool, lines: &[String], round: u64) {
        let acknowledged = |line: &String| line.trim().strip_prefix("acknowledged ")?.parse().ok();
        let least: usize = lines.iter().filter_map(acknowledged).next_back().unwrap_or(0);
        let told: Vec<Value> = lines.iter().filter_map(|line| serde_json::from_str(line).ok()).collect();
        self.acknowledged += least;
        let found = self.stored();
        let mut told = told.iter();
        // What is stored is there after some of the texts; the rest is as if it had never been given.
        let mut state = (self.held == found && least == 0).then(|| (self.held.clone(), self.replaced));
        for (decided, &number) in new.iter().enumerate() {
            let outcome = self.decide(number, replaces);
            let is_told = each || outcome != Outcome::Inserted;
            if let Some(line) = is_told.then(|| told.next()).flatten() {
                self.check_line(line, number, &outcome, each, round);
                self.refused += usize::from(outcome != Outcome::Inserted);
                if outcome == Outcome::Inserted {
                    state = None;
                }
            }
            if decided + 1 >= least && self.held == found {
                state = Some((found.clone(), self.replaced));
            }
        }
        assert!(told.next().is_none(), "round {round}: more outcomes than texts");
        (self.held, self.replaced) = state.unwrap_or_else(|| {
            panic!("round {round}: the store holds {found:?}, which is no state after {least} texts or more")
        });
        self.check(round);
    }

    fn check_line(&self, line: &Value, number: usize, outcome: &Outcome, each: bool, round: u64) {
        let text = &self.texts[number];
        assert_eq!(line["name"], *text.name, "round {round}");
        let is_new = *outcome == Outcome::Inserted;
        assert_eq!(
            line["inserted"],
            if each { Value::Bool(is_new) } else { Value::Null },
            "round {round}: {line}"
        );
        match outcome {
            Outcome::Inserted => assert!(line["similar"].is_null(), "round {round}: {line}"),
            Outcome::Similar(names, similarity) => {
                let named = line["similar"].as_str().unwrap();
                assert!(names.contains(named), "round {round}: {line}, and not one of {names:?}");
                assert_eq!(line["similarity"], *similarity, "round {round}: {line}");
            }
        }
    }

    /// Texts are removed by their names until the process is killed. Those of the first names are gone, and nothing else.
    fn remove(&mut self, round: u64) {
        let names: BTreeSet<String> =
            (0..1 + self.chance(20)).map(|_| format!("page {}", self.chance(NAMES))).collect();
        self.scratch.write("gone.txt", names.iter().map(|name| format!("{name}\n")).collect::<String>());
        let child = spawn(&self.scratch.path(""), &["store", "remove", "s", "gone.txt"], Stdio::null());
        self.pause(40_000);
        kill(child);
        let (found, before) = (self.stored(), self.held.len());
        for name in &names {
            if self.held == found {
                break;
            }
            self.held.retain(|&number| self.texts[number].name != *name);
        }
        self.removed += before - self.held.len();
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

    /// Reads the store without putting it in order: the numbers of its texts, each under its name and with its shingles.
    fn stored(&self) -> BTreeSet<usize> {
        let snapshot = StoreReader::<u64>::open(self.scratch.path("s")).unwrap().into_snapshot();
        let mut found = BTreeSet::new();
        for part in snapshot.shingle_parts(1 << 12).unwrap().unwrap() {
            let flow = snapshot.visit_shingles(&part, &|| Ok(()), &mut |id, shingles| {
                let number = self.numbers[shingles];
                let name = snapshot.name_of(id).unwrap().unwrap();
                assert_eq!(*name, *self.texts[number].name.as_bytes());
                assert!(found.insert(number), "{name:?} is stored twice");
                Ok(())
            });
            flow.unwrap();
        }
        assert_eq!(snapshot.count().unwrap().pairs, found.len() as u64);
        found
    }

    fn check(&mut self, round: u64) {
        assert_eq!(self.stored(), self.held, "round {round}");
        let held: Vec<&Text> = self.held.iter().map(|&number| &self.texts[number]).collect();
        for (place, one) in held.iter().enumerate() {
            assert!(held[..place].iter().all(|other| one.similarity(other) < LEAST), "round {round}");
        }
        if self.chance(4) == 0 {
            self.scratch.output(&["verify", "s"]);
            // The next writer puts in order what was left.
            self.scratch.output(&["store", "flush", "s"]);
            assert_eq!(self.stored(), self.held, "round {round}");
        }
    }
}

#[test]
fn a_process_that_is_killed_among_similar_texts_has_decided_about_its_first_ones() {
    let kills = kills();
    let (mut acknowledged, mut refused, mut replaced, mut removed) = (0, 0, 0, 0);
    let mut killing = Killing::new(1);
    for round in 0..kills {
        match killing.chance(6) {
            0..=3 => killing.insert(round),
            4 => killing.remove(round),
            _ => killing.maintain(round),
        }
        if killing.held.len() > 400 || round + 1 == kills {
            killing.scratch.output(&["verify", "s"]);
            acknowledged += killing.acknowledged;
            refused += killing.refused;
            replaced += killing.replaced;
            removed += killing.removed;
            killing = Killing::new(round + 2);
        }
    }
    println!(
        "{kills} processes killed among similar texts; {acknowledged} texts acknowledged before, {refused} of them told \
         as similar, {replaced} replaced, {removed} removed; every store as a program decides that knows all"
    );
    assert!(acknowledged > 0 && refused > 0, "none lived long enough to say anything");
}
