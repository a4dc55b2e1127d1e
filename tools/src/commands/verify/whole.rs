//! The report on an undamaged file, store or set of shards.

use std::io::{self, Write};
use std::path::Path;

use hamdex::Verified;
use hamdex_any::Kind;
use indicatif::HumanBytes;
use serde::Serialize;

use crate::messages::counted;

/// The amounts that were read and checked.
pub(super) struct Whole {
    pub(super) kind: Kind,
    pub(super) has_names: bool,
    pub(super) verified: Verified,
}

/// The amounts, as `--json` prints them.
#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum Contents<'a> {
    File {
        bytes: u64,
        tables: usize,
        blocks: u64,
        fingerprints: u64,
        ids: u64,
        #[serde(skip_serializing_if = "Option::is_none")]
        names: Option<u64>,
    },
    Store {
        segments: usize,
        bytes: u64,
        /// In segments, removed ones included.
        fingerprints: u64,
        /// In logs.
        batches: u64,
        notes: &'a [String],
    },
    Shards {
        shards: usize,
        families: usize,
        bytes: u64,
        blocks: u64,
        /// In one family; an upper bound for the layout `hash`.
        fingerprints: u64,
        ids: u64,
        notes: &'a [String],
    },
}

impl Whole {
    pub(super) fn contents(&self) -> Contents<'_> {
        let verified = &self.verified;
        match self.kind {
            Kind::Store => Contents::Store {
                segments: verified.files,
                bytes: verified.bytes,
                fingerprints: verified.fingerprints,
                batches: verified.batches,
                notes: &verified.notes,
            },
            Kind::Shards => Contents::Shards {
                shards: verified.files,
                families: verified.families,
                bytes: verified.bytes,
                blocks: verified.blocks,
                fingerprints: verified.fingerprints,
                ids: verified.ids,
                notes: &verified.notes,
            },
            _ => Contents::File {
                bytes: verified.bytes,
                tables: verified.tables,
                blocks: verified.blocks,
                fingerprints: verified.fingerprints,
                ids: verified.ids,
                names: self.has_names.then_some(verified.names),
            },
        }
    }

    /// Prints a line, and one for each note.
    pub(super) fn print(&self, path: &Path, output: &mut impl Write) -> io::Result<()> {
        let verified = &self.verified;
        let fingerprints = counted(verified.fingerprints, "fingerprint", "fingerprints");
        let blocks = counted(verified.blocks, "block", "blocks");
        let ids = counted(verified.ids, "id", "ids");
        write!(output, "{}: whole: {}, ", path.display(), HumanBytes(verified.bytes))?;
        match self.kind {
            Kind::Store => writeln!(
                output,
                "{fingerprints} in {}, {} in the log",
                counted(verified.files as u64, "segment", "segments"),
                counted(verified.batches, "batch", "batches"),
            )?,
            Kind::Shards => writeln!(
                output,
                "{}{fingerprints} in {}, {blocks}, {ids}",
                if verified.families == 1 { "at most " } else { "" },
                counted(verified.files as u64, "shard", "shards"),
            )?,
            _ => {
                let tables = counted(verified.tables as u64, "table", "tables");
                write!(output, "{fingerprints} in {tables}, {blocks}, {ids}")?;
                if self.has_names {
                    write!(output, ", {}", counted(verified.names, "name", "names"))?;
                }
                writeln!(output)?;
            }
        }
        verified.notes.iter().try_for_each(|note| writeln!(output, "{note}"))
    }
}
