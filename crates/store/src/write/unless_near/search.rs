//! The first half: a search on a snapshot, and the methods of [`Store`](crate::Store).

use std::ops::ControlFlow::{Break, Continue};
use std::sync::Arc;

use hamdex::{BatchOptions, Fingerprint, Match, ReadError, ReadErrorKind, check_distance};

use crate::error::Error;
use crate::log::MAX_OPERATIONS;
use crate::read::snapshot::Snapshot;
use crate::store::Store;
use crate::view::Written;
use crate::write::batch::{Document, Pair};
use crate::write::commit::Outcome;
use crate::write::reply::{Inserted, Nears, Reply};
use crate::write::request::Request;
use crate::write::unless_near::decide::UnlessNear;
use crate::write::unless_near::replace::{
    Known, Owned, ReplaceUnlessNear, count_within, go_on_until, nearest_other,
};

/// Maximum number of searches before one that blocks flushes.
const MAX_SEARCHES: usize = 8;

/// Minimum number of pairs that are searched for as a batch, by all threads.
const MIN_BATCH: usize = 64;

impl<F: Fingerprint> Store<F> {
    /// Inserts a pair unless a stored fingerprint lies within `distance`. Returns the nearest one with its ids then.
    ///
    /// The call is atomic: of two near pairs that are inserted concurrently, one is inserted, and the outcome of the
    /// other names it. The outcome is as durable as the options of the store require.
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
    /// As for [`Store::remove`]; when the distance exceeds the width.
    pub fn insert_unless_near(&self, fingerprint: F, id: u64, distance: u32) -> Result<Inserted<F>, Error> {
        let outcome = self.insert_all_unless_near(&[(fingerprint, id)], distance)?.pop();
        Ok(outcome.expect("one outcome for one pair"))
    }

    /// Inserts pairs in order, each unless a fingerprint within `distance` is stored or has been inserted before it.
    /// Returns the outcome of each.
    ///
    /// # Errors
    /// As for [`Store::insert_unless_near`]; the store is unchanged then.
    pub fn insert_all_unless_near(
        &self,
        pairs: &[(F, u64)],
        distance: u32,
    ) -> Result<Vec<Inserted<F>>, Error> {
        self.check(pairs.iter().map(|pair| pair.1), pairs.len())?;
        self.check_names(false)?;
        self.unless_near(pairs, None, distance)
    }

    /// Inserts as [`Self::insert_all_unless_near`], with names for the pairs in a store with names.
    pub(crate) fn unless_near(
        &self,
        pairs: &[(F, u64)],
        names: Option<&[Document]>,
        distance: u32,
    ) -> Result<Vec<Inserted<F>>, Error> {
        check_distance::<F>(distance)?;
        self.search_until_committed(|commit| self.try_unless_near(pairs, names, distance, commit))
    }

    /// Calls a function that searches, and commits by the function that it gets, until it returns an outcome.
    fn search_until_committed<T>(
        &self,
        mut attempt: impl FnMut(fn(&Self, Request<F>) -> Outcome<F>) -> Result<Option<T>, Error>,
    ) -> Result<T, Error> {
        for _ in 0..MAX_SEARCHES {
            if let Some(outcome) = attempt(Self::commit)? {
                return Ok(outcome);
            }
        }
        // Memtables are filled and flushed faster than the search. So no flush is published during this one, which must
        // not wait for room in memory then.
        let _publisher = self.inner().lock_manifest();
        loop {
            if let Some(outcome) = attempt(|store, request| store.inner().commit_alone(request))? {
                return Ok(outcome);
            }
        }
    }

    /// Searches and commits once; `None` if the search has to be repeated.
    fn try_unless_near(
        &self,
        pairs: &[(F, u64)],
        names: Option<&[Document]>,
        distance: u32,
        commit: impl FnOnce(&Self, Request<F>) -> Outcome<F>,
    ) -> Result<Option<Vec<Inserted<F>>>, Error> {
        let mut request = self.search(pairs, distance)?;
        // Without insertions, the view of the search is the moment of the outcome.
        if request.nearest.iter().all(Option::is_some) {
            self.inner().check_held()?;
            return Ok(Some(request.nearest.into_iter().flatten().map(Inserted::Near).collect()));
        }
        request.names = names.map(<[_]>::to_vec);
        match commit(self, Request::UnlessNear(request))? {
            Reply::UnlessNear(outcomes, _) => Ok(Some(outcomes)),
            Reply::NoIdsLeft => Err(self.no_ids_left()),
            _ => Ok(None),
        }
    }

