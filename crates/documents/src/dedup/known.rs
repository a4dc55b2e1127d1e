//! Documents that are known already.

/// A document that is known already.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Known {
    /// The document.
    pub document: u32,
    /// The source of the known document, if texts were compared with several
    /// ([`NearestTexts::set_source`](crate::known::NearestTexts::set_source)); otherwise 0.
    pub source: u32,
    /// The known document: the most similar one, or the nearest fingerprint; of several the first.
    pub known: KnownAs,
    /// The distance of the two fingerprints, in bits; `None` if texts were compared.
    pub distance: Option<u32>,
    /// The share of common shingles, from 0 to 1; `None` if fingerprints were compared.
    pub similarity: Option<f64>,
}

/// The name or id of a known document in its reference.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum KnownAs {
    /// A stored fingerprint.
    Fingerprint(u128),
    /// An id of a set whose ids are numbers.
    Id(u64),
    /// A name, or the id of a document.
    Name(String),
}
