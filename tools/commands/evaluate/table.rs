//! Scores as tables, or as JSON.

use std::io::{self, Write};

use hamdex_simhash::evaluate::Score;
use indicatif::HumanCount;
use serde_json::{Value, json};

/// How a method does at each of its levels.
pub(super) struct Method {
    pub(super) name: String,
    pub(super) level: &'static str,
    pub(super) scores: Vec<(u32, Score)>,
}

pub(super) struct Report {
    pub(super) documents: u64,
    pub(super) too_short: u64,
    /// Pairs that are near-duplicates.
    pub(super) truth: u64,
    pub(super) methods: Vec<Method>,
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
        for method in &self.methods {
            writeln!(output, "\n{}", method.name)?;
            writeln!(
                output,
                "{:>9}  {:>9}  {:>6}  {:>8}  {:>8}",
                method.level, "precision", "recall", "reported", "right"
            )?;
            for (level, score) in &method.scores {
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

    pub(super) fn print_json(&self, output: &mut impl Write) -> io::Result<()> {
        let methods: Vec<Value> = self
            .methods
            .iter()
            .map(|method| {
                let scores: Vec<Value> = method
                    .scores
                    .iter()
                    .map(|(level, score)| {
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
        let whole = json!({
            "documents": self.documents,
            "too_short": self.too_short,
            "true_pairs": self.truth,
            "methods": methods,
        });
        serde_json::to_writer_pretty(&mut *output, &whole)?;
        writeln!(output)
    }
}

fn share(share: Option<f64>) -> String {
    share.map_or("–".to_owned(), |share| format!("{share:.3}"))
}
