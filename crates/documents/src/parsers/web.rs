//! Text from the web: about the text that a browser shows of HTML; and the text of a response of HTTP: chunks joined,
//! decompressed, decoded, and without tags if it is HTML.

use std::borrow::Cow;
use std::io::{self, Read};

use encoding_rs::{Encoding, UTF_8, WINDOWS_1252};
use html5gum::{DefaultEmitter, Token, Tokenizer};

use crate::format::{is_binary, is_html, kind_of_file};
use crate::input::encoding;
use crate::input::source::{GZIP_MAGIC, ZSTD_MAGIC};

/// Elements without visible text.
const UNREAD: [&[u8]; 4] = [b"script", b"style", b"template", b"svg"];

/// Elements that no picture contains: one of them ends a picture that is not closed, as in a browser (HTML Standard,
/// 13.2.6.5).
const OUTSIDE_SVG: &str = "b big blockquote body br center code dd div dl dt em embed h1 h2 h3 h4 h5 h6 head hr i \
    img li listing menu meta nobr ol p pre ruby s small span strike strong sub sup table tt \
    u ul var";

/// Elements that do not separate words. All other tags do.
const INLINE: [&[u8]; 24] = [
    b"a", b"abbr", b"b", b"bdi", b"bdo", b"cite", b"code", b"em", b"font", b"i", b"ins", b"kbd", b"mark",
    b"q", b"s", b"samp", b"small", b"span", b"strong", b"sub", b"sup", b"tt", b"u", b"wbr",
];

/// Returns the text of a page without tags, comments, scripts and styles; entities are decoded, invalid UTF-8 is
/// replaced.
pub(crate) fn html_text(html: &[u8]) -> String {
    // The contents of script and similar elements are not markup.
    let mut emitter = DefaultEmitter::default();
    emitter.naively_switch_states(true);
    let mut text = Vec::new();
    // The skipped element, and its nesting depth.
    let mut unread: Option<(&[u8], usize)> = None;
    for Ok(token) in Tokenizer::new_with_emitter(html, emitter) {
        match token {
            Token::StartTag(tag) => {
                let name = tag.name.as_slice();
                let ends_svg = || OUTSIDE_SVG.split(' ').any(|outside| outside.as_bytes() == name);
                if unread.is_some_and(|(open, _)| open == b"svg") && ends_svg() {
                    unread = None;
                }
                match &mut unread {
                    Some((open, depth)) if *open == name && !tag.self_closing => *depth += 1,
                    Some(_) => {}
                    None => {
                        let kind = UNREAD.iter().find(|&&kind| kind == name);
                        // Only pictures have elements that close themselves.
                        let is_closed = tag.self_closing && name == b"svg";
                        unread = kind.filter(|_| !is_closed).map(|&kind| (kind, 1));
                        end_word(name, &mut text);
                    }
                }
            }
            Token::EndTag(tag) => match &mut unread {
                Some((open, depth)) if *open == tag.name.as_slice() => {
                    *depth -= 1;
                    if *depth == 0 {
                        unread = None;
                    }
                }
                Some(_) => {}
                None => end_word(tag.name.as_slice(), &mut text),
            },
            Token::String(string) if unread.is_none() => text.extend_from_slice(&string),
            _ => {}
        }
    }
    String::from_utf8_lossy(&text).into_owned()
}

fn end_word(tag: &[u8], text: &mut Vec<u8>) {
    if !INLINE.contains(&tag) && text.last().is_some_and(|&last| last != b'\n') {
        text.push(b'\n');
    }
}

/// The most fields of a header.
const MAX_FIELDS: usize = 4096;

/// The body of a response, and how to read it.
#[derive(Debug)]
pub(crate) struct Page<'b> {
    content_type: String,
    encodings: String,
    is_chunked: bool,
    body: &'b [u8],
}

