//! Texts with known near-duplicates.

use std::collections::BTreeSet;

use super::clusters;
use crate::common::{Scratch, shared_data};

/// Precision and recall of all pairs within clusters.
fn score(found: &[Vec<String>], truth: &BTreeSet<(String, String)>) -> (f64, f64) {
    let mut pairs = BTreeSet::new();
    for cluster in found {
        for (at, one) in cluster.iter().enumerate() {
            for other in &cluster[..at] {
                pairs.insert((one.min(other).clone(), one.max(other).clone()));
            }
        }
    }
    let right = pairs.intersection(truth).count() as f64;
    (right / pairs.len() as f64, right / truth.len() as f64)
}

#[test]
fn altered_articles_are_found() {
    let (Some(articles), Some(truth)) =
        (shared_data("articles_1000.train"), shared_data("articles_1000.truth"))
    else {
        return;
    };
    let truth = std::fs::read_to_string(truth).unwrap();
    let truth: BTreeSet<(String, String)> = truth
        .lines()
        .filter_map(|line| line.split_once(' '))
        .map(|(one, other)| (one.min(other).to_owned(), one.max(other).to_owned()))
        .collect();
    let scratch = Scratch::new();
    let text = scratch.output(&["dedup", articles.to_str().unwrap(), "--json", "--format", "lines"]);
    let (precision, recall) = score(&clusters(&text), &truth);
    assert!(recall >= 0.9 && precision >= 0.95, "precision {precision}, recall {recall}");
}

#[test]
fn pages_of_a_manual_for_two_machines_are_found() {
    let Some(pages) = shared_data("install-guide.jsonl") else { return };
    let scratch = Scratch::new();
    let text = scratch.output(&["dedup", pages.to_str().unwrap(), "--json"]);
    let found = clusters(&text);
    assert!(found.len() >= 100, "{}", found.len());
    // Ids are language/machine/page.
    let page = |id: &str| {
        let parts: Vec<&str> = id.split('/').collect();
        (parts[0].to_owned(), parts[2].to_owned())
    };
    let right = found.iter().filter(|cluster| cluster.iter().all(|id| page(id) == page(&cluster[0]))).count();
    assert!(right as f64 >= 0.9 * found.len() as f64, "{right} of {}", found.len());
}
