//! Each row of the table of refusals in store-spec.md, with a store that is otherwise as valid as possible.

use std::collections::BTreeMap;

use hamdex::Fingerprint;
use hamdex::{BuildOptions, Builder, OpenOptions, RECIPE_KEY};
use hamdex_simulated_disk::SimulatedDisk;
use hamdex_store::disk::Disk;
use hamdex_store::inspect::{Identity, StoreId};
use hamdex_store::internals::log::{LogWriter, Position, replay};
use hamdex_store::internals::manifest::{
    Manifest, ManifestFile, RemovalsEntry, SegmentEntry, parse, read, to_text,
};
use hamdex_store::internals::removals;
use hamdex_store::{CreateOptions, Error, Operation, ReadOptions, Store, StoreOptions, StoreReader, When};
use roaring::RoaringTreemap;

use crate::common::{IDENTITY, batch, disk};
use crate::manifest::{manifest, sealed};

/// A small store: logs 23 and 24, cleanly closed, and the removals of segment 17.
fn store() -> SimulatedDisk {
    let disk = disk();
    let mut log = LogWriter::create(&disk, IDENTITY, 23, 1).unwrap();
    for sequence in 2..=4 {
        log.push(sequence, &batch(sequence, 2).1);
        log.sync().unwrap();
        if sequence == 3 {
            log.rotate().unwrap();
        }
    }
    let removed = removed();
    let segment = SegmentEntry {
        removals: Some(RemovalsEntry { version: 4, count: removed.len() }),
        ..manifest(1).segments[0].clone()
    };
    removals::write(&disk, IDENTITY.store, &segment, 4, &removed).unwrap();
    let manifest = Manifest { sealed: Some(log.sealed()), segments: vec![segment], ..manifest(1) };
    ManifestFile::new(&disk).replace(&manifest).unwrap();
    disk
}

fn removed() -> RoaringTreemap {
    [3, 50, 70].into_iter().collect()
}

/// Reads all files of these tests.
fn open<F: Fingerprint>(disk: &SimulatedDisk) -> Result<(), Error> {
    let manifest = read(disk)?;
    replay::<F>(disk, &manifest.identity, manifest.logs_start(), manifest.sealed, |_, _| Ok(()))?;
    manifest.segments.iter().try_for_each(|segment| {
        removals::read(disk, manifest.identity.store, segment).map(|found| assert_eq!(found, removed()))
    })
}

/// Replaces a part of the manifest's text, and mends its checksum.
fn edit(disk: &SimulatedDisk, old: &str, new: &str) {
    disk.alter("manifest", |text| {
        let before = String::from_utf8(text.clone()).unwrap();
        let lines = &before[..before.trim_end().rfind('\n').unwrap() + 1];
        assert!(lines.contains(old), "{old} in {lines}");
        *text = sealed(lines.replacen(old, new, 1).as_bytes());
    });
}

/// Sets bytes of a log's header, and mends its checksum.
fn edit_header(disk: &SimulatedDisk, log: &str, at: usize, new: &[u8]) {
    disk.alter(log, |bytes| {
        bytes[at..at + new.len()].copy_from_slice(new);
        let checksum = crc32fast::hash(&bytes[..60]);
        bytes[60..64].copy_from_slice(&checksum.to_le_bytes());
    });
}

fn checksum(kind: u64, number: u64, place: u64, bytes: &[u8]) -> [u8; 4] {
    let numbers = [kind, number, place].map(u64::to_le_bytes).concat();
    crc32fast::hash(&[&IDENTITY.store.0, &numbers[..], bytes].concat()).to_le_bytes()
}

/// Sets bytes of the first record of log 24, and mends its checksums.
fn edit_record(disk: &SimulatedDisk, at: usize, new: &[u8]) {
    disk.alter("log/000024", |bytes| {
        let record = &mut bytes[64..];
        record[at..at + new.len()].copy_from_slice(new);
        let body = checksum(2, 24, 64, &record[32..]);
        record[28..32].copy_from_slice(&body);
        let header = checksum(1, 24, 64, &record[8..32]);
        record[4..8].copy_from_slice(&header);
    });
}

