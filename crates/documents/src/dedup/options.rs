//! Options of a search for near-duplicates, and its steps in their order.

use std::path::PathBuf;
use std::sync::Arc;

use hamdex::{Engine, Fingerprint, Index};
use hamdex_atomic_file::temporary_directory;
use hamdex_simhash::Fingerprinter;

use crate::counts::Counts;
use crate::dedup::check::{Check, Checker};
use crate::dedup::clusters::Clusters;
use crate::dedup::corpus;
use crate::dedup::keep::Keep;
use crate::dedup::members;
use crate::dedup::pairs::{self, Search};
use crate::document::Document;
use crate::documents::Documents;
use crate::error::Error;
use crate::intake::Sink;
use crate::progress::Progress;
use crate::too_short::TooShort;

/// Receives the documents without a reliable fingerprint.
type OnTooShort = Arc<dyn Fn(&TooShort) + Send + Sync>;

/// The names of the fields of documents that come from memory.
const FIELDS: [&str; 2] = ["id", "text"];

/// Which document of a cluster is kept.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Preference {
    /// The first in the input.
    #[default]
    First,
    /// The one with the longest text; among equal ones the first.
    Longest,
}

/// Finds the near-duplicates in a corpus: pairs of documents whose fingerprints are within a distance, joined
/// into clusters.
///
/// Memory: about 30 bytes per document, its id, and the texts that are too short for a fingerprint. Texts that
/// are needed again are kept in temporary files.
///
/// Work runs on the threads of the rayon pool in which it is called.
///
/// ```
/// use hamdex_documents::{Dedup, Document};
/// use hamdex_simhash::{Fingerprinter, Recipe};
///
/// let story = |name: &str| (0..100).map(|word| format!("{name}{word}")).collect::<Vec<_>>().join(" ");
/// let corpus = [
///     Document::new("a", story("x")),
///     Document::new("b", story("y")),
///     Document::new("a, copied", story("x").replace("x50", "x51")),
/// ];
/// let dedup = Dedup::new(Fingerprinter::<u64>::new(&Recipe::default())?).distance(3);
/// let clusters = dedup.run_on(corpus)?;
/// let ids: Vec<&str> = clusters.members().iter().map(|member| clusters.id(member.document)).collect();
/// assert_eq!(ids, ["a", "a, copied"]);
/// assert_eq!(clusters.unique().map(|document| clusters.id(document)).collect::<Vec<_>>(), ["a", "b"]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Dedup<'a, F: Fingerprint> {
    fingerprinter: Fingerprinter<F>,
    against: Option<&'a Index<F>>,
    prefer: Preference,
    check: Option<Check>,
    keep_texts: bool,
    keep_lines: bool,
    on_too_short: Option<OnTooShort>,
    search: Search,
}

impl<'a, F: Engine> Dedup<'a, F> {
    /// A search for documents whose fingerprints, made by `fingerprinter`, are within 3 bits.
    #[must_use]
    pub fn new(fingerprinter: Fingerprinter<F>) -> Self {
        Self {
            fingerprinter,
            against: None,
            prefer: Preference::default(),
            check: None,
            keep_texts: false,
            keep_lines: false,
            on_too_short: None,
            search: Search {
                distance: 3,
                memory: None,
                directory: temporary_directory(None),
                on_progress: None,
            },
        }
    }

    /// Documents within this many bits are near-duplicates; by default 3.
    #[must_use]
    pub fn distance(mut self, bits: u32) -> Self {
        self.search.distance = bits;
        self
    }

    /// Leaves out documents that are near a fingerprint of an index.
    #[must_use]
    pub fn against(mut self, index: &'a Index<F>) -> Self {
        self.against = Some(index);
        self
    }

    /// Which document of a cluster is kept; by default the first.
    #[must_use]
    pub fn prefer(mut self, prefer: Preference) -> Self {
        self.prefer = prefer;
        self
    }

    /// Confirms pairs by their texts.
    #[must_use]
    pub fn check(mut self, check: Check) -> Self {
        self.check = Some(check);
        self
    }

