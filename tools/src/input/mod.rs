//! Reads fingerprints from files or standard input, in many formats: all of an input, or records in a separate thread, as
//! they come.
//!
//! - [`open`]: files and standard input, and inputs whose rows are copied
//! - [`format`]: the formats that options name, and hexadecimal and decimal numbers
//! - [`detect`]: the detection of formats, and of files that are not read
//! - [`text`]: lines of numbers, and of ids or names alone
//! - [`binary`]: raw little-endian numbers, bare or in NumPy arrays
//! - [`table`]: columns of Parquet, Arrow, CSV and TSV

mod binary;
mod detect;
mod format;
mod open;
mod table;
mod text;

use std::io::{self, BufRead, Read};
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{self, JoinHandle};

use clap::ValueEnum;
use detect::Start;
pub(crate) use format::{Format, Notation};
use hamdex::Fingerprint;
use hamdex_documents::{Document, InputRows};
use indicatif::ProgressBar;
use open::Opened;
pub(crate) use open::{InputKinds, announce_terminal_input, copy, read_to_copy, total_bytes};
pub(crate) use table::{Columns, Form};
use text::Lines;
pub(crate) use text::{read_ids, read_names};

use crate::failure::Failure;
use crate::messages::{self, counted};
use crate::{names, progress};

/// The source of ids.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum IdSource {
    /// Fingerprints alone
    None,
    /// The 0-based number of the fingerprint over all inputs
    Row,
    /// Each line or record is a fingerprint and an id; in raw files, numbers alternate, and a NumPy array has a column
    /// more
    Pairs,
    /// Names, which the index keeps: of documents, or next to each fingerprint in its line or record. An id
    /// is the 0-based number of the document or fingerprint over all inputs
    Names,
    /// Documents: their names, all of which are numbers of at most 64 bits
    Numbers,
}

/// The kind of value next to each fingerprint.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Beside {
    #[default]
    Nothing,
    Id,
    Name,
    /// A name if there is one.
    NameIfAny,
}

/// The value next to a fingerprint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Found {
    /// Nothing: [`read_with`] puts the number of the row in its place.
    Nothing,
    /// The 0-based number of the row over all inputs, those without a fingerprint counted.
    Row(u64),
    Id(u64),
    /// The name as it was written.
    Name(Vec<u8>),
}

impl Found {
    pub(crate) fn id(self) -> Option<u64> {
        if let Self::Id(id) = self { Some(id) } else { None }
    }
}

/// Receives the fingerprints, each with the value next to it.
pub(crate) type Sink<'a, F> = dyn FnMut(F, Found) -> Result<(), Failure> + 'a;

/// Receives all rows, those without a fingerprint too, each with the value that says whether it is preferred
/// ([`Columns::preferred`]).
pub(crate) type Rows<'a, F> = dyn FnMut(Option<F>, Found, Option<String>) -> Result<(), Failure> + 'a;

/// An input as messages name it.
#[derive(Debug)]
pub(crate) struct Source {
    pub(crate) name: String,
}

impl Source {
    /// Returns an error about the input as a whole.
    pub(crate) fn complaint(&self, what: impl ToString) -> Failure {
        self.complaint_at(String::new(), what)
    }

    pub(crate) fn complaint_at(&self, place: String, what: impl ToString) -> Failure {
        Failure::Input { input: self.name.clone(), place, what: what.to_string() }
    }

    pub(crate) fn unreadable(&self, error: &io::Error) -> Failure {
        self.complaint(format_args!("cannot read it: {error}"))
    }
}

/// The inputs, and how to read them.
#[derive(Clone, Default)]
pub(crate) struct Reading {
    /// The files; standard input for `-`, or if there are none.
    pub(crate) paths: Vec<PathBuf>,
    pub(crate) format: Format,
    /// In tables, the columns of fingerprints and of the values next to them.
    pub(crate) columns: Columns,
    pub(crate) beside: Beside,
    /// The directory for temporary files; by default the system's place for large files.
    pub(crate) temp_dir: Option<PathBuf>,
    /// Whether records are taken as soon as they come: a program may wait for an answer before it sends more.
    pub(crate) is_prompt: bool,
    /// Whether a row without a fingerprint is an error, since each row has an answer; otherwise it is left out.
    pub(crate) needs_each: bool,
}

