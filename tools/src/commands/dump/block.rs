//! Blocks: one, entry by entry or bit by bit; the keys of a table, which are the last entries of its blocks; and the
//! blocks that a query reads, and why.

use std::io::{self, Write};

use anstyle::{AnsiColor, Style};
use hamdex::inspect::reference::{self, Coding, Field, FieldKind};
use hamdex::inspect::{BlockError, BlockTrace, FilterTrace, PassedPrefix, Permutation, ProbeTrace, RawBlock};
use hamdex::{Codec, Fingerprint, Index};
use serde_json::{Value, json};

use crate::failure::Failure;
use crate::input::Notation;
use crate::messages::counted;
use crate::standard_output::write_pretty_json;

/// Bits shown of a field before it is abbreviated: padding can be thousands.
const MAX_BITS: usize = 160;

/// A block, decoded as far as possible.
pub(super) struct Located<'a, F> {
    /// The number of the table; `None` for that of shingles.
    pub(super) table: Option<usize>,
    pub(super) number: u64,
    codec: Codec,
    pub(super) block: RawBlock<'a, F>,
    pub(super) fields: Result<Vec<Field<F>>, BlockError>,
    /// The order of the bits of the table; `None` if it is that of the fingerprints.
    permutation: Option<&'a Permutation<F>>,
}

/// An entry of a block.
pub(super) struct Entry<F> {
    /// The number of the entry in the block.
    pub(super) number: usize,
    /// The first bit that differs from the entry before; `None` if the entry is raw.
    pub(super) h: Option<u32>,
    /// In the table's order of bits.
    pub(super) permuted: F,
    /// The stored fingerprint.
    pub(super) fingerprint: F,
}

impl<'a> Located<'a, u128> {
    /// Returns a block of pairs of shingle and document.
    pub(super) fn of_shingles(number: u64, block: RawBlock<'a, u128>) -> Self {
        let fields = reference::read_block(block.bytes, Coding::EliasFano);
        Self { table: None, number, codec: Codec::EliasFano, block, fields, permutation: None }
    }
}

impl<'a, F: Fingerprint> Located<'a, F> {
    pub(super) fn find(index: &'a Index<F>, table: usize, number: u64) -> Result<Self, Failure> {
        let stats = index.stats();
        let missing = || {
            let blocks = stats.tables.get(table).map(|table| table.blocks);
            Failure::Usage(match blocks {
                Some(blocks) => {
                    format!("there is no block {number}; table {table} has {blocks}, counted from 0")
                }
                None => {
                    format!("there is no table {table}; the file has {}, counted from 0", stats.tables.len())
                }
            })
        };
        let block = index.raw_block(table, number).ok_or_else(missing)?;
        let permutation = index.permutation(table).ok_or_else(missing)?;
        let coding = stats.coding(table).ok_or_else(missing)?;
        let fields = reference::read_block(block.bytes, coding);
        Ok(Self {
            table: Some(table),
            number,
            codec: stats.codec,
            block,
            fields,
            permutation: Some(permutation),
        })
    }

    /// Whether the block is as it was written.
    pub(super) fn is_whole(&self) -> bool {
        self.block.is_whole && self.fields.is_ok()
    }

    /// Returns the entries, in order.
    pub(super) fn all_entries(&self) -> Vec<Entry<F>> {
        let fields = self.fields.as_deref().unwrap_or_default();
        let numbered = reference::fingerprints(fields);
        let raw: Vec<usize> = fields
            .iter()
            .filter_map(|field| match field.kind {
                FieldKind::Raw { entry, .. } => Some(entry),
                _ => None,
            })
            .collect();
        numbered
            .iter()
            .enumerate()
            .map(|(number, &permuted)| Entry {
                number,
                h: (!raw.contains(&number)).then(|| permuted.first_difference(numbered[number - 1])),
                permuted,
                fingerprint: self.permutation.map_or(permuted, |order| order.undo(permuted)),
            })
            .collect()
    }

    /// Returns the name of the uncoded part of an entry, and its number of bits after a first difference at
    /// `h`.
    fn plain_bits(&self) -> (&'static str, impl Fn(u32) -> u32) {
        let low_bits = self.fields.iter().flatten().find_map(|field| match field.kind {
            FieldKind::LowBits(bits) => Some(u32::from(bits)),
            _ => None,
        });
        let name = if self.codec == Codec::EliasFano { "low" } else { "suffix" };
        (name, move |h| low_bits.unwrap_or(F::BITS - 1 - h))
    }

