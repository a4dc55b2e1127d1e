//! The report on an index, or a set of shards, that was built or merged.

use std::borrow::Cow;
use std::io::Write;
use std::path::Path;

use hamdex::{Codec, Summary};
use hamdex_shards::ShardsSummary;
use indicatif::{HumanBytes, HumanCount};
use serde::Serialize;

use crate::failure::Failure;
use crate::messages::{self, counted};
use crate::standard_output;

/// A finished build.
pub(crate) enum Finished {
    File(Summary),
    Shards(ShardsSummary),
}

/// A finished build, how it was made, and how long it took.
pub(crate) struct BuildReport<'a> {
    /// The path as the user gave it.
    pub(crate) output: &'a Path,
    pub(crate) finished: &'a Finished,
    pub(crate) codec: Codec,
    /// The number of documents, and how many of them were too short, if the inputs were documents.
    pub(crate) documents: Option<(u64, u64)>,
    /// The number of merged indexes, after a merge.
    pub(crate) merged: Option<usize>,
    pub(crate) seconds: f64,
}

/// The object that `--json` prints.
#[derive(Serialize)]
struct Fields<'a> {
    output: Cow<'a, str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    layout: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    families: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    shards: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    merged: Option<usize>,
    read: u64,
    fingerprints: u64,
    ids: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    documents: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    too_short: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    design: Option<&'a str>,
    codec: &'static str,
    bytes: u64,
    bytes_per_fingerprint: f64,
    seconds: f64,
}

impl BuildReport<'_> {
    /// Prints the report as a JSON object on standard output, or as a sentence on standard error.
    pub(crate) fn print(&self, json: bool) -> Result<(), Failure> {
        let fields = self.fields();
        if !json {
            self.say(&fields);
            return Ok(());
        }
        let mut output = standard_output::lines();
        serde_json::to_writer(&mut output, &fields).map_err(std::io::Error::from)?;
        writeln!(output)?;
        Ok(())
    }

    fn fields(&self) -> Fields<'_> {
        match self.finished {
            Finished::File(Summary { pushed, fingerprints, ids, bytes, design, .. }) => {
                Fields { design: Some(design), ..self.counts(*pushed, *fingerprints, *ids, *bytes) }
            }
            Finished::Shards(ShardsSummary { pushed, manifest, .. }) => Fields {
                layout: Some(manifest.layout.to_string()),
                families: Some(manifest.families()),
                shards: Some(manifest.shards.len()),
                ..self.counts(*pushed, manifest.fingerprints(), manifest.ids(), manifest.bytes())
            },
        }
    }

    /// Returns the fields that files and sets of shards share.
    fn counts(&self, read: u64, fingerprints: u64, ids: u64, bytes: u64) -> Fields<'_> {
        Fields {
            output: self.output.to_string_lossy(),
            layout: None,
            families: None,
            shards: None,
            merged: self.merged,
            read,
            fingerprints,
            ids,
            documents: self.documents.map(|(all, _)| all),
            too_short: self.documents.map(|(_, too_short)| too_short),
            design: None,
            codec: self.codec.name(),
            bytes,
            bytes_per_fingerprint: bytes as f64 / fingerprints.max(1) as f64,
            seconds: self.seconds,
        }
    }

    fn say(&self, fields: &Fields<'_>) {
        let from = match self.merged {
            None => String::new(),
            Some(count) => format!(" from {}", counted(count as u64, "index", "indexes")),
        };
        let ids = match fields.ids {
            0 => String::new(),
            some => format!(", {}", counted(some, "id", "ids")),
        };
        let shape = match self.finished {
            Finished::File(summary) => format!("design {}", summary.design),
            Finished::Shards(ShardsSummary { manifest, .. }) => match manifest.families() {
                1 => format!("{} shards", HumanCount(manifest.shards.len() as u64)),
                families => format!("{families} families of {} shards", manifest.first_family().len()),
            },
        };
        messages::summary(format_args!(
            "{}: {} read{from}, {} distinct{ids}; {shape}, {}; {} ({:.2} bytes per fingerprint) in {:.1} s",
            self.output.display(),
            counted(fields.read, "fingerprint", "fingerprints"),
            HumanCount(fields.fingerprints),
            self.codec,
            HumanBytes(fields.bytes),
            fields.bytes_per_fingerprint,
            self.seconds,
        ));
    }
}
