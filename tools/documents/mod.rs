//! Documents on the command line.
//!
//! - [`inputs`]: which documents to read, and how
//! - [`recipe`]: by which recipe
//! - [`notices`]: what is wrong with single documents, while they are read
//! - [`message`]: the same, and errors, in words that name options
//! - [`report`]: what is said when all are read

pub(crate) mod inputs;
pub(crate) mod message;
pub(crate) mod notices;
pub(crate) mod recipe;
pub(crate) mod report;
