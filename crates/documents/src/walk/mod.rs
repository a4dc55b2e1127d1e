//! Directories and archives: many files, of which each is read by itself.
//!
//! - [`file_set`]: one file after the other, and what cannot be read
//! - [`directory`]: the files of a directory tree
//! - [`archive`]: the files of a zip archive

pub(crate) mod archive;
pub(crate) mod directory;
mod file_set;
