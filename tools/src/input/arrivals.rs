//! Reads records from files or a pipe in a separate thread, as they come.

use std::path::PathBuf;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{self, JoinHandle};

use hamdex::Fingerprint;
use indicatif::ProgressBar;

use crate::failure::Failure;
use crate::input::{self, Beside, Columns, Format, Found, Reading};

/// The capacity of the queue of records.
const MAX_WAITING: usize = 1 << 18;

/// The inputs: see [`Reading`].
pub(crate) struct Order {
    /// The files; standard input for `-`, or if there are none.
    pub(crate) paths: Vec<PathBuf>,
    pub(crate) format: Format,
    pub(crate) fingerprint_field: String,
    /// The column of ids or names in tables, if they are read.
    pub(crate) id_field: String,
    pub(crate) is_id_optional: bool,
    pub(crate) beside: Beside,
    /// Whether records are taken as soon as they come.
    pub(crate) is_prompt: bool,
    /// Whether a row without a fingerprint is an error.
    pub(crate) needs_each: bool,
}

/// Whether the program that writes into an input may wait for an answer before it writes more.
pub(crate) fn has_pipe(paths: &[PathBuf]) -> bool {
    let is_pipe =
        |path: &PathBuf| path.as_os_str() == "-" || path.metadata().is_ok_and(|file| !file.is_file());
    paths.is_empty() || paths.iter().any(is_pipe)
}

/// The end of the queue that records are read into.
pub(crate) struct Sender<T> {
    records: SyncSender<T>,
}

impl<T> Sender<T> {
    pub(crate) fn send(&self, record: T) {
        // If the receiver is gone, it reports an error of its own.
        drop(self.records.send(record));
    }
}

impl<T> Clone for Sender<T> {
    fn clone(&self) -> Self {
        Self { records: self.records.clone() }
    }
}

pub(crate) struct Arrivals<T> {
    records: Receiver<T>,
    reader: JoinHandle<Result<(), Failure>>,
    is_prompt: bool,
}

impl<T: Send + 'static> Arrivals<T> {
    /// Starts to read fingerprints; `record` makes a record of each fingerprint and the value next to it.
    pub(crate) fn of_fingerprints<F: Fingerprint>(
        order: Order,
        record: impl Fn(F, Found) -> T + Send + 'static,
    ) -> Result<Self, Failure> {
        let is_prompt = order.is_prompt;
        Self::start(is_prompt, move |send| {
            let columns = Columns {
                fingerprint: &order.fingerprint_field,
                id: &order.id_field,
                is_id_optional: order.is_id_optional,
                preferred: None,
            };
            let Order { paths, format, beside, needs_each, .. } = &order;
            let (format, beside, needs_each) = (*format, *beside, *needs_each);
            let reading = Reading { paths, format, columns, beside, temp_dir: None, is_prompt, needs_each };
            input::read_with::<F>(&reading, &ProgressBar::hidden(), &mut |fingerprint, found| {
                send.send(record(fingerprint, found));
                Ok(())
            })
        })
    }

    /// Starts to read in a thread. If `is_prompt`, records are taken as soon as they come.
    pub(crate) fn start(
        is_prompt: bool,
        read: impl FnOnce(Sender<T>) -> Result<(), Failure> + Send + 'static,
    ) -> Result<Self, Failure> {
        let (sender, records) = sync_channel(MAX_WAITING);
        let reader =
            thread::Builder::new().name("reader".to_owned()).spawn(move || read(Sender { records: sender }));
        let reader = reader.map_err(|error| Failure::Thread(error.into()))?;
        Ok(Self { records, reader, is_prompt })
    }

    /// Replaces `records` by the next ones, at most `max`; if `is_prompt`, only as many as have come with
    /// the first. Returns whether there are any.
    pub(crate) fn next(&mut self, records: &mut Vec<T>, max: usize) -> bool {
        records.clear();
        let Ok(first) = self.records.recv() else { return false };
        records.push(first);
        if self.is_prompt {
            records.extend(self.records.try_iter().take(max - 1));
        } else {
            records.extend(self.records.iter().take(max - 1));
        }
        true
    }

    /// Returns the outcome of reading, after the last record.
    pub(crate) fn end(self) -> Result<(), Failure> {
        self.reader.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }
}
