//! Pairs that are found while they are read.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread;
use std::time::Duration;

use arrow_array::{RecordBatch, RecordBatchReader};
use arrow_schema::{ArrowError, SchemaRef};
use hamdex::SetError;
use pyo3::prelude::*;

use crate::errors::{chain, of_io};
use crate::join::Job;
use crate::work::{Watch, check_signals};

/// The approximate number of rows of a table.
const TABLE_ROWS: usize = 1 << 16;

/// The most tables that wait to be read.
const MAX_WAITING_TABLES: usize = 2;

/// The interval of signal checks while waiting for the next table.
const SIGNAL_INTERVAL: Duration = Duration::from_millis(20);

/// A running search for pairs. Dropping it cancels the search.
pub(crate) struct Stream {
    receiver: Receiver<Result<RecordBatch, SetError>>,
    watch: Arc<Watch>,
    schema: SchemaRef,
}

impl Drop for Stream {
    fn drop(&mut self) {
        self.watch.stop();
    }
}

impl Stream {
    /// Returns the next table. `check` is called periodically; its error ends the waiting.
    pub(crate) fn next<E>(
        &self,
        check: impl Fn() -> Result<(), E>,
    ) -> Result<Option<Result<RecordBatch, SetError>>, E> {
        loop {
            match self.receiver.recv_timeout(SIGNAL_INTERVAL) {
                Ok(next) => return Ok(Some(next)),
                Err(RecvTimeoutError::Disconnected) => return Ok(None),
                Err(RecvTimeoutError::Timeout) => check()?,
            }
        }
    }
}

/// The stream as an Arrow reader.
impl Iterator for Stream {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        let stopped = |exception: PyErr| ArrowError::ExternalError(exception.into());
        match Stream::next(self, check_signals) {
            Ok(next) => {
                next.map(|next| next.map_err(|error| ArrowError::ExternalError(chain(&error).into())))
            }
            Err(exception) => Some(Err(stopped(exception))),
        }
    }
}

impl RecordBatchReader for Stream {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }
}

impl Job {
    /// Starts to find the pairs.
    pub(crate) fn start(&self) -> PyResult<Stream> {
        let (sender, receiver) = sync_channel(MAX_WAITING_TABLES);
        let watch = Arc::new(Watch::default());
        let (job, own) = (self.clone(), Arc::clone(&watch));
        let thread =
            thread::Builder::new().name("hamdex-pairs".to_owned()).spawn(move || job.send(&own, &sender));
        match thread {
            Ok(_) => Ok(Stream { receiver, watch, schema: self.schema() }),
            Err(error) => Err(of_io(&error, None, format!("cannot start a thread: {error}"))),
        }
    }

    fn send(&self, watch: &Arc<Watch>, sender: &SyncSender<Result<RecordBatch, SetError>>) {
        let outcome = self.for_each(watch, TABLE_ROWS, &mut |batch| match sender.send(Ok(batch)) {
            Ok(()) => ControlFlow::Continue(()),
            Err(_) => ControlFlow::Break(()),
        });
        if let Err(error) = outcome {
            // The reader has ended and wants no error.
            let _ = sender.send(Err(error));
        }
    }
}
