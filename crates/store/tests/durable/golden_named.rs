//! The golden stores with names, and with shingles. See tests/golden/README.md.

use hamdex::{Codec, FilterChoice, FingerprintSet, shingles};
use hamdex_store::disk::{Disk, RealDisk};
use hamdex_store::inspect::Identity;
use hamdex_store::internals::log::{LogWriter, replay};
use hamdex_store::internals::manifest::{Manifest, ManifestFile, WrittenBytes, read};
use hamdex_store::internals::{Document, Name};
use hamdex_store::{Batch, Operation, StoreReader};

use crate::golden::{STORE, compare, golden, is_blessing};

const NAMED: Identity =
    Identity { store: STORE, width: 64, has_ids: true, has_names: true, has_shingles: false };

const SHINGLED: Identity = Identity { has_shingles: true, ..NAMED };

/// The sequence number of a batch, its operations, and the names of the ids that it inserts.
type NamedBatch = (u64, Vec<Operation<u64>>, Vec<Name>);

/// The shingles of the documents of a store with shingles, by id: many, none, one.
fn shingles_of(id: u64) -> Vec<u64> {
    match id {
        40 => (1..=40).map(|number| number * 0x0123_4567_89ab % (1 << shingles::BITS)).collect(),
        41 => Vec::new(),
        _ => vec![(1 << shingles::BITS) - 1],
    }
}

/// The operations and names of the golden store, and shingles if it has them.
fn named_batches(identity: Identity) -> Vec<NamedBatch> {
    let name = |id: u64, name: &str| {
        let mut set = shingles_of(id);
        set.sort_unstable();
        let encoded = shingles::encode(&set).unwrap();
        let document = Document::with_shingles(name.as_bytes(), &encoded);
        (id, if identity.has_shingles { document } else { Document::from(name.as_bytes()) })
    };
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
fn named(identity: Identity) -> (tempfile::TempDir, RealDisk) {
    let directory = tempfile::tempdir().unwrap();
    let disk = RealDisk::new(directory.path());
    for name in ["segments", "deletes", "log"] {
        disk.create_directory(name).unwrap();
    }
    let mut log = LogWriter::<u64>::create(&disk, identity, 5, 11).unwrap();
    for (sequence, operations, names) in named_batches(identity) {
        log.push_named(sequence, &operations, &names);
        log.sync().unwrap();
    }
    let manifest = Manifest {
        identity,
        distance: 3,
        design: "halves".to_owned(),
        codec: Codec::Huffman,
        filter: FilterChoice::Auto,
        recipe: None,
        shingles: identity.has_shingles.then(|| "runs of 5 words".to_owned()),
        lookups: false,
        generation: 1,
        sequence: 11,
        first_log: log.number(),
        sealed: Some(log.sealed()),
        next_segment: 1,
        next_id: 40,
        written: WrittenBytes { segments: 0, removals: 0, logs: log.bytes(), added: 0 },
        segments: Vec::new(),
    };
    ManifestFile::new(&disk).replace(&manifest).unwrap();
    (directory, disk)
}

#[test]
fn a_golden_store_with_names_is_written_as_ever() {
    for (name, identity) in [("named", NAMED), ("shingled", SHINGLED)] {
        let (_directory, disk) = named(identity);
        compare(name, &disk, &["manifest", "log/000005"]);
    }
}

#[test]
fn a_golden_store_with_names_is_read() {
    if is_blessing() {
        return;
    }
    for (name, identity) in [("named", NAMED), ("shingled", SHINGLED)] {
        let disk = RealDisk::new(golden(name));
        let manifest = read(&disk).unwrap();
        assert_eq!((manifest.identity, manifest.next_id), (identity, 40));
        let mut batches = Vec::new();
        let replayed = replay(
            &disk,
            &identity,
            manifest.logs_start(),
            manifest.sealed,
            |sequence, batch: &Batch<u64>| {
                batches.push((sequence, batch.operations.clone(), batch.names.clone()));
                Ok(())
            },
        );
        assert!(replayed.unwrap().is_clean);
        assert_eq!(batches, named_batches(identity));
        // Through the public interface.
        let reader = StoreReader::<u64>::open(golden(name)).unwrap();
        let snapshot = reader.snapshot();
        let pairs: Vec<(u64, u64)> = snapshot.pairs_in_order().map(Result::unwrap).collect();
        assert_eq!(pairs, [(0xfe, 41), (0xff, 44)]);
        assert_eq!(snapshot.name(41).unwrap(), Some(&b""[..]));
        assert_eq!(snapshot.name(44).unwrap(), Some(&b"0123456789abcdef"[..]));
        let mut sets = Vec::new();
        for part in snapshot.shingle_parts(1 << 12).unwrap().unwrap_or_default() {
            let visited = snapshot.visit_shingles(&part, &|| Ok(()), &mut |id, set| {
                sets.push((id.id, set.to_vec()));
                Ok(())
            });
            visited.unwrap();
        }
        let expected = [41, 44].map(|id| (id, shingles_of(id)));
        assert_eq!(sets, if identity.has_shingles { &expected[..] } else { &[] });
    }
}
