//! The manifest: the authoritative list of the files of a store.
//!
//! - [`text`]: the text form
//! - [`file`]: reading the file and replacing it atomically, with the right to do so
//! - [`leftovers`]: files that it does not name, or no longer
//! - [`salvage`]: reads the intact parts of a damaged one
//! - [`identity`]: the id of a store and the form of its pairs
//!
//! This file has its contents, and the [`Schema`]: the properties that are fixed when a store is created.

pub(crate) mod file;
pub(crate) mod identity;
pub(crate) mod leftovers;
mod salvage;
mod text;

pub(crate) use file::read_named;
pub use file::{ManifestFile, read};
pub use leftovers::leftovers;
pub use salvage::{SalvagedManifest, salvage};
pub use text::{TextError, parse, to_text};

pub use crate::disk::layout::MAX_NUMBER;

use hamdex::{BuildOptions, Codec, Design, DesignError, FilterChoice, Fingerprint, for_width};
use serde::{Deserialize, Serialize};

use crate::log::{MAX_SEQUENCE, Position, Sealed};
use crate::manifest::identity::{Identity, as_hex};

/// The version of the format.
pub const VERSION: u64 = 1;

/// Bytes of a manifest that are read at most.
pub(crate) const MAX_BYTES: usize = text::FORM.bytes_to_read();

/// The contents of a manifest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Manifest {
    /// The id of the store and the form of its pairs.
    pub identity: Identity,
    /// The distance, in bits, for which new segments are designed.
    pub distance: u32,
    /// The name of the design of new segments.
    pub design: String,
    /// The codec of new segments.
    pub codec: Codec,
    /// The filters of new segments.
    pub filter: FilterChoice,
    /// The recipe that turns texts into the fingerprints of this store, if it has one.
    pub recipe: Option<String>,
    /// The definition of the shingles of its documents; `None` in a store without shingles.
    pub shingles: Option<String>,
    /// Whether segments have look-ups by id and by name.
    pub lookups: bool,
    /// The number of this manifest among those of the store, from 1: the greater one is the later one.
    pub generation: u64,
    /// The sequence number of the last batch before the live logs.
    pub sequence: u64,
    /// The first live log.
    pub first_log: u64,
    /// The length of the last log when the store was closed; `None` if it has not been closed since the last flush.
    pub sealed: Option<Sealed>,
    /// The number of the next segment.
    pub next_segment: u64,
    /// In a store with names, an id above all that were assigned before the live logs; otherwise 0.
    pub next_id: u64,
    /// Bytes written over the life of the store.
    pub written: WrittenBytes,
    /// The segments, by ascending number.
    pub segments: Vec<SegmentEntry>,
}

/// Bytes written over the life of a store.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WrittenBytes {
    /// To segments.
    pub segments: u64,
    /// To removals.
    pub removals: u64,
    /// To logs.
    pub logs: u64,
    /// To segments that flushes and ingestion have added: the base of the write amplification.
    pub added: u64,
}

/// The entry of a segment in a manifest.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SegmentEntry {
    /// Its number, which its file name has.
    #[serde(rename = "segment")]
    pub number: u64,
    /// The file id of its file.
    #[serde(with = "as_hex")]
    pub file_id: [u8; 16],
    /// The length of its file, in bytes.
    pub bytes: u64,
    /// The number of its fingerprints, including removed ones.
    pub fingerprints: u64,
    /// The number of its pairs, including removed ones; in a store without ids, the number of its fingerprints.
    pub pairs: u64,
    /// The number of merges that its oldest part has been through.
    pub level: u32,
    /// Removals of batches up to this sequence number do not concern the segment; those of later ones are in `removals`
    /// or in the logs. Only a repair uses it.
    pub born: u64,
    /// The removals of batches up to this sequence number are reflected by the file or by its removals.
    pub applied: u64,
    /// Its removals, if it has any.
    pub removals: Option<RemovalsEntry>,
}

/// The entry of the removals of a segment in a manifest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RemovalsEntry {
    /// Their version, which their file name has.
    pub version: u64,
    /// The number of removed pairs.
    pub count: u64,
}

impl Manifest {
    /// Whether this is a later manifest than another of the same store.
    pub(crate) fn is_later_than(&self, other: &Self) -> bool {
        self.identity.store == other.identity.store && self.generation > other.generation
    }

    /// Returns the generation of the manifest after this one.
    pub(crate) fn next_generation(&self) -> u64 {
        self.generation.saturating_add(1).min(MAX_NUMBER)
    }

    /// Returns the position of the start of the live logs.
    #[must_use]
    pub fn logs_start(&self) -> Position {
        Position::start_of(self.first_log, self.sequence)
    }

    /// Returns the entry of a segment.
    pub(crate) fn entry(&self, segment: u64) -> Option<&SegmentEntry> {
        self.segments.iter().find(|entry| entry.number == segment)
    }

