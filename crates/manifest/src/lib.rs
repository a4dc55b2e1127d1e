//! The text form of the manifests of stores and of sets of shards.
//!
//! A manifest is a file of UTF-8 text: one JSON object per line, and a last line with the CRC-32 of every other line.
//! The first field of the first line is the kind of manifest with the version of its format. Both are the same in
//! every version, so a reader can distinguish a newer format from damage.
//!
//! The encoding is canonical: a reader encodes the decoded manifest again, and rejects the text if it differs.
//!
//! - [`Form`]: a kind of manifest, and the checks of a text in their order
//! - [`line()`], [`seal`]: writing
//! - [`Lines`], [`check_same`]: reading
//! - [`pieces`]: the lines and the checksums of a damaged manifest

use serde::Serialize;
use serde::de::DeserializeOwned;

/// The file name of the manifest in the directory of a store or of a set of shards. The first field of its first line
/// distinguishes the two.
pub const MANIFEST: &str = "manifest";

/// A kind of manifest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Form {
    /// The first field of the first line; its value is the version of the format.
    field: &'static str,
    version: u64,
    max_bytes: usize,
}

impl Form {
    /// Creates a kind of manifest from the first field of its first line, the supported version, and the maximum length
    /// of a text.
    #[must_use]
    pub const fn new(field: &'static str, version: u64, max_bytes: usize) -> Self {
        Self { field, version, max_bytes }
    }

    /// Returns the supported version of the format.
    #[must_use]
    pub const fn version(&self) -> u64 {
        self.version
    }

    /// Returns the number of bytes to read from a file to check it: one more than the maximum length.
    #[must_use]
    pub const fn bytes_to_read(&self) -> usize {
        self.max_bytes + 1
    }

    /// Returns whether a text, or its first bytes, begins like a manifest of this kind in any version.
    #[must_use]
    pub fn begins(&self, text: &[u8]) -> bool {
        self.after_field(text).is_some()
    }

    /// Returns the number of bytes that [`Form::begins`] inspects.
    #[must_use]
    pub const fn beginning_bytes(&self) -> usize {
        self.field.len() + "{\"\":".len()
    }

    fn after_field<'t>(&self, text: &'t [u8]) -> Option<&'t [u8]> {
        let rest = text.strip_prefix(b"{\"")?.strip_prefix(self.field.as_bytes())?;
        rest.strip_prefix(b"\":")
    }

    /// Checks a text except for the contents of its lines, and returns the lines before the last one. The caller
    /// decodes them, encodes the result again, and compares it by [`check_same`].
    ///
    /// # Errors
    /// The first of these that applies: the text does not begin like this kind; it is too long; the last line has no
    /// checksums, or a wrong one for the first line; the version is newer; the checksum of another line differs; the
    /// text is not UTF-8.
    pub fn check<'t>(&self, text: &'t [u8]) -> Result<Lines<'t>, TextError> {
        if !self.begins(text) {
            return Err(TextError::NotAManifest);
        }
        if text.len() > self.max_bytes {
            return Err(TextError::damaged(self.max_bytes, "it is too long"));
        }
        let contents = check(text, |first| self.check_version(first))?;
        let contents = std::str::from_utf8(contents)
            .map_err(|error| TextError::damaged(error.valid_up_to(), "it is not UTF-8"))?;
        Ok(Lines::new(contents))
    }

    /// Fails for a newer version. The caller rejects any other text in its place.
    fn check_version(&self, first: &[u8]) -> Result<(), TextError> {
        let after = self.after_field(first).unwrap_or_default();
        let end = after.iter().position(|byte| matches!(byte, b',' | b'}')).unwrap_or(after.len());
        let digits = &after[..end];
        let is_number = digits.iter().all(u8::is_ascii_digit) && !digits.is_empty();
        if !is_number || (digits[0] == b'0' && digits.len() > 1) {
            return Ok(());
        }
        let version = std::str::from_utf8(digits).ok().and_then(|digits| digits.parse().ok());
        match version.unwrap_or(u64::MAX) {
            newer if newer > self.version => Err(TextError::Newer(newer)),
            _ => Ok(()),
        }
    }
}

/// Encodes fields as a line of JSON without white space, including the line end.
///
/// # Panics
/// When the fields have values other than numbers, strings, arrays and structs, which can always be encoded.
#[must_use]
pub fn line(fields: &impl Serialize) -> String {
    serde_json::to_string(fields).expect("numbers and strings are JSON") + "\n"
}

/// A reader of the lines of a text with right checksums.
#[derive(Debug, Clone)]
pub struct Lines<'t> {
    rest: &'t str,
    offset: usize,
}

impl<'t> Lines<'t> {
    fn new(contents: &'t str) -> Self {
        Self { rest: contents, offset: 0 }
    }

    /// Returns the number of bytes read.
    #[must_use]
    pub fn offset(&self) -> usize {
        self.offset
    }

    /// Reads the next line, if there is one.
    ///
    /// # Errors
    /// When the line is not JSON, or not of this type.
    pub fn read<T: DeserializeOwned>(&mut self) -> Result<Option<T>, TextError> {
        let Some(line) = self.rest.split_inclusive('\n').next() else {
            return Ok(None);
        };
        let fields =
            serde_json::from_str(line).map_err(|error| TextError::damaged(self.offset, error.to_string()))?;
        self.rest = &self.rest[line.len()..];
        self.offset += line.len();
        Ok(Some(fields))
    }

    /// Reads the next line, which must exist.
    ///
    /// # Errors
    /// As for [`Lines::read`]; and when there is no line.
    pub fn require<T: DeserializeOwned>(&mut self) -> Result<T, TextError> {
        self.read()?.ok_or_else(|| TextError::damaged(self.offset, "it has too few lines"))
    }
}

/// Checks that a text equals the re-encoded manifest.
///
/// # Errors
/// When they differ, with the first offset.
pub fn check_same(written: &str, text: &[u8]) -> Result<(), TextError> {
    let written = written.as_bytes();
    if written == text {
        return Ok(());
    }
    let differs = written.iter().zip(text).position(|(one, other)| one != other);
    let offset = differs.unwrap_or(written.len().min(text.len()));
    Err(TextError::damaged(offset, "it is not the canonical text"))
}

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
fn check(text: &[u8], check_first: impl FnOnce(&[u8]) -> Result<(), TextError>) -> Result<&[u8], TextError> {
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

/// An error in the text of a manifest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TextError {
    /// The text does not begin like a manifest of this kind.
    NotAManifest,
    /// The text has a later format version.
    Newer(u64),
    /// The text is damaged.
    Damaged {
        /// The offset in bytes.
        offset: u64,
        /// The contradiction.
        what: String,
    },
}

impl TextError {
    /// Creates an error about damage at an offset.
    #[must_use]
    pub fn damaged(offset: usize, what: impl Into<String>) -> Self {
        Self::Damaged { offset: offset as u64, what: what.into() }
    }
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
