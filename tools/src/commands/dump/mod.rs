//! `hamdex dump`: the contents of a file, down to the bit.
//!
//! - [`overview`]: the file and its tables, as text or JSON; blocks as JSON
//! - [`block`]: one block, entry by entry or bit by bit; the keys of a table; the blocks that a query reads, and why
//! - [`fingerprints`]: all fingerprints, with or without their ids, or those of an id or a name
//! - [`shingles`]: the table of shingles, its blocks and keys
//! - [`stats`]: the distribution of the fingerprints
//! - [`directories`]: a store, its segments, logs and removals; a set of shards

mod block;
mod directories;
mod fingerprints;
mod overview;
mod shingles;
mod stats;

use std::ffi::OsString;
use std::io::Write;
use std::path::PathBuf;

use hamdex::{Fingerprint, OpenOptions};
use hamdex_any::{Kind, for_width};
use hamdex_atomic_file::Inputs;

use crate::commands::Set;
use crate::failure::Failure;
use crate::output::{Force, Output};
use crate::standard_output;

/// Show the contents of an index file, a store or a set of shards.
///
/// Without further options: header, footer and design; for each table its codebook, its fill, its size
/// compared with the information bound, its filter with measured false positives, and the memory that it
/// needs.
///
/// With --locate: the probes of a query, the prefixes that the filters let pass, the blocks that it reads, and
/// the matches in these.
///
/// With --stats: how the fingerprints are distributed by their leading bits, by the distances within a
/// sample, and by h, the first bit in which a fingerprint differs from the one before it; and which of them
/// have the most ids.
///
/// For a store: manifest, segments, logs, removals, and the bytes written. Its segments are index files. For
/// a set of shards: how fingerprints are spread over the shards, which are index files.
#[derive(clap::Args)]
#[command(
    arg_required_else_help = true,
    after_help = "\
Example:
  hamdex dump news.hamdex
  hamdex dump news.hamdex --table 1 --block 0 --bits
  hamdex dump news.hamdex --table 1 --keys
  hamdex dump news.hamdex --shingles --block 0
  hamdex dump news.hamdex --locate 0123456789abcdef -k 3
  hamdex dump news.hamdex --id 17
  hamdex dump news.hamdex --fingerprints | head
  hamdex dump news.hamdex --fingerprints --ids > pairs.txt
  hamdex dump news.hamdex --stats --html news.html"
)]
pub(crate) struct Args {
    /// The index file, or the directory of a store or of shards
    #[arg(value_name = "FILE")]
    index: PathBuf,
    /// Print a JSON object; with --fingerprints, one per fingerprint; with --keys or --shingles, one per key
    #[arg(long, conflicts_with_all = ["bits", "html"])]
    json: bool,
    /// Show only this table; the first is 0
    #[arg(long, value_name = "T", group = "of_blocks")]
    table: Option<usize>,
    /// Show the table of shingles: the last pair of shingle and document of each block, or all pairs of --block
    #[arg(long, group = "of_blocks", conflicts_with_all = ["keys", "locate", "id", "name", "fingerprints", "stats"])]
    shingles: bool,
    /// Show this block of the table, entry by entry; the first is 0
    #[arg(long, value_name = "B", requires = "of_blocks")]
    block: Option<u64>,
    /// Show the bits of the block, field by field
    #[arg(long, requires = "block")]
    bits: bool,
    /// Show the keys of the table: the last entry of each block
    #[arg(long, requires = "table", conflicts_with = "block")]
    keys: bool,
    /// Show the blocks that a query for this fingerprint reads, and why
    #[arg(long, value_name = "FINGERPRINT", allow_negative_numbers = true, conflicts_with_all = ["table", "fingerprints", "stats"])]
    locate: Option<String>,
    /// The distance of the query, in bits [default: that of the file]
    #[arg(short = 'k', long, value_name = "K", requires = "locate")]
    distance: Option<u32>,
    /// Print the fingerprints of an id, a line each: fingerprint, tab, id. Of a file or store without look-ups, all is
    /// read
    #[arg(long, value_name = "ID", conflicts_with_all = ["table", "locate", "fingerprints", "stats"])]
    id: Option<u64>,
    /// The same of the ids with a name
    #[arg(long, value_name = "NAME", conflicts_with_all = ["table", "locate", "fingerprints", "stats", "id"])]
    name: Option<OsString>,
    /// Print all fingerprints in ascending order, one per line
    #[arg(long, conflicts_with_all = ["table", "block"])]
    fingerprints: bool,
    /// With --fingerprints, print a line for each id: the fingerprint, a tab and the id, as `hamdex build --ids
    /// pairs` reads them. Ids that have names are printed as numbers
    #[arg(long, requires = "fingerprints", conflicts_with = "names")]
    ids: bool,
    /// The same with the names of the ids, as `hamdex build --ids names` reads them
    #[arg(long, requires = "fingerprints")]
    names: bool,
    /// Show how the fingerprints are distributed; reads all of them
    #[arg(long, conflicts_with_all = ["table", "block", "fingerprints"])]
    stats: bool,
    /// Write the statistics to this file as an HTML page with charts
    #[arg(long, value_name = "OUT", requires = "stats")]
    html: Option<PathBuf>,
    #[command(flatten)]
    force: Force,
}

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    if args.fingerprints {
        return fingerprints(args);
    }
    if args.id.is_some() || args.name.is_some() {
        return fingerprints::look_up(args);
    }
    let kind = Kind::of(&args.index)?;
    for_width!(hamdex_any::width(&args.index)?, F => match kind {
        Kind::Store => directories::store::<F>(args),
        Kind::Shards => directories::shards::<F>(args),
        _ => dump::<F>(args),
    })
}

