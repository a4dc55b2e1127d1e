//! The names of the files of a store.

use std::io;

use crate::disk::Disk;
use crate::error::Error;

/// The manifest, which names the live segments, removals and logs.
pub(crate) const MANIFEST: &str = hamdex_manifest::MANIFEST;
/// The next manifest, until it is complete.
pub(crate) const NEW_MANIFEST: &str = "manifest.new";
/// The copy of the manifest, in case that is damaged.
pub(crate) const COPY: &str = "manifest.copy";
/// The next copy, until it is complete.
pub(crate) const NEW_COPY: &str = "manifest.copy.new";
/// The lock of the writing process.
pub(crate) const LOCK: &str = "lock";
/// The report of a repair, until it is delivered.
pub(crate) const REPORT: &str = "repair.report";
/// The next report, until it is complete.
pub(crate) const NEW_REPORT: &str = "repair.report.new";
/// The note in an incomplete backup.
pub(crate) const BACKUP: &str = "backup.new";
/// The directory of the segments.
pub(crate) const SEGMENTS: &str = "segments";
/// The directory of the removals files.
pub(crate) const DELETES: &str = "deletes";
/// The directory of the logs.
pub(crate) const LOGS: &str = "log";
/// The directory of damaged files that a repair has kept aside. Only a repair creates it.
pub(crate) const DAMAGED: &str = "damaged";

/// The greatest number of a segment, a log, or a version of removals: 2^53, which every JSON parser represents exactly.
pub const MAX_NUMBER: u64 = 1 << 53;

/// Returns the name of a segment.
pub(crate) fn segment(number: u64) -> String {
    format!("{SEGMENTS}/{number:06}.hamdex")
}

/// Returns the file id in the first bytes of a segment; `None` if it is shorter.
pub(crate) fn file_id(disk: &dyn Disk, segment: &str) -> io::Result<Option<[u8; 16]>> {
    // format-spec.md, section 4: the file id is bytes 32 to 47 of every file.
    let first = disk.read_first(segment, 48)?;
    Ok(first.get(32..).and_then(|id| id.try_into().ok()))
}

/// Returns the name of a removals file of a segment.
pub(crate) fn removals(segment: u64, version: u64) -> String {
    format!("{DELETES}/{segment:06}-{version}")
}

/// Returns the name of a log.
pub(crate) fn log(number: u64) -> String {
    format!("{LOGS}/{number:06}")
}

/// Returns the name of a log that is to replace another of the same number, until it is complete.
pub(crate) fn new_log(number: u64) -> String {
    format!("{LOGS}/{number:06}.new")
}

/// Returns whether a directory that is to become a store has a file, other than leftovers, or a directory that no store
/// has. `lost+found`, at the root of a file system, does not count.
///
/// # Errors
/// When the operating system refuses it, or the error of `is_leftover`.
pub(crate) fn is_occupied(
    disk: &dyn Disk,
    is_leftover: impl Fn(&str) -> Result<bool, Error>,
) -> Result<bool, Error> {
    let directories = disk.list_directories("").map_err(Error::io("list it", disk.path("")))?;
    let own = [SEGMENTS, DELETES, LOGS, DAMAGED];
    if directories.iter().any(|name| !own.contains(&name.as_str()) && name != "lost+found") {
        return Ok(true);
    }
    for directory in [""].into_iter().chain(own) {
        let names = match disk.list(directory) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            names => names.map_err(Error::io("list it", disk.path(directory)))?,
        };
        for name in names {
            let name = if directory.is_empty() { name } else { format!("{directory}/{name}") };
            if !is_leftover(&name)? {
                return Ok(true);
            }
        }
    }
    Ok(false)
}

/// Lists a directory and returns the numbers that `parse` finds in the names of its files, ascending.
pub(crate) fn listed<T: Ord>(
    disk: &dyn Disk,
    directory: &str,
    parse: impl Fn(&str) -> Option<T>,
) -> Result<Vec<T>, Error> {
    let names = disk.list(directory).map_err(Error::io("list it", disk.path(directory)))?;
    let mut numbers: Vec<T> = names.iter().filter_map(|name| parse(name)).collect();
    numbers.sort_unstable();
    Ok(numbers)
}

