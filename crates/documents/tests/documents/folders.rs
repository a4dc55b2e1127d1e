//! Copies in which each input has a file of its own: in its format, schema and compression, or byte for byte.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::{ArrayRef, Int32Array, Int64Array, LargeStringArray, NullArray, RecordBatch, StringArray};
use arrow_ipc::CompressionType;
use arrow_ipc::writer::{FileWriter, IpcWriteOptions, StreamWriter};
use arrow_schema::{Field, Schema, SchemaRef};
use hamdex_atomic_file::AtomicDirectory;
use hamdex_documents::{Copied, Documents, Error, Input};
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::properties::WriterProperties;

use crate::common::{Scratch, gzip, tar, xz, zip};

/// Reads documents and copies those whose texts are to be kept.
fn try_copy(documents: &Documents, to: &Path, is_kept: impl Fn(&str) -> bool) -> Result<Copied, Error> {
    let documents = documents.clone().copyable_as_files();
    let (mut number, mut wanted) = (0, Vec::new());
    documents.read(|document| {
        if is_kept(&document.text) {
            wanted.push(number);
        }
        number += 1;
        Ok::<(), Error>(())
    })?;
    documents.copy_files(wanted.into_iter(), AtomicDirectory::create(to)?)
}

/// All files below a directory.
fn files(root: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut open = vec![root.to_owned()];
    while let Some(directory) = open.pop() {
        for entry in directory.read_dir().unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                open.push(path);
            } else {
                found.insert(path.strip_prefix(root).unwrap().to_owned(), std::fs::read(path).unwrap());
            }
        }
    }
    found
}

fn compressed(text: &[u8]) -> Vec<(&'static str, Vec<u8>)> {
    let mut bzip2 = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::best());
    std::io::Write::write_all(&mut bzip2, text).unwrap();
    let mut lz4 = lz4_flex::frame::FrameEncoder::new(Vec::new());
    std::io::Write::write_all(&mut lz4, text).unwrap();
    vec![
        ("gz", gzip(text)),
        ("xz", xz(text)),
        ("zst", zstd::encode_all(text, 0).unwrap()),
        ("bz2", bzip2.finish().unwrap()),
        ("lz4", lz4.finish().unwrap()),
    ]
}

fn unpacked(path: &Path) -> String {
    let mut input = Input::open(path).unwrap();
    assert!(input.is_compressed(), "{}", path.display());
    let mut text = String::new();
    input.read_to_string(&mut text).unwrap();
    text
}

/// Two rows to keep and one to remove, in each text format, and the same without the one.
fn text_files() -> Vec<(&'static str, String, String)> {
    let pair = |name, text: &str| {
        let kept: String = text.split_inclusive('|').filter(|part| !part.contains("drop")).collect();
        (name, text.replace('|', ""), kept.replace('|', ""))
    };
    vec![
        pair(
            "a.jsonl",
            "{ \"text\" : \"one\", \"n\": 1e3 }\n|{\"text\": \"drop\"}\n|{\"m\": [1]}\n|{\"text\": \"two\", \"n\": \"x\"}\n",
        ),
        pair("deep/er/b.csv", "id;\"text\";n\n|1;\"one \"\"x\"\"\nor so\";007\n|2;drop;\n|3; two ;\"\"\n"),
        pair("deep/c.csv", "text,more\r\n|one,1\r\n|drop,2\r\n|\"a, two\",\r\n"),
        pair("d.tsv", "text\tmore\n|\"one\t1\n|drop\t2\n|two\"\t\n"),
        pair("marked.csv", "\u{feff}text,more\n|one,1\n|drop,2\n"),
        pair(
            "e.json",
            "[\n{\"text\": \"one\",\n \"n\": 1.50}|,\n{\"text\": \"drop\"}|,\n{\"text\": \"two\"}|\n]\n",
        ),
        pair("f.json", "{\"text\": \"one\"}\n|{\"text\": \"drop\"}\n|{\n \"text\": \"two\"\n}\n"),
    ]
}

