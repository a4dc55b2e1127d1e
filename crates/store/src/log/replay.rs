//! Replay of the logs of a store, after a clean shutdown or a crash, and salvage of damaged logs: every intact record,
//! at any offset.
//!
//! Unsynced records may survive a crash in any order, so a bad record before good ones does not prove damage. But each
//! record has the synced length of the log at the time of its writing, and so have the header of the next log and,
//! after a clean shutdown, the manifest. A bad record below the greatest such length is damage. Above it, the record
//! is the torn tail of a crash, which was never acknowledged as durable, and the log ends before it.

use hamdex::Fingerprint;
use serde::{Deserialize, Serialize};

use crate::disk::{Disk, layout};
use crate::error::Error;
use crate::log::format::{HEADER_BYTES, Header, HeaderError, VERSION, decode};
use crate::log::scan::{
    LogBytes, Lost, MAX_MISSING_LOGS, Record, header_of, log_files, read_header, read_joined,
};
use crate::manifest::identity::Identity;
use crate::write::Batch;

/// The synced length of a log, as a manifest has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sealed {
    /// The log's number.
    pub log: u64,
    /// Its length, in bytes.
    pub bytes: u64,
}

/// A position in the logs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Position {
    /// The log's number.
    pub log: u64,
    /// Bytes from the start of the log.
    pub offset: u64,
    /// The sequence number of the last batch before the position.
    pub sequence: u64,
}

impl Position {
    /// Returns the position before the first batch of a log.
    #[must_use]
    pub fn start_of(log: u64, sequence: u64) -> Self {
        Self { log, offset: 0, sequence }
    }
}

/// The result of a replay.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Replayed {
    /// The end of the logs.
    pub end: Position,
    /// The number of batches.
    pub batches: u64,
    /// The number of operations.
    pub operations: u64,
    /// Whether the last log ends at the length in the manifest, so that all of it is durable.
    pub is_clean: bool,
    /// The torn tail of the last log, if it has one.
    pub torn: Option<TornTail>,
    /// A further log whose creation a crash interrupted.
    pub unfinished_log: Option<u64>,
}

/// The bytes after the last good record of a log, left by a crash. None of them was acknowledged as durable.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct TornTail {
    /// Their offset in the log.
    pub offset: u64,
    /// Their length.
    pub bytes: u64,
    /// The reason why they are not a record.
    pub what: &'static str,
}

/// Reads the logs from a position on, and passes each batch with its sequence number to `apply`.
///
/// A reading process may do this while another one writes. An error counts only if the manifest has not changed
/// meanwhile.
///
/// # Errors
/// When a log is missing, damaged, of another store or of a newer format; when the operating system refuses an
/// operation; the errors of `apply`.
pub fn replay<F: Fingerprint>(
    disk: &dyn Disk,
    identity: &Identity,
    from: Position,
    sealed: Option<Sealed>,
    mut apply: impl FnMut(u64, &Batch<F>) -> Result<(), Error>,
) -> Result<Replayed, Error> {
    replay_by_log(disk, identity, from, None, sealed, |_, sequence, batch| apply(sequence, batch))
}

/// Replays as [`replay`], after batches whose last id with a name is `last_id`; `apply` also gets the number of the log
/// of each batch.
pub(crate) fn replay_by_log<F: Fingerprint>(
    disk: &dyn Disk,
    identity: &Identity,
    from: Position,
    mut last_id: Option<u64>,
    sealed: Option<Sealed>,
    mut apply: impl FnMut(u64, u64, &Batch<F>) -> Result<(), Error>,
) -> Result<Replayed, Error> {
    check_width::<F>(disk, identity)?;
    let mut numbers = log_numbers(disk, from.log)?;
    if numbers.first() != Some(&from.log) {
        return Err(Error::Missing { path: disk.path(&layout::log(from.log)) });
    }
    if let Some(sealed) = sealed.filter(|sealed| sealed.log >= from.log && !numbers.contains(&sealed.log)) {
        return Err(Error::Missing { path: disk.path(&layout::log(sealed.log)) });
    }
    let unfinished_log = match numbers[..] {
        [.., before, last] if before >= from.log && is_unfinished(disk, last, sealed)? => numbers.pop(),
        _ => None,
    };
    let mut end = from;
    let mut replayed =
        Replayed { end, batches: 0, operations: 0, is_clean: false, torn: None, unfinished_log };
    let mut batch = Batch::default();
    for (at, &number) in numbers.iter().enumerate() {
        if number != from.log {
            end = Position::start_of(number, end.sequence);
        }
        let sealed_bytes = sealed.filter(|sealed| sealed.log == number).map(|sealed| sealed.bytes);
        let log = Log { disk, identity, number };
        let bytes = log.read(end.offset)?;
        let complete_bytes = match numbers.get(at + 1) {
            Some(&next) => Some(log.bytes_by_next(next)?),
            None => None,
        };
        let known =
            KnownLengths { synced: complete_bytes.max(sealed_bytes).unwrap_or(0), complete: complete_bytes };
        let mut each = |sequence, body: &[u8], offset| {
            decode(body, identity, last_id, &mut batch).map_err(|what| log.damaged(offset, what))?;
            last_id = batch.last_id().or(last_id);
            replayed.batches += 1;
            replayed.operations += batch.operations.len() as u64;
            apply(number, sequence, &batch)
        };
        (end, replayed.torn) = log.walk(&bytes, end, known, &mut each)?;
        replayed.is_clean = sealed_bytes == Some(end.offset) && replayed.torn.is_none();
    }
    replayed.end = end;
    Ok(replayed)
}

