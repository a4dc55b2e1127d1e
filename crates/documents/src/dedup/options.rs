//! Options of a search for near-duplicates.

use std::path::PathBuf;
use std::sync::Arc;

use hamdex::{Cancellation, Fingerprint, default_memory};
use hamdex_atomic_file::temporary_directory;
use hamdex_simhash::Fingerprinter;

use crate::dedup::known::{KnownTexts, Reference};
use crate::dedup::resources::{Progress, Resources};
use crate::dedup::similarity::Similarity;
use crate::document::TooShort;

/// Receives the documents without a reliable fingerprint.
type OnTooShort = Arc<dyn Fn(&TooShort) + Send + Sync>;

/// The rule by which one document of a cluster is kept.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Preference {
    /// The first in the input.
    #[default]
    First,
    /// The longest text; among equal lengths the first.
    Longest,
    /// The greatest value of a field ([`Documents::extra_field`](crate::Documents::extra_field)); among equal values
    /// the first. Values are compared as numbers if all are numbers, and otherwise as texts, byte by byte. A document
    /// without a value is kept only if no document of its cluster has one.
    Greatest,
    /// The least value of a field, as with [`Preference::Greatest`].
    Least,
}

/// The way in which near-duplicates form clusters.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Clustering {
    /// Every member of a cluster is a near-duplicate of the kept document. Documents are taken in the order of
    /// [`Preference`](crate::Preference): a near-duplicate of kept documents joins the first of them; any other is
    /// kept. So no two kept documents are near-duplicates of each other.
    #[default]
    Stars,
    /// Connected components: near-duplicates are always in the same cluster, and two members of a cluster can be far
    /// apart.
    Linked,
}

/// Known documents, and how they are compared.
pub(super) enum Against<'a, F> {
    Fingerprints(&'a dyn Reference<F>, u32),
    Texts(&'a dyn KnownTexts),
}

/// The definition of near-duplicates: a distance, a similarity, or both.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Method {
    /// Their fingerprints are within this distance.
    pub(crate) distance: Option<u32>,
    /// Their texts are similar.
    pub(crate) similarity: Option<Similarity>,
}

impl Method {
    /// Returns the method for the given options; without any, the default similarity.
    pub(crate) fn of(distance: Option<u32>, similarity: Option<Similarity>) -> Self {
        let similarity = match distance {
            None => Some(similarity.unwrap_or_default()),
            Some(_) => similarity,
        };
        Self { distance, similarity }
    }

    /// Returns whether documents need a reliable fingerprint.
    pub(crate) fn needs_fingerprints(self) -> bool {
        self.distance.is_some()
    }
}

/// Finds the near-duplicates in a corpus, as clusters.
///
/// Two documents are near-duplicates when their texts are similar ([`Dedup::similarity`]), by default when they share
/// 0.7 of their shingles of five words; or, with [`Dedup::distance`] alone, when their fingerprints are near. Either
/// way the search is exact: comparing every document with every other gives the same clusters.
///
/// Memory: some 130 bytes per document, its id, and its shingles, 8 bytes per word, where texts are compared. What
/// exceeds the limit ([`Dedup::memory`]) of ids and shingles is kept in temporary files; lists of shingles that
/// documents have in common are made anew as often as they fill their share, and take more time then. A single text
/// takes ten times its length on top while it is read. Chains ([`Clustering::Linked`]) list the shingles of all
/// documents at once, at most about as much as all shingles.
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
    pub(super) fingerprinter: Fingerprinter<F>,
    pub(super) against: Option<Against<'a, F>>,
    pub(super) prefer: Preference,
    pub(super) distance: Option<u32>,
    pub(super) similarity: Option<Similarity>,
    pub(super) clustering: Clustering,
    pub(super) on_too_short: Option<OnTooShort>,
    pub(super) resources: Resources,
}

