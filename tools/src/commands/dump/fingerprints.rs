//! Prints all fingerprints of an index, with or without their ids.

use std::io::Write;
use std::ops::ControlFlow;
use std::path::Path;

use hamdex::{Fingerprint, Hex};
use serde::Serialize;

use crate::failure::Failure;
use crate::ids::Ids;
use crate::set::Set;

/// The form of printed fingerprints.
#[derive(Debug, Clone, Copy)]
pub(super) struct Form {
    /// With their ids: a line per pair, as `hamdex build --ids pairs` reads it.
    pub(super) ids: bool,
    /// With the names of their ids: a line per pair, as `hamdex build --ids names` reads it.
    pub(super) names: bool,
    /// As JSON, a line per fingerprint.
    pub(super) json: bool,
}

/// The object that `--json` prints.
#[derive(Serialize)]
struct Entry<'i> {
    fingerprint: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    ids: Option<Ids<'i>>,
}

/// Prints all fingerprints in ascending order.
pub(super) fn print<F: Fingerprint>(
    path: &Path,
    set: Set<'_, F>,
    form: Form,
    output: &mut impl Write,
) -> Result<(), Failure> {
    if form.ids && !set.description.has_ids {
        return Err(Failure::Usage(format!("{}: holds no ids: leave out --ids", path.display())));
    }
    if form.names && !set.description.has_names {
        return Err(Failure::Usage(format!("{}: holds no names: leave out --names", path.display())));
    }
    let names = set.names().filter(|_| form.names);
    let with_ids = form.ids || form.names;
    let mut failure = None;
    let outcome = set.set.visit_entries(F::ZERO, &mut |fingerprint, ids| {
        let ids = with_ids.then(|| Ids::new(ids, names, usize::MAX)).transpose();
        match ids.and_then(|ids| line(fingerprint.hex(), ids, form, output)) {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => {
                failure = Some(error);
                ControlFlow::Break(())
            }
        }
    });
    failure.map_or(outcome.map(drop).map_err(Failure::from), Err)
}

/// Prints a fingerprint: a line, or one for each of its ids.
fn line<F: Fingerprint>(
    fingerprint: Hex<F>,
    ids: Option<Ids<'_>>,
    form: Form,
    output: &mut impl Write,
) -> Result<(), Failure> {
    if form.json {
        let entry = Entry { fingerprint: fingerprint.to_string(), ids };
        serde_json::to_writer(&mut *output, &entry).map_err(std::io::Error::from)?;
        writeln!(output)?;
    } else if let Some(ids) = ids {
        ids.for_each(&mut |id| {
            write!(output, "{fingerprint}\t")?;
            output.write_all(id)?;
            output.write_all(b"\n")
        })?;
    } else {
        writeln!(output, "{fingerprint}")?;
    }
    Ok(())
}