/// Rejects a width other than the one of the store.
pub(crate) fn check_width<F: Fingerprint>(disk: &dyn Disk, identity: &Identity) -> Result<(), Error> {
    if identity.width == F::BITS {
        return Ok(());
    }
    Err(Error::Width { path: disk.path(""), found: identity.width, expected: F::BITS })
}

/// Returns the numbers of the logs from `first` on, ascending, which must have no gap.
fn log_numbers(disk: &dyn Disk, first: u64) -> Result<Vec<u64>, Error> {
    let mut numbers = layout::listed(disk, layout::LOGS, layout::parse_log)?;
    numbers.retain(|&number| number >= first);
    match numbers.windows(2).find(|pair| pair[1] != pair[0] + 1) {
        Some(gap) => Err(Error::Missing { path: disk.path(&layout::log(gap[0] + 1)) }),
        None => Ok(numbers),
    }
}

/// Whether the creation of a log was interrupted: a log no longer than a header, with a torn header, has never had a
/// record, since the header is durable before the first record is written.
fn is_unfinished(disk: &dyn Disk, number: u64, sealed: Option<Sealed>) -> Result<bool, Error> {
    let name = layout::log(number);
    if sealed.is_some_and(|sealed| sealed.log >= number) {
        return Ok(false);
    }
    let first = disk.read_first(&name, HEADER_BYTES + 1).map_err(Error::io("read it", disk.path(&name)))?;
    Ok(first.len() <= HEADER_BYTES && matches!(Header::parse(&first), Err(HeaderError::Torn(_))))
}

/// Lower bounds of the length of a log that other files give.
#[derive(Debug, Clone, Copy)]
struct KnownLengths {
    /// The synced length.
    synced: u64,
    /// The complete length, if another log follows.
    complete: Option<u64>,
}

/// A log that is being read.
struct Log<'a> {
    disk: &'a dyn Disk,
    identity: &'a Identity,
    number: u64,
}

