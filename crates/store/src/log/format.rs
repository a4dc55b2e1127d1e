//! The bytes of a log, as `store-spec.md` describes them: its header, and its records, one for each batch.
//!
//! The header:
//!
//! ```text
//! 0    8  magic
//! 8    4  version of the format
//! 12   4  width of a fingerprint, in bits
//! 16  16  the store's id
//! 32   8  the log's number
//! 40   8  the least sequence number that its records can have
//! 48   8  bytes of the log before this one; 0 if this one continues none
//! 56   1  whether pairs have ids
//! 57   1  whether ids have names: 2 if they have shingles as well
//! 58   2  zero
//! 60   4  CRC-32 of bytes 0 to 59, without context
//! ```
//!
//! A record:
//!
//! ```text
//! 0   4  marker
//! 4   4  CRC-32 of bytes 8 to 31
//! 8   8  sequence number
//! 16  8  length of the synced part of the log when this was written
//! 24  4  number of operations
//! 28  4  CRC-32 of the operations
//! 32  …  the operations: 1 byte for the kind, the fingerprint, the id if there are ids
//! ```
//!
//! In a store with names, the names of the ids that a record inserts come before its operations, in units of the same
//! length, which count as operations: one with the id and the length of the name, then its bytes.
//!
//! In a store with shingles, the bytes of a name are 4 bytes with its length, the name, and the encoded shingles of its
//! document.
//!
//! The header of a record has a checksum of its own, so that the synced length is reliable even if the operations are torn.

use hamdex::Fingerprint;

use crate::disk::layout::MAX_NUMBER;
use crate::manifest::identity::{Identity, StoreId};
use crate::manifest::identity::{Kind, checksum};
use crate::write::{Batch, Document, Name, Operation};

pub(crate) const HEADER_BYTES: usize = 64;

/// As in PNG: a byte that is not text, the name, and bytes that a conversion of line ends would change.
pub(crate) const MAGIC: [u8; 8] = *b"\x89HDXL\r\n\x1a";

/// The version of the format of logs.
pub(crate) const VERSION: u32 = 1;

/// The header of a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Header {
    pub(crate) identity: Identity,
    pub(crate) number: u64,
    pub(crate) first_sequence: u64,
    /// The length of the previous log; 0 if this one continues none.
    pub(crate) previous_bytes: u64,
}