/// Returns the page of a response; `None` if it is not a response of HTTP.
pub(crate) fn page(response: &[u8]) -> Option<Page<'_>> {
    let mut fields = vec![httparse::EMPTY_HEADER; MAX_FIELDS];
    let mut head = httparse::Response::new(&mut fields);
    // Later versions have no such line of their own; archives write one for them.
    let later = [&b"HTTP/2"[..], b"HTTP/3"].iter().any(|version| response.starts_with(version));
    let status = response.iter().position(|&byte| byte == b' ').filter(|&at| later && at < 16);
    let (version, start) = (&b"HTTP/1.1"[..], status.unwrap_or(0));
    let renamed = status.map(|at| [version, &response[at..]].concat());
    let mut config = httparse::ParserConfig::default();
    config
        .allow_spaces_after_header_name_in_responses(true)
        .allow_obsolete_multiline_headers_in_responses(true)
        .ignore_invalid_headers_in_responses(true);
    let parsed = config.parse_response(&mut head, renamed.as_deref().unwrap_or(response));
    let Ok(httparse::Status::Complete(end)) = parsed else { return None };
    let end = if renamed.is_some() { end - version.len() + start } else { end };
    let field = |name: &str| {
        let found = head.headers.iter().filter(|field| field.name.eq_ignore_ascii_case(name));
        let values: Vec<String> =
            found.map(|field| String::from_utf8_lossy(field.value).to_ascii_lowercase()).collect();
        values.join(",")
    };
    Some(Page {
        content_type: field("content-type"),
        encodings: field("content-encoding"),
        is_chunked: field("transfer-encoding").contains("chunked"),
        body: &response[end..],
    })
}

impl<'b> Page<'b> {
    /// Returns a page without a header.
    pub(crate) fn bare(content_type: &str, body: &'b [u8]) -> Self {
        let content_type = content_type.to_ascii_lowercase();
        Self { content_type, encodings: String::new(), is_chunked: false, body }
    }

    /// Returns the text, `None` if the page is not text. A compressed page that is
    /// longer than `max_bytes` is an error of the kind `FileTooLarge`.
    pub(crate) fn text(&self, max_bytes: u64) -> io::Result<Option<String>> {
        let mut body = Cow::Borrowed(self.body);
        // Some archives keep the header of a body that was decoded before it was stored.
        let mut is_cut = false;
        if self.is_chunked
            && let Some(chunks) = joined_chunks(&body)
        {
            is_cut = chunks.is_cut;
            body = Cow::Owned(chunks.joined);
        }
        // The last one was applied last.
        for encoding in self.encodings.rsplit(',').map(str::trim) {
            body = match decompressed(encoding, &body, max_bytes, is_cut)? {
                Some(decompressed) if decompressed.len() as u64 > max_bytes => {
                    return Err(io::ErrorKind::FileTooLarge.into());
                }
                Some(decompressed) => Cow::Owned(decompressed),
                None => body,
            };
        }
        let mime = self.content_type.split(';').next().unwrap_or_default().trim();
        let is_page = mime == "text/html" || mime == "application/xhtml+xml";
        let is_unknown = mime.is_empty() || mime == "application/octet-stream";
        if !is_page && !is_unknown && !is_text(mime) {
            return Ok(None);
        }
        let charset = self.content_type.split_once("charset=").map(|(_, rest)| {
            rest.split([';', ',']).next().unwrap_or_default().trim().trim_matches(['"', '\''])
        });
        let is_page = is_page || is_html(body.trim_ascii_start());
        let given = charset.and_then(|label| Encoding::for_label(label.as_bytes()));
        let declared = given.or_else(|| encoding::declared(&body).filter(|_| is_page));
        let is_wide = declared.is_some_and(|encoding| encoding.name().starts_with("UTF-16"))
            || Encoding::for_bom(&body).is_some();
        if !is_wide && (is_binary(&body) || kind_of_file(&body).is_some()) {
            return Ok(None);
        }
        let is_foreign = || encoding::is_foreign(&body, false);
        let default = if declared.is_none() && is_foreign() { WINDOWS_1252 } else { UTF_8 };
        let (text, ..) = declared.unwrap_or(default).decode(&body);
        Ok(Some(if is_page { html_text(text.as_bytes()) } else { text.into_owned() }))
    }
}

