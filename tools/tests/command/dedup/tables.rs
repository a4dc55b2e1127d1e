//! Tables of fingerprints: which rows are kept, with all columns, compared with brute force.

use std::fs::read_to_string;

use crate::common::{Scratch, json_lines};

/// A row of a table; a fingerprint and a size can be missing.
#[derive(Debug, Clone)]
struct Row {
    id: u64,
    fingerprint: Option<u64>,
    size: Option<i64>,
    note: String,
}

fn number(seed: u64) -> u64 {
    let mut number = seed.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    number = (number ^ number >> 32).wrapping_mul(0xd6e8_feb8_6659_fd93);
    number ^ number >> 32
}

/// Rows in 40 neighbourhoods, one of them crowded: 1,000 rows have its fingerprint.
fn rows() -> Vec<Row> {
    let row = |id: u64| {
        let near = number(id % 40) ^ 1 << (number(id * 3) % 8) ^ 1 << (number(id * 5) % 8);
        let fingerprint = if id.is_multiple_of(3) { near } else { 0x0123_4567_89ab_cdef };
        Row {
            id,
            fingerprint: (id % 50 != 7).then_some(fingerprint),
            size: (id % 31 != 4).then_some((number(id * 7) % 300) as i64 - 100),
            note: format!("\"{id}\", a\tb"),
        }
    };
    (0..1550).map(row).collect()
}

/// Returns the numbers of the rows that remain: those that are kept, in the order of preference, and those without a
/// fingerprint.
fn remaining(rows: &[Row], keep: &str, distance: u32) -> Vec<usize> {
    let mut order: Vec<usize> = (0..rows.len()).collect();
    match keep {
        "max:size" => order.sort_by_key(|&at| (rows[at].size.is_none(), rows[at].size.map(|size| -size))),
        "min:size" => order.sort_by_key(|&at| (rows[at].size.is_none(), rows[at].size)),
        _ => {}
    }
    let mut centres: Vec<u64> = Vec::new();
    order.retain(|&at| {
        let Some(fingerprint) = rows[at].fingerprint else { return true };
        let is_new = !centres.iter().any(|centre| (centre ^ fingerprint).count_ones() <= distance);
        if is_new {
            centres.push(fingerprint);
        }
        is_new
    });
    order.sort_unstable();
    order
}

/// Returns the rows as CSV, of which `wanted` rows are written.
fn csv(rows: &[Row], wanted: &[usize]) -> String {
    let record = |&at: &usize| {
        let Row { id, fingerprint, size, note } = &rows[at];
        let fingerprint = fingerprint.map_or(String::new(), |fingerprint| format!("{fingerprint:016x}"));
        let size = size.map_or(String::new(), |size| size.to_string());
        format!("{size},{fingerprint},{id},\"{}\"\n", note.replace('"', "\"\""))
    };
    format!("size,fingerprint,id,note\n{}", wanted.iter().map(record).collect::<String>())
}

const KEEP: [&str; 3] = ["first", "max:size", "min:size"];

fn all(rows: &[Row]) -> Vec<usize> {
    (0..rows.len()).collect()
}

#[test]
fn records_of_fingerprints_are_kept_with_all_fields() {
    let (scratch, rows) = (Scratch::new(), rows());
    assert!(rows.iter().filter(|row| row.fingerprint == Some(0x0123_4567_89ab_cdef)).count() >= 1000);
    let text = csv(&rows, &all(&rows));
    scratch.write("in.csv", &text);
    // Fields without a quote or a tab.
    let bare = |text: &str| {
        let line = |line: &str| line.rsplit_once(",\"").map_or(line, |(line, _)| line).replace(',', "\t");
        text.lines().map(|text| line(text) + "\n").collect::<String>().replace("\tnote", "")
    };
    scratch.write("in.tsv", bare(&text));
    for (keep, distance) in KEEP.into_iter().flat_map(|keep| [(keep, 0), (keep, 3), (keep, 6)]) {
        let expected = csv(&rows, &remaining(&rows, keep, distance));
        let k = distance.to_string();
        let args = ["dedup", "--fingerprints", "-k", &k, "--keep", keep, "--unique"];
        assert_eq!(scratch.output(&[&args[..], &["in.csv"]].concat()), expected, "{keep} {k}");
        assert_eq!(scratch.output(&[&args[..], &["in.tsv"]].concat()), bare(&expected), "{keep} {k}");
        let piped = scratch.hamdex(&args).write_stdin(text.clone()).assert().success();
        assert_eq!(String::from_utf8_lossy(&piped.get_output().stdout), expected, "{keep} {k}");
        // The clusters agree.
        let kept = [&args[..6], &["--print", "kept", "in.csv"]].concat();
        let with_fingerprint = remaining(&rows, keep, distance).into_iter();
        let kept_rows = with_fingerprint.filter(|&at| rows[at].fingerprint.is_some());
        let expected: String = kept_rows.map(|at| format!("{at}\n")).collect();
        assert_eq!(scratch.output(&kept), expected, "{keep} {k}");
    }
}

