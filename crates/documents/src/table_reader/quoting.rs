//! Quotes around the fields of tables.
//!
//! CSV has them (RFC 4180). Of tab-separated values there are two kinds: one that spreadsheets and most libraries write,
//! with quotes as CSV has them, and one without any quoting, as PostgreSQL, Wikipedia and MS MARCO write it, where a
//! quote is a character like any other. A quote that is read in a file of the second kind swallows the rows up to the
//! next one. In a file of the first kind, a field of several lines falls apart if its quotes are not read.

use memchr::{memchr, memchr2, memchr3};

use crate::error::Error;
use crate::input::Input;
use crate::problem::Problem;

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
    /// Returns the quoting that is given, or that of the input: CSV has quotes, TSV only where its start shows it. A
    /// choice by the start is reported if fields seem to be in quotes. With `is_live`, the input is not waited for: TSV
    /// has none then.
    pub(crate) fn of(
        input: Input,
        delimiter: u8,
        given: Option<Self>,
        is_live: bool,
    ) -> Result<(Input, Self, Option<Problem>), Error> {
        if let Some(given) = given {
            return Ok((input, given, None));
        }
        if delimiter != b'\t' {
            return Ok((input, Self::Csv, None));
        }
        if is_live && input.is_stream() {
            return Ok((input, Self::None, None));
        }
        let input = input.buffered(DECIDING_BYTES)?;
        let (start, is_whole) = input.start();
        let signs = Signs::of(start, is_whole);
        Ok(match signs.quoting() {
            Self::Csv => (input, Self::Csv, Some(Problem::Quotes)),
            Self::None => (input, Self::None, signs.seems_quoted.then_some(Problem::NoQuotes)),
        })
    }
}

/// Signs that fields of tab-separated values are in quotes, or are not.
#[derive(Debug, Default)]
struct Signs {
    /// Records of the header's number of fields that have a tab or line end in quotes, and most of whose lines do not
    /// have that number.
    torn_without: usize,
    /// Records of several fields that quotes join from lines most of which have the header's number of fields, and a
    /// quote that is never closed.
    joined_with: usize,
    /// Whether text follows a closing quote, so that the quotes may be characters of the text.
    has_stray: bool,
    /// Whether a name is in quotes, or a quote in a field is doubled. The records are the same without quotes.
    has_form: bool,
    /// Whether fields seem to be in quotes.
    seems_quoted: bool,
}

impl Signs {
    /// Looks for signs at the start of a file, or in all of it.
    fn of(start: &[u8], is_whole: bool) -> Self {
        let start = start.strip_prefix(b"\xef\xbb\xbf").unwrap_or(start);
        let mut signs = Self::default();
        let (mut rest, mut columns) = (start, None);
        if memchr(QUOTE, start).is_none() {
            return signs;
        }
        loop {
            let blank = rest.iter().take_while(|byte| is_line_end(**byte)).count();
            rest = &rest[blank..];
            if rest.is_empty() {
                return signs;
            }
            let record = Record::read(rest, b'\t');
            let (bytes, behind) = rest.split_at(record.length);
            let is_first = columns.is_none();
            let columns = *columns.get_or_insert(record.fields);
            let is_cut_off = behind.is_empty() && !is_whole;
            if record.is_quoted {
                signs.add(&record, bytes, columns, is_first, is_cut_off);
            }
            rest = behind;
        }
    }

    /// Adds the signs of a record with quotes.
    fn add(&mut self, record: &Record, bytes: &[u8], columns: usize, is_first: bool, is_cut_off: bool) {
        let lines = || bytes.split(|&byte| byte == b'\n').filter(|line| !matches!(line, [] | [b'\r']));
        // Spreadsheets write empty fields behind the last column, in lines as in the record.
        let most = record.fields.max(columns);
        let is_row = |(fields, filled)| (columns..=most).contains(&fields) && filled <= columns;
        let rows = lines().filter(|line| is_row(fields(line))).count();
        // A text of one column can have any lines.
        let joins_rows = columns > 1 && record.has_break && 2 * rows > lines().count();
        self.has_stray |= record.has_stray;
        if joins_rows || record.is_open && !is_cut_off {
            self.joined_with += 1;
        } else if !record.has_stray && !record.is_open && !is_cut_off {
            let is_torn =
                record.has_break && is_row((record.fields, record.filled)) && rows < lines().count();
            self.torn_without += usize::from(is_torn);
            let has_form = record.has_doubled || is_first;
            self.has_form |= has_form;
            self.seems_quoted |= has_form || record.has_break;
        }
    }

