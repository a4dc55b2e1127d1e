//! Commits: one at a time, for as many writers as wait.

use std::cell::RefCell;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use hamdex::Fingerprint;

use crate::background::pressure::{self, MAX_FROZEN};
use crate::error::Error;
use crate::health::{Pressure, Work};
use crate::inner::StoreInner;
use crate::log;
use crate::memtable::Memtable;
use crate::view::{FrozenMemtable, View};
use crate::write::batch::Batch;
use crate::write::durability::Durability;
use crate::write::queue::{Callback, NotServed, Refused};
use crate::write::reply::Reply;
use crate::write::request::Request;
use crate::write::writer::Writer;

/// Writes that may wait with a callback, at most.
pub(crate) const MAX_SUBMITTED: usize = 4096;

/// A write that is held back looks so often whether it still has to wait.
const HOLD: Duration = Duration::from_millis(5);

/// How long a write is held back since runs are many, at most.
const MAX_PAUSE_FOR_RUNS: Duration = Duration::from_millis(4);

/// The answer to a request.
pub(crate) type Outcome<F> = Result<Reply<F>, Error>;

impl<F: Fingerprint> StoreInner<F> {
    /// Does what a request asks for, together with others that come at the same time.
    ///
    /// # Errors
    /// When the log cannot be written, a file is damaged, memory is full and cannot be written out, or the deadline
    /// passes before the request is taken: nothing has happened then.
    pub(crate) fn commit(&self, request: Request<F>, deadline: Option<Instant>) -> Outcome<F> {
        self.check_open()?;
        if request.only_removes() && !self.has_room() && !self.queue.has_callbacks() {
            // It needs no memory, so it does not wait for room behind other threads.
            return self.commit_alone(request);
        }
        self.slow_down(request.pairs(), deadline)?;
        let only_removes = request.only_removes();
        let no_room = RefCell::new(None);
        let prepare = || match self.wait_for_room(deadline) {
            // Behind others, but without them, if there is to be none for long.
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

    /// Commits a request at once, by itself, whether or not there is room in memory.
    pub(crate) fn commit_alone(&self, request: Request<F>) -> Outcome<F> {
        self.check_open()?;
        self.serve(vec![request]).pop().expect("one answer for one request")
    }

    /// Takes a request whose outcome goes to a callback.
    ///
    /// # Errors
    /// When too many wait already, or the store has been closed: it has not been taken then.
    pub(crate) fn submit(
        &self,
        request: Request<F>,
        done: impl FnOnce(Outcome<F>) + Send + 'static,
    ) -> Result<(), Error> {
        self.check_open()?;
        let panicked =
            || Err(Error::OfGroup { what: "the thread that was to write this has panicked".to_owned() });
        let callback: Callback<Outcome<F>> = Box::new(move |outcome| done(outcome.unwrap_or_else(panicked)));
        self.queue.push(request, callback, MAX_SUBMITTED).map_err(|refused| match refused {
            Refused::Full => Error::Busy { path: self.disk.path(""), waiting: MAX_SUBMITTED },
            Refused::Closed => Error::Closed { path: self.disk.path("") },
        })
    }

    /// Serves requests that come with callbacks, until the store is closed.
    pub(crate) fn serve_submitted(&self) {
        let prepare = || {
            // Before the group is taken, so that a write with a deadline among it can still be withdrawn.
            self.slow_down(self.queue.sum(Request::pairs), None)?;
            self.wait_for_room(None)
        };
        let serve = |requests, prepared: Result<(), Error>| match prepared {
            Ok(()) => self.serve(requests),
            Err(error) => self.serve_without_room(requests, &error),
        };
        self.queue.run(prepare, serve);
    }

    /// Serves the requests of a group that only remove something, and refuses the others.
    fn serve_without_room(&self, requests: Vec<Request<F>>, error: &Error) -> Vec<Outcome<F>> {
        let serve = |request: Request<F>| match request.only_removes() {
            true => self.serve(vec![request]).pop().expect("one answer for one request"),
            false => Err(error.again()),
        };
        requests.into_iter().map(serve).collect()
    }

    /// Holds a write back where flushes or merges are behind.
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
            thread::sleep(HOLD.min(until.saturating_duration_since(Instant::now())));
        }
        Ok(())
    }

