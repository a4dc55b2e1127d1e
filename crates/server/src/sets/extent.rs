//! The width and the distance of a set.

use hamdex::set::Description;

/// The width of the fingerprints of a set, and the distance for which it is made.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Extent {
    pub(crate) width: u32,
    pub(crate) distance: u32,
}

impl Extent {
    pub(super) fn of(description: &Description) -> Self {
        Self { width: description.width, distance: description.distance }
    }
}
