//! Manifests: only valid ones are read, and a replacement is atomic.

use hamdex::{Codec, Design, FilterChoice};
use hamdex_simulated_disk::{Failure, SimulatedDisk};
use hamdex_store::Error;
use hamdex_store::disk::Disk;
use hamdex_store::inspect::{Identity, StoreId};
use hamdex_store::internals::log::Sealed;
use hamdex_store::internals::manifest::{
    MAX_NUMBER, Manifest, ManifestFile, RemovalsEntry, SegmentEntry, TextError, WrittenBytes, parse, read,
    salvage, to_text,
};
use proptest::collection::vec;
use proptest::prelude::*;

use crate::common::{IDENTITY, disk, survivals};

fn entry(number: u64) -> SegmentEntry {
    SegmentEntry {
        number,
        file_id: [number as u8; 16],
        bytes: 4711,
        fingerprints: 90,
        pairs: 100,
        level: 2,
        born: 12,
        applied: 17,
        removals: (number % 2 == 1).then_some(RemovalsEntry { version: 4, count: 3 }),
    }
}

/// A manifest that is unique by its number.
pub(crate) fn manifest(sequence: u64) -> Manifest {
    Manifest {
        identity: IDENTITY,
        distance: 3,
        design: "halves".to_owned(),
        codec: Codec::Huffman,
        filter: FilterChoice::Auto,
        recipe: None,
        shingles: None,
        lookups: false,
        generation: sequence.max(1),
        sequence,
        first_log: 23,
        sealed: Some(Sealed { log: 23, bytes: 64 }),
        next_segment: 19,
        next_id: 0,
        written: WrittenBytes { segments: 1, removals: 2, logs: 3, added: 4 },
        segments: vec![entry(17), entry(18)],
    }
}

prop_compose! {
    fn segment(has_ids: bool)(
        file_id in any::<[u8; 16]>(), bytes in any::<u64>(), fingerprints in 0..u64::MAX, more in any::<u64>(),
        level in any::<u32>(), born in any::<u64>(), applied in 0..1_u64 << 63, removals in any::<Option<(u64, u64)>>(),
    ) -> SegmentEntry {
        let pairs = if has_ids && fingerprints > 0 { fingerprints.saturating_add(more) } else { fingerprints };
        let removals = removals.filter(|_| pairs > 0).map(|(version, count)| RemovalsEntry {
            version: version % MAX_NUMBER + 1,
            count: count % pairs + 1,
        });
        SegmentEntry { number: 0, file_id, bytes, fingerprints, pairs, level, born, applied, removals }
    }
}

prop_compose! {
    fn manifests()(has_ids in any::<bool>(), has_names in any::<bool>())(
        has_ids in Just(has_ids || has_names), has_names in Just(has_names), next_id in any::<u64>(), store in any::<[u8; 16]>(), wide in any::<bool>(), distance in 0..=16_u32,
        design in any::<prop::sample::Index>(), [recipe, shingles] in any::<[Option<String>; 2]>(), (elias_fano, filter, lookups, generation) in (any::<bool>(), 0..=65_u32, any::<bool>(), 1..=MAX_NUMBER), sequence in 0..1_u64 << 63,
        first_log in 1..=MAX_NUMBER, sealed in any::<Option<(u64, u64)>>(), written in any::<[u64; 4]>(),
        segments in vec((1..1_000_u64, segment(has_ids || has_names)), 0..5),
    ) -> Manifest {
        let mut last = 0;
        let shingles = shingles.filter(|_| has_names);
        let has_shingles = shingles.is_some();
        let segments: Vec<_> = segments.into_iter().map(|(gap, segment)| {
            last += gap;
            SegmentEntry { number: last, ..segment }
        }).collect();
        Manifest {
            identity: Identity { store: StoreId(store), width: if wide { 128 } else { 64 }, has_ids, has_names, has_shingles },
            distance,
            design: design.get(&Design::<u64>::names(distance)).clone(),
            codec: if elias_fano { Codec::EliasFano } else { Codec::Huffman },
            filter: match filter {
                0 => FilterChoice::None,
                65 => FilterChoice::Auto,
                bits => FilterChoice::Bits(bits),
            },
            recipe,
            shingles,
            lookups: lookups && has_ids,
            generation,
            sequence,
            first_log,
            sealed: sealed.map(|(log, bytes)| Sealed { log: log.max(first_log), bytes }),
            next_segment: last + 1,
            next_id: if has_names { next_id } else { 0 },
            written: WrittenBytes { segments: written[0], removals: written[1], logs: written[2], added: written[3] },
            segments,
        }
    }
}

