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
    /// How many lines about segments cannot be read.
    pub lost_lines: usize,
}

/// Reads what can be read of a damaged manifest, and of its copy where the manifest lacks it: each of the lines about the
/// store and its state is taken from the first of the texts in which it is certain, or else from the first in which it
/// can be read. `None` if one of them cannot be read in either.
///
/// Of the copy's segments, only those count that `fits` finds to be those of their files: it may be out of date.
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
                problems
                    .push(format!("line {number} is damaged: what it says, of a segment perhaps, is lost"));
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

/// A line, and whether its checksum is right, if the checksums can be read.
type Line<'t> = (&'t [u8], Option<bool>);

/// The first or second line of the texts, from the best of them.
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

/// The lines about segments, with their numbers in the text.
fn segment_lines<'l, 't>(
    lines: &'l [Line<'t>],
) -> impl Iterator<Item = (usize, &'t [u8], Option<bool>)> + use<'l, 't> {
    lines.iter().enumerate().skip(2).map(|(at, &(line, is_right))| (at + 1, line, is_right))
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
