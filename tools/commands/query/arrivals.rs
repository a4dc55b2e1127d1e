//! Queries from a file or a pipe, read by a thread of its own, as they come.

use std::path::PathBuf;
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread::{self, JoinHandle};

use hamdex::Fingerprint;
use indicatif::ProgressBar;

use crate::failure::Failure;
use crate::input::{self, Columns, Format, Reading};

/// Queries that wait to be answered.
const MAX_WAITING: usize = 1 << 18;

pub(super) struct Arrivals<F> {
    queries: Receiver<F>,
    reader: JoinHandle<Result<(), Failure>>,
    is_prompt: bool,
}

impl<F: Fingerprint> Arrivals<F> {
    /// Starts to read; if it is to be prompt, each query as soon as it has come.
    pub(super) fn from(
        file: PathBuf,
        format: Format,
        column: String,
        is_prompt: bool,
    ) -> Result<Self, Failure> {
        let (sender, queries) = sync_channel(MAX_WAITING);
        let reader = thread::Builder::new().name("reader".to_owned()).spawn(move || {
            let columns = Columns { fingerprint: &column, id: None };
            let reading = Reading { paths: &[file], format, columns, temp_dir: None, is_prompt };
            input::read_with::<F>(&reading, &ProgressBar::hidden(), &mut |query, _| {
                // If the receiver has gone, it has an error of its own to report.
                let _ = sender.send(query);
                Ok(())
            })
        });
        let reader = reader.map_err(|error| Failure::Wrong(format!("cannot start a thread: {error}")))?;
        Ok(Self { queries, reader, is_prompt })
    }

    /// Puts the next queries in place of what is in `queries`, `max` at most; if it is to be prompt, no
    /// more of them than have come when the first one has. Returns whether there are any.
    pub(super) fn next(&mut self, queries: &mut Vec<F>, max: usize) -> bool {
        queries.clear();
        let Ok(first) = self.queries.recv() else { return false };
        queries.push(first);
        if self.is_prompt {
            queries.extend(self.queries.try_iter().take(max - 1));
        } else {
            queries.extend(self.queries.iter().take(max - 1));
        }
        true
    }

    /// What became of reading, once there are no more queries.
    pub(super) fn end(self) -> Result<(), Failure> {
        self.reader.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }
}
