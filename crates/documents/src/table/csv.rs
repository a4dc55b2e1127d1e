//! Comma- or tab-separated values in bounded memory.

use std::io::BufRead;

use csv_core::{ReadRecordResult, ReaderBuilder};

use crate::error::Error;
use crate::input::Input;
use crate::problem::Place;

/// The greatest number of fields of a record.
const MAX_FIELDS: usize = 1 << 16;

/// The initial capacity of a record, in bytes and fields; it grows up to the limits.
const INITIAL_RECORD_BYTES: usize = 1 << 12;
const INITIAL_FIELDS: usize = 64;

pub(crate) enum Next {
    End,
    Record,
    TooLong,
}

/// Reads records, one after the other, into the same memory.
pub(crate) struct Records {
    input: Input,
    parser: csv_core::Reader,
    bytes: Vec<u8>,
    ends: Vec<usize>,
    max_bytes: usize,
    /// The line where the latest record starts.
    line: u64,
}

impl Records {
    pub(crate) fn new(input: Input, delimiter: u8, max_bytes: u64) -> Self {
        Self {
            input,
            parser: ReaderBuilder::new().delimiter(delimiter).build(),
            bytes: vec![0; INITIAL_RECORD_BYTES],
            ends: Vec::new(),
            max_bytes: usize::try_from(max_bytes).unwrap_or(usize::MAX).max(INITIAL_RECORD_BYTES),
            line: 1,
        }
    }

    /// Returns the place of the latest record.
    pub(crate) fn place(&self) -> Place {
        Place::line(self.input.name(), self.line)
    }

    pub(crate) fn field(&self, number: usize) -> Option<&[u8]> {
        let end = *self.ends.get(number)?;
        let start = if number == 0 { 0 } else { self.ends[number - 1] };
        Some(&self.bytes[start..end])
    }

    pub(crate) fn fields(&self) -> impl Iterator<Item = &[u8]> {
        (0..self.ends.len()).filter_map(|number| self.field(number))
    }

    pub(crate) fn next(&mut self) -> Result<Next, Error> {
        self.line = self.parser.line();
        self.ends.resize(INITIAL_FIELDS, 0);
        let (mut filled, mut fields) = (0, 0);
        let mut too_long = false;
        loop {
            let bytes = match self.input.fill_buf() {
                Ok(bytes) => bytes,
                Err(error) => return Err(self.input.unreadable()(error)),
            };
            let (result, read, written, ended) =
                self.parser.read_record(bytes, &mut self.bytes[filled..], &mut self.ends[fields..]);
            self.input.consume(read);
            filled += written;
            fields += ended;
            match result {
                ReadRecordResult::InputEmpty => {}
                ReadRecordResult::OutputFull if self.bytes.len() >= self.max_bytes => {
                    // Read to its end, each piece over the previous one.
                    too_long = true;
                    filled = 0;
                }
                ReadRecordResult::OutputFull => {
                    let more = (self.bytes.len() * 2).min(self.max_bytes);
                    self.bytes.resize(more, 0);
                }
                ReadRecordResult::OutputEndsFull if self.ends.len() >= MAX_FIELDS => {
                    too_long = true;
                    fields = 0;
                }
                ReadRecordResult::OutputEndsFull => self.ends.resize(self.ends.len() * 2, 0),
                ReadRecordResult::Record => {
                    self.ends.truncate(fields);
                    return Ok(if too_long { Next::TooLong } else { Next::Record });
                }
                ReadRecordResult::End => return Ok(Next::End),
            }
        }
    }
}
