//! `hamdex store insert`: inserts records or documents, all or only those without a near one.

use std::path::PathBuf;
use std::time::Instant;

use clap::ValueEnum;
use hamdex::{Fingerprint, check_distance};
use hamdex_documents::Similarity;
use hamdex_store::inspect::{Identity, Manifest};
use hamdex_store::{Durability, Store, StoreOptions};
use serde::Serialize;

use crate::commands::store::inserter::{InsertMode, Inserter};
use crate::commands::store::texts::Texts;
use crate::commands::store::{Records, manifest_of, of_width, print_json};
use crate::documents::inputs::{self, Reading};
use crate::documents::recipe;
use crate::failure::Failure;
use crate::input::{Beside, Format, has_pipe};
use crate::messages::{self, counted};
use crate::option_values;
use crate::option_values::Threads;

/// The most records written together.
const MAX_BATCH: u32 = 1 << 20;

/// The default, and that of documents that are compared as texts.
const BATCH: u32 = 1000;
const COMPARED_BATCH: u32 = 1 << 16;

/// That of documents that also replace others, whose shingles are listed in memory.
const REPLACING_BATCH: u32 = 1 << 14;

/// Insert records into a store.
///
/// Reads files, or standard input if none is named (or for -), in every format that `hamdex build` reads: per
/// record a fingerprint and an id, in a store without ids a fingerprint alone, in a store with names a
/// fingerprint and a name. Inserting a fingerprint and an id again changes nothing; a name can be stored several times,
/// unless records replace each other (--replace).
///
/// With --documents the inputs are texts, in every format that `hamdex dedup` reads; the store's recipe makes
/// their fingerprints. Texts too short for a reliable fingerprint are reported and left out.
///
/// Records are written in batches. After a crash, a batch is stored completely or not at all. A batch of a pipe has the
/// records that have come, so a program can wait for each acknowledgement. If a record cannot be read, the
/// records before it are inserted nevertheless.
///
/// With --unless-near, a record is not inserted if a stored fingerprint is within K bits. A JSON line on standard
/// output has the record, and the nearest fingerprint with its ids or names. Earlier records of the run count as
/// stored. With --each, every record has a line, which is flushed when no more records wait: a program in any
/// language can write a record and read a line.
///
/// With --unless-similar, documents are compared as texts, by the rule of `hamdex dedup`. A document that is
/// similar to a stored one, or to an earlier one of the run, is not inserted. A JSON line has both names and the
/// similarity. With --each, every document has a line.
///
/// --each needs --unless-near or --unless-similar. A document of a pipe that cannot be read, such as one without a text,
/// has a line with an error; in a file it has none. With --strict the command ends there.
///
/// With --replace, a record replaces all pairs with its id, or with its name in a store with names, in the same
/// batch. Use it for pages that are crawled again. Of several records with one id or name, the last is stored;
/// without --replace, all are. With --unless-near or --unless-similar, a record is compared with everything
/// except the pairs that it would replace. If it is near or similar to something else, these pairs stay.
#[derive(clap::Args)]
#[command(
    arg_required_else_help = true,
    group = clap::ArgGroup::new("condition").args(["unless_near", "unless_similar"]),
    after_help = "\
Example:
  hamdex store insert news.store pairs.txt
  hamdex store insert news.store --ids row hashes.u64
  crawl | hamdex store insert news.store --unless-near 3 > seen.jsonl
  hamdex store insert news.store --unless-near 3 --each < records > answers
  hamdex store insert news.store --documents --unless-similar 0.7 today.jsonl
  hamdex store insert pages.store --replace crawled.tsv"
)]
pub(super) struct Args {
    /// The directory of the store
    #[arg(value_name = "DIR")]
    store: PathBuf,
    #[command(flatten)]
    records: Records,
    /// The source of ids, in a store with ids [default: pairs]
    #[arg(long, value_enum, conflicts_with = "documents")]
    ids: Option<IdSource>,
    /// The inputs are documents: texts, not fingerprints; FORMAT is as for --format
    #[arg(
        long,
        value_enum,
        hide_possible_values = true,
        value_name = "FORMAT",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "auto",
        conflicts_with = "fingerprint_field"
    )]
    documents: Option<Format>,
    #[command(flatten)]
    recipe: recipe::Options,
    #[command(flatten)]
    fields: inputs::Fields,
    #[command(flatten)]
    threads: Threads,
    /// Write at most N records per batch [default: 1000; with --unless-similar 65536, with --replace as well 16384]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=i64::from(MAX_BATCH)))]
    batch: Option<u32>,
    /// When batches are synced to disk: sync (each before the next), interval=T (at most T later, such as
    /// 100ms) or none (at the end)
    #[arg(long, value_name = "WHEN", default_value_t)]
    durability: Durability,
    /// Insert only records without a stored fingerprint within K bits; print the nearest for the others
    #[arg(long, value_name = "K")]
    unless_near: Option<u32>,
    /// Print a JSON line for every record: "inserted" says whether it is new
    #[arg(long, requires = "condition")]
    each: bool,
    /// Insert only documents whose texts share less than X of their shingles with every stored one; print the most
    /// similar for the others. Needs --documents and a store with shingles
    #[arg(long, value_name = "X", requires = "documents", allow_negative_numbers = true,
        value_parser = option_values::share)]
    unless_similar: Option<f64>,
    /// Replace the stored records of the same id or name, in a store with look-ups (`store create --lookups`)
    #[arg(long)]
    replace: bool,
    /// Print a line "acknowledged N" after each batch, as soon as it is as durable as --durability says; N
    /// counts the records of this run
    #[arg(long)]
    acknowledge: bool,
    /// Print a summary as a JSON object, on the last line
    #[arg(long)]
    json: bool,
}

