//! Parquet and Arrow files, read in batches of rows.

use std::borrow::Cow;
use std::fs::File;
use std::iter;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef, LargeBinaryArray, LargeStringArray, RecordBatch};
use arrow_buffer::ArrowNativeType;
use arrow_ipc::CompressionType;
use arrow_ipc::reader::{FileReader, StreamReader};
use arrow_schema::{ArrowError, DataType, FieldRef, Fields, Schema, SchemaRef};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReaderBuilder,
};
use parquet::basic::Compression;
use parquet::file::metadata::RowGroupMetaData;

use crate::copy::union::value::{is_ordered, ordered_numbers};
use crate::error::Error;
use crate::format::{self, Format};
use crate::input::{Input, OnRead};
use crate::problem::{Place, Position};
use crate::table_reader::Value;
use crate::table_reader::footer::check_schema;
use crate::table_writer::parquet::Container;

/// The start of an Arrow file, behind which it is as a stream.
const ARROW_MAGIC: &[u8] = b"ARROW1\0\0";

/// Rows of Parquet decoded at a time: at most, and about as many as have this many bytes.
const BATCH_ROWS: usize = 1024;
const BATCH_BYTES: u64 = 1 << 19;

/// A selected column: its number in the file, and the path to a nested field.
#[derive(Debug, Clone)]
pub(crate) struct Wanted {
    pub(crate) column: usize,
    pub(crate) inner: Vec<Step>,
}

/// A step into a nested column.
#[derive(Debug, Clone)]
pub(crate) enum Step {
    /// To the field of this number.
    Field(usize),
    /// To all items of a list, whose texts are joined by this separator.
    Items(String),
}

/// Selects columns of a file.
pub(crate) type Select<'a> = dyn Fn(&SchemaRef) -> Result<Vec<Wanted>, Error> + 'a;

/// Receives rows.
pub(crate) trait Visit {
    /// Receives the number of a row, and its cells in the order of the selected columns.
    fn row(&mut self, number: u64, cells: &[Value<'_>]) -> Result<(), Error>;

    /// Receives a batch after all its rows.
    fn end_batch(&mut self, _: &RecordBatch) -> Result<(), Error> {
        Ok(())
    }
}

type AnyBatches = dyn Iterator<Item = Result<RecordBatch, ArrowError>>;

/// The batches of a file.
pub(crate) struct Batches {
    input: String,
    batches: Box<AnyBatches>,
    /// The selected columns, numbered within batches.
    columns: Vec<Wanted>,
    container: Container,
    advance: Option<Advance>,
}

/// Reports the bytes of a file that is not read from its start to its end, in proportion to what was read of it.
struct Advance {
    bytes: u64,
    report: OnRead,
    /// The rows or batches of the file, and the number that was read.
    all: Parts,
    done: u64,
    reported: u64,
}

enum Parts {
    Rows(u64),
    Batches(u64),
}

impl Advance {
    fn of((bytes, report): (u64, OnRead), all: Parts) -> Self {
        Self { bytes, report, all, done: 0, reported: 0 }
    }

    fn add(&mut self, batch: &RecordBatch) {
        let (all, count) = match self.all {
            Parts::Rows(all) => (all, batch.num_rows() as u64),
            Parts::Batches(all) => (all, 1),
        };
        self.done = (self.done + count).min(all);
        let read = u128::from(self.bytes) * u128::from(self.done) / u128::from(all.max(1));
        let read = u64::try_from(read).unwrap_or(self.bytes);
        (self.report)(read - self.reported);
        self.reported = read;
    }
}

/// The batches of an Arrow stream, with an error where something follows it.
struct Stream {
    batches: StreamReader<Input>,
    has_ended: bool,
}

impl Iterator for Stream {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.has_ended {
            return None;
        }
        let next = self.batches.next();
        self.has_ended = next.is_none();
        if next.is_none() && self.batches.get_mut().peek().is_ok_and(|rest| !rest.is_empty()) {
            let what = "other bytes follow the stream, such as a second one";
            return Some(Err(ArrowError::IpcError(what.to_owned())));
        }
        next
    }
}

impl Batches {
    /// Opens a file. With `with_all`, batches have all columns instead of the selected ones.
    pub(crate) fn open(
        mut input: Input,
        format: Format,
        with_all: bool,
        select: &Select<'_>,
    ) -> Result<Self, Error> {
        let name = input.name().to_owned();
        if format == Format::Parquet {
            return Self::open_parquet(name, input, with_all, select);
        }
        let refused =
            |source| Error::Damaged { place: Place::whole(&name), what: "not an Arrow file", source };
        let start = input.peek()?;
        let (is_file, compression) = (format::is_arrow_file(start), body_compression(start));
        if is_file {
            let unreported = input.unreported();
            let file = input.into_file()?;
            let batches = guarded(|| FileReader::try_new_buffered(file, None)).map_err(refused)?;
            let columns = select(&batches.schema())?;
            let advance =
                unreported.map(|bytes| Advance::of(bytes, Parts::Batches(batches.num_batches() as u64)));
            let container = Container::ArrowFile(compression);
            Ok(Self { input: name, batches: Box::new(batches), columns, container, advance })
        } else {
            let batches = guarded(|| StreamReader::try_new(input, None)).map_err(refused)?;
            let columns = select(&batches.schema())?;
            let batches = Stream { batches, has_ended: false };
            let container = Container::ArrowStream(compression);
            Ok(Self { input: name, batches: Box::new(batches), columns, container, advance: None })
        }
    }

