//! The store as its users have it.

use std::collections::HashSet;
use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use hamdex::{Engine, Match};

use crate::disk::{Disk, RealDisk};
use crate::durability::Durability;
use crate::error::Error;
use crate::log::MAX_OPERATIONS;
use crate::operation::Operation;
use crate::options::{CreateOptions, StoreOptions};
use crate::read::snapshot::Snapshot;
use crate::shared::Shared;
use crate::state::Written;
use crate::write::request::{Reply, Request, UnlessNear};

/// How often an unsuccessful search is repeated before it is done while nobody else writes.
const MAX_SEARCHES: usize = 8;

/// How long a thread in the background waits before it looks for work by itself.
const IDLE: Duration = Duration::from_secs(1);

/// How long it waits after a failure; after several of merges in a row, at most.
const AFTER_FAILURE: Duration = Duration::from_millis(200);
const MAX_PAUSE: Duration = Duration::from_secs(300);

/// A set of fingerprints, or of pairs of fingerprint and id, that is open for writing. Cloning gives another handle
/// of the same store; when the last one is dropped, the store is closed.
///
/// Any number of threads may use it. One process at a time has a store open for writing.
pub struct Store<F: Engine, D: Disk = RealDisk> {
    open: Arc<Open<F, D>>,
}

/// An open store and its threads.
struct Open<F: Engine, D: Disk> {
    shared: Arc<Shared<F, D>>,
    threads: Vec<JoinHandle<()>>,
}

impl<F: Engine> Store<F> {
    /// Creates a store in a directory that does not exist yet, or is empty.
    ///
    /// # Errors
    /// When there is something already, an option is out of its range, or the disk refuses it.
    pub fn create(
        path: impl AsRef<Path>,
        create: &CreateOptions,
        options: StoreOptions,
    ) -> Result<Self, Error> {
        Self::create_on(RealDisk::new(path), create, options)
    }

    /// Opens a store for writing. What was acknowledged as durable before a crash is there again.
    ///
    /// # Errors
    /// When it is no store, is damaged, holds another width, is in use, or the disk refuses it.
    pub fn open(path: impl AsRef<Path>, options: StoreOptions) -> Result<Self, Error> {
        Self::open_on(RealDisk::new(path), options)
    }
}

impl<F: Engine, D: Disk> Store<F, D> {
    /// As [`Store::create`], on any disk.
    ///
    /// # Errors
    /// As for [`Store::create`].
    pub fn create_on(disk: D, create: &CreateOptions, options: StoreOptions) -> Result<Self, Error> {
        Self::start(Shared::create(disk, create, options)?)
    }

    /// As [`Store::open`], on any disk.
    ///
    /// # Errors
    /// As for [`Store::open`].
    pub fn open_on(disk: D, options: StoreOptions) -> Result<Self, Error> {
        Self::start(Shared::open(disk, options)?)
    }

    fn start(shared: Shared<F, D>) -> Result<Self, Error> {
        let shared = Arc::new(shared);
        let mut open = Open { shared, threads: Vec::new() };
        open.spawn("hamdex-flush", flush_in_background)?;
        if open.shared.options.merges {
            open.spawn("hamdex-merge", merge_in_background)?;
        }
        if let Durability::Interval(_) = open.shared.options.durability {
            open.spawn("hamdex-sync", sync_in_background)?;
        }
        Ok(Self { open: Arc::new(open) })
    }

    pub(crate) fn shared(&self) -> &Shared<F, D> {
        &self.open.shared
    }

    /// Inserts a pair; in a store without ids, a fingerprint, and the id must be 0.
    ///
    /// # Errors
    /// When it cannot be made as durable as the store's options say.
    pub fn insert(&self, fingerprint: F, id: u64) -> Result<(), Error> {
        self.write(vec![Operation::Insert(fingerprint, id)]).map(drop)
    }

    /// Removes a pair. Returns whether it was there.
    ///
    /// # Errors
    /// As for [`Store::insert`], and when a block that matters is damaged.
    pub fn remove(&self, fingerprint: F, id: u64) -> Result<bool, Error> {
        Ok(self.write(vec![Operation::Remove(fingerprint, id)])?.removed == 1)
    }

