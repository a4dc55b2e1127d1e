//! Records by their id, in a set with look-ups.

use hamdex::{Fingerprint, Index};
use hamdex_store::Snapshot;

use crate::problem::Problem;

/// An id to look for.
pub(crate) enum Key {
    Number(u64),
    /// The names that are shown as one text.
    Names(Vec<Vec<u8>>),
}

/// Returns the fingerprints of an id, ascending, as hexadecimal digits.
pub(super) fn in_snapshot<F: Fingerprint>(snapshot: &Snapshot<F>, key: &Key) -> Result<Vec<String>, Problem> {
    let found = match key {
        Key::Number(id) => snapshot.fingerprints_of(*id)?,
        Key::Names(names) => snapshot.fingerprints_of_names(names)?.concat(),
    };
    Ok(digits(found))
}

/// As [`in_snapshot`].
pub(super) fn in_index<F: Fingerprint>(index: &Index<F>, key: &Key) -> Result<Vec<String>, Problem> {
    let lookups = index.lookups()?.ok_or_else(Problem::no_lookups)?;
    let ids = match key {
        Key::Number(id) => vec![*id],
        Key::Names(names) => {
            let ids: Vec<Vec<u64>> =
                names.iter().map(|name| lookups.ids_of_name(name)).collect::<Result<_, _>>()?;
            ids.concat()
        }
    };
    let found: Vec<Vec<F>> =
        ids.into_iter().map(|id| lookups.fingerprints_of(id)).collect::<Result<_, _>>()?;
    Ok(digits(found.concat()))
}

fn digits<F: Fingerprint>(mut fingerprints: Vec<F>) -> Vec<String> {
    fingerprints.sort_unstable();
    fingerprints.dedup();
    fingerprints.into_iter().map(|fingerprint| fingerprint.hex().to_string()).collect()
}