proptest! {
    #[test]
    fn what_is_written_is_read(manifest in manifests()) {
        let text = to_text(&manifest);
        prop_assert_eq!(parse(text.as_bytes()), Ok(manifest.clone()));
        let salvaged = salvage(text.as_bytes(), b"").unwrap();
        prop_assert!(salvaged.is_whole() && !salvaged.is_latest);
        prop_assert_eq!((salvaged.manifest, salvaged.problems), (manifest, vec![]));
    }

    #[test]
    fn no_bytes_make_it_panic(bytes in vec(any::<u8>(), 0..200), manifest in manifests(), at in any::<prop::sample::Index>()) {
        prop_assert!(parse(&bytes).is_err());
        let mut text = to_text(&manifest).into_bytes();
        let at = at.index(text.len());
        text.splice(at..(at + bytes.len()).min(text.len()), bytes.iter().copied());
        let _ = (parse(&text), salvage(&text, b""), salvage(&bytes, &text), salvage(&text, &text));
    }
}

#[test]
fn every_flipped_bit_and_every_cut_is_refused() {
    let text = to_text(&manifest(1)).into_bytes();
    for bit in 0..text.len() * 8 {
        let mut flipped = text.clone();
        flipped[bit / 8] ^= 1 << (bit % 8);
        assert!(parse(&flipped).is_err(), "bit {bit}");
    }
    for length in 0..text.len() {
        assert!(parse(&text[..length]).is_err(), "{length} bytes");
    }
}

/// Appends a valid last line.
pub(crate) fn sealed(lines: &[u8]) -> Vec<u8> {
    let checksum = |line| format!("\"{:08x}\"", crc32fast::hash(line));
    let checksums: Vec<_> = lines.split_inclusive(|&byte| byte == b'\n').map(checksum).collect();
    [lines, format!("{{\"crc32\":[{}]}}\n", checksums.join(",")).as_bytes()].concat()
}

/// The text of an edited manifest, with a valid checksum.
fn with(old: &str, new: &str) -> Result<Manifest, TextError> {
    let text = to_text(&manifest(1));
    let lines = &text[..text.trim_end().rfind('\n').unwrap() + 1];
    assert!(lines.contains(old), "{old} in {lines}");
    parse(&sealed(lines.replacen(old, new, 1).as_bytes()))
}

#[test]
fn there_is_one_text_for_each_manifest() {
    for (old, new) in [
        ("\"width\":64", "\"width\": 64"),
        ("\"width\":64", "\"width\":064"),
        ("\"design\":\"halves\"", "\"design\":\"\\u0068alves\""),
        (",\"recipe\":null", ""),
        ("\"recipe\":null", "\"recipe\":null,\"more\":1"),
        ("\"distance\":3", "\"distance\":3,\"distance\":3"),
        ("\"store\":\"5a", "\"store\":\"5A"),
        ("\"sequence\":1,", "\"sequence\":1.0,"),
        ("\"generation\":1,", ""),
        ("\"first_log\":23", "\"first_log\":18446744073709551616"),
        ("}\n{\"generation\"", "}\n\n{\"generation\""),
        ("\"ids\":true", "\"ids\":1"),
    ] {
        assert!(matches!(with(old, new), Err(TextError::Damaged { .. })), "{new}: {:?}", with(old, new));
    }
    assert_eq!(with("", ""), Ok(manifest(1)));
}

