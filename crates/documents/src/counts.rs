//! Numbers of documents.

/// How many documents were read, and how many had which problem.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Counts {
    /// Documents read, without those skipped.
    pub documents: u64,
    /// Bytes of their texts, in UTF-8.
    pub text_bytes: u64,
    /// Documents without text; they are not skipped.
    pub empty: u64,
    /// Documents in which invalid UTF-8 was replaced; they are not skipped.
    pub replaced: u64,
    /// Lines that are not JSON objects, skipped.
    pub malformed: u64,
    /// Documents without an id or a text, skipped.
    pub missing_field: u64,
    /// Documents longer than the limit, skipped.
    pub too_long: u64,
    /// Files of a directory that are not text, skipped.
    pub binary: u64,
    /// Files of a directory that are in another encoding than UTF-8, skipped.
    pub not_utf8: u64,
    /// Files of a directory that cannot be read, skipped.
    pub unreadable: u64,
    /// Links, pipes, sockets and devices in directories, passed over. They count as no documents.
    pub passed_over: u64,
    /// Documents with the id of an earlier one; they are not skipped.
    pub repeated_ids: u64,
    /// Whether there were so many ids that only a sample was compared: more may be repeated.
    pub ids_are_sampled: bool,
}

impl Counts {
    /// Returns the number of documents and files skipped for any reason.
    #[must_use]
    pub fn skipped(&self) -> u64 {
        self.malformed + self.missing_field + self.too_long + self.binary + self.not_utf8 + self.unreadable
    }

    /// Counts a document that is taken.
    pub(crate) fn take(&mut self, text: &str) {
        self.documents += 1;
        self.text_bytes += text.len() as u64;
        self.empty += u64::from(text.trim().is_empty());
    }
}
