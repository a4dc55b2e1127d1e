//! The format and the columns of the output, on which the inputs agree one after another.

#[cfg(feature = "parquet")]
use arrow_schema::{DataType, SchemaRef};
#[cfg(feature = "parquet")]
use parquet::basic::Compression;

use crate::copy::union::Columns;
use crate::copy::union::cells::{self, distinct};
#[cfg(feature = "parquet")]
use crate::copy::union::check_readable;
#[cfg(feature = "parquet")]
use crate::copy::union::kinds::without_dictionaries;
use crate::error::{CopyErrorKind, Error};
use crate::problem::Problem;
use crate::rows::Shape;
use crate::table_reader::quoting::Quoting;
use crate::table_writer::TableFormat;
#[cfg(feature = "parquet")]
use crate::table_writer::parquet::Container;

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
    /// The columns of all inputs as records.
    Table { names: Vec<String>, delimiter: u8 },
    /// The columns of all inputs with types.
    #[cfg(feature = "parquet")]
    Union { schema: SchemaRef, compression: Compression, format: TableFormat },
    /// Ids and texts in a table of this format.
    IdsAndTexts(TableFormat),
}

/// The output columns that fit all inputs seen so far.
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
    /// Whether all inputs are like the first one.
    are_alike: bool,
    /// The union of all columns, if the output is a table.
    columns: Columns,
    /// Whether the output lacks columns that an input has.
    is_partial: bool,
}

impl Agreed {
    pub(crate) fn new(format: Option<TableFormat>, fields: Vec<String>, drops_columns: bool) -> Self {
        Self {
            format,
            fields,
            drops_columns,
            layout: None,
            first: None,
            are_alike: true,
            columns: Columns::default(),
            is_partial: false,
        }
    }

    /// Returns whether records of CSV and TSV become rows of another format.
    pub(crate) fn converts_records(&self) -> bool {
        !matches!(self.format, None | Some(TableFormat::Csv | TableFormat::Tsv))
    }

    /// Adds an input. Fails if its rows do not fit into one output with the rows of the others.
    pub(crate) fn enter(&mut self, input: &str, shape: Shape) -> Result<(), Error> {
        let format = self.format.or_else(|| own_format(&shape));
        let format = format.ok_or_else(|| {
            let what = "its columns and types need a Parquet file to be written to";
            Error::copy(CopyErrorKind::NoStream, input, what)
        })?;
        #[cfg(feature = "parquet")]
        if self.first.is_none() && matches!(format, TableFormat::Parquet | TableFormat::Arrow) {
            self.columns = Columns::with_types();
        }
        self.format = Some(format);
        let layout = layout(format, &shape);
        if let (Layout::IdsAndTexts(_), Shape::Records { names: None, .. }) = (&layout, &shape)
            && !self.drops_columns
        {
            let what = format!("{} takes ids and texts alone, and loses: all but the text", format.ending());
            return Err(Error::copy(CopyErrorKind::LostColumns, input, what));
        }
        self.add_columns(input, &shape, &layout)?;
        match &self.first {
            None => {
                self.are_alike = is_whole(&shape, &layout) || self.drops_columns;
                self.layout = Some(layout);
                self.first = Some((input.to_owned(), shape));
            }
            Some((first, first_shape)) => {
                let is_alike = match (&mut self.layout, &layout) {
                    // Objects have room for any fields, and tables of ids and texts are alike.
                    (Some(Layout::Objects), Layout::Objects) => true,
                    (Some(Layout::IdsAndTexts(_)), Layout::IdsAndTexts(_)) => {
                        is_whole(&shape, &layout) || self.drops_columns
                    }
                    (own, layout) if are_alike(first_shape, &shape) => {
                        // Fields in quotes can have delimiters and line ends, which others cannot.
                        if let (
                            Some(Layout::Records { quoting, .. }),
                            Layout::Records { quoting: Quoting::Csv, .. },
                        ) = (own, layout)
                        {
                            *quoting = Quoting::Csv;
                        }
                        true
                    }
                    _ => false,
                };
                let nameless = |shape: &Shape| matches!(shape, Shape::Records { names: None, .. });
                if !is_alike && (nameless(first_shape) || nameless(&shape)) {
                    let what = format!("has other columns than {first}");
                    return Err(Error::copy(CopyErrorKind::OtherColumns, input, what));
                }
                self.are_alike &= is_alike;
            }
        }
        Ok(())
    }

    /// Adds the columns of an input to those of all inputs.
    fn add_columns(&mut self, input: &str, shape: &Shape, layout: &Layout) -> Result<(), Error> {
        let is_table = !matches!(layout, Layout::Objects);
        match shape {
            Shape::Objects { .. } | Shape::Items if is_table => self.columns.enter_objects(input),
            Shape::Records { names, .. } if is_table => {
                let names = distinct(names.clone().unwrap_or_default());
                self.note_lost(layout, names.iter());
                self.columns.enter_texts(input, names)
            }
            #[cfg(feature = "parquet")]
            Shape::Columns { schema, .. } => {
                self.note_lost(layout, schema.fields().iter().map(|field| field.name()));
                match is_table {
                    true => self.columns.enter_schema(input, schema),
                    false if self.drops_columns => Ok(()),
                    false => schema.fields().iter().try_for_each(|field| check_readable(input, field)),
                }
            }
            _ if is_table => {
                let names = self.fields.iter().take(2).cloned().collect();
                self.columns.enter_texts(input, names)
            }
            _ => Ok(()),
        }
    }

