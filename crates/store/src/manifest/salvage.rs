//! Salvage of a damaged manifest.

use std::str::from_utf8;

use serde::de::DeserializeOwned;

use super::text::{SegmentLine, StateLine, StoreLine, assemble, lines_with_checksums};
use super::{Manifest, SegmentEntry};

/// The readable part of a damaged manifest.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct SalvagedManifest {
    /// The manifest, without the segments whose lines are damaged.
    pub manifest: Manifest,
    /// The uncertain and missing parts, a sentence each.
    pub problems: Vec<String>,
    /// The number of unreadable lines of segments.
    pub lost_lines: usize,
}

/// Reads a damaged manifest, and fills its gaps from its copy. The lines of the store and of its state come from the
/// first text in which they are certain, or else from the first in which they are readable; `None` if one of them is
/// readable in neither.
///
/// A segment of the copy, which may be out of date, counts only if `fits` says that its file matches.
#[must_use]
pub fn salvage(texts: &[&[u8]], mut fits: impl FnMut(&SegmentEntry) -> bool) -> Option<SalvagedManifest> {
    let mut problems = Vec::new();
    let texts: Vec<Vec<Line<'_>>> = texts.iter().map(|text| lines_with_checksums(text)).collect();
    let of_manifest = texts.first()?;
    if of_manifest.iter().all(|(_, is_right)| is_right.is_none()) {
        problems.push("the checksums are damaged: nothing in it is certain".to_owned());
    }
    let store: StoreLine = head(&texts, 0, &mut problems)?;
    let state: StateLine = head(&texts, 1, &mut problems)?;
    let mut manifest = assemble(&store, &state).ok()?;
    let mut lost_lines = 0usize;
    for (number, line, is_right) in segment_lines(of_manifest) {
        // With a wrong digit, a segment would give wrong answers.
        match read::<SegmentLine>(line).filter(|_| is_right != Some(false)).and_then(|line| line.entry()) {
            Some(segment) => manifest.segments.push(segment),
            None => {
                lost_lines += 1;
                problems.push(format!("line {number} is damaged; its entry, perhaps of a segment, is lost"));
            }
        }
    }
    for (_, line, is_right) in texts[1..].iter().flat_map(|lines| segment_lines(lines)) {
        let entry =
            read::<SegmentLine>(line).filter(|_| is_right == Some(true)).and_then(|line| line.entry());
        let is_new =
            |entry: &SegmentEntry| manifest.segments.iter().all(|known| known.number != entry.number);
        if let Some(entry) = entry.filter(is_new).filter(&mut fits) {
            manifest.segments.push(entry);
            lost_lines = lost_lines.saturating_sub(1);
        }
    }
    if texts.len() > 1 {
        manifest.segments.sort_by_key(|entry| entry.number);
    }
    let before = manifest.segments.len();
    keep_possible(&mut manifest, &mut problems);
    lost_lines += before - manifest.segments.len();
    manifest.check().ok()?;
    Some(SalvagedManifest { manifest, problems, lost_lines })
}

/// A line, and whether its checksum is right, if the checksums are readable.
type Line<'t> = (&'t [u8], Option<bool>);

/// Returns the first or second line, from the best of the texts.
fn head<T: DeserializeOwned>(texts: &[Vec<Line<'_>>], at: usize, problems: &mut Vec<String>) -> Option<T> {
    let candidates = texts.iter().enumerate().filter_map(|(text, lines)| Some((text, lines.get(at)?)));
    let rank = |text: usize, is_right: Option<bool>| match is_right {
        Some(true) => 0,
        None => 1,
        Some(false) => 2 + text,
    };
    let mut candidates: Vec<_> =
        candidates.map(|(text, &(line, is_right))| (rank(text, is_right), text, line)).collect();
    // Without checksums the manifest comes before a copy that has them: that may be out of date.
    candidates.sort_by_key(|&(rank, text, _)| if rank <= 1 { (0, text) } else { (1, text) });
    let (rank, _, fields) =
        candidates.into_iter().find_map(|(rank, text, line)| Some((rank, text, read::<T>(line)?)))?;
    if rank > 1 {
        problems.push(format!("line {} is damaged, and may be wrong", at + 1));
    }
    Some(fields)
}

/// Returns the lines of segments with their line numbers.
fn segment_lines<'l, 't>(
    lines: &'l [Line<'t>],
) -> impl Iterator<Item = (usize, &'t [u8], Option<bool>)> + use<'l, 't> {
    lines.iter().enumerate().skip(2).map(|(at, &(line, is_right))| (at + 1, line, is_right))
}

fn read<T: DeserializeOwned>(line: &[u8]) -> Option<T> {
    serde_json::from_str(from_utf8(line).ok()?).ok()
}

/// Drops segments that contradict themselves or others.
fn keep_possible(manifest: &mut Manifest, problems: &mut Vec<String>) {
    let has_ids = manifest.identity.has_ids;
    let mut last = 0;
    let mut keep = |segment: &SegmentEntry| {
        let keeps = segment.is_possible(has_ids) && segment.number > last;
        match keeps {
            true => last = segment.number,
            false => problems.push(format!("the entry of segment {} is impossible", segment.number)),
        }
        keeps
    };
    manifest.segments.retain(|segment| keep(segment));
    if last >= manifest.next_segment {
        problems.push(format!("the next segment number was too small: {}", manifest.next_segment));
        manifest.next_segment = last.saturating_add(1);
    }
}
