//! Known documents, whose near-duplicates are left out: by their fingerprints, or by their texts.

use hamdex::{Fingerprint, Index, Match};
use hamdex_simhash::Shingler;
use rayon::prelude::*;

use crate::dedup::known::KnownAs;
use crate::dedup::texts::known::{Matcher, NearestTexts, NewTexts, Similar};
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
        let nearest = fingerprints.par_iter().map_init(
            || self.searcher(),
            |searcher, fingerprint| match fingerprint {
                Some(fingerprint) => Ok(searcher.nearest_within(*fingerprint, 1, distance)?.first().copied()),
                None => Ok(None),
            },
        );
        nearest.collect()
    }
}

/// Known documents by their shingles, for [`Dedup::against_texts`](crate::Dedup::against_texts).
pub trait KnownTexts: Sync {
    /// Compares every known document with the new ones, and offers the similar pairs to `nearest`, in the order of the
    /// known documents. Each is read once; memory does not depend on their number.
    ///
    /// # Errors
    /// When the known documents cannot be read, or their shingles are not those of the new ones.
    fn search(&self, new: &NewTexts<'_>, nearest: &mut NearestTexts) -> Result<(), Error>;
}

/// Documents as they are: each is read and shingled.
impl KnownTexts for Documents {
    fn search(&self, new: &NewTexts<'_>, nearest: &mut NearestTexts) -> Result<(), Error> {
        let words = new.similarity().words();
        let work = |(shingler, matcher): &mut (Shingler, Matcher<'_>), text: &str| {
            new.check_cancelled()?;
            matcher.similar(shingler.shingles(text).hashes()).map(<[Similar]>::to_vec)
        };
        map_texts(
            |sink| self.read_into(sink),
            || (Shingler::new(words), new.matcher()),
            work,
            &mut |document, similar| {
                let known = || Ok(KnownAs::Name(document.id.clone()));
                similar.iter().try_for_each(|&similar| nearest.offer(similar, known))
            },
        )?;
        Ok(())
    }
}
