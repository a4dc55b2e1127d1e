//! Files whose pages are not in memory: a query reads as many as its design predicts, and waits for all
//! of them at once.
//!
//! One test, since the system counts reads and faults for the whole process.
#![cfg(target_os = "linux")]

mod common;

use std::fs::{self, File};
use std::path::Path;

use common::{Numbers, Shape, data};
use hamdex::{
    BatchOptions, BuildOptions, Builder, Codec, Design, FilterChoice, Index, Mapping, OpenOptions, Strategy,
};
use rustix::fs::{Advice, fadvise};

/// A piece of work that reads a file, and its name.
type Work<'w> = (&'w str, &'w dyn Fn(&Index<u64>));

const QUERIES: u64 = 150;

const PAGE: f64 = 4096.0;

/// Counters of the system for this process.
#[derive(Debug, Clone, Copy, Default)]
struct Counts {
    /// Pages read from storage.
    pages: f64,
    /// Faults that had to wait for a page that was not prefetched.
    faults: f64,
}

impl Counts {
    /// `None` if the system does not report it.
    fn now() -> Option<Self> {
        let io = fs::read_to_string("/proc/self/io").ok()?;
        let bytes: f64 = io.lines().find_map(|line| line.strip_prefix("read_bytes: "))?.parse().ok()?;
        let stat = fs::read_to_string("/proc/self/stat").ok()?;
        // The name of the program, in brackets, may hold spaces; 9 fields on are major faults.
        let faults = stat.rsplit_once(')')?.1.split_whitespace().nth(9)?.parse().ok()?;
        Some(Self { pages: bytes / PAGE, faults })
    }

    fn add_since(&mut self, start: Self) {
        let now = Self::now().expect("it was readable before");
        self.pages += now.pages - start.pages;
        self.faults += now.faults - start.faults;
    }
}

/// Evicts an unmapped file from the page cache.
fn drop_pages(path: &Path) {
    let file = File::open(path).unwrap();
    fadvise(&file, 0, None, Advice::DontNeed).unwrap();
}

/// Returns the cost per query, each on a file that was evicted and opened just before.
fn queries(path: &Path, open: impl Fn() -> Index<u64>) -> Counts {
    let mut numbers = Numbers(17);
    let mut sum = Counts::default();
    for _ in 0..QUERIES {
        let query = numbers.fingerprint();
        drop_pages(path);
        let index = open();
        let mut searcher = index.searcher();
        // The plan and the searcher's memory are no matter of storage.
        let start = Counts::now().unwrap();
        searcher.within(query, 3).unwrap();
        sum.add_since(start);
    }
    Counts { pages: sum.pages / QUERIES as f64, faults: sum.faults / QUERIES as f64 }
}

/// Returns the cost of opening.
fn opening(path: &Path, open: impl Fn() -> Index<u64>) -> Counts {
    drop_pages(path);
    let start = Counts::now().unwrap();
    open();
    let mut counts = Counts::default();
    counts.add_since(start);
    counts
}

/// Returns the cost of work that reads most of an open file.
fn scan(path: &Path, open: impl Fn() -> Index<u64>, work: impl Fn(&Index<u64>)) -> Counts {
    drop_pages(path);
    let index = open();
    let start = Counts::now().unwrap();
    work(&index);
    let mut counts = Counts::default();
    counts.add_since(start);
    counts
}

fn all_fingerprints(index: &Index<u64>) {
    assert_eq!(index.fingerprints().map(Result::unwrap).count() as u64, index.len());
}

fn all_pairs(index: &Index<u64>) {
    index.pairs(3).count_by_distance().unwrap();
}

fn a_batch(strategy: Strategy) -> impl Fn(&Index<u64>) {
    move |index| {
        let mut numbers = Numbers(18);
        let queries: Vec<u64> = (0..20_000).map(|_| numbers.fingerprint()).collect();
        let options = BatchOptions::new().strategy(strategy);
        let outcome = index.batch_with(&queries, 3, &options, |_, _| Ok::<_, hamdex::ReadError>(()));
        outcome.unwrap();
    }
}