const REMOVALS: &str = "deletes/000017-4";

/// Sets bytes of the removals, and mends their checksum.
fn edit_removals(disk: &SimulatedDisk, at: usize, new: &[u8]) {
    disk.alter(REMOVALS, |bytes| {
        bytes[at..at + new.len()].copy_from_slice(new);
        let end = bytes.len() - 4;
        let checksum = checksum(3, 17, 4, &bytes[..end]);
        bytes[end..].copy_from_slice(&checksum);
    });
}

/// A log of the same store with another first record.
fn other_log(identity: Identity, sequence: u64) -> Vec<u8> {
    let disk = disk();
    let mut log = LogWriter::create(&disk, identity, 23, sequence).unwrap();
    log.push(sequence + 1, &[Operation::Insert(1_u64, if identity.has_ids { 1 } else { 0 })]);
    log.sync().unwrap();
    disk.read("log/000023").unwrap()
}

type Edit = Box<dyn Fn(&SimulatedDisk)>;

/// Bytes of a unit of a log with names: kind, fingerprint, id.
const UNIT: usize = 17;

/// Makes it a store with names, whose one log has a record with the name of id 5, in two units more, and of id 9; then
/// changes that record, and mends its checksums.
fn named(change: fn(&mut [u8])) -> Edit {
    named_twice(change, None)
}

/// Makes it such a store as [`named`], perhaps with a second record, of the name of another id.
fn named_twice(change: fn(&mut [u8]), second: Option<u64>) -> Edit {
    Box::new(move |disk| {
        let identity = Identity { has_names: true, ..IDENTITY };
        let other = crate::common::disk();
        let mut log = LogWriter::create(&other, identity, 23, 1).unwrap();
        let operations = [Operation::Insert(1_u64, 5), Operation::Remove(2, 3), Operation::Insert(1, 9)];
        let names = [(5, b"a name of 20 bytes..".as_slice().into()), (9, b"b".as_slice().into())];
        log.push_named(2, &operations, &names);
        log.sync().unwrap();
        let mut bytes = other.read("log/000023").unwrap();
        assert_eq!(bytes.len(), 64 + 32 + 8 * UNIT);
        let record = &mut bytes[64..];
        change(&mut record[32..]);
        let body = checksum(2, 23, 64, &record[32..]);
        record[28..32].copy_from_slice(&body);
        let header = checksum(1, 23, 64, &record[8..32]);
        record[4..8].copy_from_slice(&header);
        if let Some(id) = second {
            log.push_named(3, &[Operation::Insert(1, id)], &[(id, b"c".as_slice().into())]);
            log.sync().unwrap();
            bytes.extend(&other.read("log/000023").unwrap()[bytes.len()..]);
        }
        disk.alter("log/000023", |log| *log = bytes.clone());
        let sealed = read(disk).unwrap().sealed.unwrap();
        disk.remove("log/000024").unwrap();
        edit(disk, &format!("{{\"log\":24,\"bytes\":{}}}", sealed.bytes), "null");
        edit(disk, "\"ids\":true", "\"ids\":true,\"names\":true");
        edit(disk, "\"next_segment\":19", "\"next_segment\":19,\"next_id\":0");
    })
}

#[test]
fn the_store_with_names_is_whole_as_it_is() {
    let disk = store();
    named(|_| ())(&disk);
    open::<u64>(&disk).unwrap();
    let disk = store();
    named_twice(|_| (), Some(10))(&disk);
    open::<u64>(&disk).unwrap();
}

