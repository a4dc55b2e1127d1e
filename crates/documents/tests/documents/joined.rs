//! The items of a list as one text: conversations in JSON, Parquet and Arrow.

use std::sync::Arc;

use arrow_array::types::Int32Type;
use arrow_array::{
    ArrayRef, BinaryArray, DictionaryArray, FixedSizeListArray, LargeListArray, ListArray, RecordBatch,
    StringArray, StructArray,
};
use arrow_buffer::OffsetBuffer;
use arrow_ipc::writer::{FileWriter, StreamWriter};
use arrow_schema::Field;
use parquet::arrow::ArrowWriter;

use crate::common::{Read, Scratch};

fn item(values: &ArrayRef) -> Arc<Field> {
    Arc::new(Field::new("item", values.data_type().clone(), true))
}

/// Lists of these lengths, of which some are null.
fn list(values: ArrayRef, lengths: &[usize], is_null: impl Fn(usize) -> bool) -> ArrayRef {
    let valid: Vec<bool> = (0..lengths.len()).map(|row| !is_null(row)).collect();
    let offsets = OffsetBuffer::from_lengths(lengths.iter().copied());
    Arc::new(ListArray::new(item(&values), offsets, values, Some(valid.into())))
}

fn large_list(values: ArrayRef, lengths: &[usize]) -> ArrayRef {
    Arc::new(LargeListArray::new(
        item(&values),
        OffsetBuffer::from_lengths(lengths.iter().copied()),
        values,
        None,
    ))
}

fn structs(fields: &[(&str, ArrayRef)], is_valid: Vec<bool>) -> ArrayRef {
    let (fields, arrays): (Vec<_>, Vec<_>) = fields
        .iter()
        .map(|(name, array)| (Field::new(*name, array.data_type().clone(), true), Arc::clone(array)))
        .unzip();
    Arc::new(StructArray::new(fields.into(), arrays, Some(is_valid.into())))
}

fn texts(texts: &[Option<&str>]) -> ArrayRef {
    Arc::new(StringArray::from(texts.to_vec()))
}

/// Five rows, as those of [`LINES`].
fn batch() -> RecordBatch {
    let contents = [Some("a"), Some("b"), Some("hidden"), Some("c"), None, Some("")];
    let lengths = [4, 0, 0, 1, 1];
    let messages = structs(&[("content", texts(&contents))], vec![true, true, false, true, true, true]);
    let parts = list(texts(&[Some("p"), Some("q"), Some("r")]), &[2, 0, 1, 0, 0, 0], |row| row == 3);
    let talk =
        structs(&[("turns", large_list(parts, &[3, 2, 0, 0, 1]))], vec![true, true, true, true, false]);
    let bytes: ArrayRef = Arc::new(BinaryArray::from_opt_vec(vec![Some(b"x"), None, Some(b"\xfc")]));
    let kinds: DictionaryArray<Int32Type> = [Some("k"), None, Some("l"), Some("k")].into_iter().collect();
    let kinds: ArrayRef = Arc::new(kinds);
    let pairs =
        texts(&[Some("1"), Some("2"), Some("3"), None, None, None, None, None, Some("9"), Some("10")]);
    let pairs =
        FixedSizeListArray::new(item(&pairs), 2, pairs, Some(vec![true, true, true, true, false].into()));
    let columns: [(&str, ArrayRef); 5] = [
        ("messages", list(messages, &lengths, |row| row == 2)),
        ("talk", talk),
        ("bytes", list(bytes, &[2, 1, 0, 0, 0], |_| false)),
        ("kinds", list(kinds, &[3, 1, 0, 0, 0], |_| false)),
        ("pairs", Arc::new(pairs)),
    ];
    RecordBatch::try_from_iter_with_nullable(columns.map(|(name, array)| (name, array, true))).unwrap()
}

const LINES: [&str; 5] = [
    r#"{"messages": [{"content": "a"}, {"content": "b"}, null, {"content": "c"}], "talk": {"turns": [["p", "q"], [], ["r"]]}, "pairs": ["1", "2"]}"#,
    r#"{"messages": [], "talk": {"turns": [null, []]}, "pairs": ["3", null]}"#,
    r#"{"messages": null, "talk": {"turns": []}, "pairs": [null, null]}"#,
    r#"{"messages": [{"content": null}], "talk": {"turns": []}}"#,
    r#"{"messages": [{"role": "x", "content": ""}], "talk": null}"#,
];

fn files() -> Vec<(&'static str, Vec<u8>)> {
    let batch = batch();
    // Rows that begin within the lists.
    let halves = [batch.slice(0, 1), batch.slice(1, 4)];
    let mut parquet = ArrowWriter::try_new(Vec::new(), batch.schema(), None).unwrap();
    let mut file = FileWriter::try_new(Vec::new(), &batch.schema()).unwrap();
    let mut stream = StreamWriter::try_new(Vec::new(), &batch.schema()).unwrap();
    for half in &halves {
        parquet.write(half).unwrap();
        file.write(half).unwrap();
        stream.write(half).unwrap();
    }
    vec![
        ("a.parquet", parquet.into_inner().unwrap()),
        ("a.arrow", file.into_inner().unwrap()),
        ("a.arrows", stream.into_inner().unwrap()),
        ("a.jsonl", LINES.join("\n").into_bytes()),
        ("a.json", format!("[{}]", LINES.join(",\n")).into_bytes()),
        // A value that only other readers take.
        (
            "nan.jsonl",
            LINES.join("\n").replace("{\"messages\"", "{\"score\": NaN, \"messages\"").into_bytes(),
        ),
    ]
}

