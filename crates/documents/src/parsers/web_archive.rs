//! Web archives (WARC, ISO 28500): a document for each response, resource and conversion of text.
//!
//! A record is a version, a header, and as many bytes as the header says, in memory up to the limit of a document.

use std::io::{self, BufRead, Read};

use crate::document::Document;
use crate::error::Error;
use crate::input::Input;
use crate::parsers::web::{self, Page};
use crate::problem::{Place, Position, Problem};
use crate::read::collector::Collector;
use crate::rows::{Row, Shape};

/// The greatest length of the header of a record, and of that of a response.
const MAX_HEADER_BYTES: u64 = 1 << 20;

/// Memory kept from one record to the next.
const MAX_IDLE_BYTES: usize = 1 << 20;

const VERSION: &[u8] = b"WARC/";

/// Reads the records with pages. A damaged record is reported as an unread part of the file, and reading goes on with
/// the next one that is found.
pub(crate) fn read(input: Input, collector: &mut Collector<'_>) -> Result<(), Error> {
    let name = input.name().to_owned();
    collector.enter(&name, || Shape::Parts)?;
    let max_bytes = collector.max_bytes();
    let mut records = Records { input, has_version: false };
    let mut body = Vec::new();
    let (mut has_pages, mut has_metadata, mut is_damaged) = (false, false, false);
    for number in 1u64.. {
        let place = || Place::at(&name, Position::Record(number));
        let header = match records.next(&mut body, max_bytes) {
            Ok(Some(header)) => header,
            Ok(None) => break,
            Err(problem) => {
                if is_damaged {
                    collector.notify(place(), problem);
                } else {
                    collector.skip_file(place(), problem)?;
                }
                is_damaged = true;
                if !records.find() {
                    break;
                }
                continue;
            }
        };
        if !header.has_page() {
            has_metadata |= header.kind == "metadata";
            continue;
        }
        has_pages = true;
        if body.len() as u64 > header.limit(max_bytes) {
            collector.too_long(place(), "page")?;
            continue;
        }
        let id = header.id.clone().unwrap_or_else(|| collector.row_id(&name, number));
        let page =
            if header.is_http() { web::page(&body) } else { Some(Page::bare(&header.content_type, &body)) };
        match page.map(|page| page.text(max_bytes)) {
            None if body.starts_with(b"HTTP/") => {
                let what = "the head of the response is damaged or too long".to_owned();
                collector.lose_row(place(), Problem::Undecodable { what })?;
            }
            // It is no response of HTTP, as those of name servers are not.
            None => collector.ignore(),
            Some(Err(error)) if error.kind() == io::ErrorKind::FileTooLarge => {
                collector.too_long(place(), "page")?;
            }
            Some(Ok(Some(text))) if text.len() as u64 > max_bytes => collector.too_long(place(), "page")?,
            Some(Ok(Some(text))) => collector.take(Document::new(id, text), Row::Text, place)?,
            Some(Ok(None)) => collector.skip(place(), Problem::Binary)?,
            Some(Err(error)) => {
                collector.lose_row(place(), Problem::Undecodable { what: error.to_string() })?;
            }
        }
    }
    if has_metadata && !has_pages {
        return Err(Error::Document { place: Place::whole(name), problem: Problem::NoPages });
    }
    Ok(())
}

/// The records of an archive.
struct Records<R> {
    input: R,
    /// Whether the version of the next record was read.
    has_version: bool,
}

impl<R: BufRead> Records<R> {
    /// Reads a record, and no more of its body than one byte beyond its limit; `None` at the end of the file.
    fn next(&mut self, body: &mut Vec<u8>, max_bytes: u64) -> Result<Option<Header>, Problem> {
        let unreadable = |what| Problem::Unreadable { what };
        let has_version = std::mem::take(&mut self.has_version);
        let header = match Header::read(&mut self.input, has_version).map_err(unreadable)? {
            Ok(Some(header)) => header,
            Ok(None) => return Ok(None),
            Err(what) => return Err(Problem::BrokenRecord { what }),
        };
        if body.capacity() > MAX_IDLE_BYTES {
            *body = Vec::new();
        }
        body.clear();
        let mut rest = (&mut self.input).take(header.bytes);
        let outcome = (&mut rest).take(header.limit(max_bytes).saturating_add(1)).read_to_end(body);
        outcome.and_then(|_| io::copy(&mut rest, &mut io::sink())).map_err(unreadable)?;
        match rest.limit() {
            0 => Ok(Some(header)),
            _ => Err(Problem::BrokenRecord { what: "the file ends within a record" }),
        }
    }

