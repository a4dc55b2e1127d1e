//! One set in many files: each query reads one shard of each family, however many shards there are.
//!
//! ```sh
//! cargo run --release -p hamdex-shards --example many_files
//! ```

use std::error::Error;

use hamdex::{BuildOptions, OpenOptions};
use hamdex_shards::{Layout, Shards, ShardsBuilder};

fn main() -> Result<(), Box<dyn Error>> {
    let directory = tempfile::tempdir()?;
    let path = directory.path().join("pages.shards");

    // Four families (distance 3) of 8 shards each.
    let options = BuildOptions::new().ids(true);
    let mut builder = ShardsBuilder::<u64>::create(&path, Layout::Families, 8, options)?;
    for id in 0..100_000_u64 {
        builder.push_with_id((id + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15), id)?;
    }
    builder.finish()?;

    let set = Shards::<u64>::open(&path, &OpenOptions::new())?;
    let mut searcher = set.searcher();
    let query = 18_u64.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0b11;
    let found = searcher.within(query, 3)?.to_vec();
    for near in &found {
        let ids: Vec<u64> = searcher.ids(near.fingerprint)?.iter().map(|stored| stored.id).collect();
        println!("{:016x} is {} bits away: {ids:?}", near.fingerprint, near.distance);
    }
    println!("{} of {} shards were opened", set.opened(), set.manifest().shards.len());
    Ok(())
}
