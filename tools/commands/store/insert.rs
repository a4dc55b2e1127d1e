//! `hamdex store insert`: records into a store, all or those that nothing is near to.

use std::io::{self, BufWriter, IsTerminal, StdoutLock, Write};
use std::path::PathBuf;
use std::time::Instant;

use clap::ValueEnum;
use hamdex::{Engine, Match};
use hamdex_store::{Durability, Operation, Store, StoreOptions};
use indicatif::ProgressBar;
use serde::Serialize;

use crate::bars;
use crate::commands::store::records::Records;
use crate::commands::store::{manifest_of, of_width, print_json};
use crate::counted::counted;
use crate::failure::Failure;
use crate::input::Arrivals;
use crate::say;

/// Records written together, at most.
const MAX_BATCH: u32 = 1 << 20;

/// Insert records into a store.
///
/// Reads files, or standard input if none is named (or for -): a fingerprint and an id per record, in a store
/// without ids a fingerprint alone, in every format that `hamdex build` reads. A pair that is there already
/// stays.
///
/// Records are written in batches, each of which is there as a whole after a crash, or not at all. Of a pipe, a
/// batch is what has come, so that a program that sends records and waits for their acknowledgement gets it before
/// it sends more. If a record cannot be read, those before it are inserted all the same.
///
/// With --unless-near, a record to which something in the store is near is not inserted; a JSON line on standard
/// output has the record and the nearest fingerprint with its ids. Records of one run see those before them.
#[derive(clap::Args)]
#[command(
    arg_required_else_help = true,
    after_help = "\
Example:
  hamdex store insert news.store pairs.txt
  hamdex store insert news.store --ids row hashes.u64
  crawl | hamdex store insert news.store --unless-near 3 > seen.jsonl"
)]
pub(super) struct Args {
    /// The directory of the store
    #[arg(value_name = "DIR")]
    store: PathBuf,
    #[command(flatten)]
    records: Records,
    /// Where ids come from, in a store with ids [default: pairs]
    #[arg(long, value_enum)]
    ids: Option<IdSource>,
    /// Records per batch, at most
    #[arg(long, value_name = "N", default_value_t = 1000,
        value_parser = clap::value_parser!(u32).range(1..=i64::from(MAX_BATCH)))]
    batch: u32,
    /// When a batch is on the disk: sync (before the next), interval=T (at most T later, such as 100ms) or none
    /// (at the end)
    #[arg(long, value_name = "WHEN", default_value_t)]
    durability: Durability,
    /// Insert only what nothing within K bits is there for, and print what is near to the rest
    #[arg(long, value_name = "K")]
    unless_near: Option<u32>,
    /// Print a line "acknowledged N" after each batch, as soon as it is as durable as --durability says; N counts
    /// the records of this run
    #[arg(long)]
    acknowledge: bool,
    /// Print a summary as a JSON object, on the last line
    #[arg(long)]
    json: bool,
}

/// Where ids come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum IdSource {
    /// Each record is a fingerprint and an id
    Pairs,
    /// The 0-based number of the record over all inputs
    Row,
}

/// What `--unless-near` prints.
#[derive(Serialize)]
struct Near {
    fingerprint: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<u64>,
    near: String,
    distance: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    ids: Option<Vec<u64>>,
}

/// What `--json` prints.
#[derive(Serialize)]
struct Report {
    read: u64,
    inserted: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    near: Option<u64>,
    seconds: f64,
}

pub(super) fn run(args: &Args) -> Result<(), Failure> {
    let manifest = manifest_of(&args.store)?;
    let has_ids = manifest.identity.has_ids;
    if args.ids.is_some() && !has_ids {
        return Err(Failure::Usage(format!(
            "{}: the store has no ids; leave --ids out, or create a store with --ids numbers",
            args.store.display()
        )));
    }
    of_width!(manifest, insert(args, has_ids))
}

