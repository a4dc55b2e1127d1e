//! The overview and blocks as JSON.

use std::io::{self, Write};

use hamdex::inspect::TableStats;
use hamdex::{Fingerprint, Index};
use serde_json::{Value, json};

use crate::commands::dump::block::Located;
use crate::commands::dump::overview::MeasuredFilter;
use crate::standard_output::write_pretty_json;

pub(super) fn overview<F: Fingerprint>(
    index: &Index<F>,
    only: Option<usize>,
    output: &mut impl Write,
) -> io::Result<()> {
    let stats = index.stats();
    let tables: Vec<Value> = stats
        .tables
        .iter()
        .enumerate()
        .filter(|(number, _)| only.is_none_or(|only| only == *number))
        .map(|(number, described)| {
            let filter = MeasuredFilter::of(index, &stats, number);
            table(number, described, filter.as_ref(), stats.fingerprints, stats.bound_bits)
        })
        .collect();
    let ids = stats
        .ids
        .as_ref()
        .map(|ids| json!({ "count": ids.count, "base": ids.base, "bits": ids.bits, "bytes": ids.bytes }));
    let names = stats.name_bytes.map(|bytes| {
        let count = index.names().ok().flatten().map(|names| names.len());
        json!({ "count": count, "bytes": bytes })
    });
    let metadata: serde_json::Map<String, Value> = index
        .metadata()
        .iter()
        .map(|(name, value)| {
            let shown = match std::str::from_utf8(value) {
                Ok(text) => json!(text),
                Err(_) => json!({ "bytes": value }),
            };
            (name.clone(), shown)
        })
        .collect();
    let whole = json!({
        "format": { "major": stats.version.0, "minor": stats.version.1 },
        "file_id": stats.file_id.to_string(),
        "width": stats.width,
        "file_bytes": stats.file_bytes,
        "overhead_bytes": stats.overhead_bytes,
        "block_bytes": stats.block_bytes,
        "codec": stats.codec.name(),
        // No entry but the first of a block is raw.
        "restart_interval": null,
        "fingerprints": stats.fingerprints,
        "distance": stats.distance,
        "design": stats.design,
        "bound_bits": stats.bound_bits,
        "memory_bytes": stats.memory_bytes,
        "ids": ids,
        "names": names,
        "shingle_bytes": stats.shingle_bytes,
        "lookup_bytes": stats.lookup_bytes,
        "metadata": metadata,
        "tables": tables,
    });
    write_pretty_json(output, &whole)
}

fn table<F: Fingerprint>(
    number: usize,
    table: &TableStats<F>,
    filter: Option<&MeasuredFilter>,
    fingerprints: u64,
    bound_bits: f64,
) -> Value {
    let bits = (table.block_bytes + table.key_bytes) as f64 * 8.0 / fingerprints.max(1) as f64;
    // Without a codebook, h still has counts.
    let codebook: Vec<Value> = (0..table.counts.len())
        .map(|h| {
            let code = table.codes.get(h).map(|code| {
                let length = usize::from(table.code_lengths[h]);
                format!("{code:0length$b}")
            });
            json!({ "h": h, "code": code, "count": table.counts[h] })
        })
        .collect();
    json!({
        "table": number,
        "mask": table.design.mask.hex().to_string(),
        "prefix_bits": table.design.prefix_bits(),
        "radius": table.design.radius,
        "blocks": table.blocks,
        "offset": table.offset,
        "block_bytes": table.block_bytes,
        "key_bytes": table.key_bytes,
        "key_memory_bytes": table.key_memory_bytes,
        "keys_are_copied": table.keys_are_copied,
        "filter": filter.map(filter_json),
        "bits_per_fingerprint": bits,
        "bits_above_bound": bits - bound_bits,
        "codebook": codebook,
    })
}

fn filter_json(filter: &MeasuredFilter) -> Value {
    let measured = filter.measured.as_ref();
    json!({
        "form": if filter.stats.is_bitmap { "bitmap" } else { "bloom" },
        "prefix_bits": filter.stats.prefix_bits,
        "lines": filter.stats.lines,
        "bytes": filter.stats.bytes,
        "bits_per_fingerprint": filter.bits_per_fingerprint,
        "memory_bytes": filter.stats.memory_bytes,
        "is_copied": filter.stats.is_copied,
        "load": measured.ok().map(|measured| measured.load),
        "expected_false_positives": filter.stats.expected_false_positives,
        "measured_false_positives": measured.ok().and_then(|measured| measured.false_positives),
        "error": measured.err().map(ToString::to_string),
    })
}

pub(super) fn block<F: Fingerprint>(found: &Located<'_, F>, output: &mut impl Write) -> io::Result<()> {
    let entries: Vec<Value> = found
        .all_entries()
        .into_iter()
        .map(|entry| {
            json!({
                "entry": entry.number,
                "h": entry.h,
                "permuted": entry.permuted.hex().to_string(),
                "fingerprint": entry.fingerprint.hex().to_string(),
            })
        })
        .collect();
    let whole = json!({
        "table": found.table,
        "block": found.number,
        "offset": found.block.offset,
        "bytes": found.block.bytes.len(),
        "key": found.block.key.hex().to_string(),
        "checksum_is_right": found.block.is_whole,
        "error": found.fields.as_ref().err().map(ToString::to_string),
        "entries": entries,
    });
    write_pretty_json(output, &whole)
}
