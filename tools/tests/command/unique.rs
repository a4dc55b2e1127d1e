//! `hamdex dedup --unique`: what is left has every column and type of the inputs.

use std::collections::BTreeSet;

use crate::common::{Scratch, json_line, story};

fn read(scratch: &Scratch, name: &str) -> String {
    std::fs::read_to_string(scratch.path(name)).unwrap()
}

fn messages(scratch: &Scratch, args: &[&str]) -> String {
    let output = scratch.hamdex(args).assert().success();
    String::from_utf8(output.get_output().stderr.clone()).unwrap()
}

#[test]
fn lines_of_json_stay_as_they_are_with_those_that_are_no_documents() {
    let scratch = Scratch::new();
    let lines = [
        format!("{{ \"more\": [1, 2], \"text\": \"{}\", \"id\": 1e3 }}", story(1)),
        "{\"id\": \"no text\"}".to_owned(),
        "not json".to_owned(),
        format!("{{\"id\": 8, \"text\": \"{}\"}}", story(1)),
        "{\"id\": 9, \"text\": null}".to_owned(),
    ];
    scratch.write("in.jsonl", lines.join("\n"));
    let expected = [&lines[0], &lines[1], &lines[2], &lines[4]].map(|line| format!("{line}\n")).concat();
    assert_eq!(scratch.output(&["dedup", "in.jsonl", "--unique"]), expected);
    let mut command = scratch.hamdex(&["dedup", "--unique", "--out", "out.jsonl", "--format", "jsonl"]);
    let output = command.write_stdin(lines.join("\n")).assert().success();
    let said = String::from_utf8(output.get_output().stderr.clone()).unwrap();
    assert_eq!(read(&scratch, "out.jsonl"), expected);
    assert!(said.contains("3 rows without a usable text are kept"), "{said}");
}

#[test]
fn objects_over_several_lines_become_lines() {
    let scratch = Scratch::new();
    let object = |id: u32, text: &str| {
        format!("{{\n  \"id\": {id}.0,\n  \"text\": \"{text}\",\n  \"z\": {{\"b c\": 1}}\n}}")
    };
    let objects = [object(1, &story(1)), object(2, &story(1)), object(3, &story(2))];
    scratch.write("in.json", format!("[{}]", objects.join(",\n")));
    let line = |id: u32, text: &str| format!("{{\"id\":{id}.0,\"text\":\"{text}\",\"z\":{{\"b c\":1}}}}\n");
    assert_eq!(scratch.output(&["dedup", "in.json", "--unique"]), line(1, &story(1)) + &line(3, &story(2)));
}

#[test]
fn records_keep_all_columns() {
    let scratch = Scratch::new();
    let rows = [
        format!("1,\"a, \"\"b\"\"\nc\",{},7", story(1)),
        format!("2,x,{},8", story(1)),
        "3,short".to_owned(),
        format!("4,y,{},9,extra", story(2)),
        "5,z,,10".to_owned(),
    ];
    scratch.write("in.csv", format!("id,note,text,n\n{}\n", rows.join("\n")));
    let kept = [&rows[0], &rows[2], &rows[3], &rows[4]].map(|row| format!("{row}\n")).concat();
    let expected = format!("id,note,text,n\n{kept}");
    assert_eq!(scratch.output(&["dedup", "in.csv", "--unique"]), expected);
    scratch.output(&["dedup", "in.csv", "--unique", "--out", "out.csv"]);
    assert_eq!(read(&scratch, "out.csv"), expected);
    // What was written is read again.
    scratch.output(&["dedup", "out.csv", "--unique", "--out", "again.tsv"]);
    assert!(read(&scratch, "again.tsv").starts_with("id\tnote\ttext\tn\n1\t\"a, \"\"b\"\"\nc\"\t"));
    scratch.output(&["dedup", "in.csv", "--unique", "--out", "out.jsonl"]);
    let objects = read(&scratch, "out.jsonl");
    assert!(objects.starts_with("{\"id\":\"1\",\"note\":\"a, \\\"b\\\"\\nc\",\"text\":"), "{objects}");
    assert!(
        objects.contains("{\"id\":\"3\",\"note\":\"short\"}\n") && objects.contains("\"5\":\"extra\""),
        "{objects}"
    );
    // Without names.
    scratch.write("bare.tsv", format!("{0}\t1\n{0}\t2\n", story(3)));
    let args = ["dedup", "bare.tsv", "--no-header", "--text-field", "1", "--unique"];
    assert_eq!(scratch.output(&args), format!("{}\t1\n", story(3)));
}

