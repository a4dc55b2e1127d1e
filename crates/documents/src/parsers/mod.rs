//! Parsers: the documents of one input, one parser per format.

#[cfg(feature = "parquet")]
mod columnar;
pub(crate) mod json;
pub(crate) mod mail;
mod separated;
mod text;
pub(crate) mod web;
mod web_archive;

use std::sync::atomic::Ordering;

use crate::error::Error;
use crate::format::Format;
use crate::input::Input;
use crate::problem::{Place, Problem};
use crate::read::collector::Collector;
use crate::read::recognition;

pub(crate) use json::is_object_without_text;

/// Reads all documents of an input.
pub(crate) fn read(mut input: Input, format: Format, collector: &mut Collector<'_>) -> Result<(), Error> {
    if !collector.enter_input(&input, format)? {
        return Ok(());
    }
    let (place, trailing) = (Place::whole(input.name()), input.take_trailing());
    read_as(input, format, collector)?;
    if trailing.load(Ordering::Relaxed) {
        // They may be a damaged member, and others behind it.
        collector.skip_file(place, Problem::Trailing)?;
    }
    Ok(())
}

fn read_as(input: Input, format: Format, collector: &mut Collector<'_>) -> Result<(), Error> {
    match format {
        Format::Lines => text::read_lines(input, collector),
        Format::TextLines => text::read_texts(input, collector),
        Format::Jsonl => json::read_lines(input, collector),
        Format::Json => json::read(input, collector),
        Format::Csv | Format::Tsv => {
            let delimiter = recognition::delimiter_of(&input, format, collector.documents);
            separated::read(input, delimiter, collector)
        }
        #[cfg(feature = "parquet")]
        Format::Parquet | Format::Arrow => columnar::read(input, format, collector),
        #[cfg(not(feature = "parquet"))]
        Format::Parquet | Format::Arrow => Err(Error::WithoutParquet { input: input.name().to_owned() }),
        Format::Text | Format::Html | Format::Eml => text::read_whole(input, format, collector),
        Format::Mbox => mail::read(input, collector),
        Format::Warc => web_archive::read(input, collector),
    }
}
