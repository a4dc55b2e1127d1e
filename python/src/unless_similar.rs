//! Inserts texts that are similar to none in a store.

use std::ops::Range;
use std::sync::Arc;

use hamdex::Names;
use hamdex_documents::Similarity;
use hamdex_simhash::Recipe;
use hamdex_store::{Record, Store, When};
use pyo3::prelude::*;

use crate::errors::OrRaise;
use crate::records::cannot_replace;
use crate::texts::Maker;
use crate::width::Width;
use crate::work::Watch;

/// Texts that are stored together.
const TEXTS_AT_ONCE: usize = 1 << 12;

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
    /// if one of them is blank.
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
        let made = self.maker.documents(texts, self.threads, watch)?;
        if replace && let Some(place) = made.iter().position(Option::is_none) {
            return Err(cannot_replace(place));
        }
        let records = made.iter().zip(names).filter_map(|(made, name)| {
            let (fingerprint, shingles) = made.as_ref()?;
            Some(Record::document(*fingerprint, *name, shingles))
        });
        let when = When::unless_similar(self.similarity.condition());
        let put = self.store.put(records, if replace { when.replacing() } else { when }).or_raise()?;
        let mut outcomes = put.outcomes.iter();
        let similar = |made: &Option<_>| {
            let similar = made.as_ref().and_then(|_| outcomes.next())?.similar()?;
            Some((Names::text_of(&similar.name).into_owned(), similar.similarity))
        };
        Ok(made.iter().map(similar).collect())
    }
}
