//! Records by their id, in a set with look-ups.

use std::collections::HashSet;

use hamdex::{Fingerprint, Index};
use hamdex_store::Snapshot;

use crate::problem::Problem;

/// The most records of an id that are answered.
const MAX_MATCHES: usize = 1_000_000;

/// An id to look for.
pub(crate) enum Key {
    Number(u64),
    /// The names that are shown as one text.
    Names(Vec<Vec<u8>>),
}

/// Returns the fingerprints of an id, ascending, as hexadecimal digits: all if they are at most [`MAX_MATCHES`].
///
/// # Errors
/// When they are more, of which no more are gathered; when a page is damaged.
pub(super) fn in_snapshot<F: Fingerprint>(snapshot: &Snapshot<F>, key: &Key) -> Result<Vec<String>, Problem> {
    let ids = match key {
        Key::Number(id) => HashSet::from([*id]),
        Key::Names(names) => snapshot.some_ids_of_names(&names.iter().cloned().collect(), MAX_MATCHES)?,
    };
    check_number(ids.len())?;
    let pairs = snapshot.some_pairs_of(&ids, MAX_MATCHES)?;
    digits(pairs.into_iter().map(|(fingerprint, _)| fingerprint).collect())
}

/// As [`in_snapshot`].
pub(super) fn in_index<F: Fingerprint>(index: &Index<F>, key: &Key) -> Result<Vec<String>, Problem> {
    let lookups = index.lookups()?.ok_or_else(Problem::no_lookups)?;
    let mut ids = Vec::new();
    match key {
        Key::Number(id) => ids.push(*id),
        Key::Names(names) => {
            for name in names {
                ids.extend(lookups.ids_of_name_from(name, 0, MAX_MATCHES + 1)?);
                check_number(ids.len())?;
            }
        }
    }
    let mut found = Vec::new();
    for id in ids {
        for place in lookups.places_of(id, MAX_MATCHES + 1, |_| true)? {
            found.push(index.fingerprint_at(place)?);
        }
        check_number(found.len())?;
    }
    digits(found)
}

fn check_number(found: usize) -> Result<(), Problem> {
    if found <= MAX_MATCHES {
        return Ok(());
    }
    let detail = format!("the id has more than {MAX_MATCHES} records; entries has all");
    Err(Problem::unprocessable("too_many_matches", detail))
}

fn digits<F: Fingerprint>(mut fingerprints: Vec<F>) -> Result<Vec<String>, Problem> {
    check_number(fingerprints.len())?;
    fingerprints.sort_unstable();
    fingerprints.dedup();
    Ok(fingerprints.into_iter().map(|fingerprint| fingerprint.hex().to_string()).collect())
}
