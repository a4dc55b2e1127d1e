//! Encodings of text: from a byte order mark, from the declaration of a page, or given by the caller.

use std::borrow::Cow;
use std::io::{self, BufRead, BufReader, Read};

use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE};
use encoding_rs_io::DecodeReaderBytesBuilder;

/// Bytes from the start of a page in which its encoding may be declared.
const DECLARATION_BYTES: usize = 4096;

/// Text with more than one invalid sequence per this many bytes is not UTF-8. Fewer are damage, and are replaced.
const BYTES_PER_INVALID: usize = 200;

/// The length of the longest byte order mark.
const MARK_BYTES: usize = 3;

/// The form of a text in its file.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Encoded {
    /// Its encoding, unless that is UTF-8.
    pub(crate) encoding: Option<&'static Encoding>,
    /// Whether it begins with a byte order mark.
    pub(crate) has_mark: bool,
}

impl Encoded {
    /// Returns a piece of the text, which is UTF-8, in its encoding.
    pub(crate) fn encode(self, piece: &[u8]) -> io::Result<Cow<'_, [u8]>> {
        let Some(encoding) = self.encoding else { return Ok(Cow::Borrowed(piece)) };
        let text = String::from_utf8_lossy(piece);
        let units = |bytes: fn(u16) -> [u8; 2]| text.encode_utf16().flat_map(bytes).collect::<Vec<u8>>();
        Ok(Cow::Owned(match encoding {
            encoding if encoding == UTF_16LE => units(u16::to_le_bytes),
            encoding if encoding == UTF_16BE => units(u16::to_be_bytes),
            encoding => match encoding.encode(&text) {
                (bytes, _, false) => bytes.into_owned(),
                (.., true) => {
                    let what =
                        format!("{} has no character for a part of a row that is kept", encoding.name());
                    return Err(io::Error::new(io::ErrorKind::InvalidData, what));
                }
            },
        }))
    }
}

/// Decodes text to UTF-8 without a byte order mark: by its byte order mark, else from `encoding`; without either, the
/// text is unchanged. Returns its form, too.
pub(crate) fn decode<R: Read + Send + 'static>(
    mut reader: BufReader<R>,
    encoding: Option<&'static Encoding>,
) -> io::Result<(Box<dyn Read + Send>, Encoded)> {
    let start = reader.fill_buf()?;
    let marked = Encoding::for_bom(start).map(|(marked, _)| marked);
    let is_whole = start.len() >= MARK_BYTES;
    let source = marked.or(encoding);
    let encoded =
        Encoded { encoding: source.filter(|&encoding| encoding != UTF_8), has_mark: marked.is_some() };
    if source.is_none() && is_whole {
        return Ok((Box::new(reader), encoded));
    }
    let decoder = DecodeReaderBytesBuilder::new()
        .encoding(encoding.filter(|_| marked.is_none()))
        .bom_override(true)
        .strip_bom(true)
        .utf8_passthru(true)
        .build(reader);
    Ok((Box::new(decoder), encoded))
}

/// Returns the encoding declared in a page of HTML or XHTML.
pub(crate) fn declared(page: &[u8]) -> Option<&'static Encoding> {
    let start = page[..page.len().min(DECLARATION_BYTES)].to_ascii_lowercase();
    let label = match start.strip_prefix(b"<?xml") {
        Some(rest) => value(tag(rest), b"encoding"),
        None => None,
    };
    let encoding = label.or_else(|| of_meta(&start)).and_then(Encoding::for_label)?;
    // A page whose declaration is readable as ASCII is not in UTF-16.
    Some(if encoding == UTF_16LE || encoding == UTF_16BE { UTF_8 } else { encoding })
}

/// Returns the label in `<meta charset=…>`, or in `charset=` within another `<meta …>`, outside comments.
fn of_meta(mut rest: &[u8]) -> Option<&[u8]> {
    while let Some(at) = rest.iter().position(|&byte| byte == b'<') {
        rest = &rest[at..];
        if rest.starts_with(b"<!--") {
            let end = rest.windows(3).position(|three| three == b"-->")?;
            rest = &rest[end..];
        } else if let Some(inner) = rest.strip_prefix(b"<meta")
            && let Some(label) = value(tag(inner), b"charset")
        {
            return Some(label);
        }
        rest = &rest[1..];
    }
    None
}

/// Returns the contents up to the end of the tag.
fn tag(inner: &[u8]) -> &[u8] {
    inner.split(|&byte| byte == b'>').next().unwrap_or_default()
}

/// Returns the value after a name and an equals sign, without quotes.
fn value<'a>(tag: &'a [u8], name: &[u8]) -> Option<&'a [u8]> {
    let at = tag.windows(name.len()).position(|window| window == name)?;
    let rest = tag[at + name.len()..].trim_ascii_start().strip_prefix(b"=")?.trim_ascii_start();
    let rest = rest.strip_prefix(b"\"").or_else(|| rest.strip_prefix(b"'")).unwrap_or(rest);
    let end = |byte: &u8| matches!(byte, b'"' | b'\'' | b';' | b'/' | b'?') || byte.is_ascii_whitespace();
    rest.split(end).next().filter(|label| !label.is_empty())
}

