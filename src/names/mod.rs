//! Names: what the ids of an index are called, a byte string for each.
//!
//! All names are stored one after the other. A directory has the end of each, and, unless they are numbered
//! without a gap, which id it belongs to. So a name is found by two short reads, and nothing of it is kept in
//! memory.
//!
//! - [`layout`]: what the directory begins with
//! - [`reader`]: the name of an id
//! - [`verify`]: verification of the sections

pub(crate) mod layout;
pub(crate) mod reader;
mod verify;

pub use reader::Names;
pub(crate) use reader::NamesIter;