/// Returns whether a type of content is text, without being HTML.
fn is_text(mime: &str) -> bool {
    let kinds = ["application/json", "application/xml", "application/javascript", "application/x-javascript"];
    mime.starts_with("text/") || mime.ends_with("+xml") || mime.ends_with("+json") || kinds.contains(&mime)
}

/// A body without the lengths of its chunks.
struct Chunks {
    joined: Vec<u8>,
    /// Whether the archive has cut it off.
    is_cut: bool,
}

/// Joins the chunks of a body; `None` if it does not consist of chunks.
fn joined_chunks(body: &[u8]) -> Option<Chunks> {
    let mut joined = Vec::new();
    let mut rest = body;
    loop {
        let (at, length) = match httparse::parse_chunk_size(rest) {
            Ok(httparse::Status::Complete(found)) => found,
            Ok(httparse::Status::Partial) if !joined.is_empty() => {
                return Some(Chunks { joined, is_cut: true });
            }
            _ => return None,
        };
        if length == 0 {
            return Some(Chunks { joined, is_cut: false });
        }
        let end = usize::try_from(length).ok()?.checked_add(at)?;
        let Some(chunk) = rest.get(at..end) else {
            joined.extend_from_slice(&rest[at..]);
            return Some(Chunks { joined, is_cut: true });
        };
        joined.extend_from_slice(chunk);
        rest = match &rest[end..] {
            [] | b"\r" => return Some(Chunks { joined, is_cut: true }),
            rest => rest.strip_prefix(b"\r\n")?,
        };
    }
}

/// Decompresses a body, up to a limit; of a truncated one, the beginning. `None` if it is not compressed.
fn decompressed(encoding: &str, body: &[u8], max_bytes: u64, is_cut: bool) -> io::Result<Option<Vec<u8>>> {
    let decoder: Box<dyn Read + '_> = match encoding {
        "gzip" | "x-gzip" if body.starts_with(GZIP_MAGIC) => {
            Box::new(flate2::read::MultiGzDecoder::new(body))
        }
        "zstd" if body.starts_with(ZSTD_MAGIC) => Box::new(zstd::Decoder::with_buffer(body)?),
        "deflate" if !is_plain(body) => {
            // With or without the header of zlib.
            let is_zlib = body.first().is_some_and(|byte| byte & 15 == 8);
            if is_zlib {
                Box::new(flate2::read::ZlibDecoder::new(body))
            } else {
                Box::new(flate2::read::DeflateDecoder::new(body))
            }
        }
        "br" if !is_plain(body) => Box::new(brotli_decompressor::Decompressor::new(body, 1 << 12)),
        _ => return Ok(None),
    };
    let mut text = Vec::new();
    match decoder.take(max_bytes.saturating_add(1)).read_to_end(&mut text) {
        Err(error) if !is_cut || error.kind() != io::ErrorKind::UnexpectedEof => Err(error),
        _ => Ok(Some(text)),
    }
}

