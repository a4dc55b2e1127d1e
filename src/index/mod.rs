//! An open index: all queries of a file go through [`Index`].
//!
//! - [`handle`]: the index itself
//! - [`open`]: from bytes to an index, checking all that later reads rely on
//! - [`searcher`]: one query at a time; [`index_ref`]: what a searcher holds on to
//! - [`search`]: the steps of a query
//! - [`nearest`]: the nearest of many
//! - [`ids_of`]: the ids of matches
//! - [`multi`]: several indexes queried as one
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
mod ids_of;
mod index_ref;
mod inspect;
mod matches;
mod multi;
mod nearest;
mod open;
mod pairs;
mod places;
mod read_ahead;
mod search;
mod searcher;
mod stats;
mod stored;
mod verify;
mod view;

pub use batch::{Batch, BatchOptions, Strategy};
pub use entries::{Entries, Entry, Fingerprints};
pub use handle::Index;
pub use index_ref::IndexRef;
pub use inspect::RawBlock;
pub use matches::{Match, MatchVisitor};
pub use multi::{FoundIn, MultiIndex, MultiMatch, MultiMatches, MultiSearcher};
pub use open::{Checksums, OpenOptions, width};
pub use pairs::{Pair, Pairs, PairsOptions, Tuning, Way, pairs};
pub use searcher::Searcher;
pub use stats::{IdStats, Stats, TableStats};
pub use verify::{Verified, VerifyOptions};
pub(crate) use view::TableView;
