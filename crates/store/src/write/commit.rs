//! Group commits, the back-pressure before them, and the freezing of a full memtable.

use std::cell::RefCell;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use hamdex::Fingerprint;

use crate::background::{self, MAX_FROZEN};
use crate::error::Error;
use crate::health::{Event, Pressure, Work};
use crate::inner::StoreInner;
use crate::log::{self, MAX_OPERATIONS, units};
use crate::memtable::Memtable;
use crate::view::{FrozenMemtable, View};
use crate::write::Batch;
use crate::write::queue::NotServed;
use crate::write::request::{Reply, Request};
use crate::write::writer::{Durability, Writer};

/// Interval at which a delayed write checks whether it still has to wait.
const RECHECK_INTERVAL: Duration = Duration::from_millis(5);

/// Maximum delay of a write because of overdue runs.
const MAX_PAUSE_FOR_RUNS: Duration = Duration::from_millis(4);

/// The outcome of a request.
pub(crate) type Outcome<F> = Result<Reply<F>, Error>;

impl<F: Fingerprint> StoreInner<F> {
    /// Commits a request, in a group with concurrent ones.
    ///
    /// # Errors
    /// When the log cannot be written, a segment is damaged, memory is full and cannot be flushed, or the deadline
    /// passes before a leader has taken the request. The request has no effect then.
    pub(crate) fn commit(&self, request: Request<F>, deadline: Option<Instant>) -> Outcome<F> {
        self.check_open()?;
        if request.only_removes() && !self.has_room() {
            // It needs no memory, so it does not wait for room.
            return self.commit_alone(request);
        }
        self.slow_down(request.pairs(), deadline)?;
        let only_removes = request.only_removes();
        let no_room = RefCell::new(None);
        let prepare = || match self.wait_for_room(deadline) {
            // In the order of the queue, but without the others, if there is no room for long.
            Err(error @ Error::Full { .. }) if only_removes => {
                no_room.replace(Some(error));
                Ok(())
            }
            waited => waited,
        };
        let serve = |requests| match no_room.take() {
            None => self.serve(requests),
            Some(error) => self.serve_without_room(requests, &error),
        };
        match self.queue.submit(request, deadline, prepare, serve) {
            Ok(outcome) => outcome,
            Err(NotServed::TimedOut) => Err(self.timed_out()),
            Err(NotServed::Refused(error)) => Err(error),
        }
    }

    /// Commits a single request at once, even if memory is full.
    pub(crate) fn commit_alone(&self, request: Request<F>) -> Outcome<F> {
        self.check_open()?;
        self.serve_one(request)
    }

    /// Serves the requests of a group that only remove pairs, and rejects the others.
    fn serve_without_room(&self, requests: Vec<Request<F>>, error: &Error) -> Vec<Outcome<F>> {
        let serve = |request: Request<F>| match request.only_removes() {
            true => self.serve_one(request),
            false => Err(error.clone_for_group()),
        };
        requests.into_iter().map(serve).collect()
    }

    /// Delays a write if flushes or merges are behind.
    fn slow_down(&self, pairs: u64, deadline: Option<Instant>) -> Result<(), Error> {
        self.slow_down_for_runs(pairs, deadline);
        let (load, now) = (self.load(), Instant::now());
        let time = self.throttle.delay(pairs, load, now);
        if time.is_zero() {
            if self.background.pressure() == Pressure::Slowed && !self.throttle.is_slow(load) {
                self.background.set_pressure(Pressure::None);
            }
            return Ok(());
        }
        self.background.set_pressure(Pressure::Slowed);
        if deadline.is_some_and(|deadline| deadline < now + time) {
            self.throttle.give_back();
            return Err(self.timed_out());
        }
        let until = now + time;
        while Instant::now() < until && self.throttle.is_slow(self.load()) && self.check_open().is_ok() {
            thread::sleep(RECHECK_INTERVAL.min(until.saturating_duration_since(Instant::now())));
        }
        Ok(())
    }

    /// Delays a write for a moment if the consolidation of runs is behind.
    fn slow_down_for_runs(&self, pairs: u64, deadline: Option<Instant>) {
        let (load, now) = (background::run_load(self.view.load().memtable.overdue_runs()), Instant::now());
        let time = self.run_throttle.delay(pairs, load, now).min(MAX_PAUSE_FOR_RUNS);
        let left = deadline.map_or(time, |deadline| deadline.saturating_duration_since(now));
        thread::sleep(time.min(left));
    }

    pub(crate) fn timed_out(&self) -> Error {
        Error::TimedOut { path: self.disk.path("") }
    }

