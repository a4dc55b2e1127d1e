//! Lines of JSON.

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::error::TextError;

/// Fields as a line of JSON, without white space, with its end.
///
/// # Panics
/// When they are more than numbers, strings, arrays and objects with names of fields: these always can be written.
#[must_use]
pub fn line(fields: &impl Serialize) -> String {
    serde_json::to_string(fields).expect("numbers and strings are JSON") + "\n"
}

/// The lines of a text whose checksums are right, one after the other.
#[derive(Debug, Clone)]
pub struct Lines<'t> {
    rest: &'t str,
    offset: usize,
}

impl<'t> Lines<'t> {
    pub(crate) fn new(contents: &'t str) -> Self {
        Self { rest: contents, offset: 0 }
    }

    /// How many bytes of the text have been read.
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

    /// Reads the next line, which every manifest has.
    ///
    /// # Errors
    /// As for [`Lines::read`]; and when there is none.
    pub fn require<T: DeserializeOwned>(&mut self) -> Result<T, TextError> {
        self.read()?.ok_or_else(|| TextError::damaged(self.offset, "it has too few lines"))
    }
}

/// Refuses a text that is not exactly the one that is written for what has been read from it.
///
/// # Errors
/// When they differ; with the first place.
pub fn check_same(written: &str, text: &[u8]) -> Result<(), TextError> {
    let written = written.as_bytes();
    if written == text {
        return Ok(());
    }
    let differs = written.iter().zip(text).position(|(one, other)| one != other);
    let offset = differs.unwrap_or(written.len().min(text.len()));
    Err(TextError::damaged(offset, "it is not written as manifests are"))
}
