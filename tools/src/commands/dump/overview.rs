//! The overview of a file and its tables, as text and as JSON; and blocks as JSON.

use std::io::{self, Write};
use std::path::Path;

use hamdex::inspect::reference::{self, FieldKind};
use hamdex::inspect::{FilterStats, Stats, TableStats};
use hamdex::{Fingerprint, Index, RECIPE_KEY, ReadError};
use indicatif::{HumanBytes, HumanCount};
use serde_json::{Value, json};

use crate::commands::dump::block::Located;
use crate::documents::recipe::described;
use crate::standard_output::write_pretty_json;

/// The number of blocks sampled for their fill.
const FILL_SAMPLE: u64 = 100;

/// The positions that the ruler above the masks names.
const RULER_STEP: u32 = 8;

pub(super) fn print<F: Fingerprint>(
    path: &Path,
    index: &Index<F>,
    only: Option<usize>,
    output: &mut impl Write,
) -> io::Result<()> {
    let stats = index.stats();
    header(path, index, &stats, output)?;
    design(&stats, output)?;
    for (number, table) in stats.tables.iter().enumerate() {
        if only.is_none_or(|only| only == number) {
            print_table(index, &stats, number, table, output)?;
        }
    }
    Ok(())
}

fn header<F: Fingerprint>(
    path: &Path,
    index: &Index<F>,
    stats: &Stats<F>,
    output: &mut impl Write,
) -> io::Result<()> {
    let (major, minor) = stats.version;
    let id = stats.file_id;
    let per_fingerprint = stats.file_bytes as f64 / stats.fingerprints.max(1) as f64;
    writeln!(output, "{}", path.display())?;
    writeln!(output, "  format          {major}.{minor}, file id {id}")?;
    writeln!(
        output,
        "  size            {}, {per_fingerprint:.2} bytes per fingerprint",
        HumanBytes(stats.file_bytes)
    )?;
    writeln!(output, "  fingerprints    {} distinct, {} bits", HumanCount(stats.fingerprints), stats.width)?;
    match &stats.ids {
        Some(ids) => writeln!(
            output,
            "  ids             {} of {} bits from {} on, {}",
            HumanCount(ids.count),
            ids.bits,
            ids.base,
            HumanBytes(ids.bytes)
        )?,
        None => writeln!(output, "  ids             none")?,
    }
    if let Some(bytes) = stats.name_bytes {
        let count = match index.names() {
            Ok(names) => HumanCount(names.map_or(0, |names| names.len())).to_string(),
            Err(error) => format!("unreadable ({error})"),
        };
        writeln!(output, "  names           {count}, {}", HumanBytes(bytes))?;
    }
    if let Some(bytes) = stats.shingle_bytes {
        let per_document = bytes as f64 / stats.ids.as_ref().map_or(1, |ids| ids.count.max(1)) as f64;
        let count = match index.shingles() {
            Ok(shingles) => HumanCount(shingles.map_or(0, |shingles| shingles.pair_count())).to_string(),
            Err(error) => format!("unreadable ({error})"),
        };
        let bytes = HumanBytes(bytes);
        writeln!(output, "  shingles        {count}, {bytes}, {per_document:.1} bytes per document")?;
    }
    if let Some(bytes) = stats.lookup_bytes {
        let per_id = bytes as f64 / stats.ids.as_ref().map_or(1, |ids| ids.count.max(1)) as f64;
        writeln!(output, "  look-ups        {}, {per_id:.1} bytes per id", HumanBytes(bytes))?;
    }
    writeln!(output, "  codec           {}", stats.codec)?;
    writeln!(output, "  blocks          {} bytes", stats.block_bytes)?;
    writeln!(output, "  memory          {} besides the file", HumanBytes(stats.memory_bytes))?;
    writeln!(
        output,
        "  footer          {} with header, trailer and padding",
        HumanBytes(stats.overhead_bytes)
    )?;
    writeln!(output, "  metadata        {}", HumanBytes(stats.metadata_bytes))?;
    for (name, value) in index.metadata() {
        let value = match std::str::from_utf8(value) {
            Ok(text) if name == RECIPE_KEY => described(text),
            _ => shown(value),
        };
        writeln!(output, "    {name:?} = {value}")?;
    }
    Ok(())
}

