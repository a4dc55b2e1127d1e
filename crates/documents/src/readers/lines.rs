//! One document per line: an id, a blank or tab, the text.

use std::io::{self, BufRead, Read};

use crate::document::Document;
use crate::error::Error;
use crate::input::Input;
use crate::intake::Intake;
use crate::problem::Place;

pub(crate) fn read(input: Input, intake: &mut Intake<'_>) -> Result<(), Error> {
    each(input, intake, &mut |line, _, intake| {
        let (id, text) = line.split_once([' ', '\t']).unwrap_or((line, ""));
        intake.take(Document::new(id, text.trim_start()))
    })
}

/// Calls `visit` with every line that is not blank, without its line end, and with its place. Lines that are
/// too long are skipped.
pub(crate) fn each(
    mut input: Input,
    intake: &mut Intake<'_>,
    visit: &mut dyn FnMut(&str, Place, &mut Intake<'_>) -> Result<(), Error>,
) -> Result<(), Error> {
    let mut buffer = Vec::new();
    let max_bytes = intake.max_bytes();
    for number in 1u64.. {
        let outcome = bounded(&mut input, &mut buffer, max_bytes).map_err(input.unreadable())?;
        let place = || Place::line(input.name(), number);
        match outcome {
            Bounded::End => break,
            Bounded::TooLong => intake.too_long(place(), "line")?,
            Bounded::Line => {
                let text = intake.text(place, &buffer)?;
                let line = text.trim_end_matches(['\n', '\r']);
                if !line.trim().is_empty() {
                    visit(line, place(), intake)?;
                }
            }
        }
    }
    Ok(())
}

enum Bounded {
    End,
    Line,
    /// The line was read to its end and not kept.
    TooLong,
}

fn bounded(reader: &mut impl BufRead, buffer: &mut Vec<u8>, max_bytes: u64) -> io::Result<Bounded> {
    buffer.clear();
    if reader.take(max_bytes.saturating_add(1)).read_until(b'\n', buffer)? == 0 {
        return Ok(Bounded::End);
    }
    if buffer.len() as u64 <= max_bytes || buffer.ends_with(b"\n") {
        return Ok(Bounded::Line);
    }
    reader.skip_until(b'\n')?;
    // The memory of a long line is not needed for the next one.
    *buffer = Vec::new();
    Ok(Bounded::TooLong)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_lines_are_passed_over_whole() {
        let mut input = "1234\n12345\n123456\n12\n1234567".as_bytes();
        let mut buffer = Vec::new();
        let mut found = Vec::new();
        loop {
            match bounded(&mut input, &mut buffer, 5).unwrap() {
                Bounded::End => break,
                Bounded::Line => found.push(buffer.len()),
                Bounded::TooLong => found.push(0),
            }
        }
        assert_eq!(found, [5, 6, 0, 3, 0]);
    }
}