    /// Keeps the texts in a temporary file, for [`Clusters::text`].
    #[must_use]
    pub fn keep_texts(mut self, keep: bool) -> Self {
        self.keep_texts = keep;
        self
    }

    /// Keeps documents as lines of JSON in a temporary file, for [`Clusters::line`].
    #[must_use]
    pub fn keep_lines(mut self, keep: bool) -> Self {
        self.keep_lines = keep;
        self
    }

    /// The memory limit of the search in bytes; beyond it, the search uses temporary files. By default that of
    /// a build ([`hamdex::BuildOptions::memory`]).
    #[must_use]
    pub fn memory(mut self, bytes: u64) -> Self {
        self.search.memory = Some(bytes);
        self
    }

    /// The directory of temporary files; by default the system's place for large files
    /// ([`hamdex_atomic_file::temporary_directory`]).
    #[must_use]
    pub fn temp_dir(mut self, directory: impl Into<PathBuf>) -> Self {
        self.search.directory = directory.into();
        self
    }

    /// Calls `report` with the documents without a reliable fingerprint, once all documents are read and before
    /// the search starts: they are known even if the search fails. It is called on the thread of the search.
    #[must_use]
    pub fn on_too_short(mut self, report: impl Fn(&TooShort) + Send + Sync + 'static) -> Self {
        self.on_too_short = Some(Arc::new(report));
        self
    }

    /// Calls `report` repeatedly with the progress of the search. It may be called on another thread.
    #[must_use]
    pub fn on_progress(mut self, report: impl Fn(Progress) + Send + Sync + 'static) -> Self {
        self.search.on_progress = Some(Arc::new(report));
        self
    }

    /// Reads documents and finds their clusters.
    ///
    /// # Errors
    /// When documents cannot be read, no design supports the distance, an index cannot be read or built, or
    /// temporary files cannot be written.
    pub fn run(&self, documents: &Documents) -> Result<Clusters, Error> {
        let mut documents = documents.clone().keep_lines(self.keep_lines);
        documents.temp_dir.get_or_insert_with(|| self.search.directory.clone());
        let names = [documents.id_name().to_owned(), documents.text_fields[0].clone()];
        self.find(|sink| documents.read_into(sink), names)
    }

    /// Finds the clusters of documents in memory.
    ///
    /// # Errors
    /// As [`Dedup::run`].
    pub fn run_on<I>(&self, documents: I) -> Result<Clusters, Error>
    where
        I: IntoIterator<Item = Document> + Send,
    {
        let read = |sink: &mut Sink<'_>| {
            let mut counts = Counts::default();
            for document in documents {
                counts.take(&document.text);
                sink(document)?;
            }
            Ok(counts)
        };
        self.find(read, FIELDS.map(str::to_owned))
    }

    fn find(
        &self,
        read: impl FnOnce(&mut Sink<'_>) -> Result<Counts, Error> + Send,
        fields: [String; 2],
    ) -> Result<Clusters, Error> {
        // A distance that no design supports is refused before anything is read.
        pairs::design::<F>(self.search.distance, 0)?;
        let with_texts = self.keep_texts || self.check.is_some();
        let mut keep = Keep::new(with_texts, self.keep_lines.then_some(fields), &self.search.directory)?;
        let with_lengths = self.prefer == Preference::Longest;
        let mut corpus = corpus::read(read, &self.fingerprinter, with_lengths, &mut keep)?;
        if let Some(report) = &self.on_too_short {
            report(&corpus.too_short);
        }
        let known = match &self.against {
            Some(index) => Some(corpus.mark_known(index, self.search.distance)?),
            None => None,
        };
        let kept = keep.finish()?;
        let mut checker = match (self.check, &kept.texts) {
            (Some(check), Some(texts)) => Some(Checker::new(check, texts)),
            _ => None,
        };
        pairs::join(&mut corpus, &self.search, checker.as_mut())?;
        let unconfirmed = checker.map(|checker| checker.refused);
        Ok(Clusters {
            members: members::find(&mut corpus),
            ids: corpus.ids,
            states: corpus.states,
            kept,
            counts: corpus.counts,
            too_short: corpus.too_short,
            known,
            unconfirmed,
        })
    }
}