impl<'a, F: Fingerprint> Dedup<'a, F> {
    /// Creates a search for documents with similar texts; `fingerprinter` makes the fingerprints whose distances are
    /// reported.
    #[must_use]
    pub fn new(fingerprinter: Fingerprinter<F>) -> Self {
        Self {
            fingerprinter,
            against: None,
            prefer: Preference::default(),
            distance: None,
            similarity: None,
            clustering: Clustering::default(),
            on_too_short: None,
            resources: Resources {
                memory: default_memory(),
                taken: 0,
                directory: temporary_directory(None),
                on_progress: None,
                cancellations: Vec::new(),
            },
        }
    }

    /// Sets the similarity of near-duplicates; by default 0.7 of the shingles of five words. Together with
    /// [`Dedup::distance`], near-duplicates are both similar and near.
    #[must_use]
    pub fn similarity(mut self, similarity: Similarity) -> Self {
        self.similarity = Some(similarity);
        self
    }

    /// Sets the distance, in bits, within which fingerprints are near-duplicates, whatever their texts unless
    /// [`Dedup::similarity`] is set too. Documents without a reliable fingerprint are near-duplicates of equal ones
    /// only.
    #[must_use]
    pub fn distance(mut self, bits: u32) -> Self {
        self.distance = Some(bits);
        self
    }

    /// Sets how near-duplicates form clusters; by default as stars.
    #[must_use]
    pub fn clusters(mut self, clustering: Clustering) -> Self {
        self.clustering = clustering;
        self
    }

    /// Leaves out documents whose fingerprints are within `bits` of one of an index or another reference.
    /// [`Clusters::known`](crate::Clusters::known) returns them.
    ///
    /// This is faster than [`Dedup::against_texts`], and the way to compare with fingerprints alone; but a distance
    /// of fingerprints misses copies, and finds texts that are less similar.
    #[must_use]
    pub fn against(mut self, reference: &'a dyn Reference<F>, bits: u32) -> Self {
        self.against = Some(Against::Fingerprints(reference, bits));
        self
    }

    /// Leaves out documents whose texts are similar to a known one: by the rule that holds among the documents
    /// themselves, [`Dedup::similarity`], and as exactly. [`Clusters::known`](crate::Clusters::known) returns them.
    /// [`Documents`](crate::Documents) can be the reference.
    ///
    /// With documents that arrive day by day, each day compared with those kept before, the result is that of one
    /// search over all of them, the first of a cluster being kept.
    #[must_use]
    pub fn against_texts(mut self, reference: &'a dyn KnownTexts) -> Self {
        self.against = Some(Against::Texts(reference));
        self
    }

    /// Sets which document of a cluster is kept; by default the first.
    #[must_use]
    pub fn prefer(mut self, prefer: Preference) -> Self {
        self.prefer = prefer;
        self
    }

    /// Sets the memory limit in bytes; by default [`hamdex::default_memory`]. Shingles and ids that exceed their share
    /// go to temporary files. The memory that every document needs is checked before the search starts.
    #[must_use]
    pub fn memory(mut self, bytes: u64) -> Self {
        self.resources.memory = bytes;
        self
    }

    /// Sets the directory of temporary files; by default the system's place for large files
    /// ([`hamdex_atomic_file::temporary_directory`]).
    #[must_use]
    pub fn temp_dir(mut self, directory: impl Into<PathBuf>) -> Self {
        self.resources.directory = directory.into();
        self
    }

    /// Calls `report` with the documents without a reliable fingerprint after all documents are read and before the
    /// search starts, so they are known even if the search fails. It is called on the thread of the search.
    #[must_use]
    pub fn on_too_short(mut self, report: impl Fn(&TooShort) + Send + Sync + 'static) -> Self {
        self.on_too_short = Some(Arc::new(report));
        self
    }

    /// Calls `report` repeatedly with the progress of the search. It may be called on any thread.
    #[must_use]
    pub fn on_progress(mut self, report: impl Fn(Progress) + Send + Sync + 'static) -> Self {
        self.resources.on_progress = Some(Arc::new(report));
        self
    }

    /// Adds a cancellation of the search, which then ends with [`Error::Stopped`](crate::Error::Stopped).
    #[must_use]
    pub fn cancellation(mut self, cancellation: Cancellation) -> Self {
        self.resources.cancellations.push(cancellation);
        self
    }
}