impl Log<'_> {
    fn damaged(&self, offset: u64, what: &str) -> Error {
        Error::damaged(self.disk.path(&layout::log(self.number)), offset, what)
    }

    fn read(&self, offset: u64) -> Result<Vec<u8>, Error> {
        let name = layout::log(self.number);
        self.disk.read_from(&name, offset).map_err(Error::io("read it", self.disk.path(&name)))
    }

    /// Returns the length of this log from the header of the next one.
    fn bytes_by_next(&self, next: u64) -> Result<u64, Error> {
        let next = Log { number: next, ..*self };
        let name = layout::log(next.number);
        let first = self.disk.read_first(&name, HEADER_BYTES);
        let header = next.header(&first.map_err(Error::io("read it", self.disk.path(&name)))?)?;
        if header.previous_bytes < HEADER_BYTES as u64 {
            return Err(next.damaged(48, "it does not continue the log before it"));
        }
        Ok(header.previous_bytes)
    }

    /// Parses and checks the header.
    fn header(&self, bytes: &[u8]) -> Result<Header, Error> {
        let header = Header::parse(bytes).map_err(|error| match error {
            HeaderError::Torn(what) | HeaderError::Damaged(what) => self.damaged(0, what),
            HeaderError::Newer(found) => Error::Newer {
                path: self.disk.path(&layout::log(self.number)),
                found: found.into(),
                supported: VERSION.into(),
            },
        })?;
        if header.identity.store != self.identity.store {
            return Err(self.damaged(16, "it belongs to another store"));
        }
        if header.identity != *self.identity {
            return Err(self.damaged(0, "it has pairs of another kind than the manifest says"));
        }
        if header.number != self.number {
            return Err(self.damaged(32, "it is the log of another number"));
        }
        Ok(header)
    }

    /// Visits the records of bytes that start at a position. Returns the end of the good ones.
    fn walk(
        &self,
        bytes: &[u8],
        from: Position,
        known: KnownLengths,
        each: &mut impl FnMut(u64, &[u8], u64) -> Result<(), Error>,
    ) -> Result<(Position, Option<TornTail>), Error> {
        let mut at = from;
        let mut least_sequence = from.sequence.saturating_add(1);
        // Bytes after the end are no part of the log.
        let length = known.complete.map_or(u64::MAX, |complete| complete.saturating_sub(from.offset));
        let own = &bytes[..(bytes.len() as u64).min(length) as usize];
        let mut log = LogBytes::new(self.identity, self.number, from.offset, own);
        if from.offset == 0 {
            least_sequence = least_sequence.max(self.header(bytes)?.first_sequence);
            // A writer that continues a log without records keeps to its header as well.
            at = Position { offset: HEADER_BYTES as u64, sequence: least_sequence - 1, ..at };
        }
        while at.offset < log.end() {
            let record = match log.record(at.offset) {
                Ok(record) => record,
                Err(what) => return Ok((at, Some(self.torn(&log, at.offset, known, what)?))),
            };
            if record.sequence < least_sequence {
                return Err(self.damaged(at.offset, "a batch is out of order"));
            }
            each(record.sequence, record.body, at.offset)?;
            least_sequence = record.sequence + 1;
            at = Position { log: self.number, offset: record.end, sequence: record.sequence };
        }
        if log.end() < known.synced {
            return Err(self.damaged(log.end(), "it ends too early"));
        }
        Ok((at, None))
    }

    /// Tells the torn tail of a crash from damage, which is an error.
    fn torn(
        &self,
        log: &LogBytes<'_>,
        offset: u64,
        known: KnownLengths,
        what: &'static str,
    ) -> Result<TornTail, Error> {
        let synced = known.synced.max(log.synced_by_later(offset));
        if synced > offset {
            return Err(self.damaged(offset, &format!("{what}, and the log was durable up to byte {synced}")));
        }
        Ok(TornTail { offset, bytes: log.end() - offset, what })
    }
}

/// The result of a salvage.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Salvaged {
    /// The number of intact batches.
    pub batches: u64,
    /// The numbers by which the files are named that are damaged, or of another log than their names say.
    pub damaged_files: Vec<u64>,
    /// The logs whose headers are damaged. Their records may be intact.
    pub damaged_headers: Vec<u64>,
    /// The logs whose files have the names of others, each with the number of its name.
    pub misnamed: Vec<(u64, u64)>,
    /// The parts that could not be read.
    pub lost: Vec<Lost>,
}

