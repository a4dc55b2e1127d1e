//! Inserts documents into a store: fingerprints by its recipe, names, and shingles if it keeps them.

use std::convert::Infallible;
use std::num::NonZeroUsize;
use std::path::Path;
use std::time::Instant;

use hamdex::threads::map_numbers;
use hamdex::{Fingerprint, RECIPE_KEY};
use hamdex_documents::{Counts, Document, Similarity, TooShort};
use hamdex_simhash::{Fingerprinter, Outcome, Scratch, Shingler, Shingles};
use hamdex_store::inspect::Manifest;

use crate::commands::store::inserter::{Inserter, NamedDocument};
use crate::documents::inputs::{Came, Reading, each_as_it_comes};
use crate::documents::{self, recipe};
use crate::failure::Failure;

/// Texts that are compared at a time, in bytes; and shingles that are inserted at a time. One document may have more.
const MAX_BATCH_BYTES: usize = 128 << 20;
const MAX_BATCH_SHINGLES: usize = 16 << 20;

/// Documents to insert.
pub(super) struct Texts<F> {
    reading: Reading,
    fingerprinter: Fingerprinter<F>,
    /// The words per shingle, if the store keeps shingles.
    words: Option<NonZeroUsize>,
}

impl<F: Fingerprint> Texts<F> {
    /// The recipe of the store; options must not contradict it.
    pub(super) fn new(
        reading: Reading,
        store: &Path,
        options: &recipe::Options,
        manifest: &Manifest,
    ) -> Result<Self, Failure> {
        let recipe = manifest.recipe.iter().map(|recipe| (RECIPE_KEY.to_owned(), recipe.as_bytes().to_vec()));
        let metadata = recipe.collect();
        let (recipe, lists) = options.of_index(store, &metadata)?;
        let fingerprinter = Fingerprinter::with_lists(&recipe, lists).map_err(recipe::usage)?;
        let words = manifest.shingles.as_deref().map(|definition| {
            Shingler::words_of(definition).ok_or_else(|| {
                let what =
                    format_args!("its shingles are made as {definition:?}, which this version does not do");
                Failure::usage_of(store, what)
            })
        });
        Ok(Self { reading, fingerprinter, words: words.transpose()? })
    }

    /// Returns the words per shingle, if the store keeps shingles.
    pub(super) fn words(&self) -> Option<NonZeroUsize> {
        self.words
    }

    /// Inserts documents as they come down a pipe, so that their sender can wait for the outcome of each.
    pub(super) fn insert_as_they_come(self, inserter: &mut Inserter<'_, F>) -> Result<(), Failure> {
        let started = Instant::now();
        let Self { reading, fingerprinter, words } = self;
        let (mut scratch, mut shingler) = (Scratch::default(), words.map(Shingler::new));
        let make = move |text: &str| match &mut shingler {
            Some(shingler) => {
                let (outcome, shingles) =
                    fingerprinter.fingerprint_and_shingles(text, &mut scratch, shingler);
                (outcome, Some(shingles))
            }
            None => (fingerprinter.fingerprint(text, &mut scratch), None),
        };
        let mut batch = Batch::default();
        let counts = each_as_it_comes(reading, make, inserter.batch(), |came| match came {
            Came::Documents(documents) => {
                for (document, (outcome, shingles)) in documents {
                    batch.take(inserter, &document, outcome, shingles.as_ref())?;
                }
                batch.insert(inserter)
            }
            Came::Skipped(skipped) => inserter.skip(&skipped.error),
        })?;
        documents::finish(&counts, &batch.too_short, started)
    }

    /// Reads all documents, and inserts them batch by batch.
    pub(super) fn insert_into(self, inserter: &mut Inserter<'_, F>) -> Result<(), Failure> {
        let started = Instant::now();
        let mut batch = Batch::default();
        let take = |document: Document, outcome, shingles: Option<&Shingles>| {
            batch.take(inserter, &document, outcome, shingles)
        };
        let outcome = self.reading.fingerprint(&self.fingerprinter, self.words, take);
        // Documents read before a failure are inserted nevertheless.
        batch.insert(inserter)?;
        documents::finish(&outcome?, &batch.too_short, started)
    }

