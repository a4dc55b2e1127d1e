//! Inserting what nothing is near to.
//!
//! A snapshot is searched without any lock. When the pairs are committed, only what has been written since is searched
//! again ([`UnlessNear`]).

use std::sync::Arc;

use hamdex::{BatchOptions, Engine, Match};

use crate::disk::Disk;
use crate::error::Error;
use crate::store::Store;
use crate::write::request::{Reply, Request, UnlessNear};

/// How often an unsuccessful search is repeated before it is done while nobody else writes.
const MAX_SEARCHES: usize = 8;

/// From how many pairs on they are searched for together, by all threads.
const MIN_BATCH: usize = 64;

impl<F: Engine, D: Disk> Store<F, D> {
    /// Inserts a pair unless something stored is within `distance`: then returns the nearest.
    ///
    /// Of two that are near to each other and come at the same time, one is inserted, and the other is told of it.
    /// What is returned is durable, as far as the options say.
    ///
    /// # Errors
    /// As for [`Store::remove`].
    pub fn insert_unless_near(
        &self,
        fingerprint: F,
        id: u64,
        distance: u32,
    ) -> Result<Option<Match<F>>, Error> {
        Ok(self.insert_all_unless_near(&[(fingerprint, id)], distance)?.pop().flatten())
    }

    /// Inserts pairs, in order, each unless something is within `distance` of it: what is stored, or has been
    /// inserted before it. Returns for each the nearest, or `None` where it has been inserted.
    ///
    /// # Errors
    /// As for [`Store::remove`]; nothing has happened then, as far as anybody sees.
    pub fn insert_all_unless_near(
        &self,
        pairs: &[(F, u64)],
        distance: u32,
    ) -> Result<Vec<Option<Match<F>>>, Error> {
        self.check(pairs.iter().map(|pair| pair.1), pairs.len())?;
        self.check_names(false)?;
        self.unless_near(pairs, None, distance)
    }

    /// The same, with names for the pairs in a store with names.
    pub(crate) fn unless_near(
        &self,
        pairs: &[(F, u64)],
        names: Option<&[Arc<[u8]>]>,
        distance: u32,
    ) -> Result<Vec<Option<Match<F>>>, Error> {
        for _ in 0..MAX_SEARCHES {
            if let Some(outcomes) = self.try_unless_near(pairs, names, distance)? {
                return Ok(outcomes);
            }
        }
        // Files come and go faster than it searches: without merges for once.
        let _merging = self.shared().hold_merges();
        loop {
            if let Some(outcomes) = self.try_unless_near(pairs, names, distance)? {
                return Ok(outcomes);
            }
        }
    }

    /// The same, unless pairs move meanwhile.
    fn try_unless_near(
        &self,
        pairs: &[(F, u64)],
        names: Option<&[Arc<[u8]>]>,
        distance: u32,
    ) -> Result<Option<Vec<Option<Match<F>>>>, Error> {
        let mut request = self.search(pairs, distance)?;
        // Where there is nothing to insert, that was the moment: one state, all of it durable as the options say.
        if request.nearest.iter().all(Option::is_some) {
            return Ok(Some(request.nearest));
        }
        request.names = names.map(<[_]>::to_vec);
        match self.commit(Request::UnlessNear(request))? {
            Reply::UnlessNear(outcomes) => Ok(Some(outcomes)),
            Reply::NoIdsLeft => Err(self.no_ids_left()),
            _ => Ok(None),
        }
    }

    /// What is near to each pair now, as far as it is published.
    fn search(&self, pairs: &[(F, u64)], distance: u32) -> Result<UnlessNear<F>, Error> {
        let snapshot = self.snapshot();
        let state = snapshot.state();
        let (epoch, removals, recent) = (state.epoch, state.removals, state.recent.clone());
        let nearest = if pairs.len() < MIN_BATCH {
            let searchers = &self.shared().searchers;
            let mut searcher = searchers.take(snapshot);
            let near = |&(fingerprint, _): &(F, u64)| {
                Ok(searcher.nearest_within(fingerprint, 1, distance)?.first().copied())
            };
            let nearest = pairs.iter().map(near).collect::<Result<_, Error>>()?;
            searchers.put_back(searcher, &self.shared().state);
            nearest
        } else {
            let fingerprints: Vec<F> = pairs.iter().map(|pair| pair.0).collect();
            let options = BatchOptions::new().threads(self.shared().options.threads);
            snapshot.nearest_of_each(&fingerprints, distance, options)?
        };
        Ok(UnlessNear { pairs: pairs.to_vec(), names: None, distance, nearest, recent, epoch, removals })
    }
}
