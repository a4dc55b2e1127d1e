//! Files that are one document each.

use std::io::Read;

use crate::copy::layout::Shape;
use crate::copy::row::Row;
use crate::document::Document;
use crate::error::Error;
use crate::format;
use crate::input::Input;
use crate::intake::Intake;
use crate::problem::Place;
use crate::readers::html;

/// Reads a whole file as one document, its name the id.
pub(crate) fn read(mut input: Input, as_html: bool, intake: &mut Intake<'_>) -> Result<(), Error> {
    intake.enter(input.name(), || Shape::Texts)?;
    let max_bytes = intake.max_bytes();
    let mut bytes = Vec::new();
    let outcome = (&mut input).take(max_bytes.saturating_add(1)).read_to_end(&mut bytes);
    outcome.map_err(input.unreadable())?;
    let place = || Place::whole(input.name());
    if bytes.len() as u64 > max_bytes {
        return intake.too_long(place(), "file");
    }
    let text = intake.text(place, &bytes)?;
    let text = if as_html || format::is_html(bytes.trim_ascii_start()) {
        html::text(text.as_bytes())
    } else {
        text.into_owned()
    };
    intake.take(Document::new(input.name(), text), Row::Text, place)
}