fn join(scratch: &Scratch, file: &str, names: &[&str], separator: &str) -> Read {
    scratch.read(scratch.documents(&[file]).text_fields(names.to_vec()).join_lists(separator))
}

#[test]
fn the_items_of_a_list_are_one_text_in_all_formats() {
    let scratch = Scratch::new();
    for (name, bytes) in files() {
        scratch.write(name, bytes);
        let first = usize::from(name.ends_with("json") || name.ends_with("jsonl"));
        let ids = |rows: &[usize]| rows.iter().map(|row| (row + first).to_string()).collect::<Vec<_>>();
        let contents = join(&scratch, name, &["messages[].content"], "\n");
        assert_eq!(
            (contents.ids(), contents.texts()),
            (ids(&[0, 4]).iter().map(String::as_str).collect(), vec!["a\nb\nc", ""]),
            "{name}"
        );
        assert_eq!(contents.counts.missing_field, 3, "{name}: {:?}", contents.notices);
        assert_eq!(join(&scratch, name, &["messages[].content"], " | ").texts(), ["a | b | c", ""], "{name}");
        let nested = join(&scratch, name, &["talk.turns[][]"], "-");
        assert_eq!((nested.texts(), nested.counts.missing_field), (vec!["p-q-r"], 4), "{name}");
        let pairs = join(&scratch, name, &["pairs[]"], "");
        assert_eq!((pairs.texts(), pairs.counts.missing_field), (vec!["12", "3"], 3), "{name}");
        let both = join(&scratch, name, &["pairs[]", "messages[].content"], "/");
        assert_eq!(both.texts(), ["1/2\na/b/c", "3", ""], "{name}");
    }
}

#[test]
fn items_are_bytes_and_dictionaries() {
    let scratch = Scratch::new();
    for (name, bytes) in files().into_iter().take(3) {
        scratch.write(name, bytes);
        let bytes = join(&scratch, name, &["bytes[]"], " ");
        assert_eq!((bytes.texts(), bytes.counts.replaced), (vec!["x", "\u{fffd}"], 1), "{name}");
        assert_eq!(join(&scratch, name, &["kinds[]"], " ").texts(), ["k l", "k"], "{name}");
    }
}

#[test]
fn paths_that_lead_to_no_texts_are_errors_or_reported() {
    let scratch = Scratch::new();
    for (name, bytes) in files() {
        scratch.write(name, bytes);
        let read =
            |field: &str| scratch.try_read(scratch.documents(&[name]).text_field(field).join_lists("\n"));
        let is_json = name.contains("json");
        for (field, refusal) in [
            ("turns[].content", "no column is named \"turns[].content\""),
            ("messages[].body", "no column is named \"messages[].body\""),
            ("messages[][].content", "no column is named"),
            ("talk[]", "no column is named"),
            ("messages[]", "the column \"messages[]\" has the type Struct"),
        ] {
            let read = read(field);
            if is_json && field == "messages[]" {
                // Fields of JSON have no types: each row may have a text there.
                let read = read.unwrap();
                assert_eq!((read.documents.len(), read.counts.missing_field), (0, 5), "{name} {field}");
                let said = format!("no string in the field {field:?}");
                assert!(read.notices[0].contains(&said), "{name}: {:?}", read.notices);
            } else {
                let error = read.unwrap_err();
                assert!(error.contains(refusal), "{name}: {error}");
            }
        }
        // Without a separator, lists are joined in no format.
        let apart = scratch.try_read(scratch.documents(&[name]).text_field("messages[].content"));
        match apart {
            Ok(read) => assert_eq!((is_json, read.texts()), (true, vec!["a", "b", "c", ""]), "{name}"),
            Err(error) => assert!(!is_json && error.contains("no column is named"), "{name}: {error}"),
        }
    }
    // As in any other field, a number is no text, and a file with its fields elsewhere ends the reading.
    scratch.write(
        "b.jsonl",
        r#"{"turns": ["a", 5], "turns[]": "whole"}"#.to_owned() + "\n{\"turns\": [\"a\", 5]}\n",
    );
    let read = join(&scratch, "b.jsonl", &["turns[]"], "\n");
    assert_eq!((read.texts(), read.counts.missing_field), (vec!["whole"], 1));
    scratch.write("c.jsonl", "{\"messages\": [], \"id\": 1}\n".repeat(5000));
    let other = scratch.documents(&["c.jsonl"]).text_field("turns[].content").join_lists("\n");
    let error = scratch.try_read(other).unwrap_err();
    assert!(error.contains("no column is named \"turns[].content\"; there are: id, messages"), "{error}");
    // A program's state next to documents is none, whatever the field.
    scratch.write("d/state.json", r#"{"version": 1}"#);
    scratch.write("d/a.jsonl", LINES[0]);
    let read = join(&scratch, "d", &["messages[].content"], " ");
    assert_eq!((read.texts(), read.counts.missing_field), (vec!["a b c"], 0), "{:?}", read.notices);
}