#[test]
fn what_cannot_be_is_refused_under_a_right_checksum() {
    for (old, new, says) in [
        ("\"width\":64", "\"width\":32", "width of 32"),
        ("\"distance\":3", "\"distance\":65", "distance of 65"),
        ("\"codec\":\"huffman\"", "\"codec\":\"lz\"", "unknown codec \"lz\""),
        (
            "\"huffman\"",
            "\"huffman\",\"filter\":\"65\"",
            "use auto, none or 1 to 64 bits per fingerprint, not \"65\"",
        ),
        (
            "\"design\":\"halves\"",
            "\"design\":\"auto\"",
            "a design \"auto\"; the designs for distance 3 are: single, halves, thirds",
        ),
        ("\"distance\":3", "\"distance\":17", "are: none"),
        ("\"applied\":17", "\"applied\":9223372036854775808", "segment 17"),
        ("\"generation\":1,", "\"generation\":0,", "impossible generation"),
        ("\"generation\":1,", "\"generation\":9007199254740993,", "impossible generation"),
        ("\"first_log\":23", "\"first_log\":0", "impossible first log"),
        ("\"first_log\":23", "\"first_log\":24", "sealed log"),
        ("\"next_segment\":19", "\"next_segment\":18", "impossible next segment"),
        ("\"segment\":17", "\"segment\":18", "ascending"),
        ("\"segment\":17", "\"segment\":0", "segment 0"),
        ("\"pairs\":100", "\"pairs\":89", "segment 17"),
        ("\"count\":3", "\"count\":101", "segment 17"),
        ("\"count\":3", "\"count\":0", "segment 17"),
        ("\"version\":4", "\"version\":0", "segment 17"),
        ("\"file_id\":\"11", "\"file_id\":\"1", "file id"),
    ] {
        match with(old, new) {
            Err(TextError::Damaged { what, .. }) => assert!(what.contains(says), "{new}: {what}"),
            outcome => panic!("{new}: {outcome:?}"),
        }
    }
}

#[test]
fn a_newer_format_is_refused_as_such_whatever_its_lines_say() {
    assert_eq!(with("\"hamdex_store\":1", "\"hamdex_store\":2"), Err(TextError::Newer(2)));
    assert_eq!(parse(&sealed(b"{\"hamdex_store\":7}\nanything\n")), Err(TextError::Newer(7)));
    // Damage comes first: a damaged version is none.
    let text = to_text(&manifest(1)).replacen("\"hamdex_store\":1", "\"hamdex_store\":2", 1);
    assert!(matches!(parse(text.as_bytes()), Err(TextError::Damaged { .. })));
}

#[test]
fn a_directory_without_a_manifest_is_no_store() {
    assert!(matches!(read(&disk()), Err(Error::NotAStore { .. })));
    let other = disk();
    std::io::Write::write_all(&mut other.create_new("manifest").unwrap(), b"of another program").unwrap();
    assert!(matches!(read(&other), Err(Error::NotAStore { .. })));
    let long = disk();
    let text = "{\"hamdex_store\":1".to_owned() + &" ".repeat(1 << 24);
    std::io::Write::write_all(&mut long.create_new("manifest").unwrap(), text.as_bytes()).unwrap();
    assert!(matches!(read(&long), Err(Error::Damaged { .. })));
}

/// Replaces the manifest repeatedly. Returns the last certain one and the last attempted one.
fn replace_all(disk: &SimulatedDisk) -> (u64, u64) {
    let (mut certain, mut tried) = (0, 0);
    let mut file = ManifestFile::new(disk);
    for sequence in 1..=4 {
        tried = sequence;
        match file.replace(&manifest(sequence)) {
            Ok(()) => certain = sequence,
            Err(_) if file.is_poisoned() => {
                assert!(matches!(file.replace(&manifest(9)), Err(Error::Poisoned { .. })));
                break;
            }
            // The old one counts, and there is nothing in the way of the next one.
            Err(_) if certain > 0 => {
                if let Ok(found) = read(disk) {
                    assert_eq!(found, manifest(certain));
                }
            }
            Err(_) => {}
        }
    }
    (certain, tried)
}

fn check_replaced(disk: &SimulatedDisk, (certain, tried): (u64, u64)) {
    for survival in survivals(20) {
        match read(&disk.crashed(survival)) {
            Ok(found) => {
                assert!((certain..=tried).contains(&found.sequence), "{} of {certain}", found.sequence);
                assert_eq!(found, manifest(found.sequence));
            }
            Err(error) => {
                // Of the first one, the copy may be there by itself, and the files that it names are not.
                let is_none = matches!(error, Error::NotAStore { .. } | Error::Missing { .. });
                assert!(certain == 0 && is_none, "{survival:?}: {error}");
            }
        }
    }
}