/// Formats a value of the metadata: text as text, anything else by its length.
fn shown(value: &[u8]) -> String {
    match std::str::from_utf8(value) {
        Ok(text) => format!("{text:?}"),
        Err(_) => format!("{} bytes, not text", value.len()),
    }
}

fn design<F: Fingerprint>(stats: &Stats<F>, output: &mut impl Write) -> io::Result<()> {
    writeln!(
        output,
        "\ndesign {}: finds everything within {} bits, {} tables",
        stats.design,
        stats.distance,
        stats.tables.len()
    )?;
    let mut ruler = String::new();
    for position in (0..F::BITS).step_by(RULER_STEP as usize) {
        ruler.push_str(&format!("{position:<width$}", width = RULER_STEP as usize));
    }
    writeln!(output, "            {}", ruler.trim_end())?;
    for (number, table) in stats.tables.iter().enumerate() {
        let mask: String = (0..F::BITS)
            .map(|position| if table.design.mask & F::bit(position) == F::ZERO { '·' } else { '█' })
            .collect();
        writeln!(
            output,
            "  table {number:>2}  {mask}  prefix {} bits, radius {}",
            table.design.prefix_bits(),
            table.design.radius
        )?;
    }
    Ok(())
}

fn print_table<F: Fingerprint>(
    index: &Index<F>,
    stats: &Stats<F>,
    number: usize,
    table: &TableStats<F>,
    output: &mut impl Write,
) -> io::Result<()> {
    let n = stats.fingerprints.max(1) as f64;
    let bits = (table.block_bytes + table.key_bytes) as f64 * 8.0 / n;
    writeln!(output, "\ntable {number}: {} blocks from byte {} on", HumanCount(table.blocks), table.offset)?;
    writeln!(
        output,
        "  size            {} and {} of keys: {bits:.2} bits per fingerprint; the information bound is {:.2}, so {:+.2}",
        HumanBytes(table.block_bytes),
        HumanBytes(table.key_bytes),
        stats.bound_bits,
        bits - stats.bound_bits
    )?;
    writeln!(
        output,
        "  blocks          {:.1} fingerprints each, {:.2} % full",
        stats.fingerprints as f64 / table.blocks.max(1) as f64,
        fill(index, stats, number) * 100.0
    )?;
    writeln!(
        output,
        "  keys            {} of memory with their directory, {}",
        HumanBytes(table.key_memory_bytes),
        residence(table.keys_are_copied)
    )?;
    filter(index, stats, number, output)?;
    codebook(table, output)
}

/// Describes the bytes that queries read.
fn residence(is_copied: bool) -> &'static str {
    if is_copied { "copied into memory" } else { "in the mapped file" }
}

fn filter<F: Fingerprint>(
    index: &Index<F>,
    stats: &Stats<F>,
    table: usize,
    output: &mut impl Write,
) -> io::Result<()> {
    let Some(MeasuredFilter { stats: filter, bits_per_fingerprint, measured }) =
        MeasuredFilter::of(index, stats, table)
    else {
        return writeln!(output, "  filter          none");
    };
    let form = if filter.is_bitmap { "a bitmap" } else { "Bloom lines" };
    writeln!(
        output,
        "  filter          {form} of prefixes of {} bits: {} lines, {}, {bits_per_fingerprint:.2} bits per fingerprint",
        filter.prefix_bits,
        HumanCount(filter.lines),
        HumanBytes(filter.bytes),
    )?;
    writeln!(
        output,
        "                  {} of memory, {}",
        HumanBytes(filter.memory_bytes),
        residence(filter.is_copied)
    )?;
    let expected = filter.expected_false_positives * 100.0;
    write!(output, "                  false positives: {expected:.2} % expected, ")?;
    match measured {
        Ok(Measured { load, false_positives }) => {
            match false_positives {
                Some(share) => write!(output, "{:.2} % measured", share * 100.0)?,
                None => write!(output, "no absent prefix measured")?,
            }
            writeln!(output, "; {:.1} % of its bits are set", load * 100.0)
        }
        Err(error) => writeln!(output, "not measured ({error})"),
    }
}

