//! The blocks that a query reads, and why.

use std::io::{self, Write};

use hamdex::inspect::{BlockTrace, FilterTrace, PassedPrefix, ProbeTrace};
use hamdex::{Fingerprint, Index};
use serde_json::{Value, json};

use crate::failure::{Failure, shown};
use crate::input::Notation;
use crate::messages::counted;
use crate::standard_output::write_pretty_json;

/// The steps of a query.
pub(super) struct Steps<F> {
    query: F,
    distance: u32,
    probes: Vec<ProbeTrace<F>>,
}

impl<F: Fingerprint> Steps<F> {
    /// Finds the blocks of a query, by default at the distance of the file.
    pub(super) fn find(index: &Index<F>, query: &str, distance: Option<u32>) -> Result<Self, Failure> {
        let parsed = Notation::Either.parse(query);
        let query =
            parsed.map_err(|error| Failure::Usage(format!("fingerprint {}: {error}", shown(query))))?;
        let distance = distance.unwrap_or(index.design().distance());
        let probes = index.explain(query, distance).map_err(Failure::Index)?;
        Ok(Self { query, distance, probes })
    }

    fn blocks(&self) -> impl Iterator<Item = &BlockTrace<F>> {
        self.probes.iter().flat_map(|trace| &trace.blocks)
    }

    /// Returns the number of matches that the query returns.
    fn matches(&self) -> usize {
        self.blocks().flat_map(|block| &block.matches).filter(|found| found.is_returned).count()
    }

    pub(super) fn print(&self, output: &mut impl Write) -> io::Result<()> {
        writeln!(
            output,
            "{} within {}: {}, {}, {}",
            self.query.hex(),
            counted(self.distance.into(), "bit", "bits"),
            counted(self.probes.len() as u64, "probe", "probes"),
            counted(self.blocks().count() as u64, "block", "blocks"),
            counted(self.matches() as u64, "match", "matches"),
        )?;
        self.probes.iter().enumerate().try_for_each(|(number, trace)| print_probe(number, trace, output))
    }

    pub(super) fn print_json(&self, output: &mut impl Write) -> io::Result<()> {
        let whole = json!({
            "query": self.query.hex().to_string(),
            "distance": self.distance,
            "blocks": self.blocks().count(),
            "matches": self.matches(),
            "probes": self.probes.iter().map(probe_json).collect::<Vec<Value>>(),
        });
        write_pretty_json(output, &whole)
    }
}

fn print_probe<F: Fingerprint>(
    number: usize,
    trace: &ProbeTrace<F>,
    output: &mut impl Write,
) -> io::Result<()> {
    let reach = &trace.probe.reach;
    writeln!(
        output,
        "\nprobe {number}: table {}, prefix {} bits, radius {}",
        trace.probe.table,
        reach.prefix_bits(),
        reach.radius
    )?;
    writeln!(output, "  mask            {}", reach.mask.hex())?;
    writeln!(output, "  in table order  {}", trace.permuted.hex())?;
    match &trace.filter {
        Some(FilterTrace { tried, passed, passes_too_many, .. }) => {
            let prefixes = counted(*tried, "prefix", "prefixes");
            if *passes_too_many {
                writeln!(output, "  filter          ignored: too many of {prefixes} pass")?;
            } else {
                writeln!(output, "  filter          {} of {prefixes} pass", passed.len())?;
            }
            for passed in passed {
                let errors = counted(passed.errors.into(), "error", "errors");
                writeln!(output, "  prefix          {}, {errors}", prefix_hex(trace, passed))?;
            }
        }
        None => writeln!(output, "  filter          not asked")?,
    }
    for block in &trace.blocks {
        let after = match block.after {
            Some(after) => format!("after {} ", after.hex()),
            None => String::new(),
        };
        writeln!(output, "  block {:<9} {after}up to {}", block.number, block.key.hex())?;
        for found in &block.matches {
            writeln!(
                output,
                "    match         {} at distance {}{}",
                found.fingerprint.hex(),
                found.distance,
                if found.is_returned { "" } else { ", returned by an earlier probe" }
            )?;
        }
    }
    Ok(())
}

fn prefix_hex<F: Fingerprint>(trace: &ProbeTrace<F>, passed: &PassedPrefix) -> String {
    let digits = trace.probe.reach.prefix_bits().div_ceil(4) as usize;
    format!("{:0digits$x}", passed.prefix)
}

fn probe_json<F: Fingerprint>(trace: &ProbeTrace<F>) -> Value {
    let filter = trace.filter.as_ref().map(|filter| {
        let passed = filter.passed.iter();
        let passed: Vec<Value> = passed
            .map(|passed| json!({ "prefix": prefix_hex(trace, passed), "errors": passed.errors }))
            .collect();
        json!({ "tried": filter.tried, "passed": passed, "passes_too_many": filter.passes_too_many })
    });
    json!({
        "table": trace.probe.table,
        "mask": trace.probe.reach.mask.hex().to_string(),
        "prefix_bits": trace.probe.reach.prefix_bits(),
        "radius": trace.probe.reach.radius,
        "permuted": trace.permuted.hex().to_string(),
        "filter": filter,
        "blocks": trace.blocks.iter().map(block_json).collect::<Vec<Value>>(),
    })
}

fn block_json<F: Fingerprint>(block: &BlockTrace<F>) -> Value {
    let matches = block.matches.iter().map(|found| {
        json!({
            "fingerprint": found.fingerprint.hex().to_string(),
            "distance": found.distance,
            "returned": found.is_returned,
        })
    });
    json!({
        "block": block.number,
        "after": block.after.map(|after| after.hex().to_string()),
        "key": block.key.hex().to_string(),
        "matches": matches.collect::<Vec<Value>>(),
    })
}
