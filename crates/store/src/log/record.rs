//! One batch in a log.
//!
//! ```text
//! 0   4  marker
//! 4   4  CRC-32 of bytes 8 to 31
//! 8   8  sequence number
//! 16  8  how much of the log was synced when this was written, in bytes from its start
//! 24  4  number of operations
//! 28  4  CRC-32 of the operations
//! 32  …  the operations: 1 byte for the kind, the fingerprint, the id if there are ids
//! ```
//!
//! The header has a checksum of its own, so that the synced length can be relied on where the operations were torn.

use hamdex::Engine;

use super::header::{u32_at, u64_at};
use crate::checksum::{Kind, checksum};
use crate::identity::Identity;
use crate::operation::Operation;

pub(crate) const RECORD_HEADER_BYTES: usize = 32;

/// Not text, and no small number.
pub(super) const MARKER: [u8; 4] = *b"\x89HDR";

/// The most operations that one batch can have: 2^26.
pub const MAX_OPERATIONS: usize = 1 << 26;

/// The greatest sequence number: 2^63 − 1. No store lives that long, and none overflows.
pub const MAX_SEQUENCE: u64 = u64::MAX >> 1;

const INSERT: u8 = 1;
const REMOVE: u8 = 2;

/// How many bytes one operation takes.
pub(crate) fn operation_bytes(identity: &Identity) -> usize {
    1 + identity.width as usize / 8 + if identity.has_ids { 8 } else { 0 }
}

/// The first bytes of a record, checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RecordHeader {
    pub(crate) sequence: u64,
    /// How much of the log was synced when the record was written.
    pub(crate) synced: u64,
    pub(crate) operations: usize,
    operations_checksum: u32,
}

/// Appends a record that will stand at an offset of a log.
pub(crate) fn encode<F: Engine>(
    into: &mut Vec<u8>,
    identity: &Identity,
    log: u64,
    offset: u64,
    (sequence, synced): (u64, u64),
    operations: &[Operation<F>],
) {
    let start = into.len();
    into.reserve(RECORD_HEADER_BYTES + operations.len() * operation_bytes(identity));
    into.extend([0; RECORD_HEADER_BYTES]);
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
    header[24..28].copy_from_slice(&(operations.len() as u32).to_le_bytes());
    let body_checksum = checksum(identity.store, Kind::Operations, log, offset, body);
    header[28..].copy_from_slice(&body_checksum.to_le_bytes());
    let header_checksum = checksum(identity.store, Kind::RecordHeader, log, offset, &header[8..]);
    header[4..8].copy_from_slice(&header_checksum.to_le_bytes());
}

impl RecordHeader {
    /// Reads the header of the record at an offset of a log.
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

    /// The operations of the record, checked as bytes.
    pub(crate) fn body<'a>(
        &self,
        bytes: &'a [u8],
        identity: &Identity,
        log: u64,
        offset: u64,
    ) -> Result<&'a [u8], &'static str> {
        let body = bytes.get(RECORD_HEADER_BYTES..self.bytes(identity)).ok_or("a record is cut short")?;
        match checksum(identity.store, Kind::Operations, log, offset, body) == self.operations_checksum {
            true => Ok(body),
            false => Err("the checksum of a record's operations differs"),
        }
    }

    /// How long the whole record is.
    pub(crate) fn bytes(&self, identity: &Identity) -> usize {
        RECORD_HEADER_BYTES + self.operations * operation_bytes(identity)
    }
}

/// Reads the operations of a record. `None` for a kind that there is not.
pub(crate) fn decode<F: Engine>(
    body: &[u8],
    identity: &Identity,
    into: &mut Vec<Operation<F>>,
) -> Option<()> {
    into.clear();
    into.reserve(body.len() / operation_bytes(identity));
    for operation in body.chunks_exact(operation_bytes(identity)) {
        let (fingerprint, id) = read_pair(&operation[1..], identity.has_ids);
        into.push(match operation[0] {
            INSERT => Operation::Insert(fingerprint, id),
            REMOVE => Operation::Remove(fingerprint, id),
            _ => return None,
        });
    }
    Some(())
}

#[inline]
fn read_pair<F: Engine>(bytes: &[u8], has_ids: bool) -> (F, u64) {
    let (fingerprint, id) = bytes.split_at(F::BYTES);
    let mut raw = [0; 16];
    raw[..F::BYTES].copy_from_slice(fingerprint);
    (F::truncate(u128::from_le_bytes(raw)), if has_ids { u64_at(id, 0) } else { 0 })
}
