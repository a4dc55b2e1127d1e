//! Salvage of damaged logs: every intact record, at any offset.

use hamdex::Fingerprint;

use super::format::{HEADER_BYTES, Header, decode};
use super::replay::{Position, Sealed, check_width};
use super::scan::{LogBytes, Lost, Record};
use crate::disk::Disk;
use crate::error::Error;
use crate::log::scan::{MAX_MISSING_LOGS, header_of, log_files, read_header, read_joined};
use crate::manifest::identity::Identity;
use crate::write::batch::Batch;

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
    let mut last_sequence = start.sequence;
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
        let bytes = LogBytes { identity, number: log, start: 0, bytes: &bytes };
        before.check(&bytes, sealed, &mut salvaged.lost);
        if header_of(bytes.bytes, identity).is_none() {
            salvaged.damaged_headers.push(log);
        }
        bytes.for_each_intact(&mut salvaged.lost, |_, Record { sequence, body, .. }| {
            // An interrupted repair may have left some batches twice.
            if sequence <= last_sequence || decode(body, identity, &mut batch).is_err() {
                return Ok(());
            }
            last_sequence = sequence;
            salvaged.batches += 1;
            apply(sequence, &batch)
        })?;
        by_number.push((log, files));
    }
    let last = sealed.map_or(start.log, |sealed| sealed.log.max(start.log));
    before.missing_up_to(last, 0, sealed, &mut salvaged.lost);
    // Where no log is sealed, nothing else tells of one behind the last.
    let mut behind = last.max(before.log) + 1;
    while sealed.is_none() && displacing.contains(&behind) {
        let what = "another log lies in its place";
        salvaged.lost.push(Lost { log: behind, offset: 0, bytes: 0, what });
        behind += 1;
    }
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
        self.missing_up_to(log.number - 1, previous_bytes, sealed, lost);
        let ends_early = |lost: &mut Vec<Lost>, log, end, expected: u64| {
            if end < expected {
                lost.push(Lost { log, offset: end, bytes: expected - end, what: "it ends too early" });
            }
        };
        match header {
            Some(header) if self.bytes > 0 && self.log + 1 == log.number => {
                ends_early(lost, self.log, self.bytes, header.previous_bytes);
            }
            // Its header says how long the log before was, and nothing else does.
            None if self.bytes > 0 && self.log + 1 == log.number => {
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
        let missing = (self.log + 1..=last).take(MAX_MISSING_LOGS);
        let sealed_of = |log| sealed.filter(|sealed| sealed.log == log).map_or(0, |sealed| sealed.bytes);
        let bytes_of = |log| if log == last { last_bytes.max(sealed_of(log)) } else { sealed_of(log) };
        lost.extend(missing.map(|log| Lost { log, offset: 0, bytes: bytes_of(log), what: "it is missing" }));
    }
}
