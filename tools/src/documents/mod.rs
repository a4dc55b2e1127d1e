//! Documents on the command line.
//!
//! - [`inputs`]: options for reading documents, and documents of a pipe, as they come
//! - [`recipe`]: options for recipes
//! - [`notices`]: problems with single documents, and the messages that name options
//! - [`report`]: summaries, printed at the end

pub(crate) mod inputs;
pub(crate) mod notices;
pub(crate) mod recipe;
pub(crate) mod report;