fn insert<F: Engine>(args: &Args, has_ids: bool) -> Result<(), Failure> {
    let started = Instant::now();
    let store = Store::<F>::open(&args.store, StoreOptions::new().durability(args.durability))?;
    let pairs = has_ids && args.ids != Some(IdSource::Row);
    let arrivals = args.records.read(pairs)?;
    let mut inserter = Inserter::new(args, &store, has_ids);
    let outcome = inserter.insert_all(arrivals);
    let Inserter { read, near, .. } = inserter;
    // What has been inserted before a failure stays, so it has to be durable all the same.
    let outcome = outcome.and(store.sync().map_err(Failure::from));
    outcome.map_err(|failure| {
        failure.after(format!("{} inserted before that", counted(read, "record", "records")))
    })?;
    drop(store);
    let seconds = started.elapsed().as_secs_f64();
    if args.json {
        let near = args.unless_near.map(|_| near);
        return print_json(&Report { read, inserted: read - near.unwrap_or(0), near, seconds });
    }
    let skipped = match args.unless_near {
        Some(_) => format!(", {} of them near to others and not inserted", indicatif::HumanCount(near)),
        None => String::new(),
    };
    say::summary(format_args!(
        "{}: {} read{skipped} in {seconds:.1} s",
        args.store.display(),
        counted(read, "record", "records")
    ));
    Ok(())
}

struct Inserter<'a, F: Engine> {
    args: &'a Args,
    store: &'a Store<F>,
    has_ids: bool,
    output: BufWriter<StdoutLock<'static>>,
    bar: ProgressBar,
    /// Records whose batches have been written.
    read: u64,
    /// How many of them have not been inserted, as something is near.
    near: u64,
}

impl<'a, F: Engine> Inserter<'a, F> {
    fn new(args: &'a Args, store: &'a Store<F>, has_ids: bool) -> Self {
        // Beside lines on a terminal, a bar would be in their way.
        let prints = args.acknowledge || args.unless_near.is_some();
        let is_in_the_way = prints && io::stdout().is_terminal();
        let bar = if is_in_the_way { ProgressBar::hidden() } else { bars::of_endless_items("Inserting") };
        let output = BufWriter::with_capacity(1 << 16, io::stdout().lock());
        Self { args, store, has_ids, output, bar, read: 0, near: 0 }
    }

    fn insert_all(&mut self, mut arrivals: Arrivals<(F, Option<u64>)>) -> Result<(), Failure> {
        let mut records = Vec::new();
        let mut outcome = Ok(());
        while outcome.is_ok() && arrivals.next(&mut records, self.args.batch as usize) {
            let first = self.read;
            let pair = |(number, &(fingerprint, id)): (u64, &(F, Option<u64>))| match (self.has_ids, id) {
                (false, _) => (fingerprint, 0),
                (true, Some(id)) => (fingerprint, id),
                (true, None) => (fingerprint, number),
            };
            let batch: Vec<(F, u64)> = (first..).zip(&records).map(pair).collect();
            outcome = self.insert(&batch);
        }
        self.bar.finish_and_clear();
        outcome.and_then(|()| arrivals.end())
    }

    /// Inserts a batch, and prints what there is to say of it.
    fn insert(&mut self, batch: &[(F, u64)]) -> Result<(), Failure> {
        let nearest = match self.args.unless_near {
            Some(distance) => self.store.insert_all_unless_near(batch, distance)?,
            None => {
                let insert = |&(fingerprint, id): &(F, u64)| Operation::Insert(fingerprint, id);
                self.store.write(batch.iter().map(insert).collect())?;
                Vec::new()
            }
        };
        self.read += batch.len() as u64;
        self.bar.inc(batch.len() as u64);
        self.print_near(batch, &nearest)?;
        if self.args.acknowledge {
            writeln!(self.output, "acknowledged {}", self.read)?;
        }
        // Someone may wait for it.
        self.output.flush()?;
        Ok(())
    }

    /// Prints a line for each record that something is near to.
    fn print_near(&mut self, batch: &[(F, u64)], nearest: &[Option<Match<F>>]) -> Result<(), Failure> {
        let snapshot = self.store.snapshot();
        for (&(fingerprint, id), nearest) in batch.iter().zip(nearest) {
            let Some(near) = nearest else { continue };
            self.near += 1;
            let ids = if self.has_ids { Some(snapshot.ids(near.fingerprint)?) } else { None };
            let line = Near {
                fingerprint: fingerprint.hex().to_string(),
                id: self.has_ids.then_some(id),
                near: near.fingerprint.hex().to_string(),
                distance: near.distance,
                ids,
            };
            serde_json::to_writer(&mut self.output, &line).map_err(io::Error::from)?;
            writeln!(self.output)?;
        }
        Ok(())
    }
}
