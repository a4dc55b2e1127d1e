//! Files of a store: forged, sealed, and put on a simulated disk.

use std::collections::BTreeMap;
use std::io::Write;

use hamdex_simulated_disk::SimulatedDisk;
use hamdex_store::Operation;
use hamdex_store::disk::Disk;
use hamdex_store::inspect::{Identity, StoreId};
use hamdex_store::internals::Document;
use hamdex_store::internals::log::LogWriter;

/// The store that logs and removals of the targets belong to.
pub const STORE: StoreId = StoreId([0x5a; 16]);

/// The directories of a store.
pub const DIRECTORIES: [&str; 3] = ["segments", "deletes", "log"];

/// The files of a store by their names.
pub type Files = BTreeMap<String, Vec<u8>>;

const LOG_HEADER: usize = 64;
const RECORD_HEADER: usize = 32;

/// A disk with these files, all of them durable.
#[must_use]
pub fn disk_of(files: &Files) -> SimulatedDisk {
    let disk = SimulatedDisk::new();
    for directory in DIRECTORIES {
        disk.create_directory(directory).expect("a simulated disk");
    }
    for (name, bytes) in files {
        let mut file = disk.create_new(name).expect("a simulated disk");
        file.write_all(bytes).expect("a simulated disk");
        file.sync().expect("a simulated disk");
    }
    for directory in ["", "segments", "deletes", "log"] {
        disk.sync_directory(directory).expect("a simulated disk");
    }
    disk
}

/// All files of a store but its lock.
#[must_use]
pub fn files_of(disk: &SimulatedDisk) -> Files {
    let mut files = Files::new();
    for directory in ["", "segments", "deletes", "log"] {
        for name in disk.list(directory).expect("a simulated disk") {
            let name = if directory.is_empty() { name } else { format!("{directory}/{name}") };
            if name != "lock" {
                let bytes = disk.read(&name).expect("it was listed");
                files.insert(name, bytes);
            }
        }
    }
    files
}

/// Gives a text the last line of a manifest: the checksums of the lines before.
#[must_use]
pub fn sealed_manifest(text: &[u8]) -> Vec<u8> {
    let mut lines: Vec<&[u8]> = text.split_inclusive(|&byte| byte == b'\n').collect();
    if lines.last().is_some_and(|last| last.starts_with(b"{\"crc32\"")) {
        lines.pop();
    }
    let checksums: Vec<String> =
        lines.iter().map(|line| format!("\"{:08x}\"", crc32fast::hash(line))).collect();
    let mut sealed = lines.concat();
    sealed.extend(format!("{{\"crc32\":[{}]}}\n", checksums.join(",")).bytes());
    sealed
}

fn checksum(store: StoreId, kind: u64, number: u64, place: u64, bytes: &[u8]) -> [u8; 4] {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&store.0);
    [kind, number, place].iter().for_each(|field| hasher.update(&field.to_le_bytes()));
    hasher.update(bytes);
    hasher.finalize().to_le_bytes()
}

/// Makes the checksums of a log right, as far as its records follow each other.
pub fn seal_log(bytes: &mut [u8], store: StoreId, number: u64, operation_bytes: usize) {
    if bytes.len() < LOG_HEADER {
        return;
    }
    let header = crc32fast::hash(&bytes[..60]).to_le_bytes();
    bytes[60..64].copy_from_slice(&header);
    let mut at = LOG_HEADER;
    while let Some(record) = bytes.get_mut(at..).filter(|rest| rest.len() >= RECORD_HEADER) {
        let count = u32::from_le_bytes(record[24..28].try_into().expect("four bytes")) as usize;
        let end = count.checked_mul(operation_bytes).and_then(|length| length.checked_add(RECORD_HEADER));
        let end = end.filter(|&end| end <= record.len());
        if let Some(end) = end {
            let body = checksum(store, 2, number, at as u64, &record[RECORD_HEADER..end]);
            record[28..32].copy_from_slice(&body);
        }
        let header = checksum(store, 1, number, at as u64, &record[8..32]);
        record[4..8].copy_from_slice(&header);
        match end {
            Some(end) => at += end,
            None => return,
        }
    }
}

/// Makes the checksum of removals right.
pub fn seal_removals(bytes: &mut [u8], store: StoreId, segment: u64, version: u64) {
    if let Some((contents, last)) = bytes.split_last_chunk_mut::<4>() {
        *last = checksum(store, 3, segment, version, contents);
    }
}

/// The bytes of an operation in the log.
#[must_use]
pub fn operation_bytes(identity: &Identity) -> usize {
    1 + identity.width as usize / 8 + if identity.has_ids { 8 } else { 0 }
}

/// The number of a log or segment by the name of its file, and the version of removals.
#[must_use]
pub fn numbers_of(name: &str) -> Option<(u64, u64)> {
    let file = name.rsplit('/').next()?;
    let (number, version) = file.split_once('-').unwrap_or((file, "0"));
    Some((number.parse().ok()?, version.parse().ok()?))
}

/// Names of all lengths for the ids that are inserted, in a store that has names.
fn names(identity: Identity, operations: &[Operation<u64>]) -> Vec<(u64, Document)> {
    let name = |operation: &Operation<u64>| match operation {
        Operation::Insert(_, id) if identity.has_names => {
            Some((*id, Document::from(vec![b'x'; *id as usize - 10])))
        }
        _ => None,
    };
    operations.iter().filter_map(name).collect()
}

/// A log of a few batches.
#[must_use]
pub fn log(identity: Identity, batches: u64) -> Vec<u8> {
    let disk = disk_of(&Files::new());
    let mut log = LogWriter::<u64>::create(&disk, identity, 1, 0).expect("a simulated disk");
    for sequence in 1..=batches {
        let id = |number: u64| if identity.has_ids { sequence * 10 + number } else { 0 };
        let operations: Vec<Operation<u64>> = (0..sequence % 4)
            .map(|number| match number {
                2 => Operation::Remove(number, id(number)),
                _ => Operation::Insert(sequence << 32 | number, id(number)),
            })
            .collect();
        log.push_named(sequence, &operations, &names(identity, &operations));
        if sequence % 3 == 0 {
            log.sync().expect("a simulated disk");
        }
    }
    log.sync().expect("a simulated disk");
    disk.read("log/000001").expect("it was written")
}
