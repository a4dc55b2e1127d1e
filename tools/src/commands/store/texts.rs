//! Inserts documents into a store: fingerprints by its recipe, and names.

use std::path::Path;
use std::time::Instant;

use hamdex::{Fingerprint, RECIPE_KEY};
use hamdex_documents::{Document, TooShort};
use hamdex_simhash::{Fingerprinter, Outcome};
use hamdex_store::inspect::Manifest;

use crate::commands::store::inserter::Inserter;
use crate::documents::inputs::Reading;
use crate::documents::{recipe, report};
use crate::failure::Failure;

/// Documents to insert.
pub(super) struct Texts<F> {
    reading: Reading,
    fingerprinter: Fingerprinter<F>,
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
        Ok(Self { reading, fingerprinter })
    }

    /// Reads all documents, and inserts them batch by batch.
    pub(super) fn insert_into(self, inserter: &mut Inserter<'_, F>) -> Result<(), Failure> {
        let started = Instant::now();
        let (mut batch, mut too_short) = (Vec::new(), TooShort::default());
        let mut sink = |document: Document, outcome: Outcome<F>| {
            too_short.note(&document.id, &outcome);
            let Some(fingerprint) = outcome.reliable() else { return Ok(()) };
            batch.push((fingerprint, document.id.into_bytes()));
            if batch.len() < inserter.batch() {
                return Ok(());
            }
            inserter.insert_named(&std::mem::take(&mut batch))
        };
        let outcome = self.reading.read(|documents| documents.fingerprint(&self.fingerprinter, &mut sink));
        // Documents read before a failure are inserted all the same.
        if !batch.is_empty() {
            inserter.insert_named(&batch)?;
        }
        let counts = outcome?;
        report::require_some(&counts)?;
        report::summary(&counts, &too_short, started);
        Ok(())
    }
}
