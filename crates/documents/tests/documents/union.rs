//! Copies of inputs of any formats, with any columns, to one table: each value is where a plain model has it.

use std::collections::BTreeSet;
use std::fs::File;
use std::sync::Arc;
use std::time::{Duration, Instant};

use arrow_array::builder::{MapBuilder, StringBuilder, StringDictionaryBuilder};
use arrow_array::cast::AsArray;
use arrow_array::types::{Float32Type, Float64Type, Int32Type, Int64Type, UInt64Type};
use arrow_array::{
    Array, ArrayRef, BooleanArray, DictionaryArray, Float32Array, Float64Array, Int32Array, Int64Array,
    LargeStringArray, ListArray, NullArray, RecordBatch, StringArray, StringViewArray, StructArray,
    UInt64Array,
};
use arrow_ipc::reader::FileReader;
use arrow_ipc::writer::FileWriter;
use arrow_schema::{DataType, Field};
use hamdex_atomic_file::AtomicFile;
use hamdex_documents::Error;
use hamdex_documents::tables::TableFormat;
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use proptest::prelude::*;
use proptest::sample::{Index, subsequence};
use serde_json::{Map, Value, json};

use crate::common::Scratch;

const ENDINGS: [&str; 4] = ["csv", "jsonl", "parquet", "arrow"];
const NAMES: [&str; 4] = ["a", "b", "c", "d"];

#[derive(Debug, Clone, Copy, PartialEq)]
enum Kind {
    Int32,
    Int64,
    UInt64,
    Float32,
    Float64,
    Flag,
    Text,
    LargeText,
    TextView,
    Word,
    List,
    Structure(&'static str),
    Null,
}

/// An input: its format, its columns in their order, and its cells.
#[derive(Debug, Clone)]
struct Input {
    ending: &'static str,
    columns: Vec<(&'static str, Kind)>,
    rows: Vec<Vec<Option<i32>>>,
}

impl Kind {
    fn value(self, number: i32) -> Value {
        match self {
            Self::Int32 | Self::Int64 | Self::UInt64 => json!(number),
            Self::Float32 | Self::Float64 => json!(f64::from(number) + 0.5),
            Self::Flag => json!(number % 2 == 0),
            Self::Text | Self::LargeText | Self::TextView | Self::Word => json!(format!("t,{number}")),
            Self::List => json!([number, null, number + 1]),
            Self::Structure(name) => json!({ name: number }),
            Self::Null => Value::Null,
        }
    }

    /// The kinds that are not text have columns of types in common within a class.
    fn class(self) -> Option<u8> {
        match self {
            Self::Int32 | Self::Int64 | Self::UInt64 | Self::Float32 | Self::Float64 => Some(0),
            Self::Flag => Some(1),
            Self::Text | Self::LargeText | Self::TextView | Self::Word => Some(2),
            Self::List => Some(3),
            Self::Structure(_) => Some(4),
            Self::Null => None,
        }
    }

