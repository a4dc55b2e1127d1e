//! Files of released format versions, which are never changed, and the worked examples of store-spec.md among them.
//! See tests/golden/README.md.

use std::fmt::Write;
use std::path::PathBuf;

use hamdex::{Codec, Design, FilterChoice, Fingerprint};
use hamdex_store::Operation;
use hamdex_store::disk::{Disk, RealDisk};
use hamdex_store::inspect::{Identity, StoreId};
use hamdex_store::internals::log::{LogWriter, replay};
use hamdex_store::internals::manifest::{
    Manifest, ManifestFile, RemovalsEntry, SegmentEntry, WrittenBytes, read, to_text,
};
use hamdex_store::internals::removals;
use roaring::RoaringTreemap;

use crate::common::Batch;

pub(crate) const STORE: StoreId = StoreId([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15]);
const EXAMPLE: Identity =
    Identity { store: STORE, width: 64, has_ids: true, has_names: false, has_shingles: false };
const WIDE: Identity =
    Identity { store: STORE, width: 128, has_ids: false, has_names: false, has_shingles: false };

pub(crate) fn golden(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name)
}

pub(crate) fn is_blessing() -> bool {
    std::env::var_os("HAMDEX_BLESS").is_some()
}

/// A store's files in a new directory, without segments.
fn fresh<F: Fingerprint>(
    identity: Identity,
    log_before: Option<&Batch<F>>,
    batches: &[Batch<F>],
    manifest: impl FnOnce(Manifest) -> Manifest,
) -> (tempfile::TempDir, RealDisk) {
    let directory = tempfile::tempdir().unwrap();
    let disk = RealDisk::new(directory.path());
    for name in ["segments", "deletes", "log"] {
        disk.create_directory(name).unwrap();
    }
    let first = batches[0].0 - 1;
    let mut log = match log_before {
        None => LogWriter::create(&disk, identity, 1, first).unwrap(),
        Some((sequence, operations)) => {
            let mut log = LogWriter::create(&disk, identity, 2, sequence - 1).unwrap();
            log.push(*sequence, operations);
            log.rotate().unwrap();
            disk.remove("log/000002").unwrap();
            log
        }
    };
    for (sequence, operations) in batches {
        log.push(*sequence, operations);
        log.sync().unwrap();
    }
    let plain = Manifest {
        identity,
        distance: 3,
        design: "halves".to_owned(),
        codec: Codec::Huffman,
        filter: FilterChoice::Auto,
        recipe: None,
        shingles: None,
        lookups: false,
        generation: 1,
        sequence: first,
        first_log: log.number(),
        sealed: Some(log.sealed()),
        next_segment: 1,
        next_id: 0,
        written: WrittenBytes { segments: 0, removals: 0, logs: log.bytes(), added: 0 },
        segments: Vec::new(),
    };
    ManifestFile::new(&disk).replace(&manifest(plain)).unwrap();
    (directory, disk)
}

fn example_batches() -> [Batch<u64>; 2] {
    [
        (8, vec![Operation::Insert(0xff, 17), Operation::Remove(0xdead_beef_cafe_f00d, 16)]),
        (9, vec![Operation::Insert(0x0123_4567_89ab_cdef, 18)]),
    ]
}

fn example_removed() -> RoaringTreemap {
    [3, 70_000, 4_294_967_298].into_iter().collect()
}

fn example_segments() -> Vec<SegmentEntry> {
    let first = SegmentEntry {
        number: 1,
        file_id: [0xa1; 16],
        bytes: 16_480,
        fingerprints: 1_000,
        pairs: 1_000,
        level: 0,
        born: 7,
        applied: 7,
        removals: None,
    };
    let removals = Some(RemovalsEntry { version: 1, count: 3 });
    let (fingerprints, pairs) = (4_000_000_000, 5_000_000_000);
    let second = SegmentEntry {
        number: 2,
        file_id: [0xb2; 16],
        bytes: 60_000_000_000,
        fingerprints,
        pairs,
        removals,
        ..first
    };
    vec![first, second]
}

