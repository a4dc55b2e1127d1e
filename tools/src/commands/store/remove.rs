//! `hamdex store remove`: removes records from a store, or everything with some ids.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use clap::ValueEnum;
use hamdex::Fingerprint;
use hamdex_store::{Operation, Store, StoreOptions};
use serde::Serialize;

use crate::commands::store::{DEFAULT_FINGERPRINT_FIELD, Records, manifest_of, of_width};
use crate::failure::Failure;
use crate::input::{Arrivals, Beside, Format, Found, announce_terminal_input, read_ids, read_names};
use crate::messages::{self, counted};
use crate::progress;
use crate::standard_output::print_json;

/// The most records removed together.
const MAX_BATCH: usize = 1 << 14;

/// Remove records from a store.
///
/// Reads files, or standard input if none is named (or for -). Records that are not in the store are
/// counted, and are not an error. Removals are durable when the command ends. `hamdex store purge` erases the
/// removed records from the disk.
#[derive(clap::Args)]
#[command(
    arg_required_else_help = true,
    after_help = "\
Example:
  hamdex store remove news.store pairs.txt
  echo 0123456789abcdef | hamdex store remove news.store --ids none
  hamdex store remove news.store --ids only deleted-users.txt
  hamdex store remove articles.store withdrawn.txt
  hamdex dedup pages/ --print duplicates -0 | hamdex store remove pages.store -0"
)]
pub(super) struct Args {
    /// The directory of the store
    #[arg(value_name = "DIR")]
    store: PathBuf,
    #[command(flatten)]
    records: Records,
    /// The column of ids in tables [default: id]
    #[arg(long, value_name = "NAME")]
    id_field: Option<String>,
    /// The form of a record [default: pairs in a store with ids, names in one with names, none in one without
    /// ids]
    #[arg(long, value_enum)]
    ids: Option<Ids>,
    /// Each name ends with a zero byte and has no escapes, as `hamdex dedup --print -0` and `find -print0` write it
    #[arg(short = '0', long)]
    null: bool,
    /// Print a summary as a JSON object
    #[arg(long)]
    json: bool,
}

/// The form of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Ids {
    /// A fingerprint and an id: removes that pair
    Pairs,
    /// A fingerprint: removes all its pairs
    None,
    /// A decimal id per line: removes all pairs with it. Reads the whole store, once, unless it has look-ups
    Only,
    /// A name per line, or with -0 before each zero byte, in a store with names: removes everything with that name. Reads
    /// the whole store, unless it has look-ups
    Names,
}

/// The removals, as `--json` prints them.
#[derive(Debug, Default, Serialize)]
struct Removed {
    /// Records.
    read: u64,
    /// Pairs; of a store without ids, fingerprints.
    removed: u64,
    /// Records that were not in the store; unknown for ids.
    #[serde(skip_serializing_if = "Option::is_none")]
    absent: Option<u64>,
}

pub(super) fn run(args: &Args) -> Result<(), Failure> {
    let manifest = manifest_of(&args.store)?;
    let has_ids = manifest.identity.has_ids;
    let has_names = manifest.identity.has_names;
    let ids = args.ids.unwrap_or(match (has_names, has_ids) {
        (true, _) => Ids::Names,
        (false, true) => Ids::Pairs,
        (false, false) => Ids::None,
    });
    if ids == Ids::Names && !has_names {
        return Err(Failure::usage_of(&args.store, "the store has no names"));
    }
    if args.null && ids != Ids::Names {
        return Err(Failure::Usage("-0 is for names; leave it out for fingerprints and ids".to_owned()));
    }
    if !has_ids && ids != Ids::None {
        return Err(Failure::usage_of(&args.store, "the store has no ids; leave --ids out"));
    }
    let of_tables = [
        ("--format", args.records.format != Format::Auto),
        ("--id-field", args.id_field.is_some()),
        ("--fingerprint-field", args.records.fingerprint_field != DEFAULT_FINGERPRINT_FIELD),
    ];
    if let Some((option, _)) = of_tables.iter().find(|(_, is_given)| *is_given)
        && matches!(ids, Ids::Only | Ids::Names)
    {
        return Err(Failure::Usage(format!("an id or a name per line is read; leave {option} out")));
    }
    if ids == Ids::None && args.id_field.is_some() {
        return Err(Failure::Usage("fingerprints are read, without ids; leave --id-field out".to_owned()));
    }
    of_width!(manifest, remove(args, ids))
}

