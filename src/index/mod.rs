//! An open index: all queries of a file go through [`Index`].
//!
//! - [`handle`]: the index itself
//! - [`open`]: from bytes to an index, checking all that later reads rely on
//! - [`searcher`]: one query at a time
//! - [`batch`]: many queries at once
//! - [`pairs`]: all against all
//! - [`stored`]: a single fingerprint and its ids
//! - [`matches`]: what a query finds
//! - [`read_ahead`]: hints to storage, before its bytes are read
//! - [`verify`]: reading everything
//! - [`stats`]: what the file is made of
//! - [`inspect`]: blocks as they are, for tools

mod batch;
mod handle;
mod inspect;
mod matches;
mod open;
mod pairs;
mod read_ahead;
mod searcher;
mod stats;
mod stored;
mod verify;

pub use batch::{Batch, BatchOptions, Strategy};
pub use handle::Index;
pub use inspect::{Fingerprints, RawBlock};
pub use matches::Match;
pub use open::{Checksums, OpenOptions, width};
pub use pairs::{Pair, Pairs, Tuning, Way};
pub use searcher::Searcher;
pub use stats::{IdStats, Stats, TableStats};
pub use verify::{Verified, VerifyOptions};
