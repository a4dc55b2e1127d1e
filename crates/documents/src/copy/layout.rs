//! The columns of the inputs, and of the output that has room for all of them.

use std::fmt;

#[cfg(feature = "parquet")]
use arrow_schema::{DataType, SchemaRef};
#[cfg(feature = "parquet")]
use parquet::basic::Compression;
use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, Visitor};

use crate::error::Error;
use crate::format::lenient_json;
use crate::problem::shown_names;
use crate::table_reader::quoting::Quoting;
#[cfg(feature = "parquet")]
use crate::table_writer::batches::Container;
use crate::table_writer::format::TableFormat;

/// The columns of an input.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Shape {
    /// Objects with any fields, in an array or one after the other.
    Objects { are_in_array: bool },
    /// Objects in lists within others.
    Items,
    /// Records with this delimiter and quoting, and with column names if the input has them.
    Records { names: Option<Vec<String>>, delimiter: u8, quoting: Quoting },
    /// Columns with types, and their container.
    #[cfg(feature = "parquet")]
    Columns { schema: SchemaRef, container: Container },
    /// A text on each line.
    Lines,
    /// The file is one text.
    Whole,
    /// Messages of mail or responses of the web.
    Parts,
}

/// The columns of the output.
#[derive(Debug, Clone)]
pub(crate) enum Layout {
    /// An object per line, each with the fields of its row.
    Objects,
    /// The fields of records.
    Records { names: Option<Vec<String>>, delimiter: u8, quoting: Quoting },
    /// The fields of records as columns of text in a Parquet or Arrow file.
    Cells { names: Vec<String>, format: TableFormat },
    /// The same columns with the same types.
    #[cfg(feature = "parquet")]
    Columns { schema: SchemaRef, compression: Compression, format: TableFormat },
    /// Ids and texts in a table of this format.
    IdsAndTexts(TableFormat),
}

/// The output columns that fit all inputs seen so far.
#[derive(Debug)]
pub(crate) struct Agreed {
    /// The format of the output; by default that of the first input.
    format: Option<TableFormat>,
    /// The names of the id and the texts, the only columns of some outputs.
    fields: Vec<String>,
    /// Whether other columns may be lost.
    drops_columns: bool,
    layout: Option<Layout>,
    /// The first input and its columns.
    first: Option<(String, Shape)>,
    /// Whether the output lacks columns that an input has.
    pub(crate) is_partial: bool,
}

impl Agreed {
    pub(crate) fn new(format: Option<TableFormat>, fields: Vec<String>, drops_columns: bool) -> Self {
        Self { format, fields, drops_columns, layout: None, first: None, is_partial: false }
    }

    pub(crate) fn layout(&self) -> Option<&Layout> {
        self.layout.as_ref()
    }

    /// Adds an input. Fails if its rows do not fit into one output with the rows of the others.
    pub(crate) fn enter(&mut self, input: &str, shape: Shape) -> Result<(), Error> {
        let format = self.format.or_else(|| own_format(&shape));
        let format = format.ok_or_else(|| Error::NoTextForm { input: input.to_owned() })?;
        self.format = Some(format);
        let layout = layout(format, &shape);
        let lost = self.lost(&layout, &shape);
        self.check_lost(input, &lost)?;
        #[cfg(feature = "parquet")]
        if let Layout::Columns { schema, format: TableFormat::Arrow, .. } = &layout
            && let Some(field) = schema.fields().iter().find(|field| has_dictionary(field.data_type()))
        {
            return Err(Error::ColumnType {
                input: input.to_owned(),
                column: field.name().clone(),
                expected: "a type without a dictionary; a .parquet file takes it",
                found: field.data_type().to_string(),
            });
        }
        match &self.first {
            None => {
                self.layout = Some(layout);
                self.first = Some((input.to_owned(), shape));
            }
            // Objects have room for any fields, and tables of ids and texts are alike.
            Some(_) if matches!((&self.layout, &layout), (Some(Layout::Objects), Layout::Objects)) => {}
            Some(_)
                if matches!(
                    (&self.layout, &layout),
                    (Some(Layout::IdsAndTexts(_)), Layout::IdsAndTexts(_))
                ) => {}
            Some((_, first)) if are_alike(first, &shape) => {
                // Fields in quotes can have delimiters and line ends, which others cannot.
                if let (
                    Some(Layout::Records { quoting, .. }),
                    Layout::Records { quoting: Quoting::Csv, .. },
                ) = (&mut self.layout, &layout)
                {
                    *quoting = Quoting::Csv;
                }
            }
            Some((first, _)) => {
                return Err(Error::OtherColumns { input: input.to_owned(), first: first.clone() });
            }
        }
        self.is_partial |= !lost.is_empty();
        Ok(())
    }

