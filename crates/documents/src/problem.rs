//! Problems with documents, and their places.

use std::{fmt, io};

use crate::format::{FileKind, Format};

/// The longest piece that a message shows, in characters.
const MAX_CHARACTERS: usize = 40;

/// The greatest number of names that a message lists.
const MAX_NAMES: usize = 20;

/// The greatest number of names of files that a message lists.
const MAX_SHOWN: usize = 3;

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
    /// An object of a JSON file, counted from 1.
    Object(u64),
    /// A row of a Parquet or Arrow file, counted from 0.
    Row(u64),
    /// A message of a mailbox, counted from 1.
    Message(u64),
    /// A record of a WARC file, counted from 1.
    Record(u64),
}

impl Place {
    /// Returns the place of an input as a whole.
    #[must_use]
    pub fn whole(input: impl Into<String>) -> Self {
        Self { input: input.into(), position: Position::Whole }
    }

    pub(crate) fn at(input: &str, position: Position) -> Self {
        Self { input: input.to_owned(), position }
    }
}

/// `pages.jsonl:3`, `pages.json (object 3)`, `pages.parquet (row 2)`, or the input alone.
impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.input)?;
        match self.position {
            Position::Whole => Ok(()),
            Position::Line(number) => write!(f, ":{number}"),
            Position::Object(number) => write!(f, " (object {number})"),
            Position::Row(number) => write!(f, " (row {number})"),
            Position::Message(number) => write!(f, " (message {number})"),
            Position::Record(number) => write!(f, " (record {number})"),
        }
    }
}

/// A problem with a document or file.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Problem {
    /// It is not a JSON object.
    #[error("not a JSON object: {what}")]
    Malformed {
        /// The parser's message, with the column.
        what: String,
    },
    /// A JSON file ends early, or has other text between its objects. The rest cannot be read.
    #[error("{what}")]
    BrokenJson {
        /// The defect.
        what: &'static str,
    },
    /// A WARC file ends early, or has other bytes between its records. The rest cannot be read.
    #[error("{what}")]
    BrokenRecord {
        /// The defect.
        what: &'static str,
    },
    /// The page of a response cannot be decoded.
    #[error("cannot decode the page: {what}")]
    Undecodable {
        /// The defect.
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
    /// A JSON object has no list of this name.
    #[error("no list in the field {name:?}")]
    MissingList {
        /// Its name.
        name: String,
    },
    /// A record of CSV or TSV ends before the id or the text.
    #[error("the record has only {found} fields")]
    ShortRecord {
        /// The number of its fields.
        found: usize,
    },
    /// A record of CSV or TSV has more fields than there are columns, as one with an unquoted delimiter has.
    #[error("the record has {found} fields, more than there are columns ({names})")]
    LongRecord {
        /// The number of its fields.
        found: usize,
        /// The number of columns.
        names: usize,
    },
    /// Bytes that are neither gzip nor zeros follow compressed data: a damaged member, or something else.
    #[error("bytes that are no gzip follow its compressed data, so that the rest of it cannot be read")]
    Trailing,
    /// A web archive has records of metadata alone.
    #[error("holds metadata and no pages, as .wat files do; the texts are in the .wet or .warc file")]
    NoPages,
    /// Tab-separated values are read with quotes, as their start shows.
    #[error("its fields in quotes are read as those of CSV")]
    Quotes,
    /// Tab-separated values are read without quotes although some fields seem to be in quotes: with quotes, more records
    /// lack the header's number of fields.
    #[error("its fields in quotes are read with the quotes as part of them")]
    NoQuotes,
    /// Text follows the closing quote of a field of CSV or TSV, as behind a quote that is not meant as one. It is read as
    /// part of the field.
    #[error(
        "text follows a closing quote; if its quotes are characters like any other, read the table without quotes"
    )]
    StrayQuote,
    /// A record of CSV or TSV has many lines, as one has that begins with a quote that is not meant as one. It is read.
    #[error(
        "the record has {lines} lines; if its quotes are characters like any other, read the table without quotes"
    )]
    ManyLines {
        /// The number of its lines.
        lines: u64,
    },
    /// A quoted field of a CSV or TSV file is never closed, so it includes the rest of the file.
    #[error("a quote that is opened on this line is not closed")]
    UnclosedQuote,
    /// The id or the text of a row is null.
    #[error("the id or the text is null")]
    Null,
    /// The id is that of an earlier document; an error in strict reading only.
    #[error("the id {} is that of an earlier document, {first}", shown(id))]
    RepeatedId {
        /// The id.
        id: String,
        /// The place of the earlier document.
        first: Place,
    },
    /// It is longer than [`Documents::max_document_bytes`](crate::Documents::max_document_bytes).
    #[error("the {what} is longer than {max_bytes} bytes")]
    TooLong {
        /// The unit that is too long: `line`, `record`, `text` or `file`.
        what: &'static str,
        /// The limit.
        max_bytes: u64,
    },
    /// A text is not UTF-8. Unless reading is strict, each invalid sequence is replaced by U+FFFD.
    #[error("invalid UTF-8")]
    InvalidUtf8,
    /// A file is in another encoding than UTF-8.
    #[error("not UTF-8")]
    NotUtf8,
    /// A file is not text.
    #[error("not text")]
    Binary,
    /// A file has a kind that is not read.
    #[error("is {}", kind.name)]
    NotRead {
        /// The kind.
        kind: FileKind,
    },
    /// A file of a directory or archive cannot be read.
    #[error("cannot read it: {what}")]
    Unreadable {
        /// The error of the operating system or the decompressor.
        what: io::Error,
    },
    /// A file of a directory or archive does not have the format of its extension, or is damaged.
    #[error("{what}")]
    Rejected {
        /// The defect.
        what: String,
    },
    /// A table has no column of this name, or no object of a file of JSON a field.
    #[error("no column is named {column:?}; there are: {}", columns.join(", "))]
    MissingColumn {
        /// The part of a document that the column holds.
        field: Field,
        /// The requested name.
        column: String,
        /// The names of the existing columns, long ones shortened.
        columns: Vec<String>,
    },
    /// A named file is read as one document, although it looks like one with a document in each row.
    #[error("looks like {format}; it is read as one document, as every file without a known ending is")]
    OneDocument {
        /// The format that it looks like.
        format: Format,
    },
    /// The column of the ids has a type that is no id, so numbers of rows stand for them.
    #[error(
        "the column {column:?} has the type {found}, which is no id; documents are named by the numbers of their rows"
    )]
    OtherIds {
        /// The name of the column.
        column: String,
        /// The type of its values.
        found: String,
    },
    /// Two inputs have a column with types that only text has in common, so a copy of both has it as text
    /// ([`Documents::copyable`](crate::Documents::copyable)).
    #[error("the column {column:?} has the type {}, and {} in {first}; it is written as text", types[0], types[1])]
    MixedColumn {
        /// The name of the column.
        column: String,
        /// An earlier input.
        first: String,
        /// The types of its values in this input and in the earlier one.
        types: Box<[String; 2]>,
    },
    /// The values of a field of JSON have types that only text has in common, or too many keys for columns.
    #[error(
        "the field {column:?} has values of several types, or objects without common keys; they are written as JSON"
    )]
    MixedValues {
        /// The name of the field.
        column: String,
    },
    /// Files were read before, under another name or path; each is read once.
    #[error("read once, though {names} {} reached again", if names.count == 1 { "is" } else { "are" })]
    RepeatedFile {
        /// The paths by which they were reached again.
        names: SomeNames,
    },
    /// Files of a directory or archive are not read, since their names say that they are not documents: hidden ones
    /// (`.crc`, `_SUCCESS`), and files that are not tables next to tables (`README.md`).
    #[error("{names} {} not read: hidden, or no table next to tables", if names.count == 1 { "is" } else { "are" })]
    Litter {
        /// Their paths within the directory or archive.
        names: SomeNames,
    },
    /// A directory or archive has both files with a document in each row and files that are one document each.
    #[error("holds {rows} with a document in each row, and {whole}")]
    Mixed {
        /// The files with rows, by format: `2 csv files, 1 parquet file`.
        rows: String,
        /// The others: `3 files that are one document each`.
        whole: String,
    },
}

