//! A fingerprint per line, perhaps with an id after it.

use std::io::BufRead;

use hamdex::Fingerprint;

use crate::failure::{Failure, shown};
use crate::input::numbers::Notation;
use crate::input::{Sink, Source, next_line};

/// What some editors put in front of UTF-8.
pub(super) const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// No line of fingerprint and id is longer, whatever the blanks.
const MAX_LINE_BYTES: u64 = 1024;

/// How lines are written.
#[derive(Debug, Clone, Copy)]
pub(super) struct Lines {
    pub(super) notation: Notation,
    /// Whether the first lines decided on the notation, rather than the user.
    pub(super) is_detected: bool,
    /// Whether an id stands after each fingerprint.
    pub(super) pairs: bool,
}

pub(super) fn read<F: Fingerprint>(
    source: &Source,
    reader: &mut impl BufRead,
    lines: Lines,
    sink: &mut Sink<'_, F>,
) -> Result<(), Failure> {
    let mut line = Vec::new();
    let mut number = 0u64;
    while let Some(line) =
        next_line(reader, &mut line, MAX_LINE_BYTES).map_err(|error| source.unreadable(&error))?
    {
        number += 1;
        let line = if number == 1 { line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(line) } else { line };
        let parsed = parse_line(line, lines);
        if let Some((fingerprint, id)) =
            parsed.map_err(|what| source.complaint_at(format!(":{number}"), what))?
        {
            sink(fingerprint, id)?;
        }
    }
    Ok(())
}

/// The first token of a line.
pub(super) fn first_token(line: &[u8]) -> Option<&[u8]> {
    line.split(|byte| byte.is_ascii_whitespace() || *byte == b',').find(|token| !token.is_empty())
}

/// Whether a line is blank or begins with a number, in either notation.
pub(super) fn starts_with_number<F: Fingerprint>(line: &[u8]) -> bool {
    let Some(token) = first_token(line) else { return true };
    std::str::from_utf8(token).is_ok_and(|token| Notation::Either.parse::<F>(token).is_ok())
}

/// The fingerprint on a line, and its id; `None` for a blank line.
fn parse_line<F: Fingerprint>(
    line: &[u8],
    Lines { notation, is_detected, pairs }: Lines,
) -> Result<Option<(F, Option<u64>)>, String> {
    if line.len() as u64 == MAX_LINE_BYTES {
        return Err(format!("the line is longer than {MAX_LINE_BYTES} bytes"));
    }
    let text = std::str::from_utf8(line).map_err(|_| "the line is not text".to_owned())?.trim();
    let mut tokens = text.split(|c: char| c.is_ascii_whitespace() || c == ',').filter(|t| !t.is_empty());
    let Some(token) = tokens.next() else {
        return if text.is_empty() {
            Ok(None)
        } else {
            Err("expected a fingerprint; found \",\"".to_owned())
        };
    };
    let found = || shown(text);
    let fingerprint = notation.parse(token).map_err(|error| {
        let contradiction = is_detected.then(|| notation.contradiction::<F>(token)).flatten();
        match contradiction {
            Some(contradiction) => format!("{contradiction}; say which with --format"),
            None => format!("{error}; found {}", found()),
        }
    })?;
    let id = if pairs {
        let id = tokens.next().and_then(|token| u64::parse_decimal(token).ok());
        Some(id.ok_or_else(|| format!("expected a fingerprint and a decimal id; found {}", found()))?)
    } else {
        None
    };
    match tokens.next() {
        None => Ok(Some((fingerprint, id))),
        Some(_) if pairs => Err(format!("expected a fingerprint and an id only; found {}", found())),
        Some(_) => Err(format!("expected one fingerprint; found {} (with ids: --ids pairs)", found())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read() {
        let parse = |line: &[u8], notation, pairs| {
            parse_line::<u64>(line, Lines { notation, is_detected: false, pairs })
        };
        assert_eq!(parse(b"00000000000000ff\r\n", Notation::Hex, false), Ok(Some((255, None))));
        assert_eq!(parse(b"  17\t", Notation::Decimal, false), Ok(Some((17, None))));
        assert_eq!(parse(b"17, 4", Notation::Decimal, true), Ok(Some((17, Some(4)))));
        assert_eq!(parse(b"-1", Notation::Decimal, false), Ok(Some((u64::MAX, None))));
        assert_eq!(parse(b" \r\n", Notation::Hex, false), Ok(None));
    }

    #[test]
    fn malformed_lines_say_what_was_expected() {
        let refusal = |line: &[u8], pairs| {
            let lines = Lines { notation: Notation::Hex, is_detected: false, pairs };
            parse_line::<u64>(line, lines).unwrap_err()
        };
        assert!(refusal(b"xyz", false).contains("expected 16 hexadecimal digits"));
        assert!(refusal(b"xyz", false).contains("\"xyz\""));
        assert!(refusal(b",", false).contains("expected a fingerprint"));
        assert!(refusal(b"00000000000000ff 1", false).contains("--ids pairs"));
        assert!(refusal(b"00000000000000ff", true).contains("decimal id"));
        assert!(refusal(b"00000000000000ff -1", true).contains("decimal id"));
        assert!(refusal(b"00000000000000ff +1", true).contains("decimal id"));
        assert!(refusal(b"00000000000000ff 1 2", true).contains("only"));
        assert!(refusal(b"\xff\xfe", false).contains("not text"));
        assert!(refusal(&[b'0'; 1024], false).contains("longer"));
        assert!(refusal(&[b'z'; 500], false).len() < 150, "a long line is shortened");
    }
}
