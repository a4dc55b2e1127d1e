//! One query after the other: the time per query, and the memory that the contender needs.

use std::time::Instant;

use anyhow::{Result, ensure};
use serde::Serialize;

use crate::contender::Built;
use crate::data::Data;
use crate::judge::Judge;
use crate::options::Options;
use crate::registry::{Kind, REFERENCE};

/// All contenders on one set of fingerprints.
#[derive(Serialize)]
pub(crate) struct Comparison {
    pub shape: String,
    /// Number of fingerprints requested, and of distinct ones among them.
    pub count: u32,
    pub fingerprints: usize,
    pub queries: usize,
    /// Number of queries that brute force answered as well.
    pub scanned: usize,
    /// The matches of all contenders; `None` if no contender ran all queries.
    pub matches: Option<u64>,
    pub checksum: Option<String>,
    pub rows: Vec<Row>,
}

/// A contender's figures.
#[derive(Serialize)]
pub(crate) struct Row {
    pub name: String,
    pub family: String,
    pub member: String,
    pub build_seconds: f64,
    pub bytes_per_fingerprint: Bytes,
    /// Queries per round.
    pub queries: usize,
    pub microseconds: Times,
    /// The reference, measured in turn with it.
    pub reference_microseconds: Option<Times>,
    /// The speed relative to the reference: the ratio of the best rounds, and of the medians.
    pub faster: Option<f64>,
    pub faster_median: Option<f64>,
}

#[derive(Serialize)]
pub(crate) struct Bytes {
    pub total: f64,
    pub file: f64,
    pub heap: f64,
    /// Growth of the process.
    pub resident: Option<f64>,
}

/// Microseconds per query, round by round.
#[derive(Serialize, Clone)]
pub(crate) struct Times {
    pub best: f64,
    pub median: f64,
    pub rounds: Vec<f64>,
}

impl Times {
    fn new(rounds: &[f64]) -> Self {
        let mut sorted = rounds.to_vec();
        sorted.sort_by(f64::total_cmp);
        let middle = sorted.len() / 2;
        let median = if sorted.len().is_multiple_of(2) {
            sorted[middle - 1].midpoint(sorted[middle])
        } else {
            sorted[middle]
        };
        Self { best: sorted[0], median, rounds: rounds.to_vec() }
    }
}

/// A contender that is being measured.
struct Runner<'d> {
    kind: Kind,
    built: Built,
    share: usize,
    matches: u64,
    /// Microseconds per query in each round so far.
    rounds: Vec<f64>,
    data: &'d Data,
    distance: u32,
}

impl<'d> Runner<'d> {
    /// Builds it and checks its answers.
    fn new(kind: Kind, data: &'d Data, distance: u32, judge: &mut Judge<'_>) -> Result<Self> {
        eprintln!("building {}", kind.name());
        let built = kind.build(&data.stored, distance)?;
        let share = kind.share(data);
        let matches = judge.check(&kind.name(), &*built.contender, share)?;
        Ok(Self { kind, built, share, matches, rounds: Vec::new(), data, distance })
    }

    fn round(&mut self) -> Result<()> {
        let warm_up = &self.data.warm_up[..self.share.min(self.data.warm_up.len())];
        let _ = self.built.contender.count(warm_up, self.distance)?;
        let queries = &self.data.queries[..self.share];
        let started = Instant::now();
        let matches = self.built.contender.count(queries, self.distance)?;
        let elapsed = started.elapsed();
        ensure!(matches == self.matches, "{} answers the same queries in two ways", self.kind.name());
        self.rounds.push(elapsed.as_secs_f64() * 1e6 / queries.len() as f64);
        Ok(())
    }

    fn row(&self, reference: Option<&[f64]>) -> Row {
        let each = |bytes: u64| bytes as f64 / self.data.stored.len() as f64;
        let Built { file_bytes, held_bytes, build_seconds, .. } = self.built;
        let microseconds = Times::new(&self.rounds);
        let reference = reference.map(Times::new);
        Row {
            name: self.kind.name(),
            family: self.kind.family(),
            member: self.kind.member(),
            build_seconds,
            bytes_per_fingerprint: Bytes {
                total: each(file_bytes + held_bytes.heap),
                file: each(file_bytes),
                heap: each(held_bytes.heap),
                resident: held_bytes.resident.map(each),
            },
            queries: self.share,
            faster: reference.as_ref().map(|times| times.best / microseconds.best),
            faster_median: reference.as_ref().map(|times| times.median / microseconds.median),
            reference_microseconds: reference,
            microseconds,
        }
    }
}

/// Measures the contenders, all in turn or, where memory would not hold them all, one by one in turn
/// with the reference.
pub(crate) fn compare(data: &Data, count: u32, kinds: &[Kind], options: &Options) -> Result<Comparison> {
    let mut judge = Judge::new(data, options.distance)?;
    let mut runner = |kind: &Kind| Runner::new(*kind, data, options.distance, &mut judge);
    let mut reference = kinds.iter().find(|kind| **kind == REFERENCE).map(&mut runner).transpose()?;
    let others: Vec<Kind> = kinds.iter().copied().filter(|kind| *kind != REFERENCE).collect();
    let at_once = if data.stored.len() < options.alone_from as usize { others.len().max(1) } else { 1 };
    let mut groups: Vec<&[Kind]> = others.chunks(at_once).collect();
    if groups.is_empty() {
        groups.push(&[]);
    }

    let mut rows = Vec::new();
    for group in groups {
        let mut runners = group.iter().map(&mut runner).collect::<Result<Vec<_>>>()?;
        eprintln!("measuring");
        for _ in 0..options.rounds {
            reference.iter_mut().chain(&mut runners).try_for_each(Runner::round)?;
        }
        let in_turn = reference.as_ref().map(|reference| {
            let before = reference.rounds.len() - options.rounds as usize;
            &reference.rounds[before..]
        });
        rows.extend(runners.iter().map(|runner| runner.row(in_turn)));
    }
    if let Some(reference) = reference {
        rows.insert(0, reference.row(Some(&reference.rounds)));
    }

    let agreed = judge.agreed();
    Ok(Comparison {
        shape: data.shape.clone(),
        count,
        fingerprints: data.stored.len(),
        queries: data.queries.len(),
        scanned: data.scanned,
        matches: agreed.map(|answer| answer.matches),
        checksum: agreed.map(|answer| format!("{:016x}", answer.checksum)),
        rows,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_the_middle_or_between_the_two_in_the_middle() {
        assert_eq!(Times::new(&[3.0, 1.0, 2.0]).median, 2.0);
        assert_eq!(Times::new(&[4.0, 1.0, 3.0, 2.0]).median, 2.5);
        assert_eq!(Times::new(&[4.0, 1.0]).best, 1.0);
    }
}
