//! Raw little-endian numbers, bare or in NumPy arrays.

use std::io::{self, BufRead, Read};

use hamdex::Fingerprint;
use npyz::{DType, NpyFile, Order, TypeChar};

use crate::failure::Failure;
use crate::input::{Found, Sink, Source};

const ID_BYTES: usize = 8;

/// Reads raw numbers; `bytes` is their length, if it is known.
pub(super) fn read<F: Fingerprint>(
    source: &Source,
    reader: &mut impl BufRead,
    bytes: Option<u64>,
    pairs: bool,
    sink: &mut Sink<'_, F>,
) -> Result<(), Failure> {
    let record_bytes = F::BYTES + if pairs { ID_BYTES } else { 0 };
    // A known length is checked at once, not after an hour of reading.
    if let Some(bytes) = bytes.filter(|bytes| !bytes.is_multiple_of(record_bytes as u64)) {
        let what = if pairs { "a fingerprint and an id have" } else { "a fingerprint has" };
        return Err(source.complaint(format_args!(
            "its length of {bytes} bytes is no multiple of the {record_bytes} bytes that {what}: it is cut off, or \
             holds something else"
        )));
    }
    let mut offset = 0u64;
    let mut record = [0; 16 + ID_BYTES];
    loop {
        let filled = fill(reader, &mut record[..record_bytes]).map_err(|error| source.unreadable(&error))?;
        if filled == 0 {
            return match bytes {
                Some(bytes) if offset < bytes => Err(source.complaint(format_args!(
                    "it ends after {offset} of its {bytes} bytes: it was cut off while it was read"
                ))),
                _ => Ok(()),
            };
        }
        if filled < record_bytes {
            return Err(source.complaint_at(
                format!(" (byte {offset})"),
                format_args!("it ends inside a record: {filled} of {record_bytes} bytes"),
            ));
        }
        let found = match pairs {
            true => {
                Found::Id(u64::from_le_bytes(record[F::BYTES..record_bytes].try_into().expect("8 bytes")))
            }
            false => Found::Nothing,
        };
        sink(F::read_le(&record), found)?;
        offset += record_bytes as u64;
    }
}

