//! The text form of the manifests of stores and of sets of shards.
//!
//! A manifest is a file of UTF-8 text: one JSON object in each line, and a last line with the CRC-32 of each line
//! before. The first field of the first line says which kind of manifest it is, and the version of its format. Both
//! stay in every version, so a reader can tell a newer format from damage.
//!
//! There is exactly one text for each manifest: a reader writes what it has read, and refuses the text if that differs.
//! So nothing in it is without meaning, and each program writes the same bytes.
//!
//! - [`Form`]: a kind of manifest, and the checks of a text in their order
//! - [`line()`], [`seal`]: writing
//! - [`Lines`], [`check_same`]: reading
//! - [`lines_with_checksums`]: what can be had of a damaged one

mod checksums;
mod error;
mod lines;

pub use checksums::{lines_with_checksums, seal};
pub use error::TextError;
pub use lines::{Lines, check_same, line};

/// The name of the file with the manifest, in the directory of a store or of a set of shards. The first field of its
/// first line says which of them the directory is.
pub const MANIFEST: &str = "manifest";

/// A kind of manifest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Form {
    /// The first field of the first line, with the version of the format.
    field: &'static str,
    version: u64,
    max_bytes: usize,
}

impl Form {
    /// The kind whose first line begins with that field, in the version that this program knows. No text of it is
    /// longer than `max_bytes`.
    #[must_use]
    pub const fn new(field: &'static str, version: u64, max_bytes: usize) -> Self {
        Self { field, version, max_bytes }
    }

    /// The version of the format that this program knows.
    #[must_use]
    pub const fn version(&self) -> u64 {
        self.version
    }

    /// How many bytes of a file have to be read to check it: one more than a text may have.
    #[must_use]
    pub const fn bytes_to_read(&self) -> usize {
        self.max_bytes + 1
    }

    /// Whether a text, or the first bytes of one, begins as every manifest of this kind does, in all versions.
    #[must_use]
    pub fn begins(&self, text: &[u8]) -> bool {
        self.after_field(text).is_some()
    }

    /// How many bytes [`Form::begins`] looks at.
    #[must_use]
    pub const fn beginning_bytes(&self) -> usize {
        self.field.len() + "{\"\":".len()
    }

    fn after_field<'t>(&self, text: &'t [u8]) -> Option<&'t [u8]> {
        let rest = text.strip_prefix(b"{\"")?.strip_prefix(self.field.as_bytes())?;
        rest.strip_prefix(b"\":")
    }

    /// Checks a text, up to the contents of its lines, and returns the lines before the last one. The caller reads
    /// them, and then compares what it would write for them, by [`check_same`].
    ///
    /// # Errors
    /// The first of these that applies: it does not begin as this kind does; it is too long; the last line has no
    /// checksums, or not that of the first line; the version is newer; the checksum of another line differs; it is not
    /// UTF-8.
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

    /// Refuses a newer version. Any other text in its place is for the caller to refuse.
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
