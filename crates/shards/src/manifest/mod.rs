//! The manifest: the shards of the set, and the distribution of fingerprints over them.
//!
//! - [`text`]: encoding to text, and decoding
//! - [`file`]: reading and writing it, and unlisted files in the directory

mod file;
mod text;

pub use file::{is_set, read};
pub(crate) use file::{unlisted_files, write};

use std::collections::HashSet;
use std::fmt;

use serde::{Deserialize, Serialize};

/// The name of the manifest in the directory of its set.
pub const MANIFEST: &str = hamdex_manifest::MANIFEST;

/// The version of the format that this program writes and reads.
pub const VERSION: u64 = 1;

/// The maximum number of shards of a set, all families together: a process may have about twice as many mappings by
/// default.
pub const MAX_SHARDS: usize = 1 << 15;

/// The maximum of a count of a shard: sums over all shards fit into 64 bits, and every reader of JSON represents them
/// exactly.
const MAX_COUNT: u64 = 1 << 48;

/// The distribution of fingerprints over the shards of a set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Layout {
    /// Any fingerprint may be in any shard, or in several. A query searches all shards.
    Hash,
    /// There are distance + 1 families of shards. Each family has every fingerprint once, distributed by a group of its
    /// bits. A query within the distance searches one shard of each family.
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

/// The kind of the ids of a set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum IdType {
    /// Numbers, with the same meaning in all shards.
    Numbers,
    /// Names: the number of a name is local to its shard.
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

/// The manifest entry of a shard.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ShardEntry {
    /// The name of its file, in the directory of the set.
    pub file: String,
    /// Number of fingerprints.
    pub fingerprints: u64,
    /// Number of ids; 0 in a set without ids.
    pub ids: u64,
    /// Length of the file, in bytes.
    pub bytes: u64,
    /// The file id of its file: 32 lower-case hexadecimal digits.
    pub file_id: String,
}

/// The manifest of a set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Manifest {
    /// The distribution of fingerprints over the shards.
    pub layout: Layout,
    /// The width of the fingerprints, in bits: 64 or 128.
    pub width: u32,
    /// The distance, in bits, for which the shards and families are built.
    pub distance: u32,
    /// The recipe of the fingerprints, if they are fingerprints of texts.
    pub recipe: Option<String>,
    /// The kind of the ids; `None` without ids.
    pub id_type: Option<IdType>,
    /// The definition of the shingles that the shards of the first family keep; `None` without shingles.
    pub shingles: Option<String>,
    /// The shards; in a set of families, ordered by family and then by number within the family.
    pub shards: Vec<ShardEntry>,
}

impl Manifest {
    /// Returns the number of families; 1 in layout `hash`.
    #[must_use]
    pub fn families(&self) -> usize {
        match self.layout {
            Layout::Hash => 1,
            Layout::Families => self.distance as usize + 1,
        }
    }

    /// Returns shards that together have every fingerprint: all shards in layout `hash`, otherwise the first family.
    #[must_use]
    pub fn first_family(&self) -> &[ShardEntry] {
        &self.shards[..self.shards.len() / self.families()]
    }

    /// Returns the number of fingerprints; in layout `hash` an upper bound, since one may be in several shards.
    #[must_use]
    pub fn fingerprints(&self) -> u64 {
        self.first_family().iter().map(|shard| shard.fingerprints).sum()
    }

    /// Returns the number of (fingerprint, id) pairs; in layout `hash` an upper bound.
    #[must_use]
    pub fn ids(&self) -> u64 {
        self.first_family().iter().map(|shard| shard.ids).sum()
    }

    /// Returns the size of all shards, in bytes.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.shards.iter().map(|shard| shard.bytes).sum()
    }

    /// Checks that its values are consistent; returns the contradiction otherwise.
    pub(crate) fn check(&self) -> Result<(), String> {
        if !matches!(self.width, 64 | 128) {
            return Err(format!("unsupported width of {} bits", self.width));
        }
        let most = if self.layout == Layout::Families { self.width - 1 } else { self.width };
        if self.distance > most {
            return Err(format!("impossible distance of {} bits", self.distance));
        }
        if self.shards.is_empty() || self.shards.len() > MAX_SHARDS {
            return Err(format!("{} shards instead of 1 to {MAX_SHARDS}", self.shards.len()));
        }
        if !self.shards.len().is_multiple_of(self.families()) {
            return Err(format!("{} shards for {} families", self.shards.len(), self.families()));
        }
        if self.shingles.is_some() && self.id_type.is_none() {
            return Err("shingles without ids".to_owned());
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
            return Err("families with different contents".to_owned());
        }
        Ok(())
    }
}

impl ShardEntry {
    /// Returns whether it is the same file, or has the same name.
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
            return Err("its name is not a plain file name");
        }
        if self.file_id.len() != 32 || !self.file_id.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f')) {
            return Err("its file id is not valid");
        }
        if [self.fingerprints, self.ids, self.bytes].into_iter().any(|count| count > MAX_COUNT) {
            return Err("an impossible count");
        }
        let are_possible = match id_type {
            None => self.ids == 0,
            Some(_) => self.ids >= self.fingerprints && (self.fingerprints > 0 || self.ids == 0),
        };
        if are_possible { Ok(()) } else { Err("an impossible number of ids") }
    }
}
