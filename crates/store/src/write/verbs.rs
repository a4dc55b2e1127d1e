//! The write methods of a store: `put`, which stores records, always or unless something is near or similar, next to
//! others or in their place; batches of operations; removal by pair, fingerprint, id or name.

use std::collections::{HashMap, HashSet};

use hamdex::{Fingerprint, MAX_NAME_BYTES, ReadError, check_distance, shingles};

use crate::error::Error;
use crate::log::MAX_OPERATIONS;
use crate::store::Store;
use crate::view::{View, Written};
use crate::write::request::{Inserted, Put, Reply, Request};
use crate::write::unless_near::owned::numbered;
use crate::write::{Batch, Document, Label, Operation, Pair, Record, Unless, When};

/// Bytes of a name that count as one operation of a batch; real operations are longer.
const NAME_BYTES_PER_OPERATION: usize = 16;

/// Records that fit a store.
pub(super) enum Checked<F> {
    Pairs(Vec<Pair<F>>),
    Named(Vec<(F, Document)>),
}

impl<F: Fingerprint> Store<F> {
    /// Stores records in order, atomically, as `when` says, and returns the outcome of each. A store with names assigns
    /// the ids, which ascend and are never reused.
    ///
    /// With [`When::unless_near`] and [`When::unless_similar`], a record is compared with what is stored and with the
    /// records before it. Of two near or similar records that are put concurrently, one is stored, and the outcome of the
    /// other names it. With
    /// [`When::replacing`], each record also replaces earlier ones of the batch with its id or name.
    ///
    /// ```
    /// use hamdex_store::{CreateOptions, Record, Store, StoreOptions, When};
    ///
    /// let directory = tempfile::tempdir()?;
    /// let create = CreateOptions::new().names(true).lookups(true);
    /// let store = Store::<u64>::create(directory.path().join("news.store"), &create, StoreOptions::new())?;
    /// store.put([(0x00ff, "first.html"), (0xff00, "second.html")], When::always())?;
    ///
    /// let put = store.put([Record::named(0x00fe, "third.html")], When::unless_near(3))?;
    /// let near = put.outcomes[0].near().expect("first.html is one bit away");
    /// assert_eq!((near.distance, &*near.names[0]), (1, &b"first.html"[..]));
    ///
    /// // A page that is crawled again replaces its earlier version, and is not compared with it.
    /// let put = store.put([(0x00fe, "first.html")], When::unless_near(3).replacing())?;
    /// assert_eq!((put.inserted, put.removed), (1, 1));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// When a record does not fit the store: it has a name in a store without names, or the reverse; an id in a store
    /// without ids; shingles in a store without shingles, or the reverse; shingles that are not a set; a name of more
    /// than [`MAX_NAME_BYTES`] bytes. When there are more records than a batch may have, or too few ids are left. When
    /// records replace others in a store without look-ups, the distance exceeds the width, a block that has to be read
    /// is damaged, or the records cannot be made as durable as the options of the store require. The store is unchanged
    /// then.
    pub fn put<'r, R: Into<Record<'r, F>>>(
        &self,
        records: impl IntoIterator<Item = R>,
        when: When,
    ) -> Result<Put<F>, Error> {
        let checked = self.checked(records.into_iter().map(R::into))?;
        if when.replaces {
            self.check_lookups()?;
        }
        if let Some(Unless::Near(distance)) = when.unless {
            check_distance::<F>(distance)?;
        }
        if checked.is_empty() {
            // It needs no room, and waits for no other write.
            self.inner().check_held()?;
            return Ok(Put::default());
        }
        match (when.unless, when.replaces) {
            (None, false) => self.put_all(checked),
            (None, true) => self.put_in_place(checked),
            (Some(Unless::Similar(condition)), replaces) => match checked {
                Checked::Named(named) => self.unless_similar(&named, condition, replaces),
                Checked::Pairs(_) => Err(self.names_error()),
            },
            (Some(Unless::Near(distance)), replaces) => {
                let (pairs, names) = checked.into_parts();
                self.unless_near(&pairs, names.as_deref(), distance, replaces)
            }
        }
    }

    /// Inserts a pair. In a store without ids the id must be 0.
    ///
    /// # Errors
    /// As for [`Store::put`].
    pub fn insert(&self, fingerprint: F, id: u64) -> Result<(), Error> {
        self.write(vec![Operation::Insert(fingerprint, id)]).map(drop)
    }