    fn open_parquet(name: String, input: Input, with_all: bool, select: &Select<'_>) -> Result<Self, Error> {
        let refused =
            |source| Error::Damaged { place: Place::whole(&name), what: "not a Parquet file", source };
        let unreported = input.unreported();
        let file = input.into_file()?;
        let bytes = file.metadata().map_or(u64::MAX, |metadata| metadata.len());
        let options = ArrowReaderOptions::new();
        check_schema(&file).map_err(|what| refused(what.into()))?;
        let metadata = guarded(|| ArrowReaderMetadata::load(&file, options)).map_err(refused)?;
        let mut columns = select(metadata.schema())?;
        let metadata = if with_all { metadata } else { with_views(metadata) };
        let groups = metadata.metadata().row_groups();
        if !groups.iter().all(|group| is_within(group, bytes)) {
            return Err(refused("its footer is damaged: a column lies outside the file".into()));
        }
        let rows = u64::try_from(metadata.metadata().file_metadata().num_rows()).unwrap_or_default();
        let advance = unreported.map(|bytes| Advance::of(bytes, Parts::Rows(rows)));
        let first = groups.first().and_then(|group| group.columns().first());
        let compression = first.map_or(Compression::SNAPPY, |column| writable(column.compression()));
        let mut roots: Vec<usize> = match with_all {
            true => (0..metadata.schema().fields().len()).collect(),
            false => columns.iter().map(|wanted| wanted.column).collect(),
        };
        roots.sort_unstable();
        roots.dedup();
        // By number, since a name with a dot would be parsed as a path into a nested column.
        let mask = ProjectionMask::roots(metadata.parquet_schema(), roots.iter().copied());
        let batches = parquet_batches(file, metadata, mask);
        // Batches have only the selected columns, in the order of the file.
        for wanted in &mut columns {
            wanted.column = roots.partition_point(|&root| root < wanted.column);
        }
        let container = Container::Parquet(compression);
        Ok(Self { input: name, batches, columns, container, advance })
    }

    /// Returns the format of the file; the compression of Parquet is that of its first column.
    pub(crate) fn container(&self) -> Container {
        self.container
    }

    /// Visits every row and every batch.
    pub(crate) fn for_each_row(mut self, visit: &mut impl Visit) -> Result<(), Error> {
        let mut number = 0u64;
        loop {
            let next = guarded(|| self.batches.next().transpose());
            let what = "cannot read the rows from here on";
            let damaged = |source| Error::Damaged {
                place: Place::at(&self.input, Position::Row(number)),
                what,
                source,
            };
            let Some(batch) = next.map_err(damaged)? else { return Ok(()) };
            let columns: Vec<Column> = self
                .columns
                .iter()
                .map(|wanted| Column::find(batch.column(wanted.column), &wanted.inner))
                .collect();
            let mut cells = Vec::with_capacity(columns.len());
            for row in 0..batch.num_rows() {
                cells.clear();
                cells.extend(columns.iter().map(|column| column.value(row)));
                visit.row(number, &cells)?;
                number += 1;
            }
            visit.end_batch(&batch)?;
            if let Some(advance) = &mut self.advance {
                advance.add(&batch);
            }
        }
    }
}

/// Finds a column and the type of its values by name. `body.text` is the field `text` of the column `body`, unless
/// there is a column with that whole name. With a separator, `body[].text` is the texts of all items of the list `body`.
pub(crate) fn find<'s>(
    schema: &'s Schema,
    name: &str,
    separator: Option<&str>,
) -> Option<(Wanted, &'s DataType)> {
    let (column, mut inner, kind) = find_in(schema.fields(), name, separator)?;
    inner.reverse();
    Some((Wanted { column, inner }, kind))
}