/// Prints all fingerprints of the set that the path names.
fn fingerprints(args: &Args) -> Result<(), Failure> {
    let set = hamdex_any::open(&args.index)?;
    let form = fingerprints::Form { ids: args.ids, names: args.names, json: args.json };
    // One without colours: that of colours leaves out bytes that are not UTF-8.
    let mut output = standard_output::buffered();
    for_width!(set.description().width, F => fingerprints::print(&args.index, Set::<F>::of(&set), form, &mut output))?;
    output.flush()?;
    Ok(())
}

fn dump<F: Fingerprint>(args: &Args) -> Result<(), Failure> {
    let index = OpenOptions::new().open::<F>(&args.index)?;
    if args.shingles {
        return shingles::print(args, &index);
    }
    let mut output = std::io::BufWriter::new(standard_output::in_colour()?);
    if args.stats {
        let inputs = Inputs::of([&args.index]);
        let form = match &args.html {
            Some(path) => stats::Form::Page(Output::new(path, args.force, &inputs).create()?),
            None if args.json => stats::Form::Json,
            None => stats::Form::Text,
        };
        stats::print(&args.index, &index, form, &mut output)?;
    } else if let (Some(table), Some(number)) = (args.table, args.block) {
        let found = block::Located::find(&index, table, number)?;
        if args.json {
            overview::print_block_json(&found, &mut output)?;
        } else if args.bits {
            found.bits(&mut output)?;
        } else {
            found.entries(&mut output)?;
        }
        if !found.is_whole() {
            output.flush()?;
            return Err(Failure::Block {
                path: args.index.clone(),
                table: format!("table {table}"),
                block: number,
            });
        }
    } else if let Some(query) = &args.locate {
        let steps = block::Steps::find(&index, query, args.distance)?;
        if args.json {
            steps.print_json(&mut output)?;
        } else {
            steps.print(&mut output)?;
        }
    } else {
        if let Some(table) = args.table.filter(|&table| table >= index.design().tables().len()) {
            return Err(Failure::Usage(format!(
                "there is no table {table}; the file has {}, counted from 0",
                index.design().tables().len()
            )));
        }
        if let (Some(table), true) = (args.table, args.keys) {
            block::print_keys(&index, table, args.json, &mut output)?;
        } else if args.json {
            overview::print_json(&index, args.table, &mut output)?;
        } else {
            overview::print(&args.index, &index, args.table, &mut output)?;
        }
    }
    output.flush()?;
    Ok(())
}
