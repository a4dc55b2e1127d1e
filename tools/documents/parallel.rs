//! Fingerprints of documents on all processors, in the order of the documents.

use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use hamdex::Fingerprint;
use hamdex_simhash::{Fingerprinter, Outcome, Scratch};
use rayon::prelude::*;

use crate::documents::{Counts, Document, Reading, read};
use crate::failure::Failure;

/// A batch is full with so many documents, or so many bytes of text.
const BATCH_DOCUMENTS: usize = 4096;
const BATCH_BYTES: usize = 8 << 20;

/// Batches that wait to be taken: with the one being read and the one being worked on, memory holds
/// four.
const WAITING: usize = 2;

/// Calls `sink` with every document and its fingerprint, in order.
pub(crate) fn fingerprint<F: Fingerprint>(
    reading: &Reading<'_>,
    fingerprinter: &Fingerprinter<F>,
    sink: &mut dyn FnMut(Document, Outcome<F>) -> Result<(), Failure>,
) -> Result<Counts, Failure> {
    std::thread::scope(|scope| {
        let (sender, receiver) = sync_channel(WAITING);
        let reader = scope.spawn(move || send(reading, sender));
        let taken = take(receiver, fingerprinter, sink);
        let read = reader.join().expect("the reader does not panic");
        // A sink that fails has stopped the reader, whose failure then says nothing.
        taken.and(read)
    })
}

fn send(reading: &Reading<'_>, sender: SyncSender<Vec<Document>>) -> Result<Counts, Failure> {
    let mut batch = Vec::new();
    let mut bytes = 0;
    // Nobody takes what is sent after the other side has failed, and tells why.
    let gone = || Failure::Wrong("the reader was stopped".to_owned());
    let counts = read(reading, &mut |document| {
        bytes += document.text.len();
        batch.push(document);
        if batch.len() >= BATCH_DOCUMENTS || bytes >= BATCH_BYTES {
            bytes = 0;
            sender.send(std::mem::take(&mut batch)).map_err(|_| gone())?;
        }
        Ok(())
    })?;
    sender.send(batch).map_err(|_| gone())?;
    Ok(counts)
}

fn take<F: Fingerprint>(
    receiver: Receiver<Vec<Document>>,
    fingerprinter: &Fingerprinter<F>,
    sink: &mut dyn FnMut(Document, Outcome<F>) -> Result<(), Failure>,
) -> Result<(), Failure> {
    for batch in receiver {
        let outcomes: Vec<Outcome<F>> = batch
            .par_iter()
            .map_init(Scratch::default, |scratch, document| {
                fingerprinter.fingerprint(&document.text, scratch)
            })
            .collect();
        for (document, outcome) in batch.into_iter().zip(outcomes) {
            sink(document, outcome)?;
        }
    }
    Ok(())
}
