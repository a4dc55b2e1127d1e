//! `hamdex dump --stats`: the distribution of the fingerprints, on a terminal, as JSON, or as a [`page`] of HTML.

mod page;

use std::io::{self, Write};
use std::path::Path;

use hamdex::{Fingerprint, Index, Names, RECIPE_KEY};
use hamdex_atomic_file::AtomicFile;
use indicatif::{HumanBytes, HumanCount};
use serde_json::{Value, json};

use crate::failure::Failure;
use crate::messages::counted;
use crate::names;
use crate::standard_output::write_pretty_json;

/// The output format of the statistics.
pub(super) enum Form {
    Text,
    Json,
    /// As an HTML page in a separate file.
    Page(AtomicFile),
}

/// Prints the statistics, or writes the page.
pub(super) fn print<F: Fingerprint>(
    path: &Path,
    index: &Index<F>,
    form: Form,
    output: &mut impl Write,
) -> Result<(), Failure> {
    let spread = gather(index, index.names()?)?;
    match form {
        Form::Text => print_text(path, &spread, output)?,
        Form::Json => print_json(&spread, output)?,
        Form::Page(mut file) => {
            file.write_all(page::page(path, &facts(index), &spread).as_bytes()).map_err(file.failed())?;
            file.finish()?;
        }
    }
    Ok(())
}

/// Returns what the file is: design, codec, recipe and size.
fn facts<F: Fingerprint>(index: &Index<F>) -> Vec<(&'static str, String)> {
    let stats = index.stats();
    let per_fingerprint = stats.file_bytes as f64 / stats.fingerprints.max(1) as f64;
    let recipe = index.metadata().get(RECIPE_KEY).map(|recipe| String::from_utf8_lossy(recipe).into_owned());
    vec![
        (
            "design",
            format!(
                "{}, {} tables: everything within {} bits",
                stats.design,
                stats.tables.len(),
                stats.distance
            ),
        ),
        ("codec", stats.codec.to_string()),
        ("recipe", recipe.unwrap_or_else(|| "none: bare fingerprints".to_owned())),
        ("size", format!("{}, {per_fingerprint:.2} bytes per fingerprint", HumanBytes(stats.file_bytes))),
    ]
}

/// The number of leading bits by which fingerprints are counted.
const LEADING_BITS: u32 = 8;

/// The size of the sample whose pairs are compared: two million pairs.
const SAMPLE: u64 = 2000;

/// The most spikes that are shown.
const MAX_SPIKES: usize = 10;

/// The most ids that are shown of a spike.
const MAX_SHOWN_IDS: usize = 3;

/// Leading bits this many times as frequent as by chance are a spike.
const SPIKE: f64 = 4.0;

/// The distribution of the fingerprints.
struct Spread {
    fingerprints: u64,
    bits: u32,
    /// Distinct fingerprints by their leading bits.
    leading: Vec<u64>,
    /// Leading bits with many distinct fingerprints: the bits, and the number of fingerprints.
    crowded: Vec<(usize, u64)>,
    /// Fingerprints with several ids, those with the most first. `None` for an index without ids.
    spikes: Option<Vec<Spike>>,
    /// Whether ids are shown as names of documents.
    has_names: bool,
    ids: u64,
    /// The number of pairs of the sample at each distance.
    distances: Vec<u64>,
    sampled: u64,
    /// The number of occurrences of each h between neighbours of table 0.
    h: Vec<u64>,
}

/// A fingerprint with several ids.
struct Spike {
    /// In hexadecimal.
    fingerprint: String,
    /// The number of ids.
    ids: u64,
    /// The first ids: names of documents if there are names.
    first_ids: Vec<String>,
}

impl Spike {
    /// Returns the first ids, and the number of others.
    fn shown_ids(&self) -> String {
        let more = self.ids - self.first_ids.len() as u64;
        let more = if more == 0 { String::new() } else { format!(" and {} more", HumanCount(more)) };
        self.first_ids.join("; ") + &more
    }
}

