//! A design of your own: which tables a file keeps, proved to miss nothing before it is built.
//!
//! ```sh
//! cargo run --release --example custom_design
//! ```

use std::error::Error;

use hamdex::{BuildOptions, Builder, Design, Index, TableDesign};

fn main() -> Result<(), Box<dyn Error>> {
    // With two errors and three groups of bits, one group has no error: a table per group, which puts that group first.
    // The first table of every file is in natural order, as its group makes it.
    let groups = [0xffff_fc00_0000_0000_u64, 0x0000_03ff_ffe0_0000, 0x0000_0000_001f_ffff];
    let tables = |groups: &[u64]| groups.iter().map(|&mask| TableDesign::new(mask, 0)).collect();
    let design = Design::custom("my thirds", 2, tables(&groups))?;
    println!("{} covers {} errors with {} tables", design.name(), design.distance(), design.tables().len());

    // A table less misses something, and the error shows what.
    let refusal = Design::custom("too few", 2, tables(&groups[..2]));
    println!("refused: {}", refusal.expect_err("two groups of three are not enough"));

    let mut builder = Builder::in_memory(BuildOptions::new().design(design))?;
    [0x00ff_u64, 0xff00].into_iter().try_for_each(|fingerprint| builder.push(fingerprint))?;
    let index = Index::<u64>::from_bytes(builder.into_inner()?.0)?;
    assert_eq!(index.searcher().within(0x00fc, 2)?.len(), 1);
    // A distance beyond the design's is as exact, and takes longer.
    assert_eq!(index.searcher().within(0x00f0, 4)?.len(), 1);
    Ok(())
}
