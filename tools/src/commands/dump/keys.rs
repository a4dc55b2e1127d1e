//! The keys of a table: the last entry of each block.

use std::io::{self, Write};

use hamdex::{Fingerprint, Index};
use serde_json::json;

/// Prints a line for each block, or an object for each with `is_json`. Reads no block.
pub(super) fn print<F: Fingerprint>(
    index: &Index<F>,
    table: usize,
    is_json: bool,
    output: &mut impl Write,
) -> io::Result<()> {
    let Some(permutation) = index.permutation(table) else { return Ok(()) };
    if !is_json {
        writeln!(output, "{:>10}  {:digits$}  fingerprint", "block", "key", digits = F::BYTES * 2)?;
    }
    for block in 0.. {
        let Some(key) = index.block_key(table, block) else { break };
        let fingerprint = permutation.undo(key).hex();
        let key = key.hex();
        if is_json {
            let key = json!({
                "table": table,
                "block": block,
                "key": key.to_string(),
                "fingerprint": fingerprint.to_string(),
            });
            writeln!(output, "{key}")?;
        } else {
            writeln!(output, "{block:>10}  {key}  {fingerprint}")?;
        }
    }
    Ok(())
}
