//! The manifest: the one truth about which files of the store count.
//!
//! - [`text`]: the manifest as text, and back
//! - [`file`]: reading it, and replacing it atomically
//! - [`current`]: the manifest that is in place, and the right to replace it
//! - [`leftovers`]: files that it does not name
//! - [`salvage`]: what can be read of a damaged one
//! - [`identity`], [`schema`]: what is settled when a store is created

pub(crate) mod current;
mod file;
pub(crate) mod identity;
mod leftovers;
mod salvage;
pub(crate) mod schema;
mod text;

pub(crate) use file::read_named;
pub use file::{ManifestFile, read};
pub(crate) use leftovers::fits_its_file;
pub use leftovers::{Leftovers, leftovers};
pub use salvage::{SalvagedManifest, salvage};
pub use text::{TextError, parse, to_text};

use hamdex::{Codec, Design};

use crate::log::{MAX_SEQUENCE, Position, Sealed};
use crate::manifest::identity::Identity;

/// The version of the format that this program writes and reads.
pub const VERSION: u64 = 1;

/// So many bytes of a manifest are read at most.
pub(crate) const MAX_BYTES: usize = text::FORM.bytes_to_read();

/// The greatest number of a segment or a log: 2^53, which every reader of JSON has exactly.
pub const MAX_NUMBER: u64 = 1 << 53;

/// What a manifest says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Manifest {
    /// Which store, and what its pairs look like.
    pub identity: Identity,
    /// The distance, in bits, for which new segments are designed.
    pub distance: u32,
    /// The name of the design of new segments, as it was chosen.
    pub design: String,
    /// The codec of new segments.
    pub codec: Codec,
    /// The recipe by which texts become the fingerprints of this store, if it was given one.
    pub recipe: Option<String>,
    /// The sequence number of the last batch that is not in the logs: all later ones are.
    pub sequence: u64,
    /// The first log that counts.
    pub first_log: u64,
    /// How long the last log was when the store was closed; `None` while it is written to for the first time.
    pub sealed: Option<Sealed>,
    /// The number of the next segment.
    pub next_segment: u64,
    /// In a store with names, an id above all that were given before the logs that count; 0 elsewhere.
    pub next_id: u64,
    /// How many bytes have been written over the life of the store.
    pub written: Written,
    /// The segments, by ascending numbers.
    pub segments: Vec<SegmentEntry>,
}

/// Bytes that have been written over the life of a store.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Written {
    /// To segments.
    pub segments: u64,
    /// To removals.
    pub removals: u64,
    /// To logs.
    pub logs: u64,
    /// To segments that brought pairs into the store, by a flush or from outside: what the others are compared with.
    pub added: u64,
}

/// What a manifest says of one segment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SegmentEntry {
    /// Its number, by which its file is named.
    pub number: u64,
    /// The file id of its file.
    pub file_id: [u8; 16],
    /// How long its file is.
    pub bytes: u64,
    /// How many fingerprints it has, removed ones included.
    pub fingerprints: u64,
    /// How many pairs it has, removed ones included; of a store without ids: how many fingerprints.
    pub pairs: u64,
    /// How often its oldest part has been merged.
    pub level: u32,
    /// The sequence number of the store when the segment joined it.
    pub born: u64,
    /// All removals up to this sequence number are in the segment or in its removals.
    pub applied: u64,
    /// Which of its pairs are gone, if any are.
    pub removals: Option<RemovalsEntry>,
}

/// What a manifest says of the removals of a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RemovalsEntry {
    /// Their version, by which their file is named.
    pub version: u64,
    /// How many pairs are gone.
    pub count: u64,
}

impl Manifest {
    /// Where the logs begin.
    #[must_use]
    pub fn logs_start(&self) -> Position {
        Position::start_of(self.first_log, self.sequence)
    }

    /// The names of the designs that its new segments can have.
    fn designs(&self) -> Vec<String> {
        match self.identity.width {
            128 => Design::<u128>::names(self.distance),
            _ => Design::<u64>::names(self.distance),
        }
    }

    /// What is wrong with it, if anything is: each field by itself, and all of them together.
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
            return Err(format!("a design {design:?}, where those for distance {distance} are: {known}"));
        }
        if !(1..=MAX_NUMBER).contains(&self.first_log) {
            return Err("a first log that cannot be".to_owned());
        }
        if self.identity.has_names && !self.identity.has_ids {
            return Err("names without ids".to_owned());
        }
        if self.next_id > 0 && !self.identity.has_names {
            return Err("a next id in a store that gives none".to_owned());
        }
        if self.sequence > MAX_SEQUENCE {
            return Err("a sequence number that cannot be".to_owned());
        }
        if self.sealed.is_some_and(|sealed| sealed.log < self.first_log) {
            return Err("a sealed log that does not count".to_owned());
        }
        if self.segments.windows(2).any(|pair| pair[0].number >= pair[1].number) {
            return Err("segments that are not in ascending order".to_owned());
        }
        if self.segments.last().is_some_and(|last| last.number >= self.next_segment)
            || self.next_segment > MAX_NUMBER
        {
            return Err("a next segment that cannot be".to_owned());
        }
        match self.segments.iter().find(|segment| !segment.is_possible(self.identity.has_ids)) {
            Some(segment) => Err(format!("numbers of segment {} that cannot be", segment.number)),
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
        let count_is_possible = self
            .removals
            .is_none_or(|removals| (1..=self.pairs).contains(&removals.count) && removals.version > 0);
        // The next batch has a number above it.
        let applied_is_possible = self.applied <= MAX_SEQUENCE;
        pairs_are_possible && count_is_possible && applied_is_possible && self.number > 0
    }
}