/// Passes every intact batch with its sequence number to `apply`, in ascending order, and lists the unreadable parts.
///
/// The batches may include unacknowledged ones, and ones that depended on lost ones.
///
/// # Errors
/// When the width is not the one of the store, or the operating system refuses an operation; the errors of `apply`.
pub fn salvage<F: Fingerprint>(
    disk: &dyn Disk,
    identity: &Identity,
    start: Position,
    sealed: Option<Sealed>,
    mut apply: impl FnMut(u64, &Batch<F>) -> Result<(), Error>,
) -> Result<Salvaged, Error> {
    check_width::<F>(disk, identity)?;
    let mut salvaged = Salvaged::default();
    let (mut last_sequence, mut last_id) = (start.sequence, None);
    let mut before = PreviousLog { log: start.log.saturating_sub(1), bytes: 0 };
    let mut batch = Batch::default();
    let (mut by_number, mut displacing) = (Vec::new(), Vec::new());
    for (log, files) in log_files(disk, identity, start.log)? {
        let misnamed = files.iter().copied().filter(|file| *file != log).map(|file| (log, file));
        displacing.extend(files.iter().copied().filter(|file| *file != log));
        if log < start.log {
            for file in files {
                // A flushed log under the name of one that is not; or nothing says that it was flushed.
                if file >= start.log || read_header(disk, identity, file)?.is_none() {
                    salvaged.damaged_files.push(file);
                }
            }
            continue;
        }
        salvaged.misnamed.extend(misnamed);
        let bytes = read_joined(disk, identity, log, &files, &mut salvaged.lost)?;
        let mut bytes = LogBytes::new(identity, log, 0, &bytes);
        before.check(&bytes, sealed, &mut salvaged.lost);
        if header_of(bytes.bytes, identity).is_none() {
            salvaged.damaged_headers.push(log);
        }
        let mut refused = Vec::new();
        bytes.for_each_intact(&mut salvaged.lost, |offset, Record { sequence, body, end }| {
            // An interrupted repair may have left some batches twice.
            if sequence <= last_sequence {
                return Ok(());
            }
            if let Err(what) = decode(body, identity, last_id, &mut batch) {
                refused.push(Lost { log, offset, bytes: end - offset, what });
                return Ok(());
            }
            (last_sequence, last_id) = (sequence, batch.last_id().or(last_id));
            salvaged.batches += 1;
            apply(sequence, &batch)
        })?;
        salvaged.lost.extend(refused);
        by_number.push((log, files));
    }
    let last = sealed.map_or(start.log, |sealed| sealed.log.max(start.log));
    before.missing_up_to(last, 0, sealed, &mut salvaged.lost);
    // Where no log is sealed, nothing else tells of one behind the last.
    let mut behind = last.max(before.log).checked_add(1);
    while let Some(log) = behind.filter(|log| sealed.is_none() && displacing.contains(log)) {
        let what = "another log lies in its place";
        salvaged.lost.push(Lost { log, offset: 0, bytes: 0, what });
        behind = log.checked_add(1);
    }
    salvaged.lost.sort_by_key(|lost| (lost.log, lost.offset));
    let is_damaged = |(log, files): &(u64, Vec<u64>)| {
        files[..] != [*log]
            || salvaged.damaged_headers.contains(log)
            || salvaged.lost.iter().any(|lost| lost.log == *log)
    };
    let damaged: Vec<u64> = by_number.into_iter().filter(is_damaged).flat_map(|(_, files)| files).collect();
    salvaged.damaged_files.extend(damaged);
    Ok(salvaged)
}

/// The log before the one that is being read.
struct PreviousLog {
    log: u64,
    bytes: u64,
}

impl PreviousLog {
    /// Lists the missing logs before this one, and the missing ends of the previous log and of this one.
    fn check(&mut self, log: &LogBytes<'_>, sealed: Option<Sealed>, lost: &mut Vec<Lost>) {
        let header = header_of(log.bytes, log.identity).filter(|header| header.number == log.number);
        let previous_bytes = header.map_or(0, |header| header.previous_bytes);
        let follows = log.number.checked_sub(1) == Some(self.log);
        self.missing_up_to(log.number.saturating_sub(1), previous_bytes, sealed, lost);
        let ends_early = |lost: &mut Vec<Lost>, log, end, expected: u64| {
            if end < expected {
                lost.push(Lost { log, offset: end, bytes: expected - end, what: "it ends too early" });
            }
        };
        match header {
            Some(header) if self.bytes > 0 && follows => {
                ends_early(lost, self.log, self.bytes, header.previous_bytes);
            }
            // Its header says how long the log before was, and nothing else does.
            None if self.bytes > 0 && follows => {
                match Header::proven_previous_bytes(log.bytes, log.identity, log.number, self.bytes) {
                    Some(expected) => ends_early(lost, self.log, self.bytes, expected),
                    // The creation of this log was interrupted.
                    None if log.bytes.len() <= HEADER_BYTES
                        && sealed.is_none_or(|sealed| sealed.log < log.number) => {}
                    None => {
                        let what =
                            "it may have been longer: the next log says how long it was, and is damaged";
                        lost.push(Lost { log: self.log, offset: self.bytes, bytes: 0, what });
                    }
                }
            }
            _ => {}
        }
        if let Some(sealed) = sealed.filter(|sealed| sealed.log == log.number) {
            ends_early(lost, log.number, log.end(), sealed.bytes);
        }
        *self = Self { log: log.number, bytes: log.end() };
    }

    /// Lists the missing logs up to `last`, whose length was `last_bytes`. The manifest has the length of the sealed
    /// one.
    fn missing_up_to(&self, last: u64, last_bytes: u64, sealed: Option<Sealed>, lost: &mut Vec<Lost>) {
        // A forged header may have the greatest number.
        let missing = self.log.checked_add(1).into_iter().flat_map(|next| next..=last).take(MAX_MISSING_LOGS);
        let sealed_of = |log| sealed.filter(|sealed| sealed.log == log).map_or(0, |sealed| sealed.bytes);
        let bytes_of = |log| if log == last { last_bytes.max(sealed_of(log)) } else { sealed_of(log) };
        lost.extend(missing.map(|log| Lost { log, offset: 0, bytes: bytes_of(log), what: "it is missing" }));
    }
}
