//! What can be had of a damaged manifest.

use std::str::from_utf8;

use serde::de::DeserializeOwned;

use super::text::{SegmentLine, StateLine, StoreLine, assemble, lines_with_checksums};
use super::{Manifest, SegmentEntry};

/// What a damaged manifest still says.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct SalvagedManifest {
    /// What it says, without the segments whose lines are damaged.
    pub manifest: Manifest,
    /// What is not certain or lacking; a sentence each.
    pub problems: Vec<String>,
}

/// Reads what can be read of a damaged manifest: `None` if the lines about the store and its state cannot.
#[must_use]
pub fn salvage(text: &[u8]) -> Option<SalvagedManifest> {
    let mut problems = Vec::new();
    let lines = lines_with_checksums(text);
    if lines.iter().all(|(_, is_right)| is_right.is_none()) {
        problems.push("the checksums are damaged: nothing in it is certain".to_owned());
    }
    let mut lines = lines.into_iter().enumerate().map(|(at, (line, is_right))| (at + 1, line, is_right));
    let mut head = || {
        let (number, line, is_right) = lines.next()?;
        if is_right == Some(false) {
            problems.push(format!("line {number} is damaged, and may be wrong"));
        }
        Some(line)
    };
    let store: StoreLine = read(head()?)?;
    let state: StateLine = read(head()?)?;
    let mut manifest = assemble(&store, &state).ok()?;
    for (number, line, is_right) in lines {
        // With a wrong digit, a segment would give wrong answers.
        match read::<SegmentLine>(line).filter(|_| is_right != Some(false)).and_then(|line| line.entry()) {
            Some(segment) => manifest.segments.push(segment),
            None => problems
                .push(format!("line {number} is damaged: what it says, of a segment perhaps, is lost")),
        }
    }
    keep_possible(&mut manifest, &mut problems);
    manifest.check().ok()?;
    Some(SalvagedManifest { manifest, problems })
}

fn read<T: DeserializeOwned>(line: &[u8]) -> Option<T> {
    serde_json::from_str(from_utf8(line).ok()?).ok()
}

/// Leaves out segments that contradict themselves or others.
fn keep_possible(manifest: &mut Manifest, problems: &mut Vec<String>) {
    let has_ids = manifest.identity.has_ids;
    let mut last = 0;
    let mut keep = |segment: &SegmentEntry| {
        let keeps = segment.is_possible(has_ids) && segment.number > last;
        match keeps {
            true => last = segment.number,
            false => problems.push(format!("what is said of segment {} cannot be", segment.number)),
        }
        keeps
    };
    manifest.segments.retain(|segment| keep(segment));
    if last >= manifest.next_segment {
        problems.push(format!("the next segment was to be {}", manifest.next_segment));
        manifest.next_segment = last.saturating_add(1);
    }
}