    /// Inserts a pair unless a stored fingerprint lies within `distance`. Returns the nearest one with its ids then:
    /// [`Store::put`] of one pair.
    ///
    /// ```
    /// use hamdex_store::{CreateOptions, Inserted, Store, StoreOptions};
    ///
    /// let directory = tempfile::tempdir()?;
    /// let store = Store::<u64>::create(directory.path().join("s"), &CreateOptions::new(), StoreOptions::new())?;
    /// assert_eq!(store.insert_unless_near(0x00ff, 1, 3)?, Inserted::New { id: 1 });
    /// let outcome = store.insert_unless_near(0x00fe, 2, 3)?;
    /// assert_eq!(outcome.near().map(|near| (near.distance, near.ids[0])), Some((1, 1)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As for [`Store::put`].
    pub fn insert_unless_near(&self, fingerprint: F, id: u64, distance: u32) -> Result<Inserted<F>, Error> {
        let outcome = self.put([(fingerprint, id)], When::unless_near(distance))?.outcomes.pop();
        Ok(outcome.expect("one outcome for one record"))
    }

    /// Checks that records fit the store, and that they are no more than a batch may have.
    fn checked<'r>(&self, records: impl Iterator<Item = Record<'r, F>>) -> Result<Checked<F>, Error> {
        let mut records = records.peekable();
        if let Some(Record { label: Label::Id(_), .. }) | None = records.peek() {
            return self.checked_pairs(records);
        }
        let (mut named, mut operations) = (Vec::with_capacity(records.size_hint().0), 0);
        for (number, Record { fingerprint, label }) in records.enumerate() {
            let document = match label {
                Label::Id(_) => return Err(self.names_error()),
                Label::Name(name) => {
                    self.check_shingles(false)?;
                    Document::from(name)
                }
                Label::Document(name, set) => {
                    self.check_shingles(true)?;
                    let encoded = shingles::encode(set).ok_or(Error::InvalidShingles { document: number })?;
                    Document::with_shingles(name, &encoded)
                }
            };
            self.check_names(true)?;
            let bytes = document.name().len();
            if bytes > MAX_NAME_BYTES {
                return Err(Error::NameTooLong { number, bytes });
            }
            operations += 2 + document.len().div_ceil(NAME_BYTES_PER_OPERATION);
            named.push((fingerprint, document));
        }
        self.check(std::iter::empty(), operations)?;
        Ok(Checked::Named(named))
    }

    fn checked_pairs<'r>(&self, records: impl Iterator<Item = Record<'r, F>>) -> Result<Checked<F>, Error> {
        let mut pairs = Vec::with_capacity(records.size_hint().0);
        for record in records {
            let Label::Id(id) = record.label else { return Err(self.names_error()) };
            pairs.push((record.fingerprint, id));
        }
        self.check(pairs.iter().map(|pair| pair.1), pairs.len())?;
        if !pairs.is_empty() {
            self.check_names(false)?;
        }
        Ok(Checked::Pairs(pairs))
    }

    fn put_all(&self, records: Checked<F>) -> Result<Put<F>, Error> {
        let (ids, request) = match records {
            Checked::Pairs(pairs) => {
                let ids = pairs.iter().map(|pair| pair.1).collect::<Vec<_>>();
                let inserts = pairs.into_iter().map(|(fingerprint, id)| Operation::Insert(fingerprint, id));
                (ids, Request::Batch(inserts.collect()))
            }
            Checked::Named(named) => ((0..named.len() as u64).collect(), Request::Named(named)),
        };
        self.put_request(ids, request)
    }

    /// Stores each record in place of those with its id or name; the last of each counts.
    fn put_in_place(&self, records: Checked<F>) -> Result<Put<F>, Error> {
        match records {
            Checked::Pairs(pairs) => {
                let ids = pairs.iter().map(|pair| pair.1).collect();
                let (labels, _) = numbered(pairs.iter().map(|pair| pair.1));
                let (_, last) = last_of_each(pairs, &labels);
                self.warm(&last.iter().map(|pair| pair.1).collect())?;
                self.put_request(ids, Request::Upsert(last))
            }
            Checked::Named(named) => {
                let (labels, _) = numbered(named.iter().map(|(_, document)| document.name()));
                let (places, last) = last_of_each(named, &labels);
                self.warm_names(&last.iter().map(|(_, document)| document.name().to_vec()).collect())?;
                self.put_request(places, Request::UpsertNamed(last))
            }
        }
    }

    /// Commits a request. The records have these ids, in a store with names from the first that it assigns on.
    fn put_request(&self, mut ids: Vec<u64>, request: Request<F>) -> Result<Put<F>, Error> {
        let Written { inserted, removed, .. } = match self.commit(request)? {
            Reply::Written(written) => written,
            Reply::Named(first, written) => {
                ids.iter_mut().for_each(|id| *id += first);
                written
            }
            reply => return Err(self.refused(&reply)),
        };
        let outcomes = ids.into_iter().map(|id| Inserted::New { id }).collect();
        Ok(Put { outcomes, inserted, removed })
    }
}

