//! What can be had of a damaged manifest.

use super::text::{SegmentLine, StateLine, StoreLine, assemble};
use super::{Manifest, SegmentEntry};

/// What a damaged manifest still says. It may be wrong: a person, or a look at the files that it names, has to
/// confirm it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct SalvagedManifest {
    /// What it says.
    pub manifest: Manifest,
    /// What it says no more, or in contradiction to itself; a sentence each.
    pub problems: Vec<String>,
}

/// Reads what can be read of a damaged manifest. `None` if the lines about the store and its state cannot.
#[must_use]
pub fn salvage(text: &[u8]) -> Option<SalvagedManifest> {
    let text = String::from_utf8_lossy(text);
    let mut problems = Vec::new();
    let mut lines = text.lines();
    let store: StoreLine = serde_json::from_str(lines.next()?).ok()?;
    let state: StateLine = serde_json::from_str(lines.next()?).ok()?;
    let mut manifest = assemble(&store, &state).ok()?;
    for (number, line) in lines.enumerate().map(|(number, line)| (number + 3, line)) {
        if line.starts_with("{\"crc32\"") {
            continue;
        }
        match serde_json::from_str::<SegmentLine>(line).ok().and_then(|line| line.entry()) {
            Some(segment) => manifest.segments.push(segment),
            None => problems.push(format!("line {number} cannot be read: a segment may be lacking")),
        }
    }
    keep_possible(&mut manifest, &mut problems);
    match manifest.check() {
        Ok(()) => Some(SalvagedManifest { manifest, problems }),
        Err(_) => None,
    }
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
