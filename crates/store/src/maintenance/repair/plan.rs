//! The decision of a repair: from all that is in the directory to the greatest set that it proves.

use crate::disk::layout::{COPY, MANIFEST};
use crate::maintenance::repair::evidence::{Evidence, SegmentFile};
use crate::maintenance::repair::report::RepairedFile;
use crate::manifest::{Manifest, SalvagedManifest, SegmentEntry};

/// Decisions of a repair.
#[derive(Debug)]
pub(super) struct Plan {
    /// The manifest that the texts prove, without segments. Its generation is the next one.
    pub(super) manifest: Manifest,
    /// The segments, also the lost ones, by ascending number.
    pub(super) segments: Vec<PlannedSegment>,
    /// Report on the manifest and its copy, with names relative to the store; none if they are in order.
    pub(super) files: Vec<RepairedFile>,
    /// A number above those of all segments, from which on new ones are numbered.
    pub(super) first_new_segment: u64,
    /// Whether files that no manifest names may be part of the store.
    pub(super) is_doubtful: bool,
    /// A number above those of all logs.
    pub(super) new_log: u64,
}

/// A segment that a repair keeps, salvages or counts as lost.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PlannedSegment {
    pub(super) entry: SegmentEntry,
    /// The number of the file that has it; `None` if none has.
    pub(super) file: Option<u64>,
    /// Its damage; `None` if it is whole.
    pub(super) damage: Option<String>,
    /// Whether the manifest that counts names it. Otherwise pairs of it may have been removed since.
    pub(super) is_named: bool,
    /// Whether removals of a later version than the entry's count.
    pub(super) has_later_removals: bool,
}

/// Decides what becomes of every line of either manifest, of every segment and of every gap.
pub(super) fn decide(evidence: &Evidence, salvaged: &SalvagedManifest) -> Plan {
    let mut manifest = salvaged.manifest.clone();
    if !salvaged.is_certain {
        take_state_from_files(&mut manifest, evidence);
    }
    let named = std::mem::take(&mut manifest.segments);
    let unnamed = unnamed_files(evidence, &named);
    let is_behind = is_behind_files(evidence, salvaged, &manifest, &named, &unnamed);
    let mut is_doubtful = !salvaged.is_whole() || !salvaged.is_latest || is_behind;
    let mut segments: Vec<PlannedSegment> =
        named.iter().map(|entry| planned(evidence, entry, true, is_doubtful)).collect();
    // What a damaged segment was merged from may be there still.
    is_doubtful |= !salvaged.other.is_empty() && segments.iter().any(|segment| segment.damage.is_some());
    if is_doubtful {
        let others = salvaged.other.iter().map(|entry| planned(evidence, entry, false, true));
        // One that an earlier manifest alone names may have been merged.
        segments.extend(
            others.filter(|other| other.file.is_some() || !salvaged.is_latest || salvaged.lost_lines > 0),
        );
    }
    let is_adopted = |number: u64| match salvaged.is_whole() {
        true => is_behind,
        false => number < manifest.next_segment || !salvaged.is_latest || !salvaged.is_certain,
    };
    for &(number, file) in unnamed.iter().filter(|(number, _)| is_adopted(*number)) {
        let is_taken = segments.iter().any(|segment| segment.file == Some(number));
        if let Some(entry) = file.entry.as_ref().filter(|_| file.has_form && !is_taken) {
            let entry = SegmentEntry { born: manifest.sequence, applied: manifest.sequence, ..entry.clone() };
            segments.push(planned(evidence, &entry, false, true));
        }
    }
    segments.sort_by_key(|segment| segment.entry.number);
    segments.dedup_by_key(|segment| segment.entry.number);
    if manifest.identity.has_names {
        let files = segments.iter().filter_map(|segment| evidence.segments.get(&segment.file?));
        let last = files.filter_map(|file| file.last_id).max();
        manifest.next_id = manifest.next_id.max(last.map_or(0, |last| last.saturating_add(1)));
    }
    // One without pairs says nothing of the pairs that a lost line named.
    let has_pairs = |entry: &SegmentEntry| entry.removals.is_none_or(|removals| removals.count < entry.pairs);
    let found = segments.iter().filter(|segment| !segment.is_named && has_pairs(&segment.entry)).count();
    let mut unknown = salvaged.lost_lines.saturating_sub(found) as u64;
    unknown += u64::from(!salvaged.is_certain);
    let files = texts_reports(evidence, salvaged, is_behind, unknown);
    let last_segment = evidence.segments.keys().next_back().copied().unwrap_or(0);
    let last_log = evidence.logs.last().copied().max(evidence.last_log_file).unwrap_or(0);
    manifest.generation = manifest.next_generation();
    Plan {
        first_new_segment: manifest.next_segment.max(last_segment + 1),
        new_log: last_log.max(manifest.first_log) + 1,
        is_doubtful,
        manifest,
        segments,
        files,
    }
}