/// The error of invalid header bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum HeaderError {
    Newer(u32),
    /// The header was only partly written, or damaged later.
    Torn(&'static str),
    /// The header has a valid checksum, but no writer writes it.
    Damaged(&'static str),
}

impl Header {
    pub(crate) fn to_bytes(self) -> [u8; HEADER_BYTES] {
        let mut bytes = [0; HEADER_BYTES];
        bytes[..8].copy_from_slice(&MAGIC);
        bytes[8..12].copy_from_slice(&VERSION.to_le_bytes());
        bytes[12..16].copy_from_slice(&self.identity.width.to_le_bytes());
        bytes[16..32].copy_from_slice(&self.identity.store.0);
        bytes[32..40].copy_from_slice(&self.number.to_le_bytes());
        bytes[40..48].copy_from_slice(&self.first_sequence.to_le_bytes());
        bytes[48..56].copy_from_slice(&self.previous_bytes.to_le_bytes());
        bytes[56] = u8::from(self.identity.has_ids);
        bytes[57] = u8::from(self.identity.has_names) + u8::from(self.identity.has_shingles);
        let checksum = crc32fast::hash(&bytes[..60]);
        bytes[60..].copy_from_slice(&checksum.to_le_bytes());
        bytes
    }

    /// Returns the length of the log before by a damaged header of which at most one byte has changed: the header that is
    /// read if all else in it is known, or that of a log before of the present length.
    pub(crate) fn proven_previous_bytes(
        bytes: &[u8],
        identity: &Identity,
        number: u64,
        present: u64,
    ) -> Option<u64> {
        let (bytes, _) = bytes.split_first_chunk::<HEADER_BYTES>()?;
        [u64_at(bytes, 48), present].into_iter().find(|&previous_bytes| {
            let header =
                Self { identity: *identity, number, first_sequence: u64_at(bytes, 40), previous_bytes };
            header.to_bytes().iter().zip(bytes).filter(|(right, found)| right != found).count() == 1
        })
    }

    /// Parses a header and checks each field by itself.
    pub(crate) fn parse(bytes: &[u8]) -> Result<Self, HeaderError> {
        let Some((bytes, _)) = bytes.split_first_chunk::<HEADER_BYTES>() else {
            return Err(HeaderError::Torn("the header is cut short"));
        };
        if bytes[..8] != MAGIC {
            return Err(HeaderError::Torn("it does not begin as a log does"));
        }
        if crc32fast::hash(&bytes[..60]) != u32_at(bytes, 60) {
            return Err(HeaderError::Torn("the header's checksum differs"));
        }
        match u32_at(bytes, 8) {
            VERSION => {}
            newer if newer > VERSION => return Err(HeaderError::Newer(newer)),
            _ => return Err(HeaderError::Damaged("the header's version is 0")),
        }
        let width = u32_at(bytes, 12);
        let [has_ids, has_names] = [bytes[56], bytes[57]];
        if !matches!(width, 64 | 128) || has_ids > 1 || has_names > 2 * has_ids || bytes[58..60] != [0; 2] {
            return Err(HeaderError::Damaged("a field of the header is out of its range"));
        }
        let (number, first_sequence) = (u64_at(bytes, 32), u64_at(bytes, 40));
        // A log behind the last possible batch begins one above it.
        if !(1..=MAX_NUMBER).contains(&number) || first_sequence > MAX_SEQUENCE + 1 {
            return Err(HeaderError::Damaged("a number of the header is out of its range"));
        }
        let store = StoreId(bytes[16..32].try_into().expect("16 bytes"));
        Ok(Self {
            identity: Identity {
                store,
                width,
                has_ids: has_ids == 1,
                has_names: has_names > 0,
                has_shingles: has_names == 2,
            },
            number,
            first_sequence,
            previous_bytes: u64_at(bytes, 48),
        })
    }
}

pub(super) fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("4 bytes"))
}

pub(super) fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().expect("8 bytes"))
}

pub(crate) const RECORD_HEADER_BYTES: usize = 32;

/// A byte that is not text, and a name.
pub(super) const MARKER: [u8; 4] = *b"\x89HDR";

/// The greatest number of operations in a batch: 2^26.
pub const MAX_OPERATIONS: usize = 1 << 26;

/// The greatest sequence number: 2^63 − 1, so that no number overflows.
pub const MAX_SEQUENCE: u64 = u64::MAX >> 1;

const INSERT: u8 = 1;
const REMOVE: u8 = 2;
/// The id of a name (8 bytes) and its length (8 bytes), then zeros.
const NAME: u8 = 3;
/// Bytes of the preceding name, padded with zeros.
const NAME_BYTES: u8 = 4;

/// Returns the length of an operation, in bytes.
pub(crate) fn operation_bytes(identity: &Identity) -> usize {
    1 + identity.width as usize / 8 + if identity.has_ids { 8 } else { 0 }
}

/// A parsed and checked header of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RecordHeader {
    pub(crate) sequence: u64,
    /// The length of the synced part of the log when the record was written.
    pub(crate) synced: u64,
    pub(crate) operations: usize,
    pub(crate) operations_checksum: u32,
}

/// Returns the number of units, each of the length of an operation, of a record.
pub(crate) fn units<F>(identity: &Identity, operations: &[Operation<F>], names: &[Name]) -> usize {
    let logged = |name: &Name| name.1.logged_bytes(identity.has_shingles);
    let of_name = |name: &Name| 1 + logged(name).div_ceil(operation_bytes(identity) - 1);
    operations.len() + names.iter().map(of_name).sum::<usize>()
}

