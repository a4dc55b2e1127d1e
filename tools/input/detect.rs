//! Which format is it? Told by the first bytes, and refused where they leave a doubt that matters.

use std::io::{self, Read};

use hamdex::Fingerprint;

use crate::failure::Failure;
use crate::input::{Format, Source};

const NPY_MAGIC: &[u8] = b"\x93NUMPY";

/// What some editors put in front of UTF-8.
pub(super) const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Bytes looked at.
const LOOKED_AT: u64 = 1 << 16;

/// Of so many bytes, raw numbers have more than one that is no text: of random ones more than half
/// are not, and of small ones most are zero. Text with a few odd bytes stays text, and is then
/// refused at the line that has them.
const TEXT_OF_RAW: usize = 8;

/// The first bytes of an input: all there are, or as many as are looked at, however slowly they come.
pub(super) fn start(reader: &mut impl Read) -> io::Result<Vec<u8>> {
    let mut start = Vec::new();
    reader.take(LOOKED_AT).read_to_end(&mut start)?;
    Ok(start)
}

pub(super) fn format<F: Fingerprint>(source: &Source, start: &[u8]) -> Result<Format, Failure> {
    if start.starts_with(NPY_MAGIC) {
        return Ok(Format::Npy);
    }
    let is_text = |byte: &u8| byte.is_ascii_graphic() || byte.is_ascii_whitespace();
    let odd = start.iter().filter(|&byte| !is_text(byte)).count();
    if odd <= start.len() / TEXT_OF_RAW || start.starts_with(BYTE_ORDER_MARK) {
        return text_format::<F>(source, start.strip_prefix(BYTE_ORDER_MARK).unwrap_or(start));
    }
    Ok(if F::BITS == 64 { Format::U64le } else { Format::U128le })
}

/// Hexadecimal or decimal? A line of just 16 (32) decimal digits could be either, so the lines
/// around it decide; if none does, it is hexadecimal, as tools that pad with zeros write it.
fn text_format<F: Fingerprint>(source: &Source, start: &[u8]) -> Result<Format, Failure> {
    let (mut hex, mut decimal) = (None, None);
    for (number, line) in start.split(|&byte| byte == b'\n').enumerate() {
        // The last piece of a longer input may be cut off in the middle.
        let is_cut = start.len() as u64 >= LOOKED_AT - BYTE_ORDER_MARK.len() as u64
            && line.as_ptr_range().end == start.as_ptr_range().end;
        let token = line.split(|b| b.is_ascii_whitespace() || *b == b',').find(|token| !token.is_empty());
        let Some(token) = token.filter(|_| !is_cut) else { continue };
        if !token.iter().all(u8::is_ascii_digit) {
            hex.get_or_insert(number + 1);
        } else if token.len() != F::BYTES * 2 {
            decimal.get_or_insert(number + 1);
        }
    }
    match (hex, decimal) {
        (Some(hex), Some(decimal)) => Err(source.complaint(format_args!(
            "line {hex} looks hexadecimal and line {decimal} decimal; say which with --format"
        ))),
        (None, Some(_)) => Ok(Format::Decimal),
        _ => Ok(Format::Hex),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn detected(start: &[u8]) -> Result<Format, String> {
        format::<u64>(&Source { name: "in".to_owned() }, start).map_err(|failure| failure.to_string())
    }

    #[test]
    fn each_format_is_told() {
        assert_eq!(detected(b"\x93NUMPY\x01\x00"), Ok(Format::Npy));
        assert_eq!(detected(b"00000000000000ff\n0123456789abcdef\n"), Ok(Format::Hex));
        assert_eq!(detected(b"0x1f\n"), Ok(Format::Hex));
        assert_eq!(detected(b"17\n18446744073709551615\n"), Ok(Format::Decimal));
        assert_eq!(detected(b"\x00\x01\x02\x03\x04\x05\x06\x07"), Ok(Format::U64le));
        assert_eq!(detected(b""), Ok(Format::Hex));
    }

    #[test]
    fn sixteen_digits_are_what_their_neighbours_are() {
        assert_eq!(detected(b"1234567890123456\n"), Ok(Format::Hex));
        assert_eq!(detected(b"1234567890123456\n17\n"), Ok(Format::Decimal));
        assert_eq!(detected(b"1234567890123456 7\n12345678901234567 8\n"), Ok(Format::Decimal));
    }

    #[test]
    fn a_mixture_is_refused() {
        let refusal = detected(b"17\n0123456789abcdef\n").unwrap_err();
        assert!(refusal.contains("line 2 looks hexadecimal and line 1 decimal"), "{refusal}");
    }

    #[test]
    fn a_line_that_is_cut_off_says_nothing() {
        let mut long = b"0123456789abcdef\n".repeat(5000);
        long.truncate(LOOKED_AT as usize);
        assert_ne!(long.last(), Some(&b'\n'));
        assert_eq!(detected(&long), Ok(Format::Hex));
    }

    #[test]
    fn text_with_a_few_odd_bytes_is_text() {
        assert_eq!(detected(b"\xef\xbb\xbf0123456789abcdef\n"), Ok(Format::Hex));
        assert_eq!(detected("# caf\u{e9}\n0123456789abcdef\n0123456789abcdef\n".as_bytes()), Ok(Format::Hex));
    }
}
