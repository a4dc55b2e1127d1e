//! Salvage of a damaged manifest: the lines that the manifest and its copy prove together.

use std::collections::{HashMap, HashSet};
use std::str::from_utf8;

use hamdex_manifest::{Digits, Pieces, checksum_of, pieces};
use serde::de::DeserializeOwned;

use super::text::{StateLine, StoreLine, assemble};
use super::{Manifest, SegmentEntry};

/// The readable part of a manifest and its copy.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct SalvagedManifest {
    /// The manifest of the later generation, without the segments whose lines are damaged.
    pub manifest: Manifest,
    /// The number of its lines of segments that neither text proves.
    pub lost_lines: usize,
    /// Whether the line of the store is proven.
    pub is_store_proven: bool,
    /// Whether its first two lines, and the number of its lines, are proven.
    pub is_certain: bool,
    /// Whether the other text proves that there was no later generation.
    pub is_latest: bool,
    /// Proven entries of segments that only the other text has.
    pub other: Vec<SegmentEntry>,
    /// The uncertain and missing parts, a sentence each.
    pub problems: Vec<String>,
}

impl SalvagedManifest {
    /// Whether every line is proven.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.is_certain && self.lost_lines == 0
    }
}

/// Reads a manifest and its copy, of which any byte may be damaged, and either may be missing or of an earlier
/// generation. A line is proven by a checksum of either text; one that is damaged in both, at different bytes, by both
/// together. `None` if the line of the store can be read in neither, or what is read contradicts itself.
#[must_use]
pub fn salvage(manifest: &[u8], copy: &[u8]) -> Option<SalvagedManifest> {
    let both = Both::new([aligned(manifest, copy), aligned(copy, manifest)]);
    let texts = [both.read(0), both.read(1)];
    let generation =
        |text: &Text| text.state.as_ref().filter(|line| line.is_proven).map(|line| line.fields.generation());
    let rank = |at: usize| {
        let text = &texts[at];
        (generation(text), text.is_whole(), text.state.is_some(), usize::MAX - at)
    };
    let at = (0..2).max_by_key(|at| rank(*at))?;
    let (text, other) = (&texts[at], &texts[1 - at]);
    let mut problems = Vec::new();
    let (store, is_store_proven) = best(&[text, other], |text| text.store.as_ref())?;
    let state = text.state.as_ref();
    let is_certain = text.has_checksums && is_store_proven && state.is_some_and(|line| line.is_proven);
    if !text.has_checksums {
        problems.push("the checksums are damaged: nothing in it is certain".to_owned());
    }
    if !is_store_proven {
        problems.push("line 1 is damaged, and may be wrong".to_owned());
    }
    match state {
        Some(line) if !line.is_proven => problems.push("line 2 is damaged, and may be wrong".to_owned()),
        None => problems.push("line 2 is damaged, and taken from the files".to_owned()),
        Some(_) => {}
    }
    let lost = |line: &usize| format!("line {line} is damaged; its entry of a segment is lost");
    problems.extend(text.lost.iter().map(lost));
    let mut manifest = assemble(store, state.map_or(&StateLine::unknown(store), |line| &line.fields)).ok()?;
    manifest.segments = text.entries.iter().map(|line| line.fields.clone()).collect();
    if let (None, Some(last)) = (state, manifest.segments.last()) {
        manifest.next_segment = last.number.saturating_add(1);
    }
    let mut lost_lines = text.lost.len();
    lost_lines += keep_possible(&mut manifest, &mut problems);
    manifest.check().ok()?;
    let has_ids = manifest.identity.has_ids;
    let is_other = |entry: &SegmentEntry| {
        entry.is_possible(has_ids) && manifest.segments.iter().all(|known| known.number != entry.number)
    };
    let proven = other.entries.iter().filter(|line| line.is_proven).map(|line| line.fields.clone());
    let other_entries: Vec<SegmentEntry> = proven.filter(is_other).collect();
    let is_latest = generation(text).is_some() && generation(other).is_some();
    Some(SalvagedManifest {
        manifest,
        lost_lines,
        is_store_proven,
        is_certain,
        is_latest,
        other: other_entries,
        problems,
    })
}

/// Splits a text; by the lines of the other, if only those are as many as its checksums: a line feed is damaged.
fn aligned<'t>(text: &'t [u8], other: &[u8]) -> Pieces<'t> {
    let (own, of_other) = (pieces(text), pieces(other));
    let is_in_order = |found: &Pieces<'_>| found.checksums.as_ref().map(Vec::len) == Some(found.lines.len());
    if text.len() != other.len() || is_in_order(&own) || !is_in_order(&of_other) {
        return own;
    }
    let mut rest = text;
    let mut lines = Vec::new();
    for line in &of_other.lines {
        let (own, after) = rest.split_at(line.len());
        lines.push(own);
        rest = after;
    }
    Pieces { lines, checksums: pieces(rest).checksums }
}

