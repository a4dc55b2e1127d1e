//! Records of CSV and TSV, copied to a file.

use std::io::{self, Write};

use crate::error::Error;
use crate::table_reader::csv;
use crate::table_reader::quoting::Quoting;
use crate::table_writer::sink::Sink;

/// A file of records, written as they are in the input where that has the same delimiter and quotes.
pub(crate) struct Records {
    file: Sink,
    delimiter: u8,
    quoting: Quoting,
}

impl Records {
    pub(crate) fn new(file: Sink, delimiter: u8, quoting: Quoting) -> Self {
        Self { file, delimiter, quoting }
    }

    pub(crate) fn write(&mut self, records: &csv::Records) -> Result<(), Error> {
        let Self { file, delimiter, quoting } = self;
        let Some(raw) = records.raw(*delimiter, *quoting) else { return self.write_fields(records.fields()) };
        Ok(file.write_all(raw).and_then(|()| file.write_all(b"\n")).map_err(|error| file.failed()(error))?)
    }

    pub(crate) fn finish(self) -> Result<(), Error> {
        self.file.finish()
    }

    pub(crate) fn write_fields(
        &mut self,
        fields: impl IntoIterator<Item = impl AsRef<[u8]>>,
    ) -> Result<(), Error> {
        let Self { file, delimiter, quoting } = self;
        let record = match quoting {
            Quoting::Csv => {
                let mut writer = ::csv::WriterBuilder::new().delimiter(*delimiter).from_writer(Vec::new());
                let written = writer.write_record(fields).map_err(io::Error::from);
                written.and_then(|()| writer.into_inner().map_err(::csv::IntoInnerError::into_error))
            }
            Quoting::None => {
                let fields: Vec<_> = fields.into_iter().collect();
                let fields: Vec<&[u8]> = fields.iter().map(AsRef::as_ref).collect();
                Ok([&fields.join(&*delimiter)[..], b"\n"].concat())
            }
        };
        Ok(record.and_then(|record| file.write_all(&record)).map_err(|error| file.failed()(error))?)
    }
}
