//! Known documents, whose near-duplicates are left out: by their fingerprints, or by their texts.

use hamdex::{BatchOptions, Fingerprint, FingerprintSet, Index, Match, ReadError, ReadErrorKind, SetError};
use hamdex_simhash::Shingler;

use crate::dedup::texts::new_texts::KnownAs;
use crate::dedup::texts::new_texts::{Matcher, NearestTexts, NewTexts, Similar};
use crate::error::Error;
use crate::read::fingerprint::map_texts_in;
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
        let counts = map_texts_in(
            new.batch_bytes(),
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
