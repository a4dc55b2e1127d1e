//! `hamdex store create`: a new store.

use std::path::PathBuf;

use clap::ValueEnum;
use hamdex::{AUTO, Codec, Engine};
use hamdex_store::{CreateOptions, Store, StoreOptions};
use serde::Serialize;

use crate::commands::store::{manifest_of, print_json};
use crate::failure::Failure;
use crate::say;

/// Create an empty store.
///
/// What is chosen here stays as it is. Distance and design say for which queries its files are made; any other
/// distance is answered exactly, too, and a greater one takes longer.
#[derive(clap::Args)]
#[command(
    arg_required_else_help = true,
    after_help = "\
Example:
  hamdex store create news.store
  hamdex store create seen.store --ids none --design cover-8 --codec elias-fano"
)]
pub(super) struct Args {
    /// The directory to create; it may exist if it is empty
    #[arg(value_name = "DIR")]
    store: PathBuf,
    /// The distance that queries mostly ask for, in bits
    #[arg(short = 'k', long, value_name = "K", default_value_t = 3)]
    distance: u32,
    /// Which tables its files have: a name that `hamdex designs` lists, or auto
    #[arg(long, value_name = "NAME", default_value = AUTO)]
    design: String,
    /// How blocks are coded: huffman or elias-fano
    #[arg(long, value_name = "NAME", default_value_t)]
    codec: Codec,
    /// Bits of a fingerprint
    #[arg(long, value_name = "BITS", value_parser = ["64", "128"], default_value = "64")]
    width: String,
    /// Whether fingerprints come with ids
    #[arg(long, value_enum, default_value = "numbers")]
    ids: Ids,
    /// Print what was created as a JSON object
    #[arg(long)]
    json: bool,
}

/// Whether fingerprints come with ids.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Ids {
    /// Fingerprints alone
    None,
    /// Each with one or more numbers of at most 64 bits
    Numbers,
}

/// What `--json` prints.
#[derive(Serialize)]
struct Report<'a> {
    store: String,
    id: String,
    width: u32,
    distance: u32,
    design: &'a str,
    codec: &'static str,
    ids: &'static str,
}

pub(super) fn run(args: &Args) -> Result<(), Failure> {
    if args.width == "128" {
        create::<u128>(args)?;
    } else {
        create::<u64>(args)?;
    }
    let manifest = manifest_of(&args.store)?;
    let has_ids = manifest.identity.has_ids;
    if args.json {
        return print_json(&Report {
            store: args.store.display().to_string(),
            id: manifest.identity.store.to_string(),
            width: manifest.identity.width,
            distance: manifest.distance,
            design: &manifest.design,
            codec: manifest.codec.name(),
            ids: if has_ids { "numbers" } else { "none" },
        });
    }
    say::summary(format_args!(
        "{}: created: design {} for distance {}, {}; {} bits, {}",
        args.store.display(),
        manifest.design,
        manifest.distance,
        manifest.codec,
        manifest.identity.width,
        if has_ids { "with ids" } else { "without ids" }
    ));
    Ok(())
}

fn create<F: Engine>(args: &Args) -> Result<(), Failure> {
    let mut options =
        CreateOptions::new().distance(args.distance).codec(args.codec).ids(args.ids == Ids::Numbers);
    if args.design != AUTO {
        options = options.design(&args.design);
    }
    Ok(Store::<F>::create(&args.store, &options, StoreOptions::new()).map(drop)?)
}
