//! Parsers: the documents of one input, one parser per format.

#[cfg(feature = "parquet")]
mod columnar;
mod json;
mod lines;
mod separated;
pub(crate) mod whole_file;

use crate::error::Error;
use crate::format::Format;
use crate::input::Input;
use crate::read::collector::Collector;

/// Reads all documents of an input.
pub(crate) fn read(input: Input, format: Format, collector: &mut Collector<'_>) -> Result<(), Error> {
    collector.is_transcoded = input.is_transcoded();
    match format {
        Format::Lines => lines::read(input, collector),
        Format::TextLines => lines::read_texts(input, collector),
        Format::Jsonl => json::read_lines(input, collector),
        Format::Json => json::read(input, collector),
        Format::Csv => separated::read(input, b',', collector),
        Format::Tsv => separated::read(input, b'\t', collector),
        #[cfg(feature = "parquet")]
        Format::Parquet | Format::Arrow => columnar::read(input, format, collector),
        #[cfg(not(feature = "parquet"))]
        Format::Parquet | Format::Arrow => Err(Error::WithoutParquet { input: input.name().to_owned() }),
        Format::Text | Format::Html => whole_file::read(input, format == Format::Html, collector),
    }
}
