//! Inserts texts that are similar to none in a store.

use std::sync::Arc;

use hamdex_documents::known::{KnownAs, KnownShingles};
use hamdex_documents::{Dedup, Document, Similarity};
use hamdex_simhash::Recipe;
use hamdex_store::Store;
use pyo3::prelude::*;

use crate::documents::Maker;
use crate::errors::OrRaise;
use crate::width::Width;
use crate::work::{Watch, pool};

/// Texts that are compared together: the shingles of the store are read once for them.
const TEXTS_AT_ONCE: usize = 1 << 16;

/// The id of a similar text, and its similarity.
type Similar = (String, f64);

/// The work of one call.
pub(crate) struct UnlessSimilar<'a, F: Width> {
    store: &'a Store<F>,
    maker: Maker<F>,
    similarity: Similarity,
    threads: usize,
}

impl<'a, F: Width> UnlessSimilar<'a, F> {
    pub(crate) fn new(
        store: &'a Store<F>,
        recipe: &Recipe,
        similarity: Similarity,
        threads: usize,
    ) -> PyResult<Self> {
        Ok(Self { store, maker: Maker::new(recipe, similarity.words())?, similarity, threads })
    }

    /// Inserts the texts that are similar to none stored, nor to an earlier one, and returns what each is similar to.
    /// No other insert may come in between.
    pub(crate) fn insert(
        &self,
        texts: &[&str],
        names: &[&str],
        watch: &Arc<Watch>,
    ) -> PyResult<Vec<Option<Similar>>> {
        let mut outcomes = Vec::with_capacity(texts.len());
        for (texts, names) in texts.chunks(TEXTS_AT_ONCE).zip(names.chunks(TEXTS_AT_ONCE)) {
            outcomes.extend(self.insert_some(texts, names, watch)?);
        }
        Ok(outcomes)
    }

    fn insert_some(
        &self,
        texts: &[&str],
        names: &[&str],
        watch: &Arc<Watch>,
    ) -> PyResult<Vec<Option<Similar>>> {
        let snapshot = self.store.snapshot();
        let known = KnownShingles::new(&snapshot, self.similarity.words()).or_raise()?;
        let own = Arc::clone(watch);
        let dedup = Dedup::new(self.maker.fingerprinter.clone())
            .similarity(self.similarity)
            .against_texts(&known)
            .on_progress(move |_| own.go_on());
        let documents = || texts.iter().map(|text| Document::new("", *text));
        let clusters = pool(self.threads)?.install(|| dedup.run_on(documents())).or_raise()?;
        let new: Vec<usize> = clusters.unique().map(|number| number as usize).collect();
        let made = {
            let texts: Vec<&str> = new.iter().map(|&number| texts[number]).collect();
            self.maker.documents(&texts, self.threads, watch)?
        };
        let mut inserted = Vec::with_capacity(new.len());
        for (&number, document) in new.iter().zip(&made) {
            inserted.extend(
                document.as_ref().map(|(fingerprint, shingles)| (*fingerprint, names[number], &shingles[..])),
            );
        }
        if !inserted.is_empty() {
            self.store.insert_documents(&inserted).or_raise()?;
        }
        let mut outcomes: Vec<Option<Similar>> = vec![None; texts.len()];
        for known in clusters.known().unwrap_or_default() {
            let KnownAs::Name(name) = &known.known else { continue };
            outcomes[known.document as usize] = Some((name.clone(), known.similarity.unwrap_or_default()));
        }
        for cluster in clusters.members().chunk_by(|one, other| one.cluster == other.cluster) {
            let Some(kept) = cluster.iter().find(|member| member.is_kept) else { continue };
            let name = names[kept.document as usize];
            for member in cluster.iter().filter(|member| !member.is_kept) {
                outcomes[member.document as usize] =
                    Some((name.to_owned(), member.similarity.unwrap_or_default()));
            }
        }
        Ok(outcomes)
    }
}