#[test]
fn text_files_keep_their_bytes_but_for_the_rows_that_go() {
    let scratch = Scratch::new();
    for (name, text, _) in text_files() {
        scratch.write(&format!("in/{name}"), text);
    }
    let jsonl = text_files().remove(0);
    for (ending, bytes) in compressed(jsonl.1.as_bytes()) {
        scratch.write(&format!("in/packed/a.jsonl.{ending}"), bytes);
    }
    let utf16 = |text: &str| -> Vec<u8> { text.encode_utf16().flat_map(u16::to_le_bytes).collect() };
    scratch.write("in/wide.csv", utf16("\u{feff}text,n\nöne,1\ndrop,2\n"));
    scratch.write("in/empty.csv", "");
    scratch.write("in/header.csv", "text,n\n");
    let documents = scratch.documents(&["in"]);
    // Nothing goes: every byte stays, of compressed files, too.
    let copied = try_copy(&documents, &scratch.path("all"), |_| true).unwrap();
    assert_eq!(files(&scratch.path("all")), files(&scratch.path("in")));
    assert_eq!((copied.files, copied.duplicate_files, copied.passed_over, copied.left_out), (15, 0, 0, 0));
    // One row goes.
    let copied = try_copy(&documents, &scratch.path("some"), |text| !text.contains("drop")).unwrap();
    for (name, _, expected) in text_files() {
        assert_eq!(std::fs::read_to_string(scratch.path("some").join(name)).unwrap(), expected, "{name}");
    }
    for (ending, _) in compressed(b"") {
        assert_eq!(unpacked(&scratch.path(&format!("some/packed/a.jsonl.{ending}"))), jsonl.2, "{ending}");
    }
    assert_eq!(std::fs::read(scratch.path("some/wide.csv")).unwrap(), utf16("\u{feff}text,n\nöne,1\n"));
    assert_eq!((copied.files, copied.unread), (15, 6));
    // All rows go: headers stay, and empty files that are read again.
    let copied = try_copy(&documents, &scratch.path("none"), |_| false).unwrap();
    let read = |name: &str| std::fs::read_to_string(scratch.path("none").join(name)).unwrap();
    assert_eq!(read("deep/er/b.csv"), "id;\"text\";n\n");
    assert_eq!(read("marked.csv"), "\u{feff}text,more\n");
    assert_eq!(
        (read("e.json"), read("f.json"), read("a.jsonl")),
        ("[]\n".to_owned(), String::new(), "{\"m\": [1]}\n".to_owned())
    );
    for (ending, _) in compressed(b"") {
        assert_eq!(unpacked(&scratch.path(&format!("none/packed/a.jsonl.{ending}"))), "{\"m\": [1]}\n");
    }
    assert_eq!((copied.files, copied.rows), (15, 6));
    // The rows that are left have no text field, so they are not read as documents.
    let left = scratch.read(scratch.documents(&["none"]).skip_unreadable(true));
    assert_eq!((left.counts.documents, left.counts.unreadable), (0, 6));
}

/// A batch with a further column of this name and array, and texts.
fn batch(extra: &str, array: ArrayRef, text: ArrayRef) -> RecordBatch {
    let batch =
        RecordBatch::try_from_iter_with_nullable([(extra, array, true), ("text", text, true)]).unwrap();
    let metadata = std::collections::HashMap::from([("key".to_owned(), "value".to_owned())]);
    let schema = Schema::new_with_metadata(batch.schema().fields().clone(), metadata);
    let schema: SchemaRef = Arc::new(schema);
    RecordBatch::try_new(schema, batch.columns().to_vec()).unwrap()
}

fn parquet(batch: &RecordBatch, compression: Compression) -> Vec<u8> {
    let properties = WriterProperties::builder().set_compression(compression).build();
    let mut writer = ArrowWriter::try_new(Vec::new(), batch.schema(), Some(properties)).unwrap();
    writer.write(batch).unwrap();
    writer.into_inner().unwrap()
}

fn read_parquet(path: &Path) -> (SchemaRef, Vec<RecordBatch>, Option<Compression>) {
    let builder = ParquetRecordBatchReaderBuilder::try_new(std::fs::File::open(path).unwrap()).unwrap();
    let schema = Arc::clone(builder.schema());
    let compression = builder.metadata().row_groups().first().map(|group| group.column(0).compression());
    (schema, builder.build().unwrap().map(Result::unwrap).collect(), compression)
}