/// Takes what may be wrong in the state of a store from its files.
fn take_state_from_files(manifest: &mut Manifest, evidence: &Evidence) {
    manifest.sealed = None;
    manifest.first_log = evidence.logs.first().copied().unwrap_or(manifest.first_log);
    if let Some(first) = evidence.first_sequence {
        manifest.sequence = manifest.sequence.min(first.saturating_sub(1));
    }
}

/// Returns the segments that no line of the manifest names, without those of an interrupted repair.
fn unnamed_files<'e>(evidence: &'e Evidence, named: &[SegmentEntry]) -> Vec<(u64, &'e SegmentFile)> {
    let is_named = |number: u64| named.iter().any(|entry| entry.number == number);
    let files = evidence.segments.iter().map(|(&number, file)| (number, file));
    files.filter(|&(number, _)| !is_named(number) && !evidence.is_own_segment(number)).collect()
}

/// Whether files show that there was a later manifest than the one that is left. A crash leaves files of a manifest that
/// was never written, so a manifest that is proven and lacks nothing is not behind.
fn is_behind_files(
    evidence: &Evidence,
    salvaged: &SalvagedManifest,
    manifest: &Manifest,
    named: &[SegmentEntry],
    unnamed: &[(u64, &SegmentFile)],
) -> bool {
    let is_later = |&(number, file): &(u64, &SegmentFile)| {
        number >= manifest.next_segment && file.has_form && file.entry.is_some()
    };
    let has_later_segments = unnamed.iter().any(is_later);
    let first_log_is_gone = !evidence.logs.contains(&manifest.first_log)
        && evidence.logs.last().is_some_and(|last| *last > manifest.first_log);
    let lacks_a_segment = named.iter().any(|entry| !evidence.segments.contains_key(&entry.number));
    let is_later_named = !salvaged.is_latest && !salvaged.other.is_empty();
    is_later_named || has_later_segments && (!salvaged.is_latest || first_log_is_gone || lacks_a_segment)
}

/// Finds the file of a segment: under its own name, or under that of another.
fn planned(
    evidence: &Evidence,
    entry: &SegmentEntry,
    is_named: bool,
    has_later_removals: bool,
) -> PlannedSegment {
    let own = evidence.segments.get_key_value(&entry.number);
    let is_it = |file: &&SegmentFile| file.is_file_of(entry);
    let found = own.filter(|(_, file)| is_it(file));
    let found = found.or_else(|| evidence.segments.iter().find(|(_, file)| is_it(file)));
    let (file, damage) = match (found, own) {
        (Some((number, file)), _) => {
            let form = || "its ids, names, shingles or look-ups are not those of the store".to_owned();
            (Some(*number), file.damage.clone().or_else(|| (!file.has_form).then(form)))
        }
        (None, Some((number, file))) => {
            let differs =
                || format!("it is not the file that the manifest names: {}", difference(file, entry));
            (Some(*number), Some(file.damage.clone().unwrap_or_else(differs)))
        }
        (None, None) => (None, Some("it is missing".to_owned())),
    };
    PlannedSegment { entry: entry.clone(), file, damage, is_named, has_later_removals }
}

fn difference(file: &SegmentFile, entry: &SegmentEntry) -> &'static str {
    if file.file_id != Some(entry.file_id) {
        "its file id differs"
    } else if file.bytes != entry.bytes {
        "its length differs"
    } else {
        "it has another number of fingerprints or pairs"
    }
}

