//! Options of a search for near-duplicates, and its steps in their order.

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use hamdex::{Design, Fingerprint, default_memory};
use hamdex_atomic_file::temporary_directory;
use hamdex_simhash::{Fingerprinter, Outcome};

use crate::counts::Counts;
use crate::dedup::clusters::Clusters;
use crate::dedup::corpus::{Corpus, CorpusBuilder, Extractor};
use crate::dedup::groups::Groups;
use crate::dedup::members;
use crate::dedup::method::{Clustering, Method};
use crate::dedup::reference::Reference;
use crate::dedup::search::Search;
use crate::dedup::similarity::Similarity;
use crate::dedup::spool::Spool;
use crate::document::Document;
use crate::documents::Documents;
use crate::error::Error;
use crate::fingerprints::map_texts;
use crate::intake::Sink;
use crate::progress::{Progress, Stage};
use crate::too_short::TooShort;

/// The distance within which fingerprints are near, where none is given.
const DEFAULT_DISTANCE: u32 = 3;

/// Receives the documents without a reliable fingerprint.
type OnTooShort = Arc<dyn Fn(&TooShort) + Send + Sync>;

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

/// Finds the near-duplicates in a corpus, as clusters.
///
/// Two documents are near-duplicates when their texts are similar ([`Dedup::similarity`]), by default when they share
/// 0.7 of their shingles of five words; or, with [`Dedup::distance`] alone, when their fingerprints are near. Either
/// way the search is exact: the clusters are those of comparing every document with every other.
///
/// Memory: some 100 bytes per document, its id, and its shingles, 8 bytes per word, where texts are compared. What
/// exceeds the limit ([`Dedup::memory`]) of ids and shingles is kept in temporary files. Lists of shingles that
/// documents have in common come on top: nothing for texts that share little, at most about as much as all shingles.
///
/// Time: that of reading, and a comparison for each duplicate. Texts that have most of their shingles in common with
/// many others and are yet similar to none take longer, in the worst case the square of their number.
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
/// let dedup = Dedup::new(Fingerprinter::<u64>::new(&Recipe::default())?);
/// let clusters = dedup.run_on(corpus)?;
/// let members = clusters.members();
/// assert_eq!(clusters.id(members[1].document)?, "a, copied");
/// assert_eq!(members[1].similarity, Some(91.0 / 101.0));
/// assert_eq!(clusters.unique().collect::<Vec<_>>(), [0, 1]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Dedup<'a, F: Fingerprint> {
    fingerprinter: Fingerprinter<F>,
    against: Option<&'a dyn Reference<F>>,
    prefer: Preference,
    distance: Option<u32>,
    similarity: Option<Similarity>,
    clustering: Clustering,
    keep_texts: bool,
    on_too_short: Option<OnTooShort>,
    search: Search,
}

impl<'a, F: Fingerprint> Dedup<'a, F> {
    /// A search for documents with similar texts; `fingerprinter` makes the fingerprints whose distances are reported.
    #[must_use]
    pub fn new(fingerprinter: Fingerprinter<F>) -> Self {
        Self {
            fingerprinter,
            against: None,
            prefer: Preference::default(),
            distance: None,
            similarity: None,
            clustering: Clustering::default(),
            keep_texts: false,
            on_too_short: None,
            search: Search {
                memory: default_memory(),
                directory: temporary_directory(None),
                on_progress: None,
            },
        }
    }

    /// Documents whose texts are that similar are near-duplicates; by default 0.7 of the shingles of five words.
    /// Together with [`Dedup::distance`], they must be both similar and near.
    #[must_use]
    pub fn similarity(mut self, similarity: Similarity) -> Self {
        self.similarity = Some(similarity);
        self
    }

    /// Documents whose fingerprints are within this many bits are near-duplicates, whatever their texts, unless
    /// [`Dedup::similarity`] is set too. Documents without a reliable fingerprint are near-duplicates only of equal
    /// ones.
    #[must_use]
    pub fn distance(mut self, bits: u32) -> Self {
        self.distance = Some(bits);
        self
    }

    /// How near-duplicates are brought together; by default as stars.
    #[must_use]
    pub fn clusters(mut self, clustering: Clustering) -> Self {
        self.clustering = clustering;
        self
    }

    /// Leaves out documents whose fingerprints are near one of an index, or of another reference: within
    /// [`Dedup::distance`], or 3 bits where that is not set. [`Clusters::known`] has them.
    #[must_use]
    pub fn against(mut self, reference: &'a dyn Reference<F>) -> Self {
        self.against = Some(reference);
        self
    }

    /// Which document of a cluster is kept; by default the first.
    #[must_use]
    pub fn prefer(mut self, prefer: Preference) -> Self {
        self.prefer = prefer;
        self
    }

