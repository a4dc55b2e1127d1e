//! Comma- or tab-separated values in bounded memory.

use std::io::BufRead;

use csv_core::{ReadRecordResult, ReaderBuilder, Terminator};

use crate::error::Error;
use crate::input::Input;
use crate::problem::{Place, Position, Problem};
use crate::table_reader::quoting::{self, Quoting, is_line_end};

/// The greatest number of fields of a record.
const MAX_FIELDS: usize = 1 << 16;

/// The initial capacity of a record, in bytes and fields; it grows up to the limits.
const INITIAL_RECORD_BYTES: usize = 1 << 12;
const INITIAL_FIELDS: usize = 64;

pub(crate) enum Next {
    End,
    Record,
    /// The record or a quoted text, named here, is too long.
    TooLong(&'static str),
    /// The input ends within quotes.
    Unclosed,
}

/// Reads records one by one into the same memory.
pub(crate) struct Records {
    input: Input,
    parser: csv_core::Reader,
    quoting: Quoting,
    /// The report of a quoting that the start of the input decided.
    decision: Option<Problem>,
    delimiter: u8,
    bytes: Vec<u8>,
    ends: Vec<usize>,
    /// The latest record as it is written in the input, with line ends around it.
    raw: Vec<u8>,
    max_bytes: usize,
    /// The line at which the latest record starts, or at which the quote that makes it too long is opened.
    line: u64,
    /// Number of records read.
    number: u64,
    /// Whether a line end was supplied for the last record.
    has_ended: bool,
}

impl Records {
    /// Begins at the start of an input, with the quoting that is given or that its start shows.
    pub(crate) fn new(
        input: Input,
        delimiter: u8,
        quoting: Option<Quoting>,
        is_live: bool,
        max_bytes: u64,
    ) -> Result<Self, Error> {
        let (input, quoting, decision) = Quoting::of(input, delimiter, quoting, is_live)?;
        let mut parser = ReaderBuilder::new();
        parser.delimiter(delimiter);
        if quoting == Quoting::None {
            // A carriage return is a character like any other, but before a line feed.
            parser.quoting(false).terminator(Terminator::Any(b'\n'));
        }
        let parser = parser.build();
        Ok(Self {
            input,
            parser,
            quoting,
            decision,
            delimiter,
            bytes: vec![0; INITIAL_RECORD_BYTES],
            ends: Vec::new(),
            raw: Vec::new(),
            max_bytes: usize::try_from(max_bytes).unwrap_or(usize::MAX).max(INITIAL_RECORD_BYTES),
            line: 1,
            number: 0,
            has_ended: false,
        })
    }

    pub(crate) fn quoting(&self) -> Quoting {
        self.quoting
    }

    /// Takes the report of a quoting that the start of the input decided.
    pub(crate) fn take_decision(&mut self) -> Option<Problem> {
        self.decision.take()
    }

    /// Returns whether text follows a closing quote in the latest record.
    pub(crate) fn has_stray_quote(&self) -> bool {
        self.quoting == Quoting::Csv
            && self.raw.contains(&b'"')
            && quoting::Record::read(self.raw_record(), self.delimiter).has_stray
    }

    /// Returns the latest record as it is written in the input, without its line end, if a table with this delimiter and
    /// quoting has it so.
    pub(crate) fn raw(&self, delimiter: u8, quoting: Quoting) -> Option<&[u8]> {
        let raw = self.raw_record();
        let is_alike = quoting == self.quoting || !raw.contains(&b'"') && !raw.contains(&b'\r');
        (delimiter == self.delimiter && is_alike).then_some(raw)
    }

    /// Returns the latest record as it is written in the input, without its line end.
    pub(crate) fn raw_record(&self) -> &[u8] {
        let start = self.raw.iter().position(|byte| !is_line_end(*byte)).unwrap_or(self.raw.len());
        let end = self.raw.iter().rposition(|byte| !is_line_end(*byte)).map_or(start, |last| last + 1);
        &self.raw[start..end]
    }

    /// Returns the line end behind the latest record.
    pub(crate) fn line_end(&self) -> &'static [u8] {
        let line_end = self.raw.rsplit(|byte| !is_line_end(*byte)).next().unwrap_or_default();
        if line_end.contains(&b'\r') { b"\r\n" } else { b"\n" }
    }

    /// Returns the number of lines of the latest record.
    pub(crate) fn lines(&self) -> u64 {
        // Few records have several, which only their bytes tell from blank lines before them.
        if self.parser.line() <= self.line + 1 {
            return 1;
        }
        1 + self.raw_record().iter().filter(|&&byte| byte == b'\n').count() as u64
    }

