//! The table of all inputs as CSV or TSV.

use crate::copy::records::Records;
use crate::copy::row_sink::Row;
use crate::copy::union::cells::{Places, Raw};
use crate::copy::union::json;
#[cfg(feature = "parquet")]
use crate::copy::union::value::Value;
use crate::document::Document;
use crate::error::Error;

/// A file of records with all columns of the inputs. A field is empty where an input lacks the column.
pub(crate) struct Table {
    records: Records,
    pub(crate) places: Places,
    width: usize,
}

impl Table {
    pub(crate) fn new(mut records: Records, names: &[String], fields: [&str; 2]) -> Result<Self, Error> {
        records.write_fields(names)?;
        let places = Places::new(names.iter().map(String::as_str), fields);
        Ok(Self { records, places, width: names.len() })
    }

    /// Writes a row. Returns whether it has a place in the table.
    pub(crate) fn write(&mut self, row: Row<'_>, document: Option<&Document>) -> Result<bool, Error> {
        let mut fields = vec![Vec::new(); self.width];
        let has_place = self.places.each(row, document, |at, cell| {
            fields[at] = match cell {
                Raw::Text(bytes) => bytes.into_owned(),
                Raw::Json(value) => {
                    json::text(value).map_or_else(Vec::new, |text| text.into_owned().into_bytes())
                }
            };
        });
        if has_place {
            self.records.write_fields(&fields)?;
        }
        Ok(has_place)
    }

    /// Writes a row of values in the order of the columns of the input.
    #[cfg(feature = "parquet")]
    pub(crate) fn write_values(&mut self, row: Vec<Value>) -> Result<(), Error> {
        let mut fields = vec![String::new(); self.width];
        for (&at, value) in self.places.of_record().iter().zip(row) {
            if let Some(at) = at {
                fields[at] = value.into_text().unwrap_or_default();
            }
        }
        self.records.write_fields(&fields)
    }

    pub(crate) fn finish(self) -> Result<(), Error> {
        self.records.finish()
    }
}
