//! One reader per format of documents.

#[cfg(feature = "parquet")]
pub(crate) mod columns;
pub(crate) mod files;
pub(crate) mod html;
pub(crate) mod json;
pub(crate) mod lines;
pub(crate) mod separated;

use crate::error::Error;
use crate::format::Format;
use crate::input::Input;
use crate::intake::Intake;

/// Reads all documents of an input.
pub(crate) fn read(input: Input, format: Format, intake: &mut Intake<'_>) -> Result<(), Error> {
    intake.is_transcoded = input.is_transcoded();
    match format {
        Format::Lines => lines::read(input, intake),
        Format::TextLines => lines::read_texts(input, intake),
        Format::Jsonl => json::read_lines(input, intake),
        Format::Json => json::read(input, intake),
        Format::Csv => separated::read(input, b',', intake),
        Format::Tsv => separated::read(input, b'\t', intake),
        #[cfg(feature = "parquet")]
        Format::Parquet | Format::Arrow => columns::read(input, format, intake),
        #[cfg(not(feature = "parquet"))]
        Format::Parquet | Format::Arrow => Err(Error::WithoutParquet { input: input.name().to_owned() }),
        Format::Text | Format::Html => files::read(input, format == Format::Html, intake),
    }
}