    /// Adds the keys of an object. Fails if the output lacks one.
    pub(crate) fn enter_object(&mut self, input: &str, text: &str) -> Result<(), Error> {
        // Only objects have fields.
        let standard =
            |_| lenient_json::standard(text).and_then(|text| serde_json::from_str(&text).ok()).ok_or(());
        let Ok(keys) = serde_json::from_str::<Keys>(text).or_else(standard) else { return Ok(()) };
        let lost = self.lost_of(keys.0.into_iter());
        self.check_lost(input, &lost)?;
        self.is_partial |= !lost.is_empty();
        Ok(())
    }

    /// Returns whether the output lacks fields that objects may have.
    pub(crate) fn may_lose_fields(&self) -> bool {
        !self.is_partial && matches!(self.layout, Some(Layout::IdsAndTexts(_)))
    }

    fn check_lost(&self, input: &str, lost: &[String]) -> Result<(), Error> {
        if self.drops_columns || lost.is_empty() {
            return Ok(());
        }
        let ending = self.format.map_or("", TableFormat::ending);
        Err(Error::LostColumns { input: input.to_owned(), ending, columns: shown_names(lost) })
    }

    /// Returns the columns of an input that the output lacks.
    fn lost(&self, layout: &Layout, shape: &Shape) -> Vec<String> {
        match (layout, shape) {
            (Layout::IdsAndTexts(_), Shape::Records { names: Some(names), .. }) => {
                self.lost_of(names.iter().cloned())
            }
            (Layout::IdsAndTexts(_), Shape::Records { names: None, .. }) => {
                vec!["all but the text".to_owned()]
            }
            #[cfg(feature = "parquet")]
            (Layout::IdsAndTexts(_) | Layout::Objects, Shape::Columns { schema, .. }) => {
                self.lost_of(schema.fields().iter().map(|field| field.name().clone()))
            }
            _ => Vec::new(),
        }
    }

    fn lost_of(&self, names: impl Iterator<Item = String>) -> Vec<String> {
        names.filter(|name| !self.fields.contains(name)).collect()
    }
}

/// The keys of an object.
struct Keys(Vec<String>);

impl<'de> Deserialize<'de> for Keys {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visit;
        impl<'de> Visitor<'de> for Visit {
            type Value = Keys;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Keys, A::Error> {
                let mut keys = Vec::new();
                while let Some((key, _)) = map.next_entry::<String, IgnoredAny>()? {
                    keys.push(key);
                }
                Ok(Keys(keys))
            }
        }
        deserializer.deserialize_map(Visit)
    }
}

/// Returns whether a type has a dictionary, which an Arrow file holds once and not for each batch.
#[cfg(feature = "parquet")]
fn has_dictionary(kind: &DataType) -> bool {
    match kind {
        DataType::Dictionary(..) => true,
        DataType::List(inner)
        | DataType::LargeList(inner)
        | DataType::FixedSizeList(inner, _)
        | DataType::Map(inner, _) => has_dictionary(inner.data_type()),
        DataType::Struct(fields) => fields.iter().any(|field| has_dictionary(field.data_type())),
        _ => false,
    }
}

/// Returns the output format closest to an input; `None` if that is a binary format.
fn own_format(shape: &Shape) -> Option<TableFormat> {
    match shape {
        Shape::Records { delimiter: b'\t', .. } => Some(TableFormat::Tsv),
        Shape::Records { .. } => Some(TableFormat::Csv),
        #[cfg(feature = "parquet")]
        Shape::Columns { .. } => None,
        _ => Some(TableFormat::Jsonl),
    }
}

