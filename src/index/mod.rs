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
//! - [`entries`]: all that is stored, in natural order
//! - [`view`]: a table, for merging
//! - [`inspect`]: blocks as they are, for tools

mod batch;
mod entries;
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
mod view;

pub use batch::{Batch, BatchOptions, Strategy};
pub use entries::{Entries, Entry, Fingerprints};
pub use handle::Index;
pub use inspect::RawBlock;
pub use matches::Match;
pub use open::{Checksums, OpenOptions, width};
pub use pairs::{Pair, Pairs, Tuning, Way};
pub use searcher::Searcher;
pub use stats::{IdStats, Stats, TableStats};
pub use verify::{Verified, VerifyOptions};
pub(crate) use view::TableView;
