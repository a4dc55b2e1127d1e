//! The documents of a set that has their shingles.

use std::num::NonZeroUsize;

use hamdex::set::{Description, ShinglePart, StoredId};
use hamdex::{Fingerprint, FingerprintSet, Names, ReadErrorKind, SetSearcher, Stopped, shingles};
use hamdex_simhash::{SHINGLE_BITS, Shingler};
use rayon::prelude::*;

use crate::dedup::reference::{KnownTexts, of_set};
use crate::dedup::texts::new_texts::KnownAs;
use crate::dedup::texts::new_texts::{NearestTexts, NewTexts, Similar};
use crate::error::Error;

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
        let condition = new.condition();
        let similar_to = |searcher: &mut Box<dyn SetSearcher<F> + Send + '_>, text| {
            new.check_cancelled()?;
            let found = searcher.similar(&new.set(text)?, &condition, 1).map_err(of_set)?;
            Ok(found.first().map(|one| (one.id, Similar::new(text, one.similarity))))
        };
        let found: Vec<Option<(StoredId, Similar)>> = new
            .texts()
            .into_par_iter()
            .map_init(|| self.set.open_searcher(), similar_to)
            .collect::<Result<_, Error>>()?;
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
        let memory = new.known_bytes() / at_once as u64;
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
            let found: Vec<Vec<(StoredId, Similar)>> =
                some.par_iter().map(similar_of).collect::<Result<_, Error>>()?;
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
