//! Checked records into a store, whatever it holds: all, in place of others, or unless something is near.

use std::ops::Range;
use std::time::Instant;

use hamdex::Fingerprint;
use hamdex_store::{Inserted, Operation, Store, Written};

use crate::api::records::{Checked, Labels};
use crate::problem::Problem;
use crate::sets::write;

/// Inserts records: with `unless_near` those near which nothing is stored, with `replace` in place of the records of
/// their ids. Returns the outcome of each, if there is a condition.
///
/// # Errors
/// When the store refuses; nothing has changed then.
pub(crate) fn write_records<F: Fingerprint>(
    store: &Store<F>,
    records: &Checked<F>,
    unless_near: Option<u32>,
    replace: bool,
    deadline: Instant,
) -> Result<(Vec<Inserted<F>>, Written), Problem> {
    match unless_near {
        Some(distance) => insert_unless_near(store, records, distance, replace, deadline),
        None if replace => Ok((Vec::new(), replace_all(store, records, deadline)?)),
        None => Ok((Vec::new(), insert_all(store, records, deadline)?)),
    }
}

/// Returns documents as a store with shingles takes them.
fn documents_of<'r, F: Fingerprint>(
    fingerprints: &[F],
    names: &'r [String],
    sets: &'r [Vec<u64>],
) -> Vec<(F, &'r String, &'r [u64])> {
    fingerprints.iter().zip(names).zip(sets).map(|((&f, name), set)| (f, name, &**set)).collect()
}

/// Returns fingerprints with their names.
fn named_of<'r, F: Fingerprint>(fingerprints: &[F], names: &'r [String]) -> Vec<(F, &'r String)> {
    fingerprints.iter().copied().zip(names).collect()
}

/// Returns fingerprints with their ids: zeros in a store without ids.
fn pairs_of<F: Fingerprint>(fingerprints: &[F], labels: &Labels) -> Vec<(F, u64)> {
    match labels {
        Labels::Numbers(ids) => fingerprints.iter().copied().zip(ids.iter().copied()).collect(),
        _ => fingerprints.iter().map(|&fingerprint| (fingerprint, 0)).collect(),
    }
}

/// Inserts all records.
fn insert_all<F: Fingerprint>(
    store: &Store<F>,
    records: &Checked<F>,
    deadline: Instant,
) -> Result<Written, Problem> {
    let Checked { fingerprints, labels, shingles } = records;
    let all = |ids: Range<u64>| Written::of_insertions(ids.end - ids.start);
    match (labels, shingles) {
        _ if fingerprints.is_empty() => Ok(Written::default()),
        (Labels::Names(names), Some(sets)) => {
            let documents = documents_of(fingerprints, names, sets);
            write(store, deadline, |store| store.insert_documents(&documents).map(all))
        }
        (Labels::Names(names), None) => {
            let named = named_of(fingerprints, names);
            write(store, deadline, |store| store.insert_named(&named).map(all))
        }
        _ => {
            let pairs = pairs_of(fingerprints, labels);
            let operations: Vec<_> = pairs.into_iter().map(|(f, id)| Operation::Insert(f, id)).collect();
            write(store, deadline, |store| store.write(operations.clone()))
        }
    }
}

/// Inserts records, each in place of all records of its id.
fn replace_all<F: Fingerprint>(
    store: &Store<F>,
    records: &Checked<F>,
    deadline: Instant,
) -> Result<Written, Problem> {
    let Checked { fingerprints, labels, shingles } = records;
    match (labels, shingles) {
        (Labels::Names(names), Some(sets)) => {
            let documents = documents_of(fingerprints, names, sets);
            write(store, deadline, |store| store.upsert_documents(&documents))
        }
        (Labels::Names(names), None) => {
            let named = named_of(fingerprints, names);
            write(store, deadline, |store| store.upsert_named(&named))
        }
        (Labels::Numbers(_), _) => {
            let pairs = pairs_of(fingerprints, labels);
            write(store, deadline, |store| store.upsert(&pairs))
        }
        // Look-ups imply ids.
        (Labels::None, _) => Ok(Written::default()),
    }
}

/// Inserts records near which nothing is stored, or replaces unless something else is near.
fn insert_unless_near<F: Fingerprint>(
    store: &Store<F>,
    records: &Checked<F>,
    distance: u32,
    replace: bool,
    deadline: Instant,
) -> Result<(Vec<Inserted<F>>, Written), Problem> {
    let Checked { fingerprints, labels, shingles } = records;
    let counted = |outcomes: Vec<Inserted<F>>| {
        let inserted = outcomes.iter().filter(|outcome| outcome.is_new()).count() as u64;
        (outcomes, Written::of_insertions(inserted))
    };
    match (labels, shingles) {
        _ if fingerprints.is_empty() => Ok(counted(Vec::new())),
        (Labels::Names(names), Some(sets)) => {
            let documents = documents_of(fingerprints, names, sets);
            write(store, deadline, |store| match replace {
                true => store.upsert_documents_unless_near(&documents, distance),
                false => store.insert_documents_unless_near(&documents, distance).map(counted),
            })
        }
        (Labels::Names(names), None) => {
            let named = named_of(fingerprints, names);
            write(store, deadline, |store| match replace {
                true => store.upsert_named_unless_near(&named, distance),
                false => store.insert_named_unless_near(&named, distance).map(counted),
            })
        }
        _ => {
            let pairs = pairs_of(fingerprints, labels);
            write(store, deadline, |store| match replace {
                true => store.upsert_unless_near(&pairs, distance),
                false => store.insert_all_unless_near(&pairs, distance).map(counted),
            })
        }
    }
}