/// Edits that make a reader refuse a store, by the name of the row; several for some rows.
fn edits() -> Vec<(&'static str, Edit)> {
    let text = |old: &'static str, new: &'static str| -> Edit { Box::new(move |disk| edit(disk, old, new)) };
    let header = |log: &'static str, at: usize, new: &'static [u8]| -> Edit {
        Box::new(move |disk| edit_header(disk, log, at, new))
    };
    let record = |at: usize, new: &'static [u8]| -> Edit { Box::new(move |disk| edit_record(disk, at, new)) };
    let removed =
        |at: usize, new: &'static [u8]| -> Edit { Box::new(move |disk| edit_removals(disk, at, new)) };
    let flip = |name: &'static str, at: usize| -> Edit {
        Box::new(move |disk| disk.alter(name, |bytes| bytes[at] ^= 1))
    };
    let cut = |name: &'static str, length: usize| -> Edit {
        Box::new(move |disk| disk.alter(name, |bytes| bytes.truncate(length)))
    };
    let remove = |name: &'static str| -> Edit { Box::new(move |disk| disk.remove(name).unwrap()) };
    let lines = |lines: &'static [u8]| -> Edit {
        Box::new(move |disk| disk.alter("manifest", |text| *text = sealed(lines)))
    };
    let log = |bytes: Vec<u8>| -> Edit {
        Box::new(move |disk| disk.alter("log/000023", |log| *log = bytes.clone()))
    };
    vec![
        (
            "manifest.none",
            Box::new(|disk| {
                for name in ["manifest", "manifest.copy", "log/000023", "log/000024"] {
                    disk.remove(name).unwrap();
                }
            }),
        ),
        ("manifest.missing", remove("manifest")),
        ("manifest.beginning", flip("manifest", 0)),
        ("manifest.beginning", cut("manifest", 0)),
        // Of another program, and long.
        (
            "manifest.beginning",
            Box::new(|disk| disk.alter("manifest", |text| *text = vec![b' '; (1 << 24) + 1])),
        ),
        ("manifest.length", Box::new(|disk| disk.alter("manifest", |text| text.resize((1 << 24) + 1, b' ')))),
        ("manifest.checksum", flip("manifest", 40)),
        ("manifest.checksum", cut("manifest", 300)),
        ("manifest.newer", text("\"hamdex_store\":1", "\"hamdex_store\":2")),
        (
            // The other lines may be anything then.
            "manifest.newer",
            Box::new(|disk| {
                edit(disk, "\"hamdex_store\":1", "\"hamdex_store\":18446744073709551616");
                disk.alter("manifest", |text| {
                    let second = text.iter().position(|&byte| byte == b'\n').unwrap() + 1;
                    text[second] = 0xff;
                });
            }),
        ),
        (
            "manifest.utf8",
            Box::new(|disk| {
                disk.alter("manifest", |text| {
                    let end = text[..text.len() - 1].iter().rposition(|&byte| byte == b'\n').unwrap() + 1;
                    let lines = text[..end].to_vec();
                    let at = lines.windows(4).position(|word| word == b"halv").unwrap();
                    *text = sealed(&[&lines[..at], b"\xff", &lines[at..]].concat());
                });
            }),
        ),
        ("manifest.lines", lines(b"{\"hamdex_store\":1}\n")),
        ("manifest.lines", text("\"ids\":true,", "")),
        ("manifest.lines", text("\"ids\":true", "\"ids\":true,\"more\":1")),
        ("manifest.lines", text("\"ids\":true", "\"ids\":\"true\"")),
        ("manifest.lines", text("{\"segment\"", "[\"segment\"")),
        ("manifest.text", text("\"ids\":true", "\"ids\": true")),
        ("manifest.text", text("\"hamdex_store\":1", "\"hamdex_store\":0")),
        ("manifest.text", text("\"halves\"", "\"\\u0068alves\"")),
        ("manifest.store", text("\"store\":\"5a", "\"store\":\"5A")),
        ("manifest.store", text("\"store\":\"5a", "\"store\":\"5")),
        ("manifest.width", text("\"width\":64", "\"width\":65")),
        ("manifest.generation", text("\"generation\":1,", "\"generation\":0,")),
        ("manifest.distance", text("\"distance\":3", "\"distance\":65")),
        ("manifest.design", text("\"halves\"", "\"auto\"")),
        ("manifest.design", text("\"halves\"", "\"cover-7\"")),
        ("manifest.design", text("\"distance\":3", "\"distance\":17")),
        ("manifest.codec", text("\"huffman\"", "\"Huffman\"")),
        ("manifest.filter", text("\"huffman\"", "\"huffman\",\"filter\":\"0\"")),
        ("manifest.filter", text("\"huffman\"", "\"huffman\",\"filter\":\"012\"")),
        ("manifest.text", text("\"huffman\"", "\"huffman\",\"filter\":\"auto\"")),
        ("manifest.first-log", text("\"first_log\":23", "\"first_log\":0")),
        ("manifest.first-log", text("\"first_log\":23", "\"first_log\":9007199254740993")),
        ("manifest.sequence", text("\"sequence\":1,", "\"sequence\":9223372036854775808,")),
        ("manifest.sealed", text("{\"log\":24", "{\"log\":22")),
        ("manifest.order", text("\"segment\":17", "\"segment\":0")),
        (
            "manifest.order",
            Box::new(|disk| {
                disk.alter("manifest", |text| {
                    let manifest = hamdex_store::internals::manifest::parse(text).unwrap();
                    let segment = &manifest.segments[0];
                    let manifest = Manifest { segments: vec![segment.clone(), segment.clone()], ..manifest };
                    *text = to_text(&manifest).into_bytes();
                });
            }),
        ),
        ("manifest.names", text("\"next_segment\":19", "\"next_segment\":19,\"next_id\":7")),
        ("manifest.names", text("\"ids\":true", "\"ids\":false,\"names\":true")),
        ("manifest.next-segment", text("\"next_segment\":19", "\"next_segment\":17")),
        ("manifest.next-segment", text("\"next_segment\":19", "\"next_segment\":9007199254740993")),
        ("manifest.file-id", text("\"file_id\":\"11", "\"file_id\":\"1g")),
        ("manifest.counts", text("\"pairs\":100", "\"pairs\":89")),
        ("manifest.counts", text("\"ids\":true", "\"ids\":false")),
        ("manifest.counts", text("\"fingerprints\":90", "\"fingerprints\":0")),
        ("manifest.applied", text("\"applied\":17", "\"applied\":9223372036854775808")),
        ("manifest.removals", text("{\"version\":4", "{\"version\":0")),
        ("manifest.removals", text("{\"version\":4", "{\"version\":9007199254740993")),
        ("manifest.removals", text("\"count\":3", "\"count\":0")),
        ("manifest.removals", text("\"count\":3", "\"count\":101")),
        ("log.missing", remove("log/000023")),
        ("log.missing", remove("log/000024")),
        ("log.missing", Box::new(|disk| disk.create_new("log/000026").map(drop).unwrap())),
        ("log.magic", flip("log/000023", 0)),
        ("log.magic", cut("log/000024", 63)),
        ("log.header-checksum", flip("log/000024", 60)),
        ("log.newer", header("log/000023", 8, &[2])),
        ("log.header", header("log/000023", 8, &[0])),
        ("log.header", header("log/000023", 12, &[63])),
        ("log.header", header("log/000023", 56, &[2])),
        ("log.header", header("log/000023", 59, &[1])),
        // The last log, with nothing but its header: that has been written as a whole, so the log is one.
        ("log.header", fresh_log(|header| header[8] = 0)),
        ("log.header", fresh_log(|header| header[12] = 63)),
        ("log.header", fresh_log(|header| header[59] = 1)),
        ("log.newer", fresh_log(|header| header[8] = 2)),
        ("log.store", fresh_log(|header| header[16] ^= 1)),
        ("log.number", fresh_log(|header| header[32] ^= 1)),
        ("log.continues", fresh_log(|header| header[48..56].fill(0))),
        ("log.store", header("log/000023", 16, &[0])),
        ("log.store", log(other_log(Identity { store: StoreId([1; 16]), ..IDENTITY }, 1))),
        ("log.pairs", header("log/000023", 12, &[128])),
        ("log.pairs", log(other_log(Identity { has_ids: false, ..IDENTITY }, 1))),
        ("log.pairs", header("log/000023", 57, &[1])),
        ("log.header", header("log/000023", 57, &[2])),
        ("log.header", header("log/000023", 32, &[0])),
        ("log.header", header("log/000023", 38, &[32])),
        ("log.header", header("log/000023", 40, &[1, 0, 0, 0, 0, 0, 0, 128])),
        ("log.number", header("log/000023", 32, &[22])),
        ("log.continues", header("log/000024", 48, &[0; 8])),
        ("log.continues", header("log/000024", 48, &[63, 0])),
        ("log.length", cut("log/000023", 64)),
        ("log.length", cut("log/000024", 64)),
        ("log.length", header("log/000024", 48, &[0, 1])),
        ("log.record", flip("log/000023", 64)),
        ("log.record", flip("log/000023", 70)),
        ("log.record", flip("log/000023", 100)),
        ("log.record", flip("log/000024", 120)),
        ("log.record", cut("log/000024", 100)),
        // Impossible fields, under right checksums: no sequence number, synced beyond itself, more operations than
        // allowed.
        ("log.record", record(8, &[0; 8])),
        ("log.record", record(16, &[65])),
        ("log.record", record(24, &[1, 0, 0, 4])),
        ("log.sequence", record(8, &[3])),
        ("log.sequence", header("log/000023", 40, &[3])),
        ("log.operation", record(32, &[0])),
        ("log.operation", record(32 + 17, &[3])),
        ("log.operation", named(|units| units[5 * UNIT] = 5)),
        // A name without its bytes, one that leaves no unit for operations, ids that do not ascend, bytes behind a
        // name, a name that is missing, the name of another id, and of none.
        ("log.names", named(|units| units[2 * UNIT] = 3)),
        ("log.names", named(|units| units[9..17].fill(0xff))),
        ("log.names", named(|units| units[9] = 200)),
        ("log.names", named(|units| units[3 * UNIT + 1] = 5)),
        ("log.names", named(|units| units[3 * UNIT - 1] = 1)),
        ("log.names", named(|units| units[1] = 6)),
        ("log.names", named(|units| units[5 * UNIT] = 2)),
        ("log.names", named(|units| units[6 * UNIT] = 1)),
        ("log.names", named_twice(|_| (), Some(9))),
        ("log.names", named_twice(|_| (), Some(5))),
        ("removals.missing", remove(REMOVALS)),
        ("removals.length", cut(REMOVALS, 75)),
        ("removals.magic", flip(REMOVALS, 3)),
        ("removals.checksum", flip(REMOVALS, 75)),
        ("removals.newer", removed(8, &[2])),
        ("removals.version", removed(8, &[0])),
        ("removals.version", removed(15, &[1])),
        ("removals.file-id", removed(16, &[0])),
        ("removals.fields", removed(32, &[18])),
        ("removals.fields", removed(40, &[5])),
        ("removals.fields", removed(48, &[101])),
        ("removals.fields", removed(56, &[2])),
        ("removals.fields", removed(64, &[1])),
        ("removals.bitmap", removed(72, &[2])),
        ("removals.bitmap", removed(72, &[0])),
        ("removals.bitmap", removed(84, &[0])),
        ("removals.bitmap", runs(&[(3, 0), (50, 0), (70, 0)], 4)),
        ("removals.bitmap", runs(&[(3, 0), (50, 0), (70, 0)], 2)),
        // Runs that touch, that overlap, and that descend, one beyond the last number, and none.
        ("removals.bitmap", runs(&[(3, 1), (5, 0)], 3)),
        ("removals.bitmap", runs(&[(3, 1), (4, 0)], 3)),
        ("removals.bitmap", runs(&[(50, 1), (3, 0)], 3)),
        ("removals.bitmap", runs(&[(65_535, 2)], 3)),
        ("removals.bitmap", runs(&[], 3)),
        // A flag of a container that is not there.
        (
            "removals.bitmap",
            Box::new(|disk| {
                runs(&[(3, 0), (50, 0), (70, 0)], 3)(disk);
                edit_removals(disk, 72 + 8 + 4 + 4, &[3]);
            }),
        ),
        ("removals.places", runs(&[(3, 0), (50, 0), (100, 0)], 3)),
        ("removals.places", runs(&[(3, 0), (50, 0), (70, 1)], 4)),
        ("removals.places", removed(72 + 8 + 4 + 16 + 4, &[100])),
    ]
}

