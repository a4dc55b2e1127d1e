//! Names: a byte string per id of an index.
//!
//! All names are stored one after the other. A directory has the end of each, and, unless the ids are consecutive,
//! the id of each name. So a name is found by two short reads, and no name is kept in memory.
//!
//! - [`layout`]: what the directory begins with
//! - [`reader`]: the name of an id
//! - [`verify`]: verification of the sections

pub(crate) mod layout;
pub(crate) mod reader;
mod verify;

pub use reader::Names;
pub(crate) use reader::NamesIter;

/// The most bytes of a name: an answer may have many. Longer ones in older files are read.
pub const MAX_NAME_BYTES: usize = 1 << 16;
