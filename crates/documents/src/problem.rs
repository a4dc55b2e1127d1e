//! Problems with documents, and their places.

use std::fmt;
use std::io;

/// A part of a document that is in a field or column with a configurable name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Field {
    /// The document's id.
    Id,
    /// Its text.
    Text,
}

/// A place in an input.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Place {
    /// The name of the input: its path, or `standard input`.
    pub input: String,
    /// The position in it.
    pub position: Position,
}

/// A position in an input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Position {
    /// The input as a whole.
    Whole,
    /// A line, counted from 1.
    Line(u64),
    /// A row of a Parquet or Arrow file, counted from 0.
    Row(u64),
}

impl Place {
    /// Returns the place of an input as a whole.
    #[must_use]
    pub fn whole(input: impl Into<String>) -> Self {
        Self { input: input.into(), position: Position::Whole }
    }

    pub(crate) fn line(input: &str, number: u64) -> Self {
        Self { input: input.to_owned(), position: Position::Line(number) }
    }

    #[cfg(feature = "parquet")]
    pub(crate) fn row(input: &str, number: u64) -> Self {
        Self { input: input.to_owned(), position: Position::Row(number) }
    }
}

/// `pages.jsonl:3`, `pages.parquet (row 2)`, or the input alone.
impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.input)?;
        match self.position {
            Position::Whole => Ok(()),
            Position::Line(number) => write!(f, ":{number}"),
            Position::Row(number) => write!(f, " (row {number})"),
        }
    }
}

/// A problem with a document or file.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Problem {
    /// A line is not a JSON object.
    #[error("not a JSON object: {what}")]
    Malformed {
        /// What the parser found, and in which column.
        what: String,
    },
    /// A JSON object lacks a field, or the field has another type.
    #[error("no {} in the field {name:?}", if *field == Field::Id { "string or number" } else { "string" })]
    MissingField {
        /// The part of the document that the field holds.
        field: Field,
        /// Its name.
        name: String,
    },
    /// A record of CSV or TSV ends before the id or the text.
    #[error("the record has only {found} fields")]
    ShortRecord {
        /// The number of its fields.
        found: usize,
    },
    /// The id or the text of a row is null.
    #[error("the id or the text is null")]
    Null,
    /// It is longer than [`Documents::max_document_bytes`](crate::Documents::max_document_bytes).
    #[error("the {what} is longer than {max_bytes} bytes")]
    TooLong {
        /// What is too long: `line`, `record`, `text` or `file`.
        what: &'static str,
        /// The limit.
        max_bytes: u64,
    },
    /// A text is not UTF-8. Unless reading is strict, each invalid sequence is replaced by U+FFFD.
    #[error("invalid UTF-8")]
    InvalidUtf8,
    /// A file is not text.
    #[error("not text")]
    Binary,
    /// A file of a directory cannot be read.
    #[error("cannot read it: {what}")]
    Unreadable {
        /// The error of the operating system or the decompressor.
        what: io::Error,
    },
}

/// How a problem was handled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Action {
    /// The document was skipped.
    Skipped,
    /// Invalid UTF-8 was replaced, and the document kept.
    Replaced,
}

/// A problem with a document, reported while reading continues.
#[derive(Debug)]
#[non_exhaustive]
pub struct Notice {
    /// The place of the document.
    pub place: Place,
    /// The problem.
    pub problem: Problem,
    /// How it was handled.
    pub action: Action,
}
