//! One table of all inputs, whose columns are the union of theirs by name.
//!
//! - [`cells`]: the cells of a row, each with its column, and values of JSON as they are written
//! - [`kinds`]: the type of a column, from the types and values of the inputs
//! - [`value`], [`cast`]: values of all types, and columns of them

#[cfg(feature = "parquet")]
pub(crate) mod cast;
pub(crate) mod cells;
#[cfg(feature = "parquet")]
pub(crate) mod kinds;
#[cfg(feature = "parquet")]
pub(crate) mod value;

use std::collections::HashMap;

#[cfg(feature = "parquet")]
use arrow_schema::{DataType, Field, Metadata, Schema, SchemaRef};

#[cfg(feature = "parquet")]
use crate::copy::union::cells::distinct;
#[cfg(feature = "parquet")]
use crate::copy::union::kinds::Seen;
#[cfg(feature = "parquet")]
use crate::copy::union::value::{Value, is_readable};
use crate::error::{CopyErrorKind, Error};
use crate::problem::Problem;
#[cfg(feature = "parquet")]
use crate::table_reader::columnar::names;

/// The most columns of a table whose inputs have others.
const MAX_COLUMNS: usize = 10_000;

/// The columns of the inputs seen so far, in the order in which they are named first.
#[derive(Default)]
pub(crate) struct Columns {
    columns: Vec<Column>,
    places: HashMap<String, usize>,
    /// Whether columns have types in the output.
    #[cfg(feature = "parquet")]
    has_types: bool,
    /// Number of inputs.
    inputs: u64,
    /// The current input, if it has objects, and the values of its columns.
    objects: Option<Objects>,
    /// Problems found in inputs.
    problems: Vec<(String, Problem)>,
}

struct Objects {
    input: String,
    #[cfg(feature = "parquet")]
    seen: HashMap<usize, Seen>,
}

struct Column {
    name: String,
    #[cfg(feature = "parquet")]
    typed: Typed,
}

/// The type of a column.
#[cfg(feature = "parquet")]
struct Typed {
    field: Field,
    /// The first input whose values have a type, and this type.
    first: (String, DataType),
    is_mixed: bool,
    /// Number of inputs that have the column.
    inputs: u64,
}

impl Columns {
    #[cfg(feature = "parquet")]
    pub(crate) fn with_types() -> Self {
        Self { has_types: true, ..Self::default() }
    }

    /// Returns the names.
    pub(crate) fn names(&self) -> Vec<String> {
        self.columns.iter().map(|column| column.name.clone()).collect()
    }

    /// Adds an input with columns of text.
    pub(crate) fn enter_texts(&mut self, input: &str, names: Vec<String>) -> Result<(), Error> {
        self.begin()?;
        for name in names {
            let at = self.place(input, &name)?;
            #[cfg(feature = "parquet")]
            self.meet(at, input, Field::new(name, DataType::Utf8, true))?;
            #[cfg(not(feature = "parquet"))]
            let _ = at;
        }
        Ok(())
    }

    /// Adds an input with columns with types.
    #[cfg(feature = "parquet")]
    pub(crate) fn enter_schema(&mut self, input: &str, schema: &Schema) -> Result<(), Error> {
        self.begin()?;
        for (name, field) in distinct(names(schema)).into_iter().zip(schema.fields()) {
            if !self.has_types {
                check_readable(input, field)?;
            }
            let at = self.place(input, &name)?;
            self.meet(at, input, field.as_ref().clone().with_name(name))?;
        }
        Ok(())
    }

    /// Adds an input with objects, whose fields follow.
    pub(crate) fn enter_objects(&mut self, input: &str) -> Result<(), Error> {
        self.begin()?;
        self.objects = Some(Objects {
            input: input.to_owned(),
            #[cfg(feature = "parquet")]
            seen: HashMap::new(),
        });
        Ok(())
    }

    /// Adds an object of the current input.
    pub(crate) fn enter_object(&mut self, text: &str) -> Result<(), Error> {
        let Some(objects) = self.objects.take() else { return Ok(()) };
        #[cfg(feature = "parquet")]
        let mut objects = objects;
        let text = cells::standard_json(text);
        for (key, value) in cells::json_fields(&text).unwrap_or_default() {
            let at = self.place(&objects.input, &key)?;
            #[cfg(feature = "parquet")]
            if self.has_types {
                objects.seen.entry(at).or_default().add(Value::of_json(value));
            }
            #[cfg(not(feature = "parquet"))]
            let _ = (at, value);
        }
        self.objects = Some(objects);
        Ok(())
    }

    /// Ends the current input and begins another.
    fn begin(&mut self) -> Result<(), Error> {
        self.end()?;
        self.inputs += 1;
        Ok(())
    }