    /// Returns the quoting with which more records have the header's number of fields. If none has more, only the form
    /// of all fields shows quotes.
    fn quoting(&self) -> Quoting {
        let has_form = self.has_form && !self.has_stray && self.joined_with == 0;
        if self.torn_without > self.joined_with || has_form { Quoting::Csv } else { Quoting::None }
    }
}

/// Returns the number of fields of a line without quotes, and the number up to the last that is not empty.
fn fields(line: &[u8]) -> (usize, usize) {
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    let fields = 1 + line.iter().filter(|&&byte| byte == b'\t').count();
    let empty = line.iter().rev().take_while(|&&byte| byte == b'\t').count();
    (fields, fields - empty)
}

pub(crate) fn is_line_end(byte: u8) -> bool {
    matches!(byte, b'\n' | b'\r')
}

/// The form of a record that is read with quotes.
#[derive(Debug, Default)]
pub(crate) struct Record {
    /// Its bytes, without the line end.
    length: usize,
    fields: usize,
    /// Number of fields up to the last that is not empty.
    filled: usize,
    /// Whether a field begins with a quote.
    is_quoted: bool,
    /// Whether there is a doubled quote in quotes.
    has_doubled: bool,
    /// Whether there is a delimiter or line end in quotes.
    has_break: bool,
    /// Whether something else than a delimiter or line end follows a closing quote.
    pub(crate) has_stray: bool,
    /// Whether the last quote is not closed.
    is_open: bool,
}

impl Record {
    /// Reads the first record.
    pub(crate) fn read(bytes: &[u8], delimiter: u8) -> Self {
        let mut record = Self::default();
        let mut at = 0;
        loop {
            let start = at;
            if bytes.get(at) == Some(&QUOTE) {
                at = record.read_quoted(bytes, at + 1, delimiter);
            }
            at += memchr3(delimiter, b'\n', b'\r', &bytes[at..]).unwrap_or(bytes.len() - at);
            record.fields += 1;
            if at > start {
                record.filled = record.fields;
            }
            if bytes.get(at) != Some(&delimiter) {
                record.length = at;
                return record;
            }
            at += 1;
        }
    }

