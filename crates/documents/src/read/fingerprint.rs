//! Fingerprints of documents, or other results per text, made on several threads in the order of the documents.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

use hamdex::threads::map_numbers;
use hamdex::{Fingerprint, RECIPE_KEY};
use hamdex_simhash::{Fingerprinter, Outcome, Recipe, RecipeError, Scratch, Shingler, Shingles};

use crate::document::Counts;
use crate::document::Document;
use crate::error::Error;
use crate::read::collector::Sink;
use crate::read::options::Documents;

/// The size of a full batch, in documents or bytes of text.
const BATCH_DOCUMENTS: usize = 4096;
const BATCH_BYTES: usize = 8 << 20;

/// Capacity of the queue, in batches. With the batch being read and the batch being processed, four are in memory.
const WAITING_BATCHES: usize = 2;

impl Documents {
    /// Calls `sink` with every document and its fingerprint, in order. Returns the counts.
    ///
    /// Documents are read on a separate thread, fingerprints are made on the threads of the current rayon pool, and
    /// `sink` is called on the calling thread.
    ///
    /// # Errors
    /// As [`Documents::read`]; and when the reading thread cannot be started.
    pub fn fingerprint<F: Fingerprint, E: From<Error>>(
        &self,
        fingerprinter: &Fingerprinter<F>,
        sink: impl FnMut(Document, Outcome<F>) -> Result<(), E>,
    ) -> Result<Counts, E> {
        let work = |scratch: &mut Scratch<F>, text: &str| Ok(fingerprinter.fingerprint(text, scratch));
        self.map(Scratch::default, work, sink)
    }

    /// As [`Documents::fingerprint`], with the shingles of every document, of `words` words each.
    ///
    /// # Errors
    /// As [`Documents::fingerprint`].
    pub fn fingerprint_and_shingles<F: Fingerprint, E: From<Error>>(
        &self,
        fingerprinter: &Fingerprinter<F>,
        words: NonZeroUsize,
        mut sink: impl FnMut(Document, Outcome<F>, &Shingles) -> Result<(), E>,
    ) -> Result<Counts, E> {
        let scratch = || (Scratch::default(), Shingler::new(words));
        let work = |(scratch, shingler): &mut (Scratch<F>, Shingler), text: &str| {
            Ok(fingerprinter.fingerprint_and_shingles(text, scratch, shingler))
        };
        self.map(scratch, work, |document, (outcome, shingles)| sink(document, outcome, &shingles))
    }

    /// Calls `sink` with every document and the result of `work` on its text.
    fn map<S, T: Send, E: From<Error>>(
        &self,
        scratch: impl Fn() -> S + Send + Sync,
        work: impl Fn(&mut S, &str) -> Result<T, Error> + Send + Sync,
        mut sink: impl FnMut(Document, T) -> Result<(), E>,
    ) -> Result<Counts, E> {
        let mut stopped = None;
        let read = |sink: &mut Sink<'_>| self.read_into(sink);
        let outcome = map_texts(BATCH_BYTES, read, scratch, work, &mut |document, made| {
            sink(document, made).map_err(|error| {
                stopped = Some(error);
                Error::Stopped
            })
        });
        outcome.map_err(|error| stopped.unwrap_or_else(|| error.into()))
    }
}