#[test]
fn tables_with_other_columns_become_one_and_a_directory_keeps_each() {
    let scratch = Scratch::new();
    scratch.write("a.csv", "id,fingerprint,size\na,00000000000000ff,3\nb,,9\n");
    scratch
        .write("b.csv", "fingerprint,place,id,size\r\n00000000000000fe,x,c,30\r\nffff0000ffff0000,y,d,1\r\n");
    scratch.write("c.txt", "00000000000000fd\te\nabcdef0123456789\tf\n");
    let args = ["dedup", "--fingerprints", "--unique", "--keep", "max:size", "a.csv", "b.csv"];
    let union = "id,fingerprint,size,place\nb,,9,\nc,00000000000000fe,30,x\nd,ffff0000ffff0000,1,y\n";
    assert_eq!(scratch.output(&args), union);
    assert_eq!(
        scratch.output(&[&args[..], &["c.txt"]].concat()),
        union.to_owned() + "f,abcdef0123456789,,\n"
    );
    let lines = json_lines(&{
        scratch.output(&[&args[..], &["c.txt", "-o", "all.jsonl"]].concat());
        read_to_string(scratch.path("all.jsonl")).unwrap()
    });
    let ids: Vec<&str> = lines.iter().map(|line| line["id"].as_str().unwrap()).collect();
    assert_eq!((ids, &lines[1]["place"]), (vec!["b", "c", "d", "f"], &"x".into()));
    let counts = json_lines(&scratch.output(&[&args[..], &["--output-dir", "out", "--json"]].concat()));
    assert_eq!((&counts[0]["rows"], &counts[0]["rows_without_text"]), (&3.into(), &1.into()));
    assert_eq!(read_to_string(scratch.path("out/a.csv")).unwrap(), "id,fingerprint,size\nb,,9\n");
    let copied = std::fs::read(scratch.path("out/b.csv")).unwrap();
    assert_eq!(copied, std::fs::read(scratch.path("b.csv")).unwrap());
    for more in [&["c.txt"][..], &["-"]] {
        let (code, text) = scratch.failure(&[&args[..], more, &["--output-dir", "more"]].concat());
        assert!(code == 1 && text.contains("cannot be written file by file"), "{text}");
        assert!(!scratch.path("more").exists());
    }
}

#[test]
fn tables_without_rows_are_copied_next_to_others() {
    let scratch = Scratch::new();
    scratch.write("a.csv", "id,fingerprint\na,00000000000000ff\nb,00000000000000fe\n");
    scratch.write("head.csv", "id,fingerprint\n");
    for name in ["empty.csv", "empty.tsv"] {
        scratch.write(name, "");
    }
    let args = ["dedup", "--fingerprints", "a.csv", "head.csv", "empty.csv", "empty.tsv"];
    scratch.output(&[&args[..], &["--output-dir", "out"]].concat());
    for (name, text) in [
        ("a.csv", "id,fingerprint\na,00000000000000ff\n"),
        ("head.csv", "id,fingerprint\n"),
        ("empty.csv", ""),
        ("empty.tsv", ""),
    ] {
        assert_eq!(read_to_string(scratch.path("out").join(name)).unwrap(), text, "{name}");
    }
    assert_eq!(scratch.output(&[&args[..], &["--unique"]].concat()), "id,fingerprint\na,00000000000000ff\n");
}

