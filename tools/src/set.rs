//! An open set, with fingerprints of its width.

use hamdex::set::Description;
use hamdex::{Fingerprint, FingerprintSet, check_distance};
use hamdex_any::AnySet;

use crate::failure::Failure;

/// An open set, for work on fingerprints of one width.
#[derive(Clone, Copy)]
pub(crate) struct Set<'s, F> {
    pub(crate) set: &'s dyn FingerprintSet<F>,
    pub(crate) description: &'s Description,
}

impl<'s, F: Fingerprint> Set<'s, F> {
    /// Returns the set, whose width must be that of `F`.
    pub(crate) fn of(any: &'s AnySet) -> Self {
        let set = any.typed::<F>().expect("the width was checked");
        Self { set: &**set, description: any.description() }
    }

    /// Returns the distance asked for, or that of the set.
    pub(crate) fn distance(self, asked: Option<u32>) -> Result<u32, Failure> {
        let distance = asked.unwrap_or(self.description.distance);
        check_distance::<F>(distance)?;
        Ok(distance)
    }

    /// Returns the set as a source of names, if its ids have names.
    pub(crate) fn names(self) -> Option<&'s dyn FingerprintSet<F>> {
        self.description.has_names.then_some(self.set)
    }
}
