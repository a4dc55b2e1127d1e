//! Records from files or a pipe, read by a thread of its own, as they come.

use std::path::PathBuf;
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread::{self, JoinHandle};

use hamdex::Fingerprint;
use indicatif::ProgressBar;

use crate::failure::Failure;
use crate::input::{self, Beside, Columns, Format, Found, Reading};

/// Records that wait to be taken.
const MAX_WAITING: usize = 1 << 18;

/// What is to be read: see [`Reading`].
pub(crate) struct Order {
    /// Standard input for `-`, or when there are none.
    pub(crate) paths: Vec<PathBuf>,
    pub(crate) format: Format,
    pub(crate) fingerprint_field: String,
    /// The column of ids or names in tables, where some stand beside the fingerprints.
    pub(crate) id_field: String,
    pub(crate) beside: Beside,
    /// Whether what has come is taken at once.
    pub(crate) is_prompt: bool,
}

/// Whether one who writes into an input may wait for an answer before writing more.
pub(crate) fn has_pipe(paths: &[PathBuf]) -> bool {
    let is_pipe =
        |path: &PathBuf| path.as_os_str() == "-" || path.metadata().is_ok_and(|file| !file.is_file());
    paths.is_empty() || paths.iter().any(is_pipe)
}

pub(crate) struct Arrivals<T> {
    records: Receiver<T>,
    reader: JoinHandle<Result<(), Failure>>,
    is_prompt: bool,
}

impl<T: Send + 'static> Arrivals<T> {
    /// Starts to read fingerprints, each as `record` makes it of the fingerprint and what stands beside it.
    pub(crate) fn of_fingerprints<F: Fingerprint>(
        order: Order,
        record: impl Fn(F, Found) -> T + Send + 'static,
    ) -> Result<Self, Failure> {
        let is_prompt = order.is_prompt;
        Self::start(is_prompt, move |send| {
            let columns = Columns { fingerprint: &order.fingerprint_field, id: &order.id_field };
            let Order { paths, format, beside, .. } = &order;
            let (format, beside) = (*format, *beside);
            let reading = Reading { paths, format, columns, beside, temp_dir: None, is_prompt };
            input::read_with::<F>(&reading, &ProgressBar::hidden(), &mut |fingerprint, found| {
                send(record(fingerprint, found));
                Ok(())
            })
        })
    }

    /// Starts to read in a thread. If it is to be prompt, records are taken as soon as they have come.
    pub(crate) fn start(
        is_prompt: bool,
        read: impl FnOnce(&mut dyn FnMut(T)) -> Result<(), Failure> + Send + 'static,
    ) -> Result<Self, Failure> {
        let (sender, records) = sync_channel(MAX_WAITING);
        let reader = thread::Builder::new().name("reader".to_owned()).spawn(move || {
            // If the receiver has gone, it has an error of its own to report.
            read(&mut |record| drop(sender.send(record)))
        });
        let reader = reader.map_err(|error| Failure::Thread(error.into()))?;
        Ok(Self { records, reader, is_prompt })
    }

    /// Puts the next records in place of what is in `records`, `max` at most; if it is to be prompt, no
    /// more of them than have come when the first one has. Returns whether there are any.
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

    /// What became of reading, once there are no more records.
    pub(crate) fn end(self) -> Result<(), Failure> {
        self.reader.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }
}
