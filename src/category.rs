//! What all errors share: their one classification, and the error of a text that is not a value of an option.

use std::borrow::Cow;

use hamdex_atomic_file::Error as OutputError;

/// The category of an error, for exit codes, exceptions and statuses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Category {
    /// An argument or option is wrong, or contradicts another.
    Usage,
    /// The data that was given cannot be taken: it is unsorted, of another width, without ids.
    Input,
    /// Something has the name of the output already.
    Exists,
    /// The bytes are not hamdex's, or of a version that this one cannot read.
    Format,
    /// Some bytes differ from the bytes written, or a file is missing.
    Damaged,
    /// The system refuses memory.
    Memory,
    /// The operating system refuses something else.
    System,
    /// The store or set cannot be used now: it is in use, closed, busy or full.
    Unavailable,
    /// The output is complete and in place, and may be lost in a crash of the system.
    NotDurable,
    /// The work was cancelled.
    Stopped,
}

impl From<&OutputError> for Category {
    fn from(error: &OutputError) -> Self {
        match error {
            error if error.is_in_place() => Self::NotDurable,
            OutputError::Exists { .. } => Self::Exists,
            OutputError::IsInput { .. } | OutputError::NotAFile { .. } => Self::Input,
            _ => Self::System,
        }
    }
}

/// Returns an error and its causes on one line, each once: the text of some errors ends with that of their cause.
#[must_use]
pub fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let cause_text = cause.to_string();
        if !text.ends_with(&cause_text) {
            text.push_str(": ");
            text.push_str(&cause_text);
        }
        source = cause.source();
    }
    text.replace(['\n', '\r'], " ")
}

/// The error of a text that names no value of an option, such as a [`Codec`](crate::Codec). It says which texts do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ParseOptionError {
    message: Cow<'static, str>,
}

impl ParseOptionError {
    /// Returns an error with this message, which says which texts are valid.
    pub fn new(message: impl Into<Cow<'static, str>>) -> Self {
        Self { message: message.into() }
    }
}