fn example() -> (tempfile::TempDir, RealDisk) {
    let before = (7, vec![Operation::Insert(1, 15)]);
    let store = fresh(EXAMPLE, Some(&before), &example_batches(), |manifest| {
        let written =
            WrittenBytes { segments: 60_000_016_480, removals: 138, logs: 371, added: 60_000_016_480 };
        Manifest { next_segment: 3, segments: example_segments(), written, ..manifest }
    });
    removals::write(&store.1, STORE, &example_segments()[1], 1, &example_removed()).unwrap();
    store
}

fn wide_batches() -> [Batch<u128>; 1] {
    [(1, vec![Operation::Insert(u128::MAX - 5, 0), Operation::Remove(1 << 100, 0)])]
}

/// Compares with the stored files; when blessing, stores.
pub(crate) fn compare(name: &str, disk: &RealDisk, files: &[&str]) {
    for file in files {
        let (stored, fresh) = (golden(name).join(file), disk.read(file).unwrap());
        if is_blessing() {
            std::fs::create_dir_all(stored.parent().unwrap()).unwrap();
            std::fs::write(&stored, &fresh).unwrap();
        }
        let stored = std::fs::read(&stored).unwrap_or_else(|error| panic!("{name}/{file}: {error}"));
        assert!(stored == fresh, "{name}/{file}: fresh bytes differ; see tests/golden/README.md");
    }
}

/// The batches in the logs of a golden store.
fn stored_batches<F: Fingerprint>(name: &str) -> (Manifest, Vec<Batch<F>>) {
    let disk = RealDisk::new(golden(name));
    let manifest = read(&disk).unwrap();
    let mut batches = Vec::new();
    let state =
        replay(&disk, &manifest.identity, manifest.logs_start(), manifest.sealed, |sequence, batch| {
            batches.push((sequence, batch.operations.clone()));
            Ok(())
        });
    assert!(state.unwrap().is_clean);
    (manifest, batches)
}

#[test]
fn golden_files_are_written_as_ever() {
    let (_directory, disk) = example();
    compare("example", &disk, &["manifest", "log/000003", "deletes/000002-1"]);
    let (_directory, disk) = fresh(WIDE, None, &wide_batches(), |manifest| Manifest {
        distance: 6,
        design: "paper-28".to_owned(),
        codec: Codec::EliasFano,
        filter: FilterChoice::Bits(12),
        recipe: Some("a \"recipe\"\n\u{1}\\ü".to_owned()),
        ..manifest
    });
    compare("wide", &disk, &["manifest", "log/000001"]);
}

#[test]
fn golden_files_are_read() {
    if is_blessing() {
        return;
    }
    let (manifest, batches) = stored_batches::<u64>("example");
    assert_eq!(batches, example_batches());
    assert_eq!((manifest.identity, &manifest.segments), (EXAMPLE, &example_segments()));
    let disk = RealDisk::new(golden("example"));
    assert!(removals::read(&disk, STORE, &manifest.segments[0]).unwrap().is_empty());
    assert_eq!(removals::read(&disk, STORE, &manifest.segments[1]).unwrap(), example_removed());
    let (manifest, batches) = stored_batches::<u128>("wide");
    assert_eq!((manifest.identity, batches), (WIDE, wide_batches().into()));
    assert_eq!(manifest.recipe.as_deref(), Some("a \"recipe\"\n\u{1}\\ü"));
}

/// The text between `<!-- name -->` and `<!-- end of name -->` of the spec.
fn compare_with_spec(name: &str, fresh: &str) {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../store-spec.md");
    let spec = std::fs::read_to_string(&path).unwrap();
    let (start, end) = (format!("<!-- {name} -->\n"), format!("<!-- end of {name} -->\n"));
    let (before, rest) = spec.split_once(&start).expect(name);
    let (stored, after) = rest.split_once(&end).expect(name);
    if is_blessing() {
        std::fs::write(path, [before, &start, fresh, &end, after].concat()).unwrap();
    } else {
        assert!(stored == fresh, "{name} in store-spec.md is not what the library gives:\n{fresh}");
    }
}

/// A row per field: its offset, its bytes, and what they mean.
fn table(bytes: &[u8], fields: &[(usize, &str)]) -> String {
    let mut text = String::from("| offset | bytes | meaning |\n|---|---|---|\n");
    let mut at = 0;
    for (length, meaning) in fields {
        let hex: Vec<_> = bytes[at..at + length].iter().map(|byte| format!("{byte:02x}")).collect();
        writeln!(text, "| `{at:04x}` | `{}` | {meaning} |", hex.join(" ")).unwrap();
        at += length;
    }
    assert_eq!(at, bytes.len(), "every byte has its row");
    text
}

