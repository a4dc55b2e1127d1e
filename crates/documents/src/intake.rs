//! Counts documents and their problems, and passes them on.

use std::borrow::Cow;

use crate::counts::Counts;
use crate::document::Document;
use crate::documents::Documents;
use crate::error::Error;
use crate::problem::{Action, Notice, Place, Problem};

/// Receives documents.
pub(crate) type Sink<'a> = dyn FnMut(Document) -> Result<(), Error> + 'a;

/// Takes documents, and reports problems with them.
pub(crate) struct Intake<'a> {
    pub(crate) documents: &'a Documents,
    pub(crate) counts: Counts,
    sink: &'a mut Sink<'a>,
}

impl<'a> Intake<'a> {
    pub(crate) fn new(documents: &'a Documents, sink: &'a mut Sink<'a>) -> Self {
        Self { documents, counts: Counts::default(), sink }
    }

    pub(crate) fn max_bytes(&self) -> u64 {
        self.documents.max_document_bytes
    }

    pub(crate) fn take(&mut self, document: Document) -> Result<(), Error> {
        self.counts.take(&document.text);
        (self.sink)(document)
    }

    /// Skips a document; with strict reading it is an error.
    pub(crate) fn skip(&mut self, place: Place, problem: Problem) -> Result<(), Error> {
        let counts = &mut self.counts;
        *match problem {
            Problem::Malformed { .. } => &mut counts.malformed,
            Problem::MissingField { .. } | Problem::ShortRecord { .. } | Problem::Null => {
                &mut counts.missing_field
            }
            Problem::TooLong { .. } => &mut counts.too_long,
            Problem::Unreadable { .. } => &mut counts.unreadable,
            Problem::InvalidUtf8 => &mut counts.replaced,
            Problem::Binary => {
                // Directories commonly contain such files: they are neither reported nor an error.
                counts.binary += 1;
                return Ok(());
            }
        } += 1;
        self.report(place, problem, Action::Skipped)
    }

    pub(crate) fn too_long(&mut self, place: Place, what: &'static str) -> Result<(), Error> {
        let max_bytes = self.max_bytes();
        self.skip(place, Problem::TooLong { what, max_bytes })
    }

    /// Returns the bytes as text, with invalid UTF-8 replaced by U+FFFD; with strict reading it is an error.
    pub(crate) fn text<'t>(
        &mut self,
        place: impl FnOnce() -> Place,
        bytes: &'t [u8],
    ) -> Result<Cow<'t, str>, Error> {
        let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
        let text = String::from_utf8_lossy(bytes);
        if matches!(text, Cow::Owned(_)) {
            self.counts.replaced += 1;
            self.report(place(), Problem::InvalidUtf8, Action::Replaced)?;
        }
        Ok(text)
    }

    fn report(&mut self, place: Place, problem: Problem, action: Action) -> Result<(), Error> {
        if self.documents.strict {
            return Err(Error::Document { place, problem });
        }
        if let Some(report) = &self.documents.on_notice {
            report(&Notice { place, problem, action });
        }
        Ok(())
    }
}