    /// Adds an object of the current input.
    pub(crate) fn enter_object(&mut self, text: &str) -> Result<(), Error> {
        if self.drops_columns && !self.is_partial {
            let text = cells::standard_json(text);
            let keys = cells::json_fields(&text).unwrap_or_default();
            self.is_partial = keys.iter().any(|(key, _)| !self.fields.contains(key));
        }
        self.columns.enter_object(text)
    }

    /// Returns whether the fields of objects are columns of the output.
    pub(crate) fn takes_fields(&self) -> bool {
        !matches!(self.layout, None | Some(Layout::Objects))
    }

    /// Ends the last input.
    pub(crate) fn end(&mut self) -> Result<(), Error> {
        self.columns.end()
    }

    /// Takes the problems found in inputs.
    pub(crate) fn take_problems(&mut self) -> Vec<(String, Problem)> {
        self.columns.take_problems()
    }

    /// Returns the columns of the output after all inputs are seen, and whether it lacks some of theirs.
    pub(crate) fn layout(&self) -> (Layout, bool) {
        // For inputs that are empty files, without any columns.
        let bare = |format| (layout(format, &Shape::Whole), false);
        let (Some(own), Some(format)) = (&self.layout, self.format) else {
            return bare(self.format.unwrap_or(TableFormat::Jsonl));
        };
        if self.are_alike || matches!(own, Layout::Objects) {
            return (own.clone(), self.is_partial);
        }
        let delimiter = match (format, own) {
            (TableFormat::Tsv, _) => b'\t',
            (_, Layout::Records { delimiter, .. }) => *delimiter,
            _ => b',',
        };
        (
            match format {
                #[cfg(feature = "parquet")]
                TableFormat::Parquet | TableFormat::Arrow => {
                    let compression = match own {
                        Layout::Columns { compression, .. } => *compression,
                        _ => parquet::basic::Compression::SNAPPY,
                    };
                    let schema = self.columns.schema(format == TableFormat::Parquet);
                    if schema.fields().is_empty() {
                        return bare(format);
                    }
                    Layout::Union { schema, compression, format }
                }
                _ => match self.columns.names() {
                    names if names.is_empty() => return bare(format),
                    names => Layout::Table { names, delimiter },
                },
            },
            false,
        )
    }

    /// Notes whether an output of ids and texts lacks one of these columns.
    fn note_lost<'n>(&mut self, layout: &Layout, mut names: impl Iterator<Item = &'n String>) {
        let is_reduced = matches!(layout, Layout::IdsAndTexts(_) | Layout::Objects);
        if self.drops_columns && is_reduced {
            self.is_partial |= names.any(|name| !self.fields.contains(name));
        }
    }
}

/// Returns whether the layout for one input takes all its columns as they are.
fn is_whole(shape: &Shape, layout: &Layout) -> bool {
    match (shape, layout) {
        (Shape::Objects { .. } | Shape::Items, Layout::IdsAndTexts(_)) => false,
        #[cfg(feature = "parquet")]
        (Shape::Columns { .. }, Layout::IdsAndTexts(_)) => false,
        #[cfg(feature = "parquet")]
        (_, Layout::Columns { schema, format: TableFormat::Arrow, .. }) => {
            schema.fields().iter().all(|field| without_dictionaries(field.data_type()) == *field.data_type())
        }
        _ => true,
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
    fn the_output_has_the_columns_of_all_inputs() {
        let mut agreed = agreed(None, false);
        agreed.enter("a.csv", records(&["id", "text"], b',')).unwrap();
        agreed.enter("b.tsv", records(&["id", "text"], b'\t')).unwrap();
        assert!(matches!(agreed.layout(), (Layout::Records { delimiter: b',', .. }, false)));
        agreed.enter("c.csv", records(&["text", "more", "text"], b';')).unwrap();
        agreed.enter("d.jsonl", OBJECTS).unwrap();
        agreed.enter_object(r#"{"id": 1, "rank": NaN, "text": "x"}"#).unwrap();
        agreed.end().unwrap();
        let (Layout::Table { names, delimiter: b',' }, false) = agreed.layout() else { panic!() };
        assert_eq!(names, ["id", "text", "more", "text_2", "rank"]);
    }

    #[test]
    fn lines_of_objects_have_room_for_everything() {
        let mut agreed = agreed(Some(TableFormat::Jsonl), false);
        for shape in [records(&["a"], b','), OBJECTS, records(&["b"], b','), Shape::Whole] {
            agreed.enter("x", shape).unwrap();
        }
        assert!(matches!(agreed.layout(), (Layout::Objects, false)));
    }

    #[test]
    fn a_table_of_objects_has_ids_and_texts_alone_where_columns_may_be_lost() {
        let mut agreed = agreed(Some(TableFormat::Csv), true);
        agreed.enter("a.txt", Shape::Whole).unwrap();
        agreed.enter("b.jsonl", OBJECTS).unwrap();
        for (object, is_partial) in
            [(r#"{"id": 1, "text": "x"}"#, false), (r#"{"id": 1, "more": {"x": 2}, "text": "x"}"#, true)]
        {
            agreed.enter_object(object).unwrap();
            let (Layout::IdsAndTexts(_), found) = agreed.layout() else { panic!() };
            assert_eq!(found, is_partial);
        }
    }
}
