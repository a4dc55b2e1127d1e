//! What becomes of each document, and of what is wrong with it: told, counted, or the end.

use std::borrow::Cow;
use std::fmt;

use indicatif::{HumanCount, ProgressBar};

use crate::documents::{Document, Reading, Sink};
use crate::failure::Failure;
use crate::input::Source;

/// So many complaints are printed; the rest is counted only, so that a file that is wrong on every
/// line does not drown what matters.
const MOST_TOLD: u64 = 20;

/// Why a document or file is not taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Problem {
    Malformed,
    MissingField,
    TooLong,
    /// In a tree only, where such files are to be expected: never told, never the end.
    Binary,
    /// In a tree only.
    Unreadable,
}

/// How many documents were taken, and what was the matter with others.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    pub(crate) documents: u64,
    pub(crate) text_bytes: u64,
    /// Documents without any text, taken all the same.
    pub(crate) empty: u64,
    /// Documents with invalid UTF-8, taken with it replaced.
    pub(crate) replaced: u64,
    pub(crate) malformed: u64,
    pub(crate) missing_field: u64,
    pub(crate) too_long: u64,
    pub(crate) binary: u64,
    pub(crate) unreadable: u64,
}

impl Counts {
    pub(crate) fn skipped(&self) -> u64 {
        self.malformed + self.missing_field + self.too_long + self.binary + self.unreadable
    }
}

/// `, 3 skipped (1 malformed, 2 binary), 1 with invalid UTF-8 replaced`, or nothing.
impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let whys = [
            (self.malformed, "malformed"),
            (self.missing_field, "without a field"),
            (self.too_long, "too long"),
            (self.binary, "binary"),
            (self.unreadable, "unreadable"),
        ];
        if self.skipped() > 0 {
            let whys: Vec<String> = whys
                .iter()
                .filter(|(count, _)| *count > 0)
                .map(|(count, why)| format!("{} {why}", HumanCount(*count)))
                .collect();
            write!(f, ", {} skipped ({})", HumanCount(self.skipped()), whys.join(", "))?;
        }
        if self.replaced > 0 {
            write!(f, ", {} with invalid UTF-8 replaced", HumanCount(self.replaced))?;
        }
        if self.empty > 0 {
            write!(f, ", {} without text", HumanCount(self.empty))?;
        }
        Ok(())
    }
}

/// Takes documents in, and complaints about them.
pub(super) struct Intake<'a> {
    pub(super) reading: &'a Reading<'a>,
    pub(super) counts: Counts,
    pub(super) bar: &'a ProgressBar,
    sink: &'a mut Sink<'a>,
    told: u64,
}

impl<'a> Intake<'a> {
    pub(super) fn new(reading: &'a Reading<'a>, bar: &'a ProgressBar, sink: &'a mut Sink<'_>) -> Self {
        // The sink lives longer than this.
        let sink: &'a mut Sink<'a> = sink;
        Self { reading, counts: Counts::default(), bar, sink, told: 0 }
    }

    /// The longest line or file, in bytes.
    pub(super) fn most_bytes(&self) -> u64 {
        self.reading.fields.max_document.as_u64()
    }

    pub(super) fn take(&mut self, document: Document) -> Result<(), Failure> {
        self.counts.documents += 1;
        self.counts.text_bytes += document.text.len() as u64;
        self.counts.empty += u64::from(document.text.trim().is_empty());
        (self.sink)(document)
    }

    /// Goes on without a document, or ends.
    pub(super) fn skip(
        &mut self,
        source: &Source,
        place: String,
        problem: Problem,
        what: impl ToString,
    ) -> Result<(), Failure> {
        let counter = match problem {
            Problem::Malformed => &mut self.counts.malformed,
            Problem::MissingField => &mut self.counts.missing_field,
            Problem::TooLong => &mut self.counts.too_long,
            Problem::Binary => &mut self.counts.binary,
            Problem::Unreadable => &mut self.counts.unreadable,
        };
        *counter += 1;
        if problem == Problem::Binary {
            return Ok(());
        }
        self.complain(source.complaint_at(place, what), "skipped")
    }

    pub(super) fn too_long(&mut self, source: &Source, place: String, what: &str) -> Result<(), Failure> {
        let most = self.reading.fields.max_document;
        self.skip(
            source,
            place,
            Problem::TooLong,
            format_args!("the {what} is longer than {most} (--max-document)"),
        )
    }

    /// The bytes as text, invalid UTF-8 replaced by U+FFFD; or the end, if that is not wanted.
    pub(super) fn text<'t>(
        &mut self,
        source: &Source,
        place: impl Fn() -> String,
        bytes: &'t [u8],
    ) -> Result<Cow<'t, str>, Failure> {
        let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
        let text = String::from_utf8_lossy(bytes);
        if matches!(text, Cow::Owned(_)) {
            self.counts.replaced += 1;
            self.complain(source.complaint_at(place(), "invalid UTF-8"), "replaced")?;
        }
        Ok(text)
    }

    fn complain(&mut self, failure: Failure, done: &str) -> Result<(), Failure> {
        if self.reading.fields.strict {
            return Err(failure);
        }
        self.told += 1;
        if self.told <= MOST_TOLD {
            let more = if self.told == MOST_TOLD { "; further ones are only counted" } else { "" };
            self.bar.suspend(|| anstream::eprintln!("hamdex: {failure}; {done}{more}"));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_name_what_there_is() {
        assert_eq!(Counts { documents: 3, ..Counts::default() }.to_string(), "");
        let counts = Counts { malformed: 1, binary: 2, replaced: 1, empty: 4, ..Counts::default() };
        assert_eq!(
            counts.to_string(),
            ", 3 skipped (1 malformed, 2 binary), 1 with invalid UTF-8 replaced, 4 without text"
        );
    }
}