    /// Does a batch of operations in their order: all of them, or none.
    ///
    /// # Errors
    /// As for [`Store::remove`]; nothing has happened then, as far as anybody sees.
    pub fn write(&self, operations: Vec<Operation<F>>) -> Result<Written, Error> {
        self.check(operations.iter().map(|operation| operation.pair().1), operations.len())?;
        if operations.iter().any(|operation| matches!(operation, Operation::Insert(..))) {
            self.check_names(false)?;
        }
        self.written(Request::Batch(operations))
    }

    /// Removes all pairs of a fingerprint. Returns how many there were.
    ///
    /// # Errors
    /// As for [`Store::remove`].
    pub fn remove_fingerprint(&self, fingerprint: F) -> Result<u64, Error> {
        self.shared().check_process()?;
        Ok(self.written(Request::RemoveFingerprints(vec![fingerprint]))?.removed)
    }

    /// Removes all pairs of fingerprints: all of them, or none. [`Written::absent`] counts nothing here.
    ///
    /// # Errors
    /// As for [`Store::remove`].
    pub fn remove_fingerprints(&self, fingerprints: Vec<F>) -> Result<Written, Error> {
        self.check(std::iter::empty(), fingerprints.len())?;
        self.written(Request::RemoveFingerprints(fingerprints))
    }

    /// Removes all pairs with one of these ids. All that is stored is read for it, once. Returns how many there were.
    ///
    /// # Errors
    /// As for [`Store::remove`].
    pub fn remove_ids(&self, ids: &HashSet<u64>) -> Result<u64, Error> {
        let snapshot = self.snapshot();
        let mut operations = Vec::new();
        for pair in snapshot.pairs_in_order() {
            let (fingerprint, id) = pair?;
            if ids.contains(&id) {
                operations.push(Operation::Remove(fingerprint, id));
            }
        }
        Ok(if operations.is_empty() { 0 } else { self.write(operations)?.removed })
    }

    pub(crate) fn no_ids_left(&self) -> Error {
        Error::NoIdsLeft { path: self.shared().disk.path("") }
    }

    fn written(&self, request: Request<F>) -> Result<Written, Error> {
        match self.shared().commit(request)? {
            Reply::Written(written) => Ok(written),
            _ => unreachable!("a batch needs no search and no ids"),
        }
    }

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
        request.names = names.map(<[_]>::to_vec);
        match self.shared().commit(Request::UnlessNear(request))? {
            Reply::UnlessNear(outcomes) => Ok(Some(outcomes)),
            Reply::NoIdsLeft => Err(self.no_ids_left()),
            _ => Ok(None),
        }
    }

    /// What is near to each pair now, as far as it is published.
    fn search(&self, pairs: &[(F, u64)], distance: u32) -> Result<UnlessNear<F>, Error> {
        let snapshot = self.snapshot();
        let mut searcher = snapshot.searcher();
        let mut nearest = Vec::with_capacity(pairs.len());
        for &(fingerprint, _) in pairs {
            nearest.push(searcher.nearest_within(fingerprint, 1, distance)?.first().copied());
        }
        let (epoch, removals) = (snapshot.state().epoch, snapshot.state().removals);
        Ok(UnlessNear { pairs: pairs.to_vec(), names: None, distance, nearest, epoch, removals })
    }

    /// One moment of the set, for as long as it is held.
    #[must_use]
    pub fn snapshot(&self) -> Snapshot<F, D> {
        Snapshot::new(self.shared().state.load_full(), Arc::clone(&self.shared().shape))
    }

    /// Makes everything that has been written durable, whatever [`Durability`] says.
    ///
    /// # Errors
    /// When the disk refuses it: it is not known then what is durable.
    pub fn sync(&self) -> Result<(), Error> {
        self.shared().check_process()?;
        self.shared().writer().sync()
    }

    /// Writes all recent pairs to a file. Everything written before is durable when this returns.
    ///
    /// # Errors
    /// When the disk refuses it: nothing is lost then.
    pub fn flush(&self) -> Result<(), Error> {
        self.shared().flush_all()
    }

    /// Merges everything into one file, without what has been removed.
    ///
    /// # Errors
    /// When the disk refuses it, or a file is damaged: nothing has changed then.
    pub fn compact(&self) -> Result<(), Error> {
        self.shared().flush_all()?;
        while self.shared().merge_all()? {}
        Ok(())
    }

    /// Lets no merge begin, or lets them go on.
    pub fn pause_merges(&self, is_paused: bool) {
        self.shared().background.set_paused(is_paused);
    }

    /// Refuses names where there are none, and their lack where there are.
    pub(crate) fn check_names(&self, named: bool) -> Result<(), Error> {
        if self.shared().shape.identity.has_names == named {
            return Ok(());
        }
        Err(Error::Names { path: self.shared().disk.path(""), has_names: !named })
    }

    /// Refuses ids where there are none, too much at once, and work after a fork.
    pub(crate) fn check(&self, mut ids: impl Iterator<Item = u64>, count: usize) -> Result<(), Error> {
        self.shared().check_process()?;
        if count > MAX_OPERATIONS {
            return Err(Error::BatchTooLarge { count, max: MAX_OPERATIONS });
        }
        if !self.shared().shape.identity.has_ids && ids.any(|id| id != 0) {
            return Err(Error::NoIds { path: self.shared().disk.path("") });
        }
        Ok(())
    }
}

