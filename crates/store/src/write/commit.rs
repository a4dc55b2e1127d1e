//! Commits: one at a time, for as many writers as wait.

use std::sync::MutexGuard;

use hamdex::Engine;

use crate::batch::Batch;
use crate::disk::Disk;
use crate::durability::Durability;
use crate::error::Error;
use crate::recent::Recent;
use crate::shared::Shared;
use crate::state::{Frozen, State};
use crate::write::request::{Reply, Request};
use crate::write::writer::Writer;

/// Memories that may wait to be written to files before writers have to wait.
const MAX_FROZEN: usize = 2;

impl<F: Engine, D: Disk> Shared<F, D> {
    /// Does what a writer asks for, together with what others ask for at the same time.
    ///
    /// # Errors
    /// When the log cannot be written, a file is damaged, or memory is full and cannot be written out.
    pub(crate) fn commit(&self, request: Request<F>) -> Result<Reply<F>, Error> {
        self.queue.submit(request, |requests| self.serve(requests))
    }

    fn serve(&self, requests: Vec<Request<F>>) -> Vec<Result<Reply<F>, Error>> {
        let count = requests.len();
        self.try_serve(requests).unwrap_or_else(|error| (0..count).map(|_| Err(error.again())).collect())
    }

    /// Nothing is published before the log has it: nobody sees what a crash could take back.
    fn try_serve(&self, requests: Vec<Request<F>>) -> Result<Vec<Result<Reply<F>, Error>>, Error> {
        let mut writer = self.writer_with_room()?;
        let before = self.state.load_full();
        let mut state = State::clone(&before);
        let (mut replies, mut batches) = (Vec::with_capacity(requests.len()), Vec::new());
        for request in requests {
            let mut effective = Batch::default();
            let reply = if request.always_succeeds() {
                request.apply(&mut state, &mut effective)
            } else {
                // What is refused, or fails, leaves nothing behind.
                let mut trial = state.clone();
                let reply = request.apply(&mut trial, &mut effective);
                match reply {
                    Ok(Reply::SearchAgain | Reply::NoIdsLeft) | Err(_) => effective = Batch::default(),
                    Ok(_) => state = trial,
                }
                reply
            };
            if !effective.operations.is_empty() {
                batches.push(effective);
            }
            replies.push(reply.map_err(Error::from));
        }
        if !batches.is_empty() {
            writer.log(&batches, self.options.durability)?;
            state.sequence = writer.sequence;
            self.state.store(std::sync::Arc::new(state));
            // These writes are done. If it fails, the writer knows, and refuses the next ones.
            let _ = self.freeze_if_full(&mut writer);
        }
        Ok(replies)
    }

    /// Gives so many ids to what comes from outside, in a store with names: the first of them; `None` where there are not
    /// so many left. Those whose pairs do not come are not given again, unless the store is opened again before.
    pub(crate) fn reserve_ids(&self, count: u64) -> Option<u64> {
        let _writer = self.writer();
        let mut state = State::clone(&self.state.load());
        let first = state.next_id;
        state.next_id = first.checked_add(count)?;
        self.state.store(std::sync::Arc::new(state));
        Some(first)
    }

    /// The writer, once there is room in memory for more.
    fn writer_with_room(&self) -> Result<MutexGuard<'_, Writer<F, D>>, Error> {
        let mut writer = self.writer();
        loop {
            if self.state.load().frozen.len() < MAX_FROZEN {
                return Ok(writer);
            }
            if let Some(source) = self.background.failure() {
                return Err(Error::Full { path: self.disk.path(""), source });
            }
            writer = self.background.wait_for_room(writer);
        }
    }

    /// Where recent memory is full, hands it over to be written to a file.
    fn freeze_if_full(&self, writer: &mut Writer<F, D>) -> Result<(), Error> {
        if self.state.load().recent.bytes() < self.options.recent_bytes() {
            return Ok(());
        }
        self.freeze(writer)
    }

    /// Hands what is recent over to be written to a file. What comes next is in another log, so that this one
    /// can go when the file is there.
    pub(crate) fn freeze(&self, writer: &mut Writer<F, D>) -> Result<(), Error> {
        if self.state.load().recent.len() == 0 { Ok(()) } else { self.freeze_what_there_is(writer) }
    }

    /// As [`Self::freeze`], also where nothing is recent: the log can go then, too.
    pub(crate) fn freeze_always(&self) -> Result<(), Error> {
        self.freeze_what_there_is(&mut self.writer())
    }

    fn freeze_what_there_is(&self, writer: &mut Writer<F, D>) -> Result<(), Error> {
        let mut state = State::clone(&self.state.load());
        let log_bytes = writer.log.bytes();
        let next_log = writer.begin_log()?;
        let recent = std::mem::replace(&mut state.recent, Recent::new(self.shape.distance));
        state.frozen.push(Frozen { recent, next_log, sequence: writer.sequence, log_bytes });
        state.epoch += 1;
        self.state.store(std::sync::Arc::new(state));
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
