//! Reads raw little-endian numbers; with ids, each followed by 8 bytes of id.

use std::io::{self, BufRead};

use hamdex::Fingerprint;

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
