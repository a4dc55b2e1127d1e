//! Plain text: a document per line, with an id before a blank or tab or without one; or one per file, which may also be
//! HTML, with about the text that a browser shows, or a message of mail.

use std::borrow::Cow;
use std::io::{self, BufRead, Read};
use std::path::Path;

use crate::document::Document;
use crate::error::Error;
use crate::format::{self, Format};
use crate::input::Input;
use crate::parsers::mail::Message;
use crate::parsers::web::html_text;
use crate::problem::{Place, Position, Problem};
use crate::read::collector::Collector;
use crate::rows::{Row, Shape};

/// Reads lines of ids and texts.
pub(crate) fn read_lines(input: Input, collector: &mut Collector<'_>) -> Result<(), Error> {
    collector.enter(input.name(), || Shape::Lines)?;
    each(input, collector, &mut |line, at, collector| {
        let (id, text) = line.split_once([' ', '\t']).unwrap_or((line, ""));
        collector.take(Document::new(id, text.trim_start()), Row::Line(line), || at.place())
    })
}

/// Reads lines of texts without ids.
pub(crate) fn read_texts(input: Input, collector: &mut Collector<'_>) -> Result<(), Error> {
    collector.enter(input.name(), || Shape::Lines)?;
    each(input, collector, &mut |line, at, collector| {
        let document = Document::new(collector.row_id(at.input, at.number), line);
        collector.take(document, Row::Line(line), || at.place())
    })
}

/// Adds a text to another one: on a line of its own, unless one of them is empty.
pub(crate) fn append(joined: &mut Option<String>, text: Cow<'_, str>) {
    match joined {
        Some(joined) => {
            if !joined.is_empty() && !text.is_empty() {
                joined.push('\n');
            }
            joined.push_str(&text);
        }
        None => *joined = Some(text.into_owned()),
    }
}

/// A line of an input.
#[derive(Clone, Copy)]
pub(crate) struct At<'a> {
    pub(crate) input: &'a str,
    /// Counted from 1.
    pub(crate) number: u64,
}

impl At<'_> {
    pub(crate) fn place(self) -> Place {
        Place::at(self.input, Position::Line(self.number))
    }
}

/// Receives a line without its line end.
type Visit<'a> = dyn FnMut(&str, At<'_>, &mut Collector<'_>) -> Result<(), Error> + 'a;

/// Calls `visit` with every line that is not blank. Lines that are too long are skipped.
pub(crate) fn each(
    mut input: Input,
    collector: &mut Collector<'_>,
    visit: &mut Visit<'_>,
) -> Result<(), Error> {
    let name = input.name().to_owned();
    let mut buffer = Vec::new();
    let max_bytes = collector.max_bytes();
    for number in 1u64.. {
        let at = At { input: &name, number };
        match bounded(&mut input, &mut buffer, max_bytes).map_err(input.unreadable())? {
            Bounded::End => break,
            Bounded::TooLong => collector.too_long(at.place(), "line")?,
            Bounded::Line => {
                let text = collector.text(&buffer);
                let line = text.trim_end_matches(['\n', '\r']);
                if !line.trim().is_empty() {
                    visit(line, at, collector)?;
                }
            }
        }
    }
    Ok(())
}

enum Bounded {
    End,
    Line,
    /// The line was read to its end and not kept.
    TooLong,
}

fn bounded(reader: &mut impl BufRead, buffer: &mut Vec<u8>, max_bytes: u64) -> io::Result<Bounded> {
    buffer.clear();
    if reader.take(max_bytes.saturating_add(1)).read_until(b'\n', buffer)? == 0 {
        return Ok(Bounded::End);
    }
    if buffer.len() as u64 <= max_bytes || buffer.ends_with(b"\n") {
        return Ok(Bounded::Line);
    }
    reader.skip_until(b'\n')?;
    // Release the memory of a long line.
    *buffer = Vec::new();
    Ok(Bounded::TooLong)
}

/// Reads a whole file as one document, with its name as the id: text, HTML or a message of mail.
pub(crate) fn read_whole(
    mut input: Input,
    format: Format,
    collector: &mut Collector<'_>,
) -> Result<(), Error> {
    collector.enter(input.name(), || Shape::Whole)?;
    let max_bytes = collector.max_bytes();
    let mut bytes = Vec::new();
    let outcome = (&mut input).take(max_bytes.saturating_add(1)).read_to_end(&mut bytes);
    outcome.map_err(input.unreadable())?;
    let place = || Place::whole(input.name());
    if bytes.len() as u64 > max_bytes {
        return collector.too_long(place(), "file");
    }
    let text = match format {
        Format::Eml => {
            let text = Message::parse(&bytes).text;
            collector.check_decoded(&text);
            text
        }
        _ => {
            let text = collector.text(&bytes);
            let is_html = format == Format::Html || format::is_html(bytes.trim_ascii_start());
            if is_html { html_text(text.as_bytes()) } else { text.into_owned() }
        }
    };
    if collector.is_undecodable(&text) {
        collector.take_damage();
        return Err(Error::Document { place: place(), problem: Problem::NotUtf8 });
    }
    let mut document = Document::new(input.name(), text);
    document.path = input.undecodable_path().map(Path::to_owned);
    collector.take(document, Row::Text, place)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_lines_are_skipped_whole() {
        let mut input = "1234\n12345\n123456\n12\n1234567".as_bytes();
        let mut buffer = Vec::new();
        let mut found = Vec::new();
        loop {
            match bounded(&mut input, &mut buffer, 5).unwrap() {
                Bounded::End => break,
                Bounded::Line => found.push(buffer.len()),
                Bounded::TooLong => found.push(0),
            }
        }
        assert_eq!(found, [5, 6, 0, 3, 0]);
    }
}
