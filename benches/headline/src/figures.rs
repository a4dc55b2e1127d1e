//! The figures of a run, saved after each stage so that a killed run continues with the next one.

use std::fs;
use std::io::{ErrorKind, Write};
use std::path::Path;

use anyhow::{Context, Result, bail};
use hamdex_atomic_file::AtomicFile;
use serde::{Deserialize, Serialize};

use crate::system::Cost;

/// The figures of a run, and its parameters.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Figures {
    pub of: Measured,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub build: Option<Build>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub online: Option<Online>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub batch: Option<Batch>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub check: Option<Check>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pairs: Option<Pairs>,
}

/// The parameters of a run, which can be continued only with the same parameters.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Measured {
    pub log2: u32,
    pub design: String,
    pub codec: String,
    /// Runs of versions without filters do not name it.
    #[serde(default = "none")]
    pub filter: String,
    pub memory_bytes: u64,
    pub queries: usize,
    pub batch: usize,
    pub strategy: String,
    pub checked: usize,
    pub processor: String,
    pub version: String,
}

fn none() -> String {
    "none".into()
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Build {
    pub cost: Cost,
    pub peak_memory_bytes: u64,
    pub file_bytes: u64,
    /// The temporary files, by estimate.
    pub temporary_bytes: u64,
}

/// Queries one by one, on a file of which nothing is in memory at first.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Online {
    pub open_seconds: f64,
    pub open_memory_bytes: u64,
    pub median_seconds: f64,
    pub p99_seconds: f64,
    pub pages_per_query: f64,
    pub expected_pages_per_query: f64,
    pub major_faults_per_query: f64,
}

/// All queries at once, on a file of which nothing is in memory at first.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Batch {
    pub cost: Cost,
    pub peak_memory_bytes: u64,
    pub matches: u64,
    pub planted: u64,
    pub planted_found: u64,
    /// The time to read the whole file sequentially, measured in the same run.
    pub sequential_seconds: f64,
}

/// Answers compared with brute force.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Check {
    pub queries: usize,
    pub matches: u64,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Pairs {
    pub cost: Cost,
    pub peak_memory_bytes: u64,
    pub found: u64,
    pub expected: f64,
}

impl Figures {
    /// Loads the figures of an interrupted run, or creates empty ones.
    pub(crate) fn begin_or_go_on(path: &Path, of: Measured) -> Result<Self> {
        let text = match fs::read_to_string(path) {
            Err(error) if error.kind() == ErrorKind::NotFound => {
                return Ok(Self { of, build: None, online: None, batch: None, check: None, pairs: None });
            }
            text => text.with_context(|| format!("cannot read {}", path.display()))?,
        };
        let begun: Self = serde_json::from_str(&text)
            .with_context(|| format!("{}: no figures; remove it to begin again", path.display()))?;
        if begun.of != of {
            bail!(
                "{}: a run with other options or on another machine; finish it with those, or remove it to begin again",
                path.display()
            );
        }
        Ok(begun)
    }

    pub(crate) fn save(&self, path: &Path) -> Result<()> {
        let mut text = serde_json::to_string_pretty(self)?;
        text.push('\n');
        write(path, &text)
    }
}

/// Writes a small file atomically.
pub(crate) fn write(path: &Path, text: &str) -> Result<()> {
    let mut file = AtomicFile::options().overwrite(true).create(path)?;
    file.write_all(text.as_bytes())?;
    file.finish()?;
    Ok(())
}