#[test]
fn inputs_that_do_not_fit_together_are_refused_before_the_search() {
    let scratch = Scratch::new();
    scratch.write("a.csv", format!("id,text\n1,{}\n", story(1)));
    scratch.write("b.csv", format!("id,text,more\n1,{},x\n", story(2)));
    scratch.write("c.jsonl", json_line("c", &story(3)));
    for inputs in [["a.csv", "b.csv"], ["a.csv", "c.jsonl"]] {
        let (code, text) =
            scratch.failure(&[&["dedup", "--unique", "--out", "out.csv"], &inputs[..]].concat());
        assert!(text.contains(&format!("{}: has other columns than a.csv", inputs[1])), "{text}");
        assert_eq!(code, 1);
        assert!(!scratch.path("out.csv").exists());
    }
    scratch.output(&["dedup", "--unique", "--out", "out.jsonl", "a.csv", "b.csv", "c.jsonl"]);
    assert_eq!(read(&scratch, "out.jsonl").lines().count(), 3);
    let said = messages(&scratch, &["dedup", "--unique", "--out", "out.csv", "c.jsonl"]);
    assert!(said.contains("only ids and texts are written"), "{said}");
    assert_eq!(read(&scratch, "out.csv"), format!("id,text\nc,{}\n", story(3)));
}

#[test]
fn trees_and_several_files_are_copied_in_their_order() {
    let scratch = Scratch::new();
    std::fs::create_dir(scratch.path("set")).unwrap();
    scratch.write("set/a.jsonl", json_line("a", &story(1)) + &json_line("b", &story(2)));
    scratch.write("set/b.jsonl", json_line("c", &story(2)) + &json_line("d", &story(3)));
    scratch.write("set/c.txt", story(4));
    let expected = [json_line("a", &story(1)), json_line("b", &story(2)), json_line("d", &story(3))].concat();
    let found = scratch.output(&["dedup", "set", "--unique"]);
    assert_eq!(found, format!("{expected}{{\"id\":\"set/c.txt\",\"text\":\"{}\"}}\n", story(4)));
}

#[test]
fn exactly_the_duplicates_are_left_out() {
    let scratch = Scratch::new();
    // Some rows have no text, some are equal; all are told apart by a number.
    let mut state = 7u64;
    let mut rows = Vec::new();
    for number in 0..500u64 {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        rows.push((number, (state >> 60 != 0).then_some(state >> 40 & 127)));
    }
    let mut seen = BTreeSet::new();
    let kept: Vec<u64> = rows
        .iter()
        .filter(|(_, text)| text.is_none_or(|text| seen.insert(text)))
        .map(|(number, _)| *number)
        .collect();
    let line = |(number, text): &(u64, Option<u64>)| match text {
        Some(text) => format!("{{\"n\":{number},\"text\":\"{}\"}}\n", story(*text)),
        None => format!("{{\"n\":{number}}}\n"),
    };
    scratch.write("in.jsonl", rows.iter().map(line).collect::<String>());
    let found = scratch.output(&["dedup", "in.jsonl", "--unique", "-k", "0"]);
    let numbers: Vec<u64> =
        crate::common::json_lines(&found).iter().map(|row| row["n"].as_u64().unwrap()).collect();
    assert_eq!(numbers, kept);
    let cell =
        |(number, text): &(u64, Option<u64>)| format!("{number},{}\n", text.map_or(String::new(), story));
    scratch.write("in.csv", format!("n,text\n{}", rows.iter().map(cell).collect::<String>()));
    let found = scratch.output(&["dedup", "in.csv", "--unique", "-k", "0"]);
    let numbers: Vec<u64> =
        found.lines().skip(1).map(|row| row.split(',').next().unwrap().parse().unwrap()).collect();
    assert_eq!(numbers, kept);
}

#[cfg(feature = "parquet")]
mod columns {
    use std::sync::Arc;

    use ::parquet::arrow::ArrowWriter;
    use ::parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
    use arrow_array::types::Int32Type;
    use arrow_array::{
        ArrayRef, BooleanArray, DictionaryArray, Float64Array, Int64Array, ListArray, RecordBatch,
        StringArray, StructArray, TimestampMicrosecondArray,
    };
    use arrow_schema::{DataType, Field};

    use super::*;

