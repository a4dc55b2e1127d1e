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

/// The digits of a checksum.
pub type Digits = [u8; QUOTED - 2];

/// Returns the checksum of a line, including its end.
#[must_use]
pub fn checksum_of(line: &[u8]) -> Digits {
    *quoted(line).as_bytes()[1..].first_chunk().expect("eight digits")
}

/// The pieces of a possibly damaged text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Pieces<'t> {
    /// The lines before the checksums, each with its end; all lines of a text without checksums.
    pub lines: Vec<&'t [u8]>,
    /// The checksums of the lines, as they stand; `None` without a line of checksums.
    pub checksums: Option<Vec<Digits>>,
}

/// Splits a possibly damaged text. The last line of checksums counts, also if one byte of its form has changed.
#[must_use]
pub fn pieces(text: &[u8]) -> Pieces<'_> {
    let mut lines: Vec<&[u8]> = text.split_inclusive(|&byte| byte == b'\n').collect();
    for at in (0..lines.len()).rev() {
        if let Some(checksums) = digits_in(lines[at]) {
            lines.truncate(at);
            return Pieces { lines, checksums: Some(checksums) };
        }
    }
    Pieces { lines, checksums: None }
}

/// Returns the digits in a line of checksums of which at most one byte is not as its form says.
fn digits_in(line: &[u8]) -> Option<Vec<Digits>> {
    let around = BEFORE.len() + AFTER.len() - 1;
    let count = line.len().checked_sub(around)? / STEP;
    if count == 0 || line.len() != around + count * STEP {
        return None;
    }
    let list = &line[BEFORE.len()..line.len() - AFTER.len()];
    let digits =
        list.chunks(STEP).map(|chunk| chunk[1..].first_chunk().copied()).collect::<Option<Vec<Digits>>>()?;
    let quoted = digits.iter().map(|digits| [b"\"", &digits[..], b"\""].concat());
    let form = [BEFORE.as_bytes(), &quoted.collect::<Vec<_>>().join(&b','), AFTER.as_bytes()].concat();
    (form.iter().zip(line).filter(|(form, byte)| form != byte).count() <= 1).then_some(digits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checksums_are_found_in_spite_of_a_changed_byte() {
        let text = seal("one\ntwo\n".to_owned());
        let whole = pieces(text.as_bytes());
        assert_eq!(whole.lines, [&b"one\n"[..], b"two\n"]);
        assert_eq!(whole.checksums, Some(whole.lines.iter().map(|line| checksum_of(line)).collect()));
        for at in text.len() - digits_line(&text).len()..text.len() {
            let mut damaged = text.clone().into_bytes();
            damaged[at] ^= 1;
            let found = pieces(&damaged);
            // Eight digits of one checksum, of which at most one has changed.
            let checksums = found.checksums.expect("its form is known");
            let changed = checksums.iter().zip(whole.checksums.as_ref().unwrap()).filter(|(a, b)| a != b);
            assert!(changed.count() <= 1, "byte {at}");
            assert_eq!(found.lines, whole.lines, "byte {at}");
        }
        assert_eq!(pieces(b"one\ntwo").checksums, None);
        assert_eq!(pieces(b"").lines.len(), 0);
    }

    fn digits_line(text: &str) -> &str {
        text.lines().last().unwrap()
    }
}
