//! `hamdex dedup --unique`: what is left has every column and type of the inputs.

use std::collections::BTreeSet;

use crate::common::{Scratch, json_line, story};

fn read(scratch: &Scratch, name: &str) -> String {
    std::fs::read_to_string(scratch.path(name)).unwrap()
}

fn failed(scratch: &Scratch, args: &[&str], code: i32) -> (String, String) {
    let output = scratch.hamdex(args).assert().code(code).get_output().clone();
    (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap())
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
    let expected = [&lines[0], &lines[1], &lines[4]].map(|line| format!("{line}\n")).concat();
    // Other readers would fail on the line that is not JSON: it is left out, and said.
    let (found, said) = failed(&scratch, &["dedup", "in.jsonl", "--unique"], 1);
    assert_eq!(found, expected);
    assert!(said.contains("2 rows without a usable text are kept"), "{said}");
    assert!(
        said.ends_with(
            "1 row is not written: malformed, not UTF-8 or too long (--max-document); --skip-unreadable accepts that\n"
        ),
        "{said}"
    );
    let accepts = ["dedup", "--unique", "--out", "out.jsonl", "--format", "jsonl", "--skip-unreadable"];
    scratch.hamdex(&accepts).write_stdin(lines.join("\n")).assert().success();
    assert_eq!(read(&scratch, "out.jsonl"), expected);
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
        "5,z,,10".to_owned(),
    ];
    scratch.write("in.csv", format!("id,note,text,n\n{}\n", rows.join("\n")));
    let kept = [&rows[0], &rows[2], &rows[3]].map(|row| format!("{row}\n")).concat();
    let expected = format!("id,note,text,n\n{kept}");
    assert_eq!(scratch.output(&["dedup", "in.csv", "--unique"]), expected);
    scratch.output(&["dedup", "in.csv", "--unique", "--out", "out.csv"]);
    assert_eq!(read(&scratch, "out.csv"), expected);
    // The output is read again.
    scratch.output(&["dedup", "out.csv", "--unique", "--out", "again.tsv"]);
    assert!(read(&scratch, "again.tsv").starts_with("id\tnote\ttext\tn\n1\t\"a, \"\"b\"\"\nc\"\t"));
    scratch.output(&["dedup", "in.csv", "--unique", "--out", "out.jsonl"]);
    let objects = read(&scratch, "out.jsonl");
    assert!(objects.starts_with("{\"id\":\"1\",\"note\":\"a, \\\"b\\\"\\nc\",\"text\":"), "{objects}");
    assert!(objects.contains("{\"id\":\"3\",\"note\":\"short\"}\n"), "{objects}");
    // A field without a column has no place in a copy.
    scratch.write("long.csv", format!("id,note,text,n\n{}\n4,y,{},9,extra\n", rows[0], story(2)));
    scratch.hamdex(&["dedup", "long.csv", "--unique", "--out", "long-out.csv"]).assert().code(1);
    assert_eq!(read(&scratch, "long-out.csv"), format!("id,note,text,n\n{}\n", rows[0]));
    // Without names.
    scratch.write("bare.tsv", format!("{0}\t1\n{0}\t2\n", story(3)));
    let args = ["dedup", "bare.tsv", "--no-header", "--text-field", "1", "--unique"];
    assert_eq!(scratch.output(&args), format!("{}\t1\n", story(3)));
}

#[test]
fn a_table_has_the_columns_of_all_inputs() {
    let scratch = Scratch::new();
    scratch.write("a.csv", format!("id,text\n1,{}\n", story(1)));
    scratch.write("b.tsv", format!("more\ttext\tid\nx, y\t{}\t2\n\t{}\t3\n", story(2), story(1)));
    let object =
        |id: &str, number, rest: &str| format!("{{\"id\":{id},\"text\":\"{}\"{rest}}}\n", story(number));
    let rest = ",\"rank\":1.50,\"tags\":[\"a\", {\"b\":null}],\"more\":null";
    scratch.write("c.jsonl", object("4", 3, rest) + "{\"id\":5,\"rank\":NaN}\n");
    let inputs = ["a.csv", "b.tsv", "c.jsonl"];
    let said = messages(&scratch, &[&["dedup", "--unique", "--out", "out.csv"], &inputs[..]].concat());
    assert!(said.contains("1 row without a usable text is kept"), "{said}");
    let expected = [
        "id,text,more,rank,tags".to_owned(),
        format!("1,{},,,", story(1)),
        format!("2,{},\"x, y\",,", story(2)),
        format!("4,{},,1.50,\"[\"\"a\"\", {{\"\"b\"\":null}}]\"", story(3)),
        "5,,,,".to_owned(),
    ];
    assert_eq!(read(&scratch, "out.csv"), expected.map(|line| line + "\n").concat());
    // The same table, to standard output.
    let printed = scratch.output(&[&["dedup", "--unique"], &inputs[..]].concat());
    assert_eq!(printed, read(&scratch, "out.csv"));
    // Objects that have nothing else lose nothing.
    scratch.write("d.jsonl", json_line("c", &story(3)));
    scratch.output(&["dedup", "--unique", "--out", "d.csv", "d.jsonl"]);
    assert_eq!(read(&scratch, "d.csv"), format!("id,text\nc,{}\n", story(3)));
    let said = messages(&scratch, &["dedup", "--unique", "--drop-columns", "--out", "lost.csv", "c.jsonl"]);
    assert!(said.contains("only ids and texts are written"), "{said}");
    assert_eq!(read(&scratch, "lost.csv"), format!("id,text\n4,{}\n", story(3)));
}

