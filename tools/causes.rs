//! An error with what caused it.

use std::error::Error;

/// An error and its sources, each once, in one line.
pub(crate) fn chain(error: &dyn Error) -> String {
    std::iter::successors(Some(error), |&error| error.source())
        .map(ToString::to_string)
        .collect::<Vec<_>>()
        .join(": ")
}