    fn array(self, cells: &[Option<i32>]) -> ArrayRef {
        let texts = || cells.iter().map(|cell| cell.map(|number| format!("t,{number}")));
        let fraction = |cell: &Option<i32>| cell.map(|number| f64::from(number) + 0.5);
        match self {
            Self::Int32 => Arc::new(cells.iter().copied().collect::<Int32Array>()),
            Self::Int64 => Arc::new(cells.iter().map(|cell| cell.map(i64::from)).collect::<Int64Array>()),
            Self::UInt64 => {
                Arc::new(cells.iter().map(|cell| cell.map(|number| number as u64)).collect::<UInt64Array>())
            }
            Self::Float32 => Arc::new(
                cells.iter().map(|cell| fraction(cell).map(|number| number as f32)).collect::<Float32Array>(),
            ),
            Self::Float64 => Arc::new(cells.iter().map(fraction).collect::<Float64Array>()),
            Self::Flag => Arc::new(
                cells.iter().map(|cell| cell.map(|number| number % 2 == 0)).collect::<BooleanArray>(),
            ),
            Self::Text => Arc::new(texts().collect::<StringArray>()),
            Self::LargeText => Arc::new(texts().collect::<LargeStringArray>()),
            Self::TextView => Arc::new(texts().collect::<StringViewArray>()),
            Self::Word => {
                let texts: Vec<Option<String>> = texts().collect();
                Arc::new(texts.iter().map(Option::as_deref).collect::<DictionaryArray<Int32Type>>())
            }
            Self::List => Arc::new(ListArray::from_iter_primitive::<Int32Type, _, _>(
                cells.iter().map(|cell| cell.map(|number| [Some(number), None, Some(number + 1)])),
            )),
            Self::Structure(name) => {
                let inner: ArrayRef = Arc::new(cells.iter().copied().collect::<Int32Array>());
                let field = Field::new(name, DataType::Int32, true);
                let valid: Vec<bool> = cells.iter().map(Option::is_some).collect();
                Arc::new(StructArray::new(vec![field].into(), vec![inner], Some(valid.into())))
            }
            Self::Null => Arc::new(NullArray::new(cells.len())),
        }
    }
}

impl Input {
    /// The rows as objects. CSV has texts alone, and no null.
    fn model(&self) -> Vec<Map<String, Value>> {
        let cell = |cell: Option<i32>, kind: Kind| {
            let value = cell.map_or(Value::Null, |number| kind.value(number));
            if self.ending == "csv" { Value::String(text_of(&value)) } else { value }
        };
        let row = |row: &Vec<Option<i32>>| {
            let cells = self.columns.iter().zip(row);
            cells.map(|((name, kind), &each)| ((*name).to_owned(), cell(each, *kind))).collect()
        };
        self.rows.iter().map(row).collect()
    }

    /// The classes of a column's values; none if it has no type.
    fn class(&self, name: &str) -> Option<u8> {
        let at = self.columns.iter().position(|(each, _)| *each == name)?;
        match self.ending {
            "csv" => Some(2),
            "jsonl" if self.rows.iter().all(|row| row[at].is_none()) => None,
            _ => self.columns[at].1.class(),
        }
    }

