//! A value of a JSON file, read to its end in bounded memory.
//!
//! Only brackets and strings are scanned; everything else is left to the parser.

use std::io::{self, BufRead};

/// A value that was read.
pub(super) struct Cut {
    /// Whether it is longer than the limit, so that only its start was kept.
    pub(super) is_too_long: bool,
    /// Whether its end was found, and not that of the file.
    pub(super) has_end: bool,
}

/// Reads the value that begins here to its end, and keeps up to `max_bytes` of it.
pub(super) fn cut(reader: &mut impl BufRead, buffer: &mut Vec<u8>, max_bytes: u64) -> io::Result<Cut> {
    // Release the memory of a long value.
    if buffer.capacity() > MAX_IDLE_BYTES {
        *buffer = Vec::new();
    }
    buffer.clear();
    let mut scan = Scan::default();
    let mut length = 0u64;
    let has_end = loop {
        let bytes = reader.fill_buf()?;
        if bytes.is_empty() {
            break false;
        }
        let (count, is_end) = scan.run(bytes);
        let room = max_bytes.saturating_sub(length);
        length += count as u64;
        buffer.extend_from_slice(&bytes[..count.min(usize::try_from(room).unwrap_or(usize::MAX))]);
        reader.consume(count);
        if is_end {
            break true;
        }
    };
    Ok(Cut { is_too_long: length > max_bytes, has_end })
}

/// Memory kept from one value to the next.
const MAX_IDLE_BYTES: usize = 1 << 20;

/// Returns the next byte that is not white space, without consuming it.
pub(super) fn first(reader: &mut impl BufRead) -> io::Result<Option<u8>> {
    loop {
        let bytes = reader.fill_buf()?;
        if bytes.is_empty() {
            return Ok(None);
        }
        let blanks = bytes.iter().take_while(|byte| byte.is_ascii_whitespace()).count();
        let found = bytes.get(blanks).copied();
        reader.consume(blanks);
        if found.is_some() {
            return Ok(found);
        }
    }
}

/// The state of the search for the end of a value.
#[derive(Default)]
pub(super) struct Scan {
    has_begun: bool,
    /// Open brackets.
    depth: u64,
    is_in_string: bool,
    is_escaped: bool,
}

impl Scan {
    /// Returns the number of these bytes that belong to the value, and whether it ends with them.
    pub(super) fn run(&mut self, bytes: &[u8]) -> (usize, bool) {
        let mut at = 0;
        while at < bytes.len() {
            if self.is_in_string && !self.is_escaped {
                match memchr::memchr2(b'"', b'\\', &bytes[at..]) {
                    Some(next) => at += next,
                    None => return (bytes.len(), false),
                }
            }
            let byte = bytes[at];
            if self.is_in_string {
                at += 1;
                let is_closed = !self.is_escaped && byte == b'"';
                self.is_escaped = !self.is_escaped && byte == b'\\';
                self.is_in_string = !is_closed;
                if is_closed && self.depth == 0 {
                    return (at, true);
                }
                continue;
            }
            match byte {
                b'"' if self.has_begun && self.depth == 0 => return (at, true),
                b'"' => self.is_in_string = true,
                b'{' | b'[' if self.has_begun && self.depth == 0 => return (at, true),
                b'{' | b'[' => self.depth += 1,
                b'}' | b']' if self.depth > 0 => {
                    self.depth -= 1;
                    if self.depth == 0 {
                        return (at + 1, true);
                    }
                }
                // The end of a number or word.
                b'}' | b']' | b',' if self.depth == 0 => return (at, true),
                _ if self.depth == 0 && byte.is_ascii_whitespace() => return (at, true),
                _ => {}
            }
            self.has_begun = true;
            at += 1;
        }
        (bytes.len(), false)
    }
}