/// Returns the reports of the manifest and its copy, of which at least one is damaged, missing or out of date.
fn texts_reports(
    evidence: &Evidence,
    salvaged: &SalvagedManifest,
    is_behind: bool,
    unknown: u64,
) -> Vec<RepairedFile> {
    let mut files = Vec::new();
    let generation = salvaged.manifest.generation;
    for (at, name) in [MANIFEST, COPY].into_iter().enumerate() {
        match &evidence.texts.read[at] {
            Err(damage) => {
                let mut file = RepairedFile::damaged(name, damage);
                let restored = match salvaged.is_whole() {
                    true if evidence.texts.read[1 - at].is_ok() => "restored from the other copy",
                    true => "restored from what both copies prove",
                    false => "the lines that can be read count",
                };
                file.problems.push(restored.to_owned());
                files.push(file);
            }
            Ok(found) if found.generation == generation => {}
            // A crash between the replacement of the copy and that of the manifest.
            Ok(found) if at == 0 && found.next_generation() == generation && salvaged.is_whole() => {}
            Ok(found) => files.push(RepairedFile::new(
                name,
                format!(
                    "it is of generation {}, and the other of generation {generation}, which counts",
                    found.generation
                ),
            )),
        }
    }
    let mut problems = salvaged.problems.clone();
    if is_behind {
        problems.push("there may have been a later generation; what is left of it counts as well".to_owned());
    }
    if unknown > 0 {
        problems
            .push(format!("{unknown} of its parts are lost, and nothing says how many records they named"));
    }
    if !problems.is_empty() {
        if files.is_empty() {
            files.push(RepairedFile { path: MANIFEST.into(), ..RepairedFile::default() });
        }
        files[0].problems.extend(problems);
        files[0].unknown_parts = unknown;
    }
    files
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use hamdex::{Codec, FilterChoice};

    use super::*;
    use crate::error::Error;
    use crate::maintenance::repair::evidence::Texts;
    use crate::manifest::identity::{Identity, StoreId};
    use crate::manifest::{RemovalsEntry, WrittenBytes, salvage, to_text};

    fn entry(number: u64) -> SegmentEntry {
        let file_id = [number as u8; 16];
        let (bytes, fingerprints, pairs) = (5000 + number, 90, 100);
        SegmentEntry {
            number,
            file_id,
            bytes,
            fingerprints,
            pairs,
            level: 0,
            born: 5,
            applied: 6,
            removals: None,
        }
    }

    fn manifest(generation: u64, segments: &[u64]) -> Manifest {
        let store = StoreId([7; 16]);
        Manifest {
            identity: Identity { store, width: 64, has_ids: true, has_names: false, has_shingles: false },
            distance: 3,
            design: "halves".to_owned(),
            codec: Codec::Huffman,
            filter: FilterChoice::Auto,
            recipe: None,
            shingles: None,
            lookups: false,
            generation,
            sequence: 9,
            first_log: 4,
            sealed: None,
            next_segment: segments.last().map_or(1, |last| last + 1),
            next_id: 0,
            written: WrittenBytes::default(),
            segments: segments.iter().map(|number| entry(*number)).collect(),
        }
    }

    fn file(number: u64) -> SegmentFile {
        let own = entry(number);
        SegmentFile {
            bytes: own.bytes,
            file_id: Some(own.file_id),
            entry: Some(SegmentEntry { born: 0, applied: 0, ..own }),
            has_form: true,
            last_id: None,
            damage: None,
        }
    }

    /// Decides by two texts, the segments that are there, each under its number, and the logs.
    fn decided(texts: [&str; 2], segments: &[u64], logs: &[u64]) -> Plan {
        let salvaged = salvage(texts[0].as_bytes(), texts[1].as_bytes()).unwrap();
        let read = texts.map(|text| {
            crate::manifest::parse(text.as_bytes()).map_err(|_| Error::damaged("text", None, "it is damaged"))
        });
        let evidence = Evidence {
            texts: Texts { read, salvaged: Some(salvaged.clone()) },
            segments: segments.iter().map(|number| (*number, file(*number))).collect::<BTreeMap<_, _>>(),
            logs: logs.to_vec(),
            last_log_file: logs.last().copied(),
            first_sequence: None,
            earlier: None,
        };
        decide(&evidence, &salvaged)
    }

    /// Number, whether it is named, and whether there is a file, of each segment.
    fn outline(plan: &Plan) -> Vec<(u64, bool, bool)> {
        plan.segments.iter().map(|one| (one.entry.number, one.is_named, one.file.is_some())).collect()
    }

    fn unknown(plan: &Plan) -> u64 {
        plan.files.iter().map(|file| file.unknown_parts).sum()
    }

    /// The text of a manifest with a wrong digit in the line of a segment.
    fn damaged(text: &str, segment: u64) -> String {
        text.replacen(&format!("{{\"segment\":{segment},"), "{\"segment\":77,", 1)
    }

    #[test]
    fn a_store_in_order_stays_as_it_is_and_leftovers_are_none_of_it() {
        let text = to_text(&manifest(3, &[1, 2]));
        let plan = decided([&text, &text], &[1, 2, 9], &[4]);
        assert_eq!(outline(&plan), [(1, true, true), (2, true, true)]);
        assert!(plan.files.is_empty() && plan.segments.iter().all(|one| one.damage.is_none()));
        assert_eq!((plan.first_new_segment, plan.new_log, plan.manifest.generation), (10, 5, 4));
    }

    #[test]
    fn a_lost_line_is_made_good_by_its_file_or_counts() {
        let text = to_text(&manifest(3, &[1, 2]));
        let plan = decided(["", &damaged(&text, 1)], &[1, 2], &[4]);
        assert_eq!(outline(&plan), [(1, false, true), (2, true, true)]);
        assert_eq!((unknown(&plan), plan.segments[0].entry.applied), (0, 9));
        let plan = decided(["", &damaged(&text, 1)], &[2], &[4]);
        assert_eq!((outline(&plan), unknown(&plan)), (vec![(2, true, true)], 1));
    }

    #[test]
    fn a_segment_without_pairs_makes_no_lost_line_good() {
        let mut earlier = manifest(3, &[1]);
        earlier.segments[0].removals = Some(RemovalsEntry { version: 1, count: 100 });
        let later = damaged(&to_text(&manifest(4, &[2])), 2);
        let plan = decided([&later, &to_text(&earlier)], &[1], &[4]);
        assert_eq!((outline(&plan), unknown(&plan)), (vec![(1, false, true)], 1));
    }

    #[test]
    fn a_segment_without_a_file_is_lost_and_not_forgotten() {
        let text = to_text(&manifest(3, &[1, 2]));
        assert_eq!(outline(&decided(["", &text], &[2], &[4])), [(1, true, false), (2, true, true)]);
        // A line that is the same in an earlier copy is proven by it; one that is another there is not.
        let later = damaged(&to_text(&manifest(4, &[1, 2])), 1);
        let plan = decided([&later, &text], &[2], &[4]);
        assert_eq!(outline(&plan), [(1, true, false), (2, true, true)]);
        let mut changed = manifest(4, &[1, 2]);
        changed.segments[0].applied = 8;
        let later = damaged(&to_text(&changed), 1);
        let plan = decided([&later, &text], &[2], &[4]);
        assert_eq!(outline(&plan), [(1, false, false), (2, true, true)]);
    }

    #[test]
    fn files_of_a_later_generation_are_taken_unless_a_crash_explains_them() {
        let text = to_text(&manifest(3, &[1, 2]));
        // Segments 1 and 2 were merged into 3, by a manifest of which nothing is left.
        let plan = decided([&text, &text], &[3], &[4]);
        assert_eq!(outline(&plan), [(1, true, false), (2, true, false), (3, false, true)]);
        assert!(!plan.files.is_empty());
        let plan = decided(["", &text], &[1, 2, 3], &[4]);
        assert_eq!(outline(&plan), [(1, true, true), (2, true, true), (3, false, true)]);
        // The manifest is of the generation before its copy: a crash between the two.
        let copy = to_text(&manifest(4, &[3]));
        let plan = decided([&text, &copy], &[1, 2, 3], &[4]);
        assert_eq!((outline(&plan), plan.files.len()), (vec![(3, true, true)], 0));
        // An older one was put back.
        let oldest = to_text(&manifest(1, &[1]));
        let plan = decided([&oldest, &copy], &[3], &[4]);
        assert_eq!((outline(&plan), plan.files.len(), unknown(&plan)), (vec![(3, true, true)], 1, 0));
    }

    #[test]
    fn swapped_files_are_found() {
        let text = to_text(&manifest(3, &[1, 2]));
        let salvaged = salvage(text.as_bytes(), text.as_bytes()).unwrap();
        let read = [crate::manifest::parse(text.as_bytes()).unwrap(), manifest(3, &[1, 2])].map(Ok);
        let evidence = Evidence {
            texts: Texts { read, salvaged: Some(salvaged.clone()) },
            segments: BTreeMap::from([(1, file(2)), (2, file(1))]),
            logs: vec![4],
            last_log_file: Some(4),
            first_sequence: None,
            earlier: None,
        };
        let plan = decide(&evidence, &salvaged);
        let files: Vec<_> = plan.segments.iter().map(|one| (one.file, one.damage.is_some())).collect();
        assert_eq!(files, [(Some(2), false), (Some(1), false)]);
    }
}
