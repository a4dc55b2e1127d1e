//! A small crawler, which keeps each page unless it has seen a near-duplicate.
//!
//! ```text
//! cargo run --release -p hamdex-store --example crawler
//! ```

use std::time::{Duration, Instant};

use hamdex_store::{CreateOptions, Durability, Inserted, Store, StoreOptions};

/// Pages of this crawl.
const PAGES: u64 = 100_000;

/// Maximum distance of the fingerprints of near-duplicates.
const DISTANCE: u32 = 3;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let directory = tempfile::tempdir()?;
    let path = directory.path().join("pages.store");
    // A crawler can fetch the last tenth of a second again, if power is lost.
    let options = StoreOptions::new().durability(Durability::Interval(Duration::from_millis(100)));
    let store = Store::<u64>::create(
        &path,
        &CreateOptions::new().distance(DISTANCE).codec(hamdex::Codec::EliasFano).design("cover-8"),
        options,
    )?;

    let start = Instant::now();
    let (mut new, mut known) = (0u64, 0u64);
    for page in 0..PAGES {
        match store.insert_unless_near(fingerprint_of(page), page, DISTANCE)? {
            Inserted::New { .. } => new += 1,
            Inserted::Near(_) | Inserted::Similar(_) => known += 1,
        }
    }
    let seconds = start.elapsed().as_secs_f64();
    println!("{new} new pages, {known} like one seen before: {:.0} pages per second", PAGES as f64 / seconds);

    let stats = store.stats();
    assert_eq!(stats.ids, new);
    println!("{} segments, {} pairs in memory", stats.segments.len(), stats.recent);
    Ok(())
}

/// The fingerprint of a fictitious page: one in four differs from the one before in a bit or two.
fn fingerprint_of(page: u64) -> u64 {
    let original = page - u64::from(page % 4 == 3);
    let mut mixed = original.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^= mixed >> 31;
    if original == page { mixed } else { mixed ^ 1 << (page % 64) ^ 1 << (page * 7 % 64) }
}