#[test]
fn after_a_crash_at_any_operation_there_is_one_whole_manifest() {
    let whole = disk();
    assert_eq!(replace_all(&whole), (4, 4));
    for changes in 0..=whole.changes() {
        let disk = disk();
        disk.lose_power_after(changes.max(disk.changes()));
        let known = replace_all(&disk);
        check_replaced(&disk, known);
    }
}

#[test]
fn after_a_failure_of_any_operation_there_is_one_whole_manifest() {
    let whole = disk();
    replace_all(&whole);
    for operation in 1..=whole.operations() {
        for failure in [Failure::Io, Failure::Full] {
            let disk = disk();
            disk.fail_operation(operation.max(disk.operations() + 1), failure);
            let known = replace_all(&disk);
            check_replaced(&disk, known);
        }
    }
}

/// A text with a part replaced, and its checksums as they were.
fn damaged(text: &str, old: &str, new: &str) -> String {
    assert!(text.contains(old), "{old}");
    let damaged = text.replacen(old, new, 1);
    assert!(parse(damaged.as_bytes()).is_err());
    damaged
}

/// The manifest without the entry of a segment.
fn without(number: u64) -> Manifest {
    let segments = manifest(7).segments.into_iter().filter(|segment| segment.number != number).collect();
    Manifest { segments, ..manifest(7) }
}

#[test]
fn a_damaged_manifest_is_salvaged_but_for_the_damage() {
    let text = to_text(&manifest(7));
    let salvaged = |old: &str, new: &str| {
        let found = salvage(damaged(&text, old, new).as_bytes(), b"")?;
        assert_eq!(found.is_whole(), found.problems.is_empty());
        Some((found.manifest, found.problems.concat(), found.is_certain))
    };
    let lost = |line| format!("line {line} is damaged; its entry of a segment is lost");
    assert_eq!(salvaged("\"segment\":18", "\"segment\":\u{7}18"), Some((without(18), lost(4), true)));
    let digit = salvaged("\"applied\":17", "\"applied\":16");
    assert_eq!(digit, Some((without(17), lost(3), true)), "a digit alone");
    let uncertain = "line 2 is damaged, and may be wrong".to_owned();
    assert_eq!(salvaged("\"logs\":3", "\"logs\":7").unwrap().1, uncertain);
    let nothing = "the checksums are damaged: nothing in it is certain";
    let (_, problems, is_certain) = salvaged("{\"crc32\":[", "{\"crc32\":{{").unwrap();
    assert!(problems.starts_with(nothing) && !is_certain, "{problems}");
    // One changed byte of the last line costs nothing.
    assert_eq!(salvaged("{\"crc32\":[", "{\"crc32\":{").unwrap(), (manifest(7), String::new(), true));
    let (found, problems, is_certain) = salvaged("\"sequence\":7", "\"sequence\":x").unwrap();
    assert_eq!(
        (found.segments, &problems[..]),
        (manifest(7).segments, "line 2 is damaged, and taken from the files")
    );
    assert!(!is_certain);
    assert_eq!(salvage(b"{\"hamdex_store\":1", b""), None);
    assert_eq!(salvage(b"", b""), None);
    let contradicting = Manifest { segments: vec![entry(18), entry(17)], next_segment: 17, ..manifest(7) };
    let salvaged = salvage(to_text(&contradicting).as_bytes(), b"").unwrap();
    assert_eq!((&salvaged.manifest.segments[..], salvaged.manifest.next_segment), (&[entry(18)][..], 19));
    assert_eq!(
        salvaged.problems,
        ["the entry of segment 17 is impossible", "the next segment number was too small: 17"]
    );
}