impl<F: Engine, D: Disk> Clone for Store<F, D> {
    fn clone(&self) -> Self {
        Self { open: Arc::clone(&self.open) }
    }
}

impl<F: Engine, D: Disk> fmt::Debug for Store<F, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Store").field("disk", &self.shared().disk).finish_non_exhaustive()
    }
}

impl<F: Engine, D: Disk> Open<F, D> {
    fn spawn(&mut self, name: &str, work: fn(&Shared<F, D>)) -> Result<(), Error> {
        let shared = Arc::clone(&self.shared);
        let thread = thread::Builder::new().name(name.to_owned()).spawn(move || work(&shared));
        self.threads.push(thread.map_err(Error::io("start a thread for it", self.shared.disk.path("")))?);
        Ok(())
    }
}

impl<F: Engine, D: Disk> Drop for Open<F, D> {
    fn drop(&mut self) {
        self.shared.background.stop();
        for thread in self.threads.drain(..) {
            // A panic has been printed, and the log has everything.
            let _ = thread.join();
        }
        // In a forked process the store is not its own. If it fails, the next one reads more of the log.
        if self.shared.check_process().is_ok() {
            let _ = self.shared.seal();
        }
    }
}

fn flush_in_background<F: Engine, D: Disk>(shared: &Shared<F, D>) {
    let mut seen = 0;
    while shared.background.wait_for_work(&mut seen, IDLE) {
        loop {
            match shared.flush_oldest() {
                Ok(false) => break,
                Ok(true) => {}
                Err(error) => {
                    shared.background.report(Some(error.chain()));
                    thread::sleep(AFTER_FAILURE);
                    break;
                }
            }
        }
    }
}

fn merge_in_background<F: Engine, D: Disk>(shared: &Shared<F, D>) {
    let mut seen = 0;
    // A merge that fails has written much for nothing: each time it waits twice as long for the next.
    let mut pause = AFTER_FAILURE;
    let mut not_before = Instant::now();
    while shared.background.wait_for_work(&mut seen, IDLE) {
        while !shared.background.is_paused()
            && !shared.background.is_stopping()
            && Instant::now() >= not_before
        {
            match shared.merge_due() {
                Ok(true) => pause = AFTER_FAILURE,
                Ok(false) => break,
                // The files are as they were.
                Err(_) => {
                    not_before = Instant::now() + pause;
                    pause = (2 * pause).min(MAX_PAUSE);
                }
            }
        }
    }
}

fn sync_in_background<F: Engine, D: Disk>(shared: &Shared<F, D>) {
    let Durability::Interval(interval) = shared.options.durability else { return };
    let mut seen = 0;
    while shared.background.wait_for_work(&mut seen, interval.min(IDLE)) {
        // The log knows if it has failed, and refuses further writes.
        let _ = shared.sync_if_due();
    }
}