fn remove<F: Fingerprint>(args: &Args, ids: Ids) -> Result<(), Failure> {
    let store = Store::<F>::open(&args.store, StoreOptions::new())?;
    let mut removed = Removed::default();
    let outcome = match ids {
        Ids::Only => of_ids(&store, args, &mut removed),
        Ids::Names => of_names(&store, args, &mut removed),
        Ids::Pairs | Ids::None => {
            let beside = if ids == Ids::Pairs { Beside::Id } else { Beside::Nothing };
            let arrivals = args.records.read(beside, args.id_field.as_deref().unwrap_or("id"), false)?;
            removed.absent = Some(0);
            of_records(&store, arrivals, &mut removed)
        }
    };
    let outcome = outcome.and(store.close().map_err(Failure::from));
    outcome.map_err(|failure| {
        failure.after(format!("{} removed before that", counted(removed.read, "record", "records")))
    })?;
    if args.json { print_json(&removed) } else { summarize(&args.store, ids, &removed) }
}

fn summarize(store: &Path, ids: Ids, removed: &Removed) -> Result<(), Failure> {
    let read = match ids {
        Ids::Only => counted(removed.read, "id", "ids"),
        Ids::Names => counted(removed.read, "name", "names"),
        Ids::Pairs | Ids::None => counted(removed.read, "record", "records"),
    };
    let absent = match removed.absent {
        Some(absent) if absent > 0 => format!(", {} not there", indicatif::HumanCount(absent)),
        _ => String::new(),
    };
    let pairs = counted(removed.removed, "pair", "pairs");
    messages::summary(format_args!("{}: {read} read, {pairs} removed{absent}", store.display()));
    Ok(())
}

/// Removes all pairs with the ids of the inputs: all of them, or none.
fn of_ids<F: Fingerprint>(store: &Store<F>, args: &Args, removed: &mut Removed) -> Result<(), Failure> {
    announce_terminal_input(&args.records.inputs);
    let mut ids = HashSet::new();
    read_ids(&args.records.inputs, &mut |id| {
        ids.insert(id);
    })?;
    removed.removed = store.remove_ids(&ids)?;
    removed.read = ids.len() as u64;
    Ok(())
}

/// Removes all pairs whose ids have the names of the inputs: all of them, or none.
fn of_names<F: Fingerprint>(store: &Store<F>, args: &Args, removed: &mut Removed) -> Result<(), Failure> {
    announce_terminal_input(&args.records.inputs);
    let mut names = HashSet::new();
    read_names(&args.records.inputs, args.null, &mut |name| {
        names.insert(name.to_vec());
    })?;
    removed.removed = store.remove_names(&names)?;
    removed.read = names.len() as u64;
    Ok(())
}

/// Removes pairs, or all pairs of fingerprints, batch by batch.
fn of_records<F: Fingerprint>(
    store: &Store<F>,
    mut arrivals: Arrivals<(F, Found)>,
    removed: &mut Removed,
) -> Result<(), Failure> {
    let bar = progress::of_endless_items("Removing");
    let mut records = Vec::new();
    while arrivals.next(&mut records, MAX_BATCH) {
        let count = records.len() as u64;
        let (gone, absent) = if matches!(records.first(), Some((_, Found::Id(_)))) {
            let remove = |(fingerprint, found): (F, Found)| {
                Operation::Remove(fingerprint, found.id().unwrap_or_default())
            };
            let written = store.write(records.drain(..).map(remove).collect())?;
            (written.removed, written.absent)
        } else {
            of_fingerprints(store, &records)?
        };
        removed.read += count;
        removed.removed += gone;
        *removed.absent.get_or_insert(0) += absent;
        bar.inc(count);
    }
    bar.finish_and_clear();
    arrivals.end()
}

/// Removes all pairs of fingerprints. Returns the number of pairs, and of fingerprints that had none.
fn of_fingerprints<F: Fingerprint>(store: &Store<F>, records: &[(F, Found)]) -> Result<(u64, u64), Failure> {
    let snapshot = store.snapshot();
    let (mut absent, mut seen) = (0, HashSet::new());
    let mut present = Vec::new();
    for (fingerprint, _) in records {
        let fingerprint = *fingerprint;
        // This process is the only writer, with this one thread.
        if seen.insert(fingerprint) && snapshot.contains(fingerprint)? {
            present.push(fingerprint);
        } else {
            absent += 1;
        }
    }
    let written = store.remove_fingerprints(present)?;
    Ok((written.removed, absent))
}