/// Returns the number of a field, the steps from it to a nested one, the last one first, and the type of that.
fn find_in<'s>(
    fields: &'s Fields,
    name: &str,
    separator: Option<&str>,
) -> Option<(usize, Vec<Step>, &'s DataType)> {
    if let Some(at) = fields.iter().position(|field| field.name() == name) {
        return Some((at, Vec::new(), fields[at].data_type()));
    }
    fields.iter().enumerate().find_map(|(at, field)| {
        let rest = name.strip_prefix(field.name().as_str())?;
        let (steps, kind) = steps(field.data_type(), rest, separator)?;
        Some((at, steps, kind))
    })
}

/// Returns the steps from a column to the value that the rest of a name denotes, the last one first, and its type.
fn steps<'s>(kind: &'s DataType, rest: &str, separator: Option<&str>) -> Option<(Vec<Step>, &'s DataType)> {
    if rest.is_empty() {
        return Some((Vec::new(), kind));
    }
    match (kind, rest.strip_prefix('.'), separator) {
        (DataType::Struct(fields), Some(name), _) => {
            let (at, mut steps, kind) = find_in(fields, name, separator)?;
            steps.push(Step::Field(at));
            Some((steps, kind))
        }
        (
            DataType::List(items) | DataType::LargeList(items) | DataType::FixedSizeList(items, _),
            None,
            Some(between),
        ) => {
            let (mut steps, kind) = steps(items.data_type(), rest.strip_prefix("[]")?, separator)?;
            steps.push(Step::Items(between.to_owned()));
            Some((steps, kind))
        }
        _ => None,
    }
}

/// Returns the compression of the first batch at the start of an Arrow file or stream.
fn body_compression(start: &[u8]) -> Option<CompressionType> {
    let mut rest = start.strip_prefix(ARROW_MAGIC).unwrap_or(start);
    loop {
        let number = |bytes: &[u8]| Some(u32::from_le_bytes(bytes.get(..4)?.try_into().ok()?));
        // Old files have the length alone.
        let (length, head) = match number(rest)? {
            u32::MAX => (number(&rest[4..])?, &rest[8..]),
            length => (length, &rest[4..]),
        };
        let (head, behind) = head.split_at_checked(usize::try_from(length).ok()?)?;
        let message = arrow_ipc::root_as_message(head).ok()?;
        let batch = message
            .header_as_record_batch()
            .or_else(|| message.header_as_dictionary_batch().and_then(|dictionary| dictionary.data()));
        if let Some(batch) = batch {
            return batch.compression().map(|compression| compression.codec());
        }
        rest = behind.get(usize::try_from(message.bodyLength()).ok()?..)?;
    }
}

/// Returns a compression that can be written.
fn writable(compression: Compression) -> Compression {
    match compression {
        // Its framing is that of one program; the other LZ4 is standard.
        Compression::LZ4 => Compression::LZ4_RAW,
        Compression::LZO => Compression::SNAPPY,
        other => other,
    }
}

/// The error of a decoder.
type Source = Box<dyn std::error::Error + Send + Sync>;

/// Calls a decoder and turns its panic, which a damaged file can cause, into an error.
fn guarded<T, E>(work: impl FnOnce() -> Result<T, E>) -> Result<T, Source>
where
    E: std::error::Error + Send + Sync + 'static,
{
    match catch_unwind(AssertUnwindSafe(work)) {
        Ok(outcome) => outcome.map_err(Into::into),
        Err(_) => Err("it is damaged in a way that its decoder does not expect".into()),
    }
}

/// Makes texts and bytes views of the decoded pages, which are not copied then: a page may have a thousand texts.
fn with_views(metadata: ArrowReaderMetadata) -> ArrowReaderMetadata {
    let as_view = |field: &FieldRef| match field.data_type() {
        DataType::Utf8 | DataType::LargeUtf8 => field.as_ref().clone().with_data_type(DataType::Utf8View),
        DataType::Binary | DataType::LargeBinary => {
            field.as_ref().clone().with_data_type(DataType::BinaryView)
        }
        _ => field.as_ref().clone(),
    };
    let fields: Fields = metadata.schema().fields().iter().map(as_view).collect();
    let schema = Schema::new_with_metadata(fields, metadata.schema().metadata().clone());
    let options = ArrowReaderOptions::new().with_schema(Arc::new(schema));
    guarded(|| ArrowReaderMetadata::try_new(Arc::clone(metadata.metadata()), options)).unwrap_or(metadata)
}