/// Creates a log after the last one, with only a header, which is valid except for the change.
fn fresh_log(change: fn(&mut [u8])) -> Edit {
    Box::new(move |disk| {
        let length = disk.length("log/000024").unwrap();
        let mut header = disk.read_first("log/000024", 64).unwrap();
        header[32..40].copy_from_slice(&25_u64.to_le_bytes());
        header[40..48].copy_from_slice(&5_u64.to_le_bytes());
        header[48..56].copy_from_slice(&length.to_le_bytes());
        change(&mut header);
        let checksum = crc32fast::hash(&header[..60]);
        header[60..64].copy_from_slice(&checksum.to_le_bytes());
        disk.create_new("log/000025").unwrap();
        disk.alter("log/000025", |bytes| bytes.clone_from(&header));
    })
}

/// Removals of one container of runs, each a first number and the number of its successors, with a count in the
/// header of the container.
fn runs(runs: &'static [(u16, u16)], count: u16) -> Edit {
    Box::new(move |disk| {
        disk.alter(REMOVALS, |bytes| {
            let mut bitmap = 1_u64.to_le_bytes().to_vec();
            bitmap.extend([0; 4]);
            bitmap.extend(12_347_u32.to_le_bytes());
            bitmap.push(1);
            for number in [0, count - 1, runs.len() as u16]
                .into_iter()
                .chain(runs.iter().flat_map(|run| [run.0, run.1]))
            {
                bitmap.extend(number.to_le_bytes());
            }
            bytes.truncate(72);
            bytes[64..72].copy_from_slice(&(bitmap.len() as u64).to_le_bytes());
            bytes.extend(bitmap);
            bytes.extend([0; 4]);
        });
        edit_removals(disk, 64, &[]);
    })
}

