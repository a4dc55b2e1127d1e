//! The way of least memory: each fingerprint is a query for those that are near.

use std::ops::ControlFlow;

use crate::index::pairs::collect::Collector;
use crate::index::pairs::ordered::Outcome;
use crate::index::pairs::workspace::Workspace;
use crate::index::searcher::Searcher;
use crate::table::reader::Table;
use hamdex_fingerprint::Fingerprint;

/// Finds the pairs whose lower fingerprint is in a block of table 0.
pub(super) fn query_each<F: Fingerprint, D: AsRef<[u8]>>(
    table: &Table<F>,
    file: &[u8],
    distance: u32,
    block: usize,
    workspace: &mut Workspace<F>,
    searcher: &mut Searcher<'_, F, D>,
    collector: &mut Collector<'_, F>,
) -> Outcome {
    workspace.values.clear();
    table.decode(file, block, &mut workspace.scratch, &mut workspace.values)?;
    for &query in &workspace.values {
        let outcome = searcher.for_each(query, distance, |near| {
            if near.fingerprint > query {
                collector.pair(query, near.fingerprint)
            } else {
                ControlFlow::Continue(())
            }
        })?;
        if outcome.is_break() {
            return Ok(outcome);
        }
    }
    Ok(ControlFlow::Continue(()))
}