/// Whether a name in a directory of a store is one that a store can give.
pub(crate) fn is_own(directory: &str, name: &str) -> bool {
    match directory {
        SEGMENTS => parse_segment(name).is_some(),
        DELETES => parse_removals(name).is_some(),
        LOGS => parse_log(name.strip_suffix(".new").unwrap_or(name)).is_some(),
        _ => matches!(name, MANIFEST | NEW_MANIFEST | COPY | NEW_COPY | LOCK | BACKUP | REPORT | NEW_REPORT),
    }
}

/// Whether a name in the directory of damaged files is one that a repair gives: the name of a file, in which a hyphen
/// stands for the slash, and perhaps a number.
pub(crate) fn is_kept_aside(name: &str) -> bool {
    let is_name = |name: &str| {
        let inner = [SEGMENTS, DELETES, LOGS].into_iter().any(|directory| {
            let file = name.strip_prefix(directory).and_then(|rest| rest.strip_prefix('-'));
            file.is_some_and(|file| is_own(directory, file))
        });
        inner || is_own("", name)
    };
    let numbered = name.rsplit_once('.').filter(|(_, number)| parse(number).is_some());
    is_name(name) || numbered.is_some_and(|(name, _)| is_name(name))
}

/// Parses the number of a segment from its file name.
pub(crate) fn parse_segment(file: &str) -> Option<u64> {
    let number = parse(file.strip_suffix(".hamdex")?)?;
    (segment(number).ends_with(&format!("/{file}"))).then_some(number)
}

/// Parses the segment and the version of removals from their file name.
pub(crate) fn parse_removals(file: &str) -> Option<(u64, u64)> {
    let (segment, version) = file.split_once('-')?;
    let (segment, version) = (parse(segment)?, parse(version)?);
    (removals(segment, version).ends_with(&format!("/{file}"))).then_some((segment, version))
}

/// Parses the number of a log from its file name.
pub(crate) fn parse_log(file: &str) -> Option<u64> {
    let number = parse(file)?;
    (log(number).ends_with(&format!("/{file}"))).then_some(number)
}

/// Parses digits, without a sign, of a number that a store can give.
fn parse(digits: &str) -> Option<u64> {
    let number = digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| digits.parse().ok())??;
    (1..=MAX_NUMBER).contains(&number).then_some(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lead_back_to_their_numbers() {
        for number in [1, 17, 999_999, 1_000_000, MAX_NUMBER] {
            assert_eq!(parse_segment(segment(number).strip_prefix("segments/").unwrap()), Some(number));
            assert_eq!(parse_log(log(number).strip_prefix("log/").unwrap()), Some(number));
            let name = removals(number, 4);
            assert_eq!(parse_removals(name.strip_prefix("deletes/").unwrap()), Some((number, 4)));
        }
    }

    #[test]
    fn names_of_files_that_are_kept_aside_lead_back_to_those_of_a_store() {
        for name in
            ["manifest", "manifest.copy.2", "segments-000017.hamdex", "log-000001.3", "deletes-000017-4"]
        {
            assert!(is_kept_aside(name), "{name}");
        }
        for name in
            ["", "notes", "notes.2", "segments-17.hamdex", "segments-000017.hamdex.x", "log-", "manifest."]
        {
            assert!(!is_kept_aside(name), "{name}");
        }
    }

    #[test]
    fn other_names_have_no_numbers() {
        for name in
            ["", "1", "0000017", "+00017", "00001x", "000017.hamdex", "000017.new", "99999999999999999999"]
        {
            assert_eq!(parse_log(name), None, "{name}");
        }
        for name in ["000017", ".hamdex", "17.hamdex", "000017.hamdex.tmp"] {
            assert_eq!(parse_segment(name), None, "{name}");
        }
        for name in ["000017", "000017-", "000017-04", "17-4", "000017-4-5", "-4"] {
            assert_eq!(parse_removals(name), None, "{name}");
        }
        for number in [0, MAX_NUMBER + 1, u64::MAX] {
            assert_eq!(parse_log(&format!("{number:06}")), None);
            assert_eq!(parse_segment(&format!("{number:06}.hamdex")), None);
            assert_eq!(parse_removals(&format!("{number:06}-4")), None);
            assert_eq!(parse_removals(&format!("000017-{number}")), None);
        }
    }
}
