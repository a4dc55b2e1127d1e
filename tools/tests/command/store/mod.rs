//! `hamdex store`, and `query`, `pairs`, `dump` and `verify` of a store.
//!
//! - [`round_trips`]: what is written is found, against brute force
//! - [`process`]: pipes, two processes
//! - [`kills`]: processes that are killed at any time
//! - [`kills_of_texts`]: the same, while they insert texts unless one is similar
//! - [`refusals`]: bad input
//! - [`documents`]: documents, and fingerprints with names
//! - [`damage`]: what is damaged is named, and repaired

mod damage;
mod documents;
mod kills;
mod kills_of_texts;
mod process;
mod refusals;
mod round_trips;

use std::collections::BTreeSet;

use serde_json::Value;

use crate::common::Scratch;

/// Pairs in order, as plainly as can be.
pub(super) type Model = BTreeSet<(u128, u64)>;

/// Fingerprints of which many are near to each other, with ids; the same in every run.
pub(super) fn pairs(width: u32, count: u64, seed: u64) -> Vec<(u128, u64)> {
    let mut state = seed;
    let mut next = move || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed ^ (mixed >> 29)
    };
    let mask = if width == 128 { u128::MAX } else { u128::from(u64::MAX) };
    let centres: Vec<u128> =
        (0..count / 8 + 1).map(|_| u128::from(next()) << 64 | u128::from(next())).collect();
    let mut near = || {
        let centre = centres[(next() % centres.len() as u64) as usize];
        (0..next() % 4).fold(centre, |value, _| value ^ 1 << (next() % u64::from(width))) & mask
    };
    (0..count).map(|number| (near(), number % (count / 2 + 1))).collect()
}

pub(super) fn hex(width: u32, fingerprint: u128) -> String {
    format!("{fingerprint:0digits$x}", digits = width as usize / 4)
}

/// A line per pair, as commands read them and `dump` prints them.
pub(super) fn lines(width: u32, pairs: impl IntoIterator<Item = (u128, u64)>) -> String {
    pairs.into_iter().map(|(fingerprint, id)| format!("{}\t{id}\n", hex(width, fingerprint))).collect()
}

/// The pairs of a store.
pub(super) fn dumped(scratch: &Scratch, store: &str) -> String {
    scratch.output(&["dump", store, "--fingerprints", "--ids"])
}

pub(super) fn json_of(scratch: &Scratch, args: &[&str]) -> Value {
    serde_json::from_str(&scratch.output(args)).unwrap()
}

/// A directory with an empty store.
pub(super) fn with_store(options: &[&str]) -> Scratch {
    let scratch = Scratch::new();
    scratch.output(&[&["store", "create", "s"], options].concat());
    scratch
}
