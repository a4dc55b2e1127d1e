//! The golden store with names. See tests/golden/README.md.

use hamdex::{Codec, FilterChoice};
use hamdex_store::disk::{Disk, RealDisk};
use hamdex_store::internals::log::{LogWriter, replay};
use hamdex_store::internals::manifest::{Manifest, ManifestFile, Written, read};
use hamdex_store::internals::{Document, Name};
use hamdex_store::{Batch, Identity, Operation, StoreReader};

use crate::golden::{STORE, compare, golden, is_blessing};

const NAMED: Identity =
    Identity { store: STORE, width: 64, has_ids: true, has_names: true, has_shingles: false };

/// The sequence number of a batch, its operations, and the names of the ids that it inserts.
type NamedBatch = (u64, Vec<Operation<u64>>, Vec<Name>);

/// The operations and names of the golden store.
fn named_batches() -> Vec<NamedBatch> {
    let name = |id: u64, name: &str| (id, Document::from(name.as_bytes()));
    let long = "https://example.org/a/name/of/more/units/than/one?ü";
    vec![
        (
            12,
            vec![Operation::Insert(0xff, 40), Operation::Remove(0xff00, 39), Operation::Insert(0xfe, 41)],
            vec![name(40, long), name(41, "")],
        ),
        (13, vec![Operation::Remove(0xff, 40)], Vec::new()),
        (14, vec![Operation::Insert(0xff, 44)], vec![name(44, "0123456789abcdef")]),
    ]
}

/// A store with names, whose last log is the first live one.
fn named() -> (tempfile::TempDir, RealDisk) {
    let directory = tempfile::tempdir().unwrap();
    let disk = RealDisk::new(directory.path());
    for name in ["segments", "deletes", "log"] {
        disk.create_directory(name).unwrap();
    }
    let mut log = LogWriter::<u64>::create(&disk, NAMED, 5, 11).unwrap();
    for (sequence, operations, names) in named_batches() {
        log.push_named(sequence, &operations, &names);
        log.sync().unwrap();
    }
    let manifest = Manifest {
        identity: NAMED,
        distance: 3,
        design: "halves".to_owned(),
        codec: Codec::Huffman,
        filter: FilterChoice::Auto,
        recipe: None,
        shingles: None,
        lookups: false,
        sequence: 11,
        first_log: log.number(),
        sealed: Some(log.sealed()),
        next_segment: 1,
        next_id: 40,
        written: Written { segments: 0, removals: 0, logs: log.bytes(), added: 0 },
        segments: Vec::new(),
    };
    ManifestFile::new(&disk).replace(&manifest).unwrap();
    (directory, disk)
}

#[test]
fn a_golden_store_with_names_is_written_as_ever() {
    let (_directory, disk) = named();
    compare("named", &disk, &["manifest", "log/000005"]);
}

#[test]
fn a_golden_store_with_names_is_read() {
    if is_blessing() {
        return;
    }
    let disk = RealDisk::new(golden("named"));
    let manifest = read(&disk).unwrap();
    assert_eq!((manifest.identity, manifest.next_id), (NAMED, 40));
    let mut batches = Vec::new();
    let replayed =
        replay(&disk, &NAMED, manifest.logs_start(), manifest.sealed, |sequence, batch: &Batch<u64>| {
            batches.push((sequence, batch.operations.clone(), batch.names.clone()));
            Ok(())
        });
    assert!(replayed.unwrap().is_clean);
    assert_eq!(batches, named_batches());
    // Through the public interface.
    let reader = StoreReader::<u64>::open(golden("named")).unwrap();
    let snapshot = reader.snapshot();
    let pairs: Vec<(u64, u64)> = snapshot.pairs_in_order().map(Result::unwrap).collect();
    assert_eq!(pairs, [(0xfe, 41), (0xff, 44)]);
    assert_eq!(snapshot.name(41).unwrap(), Some(&b""[..]));
    assert_eq!(snapshot.name(44).unwrap(), Some(&b"0123456789abcdef"[..]));
}
