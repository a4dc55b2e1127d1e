//! A fingerprint a line, perhaps with an id after it.

use std::io::BufRead;

use hamdex::{Fingerprint, ParseFingerprintError};

use crate::failure::Failure;
use crate::input::{Sink, Source, detect, next_line};

/// No line of fingerprint and id is longer, whatever the blanks.
const MOST_LINE_BYTES: u64 = 1024;

/// How much of a malformed line a message shows, in characters.
const SHOWN: usize = 40;

pub(super) fn read<F: Fingerprint>(
    source: &Source,
    reader: &mut impl BufRead,
    parse: fn(&str) -> Result<F, ParseFingerprintError>,
    pairs: bool,
    sink: &mut Sink<'_, F>,
) -> Result<(), Failure> {
    let mut line = Vec::new();
    let mut number = 0u64;
    while let Some(line) =
        next_line(reader, &mut line, MOST_LINE_BYTES).map_err(|error| source.unreadable(&error))?
    {
        number += 1;
        let line =
            if number == 1 { line.strip_prefix(detect::BYTE_ORDER_MARK).unwrap_or(line) } else { line };
        let (fingerprint, id) =
            parse_line(line, parse, pairs).map_err(|what| source.complaint_at(format!(":{number}"), what))?;
        sink(fingerprint, id)?;
    }
    Ok(())
}

fn parse_line<F: Fingerprint>(
    line: &[u8],
    parse: fn(&str) -> Result<F, ParseFingerprintError>,
    pairs: bool,
) -> Result<(F, Option<u64>), String> {
    if line.len() as u64 == MOST_LINE_BYTES {
        return Err(format!("the line is longer than {MOST_LINE_BYTES} bytes"));
    }
    let text = std::str::from_utf8(line).map_err(|_| "the line is not text".to_owned())?.trim();
    let shown = || text.chars().take(SHOWN).collect::<String>();
    let mut tokens = text.split(|c: char| c.is_ascii_whitespace() || c == ',').filter(|t| !t.is_empty());
    let Some(token) = tokens.next() else {
        return Err("the line is empty; expected a fingerprint".to_owned());
    };
    let fingerprint = parse(token).map_err(|error| format!("{error}; found {:?}", shown()))?;
    let id = if pairs {
        let id = tokens.next().and_then(|token| u64::parse_decimal(token).ok());
        Some(id.ok_or_else(|| format!("expected a fingerprint and a decimal id; found {:?}", shown()))?)
    } else {
        None
    };
    match tokens.next() {
        None => Ok((fingerprint, id)),
        Some(_) if pairs => Err(format!("expected a fingerprint and an id only; found {:?}", shown())),
        Some(_) => Err(format!("expected one fingerprint; found {:?} (ids: --ids pairs)", shown())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read() {
        assert_eq!(parse_line(b"00000000000000ff\r\n", u64::parse_hex, false), Ok((255, None)));
        assert_eq!(parse_line(b"  17\t", u64::parse_decimal, false), Ok((17, None)));
        assert_eq!(parse_line(b"17, 4", u64::parse_decimal, true), Ok((17, Some(4))));
    }

    #[test]
    fn malformed_lines_say_what_was_expected() {
        let refusal = |line: &[u8], pairs| parse_line(line, u64::parse_hex, pairs).unwrap_err();
        assert!(refusal(b"xyz", false).contains("expected 16 hexadecimal digits"));
        assert!(refusal(b"xyz", false).contains("\"xyz\""));
        assert!(refusal(b"", false).contains("empty"));
        assert!(refusal(b"00000000000000ff 1", false).contains("--ids pairs"));
        assert!(refusal(b"00000000000000ff", true).contains("decimal id"));
        assert!(refusal(b"00000000000000ff -1", true).contains("decimal id"));
        assert!(refusal(b"00000000000000ff +1", true).contains("decimal id"));
        assert!(refusal(b"00000000000000ff 1 2", true).contains("only"));
        assert!(refusal(b"\xff\xfe", false).contains("not text"));
        assert!(refusal(&[b'0'; 1024], false).contains("longer"));
    }
}
