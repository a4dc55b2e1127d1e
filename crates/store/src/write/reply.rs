//! The replies to the requests of writers.

use crate::view::Written;
use crate::write::unless_near::inserted::Inserted;

/// The reply to a request.
pub(crate) enum Reply<F> {
    Written(Written),
    /// The first assigned id; the others follow it.
    Named(u64),
    /// Too few ids are left.
    NoIdsLeft,
    /// The number of operations that the request would take, which exceeds that of a batch. It had no effect.
    TooLarge(usize),
    /// The outcome of each pair, and of all together.
    UnlessNear(Vec<Inserted<F>>, Written),
    /// The search has to be repeated: newer pairs have been flushed, or a near fingerprint has been removed. The
    /// request had no effect.
    SearchAgain,
}
