//! What can be had of damaged logs: every record that is whole, wherever it stands.

use hamdex::Fingerprint;

use super::header::{HEADER_BYTES, Header};
use super::record::decode;
use super::replay::{Position, Sealed, check_width};
use super::scan::LogBytes;
use crate::disk::Disk;
use crate::disk::layout;
use crate::error::{Error, is_unreadable};
use crate::manifest::identity::Identity;
use crate::write::batch::Batch;

/// What was found in logs that may be damaged.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Salvaged {
    /// The logs that there are.
    pub logs: Vec<u64>,
    /// How many batches could be read.
    pub batches: u64,
    /// How many operations they have.
    pub operations: u64,
    /// The logs whose headers are damaged, though their records may be whole.
    pub damaged_headers: Vec<u64>,
    /// Parts of their records that could not be read.
    pub lost: Vec<Lost>,
}

/// Of a gap in the numbers of logs, no more are listed.
const MAX_MISSING_LOGS: usize = 100;

/// A part of a log that could not be read.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Lost {
    /// The log's number.
    pub log: u64,
    /// Where the part begins, in bytes from the start of the log.
    pub offset: u64,
    /// How long it is; 0 for a log that is missing and whose length is unknown.
    pub bytes: u64,
    /// Why it could not be read.
    pub what: &'static str,
}

/// Hands over every batch that is whole, with its sequence number, in ascending order. What cannot be read is listed.
///
/// Batches that were never acknowledged may be among them, and batches that depended on lost ones.
///
/// # Errors
/// When the width is not the store's; what the operating system refuses; what `apply` returns.
pub fn salvage<F: Fingerprint>(
    disk: &dyn Disk,
    identity: &Identity,
    start: Position,
    sealed: Option<Sealed>,
    mut apply: impl FnMut(u64, &Batch<F>) -> Result<(), Error>,
) -> Result<Salvaged, Error> {
    check_width::<F>(disk, identity)?;
    let mut logs = layout::listed(disk, layout::LOGS, layout::parse_log)?;
    logs.retain(|&log| log >= start.log);
    let mut salvaged = Salvaged::default();
    let mut last_sequence = start.sequence;
    let mut before = Before { log: start.log.saturating_sub(1), bytes: 0 };
    let mut batch = Batch::default();
    for log in logs {
        salvaged.logs.push(log);
        let name = layout::log(log);
        let bytes = read_readable(disk, &name)?;
        let bytes = LogBytes { identity, number: log, start: 0, bytes: &bytes };
        before.check(&bytes, sealed, &mut salvaged.lost);
        if Header::parse(bytes.bytes).is_err() {
            salvaged.damaged_headers.push(log);
        }
        salvage_one(&bytes, &mut salvaged.lost, |sequence, body| {
            // A repair that was interrupted has left some of them twice.
            if sequence <= last_sequence || decode(body, identity, &mut batch).is_err() {
                return Ok(());
            }
            last_sequence = sequence;
            salvaged.batches += 1;
            salvaged.operations += batch.operations.len() as u64;
            apply(sequence, &batch)
        })?;
    }
    let last = sealed.map_or(start.log, |sealed| sealed.log.max(start.log));
    before.missing_up_to(last, 0, sealed, &mut salvaged.lost);
    Ok(salvaged)
}

/// The log before the one that is read.
struct Before {
    log: u64,
    bytes: u64,
}

impl Before {
    /// Lists logs that are missing before this one, and ends that are missing of the one before it and of this one.
    fn check(&mut self, log: &LogBytes<'_>, sealed: Option<Sealed>, lost: &mut Vec<Lost>) {
        let header = Header::parse(log.bytes);
        let previous_bytes = header.map_or(0, |header| header.previous_bytes);
        self.missing_up_to(log.number - 1, previous_bytes, sealed, lost);
        let mut ends_early = |log, end, expected: u64| {
            if end < expected {
                lost.push(Lost { log, offset: end, bytes: expected - end, what: "it ends too early" });
            }
        };
        match header {
            Ok(header) if self.bytes > 0 && self.log + 1 == log.number => {
                ends_early(self.log, self.bytes, header.previous_bytes);
            }
            _ => {}
        }
        if let Some(sealed) = sealed.filter(|sealed| sealed.log == log.number) {
            ends_early(log.number, log.end(), sealed.bytes);
        }
        *self = Self { log: log.number, bytes: log.end() };
    }

    /// Lists the missing logs from the next one to `last`, whose length was `last_bytes`. The manifest knows the length of
    /// the sealed one.
    fn missing_up_to(&self, last: u64, last_bytes: u64, sealed: Option<Sealed>, lost: &mut Vec<Lost>) {
        let missing = (self.log + 1..=last).take(MAX_MISSING_LOGS);
        let sealed_of = |log| sealed.filter(|sealed| sealed.log == log).map_or(0, |sealed| sealed.bytes);
        let bytes_of = |log| if log == last { last_bytes.max(sealed_of(log)) } else { sealed_of(log) };
        lost.extend(missing.map(|log| Lost { log, offset: 0, bytes: bytes_of(log), what: "it is missing" }));
    }
}

/// The bytes of a file; as if it were empty where the disk itself does not give them.
fn read_readable(disk: &dyn Disk, name: &str) -> Result<Vec<u8>, Error> {
    match disk.read(name) {
        Err(error) if is_unreadable(&error) => Ok(Vec::new()),
        outcome => outcome.map_err(Error::io("read it", disk.path(name))),
    }
}

/// Goes through the whole records of a log, and lists what is between them.
fn salvage_one(
    log: &LogBytes<'_>,
    lost: &mut Vec<Lost>,
    mut each: impl FnMut(u64, &[u8]) -> Result<(), Error>,
) -> Result<(), Error> {
    let mut at = HEADER_BYTES as u64;
    while at < log.end() {
        match log.record(at) {
            Ok(record) => {
                each(record.sequence, record.body)?;
                at = record.end;
            }
            Err(what) => {
                let next = next_record(log, at + 1);
                lost.push(Lost { log: log.number, offset: at, bytes: next - at, what });
                at = next;
            }
        }
    }
    Ok(())
}

/// Where the next whole record begins; the end of the log if there is none.
fn next_record(log: &LogBytes<'_>, from: u64) -> u64 {
    let mut at = from;
    while let Some((found, _)) = log.next_header(at.min(log.end())) {
        if log.record(found).is_ok() {
            return found;
        }
        at = found + 1;
    }
    log.end()
}
