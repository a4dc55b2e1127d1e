//! Several small files merged: the bytes of a build from all of them together. And files that lie, merged: an error or
//! a file, which verifies if they do.

use arbitrary::Unstructured;
use hamdex::{Fingerprint, Index, Merger, VerifyOptions};

use crate::check;
use crate::choose::{below, flag, one_of, options, pairs, set};
use crate::targets::{built_in_memory, forged};

/// Merges what the input describes.
pub fn run(input: &[u8]) {
    let mut bytes = Unstructured::new(input);
    match below(&mut bytes, 4) {
        0 => lies(bytes.take_rest()),
        1 => of_width::<u128>(bytes),
        _ => of_width::<u64>(bytes),
    }
}

fn of_width<F: Fingerprint>(mut bytes: Unstructured<'_>) {
    let has_ids = flag(&mut bytes);
    let renumbers = has_ids && flag(&mut bytes);
    let is_filtered = flag(&mut bytes);
    let count = one_of(&mut bytes, &[1, 2, 2, 3, 5]);
    let (mut files, mut kept, mut offset) = (Vec::new(), Vec::new(), 0u64);
    let mut all: Vec<(F, u64)> = Vec::new();
    let keep = move |input: usize, x: F, id: Option<u64>| {
        !is_filtered
            || id.unwrap_or(0).wrapping_add(u64::from(x.count_ones())).wrapping_add(input as u64) % 3 != 0
    };
    for input in 0..count {
        let mut set: Vec<F> = set(&mut bytes);
        // Some that another file has as well.
        set.extend(all.iter().take(below(&mut bytes, 20)).map(|pair| pair.0));
        let mut pairs = pairs(&mut bytes, &set);
        if renumbers {
            // As files are that were numbered apart.
            pairs.iter_mut().zip(0..).for_each(|(pair, id)| pair.1 = id);
        } else if !has_ids {
            pairs.iter_mut().for_each(|pair| pair.1 = 0);
        }
        let names = renumbers.then(|| pairs.iter().map(|pair| (pair.1, vec![pair.1 as u8])).collect());
        files.push(built_in_memory(&pairs, has_ids, names.as_ref(), options(&mut bytes)));
        all.extend(&pairs);
        let moved = pairs.iter().map(|&(x, id)| (x, id + offset, id as u8));
        kept.extend(moved.filter(|&(x, id, _)| keep(input, x, has_ids.then_some(id))));
        if renumbers {
            offset += pairs.len() as u64;
        }
    }
    let indexes: Vec<Index<F>> =
        files.iter().map(|file| Index::from_bytes(file.as_slice()).expect("what was built")).collect();
    let options = options::<F>(&mut bytes);
    let mut merger =
        Merger::new(&indexes).expect("they are alike").options(options.clone()).renumber(renumbers);
    if is_filtered {
        merger = merger.filter(keep);
    }
    let mut merged = Vec::new();
    merger.write_to(&mut merged).expect("what was built");
    let names = renumbers.then(|| kept.iter().map(|&(_, id, name)| (id, vec![name])).collect());
    let pairs: Vec<(F, u64)> = kept.iter().map(|&(x, id, _)| (x, id)).collect();
    assert!(merged == built_in_memory(&pairs, has_ids, names.as_ref(), options), "not the bytes of a build");
}

/// Merges two files of which the input changes bytes.
fn lies(input: &[u8]) {
    let (a, b) = input.split_at(input.len() / 2);
    let files = [forged::forged(a), forged::forged(b)];
    lies_of_width::<u64>(&files);
    lies_of_width::<u128>(&files);
}

/// Merges those of the files that have this width.
fn lies_of_width<F: Fingerprint>(files: &[Vec<u8>]) {
    let indexes: Vec<Index<F>> =
        files.iter().filter_map(|file| Index::from_bytes(file.as_slice()).ok()).collect();
    if indexes.is_empty() {
        return;
    }
    let Ok(merger) = Merger::new(&indexes) else { return };
    let mut merged = Vec::new();
    // The same id may have two names.
    if merger.write_to(&mut merged).is_err() {
        return;
    }
    check::file(&merged);
    if indexes.iter().all(verifies) {
        let index = Index::<F>::from_bytes(&merged).expect("a merge of files that verify");
        assert!(verifies(&index), "a merge of files that verify");
    }
}

fn verifies<F: Fingerprint>(index: &Index<F>) -> bool {
    index.verify_with(&VerifyOptions::new().threads(1)).is_ok()
}

/// Choices by chance.
#[must_use]
pub fn seeds() -> Vec<Vec<u8>> {
    super::choices(24, 300)
}