#[test]
fn columns_without_names_do_not_fit_other_columns() {
    let scratch = Scratch::new();
    scratch.write("a.csv", format!("1,{}\n", story(1)));
    scratch.write("c.jsonl", format!("{{\"2\":\"{}\"}}\n", story(3)));
    let args = ["dedup", "--unique", "--no-header", "--text-field", "2", "a.csv", "c.jsonl", "--out"];
    let (code, text) = scratch.failure(&[&args[..], &["out.csv"]].concat());
    assert!(code == 1 && text.contains("c.jsonl: has other columns than a.csv (--output-dir"), "{text}");
    assert!(!scratch.path("out.csv").exists());
    scratch.output(&[&args[..], &["out.jsonl"]].concat());
    assert_eq!(read(&scratch, "out.jsonl").lines().count(), 2);
}

#[test]
fn texts_are_compressed_as_the_name_says() {
    let scratch = Scratch::new();
    let lines = [1, 2, 1].map(|number| json_line(&number.to_string(), &story(number)));
    scratch.write("in.jsonl", lines.concat());
    scratch.write("in.csv", format!("id;text\n1;{}\n2;{}\n3;{}\n", story(1), story(2), story(1)));
    for (input, output) in [("in.jsonl", "a.jsonl.zst"), ("in.jsonl", "a.jsonl.gz"), ("in.csv", "a.csv.zst")]
    {
        scratch.output(&["dedup", input, "--unique", "--out", output]);
        let mut text = String::new();
        let bytes = std::fs::read(scratch.path(output)).unwrap();
        match output.ends_with("zst") {
            true => std::io::Read::read_to_string(&mut zstd::Decoder::new(&*bytes).unwrap(), &mut text),
            false => std::io::Read::read_to_string(&mut flate2::read::GzDecoder::new(&*bytes), &mut text),
        }
        .unwrap();
        let expected = match input {
            "in.csv" => format!("id;text\n1;{}\n2;{}\n", story(1), story(2)),
            _ => lines[..2].concat(),
        };
        assert_eq!(text, expected, "{output}");
        assert_eq!(scratch.output(&["fingerprint", output]).lines().count(), 2);
    }
    scratch.output(&["dedup", "in.jsonl", "--out", "clusters.csv.zst"]);
    assert!(std::fs::read(scratch.path("clusters.csv.zst")).unwrap().starts_with(&[0x28, 0xb5, 0x2f, 0xfd]));
    let (code, text) = scratch.failure(&["dedup", "in.jsonl", "--unique", "--out", "a.jsonl.xz"]);
    assert!(
        code == 2 && text.contains("the name must end in .jsonl, .csv, .tsv (also with .zst or .gz)"),
        "{text}"
    );
}

