//! A lead whose values a table has side by side.

use std::ops::{ControlFlow, Range};

use crate::error::ReadError;
use crate::join::ordered::Outcome;
use crate::join::runs::RunPairs;
use crate::join::workspace::Workspace;
use crate::progress::Counter;
use crate::table::reader::{Table, runs_of};
use hamdex_fingerprint::Fingerprint;

/// Values decoded before they are compared: they are still in cache then.
const CHUNK: usize = 8192;

/// Finds the pairs of all runs of values equal under `mask`, leading bits in the table's order, that
/// begin in some blocks; so each run belongs to the one task in whose blocks it begins.
pub(super) fn stream<F: Fingerprint>(
    table: &Table<F>,
    file: &[u8],
    mask: F,
    blocks: Range<usize>,
    workspace: &mut Workspace<F>,
    runs: &mut RunPairs<'_, '_, F>,
) -> Outcome {
    let Workspace { scratch, values, .. } = workspace;
    values.clear();
    let keys = table.keys.in_file(file);
    let mut block = blocks.start;
    if let Some(before) = block.checked_sub(1) {
        let begun = keys.get(before) & mask;
        while block < blocks.end && keys.get(block) & mask == begun {
            block += 1;
        }
        if block == blocks.end {
            return Ok(ControlFlow::Continue(()));
        }
        table.decode(file, block, scratch, values)?;
        values.drain(..values.partition_point(|&value| value & mask == begun));
        block += 1;
    }
    for run in runs_of(block..blocks.end) {
        let end = run.end;
        table.decode_run(file, run, scratch, values)?;
        if values.len() < CHUNK {
            continue;
        }
        let open = keys.get(end - 1) & mask;
        let whole = values.partition_point(|&value| value & mask < open);
        if runs.find(&mut values[..whole], mask).is_break() {
            return Ok(ControlFlow::Break(()));
        }
        values.drain(..whole);
    }
    // The last run may go on behind.
    let open = keys.get(blocks.end - 1) & mask;
    for block in blocks.end..table.keys.len() {
        let start = values.len();
        table.decode(file, block, scratch, values)?;
        let run = values[start..].partition_point(|&value| value & mask == open);
        values.truncate(start + run);
        if runs.check_cancelled(run).is_break() {
            return Ok(ControlFlow::Break(()));
        }
        if keys.get(block) & mask != open {
            break;
        }
    }
    Ok(runs.find(values, mask))
}

/// Returns whether no run of values equal under `mask` is longer than `max_run`, so that memory holds each.
pub(super) fn runs_fit<F: Fingerprint>(
    table: &Table<F>,
    file: &[u8],
    mask: F,
    max_run: usize,
    workspace: &mut Workspace<F>,
    done: &Counter,
) -> Result<bool, ReadError> {
    let keys = table.keys.in_file(file);
    let blocks = keys.len();
    let max_per_block = table.codec.layout().block_bytes * 8;
    let mut start = 0;
    while start < blocks {
        let prefix = keys.get(start) & mask;
        // The block in which the run ends has a key beyond it.
        let last = keys.find(prefix | !mask).min(blocks - 1);
        if (last - start + 1).saturating_mul(max_per_block) > max_run {
            // Checked only if it is possible, which is rare.
            let mut count = 0;
            for block in start..=last {
                done.check()?;
                workspace.values.clear();
                table.decode(file, block, &mut workspace.scratch, &mut workspace.values)?;
                count += workspace.values.iter().filter(|&&value| value & mask == prefix).count();
            }
            if count > max_run {
                return Ok(false);
            }
        }
        start = last.max(start + 1);
    }
    Ok(true)
}
