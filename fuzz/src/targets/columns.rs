//! Columns of Parquet, Arrow, CSV and TSV files of any bytes: the order in which they are asked for does not matter.

use std::sync::Arc;

use arrow_array::types::Int8Type;
use arrow_array::{
    ArrayRef, DictionaryArray, FixedSizeBinaryArray, Int8Array, LargeStringArray, RecordBatch, StringArray,
    StringViewArray, UInt64Array,
};
use arrow_ipc::writer::{FileWriter, StreamWriter};
use hamdex_atomic_file::AtomicFile;
use hamdex_documents::tables::{Cell, Kind, Rows, TableFormat, Value};
use hamdex_documents::{Documents, Error, Format, Input};

const NAMES: [(&str, Format); 4] = [
    ("a.parquet", Format::Parquet),
    ("a.arrow", Format::Arrow),
    ("a.csv", Format::Csv),
    ("a.tsv", Format::Tsv),
];

/// The first byte chooses the format; the others are the file.
pub fn run(input: &[u8]) {
    let Some((&choice, contents)) = input.split_first() else { return };
    let (name, format) = NAMES[usize::from(choice) % NAMES.len()];
    let directory = super::directory();
    let path = directory.path().join(name);
    std::fs::write(&path, contents).expect("a temporary directory");
    let rows = |columns: [&str; 2]| {
        let mut rows: Vec<[Option<String>; 2]> = Vec::new();
        let outcome = Input::open(&path).and_then(|input| {
            input.for_each_row(format, &columns, |_, cells| {
                let cell = |cell: &Value<'_>| match cell {
                    Value::Bytes(bytes) => Some(format!("{bytes:?}")),
                    other => other.to_text().map(|text| text.into_owned()),
                };
                rows.push([cell(&cells[0]), cell(&cells[1])]);
                Ok::<(), Error>(())
            })
        });
        (rows, outcome.is_ok())
    };
    let (forwards, is_read) = rows(["id", "text"]);
    let (mut backwards, is_read_again) = rows(["text", "id"]);
    backwards.iter_mut().for_each(|row| row.swap(0, 1));
    assert_eq!(is_read, is_read_again);
    if is_read {
        assert_eq!(forwards, backwards);
    }
    let _ = Documents::from_paths([&path]).read(|_| Ok::<(), Error>(()));
}

/// A table in each format.
#[must_use]
pub fn seeds() -> Vec<Vec<u8>> {
    let directory = super::directory();
    let path = directory.path().join("table");
    let mut seeds = Vec::new();
    for (choice, format) in [(0, TableFormat::Parquet), (2, TableFormat::Csv), (3, TableFormat::Tsv)] {
        let file = AtomicFile::options().overwrite(true).create(&path).expect("a temporary directory");
        let columns = [("id", Kind::Number), ("text", Kind::Text), ("real", Kind::Real)];
        let mut rows = Rows::new(file, format, &columns).expect("a temporary directory");
        for number in 0..40 {
            let text = format!("text {number}, \"quoted\"\n");
            let cells = [Cell::Number(number), Cell::Text(&text), Cell::Real(0.5)];
            rows.push(&cells).expect("a temporary directory");
        }
        rows.finish().expect("a temporary directory");
        seeds.push([&[choice][..], &std::fs::read(&path).expect("it was written")].concat());
    }
    for batch in arrow_batches() {
        let schema = batch.schema();
        let mut stream = StreamWriter::try_new(Vec::new(), &schema).expect("memory");
        stream.write(&batch).expect("memory");
        seeds.push([&[1][..], &stream.into_inner().expect("memory")].concat());
        let mut file = FileWriter::try_new(Vec::new(), &schema).expect("memory");
        file.write(&batch).expect("memory");
        seeds.push([&[1][..], &file.into_inner().expect("memory")].concat());
    }
    seeds
}

/// Batches of columns of the kinds that are read, with nulls.
fn arrow_batches() -> Vec<RecordBatch> {
    let texts = [Some("one"), None, Some(""), Some("a text of more than twelve bytes")];
    let ids: [ArrayRef; 4] = [
        Arc::new(UInt64Array::from(vec![Some(1), Some(u64::MAX), None, Some(3)])),
        Arc::new(Int8Array::from(vec![-1, 0, 1, 2])),
        Arc::new(FixedSizeBinaryArray::try_from_iter([[7u8; 8]; 4].iter()).expect("of equal lengths")),
        Arc::new(DictionaryArray::<Int8Type>::from_iter(texts)),
    ];
    let columns: [ArrayRef; 4] = [
        Arc::new(StringArray::from_iter(texts)),
        Arc::new(LargeStringArray::from_iter(texts)),
        Arc::new(StringViewArray::from_iter(texts)),
        Arc::new(StringArray::from_iter(texts)),
    ];
    let batch = |(id, text): (ArrayRef, ArrayRef)| {
        RecordBatch::try_from_iter_with_nullable([("id", id, true), ("text", text, true)]).expect("as long")
    };
    ids.into_iter().zip(columns).map(batch).collect()
}