/// A whole store with one segment of 20 pairs, cleanly closed: with ids, and with names or without.
fn whole_store(names: bool) -> SimulatedDisk {
    let disk = SimulatedDisk::new();
    let shape = CreateOptions::new().names(names);
    let store = Store::<u64>::create_on(disk.clone(), &shape, StoreOptions::new()).unwrap();
    for number in 0..20 {
        match names {
            true => drop(store.put([(number << 40, &format!("name {number}"))], When::always()).unwrap()),
            false => store.insert(number << 40, number).unwrap(),
        }
    }
    store.flush().unwrap();
    store.close().unwrap();
    disk
}

const SEGMENT: &str = "segments/000001.hamdex";

/// Replaces segment 1, and updates its entry in the manifest.
fn other_segment<F: Fingerprint>(options: fn() -> BuildOptions<F>) -> Edit {
    Box::new(move |disk| {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file");
        let options = options();
        let (ids, names, shingles) = (options.has_ids(), options.has_names(), options.has_shingles());
        let mut builder = Builder::with_options(&path, options).unwrap();
        for number in 0..20 {
            let fingerprint = F::truncate(u128::from(number) << 50);
            match ids {
                true => builder.push_with_id(fingerprint, number).unwrap(),
                false => builder.push(fingerprint).unwrap(),
            }
            if names {
                builder.push_name(number, "a name").unwrap();
            }
            if shingles {
                builder.push_shingles(number, &[number]).unwrap();
            }
        }
        builder.finish().unwrap();
        let bytes = std::fs::read(&path).unwrap();
        let file_id = OpenOptions::new().open::<F>(&path).unwrap().file_id().to_bytes();
        disk.alter("manifest", |text| {
            let mut manifest = parse(text).unwrap();
            manifest.segments[0] =
                SegmentEntry { file_id, bytes: bytes.len() as u64, ..manifest.segments[0].clone() };
            *text = to_text(&manifest).into_bytes();
        });
        disk.alter(SEGMENT, |segment| segment.clone_from(&bytes));
    })
}

