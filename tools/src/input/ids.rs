//! Reads ids or names alone: one per line.

use std::path::PathBuf;

use hamdex::Fingerprint;
use indicatif::ProgressBar;

use crate::failure::{Failure, shown};
use crate::input::open::{Opened, open};
use crate::input::{Source, next_until};
use crate::names;

/// The longest line of an id, blanks included.
const MAX_LINE_BYTES: u64 = 256;

/// The longest line of a name.
const MAX_NAME_BYTES: u64 = 1 << 20;

/// Reads decimal ids from all inputs, in order; from standard input for `-`, or if there are none.
pub(crate) fn read_ids(paths: &[PathBuf], sink: &mut dyn FnMut(u64)) -> Result<(), Failure> {
    for_each(paths, b'\n', MAX_LINE_BYTES, |line, number, source| {
        if let Some(id) = parse(line, number, source)? {
            sink(id);
        }
        Ok(())
    })
}

/// Reads names: as they are before each zero byte, or one per line, to its end or in double quotes ([`names::read`]), if
/// that is not empty.
pub(crate) fn read_names(
    paths: &[PathBuf],
    with_zeros: bool,
    sink: &mut dyn FnMut(&[u8]),
) -> Result<(), Failure> {
    let end = if with_zeros { 0 } else { b'\n' };
    for_each(paths, end, MAX_NAME_BYTES, |line, number, source| {
        if line.len() as u64 == MAX_NAME_BYTES {
            let what = format_args!("the name is longer than {MAX_NAME_BYTES} bytes");
            return Err(source.complaint_at(format!(":{number}"), what));
        }
        let name = line.strip_suffix(&[end]).unwrap_or(line);
        if with_zeros {
            sink(name);
        } else if let Some(name) =
            names::of_line(name).map_err(|what| source.complaint_at(format!(":{number}"), what))?
        {
            sink(&name);
        }
        Ok(())
    })
}

/// Calls `each` with every line, or what else ends with this byte, and its number.
fn for_each(
    paths: &[PathBuf],
    end: u8,
    max_bytes: u64,
    mut each: impl FnMut(&[u8], u64, &Source) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let standard_input = [PathBuf::from("-")];
    let paths = if paths.is_empty() { &standard_input } else { paths };
    for path in paths {
        let Opened { source, mut input, .. } = open(path, &ProgressBar::hidden())?;
        let (mut line, mut number) = (Vec::new(), 0u64);
        while let Some(line) =
            next_until(end, &mut input, &mut line, max_bytes).map_err(|error| source.unreadable(&error))?
        {
            number += 1;
            each(line, number, &source)?;
        }
    }
    Ok(())
}

/// Returns the id on a line; `None` for a blank line.
fn parse(line: &[u8], number: u64, source: &Source) -> Result<Option<u64>, Failure> {
    let text = String::from_utf8_lossy(line);
    let text = text.trim();
    if text.is_empty() && (line.len() as u64) < MAX_LINE_BYTES {
        return Ok(None);
    }
    u64::parse_decimal(text).map(Some).map_err(|_| {
        source
            .complaint_at(format!(":{number}"), format_args!("expected a decimal id; found {}", shown(text)))
    })
}