/// Returns the batches of a file, of about [`BATCH_BYTES`] each. Successive row groups whose batches have the same number
/// of rows share a reader, so that long rows in one group make no small batches of others.
fn parquet_batches(file: File, metadata: ArrowReaderMetadata, mask: ProjectionMask) -> Box<AnyBatches> {
    let mut runs: Vec<(usize, Vec<usize>)> = Vec::new();
    for (number, group) in metadata.metadata().row_groups().iter().enumerate() {
        let rows = batch_rows(group, &mask);
        match runs.last_mut() {
            Some((before, groups)) if *before == rows => groups.push(number),
            _ => runs.push((rows, vec![number])),
        }
    }
    let read = move |(rows, groups)| {
        let builder = ParquetRecordBatchReaderBuilder::new_with_metadata(file.try_clone()?, metadata.clone());
        builder.with_projection(mask.clone()).with_row_groups(groups).with_batch_size(rows).build()
    };
    Box::new(runs.into_iter().flat_map(move |run| -> Box<AnyBatches> {
        match read(run) {
            Ok(batches) => Box::new(batches),
            Err(error) => Box::new(iter::once(Err(error.into()))),
        }
    }))
}

/// Returns how many rows of a group are decoded at a time: a power of two, since about as many will do.
fn batch_rows(group: &RowGroupMetaData, mask: &ProjectionMask) -> usize {
    let columns = group.columns().iter().enumerate();
    let selected = columns.filter(|(number, _)| mask.leaf_included(*number));
    let bytes: u64 =
        selected.map(|(_, column)| column.uncompressed_size().max(0) as u64).fold(0, u64::saturating_add);
    let bytes_per_row = bytes / u64::try_from(group.num_rows()).unwrap_or_default().max(1);
    let rows = usize::try_from(BATCH_BYTES / bytes_per_row.max(1)).unwrap_or(BATCH_ROWS).clamp(1, BATCH_ROWS);
    1 << rows.ilog2()
}

/// Returns whether the columns of a row group lie within a file of `bytes` bytes.
fn is_within(group: &RowGroupMetaData, bytes: u64) -> bool {
    group.columns().iter().all(|column| {
        let start = column.dictionary_page_offset().unwrap_or(column.data_page_offset());
        let (start, length) = (u64::try_from(start), u64::try_from(column.compressed_size()));
        start.is_ok_and(|start| length.is_ok_and(|length| start.saturating_add(length) <= bytes))
    })
}

pub(crate) fn names(schema: &Schema) -> Vec<String> {
    schema.fields().iter().map(|field| field.name().clone()).collect()
}

pub(crate) fn is_text(kind: &DataType) -> bool {
    match kind {
        DataType::Dictionary(_, values) => is_text(values),
        kind => matches!(kind, DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View),
    }
}

pub(crate) fn is_text_or_integer(kind: &DataType) -> bool {
    match kind {
        DataType::Dictionary(_, values) => is_text_or_integer(values),
        kind => is_text(kind) || kind.is_integer(),
    }
}

/// Returns whether values are bytes of any length, which can be text.
pub(crate) fn is_bytes(kind: &DataType) -> bool {
    match kind {
        DataType::Dictionary(_, values) => is_bytes(values),
        kind => matches!(kind, DataType::Binary | DataType::LargeBinary | DataType::BinaryView),
    }
}

/// Returns whether values are lists of texts.
pub(crate) fn is_list_of_texts(kind: &DataType) -> bool {
    match kind {
        DataType::List(items) | DataType::LargeList(items) | DataType::FixedSizeList(items, _) => {
            is_text(items.data_type())
        }
        _ => false,
    }
}

/// A column of a batch; for a dictionary also its values and the key of each row.
struct Column {
    /// The structs that contain it. A value is null if one of them is.
    outer: Vec<ArrayRef>,
    array: ArrayRef,
    dictionary: Option<(Box<Column>, Vec<usize>)>,
}

impl Column {
    fn find(mut array: &ArrayRef, steps: &[Step]) -> Self {
        let mut outer = Vec::new();
        for (at, step) in steps.iter().enumerate() {
            match step {
                Step::Field(inner) => {
                    outer.push(Arc::clone(array));
                    array = array.as_struct().column(*inner);
                }
                Step::Items(separator) => {
                    let items = Self::find(items(array), &steps[at + 1..]);
                    return Self { outer, ..Self::new(&joined_lists(array, &items, Some(separator))) };
                }
            }
        }
        Self { outer, ..Self::new(array) }
    }