/// Returns whether text is clearly not UTF-8. With `is_cut`, its last character may be incomplete.
pub(crate) fn is_foreign(start: &[u8], is_cut: bool) -> bool {
    let mut invalid = start.utf8_chunks().filter(|chunk| !chunk.invalid().is_empty()).count();
    let last = start.utf8_chunks().last().map_or(0, |chunk| chunk.invalid().len());
    if is_cut && last > 0 {
        invalid -= 1;
    }
    invalid > 1 + start.len() / BYTES_PER_INVALID
}

/// Returns whether invalid sequences were so many in a text that it was not UTF-8.
pub(crate) fn is_mostly_replaced(text: &str) -> bool {
    text.matches(char::REPLACEMENT_CHARACTER).count() > 1 + text.len() / BYTES_PER_INVALID
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decoded(bytes: &[u8], encoding: Option<&'static Encoding>) -> (String, bool) {
        let (mut reader, encoded) =
            decode(BufReader::new(io::Cursor::new(bytes.to_vec())), encoding).unwrap();
        let mut text = String::new();
        reader.read_to_string(&mut text).unwrap();
        (text, encoded.encoding.is_some())
    }

    #[test]
    fn a_byte_order_mark_takes_precedence_over_the_option() {
        let utf16: Vec<u8> = "\u{feff}für 我".encode_utf16().flat_map(u16::to_le_bytes).collect();
        let big: Vec<u8> = "\u{feff}für 我".encode_utf16().flat_map(u16::to_be_bytes).collect();
        for given in [None, Some(encoding_rs::WINDOWS_1252)] {
            assert_eq!(decoded(&utf16, given), ("für 我".to_owned(), true));
            assert_eq!(decoded(&big, given), ("für 我".to_owned(), true));
            assert_eq!(decoded("\u{feff}für".as_bytes(), given), ("für".to_owned(), false));
        }
        assert_eq!(decoded("für".as_bytes(), None), ("für".to_owned(), false));
        assert_eq!(decoded(b"f\xfcr", Some(encoding_rs::WINDOWS_1252)), ("für".to_owned(), true));
        assert_eq!(decoded(b"", None), (String::new(), false));
        assert_eq!(decoded(b"a", None), ("a".to_owned(), false));
    }

    #[test]
    fn text_is_encoded_as_it_was() {
        let text = "für 𝄞 我\n";
        for (encoding, mark) in
            [(UTF_16LE, &b"\xff\xfe"[..]), (UTF_16BE, b"\xfe\xff"), (UTF_8, b"\xef\xbb\xbf")]
        {
            let encoded =
                Encoded { encoding: Some(encoding).filter(|&encoding| encoding != UTF_8), has_mark: true };
            assert_eq!(&*encoded.encode("\u{feff}".as_bytes()).unwrap(), mark);
            let bytes = [mark, &encoded.encode(text.as_bytes()).unwrap()].concat();
            let (mut reader, found) = decode(BufReader::new(io::Cursor::new(bytes)), None).unwrap();
            let mut decoded = String::new();
            reader.read_to_string(&mut decoded).unwrap();
            assert_eq!((found, decoded.as_str()), (encoded, text));
        }
        let latin = Encoded { encoding: Some(encoding_rs::WINDOWS_1252), has_mark: false };
        assert_eq!(&*latin.encode("für\n".as_bytes()).unwrap(), b"f\xfcr\n");
        assert!(latin.encode("字".as_bytes()).is_err());
    }

    #[test]
    fn declared_encodings_of_pages_are_found() {
        let name = |page: &str| declared(page.as_bytes()).map(Encoding::name);
        assert_eq!(name("<html><META CharSet=latin1>"), Some("windows-1252"));
        assert_eq!(name("<meta charset = 'koi8-r' />"), Some("KOI8-R"));
        let equivalent = "<meta http-equiv=\"Content-Type\" content=\"text/html; charset=Shift_JIS\">";
        assert_eq!(name(equivalent), Some("Shift_JIS"));
        assert_eq!(name("<?xml version=\"1.0\" encoding=\"iso-8859-2\"?><html>"), Some("ISO-8859-2"));
        assert_eq!(name("<!-- <meta charset=koi8-r> --><meta charset=gbk>"), Some("GBK"));
        assert_eq!(name("<meta charset=utf-16>"), Some("UTF-8"));
        for none in ["<p>charset=koi8-r", "<meta name=x><p>", "<meta charset>", "<meta charset=no-such>", ""]
        {
            assert_eq!(name(none), None, "{none}");
        }
    }

    #[test]
    fn another_encoding_is_not_taken_for_utf8_and_a_little_damage_is_accepted() {
        let german = "Gr\u{fc}\u{df}e aus K\u{f6}ln. ".repeat(20);
        let latin: Vec<u8> = german.chars().map(|c| c as u8).collect();
        assert!(is_foreign(&latin, false) && !is_foreign(german.as_bytes(), false));
        assert!(!is_foreign(b"one caf\xe9", false));
        assert!(is_foreign(b"\xe9\xe8 \xe9", false) && !is_foreign(b"\xe9 and \xe3\x81", true));
    }
}
