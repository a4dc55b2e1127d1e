//! The properties of a set.

use std::collections::BTreeMap;

use crate::codec::Codec;
use crate::format::FileId;

/// The properties of a [`FingerprintSet`](crate::FingerprintSet).
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Description {
    /// The width of the fingerprints, in bits.
    pub width: u32,
    /// The greatest distance, in bits, for which the set is made. Queries beyond it are as exact, and take longer.
    pub distance: u32,
    /// The name of the design; `None` if parts of the set may differ in it.
    pub design: Option<String>,
    /// The codec of the blocks; `None` if parts of the set may differ in it.
    pub codec: Option<Codec>,
    /// The number of fingerprints; at most, unless [`Description::is_counted`].
    pub fingerprints: u64,
    /// Whether [`Description::fingerprints`] is exact. It is not if a fingerprint may be in several files.
    pub is_counted: bool,
    /// Whether fingerprints have ids.
    pub has_ids: bool,
    /// Whether ids have names.
    pub has_names: bool,
    /// Whether ids have the shingles of their documents.
    pub has_shingles: bool,
    /// Whether fingerprints are found by id, and ids by name, without a pass over the set.
    pub has_lookups: bool,
    /// The metadata, the recipe of the fingerprints among it.
    pub metadata: BTreeMap<String, Vec<u8>>,
    /// The id of the file; `None` unless the set is one index file.
    pub file_id: Option<FileId>,
}

impl Description {
    /// Returns the properties of an empty set without ids, for implementations of
    /// [`FingerprintSet`](crate::FingerprintSet) in other crates, which set the rest.
    #[must_use]
    pub fn new(width: u32, distance: u32) -> Self {
        Self {
            width,
            distance,
            design: None,
            codec: None,
            fingerprints: 0,
            is_counted: true,
            has_ids: false,
            has_names: false,
            has_shingles: false,
            has_lookups: false,
            metadata: BTreeMap::new(),
            file_id: None,
        }
    }
}