/// Changes for which a reader refuses a segment, by the name of the row, in a store with names or without.
fn segment_edits() -> Vec<(&'static str, bool, Edit)> {
    // Numbers and file id differ from store to store.
    let change = |change: fn(&mut Manifest)| -> Edit {
        Box::new(move |disk| {
            disk.alter("manifest", |text| {
                let mut manifest = parse(text).unwrap();
                change(&mut manifest);
                *text = to_text(&manifest).into_bytes();
            });
        })
    };
    let flip = |at: usize| -> Edit { Box::new(move |disk| disk.alter(SEGMENT, |bytes| bytes[at] ^= 1)) };
    let ids = || BuildOptions::<u64>::new().ids(true);
    vec![
        ("segment.missing", false, Box::new(|disk| disk.remove(SEGMENT).unwrap())),
        ("segment.file", false, flip(0)),
        ("segment.file", false, flip(40)),
        ("segment.width", false, other_segment(|| BuildOptions::<u128>::new().ids(true))),
        ("segment.file-id", false, change(|manifest| manifest.segments[0].file_id[3] ^= 1)),
        ("segment.length", false, change(|manifest| manifest.segments[0].bytes += 1)),
        ("segment.counts", false, change(|manifest| manifest.segments[0].fingerprints -= 1)),
        ("segment.counts", false, change(|manifest| manifest.segments[0].pairs += 1)),
        ("segment.ids", false, other_segment(BuildOptions::<u64>::new)),
        ("segment.names", false, other_segment(|| BuildOptions::<u64>::new().names(true))),
        ("segment.names", true, other_segment(ids)),
        ("segment.shingles", false, other_segment(|| BuildOptions::<u64>::new().ids(true).shingles(true))),
        ("segment.lookups", false, change(|manifest| manifest.lookups = true)),
        ("segment.next-id", true, change(|manifest| manifest.next_id = 19)),
    ]
}

