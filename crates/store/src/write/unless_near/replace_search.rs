//! Replacement unless something else is near: the first half, a search on a snapshot, and the methods of
//! [`Store`](crate::Store).

use std::sync::Arc;

use hamdex::{Fingerprint, check_distance};

use crate::error::Error;
use crate::log::MAX_OPERATIONS;
use crate::read::snapshot::Snapshot;
use crate::store::Store;
use crate::view::Written;
use crate::write::batch::Pair;
use crate::write::commit::Outcome;
use crate::write::document::Document;
use crate::write::reply::Reply;
use crate::write::request::Request;
use crate::write::unless_near::inserted::Inserted;
use crate::write::unless_near::owned::{Owned, count_within};
use crate::write::unless_near::replace::{Known, ReplaceUnlessNear, go_on_until, nearest_other};
use crate::write::unless_near::search::MIN_BATCH;

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