/// Returns the columns of an output of this format for an input with these columns.
fn layout(format: TableFormat, shape: &Shape) -> Layout {
    match (format, shape) {
        (TableFormat::Jsonl, _) => Layout::Objects,
        (TableFormat::Csv | TableFormat::Tsv, Shape::Records { names, delimiter, quoting }) => {
            let is_tab = format == TableFormat::Tsv;
            // A semicolon stays one, and is recognised again.
            let own = if is_tab { b'\t' } else { *delimiter };
            let own = if !is_tab && own == b'\t' { b',' } else { own };
            let quoting = if own == *delimiter { *quoting } else { Quoting::Csv };
            Layout::Records { names: names.clone(), delimiter: own, quoting }
        }
        (TableFormat::Parquet | TableFormat::Arrow, Shape::Records { names: Some(names), .. }) => {
            Layout::Cells { names: names.clone(), format }
        }
        #[cfg(feature = "parquet")]
        (TableFormat::Parquet | TableFormat::Arrow, Shape::Columns { schema, container }) => {
            let compression = match container {
                Container::Parquet(compression) => *compression,
                _ => Compression::SNAPPY,
            };
            Layout::Columns { schema: SchemaRef::clone(schema), compression, format }
        }
        (format, _) => Layout::IdsAndTexts(format),
    }
}

/// Returns whether the rows of two inputs fit into one table.
fn are_alike(one: &Shape, other: &Shape) -> bool {
    match (one, other) {
        (Shape::Records { names: one, .. }, Shape::Records { names: other, .. }) => one == other,
        #[cfg(feature = "parquet")]
        (Shape::Columns { schema: one, .. }, Shape::Columns { schema: other, .. }) => {
            let columns = |schema: &SchemaRef| -> Vec<(String, DataType, bool)> {
                let column = |field: &std::sync::Arc<arrow_schema::Field>| {
                    (field.name().clone(), field.data_type().clone(), field.is_nullable())
                };
                schema.fields().iter().map(column).collect()
            };
            columns(one) == columns(other)
        }
        (one, other) => one == other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OBJECTS: Shape = Shape::Objects { are_in_array: false };

    fn records(names: &[&str], delimiter: u8) -> Shape {
        let names = names.iter().map(|&name| name.to_owned()).collect();
        Shape::Records { names: Some(names), delimiter, quoting: Quoting::Csv }
    }

    fn agreed(format: Option<TableFormat>, drops_columns: bool) -> Agreed {
        Agreed::new(format, vec!["id".to_owned(), "text".to_owned()], drops_columns)
    }

    #[test]
    fn the_output_has_the_columns_of_all_inputs_or_there_is_none() {
        let mut agreed = agreed(None, false);
        agreed.enter("a.csv", records(&["id", "text"], b',')).unwrap();
        agreed.enter("b.tsv", records(&["id", "text"], b'\t')).unwrap();
        assert!(matches!(agreed.layout(), Some(Layout::Records { delimiter: b',', .. })));
        let error = agreed.enter("c.csv", records(&["id", "text", "more"], b',')).unwrap_err();
        assert!(error.to_string().contains("c.csv") && error.to_string().contains("a.csv"), "{error}");
        assert!(agreed.enter("d.jsonl", OBJECTS).is_err());
        assert!(!agreed.is_partial);
    }

    #[test]
    fn lines_of_objects_have_room_for_everything() {
        let mut agreed = agreed(Some(TableFormat::Jsonl), false);
        for shape in [records(&["a"], b','), OBJECTS, records(&["b"], b','), Shape::Whole] {
            agreed.enter("x", shape).unwrap();
        }
        assert!(!agreed.is_partial);
    }

    #[test]
    fn a_table_of_objects_has_ids_and_texts_alone() {
        for drops_columns in [false, true] {
            let mut agreed = agreed(Some(TableFormat::Csv), drops_columns);
            agreed.enter("a.txt", Shape::Whole).unwrap();
            agreed.enter("b.jsonl", OBJECTS).unwrap();
            agreed.enter_object("b.jsonl", r#"{"id": 1, "text": "x"}"#).unwrap();
            assert!(!agreed.is_partial && agreed.may_lose_fields());
            let outcome =
                agreed.enter_object("b.jsonl", r#"{"id": 1, "more": {"x": 2}, "text": "x", "n": 3}"#);
            assert_eq!((outcome.is_ok(), agreed.is_partial), (drops_columns, drops_columns));
            if let Err(error) = outcome {
                assert!(
                    error
                        .to_string()
                        .starts_with("b.jsonl: .csv takes ids and texts alone, and loses: more, n"),
                    "{error}"
                );
            }
            assert!(agreed.enter("c.csv", records(&["a"], b',')).is_err());
        }
    }
}
