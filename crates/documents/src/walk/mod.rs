//! Directories and archives, whose files are read one by one.
//!
//! - [`file_set`]: the files of either, and the handling of unreadable ones
//! - [`litter`]: files that are no documents by their names
//! - [`selection`]: globs that select files
//! - [`directory`]: the files of a directory tree
//! - [`archive`]: the files of an archive
//! - [`zip_archive`], [`tar_archive`]: those of each kind

pub(crate) mod archive;
pub(crate) mod directory;
mod file_set;
mod litter;
mod selection;
mod tar_archive;
mod zip_archive;