/// Opens a store for writing and for reading; both must agree.
fn open_whole<F: Fingerprint>(disk: &SimulatedDisk) -> Result<(), Error> {
    let read = StoreReader::<F>::open_on(disk.clone(), ReadOptions::new()).map(drop);
    let written = Store::<F>::open_on(disk.clone(), StoreOptions::new()).map(drop);
    assert_eq!(report(&read), report(&written));
    written
}

#[test]
fn what_a_segment_says_of_its_recipe_has_no_meaning() {
    let disk = whole_store(false);
    other_segment(|| BuildOptions::<u64>::new().ids(true).metadata(RECIPE_KEY, "another"))(&disk);
    let store = Store::<u64>::open_on(disk, StoreOptions::new()).unwrap();
    assert_eq!(store.snapshot().pairs_in_order().count(), 20);
}

#[test]
fn a_removal_that_was_carried_out_may_be_later_than_the_logs_were() {
    let disk = whole_store(false);
    disk.alter("manifest", |text| {
        let mut manifest = parse(text).unwrap();
        manifest.segments[0].applied = 1000;
        *text = to_text(&manifest).into_bytes();
    });
    let store = Store::<u64>::open_on(disk.clone(), StoreOptions::new()).unwrap();
    // A batch of a number up to that one would remove nothing.
    store.remove(3 << 40, 3).unwrap();
    store.close().unwrap();
    let store = Store::<u64>::open_on(disk, StoreOptions::new()).unwrap();
    assert_eq!(store.snapshot().pairs_in_order().count(), 19);
}

