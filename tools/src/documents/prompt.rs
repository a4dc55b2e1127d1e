//! Documents that come down a pipe, as they come.

use hamdex_documents::{Counts, Document};

use crate::documents::inputs::Reading;
use crate::failure::Failure;
use crate::input::Arrivals;

enum Arrival<T> {
    Document(Document, T),
    End(Counts),
}

/// Calls `take` with the documents that have come, without their texts but with what `make` makes of their texts, at most `max` at a
/// time: a program that sends documents may wait for an answer before it sends more. One thread reads and makes.
pub(crate) fn each<T: Send + 'static>(
    reading: Reading,
    mut make: impl FnMut(&str) -> T + Send + 'static,
    max: usize,
    mut take: impl FnMut(Vec<(Document, T)>) -> Result<(), Failure>,
) -> Result<Counts, Failure> {
    let mut arrivals = Arrivals::start(true, move |send| {
        let counts = reading.read(|documents| {
            documents.read(|mut document: Document| {
                let made = make(&std::mem::take(&mut document.text));
                send(Arrival::Document(document, made));
                Ok::<(), Failure>(())
            })
        })?;
        send(Arrival::End(counts));
        Ok(())
    })?;
    let (mut counts, mut arrived) = (None, Vec::new());
    while arrivals.next(&mut arrived, max) {
        let mut documents = Vec::with_capacity(arrived.len());
        for arrival in arrived.drain(..) {
            match arrival {
                Arrival::Document(document, made) => documents.push((document, made)),
                Arrival::End(all) => counts = Some(all),
            }
        }
        take(documents)?;
    }
    arrivals.end()?;
    Ok(counts.expect("the counts come last"))
}
