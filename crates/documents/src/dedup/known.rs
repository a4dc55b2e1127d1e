//! Known documents, whose near-duplicates are left out: by their fingerprints, by their texts, or by the shingles that a
//! set keeps of its documents. Such a set also tells which of its documents are similar to texts.

use std::num::NonZeroUsize;

use hamdex::set::{Description, ShinglePart, StoredId};
use hamdex::similar::{Condition, SimilarDocument};
use hamdex::threads::{map_in_order, map_numbers};
use hamdex::{
    BatchOptions, Fingerprint, FingerprintSet, Index, Match, Names, ReadError, ReadErrorKind, Report,
    SetError, SetSearcher, Stopped, shingles,
};
use hamdex_simhash::{SHINGLE_BITS, Shingler};

use crate::dedup::texts::new_texts::{KnownAs, Matcher, NearestTexts, NewTexts, Similar};
use crate::error::Error;
use crate::read::fingerprint::map_texts;
use crate::read::options::Documents;

/// Known fingerprints, for [`Dedup::against`](crate::Dedup::against).
pub trait Reference<F>: Sync {
    /// Returns for each query the nearest stored fingerprint within `distance`; `None` if there is none, or the query
    /// is `None`.
    ///
    /// # Errors
    /// When the stored fingerprints cannot be read.
    fn nearest(&self, fingerprints: &[Option<F>], distance: u32) -> Result<Vec<Option<Match<F>>>, Error>;
}

impl<F: Fingerprint> Reference<F> for Index<F> {
    fn nearest(&self, fingerprints: &[Option<F>], distance: u32) -> Result<Vec<Option<Match<F>>>, Error> {
        nearest_in(self, fingerprints, distance, BatchOptions::new())
    }
}

/// Returns for each query the nearest fingerprint of a set, as [`Reference::nearest`] does, with one batch: at a
/// distance for which the set is not made, that is many times as fast as one query after the other.
///
/// # Errors
/// When the set cannot be read, or the work is cancelled.
pub fn nearest_in<F: Fingerprint>(
    set: &dyn FingerprintSet<F>,
    fingerprints: &[Option<F>],
    distance: u32,
    options: BatchOptions,
) -> Result<Vec<Option<Match<F>>>, Error> {
    let (places, queries): (Vec<usize>, Vec<F>) =
        (0..).zip(fingerprints).filter_map(|(place, fingerprint)| Some((place, (*fingerprint)?))).unzip();
    let mut nearest = vec![None; fingerprints.len()];
    // Matches come nearest first.
    let flow = set.visit_batch(&queries, distance, &options.limit(1), &mut |query, matches| {
        nearest[places[query]] = matches.first().copied();
        Ok(())
    });
    flow.map(|()| nearest).map_err(of_set)
}

/// Converts the error of a set.
pub(crate) fn of_set(error: SetError) -> Error {
    match error.downcast::<ReadError>() {
        Ok(error) if matches!(error.kind(), ReadErrorKind::Stopped) => Error::Stopped,
        Ok(error) => Error::Index(error),
        Err(error) => Error::Reference { source: error.into() },
    }
}

/// Known documents by their shingles, for [`Dedup::against_texts`](crate::Dedup::against_texts).
pub trait KnownTexts: Sync {
    /// Compares every known document with the new ones, and offers the similar pairs to `nearest`. Memory does not
    /// depend on their number. It is called once, or again and again if the new documents exceed the memory and the
    /// known ones are repeatable.
    ///
    /// # Errors
    /// When the known documents cannot be read, or their shingles are not those of the new ones.
    fn search(&self, new: &NewTexts<'_>, nearest: &mut NearestTexts) -> Result<(), Error>;

    /// Returns whether the known documents can be read again. If not, all new ones are indexed at once, whatever the
    /// memory limit.
    fn is_repeatable(&self) -> bool;
}

/// Documents as they are: each is read and shingled.
impl KnownTexts for Documents {
    fn search(&self, new: &NewTexts<'_>, nearest: &mut NearestTexts) -> Result<(), Error> {
        let words = new.similarity().words();
        let work = |(shingler, matcher): &mut (Shingler, Matcher<'_>), text: &str| {
            new.check_cancelled()?;
            matcher.similar(shingler.shingles(text).hashes()).map(<[Similar]>::to_vec)
        };
        // Problems are reported once.
        let documents = if new.are_first() { self.clone() } else { self.quiet() };
        let mut place = 0;
        let counts = map_texts(
            new.resources.batch_bytes(),
            |sink| documents.read_into(sink),
            || (Shingler::new(words), new.matcher()),
            work,
            &mut |document, similar| {
                place += 1;
                let known = || Ok(KnownAs::Name(document.id.clone()));
                similar.iter().try_for_each(|&similar| nearest.offer(similar, place, known))
            },
        )?;
        // Nothing would be known, in silence. An input that is whole and has no document is no mistake.
        let is_empty = counts.skipped() == 0 && counts.inputs > 0;
        if counts.documents == 0 && !is_empty {
            return Err(Error::NoKnownDocument { skipped: counts.skipped() });
        }
        Ok(())
    }

