//! A document, and counts of documents.

use std::path::PathBuf;

use hamdex_simhash::Outcome;

/// The number of documents without a reliable fingerprint whose ids are kept.
const MAX_EXAMPLES: usize = 20;

/// A document.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Document {
    /// The id: from a field, a column or the start of a line, or the path of its file.
    pub id: String,
    /// The text.
    pub text: String,
    /// The path of its file, if that is the id and is not UTF-8, so that the id has `\\xff` for some of its bytes.
    pub path: Option<PathBuf>,
    /// The value of the field named by [`Documents::extra_field`](crate::Documents::extra_field), if there is one.
    pub extra: Option<String>,
}

impl Document {
    /// Creates a document from an id and a text.
    #[must_use]
    pub fn new(id: impl Into<String>, text: impl Into<String>) -> Self {
        Self { id: id.into(), text: text.into(), path: None, extra: None }
    }

    /// Returns the id as bytes, by which other programs find a file also if its path is not UTF-8: as
    /// [`Clusters::id_bytes`](crate::Clusters::id_bytes).
    #[must_use]
    pub fn id_bytes(&self) -> &[u8] {
        match &self.path {
            Some(path) => path.as_os_str().as_encoded_bytes(),
            None => self.id.as_bytes(),
        }
    }
}

/// Numbers of documents read, and of those with problems.
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
    /// Files and streams read, whether they hold documents or not.
    pub inputs: u64,
    /// Links, pipes, sockets and devices in directories, ignored. They do not count as documents.
    pub passed_over: u64,
    /// Files of directories and archives that are not documents by their names, not read: hidden ones, and files that
    /// are not tables next to tables.
    pub litter: u64,
    /// Files that were read before under another name or path, not read again.
    pub repeated_files: u64,
    /// Documents with the id of an earlier document; they are not skipped.
    pub repeated_ids: u64,
    /// Whether only a sample of the ids was compared, because there are too many: more may be repeated.
    pub ids_are_sampled: bool,
}

impl Counts {
    /// Returns the number of documents and files skipped for any reason.
    #[must_use]
    pub fn skipped(&self) -> u64 {
        self.malformed + self.missing_field + self.too_long + self.binary + self.not_utf8 + self.unreadable
    }

    /// Counts a document.
    pub(crate) fn take(&mut self, text: &str) {
        self.documents += 1;
        self.text_bytes += text.len() as u64;
        self.empty += u64::from(text.trim().is_empty());
    }
}

/// Counts the documents that are too short for a reliable fingerprint, and keeps the ids of the first ones.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TooShort {
    count: u64,
    examples: Vec<(String, usize)>,
}

impl TooShort {
    /// Counts a document if it is too short.
    pub fn note<F>(&mut self, id: &str, outcome: &Outcome<F>) {
        if let Outcome::TooShort { features, .. } = outcome {
            self.count += 1;
            if self.examples.len() < MAX_EXAMPLES {
                self.examples.push((id.to_owned(), *features));
            }
        }
    }

    /// Returns the number of such documents.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Returns the ids of the first ones, at most 20, and the number of features of each.
    #[must_use]
    pub fn examples(&self) -> &[(String, usize)] {
        &self.examples
    }
}
