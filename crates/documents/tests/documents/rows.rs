//! Rows of Parquet and Arrow files, by [`Input::for_each_row`].

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::types::{Int8Type, Int32Type};
use arrow_array::{
    ArrayRef, BooleanArray, DictionaryArray, Int32Array, Int64Array, LargeStringArray, RecordBatch,
    StringArray, StringViewArray, UInt16Array, UInt64Array,
};
use arrow_ipc::CompressionType;
use arrow_ipc::writer::{FileWriter, IpcWriteOptions, StreamWriter};
use hamdex_documents::tables::Value;
use hamdex_documents::{Documents, Error, Format, Input};
use parquet::arrow::ArrowWriter;
use parquet::basic::{BrotliLevel, Compression, ZstdLevel};
use parquet::file::properties::WriterProperties;

/// A cell that outlives its row.
#[derive(Debug, PartialEq)]
enum Owned {
    Null,
    Text(String),
    Unsigned(u64),
    Signed(i64),
}

impl From<&Value<'_>> for Owned {
    fn from(value: &Value<'_>) -> Self {
        match *value {
            Value::Text(text) => Self::Text(text.to_owned()),
            Value::Unsigned(number) => Self::Unsigned(number),
            Value::Signed(number) => Self::Signed(number),
            _ => Self::Null,
        }
    }
}

fn rows(path: &Path, format: Format, columns: &[&str]) -> Result<Vec<Vec<Owned>>, Error> {
    let mut rows = Vec::new();
    Input::open(path)?.for_each_row(format, columns, |place, cells| {
        assert_eq!(place.to_string(), format!("{} (row {})", path.display(), rows.len()));
        rows.push(cells.iter().map(Owned::from).collect());
        Ok::<(), Error>(())
    })?;
    Ok(rows)
}

fn parquet(path: &Path, batch: &RecordBatch, compression: Compression) {
    let properties = WriterProperties::builder().set_compression(compression).build();
    let file = File::create(path).unwrap();
    let mut writer = ArrowWriter::try_new(file, batch.schema(), Some(properties)).unwrap();
    writer.write(batch).unwrap();
    writer.close().unwrap();
}

fn arrow_file(path: &Path, batch: &RecordBatch, compression: Option<CompressionType>) {
    let options = IpcWriteOptions::default().try_with_compression(compression).unwrap();
    let file = File::create(path).unwrap();
    let mut writer = FileWriter::try_new_with_options(file, &batch.schema(), options).unwrap();
    writer.write(batch).unwrap();
    writer.finish().unwrap();
}

fn arrow_stream(path: &Path, batch: &RecordBatch) {
    let mut writer = StreamWriter::try_new(File::create(path).unwrap(), &batch.schema()).unwrap();
    writer.write(batch).unwrap();
    writer.finish().unwrap();
}

/// The batch in every way in which it can be written, compressed or not.
fn written(directory: &Path, batch: &RecordBatch) -> Vec<(PathBuf, Format)> {
    let mut files = Vec::new();
    let mut add = |name: &str, format, write: &dyn Fn(&Path)| {
        let path = directory.join(name);
        write(&path);
        files.push((path, format));
    };
    let zstd = Compression::ZSTD(ZstdLevel::default());
    for (name, compression) in [
        ("plain.parquet", Compression::UNCOMPRESSED),
        ("snappy.parquet", Compression::SNAPPY),
        ("zstd.parquet", zstd),
        ("lz4.parquet", Compression::LZ4_RAW),
        ("hadoop.parquet", Compression::LZ4),
        ("brotli.parquet", Compression::BROTLI(BrotliLevel::default())),
    ] {
        add(name, Format::Parquet, &|path| parquet(path, batch, compression));
    }
    for (name, compression) in [
        ("plain.arrow", None),
        ("lz4.arrow", Some(CompressionType::LZ4_FRAME)),
        ("zstd.arrow", Some(CompressionType::ZSTD)),
    ] {
        add(name, Format::Arrow, &|path| arrow_file(path, batch, compression));
    }
    add("stream.arrow", Format::Arrow, &|path| arrow_stream(path, batch));
    for name in ["plain.parquet", "plain.arrow", "stream.arrow"] {
        let packed = zstd::encode_all(File::open(directory.join(name)).unwrap(), 1).unwrap();
        let format = if name.ends_with("parquet") { Format::Parquet } else { Format::Arrow };
        add(&format!("{name}.zst"), format, &|path| std::fs::write(path, &packed).unwrap());
    }
    files
}

