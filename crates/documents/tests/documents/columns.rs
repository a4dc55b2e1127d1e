//! Documents from columns of Parquet and Arrow files: nested ones, several, of wrong types, and damaged files.

use std::sync::Arc;

use arrow_array::builder::{ListBuilder, StringBuilder};
use arrow_array::{
    ArrayRef, BinaryArray, BinaryViewArray, BooleanArray, Date32Array, Decimal128Array, DurationSecondArray,
    FixedSizeBinaryArray, Float64Array, Int64Array, LargeStringArray, NullArray, RecordBatch, StringArray,
    StructArray, Time64MicrosecondArray, TimestampMillisecondArray,
};
use arrow_ipc::writer::{FileWriter, StreamWriter};
use arrow_schema::{DataType, Field, Schema};
use hamdex_documents::Error;
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_writer::ArrowWriterOptions;

use crate::common::Scratch;

/// Three rows: a title, a text in a column `body`, which is null in the second, and no id but a key.
fn batch() -> RecordBatch {
    let inner: ArrayRef = Arc::new(StringArray::from(vec![Some("one"), Some("hidden"), Some("three")]));
    let field = Arc::new(Field::new("text", DataType::Utf8, true));
    let body = StructArray::new(vec![field].into(), vec![inner], Some(vec![true, false, true].into()));
    let columns: [(&str, ArrayRef); 4] = [
        ("title", Arc::new(StringArray::from(vec![Some("T"), Some("U"), None]))),
        ("body", Arc::new(body)),
        ("key", Arc::new(Int64Array::from(vec![Some(7), Some(-8), None]))),
        ("score", Arc::new(Float64Array::from(vec![0.5; 3]))),
    ];
    RecordBatch::try_from_iter_with_nullable(columns.map(|(name, array)| (name, array, true))).unwrap()
}