/// The source of ids.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum IdSource {
    /// Each record is a fingerprint and an id
    Pairs,
    /// The 0-based number of the record over all inputs
    Row,
}

/// The object that `--json` prints.
#[derive(Serialize)]
struct Report {
    read: u64,
    inserted: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    near: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    replaced: Option<u64>,
    seconds: f64,
}

pub(super) fn run(args: &Args) -> Result<(), Failure> {
    let manifest = manifest_of(&args.store)?;
    let refused = |what: &str| Err(Failure::usage_of(&args.store, what));
    let Identity { has_ids, has_names, .. } = manifest.identity;
    if args.documents.is_some() && manifest.recipe.is_none() {
        return refused("is not a store of documents; create one with --documents");
    }
    if args.documents.is_none() {
        args.recipe.refuse_without("--documents")?;
        args.fields.refuse_for("fingerprints")?;
        if !has_ids && args.fields.id_field.is_some() {
            return refused("the store has no ids; leave --id-field out");
        }
        if args.ids == Some(IdSource::Row) {
            args.fields.refuse_id_field()?;
        }
    }
    if args.replace && !manifest.lookups {
        return refused(
            "the store has no look-ups, by which records are replaced; create one with --lookups",
        );
    }
    match args.ids {
        Some(_) if !has_ids => {
            refused("the store has no ids; leave --ids out, or create a store with --ids numbers")
        }
        Some(_) if has_names => refused("the store has names, and assigns the ids; leave --ids out"),
        _ => of_width!(manifest, insert(args, &manifest)),
    }
}

