//! All fingerprints of an index, with their ids or without.

use std::io::Write;
use std::sync::Once;

use hamdex::{Fingerprint, Hex, Index};
use serde::Serialize;

use crate::failure::Failure;
use crate::ids::{FoundIds, Ids};
use crate::names::Names;
use crate::say;

/// That names are not written as they are, said once.
static CAUTION: Once = Once::new();

/// How fingerprints are printed.
#[derive(Debug, Clone, Copy)]
pub(super) struct Form {
    /// With their ids: a line per pair, as `hamdex build --ids pairs` reads it.
    pub(super) ids: bool,
    /// With the names of their ids: a line per pair, as `hamdex build --ids names` reads it.
    pub(super) names: bool,
    /// As JSON, a line per fingerprint.
    pub(super) json: bool,
}

/// What `--json` prints.
#[derive(Serialize)]
struct Entry<'i> {
    fingerprint: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    ids: Option<Ids<'i>>,
}

/// Prints all of them in ascending order.
pub(super) fn print<F: Fingerprint>(
    index: &Index<F>,
    form: Form,
    output: &mut impl Write,
) -> Result<(), Failure> {
    if form.ids && !index.has_ids() {
        return Err(Failure::Usage("the index holds no ids: leave out --ids".to_owned()));
    }
    let names = if form.names { Names::of(index)? } else { None };
    if form.names && names.is_none() {
        return Err(Failure::Usage("the index holds no names: leave out --names".to_owned()));
    }
    if !form.ids && !form.names {
        return index.fingerprints().try_for_each(|fingerprint| {
            line(fingerprint.map_err(Failure::Index)?.hex(), None, form, output)
        });
    }
    index.entries().try_for_each(|entry| {
        let entry = entry.map_err(Failure::Index)?;
        let ids = Ids::new(FoundIds::Stored(entry.ids), names, usize::MAX)?;
        line(entry.fingerprint.hex(), Some(ids), form, output)
    })
}

/// Prints a fingerprint: a line, or one for each of its ids.
pub(super) fn line<F: Fingerprint>(
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
        if !ids.for_each(&mut |id| writeln!(output, "{fingerprint}\t{id}"))? {
            CAUTION.call_once(|| {
                say::caution("some names have line ends or other control characters, which are written as \\n and the like: `hamdex build` takes these for names of their own; --json has them as they are");
            });
        }
    } else {
        writeln!(output, "{fingerprint}")?;
    }
    Ok(())
}