#[test]
fn texts_numbers_dictionaries_and_nulls_come_as_they_are() {
    let columns: [(&str, ArrayRef); 9] = [
        ("text", Arc::new(StringArray::from(vec![Some("a"), None, Some("")]))),
        ("large", Arc::new(LargeStringArray::from(vec![None, Some("b"), Some("ü")]))),
        ("view", Arc::new(StringViewArray::from(vec![Some("longer than twelve bytes"), None, Some("v")]))),
        ("signed", Arc::new(Int64Array::from(vec![Some(-1), Some(i64::MIN), None]))),
        ("small", Arc::new(Int32Array::from(vec![Some(-7), None, Some(7)]))),
        ("unsigned", Arc::new(UInt64Array::from(vec![Some(u64::MAX), None, Some(0)]))),
        ("short", Arc::new(UInt16Array::from(vec![None, Some(65_535), Some(1)]))),
        ("words", Arc::new(DictionaryArray::<Int32Type>::from_iter([Some("x"), None, Some("x")]))),
        ("meta.dotted", Arc::new(Int64Array::from(vec![Some(1), Some(-2), None]))),
    ];
    let batch =
        RecordBatch::try_from_iter_with_nullable(columns.map(|(name, array)| (name, array, true))).unwrap();
    let text = |text: &str| Owned::Text(text.to_owned());
    use Owned::{Null, Signed, Unsigned};
    // The order is that of the columns wanted, not that of the file.
    let names =
        ["meta.dotted", "signed", "text", "large", "view", "small", "unsigned", "short", "words", "signed"];
    let directory = tempfile::tempdir().unwrap();
    for (path, format) in written(directory.path(), &batch) {
        let found = rows(&path, format, &names).unwrap();
        let expected = [
            vec![
                Signed(1),
                Signed(-1),
                text("a"),
                Null,
                text("longer than twelve bytes"),
                Signed(-7),
                Unsigned(u64::MAX),
                Null,
                text("x"),
                Signed(-1),
            ],
            vec![
                Signed(-2),
                Signed(i64::MIN),
                Null,
                text("b"),
                Null,
                Null,
                Null,
                Unsigned(65_535),
                Null,
                Signed(i64::MIN),
            ],
            vec![
                Null,
                Null,
                text(""),
                text("ü"),
                text("v"),
                Signed(7),
                Unsigned(0),
                Unsigned(1),
                text("x"),
                Null,
            ],
        ];
        assert_eq!(found, expected, "{}", path.display());
    }
}

#[test]
fn a_dictionary_without_values_is_a_column_of_nulls() {
    let nulls = DictionaryArray::<Int8Type>::from_iter([None::<&str>, None]);
    let ids = StringArray::from(vec!["a", "b"]);
    let batch = RecordBatch::try_from_iter_with_nullable([
        ("nulls", Arc::new(nulls) as ArrayRef, true),
        ("id", Arc::new(ids) as ArrayRef, true),
    ])
    .unwrap();
    let directory = tempfile::tempdir().unwrap();
    for (path, format) in written(directory.path(), &batch) {
        let found = rows(&path, format, &["nulls", "id"]).unwrap();
        let id = |id: &str| vec![Owned::Null, Owned::Text(id.to_owned())];
        assert_eq!(found, [id("a"), id("b")], "{}", path.display());
    }
}

