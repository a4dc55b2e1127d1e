//! A document a line: an id, a blank or tab, the text.

use std::io::{self, BufRead};

use crate::documents::Document;
use crate::documents::intake::Intake;
use crate::failure::Failure;
use crate::input::{Source, next_line};

pub(super) fn read(
    source: &Source,
    reader: &mut impl BufRead,
    intake: &mut Intake<'_>,
) -> Result<(), Failure> {
    each(source, reader, intake, &mut |line, _, intake| {
        let (id, text) = line.split_once([' ', '\t']).unwrap_or((line, ""));
        intake.take(Document {
            id: id.to_owned(),
            text: text.trim_start().to_owned(),
            extra: None,
            line: None,
        })
    })
}

/// Calls `visit` with every line that is not blank, without its end, and its number. Lines that are too
/// long are passed over.
pub(super) fn each(
    source: &Source,
    reader: &mut impl BufRead,
    intake: &mut Intake<'_>,
    visit: &mut dyn FnMut(&str, u64, &mut Intake<'_>) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let mut buffer = Vec::new();
    let mut number = 0u64;
    let most_bytes = intake.most_bytes();
    loop {
        number += 1;
        let place = || format!(":{number}");
        match bounded(reader, &mut buffer, most_bytes).map_err(|error| source.unreadable(&error))? {
            Bounded::End => return Ok(()),
            Bounded::TooLong => intake.too_long(source, place(), "line")?,
            Bounded::Line => {
                let text = intake.text(source, place, &buffer)?;
                let line = text.trim_end_matches(['\n', '\r']);
                if !line.trim().is_empty() {
                    visit(line, number, intake)?;
                }
            }
        }
    }
}

enum Bounded {
    End,
    Line,
    /// All of the line has been read, and none of it kept.
    TooLong,
}

fn bounded(reader: &mut impl BufRead, buffer: &mut Vec<u8>, most_bytes: u64) -> io::Result<Bounded> {
    let Some(line) = next_line(reader, buffer, most_bytes.saturating_add(1))? else {
        return Ok(Bounded::End);
    };
    if line.len() as u64 <= most_bytes || line.ends_with(b"\n") {
        return Ok(Bounded::Line);
    }
    reader.skip_until(b'\n')?;
    // What one long line took is not needed for the next.
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