    /// Returns the number of the latest record, counted from 1.
    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    pub(crate) fn input(&self) -> &str {
        self.input.name()
    }

    /// Returns the place of the latest record.
    pub(crate) fn place(&self) -> Place {
        Place::at(self.input.name(), Position::Line(self.line))
    }

    pub(crate) fn field(&self, number: usize) -> Option<&[u8]> {
        let end = *self.ends.get(number)?;
        let start = if number == 0 { 0 } else { self.ends[number - 1] };
        Some(&self.bytes[start..end])
    }

    pub(crate) fn fields(&self) -> impl Iterator<Item = &[u8]> {
        (0..self.ends.len()).filter_map(|number| self.field(number))
    }

    /// Returns the number of fields if there are more than `columns`, and one of the others is not empty: its text
    /// belongs to no column. Spreadsheets write empty ones.
    pub(crate) fn excess(&self, columns: usize) -> Option<usize> {
        let others = self.fields().skip(columns).any(|field| !field.is_empty());
        others.then(|| self.fields().count())
    }

    pub(crate) fn next(&mut self) -> Result<Next, Error> {
        self.line = self.parser.line();
        self.ends.resize(INITIAL_FIELDS, 0);
        self.raw.clear();
        let (mut filled, mut fields) = (0, 0);
        let mut too_long = None;
        self.number += 1;
        loop {
            let (bytes, is_added) = match self.input.fill_buf() {
                // Supply the last record with a line end if it has none. Within quotes it would be part of the text.
                Ok([]) if !self.has_ended => (&b"\n"[..], true),
                Ok(bytes) => (bytes, false),
                Err(error) => return Err(self.input.unreadable()(error)),
            };
            let (result, read, written, ended) =
                self.parser.read_record(bytes, &mut self.bytes[filled..], &mut self.ends[fields..]);
            if is_added {
                self.has_ended = read > 0;
            } else {
                // Blank lines before a record can be any number.
                if filled + fields == 0 && self.raw.iter().all(|byte| is_line_end(*byte)) {
                    self.raw.clear();
                }
                if too_long.is_none() {
                    self.raw.extend_from_slice(&bytes[..read]);
                }
                self.input.consume(read);
            }
            filled += written;
            fields += ended;
            if is_added && written > 0 {
                let quote = self.line_of_quote(filled, fields).filter(|_| too_long.is_none());
                self.line = quote.unwrap_or(self.line);
                return Ok(Next::Unclosed);
            }
            match result {
                ReadRecordResult::InputEmpty => {}
                ReadRecordResult::OutputFull if self.bytes.len() >= self.max_bytes => {
                    if too_long.is_none() {
                        let quote = self.line_of_quote(filled, fields);
                        self.line = quote.unwrap_or(self.line);
                        too_long = Some(if quote.is_some() { "text in quotes" } else { "record" });
                    }
                    // Read to its end, each piece over the previous one.
                    filled = 0;
                    self.raw = Vec::new();
                }
                ReadRecordResult::OutputFull => {
                    let more = (self.bytes.len() * 2).min(self.max_bytes);
                    self.bytes.resize(more, 0);
                }
                ReadRecordResult::OutputEndsFull if self.ends.len() >= MAX_FIELDS => {
                    too_long = Some("record");
                    fields = 0;
                }
                ReadRecordResult::OutputEndsFull => self.ends.resize(self.ends.len() * 2, 0),
                ReadRecordResult::Record => {
                    self.ends.truncate(fields);
                    if self.quoting == Quoting::None {
                        self.end_without_return();
                        // A blank line is no record.
                        if self.ends == [0] {
                            self.line = self.parser.line();
                            self.ends.resize(INITIAL_FIELDS, 0);
                            self.raw.clear();
                            (filled, fields) = (0, 0);
                            continue;
                        }
                    }
                    return Ok(too_long.map_or(Next::Record, Next::TooLong));
                }
                ReadRecordResult::End => return Ok(Next::End),
            }
        }
    }

    /// Takes a carriage return off the end of the record.
    fn end_without_return(&mut self) {
        let last = self.ends.len().saturating_sub(1);
        if self.field(last).is_some_and(|field| field.ends_with(b"\r")) {
            self.ends[last] -= 1;
        }
    }

    /// Returns the line at which the latest field begins if it has several lines, so that it is in quotes.
    fn line_of_quote(&self, filled: usize, fields: usize) -> Option<u64> {
        let start = if fields == 0 { 0 } else { self.ends[fields - 1].min(filled) };
        let lines = self.bytes[start..filled].iter().filter(|&&byte| byte == b'\n').count() as u64;
        (lines > 0).then(|| self.parser.line() - lines)
    }
}
