//! How many documents there were.

/// How many documents were taken, and what was wrong with others.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Counts {
    /// Documents taken.
    pub documents: u64,
    /// Bytes of their texts, in UTF-8.
    pub text_bytes: u64,
    /// Documents without any text, taken all the same.
    pub empty: u64,
    /// Documents with invalid UTF-8, taken with it replaced.
    pub replaced: u64,
    /// Lines that are no JSON objects, skipped.
    pub malformed: u64,
    /// Documents without an id or a text, skipped.
    pub missing_field: u64,
    /// Documents longer than allowed, skipped.
    pub too_long: u64,
    /// Files of a directory that are not text, skipped.
    pub binary: u64,
    /// Files of a directory that cannot be read, skipped.
    pub unreadable: u64,
}

impl Counts {
    /// Documents and files skipped, whatever the reason.
    #[must_use]
    pub fn skipped(&self) -> u64 {
        self.malformed + self.missing_field + self.too_long + self.binary + self.unreadable
    }

    /// Counts a document that is taken.
    pub(crate) fn take(&mut self, text: &str) {
        self.documents += 1;
        self.text_bytes += text.len() as u64;
        self.empty += u64::from(text.trim().is_empty());
    }
}
