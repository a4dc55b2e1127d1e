//! The features of every document: fingerprint, id, length, digest and shingles.

use hamdex::Fingerprint;
use hamdex_simhash::recipe::Hash;
use hamdex_simhash::{Fingerprinter, Outcome, Scratch, Shingler, Shingles};

use crate::dedup::known::{KnownTexts, Reference};
use crate::dedup::options::Preference;
use crate::dedup::resources::{Progress, Resources, Stage};
use crate::dedup::similarity::Similarity;
use crate::dedup::spill::{SpillWriter, Spilled};
use crate::dedup::texts::new_texts::{self, Known, KnownAs, NearestTexts, NewTexts};
use crate::dedup::texts::prefix::ShingleCounts;
use crate::dedup::weights::WeightsWriter;
use crate::document::{Counts, Document, TooShort};
use crate::error::Error;

/// Documents looked up in the reference at a time: enough work for all threads, in bounded memory.
const LOOKUP_BATCH: usize = 1 << 14;

/// The hash of whole texts.
const TEXT_HASH: Hash = Hash::Xxh3 { seed: 0 };

/// The treatment of a document by the search.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum State {
    Fingerprint,
    /// Without a reliable fingerprint.
    TooShort,
    /// A near-duplicate of a document that is known already.
    Known,
}

/// A digest of 128 bits as two numbers, so that a pair with a `u32` takes 24 bytes instead of 32.
pub(crate) type Digest = (u64, u64);

/// All documents, by number.
pub(crate) struct Corpus<F> {
    pub(crate) states: Vec<State>,
    /// Reliable or not; zero for documents without a fingerprint.
    pub(crate) fingerprints: Vec<F>,
    pub(crate) ids: Spilled<u8>,
    /// The weight of each document, unless the first one is kept: of a cluster, the greatest is.
    pub(crate) weights: Option<Vec<u64>>,
    /// Digests of the shingles, if texts are compared; otherwise of texts too short for a fingerprint. Blank texts
    /// have no digest.
    pub(crate) digests: Vec<(Digest, u32)>,
    /// The shingles, if texts are compared.
    pub(crate) sets: Option<Spilled<u64>>,
    pub(crate) too_short: TooShort,
    pub(crate) counts: Counts,
}

/// The features of a document, extracted on several threads.
pub(crate) struct Features<F> {
    outcome: Outcome<F>,
    shingles: Option<Shingles>,
    digest: Option<Digest>,
}

/// Extracts features; one per thread.
pub(crate) struct Extractor<'a, F> {
    fingerprinter: &'a Fingerprinter<F>,
    scratch: Scratch<F>,
    shingler: Option<Shingler>,
}

impl<'a, F: Fingerprint> Extractor<'a, F> {
    pub(crate) fn new(fingerprinter: &'a Fingerprinter<F>, similarity: Option<Similarity>) -> Self {
        let shingler = similarity.map(|similarity| Shingler::new(similarity.words()));
        Self { fingerprinter, scratch: Scratch::default(), shingler }
    }

    pub(crate) fn features(&mut self, text: &str) -> Features<F> {
        let Self { fingerprinter, scratch, shingler } = self;
        let (outcome, shingles) = match shingler {
            Some(shingler) => {
                let (outcome, shingles) = fingerprinter.fingerprint_and_shingles(text, scratch, shingler);
                (outcome, Some(shingles))
            }
            None => (fingerprinter.fingerprint(text, scratch), None),
        };
        let digest = match &shingles {
            Some(shingles) => (!shingles.hashes().is_empty()).then(|| shingles.digest()),
            None => {
                let text = text.trim();
                (outcome.is_too_short() && !text.is_empty()).then(|| TEXT_HASH.of(text.as_bytes()))
            }
        };
        let digest = digest.map(|digest: u128| ((digest >> 64) as u64, digest as u64));
        Features { outcome, shingles, digest }
    }
}

/// Takes documents in their order.
pub(crate) struct CorpusBuilder<F> {
    states: Vec<State>,
    fingerprints: Vec<F>,
    ids: SpillWriter<u8>,
    weights: WeightsWriter,
    digests: Vec<(Digest, u32)>,
    sets: Option<SpillWriter<u64>>,
    too_short: TooShort,
    /// Whether documents without a reliable fingerprint are counted as too short.
    counts_short: bool,
}

impl<F: Fingerprint> CorpusBuilder<F> {
    pub(crate) fn new(
        resources: &Resources,
        with_sets: bool,
        prefer: Preference,
        counts_short: bool,
    ) -> Self {
        Self {
            states: Vec::new(),
            fingerprints: Vec::new(),
            ids: SpillWriter::new(&resources.directory, resources.id_bytes()),
            weights: WeightsWriter::new(prefer, &resources.directory, resources.id_bytes()),
            digests: Vec::new(),
            sets: with_sets.then(|| SpillWriter::new(&resources.directory, resources.set_bytes())),
            too_short: TooShort::default(),
            counts_short,
        }
    }

