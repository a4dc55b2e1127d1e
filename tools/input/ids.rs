//! Ids alone: a decimal number per line.

use std::path::PathBuf;

use hamdex::Fingerprint;
use indicatif::ProgressBar;

use crate::failure::{Failure, shown};
use crate::input::open::{Opened, open};
use crate::input::{Source, next_line};

/// No line of an id is longer, whatever the blanks.
const MAX_LINE_BYTES: u64 = 256;

/// Reads all inputs, in order; standard input for `-`, or when there are none.
pub(crate) fn read_ids(paths: &[PathBuf], sink: &mut dyn FnMut(u64)) -> Result<(), Failure> {
    let standard_input = [PathBuf::from("-")];
    let paths = if paths.is_empty() { &standard_input } else { paths };
    for path in paths {
        let Opened { source, mut input, .. } = open(path, &ProgressBar::hidden())?;
        let (mut line, mut number) = (Vec::new(), 0u64);
        while let Some(line) =
            next_line(&mut input, &mut line, MAX_LINE_BYTES).map_err(|error| source.unreadable(&error))?
        {
            number += 1;
            if let Some(id) = parse(line, number, &source)? {
                sink(id);
            }
        }
    }
    Ok(())
}

/// The id on a line; `None` for a blank line.
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
