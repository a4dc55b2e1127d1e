//! Files of rows with named columns: CSV, TSV, Parquet and Arrow.
//!
//! - [`rows`]: named columns of any such file, row by row
//! - [`csv`]: comma- or tab-separated records
//! - [`quoting`]: whether their fields can be in quotes
//! - [`columnar`]: Parquet and Arrow files, read in batches of rows

#[cfg(feature = "parquet")]
pub(crate) mod columnar;
pub(crate) mod csv;
pub(crate) mod quoting;
pub(crate) mod rows;

use std::borrow::Cow;

/// A cell of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Value<'a> {
    /// No value.
    Null,
    /// A text; all cells of CSV are texts.
    Text(&'a str),
    /// A number of an unsigned type.
    Unsigned(u64),
    /// A number of a signed type.
    Signed(i64),
    /// Bytes of a binary column.
    Bytes(&'a [u8]),
}

impl<'a> Value<'a> {
    /// Returns the cell as text, numbers in decimal; `None` for null and bytes.
    #[must_use]
    pub fn to_text(self) -> Option<Cow<'a, str>> {
        match self {
            Self::Null | Self::Bytes(_) => None,
            Self::Text(text) => Some(Cow::Borrowed(text)),
            Self::Unsigned(number) => Some(Cow::Owned(number.to_string())),
            Self::Signed(number) => Some(Cow::Owned(number.to_string())),
        }
    }
}
