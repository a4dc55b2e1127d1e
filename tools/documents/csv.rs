//! Comma- or tab-separated values with a record of names first, in bounded memory.

use std::io::BufRead;

use csv_core::{ReadRecordResult, ReaderBuilder};

use crate::documents::Document;
use crate::documents::intake::{Intake, Problem};
use crate::failure::Failure;
use crate::input::Source;

/// Fields of a record are at most so many.
const MOST_FIELDS: usize = 1 << 16;

/// What room a record gets at first, in bytes; it grows up to the limit.
const FIRST_ROOM_BYTES: usize = 1 << 12;

pub(super) fn read(
    source: &Source,
    reader: &mut impl BufRead,
    delimiter: u8,
    intake: &mut Intake<'_>,
) -> Result<(), Failure> {
    let mut records = Records::new(delimiter, intake.most_bytes());
    let columns = match records.next(source, reader)? {
        Next::End => return Ok(()),
        Next::Record => columns(source, &records, intake)?,
        Next::TooLong => {
            return Err(source.complaint_at(":1".to_owned(), "the record of names is too long"));
        }
    };
    loop {
        match records.next(source, reader)? {
            Next::End => return Ok(()),
            Next::TooLong => intake.too_long(source, format!(":{}", records.line), "record")?,
            Next::Record => {
                let place = format!(":{}", records.line);
                let [id, text, extra] = columns.map(|column| column.and_then(|column| records.field(column)));
                let (Some(id), Some(text)) = (id, text) else {
                    let found = records.ends.len();
                    let what = format_args!("the record has {found} fields only");
                    intake.skip(source, place, Problem::MissingField, what)?;
                    continue;
                };
                // The whole record counts as one text, so that invalid UTF-8 is told once.
                let whole = [id, text].concat();
                intake.text(source, || place.clone(), &whole)?;
                let owned = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
                intake.take(Document {
                    id: owned(id),
                    text: owned(text),
                    extra: extra.map(owned),
                    line: None,
                })?;
            }
        }
    }
}

/// Where id, text and the extra field are.
fn columns(source: &Source, names: &Records, intake: &Intake<'_>) -> Result<[Option<usize>; 3], Failure> {
    let fields = intake.reading.fields;
    let find = |name: &str| (0..names.ends.len()).find(|&at| names.field(at) == Some(name.as_bytes()));
    let needed = |name: &str, option: &str| {
        find(name).ok_or_else(|| {
            let all: Vec<_> = (0..names.ends.len()).filter_map(|at| names.field(at)).collect();
            let all: Vec<_> = all.into_iter().map(String::from_utf8_lossy).collect();
            source.complaint_at(
                ":1".to_owned(),
                format_args!("no column is named {name:?} ({option}); there are: {}", all.join(", ")),
            )
        })
    };
    Ok([
        Some(needed(&fields.id_field, "--id-field")?),
        Some(needed(&fields.text_field, "--text-field")?),
        intake.reading.extra.and_then(find),
    ])
}

enum Next {
    End,
    Record,
    TooLong,
}

/// Reads record after record into the same memory.
struct Records {
    parser: csv_core::Reader,
    bytes: Vec<u8>,
    ends: Vec<usize>,
    most_bytes: usize,
    /// Where the latest record starts.
    line: u64,
}

impl Records {
    fn new(delimiter: u8, most_bytes: u64) -> Self {
        Self {
            parser: ReaderBuilder::new().delimiter(delimiter).build(),
            bytes: vec![0; FIRST_ROOM_BYTES],
            ends: Vec::new(),
            most_bytes: usize::try_from(most_bytes).unwrap_or(usize::MAX).max(FIRST_ROOM_BYTES),
            line: 1,
        }
    }

    fn field(&self, number: usize) -> Option<&[u8]> {
        let end = *self.ends.get(number)?;
        let start = if number == 0 { 0 } else { self.ends[number - 1] };
        Some(&self.bytes[start..end])
    }

    fn next(&mut self, source: &Source, reader: &mut impl BufRead) -> Result<Next, Failure> {
        self.line = self.parser.line();
        self.ends.resize(64, 0);
        let (mut filled, mut fields) = (0, 0);
        let mut too_long = false;
        loop {
            let input = reader.fill_buf().map_err(|error| source.unreadable(&error))?;
            let (result, read, written, ended) =
                self.parser.read_record(input, &mut self.bytes[filled..], &mut self.ends[fields..]);
            reader.consume(read);
            filled += written;
            fields += ended;
            match result {
                ReadRecordResult::InputEmpty => {}
                ReadRecordResult::OutputFull if self.bytes.len() >= self.most_bytes => {
                    // Read to its end, each piece over the last one.
                    too_long = true;
                    filled = 0;
                }
                ReadRecordResult::OutputFull => {
                    let more = (self.bytes.len() * 2).min(self.most_bytes);
                    self.bytes.resize(more, 0);
                }
                ReadRecordResult::OutputEndsFull if self.ends.len() >= MOST_FIELDS => {
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
