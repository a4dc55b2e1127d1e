//! Memory of a thread.

use crate::codec::Scratch;

/// Memory that the tasks of a thread use again and again.
pub(crate) struct Workspace<F> {
    pub(crate) scratch: Scratch<F>,
    pub(crate) values: Vec<F>,
    pub(super) gathered: Vec<F>,
    pub(super) starts: Vec<u32>,
}

impl<F> Default for Workspace<F> {
    fn default() -> Self {
        Self { scratch: Scratch::default(), values: Vec::new(), gathered: Vec::new(), starts: Vec::new() }
    }
}
