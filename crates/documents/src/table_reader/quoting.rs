//! Quotes around the fields of tables.
//!
//! CSV has them (RFC 4180). Of tab-separated values there are two kinds: one that spreadsheets and most libraries write,
//! with quotes as CSV has them, and one without any quoting, as PostgreSQL, Wikipedia and MS MARCO write it, where a quote
//! is a character like any other. A quote that is read in a file of the second kind swallows the rows up to the next one.

use crate::error::Error;
use crate::input::Input;

/// Bytes from the start of a file that decide.
const DECIDING_BYTES: u64 = 1 << 20;

const QUOTE: u8 = b'"';

/// Whether fields of CSV and TSV can be in quotes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Quoting {
    /// A field that begins with a quote ends with one; a quote in it is doubled.
    Csv,
    /// Quotes are characters like any other.
    None,
}

impl Quoting {
    /// Returns the quoting that is given, or that of the input: CSV has quotes, TSV only where its start shows it.
    /// With `is_live`, the input is not waited for: TSV has none then.
    pub(crate) fn of(
        input: Input,
        delimiter: u8,
        given: Option<Self>,
        is_live: bool,
    ) -> Result<(Input, Self), Error> {
        if let Some(given) = given {
            return Ok((input, given));
        }
        if delimiter != b'\t' {
            return Ok((input, Self::Csv));
        }
        if is_live && input.is_stream() {
            return Ok((input, Self::None));
        }
        let mut input = input.buffered(DECIDING_BYTES)?;
        let quoting = if shows_quotes(input.peek()?) { Self::Csv } else { Self::None };
        Ok((input, quoting))
    }
}

/// Returns whether tab-separated values need quotes to be read: all fields that begin with a quote end with one before
/// the next tab or line end, and one of them is a name or has a doubled quote inside, or has a tab or line end where lines
/// alone do not have the fields of the first.
fn shows_quotes(start: &[u8]) -> bool {
    let start = start.strip_prefix(b"\xef\xbb\xbf").unwrap_or(start);
    if !start.contains(&QUOTE) {
        return false;
    }
    let (mut at, mut is_needed, mut is_broken) = (0, false, false);
    let is_end = |byte: Option<&u8>| matches!(byte, None | Some(b'\t' | b'\n' | b'\r'));
    let first_line = start.iter().position(|&byte| byte == b'\n').unwrap_or(start.len());
    // Every field begins here.
    while at < start.len() {
        if start[at] != QUOTE {
            at += start[at..]
                .iter()
                .position(|byte| matches!(byte, b'\t' | b'\n'))
                .map_or(start.len(), |end| end + 1);
            continue;
        }
        let Some(field) = quoted(&start[at..]) else { return false };
        let end = at + field.length;
        if end == start.len() && !field.is_closed {
            break;
        }
        if !is_end(start.get(end)) {
            return false;
        }
        is_needed |= at < first_line || field.has_quote;
        is_broken |= field.has_break;
        at = end + 1;
    }
    is_needed || is_broken && !is_even(start)
}

/// A field in quotes.
struct Quoted {
    /// Its bytes, with the quotes.
    length: usize,
    /// Whether its end was found.
    is_closed: bool,
    has_quote: bool,
    /// Whether there is a tab or line end inside.
    has_break: bool,
}

/// Reads a field that begins with a quote; `None` if a quote inside is neither doubled nor at its end.
fn quoted(start: &[u8]) -> Option<Quoted> {
    let mut field = Quoted { length: start.len(), is_closed: false, has_quote: false, has_break: false };
    let mut at = 1;
    while let Some(&byte) = start.get(at) {
        match byte {
            QUOTE if start.get(at + 1) == Some(&QUOTE) => {
                field.has_quote = true;
                at += 1;
            }
            QUOTE => {
                let is_end = matches!(start.get(at + 1), None | Some(b'\t' | b'\n' | b'\r'));
                field.length = at + 1;
                field.is_closed = true;
                return is_end.then_some(field);
            }
            b'\t' | b'\n' => field.has_break = true,
            _ => {}
        }
        at += 1;
    }
    Some(field)
}

/// Returns whether all whole lines have as many fields as the first.
fn is_even(start: &[u8]) -> bool {
    let end = start.iter().rposition(|&byte| byte == b'\n').unwrap_or(start.len());
    let tabs = |line: &[u8]| line.iter().filter(|&&byte| byte == b'\t').count();
    let mut lines =
        start[..end].split(|&byte| byte == b'\n').filter(|line| !line.trim_ascii_end().is_empty());
    let Some(first) = lines.next().map(tabs) else { return true };
    lines.all(|line| tabs(line) == first)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tab_separated_values_have_quotes_only_where_they_need_them() {
        let long = "1\tsome text\n".repeat(100);
        for (start, expected) in [
            ("id\ttext\n1\ta\n", false),
            ("id\ttext\n1\t\"He said so.\n2\tb\n", false),
            ("id\ttext\n1\t\"He said so.\n2\tten 10\"\n", false),
            ("id\ttext\n1\t\"He said so.\"\n2\tb\n", false),
            ("id\ttext\n1\t\"a\" and b\n2\t\"a \"\"b\"\"\"\n", false),
            ("id\ttext\n1\t\"open\n2\tb\n3\tc", false),
            ("id\ttext\n1\t\"a \"\"b\"\"\"\n2\tb\n", true),
            ("\"id\"\t\"text\"\r\n\"1\"\t\"a\"\r\n", true),
            ("id\ttext\n1\t\"two\nlines\"\n2\tb\n", true),
            ("id\ttext\n1\t\"a\ttab\"\n2\tb\n", true),
            (&format!("id\ttext\n1\t\"a\ttab\"\n{long}1\t\"cut off"), true),
            ("", false),
        ] {
            assert_eq!(shows_quotes(start.as_bytes()), expected, "{start:?}");
        }
    }
}
