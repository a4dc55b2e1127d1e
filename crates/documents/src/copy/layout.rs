//! The columns of the inputs, and of the output that has room for all of them.

#[cfg(feature = "parquet")]
use arrow_schema::{DataType, SchemaRef};

use crate::error::Error;
use crate::table_writer::rows::TableFormat;

/// The columns of an input.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Shape {
    /// Objects with any fields.
    Objects,
    /// Records with this delimiter, and with column names if the input has them.
    Records { names: Option<Vec<String>>, delimiter: u8 },
    /// Columns with types.
    #[cfg(feature = "parquet")]
    Columns(SchemaRef),
    /// Texts with ids.
    Texts,
}

/// The columns of the output.
#[derive(Debug, Clone)]
pub(crate) enum Layout {
    /// An object per line, each with the fields of its row.
    Objects,
    /// The fields of records.
    Records { names: Option<Vec<String>>, delimiter: u8 },
    /// The fields of records as columns of text in a Parquet file.
    Cells { names: Vec<String> },
    /// The same columns with the same types.
    #[cfg(feature = "parquet")]
    Columns(SchemaRef),
    /// Ids and texts in a table of this format.
    IdsAndTexts(TableFormat),
}

/// The output columns that fit all inputs seen so far.
#[derive(Debug)]
pub(crate) struct Agreed {
    /// The format of the output; by default that of the first input.
    format: Option<TableFormat>,
    layout: Option<Layout>,
    /// The first input and its columns.
    first: Option<(String, Shape)>,
    /// Whether the output lacks columns that an input has.
    pub(crate) is_partial: bool,
}

impl Agreed {
    pub(crate) fn new(format: Option<TableFormat>) -> Self {
        Self { format, layout: None, first: None, is_partial: false }
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
        let is_partial = match (&layout, &shape) {
            (Layout::IdsAndTexts(_), shape) => *shape != Shape::Texts,
            #[cfg(feature = "parquet")]
            (Layout::Objects, Shape::Columns(_)) => true,
            _ => false,
        };
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
            Some((_, first)) if are_alike(first, &shape) => {}
            Some((first, _)) => {
                return Err(Error::OtherColumns { input: input.to_owned(), first: first.clone() });
            }
        }
        self.is_partial |= is_partial;
        Ok(())
    }
}

/// Returns the output format closest to an input; `None` if that is a binary format.
fn own_format(shape: &Shape) -> Option<TableFormat> {
    match shape {
        Shape::Records { delimiter: b'\t', .. } => Some(TableFormat::Tsv),
        Shape::Records { .. } => Some(TableFormat::Csv),
        #[cfg(feature = "parquet")]
        Shape::Columns(_) => None,
        _ => Some(TableFormat::Jsonl),
    }
}

/// Returns the columns of an output of this format for an input with these columns.
fn layout(format: TableFormat, shape: &Shape) -> Layout {
    match (format, shape) {
        (TableFormat::Jsonl, _) => Layout::Objects,
        (TableFormat::Csv, Shape::Records { names, .. }) => {
            Layout::Records { names: names.clone(), delimiter: b',' }
        }
        (TableFormat::Tsv, Shape::Records { names, .. }) => {
            Layout::Records { names: names.clone(), delimiter: b'\t' }
        }
        (TableFormat::Parquet, Shape::Records { names: Some(names), .. }) => {
            Layout::Cells { names: names.clone() }
        }
        #[cfg(feature = "parquet")]
        (TableFormat::Parquet, Shape::Columns(schema)) => Layout::Columns(schema.clone()),
        (format, _) => Layout::IdsAndTexts(format),
    }
}

/// Returns whether the rows of two inputs fit into one table.
fn are_alike(one: &Shape, other: &Shape) -> bool {
    match (one, other) {
        (Shape::Records { names: one, .. }, Shape::Records { names: other, .. }) => one == other,
        #[cfg(feature = "parquet")]
        (Shape::Columns(one), Shape::Columns(other)) => {
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

    fn records(names: &[&str], delimiter: u8) -> Shape {
        Shape::Records { names: Some(names.iter().map(|&name| name.to_owned()).collect()), delimiter }
    }

    #[test]
    fn the_output_has_the_columns_of_all_inputs_or_there_is_none() {
        let mut agreed = Agreed::new(None);
        agreed.enter("a.csv", records(&["id", "text"], b',')).unwrap();
        agreed.enter("b.tsv", records(&["id", "text"], b'\t')).unwrap();
        assert!(matches!(agreed.layout(), Some(Layout::Records { delimiter: b',', .. })));
        let error = agreed.enter("c.csv", records(&["id", "text", "more"], b',')).unwrap_err();
        assert!(error.to_string().contains("c.csv") && error.to_string().contains("a.csv"), "{error}");
        assert!(agreed.enter("d.jsonl", Shape::Objects).is_err());
        assert!(!agreed.is_partial);
    }

    #[test]
    fn lines_of_objects_have_room_for_everything() {
        let mut agreed = Agreed::new(Some(TableFormat::Jsonl));
        for shape in [records(&["a"], b','), Shape::Objects, records(&["b"], b','), Shape::Texts] {
            agreed.enter("x", shape).unwrap();
        }
        assert!(!agreed.is_partial);
    }

    #[test]
    fn a_table_of_objects_has_ids_and_texts_alone() {
        let mut agreed = Agreed::new(Some(TableFormat::Csv));
        agreed.enter("a.txt", Shape::Texts).unwrap();
        assert!(!agreed.is_partial);
        agreed.enter("b.jsonl", Shape::Objects).unwrap();
        assert!(agreed.is_partial);
        assert!(agreed.enter("c.csv", records(&["a"], b',')).is_err());
    }
}