    /// Holds a write back for a moment where queries look into many runs, since their consolidation is behind.
    fn slow_down_for_runs(&self, pairs: u64, deadline: Option<Instant>) {
        let (load, now) = (pressure::run_load(self.view.load().memtable.overdue_runs()), Instant::now());
        let time = self.run_throttle.delay(pairs, load, now).min(MAX_PAUSE_FOR_RUNS);
        let left = deadline.map_or(time, |deadline| deadline.saturating_duration_since(now));
        thread::sleep(time.min(left));
    }

    fn timed_out(&self) -> Error {
        Error::TimedOut { path: self.disk.path("") }
    }

    /// Whether there is room in memory for more.
    fn has_room(&self) -> bool {
        let (view, limit) = (self.view.load(), self.options.memtable_bytes());
        // It is frozen before it has so much more, unless that fails.
        let more = if view.frozen.len() < MAX_FROZEN { limit / 8 + 1 } else { 0 };
        view.memtable.bytes() < limit.saturating_add(more)
    }

    /// Waits until there is room in memory for more.
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

    fn serve(&self, requests: Vec<Request<F>>) -> Vec<Outcome<F>> {
        let count = requests.len();
        let (outcomes, failure) = match self.try_serve(requests) {
            Ok(outcomes) => (outcomes, None),
            Err(error) => ((0..count).map(|_| Err(error.again())).collect(), Some(error)),
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
                // Where it is not known what the disk has, that is what matters from now on.
                let poison = self.writer().log.poison();
                self.background.report(Work::Log, Err(poison.unwrap_or(error)));
            }
        }
    }

    /// Nothing is published before the log has it: nothing is seen that a crash could take back.
    fn try_serve(&self, requests: Vec<Request<F>>) -> Result<Vec<Outcome<F>>, Error> {
        let mut writer = self.writer();
        self.check_open()?;
        let before = self.view.load_full();
        let mut view = View::clone(&before);
        let (mut replies, mut batches) = (Vec::with_capacity(requests.len()), Vec::new());
        let only_removes: Vec<bool> = requests.iter().map(Request::only_removes).collect();
        for request in requests {
            let mut effective = Batch::default();
            let reply = if request.always_succeeds() {
                request.apply(&mut view, &mut effective)
            } else {
                // What is refused, or fails, leaves nothing behind.
                let mut trial = view.clone();
                let reply = request.apply(&mut trial, &mut effective);
                match reply {
                    Ok(Reply::SearchAgain | Reply::NoIdsLeft) | Err(_) => effective = Batch::default(),
                    Ok(_) => view = trial,
                }
                reply
            };
            if !effective.operations.is_empty() {
                batches.push((replies.len(), effective));
            }
            replies.push(reply.map_err(Error::from));
        }
        if batches.is_empty() {
            return Ok(replies);
        }
        match writer.log(batches.iter().map(|(_, batch)| batch), self.options.durability) {
            Ok(()) => {}
            Err(error) if only_removes.len() > 1 && is_lack_of_space(&error) && !writer.log.is_poisoned() => {
                drop((writer, view));
                return Ok(self.serve_removals(&only_removes, replies, batches, &error));
            }
            Err(error) => return Err(error),
        }
        view.sequence = writer.sequence;
        let is_due = view.memtable.overdue_runs() > 0;
        self.view.store(Arc::new(view));
        if is_due {
            self.background.call_for_consolidation();
        }
        if self.options.durability != Durability::Sync {
            self.note_unsynced(&writer);
        }
        // These writes are done. If it fails, the writer knows, and refuses the next ones.
        let _ = self.freeze_if_full(&mut writer);
        Ok(replies)
    }

    /// After a group did not fit on the disk: the log keeps room for removals, so these are done by themselves.
    fn serve_removals(
        &self,
        only_removes: &[bool],
        mut outcomes: Vec<Outcome<F>>,
        batches: Vec<(usize, Batch<F>)>,
        error: &Error,
    ) -> Vec<Outcome<F>> {
        // Any other request may have been decided by pairs that are not inserted now.
        for (outcome, _) in outcomes.iter_mut().zip(only_removes).filter(|(_, only_removes)| !**only_removes)
        {
            *outcome = Err(error.again());
        }
        for (number, Batch { operations, .. }) in batches {
            if only_removes[number] {
                let served = self.try_serve(vec![Request::Batch(operations)]);
                outcomes[number] = served.and_then(|mut one| one.pop().expect("one answer for one request"));
            }
        }
        outcomes
    }

    /// Gives so many ids to what comes from outside, in a store with names: the first of them; `None` where there are not
    /// so many left. Those whose pairs do not come are not given again, unless the store is opened again before.
    pub(crate) fn reserve_ids(&self, count: u64) -> Option<u64> {
        let _writer = self.writer();
        let mut view = View::clone(&self.view.load());
        let first = view.next_id;
        view.next_id = first.checked_add(count)?;
        self.view.store(Arc::new(view));
        Some(first)
    }

    /// Freezes the memtable where it is full: at once where it is much too full, otherwise by the thread of the log, which
    /// syncs most of the log before without keeping writers waiting.
    fn freeze_if_full(&self, writer: &mut Writer<F>) -> Result<(), Error> {
        let (bytes, limit) = (self.view.load().memtable.bytes(), self.options.memtable_bytes());
        if bytes < limit || self.view.load().frozen.len() >= MAX_FROZEN {
            return Ok(());
        }
        if bytes - limit >= limit / 8 {
            return self.freeze(writer);
        }
        self.background.wake();
        Ok(())
    }

    /// Freezes the memtable where it is full: the work of the thread of the log.
    pub(crate) fn freeze_if_due(&self) -> Result<(), Error> {
        let is_due = || {
            let view = self.view.load();
            view.frozen.len() < MAX_FROZEN && view.memtable.bytes() >= self.options.memtable_bytes()
        };
        if !is_due() {
            return Ok(());
        }
        // Twice: the second time there is little left for the sync that writers wait for.
        self.sync_beside()?;
        self.sync_beside()?;
        let mut writer = self.writer();
        if is_due() { self.freeze(&mut writer) } else { Ok(()) }
    }

    /// Hands recent pairs over to be written to a file. What comes next is in another log, so that this one can go when the
    /// file is there.
    pub(crate) fn freeze(&self, writer: &mut Writer<F>) -> Result<(), Error> {
        if self.view.load().memtable.len() == 0 { Ok(()) } else { self.freeze_always(writer) }
    }

    /// As [`Self::freeze`], also where nothing is recent: the log can go then, too.
    pub(crate) fn freeze_always(&self, writer: &mut Writer<F>) -> Result<(), Error> {
        let mut view = View::clone(&self.view.load());
        let log_bytes = writer.log.bytes();
        let next_log = writer.begin_log()?;
        let memtable = std::mem::replace(&mut view.memtable, Memtable::new(self.schema.distance).deferring());
        view.frozen.push(FrozenMemtable { memtable, next_log, sequence: writer.sequence, log_bytes });
        view.generation += 1;
        self.view.store(Arc::new(view));
        self.note_unsynced(writer);
        self.background.wake();
        Ok(())
    }

    /// Syncs the log where its durability is that of an interval, and the interval is over.
    pub(crate) fn sync_if_due(&self) -> Result<(), Error> {
        let Durability::Interval(interval) = self.options.durability else { return Ok(()) };
        let since = self.writer().unsynced_since();
        if since.is_some_and(|since| since.elapsed() >= interval) { self.sync_beside() } else { Ok(()) }
    }
}

/// Whether the log could not be written since the disk is full.
fn is_lack_of_space(error: &Error) -> bool {
    matches!(error, Error::Io { source, .. } if log::is_lack_of_space(source))
}
