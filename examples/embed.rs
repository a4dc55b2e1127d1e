//! An index inside a program: build a file, open it, answer queries on several threads.
//!
//! ```sh
//! cargo run --release --example embed
//! ```

use std::error::Error;
use std::sync::Arc;

use hamdex::{BatchOptions, BuildOptions, Builder, Index, Searcher};

fn main() -> Result<(), Box<dyn Error>> {
    let directory = tempfile::tempdir()?;
    let path = directory.path().join("pages.hamdex");

    // Build. The file has its name when it is complete and durable, and not before.
    let mut builder = Builder::<u64>::with_options(&path, BuildOptions::new().ids(true))?;
    for id in 0..100_000_u64 {
        builder.push_with_id(fingerprint(id), id)?;
    }
    let summary = builder.finish()?;
    println!("{} fingerprints, design {}, {} bytes", summary.fingerprints, summary.design, summary.bytes);

    // Open. The index is mapped, and shared by all threads; each has a searcher of its own.
    let index = Arc::new(Index::<u64>::open(&path)?);
    let threads: Vec<_> = (0..4_u64)
        .map(|number| {
            let index = Arc::clone(&index);
            std::thread::spawn(move || {
                let mut searcher = Searcher::new(index);
                // Two bits away from a stored fingerprint.
                searcher.within(fingerprint(number) ^ 0b101, 3).map(<[_]>::len)
            })
        })
        .collect();
    for thread in threads {
        println!("found {} within 3 bits", thread.join().expect("a searcher does not panic")?);
    }

    // Many queries at once share the work.
    let queries: Vec<u64> = (0..1000).map(|id| fingerprint(id) ^ 1).collect();
    let mut with_a_match = 0;
    index.batch_with(&queries, 3, &BatchOptions::new(), |_, matches| {
        with_a_match += usize::from(!matches.is_empty());
        Ok::<_, hamdex::ReadError>(())
    })?;
    println!("{with_a_match} of {} queries have a match", queries.len());
    Ok(())
}

/// Stands for the simhash of a page.
fn fingerprint(page: u64) -> u64 {
    let mixed = (page + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed ^ mixed >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9)
}
