//! One run: its unfinished stages, in order.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use bytesize::ByteSize;
use clap::ValueEnum;
use hamdex::{Codec, Design, FilterChoice, Strategy};
use serde::Serialize;

use crate::figures::{Figures, Measured};
use crate::set::{DISTANCE, Set};
use crate::stages::Stages;
use crate::system;

/// The reserve of free space for errors of the size estimate.
const SPARE: f64 = 1.05;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Store 2^N fingerprints
    #[arg(long, value_name = "N", default_value_t = 28, value_parser = clap::value_parser!(u32).range(10..=36))]
    log2: u32,
    /// Name of the design
    #[arg(long, value_name = "NAME", default_value = "halves")]
    design: String,
    /// Codec of the blocks
    #[arg(long, value_name = "NAME", default_value_t = Codec::EliasFano)]
    codec: Codec,
    /// Prefix filters of the tables: auto, none, or at most N bits per fingerprint and table
    #[arg(long, value_name = "FILTER", default_value_t)]
    filter: FilterChoice,
    /// Memory that a build, the batch and the self-join may take
    #[arg(long, value_name = "BYTES", default_value = "8GiB")]
    memory: ByteSize,
    /// Directory of the index and the figures
    #[arg(long, value_name = "DIR")]
    dir: PathBuf,
    /// Cold queries, one by one
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = at_least_one)]
    queries: usize,
    /// Queries of the batch
    #[arg(long, value_name = "N", default_value_t = 1_000_000, value_parser = at_least_one)]
    batch: usize,
    /// Strategy of the batch
    #[arg(long, value_name = "NAME", value_enum, default_value_t)]
    strategy: How,
    /// Queries that are compared with brute force
    #[arg(long, value_name = "N", default_value_t = 10_000, value_parser = at_least_one)]
    checked: usize,
    /// Compare all with all as well
    #[arg(long)]
    pairs: bool,
    /// Remove the index at the end, and keep the figures
    #[arg(long)]
    remove: bool,
}

#[derive(Clone, Copy, Default, ValueEnum, Serialize)]
#[serde(rename_all = "lowercase")]
enum How {
    #[default]
    Auto,
    Probe,
    Scan,
}

impl How {
    fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Probe => "probe",
            Self::Scan => "scan",
        }
    }

    fn strategy(self) -> Strategy {
        match self {
            Self::Auto => Strategy::Auto,
            Self::Probe => Strategy::Probe,
            Self::Scan => Strategy::Scan,
        }
    }
}

fn at_least_one(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(0) => Err("at least 1".into()),
        number => number.map_err(|_| format!("expected a number, not {text:?}")),
    }
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let filter =
        if args.filter == FilterChoice::Auto { String::new() } else { format!("-filter-{}", args.filter) };
    let name = format!("headline-{}-{}-{}{filter}", args.log2, args.design, args.codec);
    let (index, saved) = (args.dir.join(format!("{name}.hamdex")), args.dir.join(format!("{name}.json")));
    let design = Design::<u64>::named(&args.design, DISTANCE)?;
    let stages = Stages {
        set: Set::new(args.log2),
        design,
        codec: args.codec,
        filter: args.filter,
        memory: args.memory.as_u64(),
        index: &index,
    };
    let mut figures = Figures::begin_or_go_on(&saved, args.measured())?;

    // Without its file, a run has only its figures to show.
    let is_built = figures.build.is_some() && index.exists();
    if !is_built && !args.is_done(&figures) {
        check_space(&args.dir, &stages)?;
        say(format_args!("building {}: killed, it leaves nothing and begins again", index.display()));
        figures.build = Some(stages.build()?);
        figures.save(&saved)?;
    }
    if figures.online.is_none() {
        say(format_args!("{} cold queries, one by one", args.queries));
        figures.online = Some(stages.online(args.queries)?);
        figures.save(&saved)?;
    }
    if figures.batch.is_none() {
        say(format_args!("{} queries at once", args.batch));
        figures.batch = Some(stages.batch(args.batch, args.strategy.strategy())?);
        figures.save(&saved)?;
    }
    if figures.check.is_none() {
        say(format_args!("{} queries against brute force", args.checked));
        figures.check = Some(stages.check(args.checked)?);
        figures.save(&saved)?;
    }
    if args.pairs && figures.pairs.is_none() {
        say(format_args!("all against all"));
        figures.pairs = Some(stages.pairs()?);
        figures.save(&saved)?;
    }
    if args.remove && index.exists() {
        fs::remove_file(&index).with_context(|| format!("cannot remove {}", index.display()))?;
    }
    println!("{}", serde_json::to_string_pretty(&figures)?);
    Ok(())
}

impl Args {
    fn measured(&self) -> Measured {
        Measured {
            log2: self.log2,
            design: self.design.clone(),
            codec: self.codec.to_string(),
            filter: self.filter.to_string(),
            memory_bytes: self.memory.as_u64(),
            queries: self.queries,
            batch: self.batch,
            strategy: self.strategy.name().into(),
            checked: self.checked,
            processor: system::processor(),
            version: env!("CARGO_PKG_VERSION").into(),
        }
    }

    fn is_done(&self, figures: &Figures) -> bool {
        figures.build.is_some()
            && figures.online.is_some()
            && figures.batch.is_some()
            && figures.check.is_some()
            && (figures.pairs.is_some() || !self.pairs)
    }
}

/// Fails before anything is written if the index would not fit.
fn check_space(directory: &Path, stages: &Stages<'_>) -> Result<()> {
    let block_bytes = stages.codec.default_block_bytes() as u32;
    let cost = stages.design.cost(stages.set.len(), stages.codec, block_bytes);
    let filtered = stages.design.filter_cost(stages.set.len(), stages.codec, block_bytes, stages.filter);
    let filters = filtered.bytes_per_fingerprint * stages.set.len() as f64;
    // Filters are spooled before they are copied into the file.
    let index = ((cost.bytes_per_fingerprint * stages.set.len() as f64 + 2.0 * filters) * SPARE) as u64;
    let needed = index + stages.temporary_bytes();
    let free = system::free_bytes(directory)?;
    ensure!(
        needed <= free,
        "{}: the index and its temporary files take {}, and {} are free; take a smaller --log2 or --design, or another --dir",
        directory.display(),
        ByteSize(needed),
        ByteSize(free)
    );
    Ok(())
}

fn say(what: std::fmt::Arguments<'_>) {
    eprintln!("headline: {what}");
}
