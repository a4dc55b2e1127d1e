//! Raw little-endian numbers, one after the other; with ids, each followed by 8 bytes of id.

use std::io::{self, BufRead};

use hamdex::Fingerprint;

use crate::failure::Failure;
use crate::input::{Sink, Source};

const ID_BYTES: usize = 8;

/// Reads raw numbers; `bytes` is how many there are, where that is known.
pub(super) fn read<F: Fingerprint>(
    source: &Source,
    reader: &mut impl BufRead,
    bytes: Option<u64>,
    pairs: bool,
    sink: &mut Sink<'_, F>,
) -> Result<(), Failure> {
    let record_bytes = F::BYTES + if pairs { ID_BYTES } else { 0 };
    // Known at once where the file has a length: not after an hour of reading.
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
            return Ok(());
        }
        if filled < record_bytes {
            return Err(source.complaint_at(
                format!(" (byte {offset})"),
                format_args!("it ends inside a record: {filled} of {record_bytes} bytes"),
            ));
        }
        let id = pairs
            .then(|| u64::from_le_bytes(record[F::BYTES..record_bytes].try_into().expect("8 bytes of id")));
        sink(F::read_le(&record), id)?;
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
