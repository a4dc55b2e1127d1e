//! Reads fingerprints in a column of Parquet, Arrow, CSV or TSV, and ids or names in another. Binary columns
//! of 8 or 16 bytes are little-endian numbers, as in raw files.

use std::borrow::Cow;

use hamdex::Fingerprint;
use hamdex_documents::problems::Place;
use hamdex_documents::tables::{ColumnNames, Value};
use hamdex_documents::{Document, Error, Format, Input, InputRows};

use crate::failure::{Failure, shown};
use crate::input::format::{Evidence, Notation};
use crate::input::{Beside, Found, Rows};

/// The number of first rows that decide between hexadecimal and decimal; if `is_prompt`, only the first row.
const DECIDING_ROWS: usize = 4096;

/// The names of columns.
#[derive(Debug, Clone, Default)]
pub(crate) struct Columns {
    pub(crate) fingerprint: String,
    /// The column of ids or names, if they are read.
    pub(crate) id: String,
    /// Whether a table may lack the column of names.
    pub(crate) is_id_optional: bool,
    /// The column whose values say which rows are preferred; a table may lack it.
    pub(crate) preferred: Option<String>,
}

/// The form of the fingerprints of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    Hex,
    /// Decimal texts, or numbers.
    Decimal,
    Bytes,
}

impl Form {
    fn of(notation: Notation) -> Self {
        if notation == Notation::Decimal { Self::Decimal } else { Self::Hex }
    }

    /// Returns its name in messages.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Hex => Notation::Hex.name(),
            Self::Decimal => Notation::Decimal.name(),
            Self::Bytes => "binary",
        }
    }
}

/// Reads a table, whose rows go to `copied` as well. Returns the form of its fingerprints, if it has any.
pub(super) fn read<F: Fingerprint>(
    input: Input,
    format: Format,
    (columns, beside): (&Columns, Beside),
    is_prompt: bool,
    copied: Option<&mut InputRows<'_, '_>>,
    rows: &mut Rows<'_, F>,
) -> Result<Option<Form>, Failure> {
    let names = [columns.fingerprint.as_str(), &columns.id];
    let (names, optional) = match beside {
        Beside::Nothing => (&names[..1], &names[..0]),
        Beside::NameIfAny if columns.is_id_optional => (&names[..1], &names[1..]),
        Beside::Id | Beside::Name | Beside::NameIfAny => (&names[..], &names[..0]),
    };
    let max_waiting = if is_prompt { 1 } else { DECIDING_ROWS };
    let mut texts = Texts { notation: None, evidence: Evidence::default(), waiting: Vec::new(), max_waiting };
    let mut form = None;
    let visit = |place: Place, cells: &[Value<'_>]| {
        if is_missing(&cells[0]) {
            return texts.pass_over(rows).map(|()| None);
        }
        let value = columns.preferred.as_ref().and_then(|_| value(cells.last()?));
        let id = match beside {
            Beside::Nothing => Found::Nothing,
            Beside::Id => Found::Id(id(&place, &cells[1])?),
            Beside::NameIfAny if cells[1] == Value::Null => Found::Nothing,
            Beside::Name | Beside::NameIfAny => Found::Name(name(&place, &cells[1])?),
        };
        if let Value::Text(text) = cells[0] {
            texts.push(place, text, (id, value), rows)?;
        } else {
            let is_binary = matches!(cells[0], Value::Bytes(_));
            form = Some(if is_binary { Form::Bytes } else { Form::Decimal });
            rows(Some(of_cell(&place, cells[0], Notation::Either)?), id, value)?;
        }
        Ok(Some(Document::default()))
    };
    let names = ColumnNames { named: names, optional, ordered: columns.preferred.as_deref() };
    let outcome = match copied {
        Some(copied) => copied.read_table(input, format, names, visit),
        None => {
            let mut visit = visit;
            input.for_each_row_with(format, names, |place, cells| visit(place, cells).map(drop))
        }
    };
    outcome.map_err(|failure| name_option(failure, columns))?;
    let has_texts = texts.notation.is_some() || !texts.waiting.is_empty();
    texts.finish(rows)?;
    Ok(form.or(if has_texts { texts.notation.map(Form::of) } else { None }))
}

