//! The work of the Python package in Rust: `beside_rust.py` runs both in turns.
//!
//! Prints the seconds that one piece of work takes, and the processor's, without reading what it works on.

use std::error::Error;
use std::fs;
use std::time::Instant;

use hamdex::{BatchOptions, BuildOptions, Builder, Index, Match};
use hamdex_simhash::{Fingerprinter, Recipe, Scratch};
use rayon::prelude::*;

/// Texts, and matches whose ids are looked up, that are taken together, as in the package.
const TEXTS_AT_ONCE: usize = 32;
const IDS_AT_ONCE: usize = 4096;

/// Clock ticks of a second, in which Linux counts the time of the processor.
const TICKS: f64 = 100.0;

type Failure = Box<dyn Error + Send + Sync>;

fn main() -> Result<(), Failure> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["build", values, output, threads] => {
            let (values, threads) = (words(values)?, threads.parse()?);
            // In memory as there: memory that is touched for the first time can cost more than memory that was in use.
            let ids: Vec<u64> = (0..).take(values.len()).collect();
            measured(|| build(&values, &ids, output, threads))
        }
        ["batch", index, queries, threads] => {
            let (index, queries) = (Index::<u64>::open(index)?, words(queries)?);
            let threads = threads.parse()?;
            measured(|| batch(&index, &queries, threads))
        }
        ["fingerprint", texts, threads] => {
            let texts = fs::read_to_string(texts)?;
            let texts: Vec<&str> = texts.lines().collect();
            let threads = threads.parse()?;
            measured(|| fingerprint(&texts, threads))
        }
        _ => Err("build VALUES OUTPUT THREADS, batch INDEX QUERIES THREADS or fingerprint TEXTS THREADS".into()),
    }
}

/// Does work; prints what it returns, the seconds and those of the processor.
fn measured(work: impl FnOnce() -> Result<u64, Failure>) -> Result<(), Failure> {
    let (start, ticks) = (Instant::now(), processor()?);
    let result = work()?;
    println!("{result} {} {}", start.elapsed().as_secs_f64(), processor()? - ticks);
    Ok(())
}

/// Seconds of the processor that all threads of this process have had.
fn processor() -> Result<f64, Failure> {
    let stat = fs::read_to_string("/proc/self/stat")?;
    let (_, fields) = stat.rsplit_once(')').ok_or("/proc/self/stat has no name")?;
    let ticks = fields.split_whitespace().skip(11).take(2).map(str::parse::<u64>);
    Ok(ticks.sum::<Result<u64, _>>()? as f64 / TICKS)
}

fn words(path: &str) -> Result<Vec<u64>, Failure> {
    Ok(fs::read(path)?.as_chunks().0.iter().map(|bytes| u64::from_le_bytes(*bytes)).collect())
}

fn build(values: &[u64], ids: &[u64], output: &str, threads: usize) -> Result<u64, Failure> {
    let options = BuildOptions::new().ids(true).threads(threads).overwrite(true);
    let mut builder = Builder::<u64>::with_options(output, options)?;
    for (&value, &id) in values.iter().zip(ids) {
        builder.push_with_id(value, id)?;
    }
    Ok(builder.finish()?.fingerprints)
}

fn batch(index: &Index<u64>, queries: &[u64], threads: usize) -> Result<u64, Failure> {
    let (mut places, mut found) = (Vec::new(), Vec::<Match<u64>>::new());
    index.batch_with(queries, 3, &BatchOptions::new().threads(threads), |place, matches| {
        places.extend(std::iter::repeat_n(place as u64, matches.len()));
        found.extend_from_slice(matches);
        Ok::<_, hamdex::ReadError>(())
    })?;
    let mut searcher = index.searcher();
    let mut rows: (Vec<u64>, Vec<u64>, Vec<u32>, Vec<u64>) = Default::default();
    for (places, found) in places.chunks(IDS_AT_ONCE).zip(found.chunks(IDS_AT_ONCE)) {
        for ((&place, one), ids) in places.iter().zip(found).zip(searcher.ids_of(found, usize::MAX)?) {
            for id in ids {
                rows.0.push(place);
                rows.1.push(one.fingerprint);
                rows.2.push(one.distance);
                rows.3.push(id);
            }
        }
    }
    Ok(rows.0.len() as u64)
}

fn fingerprint(texts: &[&str], threads: usize) -> Result<u64, Failure> {
    let fingerprinter = Fingerprinter::<u64>::new(&Recipe::default())?;
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build()?;
    let values: Vec<u64> = pool.install(|| {
        let parts = texts.par_chunks(TEXTS_AT_ONCE).map_init(Scratch::default, |scratch, texts| {
            let value = |text: &&str| fingerprinter.fingerprint(text, scratch).value().unwrap_or_default();
            texts.iter().map(value).collect::<Vec<u64>>()
        });
        parts.flatten_iter().collect()
    });
    Ok(values.iter().fold(0, |sum, value| sum ^ value))
}
