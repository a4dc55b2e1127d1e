//! Documents on the command line.
//!
//! - [`inputs`]: options for reading documents
//! - [`recipe`]: options for recipes
//! - [`notices`]: problems with single documents, and the messages that name options
//! - [`prompt`]: documents of a pipe, as they come
//! - [`report`]: summaries, printed at the end

pub(crate) mod inputs;
pub(crate) mod notices;
pub(crate) mod prompt;
pub(crate) mod recipe;
pub(crate) mod report;
