//! A log of any bytes, its checksums made right, read by the store and by a second reader, written from store-spec.md
//! sections 6 and 9 alone.

use byteorder::{ByteOrder, LittleEndian as Le};
use hamdex_store::disk::Disk;
use hamdex_store::inspect::Identity;
use hamdex_store::internals::log::{LogWriter, Position, Sealed, replay, salvage};
use hamdex_store::{Batch, Error, Operation};

use crate::store::{Files, STORE, disk_of, log, operation_bytes, seal_log};

/// Each with its sequence number.
type Batches = Vec<(u64, Batch<u64>)>;

const LOG: &str = "log/000001";

/// The first byte says what the store is like; the others are its log.
pub fn run(input: &[u8]) {
    let Some((&kind, bytes)) = input.split_first() else { return };
    let identity = identity(kind);
    let sealed = (kind & 4 != 0).then_some(Sealed { log: 1, bytes: u64::from(kind >> 4) * 40 });
    read(bytes, &identity, sealed);
    let mut bytes = bytes.to_vec();
    seal_log(&mut bytes, STORE, 1, operation_bytes(&identity));
    read(&bytes, &identity, sealed);
}

/// The kind of store that the first byte of an input selects.
fn identity(kind: u8) -> Identity {
    Identity {
        store: STORE,
        width: 64,
        has_ids: kind & 1 != 0,
        has_names: kind & 3 == 3,
        has_shingles: false,
    }
}

fn read(bytes: &[u8], identity: &Identity, sealed: Option<Sealed>) {
    let disk = disk_of(&Files::from([(LOG.to_owned(), bytes.to_vec())]));
    let start = Position::start_of(1, 0);
    let mut batches = Batches::new();
    let replayed = replay::<u64>(&disk, identity, start, sealed, |sequence, batch| {
        batches.push((sequence, batch.clone()));
        Ok(())
    });
    match (second_reader(bytes, identity, sealed), &replayed) {
        (Some(expected), Ok(replayed)) => {
            assert_eq!(batches, expected.0);
            assert_eq!(replayed.end.offset, expected.1);
        }
        (None, Err(error)) => assert!(!matches!(error, Error::Io { .. }), "{error}"),
        (expected, found) => panic!("{expected:?} by the specification, {found:?} by the store"),
    }
    // A salvage has at least the intact records.
    let mut saved = Batches::new();
    let _ = salvage::<u64>(&disk, identity, start, sealed, |sequence, batch| {
        saved.push((sequence, batch.clone()));
        Ok(())
    });
    if let Ok(replayed) = replayed {
        assert!(batches.iter().all(|batch| saved.contains(batch)), "{saved:?} lacks some of {batches:?}");
        // The log goes on where it ended.
        if let Ok(mut writer) = LogWriter::<u64>::resume(&disk, *identity, &replayed) {
            let next = replayed.end.sequence + 1;
            if next >> 63 > 0 {
                return;
            }
            writer.push(next, &[]);
            writer.sync().expect("a simulated disk");
            let mut last = 0;
            let again = replay::<u64>(&disk, identity, start, None, |sequence, _| {
                last = sequence;
                Ok(())
            });
            assert_eq!((again.map(|again| again.batches).ok(), last), (Some(replayed.batches + 1), next));
            assert!(disk.read(LOG).is_ok());
        }
    }
}

/// The batches and the end of a log, if it is not damaged.
fn second_reader(bytes: &[u8], identity: &Identity, sealed: Option<Sealed>) -> Option<(Batches, u64)> {
    let header = bytes.get(..64)?;
    let is_header = header[..8] == *b"\x89HDXL\r\n\x1a"
        && Le::read_u32(&header[60..]) == crc32fast::hash(&header[..60])
        && (Le::read_u32(&header[8..]), Le::read_u32(&header[12..])) == (1, identity.width)
        && header[16..32] == identity.store.0
        && Le::read_u64(&header[32..]) == 1
        && Le::read_u64(&header[40..]) <= 1 << 63
        && header[56..60] == [u8::from(identity.has_ids), u8::from(identity.has_names), 0, 0];
    if !is_header {
        return None;
    }
    let mut last = 0;
    let first = Le::read_u64(&header[40..]);
    let mut batches = Batches::new();
    let mut at = 64;
    while let Some((sequence, body)) = good_record(bytes, at, identity) {
        if sequence <= last || sequence < first {
            return None;
        }
        last = sequence;
        let units: Vec<&[u8]> = body.chunks(operation_bytes(identity)).collect();
        batches.push((sequence, if identity.has_names { named(&units)? } else { operations(&units)? }));
        at += 32 + body.len();
    }
    let ids = || batches.iter().flat_map(|(_, batch)| batch.names.iter().map(|(id, _)| id));
    if !ids().is_sorted_by(|a, b| a < b) {
        return None;
    }
    let synced = (at..bytes.len()).filter_map(|at| good_header(bytes, at)).map(|header| header.synced).max();
    let sealed = sealed.map_or(0, |sealed| sealed.bytes);
    (synced.unwrap_or(0).max(sealed) <= at as u64).then_some((batches, at as u64))
}