#[test]
fn the_document_with_the_greatest_or_least_value_is_kept() {
    let scratch = Scratch::new();
    let line = |id: &str, number: u64, more: &str| {
        format!("{{\"id\":\"{id}\",\"text\":\"{}\"{more}}}\n", story(number))
    };
    let lines = [
        line("none", 1, ""),
        line("nine", 1, ",\"rank\":9,\"date\":\"2026-11-24\""),
        line("ten", 1, ",\"rank\":10,\"date\":\"2026-01-31\""),
        line("two", 1, ",\"rank\":2.5,\"date\":\"2026-02-01\""),
        line("alone", 2, ""),
    ];
    scratch.write("in.jsonl", lines.concat());
    let kept = |keep: &str| scratch.output(&["dedup", "in.jsonl", "--keep", keep, "--print", "kept"]);
    for (keep, id) in [
        ("first", "none"),
        ("longest", "none"),
        ("max:rank", "ten"),
        ("min:rank", "two"),
        ("max:date", "nine"),
        ("min:date", "ten"),
    ] {
        let mut expected = [id, "alone"];
        if lines.iter().position(|line| line.contains(id)) > Some(4) {
            expected.reverse();
        }
        assert_eq!(kept(keep), expected.map(|id| format!("{id}\n")).concat(), "{keep}");
    }
    let (code, text) = scratch.failure(&["dedup", "in.jsonl", "--keep", "max:score"]);
    assert!(
        code == 1 && text.contains("no document has the field that says which one is kept (--keep)"),
        "{text}"
    );
    assert_eq!(scratch.failure(&["dedup", "in.jsonl", "--keep", "max:"]).0, 2);
    let rows = format!("id,text,rank\n1,{0},3\n2,{0},\n3,{0},30\n", story(1));
    scratch.write("in.csv", &rows);
    assert_eq!(scratch.output(&["dedup", "in.csv", "--keep", "max:rank", "--print", "kept"]), "3\n");
}

#[test]
fn fingerprints_are_compared_with_known_ones_and_what_remains_is_written() {
    let scratch = Scratch::new();
    scratch.write("old.txt", "00000000000000ff\told\n");
    scratch.output(&["build", "--ids", "names", "-o", "old.hamdex", "old.txt"]);
    let lines = [
        "00000000000000fe\tnear old",
        "ffff0000ffff0000\tone",
        "ffff0000ffff0001\tlike one",
        "123456789abcdef0\ttwo",
    ];
    scratch.write("new.txt", lines.join("\n"));
    let args = ["dedup", "--fingerprints", "new.txt"];
    let clusters = "1\tkept\t0\tone\n1\tduplicate\t1\tlike one\n";
    assert_eq!(scratch.output(&args), clusters);
    let against = [&args[..], &["--against", "old.hamdex"]].concat();
    assert_eq!(scratch.output(&against), format!("{clusters}-\tknown\t1\tnear old\told\n"));
    let unique = [&against[..], &["--unique"]].concat();
    let expected = "ffff0000ffff0000\tone\n123456789abcdef0\ttwo\n";
    assert_eq!(scratch.output(&unique), expected);
    scratch.output(&[&unique[..], &["--out", "new.csv"]].concat());
    assert_eq!(read(&scratch, "new.csv"), "id,fingerprint\none,ffff0000ffff0000\ntwo,123456789abcdef0\n");
    // The output is read again, whatever the ids are.
    let csv = read(&scratch, "new.csv");
    for more in [&[][..], &["--ids", "row"], &["--drop-columns"]] {
        let again = [&["dedup", "--fingerprints", "new.csv", "--unique"], more].concat();
        assert_eq!(scratch.output(&again), csv, "{more:?}");
    }
    scratch.output(&["dedup", "--fingerprints", "new.csv", "--unique", "--out", "new.parquet"]);
    let parquet = ["dedup", "--fingerprints", "new.parquet", "--unique"];
    let (code, text) = scratch.failure(&parquet);
    assert!(code == 1 && text.contains("name one with --out"), "{text}");
    scratch.output(&[&parquet[..], &["--out", "again.csv"]].concat());
    assert_eq!(read(&scratch, "again.csv"), csv);
    let (code, text) = scratch.failure(&[&parquet[..], &["--strict"]].concat());
    assert!(code == 2 && text.contains("--strict is for documents"), "{text}");
    scratch.write("bare.tsv", lines.join("\n"));
    assert!(scratch.output(&["dedup", "--fingerprints", "bare.tsv", "--unique"]).ends_with(expected));
    let args = ["dedup", "--fingerprints", "--unique"];
    let piped = scratch.hamdex(&args).write_stdin(lines.join("\n")).assert().success();
    assert!(String::from_utf8_lossy(&piped.get_output().stdout).ends_with(expected));
}