    /// Reads all documents. Of each batch it inserts the documents that are similar to none in the store and to no
    /// earlier one of the batch.
    pub(super) fn insert_unless_similar(
        self,
        inserter: &mut Inserter<'_, F>,
        similarity: Similarity,
    ) -> Result<(), Failure> {
        let started = Instant::now();
        let (mut batch, mut bytes) = (Vec::new(), 0);
        let outcome: Result<Counts, Failure> = self.reading.read(|documents| {
            documents.read(|document| {
                bytes += document.text.len();
                batch.push(document);
                if batch.len() < inserter.batch() && bytes < MAX_BATCH_BYTES {
                    return Ok(());
                }
                bytes = 0;
                insert_new(&self.fingerprinter, &std::mem::take(&mut batch), inserter, similarity)
            })
        });
        // Documents read before a failure are inserted nevertheless.
        if !batch.is_empty() {
            insert_new(&self.fingerprinter, &batch, inserter, similarity)?;
        }
        documents::finish(&outcome?, &TooShort::default(), started)
    }

    /// The same for documents that come down a pipe, so that their sender can wait for the outcome of each.
    pub(super) fn insert_unless_similar_as_they_come(
        self,
        inserter: &mut Inserter<'_, F>,
        similarity: Similarity,
    ) -> Result<(), Failure> {
        let started = Instant::now();
        let Self { reading, fingerprinter, .. } = self;
        let max = inserter.batch();
        let counts = each_as_it_comes(reading, str::to_owned, max, |came| {
            let documents = match came {
                Came::Documents(documents) => documents,
                Came::Skipped(skipped) => return inserter.skip(&skipped.error),
            };
            let whole = |(mut document, text): (Document, String)| {
                document.text = text;
                document
            };
            let batch: Vec<Document> = documents.into_iter().map(whole).collect();
            insert_new(&fingerprinter, &batch, inserter, similarity)
        })?;
        documents::finish(&counts, &TooShort::default(), started)
    }
}

/// Inserts the documents of a batch that are similar to none in the store, nor to an earlier one that is inserted; with
/// `--replace`, nor to any of another name.
fn insert_new<F: Fingerprint>(
    fingerprinter: &Fingerprinter<F>,
    batch: &[Document],
    inserter: &mut Inserter<'_, F>,
    similarity: Similarity,
) -> Result<(), Failure> {
    let start = || (Scratch::default(), Shingler::new(similarity.words()));
    let cut = |(scratch, shingler): &mut (Scratch<F>, Shingler), number: usize| {
        let text = &batch[number].text;
        let (outcome, shingles) = fingerprinter.fingerprint_and_shingles(text, scratch, shingler);
        Ok::<_, Infallible>(outcome.value_of_text(&shingles).map(|fingerprint| (fingerprint, shingles)))
    };
    let Ok(texts) = map_numbers(batch.len(), start, cut);
    inserter.insert_new(batch, &texts, similarity.condition())
}

/// Documents that are inserted together.
#[derive(Default)]
struct Batch<F> {
    documents: Vec<NamedDocument<F>>,
    /// The number of their shingles.
    shingles: usize,
    too_short: TooShort,
}

impl<F: Fingerprint> Batch<F> {
    /// Takes a document, and inserts the batch if it is full. A document without a reliable fingerprint is left out,
    /// unless its shingles are kept.
    fn take(
        &mut self,
        inserter: &mut Inserter<'_, F>,
        document: &Document,
        outcome: Outcome<F>,
        shingles: Option<&Shingles>,
    ) -> Result<(), Failure> {
        let Some(fingerprint) = documents::kept(document, &outcome, shingles, &mut self.too_short) else {
            if inserter.prints_each() {
                // Lines come in the order of the documents.
                self.insert(inserter)?;
            }
            let features = match outcome {
                Outcome::TooShort { features, .. } => features,
                Outcome::Fingerprint(_) => 0,
            };
            return inserter.pass_over(&document.id, features);
        };
        let shingles = shingles.map(|shingles| shingles.hashes().to_vec());
        self.shingles += shingles.as_ref().map_or(0, Vec::len);
        self.documents.push(NamedDocument { fingerprint, name: document.id_bytes().to_vec(), shingles });
        let is_full = self.documents.len() >= inserter.batch() || self.shingles >= MAX_BATCH_SHINGLES;
        if is_full { self.insert(inserter) } else { Ok(()) }
    }

    /// Inserts the batch, and empties it.
    fn insert(&mut self, inserter: &mut Inserter<'_, F>) -> Result<(), Failure> {
        let documents = std::mem::take(&mut self.documents);
        self.shingles = 0;
        if documents.is_empty() { Ok(()) } else { inserter.insert_named(&documents) }
    }
}