    fn bytes(&self, number: usize) -> Vec<u8> {
        let ids: Vec<String> = (0..self.rows.len()).map(|row| format!("{number}-{row}")).collect();
        match self.ending {
            "csv" => {
                let mut writer = csv::Writer::from_writer(Vec::new());
                let names = self.columns.iter().map(|(name, _)| *name);
                writer.write_record(["text", "id"].into_iter().chain(names)).unwrap();
                for (row, id) in self.model().iter().zip(&ids) {
                    let cells = self.columns.iter().map(|(name, _)| row[*name].as_str().unwrap());
                    writer.write_record([id.as_str(), id].into_iter().chain(cells)).unwrap();
                }
                writer.into_inner().unwrap()
            }
            "jsonl" => {
                let line = |(row, id): (Map<String, Value>, &String)| {
                    let cells: Vec<String> =
                        self.columns.iter().map(|(name, _)| format!(",\"{name}\":{}", row[*name])).collect();
                    format!("{{\"text\":\"{id}\",\"id\":\"{id}\"{}}}\n", cells.concat())
                };
                self.model().into_iter().zip(&ids).map(line).collect::<String>().into_bytes()
            }
            ending => {
                let texts: ArrayRef = Arc::new(StringArray::from(ids));
                let mut columns = vec![("text", Arc::clone(&texts), true), ("id", texts, true)];
                for (at, (name, kind)) in self.columns.iter().enumerate() {
                    let cells: Vec<Option<i32>> = self.rows.iter().map(|row| row[at]).collect();
                    columns.push((name, kind.array(&cells), true));
                }
                let batch = RecordBatch::try_from_iter_with_nullable(columns).unwrap();
                if ending == "arrow" {
                    let mut writer = FileWriter::try_new(Vec::new(), &batch.schema()).unwrap();
                    writer.write(&batch).unwrap();
                    return writer.into_inner().unwrap();
                }
                let mut writer = ArrowWriter::try_new(Vec::new(), batch.schema(), None).unwrap();
                writer.write(&batch).unwrap();
                writer.into_inner().unwrap()
            }
        }
    }
}

/// A text as it is, no text for null, and any other value as JSON.
fn text_of(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// A cell of a column of the output.
fn cell(array: &dyn Array, row: usize) -> Value {
    if array.is_null(row) {
        return Value::Null;
    }
    let items = |items: ArrayRef| (0..items.len()).map(|at| cell(&items, at)).collect::<Vec<_>>();
    match array.data_type() {
        DataType::Null => Value::Null,
        DataType::Boolean => json!(array.as_boolean().value(row)),
        DataType::Int32 => json!(array.as_primitive::<Int32Type>().value(row)),
        DataType::Int64 => json!(array.as_primitive::<Int64Type>().value(row)),
        DataType::UInt64 => json!(array.as_primitive::<UInt64Type>().value(row)),
        DataType::Float32 => json!(array.as_primitive::<Float32Type>().value(row)),
        DataType::Float64 => json!(array.as_primitive::<Float64Type>().value(row)),
        DataType::Decimal128(20, 0) => {
            let number = array.as_primitive::<arrow_array::types::Decimal128Type>().value(row);
            json!(i64::try_from(number).unwrap())
        }
        DataType::Utf8 => json!(array.as_string::<i32>().value(row)),
        DataType::LargeUtf8 => json!(array.as_string::<i64>().value(row)),
        DataType::Utf8View => json!(array.as_string_view().value(row)),
        DataType::List(_) => json!(items(array.as_list::<i32>().value(row))),
        DataType::Dictionary(..) => {
            let dictionary = array.as_any_dictionary();
            cell(dictionary.values(), dictionary.normalized_keys()[row])
        }
        DataType::Struct(fields) => {
            let columns = fields.iter().zip(array.as_struct().columns());
            columns.map(|(field, column)| (field.name().clone(), cell(column, row))).collect()
        }
        kind => panic!("no input has or needs {kind}"),
    }
}

/// The names of the columns, and the rows.
fn read_back(scratch: &Scratch, name: &str) -> (Vec<String>, Vec<Vec<Value>>) {
    if name.ends_with("csv") {
        let mut reader = csv::Reader::from_path(scratch.path(name)).unwrap();
        let names = reader.headers().unwrap().iter().map(str::to_owned).collect();
        let row = |row: Result<csv::StringRecord, csv::Error>| row.unwrap().iter().map(Value::from).collect();
        return (names, reader.records().map(row).collect());
    }
    let batches = batches(scratch, name);
    let names = batches.first().map_or(Vec::new(), |batch| {
        batch.schema().fields().iter().map(|field| field.name().clone()).collect()
    });
    let rows = |batch: &RecordBatch| {
        (0..batch.num_rows())
            .map(|row| batch.columns().iter().map(|column| cell(column, row)).collect())
            .collect::<Vec<_>>()
    };
    (names, batches.iter().flat_map(rows).collect())
}

/// Whether both are the same value; an object may have more fields, which are null.
fn is_same(expected: &Value, found: &Value) -> bool {
    match (expected, found) {
        (Value::Number(expected), Value::Number(found)) => expected.as_f64() == found.as_f64(),
        (Value::Array(expected), Value::Array(found)) => {
            expected.len() == found.len()
                && expected.iter().zip(found).all(|(one, other)| is_same(one, other))
        }
        (Value::Object(expected), Value::Object(found)) => {
            let keys: BTreeSet<&String> = expected.keys().chain(found.keys()).collect();
            keys.into_iter().all(|key| {
                is_same(expected.get(key).unwrap_or(&Value::Null), found.get(key).unwrap_or(&Value::Null))
            })
        }
        (expected, found) => expected == found,
    }
}

fn kind() -> impl Strategy<Value = Kind> {
    use Kind::{
        Flag, Float32, Float64, Int32, Int64, LargeText, List, Null, Structure, Text, TextView, UInt64, Word,
    };
    // Often of one class, so that there are types in common.
    prop_oneof![
        prop::sample::select(vec![Int32, Int64, UInt64, Float32, Float64]),
        prop::sample::select(vec![Text, LargeText, TextView, Word]),
        prop::sample::select(vec![Structure("x"), Structure("y"), List, Flag, Null]),
    ]
}

fn input() -> impl Strategy<Value = Input> {
    let names = subsequence(NAMES.to_vec(), 0..=NAMES.len()).prop_shuffle();
    (prop::sample::select(ENDINGS.to_vec()), names, 1..4usize).prop_flat_map(|(ending, names, rows)| {
        let kinds = prop::collection::vec(kind(), names.len());
        let row = prop::collection::vec(prop::option::weighted(0.7, 0..500i32), names.len());
        (kinds, prop::collection::vec(row, rows)).prop_map(move |(kinds, rows)| Input {
            ending,
            columns: names.iter().copied().zip(kinds).collect(),
            rows,
        })
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn the_union_has_every_value_where_a_model_has_it(
        inputs in prop::collection::vec(input(), 1..5),
        ending in prop::sample::select(ENDINGS.to_vec()),
        left_out in any::<Index>(),
    ) {
        let scratch = Scratch::new();
        let names: Vec<String> =
            inputs.iter().enumerate().map(|(at, input)| format!("{at}.{}", input.ending)).collect();
        for (at, (input, name)) in inputs.iter().zip(&names).enumerate() {
            scratch.write(name, input.bytes(at));
        }
        let mut order = vec!["text".to_owned(), "id".to_owned()];
        let mut expected = Vec::new();
        for (at, input) in inputs.iter().enumerate() {
            for (name, _) in &input.columns {
                if !order.iter().any(|known| known == name) {
                    order.push((*name).to_owned());
                }
            }
            for (row, mut cells) in input.model().into_iter().enumerate() {
                cells.insert("id".to_owned(), json!(format!("{at}-{row}")));
                cells.insert("text".to_owned(), json!(format!("{at}-{row}")));
                expected.push(cells);
            }
        }
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let output = scratch.path(&format!("out.{ending}"));
        let documents = scratch.documents(&names).copyable(Some(TableFormat::of(&output).unwrap()));
        let counts = documents.read(|_| Ok::<(), Error>(())).unwrap();
        prop_assert_eq!(counts.documents, expected.len() as u64);
        let left_out = left_out.index(expected.len());
        expected.remove(left_out);
        let wanted = (0..counts.documents as u32).filter(|&number| number as usize != left_out);
        documents.copy(wanted, AtomicFile::options().create(&output).unwrap()).unwrap();

        if ending == "jsonl" {
            let text = std::fs::read_to_string(&output).unwrap();
            let found: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
            prop_assert_eq!(found.len(), expected.len());
            for (expected, found) in expected.into_iter().zip(&found) {
                prop_assert!(is_same(&Value::Object(expected.clone()), found), "{:?} {}", expected, found);
            }
            return Ok(());
        }
        let (found_names, found) = read_back(&scratch, &format!("out.{ending}"));
        prop_assert_eq!(found.len(), expected.len());
        if !found.is_empty() {
            prop_assert_eq!(&found_names, &order);
        }
        for (at, name) in order.iter().enumerate().skip(2) {
            let classes: BTreeSet<u8> = inputs.iter().filter_map(|input| input.class(name)).collect();
            // A table of text has every value as text, and so has a column without a common type.
            let is_text = ending == "csv" || classes.len() > 1;
            for (expected, found) in expected.iter().zip(&found) {
                let expected = expected.get(name).unwrap_or(&Value::Null);
                let is_found = match (is_text, expected) {
                    (true, Value::Null) if ending != "csv" => found[at].is_null(),
                    (true, expected) => found[at] == text_of(expected),
                    (false, expected) => is_same(expected, &found[at]),
                };
                prop_assert!(is_found, "{}: {} {}", name, expected, found[at]);
            }
        }
        for (expected, found) in expected.iter().zip(&found) {
            prop_assert_eq!([&expected["text"], &expected["id"]], [&found[0], &found[1]]);
        }
    }
}

/// Copies all rows of inputs to one table.
fn copy_all(scratch: &Scratch, names: &[&str], output: &str) {
    let path = scratch.path(output);
    let documents = scratch.documents(names).copyable(Some(TableFormat::of(&path).unwrap()));
    let counts = documents.read(|_| Ok::<(), Error>(())).unwrap();
    let file = AtomicFile::options().overwrite(true).create(&path).unwrap();
    documents.copy(0..counts.documents as u32, file).unwrap();
}

/// A file of one batch.
fn arrow(columns: Vec<(&str, ArrayRef)>) -> Vec<u8> {
    let columns = columns.into_iter().map(|(name, array)| (name, array, true));
    let batch = RecordBatch::try_from_iter_with_nullable(columns).unwrap();
    let mut writer = FileWriter::try_new(Vec::new(), &batch.schema()).unwrap();
    writer.write(&batch).unwrap();
    writer.into_inner().unwrap()
}

fn batches(scratch: &Scratch, name: &str) -> Vec<RecordBatch> {
    let file = File::open(scratch.path(name)).unwrap();
    if name.ends_with("parquet") {
        let reader = ParquetRecordBatchReaderBuilder::try_new(file).unwrap().build().unwrap();
        return reader.map(Result::unwrap).collect();
    }
    FileReader::try_new(file, None).unwrap().map(Result::unwrap).collect()
}

#[test]
fn json_that_is_nested_deeply_is_text_within_the_deepest_list() {
    const MOST: usize = 32;
    let scratch = Scratch::new();
    for (open, close) in [("[", "]"), ("{\"k\":", "}")] {
        let nested = |depth: usize| format!("{}1{}", open.repeat(depth), close.repeat(depth));
        for depth in [1, MOST - 1, MOST, MOST + 1, 127, 128, 129, 1000, 100_000] {
            let value = nested(depth);
            scratch.write("in.jsonl", format!("{{\"text\":\"x\",\"id\":\"i\",\"a\":{value}}}\n"));
            for ending in ENDINGS {
                let output = format!("out.{ending}");
                copy_all(&scratch, &["in.jsonl"], &output);
                if ending == "jsonl" {
                    let copied = std::fs::read_to_string(scratch.path(&output)).unwrap();
                    assert!(copied.contains(&value), "{depth} {open}");
                    continue;
                }
                assert_eq!(scratch.read_file(&output).texts(), ["x"], "{depth} {open}");
                if ending == "csv" {
                    assert!(read_back(&scratch, &output).1 == [["x", "i", &value].map(Value::from)]);
                    continue;
                }
                let mut array = Arc::clone(batches(&scratch, &output)[0].column(2));
                let mut levels = 0;
                while array.data_type().is_nested() {
                    levels += 1;
                    array = match array.data_type() {
                        DataType::List(_) => Arc::clone(array.as_list::<i32>().values()),
                        _ => Arc::clone(array.as_struct().column(0)),
                    };
                }
                assert_eq!(levels, depth.min(MOST), "{ending} {open}");
                let expected = if depth > MOST { json!(nested(depth - MOST)) } else { json!(1) };
                assert!(cell(&array, 0) == expected, "{ending} {depth} {open}");
            }
        }
    }
}

#[test]
fn json_that_no_type_takes_stays_as_it_is_written() {
    let scratch = Scratch::new();
    let deep = format!("{}7{}", "[".repeat(40), "]".repeat(40));
    let values =
        [deep.as_str(), "[1e999,12345678901234567890123456789012345678901234567890]", "{\"k\":[\"x\"]}"];
    let lines = values.map(|value| format!("{{\"text\":\"x\",\"id\":\"i\",\"a\":[{value}]}}\n"));
    scratch.write("in.jsonl", lines.concat());
    for ending in ["parquet", "arrow"] {
        let output = format!("out.{ending}");
        copy_all(&scratch, &["in.jsonl"], &output);
        let found: Vec<Value> =
            read_back(&scratch, &output).1.into_iter().map(|row| row[2].clone()).collect();
        assert_eq!(found, values.map(|value| json!([value])), "{ending}");
    }
}

#[test]
fn dictionaries_that_differ_from_input_to_input_are_texts_in_arrow() {
    let scratch = Scratch::new();
    for (name, words) in [("1.arrow", ["a", "b"]), ("2.arrow", ["c", "d"])] {
        let texts: ArrayRef = Arc::new(StringArray::from(words.to_vec()));
        let dictionary: ArrayRef = Arc::new(words.into_iter().collect::<DictionaryArray<Int32Type>>());
        let mut map =
            MapBuilder::new(None, StringBuilder::new(), StringDictionaryBuilder::<Int32Type>::new());
        for word in words {
            map.keys().append_value("k");
            map.values().append_value(word);
            map.append(true).unwrap();
        }
        // Both fields have one name.
        let kinds = [dictionary.data_type(), texts.data_type()];
        let fields: Vec<Field> = kinds.iter().map(|&kind| Field::new("k", kind.clone(), true)).collect();
        let numbered: ArrayRef =
            Arc::new(StringArray::from(words.map(|word| format!("{word}{word}")).to_vec()));
        let structure = StructArray::new(fields.into(), vec![Arc::clone(&dictionary), numbered], None);
        let columns: Vec<(&str, ArrayRef)> =
            vec![("text", texts), ("map", Arc::new(map.finish())), ("structure", Arc::new(structure))];
        scratch.write(name, arrow(columns));
    }
    copy_all(&scratch, &["1.arrow", "2.arrow"], "out.arrow");
    let mut found = Vec::new();
    for batch in batches(&scratch, "out.arrow") {
        let map = batch.column(1).as_map();
        let structure = batch.column(2).as_struct();
        for row in 0..batch.num_rows() {
            assert_eq!((map.value_length(row), map.keys().as_string::<i32>().value(row)), (1, "k"));
            let words = [map.values(), structure.column(0), structure.column(1)];
            found.push(words.map(|array| array.as_string::<i32>().value(row).to_owned()).join(" "));
        }
    }
    assert_eq!(found, ["a a aa", "b b bb", "c c cc", "d d dd"]);
}

#[test]
fn each_row_of_a_dictionary_is_read_by_its_own_key() {
    const ROWS: usize = 100_000;
    let scratch = Scratch::new();
    let words = ["one", "two", "three"];
    let dictionary: DictionaryArray<Int32Type> = (0..ROWS).map(|row| words[row % words.len()]).collect();
    let texts: ArrayRef = Arc::new(StringArray::from_iter_values((0..ROWS).map(|row| row.to_string())));
    scratch.write("in.arrow", arrow(vec![("text", texts), ("word", Arc::new(dictionary))]));
    let start = Instant::now();
    copy_all(&scratch, &["in.arrow"], "out.csv");
    // With the keys of all rows at each row, it takes hours.
    assert!(start.elapsed() < Duration::from_secs(60), "{:?}", start.elapsed());
    let (_, rows) = read_back(&scratch, "out.csv");
    assert!(rows.iter().enumerate().all(|(at, row)| row[1] == words[at % words.len()]));
    assert_eq!(rows.len(), ROWS);
}

#[test]
fn a_long_row_makes_no_small_batches_of_others() {
    let scratch = Scratch::new();
    let input = scratch.path("in.parquet");
    let texts = |range: std::ops::Range<i32>| -> ArrayRef {
        Arc::new(StringArray::from_iter_values(
            range.map(|number| format!("the text with the number {number}")),
        ))
    };
    let long: ArrayRef = Arc::new(StringArray::from(vec!["a long text ".repeat(100_000)]));
    let groups = [texts(0..5000), long, texts(5000..10_000), texts(10_000..12_000)];
    let groups = groups.map(|texts| RecordBatch::try_from_iter([("text", texts)]).unwrap());
    let mut writer = ArrowWriter::try_new(File::create(&input).unwrap(), groups[0].schema(), None).unwrap();
    for batch in &groups {
        writer.write(batch).unwrap();
        writer.flush().unwrap();
    }
    writer.close().unwrap();
    copy_all(&scratch, &["in.parquet"], "out.arrow");
    let copied = batches(&scratch, "out.arrow");
    let column = |batches: &[RecordBatch]| -> Vec<String> {
        let texts = batches.iter().map(|batch| batch.column(0).as_string::<i32>());
        texts.flat_map(|texts| texts.iter().map(|text| text.unwrap().to_owned())).collect()
    };
    assert_eq!(column(&copied), column(&groups));
    assert!(copied.len() < 40, "{} batches", copied.len());
}
