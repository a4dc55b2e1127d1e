//! Removals of any bytes, their checksum made right: what is read is written and read again.

use hamdex_store::disk::Disk;
use hamdex_store::internals::manifest::{RemovalsEntry, SegmentEntry};
use hamdex_store::internals::removals::{read, to_bytes};
use roaring::RoaringTreemap;

use crate::store::{Files, STORE, disk_of, seal_removals};

const NAME: &str = "deletes/000017-4";
const PAIRS: u64 = 1 << 34;

/// Reads the input as the removals of a segment, as it is and with a right checksum.
pub fn run(input: &[u8]) {
    // As many as the file says: what is compared with the manifest has tests of its own.
    let count =
        input.get(56..64).map_or(1, |count| u64::from_le_bytes(count.try_into().expect("eight bytes")));
    let mut sealed = input.to_vec();
    seal_removals(&mut sealed, STORE, 17, 4);
    for bytes in [input, &sealed] {
        let segment = segment(count);
        let disk = disk_of(&Files::from([(NAME.to_owned(), bytes.to_vec())]));
        let Ok(removed) = read(&disk, STORE, &segment) else { continue };
        assert_eq!(removed.len(), count);
        assert!(removed.max().is_none_or(|place| place < PAIRS));
        let written = to_bytes(STORE, &segment, 4, &removed);
        let disk = disk_of(&Files::from([(NAME.to_owned(), written)]));
        assert_eq!(read(&disk, STORE, &segment).expect("what was written"), removed);
        assert!(disk.read(NAME).is_ok());
    }
}

fn segment(count: u64) -> SegmentEntry {
    SegmentEntry {
        number: 17,
        file_id: [0x11; 16],
        bytes: 4711,
        fingerprints: PAIRS,
        pairs: PAIRS,
        level: 0,
        born: 1,
        applied: 1,
        removals: Some(RemovalsEntry { version: 4, count }),
    }
}

/// Sets with containers of all kinds.
#[must_use]
pub fn seeds() -> Vec<Vec<u8>> {
    let sets: [RoaringTreemap; 4] = [
        [3, 50, 70].into_iter().collect(),
        (0..5000).map(|place| place * 2).collect(),
        (0..70_000).filter(|place| place % 7 != 0).chain([1 << 33]).collect(),
        [PAIRS - 1].into_iter().collect(),
    ];
    let all = sets.iter().map(|removed| to_bytes(STORE, &segment(removed.len()), 4, removed));
    all.filter(|bytes| bytes.len() < 1 << 15).collect()
}
