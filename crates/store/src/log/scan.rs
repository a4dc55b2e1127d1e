//! The records in the bytes of one log, and the files of each log in a damaged store, whatever their names are.

use std::collections::BTreeMap;
use std::io;

use crate::disk::{Disk, layout};
use crate::error::{Error, is_unreadable};
use crate::log::checksums::PartChecksums;
use crate::log::format::{HEADER_BYTES, Header, MAGIC, MARKER, RECORD_HEADER_BYTES, RecordHeader};
use crate::manifest::identity::{Identity, Kind, context};

/// The bytes of a log from an offset on.
#[derive(Debug)]
pub(crate) struct LogBytes<'a> {
    pub(crate) identity: &'a Identity,
    pub(crate) number: u64,
    /// The offset of the first byte.
    start: u64,
    pub(crate) bytes: &'a [u8],
    checksums: PartChecksums<'a>,
}

/// Whether a file is a log without records, as an interrupted creation leaves it: the whole header, or as much of it as
/// had come to the disk.
pub(crate) fn is_unused_log(disk: &dyn Disk, name: &str) -> Result<bool, Error> {
    let bytes = disk.read_first(name, HEADER_BYTES + 1).map_err(Error::io("read it", disk.path(name)))?;
    let is_header = bytes.iter().zip(&MAGIC).all(|(byte, expected)| byte == expected);
    Ok(bytes.len() <= HEADER_BYTES && (is_header || bytes.iter().all(|&byte| byte == 0)))
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
    pub(crate) fn new(identity: &'a Identity, number: u64, start: u64, bytes: &'a [u8]) -> Self {
        Self { identity, number, start, bytes, checksums: PartChecksums::new(bytes) }
    }

    /// Returns the offset of the end of the bytes.
    pub(crate) fn end(&self) -> u64 {
        self.start + self.bytes.len() as u64
    }

    /// Reads the record at an offset of the log.
    pub(crate) fn record(&mut self, offset: u64) -> Result<Record<'a>, &'static str> {
        let at = (offset - self.start) as usize;
        let header = RecordHeader::parse(&self.bytes[at..], self.identity, self.number, offset)?;
        let end = at + header.bytes(self.identity);
        let range = at + RECORD_HEADER_BYTES..end;
        let body = self.bytes.get(range.clone()).ok_or("a record is cut short")?;
        let context = context(self.identity.store, Kind::Operations, self.number, offset);
        if self.checksums.of(context, range) != header.operations_checksum {
            return Err("the checksum of a record's operations differs");
        }
        Ok(Record { sequence: header.sequence, body, end: self.start + end as u64 })
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
        &mut self,
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
    fn next_record(&mut self, offset: u64) -> Option<u64> {
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
    fn next_header(&self, offset: u64) -> Option<(u64, RecordHeader)> {
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

/// Missing logs that are listed, or looked for, at most.
pub(super) const MAX_MISSING_LOGS: usize = 100;

/// Returns the logs, each with the numbers by which its files are named: the number that its header has; without one,
/// the number under which a record of it is intact; or else the one of its name. `first` is the first log of the
/// manifest, which may be missing.
pub(crate) fn log_files(
    disk: &dyn Disk,
    identity: &Identity,
    first: u64,
) -> Result<BTreeMap<u64, Vec<u64>>, Error> {
    let mut logs: BTreeMap<u64, Vec<u64>> = BTreeMap::new();
    let names = layout::listed(disk, layout::LOGS, layout::parse_log)?;
    let mut unclaimed = Vec::new();
    for &name in &names {
        match read_header(disk, identity, name)? {
            Some(header) => logs.entry(header.number).or_default().push(name),
            None => unclaimed.push(name),
        }
    }
    for (number, files) in &mut logs {
        files.sort_by_key(|file| file != number);
    }
    let mut known: Vec<u64> = names.iter().chain(logs.keys()).copied().collect();
    let last = known.iter().copied().max().unwrap_or(first).max(first);
    // The last log may have the name of an earlier one: no name says that it is missing.
    known.extend((first..=last.saturating_add(1)).take(MAX_MISSING_LOGS));
    known.sort_unstable();
    known.dedup();
    for name in unclaimed {
        let bytes = read_readable(disk, &layout::log(name))?;
        let numbers = [name].into_iter().chain(known.iter().copied());
        let number = number_of_records(identity, &bytes, numbers).unwrap_or(name);
        logs.entry(number).or_default().push(name);
    }
    Ok(logs)
}

/// Returns the first of the numbers under which a file has an intact record.
fn number_of_records(
    identity: &Identity,
    bytes: &[u8],
    numbers: impl IntoIterator<Item = u64>,
) -> Option<u64> {
    let mut log = LogBytes::new(identity, 0, 0, bytes);
    numbers.into_iter().find(|&number| {
        log.number = number;
        log.next_record(0).is_some()
    })
}

/// Checks that no live log has the name of another: under that of an earlier one it would count as a leftover.
///
/// # Errors
/// When one has; when the operating system refuses an operation.
pub(crate) fn check_names(disk: &dyn Disk, identity: &Identity, first: u64) -> Result<(), Error> {
    for name in layout::listed(disk, layout::LOGS, layout::parse_log)? {
        let number = match read_header(disk, identity, name)? {
            Some(header) => Some(header.number),
            None if name < first => {
                let live = (first..=u64::MAX).take(MAX_MISSING_LOGS);
                number_of_records(identity, &read_readable(disk, &layout::log(name))?, live)
            }
            None => None,
        };
        if number.is_some_and(|number| number >= first && number != name) {
            return Err(Error::damaged(disk.path(&layout::log(name)), 32, "it is the log of another number"));
        }
    }
    Ok(())
}

/// Reads the header of a file, if it is that of a log of this store.
pub(crate) fn read_header(disk: &dyn Disk, identity: &Identity, file: u64) -> Result<Option<Header>, Error> {
    let name = layout::log(file);
    let bytes = match disk.read_first(&name, HEADER_BYTES) {
        Err(error) if is_unreadable(&error) || is_gone(&error) => Vec::new(),
        outcome => outcome.map_err(Error::io("read it", disk.path(&name)))?,
    };
    Ok(header_of(&bytes, identity))
}

/// Returns the header of a log of this store, if it is whole.
pub(super) fn header_of(bytes: &[u8], identity: &Identity) -> Option<Header> {
    Header::parse(bytes).ok().filter(|header| header.identity == *identity)
}

fn is_gone(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::NotFound
}

/// Reads the files of one log as one: a record that the first lacks is taken from another. One that contradicts the
/// first counts as lost.
pub(super) fn read_joined(
    disk: &dyn Disk,
    identity: &Identity,
    number: u64,
    files: &[u64],
    lost: &mut Vec<Lost>,
) -> Result<Vec<u8>, Error> {
    let mut joined = Vec::new();
    let mut gaps = None;
    for file in files {
        let bytes = read_readable(disk, &layout::log(*file))?;
        if joined.is_empty() {
            joined = bytes;
            continue;
        }
        let gaps = match &mut gaps {
            Some(gaps) => gaps,
            None => gaps.insert(gaps_of(identity, number, &joined)?),
        };
        join(identity, number, (&mut joined, gaps), &bytes, lost)?;
    }
    Ok(joined)
}

/// The parts of a log without intact records: their ends by their starts. The last one has no end.
type Gaps = BTreeMap<u64, u64>;

fn gaps_of(identity: &Identity, number: u64, log: &[u8]) -> Result<Gaps, Error> {
    let mut damaged = Vec::new();
    LogBytes::new(identity, number, 0, log).for_each_intact(&mut damaged, |_, _| Ok(()))?;
    let end = log.len() as u64;
    let mut gaps: Gaps = damaged.iter().map(|gap| (gap.offset, gap.offset + gap.bytes)).collect();
    let start = gaps.last_key_value().filter(|gap| *gap.1 == end).map_or(end, |gap| *gap.0);
    gaps.insert(start, u64::MAX);
    Ok(gaps)
}

/// Adds the intact parts of another file of the same log.
fn join(
    identity: &Identity,
    number: u64,
    (into, gaps): (&mut Vec<u8>, &mut Gaps),
    other: &[u8],
    lost: &mut Vec<Lost>,
) -> Result<(), Error> {
    if header_of(into, identity).is_none() && header_of(other, identity).is_some() {
        into.resize(into.len().max(HEADER_BYTES), 0);
        into[..HEADER_BYTES].copy_from_slice(&other[..HEADER_BYTES]);
    }
    LogBytes::new(identity, number, 0, other).for_each_intact(&mut Vec::new(), |at, record| {
        let range = at as usize..record.end as usize;
        let found = &other[range.clone()];
        let gap = gaps.range(..=at).next_back().map(|(start, end)| (*start, *end));
        if let Some((start, end)) = gap.filter(|gap| record.end <= gap.1) {
            into.resize(into.len().max(range.end), 0);
            into[range].copy_from_slice(found);
            gaps.remove(&start);
            let left = [(start, at), (record.end, end)];
            gaps.extend(left.into_iter().filter(|(start, end)| start < end));
        } else if into.get(range) != Some(found) {
            let what = "two files of this log have different records here";
            lost.push(Lost { log: number, offset: at, bytes: record.end - at, what });
        }
        Ok(())
    })
}

/// Reads a file; one that the disk cannot read counts as empty, and so does one that a writer has removed meanwhile.
fn read_readable(disk: &dyn Disk, name: &str) -> Result<Vec<u8>, Error> {
    match disk.read(name) {
        Err(error) if is_unreadable(&error) || is_gone(&error) => Ok(Vec::new()),
        outcome => outcome.map_err(Error::io("read it", disk.path(name))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::manifest::identity::{StoreId, checksum};

    const IDENTITY: Identity = Identity {
        store: StoreId([7; 16]),
        width: 64,
        has_ids: false,
        has_names: false,
        has_shingles: false,
    };

    /// Returns a log in which headers, 32 bytes apart, claim all the rest as their operations, under another checksum;
    /// each `intact`th one has none, and is intact.
    fn headers(count: usize, intact: usize) -> Vec<u8> {
        let end = HEADER_BYTES + count * RECORD_HEADER_BYTES;
        let mut bytes = vec![0; HEADER_BYTES];
        for number in 1..=count {
            let place = bytes.len() as u64;
            let (operations, body) = match number % intact {
                0 => (0, checksum(IDENTITY.store, Kind::Operations, 1, place, &[])),
                _ => ((end - bytes.len() - RECORD_HEADER_BYTES) / 9, 0),
            };
            let mut header = [0; RECORD_HEADER_BYTES];
            header[..4].copy_from_slice(&MARKER);
            header[8..16].copy_from_slice(&(number as u64).to_le_bytes());
            header[24..28].copy_from_slice(&(operations as u32).to_le_bytes());
            header[28..].copy_from_slice(&body.to_le_bytes());
            let of_header = checksum(IDENTITY.store, Kind::RecordHeader, 1, place, &header[8..]);
            header[4..8].copy_from_slice(&of_header.to_le_bytes());
            bytes.extend(header);
        }
        bytes
    }

    #[test]
    fn headers_that_claim_all_the_rest_are_read_in_linear_time() {
        let count = 4000;
        for intact in [2, 3, count + 1] {
            let bytes = headers(count, intact);
            let mut log = LogBytes::new(&IDENTITY, 1, 0, &bytes);
            let (mut lost, mut found) = (Vec::new(), 0);
            let each = |_, _: Record<'_>| {
                found += 1;
                Ok(())
            };
            log.for_each_intact(&mut lost, each).unwrap();
            assert_eq!(
                (found, lost.len()),
                (count / intact, count / intact + usize::from(count % intact > 0))
            );
            let read = log.checksums.read();
            assert!(read <= 64 * bytes.len(), "{read} bytes were read for checksums of {}", bytes.len());
        }
    }
}