impl<F: Copy> Checked<F> {
    fn is_empty(&self) -> bool {
        match self {
            Self::Pairs(pairs) => pairs.is_empty(),
            Self::Named(named) => named.is_empty(),
        }
    }

    /// Returns pairs and names; the ids of pairs with names are meaningless.
    fn into_parts(self) -> (Vec<Pair<F>>, Option<Vec<Document>>) {
        match self {
            Self::Pairs(pairs) => (pairs, None),
            Self::Named(named) => {
                let (pairs, names) = named.into_iter().map(|(value, name)| ((value, 0), name)).unzip();
                (pairs, Some(names))
            }
        }
    }
}

/// Returns the last of the items with each label, in order, and for each item the place among them of the one with its
/// label.
fn last_of_each<T>(items: Vec<T>, labels: &[usize]) -> (Vec<u64>, Vec<T>) {
    // There are no more labels than items.
    let (mut last, mut places) = (vec![0; labels.len()], vec![0; labels.len()]);
    labels.iter().enumerate().for_each(|(at, &label)| last[label] = at);
    let mut kept = Vec::new();
    for ((at, item), &label) in items.into_iter().enumerate().zip(labels) {
        if last[label] == at {
            places[label] = kept.len() as u64;
            kept.push(item);
        }
    }
    (labels.iter().map(|&label| places[label]).collect(), kept)
}

impl<F: Fingerprint> View<F> {
    /// Makes each pair the only one with its id. No two have the same id.
    pub(super) fn upsert(
        &mut self,
        pairs: &[Pair<F>],
        effective: &mut Batch<F>,
    ) -> Result<Written, ReadError> {
        let values: HashMap<u64, F> = pairs.iter().map(|&(fingerprint, id)| (id, fingerprint)).collect();
        let stored = self.pairs_with_ids(&values.keys().copied().collect())?;
        let (kept, replaced): (Vec<_>, Vec<_>) =
            stored.into_iter().partition(|(fingerprint, id)| values[id] == *fingerprint);
        let kept: HashSet<u64> = kept.into_iter().map(|pair| pair.1).collect();
        let mut new: Vec<Pair<F>> = pairs.iter().copied().filter(|pair| !kept.contains(&pair.1)).collect();
        // The same requests write the same log.
        new.sort_unstable();
        let mut operations = removals(replaced);
        operations.extend(new.into_iter().map(|(value, id)| Operation::Insert(value, id)));
        self.apply(&operations, effective)
    }

    /// Replaces the pairs of each name by a new one. No two have the same name.
    pub(super) fn upsert_named(
        &mut self,
        named: &[(F, Document)],
        effective: &mut Batch<F>,
    ) -> Result<Reply<F>, ReadError> {
        let names = named.iter().map(|(_, document)| document.name().to_vec()).collect();
        let ids = self.ids_of_names(&names)?;
        let written = self.remove_ids(&ids, effective)?;
        let inserted = named.len() as u64;
        let first = self.insert_named(named, effective);
        Ok(first.map_or(Reply::NoIdsLeft, |first| Reply::Named(first, Written { inserted, ..written })))
    }
}

impl<F: Fingerprint> Store<F> {
    /// Removes a pair. Returns whether it was stored.
    ///
    /// # Errors
    /// As for [`Store::put`], and when a block that has to be read is damaged.
    pub fn remove(&self, fingerprint: F, id: u64) -> Result<bool, Error> {
        Ok(self.write(vec![Operation::Remove(fingerprint, id)])?.removed == 1)
    }

    /// Applies a batch of operations in order, atomically.
    ///
    /// # Errors
    /// As for [`Store::remove`]; the store is unchanged then.
    pub fn write(&self, operations: Vec<Operation<F>>) -> Result<Written, Error> {
        self.check_operations(&operations)?;
        self.written(Request::Batch(operations))
    }

