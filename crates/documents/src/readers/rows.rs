//! Documents from tables: each row is one.

use crate::document::Document;
use crate::documents::Documents;
use crate::error::Error;
use crate::format::Format;
use crate::input::Input;
use crate::intake::Intake;
use crate::problem::{Field, Place, Problem};
#[cfg(feature = "parquet")]
use crate::table::columns::{Allowed, Batches};
use crate::table::csv::{Next, Records};

/// Reads comma- or tab-separated values; the first record has the names.
pub(crate) fn read_csv(input: Input, delimiter: u8, intake: &mut Intake<'_>) -> Result<(), Error> {
    let name = input.name().to_owned();
    let mut records = Records::new(input, delimiter, intake.max_bytes());
    let columns = match records.next()? {
        Next::End => return Ok(()),
        Next::Record => {
            let names = records.fields().map(|name| String::from_utf8_lossy(name).into_owned());
            select(intake.documents, &names.collect::<Vec<_>>(), &Place::line(&name, 1))?
        }
        Next::TooLong => {
            let problem = Problem::TooLong { what: "record of names", max_bytes: intake.max_bytes() };
            return Err(Error::Document { place: Place::line(&name, 1), problem });
        }
    };
    loop {
        match records.next()? {
            Next::End => return Ok(()),
            Next::TooLong => intake.too_long(records.place(), "record")?,
            Next::Record => take_record(&records, columns, intake)?,
        }
    }
}

fn take_record(records: &Records, columns: [Option<usize>; 3], intake: &mut Intake<'_>) -> Result<(), Error> {
    let [id, text, extra] = columns.map(|column| column.and_then(|column| records.field(column)));
    let (Some(id), Some(text)) = (id, text) else {
        return intake.skip(records.place(), Problem::ShortRecord { found: records.fields().count() });
    };
    // Both fields are checked as one text, so invalid UTF-8 is reported once.
    intake.text(|| records.place(), &[id, text].concat())?;
    let owned = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    intake.take(Document { id: owned(id), text: owned(text), extra: extra.map(owned), line: None })
}

/// Reads a Parquet or Arrow file.
#[cfg(feature = "parquet")]
pub(crate) fn read_columns(input: Input, format: Format, intake: &mut Intake<'_>) -> Result<(), Error> {
    let name = input.name().to_owned();
    let documents = intake.documents;
    let select = |names: &[String]| {
        let columns = select(documents, names, &Place::whole(&name))?;
        Ok(columns.into_iter().flatten().collect())
    };
    let batches = Batches::open(input, format, Allowed::TextsAndNumbers, &select)?;
    batches.for_each_row(&mut |row, cells| {
        let place = || Place::row(&name, row);
        let text_of = |at: usize| cells.get(at).and_then(|cell| cell.to_text());
        let (Some(id), Some(text)) = (text_of(0), text_of(1)) else {
            return intake.skip(place(), Problem::Null);
        };
        if text.len() as u64 > intake.max_bytes() {
            return intake.too_long(place(), "text");
        }
        let extra = text_of(2).map(std::borrow::Cow::into_owned);
        intake.take(Document { id: id.into_owned(), text: text.into_owned(), extra, line: None })
    })
}

#[cfg(not(feature = "parquet"))]
pub(crate) fn read_columns(input: Input, _: Format, _: &mut Intake<'_>) -> Result<(), Error> {
    Err(Error::WithoutParquet { input: input.name().to_owned() })
}

/// Returns the numbers of the columns of id, text and the extra field.
fn select(documents: &Documents, names: &[String], place: &Place) -> Result<[Option<usize>; 3], Error> {
    let find = |name: &String| names.iter().position(|each| each == name);
    let needed = |field, name: &String| match find(name) {
        Some(at) => Ok(Some(at)),
        None => Err(Error::MissingColumn {
            place: place.clone(),
            field: Some(field),
            column: name.clone(),
            columns: names.to_vec(),
        }),
    };
    Ok([
        needed(Field::Id, &documents.id_field)?,
        needed(Field::Text, &documents.text_field)?,
        documents.extra_field.as_ref().and_then(find),
    ])
}