    /// Reads from behind an opening quote to behind the closing one.
    fn read_quoted(&mut self, bytes: &[u8], mut at: usize, delimiter: u8) -> usize {
        self.is_quoted = true;
        loop {
            let length = memchr(QUOTE, &bytes[at..]);
            let text = &bytes[at..][..length.unwrap_or(bytes.len() - at)];
            self.has_break |= memchr2(delimiter, b'\n', text).is_some();
            at += text.len() + usize::from(length.is_some());
            match bytes.get(at) {
                _ if length.is_none() => self.is_open = true,
                Some(&QUOTE) => {
                    self.has_doubled = true;
                    at += 1;
                    continue;
                }
                next => self.has_stray |= next.is_some_and(|&next| next != delimiter && !is_line_end(next)),
            }
            return at;
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn tab_separated_values_have_quotes_only_where_they_need_them() {
        let long = "1\tsome text\n".repeat(100);
        let lines = "1\t\"two\nlines\"\n";
        for (start, expected) in [
            ("id\ttext\n1\ta\n", false),
            ("id\ttext\n1\t\"He said so.\n2\tb\n", false),
            ("id\ttext\n1\t\"He said so.\n2\tten 10\"\n", false),
            ("id\ttext\n1\t\"He said so.\"\n2\tb\n", false),
            ("id\ttext\n1\t\"a\" and b\n2\t\"a \"\"b\"\"\"\n", false),
            ("id\ttext\n1\t\"open\n2\tb\n3\tc", false),
            ("id\ttext\n1\t\"a \"\"b\"\"\"\n2\tb\n", true),
            ("id\ttext\n1\t\"a \"\"b\"\"\"\n2\t\"open\n", false),
            ("\"id\"\t\"text\"\r\n\"1\"\t\"a\"\r\n", true),
            ("\"text\"\n\"two\nlines\"\n", true),
            ("id\ttext\n1\t\"two\nlines\"\n2\tb\n", true),
            ("text\tid\r\n\"two\r\n\r\nlines\"\t1\t\r\nb\t2\t\r\n", true),
            ("id\ttext\n1\t\"a\ttab\"\n2\tb\n", true),
            ("# a comment\n1\t\"He said\n2\tso.\"\n", false),
            (&format!("id\ttext\n{lines}2\t\"open\n3\tb"), false),
            (&format!("id\ttext\n{lines}{lines}2\t\"open\n3\tb"), true),
            (&format!("id\ttext\n{lines}{}", "2\t\"Yes\", he said\n".repeat(9)), true),
            ("", false),
        ] {
            assert_eq!(Signs::of(start.as_bytes(), true).quoting() == Quoting::Csv, expected, "{start:?}");
        }
        for (end, expected) in [
            ("1\t\"cut off", true),
            ("1\t\"cut off\nhere", true),
            (&*long, true),
            ("1\t\"a\n2\tb\n3\tc", false),
        ] {
            let start = format!("id\ttext\n1\t\"a\ttab\"\n{long}{end}");
            assert_eq!(Signs::of(start.as_bytes(), false).quoting() == Quoting::Csv, expected, "{end:?}");
        }
    }

    proptest! {
        #[test]
        fn records_are_those_of_the_reader(bytes in "[a\"\t\n\r]{0,40}") {
            let mut reader = ::csv::ReaderBuilder::new();
            let mut reader = reader.delimiter(b'\t').flexible(true).has_headers(false).from_reader(bytes.as_bytes());
            let expected: Vec<usize> = reader.byte_records().map(|record| record.unwrap().len()).collect();
            let (mut rest, mut found) = (bytes.as_bytes(), Vec::new());
            loop {
                rest = &rest[rest.iter().take_while(|byte| is_line_end(**byte)).count()..];
                if rest.is_empty() {
                    break;
                }
                let record = Record::read(rest, b'\t');
                found.push(record.fields);
                rest = &rest[record.length..];
            }
            prop_assert_eq!(found, expected);
        }

        #[test]
        fn a_table_without_quoting_is_never_read_with_quotes(
            rows in prop::collection::vec(prop::collection::vec("\"?[ab ]{0,3}\"?[ab ]{0,3}\"?", 3), 0..40),
            columns in 2..=3_usize,
        ) {
            let lines: Vec<String> = rows.iter().map(|row| row[..columns].join("\t").replace("\"\"", "\" \"")).collect();
            let table = format!("{}\n{}", ["a", "b", "c"][..columns].join("\t"), lines.join("\n"));
            for is_whole in [false, true] {
                let signs = Signs::of(table.as_bytes(), is_whole);
                prop_assert_eq!(signs.quoting(), Quoting::None, "{:?} {:?}", table, signs);
            }
        }

        #[test]
        fn texts_of_several_lines_outvote_stray_quotes(
            kinds in prop::collection::vec((0..5_usize, "[a ]{1,3}", "[a ]{1,3}"), 1..60),
        ) {
            let rows = kinds.iter().enumerate().map(|(id, (kind, a, b))| match kind {
                0 => format!("{id}\t{a}{b}\n"),
                1 => format!("{id}\t\"{a}\n\n{b}\"\n"),
                2 => format!("{id}\t\"{a}\t{b}\"\n"),
                3 => format!("{id}\t\"{a}\" {b}\n"),
                _ => format!("{id}\t\"{a}\n"),
            });
            let table = format!("id\ttext\n{}", rows.collect::<String>());
            let count = |wanted: &[usize]| kinds.iter().filter(|(kind, ..)| wanted.contains(kind)).count();
            let signs = Signs::of(table.as_bytes(), true);
            // A quote that is not closed also takes the first quote of the next text.
            if count(&[1, 2]) > 2 * count(&[4]) {
                prop_assert_eq!(signs.quoting(), Quoting::Csv, "{:?} {:?}", table, signs);
            }
            if count(&[1, 2]) == 0 {
                prop_assert_eq!(signs.quoting(), Quoting::None, "{:?} {:?}", table, signs);
            }
        }
    }
}