    fn is_repeatable(&self) -> bool {
        self.plan.is_some() || self.paths.iter().all(|path| path.is_file() || path.is_dir())
    }
}

const _: () = assert!(shingles::BITS == SHINGLE_BITS, "sets store the shingles that texts are cut into");

/// Stored documents per new text from which on texts are looked up. In memory a pass reads 7 to 10 sets in the time of a
/// look-up (`cargo bench --bench similar`); from storage it reads more, since look-ups read here and there.
const DOCUMENTS_PER_LOOK_UP: u64 = 10;

/// Passes over the lists of all shingles in the time of putting all sets together once (the same bench, in one part and in
/// four). Each part of the sets takes a pass.
const PASSES_PER_SETS: u64 = 2;

/// The documents of an index, a store or a set of shards that has their shingles: a reference for
/// [`Dedup::against_texts`](crate::Dedup::against_texts).
pub struct KnownShingles<'s, F> {
    set: &'s dyn FingerprintSet<F>,
    has_names: bool,
    /// The number of documents, about.
    documents: u64,
}

/// Checks that the documents of a set have shingles of `words` words.
pub(crate) fn check_definition(description: &Description, words: NonZeroUsize) -> Result<(), Error> {
    if !description.has_shingles {
        return Err(Error::NoShingles);
    }
    let stored = description.metadata.get(shingles::KEY).map(|stored| String::from_utf8_lossy(stored));
    let stored = stored.unwrap_or_default().into_owned();
    let wanted = Shingler::new(words).definition();
    if stored == wanted { Ok(()) } else { Err(Error::OtherShingles { stored, wanted }) }
}

impl<'s, F: Fingerprint> KnownShingles<'s, F> {
    /// Takes the documents of a set, to be compared with shingles of `words` words.
    ///
    /// # Errors
    /// When the set has no shingles, or other ones.
    pub fn new(set: &'s dyn FingerprintSet<F>, words: NonZeroUsize) -> Result<Self, Error> {
        let description = set.describe();
        check_definition(&description, words)?;
        let Description { has_names, fingerprints: documents, .. } = description;
        Ok(Self { set, has_names, documents })
    }

    /// Returns whether to look some texts up takes less time than to read all sets in some parts.
    fn is_worth_look_ups(&self, texts: u64, parts: u64) -> bool {
        // In sets that are read in one part.
        let sets = self.documents.saturating_mul(PASSES_PER_SETS + parts) / (PASSES_PER_SETS + 1);
        texts.saturating_mul(DOCUMENTS_PER_LOOK_UP) <= sets
    }

    /// Looks the new texts up in the lists of shingles.
    fn look_up(&self, new: &NewTexts<'_>, nearest: &mut NearestTexts) -> Result<(), Error> {
        let condition = new.similarity().condition();
        let similar_to = |searcher: &mut Box<dyn SetSearcher<F> + Send + '_>, text| {
            new.check_cancelled()?;
            let found = searcher.similar(&new.set(text)?, &condition, 1).map_err(of_set)?;
            Ok::<_, Error>(found.first().map(|one| (one.id, Similar::new(text, one.similarity))))
        };
        let found = map_in_order(new.texts().collect(), || self.set.open_searcher(), similar_to)?;
        for (id, similar) in found.into_iter().flatten() {
            nearest.offer(similar, id.id, || self.known_as(id))?;
        }
        Ok(())
    }

    fn known_as(&self, id: StoredId) -> Result<KnownAs, Error> {
        if !self.has_names {
            return Ok(KnownAs::Id(id.id));
        }
        let name = self.set.name_of(id).map_err(of_set)?.unwrap_or_default();
        Ok(KnownAs::Name(Names::text_of(&name).into_owned()))
    }
}