/// Whatever single bit of one text and of the other is flipped, both prove the manifest together, unless it is the same.
#[test]
fn two_damaged_texts_of_one_generation_prove_the_manifest_together() {
    let text = to_text(&manifest(7)).into_bytes();
    let flipped = |bit: usize| {
        let mut text = text.clone();
        text[bit / 8] ^= 1 << (bit % 8);
        text
    };
    let bits = text.len() * 8;
    let breaks_a_line = |bit: usize| text[bit / 8] == b'\n' || text[bit / 8] ^ 1 << (bit % 8) == b'\n';
    let mut tried = 0;
    for bit in (0..bits).step_by(7) {
        for other in [bit + 8, bit + 640, bits / 2, bits - 30] {
            let other = other % bits;
            if bit / 8 == other / 8 || breaks_a_line(bit) && breaks_a_line(other) {
                continue;
            }
            let found = salvage(&flipped(bit), &flipped(other)).unwrap();
            assert!(found.is_whole() && found.is_latest, "{bit} {other}: {:?}", found.problems);
            assert_eq!(found.manifest, manifest(7), "{bit} {other}");
            tried += 1;
        }
        // With a text that is whole nothing is lost, even the first.
        for found in [salvage(&flipped(bit), &text), salvage(&text, &flipped(bit))] {
            let found = found.unwrap();
            assert!(found.is_whole(), "{bit}: {:?}", found.problems);
            assert_eq!(found.manifest, manifest(7), "{bit}");
        }
    }
    assert!(tried > bits / 4, "{tried}");
}

#[test]
fn the_later_generation_counts_and_the_other_is_not_forgotten() {
    let current = to_text(&manifest(7));
    let before = Manifest { segments: vec![entry(16), entry(17)], ..manifest(6) };
    let before = to_text(&before);
    let salvaged = |one: &str, other: &str| {
        let found = salvage(one.as_bytes(), other.as_bytes()).unwrap();
        let numbers = |entries: &[SegmentEntry]| entries.iter().map(|entry| entry.number).collect::<Vec<_>>();
        (
            found.manifest.generation,
            numbers(&found.manifest.segments),
            numbers(&found.other),
            found.lost_lines,
        )
    };
    assert_eq!(salvaged(&current, &before), (7, vec![17, 18], vec![16], 0));
    assert_eq!(salvaged(&before, &current), (7, vec![17, 18], vec![16], 0));
    // A line that is damaged in the later one, and whole in the earlier one.
    let line = damaged(&current, "{\"segment\":17", "{\"segment\":71");
    assert_eq!(salvaged(&before, &line), (7, vec![17, 18], vec![16], 0));
    let line = damaged(&current, "{\"segment\":18", "{\"segment\":81");
    assert_eq!(salvaged(&line, &before), (7, vec![17], vec![16], 1));
    // Of a damaged state the generation is not known: the other text may be the earlier one.
    let state = damaged(&current, "\"sequence\":7", "\"sequence\":9");
    let found = salvage(state.as_bytes(), before.as_bytes()).unwrap();
    assert!(found.is_whole() && !found.is_latest);
    assert_eq!((found.manifest.generation, &found.other[..]), (6, &[entry(18)][..]));
    // The line of the store is the same in both.
    let id = manifest(7).identity.store.to_string();
    let spoilt = damaged(&current, &id, &id.replace(|_: char| true, "x"));
    let found = salvage(spoilt.as_bytes(), before.as_bytes()).unwrap();
    assert!(found.is_whole() && found.is_latest);
    assert_eq!(found.manifest, manifest(7));
}

#[test]
fn a_manifest_that_no_store_can_have_replaces_none() {
    let (disk, before) = (disk(), manifest(1));
    let mut file = ManifestFile::new(&disk);
    file.replace(&before).unwrap();
    let removals = Some(RemovalsEntry { version: MAX_NUMBER + 1, count: 3 });
    for impossible in [
        Manifest { first_log: 0, ..manifest(2) },
        Manifest { next_segment: MAX_NUMBER + 1, ..manifest(2) },
        Manifest { segments: vec![SegmentEntry { removals, ..entry(17) }], ..manifest(2) },
    ] {
        assert!(matches!(file.replace(&impossible), Err(Error::Io { .. })));
        assert_eq!(read(&disk).unwrap(), before);
    }
    file.replace(&manifest(2)).unwrap();
}
