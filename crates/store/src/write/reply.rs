//! The replies to the requests of writers.

use crate::view::Written;
use crate::write::unless_near::inserted::Inserted;

/// What a writer is told.
pub(crate) enum Reply<F> {
    Written(Written),
    /// The first id that was given; the others follow it.
    Named(u64),
    /// There are not so many ids left.
    NoIdsLeft,
    /// The outcome of each pair.
    UnlessNear(Vec<Inserted<F>>),
    /// What has come since the search is in files by now, or what was near has gone: search again. Nothing has happened.
    SearchAgain,
}
