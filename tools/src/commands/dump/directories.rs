//! Stores and sets of shards: directories with a manifest and index files.

use std::io::{self, BufWriter, Write};
use std::path::Path;

use hamdex::{FilterChoice, Fingerprint, OpenOptions};
use hamdex_shards::Shards;
use hamdex_shards::inspect::{IdType, Manifest};
use hamdex_store::StoreReader;
use hamdex_store::inspect::{Identity, Inspected, SegmentEntry, StoreStats, WrittenBytes};
use indicatif::{HumanBytes, HumanCount};
use serde_json::{Value, json};

use crate::commands::dump::Args;
use crate::documents::recipe::described;
use crate::failure::Failure;
use crate::messages::counted;
use crate::standard_output::{self, write_pretty_json};

/// Prints a store: its manifest, segments and logs.
pub(super) fn store<F: Fingerprint>(args: &Args) -> Result<(), Failure> {
    refuse_options_of_files(args, "a store", "its directory segments")?;
    let inspected = hamdex_store::inspect(&args.index)?;
    let stats = StoreReader::<F>::open(&args.index)?.stats();
    let mut output = BufWriter::new(standard_output::in_colour()?);
    if args.json {
        write_pretty_json(&mut output, &store_json(&inspected, &stats))?;
    } else {
        print_header(&args.index, &inspected, &stats, &mut output)?;
        let has_ids = inspected.manifest.identity.has_ids;
        for entry in &inspected.manifest.segments {
            print_segment(entry, has_ids, &stats, &mut output)?;
        }
    }
    Ok(output.flush()?)
}

/// Refuses options of index files; `what` describes the directory, and `files` says where its index files are.
fn refuse_options_of_files(args: &Args, what: &str, files: &str) -> Result<(), Failure> {
    if args.table.is_none() && !args.shingles && !args.stats && args.locate.is_none() {
        return Ok(());
    }
    let options = "--table, --shingles, --locate and --stats";
    Err(Failure::usage_of(
        &args.index,
        format!("{what}: {options} are for index files, such as those in {files}"),
    ))
}

fn print_header(
    path: &Path,
    inspected: &Inspected,
    stats: &StoreStats,
    output: &mut impl Write,
) -> io::Result<()> {
    let Inspected { manifest, logs, .. } = inspected;
    let identity = &manifest.identity;
    writeln!(output, "{}", path.display())?;
    writeln!(output, "  store           {}", identity.store)?;
    let ids = match identity {
        Identity { has_names: true, .. } => "with names",
        Identity { has_ids: true, .. } => "with ids",
        _ => "without ids",
    };
    writeln!(output, "  fingerprints    {} bits, {ids}", identity.width)?;
    writeln!(
        output,
        "  design          {} for distance {}, {}",
        manifest.design, manifest.distance, manifest.codec
    )?;
    writeln!(output, "  filters         {}", bits_or_name(manifest.filter))?;
    if let Some(recipe) = &manifest.recipe {
        writeln!(output, "  recipe          {}", described(recipe))?;
    }
    writeln!(output, "  batches         {}, {} before the log", stats.sequence, manifest.sequence)?;
    for log in logs {
        let sealed = manifest.sealed.is_some_and(|sealed| sealed.log == log.number);
        writeln!(
            output,
            "  log {:<11} {}{}",
            log.number,
            HumanBytes(log.bytes),
            if sealed { ", closed cleanly" } else { "" }
        )?;
    }
    writeln!(output, "  recent          {} in the log", HumanCount(stats.recent))?;
    writeln!(output, "  removed         {} still in segments", HumanCount(stats.removed))?;
    let WrittenBytes { segments, removals, logs, added } = manifest.written;
    writeln!(
        output,
        "  written         {} to segments, {} to removals, {} to logs: {:.2} bytes per byte of new segments ({})",
        HumanBytes(segments),
        HumanBytes(removals),
        HumanBytes(logs),
        stats.write_amplification,
        HumanBytes(added)
    )?;
    Ok(())
}

fn print_segment(
    entry: &SegmentEntry,
    has_ids: bool,
    stats: &StoreStats,
    output: &mut impl Write,
) -> io::Result<()> {
    writeln!(output, "\nsegment {:06}: level {}, {}", entry.number, entry.level, HumanBytes(entry.bytes))?;
    writeln!(output, "  file id         {}", hex(&entry.file_id))?;
    writeln!(output, "  fingerprints    {}", HumanCount(entry.fingerprints))?;
    if has_ids {
        writeln!(output, "  pairs           {}", HumanCount(entry.pairs))?;
    }
    let removals = match entry.removals {
        Some(removals) => {
            format!(", {} of them in version {}", HumanCount(removals.count), removals.version)
        }
        None => String::new(),
    };
    writeln!(output, "  removed         {}{removals}", HumanCount(removed(stats, entry.number)))?;
    writeln!(output, "  batches         up to {}, removals up to {}", entry.born, entry.applied)?;
    Ok(())
}