/// Reads all fingerprints; shows ids by their names, if they have names.
fn gather<F: Fingerprint>(index: &Index<F>, names: Option<Names<'_>>) -> Result<Spread, Failure> {
    let mut leading = vec![0u64; 1 << LEADING_BITS];
    let mut spikes: Vec<(u64, F)> = Vec::new();
    let mut sample = Vec::new();
    let mut ids = 0;
    let step = index.len().div_ceil(SAMPLE).max(1);
    for (number, fingerprint) in (0u64..).zip(index.fingerprints()) {
        let fingerprint = fingerprint?;
        leading[(fingerprint >> (F::BITS - LEADING_BITS)).to_u128() as usize] += 1;
        if number.is_multiple_of(step) {
            sample.push(fingerprint);
        }
        if index.has_ids() {
            let its = index.ids(fingerprint)?.len() as u64;
            ids += its;
            remember(&mut spikes, its, fingerprint);
        }
    }
    let mut distances = vec![0u64; F::BITS as usize + 1];
    for (number, &one) in sample.iter().enumerate() {
        for &other in &sample[..number] {
            distances[one.distance(other) as usize] += 1;
        }
    }
    let expected = index.len() as f64 / leading.len() as f64;
    let mut crowded: Vec<(usize, u64)> = leading
        .iter()
        .copied()
        .enumerate()
        // Among a few fingerprints, some always coincide.
        .filter(|&(_, count)| count as f64 > (expected * SPIKE).max(8.0))
        .collect();
    crowded.sort_by_key(|&(bits, count)| (std::cmp::Reverse(count), bits));
    crowded.truncate(MAX_SPIKES);
    Ok(Spread {
        fingerprints: index.len(),
        bits: F::BITS,
        leading,
        crowded,
        spikes: if index.has_ids() { Some(shown(index, &spikes, names)?) } else { None },
        has_names: names.is_some(),
        ids,
        distances,
        sampled: sample.len() as u64,
        h: index.stats().tables[0].counts.clone(),
    })
}

fn shown<F: Fingerprint>(
    index: &Index<F>,
    spikes: &[(u64, F)],
    names: Option<Names<'_>>,
) -> Result<Vec<Spike>, Failure> {
    let shown_id = |id: u64| match names {
        Some(names) => {
            let name = names.name_of(id)?;
            Ok::<_, Failure>(Names::text_of(&names::written(name)).into_owned())
        }
        None => Ok(id.to_string()),
    };
    let spike = |&(ids, fingerprint): &(u64, F)| {
        let its = index.ids(fingerprint)?;
        let first_ids = its.take(MAX_SHOWN_IDS).map(shown_id).collect::<Result<_, _>>()?;
        Ok(Spike { fingerprint: fingerprint.hex().to_string(), ids, first_ids })
    };
    spikes.iter().map(spike).collect()
}

/// Keeps the fingerprints with the most ids, of those with more than one.
fn remember<F: Fingerprint>(spikes: &mut Vec<(u64, F)>, ids: u64, fingerprint: F) {
    if ids < 2 || spikes.len() == MAX_SPIKES && spikes[MAX_SPIKES - 1].0 >= ids {
        return;
    }
    let at = spikes.partition_point(|&(its, _)| its >= ids);
    spikes.insert(at, (ids, fingerprint));
    spikes.truncate(MAX_SPIKES);
}

impl Spread {
    /// Returns the number of pairs of uniform fingerprints expected at each distance, for as many pairs in
    /// all.
    fn expected_distances(&self) -> Vec<f64> {
        let pairs: u64 = self.distances.iter().sum();
        let mut share = 0.5f64.powi(self.bits as i32);
        (0..=self.bits)
            .map(|distance| {
                let expected = share * pairs as f64;
                share *= f64::from(self.bits - distance) / f64::from(distance + 1);
                expected
            })
            .collect()
    }
}

/// The length of the longest bar, in characters.
const BAR: usize = 50;

/// The number of leading bits shown; more are counted.
const SHOWN_BITS: u32 = 5;

