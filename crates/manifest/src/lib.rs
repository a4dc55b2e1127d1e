//! The text form of the manifests of stores and of sets of shards.
//!
//! A manifest is a file of UTF-8 text: one JSON object per line, and a last line with the CRC-32 of every other line.
//! The first field of the first line is the kind of manifest with the version of its format. Both are the same in
//! every version, so a reader can distinguish a newer format from damage.
//!
//! The encoding is canonical: a reader encodes the decoded manifest again, and rejects the text if it differs.
//!
//! - [`Form`]: a kind of manifest, and the checks of a text in their order
//! - [`line()`], [`seal`]: writing
//! - [`Lines`], [`check_same`]: reading
//! - [`pieces`]: the lines and the checksums of a damaged manifest

mod checksums;
mod error;
mod lines;

pub use checksums::{Digits, Pieces, checksum_of, pieces, seal};
pub use error::TextError;
pub use lines::{Lines, check_same, line};

/// The file name of the manifest in the directory of a store or of a set of shards. The first field of its first line
/// distinguishes the two.
pub const MANIFEST: &str = "manifest";

/// A kind of manifest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Form {
    /// The first field of the first line; its value is the version of the format.
    field: &'static str,
    version: u64,
    max_bytes: usize,
}

impl Form {
    /// Creates a kind of manifest from the first field of its first line, the supported version, and the maximum length
    /// of a text.
    #[must_use]
    pub const fn new(field: &'static str, version: u64, max_bytes: usize) -> Self {
        Self { field, version, max_bytes }
    }

    /// Returns the supported version of the format.
    #[must_use]
    pub const fn version(&self) -> u64 {
        self.version
    }

    /// Returns the number of bytes to read from a file to check it: one more than the maximum length.
    #[must_use]
    pub const fn bytes_to_read(&self) -> usize {
        self.max_bytes + 1
    }

    /// Returns whether a text, or its first bytes, begins like a manifest of this kind in any version.
    #[must_use]
    pub fn begins(&self, text: &[u8]) -> bool {
        self.after_field(text).is_some()
    }

    /// Returns the number of bytes that [`Form::begins`] inspects.
    #[must_use]
    pub const fn beginning_bytes(&self) -> usize {
        self.field.len() + "{\"\":".len()
    }

    fn after_field<'t>(&self, text: &'t [u8]) -> Option<&'t [u8]> {
        let rest = text.strip_prefix(b"{\"")?.strip_prefix(self.field.as_bytes())?;
        rest.strip_prefix(b"\":")
    }

    /// Checks a text except for the contents of its lines, and returns the lines before the last one. The caller
    /// decodes them, encodes the result again, and compares it by [`check_same`].
    ///
    /// # Errors
    /// The first of these that applies: the text does not begin like this kind; it is too long; the last line has no
    /// checksums, or a wrong one for the first line; the version is newer; the checksum of another line differs; the
    /// text is not UTF-8.
    pub fn check<'t>(&self, text: &'t [u8]) -> Result<Lines<'t>, TextError> {
        if !self.begins(text) {
            return Err(TextError::NotAManifest);
        }
        if text.len() > self.max_bytes {
            return Err(TextError::damaged(self.max_bytes, "it is too long"));
        }
        let contents = checksums::check(text, |first| self.check_version(first))?;
        let contents = std::str::from_utf8(contents)
            .map_err(|error| TextError::damaged(error.valid_up_to(), "it is not UTF-8"))?;
        Ok(Lines::new(contents))
    }

    /// Fails for a newer version. The caller rejects any other text in its place.
    fn check_version(&self, first: &[u8]) -> Result<(), TextError> {
        let after = self.after_field(first).unwrap_or_default();
        let end = after.iter().position(|byte| matches!(byte, b',' | b'}')).unwrap_or(after.len());
        let digits = &after[..end];
        let is_number = digits.iter().all(u8::is_ascii_digit) && !digits.is_empty();
        if !is_number || (digits[0] == b'0' && digits.len() > 1) {
            return Ok(());
        }
        let version = std::str::from_utf8(digits).ok().and_then(|digits| digits.parse().ok());
        match version.unwrap_or(u64::MAX) {
            newer if newer > self.version => Err(TextError::Newer(newer)),
            _ => Ok(()),
        }
    }
}