    /// Whether there is room in memory.
    fn has_room(&self) -> bool {
        let (view, limit) = (self.view.load(), self.options.memtable_bytes());
        // The memtable is frozen before it has grown so much more, unless that fails.
        let more = if view.frozen.len() < MAX_FROZEN { limit / 8 + 1 } else { 0 };
        view.memtable.bytes() < limit.saturating_add(more)
    }

    /// Waits until there is room in memory.
    fn wait_for_room(&self, deadline: Option<Instant>) -> Result<(), Error> {
        if self.has_room() {
            return Ok(());
        }
        self.background.set_pressure(Pressure::Stopped);
        let waited = self.wait_until_room(deadline);
        self.background.set_pressure(Pressure::Slowed);
        waited
    }

    fn wait_until_room(&self, deadline: Option<Instant>) -> Result<(), Error> {
        let mut writer = self.writer();
        while !self.has_room() {
            self.check_open()?;
            self.check_held()?;
            if let Some(failure) = self.background.failure(Work::Flush) {
                return Err(Error::Full { path: self.disk.path(""), source: failure.source() });
            }
            if deadline.is_some_and(|deadline| deadline <= Instant::now()) {
                return Err(self.timed_out());
            }
            if self.view.load().frozen.len() < MAX_FROZEN {
                let full = |error| Error::Full { path: self.disk.path(""), source: Arc::new(error) };
                self.freeze(&mut writer).map_err(full)?;
                continue;
            }
            writer = self.background.wait_for_room(writer, deadline);
        }
        Ok(())
    }

    fn serve_one(&self, request: Request<F>) -> Outcome<F> {
        self.serve(vec![request]).pop().expect("one answer for one request")
    }

    fn serve(&self, requests: Vec<Request<F>>) -> Vec<Outcome<F>> {
        let count = requests.len();
        let (outcomes, failure) = match self.try_serve(requests) {
            Ok(outcomes) => (outcomes, None),
            Err(error) => ((0..count).map(|_| Err(error.clone_for_group())).collect(), Some(error)),
        };
        self.report_log(failure);
        outcomes
    }

    /// Records whether the log could be written.
    fn report_log(&self, failure: Option<Error>) {
        match failure {
            None if self.background.failure(Work::Log).is_none() => {}
            None => self.background.report(Work::Log, Ok(())),
            Some(error) => {
                // A poisoned log is the lasting failure.
                let poison = self.writer().log.poison();
                self.background.report(Work::Log, Err(poison.unwrap_or(error)));
            }
        }
    }

    /// Applies requests to a copy of the view, logs the effective batches, and publishes the copy: readers never see a
    /// write that is not in the log.
    fn try_serve(&self, requests: Vec<Request<F>>) -> Result<Vec<Outcome<F>>, Error> {
        let mut writer = self.writer();
        self.check_open()?;
        // Before the log is written, and after it: another process may have opened the store meanwhile.
        self.check_held()?;
        let mut view = View::clone(&self.view.load());
        let is_alone = requests.len() == 1;
        let (mut replies, mut batches) = (Vec::with_capacity(requests.len()), Vec::new());
        let only_removes: Vec<bool> = requests.iter().map(Request::only_removes).collect();
        for request in requests {
            let mut effective = Batch::default();
            // A rejected or failed request leaves no trace. A lone one needs no copy, as its view is not published
            // then.
            let unchanged = (!is_alone && !request.always_succeeds()).then(|| view.clone());
            let mut reply = request.apply(&mut view, &mut effective);
            // Removals by fingerprint or name, and names themselves, may be more than the request shows.
            let units = units(&self.schema.identity, &effective.operations, &effective.names);
            if reply.is_ok() && units > MAX_OPERATIONS {
                reply = Ok(Reply::TooLarge(units));
            }
            if reply.as_ref().map_or(true, Reply::is_refusal) {
                effective = Batch::default();
                view = unchanged.unwrap_or(view);
            }
            if !effective.operations.is_empty() {
                batches.push((replies.len(), effective));
            }
            replies.push(reply);
        }
        // The replies may be those of segments that were cut off.
        view.check_files()?;
        if batches.is_empty() {
            return Ok(replies);
        }
        let logged = writer.log.bytes();
        match writer.log(batches.iter().map(|(_, batch)| batch), self.options.durability) {
            Ok(()) => {}
            Err(error) if only_removes.len() > 1 && is_out_of_space(&error) && !writer.log.is_poisoned() => {
                drop((writer, view));
                return Ok(self.serve_removals(&only_removes, replies, batches, &error));
            }
            Err(error) => return Err(error),
        }
        view.sequence = writer.sequence;
        view.log_bytes += writer.log.bytes() - logged;
        let is_due = view.memtable.overdue_runs() > 0;
        self.view.store(Arc::new(view));
        if is_due {
            self.background.signal_consolidation();
        }
        if self.options.durability != Durability::Sync {
            self.record_unsynced(&writer);
        }
        if let Some(took) = writer.last_sync.take() {
            self.background.notify(&Event::Done(Work::Sync, took));
        }
        // These writes are done. After a failure the writer is poisoned and refuses later ones.
        let _ = self.freeze_if_full(&mut writer);
        Ok(replies)
    }