#[test]
fn shards_of_columns_keep_their_own_schema_and_compression() {
    let scratch = Scratch::new();
    let texts = || Arc::new(StringArray::from(vec!["one", "drop", "two"])) as ArrayRef;
    let large = || Arc::new(LargeStringArray::from(vec!["one", "drop", "two"])) as ArrayRef;
    let ints = Arc::new(Int32Array::from(vec![Some(1), None, Some(3)])) as ArrayRef;
    let longs = Arc::new(Int64Array::from(vec![1, 2, 3])) as ArrayRef;
    let zstd = Compression::ZSTD(ZstdLevel::default());
    let shards = [
        ("0.parquet", batch("n", Arc::clone(&ints), texts()), Compression::SNAPPY),
        ("1.parquet", batch("n", Arc::clone(&longs), large()), zstd),
        ("2.parquet", batch("other", Arc::new(NullArray::new(3)), texts()), Compression::UNCOMPRESSED),
    ];
    for (name, batch, compression) in &shards {
        scratch.write(&format!("in/{name}"), parquet(batch, *compression));
    }
    scratch.write("in/sub/3.parquet.gz", gzip(&parquet(&shards[0].1, Compression::SNAPPY)));
    let arrow = batch("n", longs, texts());
    for (name, compression) in [("plain", None), ("packed", Some(CompressionType::ZSTD))] {
        let options = || IpcWriteOptions::default().try_with_compression(compression).unwrap();
        let mut file = FileWriter::try_new_with_options(Vec::new(), &arrow.schema(), options()).unwrap();
        file.write(&arrow).unwrap();
        scratch.write(&format!("in/{name}.arrow"), file.into_inner().unwrap());
        let mut stream = StreamWriter::try_new_with_options(Vec::new(), &arrow.schema(), options()).unwrap();
        stream.write(&arrow).unwrap();
        scratch.write(&format!("in/{name}.arrows"), stream.into_inner().unwrap());
    }
    let documents = scratch.documents(&["in"]);
    try_copy(&documents, &scratch.path("all"), |_| true).unwrap();
    assert_eq!(files(&scratch.path("all")), files(&scratch.path("in")), "byte for byte");
    try_copy(&documents, &scratch.path("some"), |text| text != "drop").unwrap();
    for (name, batch, compression) in &shards {
        let (schema, batches, found) = read_parquet(&scratch.path("some").join(name));
        let without: Vec<&Arc<Field>> = schema.fields().iter().collect();
        assert_eq!(without, batch.schema().fields().iter().collect::<Vec<_>>(), "{name}");
        assert_eq!(schema.metadata().get("key").map(String::as_str), Some("value"));
        let rows = [0, 2].map(|row| batch.slice(row, 1));
        assert_eq!(
            [batches[0].slice(0, 1), batches[0].slice(1, 1)].map(|batch| batch.columns().to_vec()),
            rows.map(|batch| batch.columns().to_vec()),
            "{name}"
        );
        assert_eq!((batches[0].num_rows(), found), (2, Some(*compression)), "{name}");
    }
    let read = scratch.read(scratch.documents(&["some"]));
    assert_eq!(read.counts.documents, 16);
    assert!(std::fs::read(scratch.path("some/sub/3.parquet.gz")).unwrap().starts_with(&[0x1f, 0x8b]));
    for name in ["plain", "packed"] {
        let copy = |ending: &str| std::fs::read(scratch.path(&format!("some/{name}.{ending}"))).unwrap();
        assert_eq!(
            (copy("arrow").starts_with(b"ARROW1"), copy("arrows").starts_with(b"ARROW1")),
            (true, false)
        );
        for ending in ["arrow", "arrows"] {
            let has_magic = copy(ending).windows(4).any(|four| four == [0x28, 0xb5, 0x2f, 0xfd]);
            let before = std::fs::read(scratch.path(&format!("in/{name}.{ending}"))).unwrap();
            assert_eq!(
                has_magic,
                before.windows(4).any(|four| four == [0x28, 0xb5, 0x2f, 0xfd]),
                "{name}.{ending}"
            );
        }
    }
    try_copy(&documents, &scratch.path("none"), |_| false).unwrap();
    let (schema, batches, _) = read_parquet(&scratch.path("none/1.parquet"));
    assert_eq!((schema.fields(), batches.len()), (shards[1].1.schema().fields(), 0));
}

#[test]
fn texts_are_copied_as_they_are_or_absent_and_litter_is_counted() {
    let scratch = Scratch::new();
    let latin = b"<html><meta charset=latin1>f\xfcr dich</html>";
    scratch.write("in/a.txt", "one\r\n\r\n");
    scratch.write("in/b.txt", "drop");
    scratch.write("in/c.html", latin);
    scratch.write("in/d.txt.gz", gzip(b"two"));
    scratch.write("in/_SUCCESS", "");
    scratch.write("in/picture.png", b"\x89PNG\r\n\x1a\n\0\0\0\0");
    scratch.write("alone.txt", "three");
    let documents = scratch.documents(&["in", "alone.txt"]);
    let copied = try_copy(&documents, &scratch.path("out"), |text| text != "drop").unwrap();
    let expected: BTreeMap<PathBuf, Vec<u8>> = [
        ("a.txt", b"one\r\n\r\n".to_vec()),
        ("c.html", latin.to_vec()),
        ("d.txt.gz", gzip(b"two")),
        ("alone.txt", b"three".to_vec()),
    ]
    .map(|(name, bytes)| (name.into(), bytes))
    .into();
    assert_eq!(files(&scratch.path("out")), expected);
    assert_eq!((copied.files, copied.duplicate_files, copied.passed_over, copied.rows), (4, 1, 2, 4));
    // Lines of text.
    scratch.write("lines/a.txt", "one\ndrop\n\ntwo");
    let documents = scratch.documents(&["lines"]).format(hamdex_documents::Format::TextLines);
    try_copy(&documents, &scratch.path("lines-out"), |text| text != "drop").unwrap();
    assert_eq!(std::fs::read(scratch.path("lines-out/a.txt")).unwrap(), b"one\ntwo\n");
}