    /// Finds the nearest fingerprint to each pair in the current view, until the deadline of this handle.
    fn search(&self, pairs: &[(F, u64)], distance: u32) -> Result<UnlessNear<F>, Error> {
        self.search_until(pairs, distance).map_err(|error| self.timed_out_if_stopped(error))
    }

    /// Returns the error of a deadline that ended a search as what it is.
    fn timed_out_if_stopped(&self, error: Error) -> Error {
        match error {
            Error::Read(error) if matches!(error.kind(), ReadErrorKind::Stopped) => self.inner().timed_out(),
            error => error,
        }
    }

    /// Returns the options of a batch that ends at the deadline of this handle.
    fn batch_options(&self) -> BatchOptions {
        let deadline = self.deadline();
        let report = move |_| if go_on_until(deadline).is_ok() { Continue(()) } else { Break(()) };
        BatchOptions::new().threads(self.inner().options.threads).progress(report)
    }

    fn search_until(&self, pairs: &[(F, u64)], distance: u32) -> Result<UnlessNear<F>, Error> {
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
            snapshot.nearest_of_each(&fingerprints, distance, self.batch_options())?
        };
        let (view, identity) = (snapshot.view(), self.inner().schema.identity);
        let mut nears = Nears::default();
        let described = |found: Option<Match<F>>| {
            let near = found.map(|found| nears.of(view, found, &identity)).transpose()?;
            go_on_until(self.deadline())?;
            Ok(near)
        };
        let nearest = nearest.into_iter().map(described).collect::<Result<_, ReadError>>()?;
        // What was found in segments that were cut off, and what was not.
        view.check_files()?;
        Ok(UnlessNear {
            identity,
            pairs: pairs.to_vec(),
            names: None,
            distance,
            nearest,
            memtable: view.memtable.clone(),
            generation: view.generation,
            removals: view.removals,
            ingests: view.ingests,
        })
    }
}

/// The outcome of each pair, and of all together.
type Replaced<F> = (Vec<Inserted<F>>, Written);

impl<F: Fingerprint> Store<F> {
    /// Replaces as [`Store::upsert`], in order, each pair unless a fingerprint within `distance` of it has another id,
    /// whether it was stored or has been inserted before it. A page that is crawled again is so not near to itself.
    /// Returns the outcome of each, and the numbers of pairs that have been inserted and removed. A pair that is near
    /// to another id changes nothing: earlier pairs of its id stay.
    ///
    /// The call is atomic, as [`Store::insert_all_unless_near`] is.
    ///
    /// ```
    /// use hamdex_store::{CreateOptions, Store, StoreOptions};
    ///
    /// let directory = tempfile::tempdir()?;
    /// let create = CreateOptions::new().lookups(true);
    /// let store = Store::<u64>::create(directory.path().join("pages"), &create, StoreOptions::new())?;
    /// store.insert(0x00ff, 17)?;
    /// let (outcomes, written) = store.upsert_unless_near(&[(0x00fe, 17), (0x00fc, 18)], 3)?;
    /// assert!(outcomes[0].is_new());
    /// assert_eq!(outcomes[1].near().map(|near| (near.distance, &near.ids[..])), Some((1, &[17][..])));
    /// assert_eq!((written.inserted, written.removed), (1, 1));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As for [`Store::upsert`]; when the distance exceeds the width. The store is unchanged then.
    pub fn upsert_unless_near(
        &self,
        pairs: &[(F, u64)],
        distance: u32,
    ) -> Result<(Vec<Inserted<F>>, Written), Error> {
        self.check(pairs.iter().map(|pair| pair.1), pairs.len())?;
        self.check_names(false)?;
        self.replace_unless_near(pairs.to_vec(), None, distance)
    }

    /// Replaces as [`Store::upsert_unless_near`] in a store with names, by name.
    ///
    /// # Errors
    /// As for [`Store::upsert_named`]; when the distance exceeds the width. The store is unchanged then.
    pub fn upsert_named_unless_near(
        &self,
        named: &[(F, impl AsRef<[u8]>)],
        distance: u32,
    ) -> Result<(Vec<Inserted<F>>, Written), Error> {
        self.replace_named_unless_near(self.named(named)?, distance)
    }