    pub(super) fn title(&self, output: &mut impl Write) -> io::Result<()> {
        let table = self.table.map_or_else(|| "shingles".to_owned(), |table| format!("table {table}"));
        writeln!(
            output,
            "{table}, block {}, {} bytes from byte {} on; key {}; checksum {}",
            self.number,
            self.block.bytes.len(),
            self.block.offset,
            self.block.key.hex(),
            if self.block.is_whole { "right" } else { "WRONG" },
        )?;
        if let Err(error) = &self.fields {
            writeln!(output, "not a block: {error}")?;
        }
        Ok(())
    }

    pub(super) fn entries(&self, output: &mut impl Write) -> io::Result<()> {
        self.title(output)?;
        let digits = F::BYTES * 2;
        let (name, plain_bits) = self.plain_bits();
        writeln!(output, "{:>6}  {:>4}  {name:>6}  {:digits$}  fingerprint", "entry", "h", "in table order")?;
        for entry in self.all_entries() {
            let (h, suffix) = match entry.h {
                Some(h) => (h.to_string(), plain_bits(h).to_string()),
                None => ("raw".to_owned(), "-".to_owned()),
            };
            writeln!(
                output,
                "{:>6}  {h:>4}  {suffix:>6}  {}  {}",
                entry.number,
                entry.permuted.hex(),
                entry.fingerprint.hex()
            )?;
        }
        Ok(())
    }

    pub(super) fn bits(&self, output: &mut impl Write) -> io::Result<()> {
        self.title(output)?;
        writeln!(output, "{:>13}  {:30}  bits", "bits", "field")?;
        for field in self.fields.as_deref().unwrap_or_default() {
            let (meaning, style) = describe(&field.kind);
            writeln!(
                output,
                "{:>6}..{:<5}  {meaning:30}  {style}{}{style:#}",
                field.bits.start,
                field.bits.end,
                bit_string(self.block.bytes, field.bits.clone(), self.codec)
            )?;
        }
        Ok(())
    }
}

/// Returns the bits in the order of the codec's bit strings.
fn bit_string(bytes: &[u8], bits: std::ops::Range<usize>, codec: Codec) -> String {
    let is_set = |bit: usize| match codec {
        Codec::EliasFano => bytes[bit / 8] >> (bit % 8) & 1 == 1,
        _ => bytes[bit / 8] << (bit % 8) & 0x80 != 0,
    };
    let shown = bits.clone().take(MAX_BITS);
    let mut text: String = shown.map(|bit| if is_set(bit) { '1' } else { '0' }).collect();
    if bits.len() > MAX_BITS {
        text.push_str(&format!("… and {} more", bits.len() - MAX_BITS));
    }
    text
}

fn describe<F: Fingerprint>(kind: &FieldKind<F>) -> (String, Style) {
    let colour = |colour: AnsiColor| Style::new().fg_color(Some(colour.into()));
    match kind {
        FieldKind::Checksum(value) => (format!("checksum {value:08x}"), colour(AnsiColor::Magenta)),
        FieldKind::Count(count) => (format!("{count} entries"), colour(AnsiColor::Yellow)),
        FieldKind::Raw { entry, .. } => (format!("entry {entry}, raw"), colour(AnsiColor::Cyan)),
        FieldKind::LowBits(bits) => (format!("{bits} low bits an entry"), colour(AnsiColor::Yellow)),
        FieldKind::Zero => ("zero".to_owned(), Style::new().dimmed()),
        FieldKind::Bucket { entry, bucket } => {
            (format!("entry {entry}, bucket {bucket}"), colour(AnsiColor::Green))
        }
        FieldKind::Low { entry, .. } => (format!("entry {entry}, low bits"), colour(AnsiColor::Blue)),
        FieldKind::Code { entry, h } => (format!("entry {entry}, code of h = {h}"), colour(AnsiColor::Green)),
        FieldKind::Suffix { entry, .. } => (format!("entry {entry}, suffix"), colour(AnsiColor::Blue)),
        _ => ("padding".to_owned(), Style::new().dimmed()),
    }
}