/// Calls `sink` with every document from `read` and the result of `work` on its text, in order. Ends at the first error
/// of `work`. About `batch_bytes` of text are read at a time, at most the usual number.
pub(crate) fn map_texts<S, T: Send>(
    batch_bytes: usize,
    read: impl FnOnce(&mut Sink<'_>) -> Result<Counts, Error> + Send,
    scratch: impl Fn() -> S + Send + Sync,
    work: impl Fn(&mut S, &str) -> Result<T, Error> + Send + Sync,
    sink: &mut dyn FnMut(Document, T) -> Result<(), Error>,
) -> Result<Counts, Error> {
    map_texts_with((thread::Builder::new(), batch_bytes.min(BATCH_BYTES)), read, scratch, work, sink)
}

/// [`map_texts`] with a reading thread of this builder, and batches of this many bytes.
fn map_texts_with<S, T: Send>(
    (reader, batch_bytes): (thread::Builder, usize),
    read: impl FnOnce(&mut Sink<'_>) -> Result<Counts, Error> + Send,
    scratch: impl Fn() -> S + Send + Sync,
    work: impl Fn(&mut S, &str) -> Result<T, Error> + Send + Sync,
    sink: &mut dyn FnMut(Document, T) -> Result<(), Error>,
) -> Result<Counts, Error> {
    thread::scope(|scope| {
        let (sender, receiver) = sync_channel(WAITING_BATCHES);
        let reader = reader
            .name("hamdex-reader".to_owned())
            .spawn_scoped(scope, move || send(read, batch_bytes, &sender))
            .map_err(|source| Error::Thread { source })?;
        let taken = take(receiver, scratch, work, sink);
        let read = match reader.join() {
            Ok(read) => read,
            Err(panic) => std::panic::resume_unwind(panic),
        };
        // A sink that fails stops the reader, so its error comes first.
        taken.and(read)
    })
}

fn send(
    read: impl FnOnce(&mut Sink<'_>) -> Result<Counts, Error>,
    batch_bytes: usize,
    sender: &SyncSender<Vec<Document>>,
) -> Result<Counts, Error> {
    let mut batch = Vec::new();
    let mut bytes = 0;
    let counts = read(&mut |document: Document| {
        bytes += document.text.len();
        batch.push(document);
        if batch.len() >= BATCH_DOCUMENTS || bytes >= batch_bytes {
            bytes = 0;
            // With the capacity of the last batch, the next need not be reallocated.
            let next = Vec::with_capacity(batch.len());
            sender.send(std::mem::replace(&mut batch, next)).map_err(|_| Error::Stopped)?;
        }
        Ok(())
    })?;
    sender.send(batch).map_err(|_| Error::Stopped)?;
    Ok(counts)
}

fn take<S, T: Send>(
    receiver: Receiver<Vec<Document>>,
    scratch: impl Fn() -> S + Send + Sync,
    work: impl Fn(&mut S, &str) -> Result<T, Error> + Send + Sync,
    sink: &mut dyn FnMut(Document, T) -> Result<(), Error>,
) -> Result<(), Error> {
    for batch in receiver {
        let work = |scratch: &mut S, number: usize| work(scratch, &batch[number].text);
        let made = map_numbers(batch.len(), &scratch, work)?;
        for (document, made) in batch.into_iter().zip(made) {
            sink(document, made)?;
        }
    }
    Ok(())
}

/// Returns the recipe in an index's metadata; `None` for an index that was built from bare fingerprints.
///
/// # Errors
/// When this build does not support the recipe.
pub fn stored_recipe(metadata: &BTreeMap<String, Vec<u8>>) -> Result<Option<Recipe>, RecipeError> {
    metadata.get(RECIPE_KEY).map(|text| String::from_utf8_lossy(text).parse()).transpose()
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

    use super::*;

    #[test]
    fn a_reader_that_cannot_be_started_is_an_error_and_nothing_is_read() {
        // No address space holds such a stack.
        let reader = thread::Builder::new().stack_size(1 << 60);
        let read = |_: &mut Sink<'_>| panic!("there is no thread to read on");
        let outcome = map_texts_with((reader, BATCH_BYTES), read, || (), |(), _| Ok(()), &mut |_, ()| Ok(()));
        assert!(matches!(outcome, Err(Error::Thread { .. })), "{outcome:?}");
    }

    #[test]
    fn failed_work_ends_reading_after_the_current_batches() {
        let worked = AtomicUsize::new(0);
        let read = |sink: &mut Sink<'_>| {
            (0..100 * BATCH_DOCUMENTS).try_for_each(|_| sink(Document::new("", "a text")))?;
            Ok(Counts::default())
        };
        let work = |(): &mut (), _: &str| match worked.fetch_add(1, Relaxed) {
            1000.. => Err(Error::Stopped),
            _ => Ok(()),
        };
        let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
        let outcome = pool.install(|| map_texts(BATCH_BYTES, read, || (), work, &mut |_, ()| Ok(())));
        assert!(matches!(outcome, Err(Error::Stopped)), "{outcome:?}");
        assert!(worked.into_inner() < 1000 + BATCH_DOCUMENTS);
    }
}
