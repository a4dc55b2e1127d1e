//! The report on an index that was built or merged.

use std::borrow::Cow;
use std::io::Write;
use std::path::Path;

use hamdex::{Codec, Summary};
use indicatif::{HumanBytes, HumanCount};
use serde::Serialize;

use crate::failure::Failure;
use crate::messages::{self, counted};
use crate::standard_output;

/// A finished index.
pub(crate) struct BuildReport<'a> {
    /// The path as the user gave it.
    pub(crate) output: &'a Path,
    pub(crate) summary: &'a Summary,
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
    merged: Option<usize>,
    read: u64,
    fingerprints: u64,
    ids: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    documents: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    too_short: Option<u64>,
    design: &'a str,
    codec: &'static str,
    bytes: u64,
    bytes_per_fingerprint: f64,
    seconds: f64,
}

impl BuildReport<'_> {
    /// Prints the report as a JSON object on standard output, or as a sentence on standard error.
    pub(crate) fn print(&self, json: bool) -> Result<(), Failure> {
        if !json {
            self.say();
            return Ok(());
        }
        let mut output = standard_output::lines();
        serde_json::to_writer(&mut output, &self.fields()).map_err(std::io::Error::from)?;
        writeln!(output)?;
        Ok(())
    }

    fn bytes_per_fingerprint(&self) -> f64 {
        self.summary.bytes as f64 / self.summary.fingerprints.max(1) as f64
    }

    fn fields(&self) -> Fields<'_> {
        let summary = self.summary;
        Fields {
            output: self.output.to_string_lossy(),
            merged: self.merged,
            read: summary.pushed,
            fingerprints: summary.fingerprints,
            ids: summary.ids,
            documents: self.documents.map(|(all, _)| all),
            too_short: self.documents.map(|(_, too_short)| too_short),
            design: &summary.design,
            codec: self.codec.name(),
            bytes: summary.bytes,
            bytes_per_fingerprint: self.bytes_per_fingerprint(),
            seconds: self.seconds,
        }
    }

    fn say(&self) {
        let Self { summary, seconds, .. } = self;
        let from = match self.merged {
            None => String::new(),
            Some(count) => format!(" from {}", counted(count as u64, "index", "indexes")),
        };
        let ids = match summary.ids {
            0 => String::new(),
            some => format!(", {}", counted(some, "id", "ids")),
        };
        messages::summary(format_args!(
            "{}: {} read{from}, {} distinct{ids}; design {}, {}; {} ({:.2} bytes per fingerprint) in {seconds:.1} s",
            self.output.display(),
            counted(summary.pushed, "fingerprint", "fingerprints"),
            HumanCount(summary.fingerprints),
            summary.design,
            self.codec,
            HumanBytes(summary.bytes),
            self.bytes_per_fingerprint(),
        ));
    }
}