/// Reads all inputs, in order, with a progress bar.
pub(crate) fn read<F: Fingerprint>(reading: &Reading, sink: &mut Sink<'_, F>) -> Result<(), Failure> {
    let bar = progress::of_bytes("Reading", total_bytes(&reading.paths));
    let outcome = read_with(reading, &bar, sink);
    bar.finish_and_clear();
    outcome
}

/// Reads all inputs, in order, and counts their bytes. Says how many rows of an input have no fingerprint.
pub(crate) fn read_with<F: Fingerprint>(
    reading: &Reading,
    bar: &ProgressBar,
    sink: &mut Sink<'_, F>,
) -> Result<(), Failure> {
    read_rows(reading, bar, &mut |fingerprint, found, _| match fingerprint {
        Some(fingerprint) => sink(fingerprint, found),
        None => Ok(()),
    })
}

/// Does the same with all rows, those without a fingerprint too.
pub(crate) fn read_rows<F: Fingerprint>(
    reading: &Reading,
    bar: &ProgressBar,
    rows: &mut Rows<'_, F>,
) -> Result<(), Failure> {
    let standard_input = [PathBuf::from("-")];
    let paths = if reading.paths.is_empty() { &standard_input[..] } else { &reading.paths };
    let mut reader = Reader::new(reading)?;
    for path in paths {
        let opened = open::open(path, bar)?;
        let name = opened.source.name.clone();
        let (missing, _) = reader.read(opened, None, rows)?;
        if missing > 0 {
            let rows = counted(missing, "row has", "rows have");
            bar.suspend(|| messages::warning(format_args!("{name}: {rows} no fingerprint: left out")));
        }
    }
    reader.finish()
}

/// Reads inputs one after the other.
struct Reader<'a> {
    reading: &'a Reading,
    /// The format and the name of the first input of text.
    seen: Option<(Format, String)>,
    rows: u64,
    fingerprints: u64,
}

impl<'a> Reader<'a> {
    fn new(reading: &'a Reading) -> Result<Self, Failure> {
        reading.format.check_fingerprints()?;
        Ok(Self { reading, seen: None, rows: 0, fingerprints: 0 })
    }

    /// Reads an input; `copied` takes the rows of a table, too. Returns the number of rows without a fingerprint, and
    /// what the input is.
    fn read<F: Fingerprint>(
        &mut self,
        opened: Opened,
        copied: Option<&mut InputRows<'_, '_>>,
        rows: &mut Rows<'_, F>,
    ) -> Result<(u64, Kind), Failure> {
        let name = opened.source.name.clone();
        let Self { reading, seen, rows: count, fingerprints } = self;
        let (first, mut missing) = (*count, 0u64);
        let kind = read_one(opened, reading, copied, seen, &mut |fingerprint, found, value| {
            let row = *count;
            *count += 1;
            match fingerprint {
                Some(_) => *fingerprints += 1,
                None if reading.needs_each => return Err(without_fingerprint(&name, row - first)),
                None => missing += 1,
            }
            rows(fingerprint, if found == Found::Nothing { Found::Row(row) } else { found }, value)
        })?;
        Ok((missing, kind))
    }

    fn finish(self) -> Result<(), Failure> {
        if self.fingerprints == 0 && self.rows > 0 {
            return Err(Failure::Wrong("no row has a fingerprint".to_owned()));
        }
        Ok(())
    }
}

fn without_fingerprint(input: &str, row: u64) -> Failure {
    let what = "it has no fingerprint, and --each has a line for every row";
    Failure::Input { input: input.to_owned(), place: format!(" (row {row})"), what: what.to_owned() }
}

/// The format of an input, and the form of the fingerprints of a table.
type Kind = (Format, Option<Form>);

