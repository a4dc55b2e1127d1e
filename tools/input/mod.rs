//! Fingerprints from files or standard input, in any of the formats that tools write.
//!
//! - [`detect`]: which format is it
//! - [`text`]: lines of hexadecimal or decimal numbers
//! - [`binary`]: raw little-endian numbers
//! - [`npy`]: NumPy arrays

mod binary;
mod detect;
mod npy;
mod text;

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use clap::ValueEnum;
use hamdex::Fingerprint;
use indicatif::ProgressBar;

use crate::bars;
use crate::failure::Failure;

/// Bytes read at once, and looked at to detect the format.
pub(crate) const BUFFER_BYTES: usize = 1 << 18;

/// How fingerprints are written down.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// Look at the first bytes of each input
    Auto,
    /// A line each: 16 (32) hexadecimal digits, or 0x and digits
    Hex,
    /// A line each: a decimal number
    Decimal,
    /// Raw little-endian numbers of 8 bytes
    U64le,
    /// Raw little-endian numbers of 16 bytes (with --width 128)
    U128le,
    /// A NumPy array of uint64 (128 bits: two columns, high word first)
    Npy,
}

/// What comes with each fingerprint.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum IdSource {
    /// Fingerprints alone
    None,
    /// The 0-based number of the fingerprint over all inputs
    Row,
    /// Each line or record is a fingerprint and an id
    Pairs,
    /// Documents: their names, kept in a file beside the index
    Names,
    /// Documents: their names, which all are numbers of at most 64 bits
    Numbers,
}

/// What takes the fingerprints: each with the id that stands beside it, if one does.
pub(crate) type Sink<'a, F> = dyn FnMut(F, Option<u64>) -> Result<(), Failure> + 'a;

/// An input as messages name it.
pub(crate) struct Source {
    pub(crate) name: String,
}

impl Source {
    /// A complaint about the input as a whole.
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

/// Reads all inputs, in order; standard input for `-`, or when there are none.
pub(crate) fn read<F: Fingerprint>(
    paths: &[PathBuf],
    format: Format,
    pairs: bool,
    sink: &mut Sink<'_, F>,
) -> Result<(), Failure> {
    let standard_input = [PathBuf::from("-")];
    let paths = if paths.is_empty() { &standard_input } else { paths };
    let bar = bars::of_bytes("Reading", total_bytes(paths));
    let outcome = read_with(paths, format, pairs, &bar, sink);
    bar.finish_and_clear();
    outcome
}

/// Reads all inputs, in order, and counts their bytes.
pub(crate) fn read_with<F: Fingerprint>(
    paths: &[PathBuf],
    format: Format,
    pairs: bool,
    bar: &ProgressBar,
    sink: &mut Sink<'_, F>,
) -> Result<(), Failure> {
    let mut told = None;
    paths.iter().try_for_each(|path| read_one(path, format, pairs, bar, &mut told, sink))
}

/// Known only when all inputs are plain files.
pub(crate) fn total_bytes(paths: &[PathBuf]) -> Option<u64> {
    paths.iter().map(|path| path.metadata().ok().filter(std::fs::Metadata::is_file).map(|m| m.len())).sum()
}

fn read_one<F: Fingerprint>(
    path: &Path,
    format: Format,
    pairs: bool,
    bar: &ProgressBar,
    told: &mut Option<(Format, String)>,
    sink: &mut Sink<'_, F>,
) -> Result<(), Failure> {
    let (source, reader): (_, Box<dyn Read>) = if path.as_os_str() == "-" {
        (Source { name: "standard input".to_owned() }, Box::new(io::stdin().lock()))
    } else {
        let source = Source { name: path.display().to_string() };
        let file = File::open(path).map_err(|error| source.unreadable(&error))?;
        if path.is_dir() {
            return Err(source.complaint("is a directory; name the files in it"));
        }
        (source, Box::new(file))
    };
    let mut reader = BufReader::with_capacity(BUFFER_BYTES, bar.wrap_read(reader));
    let mut start = Vec::new();
    let format = match format {
        Format::Auto => {
            start = detect::start(&mut reader).map_err(|error| source.unreadable(&error))?;
            let format = detect::format::<F>(&source, &start)?;
            if start.is_empty() { format } else { agree(format, &source, told)? }
        }
        given => given,
    };
    let mut reader = start.as_slice().chain(reader);
    match format {
        Format::Hex => text::read(&source, &mut reader, F::parse_hex, pairs, sink),
        Format::Decimal => text::read(&source, &mut reader, F::parse_decimal, pairs, sink),
        Format::U64le | Format::U128le => {
            let bits = if format == Format::U64le { 64 } else { 128 };
            if bits != F::BITS {
                return Err(Failure::Usage(format!(
                    "--format u{bits}le holds fingerprints of {bits} bits; with --width {} take u{}le",
                    F::BITS,
                    F::BITS
                )));
            }
            binary::read(&source, &mut reader, pairs, sink)
        }
        Format::Npy => npy::read(&source, &mut reader, pairs, sink),
        Format::Auto => unreachable!("detection gives a format"),
    }
}

/// Two text inputs of one run that look different are refused: lines that could be either would be
/// read differently beside the one or the other.
fn agree(format: Format, source: &Source, told: &mut Option<(Format, String)>) -> Result<Format, Failure> {
    let is_text = matches!(format, Format::Hex | Format::Decimal);
    match told {
        Some((earlier, name)) if is_text && *earlier != format => {
            let (looks, looked) = match format {
                Format::Hex => ("hexadecimal", "decimal"),
                _ => ("decimal", "hexadecimal"),
            };
            Err(source
                .complaint(format_args!("it looks {looks}, and {name} {looked}; say which with --format")))
        }
        None if is_text => {
            *told = Some((format, source.name.clone()));
            Ok(format)
        }
        _ => Ok(format),
    }
}

/// Reads up to and without the next line end; `None` at the end of the input. A line beyond the limit
/// is refused rather than kept.
pub(crate) fn next_line<'a>(
    reader: &mut impl BufRead,
    line: &'a mut Vec<u8>,
    most_bytes: u64,
) -> io::Result<Option<&'a [u8]>> {
    line.clear();
    if reader.take(most_bytes).read_until(b'\n', line)? == 0 {
        return Ok(None);
    }
    Ok(Some(line))
}
