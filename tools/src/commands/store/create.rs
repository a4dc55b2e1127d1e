//! `hamdex store create`: a new store.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::ValueEnum;
use hamdex::{AUTO, Codec, FilterChoice, Fingerprint};
use hamdex_any::for_width;
use hamdex_simhash::{Fingerprinter, Recipe, Shingler};
use hamdex_store::inspect::Identity;
use hamdex_store::{CreateOptions, Store, StoreOptions};

use crate::commands::store::manifest_of;
use crate::documents::recipe;
use crate::failure::Failure;
use crate::messages;
use crate::option_values;
use crate::standard_output::{Object, print_json};

/// Create an empty store.
///
/// These options cannot be changed later. The files are made for queries at the distance. Queries at any other
/// distance are exact too, and take longer at a greater one.
///
/// With --documents, the store keeps documents: their names, and the recipe of their fingerprints, which inserts and
/// queries use. With --ids names, it keeps names of given fingerprints. In both cases the store numbers the inserts,
/// and queries print names as ids.
#[derive(clap::Args)]
#[command(
    arg_required_else_help = true,
    after_help = "\
Example:
  hamdex store create news.store
  hamdex store create seen.store --ids none --design cover-8 --codec elias-fano
  hamdex store create small.store --filter 8
  hamdex store create articles.store --documents --shingles
  hamdex store create pages.store --ids names --lookups"
)]
pub(super) struct Args {
    /// The directory to create; it may exist if it is empty
    #[arg(value_name = "DIR")]
    store: PathBuf,
    /// The distance of most queries, in bits
    #[arg(short = 'k', long, value_name = "K", default_value_t = 3)]
    distance: u32,
    /// The tables of its files: a name that `hamdex designs` lists, or auto
    #[arg(long, value_name = "NAME", default_value = AUTO)]
    design: String,
    /// The block codec: huffman or elias-fano
    #[arg(long, value_name = "NAME", default_value_t)]
    codec: Codec,
    /// The prefix filters of its files: auto, none, or a number N for at most N bits per fingerprint and table
    #[arg(long, value_name = "FILTER", default_value_t)]
    filter: FilterChoice,
    /// Bits of a fingerprint [default: 64; of documents, the recipe's]
    #[arg(long, value_name = "BITS", value_parser = option_values::width())]
    width: Option<u32>,
    /// Whether fingerprints come with ids [default: numbers; of documents, names]
    #[arg(long, value_enum)]
    ids: Option<Ids>,
    /// For documents: keep their names, and the recipe of their fingerprints
    #[arg(long)]
    documents: bool,
    /// With --documents: keep the shingles of every document as well, runs of N words (5), by which documents are
    /// compared as texts: by `store insert --unless-similar` and `dedup --against`. They take about 5 bytes per
    /// word of text
    #[arg(
        long,
        value_name = "N",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "5",
        requires = "documents",
        value_parser = option_values::shingle_words
    )]
    shingles: Option<NonZeroUsize>,
    /// Find pairs by id, and ids by name, without a pass over the store: for `hamdex store insert --replace`, `hamdex
    /// store remove --ids only` and `--ids names`. Takes about 5 bytes per pair, and as much per name
    #[arg(long)]
    lookups: bool,
    #[command(flatten)]
    recipe: recipe::Options,
    /// Print a summary as a JSON object
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
    /// A name each; the store chooses the number that is its id
    Names,
}

pub(super) fn run(args: &Args) -> Result<(), Failure> {
    if args.lookups && args.ids == Some(Ids::None) {
        return Err(Failure::Usage("look-ups are by id: leave --ids none out".to_owned()));
    }
    let recipe = recipe_of(args)?;
    let width = recipe.as_ref().map_or(args.width.unwrap_or(64), |recipe| recipe.width.bits());
    for_width!(width, F => create::<F>(args, recipe.as_ref()))?;
    let manifest = manifest_of(&args.store)?;
    let ids = match manifest.identity {
        Identity { has_names: true, .. } => Ids::Names,
        Identity { has_ids: true, .. } => Ids::Numbers,
        _ => Ids::None,
    };
    if args.json {
        let report = Object::default()
            .field("store", args.store.display().to_string())
            .field("id", manifest.identity.store.to_string())
            .field("width", manifest.identity.width)
            .field("distance", manifest.distance)
            .field("design", &manifest.design)
            .field("codec", manifest.codec.name())
            .field("filter", manifest.filter.to_string())
            .field("ids", ids.name())
            .optional("recipe", manifest.recipe)
            .optional("shingles", manifest.shingles)
            .field("lookups", manifest.lookups);
        return print_json(&report);
    }
    messages::summary(format_args!(
        "{}: created: design {} for distance {}, {}; {} bits, {}",
        args.store.display(),
        manifest.design,
        manifest.distance,
        manifest.codec,
        manifest.identity.width,
        match ids {
            Ids::None => "without ids",
            Ids::Numbers => "with ids",
            Ids::Names => "with names",
        }
    ));
    Ok(())
}

impl Ids {
    fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Numbers => "numbers",
            Self::Names => "names",
        }
    }
}

/// Returns the recipe, if it is a store of documents.
fn recipe_of(args: &Args) -> Result<Option<Recipe>, Failure> {
    if args.documents {
        if args.ids.is_some_and(|ids| ids != Ids::Names) {
            return Err(Failure::Usage("a store of documents keeps their names: leave --ids out".to_owned()));
        }
        let (recipe, lists) = args.recipe.load(args.width)?;
        // Refused now rather than at the first insert of documents.
        for_width!(recipe.width.bits(), F => {
            drop(Fingerprinter::<F>::with_lists(&recipe, lists).map_err(recipe::usage)?);
        });
        return Ok(Some(recipe));
    }
    args.recipe.refuse_without("--documents")?;
    Ok(None)
}

fn create<F: Fingerprint>(args: &Args, recipe: Option<&Recipe>) -> Result<(), Failure> {
    let ids = args.ids.unwrap_or(if recipe.is_some() { Ids::Names } else { Ids::Numbers });
    let mut options = CreateOptions::new()
        .distance(args.distance)
        .codec(args.codec)
        .filter(args.filter)
        .ids(ids != Ids::None)
        .names(ids == Ids::Names)
        .lookups(args.lookups);
    if let Some(recipe) = recipe {
        options = options.recipe(recipe.to_string());
    }
    if let Some(words) = args.shingles {
        options = options.shingles(Shingler::new(words).definition());
    }
    if args.design != AUTO {
        options = options.design(&args.design);
    }
    Ok(Store::<F>::create(&args.store, &options, StoreOptions::new())?.close()?)
}
