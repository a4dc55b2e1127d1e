//! All fingerprints of an index, with their ids or without.

use std::io::Write;

use hamdex::{Fingerprint, Hex, Ids, Index};
use serde::Serialize;
use serde::ser::{SerializeSeq, Serializer};

use crate::failure::Failure;

/// How fingerprints are printed.
#[derive(Debug, Clone, Copy)]
pub(super) struct Form {
    /// With their ids: a line per pair, as `hamdex build --ids pairs` reads it.
    pub(super) ids: bool,
    /// As JSON, a line per fingerprint.
    pub(super) json: bool,
}

/// What `--json` prints.
#[derive(Serialize)]
struct Entry<'i> {
    fingerprint: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    ids: Option<Numbers<'i>>,
}

/// Ids on their way out: never all in memory.
struct Numbers<'i>(Ids<'i>);

impl Serialize for Numbers<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut sequence = serializer.serialize_seq(Some(self.0.len()))?;
        self.0.clone().try_for_each(|id| sequence.serialize_element(&id))?;
        sequence.end()
    }
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
    if !form.ids {
        return index.fingerprints().try_for_each(|fingerprint| {
            line(fingerprint.map_err(Failure::Index)?.hex(), None, form, output)
        });
    }
    index.entries().try_for_each(|entry| {
        let entry = entry.map_err(Failure::Index)?;
        line(entry.fingerprint.hex(), Some(entry.ids), form, output)
    })
}

fn line<F: Fingerprint>(
    fingerprint: Hex<F>,
    ids: Option<Ids<'_>>,
    form: Form,
    output: &mut impl Write,
) -> Result<(), Failure> {
    if form.json {
        let entry = Entry { fingerprint: fingerprint.to_string(), ids: ids.map(Numbers) };
        serde_json::to_writer(&mut *output, &entry).map_err(std::io::Error::from)?;
        writeln!(output)?;
    } else if let Some(mut ids) = ids {
        ids.try_for_each(|id| writeln!(output, "{fingerprint}\t{id}"))?;
    } else {
        writeln!(output, "{fingerprint}")?;
    }
    Ok(())
}