struct Header {
    sequence: u64,
    synced: u64,
    count: usize,
}

fn good_header(bytes: &[u8], at: usize) -> Option<Header> {
    let record = bytes.get(at..at + 32)?;
    let (sequence, synced) = (Le::read_u64(&record[8..]), Le::read_u64(&record[16..]));
    let count = Le::read_u32(&record[24..]);
    let is_good = record[..4] == *b"\x89HDR"
        && Le::read_u32(&record[4..]) == checksum(1, at, &record[8..])
        && (1..1 << 63).contains(&sequence)
        && synced <= at as u64
        && count <= 1 << 26;
    is_good.then_some(Header { sequence, synced, count: count as usize })
}

fn good_record<'b>(bytes: &'b [u8], at: usize, identity: &Identity) -> Option<(u64, &'b [u8])> {
    let header = good_header(bytes, at)?;
    let body = bytes.get(at + 32..)?.get(..header.count * operation_bytes(identity))?;
    (Le::read_u32(&bytes[at + 28..]) == checksum(2, at, body)).then_some((header.sequence, body))
}

/// The units of a record in a store with names: first these, then operations.
fn named(mut units: &[&[u8]]) -> Option<Batch<u64>> {
    let mut names = Vec::new();
    while let Some((first, rest)) = units.split_first().filter(|(first, _)| first[0] == 3) {
        let (id, length) = (Le::read_u64(&first[1..]), usize::try_from(Le::read_u64(&first[9..])).ok()?);
        let (of_name, rest) = rest.split_at_checked(length.div_ceil(first.len() - 1))?;
        let mut name = of_name.iter().flat_map(|unit| &unit[1..]).copied().collect::<Vec<u8>>();
        let zeros = name.split_off(length).into_iter().chain(first[17..].iter().copied());
        if of_name.iter().any(|unit| unit[0] != 4) || zeros.into_iter().any(|byte| byte != 0) {
            return None;
        }
        names.push((id, name.into()));
        units = rest;
    }
    let batch = Batch { names, ..operations(units)? };
    let inserted = batch.operations.iter().filter_map(|operation| match operation {
        Operation::Insert(_, id) => Some(id),
        Operation::Remove(..) => None,
    });
    inserted.eq(batch.names.iter().map(|(id, _)| id)).then_some(batch)
}

fn operations(units: &[&[u8]]) -> Option<Batch<u64>> {
    let operations = units.iter().copied().map(operation).collect::<Option<_>>()?;
    Some(Batch { operations, names: Vec::new() })
}

fn operation(bytes: &[u8]) -> Option<Operation<u64>> {
    let fingerprint = Le::read_u64(&bytes[1..]);
    let id = if bytes.len() > 9 { Le::read_u64(&bytes[9..]) } else { 0 };
    match bytes[0] {
        1 => Some(Operation::Insert(fingerprint, id)),
        2 => Some(Operation::Remove(fingerprint, id)),
        _ => None,
    }
}

/// The checksum of a part of a record of log 1. The checksum of a header covers the bytes after itself.
fn checksum(kind: u64, at: usize, bytes: &[u8]) -> u32 {
    let context = [&STORE.0[..], &kind.to_le_bytes(), &1u64.to_le_bytes(), &(at as u64).to_le_bytes()];
    crc32fast::hash(&[&context.concat()[..], bytes].concat())
}

/// Logs with and without ids and names.
#[must_use]
pub fn seeds() -> Vec<Vec<u8>> {
    let of = |kind: u8, batches| [&[kind][..], &log(identity(kind), batches)].concat();
    vec![of(0, 6), of(1, 6), of(1 | 4 | 3 << 4, 2), of(0, 0), of(1, 1), of(3, 6), of(3 | 4 | 3 << 4, 2)]
}