#[test]
fn rows_without_a_fingerprint_are_written_or_said_to_be_missing() {
    let scratch = Scratch::new();
    scratch.write("in.txt", "00000000000000ff\ta\n\tno hash\r\n,\"no\\thash\"\n00000000000000fe\tb\n");
    let args = ["dedup", "--fingerprints", "--unique", "in.txt"];
    let expected = "00000000000000ff\ta\n\tno hash\n\t\"no\\thash\"\n";
    let assert = scratch.hamdex(&args).assert().success();
    assert_eq!(String::from_utf8_lossy(&assert.get_output().stdout), expected);
    let said = String::from_utf8_lossy(&assert.get_output().stderr).into_owned();
    assert!(said.contains("2 rows without a fingerprint are kept") && !said.contains("left out"), "{said}");
    scratch.output(&[&args[..], &["-o", "out.csv"]].concat());
    let table = "id,fingerprint\na,00000000000000ff\nno hash,\nno\thash,\n";
    assert_eq!(read_to_string(scratch.path("out.csv")).unwrap(), table);
    // A list has no other columns in which such a row could stand.
    scratch.write("in.csv", "id,fingerprint\nc,\n");
    let assert = scratch.hamdex(&[&args[..], &["in.csv", "-o", "both.csv"]].concat()).assert().code(1);
    let said = String::from_utf8_lossy(&assert.get_output().stderr).into_owned();
    assert!(said.contains("2 rows of lists are not written"), "{said}");
    assert_eq!(read_to_string(scratch.path("both.csv")).unwrap(), "id,fingerprint\na,00000000000000ff\nc,\n");
}

#[test]
fn the_value_that_decides_is_there_and_fingerprints_have_one_form() {
    let scratch = Scratch::new();
    scratch.write("in.csv", "id,fingerprint\na,00000000000000ff\n");
    scratch.write("decimal.csv", "id,fingerprint\nb,17\n");
    for (args, expected) in [
        (&["in.csv", "--keep", "max:size"][..], "no document has the field that says which one is kept"),
        (
            &["in.csv", "decimal.csv", "--unique"],
            "decimal.csv: its fingerprints are decimal, and those of in.csv",
        ),
    ] {
        let (code, text) = scratch.failure(&[&["dedup", "--fingerprints"][..], args].concat());
        assert!(code == 1 && text.contains(expected), "{text}");
    }
    scratch.write("list.txt", "0000000000000fff\tc\n");
    let mixed = ["dedup", "--fingerprints", "--unique", "-k", "0", "decimal.csv", "list.txt"];
    assert_eq!(scratch.output(&mixed), "id,fingerprint\nb,17\nc,4095\n");
}

#[cfg(feature = "parquet")]
mod columnar {
    use std::fs::File;
    use std::sync::Arc;

    use arrow_array::cast::AsArray;
    use arrow_array::{
        ArrayRef, BinaryArray, Int64Array, RecordBatch, StringArray, TimestampSecondArray, UInt64Array,
    };
    use arrow_ipc::reader::FileReader;
    use arrow_ipc::writer::FileWriter;
    use parquet::arrow::ArrowWriter;
    use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

    use super::{KEEP, Row, all, csv, remaining, rows};
    use crate::common::{Scratch, json_lines};