/// A number of names, and the first of them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct SomeNames {
    /// Number of names.
    pub count: u64,
    /// The first different names, at most three.
    pub shown: Vec<String>,
}

impl SomeNames {
    pub(crate) fn add(&mut self, name: &str) {
        self.count += 1;
        if self.shown.len() < MAX_SHOWN && !self.shown.iter().any(|shown| shown == name) {
            self.shown.push(name.to_owned());
        }
    }

    pub(crate) fn first(&self) -> Option<&str> {
        self.shown.first().map(String::as_str)
    }
}

/// `a`, `2 files (a, b)`, or `5 files, such as a, b, c`.
impl fmt::Display for SomeNames {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = self.shown.join(", ");
        match self.count {
            1 => f.write_str(&names),
            count if count == self.shown.len() as u64 => write!(f, "{count} files ({names})"),
            count => write!(f, "{count} files, such as {names}"),
        }
    }
}

/// The handling of a problem.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Action {
    /// The document was skipped.
    Skipped,
    /// Invalid UTF-8 was replaced, and the document kept.
    Replaced,
    /// Nothing; everything is read.
    Read,
}

/// A problem with a document, reported while reading continues.
#[derive(Debug)]
#[non_exhaustive]
pub struct Notice {
    /// The place of the document.
    pub place: Place,
    /// The problem.
    pub problem: Problem,
    /// The handling of it.
    pub action: Action,
}

/// Quotes a piece of an input for a message, shortened if it is long.
pub(crate) fn shown(text: &str) -> String {
    match text.char_indices().nth(MAX_CHARACTERS) {
        None => format!("{text:?}"),
        Some((end, _)) => format!("{:?}…", &text[..end]),
    }
}

/// Shortens names of columns for a message: in a table without a header, a name may be a whole document.
pub(crate) fn shown_names(names: &[String]) -> Vec<String> {
    let short = |name: &String| {
        let line = name.lines().next().unwrap_or_default();
        match line.char_indices().nth(MAX_CHARACTERS) {
            None if line.len() == name.len() => name.clone(),
            None => format!("{line}…"),
            Some((end, _)) => format!("{}…", &line[..end]),
        }
    };
    let mut shown: Vec<String> = names.iter().take(MAX_NAMES).map(short).collect();
    if names.len() > MAX_NAMES {
        shown.push(format!("and {} more", names.len() - MAX_NAMES));
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_pieces_are_shortened() {
        assert_eq!(shown("a\tb"), "\"a\\tb\"");
        assert_eq!(shown(&"é".repeat(41)), format!("\"{}\"…", "é".repeat(40)));
        let names = ["id".to_owned(), "one\ntwo".to_owned(), "long ".repeat(100)];
        assert_eq!(shown_names(&names), ["id", "one…", &format!("{}…", "long ".repeat(8))]);
        assert_eq!(shown_names(&vec!["x".to_owned(); 30]).last().unwrap(), "and 10 more");
    }
}
