//! Inserts texts that are similar to none in a store.

use std::collections::HashSet;
use std::sync::Arc;

use hamdex_documents::known::{KnownAs, KnownShingles};
use hamdex_documents::{Dedup, Document, Replacement, Similarity};
use hamdex_simhash::Recipe;
use hamdex_store::Store;
use pyo3::prelude::*;

use crate::documents::Maker;
use crate::errors::OrRaise;
use crate::records::cannot_replace;
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
    /// With `replace`, a text takes the place of those of its name, to which it is not compared; nothing is written
    /// if one of them is blank. No other insert may come in between.
    pub(crate) fn run(
        &self,
        (texts, names): (&[&str], &[&str]),
        replace: bool,
        watch: &Arc<Watch>,
    ) -> PyResult<Vec<Option<Similar>>> {
        let chunks = || texts.chunks(TEXTS_AT_ONCE).zip(names.chunks(TEXTS_AT_ONCE));
        if replace && texts.len() > TEXTS_AT_ONCE {
            // A single chunk finds its blank texts before it writes.
            for (number, (texts, _)) in chunks().enumerate() {
                let made = self.maker.documents(texts, self.threads, watch)?;
                if let Some(place) = made.iter().position(Option::is_none) {
                    return Err(cannot_replace(number * TEXTS_AT_ONCE + place));
                }
            }
        }
        let mut outcomes = Vec::with_capacity(texts.len());
        for chunk in chunks() {
            outcomes.extend(if replace {
                self.replace_some(chunk, watch)?
            } else {
                self.insert_some(chunk, watch)?
            });
        }
        Ok(outcomes)
    }

    fn replace_some(
        &self,
        (texts, names): (&[&str], &[&str]),
        watch: &Arc<Watch>,
    ) -> PyResult<Vec<Option<Similar>>> {
        let snapshot = self.store.snapshot();
        let given: HashSet<Vec<u8>> = names.iter().map(|name| name.as_bytes().to_vec()).collect();
        let earlier = snapshot.ids_of_names(&given).or_raise()?;
        let documents: Vec<Document> =
            names.iter().zip(texts).map(|(name, text)| Document::new(*name, *text)).collect();
        let dedup = self.dedup(watch);
        let decide = || dedup.decide_replacements(&snapshot, &earlier, &documents);
        let decisions = pool(self.threads)?.install(decide).or_raise()?;
        if let Some(place) = decisions.iter().position(|decision| *decision == Replacement::Blank) {
            return Err(cannot_replace(place));
        }
        let is_new = |number: &usize| decisions[*number] == Replacement::New;
        let new: Vec<usize> = (0..texts.len()).filter(is_new).collect();
        self.write(&new, (texts, names), watch, |documents| {
            self.store.upsert_documents(documents).or_raise().map(drop)
        })?;
        let outcomes = decisions.into_iter().map(|decision| match decision {
            Replacement::Similar { name, similarity } => Some((name, similarity)),
            _ => None,
        });
        Ok(outcomes.collect())
    }

    fn dedup(&self, watch: &Arc<Watch>) -> Dedup<'static, F> {
        let own = Arc::clone(watch);
        let dedup = Dedup::new(self.maker.fingerprinter.clone()).similarity(self.similarity);
        dedup.on_progress(move |_| own.go_on())
    }

    /// Writes the texts with these numbers.
    fn write(
        &self,
        new: &[usize],
        (texts, names): (&[&str], &[&str]),
        watch: &Arc<Watch>,
        write: impl FnOnce(&[(F, &str, &[u64])]) -> PyResult<()>,
    ) -> PyResult<()> {
        let new_texts: Vec<&str> = new.iter().map(|&number| texts[number]).collect();
        let made = self.maker.documents(&new_texts, self.threads, watch)?;
        let mut documents = Vec::with_capacity(new.len());
        for (&number, document) in new.iter().zip(&made) {
            documents.extend(
                document.as_ref().map(|(fingerprint, shingles)| (*fingerprint, names[number], &shingles[..])),
            );
        }
        if documents.is_empty() { Ok(()) } else { write(&documents) }
    }

    fn insert_some(
        &self,
        (texts, names): (&[&str], &[&str]),
        watch: &Arc<Watch>,
    ) -> PyResult<Vec<Option<Similar>>> {
        let snapshot = self.store.snapshot();
        let known = KnownShingles::new(&snapshot, self.similarity.words()).or_raise()?;
        let dedup = self.dedup(watch).against_texts(&known);
        let documents = || texts.iter().map(|text| Document::new("", *text));
        let clusters = pool(self.threads)?.install(|| dedup.run_on(documents())).or_raise()?;
        let new: Vec<usize> = clusters.unique().map(|number| number as usize).collect();
        self.write(&new, (texts, names), watch, |documents| {
            self.store.insert_documents(documents).or_raise().map(drop)
        })?;
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