    /// Ends the current input.
    pub(crate) fn end(&mut self) -> Result<(), Error> {
        let Some(objects) = self.objects.take() else { return Ok(()) };
        #[cfg(feature = "parquet")]
        {
            let Objects { input, seen } = objects;
            let mut seen: Vec<(usize, Seen)> = seen.into_iter().collect();
            seen.sort_unstable_by_key(|(at, _)| *at);
            for (at, seen) in seen {
                let mut is_mixed = false;
                let kind = seen.kind(&mut is_mixed);
                let name = self.columns[at].name.clone();
                if is_mixed {
                    self.problems.push((input.clone(), Problem::MixedValues { column: name.clone() }));
                }
                self.meet(at, &input, Field::new(name, kind, true))?;
                self.columns[at].typed.is_mixed |= is_mixed;
            }
        }
        #[cfg(not(feature = "parquet"))]
        drop(objects);
        Ok(())
    }

    /// Takes the problems found in inputs.
    pub(crate) fn take_problems(&mut self) -> Vec<(String, Problem)> {
        std::mem::take(&mut self.problems)
    }

    /// Returns the number of a column, a new one if there is none of this name.
    fn place(&mut self, input: &str, name: &str) -> Result<usize, Error> {
        if let Some(&at) = self.places.get(name) {
            return Ok(at);
        }
        let at = self.columns.len();
        if at == MAX_COLUMNS {
            let what = format!(
                "the inputs have more than {MAX_COLUMNS} different columns up to here; a .jsonl file takes them"
            );
            return Err(Error::copy(CopyErrorKind::ManyColumns, input, what));
        }
        self.places.insert(name.to_owned(), at);
        self.columns.push(Column {
            name: name.to_owned(),
            #[cfg(feature = "parquet")]
            typed: Typed {
                field: Field::new(name, DataType::Null, true),
                first: (String::new(), DataType::Null),
                is_mixed: false,
                inputs: 0,
            },
        });
        Ok(at)
    }

    /// Adds the type of a column of an input.
    #[cfg(feature = "parquet")]
    fn meet(&mut self, at: usize, input: &str, field: Field) -> Result<(), Error> {
        let Column { name, typed } = &mut self.columns[at];
        typed.inputs += 1;
        if typed.inputs == 1 {
            typed.first = (input.to_owned(), field.data_type().clone());
            typed.field = field;
            return Ok(());
        }
        let mut is_mixed = false;
        let kind = kinds::common(typed.field.data_type(), field.data_type(), &mut is_mixed);
        for (input, field) in [(typed.first.0.as_str(), &typed.field), (input, &field)] {
            if kind != *field.data_type() {
                check_readable(input, field)?;
            }
        }
        if typed.first.1 == DataType::Null {
            typed.first = (input.to_owned(), field.data_type().clone());
        }
        if is_mixed && !typed.is_mixed && self.has_types {
            typed.is_mixed = true;
            let types = Box::new([field.data_type(), &typed.first.1].map(kinds::name));
            let problem = Problem::MixedColumn { column: name.clone(), first: typed.first.0.clone(), types };
            self.problems.push((input.to_owned(), problem));
        }
        let is_nullable = kinds::is_nullable(&typed.field) || kinds::is_nullable(&field);
        // Metadata of a column stays if all inputs have the same.
        let is_same = typed.field.metadata() == field.metadata() && kind == *typed.field.data_type();
        let metadata = if is_same { field.metadata().clone() } else { Metadata::default() };
        typed.field = Field::new(name.clone(), kind, is_nullable).with_metadata(metadata);
        Ok(())
    }

    /// Returns the columns with their types.
    #[cfg(feature = "parquet")]
    pub(crate) fn schema(&self, has_dictionaries: bool) -> SchemaRef {
        let field = |column: &Column| {
            let field = &column.typed.field;
            let is_nullable = field.is_nullable() || column.typed.inputs < self.inputs;
            let kind = match has_dictionaries {
                true => field.data_type().clone(),
                false => kinds::without_dictionaries(field.data_type()),
            };
            field.clone().with_data_type(kind).with_nullable(is_nullable)
        };
        SchemaRef::new(Schema::new(self.columns.iter().map(field).collect::<Vec<_>>()))
    }
}

/// Fails if values of a column cannot be text.
#[cfg(feature = "parquet")]
pub(crate) fn check_readable(input: &str, field: &Field) -> Result<(), Error> {
    if is_readable(field.data_type()) {
        return Ok(());
    }
    let (name, kind) = (field.name(), field.data_type());
    let what = format!("the column {name:?} has the type {kind}, which cannot be written as text");
    Err(Error::copy(CopyErrorKind::NoText, input, what))
}