fn report(outcome: &Result<(), Error>) -> &'static str {
    match outcome {
        Ok(()) => "none",
        Err(Error::NotAStore { .. }) => "not a store",
        Err(Error::Missing { .. }) => "missing",
        Err(Error::Newer { .. }) => "too new",
        Err(Error::Damaged { .. }) => "damaged",
        Err(Error::Width { .. }) => "another width",
        Err(Error::Read(_)) => "as there",
        Err(_) => "something else",
    }
}

/// The rows of the table: name and report.
fn rows() -> BTreeMap<String, String> {
    let spec = include_str!("../../../../store-spec.md");
    let table =
        spec.split("<!-- refusals -->").nth(1).unwrap().split("<!-- end of refusals -->").next().unwrap();
    let rows = table.lines().filter(|line| line.starts_with("| `")).map(|line| {
        let cells: Vec<_> = line.trim_matches('|').split(" | ").map(str::trim).collect();
        assert_eq!(cells.len(), 3, "{line}");
        (cells[0].trim_matches('`').to_owned(), cells[2].to_owned())
    });
    rows.collect()
}

#[test]
fn every_row_of_the_table_is_refused_as_it_says() {
    open::<u64>(&store()).unwrap();
    let mut rows = rows();
    assert_eq!(report(&open::<u128>(&store())), rows.remove("width").unwrap());
    let mut left = rows.clone();
    for (name, edit) in edits() {
        let disk = store();
        edit(&disk);
        let outcome = open::<u64>(&disk);
        assert_eq!(report(&outcome), rows[name], "{name}: {outcome:?}");
        left.remove(name);
    }
    for (name, names, edit) in segment_edits() {
        let disk = whole_store(names);
        open_whole::<u64>(&disk).unwrap();
        edit(&disk);
        let outcome = open_whole::<u64>(&disk);
        assert_eq!(report(&outcome), rows[name], "{name}: {outcome:?}");
        left.remove(name);
    }
    assert!(left.is_empty(), "rows without a test: {left:?}");
}

#[test]
fn what_is_no_reason_to_refuse_a_store_is_none() {
    type Edit = fn(&SimulatedDisk);
    let harmless: [(&str, Edit); 7] = [
        ("a torn tail", |disk| disk.alter("log/000024", |bytes| bytes.extend([0x89; 100]))),
        ("a log whose creation was interrupted", |disk| drop(disk.create_new("log/000025").unwrap())),
        ("one whose header was written in part", |disk| {
            disk.create_new("log/000025").unwrap();
            disk.alter("log/000025", |bytes| *bytes = [&b"\x89HDXL\r\n\x1a"[..], &[0; 56]].concat());
        }),
        ("bytes behind the end of a log that is followed", |disk| {
            disk.alter("log/000023", |bytes| bytes.extend([7; 9]));
        }),
        ("a leftover log", |disk| drop(disk.create_new("log/000022").unwrap())),
        ("a leftover manifest", |disk| drop(disk.create_new("manifest.new").unwrap())),
        ("a file of another name", |disk| drop(disk.create_new("log/notes").unwrap())),
    ];
    for (what, edit) in harmless {
        let disk = store();
        edit(&disk);
        let count = |disk: &SimulatedDisk| {
            let sealed = read(disk).unwrap().sealed;
            let start = Position::start_of(23, 1);
            replay::<u64>(disk, &IDENTITY, start, sealed, |_, _| Ok(())).unwrap().batches
        };
        open::<u64>(&disk).unwrap_or_else(|error| panic!("{what}: {error}"));
        assert_eq!(count(&disk), 3, "{what}");
    }
}
