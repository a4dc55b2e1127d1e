//! A day of a crawler: pages are stored unless a similar one is, asked for, crawled again, removed, and merged.
//!
//! ```text
//! cargo bench -p hamdex-store --bench crawler -- [PAGES] [MEMORY] [DIRECTORY]
//! ```
//!
//! PAGES, 100,000 by default, come in batches of 16; every twentieth is an edited copy of an earlier one. MEMORY is that of
//! recent pages, in MiB (256); DIRECTORY needs room for about 6,000 bytes per page. Similar is what shares 0.7 of the
//! shingles. One thread writes and asks; two merge.

#[path = "../../../benches/common/mod.rs"]
mod common;

use std::collections::HashSet;
use std::time::{Duration, Instant};

use common::documents::Documents;
use hamdex::FingerprintSet;
use hamdex::similar::{Condition, Measure};
use hamdex_store::{CreateOptions, Durability, Record, Store, StoreOptions, When};

/// Pages of a batch.
const BATCH: usize = 16;

/// One page of so many is an edited copy of an earlier one.
const COPIES: usize = 20;

/// One page of so many is kept, to be copied, crawled again or asked for.
const KEPT: usize = 50;

/// Questions of each kind.
const QUESTIONS: usize = 1000;

type Result<T = ()> = std::result::Result<T, Box<dyn std::error::Error>>;

struct Page {
    fingerprint: u64,
    name: String,
    shingles: Vec<u64>,
}

struct Day {
    store: Store<u64>,
    documents: Documents,
    condition: Condition,
    /// Some of the stored pages.
    kept: Vec<Page>,
}

fn main() -> Result {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|a| !a.starts_with('-')).collect();
    let number = |at: usize, otherwise: u64| arguments.get(at).map_or(Ok(otherwise), |text| text.parse());
    let (pages, memory) = (number(0, 100_000)? as usize, number(1, 256)? << 20);
    let directory = tempfile::tempdir_in(arguments.get(2).map_or(".", String::as_str))?;
    let durability = Durability::Interval(Duration::from_millis(100));
    let options = StoreOptions::new().memory(memory).durability(durability).threads(2);
    let shape = CreateOptions::new().names(true).shingles("words:5").lookups(true);
    let path = directory.path().join("pages");
    let mut day = Day {
        store: Store::create(&path, &shape, options)?,
        documents: Documents::new(7),
        condition: Condition::new(Measure::Resemblance, 0.7).ok_or("it is a share")?,
        kept: Vec::new(),
    };
    println!("{pages} pages, synced every 100 ms, {} MiB for recent pages", memory >> 20);
    // Ten times, since each tenth meets a larger store.
    for tenth in 0..10 {
        day.crawl(tenth * pages / 10..(tenth + 1) * pages / 10)?;
    }
    day.ask("as they were stored")?;
    day.crawl_again()?;
    day.remove()?;
    day.ask("with changes in memory")?;
    let start = Instant::now();
    day.store.compact()?;
    println!("compacted in {:.1} s", start.elapsed().as_secs_f64());
    day.ask("compacted")?;
    let stored = day.store.snapshot().describe().fingerprints;
    day.store.close()?;
    let mut bytes = 0;
    for entry in std::fs::read_dir(path.join("segments"))? {
        bytes += entry?.metadata()?.len();
    }
    println!("{stored} pages are stored, in {} bytes each", bytes / stored.max(1));
    Ok(())
}

impl Day {
    /// Stores new pages, unless they are similar to a stored one.
    fn crawl(&mut self, numbers: std::ops::Range<usize>) -> Result {
        let (first, mut busy, mut refused) = (numbers.start, Duration::ZERO, 0);
        for start in numbers.clone().step_by(BATCH) {
            let batch: Vec<Page> =
                (start..numbers.end.min(start + BATCH)).map(|number| self.page(number)).collect();
            let records = batch.iter().map(record);
            let begun = Instant::now();
            let put = self.store.put(records, When::unless_similar(self.condition))?;
            busy += begun.elapsed();
            refused += put.outcomes.iter().filter(|outcome| !outcome.is_new()).count();
            let is_kept = |(place, _): &(usize, Page)| (start + place).is_multiple_of(KEPT);
            self.kept.extend(batch.into_iter().enumerate().filter(is_kept).map(|(_, page)| page));
        }
        let rate = numbers.len() as f64 / busy.as_secs_f64();
        println!("{first:>9} pages: {rate:8.0} more per second, {refused} of them similar");
        Ok(())
    }

    fn page(&mut self, number: usize) -> Page {
        let is_copy = number % COPIES == COPIES - 1 && !self.kept.is_empty();
        let shingles = if is_copy {
            let at = self.documents.below(self.kept.len());
            self.documents.edited(&self.kept[at].shingles)
        } else {
            self.documents.next()
        };
        Page { fingerprint: self.documents.number(), name: format!("page {number}"), shingles }
    }

    /// Searches for new texts, and for edited copies of stored ones.
    fn ask(&mut self, what: &str) -> Result {
        let new: Vec<Vec<u64>> = (0..QUESTIONS).map(|_| self.documents.next()).collect();
        let step = (self.kept.len() / QUESTIONS).max(1);
        let copies: Vec<Vec<u64>> = self
            .kept
            .iter()
            .step_by(step)
            .take(QUESTIONS)
            .map(|page| self.documents.edited(&page.shingles))
            .collect();
        let snapshot = self.store.snapshot();
        let mut searcher = snapshot.open_searcher();
        print!("asked, {what}:");
        for (kind, questions) in [("a new text", &new), ("a copy", &copies)] {
            let mut best = Duration::MAX;
            for _ in 0..3 {
                let start = Instant::now();
                for question in questions {
                    searcher.similar(question, &self.condition, 10)?;
                }
                best = best.min(start.elapsed());
            }
            print!(" {kind} {:.0} µs", best.as_secs_f64() * 1e6 / questions.len() as f64);
        }
        println!();
        Ok(())
    }

    /// Stores the kept pages once more, edited, each in place of its earlier version.
    fn crawl_again(&mut self) -> Result {
        let (mut busy, mut replaced) = (Duration::ZERO, 0);
        for start in (0..self.kept.len()).step_by(BATCH) {
            let end = self.kept.len().min(start + BATCH);
            for at in start..end {
                self.kept[at].shingles = self.documents.edited(&self.kept[at].shingles);
                self.kept[at].fingerprint = self.documents.number();
            }
            let begun = Instant::now();
            let put = self.store.put(
                self.kept[start..end].iter().map(record),
                When::unless_similar(self.condition).replacing(),
            )?;
            busy += begun.elapsed();
            replaced += put.removed;
        }
        let rate = self.kept.len() as f64 / busy.as_secs_f64();
        println!("crawled again: {} pages, {rate:.0} per second, {replaced} replaced", self.kept.len());
        Ok(())
    }

    /// Removes half of the kept pages.
    fn remove(&mut self) -> Result {
        let gone: Vec<Page> = self.kept.split_off(self.kept.len() / 2);
        let start = Instant::now();
        let mut removed = 0;
        for some in gone.chunks(1000) {
            let names: HashSet<Vec<u8>> = some.iter().map(|page| page.name.clone().into_bytes()).collect();
            removed += self.store.remove_names(&names)?;
        }
        println!(
            "removed: {removed} pages, {:.0} per second",
            removed as f64 / start.elapsed().as_secs_f64()
        );
        Ok(())
    }
}

fn record(page: &Page) -> Record<'_, u64> {
    Record::document(page.fingerprint, &page.name, &page.shingles)
}