    /// Rejects operations that do not fit the store.
    fn check_operations(&self, operations: &[Operation<F>]) -> Result<(), Error> {
        self.check(operations.iter().map(|operation| operation.pair().1), operations.len())?;
        if operations.iter().any(|operation| matches!(operation, Operation::Insert(..))) {
            self.check_names(false)?;
        }
        Ok(())
    }

    /// Removes all pairs of a fingerprint. Returns their number.
    ///
    /// # Errors
    /// As for [`Store::remove`].
    pub fn remove_fingerprint(&self, fingerprint: F) -> Result<u64, Error> {
        self.inner().check_open()?;
        Ok(self.written(Request::RemoveFingerprints(vec![fingerprint]))?.removed)
    }

    /// Removes all pairs of some fingerprints, atomically. [`Written::absent`] is 0.
    ///
    /// # Errors
    /// As for [`Store::remove`].
    pub fn remove_fingerprints(&self, fingerprints: Vec<F>) -> Result<Written, Error> {
        self.check(std::iter::empty(), fingerprints.len())?;
        self.written(Request::RemoveFingerprints(fingerprints))
    }

    /// Commits a request that inserts or removes pairs.
    fn written(&self, request: Request<F>) -> Result<Written, Error> {
        match self.commit(request)? {
            Reply::Written(written) => Ok(written),
            reply => Err(self.refused(&reply)),
        }
    }

    /// Returns the error of a reply to a request that had no effect.
    pub(super) fn refused(&self, reply: &Reply<F>) -> Error {
        match *reply {
            Reply::TooLarge(count) => Error::BatchTooLarge { count, max: MAX_OPERATIONS },
            Reply::NoIdsLeft => self.no_ids_left(),
            Reply::Written(_) | Reply::Named(..) | Reply::Put(_) | Reply::SearchAgain => {
                unreachable!("the reply does not fit the request")
            }
        }
    }

    /// Removes all pairs with one of these ids. Returns their number. In a store without look-ups it reads the whole
    /// set once.
    ///
    /// # Errors
    /// As for [`Store::remove`].
    pub fn remove_ids(&self, ids: &HashSet<u64>) -> Result<u64, Error> {
        self.inner().check_open()?;
        if self.inner().schema.lookups {
            self.warm(ids)?;
            return Ok(self.written(Request::RemoveIds(ids.clone()))?.removed);
        }
        let pairs = self.snapshot().view().pairs_with_ids(ids)?;
        self.inner().check_held()?;
        Ok(if pairs.is_empty() { 0 } else { self.write(removals(pairs))?.removed })
    }

    /// Removes all pairs whose ids have one of these names. Returns their number. In a store without look-ups it reads
    /// all names and the whole set once.
    ///
    /// # Errors
    /// As for [`Store::remove`].
    pub fn remove_names(&self, names: &HashSet<Vec<u8>>) -> Result<u64, Error> {
        self.check_names(true)?;
        if self.inner().schema.lookups {
            self.warm_names(names)?;
            return Ok(self.written(Request::RemoveNames(names.clone()))?.removed);
        }
        let ids = self.snapshot().view().ids_of_names(names)?;
        // Also without any: that nothing has these names is an answer as well.
        self.remove_ids(&ids)
    }

    /// Reads the pairs with these ids, so that the leader of the group commit does not wait for storage.
    pub(super) fn warm(&self, ids: &HashSet<u64>) -> Result<(), Error> {
        self.snapshot().view().pairs_with_ids(ids)?;
        Ok(())
    }

    /// Reads as [`Self::warm`] the pairs with these names, and records which of their ids have gone.
    pub(super) fn warm_names(&self, names: &HashSet<Vec<u8>>) -> Result<(), Error> {
        self.snapshot().view().pairs_with_names(names, true)?;
        Ok(())
    }

    pub(crate) fn check_lookups(&self) -> Result<(), Error> {
        if self.inner().schema.lookups {
            return Ok(());
        }
        Err(Error::NoLookups { path: self.inner().disk.path("") })
    }
}

impl<F: Fingerprint> View<F> {
    /// Removes all pairs with one of these ids.
    pub(crate) fn remove_ids(
        &mut self,
        ids: &HashSet<u64>,
        effective: &mut Batch<F>,
    ) -> Result<Written, ReadError> {
        let operations = removals(self.pairs_with_ids(ids)?);
        self.apply(&operations, effective)
    }
}

/// Returns the removals of pairs.
pub(super) fn removals<F>(pairs: Vec<Pair<F>>) -> Vec<Operation<F>> {
    pairs.into_iter().map(|(fingerprint, id)| Operation::Remove(fingerprint, id)).collect()
}
