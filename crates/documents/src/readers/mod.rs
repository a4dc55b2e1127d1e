//! One reader per format of documents.

pub(crate) mod files;
pub(crate) mod html;
pub(crate) mod json;
pub(crate) mod lines;
pub(crate) mod rows;