fn print_text(path: &Path, spread: &Spread, output: &mut impl Write) -> io::Result<()> {
    writeln!(
        output,
        "{}: {} of {} bits",
        path.display(),
        counted(spread.fingerprints, "distinct fingerprint", "distinct fingerprints"),
        spread.bits
    )?;

    writeln!(output, "\nfingerprints by their first {SHOWN_BITS} bits")?;
    let together = 1 << (LEADING_BITS - SHOWN_BITS);
    let leading: Vec<u64> = spread.leading.chunks(together).map(|counts| counts.iter().sum()).collect();
    let name = |bits: usize| format!("{bits:0width$b}", width = SHOWN_BITS as usize);
    bars(&leading, None, name, output)?;
    for (bits, count) in &spread.crowded {
        writeln!(
            output,
            "spike: {} fingerprints start with {bits:0width$b}, {:.1} times as many as by chance",
            HumanCount(*count),
            *count as f64 * spread.leading.len() as f64 / spread.fingerprints as f64,
            width = LEADING_BITS as usize
        )?;
    }

    match &spread.spikes {
        None => writeln!(output, "\nthis index has no ids")?,
        Some(spikes) if spikes.is_empty() => writeln!(output, "\nno fingerprint has more than one id")?,
        Some(spikes) => {
            writeln!(output, "\nfingerprints with the most of the {} ids", HumanCount(spread.ids))?;
            for spike in spikes {
                let share = spike.ids as f64 / spread.ids as f64 * 100.0;
                writeln!(
                    output,
                    "  {}  {:>12} ids  {share:5.1} %  {}",
                    spike.fingerprint,
                    HumanCount(spike.ids).to_string(),
                    spike.shown_ids()
                )?;
            }
        }
    }

    writeln!(
        output,
        "\ndistances between the pairs of {}, compared with uniform ones",
        counted(spread.sampled, "fingerprint", "fingerprints")
    )?;
    bars(&spread.distances, Some(&spread.expected_distances()), |distance| distance.to_string(), output)?;

    writeln!(output, "\nh, the first bit in which a fingerprint differs from the one before it")?;
    bars(&spread.h, None, |h| h.to_string(), output)
}

/// Prints a line for each count that is not zero.
fn bars(
    counts: &[u64],
    expected: Option<&[f64]>,
    name: impl Fn(usize) -> String,
    output: &mut impl Write,
) -> io::Result<()> {
    let most = counts.iter().copied().max().unwrap_or(0).max(1);
    for (number, &count) in counts.iter().enumerate().filter(|(_, count)| **count > 0) {
        let bar = "█".repeat((count as f64 / most as f64 * BAR as f64).ceil() as usize);
        let beside = expected.map_or(String::new(), |expected| {
            format!(" {:>14}", HumanCount(expected[number].round() as u64).to_string())
        });
        writeln!(output, "  {:>8} {:>14}{beside}  {bar}", name(number), HumanCount(count).to_string())?;
    }
    Ok(())
}

/// Prints an object. Counts by number (leading bits, distances, h) are arrays with an item for each number
/// from 0 on.
fn print_json(spread: &Spread, output: &mut impl Write) -> io::Result<()> {
    let crowded: Vec<Value> = spread
        .crowded
        .iter()
        .map(|(bits, count)| json!({ "leading": bits, "fingerprints": count }))
        .collect();
    let spikes = spread.spikes.as_ref().map(|spikes| spikes.iter().map(spike).collect::<Vec<Value>>());
    let whole = json!({
        "width": spread.bits,
        "fingerprints": spread.fingerprints,
        "ids": spread.spikes.as_ref().map(|_| spread.ids),
        "leading_bits": LEADING_BITS,
        "by_leading_bits": spread.leading,
        "crowded": crowded,
        "most_ids": spikes,
        "sampled": spread.sampled,
        "by_distance": spread.distances,
        "by_distance_expected": spread.expected_distances(),
        "by_h": spread.h,
    });
    write_pretty_json(output, &whole)
}

fn spike(spike: &Spike) -> Value {
    json!({ "fingerprint": spike.fingerprint, "ids": spike.ids, "first_ids": spike.first_ids })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_frequent_are_remembered_in_order() {
        let mut spikes = Vec::new();
        for (ids, fingerprint) in
            [(1, 1u64), (2, 2), (5, 3), (5, 4)].into_iter().chain((10..30).map(|i| (3, i)))
        {
            remember(&mut spikes, ids, fingerprint);
        }
        assert_eq!(spikes.len(), MAX_SPIKES);
        assert_eq!(spikes[..4], [(5, 3), (5, 4), (3, 10), (3, 11)]);
    }
}