/// Reads a table again, the form of whose fingerprints is known, to copy its rows. `document` makes a document of each
/// row with a fingerprint.
pub(super) fn copy<F: Fingerprint>(
    input: Input,
    format: Format,
    column: &str,
    form: Option<Form>,
    copied: &mut InputRows<'_, '_>,
    document: &mut dyn FnMut(F) -> Result<Document, Failure>,
) -> Result<(), Failure> {
    let notation = if form == Some(Form::Decimal) { Notation::Decimal } else { Notation::Hex };
    let names = ColumnNames { named: &[column], ..ColumnNames::default() };
    copied.read_table(input, format, names, |place, cells| {
        if is_missing(&cells[0]) {
            return Ok(None);
        }
        document(of_cell(&place, cells[0], notation)?).map(Some)
    })
}

fn is_missing(cell: &Value<'_>) -> bool {
    match cell {
        Value::Null => true,
        Value::Text(text) => text.trim().is_empty(),
        _ => false,
    }
}

/// Returns the fingerprint in a cell.
fn of_cell<F: Fingerprint>(place: &Place, cell: Value<'_>, notation: Notation) -> Result<F, Failure> {
    match cell {
        Value::Unsigned(_) | Value::Signed(_) if F::BITS != u64::BITS => Err(complaint(
            place,
            format_args!(
                "numbers of 64 bits are no fingerprints of {} bits; give --width 64, or a column of texts or of {} \
                 bytes",
                F::BITS,
                F::BYTES
            ),
        )),
        Value::Unsigned(number) => Ok(F::truncate(number.into())),
        // Signed numbers are bit patterns.
        Value::Signed(number) => Ok(F::truncate(i128::from(number).cast_unsigned())),
        Value::Bytes(bytes) => of_bytes(bytes).map_err(|what| complaint(place, what)),
        Value::Text(text) => parse(place, text.trim(), notation),
        _ => Err(complaint(place, "expected a fingerprint")),
    }
}

/// Returns a value that says whether a row is preferred.
fn value(cell: &Value<'_>) -> Option<String> {
    match cell {
        Value::Bytes(bytes) => Some(String::from_utf8_lossy(bytes).into_owned()),
        cell => cell.to_text().map(Cow::into_owned),
    }
}

/// The values of a row next to its fingerprint: [`Rows`] takes them.
type Others = (Found, Option<String>);

/// Texts that wait until their notation is known, and rows without one that wait behind them, in their order.
struct Texts {
    notation: Option<Notation>,
    evidence: Evidence,
    waiting: Vec<Option<(Place, String, Others)>>,
    max_waiting: usize,
}

impl Texts {
    fn push<F: Fingerprint>(
        &mut self,
        place: Place,
        text: &str,
        (id, value): Others,
        rows: &mut Rows<'_, F>,
    ) -> Result<(), Failure> {
        let text = text.trim();
        if let Some(notation) = self.notation {
            return rows(Some(parse(&place, text, notation)?), id, value);
        }
        self.evidence.note::<F>(text.as_bytes(), self.waiting.len() as u64);
        self.waiting.push(Some((place, text.to_owned(), (id, value))));
        if self.waiting.len() >= self.max_waiting { self.finish(rows) } else { Ok(()) }
    }

    /// Takes a row without a fingerprint.
    fn pass_over<F: Fingerprint>(&mut self, rows: &mut Rows<'_, F>) -> Result<(), Failure> {
        // Before the first text nothing waits; of a pipe, nothing ever does.
        if self.waiting.is_empty() {
            return rows(None, Found::Nothing, None);
        }
        self.waiting.push(None);
        Ok(())
    }