    /// Keeps the texts in a temporary file, for [`Clusters::text`].
    #[must_use]
    pub fn keep_texts(mut self, keep: bool) -> Self {
        self.keep_texts = keep;
        self
    }

    /// The memory limit in bytes; by default [`hamdex::default_memory`]. Shingles and ids that exceed their share go
    /// to temporary files. What must be in memory for every document is checked before the search starts.
    #[must_use]
    pub fn memory(mut self, bytes: u64) -> Self {
        self.search.memory = bytes;
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

    /// Calls `report` repeatedly with the progress of the search, until it breaks: the search ends with
    /// [`Error::Stopped`] then. It may be called on another thread.
    #[must_use]
    pub fn on_progress(
        mut self,
        report: impl Fn(Progress) -> ControlFlow<()> + Send + Sync + 'static,
    ) -> Self {
        self.search.on_progress = Some(Arc::new(report));
        self
    }

    /// Reads documents and finds their clusters.
    ///
    /// # Errors
    /// When documents cannot be read, the distance is too large, an index cannot be read, memory is too small for
    /// so many documents, or temporary files cannot be written.
    pub fn run(&self, documents: &Documents) -> Result<Clusters, Error> {
        let mut documents = documents.clone();
        documents.temp_dir.get_or_insert_with(|| self.search.directory.clone());
        self.find(|sink| documents.read_into(sink))
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
        self.find(read)
    }

    /// Finds the clusters of fingerprints made elsewhere. `read` calls its argument with the id of each and the
    /// fingerprint, in order. There are no texts, so that only a distance makes near-duplicates, by default 3, and
    /// nothing is kept of them.
    ///
    /// # Errors
    /// When a similarity is set, the error that `read` returns, or as [`Dedup::run`].
    pub fn run_on_fingerprints<E: From<Error>>(
        &self,
        read: impl FnOnce(&mut dyn FnMut(&str, F) -> Result<(), Error>) -> Result<(), E>,
    ) -> Result<Clusters, E> {
        if self.similarity.is_some() {
            let what = "fingerprints have no texts to compare".to_owned();
            return Err(Error::Option { option: "similarity", what }.into());
        }
        let distance = self.distance.unwrap_or(DEFAULT_DISTANCE);
        Design::<F>::named("single", distance).map_err(Error::from)?;
        let mut builder = CorpusBuilder::new(&self.search, false, false, false, None);
        let mut counts = Counts::default();
        read(&mut |id, fingerprint| {
            counts.documents += 1;
            builder.push_fingerprint(id, Outcome::Fingerprint(fingerprint)).map(drop)
        })?;
        let method = Method { distance: Some(distance), similarity: None };
        Ok(self.search(builder.finish(counts)?, method)?)
    }

    fn find(
        &self,
        read: impl FnOnce(&mut Sink<'_>) -> Result<Counts, Error> + Send,
    ) -> Result<Clusters, Error> {
        let method = Method::of(self.distance, self.similarity);
        // A distance that is too large is refused before anything is read.
        Design::<F>::named("single", method.distance.unwrap_or(DEFAULT_DISTANCE))?;
        let texts = self.keep_texts.then(|| Spool::new(&self.search.directory)).transpose()?;
        let (with_sets, with_lengths) = (method.similarity.is_some(), self.prefer == Preference::Longest);
        let mut builder =
            CorpusBuilder::new(&self.search, with_sets, with_lengths, method.needs_fingerprints(), texts);
        let done = AtomicU64::new(0);
        let counts = map_texts(
            read,
            || Extractor::new(&self.fingerprinter, method.similarity),
            |extractor, text| {
                // Before each text, since some are long.
                let before = done.fetch_add(1, Ordering::Relaxed);
                self.search.report(Progress::new(Stage::Read, before, None))?;
                Ok(extractor.features(text))
            },
            &mut |document, features| builder.push(&document, features),
        )?;
        let corpus = builder.finish(counts)?;
        if let Some(report) = &self.on_too_short {
            report(&corpus.too_short);
        }
        self.search(corpus, method)
    }

    fn search(&self, mut corpus: Corpus<F>, method: Method) -> Result<Clusters, Error> {
        let known = match self.against {
            Some(reference) => {
                Some(corpus.mark_known(reference, method.distance.unwrap_or(DEFAULT_DISTANCE))?)
            }
            None => None,
        };
        let groups = Groups::of(&mut corpus, method, self.clustering, &self.search)?;
        Ok(Clusters {
            members: members::find(&corpus, &groups, &self.search)?,
            has_similarities: method.similarity.is_some(),
            ids: corpus.ids,
            states: corpus.states,
            texts: corpus.texts,
            counts: corpus.counts,
            too_short: corpus.too_short,
            known,
        })
    }
}
