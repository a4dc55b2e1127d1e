//! What was read and found right.

use std::io::{self, Write};
use std::path::Path;

use hamdex::Verified;
use hamdex_shards::ShardsVerified;
use hamdex_store::StoreVerified;
use indicatif::HumanBytes;
use serde::Serialize;

use crate::counted::counted;

/// What was read and found right.
pub(super) enum Whole {
    /// A file, and whether its ids have names.
    File(Verified, bool),
    Store(StoreVerified),
    Shards(ShardsVerified),
}

/// What `--json` prints of it.
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
        /// In one family; of layout `hash` at most.
        fingerprints: u64,
        ids: u64,
        notes: &'a [String],
    },
}

impl Whole {
    pub(super) fn contents(&self) -> Contents<'_> {
        match self {
            Self::File(verified, has_names) => Contents::File {
                bytes: verified.bytes,
                tables: verified.tables,
                blocks: verified.blocks,
                fingerprints: verified.fingerprints,
                ids: verified.ids,
                names: has_names.then_some(verified.names),
            },
            Self::Store(verified) => Contents::Store {
                segments: verified.segments,
                bytes: verified.bytes,
                fingerprints: verified.fingerprints,
                batches: verified.batches,
                notes: &verified.notes,
            },
            Self::Shards(verified) => Contents::Shards {
                shards: verified.shards,
                families: verified.families,
                bytes: verified.bytes,
                blocks: verified.blocks,
                fingerprints: verified.fingerprints,
                ids: verified.ids,
                notes: &verified.notes,
            },
        }
    }

    /// Prints a line, and one for each note.
    pub(super) fn print(&self, path: &Path, output: &mut impl Write) -> io::Result<()> {
        match self {
            Self::File(verified, has_names) => writeln!(
                output,
                "{}: whole: {}, {} in {}, {}, {}{}",
                path.display(),
                HumanBytes(verified.bytes),
                counted(verified.fingerprints, "fingerprint", "fingerprints"),
                counted(verified.tables as u64, "table", "tables"),
                counted(verified.blocks, "block", "blocks"),
                counted(verified.ids, "id", "ids"),
                if *has_names {
                    format!(", {}", counted(verified.names, "name", "names"))
                } else {
                    String::new()
                },
            ),
            Self::Store(verified) => {
                writeln!(
                    output,
                    "{}: whole: {}, {} in {}, {} in the log",
                    path.display(),
                    HumanBytes(verified.bytes),
                    counted(verified.fingerprints, "fingerprint", "fingerprints"),
                    counted(verified.segments as u64, "segment", "segments"),
                    counted(verified.batches, "batch", "batches"),
                )?;
                verified.notes.iter().try_for_each(|note| writeln!(output, "{note}"))
            }
            Self::Shards(verified) => {
                writeln!(
                    output,
                    "{}: whole: {}, {}{} in {}, {}, {}",
                    path.display(),
                    HumanBytes(verified.bytes),
                    if verified.families == 1 { "at most " } else { "" },
                    counted(verified.fingerprints, "fingerprint", "fingerprints"),
                    counted(verified.shards as u64, "shard", "shards"),
                    counted(verified.blocks, "block", "blocks"),
                    counted(verified.ids, "id", "ids"),
                )?;
                verified.notes.iter().try_for_each(|note| writeln!(output, "{note}"))
            }
        }
    }
}