    fn new(array: &ArrayRef) -> Self {
        let dictionary = array.as_any_dictionary_opt().map(|dictionary| {
            let values = dictionary.values();
            // Without values all rows are null, and there are no keys to normalise.
            let keys = if values.is_empty() { Vec::new() } else { dictionary.normalized_keys() };
            (Box::new(Self::new(values)), keys)
        });
        let array = match array.data_type() {
            kind if is_list_of_texts(kind) => joined_lists(array, &Self::new(items(array)), None),
            kind if is_ordered(kind) => ordered_numbers(array),
            _ => Arc::clone(array),
        };
        Self { outer: Vec::new(), array, dictionary }
    }

    fn value(&self, row: usize) -> Value<'_> {
        if self.array.is_null(row) || self.outer.iter().any(|outer| outer.is_null(row)) {
            return Value::Null;
        }
        if let Some((values, keys)) = &self.dictionary {
            return values.value(keys[row]);
        }
        macro_rules! signed {
            ($kind:ty) => {
                Value::Signed(self.array.as_primitive::<$kind>().value(row).into())
            };
        }
        macro_rules! unsigned {
            ($kind:ty) => {
                Value::Unsigned(self.array.as_primitive::<$kind>().value(row).into())
            };
        }
        match self.array.data_type() {
            DataType::Utf8 => Value::Text(self.array.as_string::<i32>().value(row)),
            DataType::LargeUtf8 => Value::Text(self.array.as_string::<i64>().value(row)),
            DataType::Utf8View => Value::Text(self.array.as_string_view().value(row)),
            DataType::FixedSizeBinary(_) => Value::Bytes(self.array.as_fixed_size_binary().value(row)),
            DataType::Binary => Value::Bytes(self.array.as_binary::<i32>().value(row)),
            DataType::LargeBinary => Value::Bytes(self.array.as_binary::<i64>().value(row)),
            DataType::BinaryView => Value::Bytes(self.array.as_binary_view().value(row)),
            DataType::Int8 => signed!(Int8Type),
            DataType::Int16 => signed!(Int16Type),
            DataType::Int32 => signed!(Int32Type),
            DataType::Int64 => signed!(Int64Type),
            DataType::UInt8 => unsigned!(UInt8Type),
            DataType::UInt16 => unsigned!(UInt16Type),
            DataType::UInt32 => unsigned!(UInt32Type),
            DataType::UInt64 => unsigned!(UInt64Type),
            _ => Value::Null,
        }
    }
}

/// Returns the items of all lists of a column.
fn items(lists: &ArrayRef) -> &ArrayRef {
    match lists.data_type() {
        DataType::List(_) => lists.as_list::<i32>().values(),
        DataType::LargeList(_) => lists.as_list::<i64>().values(),
        _ => lists.as_fixed_size_list().values(),
    }
}

/// Joins the texts of each list, or its bytes; by line ends without a separator. With a separator, a list without a
/// text has none, and without one an empty text.
fn joined_lists(lists: &ArrayRef, items: &Column, separator: Option<&str>) -> ArrayRef {
    let range = |row: usize| match lists.data_type() {
        DataType::List(_) => {
            let ends = lists.as_list::<i32>().value_offsets();
            ends[row].as_usize()..ends[row + 1].as_usize()
        }
        DataType::LargeList(_) => {
            let ends = lists.as_list::<i64>().value_offsets();
            ends[row].as_usize()..ends[row + 1].as_usize()
        }
        _ => {
            let lists = lists.as_fixed_size_list();
            let start = lists.value_offset_at(row);
            start..start + lists.value_length().as_usize()
        }
    };
    let joined = (0..lists.len()).map(|row| {
        if lists.is_null(row) {
            return None;
        }
        let texts = range(row).filter_map(|item| match items.value(item) {
            Value::Bytes(bytes) => Some(Cow::Borrowed(bytes)),
            value => value.to_text().map(|text| match text {
                Cow::Borrowed(text) => Cow::Borrowed(text.as_bytes()),
                Cow::Owned(text) => Cow::Owned(text.into_bytes()),
            }),
        });
        let texts: Vec<_> = texts.collect();
        (separator.is_none() || !texts.is_empty()).then(|| texts.join(separator.unwrap_or("\n").as_bytes()))
    });
    // Bytes stay bytes, so that invalid UTF-8 is reported as in a column of bytes.
    if is_bytes(items.array.data_type()) {
        return Arc::new(LargeBinaryArray::from_iter(joined));
    }
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("texts are UTF-8");
    Arc::new(LargeStringArray::from_iter(joined.map(|joined| joined.map(text))))
}
