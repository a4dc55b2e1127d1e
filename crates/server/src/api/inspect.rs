//! `GET /v1/sets/{set}/tables` and `blocks`: a look inside the index files of a set.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use hamdex::inspect::Stats;
use hamdex::inspect::reference::{self, FieldKind};
use hamdex::{Codec, Fingerprint, Index, OpenOptions};
use hamdex_any::for_width;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::api::App;
use crate::api::payload::{Named, Parameters};
use crate::problem::Problem;
use crate::sets::{Part, Served};

/// Bits that are shown of a field; padding can be thousands.
const MAX_BITS: usize = 256;

/// The index file to look into.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct PartParameters {
    /// The number of the index file, from 0 on.
    part: usize,
}

/// The block to look into.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct BlockParameters {
    /// The number of the index file, from 0 on.
    part: usize,
    /// The number of the table, from 0 on.
    table: usize,
    /// The number of the block, from 0 on.
    block: u64,
}

/// An index file of a set.
#[derive(Debug, Default, Serialize, ToSchema)]
pub(crate) struct PartDocument {
    /// The names of all index files of the set.
    parts: Vec<String>,
    /// The number of this one; there is none if `parts` is empty.
    part: usize,
    /// The codec of its blocks.
    codec: String,
    /// Bytes of a block.
    block_bytes: u32,
    /// Bytes of the file.
    file_bytes: u64,
    /// Distinct fingerprints.
    fingerprints: u64,
    /// Bits per fingerprint and table that no code goes below for evenly spread fingerprints.
    bound_bits: f64,
    /// The tables.
    tables: Vec<TableDocument>,
}

/// A table of an index file.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct TableDocument {
    /// The bits that come first in its order, as hexadecimal digits.
    mask: String,
    /// The number of errors among these that it finds.
    radius: u32,
    /// Number of blocks.
    blocks: u64,
    /// Bytes of its blocks.
    block_bytes: u64,
    /// Bytes of its keys.
    key_bytes: u64,
    /// Bytes of its filter; 0 if it has none.
    filter_bytes: u64,
    /// For each h, the first bit in which neighbours differ: how often it occurs.
    counts: Vec<u64>,
    /// The code of each h as bits; empty if the codec has no code.
    codes: Vec<String>,
}

/// A block of a table.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct BlockDocument {
    /// Its offset in the file, in bytes.
    offset: u64,
    /// Its bytes.
    bytes: usize,
    /// Its last entry in the order of the table.
    key: String,
    /// Whether its checksum is right, and it can be decoded.
    is_whole: bool,
    /// Its fields, in their order.
    fields: Vec<FieldDocument>,
    /// Its fingerprints, in the order of the table.
    entries: Vec<EntryDocument>,
}

/// A field of a block.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct FieldDocument {
    /// Its kind: `checksum`, `count`, `raw`, `parameter`, `zero`, `code`, `rest` or `padding`.
    kind: &'static str,
    /// Its meaning in words.
    meaning: String,
    /// Its first bit.
    start: usize,
    /// The bit after its last one.
    end: usize,
    /// Its bits, in the order of the codec; the first ones of long padding.
    bits: String,
}

/// An entry of a block.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct EntryDocument {
    /// In the order of bits of the table.
    in_table_order: String,
    /// The stored fingerprint.
    fingerprint: String,
}

/// Look inside an index file
///
/// Its tables, the code of each, and the histogram of h. What a store has in memory is not in a file yet.
#[utoipa::path(
    get, path = "/v1/sets/{set}/tables", tag = "inspection", operation_id = "tables",
    params(("set" = String, Path, description = "The name of the set."), PartParameters),
    responses(
        (status = 200, description = "The tables.", body = PartDocument),
        (status = "4XX", description = "There is no such set or file.", body = Problem, content_type = "application/problem+json"),
        (status = "5XX", description = "It is damaged.", body = Problem, content_type = "application/problem+json"),
    ),
)]
pub(crate) async fn tables(
    State(app): State<Arc<App>>,
    Named(set): Named,
    Parameters(PartParameters { part }): Parameters<PartParameters>,
) -> Result<Json<PartDocument>, Problem> {
    let work = move |_: &_| {
        let parts = set.parts()?;
        if parts.is_empty() {
            // The store has everything in memory.
            return Ok(Json(PartDocument::default()));
        }
        let width = set.description()?.width;
        for_width!(width, F => {
            let index = open::<F>(&parts, part)?;
            let document = PartDocument::of(&parts, part, &index.stats());
            index.check_file()?;
            Ok(Json(document))
        })
    };
    app.lanes.queries.run(app.deadline(), work).await
}

/// Look inside a block
///
/// Bit by bit.
#[utoipa::path(
    get, path = "/v1/sets/{set}/blocks", tag = "inspection", operation_id = "block",
    params(("set" = String, Path, description = "The name of the set."), BlockParameters),
    responses(
        (status = 200, description = "The block.", body = BlockDocument),
        (status = "4XX", description = "There is no such block.", body = Problem, content_type = "application/problem+json"),
        (status = "5XX", description = "It cannot be answered now.", body = Problem, content_type = "application/problem+json"),
    ),
)]
pub(crate) async fn block(
    State(app): State<Arc<App>>,
    Named(set): Named,
    Parameters(parameters): Parameters<BlockParameters>,
) -> Result<Json<BlockDocument>, Problem> {
    let work = move |_: &_| for_width!(set.description()?.width, F => look::<F>(&set, &parameters).map(Json));
    app.lanes.queries.run(app.deadline(), work).await
}

