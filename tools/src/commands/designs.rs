//! `hamdex designs`: the choice of tables, with costs.

use std::io::Write;

use hamdex::{Codec, Design, DesignError, FilterChoice, TableDesign};
use serde::Serialize;

use crate::failure::Failure;
use crate::option_values;
use crate::standard_output::{self, write_pretty_json};

/// List the designs for a distance, with the cost of each.
///
/// Costs are estimates for evenly spread fingerprints of 64 bits: the size of the file, the blocks that a
/// query reads (its reads with a cold cache) and the candidates that it compares. Prefix filters make the
/// file larger and save a query most reads of blocks. Both figures are shown without and with them.
///
/// The codec is a separate choice: elias-fano answers queries 1.5 to 1.8 times as fast with filters, 3 to 4 times
/// without, and is smaller for evenly spread fingerprints; huffman is smaller for clustered ones, such as those of
/// real documents.
#[derive(clap::Args)]
#[command(after_help = "\
Example:
  hamdex designs --count 8000000000 --distance 3
  hamdex designs --codec elias-fano --filter 14")]
pub(crate) struct Args {
    /// The number of fingerprints
    #[arg(short = 'n', long, value_name = "N", default_value_t = 100_000_000)]
    count: u64,
    /// The distance, in bits: queries find everything within it
    #[arg(short = 'k', long, value_name = "K", default_value_t = 3)]
    distance: u32,
    /// The block codec: huffman or elias-fano
    #[arg(long, value_name = "NAME", default_value_t)]
    codec: Codec,
    /// The prefix filters: auto, none, or a number N for at most N bits per fingerprint and table
    #[arg(long, value_name = "FILTER", default_value_t)]
    filter: FilterChoice,
    /// Bytes per block: a power of two from 512 to 8192 [default: that of a build with the codec]
    #[arg(long, value_name = "BYTES", value_parser = option_values::block_bytes)]
    block_size: Option<u32>,
    /// Print a JSON array
    #[arg(long)]
    json: bool,
}

/// A design, as `--json` prints it.
#[derive(Serialize)]
struct Row {
    name: String,
    tables: usize,
    /// Of the table with the shortest prefix.
    prefix_bits: u32,
    /// Of the table with the largest radius.
    radius: u32,
    /// Without filters.
    bytes_per_fingerprint: f64,
    bytes_per_fingerprint_with_filters: f64,
    key_bytes_per_fingerprint: f64,
    /// Without filters.
    blocks_per_query: f64,
    blocks_per_query_with_filters: f64,
    /// Tables that have a filter.
    filters: usize,
    candidates_per_query: f64,
    /// Whether `auto` chooses it.
    auto: bool,
}

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let rows = rows(args)?;
    let mut output = standard_output::lines();
    if args.json {
        write_pretty_json(&mut output, &rows)?;
        return Ok(());
    }
    writeln!(
        output,
        "{:12} {:>6} {:>11} {:>6} {:>8} {:>13} {:>11} {:>12} {:>13} {:>16}",
        "design",
        "tables",
        "prefix bits",
        "radius",
        "bytes/fp",
        "with filters",
        "key RAM/fp",
        "blocks/query",
        "with filters",
        "candidates/query"
    )?;
    for row in rows {
        writeln!(
            output,
            "{:12} {:>6} {:>11} {:>6} {:>8.1} {:>13.1} {:>11.3} {:>12.1} {:>13.1} {:>16.1}{}",
            row.name,
            row.tables,
            row.prefix_bits,
            row.radius,
            row.bytes_per_fingerprint,
            row.bytes_per_fingerprint_with_filters,
            row.key_bytes_per_fingerprint,
            row.blocks_per_query,
            row.blocks_per_query_with_filters,
            row.candidates_per_query,
            if row.auto { "  <- auto" } else { "" },
        )?;
    }
    Ok(())
}

fn rows(args: &Args) -> Result<Vec<Row>, DesignError> {
    let block_bytes = args.block_size.unwrap_or(args.codec.default_block_bytes() as u32);
    let auto = Design::<u64>::auto(args.distance, args.count, args.codec, block_bytes)?;
    Design::<u64>::names(args.distance)
        .into_iter()
        .map(|name| {
            let design = Design::<u64>::named(&name, args.distance)?;
            let cost = design.cost(args.count, args.codec, block_bytes);
            let filtered = design.filter_cost(args.count, args.codec, block_bytes, args.filter);
            let tables = design.tables();
            Ok(Row {
                tables: tables.len(),
                prefix_bits: tables.iter().map(TableDesign::prefix_bits).min().unwrap_or(0),
                radius: tables.iter().map(|table| table.radius).max().unwrap_or(0),
                bytes_per_fingerprint: cost.bytes_per_fingerprint,
                bytes_per_fingerprint_with_filters: cost.bytes_per_fingerprint
                    + filtered.bytes_per_fingerprint,
                key_bytes_per_fingerprint: cost.key_bytes_per_fingerprint,
                blocks_per_query: cost.blocks_per_query,
                blocks_per_query_with_filters: filtered.blocks_per_query,
                filters: filtered.filters,
                candidates_per_query: cost.candidates_per_query,
                auto: name == auto.name(),
                name,
            })
        })
        .collect()
}
