//! The fingerprints of a set: all, with or without their ids, or those of an id or a name.

use std::collections::{BTreeSet, HashSet};
use std::ffi::OsStr;
use std::io::{BufWriter, Write};
use std::path::Path;

use hamdex::{Fingerprint, Hex, Index, OpenOptions};
use hamdex_any::{Kind, for_width};
use hamdex_store::StoreReader;
use serde::Serialize;
use serde_json::json;

use crate::commands::Set;
use crate::commands::dump::Args;
use crate::failure::Failure;
use crate::ids::Ids;
use crate::standard_output::write_json;
use crate::{messages, standard_output};

/// The form of printed fingerprints.
#[derive(Debug, Clone, Copy)]
pub(super) struct Form {
    /// With their ids: a line per pair, as `hamdex build --ids pairs` reads it.
    pub(super) ids: bool,
    /// With the names of their ids: a line per pair, as `hamdex build --ids names` reads it.
    pub(super) names: bool,
    /// As JSON, a line per fingerprint.
    pub(super) json: bool,
}

/// The object that `--json` prints.
#[derive(Serialize)]
struct Entry<'i> {
    fingerprint: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    ids: Option<Ids<'i>>,
}

/// Prints all fingerprints in ascending order.
pub(super) fn print<F: Fingerprint>(
    path: &Path,
    set: Set<'_, F>,
    form: Form,
    output: &mut impl Write,
) -> Result<(), Failure> {
    if form.ids && !set.description.has_ids {
        return Err(Failure::usage_of(path, "holds no ids: leave out --ids"));
    }
    if form.names && !set.description.has_names {
        return Err(Failure::usage_of(path, "holds no names: leave out --names"));
    }
    let names = set.names().filter(|_| form.names);
    let with_ids = form.ids || form.names;
    for entry in set.set.read_entries(F::ZERO)? {
        let (fingerprint, ids) = entry?;
        let ids = with_ids.then(|| Ids::new(ids, names, usize::MAX)).transpose()?;
        line(fingerprint.hex(), ids, form, output)?;
    }
    Ok(())
}

/// Prints a fingerprint: a line, or one for each of its ids.
fn line<F: Fingerprint>(
    fingerprint: Hex<F>,
    ids: Option<Ids<'_>>,
    form: Form,
    output: &mut impl Write,
) -> Result<(), Failure> {
    if form.json {
        let entry = Entry { fingerprint: fingerprint.to_string(), ids };
        write_json(output, &entry)?;
    } else if let Some(ids) = ids {
        ids.for_each(&mut |id| {
            write!(output, "{fingerprint}\t")?;
            output.write_all(id)?;
            output.write_all(b"\n")
        })?;
    } else {
        writeln!(output, "{fingerprint}")?;
    }
    Ok(())
}

/// A fingerprint and its id.
type Pair<F> = (F, u64);

pub(super) fn look_up(args: &Args) -> Result<(), Failure> {
    let width = hamdex_any::width(&args.index)?;
    for_width!(width, F => {
        let mut pairs = find::<F>(args)?;
        pairs.sort_unstable_by_key(|&(fingerprint, id)| (id, fingerprint));
        print_pairs(args, &pairs)
    })
}

fn find<F: Fingerprint>(args: &Args) -> Result<Vec<Pair<F>>, Failure> {
    match Kind::of(&args.index)? {
        Kind::Shards => Err(Failure::usage_of(
            &args.index,
            "a set of shards: --id and --name are for index files and stores",
        )),
        Kind::Store => of_store(args),
        _ => of_file(args),
    }
}

fn of_store<F: Fingerprint>(args: &Args) -> Result<Vec<Pair<F>>, Failure> {
    let snapshot = StoreReader::<F>::open(&args.index)?.snapshot();
    let ids: HashSet<u64> = match &args.name {
        Some(name) => snapshot.ids_of_names(&HashSet::from([bytes_of(name)]))?,
        None => args.id.into_iter().collect(),
    };
    Ok(snapshot.pairs_of(&ids)?)
}

fn of_file<F: Fingerprint>(args: &Args) -> Result<Vec<Pair<F>>, Failure> {
    let index = OpenOptions::new().open::<F>(&args.index)?;
    let wanted = if args.name.is_some() { index.has_names() } else { index.has_ids() };
    if !wanted {
        let what = if args.name.is_some() { "names" } else { "ids" };
        return Err(Failure::usage_of(&args.index, format_args!("the index has no {what}")));
    }
    let ids = match &args.name {
        Some(name) => ids_of_name(&index, &bytes_of(name))?,
        None => args.id.into_iter().collect(),
    };
    let mut pairs = Vec::new();
    match index.lookups()? {
        Some(lookups) => {
            for id in ids {
                let found = lookups.fingerprints_of(id)?;
                pairs.extend(found.into_iter().map(|fingerprint| (fingerprint, id)));
            }
        }
        None => {
            for entry in index.entries() {
                let entry = entry?;
                let found = entry.ids.filter(|id| ids.contains(id));
                pairs.extend(found.map(|id| (entry.fingerprint, id)));
            }
        }
    }
    Ok(pairs)
}

fn ids_of_name<F: Fingerprint>(index: &Index<F>, name: &[u8]) -> Result<BTreeSet<u64>, Failure> {
    if let Some(lookups) = index.lookups()? {
        return Ok(lookups.ids_of_name(name)?.into_iter().collect());
    }
    let mut ids = BTreeSet::new();
    for named in index.names()?.iter().flatten() {
        let (id, other) = named?;
        if other == name {
            ids.insert(id);
        }
    }
    Ok(ids)
}

fn bytes_of(name: &OsStr) -> Vec<u8> {
    name.as_encoded_bytes().to_vec()
}

fn print_pairs<F: Fingerprint>(args: &Args, pairs: &[Pair<F>]) -> Result<(), Failure> {
    let mut output = BufWriter::new(standard_output::in_colour()?);
    for (fingerprint, id) in pairs {
        if args.json {
            let line = json!({ "fingerprint": fingerprint.hex().to_string(), "id": id });
            write_json(&mut output, &line)?;
        } else {
            writeln!(output, "{}\t{id}", fingerprint.hex())?;
        }
    }
    output.flush()?;
    if pairs.is_empty() {
        let key = if args.name.is_some() { "name" } else { "id" };
        messages::summary(format_args!("{}: nothing has that {key}", args.index.display()));
    }
    Ok(())
}