/// Appends the record for an offset of a log.
pub(crate) fn encode<F: Fingerprint>(
    into: &mut Vec<u8>,
    identity: &Identity,
    log: u64,
    offset: u64,
    (sequence, synced): (u64, u64),
    (operations, names): (&[Operation<F>], &[Name]),
) {
    let start = into.len();
    let units = units(identity, operations, names);
    into.reserve(RECORD_HEADER_BYTES + units * operation_bytes(identity));
    into.extend([0; RECORD_HEADER_BYTES]);
    for (id, name) in names {
        encode_name(into, identity, *id, &name.to_logged(identity.has_shingles));
    }
    for operation in operations {
        let (kind, (fingerprint, id)) = match operation {
            Operation::Insert(..) => (INSERT, operation.pair()),
            Operation::Remove(..) => (REMOVE, operation.pair()),
        };
        into.push(kind);
        into.extend_from_slice(&fingerprint.to_u128().to_le_bytes()[..F::BYTES]);
        if identity.has_ids {
            into.extend_from_slice(&id.to_le_bytes());
        }
    }
    let (header, body) = into[start..].split_at_mut(RECORD_HEADER_BYTES);
    header[..4].copy_from_slice(&MARKER);
    header[8..16].copy_from_slice(&sequence.to_le_bytes());
    header[16..24].copy_from_slice(&synced.to_le_bytes());
    header[24..28].copy_from_slice(&(units as u32).to_le_bytes());
    let body_checksum = checksum(identity.store, Kind::Operations, log, offset, body);
    header[28..].copy_from_slice(&body_checksum.to_le_bytes());
    let header_checksum = checksum(identity.store, Kind::RecordHeader, log, offset, &header[8..]);
    header[4..8].copy_from_slice(&header_checksum.to_le_bytes());
}

impl RecordHeader {
    /// Parses the header of the record at an offset of a log.
    pub(crate) fn parse(
        bytes: &[u8],
        identity: &Identity,
        log: u64,
        offset: u64,
    ) -> Result<Self, &'static str> {
        let (header, _) =
            bytes.split_first_chunk::<RECORD_HEADER_BYTES>().ok_or("the header of a record is cut short")?;
        if header[..4] != MARKER {
            return Err("no record begins here");
        }
        if checksum(identity.store, Kind::RecordHeader, log, offset, &header[8..]) != u32_at(header, 4) {
            return Err("the checksum of a record's header differs");
        }
        let parsed = Self {
            sequence: u64_at(header, 8),
            synced: u64_at(header, 16),
            operations: u32_at(header, 24) as usize,
            operations_checksum: u32_at(header, 28),
        };
        let is_possible = (1..=MAX_SEQUENCE).contains(&parsed.sequence)
            && parsed.synced <= offset
            && parsed.operations <= MAX_OPERATIONS;
        if !is_possible {
            return Err("a field of a record's header is out of its range");
        }
        Ok(parsed)
    }

    /// Returns the length of the record, in bytes.
    pub(crate) fn bytes(&self, identity: &Identity) -> usize {
        RECORD_HEADER_BYTES + self.operations * operation_bytes(identity)
    }
}

fn encode_name(into: &mut Vec<u8>, identity: &Identity, id: u64, name: &[u8]) {
    let payload_bytes = operation_bytes(identity) - 1;
    let mut unit = |kind: u8, payload: &[u8]| {
        into.push(kind);
        into.extend_from_slice(payload);
        into.resize(into.len() + payload_bytes - payload.len(), 0);
    };
    unit(NAME, &[id.to_le_bytes(), (name.len() as u64).to_le_bytes()].concat());
    name.chunks(payload_bytes).for_each(|bytes| unit(NAME_BYTES, bytes));
}

/// Decodes the operations of a record and the names before them, whose ids must be above the last one of the records
/// before.
pub(crate) fn decode<F: Fingerprint>(
    body: &[u8],
    identity: &Identity,
    mut last_id: Option<u64>,
    into: &mut Batch<F>,
) -> Result<(), &'static str> {
    into.operations.clear();
    into.names.clear();
    let mut units = body.chunks_exact(operation_bytes(identity));
    if identity.has_names {
        while let Some(first) = units.clone().next().filter(|unit| unit[0] == NAME) {
            units.next();
            let (id, bytes) = decode_name(first, &mut units)?;
            let document = Document::of_logged(bytes, identity.has_shingles);
            let name = (id, document.ok_or("the shingles of a document are not a set")?);
            if last_id.replace(id).is_some_and(|last| last >= id) {
                return Err("names are out of order");
            }
            into.names.push(name);
        }
    }
    into.operations.reserve(units.len());
    for operation in units {
        let (fingerprint, id) = read_pair(&operation[1..], identity.has_ids);
        into.operations.push(match operation[0] {
            INSERT => Operation::Insert(fingerprint, id),
            REMOVE => Operation::Remove(fingerprint, id),
            _ => return Err("the kind of an operation is unknown"),
        });
    }
    if identity.has_names {
        check_names(into)?;
    }
    Ok(())
}

