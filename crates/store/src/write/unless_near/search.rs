//! The first half: a search on a snapshot.

use std::sync::Arc;

use hamdex::{BatchOptions, Fingerprint, Match};

use crate::error::Error;
use crate::store::Store;
use crate::write::commit::Outcome;
use crate::write::reply::Reply;
use crate::write::request::Request;
use crate::write::unless_near::decide::UnlessNear;
use crate::write::unless_near::inserted::Inserted;

/// How often an unsuccessful search is repeated before it is done while nobody else writes.
const MAX_SEARCHES: usize = 8;

/// From how many pairs on they are searched for together, by all threads.
const MIN_BATCH: usize = 64;

impl<F: Fingerprint> Store<F> {
    /// Inserts a pair unless something stored is within `distance`: then returns the nearest, with its ids.
    ///
    /// Of two that are near to each other and come at the same time, one is inserted, and the outcome of the other names
    /// it. What is returned was so at one moment, whatever others write meanwhile, and is durable as far as the options
    /// say.
    ///
    /// ```
    /// use hamdex_store::{CreateOptions, Inserted, Store, StoreOptions};
    ///
    /// let directory = tempfile::tempdir()?;
    /// let store = Store::<u64>::create(directory.path().join("s"), &CreateOptions::new(), StoreOptions::new())?;
    /// assert_eq!(store.insert_unless_near(0x00ff, 1, 3)?, Inserted::New { id: 1 });
    /// match store.insert_unless_near(0x00fe, 2, 3)? {
    ///     Inserted::New { id } => println!("{id} is new"),
    ///     Inserted::Near(near) => assert_eq!((near.distance, near.ids), (1, vec![1])),
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As for [`Store::remove`].
    pub fn insert_unless_near(&self, fingerprint: F, id: u64, distance: u32) -> Result<Inserted<F>, Error> {
        let outcome = self.insert_all_unless_near(&[(fingerprint, id)], distance)?.pop();
        Ok(outcome.expect("one outcome for one pair"))
    }

    /// Inserts pairs, in order, each unless something is within `distance` of it: what is stored, or has been
    /// inserted before it. Returns the outcome of each.
    ///
    /// # Errors
    /// As for [`Store::remove`]; nothing has happened then.
    pub fn insert_all_unless_near(
        &self,
        pairs: &[(F, u64)],
        distance: u32,
    ) -> Result<Vec<Inserted<F>>, Error> {
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
    ) -> Result<Vec<Inserted<F>>, Error> {
        for _ in 0..MAX_SEARCHES {
            if let Some(outcomes) = self.try_unless_near(pairs, names, distance, Self::commit)? {
                return Ok(outcomes);
            }
        }
        // Memtables are filled and flushed faster than it searches: for once, none is flushed meanwhile. It must not wait
        // for room in memory then.
        let _publisher = self.inner().lock_manifest();
        let alone = |store: &Self, request| store.inner().commit_alone(request);
        loop {
            if let Some(outcomes) = self.try_unless_near(pairs, names, distance, alone)? {
                return Ok(outcomes);
            }
        }
    }

    /// The same, unless it has to be searched again.
    fn try_unless_near(
        &self,
        pairs: &[(F, u64)],
        names: Option<&[Arc<[u8]>]>,
        distance: u32,
        commit: impl FnOnce(&Self, Request<F>) -> Outcome<F>,
    ) -> Result<Option<Vec<Inserted<F>>>, Error> {
        let mut request = self.search(pairs, distance)?;
        // Where there is nothing to insert, that was the moment: one state, all of it durable as the options say.
        if request.nearest.iter().all(Option::is_some) {
            return Ok(Some(request.nearest.into_iter().flatten().map(Inserted::Near).collect()));
        }
        request.names = names.map(<[_]>::to_vec);
        match commit(self, Request::UnlessNear(request))? {
            Reply::UnlessNear(outcomes) => Ok(Some(outcomes)),
            Reply::NoIdsLeft => Err(self.no_ids_left()),
            _ => Ok(None),
        }
    }

    /// What is near to each pair now, as far as it is published.
    fn search(&self, pairs: &[(F, u64)], distance: u32) -> Result<UnlessNear<F>, Error> {
        let snapshot = self.snapshot();
        let nearest = if pairs.len() < MIN_BATCH {
            let searchers = &self.inner().searchers;
            let mut searcher = searchers.take(snapshot.clone());
            let near = |&(fingerprint, _): &(F, u64)| {
                Ok(searcher.nearest_within(fingerprint, 1, distance)?.first().copied())
            };
            let nearest = pairs.iter().map(near).collect::<Result<_, Error>>()?;
            searchers.put_back(searcher, &self.inner().view);
            nearest
        } else {
            let fingerprints: Vec<F> = pairs.iter().map(|pair| pair.0).collect();
            let options = BatchOptions::new().threads(self.inner().options.threads);
            snapshot.nearest_of_each(&fingerprints, distance, options)?
        };
        let (view, identity) = (snapshot.view(), self.inner().schema.identity);
        let described = |found: Option<Match<F>>| found.map(|found| view.near(found, &identity)).transpose();
        Ok(UnlessNear {
            identity,
            pairs: pairs.to_vec(),
            names: None,
            distance,
            nearest: nearest.into_iter().map(described).collect::<Result<_, _>>()?,
            memtable: view.memtable.clone(),
            generation: view.generation,
            removals: view.removals,
            ingests: view.ingests,
        })
    }
}