    /// Decides on the notation, and hands over the waiting texts.
    fn finish<F: Fingerprint>(&mut self, rows: &mut Rows<'_, F>) -> Result<(), Failure> {
        let notation = self.evidence.notation().map_err(|(hex, decimal)| {
            let noted = |at: u64| self.waiting[at as usize].as_ref().expect("only texts are noted");
            let text = |at: u64| shown(&noted(at).1);
            complaint(
                &noted(hex.max(decimal)).0,
                format_args!(
                    "{} looks hexadecimal and {} decimal; write the whole column in one notation",
                    text(hex),
                    text(decimal)
                ),
            )
        })?;
        self.notation = Some(notation);
        self.waiting.drain(..).try_for_each(|waiting| match waiting {
            Some((place, text, (id, value))) => rows(Some(parse(&place, &text, notation)?), id, value),
            None => rows(None, Found::Nothing, None),
        })
    }
}

/// Returns the fingerprint in the bytes of a little-endian number.
fn of_bytes<F: Fingerprint>(bytes: &[u8]) -> Result<F, String> {
    if bytes.len() == F::BYTES {
        return Ok(F::read_le(bytes));
    }
    let advice = match bytes.len() {
        8 => "; give --width 64",
        16 => "; give --width 128",
        _ => "",
    };
    Err(format!("a fingerprint of {} bits has {} bytes; found {}{advice}", F::BITS, F::BYTES, bytes.len()))
}

fn parse<F: Fingerprint>(place: &Place, text: &str, notation: Notation) -> Result<F, Failure> {
    notation.parse(text).map_err(|error| {
        let what = match notation.contradiction::<F>(text) {
            Some(contradiction) => format!("{contradiction}; write the whole column in one notation"),
            None => format!("{error}; found {}", shown(text)),
        };
        complaint(place, what)
    })
}

fn id(place: &Place, cell: &Value<'_>) -> Result<u64, Failure> {
    let id = cell.to_text().and_then(|text| u64::parse_decimal(text.trim()).ok());
    id.ok_or_else(|| {
        let found = match cell {
            Value::Bytes(_) => "bytes".to_owned(),
            other => other.to_text().map_or("nothing".to_owned(), |text| shown(&text)),
        };
        complaint(place, format_args!("expected a decimal id; found {found}"))
    })
}

fn name(place: &Place, cell: &Value<'_>) -> Result<Vec<u8>, Failure> {
    match (cell, cell.to_text()) {
        (Value::Bytes(bytes), _) => Ok(bytes.to_vec()),
        (_, Some(text)) => Ok(text.as_bytes().to_vec()),
        _ => Err(complaint(place, "expected a name; found nothing")),
    }
}

fn complaint(place: &Place, what: impl ToString) -> Failure {
    Failure::Input { input: place.to_string(), place: String::new(), what: what.to_string() }
}

/// Returns the error for a missing column, with the option that names it and the columns there are.
fn name_option(failure: Failure, columns: &Columns) -> Failure {
    match failure {
        Failure::Documents(Error::ColumnType { input, column, found, .. }) => {
            let place = Place::whole(input);
            if Some(&column) == columns.preferred.as_ref()
                && ![&columns.fingerprint, &columns.id].contains(&&column)
            {
                let what =
                    format_args!("the column {} holds {found}, which has no order (--keep)", shown(&column));
                return complaint(&place, what);
            }
            complaint(
                &place,
                format_args!(
                    "the column {} holds {found}; whole numbers, texts and, for fingerprints, binary of 8 or \
                     16 bytes are read",
                    shown(&column)
                ),
            )
        }
        Failure::Documents(Error::MissingColumn { place, column, columns: there, .. }) => {
            let option = if column == columns.fingerprint { "--fingerprint-field" } else { "--id-field" };
            complaint(
                &place,
                format_args!(
                    "no column is named {} ({option}); there are: {}",
                    shown(&column),
                    there.join(", ")
                ),
            )
        }
        other => other,
    }
}