    /// Returns the names of the designs that new segments can have.
    fn designs(&self) -> Vec<String> {
        for_width!(self.identity.width, F => Design::<F>::names(self.distance))
    }

    /// Checks each field by itself and all of them together.
    fn check(&self) -> Result<(), String> {
        if !matches!(self.identity.width, 64 | 128) {
            return Err(format!("a width of {} bits", self.identity.width));
        }
        if self.distance > self.identity.width {
            return Err(format!("a distance of {} bits", self.distance));
        }
        let designs = self.designs();
        if !designs.contains(&self.design) {
            let (design, distance) = (&self.design, self.distance);
            let known = if designs.is_empty() { "none".to_owned() } else { designs.join(", ") };
            return Err(format!("a design {design:?}; the designs for distance {distance} are: {known}"));
        }
        if !(1..=MAX_NUMBER).contains(&self.first_log) {
            return Err("an impossible first log".to_owned());
        }
        if self.identity.has_names && !self.identity.has_ids {
            return Err("names without ids".to_owned());
        }
        if self.identity.has_shingles != self.shingles.is_some() {
            return Err("shingles without a definition, or the reverse".to_owned());
        }
        if self.identity.has_shingles && !self.identity.has_names {
            return Err("shingles without names".to_owned());
        }
        if self.lookups && !self.identity.has_ids {
            return Err("look-ups without ids".to_owned());
        }
        if self.next_id > 0 && !self.identity.has_names {
            return Err("a next id in a store without names".to_owned());
        }
        if !(1..=MAX_NUMBER).contains(&self.generation) {
            return Err("an impossible generation".to_owned());
        }
        if self.sequence > MAX_SEQUENCE {
            return Err("an impossible sequence number".to_owned());
        }
        if self.sealed.is_some_and(|sealed| sealed.log < self.first_log) {
            return Err("a sealed log before the first log".to_owned());
        }
        if self.segments.windows(2).any(|pair| pair[0].number >= pair[1].number) {
            return Err("segments that are not in ascending order".to_owned());
        }
        if self.segments.last().is_some_and(|last| last.number >= self.next_segment)
            || self.next_segment > MAX_NUMBER
        {
            return Err("an impossible next segment".to_owned());
        }
        match self.segments.iter().find(|segment| !segment.is_possible(self.identity.has_ids)) {
            Some(segment) => Err(format!("impossible numbers of segment {}", segment.number)),
            None => Ok(()),
        }
    }
}

impl SegmentEntry {
    fn is_possible(&self, has_ids: bool) -> bool {
        let pairs_are_possible = match has_ids {
            true => self.pairs >= self.fingerprints && (self.fingerprints > 0 || self.pairs == 0),
            false => self.pairs == self.fingerprints,
        };
        let count_is_possible = self.removals.is_none_or(|removals| {
            (1..=self.pairs).contains(&removals.count) && (1..=MAX_NUMBER).contains(&removals.version)
        });
        // The sequence number of the next batch is greater.
        let applied_is_possible = self.applied <= MAX_SEQUENCE;
        pairs_are_possible && count_is_possible && applied_is_possible && self.number > 0
    }
}

/// The properties of a store that are fixed at its creation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Schema {
    pub(crate) identity: Identity,
    /// The distance that its segments are designed for.
    pub(crate) distance: u32,
    /// The name of their design.
    pub(crate) design: String,
    pub(crate) codec: Codec,
    pub(crate) filter: FilterChoice,
    /// The recipe that turns texts into its fingerprints.
    pub(crate) recipe: Option<String>,
    /// The definition of the shingles of its documents.
    pub(crate) shingles: Option<String>,
    /// Whether its segments have look-ups.
    pub(crate) lookups: bool,
}

impl Schema {
    pub(crate) fn of(manifest: &Manifest) -> Self {
        Self {
            identity: manifest.identity,
            distance: manifest.distance,
            design: manifest.design.clone(),
            codec: manifest.codec,
            filter: manifest.filter,
            recipe: manifest.recipe.clone(),
            shingles: manifest.shingles.clone(),
            lookups: manifest.lookups,
        }
    }

    /// Returns the design of its segments.
    pub(crate) fn design<F: Fingerprint>(&self) -> Result<Design<F>, DesignError> {
        Design::named(&self.design, self.distance)
    }

    /// Returns the options by which its segments are built.
    pub(crate) fn build_options<F: Fingerprint>(&self) -> Result<BuildOptions<F>, DesignError> {
        let options = BuildOptions::new().design(self.design()?).codec(self.codec).filter(self.filter);
        let Identity { has_ids, has_names, has_shingles, .. } = self.identity;
        Ok(options.ids(has_ids).names(has_names).shingles(has_shingles).lookups(self.lookups))
    }
}
