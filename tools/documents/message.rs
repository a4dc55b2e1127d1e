//! Problems and errors of documents, with the options of the command.

use bytesize::ByteSize;
use hamdex_documents::{Error, Field, Problem};

use crate::causes::chain;

fn option_of(field: Field) -> &'static str {
    match field {
        Field::Id => "--id-field",
        _ => "--text-field",
    }
}

/// Describes a problem with a document.
pub(crate) fn of_problem(problem: &Problem) -> String {
    match problem {
        Problem::MissingField { field, .. } => format!("{problem} ({})", option_of(*field)),
        Problem::TooLong { what, max_bytes } => {
            format!("the {what} is longer than {} (--max-document)", ByteSize(*max_bytes))
        }
        other => other.to_string(),
    }
}

/// Describes an error and its causes, in one line.
pub(crate) fn of_error(error: &Error) -> String {
    match error {
        Error::Document { place, problem } => format!("{place}: {}", of_problem(problem)),
        Error::MissingColumn { place, field: Some(field), column, columns } => format!(
            "{place}: no column is named {column:?} ({}); there are: {}",
            option_of(*field),
            columns.join(", ")
        ),
        Error::Directory { path, .. } => format!(
            "{}: is a directory; its files are read as text or HTML, so --format can be auto, text or html",
            path.display()
        ),
        other => chain(other),
    }
}