#[test]
fn a_cold_query_reads_what_the_design_predicts_in_one_wave() {
    if Counts::now().is_none() {
        eprintln!("skipped: this system does not count reads and faults for a process");
        return;
    }
    // Beside the build's own files: a system's place for temporary files may be memory.
    let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let path = directory.path().join("cold.hamdex");
    for (name, count) in
        [("single", 1_500_000), ("halves", 1_500_000), ("cover-6", 400_000), ("cover-8", 400_000)]
    {
        let stored = data::<u64>(Shape::Uniform, count, 5);
        for codec in Codec::ALL {
            let design = Design::named(name, 3).unwrap();
            let options = BuildOptions::new().design(design.clone()).codec(codec).overwrite(true);
            let build = |filter| {
                let mut builder = Builder::with_options(&path, options.clone().filter(filter)).unwrap();
                stored.iter().try_for_each(|&x| builder.push(x)).unwrap();
                builder.finish().unwrap();
            };
            build(FilterChoice::None);

            let asking = || Index::open(&path).unwrap();
            // The same bytes without prefetching.
            let silent = || {
                let mapping = Mapping::open(&path).unwrap();
                OpenOptions::new().from_bytes::<u64>(mapping).unwrap()
            };

            let unasked = queries(&path, silent);
            if !(0.9..1.1).contains(&(unasked.pages / unasked.faults)) {
                eprintln!(
                    "skipped: pages of files here cannot be forgotten, or come several at once: {unasked:?}"
                );
                return;
            }
            let unasked_faults = unasked.faults;
            let asked = queries(&path, asking);
            // Blocks on the same page are read together, as if the page were a block.
            let block_bytes = asking().stats().block_bytes.max(PAGE as u32);
            let predicted = design.cost(count as u64, codec, block_bytes).blocks_per_query;
            let what =
                format!("{name}, {codec}: {predicted} predicted, {asked:?} asked, {unasked:?} unasked");
            eprintln!("{what}");
            assert!((0.9..1.1).contains(&(asked.pages / predicted)), "{what}");
            assert!((0.9..1.1).contains(&(unasked.faults / predicted)), "{what}");
            assert!(asked.faults < 0.1 * unasked.faults, "{what}");

            let works: [Work<'_>; 4] = [
                ("fingerprints", &all_fingerprints),
                ("pairs", &all_pairs),
                ("scan", &a_batch(Strategy::Scan)),
                ("probe", &a_batch(Strategy::Probe)),
            ];
            // Pairs and batches for one design: they go through all others in the same way.
            for (work, does) in works.into_iter().take(if name == "halves" { 4 } else { 1 }) {
                let (unasked, asked) = (scan(&path, silent, does), scan(&path, asking, does));
                assert!(
                    asked.faults < 0.1 * unasked.faults,
                    "{name}, {codec}, {work}: {asked:?} {unasked:?}"
                );
            }

            // Header, trailer, footer; all keys and what follows them come at once.
            let (unasked, asked) = (opening(&path, silent), opening(&path, asking));
            let keys: u64 = asking().stats().tables.iter().map(|table| table.key_bytes).sum();
            assert!(unasked.faults >= 0.9 * keys as f64 / PAGE, "{name}, {codec}: {keys}, {unasked:?}");
            assert!(asked.faults <= 6.0, "{name}, {codec}: {asked:?}");

            // With filters, hardly a block is read that has no entry with a prefix of the query.
            if name == "halves" {
                build(FilterChoice::Auto);
                let filtered = queries(&path, asking);
                eprintln!("{name}, {codec}: with filters {filtered:?}");
                assert!(filtered.pages < 0.2 * predicted, "{name}, {codec}: {filtered:?}");
                assert!(filtered.faults < 0.1 * unasked_faults, "{name}, {codec}: {filtered:?}");
            }
        }
    }
}
