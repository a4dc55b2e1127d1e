//! One change of the set.

/// One change of the set: a pair of a fingerprint and an id is inserted or removed. In a store without ids the
/// id is 0, and is not written to the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Operation<F> {
    /// The pair is in the set from here on, whether or not it was before.
    Insert(F, u64),
    /// The pair is not in the set from here on, whether or not it was before.
    Remove(F, u64),
}

impl<F: Copy> Operation<F> {
    /// The fingerprint and the id.
    #[must_use]
    pub fn pair(&self) -> (F, u64) {
        match *self {
            Self::Insert(fingerprint, id) | Self::Remove(fingerprint, id) => (fingerprint, id),
        }
    }
}