/// Returns whether a body is text, decompressed before it was stored.
fn is_plain(body: &[u8]) -> bool {
    body.is_empty()
        || is_html(body.trim_ascii_start())
        || !is_binary(body) && !encoding::is_foreign(body, false)
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn words(html: &str) -> String {
        html_text(html.as_bytes()).split_whitespace().collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn tags_are_removed_and_words_stay_separate() {
        assert_eq!(words("<html><title>A &amp; B</title><p>one<br>two</p><td>3<td>4"), "A & B one two 3 4");
        assert_eq!(words("un<b>break</b>able<!-- no -->"), "unbreakable");
    }

    #[test]
    fn invisible_text_is_removed() {
        assert_eq!(words("a<script>if (x < 1) { '</p>' }</script>b<style>p { }</style>c"), "a b c");
        assert_eq!(words("<svg><svg><text>x</text></svg>y</svg>z"), "z");
        assert_eq!(words("a<script src='a.js'/><p>x</p></script>b<svg/>c"), "a b c");
        assert_eq!(words("a<svg><text>x</text><p>b</p>c"), "a b c");
    }

    #[test]
    fn invalid_markup_is_not_an_error() {
        assert_eq!(words("<p>1 < 2 & 3 > 2 </b></p <i>x"), "1 < 2 & 3 > 2 x");
    }

    fn text(response: &[u8]) -> Option<String> {
        page(response).expect("a response").text(1000).unwrap()
    }

    #[test]
    fn pages_are_joined_decompressed_decoded_and_without_tags() {
        assert_eq!(
            text(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\nsome <text>").unwrap(),
            "some <text>"
        );
        let page = text(b"HTTP/1.0 404\r\ncontent-type: text/html; charset=iso-8859-1\r\n\r\n<p>gr\xfcn</p>")
            .unwrap();
        assert_eq!(page.trim(), "grün");
        let page = text(
            b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<html><meta charset=koi8-r>\xcd\xc9\xd2",
        )
        .unwrap();
        assert_eq!(page.trim(), "мир");
        let chunks =
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4;x\r\nsome\r\n5\r\n text\r\n0\r\n\r\n";
        assert_eq!(text(chunks).unwrap(), "some text");
        let cut = &chunks[..chunks.len() - 9];
        assert_eq!(text(cut).unwrap(), "some te", "cut off within a chunk");
        assert_eq!(text(&chunks[..chunks.len() - 17]).unwrap(), "some", "cut off behind a chunk");
        // A header of what was undone before.
        assert_eq!(
            text(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nsome text").unwrap(),
            "some text"
        );
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        gzip.write_all(&[b'x'; 5000]).unwrap();
        let packed =
            [&b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n"[..], &gzip.finish().unwrap()].concat();
        let error = super::page(&packed).unwrap().text(1000).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::FileTooLarge);
        for version in ["HTTP/2", "HTTP/2.0", "HTTP/3"] {
            let response = format!("{version} 200 OK\r\nContent-Type: text/plain\r\n\r\nsome text");
            assert_eq!(text(response.as_bytes()).unwrap(), "some text", "{version}");
        }
        let many = format!("HTTP/1.1 200 OK\r\n{}\r\nsome text", "a: b\r\n".repeat(2000));
        assert_eq!(text(many.as_bytes()).unwrap(), "some text");
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::none());
        gzip.write_all(&[b'x'; 500]).unwrap();
        let gzip = gzip.finish().unwrap();
        let head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Encoding: gzip\r\n\r\n";
        let cut = [&head[..], format!("{:x}\r\n", gzip.len()).as_bytes(), &gzip[..200]].concat();
        assert!(text(&cut).is_some_and(|text| text.len() > 100 && text.chars().all(|x| x == 'x')));
        for plain in ["gzip", "br", "deflate", "zstd", "identity"] {
            let response = format!("HTTP/1.1 200 OK\r\nContent-Encoding: {plain}\r\n\r\nsome text");
            assert_eq!(text(response.as_bytes()).unwrap(), "some text");
        }
    }

    #[test]
    fn what_is_no_text_has_none() {
        assert_eq!(text(b"HTTP/1.1 200 OK\r\nContent-Type: image/png\r\n\r\nx"), None);
        assert_eq!(text(b"HTTP/1.1 200 OK\r\n\r\n\x89PNG\r\n\x1a\n"), None);
        assert_eq!(text(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\na\0b"), None);
        assert!(page(b"200 OK").is_none());
    }
}