impl<F: Fingerprint> KnownTexts for KnownShingles<'_, F> {
    fn search(&self, new: &NewTexts<'_>, nearest: &mut NearestTexts) -> Result<(), Error> {
        if new.is_empty() {
            return Ok(());
        }
        let at_once = rayon::current_num_threads();
        let memory = new.resources.known_bytes() / at_once as u64;
        let parts = self.set.shingle_parts(memory).map_err(of_set)?.ok_or(Error::NoShingles)?;
        if self.is_worth_look_ups(new.len() as u64, parts.len() as u64) {
            return self.look_up(new, nearest);
        }
        let check_cancelled = || new.check_cancelled().map_err(|_| ReadErrorKind::Stopped.into());
        let similar_of = |part: &ShinglePart| -> Result<Vec<(StoredId, Similar)>, Error> {
            new.check_cancelled()?;
            let (mut matcher, mut found, mut failed) = (new.matcher(), Vec::new(), None);
            let mut compare = |id, shingles: &[u64]| {
                found.extend(matcher.similar(shingles)?.iter().map(|&similar| (id, similar)));
                Ok(())
            };
            let mut visit = |id, shingles: &[u64]| match compare(id, shingles) {
                Ok(()) => Ok(()),
                Err(error) => {
                    failed = Some(error);
                    Err(Stopped.into())
                }
            };
            let visited = self.set.visit_shingles(part, &check_cancelled, &mut visit);
            new.check_cancelled()?;
            match failed {
                Some(error) => Err(error),
                None => visited.map(|()| found).map_err(of_set),
            }
        };
        for some in parts.chunks(at_once) {
            let found = map_numbers(some.len(), || (), |(), number| similar_of(&some[number]))?;
            for (id, similar) in found.into_iter().flatten() {
                nearest.offer(similar, id.id, || self.known_as(id))?;
            }
        }
        Ok(())
    }

    fn is_repeatable(&self) -> bool {
        true
    }
}

/// A set that keeps the shingles of its documents, to find the ones that are similar to texts.
///
/// ```
/// use hamdex::similar::{Condition, Measure};
/// use hamdex_documents::SimilarTexts;
/// use hamdex_simhash::Shingler;
/// use hamdex_store::{CreateOptions, Record, Store, StoreOptions, When};
///
/// let directory = tempfile::tempdir()?;
/// let mut shingler = Shingler::new(5.try_into()?);
/// let create = CreateOptions::new().shingles(shingler.definition());
/// let store = Store::<u64>::create(directory.path().join("news.store"), &create, StoreOptions::new())?;
/// let text = "Call me Ishmael. Some years ago, never mind how long precisely";
/// let shingles = shingler.shingles(text);
/// store.put([Record::document(0x00ff, "moby-dick", shingles.hashes())], When::always())?;
///
/// let snapshot = store.snapshot();
/// let mut searcher = SimilarTexts::of(&snapshot)?.searcher();
/// let condition = Condition::new(Measure::Resemblance, 0.7).expect("it is a share");
/// let similar = searcher.find(&format!("{text}!"), &condition, 10)?.expect("it has words");
/// assert_eq!(similar[0].similarity, 1.0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy)]
pub struct SimilarTexts<'s, F> {
    set: &'s dyn FingerprintSet<F>,
    words: NonZeroUsize,
}

/// Finds the documents that are similar to texts; one per thread. Made by [`SimilarTexts::searcher`].
pub struct TextSearcher<'s, F> {
    searcher: Box<dyn SetSearcher<F> + Send + 's>,
    shingler: Shingler,
}

impl<'s, F: Fingerprint> SimilarTexts<'s, F> {
    /// Takes a set. Texts are cut into shingles as its documents were.
    ///
    /// # Errors
    /// When the set has no shingles, or this version makes no such shingles.
    pub fn of(set: &'s dyn FingerprintSet<F>) -> Result<Self, Error> {
        let description = set.describe();
        let stored = description.metadata.get(shingles::KEY);
        let words = stored.and_then(|stored| Shingler::words_of(&String::from_utf8_lossy(stored)));
        let words = words.unwrap_or(crate::Similarity::DEFAULT_WORDS);
        check_definition(&description, words)?;
        Ok(Self { set, words })
    }

    /// Returns the number of words per shingle.
    #[must_use]
    pub fn words(&self) -> NonZeroUsize {
        self.words
    }

    /// Returns a searcher. Each thread needs its own.
    #[must_use]
    pub fn searcher(&self) -> TextSearcher<'s, F> {
        TextSearcher { searcher: self.set.open_searcher(), shingler: Shingler::new(self.words) }
    }
}

impl<F: Fingerprint> TextSearcher<'_, F> {
    /// Sets the progress callback and the cancellations of searches that read many blocks, from now on.
    pub fn report_to(&mut self, report: Report) {
        self.searcher.report_to(report);
    }

    /// Returns the documents that meet a condition with a text, each once: the most similar first, then by id; at most
    /// `limit`. `None` for a blank text, which is similar to nothing.
    ///
    /// # Errors
    /// When the set cannot be read, or the search is cancelled.
    pub fn find(
        &mut self,
        text: &str,
        condition: &Condition,
        limit: usize,
    ) -> Result<Option<Vec<SimilarDocument>>, Error> {
        let shingles = self.shingler.shingles(text);
        if shingles.hashes().is_empty() {
            return Ok(None);
        }
        self.searcher.similar(shingles.hashes(), condition, limit).map(Some).map_err(of_set)
    }
}
