//! The way of least memory: each fingerprint is a query for its neighbours.

use std::ops::ControlFlow;

use crate::join::collect::Collector;
use crate::join::ordered::Outcome;
use crate::join::population::{Neighbours, Part, Population};
use crate::join::workspace::Workspace;
use crate::progress::Counter;
use hamdex_fingerprint::Fingerprint;

/// Queries between cancellation checks.
const QUERIES_AT_ONCE: usize = 64;

/// Finds the pairs whose lower fingerprint is in a part.
pub(super) fn query_each<F: Fingerprint>(
    (population, part): (&dyn Population<F>, &Part),
    distance: u32,
    workspace: &mut Workspace<F>,
    neighbours: &mut dyn Neighbours<F>,
    collector: &mut Collector<'_, F>,
    done: &Counter,
) -> Outcome {
    let mut queries = std::mem::take(&mut workspace.gathered);
    queries.clear();
    population.read(part, workspace, &mut |values| queries.extend_from_slice(values))?;
    for (number, &query) in queries.iter().enumerate() {
        if number % QUERIES_AT_ONCE == 0 {
            done.check()?;
        }
        let outcome = neighbours.for_each(part.source, query, distance, &mut |near| {
            if near > query { collector.pair(query, near) } else { ControlFlow::Continue(()) }
        })?;
        if outcome.is_break() {
            return Ok(outcome);
        }
    }
    workspace.gathered = queries;
    Ok(ControlFlow::Continue(()))
}