fn log_fields() -> Vec<(usize, &'static str)> {
    let header = [
        (8, "magic"),
        (4, "version 1"),
        (4, "width 64"),
        (16, "the store's id"),
        (8, "log 3"),
        (8, "first sequence number 8"),
        (8, "length of log 2: 113"),
        (1, "has ids"),
        (1, "has no names"),
        (2, "reserved"),
        (4, "CRC-32 of bytes 0 to 59"),
    ];
    let first = [
        (4, "marker"),
        (4, "checksum of the header"),
        (8, "batch 8"),
        (8, "synced length 64"),
        (4, "2 operations"),
        (4, "checksum of the operations"),
        (1, "insert"),
        (8, "`00000000000000ff`"),
        (8, "id 17"),
        (1, "remove"),
        (8, "`deadbeefcafef00d`"),
        (8, "id 16"),
    ];
    let second = [
        (4, "marker"),
        (4, "checksum of the header"),
        (8, "batch 9"),
        (8, "synced length 130"),
        (4, "1 operation"),
        (4, "checksum of the operations"),
        (1, "insert"),
        (8, "`0123456789abcdef`"),
        (8, "id 18"),
    ];
    [&header[..], &first, &second].concat()
}

fn removals_fields() -> Vec<(usize, &'static str)> {
    vec![
        (8, "magic"),
        (4, "version of the format 1"),
        (4, "reserved"),
        (16, "file id of segment 2"),
        (8, "segment 2"),
        (8, "version 1"),
        (8, "5,000,000,000 places"),
        (8, "3 of them are gone"),
        (8, "the bitmap has 62 bytes"),
        (8, "bitmap: 2 bitmaps of 32 bits"),
        (4, "high half 0"),
        (4, "no containers of runs"),
        (4, "2 containers"),
        (2, "container 0"),
        (2, "1 number"),
        (2, "container 1"),
        (2, "1 number"),
        (4, "container 0 begins at byte 24"),
        (4, "container 1 begins at byte 26"),
        (2, "3"),
        (2, "70,000 − 65,536"),
        (4, "high half 1"),
        (4, "no containers of runs"),
        (4, "1 container"),
        (2, "container 0"),
        (2, "1 number"),
        (4, "container 0 begins at byte 16"),
        (2, "2"),
        (4, "checksum"),
    ]
}

#[test]
fn golden_examples_of_the_spec_are_what_the_library_writes() {
    let (_directory, disk) = example();
    let text = to_text(&read(&disk).unwrap());
    let mut designs = String::from("| distance | designs |\n|---|---|\n");
    for distance in 0..=64 {
        let names = Design::<u64>::names(distance);
        assert_eq!(names, Design::<u128>::names(distance));
        if !names.is_empty() {
            // A store that is opened can be flushed.
            assert!(names.iter().all(|name| Design::<u64>::named(name, distance).is_ok()));
            assert!(names.iter().all(|name| Design::<u128>::named(name, distance).is_ok()));
            writeln!(designs, "| {distance} | `{}` |", names.join("`, `")).unwrap();
        }
    }
    compare_with_spec("designs", &designs);
    compare_with_spec("example manifest", &format!("```text\n{text}```\n"));
    let log = disk.read("log/000003").unwrap();
    compare_with_spec("example log", &table(&log, &log_fields()));
    let number_and_place = [3u64.to_le_bytes(), 64u64.to_le_bytes()].concat();
    let unit = [&log[16..32], &[1, 0, 0, 0, 0, 0, 0, 0], &number_and_place, &log[72..96]].concat();
    assert_eq!(log[68..72], crc32fast::hash(&unit).to_le_bytes());
    let lines: Vec<_> = unit.chunks(16).map(|line| line.iter().map(|byte| format!("{byte:02x}"))).collect();
    let lines = lines.into_iter().map(|line| line.collect::<Vec<_>>().join(" ") + "\n").collect::<String>();
    compare_with_spec("example checksum", &format!("```text\n{lines}```\n"));
    compare_with_spec(
        "example removals",
        &table(&disk.read("deletes/000002-1").unwrap(), &removals_fields()),
    );
}