fn read_one<F: Fingerprint>(
    opened: Opened,
    reading: &Reading,
    copied: Option<&mut InputRows<'_, '_>>,
    seen: &mut Option<(Format, String)>,
    rows: &mut Rows<'_, F>,
) -> Result<Kind, Failure> {
    let Opened { source, mut input, path, bytes } = opened;
    let (columns, beside) = (&reading.columns, reading.beside);
    let mut start = Start::default();
    let found = input.format();
    detect::check_empty(&source, path.as_deref(), input.peek()?)?;
    let format = match reading.format {
        Format::Auto => {
            match detect::table::<F>(path.as_deref(), found, input.peek()?, &columns.fingerprint) {
                Some(table) => table,
                None => {
                    start = Start::read(&mut input, reading.is_prompt)
                        .map_err(|error| source.unreadable(&error))?;
                    let format = detect::format::<F>(&source, path.as_deref(), &start, beside)?;
                    if start.bytes.is_empty() { format } else { agree(format, &source, seen)? }
                }
            }
        }
        given => given,
    };
    if let Some(table) = format.table() {
        if let Some(directory) = &reading.temp_dir {
            input = input.temp_dir(directory);
        }
        let form = table::read(input, table, (columns, beside), reading.is_prompt, copied, rows)?;
        return Ok((format, form));
    }
    let mut copied = copied;
    if let Some(copied) = &mut copied {
        copied.enter(&source.name, "a list of fingerprints")?;
    }
    let rows: &mut Rows<'_, F> = &mut |fingerprint, found, value| {
        if let Some(copied) = &mut copied {
            copied.take(fingerprint.map(|_| Document::default()).as_ref())?;
        }
        rows(fingerprint, found, value)
    };
    let mut reader = start.bytes.as_slice().chain(input);
    let outcome = match format {
        Format::Hex | Format::Decimal => {
            let (notation, is_detected) = (format.notation(), reading.format == Format::Auto);
            text::read(source, &mut reader, Lines { notation, is_detected, beside }, rows)
        }
        Format::U64le | Format::U128le | Format::Npy if beside == Beside::Name => {
            Err(Failure::Usage(format!(
                "{}: raw numbers and NumPy arrays have no names beside them: take text, CSV, Parquet or Arrow, or --ids \
             pairs",
                source.name
            )))
        }
        Format::U64le | Format::U128le => {
            let bits = if format == Format::U64le { 64 } else { 128 };
            if bits != F::BITS {
                return Err(Failure::Usage(format!(
                    "--format u{bits}le holds fingerprints of {bits} bits; with --width {} take u{}le",
                    F::BITS,
                    F::BITS
                )));
            }
            let sink = &mut |fingerprint, found| rows(Some(fingerprint), found, None);
            binary::read(&source, &mut reader, bytes, beside == Beside::Id, sink)
        }
        Format::Npy => {
            let sink = &mut |fingerprint, found| rows(Some(fingerprint), found, None);
            binary::read_npy(&source, &mut reader, beside == Beside::Id, sink)
        }
        _ => unreachable!("it is detected or was checked, and tables are read above"),
    };
    outcome.map(|()| (format, None))
}

/// Refuses two text inputs of one run that look different: lines that fit both notations would be read
/// differently after the one or the other.
fn agree(format: Format, source: &Source, seen: &mut Option<(Format, String)>) -> Result<Format, Failure> {
    let is_text = matches!(format, Format::Hex | Format::Decimal);
    match seen {
        Some((earlier, name)) if is_text && *earlier != format => {
            let (looks, looked) = (format.notation().name(), earlier.notation().name());
            Err(source
                .complaint(format_args!("it looks {looks}, and {name} {looked}; choose one with --format")))
        }
        None if is_text => {
            *seen = Some((format, source.name.clone()));
            Ok(format)
        }
        _ => Ok(format),
    }
}

/// Reads an input line by line, or name by name up to each zero byte.
pub(crate) struct LineReader<R> {
    source: Source,
    reader: R,
    end: u8,
    max_bytes: u64,
    bytes: Vec<u8>,
    number: u64,
}

/// A line with its end.
pub(crate) struct Line<'a> {
    pub(crate) bytes: &'a [u8],
    source: &'a Source,
    number: u64,
}

