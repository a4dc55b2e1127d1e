//! Directories and archives, whose files are read one by one.
//!
//! - [`file_set`]: the files of either, and the handling of unreadable ones
//! - [`litter`]: files that are no documents by their names
//! - [`directory`]: the files of a directory tree
//! - [`archive`]: the files of an archive

pub(crate) mod archive;
pub(crate) mod directory;
mod file_set;
mod litter;
