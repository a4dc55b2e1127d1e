//! Inserts texts that are similar to none in a store.

use std::collections::HashSet;
use std::ops::Range;
use std::sync::Arc;

use hamdex_documents::{Decision, Dedup, Document, Similarity};
use hamdex_simhash::Recipe;
use hamdex_store::{Record, Store, When};
use pyo3::prelude::*;

use crate::errors::OrRaise;
use crate::records::cannot_replace;
use crate::texts::Maker;
use crate::width::Width;
use crate::work::{Watch, pool};

/// Texts that are compared together: the shingles of the store are read once for them.
const TEXTS_AT_ONCE: usize = 1 << 16;

/// Their bytes; one text may have more.
const BYTES_AT_ONCE: usize = 128 << 20;

/// The id of a similar text, and its similarity.
type Similar = (String, f64);

/// Divides texts into those that are compared together.
fn chunks(texts: &[&str]) -> Vec<Range<usize>> {
    let (mut chunks, mut start, mut bytes) = (Vec::new(), 0, 0);
    for (place, text) in texts.iter().enumerate() {
        if place - start == TEXTS_AT_ONCE || (place > start && bytes + text.len() > BYTES_AT_ONCE) {
            chunks.push(start..place);
            (start, bytes) = (place, 0);
        }
        bytes += text.len();
    }
    chunks.push(start..texts.len());
    chunks
}

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
        let chunks = chunks(texts);
        if replace && chunks.len() > 1 {
            // A single chunk finds its blank texts before it writes.
            for chunk in &chunks {
                let made = self.maker.documents(&texts[chunk.clone()], self.threads, watch)?;
                if let Some(place) = made.iter().position(Option::is_none) {
                    return Err(cannot_replace(chunk.start + place));
                }
            }
        }
        let mut outcomes = Vec::with_capacity(texts.len());
        for chunk in chunks {
            outcomes.extend(self.put_some((&texts[chunk.clone()], &names[chunk]), replace, watch)?);
        }
        Ok(outcomes)
    }

    fn put_some(
        &self,
        (texts, names): (&[&str], &[&str]),
        replace: bool,
        watch: &Arc<Watch>,
    ) -> PyResult<Vec<Option<Similar>>> {
        let snapshot = self.store.snapshot();
        let documents: Vec<Document> =
            names.iter().zip(texts).map(|(name, text)| Document::new(*name, *text)).collect();
        let own = Arc::clone(watch);
        let dedup = Dedup::new(self.maker.fingerprinter.clone()).similarity(self.similarity);
        let dedup = dedup.on_progress(move |_| own.go_on());
        let decisions = if replace {
            let given: HashSet<Vec<u8>> = names.iter().map(|name| name.as_bytes().to_vec()).collect();
            let earlier = snapshot.ids_of_names(&given).or_raise()?;
            let decide = || dedup.decide_replacements(&snapshot, &earlier, &documents);
            let decisions = pool(self.threads)?.install(decide).or_raise()?;
            if let Some(place) = decisions.iter().position(|decision| *decision == Decision::Blank) {
                return Err(cannot_replace(place));
            }
            decisions
        } else {
            pool(self.threads)?.install(|| dedup.decide(&snapshot, &documents)).or_raise()?
        };
        let new = decisions.iter().zip(names).filter_map(|(decision, name)| match decision {
            Decision::New { fingerprint, shingles } => Some(Record::document(*fingerprint, *name, shingles)),
            _ => None,
        });
        let when = if replace { When::always().replacing() } else { When::always() };
        self.store.put(new, when).or_raise()?;
        let outcomes = decisions.into_iter().map(|decision| match decision {
            Decision::Similar { name, similarity } => Some((name, similarity)),
            _ => None,
        });
        Ok(outcomes.collect())
    }
}
