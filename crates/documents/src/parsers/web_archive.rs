//! Web archives (WARC, ISO 28500): a document for each response, resource and conversion of text.
//!
//! A record is a version, a header, and as many bytes as the header says, in memory up to the limit of a document.

use std::io::{self, BufRead, Read};

use crate::copy::layout::Shape;
use crate::copy::row_sink::Row;
use crate::document::Document;
use crate::error::Error;
use crate::input::Input;
use crate::parsers::http::{self, Page};
use crate::problem::{Place, Problem};
use crate::read::collector::Collector;

/// The greatest length of the header of a record, and of that of a response.
const MAX_HEADER_BYTES: u64 = 1 << 20;

/// Memory kept from one record to the next.
const MAX_IDLE_BYTES: usize = 1 << 20;

const VERSION: &[u8] = b"WARC/";

/// Reads the records with pages.
pub(crate) fn read(mut input: Input, collector: &mut Collector<'_>) -> Result<(), Error> {
    let name = input.name().to_owned();
    collector.enter(&name, || Shape::Parts)?;
    let max_bytes = collector.max_bytes();
    let mut body = Vec::new();
    let (mut has_pages, mut has_metadata) = (false, false);
    for number in 1u64.. {
        let place = || Place::record(&name, number);
        let header = match Header::read(&mut input).map_err(input.unreadable())? {
            Ok(Some(header)) => header,
            Ok(None) => break,
            Err(what) => {
                return Err(Error::Document { place: place(), problem: Problem::BrokenRecord { what } });
            }
        };
        if body.capacity() > MAX_IDLE_BYTES {
            body = Vec::new();
        }
        body.clear();
        let limit = if header.has_page() { max_bytes.saturating_add(MAX_HEADER_BYTES) } else { 0 };
        let mut rest = (&mut input).take(header.bytes);
        let outcome = (&mut rest).take(limit.saturating_add(1)).read_to_end(&mut body);
        let outcome = outcome.and_then(|_| io::copy(&mut rest, &mut io::sink()));
        let missing = rest.limit();
        outcome.map_err(input.unreadable())?;
        if missing > 0 {
            let what = "the file ends within a record";
            return Err(Error::Document { place: place(), problem: Problem::BrokenRecord { what } });
        }
        if !header.has_page() {
            has_metadata |= header.kind == "metadata";
            continue;
        }
        has_pages = true;
        if body.len() as u64 > limit {
            collector.too_long(place(), "page")?;
            continue;
        }
        let id = header.id.clone().unwrap_or_else(|| collector.row_id(&name, number));
        let page =
            if header.is_http() { http::page(&body) } else { Some(Page::bare(&header.content_type, &body)) };
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
        collector.notify(Place::whole(name), Problem::NoPages);
    }
    Ok(())
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
    /// Reads a header; `None` at the end of the file, or the defect.
    fn read(reader: &mut impl BufRead) -> io::Result<Result<Option<Self>, &'static str>> {
        let mut header = Self::default();
        let mut left = MAX_HEADER_BYTES;
        let (mut line, mut has_version, mut bytes) = (Vec::new(), false, None);
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
        Header::read(&mut text.as_bytes()).unwrap()
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
