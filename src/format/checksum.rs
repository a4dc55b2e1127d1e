//! CRC-32 over a unit *and its context*: the file's id, what kind of unit it is, of which table, and
//! its number. A unit that is read from the wrong place or the wrong file fails like a damaged one.
//!
//! [`Checked`] has the units that have been verified.

use std::sync::atomic::{AtomicU64, Ordering};

use crc32fast::Hasher;

use crate::arch::prefetch;
use crate::format::FileId;

/// The kind of a checksummed unit. The number is that of format-spec.md.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum UnitKind {
    Block,
    Keys,
    Ids,
    IdStarts,
    IdDirectory,
    Metadata,
    Footer,
    Trailer,
    NameDirectory,
    Names,
    /// Optional sections, from here on.
    Filter,
    ShingleDirectory,
    IdLookup,
    NameLookup,
    ShinglePairs,
    ShingleKeys,
    /// An optional section of another kind, by its number.
    Other(u32),
}

/// The least number of an optional section: a reader skips unknown ones.
const FIRST_OPTIONAL: u32 = 256;

impl UnitKind {
    /// The kinds that the footer lists.
    pub(crate) const SECTIONS: [Self; 8] = [
        Self::Block,
        Self::Keys,
        Self::Ids,
        Self::IdStarts,
        Self::IdDirectory,
        Self::Metadata,
        Self::NameDirectory,
        Self::Names,
    ];

    /// The optional kinds that this version knows.
    const KNOWN_OPTIONAL: [Self; 6] = [
        Self::Filter,
        Self::ShingleDirectory,
        Self::IdLookup,
        Self::NameLookup,
        Self::ShinglePairs,
        Self::ShingleKeys,
    ];

    /// The most optional sections that belong to no table: as many as the known kinds, since the shingles by document of
    /// earlier versions come in place of filters.
    pub(crate) const MAX_OPTIONAL_OF_FILE: u32 = Self::KNOWN_OPTIONAL.len() as u32;

    /// Returns the number in the format.
    pub(crate) fn number(self) -> u32 {
        match self {
            Self::Block => 1,
            Self::Keys => 2,
            Self::Ids => 3,
            Self::IdStarts => 4,
            Self::IdDirectory => 5,
            Self::Metadata => 6,
            Self::Footer => 7,
            Self::Trailer => 8,
            Self::NameDirectory => 9,
            Self::Names => 10,
            Self::Filter => FIRST_OPTIONAL,
            Self::ShingleDirectory => FIRST_OPTIONAL + 1,
            Self::IdLookup => FIRST_OPTIONAL + 3,
            Self::NameLookup => FIRST_OPTIONAL + 4,
            Self::ShinglePairs => FIRST_OPTIONAL + 5,
            Self::ShingleKeys => FIRST_OPTIONAL + 6,
            Self::Other(number) => number,
        }
    }

    /// Returns the kind of a section that a footer lists; `None` if it is unknown and not optional.
    pub(crate) fn of_section(number: u32) -> Option<Self> {
        let known =
            || Self::SECTIONS.into_iter().chain(Self::KNOWN_OPTIONAL).find(|kind| kind.number() == number);
        known().or_else(|| (number >= FIRST_OPTIONAL).then_some(Self::Other(number)))
    }

    /// Returns whether a section of this kind is blocks, which have their own checksums, rather than pages.
    pub(crate) fn is_blocks(self) -> bool {
        matches!(self, Self::Block | Self::ShinglePairs)
    }

    /// Returns whether a file may lack a section of this kind, and a reader may skip it.
    pub(crate) fn is_optional(self) -> bool {
        self.number() >= FIRST_OPTIONAL
    }
}

/// The context that all units of one section share, digested once.
#[derive(Debug, Clone)]
pub(crate) struct Context {
    digested: Hasher,
}

impl Context {
    /// For the units of that kind of that table (0 if there is no table) of that file.
    pub(crate) fn new(file: FileId, kind: UnitKind, table: usize) -> Self {
        let mut digested = Hasher::new();
        digested.update(&file.0);
        digested.update(&kind.number().to_le_bytes());
        digested.update(&(table as u32).to_le_bytes());
        Self { digested }
    }

    /// Returns the checksum of the unit of that number.
    #[inline]
    pub(crate) fn checksum(&self, number: u64, unit: &[u8]) -> u32 {
        let mut hasher = self.digested.clone();
        hasher.update(&number.to_le_bytes());
        hasher.update(unit);
        hasher.finalize()
    }
}

/// A set of unit numbers that only grows.
///
/// Relaxed order is enough: a bit guards no data, it only saves a second check of bytes that
/// never change.
#[derive(Debug, Default)]
pub(crate) struct Checked {
    words: Box<[AtomicU64]>,
}

impl Checked {
    /// Returns the empty set of numbers below `units`.
    pub(crate) fn new(units: usize) -> Self {
        Self { words: (0..units.div_ceil(64)).map(|_| AtomicU64::new(0)).collect() }
    }

    #[inline]
    pub(crate) fn contains(&self, unit: usize) -> bool {
        self.words[unit / 64].load(Ordering::Relaxed) & 1 << (unit % 64) != 0
    }

    /// Prefetches the memory that [`Self::contains`] reads.
    #[inline(always)]
    pub(crate) fn prefetch(&self, unit: usize) {
        prefetch(&self.words, unit / 64);
    }

    pub(crate) fn insert(&self, unit: usize) {
        self.words[unit / 64].fetch_or(1 << (unit % 64), Ordering::Relaxed);
    }

    /// Returns the bytes of memory in use.
    pub(crate) fn bytes(&self) -> usize {
        size_of_val(&*self.words)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_of_the_context_counts() {
        let base = Context::new(FileId([7; 16]), UnitKind::Block, 3).checksum(5, b"unit");
        for other in [
            Context::new(FileId([8; 16]), UnitKind::Block, 3).checksum(5, b"unit"),
            Context::new(FileId([7; 16]), UnitKind::Keys, 3).checksum(5, b"unit"),
            Context::new(FileId([7; 16]), UnitKind::Block, 4).checksum(5, b"unit"),
            Context::new(FileId([7; 16]), UnitKind::Block, 3).checksum(6, b"unit"),
            Context::new(FileId([7; 16]), UnitKind::Block, 3).checksum(5, b"Unit"),
        ] {
            assert_ne!(other, base);
        }
    }

    #[test]
    fn it_is_the_usual_crc_of_the_bytes_in_a_row() {
        let mut bytes = vec![9; 16];
        bytes.extend(1u32.to_le_bytes());
        bytes.extend(2u32.to_le_bytes());
        bytes.extend(3u64.to_le_bytes());
        bytes.extend(b"unit");
        let context = Context::new(FileId([9; 16]), UnitKind::Block, 2);
        assert_eq!(context.checksum(3, b"unit"), crc32fast::hash(&bytes));
    }

    #[test]
    fn it_remembers_each_unit_alone() {
        let checked = Checked::new(130);
        for unit in [0, 63, 64, 129] {
            assert!(!checked.contains(unit));
            checked.insert(unit);
            assert!(checked.contains(unit));
        }
        assert_eq!((0..130).filter(|&unit| checked.contains(unit)).count(), 4);
    }
}
