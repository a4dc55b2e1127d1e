//! What is remembered of each document.

use std::collections::HashMap;

use hamdex::{Fingerprint, Index};
use hamdex_simhash::{Fingerprinter, Outcome};
use rayon::prelude::*;

use crate::commands::dedup::spool::Spool;
use crate::commands::dedup::unions::Unions;
use crate::documents::report::TooShort;
use crate::documents::{Counts, Document, Reading, parallel};
use crate::failure::Failure;

/// Documents asked for at a time, so that threads have work and memory has an end.
const ASKED_AT_ONCE: usize = 1 << 14;

/// What the search has to do with a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    Fingerprint,
    /// Compared by its whole text only.
    TooShort,
    /// Near a document of the index that the corpus is held against.
    Known,
}

/// All documents, by number: about 13 bytes each with fingerprints of 64 bits, and their names.
pub(super) struct Corpus<F> {
    pub(super) states: Vec<State>,
    /// Zero where there is none.
    pub(super) fingerprints: Vec<F>,
    pub(super) names: Names,
    /// Bytes of the texts, where the longest is to be kept.
    pub(super) lengths: Option<Vec<u64>>,
    pub(super) unions: Unions,
    pub(super) too_short: TooShort,
    pub(super) counts: Counts,
}

/// What else is kept.
pub(super) struct Keep {
    pub(super) lengths: bool,
    pub(super) texts: Option<Spool>,
    pub(super) lines: Option<Spool>,
}

/// Strings one after the other.
#[derive(Debug, Default)]
pub(super) struct Names {
    text: String,
    ends: Vec<usize>,
}

impl Names {
    fn push(&mut self, name: &str) {
        self.text.push_str(name);
        self.ends.push(self.text.len());
    }

    pub(super) fn get(&self, number: u32) -> &str {
        let number = number as usize;
        let start = if number == 0 { 0 } else { self.ends[number - 1] };
        &self.text[start..self.ends[number]]
    }
}

/// Reads all documents. Those too short for a fingerprint belong together if their texts are equal,
/// unless they are blank.
pub(super) fn read<F: Fingerprint>(
    reading: &Reading<'_>,
    fingerprinter: &Fingerprinter<F>,
    keep: &mut Keep,
) -> Result<Corpus<F>, Failure> {
    let mut corpus = Corpus {
        states: Vec::new(),
        fingerprints: Vec::new(),
        names: Names::default(),
        lengths: keep.lengths.then(Vec::new),
        unions: Unions::default(),
        too_short: TooShort::default(),
        counts: Counts::default(),
    };
    let mut short_texts: HashMap<Box<str>, u32> = HashMap::new();
    corpus.counts = parallel::fingerprint(reading, fingerprinter, &mut |document, outcome| {
        let Ok(number) = u32::try_from(corpus.states.len()) else {
            return Err(Failure::Wrong("more than 4,294,967,295 documents: take them in parts".to_owned()));
        };
        corpus.unions.push();
        corpus.too_short.note(&document.id, &outcome);
        match outcome {
            Outcome::Fingerprint(fingerprint) => {
                corpus.states.push(State::Fingerprint);
                corpus.fingerprints.push(fingerprint);
            }
            Outcome::TooShort { .. } => {
                corpus.states.push(State::TooShort);
                corpus.fingerprints.push(F::ZERO);
                let text = document.text.trim();
                if let Some(&first) = short_texts.get(text) {
                    corpus.unions.join(first, number);
                } else if !text.is_empty() {
                    short_texts.insert(text.into(), number);
                }
            }
        }
        corpus.names.push(&document.id);
        keep_rest(&document, &mut corpus.lengths, keep, reading)
    })?;
    Ok(corpus)
}

fn keep_rest(
    document: &Document,
    lengths: &mut Option<Vec<u64>>,
    keep: &mut Keep,
    reading: &Reading<'_>,
) -> Result<(), Failure> {
    if let Some(lengths) = lengths {
        lengths.push(document.text.len() as u64);
    }
    if let Some(texts) = &mut keep.texts {
        texts.push(&document.text)?;
    }
    let Some(lines) = &mut keep.lines else { return Ok(()) };
    match &document.line {
        Some(line) => lines.push(line),
        None => lines.push(&crate::commands::dedup::output::line_of(document, reading.fields)),
    }
}

impl<F: Fingerprint> Corpus<F> {
    /// Marks what is near a document of an index.
    pub(super) fn mark_known(&mut self, index: &Index<F>, distance: u32) -> Result<u64, hamdex::ReadError> {
        let mut known = 0;
        for (states, fingerprints) in
            self.states.chunks_mut(ASKED_AT_ONCE).zip(self.fingerprints.chunks(ASKED_AT_ONCE))
        {
            let found: Vec<bool> = states
                .par_iter()
                .zip(fingerprints)
                .map_init(
                    || index.searcher(),
                    |searcher, (state, &fingerprint)| {
                        Ok(*state == State::Fingerprint && searcher.first(fingerprint, distance)?.is_some())
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

    /// The numbers and fingerprints of what is to be searched.
    pub(super) fn searched(&self) -> impl Iterator<Item = (u32, F)> {
        (0..)
            .zip(self.states.iter().zip(&self.fingerprints))
            .filter(|(_, (state, _))| **state == State::Fingerprint)
            .map(|(number, (_, fingerprint))| (number, *fingerprint))
    }
}
