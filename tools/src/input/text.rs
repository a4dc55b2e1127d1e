//! Reads lines: a fingerprint per line, with or without an id or a name after it; or an id or a name alone.

use std::io::BufRead;
use std::path::PathBuf;

use hamdex::Fingerprint;
use indicatif::ProgressBar;

use crate::failure::{Failure, shown};
use crate::input::format::Notation;
use crate::input::open::{Opened, open};
use crate::input::{Beside, Found, Line, LineReader, Rows, Source};
use crate::names;

/// The longest line of fingerprint and id, its end included.
const MAX_LINE_BYTES: u64 = 1024;

/// The longest line of fingerprint and name.
const MAX_NAMED_LINE_BYTES: u64 = 1 << 20;

/// The form of lines.
#[derive(Debug, Clone, Copy)]
pub(super) struct Lines {
    pub(super) notation: Notation,
    /// Whether the first lines, rather than the user, decided on the notation.
    pub(super) is_detected: bool,
    /// The value after each fingerprint.
    pub(super) beside: Beside,
}

impl Lines {
    fn is_named(self) -> bool {
        matches!(self.beside, Beside::Name | Beside::NameIfAny)
    }

    fn max_bytes(self) -> u64 {
        if self.is_named() { MAX_NAMED_LINE_BYTES } else { MAX_LINE_BYTES }
    }
}

pub(super) fn read<F: Fingerprint>(
    source: Source,
    reader: &mut impl BufRead,
    lines: Lines,
    rows: &mut Rows<'_, F>,
) -> Result<(), Failure> {
    let mut reader = LineReader::new(source, reader, b'\n', lines.max_bytes());
    while let Some(line) = reader.next_line()? {
        if lacks_number(line.bytes, lines.beside) {
            rows(None, lone_value(line.bytes, lines), None)?;
            continue;
        }
        let parsed = parse_line(line.bytes, lines).map_err(|what| line.complaint(what))?;
        if let Some((fingerprint, found)) = parsed {
            rows(Some(fingerprint), found, None)?;
        }
    }
    Ok(())
}

/// Whether all that a line has is a value with a tab or a comma before it: its fingerprint is missing.
pub(super) fn lacks_number(line: &[u8], beside: Beside) -> bool {
    let Some((b'\t' | b',', rest)) = line.split_first() else { return false };
    match beside {
        Beside::Nothing => false,
        Beside::Id => tokens(rest).count() == 1,
        Beside::Name | Beside::NameIfAny => !rest.trim_ascii().is_empty(),
    }
}

/// Returns the name on a line that lacks its fingerprint.
fn lone_value(line: &[u8], lines: Lines) -> Found {
    if !lines.is_named() {
        return Found::Nothing;
    }
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    let name = match line.strip_suffix(b"\r").unwrap_or(line) {
        [b',', name @ ..] => name.trim_ascii_start(),
        line => line.get(1..).unwrap_or_default(),
    };
    Found::Name(names::read(name).unwrap_or(name.into()).into_owned())
}

fn tokens(line: &[u8]) -> impl Iterator<Item = &[u8]> {
    line.split(|byte| byte.is_ascii_whitespace() || *byte == b',').filter(|token| !token.is_empty())
}

/// Returns the first token of a line.
pub(super) fn first_token(line: &[u8]) -> Option<&[u8]> {
    tokens(line).next()
}

/// Whether a line is blank or begins with a number, in either notation.
pub(super) fn starts_with_number<F: Fingerprint>(line: &[u8]) -> bool {
    let Some(token) = first_token(line) else { return true };
    std::str::from_utf8(token).is_ok_and(|token| Notation::Either.parse::<F>(token).is_ok())
}