    /// Five rows of many types: the second and fourth text are equal, the third is null.
    fn batch() -> RecordBatch {
        let texts = [Some(story(1)), Some(story(2)), None, Some(story(2)), Some(story(3))];
        let columns: [(&str, ArrayRef); 7] = [
            ("key", Arc::new(Int64Array::from(vec![1, 2, 3, 4, 5]))),
            ("text", Arc::new(StringArray::from_iter(texts))),
            ("score", Arc::new(Float64Array::from(vec![Some(0.5), None, Some(f64::MAX), None, Some(1.0)]))),
            (
                "time",
                Arc::new(TimestampMicrosecondArray::from(vec![1, 2, 3, 4, 5]).with_timezone("Europe/Berlin")),
            ),
            (
                "tags",
                Arc::new(ListArray::from_iter_primitive::<Int32Type, _, _>(
                    (0..5).map(|row| Some((0..row).map(Some))),
                )),
            ),
            ("kind", Arc::new(DictionaryArray::<Int32Type>::from_iter(["a", "b", "a", "b", "c"]))),
            (
                "nested",
                Arc::new(StructArray::from(vec![(
                    Arc::new(Field::new("flag", DataType::Boolean, true)),
                    Arc::new(BooleanArray::from(vec![true, false, true, false, true])) as ArrayRef,
                )])),
            ),
        ];
        RecordBatch::try_from_iter_with_nullable(columns.map(|(name, array)| (name, array, true))).unwrap()
    }

    fn written(batch: &RecordBatch) -> Vec<u8> {
        let mut writer = ArrowWriter::try_new(Vec::new(), batch.schema(), None).unwrap();
        writer.write(batch).unwrap();
        writer.into_inner().unwrap()
    }

    fn rows_of(scratch: &Scratch, name: &str) -> RecordBatch {
        let file = std::fs::File::open(scratch.path(name)).unwrap();
        let mut batches = ParquetRecordBatchReaderBuilder::try_new(file).unwrap().build().unwrap();
        batches.next().unwrap().unwrap()
    }

    #[test]
    fn parquet_keeps_columns_and_types_and_rows_without_text() {
        let scratch = Scratch::new();
        scratch.write("in.parquet", written(&batch()));
        let said = messages(&scratch, &["dedup", "in.parquet", "--unique", "--out", "out.parquet"]);
        assert!(said.contains("1 row without a usable text is kept"), "{said}");
        let found = rows_of(&scratch, "out.parquet");
        let expected = arrow_select_rows(&batch(), &[0, 1, 2, 4]);
        assert_eq!(found.schema().fields(), expected.schema().fields());
        assert_eq!(found, expected);
        // From standard input, and from two files.
        let bytes = written(&batch());
        let args = ["dedup", "--unique", "--out", "piped.parquet", "-"];
        scratch.hamdex(&args).write_stdin(bytes).assert().success();
        assert_eq!(rows_of(&scratch, "piped.parquet"), expected);
        scratch.output(&["dedup", "in.parquet", "out.parquet", "--unique", "--out", "both.parquet"]);
        assert_eq!(
            rows_of(&scratch, "both.parquet").num_rows(),
            5,
            "all but the rows without text are repeated"
        );
    }

    /// The rows of these numbers.
    fn arrow_select_rows(batch: &RecordBatch, rows: &[usize]) -> RecordBatch {
        let parts: Vec<RecordBatch> = rows.iter().map(|&row| batch.slice(row, 1)).collect();
        // Written and read again, they are one batch.
        let mut writer = ArrowWriter::try_new(Vec::new(), batch.schema(), None).unwrap();
        parts.iter().for_each(|part| writer.write(part).unwrap());
        let bytes = writer.into_inner().unwrap();
        let scratch = Scratch::new();
        scratch.write("rows.parquet", bytes);
        rows_of(&scratch, "rows.parquet")
    }

    #[test]
    fn parquet_needs_a_file_and_other_columns_are_refused() {
        let scratch = Scratch::new();
        scratch.write("a.parquet", written(&batch()));
        scratch.write("b.parquet", written(&batch().project(&[0, 1]).unwrap()));
        let (code, text) = scratch.failure(&["dedup", "--quiet", "a.parquet", "--unique"]);
        assert!(text.contains("a.parquet") && text.contains("--out"), "{text}");
        assert_eq!(code, 1);
        let (_, text) = scratch.failure(&[
            "dedup",
            "--quiet",
            "a.parquet",
            "b.parquet",
            "--unique",
            "--out",
            "out.parquet",
        ]);
        assert!(text.contains("b.parquet: has other columns than a.parquet"), "{text}");
        let said = messages(&scratch, &["dedup", "a.parquet", "--unique", "--out", "out.jsonl"]);
        assert!(said.contains("only ids and texts are written"), "{said}");
        assert_eq!(read(&scratch, "out.jsonl").lines().count(), 3);
        assert_eq!(scratch.names(), ["a.parquet", "b.parquet", "out.jsonl"]);
    }
}
