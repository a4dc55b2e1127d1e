//! Similar texts: a question against an index of documents of 300 words, by the lists of their shingles.
//!
//! `cargo bench --bench similar [-- DOCUMENTS]`; 100,000 by default. A document has 296 shingles, of which 50 are
//! phrases that others have, the rest its own. Every twentieth document is an edited copy of the one before: 25 shingles
//! differ. Times are of one thread, per question: first with everything in memory, then from a file of which nothing is
//! in memory before each question. Temporary files go to the directory of the project.

mod common;

use std::fs::File;
use std::hint::black_box;
use std::io::Write;
use std::path::Path;
use std::time::{Duration, Instant};

use hamdex::similar::{Condition, Measure};
use hamdex::{BuildOptions, Builder, Index};

use common::documents::Documents;

const QUESTIONS: usize = 2000;

fn time(what: &str, questions: &[Vec<u64>], mut ask: impl FnMut(&[u64]) -> usize) {
    let mut best = Duration::MAX;
    let mut found = 0;
    for _ in 0..3 {
        let start = Instant::now();
        found = questions.iter().map(|question| black_box(ask(question))).sum();
        best = best.min(start.elapsed());
    }
    let each = best.as_secs_f64() * 1e6 / questions.len() as f64;
    println!("{what:32} {each:10.1} µs   {found} found");
}

fn main() {
    let count: usize = std::env::args().skip(1).find_map(|argument| argument.parse().ok()).unwrap_or(100_000);
    let mut documents = Documents::new(7);
    let mut builder = Builder::in_memory(BuildOptions::new().shingles(true)).expect("there is memory");
    let mut sets: Vec<Vec<u64>> = Vec::new();
    let start = Instant::now();
    let mut last = Vec::new();
    for number in 0..count {
        let set = if number % 20 == 19 { documents.edited(&last) } else { documents.next() };
        builder.push_with_id(documents.number(), number as u64).expect("there is room");
        builder.push_shingles(number as u64, &set).expect("it is a set");
        if number % (count / QUESTIONS).max(1) == 0 {
            sets.push(set.clone());
        }
        last = set;
    }
    let pushed = start.elapsed();
    let bytes = builder.into_inner().expect("there is room").0;
    println!(
        "{count} documents: {:.0} bytes each, built in {:.1} s",
        bytes.len() as f64 / count as f64,
        (start.elapsed() - pushed).as_secs_f64()
    );
    let mut file = tempfile::NamedTempFile::new_in(".").expect("there is room");
    file.write_all(&bytes).and_then(|()| file.as_file().sync_all()).expect("there is room");
    let index = Index::<u64>::from_bytes(bytes).expect("it is whole");
    let new: Vec<Vec<u64>> = (0..QUESTIONS).map(|_| documents.next()).collect();
    let copies: Vec<Vec<u64>> = sets.iter().map(|set| documents.edited(set)).collect();
    let resembling = Condition::new(Measure::Resemblance, 0.7).expect("it is a share");
    let containing = Condition::new(Measure::Containing, 0.5).expect("it is a share");
    let contained = Condition::new(Measure::Contained, 0.7).expect("it is a share");
    let mut searcher = index.searcher();
    let mut ask = |set: &[u64], condition| searcher.similar(set, condition, 10).expect("it is whole").len();
    time("a new text", &new, |set| ask(set, &resembling));
    time("an edited copy", &copies, |set| ask(set, &resembling));
    time("a new text, containing 0.5", &new, |set| ask(set, &containing));
    time("an edited copy, containing 0.5", &copies, |set| ask(set, &containing));
    time("an edited copy, contained 0.7", &copies[..20], |set| ask(set, &contained));
    if cfg!(target_os = "linux") {
        cold("a new text, cold", file.path(), (&new[..50], &resembling));
        cold("an edited copy, cold", file.path(), (&copies[..50], &resembling));
    }
    // Each part takes a pass over all lists.
    for (what, memory) in [("a pass over all sets", 1 << 34), ("the same in parts of 64 MiB", 1 << 26)] {
        pass(what, &index, (&new[..1], &resembling), memory);
    }
}

/// Asks each question of a file that is not in memory.
fn cold(what: &str, path: &Path, (questions, condition): (&[Vec<u64>], &Condition)) {
    let (mut times, mut pages) = (Vec::new(), 0);
    for question in questions {
        // Pages stay in memory while they are mapped.
        evict(&File::open(path).expect("it is there"));
        let index = Index::<u64>::open(path).expect("it is whole");
        let before = pages_read();
        let start = Instant::now();
        black_box(index.searcher().similar(question, condition, 10).expect("it is whole"));
        times.push(start.elapsed());
        pages += pages_read() - before;
    }
    times.sort_unstable();
    let at = |share: usize| times[times.len() * share / 100].as_secs_f64() * 1e3;
    let pages = pages / questions.len() as u64;
    println!("{what:32} median {:.2} ms, p99 {:.2} ms, {pages} pages", at(50), at(99));
}

/// Evicts the pages of an unmapped file from memory, on Linux.
fn evict(file: &File) {
    #[cfg(target_os = "linux")]
    rustix::fs::fadvise(file, 0, None, rustix::fs::Advice::DontNeed).expect("it can be");
    let _ = file;
}

/// Returns the number of pages that this process has read from storage, as Linux counts; 0 elsewhere.
fn pages_read() -> u64 {
    let counts = std::fs::read_to_string("/proc/self/io").unwrap_or_default();
    let bytes = counts.lines().find_map(|line| line.strip_prefix("read_bytes: ")?.parse::<u64>().ok());
    bytes.unwrap_or(0) / 4096
}

/// Compares each question with all sets, which are read in parts of this size.
fn pass(what: &str, index: &Index<u64>, (questions, condition): (&[Vec<u64>], &Condition), memory: u64) {
    let stored = index.shingles().expect("it is whole").expect("it has them");
    let parts = stored.parts(memory).expect("it is whole");
    println!("{} parts", parts.len());
    time(what, questions, |set| {
        let mut found = 0;
        for part in parts.clone() {
            let visit = |_, other: &[u64]| {
                let shared =
                    set.iter().filter(|shingle| other.binary_search(shingle).is_ok()).take(3).count();
                found += usize::from(condition.is_met(shared, set.len(), other.len()));
                Ok::<_, hamdex::ReadError>(())
            };
            stored.for_each_while(part, &|| Ok(()), visit).expect("it is whole");
        }
        found
    });
}
