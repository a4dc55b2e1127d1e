//! The manifest: which files are shards of the set, and how fingerprints are spread over them.
//!
//! - [`text`]: the manifest as text, and back
//! - [`file`]: reading and writing it, and files in the directory that it does not name

mod file;
mod text;

pub use file::{is_set, read};
pub(crate) use file::{strangers, write};

use std::collections::HashSet;
use std::fmt;

use serde::{Deserialize, Serialize};

/// The name of the manifest in the directory of its set.
pub const MANIFEST: &str = hamdex_manifest::MANIFEST;

/// The version of the format that this program writes and reads.
pub const VERSION: u64 = 1;

/// The most shards of a set, all families together: a process may have about twice as many mappings by default.
pub const MAX_SHARDS: usize = 1 << 15;

/// The greatest count of a shard: those of all shards sum to less than 64 bits, and every reader of JSON has them exactly.
const MAX_COUNT: u64 = 1 << 48;

/// How fingerprints are spread over the shards of a set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Layout {
    /// Any fingerprint may be in any shard, in several too. A query asks all of them.
    Hash,
    /// Each family of shards holds every fingerprint once, spread by a group of its bits: one family more than the
    /// distance. A query within the distance asks one shard of each family.
    Families,
}

impl fmt::Display for Layout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Hash => "hash",
            Self::Families => "families",
        })
    }
}

/// What the ids of a set are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum IdType {
    /// Numbers, which mean the same in all shards.
    Numbers,
    /// Names: the number behind a name means something in its own shard only.
    Names,
}

impl fmt::Display for IdType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Numbers => "numbers",
            Self::Names => "names",
        })
    }
}

/// What a manifest says of one shard.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ShardEntry {
    /// The name of its file, in the directory of the set.
    pub file: String,
    /// How many fingerprints it has.
    pub fingerprints: u64,
    /// How many ids it has: 0 in a set without ids.
    pub ids: u64,
    /// How long its file is.
    pub bytes: u64,
    /// The file id of its file: 32 lower-case hexadecimal digits.
    pub file_id: String,
}

/// What the manifest of a set says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Manifest {
    /// How fingerprints are spread over the shards.
    pub layout: Layout,
    /// The width of the fingerprints, in bits: 64 or 128.
    pub width: u32,
    /// The distance, in bits, for which the shards, and the families, are made.
    pub distance: u32,
    /// The recipe by which texts became these fingerprints, if they are those of texts.
    pub recipe: Option<String>,
    /// What the ids are; `None` without ids.
    pub id_type: Option<IdType>,
    /// The shards; of families, all of the first family by their number in it, then those of the second, and so on.
    pub shards: Vec<ShardEntry>,
}

impl Manifest {
    /// How many families there are; 1 of layout `hash`.
    #[must_use]
    pub fn families(&self) -> usize {
        match self.layout {
            Layout::Hash => 1,
            Layout::Families => self.distance as usize + 1,
        }
    }

    /// The shards that hold every fingerprint together: all of layout `hash`, or those of the first family.
    #[must_use]
    pub fn first_family(&self) -> &[ShardEntry] {
        &self.shards[..self.shards.len() / self.families()]
    }

    /// How many fingerprints the set has; of layout `hash` at most, since one may lie in several shards.
    #[must_use]
    pub fn fingerprints(&self) -> u64 {
        self.first_family().iter().map(|shard| shard.fingerprints).sum()
    }

    /// How many ids it has, those of each fingerprint counted; of layout `hash` at most.
    #[must_use]
    pub fn ids(&self) -> u64 {
        self.first_family().iter().map(|shard| shard.ids).sum()
    }

    /// The bytes of all shards.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.shards.iter().map(|shard| shard.bytes).sum()
    }

    /// What is wrong with it, if anything is.
    pub(crate) fn check(&self) -> Result<(), String> {
        if !matches!(self.width, 64 | 128) {
            return Err(format!("a width of {} bits", self.width));
        }
        let most = if self.layout == Layout::Families { self.width - 1 } else { self.width };
        if self.distance > most {
            return Err(format!("a distance of {} bits", self.distance));
        }
        if self.shards.is_empty() || self.shards.len() > MAX_SHARDS {
            return Err(format!("{} shards, where there are 1 to {MAX_SHARDS}", self.shards.len()));
        }
        if !self.shards.len().is_multiple_of(self.families()) {
            return Err(format!("{} shards for {} families", self.shards.len(), self.families()));
        }
        let mut names = HashSet::new();
        for shard in &self.shards {
            shard.check(self.id_type).map_err(|what| format!("shard {:?}: {what}", shard.file))?;
            if !names.insert(&shard.file) {
                return Err(format!("shard {:?} is named twice", shard.file));
            }
        }
        let counts = |family: &[ShardEntry]| {
            family.iter().fold((0u64, 0u64), |sums, one| (sums.0 + one.fingerprints, sums.1 + one.ids))
        };
        let mut families = self.shards.chunks(self.shards.len() / self.families()).map(counts);
        let first = families.next();
        if families.any(|family| Some(family) != first) {
            return Err("families that do not hold the same".to_owned());
        }
        Ok(())
    }
}

impl ShardEntry {
    /// Whether it is the same file, or has the same name.
    pub(crate) fn is_like(&self, other: &Self) -> bool {
        self.file_id == other.file_id || self.file == other.file
    }

    fn check(&self, id_type: Option<IdType>) -> Result<(), &'static str> {
        let is_plain = |name: &str| {
            !matches!(name, "" | "." | ".." | MANIFEST)
                && !name.contains(['/', '\\', ':'])
                && !name.contains(char::is_control)
        };
        if !is_plain(&self.file) {
            return Err("its name is not that of a file in the directory");
        }
        if self.file_id.len() != 32 || !self.file_id.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f')) {
            return Err("its file id is none");
        }
        if [self.fingerprints, self.ids, self.bytes].into_iter().any(|count| count > MAX_COUNT) {
            return Err("a count that cannot be");
        }
        let are_possible = match id_type {
            None => self.ids == 0,
            Some(_) => self.ids >= self.fingerprints && (self.fingerprints > 0 || self.ids == 0),
        };
        if are_possible { Ok(()) } else { Err("ids that cannot be as many") }
    }
}
