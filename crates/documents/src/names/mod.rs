//! The names of documents, in a file beside their index: `news.hamdex.ids` beside `news.hamdex`.
//!
//! The index holds numbers: those of the documents that have a fingerprint, from 0 on in the order of the
//! input; this file, what they are called. A name is found by two short reads, and its own checksum detects
//! damage and the names of another index; nothing is kept in memory. The format is specified in
//! `format-spec.md`.

pub(crate) mod layout;
pub(crate) mod read;
pub(crate) mod write;
