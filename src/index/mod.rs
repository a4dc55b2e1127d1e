//! An open index: all queries of a file go through [`Index`].
//!
//! - [`handle`]: the index itself
//! - [`open`]: from bytes to an index, checking all that later reads rely on
//! - [`searcher`]: one query at a time; [`index_ref`]: how a searcher holds its index
//! - [`search`]: the steps of a query
//! - [`nearest`]: the nearest of many
//! - [`stored`]: a single fingerprint and its ids
//! - [`ids_of`]: the ids of matches
//! - [`places`]: numbers for stored entries
//! - [`matches`]: the results of a query
//! - [`read_ahead`]: hints to storage, before its bytes are read
//! - [`entries`]: all entries, in natural order
//! - [`lookups`]: fingerprints by id, and ids by name
//! - [`shingles`]: the shingles of documents
//! - [`view`]: a table, for merging

mod entries;
pub(crate) mod handle;
mod ids_of;
pub(crate) mod index_ref;
mod lookups;
pub(crate) mod matches;
pub(crate) mod nearest;
mod open;
mod places;
pub(crate) mod read_ahead;
pub(crate) mod search;
pub(crate) mod searcher;
mod shingles;
mod stored;
mod view;

pub use entries::{Entries, Entry};
pub use handle::Index;
pub use lookups::Lookups;
pub use matches::{Match, MatchVisitor};
pub use open::{Checksums, OpenOptions, width};
pub use searcher::Searcher;
pub use shingles::Shingles;
pub(crate) use view::TableView;
