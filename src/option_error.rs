//! The error of a text that is not a value of an option.

use std::borrow::Cow;

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
