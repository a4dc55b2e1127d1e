//! The figures as lines of text.

use std::fmt::Write;

use crate::environment::Environment;
use crate::queries::{Comparison, Row};

const HEADINGS: [&str; 9] = [
    "contender",
    "µs/query best",
    "median",
    "vs mih-rs",
    "bytes/fp",
    "in file",
    "on heap",
    "resident",
    "build s",
];

/// Returns the introduction of all tables.
pub(crate) fn preface(environment: &Environment, rounds: u32, distance: u32) -> String {
    let Environment { processor, cores, rustc, compiled_for, .. } = environment;
    let instructions =
        if compiled_for.is_empty() { "the baseline".to_owned() } else { compiled_for.join(", ") };
    let mut text = format!(
        "{processor}, {cores} cores; {rustc}, compiled for {instructions}\n\
         Everything within {distance} bits; one thread, warm; µs per query, the best and the median \
         of {rounds} rounds in turn;\n\
         'vs mih-rs' over 1 is faster than mih-rs with default blocks, best against best.\n\
         Brute force runs fewer queries. hloo is missing: it is not on crates.io.\n"
    );
    if cfg!(target_arch = "x86_64") && !compiled_for.contains(&"popcnt") {
        text.push_str(
            "hamdex detects this processor's instructions at run time; for the best of the others, build with \
             RUSTFLAGS=\"-C target-cpu=native\".\n",
        );
    }
    text
}

pub(crate) fn table(comparison: &Comparison) -> String {
    let Comparison { shape, fingerprints, queries, scanned, matches, checksum, .. } = comparison;
    let mut text = format!("{} {shape} fingerprints\n", grouped(*fingerprints as u64));
    let mut lines = vec![HEADINGS.map(str::to_owned)];
    lines.extend(comparison.rows.iter().map(cells));
    let widths: Vec<usize> = (0..HEADINGS.len())
        .map(|column| lines.iter().map(|cells| cells[column].chars().count()).max().unwrap_or_default())
        .collect();
    for cells in lines {
        write!(text, "{:1$}", cells[0], widths[0]).expect("a String takes all");
        for (cell, width) in cells.iter().zip(&widths).skip(1) {
            write!(text, "  {cell:>width$}").expect("a String takes all");
        }
        text.push('\n');
    }
    match (matches, checksum) {
        (Some(matches), Some(checksum)) => text.push_str(&format!(
            "All agree on {} queries with {} matches (checksum {checksum}), and on {scanned} with brute force.\n",
            grouped(*queries as u64),
            grouped(*matches)
        )),
        _ => text.push_str("No contender ran all queries, so nothing was compared.\n"),
    }
    text
}

fn cells(row: &Row) -> [String; HEADINGS.len()] {
    let bytes = &row.bytes_per_fingerprint;
    [
        row.name.clone(),
        three_digits(row.microseconds.best),
        three_digits(row.microseconds.median),
        row.faster.map_or_else(|| "–".to_owned(), |faster| format!("{}x", three_digits(faster))),
        format!("{:.2}", bytes.total),
        format!("{:.2}", bytes.file),
        format!("{:.2}", bytes.heap),
        bytes.resident.map_or_else(|| "–".to_owned(), |resident| format!("{resident:.2}")),
        format!("{:.2}", row.build_seconds),
    ]
}

/// As many decimals as three digits need.
pub(super) fn three_digits(value: f64) -> String {
    let before = if value > 0.0 { value.log10().floor() as i32 } else { 0 };
    format!("{value:.0$}", (2 - before).clamp(0, 6) as usize)
}

/// A number with commas between thousands.
pub(super) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_well() {
        assert_eq!(["0.0123", "1.23", "123", "1235"], [0.01234, 1.234, 123.4, 1234.6].map(three_digits));
        assert_eq!(["7", "999", "1,000", "12,345,678"], [7, 999, 1000, 12_345_678].map(grouped));
    }
}