impl<R: BufRead> LineReader<R> {
    /// Reads up to this byte each time, and at most so many bytes.
    pub(crate) fn new(source: Source, reader: R, end: u8, max_bytes: u64) -> Self {
        Self { source, reader, end, max_bytes, bytes: Vec::new(), number: 0 }
    }

    /// Returns the next line, the first one without a byte order mark; `None` at the end of the input.
    ///
    /// # Errors
    /// When it cannot be read, or is too long: the rest of it would pass for a line.
    pub(crate) fn next_line(&mut self) -> Result<Option<Line<'_>>, Failure> {
        let Self { source, reader, end, max_bytes, bytes, number } = self;
        bytes.clear();
        let read = reader.take(*max_bytes + 1).read_until(*end, bytes);
        if read.map_err(|error| source.unreadable(&error))? == 0 {
            return Ok(None);
        }
        *number += 1;
        let (what, mark) = if *end == b'\n' { ("line", names::BYTE_ORDER_MARK) } else { ("name", &b""[..]) };
        let mark = if *number == 1 { mark } else { b"" };
        let line = Line { bytes: bytes.strip_prefix(mark).unwrap_or(bytes), source, number: *number };
        if bytes.len() as u64 > *max_bytes {
            return Err(line.complaint(format_args!("the {what} is longer than {max_bytes} bytes")));
        }
        Ok(Some(line))
    }
}

impl Line<'_> {
    /// Returns an error about the line.
    pub(crate) fn complaint(&self, what: impl ToString) -> Failure {
        self.source.complaint_at(format!(":{}", self.number), what)
    }
}

/// The capacity of the queue of records.
const MAX_WAITING: usize = 1 << 18;

/// Whether the program that writes into an input may wait for an answer before it writes more.
pub(crate) fn has_pipe(paths: &[PathBuf]) -> bool {
    let is_pipe =
        |path: &PathBuf| path.as_os_str() == "-" || path.metadata().is_ok_and(|file| !file.is_file());
    paths.is_empty() || paths.iter().any(is_pipe)
}

pub(crate) struct Arrivals<T> {
    records: Receiver<T>,
    reader: JoinHandle<Result<(), Failure>>,
    is_prompt: bool,
}

impl<T: Send + 'static> Arrivals<T> {
    /// Starts to read fingerprints; `record` makes a record of each fingerprint and the value next to it.
    pub(crate) fn of_fingerprints<F: Fingerprint>(
        reading: Reading,
        record: impl Fn(F, Found) -> T + Send + 'static,
    ) -> Result<Self, Failure> {
        Self::start(reading.is_prompt, move |sender| {
            read_with::<F>(&reading, &ProgressBar::hidden(), &mut |fingerprint, found| {
                // If the receiver is gone, it reports an error of its own.
                let _ = sender.send(record(fingerprint, found));
                Ok(())
            })
        })
    }

    /// Starts to read in a thread, into a queue. If `is_prompt`, records are taken as soon as they come.
    pub(crate) fn start(
        is_prompt: bool,
        read: impl FnOnce(SyncSender<T>) -> Result<(), Failure> + Send + 'static,
    ) -> Result<Self, Failure> {
        let (sender, records) = sync_channel(MAX_WAITING);
        let reader = thread::Builder::new().name("reader".to_owned()).spawn(move || read(sender));
        let reader = reader.map_err(|error| Failure::Thread(error.into()))?;
        Ok(Self { records, reader, is_prompt })
    }

    /// Replaces `records` by the next ones, at most `max`; if `is_prompt`, only as many as have come with
    /// the first. Returns whether there are any.
    pub(crate) fn next(&mut self, records: &mut Vec<T>, max: usize) -> bool {
        records.clear();
        let Ok(first) = self.records.recv() else { return false };
        records.push(first);
        if self.is_prompt {
            records.extend(self.records.try_iter().take(max - 1));
        } else {
            records.extend(self.records.iter().take(max - 1));
        }
        true
    }

    /// Returns the outcome of reading, after the last record.
    pub(crate) fn end(self) -> Result<(), Failure> {
        self.reader.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }
}