    /// Reads on behind a defect up to the version of a record. Returns false if there is none.
    fn find(&mut self) -> bool {
        let (mut line, mut is_start, mut has_failed) = (Vec::new(), true, false);
        loop {
            line.clear();
            match (&mut self.input).take(MAX_HEADER_BYTES).read_until(b'\n', &mut line) {
                Ok(0) => return false,
                Ok(_) if is_start && line.starts_with(VERSION) => break,
                Ok(_) => (is_start, has_failed) = (line.ends_with(b"\n"), false),
                // A damaged member of gzip is an error, and the next one begins a line. Another error at the same place
                // is one of the file.
                Err(_) if has_failed && line.is_empty() => return false,
                Err(_) => (is_start, has_failed) = (true, true),
            }
        }
        self.has_version = true;
        true
    }
}

/// The header of a record.
#[derive(Debug, Default, PartialEq, Eq)]
struct Header {
    kind: String,
    content_type: String,
    /// The address of the page, or the id of the record.
    id: Option<String>,
    /// The length of the body.
    bytes: u64,
}

impl Header {
    /// Reads a header, whose version may have been read; `None` at the end of the file, or the defect.
    fn read(
        reader: &mut impl BufRead,
        mut has_version: bool,
    ) -> io::Result<Result<Option<Self>, &'static str>> {
        let mut header = Self::default();
        let mut left = MAX_HEADER_BYTES;
        let (mut line, mut bytes) = (Vec::new(), None);
        loop {
            line.clear();
            let count = reader.take(left).read_until(b'\n', &mut line)?;
            left -= count as u64;
            if !line.ends_with(b"\n") {
                return Ok(match (has_version, left) {
                    (false, 1..) if line.is_empty() => Ok(None),
                    (_, 0) => Err("the header of a record is too long"),
                    (false, _) => Err("there is no record here"),
                    (true, _) => Err("the file ends within the header of a record"),
                });
            }
            let text = line.trim_ascii();
            match (has_version, text) {
                // Records end with blank lines.
                (false, []) => {}
                (false, text) if text.starts_with(VERSION) => has_version = true,
                (false, _) => return Ok(Err("there is no record here")),
                (true, []) => break,
                (true, text) => bytes = header.take(text).or(bytes),
            }
        }
        Ok(match bytes {
            Some(bytes) => Ok(Some(Self { bytes, ..header })),
            None => Err("a record has no length"),
        })
    }

    /// Takes a field of the header, and returns the length if it is that.
    fn take(&mut self, line: &[u8]) -> Option<u64> {
        let line = String::from_utf8_lossy(line);
        let (name, value) = line.split_once(':')?;
        let value = value.trim();
        match name.trim().to_ascii_lowercase().as_str() {
            "content-length" => return value.parse().ok(),
            "content-type" => self.content_type = value.to_owned(),
            "warc-type" => self.kind = value.to_ascii_lowercase(),
            // An address counts more than the id of the record.
            "warc-target-uri" => self.id = Some(value.trim_matches(['<', '>']).to_owned()),
            "warc-record-id" if self.id.is_none() => {
                self.id = Some(value.trim_matches(['<', '>']).to_owned());
            }
            _ => {}
        }
        None
    }

    /// Returns the number of bytes of the body that are of use.
    fn limit(&self, max_bytes: u64) -> u64 {
        if self.has_page() { max_bytes.saturating_add(MAX_HEADER_BYTES) } else { 0 }
    }

    /// Returns whether the record has a page.
    fn has_page(&self) -> bool {
        matches!(self.kind.as_str(), "response" | "resource" | "conversion")
    }

    /// Returns whether the body is a response of HTTP, with a header of its own.
    fn is_http(&self) -> bool {
        self.kind == "response"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(text: &str) -> Result<Option<Header>, &'static str> {
        Header::read(&mut text.as_bytes(), false).unwrap()
    }

    #[test]
    fn a_header_has_a_version_and_a_length() {
        let found = header(
            "\r\n\r\nWARC/1.0\r\nWARC-Type: Response\r\nwarc-record-id: <urn:1>\r\nWARC-Target-URI: <http://a/>\r\n\
             Content-Type: application/http; msgtype=response\r\nContent-Length: 12\r\n\r\nrest",
        );
        let expected = Header {
            kind: "response".into(),
            content_type: "application/http; msgtype=response".into(),
            id: Some("http://a/".into()),
            bytes: 12,
        };
        assert_eq!(found, Ok(Some(expected)));
        assert_eq!(header("\r\n\r\n"), Ok(None));
        for broken in [
            "WARC/1.0\r\nContent-Length: 1\r\n",
            "WARC/1.0\r\n\r\n",
            "GET /\r\n\r\n",
            "x",
            "WARC/1.0\nContent-Length: -1\n\n",
        ] {
            assert!(header(broken).is_err(), "{broken}");
        }
        assert_eq!(header(&"\n".repeat(2 << 20)), Err("the header of a record is too long"));
    }
}