/// Returns the share of bits in use, over blocks spread evenly through the table. The last block, which is
/// rarely full, does not count unless it is the only one.
fn fill<F: Fingerprint>(index: &Index<F>, stats: &Stats<F>, table: usize) -> f64 {
    let (blocks, coding) = (stats.tables[table].blocks, stats.coding(table).expect("there is such a table"));
    let counted = blocks.saturating_sub(1).max(blocks.min(1));
    let step = counted.div_ceil(FILL_SAMPLE).max(1) as usize;
    let (mut used, mut all) = (0.0, 0.0);
    for block in (0..counted).step_by(step) {
        let Some(block) = index.raw_block(table, block) else { break };
        let Ok(fields) = reference::read_block::<F>(block.bytes, coding) else { continue };
        for field in fields {
            let bits = field.bits.len() as f64;
            all += bits;
            used += if field.kind == FieldKind::Padding { 0.0 } else { bits };
        }
    }
    if all == 0.0 { 0.0 } else { used / all }
}

fn codebook<F: Fingerprint>(table: &TableStats<F>, output: &mut impl Write) -> io::Result<()> {
    let all: u64 = table.counts.iter().sum();
    if table.codes.is_empty() {
        return Ok(());
    }
    if all == 0 {
        return writeln!(output, "  codebook        nothing to code");
    }
    let counted: u64 = table.counts.iter().zip(&table.code_lengths).map(|(&c, &l)| c * u64::from(l)).sum();
    let entropy: f64 = table
        .counts
        .iter()
        .filter(|&&count| count > 0)
        .map(|&count| count as f64 / all as f64)
        .map(|share| -share * share.log2())
        .sum();
    writeln!(
        output,
        "  codebook        {:.3} bits per code; the entropy of h is {entropy:.3}",
        counted as f64 / all as f64
    )?;
    writeln!(output, "       h  bits  {:>14}  {:>8}  code", "count", "share")?;
    for (h, ((&count, &length), &code)) in
        table.counts.iter().zip(&table.code_lengths).zip(&table.codes).enumerate()
    {
        if count > 0 {
            writeln!(
                output,
                "    {h:>4}  {length:>4}  {:>14}  {:>7.3}%  {code:0width$b}",
                HumanCount(count).to_string(),
                count as f64 / all as f64 * 100.0,
                width = usize::from(length)
            )?;
        }
    }
    Ok(())
}

/// Prefixes of which the share that passes is measured.
const SAMPLES: u32 = 20_000;

/// A filter, with measurements.
pub(super) struct MeasuredFilter {
    pub(super) stats: FilterStats,
    pub(super) bits_per_fingerprint: f64,
    /// An error if the filter, or a block that the measurement reads, is damaged.
    pub(super) measured: Result<Measured, ReadError>,
}

/// The measurements of a filter.
pub(super) struct Measured {
    /// The share of set bits.
    pub(super) load: f64,
    /// The share of absent prefixes that pass; `None` if no sampled prefix is absent.
    pub(super) false_positives: Option<f64>,
}

impl MeasuredFilter {
    /// Measures the filter of a table; `None` if it has none.
    pub(super) fn of<F: Fingerprint>(index: &Index<F>, stats: &Stats<F>, table: usize) -> Option<Self> {
        let filter = stats.tables[table].filter?;
        let bits_per_fingerprint = filter.bytes as f64 * 8.0 / stats.fingerprints.max(1) as f64;
        Some(Self { stats: filter, bits_per_fingerprint, measured: Measured::of(index, table) })
    }
}

impl Measured {
    fn of<F: Fingerprint>(index: &Index<F>, table: usize) -> Result<Self, ReadError> {
        let load = index.filter_load(table)?.unwrap_or(0.0);
        Ok(Self { load, false_positives: index.filter_false_positives(table, SAMPLES)? })
    }
}

pub(super) fn print_json<F: Fingerprint>(
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

pub(super) fn print_block_json<F: Fingerprint>(
    found: &Located<'_, F>,
    output: &mut impl Write,
) -> io::Result<()> {
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