    /// Replaces as [`Store::upsert_named_unless_near`] in a store with shingles.
    ///
    /// # Errors
    /// As for [`Store::upsert_documents`]; when the distance exceeds the width. The store is unchanged then.
    pub fn upsert_documents_unless_near(
        &self,
        documents: &[(F, impl AsRef<[u8]>, &[u64])],
        distance: u32,
    ) -> Result<(Vec<Inserted<F>>, Written), Error> {
        self.replace_named_unless_near(self.documents(documents)?, distance)
    }

    fn replace_named_unless_near(
        &self,
        named: Vec<(F, Document)>,
        distance: u32,
    ) -> Result<(Vec<Inserted<F>>, Written), Error> {
        let (pairs, names) = named.into_iter().map(|(fingerprint, name)| ((fingerprint, 0), name)).unzip();
        self.replace_unless_near(pairs, Some(names), distance)
    }

    fn replace_unless_near(
        &self,
        pairs: Vec<Pair<F>>,
        names: Option<Vec<Document>>,
        distance: u32,
    ) -> Result<(Vec<Inserted<F>>, Written), Error> {
        self.check_lookups()?;
        check_distance::<F>(distance)?;
        self.search_until_committed(|commit| self.try_replace(&pairs, names.as_deref(), distance, commit))
            .map_err(|error| self.timed_out_if_stopped(error))
    }

    /// Searches and commits once; `None` if the search has to be repeated.
    fn try_replace(
        &self,
        pairs: &[Pair<F>],
        names: Option<&[Document]>,
        distance: u32,
        commit: impl FnOnce(&Self, Request<F>) -> Outcome<F>,
    ) -> Result<Option<Replaced<F>>, Error> {
        let (snapshot, schema) = (self.snapshot(), Arc::clone(&self.inner().schema));
        let owned = Owned::of(snapshot.view(), pairs, names, true)?;
        let known = self.nearest_others(&snapshot, pairs, &owned, distance)?;
        snapshot.view().check_files()?;
        let (pairs, names, deadline) = (pairs.to_vec(), names.map(<[_]>::to_vec), self.deadline());
        let request = ReplaceUnlessNear { pairs, names, distance, known, snapshot, schema, deadline };
        match commit(self, Request::ReplaceUnlessNear(Box::new(request)))? {
            Reply::UnlessNear(outcomes, written) => Ok(Some((outcomes, written))),
            Reply::TooLarge(count) => Err(Error::BatchTooLarge { count, max: MAX_OPERATIONS }),
            Reply::SearchAgain => Ok(None),
            _ => Err(self.no_ids_left()),
        }
    }

    /// Finds the nearest fingerprint of another id or name for the first record of each. For the others it depends on
    /// those before.
    fn nearest_others(
        &self,
        snapshot: &Snapshot<F>,
        pairs: &[Pair<F>],
        owned: &Owned<F>,
        distance: u32,
    ) -> Result<Vec<Known<F>>, Error> {
        let mut known = vec![Known::Unknown; pairs.len()];
        let mut is_first = vec![true; owned.pairs.len()];
        let first: Vec<usize> =
            (0..pairs.len()).filter(|&record| std::mem::take(&mut is_first[owned.labels[record]])).collect();
        // Those with nothing of their own near them are searched for as any.
        let (alone, others): (Vec<usize>, Vec<usize>) = first
            .into_iter()
            .partition(|&record| count_within(owned.by(record), pairs[record].0, distance) == 0);
        let (alone, others) =
            if alone.len() < MIN_BATCH { (Vec::new(), [alone, others].concat()) } else { (alone, others) };
        let values: Vec<F> = alone.iter().map(|&record| pairs[record].0).collect();
        let nearest = snapshot.nearest_of_each(&values, distance, self.batch_options())?;
        for (record, found) in alone.into_iter().zip(nearest) {
            known[record] = Known::from(found);
        }
        let searchers = &self.inner().searchers;
        let mut searcher = searchers.take(snapshot.clone());
        for record in others {
            go_on_until(self.deadline())?;
            known[record] =
                Known::from(nearest_other(&mut searcher, pairs[record].0, owned.by(record), distance)?);
        }
        searchers.put_back(searcher, &self.inner().view);
        Ok(known)
    }
}