fn insert<F: Fingerprint>(args: &Args, manifest: &Manifest) -> Result<(), Failure> {
    let started = Instant::now();
    args.threads.start()?;
    args.unless_near.map_or(Ok(()), check_distance::<F>)?;
    let texts = match args.documents {
        Some(format) => {
            let reading =
                Reading::new(&args.records.inputs, args.records.format.either(format)?, &args.fields)?;
            Some(Texts::<F>::new(reading, &args.store, &args.recipe, manifest)?)
        }
        None => None,
    };
    let similarity = match (args.unless_similar, texts.as_ref().and_then(Texts::words)) {
        (Some(least), Some(words)) => Some(Similarity::new(least, words)?),
        (Some(_), None) => {
            return Err(Failure::usage_of(
                &args.store,
                "the store keeps no shingles, by which texts are compared; create one with --documents --shingles",
            ));
        }
        (None, _) => None,
    };
    let store = Store::<F>::open(&args.store, StoreOptions::new().durability(args.durability))?;
    let mode = InsertMode {
        unless_near: args.unless_near,
        replace: args.replace,
        each: args.each,
        acknowledge: args.acknowledge,
        batch: args.batch.unwrap_or(match (similarity, args.replace) {
            (None, _) => BATCH,
            (Some(_), false) => COMPARED_BATCH,
            (Some(_), true) => REPLACING_BATCH,
        }) as usize,
        is_shown: texts.is_some(),
    };
    let mut inserter = Inserter::new(&store, manifest.identity.has_ids, mode);
    let outcome = match texts {
        Some(texts) => insert_texts(args, texts, similarity, &mut inserter),
        None => insert_records(args, &manifest.identity, &mut inserter)
            .map_err(|failure| if manifest.recipe.is_some() { failure.or_documents() } else { failure }),
    };
    let Inserter { read, inserted, near, replaced, .. } = inserter;
    // Inserts before a failure stay, so they have to be durable too.
    let outcome = outcome.and(store.close().map_err(Failure::from));
    outcome.map_err(|failure| {
        failure.after(format!("{} inserted before that", counted(inserted, "record", "records")))
    })?;
    let is_conditional = args.unless_near.is_some() || args.unless_similar.is_some();
    let near = is_conditional.then_some(near);
    let replaced = args.replace.then_some(replaced);
    let seconds = started.elapsed().as_secs_f64();
    report(args, &Report { read, inserted, near, replaced, seconds })
}

fn insert_texts<F: Fingerprint>(
    args: &Args,
    texts: Texts<F>,
    similarity: Option<Similarity>,
    inserter: &mut Inserter<'_, F>,
) -> Result<(), Failure> {
    let as_they_come = args.each && has_pipe(&args.records.inputs);
    match similarity {
        Some(similarity) if as_they_come => texts.insert_unless_similar_as_they_come(inserter, similarity),
        Some(similarity) => texts.insert_unless_similar(inserter, similarity),
        None if as_they_come => texts.insert_as_they_come(inserter),
        None => texts.insert_into(inserter),
    }
}

fn insert_records<F: Fingerprint>(
    args: &Args,
    identity: &Identity,
    inserter: &mut Inserter<'_, F>,
) -> Result<(), Failure> {
    let beside = match args.ids {
        _ if identity.has_names => Beside::Name,
        Some(IdSource::Row) => Beside::Nothing,
        _ if identity.has_ids => Beside::Id,
        _ => Beside::Nothing,
    };
    inserter.insert_all(args.records.read(beside, args.fields.id_name(), args.each)?)
}

fn report(args: &Args, report: &Report) -> Result<(), Failure> {
    if args.json {
        return print_json(report);
    }
    let Report { read, near, replaced, seconds, .. } = *report;
    let relation = if args.unless_near.is_some() { "near" } else { "similar" };
    let near = near.map(|near| {
        format!(", {} of them not inserted, being {relation} to others", indicatif::HumanCount(near))
    });
    let replaced =
        replaced.map(|replaced| format!(", {} replaced", counted(replaced, "earlier pair", "earlier pairs")));
    let (near, replaced) = (near.unwrap_or_default(), replaced.unwrap_or_default());
    messages::summary(format_args!(
        "{}: {} read{near}{replaced} in {seconds:.1} s",
        args.store.display(),
        counted(read, "record", "records")
    ));
    Ok(())
}