fn store_json(inspected: &Inspected, stats: &StoreStats) -> Value {
    let Inspected { manifest, logs, .. } = inspected;
    let logs: Vec<Value> = logs.iter().map(|log| json!({ "log": log.number, "bytes": log.bytes })).collect();
    let segments: Vec<Value> = manifest.segments.iter().map(|entry| segment_json(entry, stats)).collect();
    let WrittenBytes { segments: to_segments, removals: to_removals, logs: to_logs, added } =
        manifest.written;
    json!({
        "store": manifest.identity.store.to_string(),
        "width": manifest.identity.width,
        "has_ids": manifest.identity.has_ids,
        "distance": manifest.distance,
        "design": manifest.design,
        "codec": manifest.codec.name(),
        "filter": manifest.filter.to_string(),
        "recipe": manifest.recipe,
        "batches": stats.sequence,
        "batches_before_log": manifest.sequence,
        "sealed": manifest.sealed.map(|sealed| json!({ "log": sealed.log, "bytes": sealed.bytes })),
        "logs": logs,
        "recent": stats.recent,
        "removed": stats.removed,
        "written_bytes": { "segments": to_segments, "removals": to_removals, "logs": to_logs, "added": added },
        "write_amplification": stats.write_amplification,
        "segments": segments,
    })
}

/// Describes the filters of new segments.
fn bits_or_name(filter: FilterChoice) -> String {
    match filter {
        FilterChoice::Bits(bits) => format!("at most {bits} bits per fingerprint and table"),
        _ => filter.to_string(),
    }
}

fn segment_json(entry: &SegmentEntry, stats: &StoreStats) -> Value {
    json!({
        "segment": entry.number,
        "file_id": hex(&entry.file_id),
        "level": entry.level,
        "bytes": entry.bytes,
        "fingerprints": entry.fingerprints,
        "pairs": entry.pairs,
        "removed": removed(stats, entry.number),
        "removals_version": entry.removals.map(|removals| removals.version),
        "born": entry.born,
        "applied": entry.applied,
    })
}

/// Returns the number of removed pairs in a segment.
fn removed(stats: &StoreStats, number: u64) -> u64 {
    stats.segments.iter().find(|segment| segment.number == number).map_or(0, |segment| segment.removed)
}

/// Returns two lower-case digits per byte.
fn hex(bytes: &[u8; 16]) -> String {
    format!("{:032x}", u128::from_be_bytes(*bytes))
}

/// Prints a set of shards: its manifest.
pub(super) fn shards<F: Fingerprint>(args: &Args) -> Result<(), Failure> {
    refuse_options_of_files(args, "a set of shards", "it")?;
    let set = Shards::<F>::open(&args.index, &OpenOptions::new())?;
    let mut output = BufWriter::new(standard_output::in_colour()?);
    if args.json {
        write_pretty_json(&mut output, &shards_json(set.manifest()))?;
    } else {
        print_shards(&args.index, set.manifest(), &mut output)?;
    }
    Ok(output.flush()?)
}

fn print_shards(path: &Path, manifest: &Manifest, output: &mut impl Write) -> io::Result<()> {
    let Manifest { layout, width, distance, .. } = manifest;
    writeln!(output, "{}", path.display())?;
    let each = manifest.first_family().len();
    match manifest.families() {
        1 => {
            let shards = counted(each as u64, "shard", "shards");
            writeln!(output, "  layout          {layout}: {shards}; a query reads all of them")?;
        }
        families => writeln!(
            output,
            "  layout          {layout}: {families} of {each} shards, one of which a query within {distance} \
             bits asks of each"
        )?,
    }
    let ids = match manifest.id_type {
        None => "without ids".to_owned(),
        Some(IdType::Numbers) => format!("{} ids", HumanCount(manifest.ids())),
        Some(IdType::Names) => format!("{} ids with names", HumanCount(manifest.ids())),
    };
    let most = if manifest.families() == 1 { "at most " } else { "" };
    writeln!(
        output,
        "  fingerprints    {most}{} of {width} bits, {ids}",
        HumanCount(manifest.fingerprints())
    )?;
    writeln!(output, "  distance        {distance}")?;
    if let Some(recipe) = &manifest.recipe {
        writeln!(output, "  recipe          {}", described(recipe))?;
    }
    writeln!(output, "  bytes           {}", HumanBytes(manifest.bytes()))?;
    for (number, shard) in manifest.shards.iter().enumerate() {
        if manifest.families() > 1 && number % each == 0 {
            writeln!(output, "\nfamily {}:", number / each)?;
        } else if number == 0 {
            writeln!(output)?;
        }
        writeln!(
            output,
            "  {}  {} fingerprints, {}",
            shard.file,
            HumanCount(shard.fingerprints),
            HumanBytes(shard.bytes)
        )?;
    }
    Ok(())
}

fn shards_json(manifest: &Manifest) -> Value {
    let shards: Vec<Value> = manifest.shards.iter().map(|shard| json!(shard)).collect();
    json!({
        "layout": manifest.layout,
        "families": manifest.families(),
        "width": manifest.width,
        "distance": manifest.distance,
        "recipe": manifest.recipe,
        "id_type": manifest.id_type,
        "shingles": manifest.shingles,
        "fingerprints": manifest.fingerprints(),
        "ids": manifest.ids(),
        "bytes": manifest.bytes(),
        "shards": shards,
    })
}
