//! Prints scores as tables, or as JSON.

use std::io::{self, Write};

use hamdex_simhash::evaluate::LevelScore;
use indicatif::HumanCount;
use serde_json::{Value, json};

use crate::commands::evaluate::clusters::{Band, Outcome};
use crate::commands::evaluate::methods::Method;

pub(super) struct Report {
    pub(super) documents: u64,
    pub(super) too_short: u64,
    /// The number of near-duplicate pairs.
    pub(super) truth: u64,
    pub(super) methods: Vec<Method>,
    /// The outcome of `hamdex dedup`, by rule.
    pub(super) clusters: Vec<Outcome>,
}

impl Report {
    pub(super) fn print(&self, output: &mut impl Write) -> io::Result<()> {
        writeln!(
            output,
            "{} documents, {} of them too short; {} pairs are near-duplicates",
            HumanCount(self.documents),
            HumanCount(self.too_short),
            HumanCount(self.truth)
        )?;
        self.print_clusters(output)?;
        for method in &self.methods {
            writeln!(output, "\n{}", method.name)?;
            writeln!(
                output,
                "{:>9}  {:>9}  {:>6}  {:>8}  {:>8}",
                method.level, "precision", "recall", "reported", "right"
            )?;
            for LevelScore { level, score, .. } in &method.scores {
                writeln!(
                    output,
                    "{level:>9}  {:>9}  {:>6}  {:>8}  {:>8}",
                    share(score.precision()),
                    share(score.recall()),
                    score.reported,
                    score.right
                )?;
            }
        }
        Ok(())
    }

    /// Prints a column for each rule.
    fn print_clusters(&self, output: &mut impl Write) -> io::Result<()> {
        let mut row = |label: &str, pairs: &str, cell: &dyn Fn(&Outcome) -> String| {
            write!(output, "{label:<28}  {pairs:>7}")?;
            self.clusters.iter().try_for_each(|outcome| write!(output, "  {:>16}", cell(outcome)))?;
            writeln!(output)
        };
        row("\nhamdex dedup: found", "pairs", &|outcome| outcome.rule.clone())?;
        let bands = self.clusters.first().map_or(&[][..], |outcome| &outcome.bands);
        for (at, Band { up_to_percent, pairs, .. }) in bands.iter().enumerate() {
            let label = format!("words changed, up to {up_to_percent} %");
            row(&label, &pairs.to_string(), &|outcome| share(outcome.bands[at].share()))?;
        }
        row("removed", "", &|outcome| outcome.removed.to_string())?;
        row("less than 0.7 similar", "", &|outcome| outcome.removed_wrongly.to_string())?;
        row("seconds", "", &|outcome| format!("{:.2}", outcome.seconds))?;
        let mebibytes = |bytes: u64| format!("{:.1}", bytes as f64 / f64::from(1 << 20));
        row("MiB of memory", "", &|outcome| outcome.bytes.map_or("–".to_owned(), mebibytes))
    }

    pub(super) fn print_json(&self, output: &mut impl Write) -> io::Result<()> {
        let methods: Vec<Value> = self
            .methods
            .iter()
            .map(|method| {
                let scores: Vec<Value> = method
                    .scores
                    .iter()
                    .map(|LevelScore { level, score, .. }| {
                        json!({
                            method.level: level,
                            "precision": score.precision(),
                            "recall": score.recall(),
                            "reported": score.reported,
                            "right": score.right,
                        })
                    })
                    .collect();
                json!({ "method": method.name, "scores": scores })
            })
            .collect();
        let clusters: Vec<Value> = self.clusters.iter().map(clusters_json).collect();
        let whole = json!({
            "dedup": clusters,
            "documents": self.documents,
            "too_short": self.too_short,
            "true_pairs": self.truth,
            "methods": methods,
        });
        serde_json::to_writer_pretty(&mut *output, &whole)?;
        writeln!(output)
    }
}

fn clusters_json(outcome: &Outcome) -> Value {
    let bands = outcome.bands.iter().map(
        |band| json!({ "changed_percent": band.up_to_percent, "pairs": band.pairs, "found": band.found }),
    );
    json!({
        "rule": outcome.rule,
        "by_words_changed": bands.collect::<Vec<Value>>(),
        "removed": outcome.removed,
        "removed_wrongly": outcome.removed_wrongly,
        "seconds": outcome.seconds,
        "memory_bytes": outcome.bytes,
    })
}

fn share(share: Option<f64>) -> String {
    share.map_or("–".to_owned(), |share| format!("{share:.3}"))
}