fn open<F: Fingerprint>(parts: &[Part], number: usize) -> Result<Index<F>, Problem> {
    let Some(part) = parts.get(number) else {
        let detail = format!("there is no file {number}; the set has {}, counted from 0", parts.len());
        return Err(Problem::not_found("no_part", detail));
    };
    if !part.path.exists() {
        // A merge has replaced it since it was listed.
        return Err(Problem::not_found("no_part", format!("{} was merged; ask again", part.name)));
    }
    Ok(OpenOptions::new().map_keys(true).open::<F>(&part.path)?)
}

impl PartDocument {
    fn of<F: Fingerprint>(parts: &[Part], part: usize, stats: &Stats<F>) -> Self {
        let tables = stats.tables.iter().map(|table| TableDocument {
            mask: table.design.mask.hex().to_string(),
            radius: table.design.radius,
            blocks: table.blocks,
            block_bytes: table.block_bytes,
            key_bytes: table.key_bytes,
            filter_bytes: table.filter.map_or(0, |filter| filter.bytes),
            counts: table.counts.clone(),
            codes: table
                .codes
                .iter()
                .zip(&table.code_lengths)
                .map(|(&code, &length)| bits_of(code, length))
                .collect(),
        });
        Self {
            parts: parts.iter().map(|part| part.name.clone()).collect(),
            part,
            codec: stats.codec.to_string(),
            block_bytes: stats.block_bytes,
            file_bytes: stats.file_bytes,
            fingerprints: stats.fingerprints,
            bound_bits: if stats.fingerprints == 0 { 0.0 } else { stats.bound_bits },
            tables: tables.collect(),
        }
    }
}

/// Returns the low bits of a code.
fn bits_of(code: u16, length: u8) -> String {
    (0..length).rev().map(|bit| if code >> bit & 1 == 1 { '1' } else { '0' }).collect()
}

fn look<F: Fingerprint>(set: &Served, parameters: &BlockParameters) -> Result<BlockDocument, Problem> {
    let &BlockParameters { part, table, block } = parameters;
    let index = open::<F>(&set.parts()?, part)?;
    let stats = index.stats();
    let missing = || {
        let detail = format!("there is no block {block} of table {table}; both are counted from 0");
        Problem::not_found("no_block", detail)
    };
    let raw = index.raw_block(table, block).ok_or_else(missing)?;
    let permutation = index.permutation(table).ok_or_else(missing)?;
    let coding = stats.coding(table).ok_or_else(missing)?;
    let read = reference::read_block::<F>(raw.bytes, coding);
    let is_whole = raw.is_whole && read.is_ok();
    let fields = read.unwrap_or_default();
    let entries = reference::fingerprints(&fields).into_iter().map(|entry| EntryDocument {
        in_table_order: entry.hex().to_string(),
        fingerprint: permutation.undo(entry).hex().to_string(),
    });
    let entries = entries.collect();
    index.check_file()?;
    let fields = fields.iter().map(|field| {
        let (kind, meaning) = describe(&field.kind);
        FieldDocument {
            kind,
            meaning,
            start: field.bits.start,
            end: field.bits.end,
            bits: bit_string(raw.bytes, field.bits.clone(), stats.codec),
        }
    });
    Ok(BlockDocument {
        offset: raw.offset,
        bytes: raw.bytes.len(),
        key: raw.key.hex().to_string(),
        is_whole,
        fields: fields.collect(),
        entries,
    })
}

fn bit_string(bytes: &[u8], bits: std::ops::Range<usize>, codec: Codec) -> String {
    let is_set = |bit: usize| match codec {
        Codec::EliasFano => bytes[bit / 8] >> (bit % 8) & 1 == 1,
        _ => bytes[bit / 8] << (bit % 8) & 0x80 != 0,
    };
    bits.take(MAX_BITS).map(|bit| if is_set(bit) { '1' } else { '0' }).collect()
}

fn describe<F: Fingerprint>(kind: &FieldKind<F>) -> (&'static str, String) {
    match kind {
        FieldKind::Checksum(value) => ("checksum", format!("checksum {value:08x}")),
        FieldKind::Count(count) => ("count", format!("{count} entries")),
        FieldKind::Raw { entry, .. } => ("raw", format!("entry {entry}, raw")),
        FieldKind::LowBits(bits) => ("parameter", format!("{bits} low bits per entry")),
        FieldKind::Zero => ("zero", "zero".to_owned()),
        FieldKind::Bucket { entry, bucket } => ("code", format!("entry {entry}, bucket {bucket}")),
        FieldKind::Low { entry, .. } => ("rest", format!("entry {entry}, low bits")),
        FieldKind::Code { entry, h } => ("code", format!("entry {entry}, code of h = {h}")),
        FieldKind::Suffix { entry, .. } => ("rest", format!("entry {entry}, suffix")),
        _ => ("padding", "padding".to_owned()),
    }
}
