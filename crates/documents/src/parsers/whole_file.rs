//! Files that are one document each: plain text, HTML with about the text that a browser shows, and messages of mail.

use std::io::Read;
use std::path::Path;

use crate::copy::layout::Shape;
use crate::copy::row_sink::Row;
use crate::document::Document;
use crate::error::Error;
use crate::format::{self, Format};
use crate::input::Input;
use crate::parsers::html::html_text;
use crate::parsers::mail::Message;
use crate::problem::{Place, Problem};
use crate::read::collector::Collector;

/// Reads a whole file as one document, with its name as the id: text, HTML or a message of mail.
pub(crate) fn read(mut input: Input, format: Format, collector: &mut Collector<'_>) -> Result<(), Error> {
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