/// A line, and whether a checksum proves it.
struct Line<T> {
    fields: T,
    is_proven: bool,
}

/// The lines of one text that can be read.
#[derive(Default)]
struct Text {
    store: Option<Line<StoreLine>>,
    state: Option<Line<StateLine>>,
    entries: Vec<Line<SegmentEntry>>,
    /// The numbers of lines of segments that cannot be read.
    lost: Vec<usize>,
    has_checksums: bool,
}

impl Text {
    fn is_whole(&self) -> bool {
        let is_proven = self.store.as_ref().is_some_and(|line| line.is_proven);
        self.has_checksums && is_proven && self.lost.is_empty()
    }
}

/// Returns the first proven line, or else the first.
fn best<'t, T: 't>(
    texts: &[&'t Text],
    line: impl Fn(&'t Text) -> Option<&'t Line<T>>,
) -> Option<(&'t T, bool)> {
    let lines = || texts.iter().filter_map(|text| line(text));
    let found = lines().find(|line| line.is_proven).or_else(|| lines().next())?;
    Some((&found.fields, found.is_proven))
}

/// The pieces of both texts.
struct Both<'t> {
    texts: [Pieces<'t>; 2],
    /// The lines of both, by their checksums.
    lines: HashMap<Digits, &'t [u8]>,
    /// The checksums that the texts say.
    checksums: HashSet<Digits>,
}

impl<'t> Both<'t> {
    fn new(texts: [Pieces<'t>; 2]) -> Self {
        let lines =
            texts.iter().flat_map(|text| &text.lines).map(|line| (checksum_of(line), *line)).collect();
        let checksums = texts.iter().filter_map(|text| text.checksums.as_ref()).flatten().copied().collect();
        Self { texts, lines, checksums }
    }

    /// Reads a text.
    fn read(&self, at: usize) -> Text {
        let own = &self.texts[at];
        let mut text = Text { has_checksums: own.checksums.is_some(), ..Text::default() };
        let count = own.checksums.as_ref().map_or(own.lines.len(), Vec::len);
        for number in 0..count {
            let proven = match own.checksums.as_ref().map(|checksums| checksums[number]) {
                Some(checksum) => self.proven(at, number, checksum),
                None => own
                    .lines
                    .get(number)
                    .map(|line| line.to_vec())
                    .filter(|line| self.checksums.contains(&checksum_of(line))),
            };
            let is_proven = proven.is_some();
            let line = proven.or_else(|| own.lines.get(number).map(|line| line.to_vec())).unwrap_or_default();
            match number {
                0 => text.store = parsed(&line, is_proven),
                1 => text.state = parsed(&line, is_proven),
                _ => match parsed(&line, is_proven) {
                    // With a wrong digit, a segment would give wrong answers.
                    Some(entry) if is_proven || !text.has_checksums => text.entries.push(entry),
                    _ => text.lost.push(number + 1),
                },
            }
        }
        text
    }

    /// Returns the line of a checksum: any that has it; the text's own, if one digit of its checksum has changed; or
    /// the one of which each text has another part.
    fn proven(&self, at: usize, number: usize, checksum: Digits) -> Option<Vec<u8>> {
        if let Some(line) = self.lines.get(&checksum) {
            return Some(line.to_vec());
        }
        let own = self.texts[at].lines.get(number)?;
        // Damage to the line itself changes all digits.
        let differing = checksum_of(own).iter().zip(&checksum).filter(|(a, b)| a != b).count();
        if differing == 1 {
            return Some(own.to_vec());
        }
        mixed(own, self.texts[1 - at].lines.get(number)?, checksum)
    }
}

/// The most bytes in which two damaged lines may differ.
const MAX_MIXED: usize = 8;

/// Returns the line with this checksum of which two lines have damaged different bytes.
fn mixed(one: &[u8], other: &[u8], checksum: Digits) -> Option<Vec<u8>> {
    let differing: Vec<usize> = (0..one.len().min(other.len())).filter(|&at| one[at] != other[at]).collect();
    if one.len() != other.len() || differing.len() > MAX_MIXED {
        return None;
    }
    (0..1_usize << differing.len()).find_map(|choice| {
        let mut line = one.to_vec();
        for (bit, &at) in differing.iter().enumerate() {
            if choice >> bit & 1 == 1 {
                line[at] = other[at];
            }
        }
        (checksum_of(&line) == checksum).then_some(line)
    })
}

fn parsed<T: DeserializeOwned>(line: &[u8], is_proven: bool) -> Option<Line<T>> {
    Some(Line { fields: serde_json::from_str(from_utf8(line).ok()?).ok()?, is_proven })
}

/// Drops segments that contradict themselves or others, and returns how many; moves numbers up that are too small.
fn keep_possible(manifest: &mut Manifest, problems: &mut Vec<String>) -> usize {
    let before = manifest.segments.len();
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
    before - manifest.segments.len()
}
