//! Queries from a file or a pipe, read by a thread of its own, as they come.

use std::path::PathBuf;
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread::{self, JoinHandle};

use hamdex::Fingerprint;
use indicatif::ProgressBar;

use crate::failure::Failure;
use crate::input::{self, Format};

/// Queries that are read ahead.
const READ_AHEAD: usize = 1 << 18;

pub(super) struct Arrivals<F> {
    queries: Receiver<F>,
    reader: JoinHandle<Result<(), Failure>>,
}

impl<F: Fingerprint> Arrivals<F> {
    /// Starts to read.
    pub(super) fn from(file: PathBuf, format: Format) -> Self {
        let (sender, queries) = sync_channel(READ_AHEAD);
        let reader = thread::spawn(move || {
            input::read_with::<F>(&[file], format, false, &ProgressBar::hidden(), &mut |query, _| {
                // Nobody receives any more: that one has an error of its own to tell.
                let _ = sender.send(query);
                Ok(())
            })
        });
        Self { queries, reader }
    }

    /// The next queries, up to so many, in place of what is in `queries`; or, if it is to be prompt, no
    /// more of them than have come when the first one has. Tells whether there are any.
    pub(super) fn next(&mut self, queries: &mut Vec<F>, most: usize, is_prompt: bool) -> bool {
        queries.clear();
        let Ok(first) = self.queries.recv() else { return false };
        queries.push(first);
        if is_prompt {
            queries.extend(self.queries.try_iter().take(most - 1));
        } else {
            queries.extend(self.queries.iter().take(most - 1));
        }
        true
    }

    /// What became of reading, once there are no more queries.
    pub(super) fn end(self) -> Result<(), Failure> {
        self.reader.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }
}