/// Returns the fingerprint on a line, and the value after it; `None` for a blank line.
fn parse_line<F: Fingerprint>(line: &[u8], lines: Lines) -> Result<Option<(F, Found)>, String> {
    if lines.is_named() {
        return parse_named(line, lines);
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
    let fingerprint = parse_number(token, text, lines)?;
    let pairs = lines.beside == Beside::Id;
    let id = if pairs {
        let token = tokens.next();
        let id = token.and_then(|token| u64::parse_decimal(token).ok());
        let expected = || match token {
            Some(token) if token.bytes().all(|byte| byte.is_ascii_digit()) => {
                format!("the decimal id {token} exceeds 64 bits")
            }
            _ => format!("expected a fingerprint and a decimal id; found {}", shown(text)),
        };
        Found::Id(id.ok_or_else(expected)?)
    } else {
        Found::Nothing
    };
    match tokens.next() {
        None => Ok(Some((fingerprint, id))),
        Some(_) if pairs => Err(format!("expected a fingerprint and an id only; found {}", shown(text))),
        Some(_) => Err(format!(
            "expected one fingerprint; found {} (`hamdex build` reads ids with --ids pairs, and names with --ids names)",
            shown(text)
        )),
    }
}

/// Returns a fingerprint and a name: everything after a tab, up to the end of the line, or in double quotes
/// ([`names::read`]); without a tab after the fingerprint, everything after blanks or a comma.
fn parse_named<F: Fingerprint>(line: &[u8], lines: Lines) -> Result<Option<(F, Found)>, String> {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    if line.trim_ascii().is_empty() {
        return Ok(None);
    }
    let is_separator = |byte: &u8| matches!(byte, b'\t' | b' ' | b',');
    let number_end = line.iter().position(is_separator).unwrap_or(line.len());
    let (number, rest) = line.split_at(number_end);
    let text = String::from_utf8_lossy(line);
    let token =
        std::str::from_utf8(number).map_err(|_| format!("expected a fingerprint; found {}", shown(&text)))?;
    let fingerprint = parse_number(token, &text, lines)?;
    let name = match rest {
        [] if lines.beside == Beside::NameIfAny => return Ok(Some((fingerprint, Found::Nothing))),
        [] => return Err(format!("expected a fingerprint, a tab and a name; found {}", shown(&text))),
        [b'\t', name @ ..] => name,
        [b',', name @ ..] => name.trim_ascii_start(),
        blanks => blanks.trim_ascii_start(),
    };
    Ok(Some((fingerprint, Found::Name(names::read(name)?.into_owned()))))
}

/// Parses the fingerprint of a line.
fn parse_number<F: Fingerprint>(token: &str, line: &str, lines: Lines) -> Result<F, String> {
    let Lines { notation, is_detected, .. } = lines;
    notation.parse(token).map_err(|error| {
        let contradiction = is_detected.then(|| notation.contradiction::<F>(token)).flatten();
        match contradiction {
            Some(contradiction) => format!("{contradiction}; choose one with --format"),
            None => format!("{error}; found {}", shown(line)),
        }
    })
}

/// The longest line of an id, its end included.
const MAX_ID_BYTES: u64 = 256;

/// The longest line of a name.
const MAX_NAME_BYTES: u64 = 1 << 20;

/// Reads decimal ids from all inputs, in order; from standard input for `-`, or if there are none.
pub(crate) fn read_ids(paths: &[PathBuf], sink: &mut dyn FnMut(u64)) -> Result<(), Failure> {
    for_each(paths, b'\n', MAX_ID_BYTES, |line| {
        let text = String::from_utf8_lossy(line.bytes);
        let text = text.trim();
        if !text.is_empty() {
            let expected = |_| line.complaint(format_args!("expected a decimal id; found {}", shown(text)));
            sink(u64::parse_decimal(text).map_err(expected)?);
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
    for_each(paths, end, MAX_NAME_BYTES, |line| {
        let name = line.bytes.strip_suffix(&[end]).unwrap_or(line.bytes);
        if with_zeros {
            sink(name);
        } else if let Some(name) = names::of_line(name).map_err(|what| line.complaint(what))? {
            sink(&name);
        }
        Ok(())
    })
}

/// Calls `each` with every line, or what else ends with this byte.
fn for_each(
    paths: &[PathBuf],
    end: u8,
    max_bytes: u64,
    mut each: impl FnMut(&Line<'_>) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let standard_input = [PathBuf::from("-")];
    let paths = if paths.is_empty() { &standard_input } else { paths };
    for path in paths {
        let Opened { source, input, .. } = open(path, &ProgressBar::hidden())?;
        let mut lines = LineReader::new(source, input, end, max_bytes);
        while let Some(line) = lines.next_line()? {
            each(&line)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read() {
        let parse = |line: &[u8], notation, pairs| {
            let beside = if pairs { Beside::Id } else { Beside::Nothing };
            let parsed = parse_line::<u64>(line, Lines { notation, is_detected: false, beside });
            parsed.map(|found| found.map(|(fingerprint, found)| (fingerprint, found.id())))
        };
        assert_eq!(parse(b"00000000000000ff\r\n", Notation::Hex, false), Ok(Some((255, None))));
        assert_eq!(parse(b"  17\t", Notation::Decimal, false), Ok(Some((17, None))));
        assert_eq!(parse(b"17, 4", Notation::Decimal, true), Ok(Some((17, Some(4)))));
        assert_eq!(parse(b"-1", Notation::Decimal, false), Ok(Some((u64::MAX, None))));
        assert_eq!(parse(b" \r\n", Notation::Hex, false), Ok(None));
    }

    #[test]
    fn names_are_taken_as_they_are() {
        let parse = |line: &[u8]| {
            let lines = Lines { notation: Notation::Hex, is_detected: false, beside: Beside::Name };
            parse_line::<u64>(line, lines)
        };
        for (line, name) in [
            (&b"00000000000000ff\timg 1.png\r\n"[..], &b"img 1.png"[..]),
            (b"00000000000000ff\t a\tb \n", b" a\tb "),
            (b"00000000000000ff\t", b""),
            (b"00000000000000ff  two, blanks", b"two, blanks"),
            (b"00000000000000ff,img.png\n", b"img.png"),
            (b"00000000000000ff\t\xff\xfe", b"\xff\xfe"),
            (b"00000000000000ff\t\"a\\tb\\n\"\n", b"a\tb\n"),
        ] {
            assert_eq!(parse(line), Ok(Some((255, Found::Name(name.to_vec())))), "{line:?}");
        }
        assert_eq!(parse(b" \r\n"), Ok(None));
        assert!(parse(b"00000000000000ff\n").unwrap_err().contains("a tab and a name"));
        let lines = Lines { notation: Notation::Hex, is_detected: false, beside: Beside::NameIfAny };
        assert_eq!(parse_line::<u64>(b"00000000000000ff\n", lines), Ok(Some((255, Found::Nothing))));
        assert!(parse(b"img.png\t00000000000000ff").unwrap_err().contains("hexadecimal"));
        assert!(parse(b"\xff\t1").unwrap_err().contains("expected a fingerprint"));
    }

    #[test]
    fn a_line_of_a_value_alone_lacks_its_number() {
        for (line, beside, lacks) in [
            (&b"\timg.png\n"[..], Beside::Name, true),
            (b",img.png", Beside::NameIfAny, true),
            (b"\t \r\n", Beside::Name, false),
            (b" img.png", Beside::Name, false),
            (b"\t7\n", Beside::Id, true),
            (b"\t17 7\n", Beside::Id, false),
            (b"\t17\n", Beside::Nothing, false),
        ] {
            assert_eq!(lacks_number(line, beside), lacks, "{line:?}");
        }
    }

    #[test]
    fn malformed_lines_say_what_was_expected() {
        let refusal = |line: &[u8], pairs| {
            let beside = if pairs { Beside::Id } else { Beside::Nothing };
            let lines = Lines { notation: Notation::Hex, is_detected: false, beside };
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
        assert!(refusal(&[b'z'; 500], false).len() < 150, "a long line is shortened");
    }
}
