//! Lines of JSON.

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::error::TextError;

/// Encodes fields as a line of JSON without white space, including the line end.
///
/// # Panics
/// When the fields have values other than numbers, strings, arrays and structs, which can always be encoded.
#[must_use]
pub fn line(fields: &impl Serialize) -> String {
    serde_json::to_string(fields).expect("numbers and strings are JSON") + "\n"
}

/// A reader of the lines of a text with right checksums.
#[derive(Debug, Clone)]
pub struct Lines<'t> {
    rest: &'t str,
    offset: usize,
}

impl<'t> Lines<'t> {
    pub(crate) fn new(contents: &'t str) -> Self {
        Self { rest: contents, offset: 0 }
    }

    /// Returns the number of bytes read.
    #[must_use]
    pub fn offset(&self) -> usize {
        self.offset
    }

    /// Reads the next line, if there is one.
    ///
    /// # Errors
    /// When the line is not JSON, or not of this type.
    pub fn read<T: DeserializeOwned>(&mut self) -> Result<Option<T>, TextError> {
        let Some(line) = self.rest.split_inclusive('\n').next() else {
            return Ok(None);
        };
        let fields =
            serde_json::from_str(line).map_err(|error| TextError::damaged(self.offset, error.to_string()))?;
        self.rest = &self.rest[line.len()..];
        self.offset += line.len();
        Ok(Some(fields))
    }

    /// Reads the next line, which must exist.
    ///
    /// # Errors
    /// As for [`Lines::read`]; and when there is no line.
    pub fn require<T: DeserializeOwned>(&mut self) -> Result<T, TextError> {
        self.read()?.ok_or_else(|| TextError::damaged(self.offset, "it has too few lines"))
    }
}

/// Checks that a text equals the re-encoded manifest.
///
/// # Errors
/// When they differ, with the first offset.
pub fn check_same(written: &str, text: &[u8]) -> Result<(), TextError> {
    let written = written.as_bytes();
    if written == text {
        return Ok(());
    }
    let differs = written.iter().zip(text).position(|(one, other)| one != other);
    let offset = differs.unwrap_or(written.len().min(text.len()));
    Err(TextError::damaged(offset, "it is not the canonical text"))
}
