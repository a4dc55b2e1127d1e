//! The near-duplicates of a corpus, as clusters.
//!
//! Input of a search:
//! - [`options`]: its options
//! - [`similarity`]: the least similarity of near-duplicates
//! - [`known`]: known documents, whose near-duplicates are dropped first; the documents similar to a text
//! - [`resources`]: memory, temporary files and progress
//!
//! Its steps, which this file takes in their order:
//! - [`corpus`]: the features of every document
//! - [`spill`]: sequences in memory, or in a temporary file
//! - [`weights`]: the preference among documents
//! - [`classes`]: equal documents, of which one is compared; sets of classes
//! - [`grouping`]: the classes of each cluster
//! - [`fingerprints`], [`texts`]: near-duplicates by distance, and by similarity
//! - [`clusters`]: the result: the members of clusters, and the kept document of each

mod classes;
pub(crate) mod clusters;
mod corpus;
mod fingerprints;
mod grouping;
pub(crate) mod known;
pub(crate) mod options;
pub(crate) mod resources;
pub(crate) mod similarity;
mod spill;
pub(crate) mod texts;
mod weights;

use std::sync::atomic::{AtomicU64, Ordering};

use hamdex::{Design, Fingerprint};

use crate::dedup::clusters::{Clusters, find_members};
use crate::dedup::corpus::{Corpus, CorpusBuilder, Extractor};
use crate::dedup::grouping::{Groups, bytes_per_document};
use crate::dedup::options::{Against, Dedup, Method, Preference};
use crate::dedup::resources::{Progress, Stage};
use crate::document::{Counts, Document};
use crate::error::Error;
use crate::read::collector::Sink;
use crate::read::fingerprint::map_texts;
use crate::read::options::Documents;

/// About the memory of a document that is known already: the name of the known one, and its similarity.
const KNOWN_BYTES: u64 = 160;

/// The default distance within which fingerprints are near.
const DEFAULT_DISTANCE: u32 = 3;

impl<F: Fingerprint> Dedup<'_, F> {
    /// Reads documents and finds their clusters.
    ///
    /// # Errors
    /// When documents cannot be read, the distance is too large, an index cannot be read, memory is too small for
    /// the number of documents, or temporary files cannot be written.
    pub fn run(&self, documents: &Documents) -> Result<Clusters, Error> {
        let mut documents = documents.clone();
        documents.temp_dir.get_or_insert_with(|| self.resources.directory.clone());
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

    /// Finds the clusters of existing fingerprints. `read` calls its argument with the id and the fingerprint of each
    /// document, in order, and the value that decides which document of a cluster is kept ([`Preference`]). There are no
    /// texts, so near-duplicates are defined by a distance only, by default 3.
    ///
    /// # Errors
    /// When a similarity is set or the longest text preferred, the error that `read` returns, or as [`Dedup::run`].
    pub fn run_on_fingerprints<E: From<Error>>(
        &self,
        read: impl FnOnce(&mut dyn FnMut(&[u8], F, Option<&str>) -> Result<(), Error>) -> Result<(), E>,
    ) -> Result<Clusters, E> {
        for (is_given, option) in [
            (self.similarity.is_some(), "similarity"),
            (matches!(self.against, Some(Against::Texts(_))), "against_texts"),
            (self.prefer == Preference::Longest, "prefer"),
        ] {
            if is_given {
                return Err(Error::option(option, "fingerprints have no texts to compare").into());
            }
        }
        let distance = self.distance.unwrap_or(DEFAULT_DISTANCE);
        Design::<F>::named("single", distance).map_err(Error::from)?;
        let mut builder = CorpusBuilder::new(&self.resources, false, self.prefer, false);
        let mut counts = Counts::default();
        read(&mut |id, fingerprint, value| {
            counts.documents += 1;
            builder.push_value(id, fingerprint, value)
        })?;
        let method = Method { distance: Some(distance), similarity: None };
        Ok(self.search(builder.finish(counts)?, method)?)
    }

    fn find(
        &self,
        read: impl FnOnce(&mut Sink<'_>) -> Result<Counts, Error> + Send,
    ) -> Result<Clusters, Error> {
        let method = Method::of(self.distance, self.similarity);
        if matches!(self.against, Some(Against::Texts(_))) && method.distance.is_some() {
            let reason = "known texts are compared by their similarity; a distance needs an index of the known documents";
            return Err(Error::option("distance", reason));
        }
        let of_known = match &self.against {
            Some(Against::Fingerprints(_, bits)) => Some(*bits),
            _ => None,
        };
        // A distance that is too large is refused before anything is read.
        for distance in method.distance.into_iter().chain(of_known) {
            Design::<F>::named("single", distance)?;
        }
        let with_sets = method.similarity.is_some();
        let needs_fingerprints = method.needs_fingerprints() || of_known.is_some();
        let mut builder = CorpusBuilder::new(&self.resources, with_sets, self.prefer, needs_fingerprints);
        let done = AtomicU64::new(0);
        let counts = map_texts(
            self.resources.batch_bytes(),
            read,
            || Extractor::new(&self.fingerprinter, method.similarity),
            |extractor, text| {
                // Before each text, since some are long.
                let before = done.fetch_add(1, Ordering::Relaxed);
                self.resources.report(Progress::new(Stage::Read, before, None))?;
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
        let documents = corpus.states.len() as u64;
        let of_known = if matches!(self.against, Some(Against::Texts(_))) { KNOWN_BYTES } else { 0 };
        let bytes = bytes_per_document::<F>(method) + of_known;
        let resources = &self.resources.for_documents(documents, bytes)?;
        let known = match (&self.against, method.similarity) {
            (Some(Against::Fingerprints(reference, bits)), _) => Some(corpus.mark_known(*reference, *bits)?),
            (Some(Against::Texts(reference)), Some(similarity)) => {
                Some(corpus.mark_similar(*reference, similarity, resources)?)
            }
            (Some(Against::Texts(_)), None) | (None, _) => None,
        };
        let groups = Groups::of(&mut corpus, method, self.clustering, resources)?;
        Ok(Clusters {
            members: find_members(&corpus, &groups, resources)?,
            has_similarities: method.similarity.is_some(),
            ids: corpus.ids,
            states: corpus.states,
            counts: corpus.counts,
            too_short: corpus.too_short,
            known,
        })
    }
}