    /// Commits the removals of a group that did not fit on the disk, since the log has reserved space for removals.
    fn serve_removals(
        &self,
        only_removes: &[bool],
        mut outcomes: Vec<Outcome<F>>,
        batches: Vec<(usize, Batch<F>)>,
        error: &Error,
    ) -> Vec<Outcome<F>> {
        // The replies to other requests may depend on pairs that are not inserted now.
        for (outcome, _) in outcomes.iter_mut().zip(only_removes).filter(|(_, only_removes)| !**only_removes)
        {
            *outcome = Err(error.clone_for_group());
        }
        for (number, Batch { operations, .. }) in batches {
            if only_removes[number] {
                let served = self.try_serve(vec![Request::Batch(operations)]);
                outcomes[number] = served.and_then(|mut one| one.pop().expect("one answer for one request"));
            }
        }
        outcomes
    }

    /// Reserves ids for an ingested file, in a store with names. Returns the first one; `None` if too few are left.
    /// Unused ones are not reused before the store is opened again.
    pub(crate) fn reserve_ids(&self, count: u64) -> Option<u64> {
        let _writer = self.writer();
        let mut view = View::clone(&self.view.load());
        let first = view.next_id;
        view.next_id = first.checked_add(count)?;
        self.view.store(Arc::new(view));
        Some(first)
    }

    /// Freezes the memtable if it or its log is full: at once if it is much too full, otherwise by the log thread, which
    /// first syncs most of the log while writers continue.
    fn freeze_if_full(&self, writer: &mut Writer<F>) -> Result<(), Error> {
        let (bytes, limit) = (self.view.load().unflushed_bytes(), self.options.memtable_bytes());
        if bytes < limit || self.view.load().frozen.len() >= MAX_FROZEN {
            return Ok(());
        }
        if bytes - limit >= limit / 8 {
            return self.freeze(writer);
        }
        self.background.signal_work();
        Ok(())
    }

    /// Freezes the memtable if it or its log is full. Called by the log thread.
    pub(crate) fn freeze_if_due(&self) -> Result<(), Error> {
        let is_due = || {
            let view = self.view.load();
            view.frozen.len() < MAX_FROZEN && view.unflushed_bytes() >= self.options.memtable_bytes()
        };
        if !is_due() {
            return Ok(());
        }
        // Twice, so that little is left for the sync that writers wait for.
        self.sync_concurrently()?;
        self.sync_concurrently()?;
        let mut writer = self.writer();
        if is_due() { self.freeze(&mut writer) } else { Ok(()) }
    }

    /// Freezes the memtable for a flush, and rotates the log, so that the flush can remove it; also if the log has
    /// removals alone. Without writes since the last time it does nothing.
    pub(crate) fn freeze(&self, writer: &mut Writer<F>) -> Result<(), Error> {
        let mut view = View::clone(&self.view.load());
        if view.memtable.len() == 0 && view.log_bytes == 0 {
            return Ok(());
        }
        let log_bytes = writer.log.bytes();
        let next_log = writer.begin_log()?;
        let memtable = std::mem::replace(
            &mut view.memtable,
            Memtable::new(self.schema.distance).with_background_merges(),
        );
        view.frozen.push(FrozenMemtable { memtable, next_log, sequence: writer.sequence, log_bytes });
        view.generation += 1;
        view.log_bytes = 0;
        self.view.store(Arc::new(view));
        self.record_unsynced(writer);
        self.background.signal_work();
        Ok(())
    }

    /// Syncs the log if its durability is an interval, and the interval has passed.
    pub(crate) fn sync_if_due(&self) -> Result<(), Error> {
        let Durability::Interval(interval) = self.options.durability else { return Ok(()) };
        let since = self.writer().unsynced_since();
        if since.is_some_and(|since| since.elapsed() >= interval) { self.sync_concurrently() } else { Ok(()) }
    }
}

/// Whether the log could not be written because the disk is full.
fn is_out_of_space(error: &Error) -> bool {
    matches!(error, Error::Io { source, .. } if log::is_out_of_space(source))
}
