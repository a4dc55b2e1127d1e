//! The records in the bytes of one log.

use super::header::HEADER_BYTES;
use super::record::{MARKER, RECORD_HEADER_BYTES, RecordHeader};
use crate::error::Error;
use crate::manifest::identity::Identity;

/// The bytes of a log from an offset on.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LogBytes<'a> {
    pub(crate) identity: &'a Identity,
    pub(crate) number: u64,
    /// The offset of the first byte.
    pub(crate) start: u64,
    pub(crate) bytes: &'a [u8],
}

/// An intact record.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Record<'a> {
    pub(crate) sequence: u64,
    /// The bytes of the operations.
    pub(crate) body: &'a [u8],
    /// The offset of its end in the log.
    pub(crate) end: u64,
}

/// A part of a log that could not be read.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Lost {
    /// The log's number.
    pub log: u64,
    /// The offset of the part in the log.
    pub offset: u64,
    /// Its length; 0 for a missing log of unknown length.
    pub bytes: u64,
    /// The kind of damage.
    pub what: &'static str,
}

impl<'a> LogBytes<'a> {
    /// Returns the offset of the end of the bytes.
    pub(crate) fn end(&self) -> u64 {
        self.start + self.bytes.len() as u64
    }

    /// Reads the record at an offset of the log.
    pub(crate) fn record(&self, offset: u64) -> Result<Record<'a>, &'static str> {
        let bytes = &self.bytes[(offset - self.start) as usize..];
        let header = RecordHeader::parse(bytes, self.identity, self.number, offset)?;
        let body = header.body(bytes, self.identity, self.number, offset)?;
        let end = offset + header.bytes(self.identity) as u64;
        Ok(Record { sequence: header.sequence, body, end })
    }

    /// Returns the greatest synced length in the records from an offset on; 0 if there are none.
    pub(crate) fn synced_by_later(&self, offset: u64) -> u64 {
        let mut synced = 0;
        let mut at = offset;
        while let Some((found, header)) = self.next_header(at) {
            synced = synced.max(header.synced);
            at = found + RECORD_HEADER_BYTES as u64;
        }
        synced
    }

    /// Visits the intact records with their offsets, and lists the parts between them.
    pub(crate) fn for_each_intact(
        &self,
        lost: &mut Vec<Lost>,
        mut each: impl FnMut(u64, Record<'a>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let mut at = HEADER_BYTES as u64;
        while at < self.end() {
            match self.record(at) {
                Ok(record) => {
                    each(at, record)?;
                    at = record.end;
                }
                Err(what) => {
                    let next = self.next_record(at + 1).unwrap_or_else(|| self.end());
                    lost.push(Lost { log: self.number, offset: at, bytes: next - at, what });
                    at = next;
                }
            }
        }
        Ok(())
    }

    /// Returns the offset of the first intact record at or after an offset.
    pub(crate) fn next_record(&self, offset: u64) -> Option<u64> {
        let mut at = offset;
        while let Some((found, _)) = self.next_header(at.min(self.end())) {
            if self.record(found).is_ok() {
                return Some(found);
            }
            at = found + 1;
        }
        None
    }

    /// Returns the first valid record header at or after an offset.
    pub(crate) fn next_header(&self, offset: u64) -> Option<(u64, RecordHeader)> {
        let mut at = (offset - self.start) as usize;
        loop {
            at += find(&self.bytes[at..], &MARKER)?;
            let place = self.start + at as u64;
            if let Ok(header) = RecordHeader::parse(&self.bytes[at..], self.identity, self.number, place) {
                return Some((place, header));
            }
            at += 1;
        }
    }
}

/// Returns the first occurrence of `wanted`.
fn find(bytes: &[u8], wanted: &[u8]) -> Option<usize> {
    bytes.windows(wanted.len()).position(|window| window == wanted)
}