#[test]
fn rows_that_cannot_be_copied_are_counted() {
    let scratch = Scratch::new();
    scratch.write("in/a.jsonl", "{\"text\": \"one\"}\n{\"text\n{\"text\": \"two\"}\n");
    scratch.write("in/b.csv", "text\none\none, too\n");
    scratch.write("in/long.txt", "x".repeat(2000));
    let documents = scratch.documents(&["in"]).max_document_bytes(1000);
    let copied = try_copy(&documents, &scratch.path("out"), |_| true).unwrap();
    assert_eq!((copied.files, copied.left_out, copied.rows), (2, 3, 3));
    assert_eq!(
        std::fs::read(scratch.path("out/a.jsonl")).unwrap(),
        b"{\"text\": \"one\"}\n{\"text\": \"two\"}\n"
    );
    assert_eq!(std::fs::read(scratch.path("out/b.csv")).unwrap(), b"text\none\n");
}

#[test]
fn what_cannot_be_written_is_refused_before_any_document_is_read() {
    let scratch = Scratch::new();
    scratch.write("in/a.jsonl", "{\"text\": \"one\"}\n");
    scratch.write("z.zip", zip(&[("a.txt", b"one")]));
    scratch.write("z.tar", tar(&[("a.txt", b"one")]));
    scratch.write("z.mbox", "From a@b Mon Jan  1 00:00:00 2024\nSubject: x\n\none\n");
    scratch.write("z.warc", "WARC/1.0\r\n");
    // Nothing is read of it, so a byte will do.
    scratch.write("z.csv.br", b"\x06");
    scratch.write("other/a.jsonl", "{\"text\": \"one\"}\n");
    let refused = |inputs: &[&str]| {
        let documents = scratch.documents(inputs).copyable_as_files();
        let error = documents.read(|_| -> Result<(), Error> { panic!("no document is read") }).unwrap_err();
        scratch.shown(&error.to_string())
    };
    for (name, what) in [
        ("z.zip", "an archive"),
        ("z.tar", "an archive"),
        ("z.mbox", "a mailbox"),
        ("z.warc", "a WARC file"),
        ("z.csv.br", "a file in Brotli"),
    ] {
        assert!(
            refused(&["in", name]).starts_with(&format!("{name}: {what} cannot be written file by file"))
        );
    }
    assert_eq!(
        refused(&["in", "other"]),
        "other/a.jsonl: is named a.jsonl in the copy, as in/a.jsonl is; copy them to two directories"
    );
    scratch.write("in/z.zip", zip(&[("a.txt", b"one")]));
    assert!(refused(&["in"]).starts_with("in/z.zip: an archive"));
    let lists = scratch.documents(&["other"]).text_field("pages[].text").copyable_as_files();
    assert!(lists.read(|_| Ok::<(), Error>(())).unwrap_err().to_string().contains("a list within an object"));
}

#[test]
fn a_copy_that_fails_leaves_nothing() {
    let scratch = Scratch::new();
    for number in 0..3 {
        scratch.write(&format!("in/{number}.jsonl"), "{\"text\": \"one\"}\n{\"text\": \"two\"}\n");
    }
    let documents = scratch.documents(&["in"]).copyable_as_files();
    documents.read(|_| Ok::<(), Error>(())).unwrap();
    scratch.write("in/2.jsonl", "{\"text\": \"changed\"}\n");
    let directory = AtomicDirectory::create(scratch.path("out")).unwrap();
    let error = documents.copy_files([0, 2, 4].into_iter(), directory).unwrap_err();
    assert!(matches!(error, Error::Changed), "{error}");
    let left: Vec<_> = scratch.path("").read_dir().unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["in"]);
}