    pub(crate) fn push(&mut self, document: &Document, features: Features<F>) -> Result<(), Error> {
        let number = self.push_fingerprint(document.id_bytes(), features.outcome)?;
        if self.counts_short {
            self.too_short.note(&document.id, &features.outcome);
        }
        self.digests.extend(features.digest.map(|digest| (digest, number)));
        if let (Some(sets), Some(shingles)) = (&mut self.sets, &features.shingles) {
            sets.push(shingles.hashes())?;
        }
        self.weights.push(document.text.len(), document.extra.as_deref())
    }

    /// Adds a document of which only the fingerprint is known, and the value that says whether it is kept.
    pub(crate) fn push_value(&mut self, id: &[u8], fingerprint: F, value: Option<&str>) -> Result<(), Error> {
        self.push_fingerprint(id, Outcome::Fingerprint(fingerprint))?;
        self.weights.push(0, value)
    }

    /// Adds a document without its shingles and its weight; returns its number.
    fn push_fingerprint(&mut self, id: &[u8], outcome: Outcome<F>) -> Result<u32, Error> {
        // The last number is reserved.
        let number = u32::try_from(self.states.len()).ok().filter(|number| *number < u32::MAX);
        let number = number.ok_or(Error::TooManyDocuments)?;
        self.states.push(if outcome.is_too_short() { State::TooShort } else { State::Fingerprint });
        self.fingerprints.push(outcome.value().unwrap_or(F::ZERO));
        self.ids.push(id)?;
        Ok(number)
    }

    pub(crate) fn finish(self, counts: Counts) -> Result<Corpus<F>, Error> {
        Ok(Corpus {
            states: self.states,
            fingerprints: self.fingerprints,
            ids: self.ids.finish()?,
            weights: self.weights.finish()?,
            digests: self.digests,
            sets: self.sets.map(SpillWriter::finish).transpose()?,
            too_short: self.too_short,
            counts,
        })
    }
}

impl<F: Fingerprint> Corpus<F> {
    /// Marks the documents near a fingerprint of the reference, and returns them.
    pub(crate) fn mark_known(
        &mut self,
        reference: &dyn Reference<F>,
        distance: u32,
    ) -> Result<Vec<Known>, Error> {
        let mut known = Vec::new();
        let mut first = 0;
        for (states, fingerprints) in
            self.states.chunks_mut(LOOKUP_BATCH).zip(self.fingerprints.chunks(LOOKUP_BATCH))
        {
            let is_searched = |state: &State| *state == State::Fingerprint;
            let queries = states.iter().zip(fingerprints).map(|(state, &f)| is_searched(state).then_some(f));
            let nearest = reference.nearest(&queries.collect::<Vec<_>>(), distance)?;
            for ((document, state), nearest) in (first..).zip(states.iter_mut()).zip(nearest) {
                let Some(nearest) = nearest else { continue };
                *state = State::Known;
                let known_as = KnownAs::Fingerprint(nearest.fingerprint.to_u128());
                let distance = Some(nearest.distance);
                known.push(Known { document, source: 0, known: known_as, distance, similarity: None });
            }
            first += states.len() as u32;
        }
        Ok(known)
    }

    /// Marks the documents that are similar to a known one, and returns them.
    pub(crate) fn mark_similar(
        &mut self,
        reference: &dyn KnownTexts,
        similarity: Similarity,
        resources: &Resources,
    ) -> Result<Vec<Known>, Error> {
        let sets = self.sets.as_ref().expect("sets are kept if texts are compared");
        let mut by_set: Vec<(Digest, u32)> = self.digests.clone();
        by_set.sort_unstable();
        let leaders: Vec<u32> =
            by_set.chunk_by(|one, other| one.0 == other.0).map(|equal| equal[0].1).collect();
        let total = Some(leaders.len() as u64);
        let report = |done| resources.report(Progress::new(Stage::Count, done, total));
        let counts = ShingleCounts::of(sets, &leaders, resources.count_bytes(), &report)?;
        let mut nearest = NearestTexts::default();
        let mut done = 0;
        while done < leaders.len() {
            let rest = &leaders[done..];
            let count = if reference.is_repeatable() {
                new_texts::fitting(sets, rest, similarity, resources.index_bytes())
            } else {
                rest.len()
            };
            let some = (&rest[..count], done as u32);
            let new = NewTexts::new(sets, some, (similarity, &counts), resources)?;
            reference.search(&new, &mut nearest)?;
            done += count;
        }
        let mut known = Vec::new();
        for (number, equal) in (0u32..).zip(by_set.chunk_by(|one, other| one.0 == other.0)) {
            let Some((similarity, source, known_as)) = nearest.get(number) else { continue };
            known.extend(equal.iter().map(|&(_, document)| Known {
                document,
                source,
                known: known_as.clone(),
                distance: None,
                similarity: Some(similarity),
            }));
        }
        known.sort_unstable_by_key(|known| known.document);
        known.iter().for_each(|known| self.states[known.document as usize] = State::Known);
        Ok(known)
    }
}