/// Decodes the name that begins with this unit and continues in the following ones.
fn decode_name<'b>(
    first: &[u8],
    units: &mut impl ExactSizeIterator<Item = &'b [u8]>,
) -> Result<(u64, Vec<u8>), &'static str> {
    let (id, length) = (u64_at(first, 1), u64_at(first, 9));
    let payload_bytes = first.len() - 1;
    // At most the length of the record.
    let count = length.div_ceil(payload_bytes as u64);
    if count > units.len() as u64 || first[17..].iter().any(|&byte| byte != 0) {
        return Err("a name is longer than its record");
    }
    let mut name = Vec::with_capacity(count as usize * payload_bytes);
    for unit in units.take(count as usize) {
        if unit[0] != NAME_BYTES {
            return Err("a name is cut short");
        }
        name.extend_from_slice(&unit[1..]);
    }
    if name[length as usize..].iter().any(|&byte| byte != 0) {
        return Err("bytes behind a name are not zero");
    }
    name.truncate(length as usize);
    Ok((id, name))
}

/// Checks that exactly the inserted ids have names.
fn check_names<F>(batch: &Batch<F>) -> Result<(), &'static str> {
    let inserts = batch.operations.iter().filter_map(|operation| match operation {
        Operation::Insert(_, id) => Some(*id),
        Operation::Remove(..) => None,
    });
    if inserts.eq(batch.names.iter().map(|(id, _)| *id)) {
        Ok(())
    } else {
        Err("the names do not match the ids")
    }
}

#[inline]
fn read_pair<F: Fingerprint>(bytes: &[u8], has_ids: bool) -> (F, u64) {
    let (fingerprint, id) = bytes.split_at(F::BYTES);
    let mut raw = [0; 16];
    raw[..F::BYTES].copy_from_slice(fingerprint);
    (F::truncate(u128::from_le_bytes(raw)), if has_ids { u64_at(id, 0) } else { 0 })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header() -> Header {
        let store = StoreId([3; 16]);
        let identity = Identity { store, width: 128, has_ids: true, has_names: true, has_shingles: false };
        Header { identity, number: 23, first_sequence: 99, previous_bytes: 4711 }
    }

    /// Returns a header with one byte changed and a valid checksum.
    fn changed(at: usize, byte: u8) -> [u8; HEADER_BYTES] {
        let mut bytes = header().to_bytes();
        bytes[at] = byte;
        let checksum = crc32fast::hash(&bytes[..60]);
        bytes[60..].copy_from_slice(&checksum.to_le_bytes());
        bytes
    }

    #[test]
    fn what_it_writes_it_reads() {
        assert_eq!(Header::parse(&header().to_bytes()), Ok(header()));
    }

    #[test]
    fn every_flipped_bit_and_every_cut_is_seen() {
        let whole = header().to_bytes();
        for bit in 0..HEADER_BYTES * 8 {
            let mut bytes = whole;
            bytes[bit / 8] ^= 1 << (bit % 8);
            assert!(Header::parse(&bytes).is_err(), "bit {bit}");
        }
        for length in 0..HEADER_BYTES {
            assert!(Header::parse(&whole[..length]).is_err(), "{length} bytes");
        }
    }

    #[test]
    fn what_is_out_of_range_is_refused_under_a_right_checksum() {
        assert_eq!(Header::parse(&changed(8, 2)), Err(HeaderError::Newer(2)));
        for (at, byte) in
            [(8, 0), (12, 32), (32, 0), (39, 1), (47, 128), (56, 2), (56, 0), (57, 3), (58, 1), (59, 1)]
        {
            assert!(matches!(Header::parse(&changed(at, byte)), Err(HeaderError::Damaged(_))), "byte {at}");
        }
    }
}
