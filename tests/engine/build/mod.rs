//! Building: the same bytes however it is done, ids as they were given, and nothing left behind by a
//! build that fails.

use std::fs;
use std::path::Path;

use crate::common::Numbers;

mod contents;
mod ids;
mod outputs;
mod same_bytes;

fn shuffled<T: Clone>(items: &[T], seed: u64) -> Vec<T> {
    let (mut items, mut numbers) = (items.to_vec(), Numbers(seed));
    for end in (1..items.len()).rev() {
        items.swap(end, numbers.below(end as u64 + 1) as usize);
    }
    items
}

fn names_in(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).unwrap();
    entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}