/// Prints a line for each block, or an object for each with `is_json`. Reads no block.
pub(super) fn print_keys<F: Fingerprint>(
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

/// The steps of a query.
pub(super) struct Steps<F> {
    query: F,
    distance: u32,
    probes: Vec<ProbeTrace<F>>,
}

impl<F: Fingerprint> Steps<F> {
    /// Finds the blocks of a query, by default at the distance of the file.
    pub(super) fn find(index: &Index<F>, query: &str, distance: Option<u32>) -> Result<Self, Failure> {
        let query = Notation::Either.parse_argument(query)?;
        let distance = distance.unwrap_or(index.design().distance());
        let probes = index.explain(query, distance)?;
        Ok(Self { query, distance, probes })
    }

    fn blocks(&self) -> impl Iterator<Item = &BlockTrace<F>> {
        self.probes.iter().flat_map(|trace| &trace.blocks)
    }

    /// Returns the number of matches that the query returns.
    fn matches(&self) -> usize {
        self.blocks().flat_map(|block| &block.matches).filter(|found| found.is_returned).count()
    }

    pub(super) fn print(&self, output: &mut impl Write) -> io::Result<()> {
        writeln!(
            output,
            "{} within {}: {}, {}, {}",
            self.query.hex(),
            counted(self.distance.into(), "bit", "bits"),
            counted(self.probes.len() as u64, "probe", "probes"),
            counted(self.blocks().count() as u64, "block", "blocks"),
            counted(self.matches() as u64, "match", "matches"),
        )?;
        self.probes.iter().enumerate().try_for_each(|(number, trace)| print_probe(number, trace, output))
    }

    pub(super) fn print_json(&self, output: &mut impl Write) -> io::Result<()> {
        let whole = json!({
            "query": self.query.hex().to_string(),
            "distance": self.distance,
            "blocks": self.blocks().count(),
            "matches": self.matches(),
            "probes": self.probes.iter().map(probe_json).collect::<Vec<Value>>(),
        });
        write_pretty_json(output, &whole)
    }
}

fn print_probe<F: Fingerprint>(
    number: usize,
    trace: &ProbeTrace<F>,
    output: &mut impl Write,
) -> io::Result<()> {
    let reach = &trace.probe.reach;
    writeln!(
        output,
        "\nprobe {number}: table {}, prefix {} bits, radius {}",
        trace.probe.table,
        reach.prefix_bits(),
        reach.radius
    )?;
    writeln!(output, "  mask            {}", reach.mask.hex())?;
    writeln!(output, "  in table order  {}", trace.permuted.hex())?;
    match &trace.filter {
        Some(FilterTrace { tried, passed, passes_too_many, .. }) => {
            let prefixes = counted(*tried, "prefix", "prefixes");
            if *passes_too_many {
                writeln!(output, "  filter          ignored: too many of {prefixes} pass")?;
            } else {
                writeln!(output, "  filter          {} of {prefixes} pass", passed.len())?;
            }
            for passed in passed {
                let errors = counted(passed.errors.into(), "error", "errors");
                writeln!(output, "  prefix          {}, {errors}", prefix_hex(trace, passed))?;
            }
        }
        None => writeln!(output, "  filter          not asked")?,
    }
    for block in &trace.blocks {
        let after = match block.after {
            Some(after) => format!("after {} ", after.hex()),
            None => String::new(),
        };
        writeln!(output, "  block {:<9} {after}up to {}", block.number, block.key.hex())?;
        for found in &block.matches {
            writeln!(
                output,
                "    match         {} at distance {}{}",
                found.fingerprint.hex(),
                found.distance,
                if found.is_returned { "" } else { ", returned by an earlier probe" }
            )?;
        }
    }
    Ok(())
}

fn prefix_hex<F: Fingerprint>(trace: &ProbeTrace<F>, passed: &PassedPrefix) -> String {
    let digits = trace.probe.reach.prefix_bits().div_ceil(4) as usize;
    format!("{:0digits$x}", passed.prefix)
}

fn probe_json<F: Fingerprint>(trace: &ProbeTrace<F>) -> Value {
    let filter = trace.filter.as_ref().map(|filter| {
        let passed = filter.passed.iter();
        let passed: Vec<Value> = passed
            .map(|passed| json!({ "prefix": prefix_hex(trace, passed), "errors": passed.errors }))
            .collect();
        json!({ "tried": filter.tried, "passed": passed, "passes_too_many": filter.passes_too_many })
    });
    json!({
        "table": trace.probe.table,
        "mask": trace.probe.reach.mask.hex().to_string(),
        "prefix_bits": trace.probe.reach.prefix_bits(),
        "radius": trace.probe.reach.radius,
        "permuted": trace.permuted.hex().to_string(),
        "filter": filter,
        "blocks": trace.blocks.iter().map(block_json).collect::<Vec<Value>>(),
    })
}

fn block_json<F: Fingerprint>(block: &BlockTrace<F>) -> Value {
    let matches = block.matches.iter().map(|found| {
        json!({
            "fingerprint": found.fingerprint.hex().to_string(),
            "distance": found.distance,
            "returned": found.is_returned,
        })
    });
    json!({
        "block": block.number,
        "after": block.after.map(|after| after.hex().to_string()),
        "key": block.key.hex().to_string(),
        "matches": matches.collect::<Vec<Value>>(),
    })
}