#[test]
fn trees_and_several_files_are_copied_in_their_order() {
    let scratch = Scratch::new();
    std::fs::create_dir(scratch.path("set")).unwrap();
    scratch.write("set/a.jsonl", json_line("a", &story(1)) + &json_line("b", &story(2)));
    scratch.write("set/b.jsonl", json_line("c", &story(2)) + &json_line("d", &story(3)));
    // Most of the bytes are prose, so it is no file next to tables.
    scratch.write("set/c.txt", story(4));
    scratch.write("set/d.txt", story(4) + &story(5) + &story(6) + &story(7) + &story(8));
    let expected = [json_line("a", &story(1)), json_line("b", &story(2)), json_line("d", &story(3))].concat();
    let found = scratch.output(&["dedup", "set", "--unique", "--exclude", "d.txt", "--include", "*"]);
    assert_eq!(found, format!("{expected}{{\"id\":\"set/c.txt\",\"text\":\"{}\"}}\n", story(4)));
    assert_eq!(scratch.output(&["dedup", "set", "--unique"]).lines().count(), 5);
    std::fs::remove_file(scratch.path("set/d.txt")).unwrap();
    assert_eq!(scratch.output(&["dedup", "set", "--unique"]), expected);
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
        ArrayRef, BooleanArray, DictionaryArray, Float64Array, Int32Array, Int64Array, LargeStringArray,
        ListArray, RecordBatch, StringArray, StructArray, TimestampMicrosecondArray,
        TimestampNanosecondArray, TimestampSecondArray,
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

    #[test]
    fn parquet_keeps_its_compression_and_arrow_the_columns() {
        use ::parquet::basic::{Compression, ZstdLevel};
        use ::parquet::file::properties::WriterProperties;

        let scratch = Scratch::new();
        let batch = batch().project(&[0, 1, 2, 3, 4, 6]).unwrap();
        for compression in
            [Compression::UNCOMPRESSED, Compression::SNAPPY, Compression::ZSTD(ZstdLevel::default())]
        {
            let properties = WriterProperties::builder().set_compression(compression).build();
            let mut writer = ArrowWriter::try_new(Vec::new(), batch.schema(), Some(properties)).unwrap();
            writer.write(&batch).unwrap();
            scratch.write("in.parquet", writer.into_inner().unwrap());
            scratch.output(&["dedup", "in.parquet", "--unique", "--force", "--out", "out.parquet"]);
            let file = std::fs::File::open(scratch.path("out.parquet")).unwrap();
            let metadata = ParquetRecordBatchReaderBuilder::try_new(file).unwrap();
            let found = metadata.metadata().row_group(0).column(1).compression();
            assert_eq!(std::mem::discriminant(&found), std::mem::discriminant(&compression));
        }
        scratch.output(&["dedup", "in.parquet", "--unique", "--out", "out.arrow"]);
        let file = std::fs::File::open(scratch.path("out.arrow")).unwrap();
        let mut batches = arrow_ipc::reader::FileReader::try_new(file, None).unwrap();
        let found = batches.next().unwrap().unwrap();
        assert_eq!(found.schema().fields(), batch.schema().fields());
        assert_eq!(found.num_rows(), 4);
        scratch.output(&["dedup", "out.arrow", "--unique", "--out", "again.feather"]);
        // A dictionary differs from batch to batch, and its values are written.
        scratch.write("words.parquet", written(&super::columns::batch()));
        scratch.output(&["dedup", "words.parquet", "--unique", "--out", "words.arrow"]);
        let file = std::fs::File::open(scratch.path("words.arrow")).unwrap();
        let words = arrow_ipc::reader::FileReader::try_new(file, None).unwrap().next().unwrap().unwrap();
        let kind = words.column_by_name("kind").unwrap();
        assert_eq!(**kind, StringArray::from(vec!["a", "b", "a", "c"]));
        scratch.write("in.csv", format!("id,text,n\n1,{},2\n", story(1)));
        scratch.output(&["dedup", "in.csv", "--unique", "--out", "csv.arrow"]);
        assert_eq!(scratch.output(&["fingerprint", "csv.arrow"]).lines().count(), 1);
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
    fn columns_of_all_files_are_in_one_file_of_any_format() {
        let scratch = Scratch::new();
        scratch.write("a.parquet", written(&batch()));
        let other: [(&str, ArrayRef); 4] = [
            ("text", Arc::new(LargeStringArray::from(vec![story(4)]))),
            ("time", Arc::new(TimestampSecondArray::from(vec![1]).with_timezone("Europe/Berlin"))),
            ("key", Arc::new(Int32Array::from(vec![6]))),
            ("score", Arc::new(BooleanArray::from(vec![true]))),
        ];
        let other = RecordBatch::try_from_iter_with_nullable(other.map(|(name, array)| (name, array, true)));
        scratch.write("b.parquet", written(&other.unwrap()));
        scratch.write(
            "c.jsonl",
            format!("{{\"text\":\"{}\",\"nested\":{{\"n\":[1]}},\"tags\":null}}\n", story(5)),
        );
        let (code, text) = scratch.failure(&["dedup", "--quiet", "a.parquet", "--unique"]);
        assert!(text.contains("a.parquet") && text.contains("--out"), "{text}");
        assert_eq!(code, 1);
        let args = ["dedup", "--unique", "a.parquet", "b.parquet", "c.jsonl", "--out"];
        let said = messages(&scratch, &[&args[..], &["out.parquet"]].concat());
        let mixed = "b.parquet: the column \"score\" has the type Boolean, and Float64 in a.parquet; it is written as text";
        assert!(said.contains(mixed), "{said}");
        let found = rows_of(&scratch, "out.parquet");
        let expected = batch();
        assert_eq!(found.num_rows(), 6);
        let kinds: Vec<(String, DataType)> = found
            .schema()
            .fields()
            .iter()
            .map(|field| (field.name().clone(), field.data_type().clone()))
            .collect();
        let kind_of = |name: &str| expected.schema().field_with_name(name).unwrap().data_type().clone();
        let nested = DataType::Struct(
            vec![
                Field::new("flag", DataType::Boolean, true),
                Field::new("n", DataType::new_list(DataType::Int64, true), true),
            ]
            .into(),
        );
        let expected_kinds = [
            ("key", DataType::Int64),
            ("text", DataType::LargeUtf8),
            ("score", DataType::Utf8),
            ("time", kind_of("time")),
            ("tags", kind_of("tags")),
            ("kind", kind_of("kind")),
            ("nested", nested),
        ];
        assert_eq!(kinds, expected_kinds.map(|(name, kind)| (name.to_owned(), kind)));
        let scores = StringArray::from(vec![
            Some("0.5"),
            None,
            Some("1.7976931348623157e308"),
            Some("1.0"),
            Some("true"),
            None,
        ]);
        assert_eq!(**found.column(2), scores);
        let times =
            TimestampMicrosecondArray::from(vec![Some(1), Some(2), Some(3), Some(5), Some(1_000_000), None]);
        assert_eq!(**found.column(3), times.with_timezone("Europe/Berlin"));
        // Text takes the same rows.
        scratch.output(&[&args[..], &["out.jsonl"]].concat());
        let lines = crate::common::json_lines(&read(&scratch, "out.jsonl"));
        assert_eq!(lines[2]["score"], 1.797_693_134_862_315_7e308);
        assert_eq!(lines[3]["tags"], serde_json::json!([0, 1, 2, 3]));
        assert_eq!(lines[4]["time"], "1970-01-01T00:00:01Z");
        assert_eq!(lines[5]["nested"], serde_json::json!({ "n": [1] }));
        scratch.output(&[&args[..], &["out.csv"]].concat());
        let table = read(&scratch, "out.csv");
        assert!(table.starts_with("key,text,score,time,tags,kind,nested\n1,"), "{table}");
        assert!(table.contains(",0.5,1970-01-01T00:00:00.000001Z,[],a,\"{\"\"flag\"\":true}\"\n"), "{table}");
        let args = ["dedup", "a.parquet", "--unique", "--drop-columns", "--out", "ids.jsonl"];
        let said = messages(&scratch, &args);
        assert!(said.contains("only ids and texts are written"), "{said}");
        assert_eq!(read(&scratch, "ids.jsonl").lines().count(), 3);
    }

    #[test]
    fn a_value_out_of_the_range_of_the_common_type_is_an_error() {
        let scratch = Scratch::new();
        let text = |number| Arc::new(StringArray::from(vec![story(number)])) as ArrayRef;
        let pair = |number, at: ArrayRef| {
            written(&RecordBatch::try_from_iter([("text", text(number)), ("at", at)]).unwrap())
        };
        scratch.write("a.parquet", pair(1, Arc::new(TimestampNanosecondArray::from(vec![1]))));
        scratch.write("b.parquet", pair(2, Arc::new(TimestampMicrosecondArray::from(vec![i64::MAX / 10]))));
        let args = ["dedup", "--quiet", "--unique", "a.parquet", "b.parquet", "--out"];
        let (code, error) = scratch.failure(&[&args[..], &["out.parquet"]].concat());
        assert!(code == 1 && error.contains("b.parquet: the value"), "{error}");
        assert!(error.contains("of the column \"at\" does not fit into Timestamp(ns)"), "{error}");
        assert!(!scratch.path("out.parquet").exists());
        scratch.output(&[&args[..], &["out.jsonl"]].concat());
        assert_eq!(read(&scratch, "out.jsonl").lines().count(), 2);
    }
}
