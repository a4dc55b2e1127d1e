//! What is kept of each document in memory.

use std::collections::HashMap;

use hamdex::{Engine, Index};
use hamdex_simhash::{Fingerprinter, Outcome};
use rayon::prelude::*;

use crate::counts::Counts;
use crate::dedup::keep::Keep;
use crate::dedup::unions::Unions;
use crate::document::Document;
use crate::error::Error;
use crate::fingerprints;
use crate::intake::Sink;
use crate::too_short::TooShort;

/// Documents looked up at a time: enough work for all threads, in bounded memory.
const LOOKUP_BATCH: usize = 1 << 14;

/// How the search treats a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum State {
    Fingerprint,
    /// Compared only by its whole text.
    TooShort,
    /// Near a fingerprint of the index with which the corpus is compared.
    Known,
}

/// All documents, by number: about 13 bytes each with fingerprints of 64 bits, and their ids.
pub(crate) struct Corpus<F> {
    pub(crate) states: Vec<State>,
    /// Zero where there is none.
    pub(crate) fingerprints: Vec<F>,
    pub(crate) ids: Ids,
    /// The bytes of each text, if the longest document is kept.
    pub(crate) lengths: Option<Vec<u64>>,
    pub(crate) unions: Unions,
    pub(crate) too_short: TooShort,
    pub(crate) counts: Counts,
}

/// Strings in one allocation.
#[derive(Debug, Default)]
pub(crate) struct Ids {
    text: String,
    ends: Vec<usize>,
}

impl Ids {
    fn push(&mut self, id: &str) {
        self.text.push_str(id);
        self.ends.push(self.text.len());
    }

    pub(crate) fn get(&self, number: u32) -> &str {
        let number = number as usize;
        let start = if number == 0 { 0 } else { self.ends[number - 1] };
        &self.text[start..self.ends[number]]
    }
}

/// Takes all documents that `read` yields. Those too short for a fingerprint are joined if their texts are equal
/// and not blank.
pub(crate) fn read<F: Engine>(
    read: impl FnOnce(&mut Sink<'_>) -> Result<Counts, Error> + Send,
    fingerprinter: &Fingerprinter<F>,
    with_lengths: bool,
    keep: &mut Keep,
) -> Result<Corpus<F>, Error> {
    let mut corpus = Corpus {
        states: Vec::new(),
        fingerprints: Vec::new(),
        ids: Ids::default(),
        lengths: with_lengths.then(Vec::new),
        unions: Unions::default(),
        too_short: TooShort::default(),
        counts: Counts::default(),
    };
    let mut short_texts = HashMap::new();
    let counts = fingerprints::fingerprint(read, fingerprinter, &mut |document, outcome| {
        corpus.push(&document, outcome, &mut short_texts)?;
        keep.push(&document)
    })?;
    corpus.counts = counts;
    Ok(corpus)
}

impl<F: Engine> Corpus<F> {
    fn push(
        &mut self,
        document: &Document,
        outcome: Outcome<F>,
        short_texts: &mut HashMap<Box<str>, u32>,
    ) -> Result<(), Error> {
        let number = u32::try_from(self.states.len()).map_err(|_| Error::TooManyDocuments)?;
        self.unions.push();
        self.too_short.note(&document.id, &outcome);
        match outcome {
            Outcome::Fingerprint(fingerprint) => {
                self.states.push(State::Fingerprint);
                self.fingerprints.push(fingerprint);
            }
            Outcome::TooShort { .. } => {
                self.states.push(State::TooShort);
                self.fingerprints.push(F::ZERO);
                let text = document.text.trim();
                if let Some(&first) = short_texts.get(text) {
                    self.unions.join(first, number);
                } else if !text.is_empty() {
                    short_texts.insert(text.into(), number);
                }
            }
        }
        self.ids.push(&document.id);
        if let Some(lengths) = &mut self.lengths {
            lengths.push(document.text.len() as u64);
        }
        Ok(())
    }

    /// Marks the documents that are near a fingerprint of an index; returns their number.
    pub(crate) fn mark_known(&mut self, index: &Index<F>, distance: u32) -> Result<u64, hamdex::ReadError> {
        let mut known = 0;
        for (states, fingerprints) in
            self.states.chunks_mut(LOOKUP_BATCH).zip(self.fingerprints.chunks(LOOKUP_BATCH))
        {
            let found: Vec<bool> = states
                .par_iter()
                .zip(fingerprints)
                .map_init(
                    || index.searcher(),
                    |searcher, (state, &fingerprint)| {
                        Ok(*state == State::Fingerprint
                            && F::first(searcher, fingerprint, distance)?.is_some())
                    },
                )
                .collect::<Result<_, hamdex::ReadError>>()?;
            for (state, _) in states.iter_mut().zip(found).filter(|(_, found)| *found) {
                *state = State::Known;
                known += 1;
            }
        }
        Ok(known)
    }

    /// Returns the numbers and fingerprints of the documents to search.
    pub(crate) fn searched(&self) -> impl Iterator<Item = (u32, F)> {
        (0..)
            .zip(self.states.iter().zip(&self.fingerprints))
            .filter(|(_, (state, _))| **state == State::Fingerprint)
            .map(|(number, (_, fingerprint))| (number, *fingerprint))
    }
}