/// Fills the buffer as far as there are bytes.
fn fill(reader: &mut impl BufRead, buffer: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        match reader.read(&mut buffer[filled..]) {
            Ok(0) => break,
            Ok(count) => filled += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}

/// The length of the part before the header: magic, version, length of the header.
const PREFIX_BYTES: usize = 12;

/// The longest header read: it has a type and a shape; those of plain arrays have 118 bytes.
const MAX_HEADER_BYTES: usize = 1 << 16;

/// The most open brackets: the parser of headers recurses for each that is not closed.
const MAX_BRACKETS: usize = 64;

pub(super) fn read_npy<F: Fingerprint>(
    source: &Source,
    reader: &mut impl BufRead,
    pairs: bool,
    sink: &mut Sink<'_, F>,
) -> Result<(), Failure> {
    let malformed = |error: io::Error| source.complaint(format_args!("not a .npy file: {error}"));
    let header = header(reader).map_err(malformed)?;
    let array = NpyFile::new(header.as_slice().chain(reader)).map_err(malformed)?;
    let words = F::BITS as usize / 64;
    let columns = words + usize::from(pairs);
    let is_signed = check(source, &array, columns)?;
    let rows = array.shape()[0];
    let unexpected = |found| source.complaint(format_args!("expected an array of uint64: {found}"));
    // Signed numbers are bit patterns.
    let mut numbers: Box<dyn Iterator<Item = io::Result<u64>>> = if is_signed {
        Box::new(array.data::<i64>().map_err(unexpected)?.map(|number| number.map(i64::cast_unsigned)))
    } else {
        Box::new(array.data::<u64>().map_err(unexpected)?)
    };
    let mut row = vec![0; columns];
    for number in 0..rows {
        let place = || format!(" (row {number})");
        for cell in &mut row {
            let next = numbers.next().transpose();
            let next = next.map_err(|error| match error.kind() {
                io::ErrorKind::UnexpectedEof => source.complaint_at(place(), "the array ends too early"),
                _ => source.complaint_at(place(), format_args!("cannot read it: {error}")),
            })?;
            *cell = next.ok_or_else(|| source.complaint_at(place(), "the array ends too early"))?;
        }
        let wide = row[..words].iter().fold(0u128, |wide, &word| wide << 64 | u128::from(word));
        sink(F::truncate(wide), if pairs { Found::Id(row[words]) } else { Found::Nothing })?;
    }
    Ok(())
}

/// Returns the bytes up to the end of the header, checked so that the parser can handle them: it would
/// allocate memory for any length, and recurse to any depth.
fn header(reader: &mut impl BufRead) -> io::Result<Vec<u8>> {
    let invalid = |what: &str| io::Error::new(io::ErrorKind::InvalidData, what.to_owned());
    let mut header = vec![0; PREFIX_BYTES];
    // Version 1 has a shorter length; its header is longer than the two extra bytes read.
    reader.read_exact(&mut header).map_err(|_| invalid("it ends in its header"))?;
    let end = match header[6] {
        1 => 10 + usize::from(u16::from_le_bytes([header[8], header[9]])),
        _ => PREFIX_BYTES + u32::from_le_bytes([header[8], header[9], header[10], header[11]]) as usize,
    };
    if !(PREFIX_BYTES..=MAX_HEADER_BYTES).contains(&end) {
        return Err(invalid("its header has an impossible length"));
    }
    header.resize(end, 0);
    reader.read_exact(&mut header[PREFIX_BYTES..]).map_err(|_| invalid("it ends in its header"))?;
    let text = &header[PREFIX_BYTES..];
    // Brackets are counted, not matched: one inside a string closes nothing.
    if text.iter().filter(|&byte| b"([{".contains(byte)).count() > MAX_BRACKETS {
        return Err(invalid("its header is nested too deeply"));
    }
    // Notations that would hide the shape from the check below; no program writes them.
    let is_odd_number = |two: &[u8]| two[0].is_ascii_digit() && b"xXoO_".contains(&two[1]);
    if text.contains(&b'\\') || text.windows(2).any(is_odd_number) {
        return Err(invalid("its header is not that of a plain array"));
    }
    // The parser multiplies the dimensions of the shape.
    let shape = text.windows(5).position(|word| word == b"shape").map_or(&text[..0], |at| &text[at..]);
    let items = shape
        .split(|byte| !byte.is_ascii_digit())
        .filter(|digits| !digits.is_empty())
        .map(|digits| std::str::from_utf8(digits).ok()?.parse::<u64>().ok())
        .try_fold(1u64, |items, count| items.checked_mul(count?));
    if items.is_none() {
        return Err(invalid("its shape is impossible"));
    }
    Ok(header)
}

/// Checks type, shape and order; returns whether the numbers are signed.
fn check<R: Read>(source: &Source, array: &NpyFile<R>, columns: usize) -> Result<bool, Failure> {
    let (shape, dtype) = (array.shape(), array.dtype());
    let is_signed = match &dtype {
        DType::Plain(plain) if plain.size_field() == 8 => match plain.type_char() {
            TypeChar::Uint => Some(false),
            TypeChar::Int => Some(true),
            _ => None,
        },
        _ => None,
    };
    let Some(is_signed) = is_signed else {
        return Err(source.complaint(format_args!(
            "expected an array of uint64; found {}; {}",
            dtype.descr(),
            advice(&dtype, shape, columns)
        )));
    };
    let fits = match shape {
        [_] => columns == 1,
        [_, second] => *second == columns as u64,
        _ => false,
    };
    if !fits {
        let expected = if columns == 1 { "(n,)".to_owned() } else { format!("(n, {columns})") };
        let advice = match shape {
            [_, bits] if *bits == columns as u64 * 64 => format!("; {}", advice(&dtype, shape, columns)),
            _ => String::new(),
        };
        return Err(
            source.complaint(format_args!("expected an array of shape {expected}; found {shape:?}{advice}"))
        );
    }
    if shape.len() > 1 && array.order() == Order::Fortran {
        return Err(
            source.complaint("expected an array in C order; convert it with numpy.ascontiguousarray(a)")
        );
    }
    Ok(is_signed)
}

/// Returns how an array `a` of another type becomes one of fingerprints.
fn advice(dtype: &DType, shape: &[u64], columns: usize) -> String {
    let DType::Plain(plain) = dtype else {
        return "save the one field that holds the fingerprints, as uint64".to_owned();
    };
    let (bytes, bits) = (columns as u64 * 8, columns as u64 * 64);
    let last = if shape.len() == 2 { shape[1] } else { 0 };
    let whole = if columns == 1 { ".ravel()" } else { "" };
    match plain.type_char() {
        TypeChar::Float | TypeChar::Complex => {
            "floating-point numbers have lost bits of the fingerprints; keep these as uint64 from the start"
                .to_owned()
        }
        TypeChar::Bool | TypeChar::Uint | TypeChar::Int if last == bits => {
            format!(
                "for bits, the most significant first, make it with numpy.packbits(a, axis=1).view('>u8'){whole}"
            )
        }
        TypeChar::Uint if plain.size_field() == 1 && last == bytes => {
            format!(
                "for bytes, the most significant first, make it with numpy.ascontiguousarray(a).view('>u8'){whole}"
            )
        }
        TypeChar::Bool => format!("bits need the shape (n, {bits}), one row per fingerprint"),
        TypeChar::Int | TypeChar::Uint if plain.size_field() >= 4 => {
            "make the array with dtype='uint64'".to_owned()
        }
        TypeChar::UnicodeStr | TypeChar::ByteStr => {
            "for hexadecimal texts, make it with numpy.array([int(x, 16) for x in a], dtype='uint64')"
                .to_owned()
        }
        _ => "make it with numpy.array(a, dtype='uint64')".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_loses_whole_records_while_it_is_read_is_noticed() {
        let source = Source { name: "in.u64".to_owned() };
        let read_of = |there: usize, bytes: Option<u64>| {
            let mut found = Vec::new();
            let mut sink = |fingerprint: u64, _: Found| {
                found.push(fingerprint);
                Ok(())
            };
            read(&source, &mut &vec![7; there][..], bytes, false, &mut sink).map(|()| found.len())
        };
        assert_eq!(read_of(24, Some(24)).unwrap(), 3);
        assert_eq!(read_of(24, None).unwrap(), 3);
        let refusal = read_of(16, Some(24)).unwrap_err().to_string();
        assert!(refusal.contains("ends after 16 of its 24 bytes"), "{refusal}");
    }
}
