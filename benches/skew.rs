//! Skewed sets: the cost of a match in queries, batches and self-joins, compared with a uniform set.
//!
//! `cargo bench --bench skew [-- COUNT] [--wide] [FILE]`: COUNT fingerprints, 20,000,000 unless given, of 64 bits, or of
//! 128 with `--wide`. FILE has the fingerprints of real texts as `hamdex fingerprint` prints them, a line each; of these
//! at most COUNT are one more set. A query of a uniform set has hardly a match but its origin; a query of the others has
//! many. So times are per match; in the self-join a fingerprint is its own match. `halves` is measured without filters and
//! with them.

mod common;

use std::error::Error;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::time::Instant;

use common::number;
use hamdex::{BatchOptions, BuildOptions, Codec, Design, FilterChoice, Fingerprint};

const DISTANCE: u32 = 3;

/// Queries one by one, and of a batch.
const ALONE: usize = 5000;
const TOGETHER: usize = 200_000;

/// Rounds of the queries one by one, of which the best counts.
const ROUNDS: usize = 7;

fn main() -> Result<(), Box<dyn Error>> {
    let (mut count, mut is_wide, mut file) = (20_000_000, false, None);
    for argument in std::env::args().skip(1).filter(|argument| argument != "--bench") {
        match argument.parse() {
            Ok(number) => count = number,
            Err(_) if argument == "--wide" => is_wide = true,
            Err(_) => file = Some(argument),
        }
    }
    if is_wide { run::<u128>(count, file) } else { run::<u64>(count, file) }
}

fn run<F: Fingerprint>(count: usize, file: Option<String>) -> Result<(), Box<dyn Error>> {
    let mut shapes: Vec<(&str, Vec<F>)> =
        vec![("uniform", uniform(count)), ("zipf", zipf(count)), ("spiky", spiky(count))];
    if let Some(file) = file {
        shapes.push(("texts", read(&file, count)?));
    }
    println!("{count} fingerprints of {} bits, k = {DISTANCE}, nanoseconds per match (matches):", F::BITS);
    println!("{:<24}{:>24}{:>24}{:>24}", "", "query", "batch", "self-join");
    let (none, auto) = (FilterChoice::None, FilterChoice::Auto);
    for (codec, design, filter) in [
        (Codec::Huffman, "halves", none),
        (Codec::Huffman, "halves", auto),
        (Codec::EliasFano, "halves", none),
        (Codec::EliasFano, "halves", auto),
        (Codec::EliasFano, "cover-8", none),
    ] {
        println!("{codec}, {design}, --filter {filter}");
        let mut uniform = None;
        for (shape, stored) in &shapes {
            let figures = figures(stored, codec, design, filter)?;
            let beside = uniform.get_or_insert(figures);
            let column = |(figure, of_uniform): (&Figure, &Figure)| {
                let ratio = figure.per_match() / of_uniform.per_match();
                format!("{:.0} ({}) {ratio:.2}x", figure.per_match(), figure.matches)
            };
            let columns: Vec<String> = figures.iter().zip(&*beside).map(column).collect();
            println!("{:<24}{:>24}{:>24}{:>24}", format!("  {shape}"), columns[0], columns[1], columns[2]);
        }
    }
    Ok(())
}

/// The first `count` fingerprints of a file.
fn read<F: Fingerprint>(file: &str, count: usize) -> Result<Vec<F>, Box<dyn Error>> {
    let mut stored = Vec::new();
    for line in BufReader::new(File::open(file)?).lines().take(count) {
        let line = line?;
        stored.push(F::parse(line.split('\t').next().unwrap_or(&line))?);
    }
    Ok(stored)
}

#[derive(Debug, Clone, Copy)]
struct Figure {
    nanoseconds: f64,
    matches: u64,
}

impl Figure {
    /// The time of some work that returns how many matches it has found.
    fn of<E>(work: impl FnOnce() -> Result<u64, E>) -> Result<Self, E> {
        let start = Instant::now();
        let matches = work()?;
        Ok(Self { nanoseconds: start.elapsed().as_secs_f64() * 1e9, matches })
    }

    fn per_match(self) -> f64 {
        self.nanoseconds / self.matches as f64
    }
}

fn figures<F: Fingerprint>(
    stored: &[F],
    codec: Codec,
    design: &str,
    filter: FilterChoice,
) -> Result<[Figure; 3], Box<dyn Error>> {
    let options = BuildOptions::new().codec(codec).design(Design::named(design, DISTANCE)?).filter(filter);
    let (_directory, index) = common::index(stored, options);
    // One bit from something stored.
    let queries: Vec<F> = (0..TOGETHER as u64)
        .map(|i| stored[number(i) as usize % stored.len()] ^ F::bit(number(!i) as u32 % F::BITS))
        .collect();
    let mut searcher = index.searcher();
    let mut alone = || -> Result<u64, hamdex::ReadError> {
        let mut matches = 0;
        for &query in &queries[..ALONE] {
            matches += searcher.within(query, DISTANCE)?.len() as u64;
        }
        Ok(matches)
    };
    alone()?;
    let rounds = (0..ROUNDS).map(|_| Figure::of(&mut alone)).collect::<Result<Vec<_>, _>>()?;
    let best = rounds.into_iter().min_by(|a, b| a.nanoseconds.total_cmp(&b.nanoseconds));
    let alone = best.expect("there is a round");
    let together = Figure::of(|| {
        let mut matches = 0;
        let visit = |_, found: &[_]| {
            matches += found.len() as u64;
            Ok::<_, hamdex::ReadError>(())
        };
        index.batch_with(&queries, DISTANCE, &BatchOptions::new(), visit)?;
        Ok::<_, hamdex::ReadError>(matches)
    })?;
    let joined = Figure::of(|| {
        let pairs: u64 = index.pairs(DISTANCE).count_by_distance()?.iter().sum();
        Ok::<_, hamdex::ReadError>(pairs + index.len())
    })?;
    Ok([alone, together, joined])
}

/// A pseudo-random fingerprint of a counter.
fn value<F: Fingerprint>(counter: u64) -> F {
    F::truncate(u128::from(number(counter ^ 0xb1_0000_0000_0000)) << 64 | u128::from(number(counter)))
}

fn uniform<F: Fingerprint>(count: usize) -> Vec<F> {
    (0..count as u64).map(value).collect()
}

/// Within six bits of centres, a tenth as many as fingerprints, of which the r-th has a share of 1/r.
fn zipf<F: Fingerprint>(count: usize) -> Vec<F> {
    let centres = (count / 10).max(2) as f64;
    let near = |i: u64| {
        // The logarithm of the rank is uniform.
        let rank = centres.powf(number(i) as f64 / u64::MAX as f64) as u64;
        flipped(value(rank ^ 0xce << 56), i)
    };
    (0..count as u64).map(near).collect()
}

/// Half of them anywhere, half within six bits of one of a hundred values.
fn spiky<F: Fingerprint>(count: usize) -> Vec<F> {
    let at = |i: u64| if i.is_multiple_of(2) { value(i) } else { flipped(value(number(i) % 100), i) };
    (0..count as u64).map(at).collect()
}

/// With up to six bits flipped.
fn flipped<F: Fingerprint>(centre: F, i: u64) -> F {
    let flips = number(i ^ 0xc1);
    (0..flips % 7).fold(centre, |x, flip| x ^ F::bit((flips >> (8 + 8 * flip)) as u32 % F::BITS))
}