#[test]
fn no_row_is_lost_between_batches() {
    let numbers: ArrayRef = Arc::new(Int64Array::from_iter_values(-5_000..5_000));
    let batch = RecordBatch::try_from_iter([("n", numbers)]).unwrap();
    let directory = tempfile::tempdir().unwrap();
    for (path, format) in written(directory.path(), &batch) {
        let found = rows(&path, format, &["n"]).unwrap();
        let expected = (-5_000..5_000).map(|number| vec![Owned::Signed(number)]);
        assert!(found.into_iter().eq(expected), "{}", path.display());
    }
}

#[test]
fn columns_that_are_missing_or_of_other_types_are_named() {
    let flags: ArrayRef = Arc::new(BooleanArray::from(vec![true]));
    let batch = RecordBatch::try_from_iter([("flags", flags)]).unwrap();
    let directory = tempfile::tempdir().unwrap();
    for (path, format) in written(directory.path(), &batch) {
        let name = path.display().to_string();
        let error = rows(&path, format, &["flags"]).unwrap_err();
        assert!(matches!(error, Error::ColumnType { .. }), "{error:?}");
        assert!(error.to_string().starts_with(&name) && error.to_string().contains("\"flags\""), "{error}");
        let error = rows(&path, format, &["other"]).unwrap_err();
        assert!(matches!(error, Error::MissingColumn { .. }), "{error:?}");
        assert!(error.to_string().ends_with("there are: flags"), "{error}");
    }
}

#[test]
fn damage_is_an_error_wherever_it_is() {
    let texts: ArrayRef = Arc::new(StringArray::from_iter_values((0..200).map(|i| format!("text {i}"))));
    let batch = RecordBatch::try_from_iter([("text", texts)]).unwrap();
    let directory = tempfile::tempdir().unwrap();
    for (path, format) in written(directory.path(), &batch) {
        let whole = std::fs::read(&path).unwrap();
        for length in (0..whole.len()).step_by(97) {
            std::fs::write(&path, &whole[..length]).unwrap();
            let outcome = rows(&path, format, &["text"]);
            // A stream may be cut between its messages, and then has fewer rows.
            let is_whole = outcome.as_ref().is_ok_and(|rows| rows.len() == 200);
            assert!(
                outcome.is_err() || is_whole || path.to_string_lossy().contains("stream"),
                "{} cut to {length} bytes: {outcome:?}",
                path.display()
            );
        }
    }
}

#[test]
fn temporary_files_are_in_the_given_directory() {
    let texts: ArrayRef = Arc::new(StringArray::from(vec!["a text"]));
    let ids: ArrayRef = Arc::new(Int64Array::from(vec![-3]));
    let batch = RecordBatch::try_from_iter([("id", ids), ("text", texts)]).unwrap();
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("in.parquet.zst");
    let plain = directory.path().join("in.parquet");
    parquet(&plain, &batch, Compression::SNAPPY);
    let mut encoder = zstd::Encoder::new(File::create(&path).unwrap(), 1).unwrap();
    encoder.write_all(&std::fs::read(&plain).unwrap()).unwrap();
    encoder.finish().unwrap();

    let missing = directory.path().join("missing");
    let read = |path: &Path, temp_dir: &Path| {
        let mut ids = Vec::new();
        Documents::from_paths([path])
            .temp_dir(temp_dir)
            .read(|document| {
                ids.push(document.id);
                Ok::<(), Error>(())
            })
            .map(|_| ids)
    };
    assert_eq!(read(&path, directory.path()).unwrap(), ["-3"]);
    assert_eq!(read(&plain, &missing).unwrap(), ["-3"], "a plain file needs no temporary one");
    let error = read(&path, &missing).unwrap_err();
    assert!(matches!(&error, Error::Temporary { directory, .. } if *directory == missing), "{error:?}");
    let ignore = |_, _: &[Value<'_>]| Ok::<(), Error>(());
    let error = Input::open(&path).unwrap().temp_dir(&missing).for_each_row(Format::Parquet, &["id"], ignore);
    assert!(matches!(error, Err(Error::Temporary { .. })), "{error:?}");
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 2, "nothing temporary is left");
}