/// The batch in each format: as a name and its bytes.
fn files() -> [(&'static str, Vec<u8>); 3] {
    let batch = batch();
    let mut parquet = ArrowWriter::try_new(Vec::new(), batch.schema(), None).unwrap();
    parquet.write(&batch).unwrap();
    let mut file = FileWriter::try_new(Vec::new(), &batch.schema()).unwrap();
    file.write(&batch).unwrap();
    let mut stream = StreamWriter::try_new(Vec::new(), &batch.schema()).unwrap();
    stream.write(&batch).unwrap();
    [
        ("a.parquet", parquet.into_inner().unwrap()),
        ("a.feather", file.into_inner().unwrap()),
        ("a.arrows", stream.into_inner().unwrap()),
    ]
}

#[test]
fn texts_lie_in_columns_within_columns_and_in_several() {
    let scratch = Scratch::new();
    for (name, bytes) in files() {
        scratch.write(name, bytes);
        let read = scratch.read(scratch.documents(&[name]).text_field("body.text"));
        assert_eq!((read.ids(), read.texts()), (vec!["0", "2"], vec!["one", "three"]), "{name}");
        assert_eq!(read.counts.missing_field, 1, "a null struct makes its fields null");
        let both = scratch.read(scratch.documents(&[name]).text_fields(["title", "body.text"]));
        assert_eq!(both.texts(), ["T\none", "U", "three"], "{name}");
        let keyed = scratch.read(scratch.documents(&[name]).text_field("title").id_field("key"));
        assert_eq!((keyed.ids(), keyed.counts.missing_field), (vec!["7", "-8"], 1), "{name}");
    }
}

#[test]
fn columns_of_other_types_are_named_with_their_types() {
    let scratch = Scratch::new();
    for (name, bytes) in files() {
        scratch.write(name, bytes);
        let refusal = |text: &str, id: Option<&str>| {
            let mut documents = scratch.documents(&[name]).text_field(text);
            if let Some(id) = id {
                documents = documents.id_field(id);
            }
            scratch.try_read(documents).unwrap_err()
        };
        let wrong = |column: &str, kind: &str, expected: &str| {
            format!("{name}: the column {column:?} has the type {kind}; expected {expected}")
        };
        assert_eq!(refusal("key", None), wrong("key", "Int64", "text, bytes or lists of texts"));
        assert!(
            refusal("body", None).starts_with(&format!("{name}: the column \"body\" has the type Struct"))
        );
        let inner = refusal("title", Some("body"));
        assert!(inner.ends_with("expected text, bytes, numbers or truth values"), "{inner}");
        assert!(refusal("body.other", None).contains("no column is named \"body.other\""));
    }
}

#[test]
fn texts_are_bytes_and_lists() {
    let scratch = Scratch::new();
    let mut lists = ListBuilder::new(StringBuilder::new());
    lists.append_value([Some("one"), None, Some("two")]);
    lists.append_null();
    lists.append_value::<_, &str>([]);
    let columns: [(&str, ArrayRef); 3] = [
        ("bytes", Arc::new(BinaryArray::from_opt_vec(vec![Some(b"gr\xc3\xbcn"), Some(b"gr\xfcn"), None]))),
        ("lists", Arc::new(lists.finish())),
        ("view", Arc::new(BinaryViewArray::from_iter([Some("a"), Some("b"), Some("c")]))),
    ];
    let batch =
        RecordBatch::try_from_iter_with_nullable(columns.map(|(name, array)| (name, array, true))).unwrap();
    let mut parquet = ArrowWriter::try_new(Vec::new(), batch.schema(), None).unwrap();
    parquet.write(&batch).unwrap();
    scratch.write("a.parquet", parquet.into_inner().unwrap());
    let mut file = FileWriter::try_new(Vec::new(), &batch.schema()).unwrap();
    file.write(&batch).unwrap();
    scratch.write("a.arrow", file.into_inner().unwrap());
    for name in ["a.parquet", "a.arrow"] {
        let bytes = scratch.read(scratch.documents(&[name]).text_field("bytes").id_field("view"));
        assert_eq!((bytes.ids(), bytes.texts()), (vec!["a", "b"], vec!["grün", "gr\u{fffd}n"]), "{name}");
        assert_eq!((bytes.counts.replaced, bytes.counts.missing_field), (1, 1), "{name}");
        let lists = scratch.read(scratch.documents(&[name]).text_field("lists"));
        assert_eq!((lists.texts(), lists.counts.missing_field), (vec!["one\ntwo", ""], 1), "{name}");
    }
}

#[test]
fn ids_of_all_types_are_texts_or_their_absence_is_said() {
    let scratch = Scratch::new();
    let text: ArrayRef = Arc::new(StringArray::from(vec!["a", "b"]));
    let uuid = [&[0x11; 16][..], b"0123456789abcdef"];
    let ids: [(ArrayRef, [&str; 2]); 6] = [
        (Arc::new(Float64Array::from(vec![300.0, 0.25])), ["300", "0.25"]),
        (Arc::new(BooleanArray::from(vec![true, false])), ["true", "false"]),
        (
            Arc::new(FixedSizeBinaryArray::try_from_iter(uuid.iter()).unwrap()),
            ["11111111-1111-1111-1111-111111111111", "30313233-3435-3637-3839-616263646566"],
        ),
        (Arc::new(BinaryArray::from_vec(vec![b"key", b"\xff\xfe"])), ["key", "fffe"]),
        (Arc::new(NullArray::new(2)), ["0", "1"]),
        (Arc::new(TimestampMillisecondArray::from(vec![5, 6])), ["0", "1"]),
    ];
    for (id, expected) in ids {
        let kind = id.data_type().clone();
        let batch =
            RecordBatch::try_from_iter_with_nullable([("id", id, true), ("text", Arc::clone(&text), true)])
                .unwrap();
        let mut file = FileWriter::try_new(Vec::new(), &batch.schema()).unwrap();
        file.write(&batch).unwrap();
        scratch.write("a.arrow", file.into_inner().unwrap());
        let read = scratch.read_file("a.arrow");
        let is_said = read.notices.iter().any(|text| text.contains("which is no id"));
        assert_eq!(
            (read.ids(), is_said),
            (expected.to_vec(), matches!(kind, DataType::Timestamp(..))),
            "{kind}"
        );
    }
    // A column whose rows are all null has no texts, and no values to prefer.
    let nulls: ArrayRef = Arc::new(NullArray::new(2));
    let batch =
        RecordBatch::try_from_iter_with_nullable([("text", text, true), ("date", nulls, true)]).unwrap();
    let mut file = FileWriter::try_new(Vec::new(), &batch.schema()).unwrap();
    file.write(&batch).unwrap();
    scratch.write("a.arrow", file.into_inner().unwrap());
    assert_eq!(scratch.read(scratch.documents(&["a.arrow"]).extra_field("date")).counts.documents, 2);
    assert_eq!(scratch.read(scratch.documents(&["a.arrow"]).text_field("date")).counts.missing_field, 2);
}

#[test]
fn damaged_files_are_errors_and_never_panics() {
    let scratch = Scratch::new();
    for (name, bytes) in files() {
        for at in (0..bytes.len()).step_by(5) {
            let mut damaged = bytes.clone();
            damaged[at] ^= 0x55;
            scratch.write(name, &damaged);
            // Most of these bytes have no checksum; what matters is that reading ends.
            let _ = scratch.try_read(scratch.documents(&[name]).text_field("title"));
        }
    }
}

#[test]
fn columns_that_are_nested_too_deeply_are_refused() {
    /// A file without rows, with so many structures within each other.
    fn nested(depth: usize) -> Vec<u8> {
        let mut kind = DataType::Utf8;
        for _ in 0..depth {
            kind = DataType::Struct(vec![Field::new("k", kind, true)].into());
        }
        let fields = vec![Field::new("text", DataType::Utf8, true), Field::new("a", kind, true)];
        let options = ArrowWriterOptions::new().with_skip_arrow_metadata(true);
        let writer = ArrowWriter::try_new_with_options(Vec::new(), Arc::new(Schema::new(fields)), options);
        writer.unwrap().into_inner().unwrap()
    }
    let scratch = Scratch::new();
    // The root and the innermost column are levels, too.
    for (depth, is_read) in [(100, true), (126, true), (127, false), (1000, false), (3000, false)] {
        let writing = std::thread::Builder::new().stack_size(1 << 28).spawn(move || nested(depth));
        scratch.write("a.parquet", writing.unwrap().join().unwrap());
        match scratch.try_read(scratch.documents(&["a.parquet"])) {
            Ok(read) => assert!(is_read && read.documents.is_empty(), "{depth}"),
            Err(error) => {
                assert_eq!((is_read, error.as_str()), (false, "a.parquet: not a Parquet file"), "{depth}");
            }
        }
    }
}

#[test]
fn a_further_column_has_numbers_dates_and_times_in_their_order() {
    let scratch = Scratch::new();
    let columns: [(&str, ArrayRef); 8] = [
        ("text", Arc::new(StringArray::from(vec!["a", "b", "c"]))),
        ("fraction", Arc::new(Float64Array::from(vec![Some(-2.5), Some(f64::INFINITY), None]))),
        ("flag", Arc::new(BooleanArray::from(vec![true, false, true]))),
        ("day", Arc::new(Date32Array::from(vec![Some(-1), Some(20_000), None]))),
        ("at", Arc::new(TimestampMillisecondArray::from(vec![Some(1), Some(-1), None]).with_timezone("UTC"))),
        ("time", Arc::new(Time64MicrosecondArray::from(vec![Some(5), Some(0), None]))),
        ("took", Arc::new(DurationSecondArray::from(vec![Some(5), Some(0), None]))),
        (
            "price",
            Arc::new(
                Decimal128Array::from(vec![Some(1050), Some(-7), None])
                    .with_precision_and_scale(9, 2)
                    .unwrap(),
            ),
        ),
    ];
    let batch =
        RecordBatch::try_from_iter_with_nullable(columns.map(|(name, array)| (name, array, true))).unwrap();
    let mut parquet = ArrowWriter::try_new(Vec::new(), batch.schema(), None).unwrap();
    parquet.write(&batch).unwrap();
    scratch.write("a.parquet", parquet.into_inner().unwrap());
    let expected = [
        ("fraction", ["-2.5e0", "1e999", ""]),
        ("flag", ["1", "0", "1"]),
        ("day", ["-86400000000000", "1728000000000000000", ""]),
        ("at", ["1000000", "-1000000", ""]),
        ("time", ["5000", "0", ""]),
        ("took", ["5000000000", "0", ""]),
        ("price", ["10.50", "-0.07", ""]),
    ];
    for (column, values) in expected {
        let mut found = Vec::new();
        let read = scratch.documents(&["a.parquet"]).extra_field(column).read(|document| {
            found.push(document.extra.unwrap_or_default());
            Ok::<(), Error>(())
        });
        read.unwrap();
        assert_eq!(found, values, "{column}");
    }
}

#[test]
fn rows_of_any_length_are_read_from_parquet_a_few_at_a_time() {
    let scratch = Scratch::new();
    // Equal texts are one in the file; a group of long ones decides for all.
    let texts: Vec<String> = (0..3000)
        .map(|row| match row {
            0..2000 => format!("a text of a few words, {}", row % 7),
            2000..2100 => format!("{row} {}", "long ".repeat(20_000)),
            _ => "the same ".repeat(10_000),
        })
        .collect();
    let bytes = |text: &String| text.as_bytes().to_vec();
    let columns: [(&str, ArrayRef); 3] = [
        ("small", Arc::new(StringArray::from_iter_values(&texts))),
        ("large", Arc::new(LargeStringArray::from_iter_values(&texts))),
        ("bytes", Arc::new(BinaryArray::from_iter_values(texts.iter().map(bytes)))),
    ];
    for (name, column) in columns {
        let batch = RecordBatch::try_from_iter([("text", column)]).unwrap();
        let mut parquet = ArrowWriter::try_new(Vec::new(), batch.schema(), None).unwrap();
        for (start, rows) in [(0, 2000), (2000, 100), (2100, 900)] {
            parquet.write(&batch.slice(start, rows)).unwrap();
            parquet.flush().unwrap();
        }
        let file = format!("{name}.parquet");
        scratch.write(&file, parquet.into_inner().unwrap());
        let read = scratch.read_file(&file);
        assert!(read.texts() == texts, "{name}");
        assert!(read.ids().iter().zip(0..).all(|(id, row)| *id == row.to_string()), "{name}");
    }
}
