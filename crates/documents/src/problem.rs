//! What can be wrong with a document, and where.

use std::fmt;
use std::io;

/// A part of a document, kept in a field or column whose name can be chosen.
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
    /// The input, as messages name it: its path, or `standard input`.
    pub input: String,
    /// Where in it.
    pub position: Position,
}

/// Where in an input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Position {
    /// The input as a whole.
    Whole,
    /// A line, the first being 1.
    Line(u64),
    /// A row of a table of columns, the first being 0.
    Row(u64),
}

impl Place {
    /// An input as a whole.
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

/// What is wrong with a document or file.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Problem {
    /// A line is no JSON object.
    #[error("not a JSON object: {what}")]
    Malformed {
        /// What is wrong with it, and in which column.
        what: String,
    },
    /// A JSON object lacks a field, or the field is of another kind.
    #[error("no {} in the field {name:?}", if *field == Field::Id { "string or number" } else { "string" })]
    MissingField {
        /// What the field was to hold.
        field: Field,
        /// Its name.
        name: String,
    },
    /// A record of separated values ends before the id or the text.
    #[error("the record has {found} fields only")]
    ShortRecord {
        /// How many fields it has.
        found: usize,
    },
    /// The id or the text of a row is null.
    #[error("the id or the text is null")]
    Null,
    /// Longer than [`Documents::max_document_bytes`](crate::Documents::max_document_bytes).
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
    /// A file of a directory is not text.
    #[error("is not text")]
    Binary,
    /// A file of a directory cannot be read.
    #[error("cannot read it: {what}")]
    Unreadable {
        /// What the operating system or the decompressor said.
        what: io::Error,
    },
}

/// What was done about a problem.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Action {
    /// The document was left out.
    Skipped,
    /// Invalid UTF-8 was replaced, and the document taken.
    Replaced,
}

/// A problem with a document, reported while reading goes on.
#[derive(Debug)]
#[non_exhaustive]
pub struct Notice {
    /// Where the document is.
    pub place: Place,
    /// What is wrong with it.
    pub problem: Problem,
    /// What was done about it.
    pub action: Action,
}
