//! What has been built.

/// What has been built.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Summary {
    /// Fingerprints pushed, repeats counted.
    pub pushed: u64,
    /// Distinct fingerprints stored.
    pub fingerprints: u64,
    /// Ids stored, a pair of fingerprint and id counted once.
    pub ids: u64,
    /// The name of the design.
    pub design: String,
    /// Bytes of the file.
    pub bytes: u64,
}
