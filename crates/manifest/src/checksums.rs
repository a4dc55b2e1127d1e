//! The last line: a checksum for each line before it.

use crate::error::TextError;

const BEFORE: &str = "{\"crc32\":[";
const AFTER: &str = "]}\n";

/// Bytes of a checksum with its quotation marks, and with the comma after it.
const QUOTED: usize = 10;
const STEP: usize = QUOTED + 1;

/// Appends the last line to lines, each of which ends with LF.
#[must_use]
pub fn seal(mut lines: String) -> String {
    let checksums: Vec<_> = lines.split_inclusive('\n').map(|line| quoted(line.as_bytes())).collect();
    lines += &format!("{BEFORE}{}{AFTER}", checksums.join(","));
    lines
}

/// Returns the checksum of a line, including its end, in quotation marks.
fn quoted(line: &[u8]) -> String {
    format!("\"{:08x}\"", crc32fast::hash(line))
}

/// Returns the text between the brackets, if the line is one of checksums. Commas are not checked here: re-encoding and
/// comparing the text checks them.
fn checksums_in(last: &[u8]) -> Option<&[u8]> {
    last.strip_prefix(BEFORE.as_bytes())?.strip_suffix(AFTER.as_bytes())
}

fn is_right(line: &[u8], checksum: Option<&[u8]>) -> bool {
    checksum.is_some_and(|checksum| checksum.get(..QUOTED) == Some(quoted(line).as_bytes()))
}

/// Returns the offset of the last line.
fn start_of_last(text: &[u8]) -> usize {
    let before = &text[..text.len().saturating_sub(1)];
    before.iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1)
}

/// Checks the checksums of all lines before the last one, and returns these lines. Calls `check_first` with the first
/// line after its own checksum has been checked and before the others.
pub(crate) fn check(
    text: &[u8],
    check_first: impl FnOnce(&[u8]) -> Result<(), TextError>,
) -> Result<&[u8], TextError> {
    if !text.ends_with(b"\n") {
        return Err(TextError::damaged(text.len(), "it ends too early"));
    }
    let (contents, last) = text.split_at(start_of_last(text));
    let Some(checksums) = checksums_in(last) else {
        return Err(TextError::damaged(contents.len(), "the last line has no checksums"));
    };
    let mut checksums = checksums.chunks(STEP);
    let mut check_first = Some(check_first);
    let mut offset = 0;
    for line in contents.split_inclusive(|&byte| byte == b'\n') {
        if !is_right(line, checksums.next()) {
            return Err(TextError::damaged(offset, "the checksum of a line differs"));
        }
        if let Some(check_first) = check_first.take() {
            check_first(line)?;
        }
        offset += line.len();
    }
    match checksums.next() {
        None => Ok(contents),
        Some(_) => Err(TextError::damaged(offset, "it has more checksums than lines")),
    }
}

/// Splits a possibly damaged text into lines, each with whether its checksum is right; `None` if the last line has no
/// checksums, in which case it is returned as a line too.
#[must_use]
pub fn lines_with_checksums(text: &[u8]) -> Vec<(&[u8], Option<bool>)> {
    let (contents, last) = text.split_at(start_of_last(text));
    let checksums = checksums_in(last);
    let lines = if checksums.is_some() { contents } else { text };
    let mut chunks = checksums.unwrap_or_default().chunks(STEP);
    let lines = lines.split_inclusive(|&byte| byte == b'\n');
    lines.map(|line| (line, checksums.map(|_| is_right(line, chunks.next())))).collect()
}