    /// The fingerprints of rows, as each type that holds them.
    fn columns(rows: &[Row]) -> [(&'static str, ArrayRef); 4] {
        let each = || rows.iter().map(|row| row.fingerprint);
        let texts = each().map(|fingerprint| fingerprint.map(|fingerprint| format!("{fingerprint:016X}")));
        [
            ("numbers", Arc::new(each().collect::<UInt64Array>())),
            ("signed", Arc::new(each().map(|number| number.map(u64::cast_signed)).collect::<Int64Array>())),
            ("texts", Arc::new(texts.collect::<StringArray>())),
            ("bytes", Arc::new(each().map(|number| number.map(u64::to_le_bytes)).collect::<BinaryArray>())),
        ]
    }

    fn table(rows: &[Row], fingerprints: ArrayRef) -> RecordBatch {
        let sizes: Int64Array = rows.iter().map(|row| row.size).collect();
        let times: TimestampSecondArray = rows.iter().map(|row| row.size).collect();
        RecordBatch::try_from_iter_with_nullable([
            (
                "note",
                Arc::new(StringArray::from_iter_values(rows.iter().map(|row| &row.note))) as ArrayRef,
                true,
            ),
            ("size", Arc::new(sizes), true),
            ("fingerprint", fingerprints, true),
            ("time", Arc::new(times), true),
            ("id", Arc::new(Int64Array::from_iter_values(rows.iter().map(|row| row.id as i64))), true),
        ])
        .unwrap()
    }

    fn write(path: &std::path::Path, batch: &RecordBatch) {
        let file = File::create(path).unwrap();
        if path.extension().unwrap() == "parquet" {
            let mut writer = ArrowWriter::try_new(file, batch.schema(), None).unwrap();
            writer.write(batch).unwrap();
            writer.close().unwrap();
        } else {
            let mut writer = FileWriter::try_new(file, &batch.schema()).unwrap();
            writer.write(batch).unwrap();
            writer.finish().unwrap();
        }
    }

    fn read(path: &std::path::Path) -> Vec<RecordBatch> {
        let file = File::open(path).unwrap();
        if path.extension().unwrap() == "parquet" {
            let reader = ParquetRecordBatchReaderBuilder::try_new(file).unwrap().build().unwrap();
            reader.map(Result::unwrap).collect()
        } else {
            FileReader::try_new(file, None).unwrap().map(Result::unwrap).collect()
        }
    }

    /// Asserts that these rows of a table were written, with all columns.
    fn check(found: &[RecordBatch], table: &RecordBatch, expected: &[usize], what: &str) {
        let mut expected = expected.iter();
        for batch in found {
            assert_eq!(batch.schema().fields(), table.schema().fields(), "{what}");
            for row in 0..batch.num_rows() {
                let at = *expected.next().expect("as many rows");
                assert_eq!(batch.slice(row, 1).columns(), table.slice(at, 1).columns(), "{what}: row {at}");
            }
        }
        assert_eq!(expected.next(), None, "{what}");
    }

    #[test]
    fn rows_are_kept_with_all_columns_and_types() {
        let (scratch, rows) = (Scratch::new(), rows());
        for (name, fingerprints) in columns(&rows) {
            let table = table(&rows, fingerprints);
            for ending in ["parquet", "arrow"] {
                let (from, to) = (format!("{name}.{ending}"), format!("{name}-out.{ending}"));
                write(&scratch.path(&from), &table);
                for keep in KEEP.into_iter().chain(["max:time"]) {
                    let args =
                        ["dedup", "--fingerprints", "--keep", keep, "--unique", &from, "--force", "-o", &to];
                    scratch.output(&args);
                    let expected = remaining(&rows, &keep.replace("time", "size"), 3);
                    check(&read(&scratch.path(&to)), &table, &expected, &format!("{from} {keep}"));
                    let again = ["dedup", "--fingerprints", "--print", "duplicates", &to];
                    assert_eq!(scratch.output(&again), "", "{from} {keep}");
                }
                let args = ["dedup", "--fingerprints", "--unique", &from, "--output-dir"];
                let directory = format!("{name}-{ending}");
                scratch.output(&[&args[..], &[&directory]].concat());
                let found = read(&scratch.path(&directory).join(&from));
                check(&found, &table, &remaining(&rows, "first", 3), &from);
            }
        }
    }

    #[test]
    fn bytes_are_not_written_as_text() {
        let (scratch, rows) = (Scratch::new(), rows());
        let [_, _, texts, bytes] = columns(&rows).map(|(_, column)| table(&rows, column));
        write(&scratch.path("bytes.parquet"), &bytes);
        write(&scratch.path("texts.parquet"), &texts);
        scratch.write("list.txt", "00000000000000ff\ta\n");
        let args = ["dedup", "--fingerprints", "--unique", "bytes.parquet"];
        for (more, expected) in [
            (&["-o", "out.csv"][..], "which no text has"),
            (&["-o", "out.jsonl", "--drop-columns"], "which no text has"),
            (&["list.txt", "-o", "out.parquet"], "which no text has"),
            (&["texts.parquet", "-o", "out.parquet"], "texts.parquet: its fingerprints are hexadecimal"),
        ] {
            let assert = scratch.hamdex(&[&args[..], more].concat()).assert().code(1);
            let text = String::from_utf8_lossy(&assert.get_output().stderr).into_owned();
            assert!(text.contains(expected), "{text}");
        }
        let dropped = [&args[..], &["--drop-columns", "-o", "out.csv"]].concat();
        scratch.output(&dropped);
        let expected = remaining(&rows, "first", 3).into_iter().filter_map(|at| {
            rows[at].fingerprint.map(|fingerprint| format!("{},{fingerprint:016x}\n", rows[at].id))
        });
        let expected = format!("id,fingerprint\n{}", expected.collect::<String>());
        assert_eq!(std::fs::read_to_string(scratch.path("out.csv")).unwrap(), expected);
    }

    #[test]
    fn tables_of_other_formats_become_one() {
        let (scratch, rows) = (Scratch::new(), rows());
        let (half, rest) = rows.split_at(700);
        let texts = |rows: &[Row]| columns(rows)[2].1.clone();
        write(&scratch.path("a.parquet"), &table(half, texts(half)));
        scratch.write("b.csv", csv(rest, &all(rest)));
        for keep in KEEP {
            let expected = remaining(&rows, keep, 3);
            let args = [
                "dedup",
                "--fingerprints",
                "--keep",
                keep,
                "--unique",
                "a.parquet",
                "b.csv",
                "--force",
                "-o",
            ];
            scratch.output(&[&args[..], &["out.parquet"]].concat());
            let ids = read(&scratch.path("out.parquet"));
            let ids: Vec<usize> = ids
                .iter()
                .flat_map(|batch| {
                    let ids = batch.column_by_name("id").unwrap();
                    ids.as_string::<i32>().iter().map(|id| id.unwrap().parse().unwrap()).collect::<Vec<_>>()
                })
                .collect();
            assert_eq!(ids, expected, "{keep}");
            scratch.output(&[&args[..], &["out.jsonl"]].concat());
            let lines = json_lines(&std::fs::read_to_string(scratch.path("out.jsonl")).unwrap());
            assert_eq!(lines.len(), expected.len());
            for (line, &at) in lines.iter().zip(&expected) {
                assert_eq!(line["note"], rows[at].note.as_str(), "{keep}: row {at}");
                let size = line["size"].as_i64().or_else(|| line["size"].as_str()?.parse().ok());
                assert_eq!(size, rows[at].size, "{keep}: row {at}");
            }
        }
    }

    #[test]
    fn a_field_within_another_decides_and_a_list_does_not() {
        let scratch = Scratch::new();
        let sizes: ArrayRef = Arc::new(Int64Array::from(vec![1, 2]));
        let inner = RecordBatch::try_from_iter([("size", sizes)]).unwrap();
        let batch = RecordBatch::try_from_iter([
            ("id", Arc::new(StringArray::from(vec!["a", "b"])) as ArrayRef),
            ("fingerprint", Arc::new(UInt64Array::from(vec![1, 1]))),
            ("file", Arc::new(arrow_array::StructArray::from(inner))),
        ])
        .unwrap();
        write(&scratch.path("in.parquet"), &batch);
        let args = ["dedup", "--fingerprints", "in.parquet", "--print", "kept", "--keep"];
        assert_eq!(scratch.output(&[&args[..], &["max:file.size"]].concat()), "b\n");
        let (code, text) = scratch.failure(&[&args[..], &["max:file"]].concat());
        assert!(code == 1 && text.contains("\"file\" holds") && text.contains("(--keep)"), "{text}");
    }
}
