//! `hamdex dedup --output-dir`: a clean copy of a folder, file by file.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Value, json};

use crate::common::{Scratch, json_line, story};

/// All files below a directory, by their paths in it.
fn files(root: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in root.read_dir().unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        if path.is_dir() {
            found.extend(files(&path).into_iter().map(|(inner, bytes)| (format!("{name}/{inner}"), bytes)));
        } else {
            found.insert(name, std::fs::read(path).unwrap());
        }
    }
    found
}

fn write(scratch: &Scratch, name: &str, contents: impl AsRef<[u8]>) {
    std::fs::create_dir_all(scratch.path(name).parent().unwrap()).unwrap();
    scratch.write(name, contents);
}

fn packed(text: &str) -> Vec<u8> {
    zstd::encode_all(text.as_bytes(), 0).unwrap()
}

/// A folder of shards that have no columns in common but the text, and what is left of each.
fn folder(scratch: &Scratch) -> BTreeMap<String, Vec<u8>> {
    let (one, two, three) = (story(1), story(2), story(3));
    let shards = [
        (
            "0.jsonl",
            json_line("a", &one) + &json_line("b", &two),
            json_line("a", &one) + &json_line("b", &two),
        ),
        ("more/1.csv", format!("text;n\r\n{two};007\r\n{three};8\r\n"), format!("text;n\r\n{three};8\r\n")),
        ("more/2.tsv", format!("n\ttext\n1\t{one}\n"), "n\ttext\n".to_owned()),
    ];
    let mut expected = BTreeMap::new();
    for (name, text, left) in shards {
        write(scratch, &format!("in/{name}"), text);
        expected.insert(name.to_owned(), left.into_bytes());
    }
    write(scratch, "in/3.jsonl.zst", packed(&json_line("c", &story(4))));
    expected.insert("3.jsonl.zst".to_owned(), packed(&json_line("c", &story(4))));
    write(scratch, "in/_SUCCESS", "");
    expected
}

#[test]
fn shards_are_copied_each_in_its_own_format_and_columns() {
    let scratch = Scratch::new();
    let expected = folder(&scratch);
    let args = ["dedup", "in", "--unique", "--output-dir", "clean"];
    let output = scratch.hamdex(&args).assert().success().get_output().clone();
    assert!(output.stdout.is_empty());
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(
        said.contains("2 duplicates, 4 files are written, 1 file was not read and is not copied"),
        "{said}"
    );
    assert_eq!(files(&scratch.path("clean")), expected);
    // What is there is not touched, whatever --force says.
    for force in [&[][..], &["--force"]] {
        let (code, text) = scratch.failure(&[&args[..], force].concat());
        assert!(code == 1 && text.contains("clean: exists already"), "{text}");
    }
    assert_eq!(files(&scratch.path("clean")), expected);
    // A copy of what is unique is the same; an empty directory is filled.
    std::fs::create_dir(scratch.path("again")).unwrap();
    let json = scratch.output(&["dedup", "clean", "--output-dir", "again", "--json"]);
    assert_eq!(
        serde_json::from_str::<Value>(&json).unwrap(),
        json!({
            "documents": 4, "clusters": 0, "duplicates": 0, "files": 4, "duplicate_files": 0, "passed_over": 0,
            "rows": 4, "rows_without_text": 0, "rows_left_out": 0,
        })
    );
    assert_eq!(files(&scratch.path("again")), expected);
}

#[test]
fn files_that_are_not_read_whole_are_named_in_json() {
    let scratch = Scratch::new();
    std::fs::create_dir(scratch.path("in")).unwrap();
    scratch.write("in/a.jsonl", json_line("a", &story(1)));
    scratch.write("in/b.jsonl.gz", &b"\x1f\x8b\x08\x00"[..]);
    let args = ["dedup", "in", "--json"];
    for output in [&["-o", "out.jsonl"][..], &["--unique", "-o", "out.jsonl"], &["--output-dir", "out"]] {
        let failed = scratch.hamdex(&[&args[..], output].concat()).assert().code(1).get_output().clone();
        let answer: Value = serde_json::from_slice(&failed.stdout).unwrap();
        assert!(answer["error"].as_str().unwrap().contains("b.jsonl.gz cannot be read whole"), "{answer}");
        assert!(answer["problems"][0]["problem"].as_str().unwrap().contains("b.jsonl.gz: "), "{answer}");
        assert!(!scratch.path(output[output.len() - 1]).exists());
        let read = scratch.output(&[&args[..], output, &["--skip-unreadable"]].concat());
        let answer: Value = serde_json::from_str(&read).unwrap();
        assert_eq!((&answer["documents"], &answer["skipped"]), (&1.into(), &1.into()), "{answer}");
        assert!(answer["problems"][0]["problem"].as_str().unwrap().contains("b.jsonl.gz: "), "{answer}");
        let path = scratch.path(output[output.len() - 1]);
        if path.is_dir() {
            std::fs::remove_dir_all(path).unwrap();
        } else {
            std::fs::remove_file(path).unwrap();
        }
    }
}

#[test]
fn texts_are_files_of_the_copy_unless_they_are_duplicates() {
    let scratch = Scratch::new();
    write(&scratch, "in/a.txt", story(1));
    write(&scratch, "in/sub/b.txt", story(1));
    write(&scratch, "in/sub/c.md", format!("# Title\r\n{}", story(2)));
    write(&scratch, "known.txt", story(2));
    let args = ["dedup", "in", "--unique", "--output-dir", "out"];
    let said = scratch.hamdex(&args).assert().success().get_output().stderr.clone();
    assert!(String::from_utf8_lossy(&said).contains("1 file is a duplicate as a whole"), "{said:?}");
    let mut expected = files(&scratch.path("in"));
    expected.remove("sub/b.txt");
    assert_eq!(files(&scratch.path("out")), expected);
    scratch.output(&["dedup", "in", "--unique", "--output-dir", "new", "--against", "known.txt"]);
    expected.remove("sub/c.md");
    assert_eq!(files(&scratch.path("new")), expected);
}

#[test]
fn rows_that_are_not_written_are_said_by_the_exit_code() {
    let scratch = Scratch::new();
    write(&scratch, "in/a.jsonl", json_line("a", &story(1)) + "not json\n");
    let args = ["dedup", "in", "--unique", "--output-dir"];
    let output = scratch.hamdex(&[&args[..], &["out"]].concat()).assert().code(1).get_output().clone();
    assert!(String::from_utf8_lossy(&output.stderr).contains("1 row is not written"));
    assert_eq!(files(&scratch.path("out"))["a.jsonl"], json_line("a", &story(1)).into_bytes());
    scratch.output(&[&args[..], &["accepted", "--skip-unreadable"]].concat());
}

#[test]
fn nothing_is_written_where_the_copy_cannot_be_whole() {
    let scratch = Scratch::new();
    folder(&scratch);
    write(&scratch, "other/0.jsonl", json_line("x", &story(9)));
    write(&scratch, "box.mbox", "From a@b Mon Jan  1 00:00:00 2024\nSubject: x\n\none\n");
    write(&scratch, "cut/a.jsonl.zst", &packed(&story(1))[..20]);
    let before = scratch.names();
    let refused = |inputs: &[&str], out: &str, code: i32, what: &str| {
        let output =
            scratch.hamdex(&[&["dedup", "--quiet", "--unique", "--output-dir", out], inputs].concat());
        let output = { output }.assert().code(code).get_output().clone();
        let text = String::from_utf8(output.stderr).unwrap();
        assert!(text.contains(what), "{text}");
        assert_eq!(scratch.names(), before);
    };
    refused(&["in", "other"], "out", 1, "other/0.jsonl: is named 0.jsonl in the copy, as in/0.jsonl is");
    refused(&["in", "box.mbox"], "out", 1, "box.mbox: a mailbox cannot be written file by file");
    refused(&["in", "-"], "out", 1, "standard input: a stream cannot be written file by file");
    refused(&["in", "cut"], "out", 1, "cut/a.jsonl.zst");
    refused(&["in"], "in/clean", 1, "in/clean: lies in the input in: name another directory");
    refused(&["in"], "other", 1, "other: exists already");
    refused(&["in"], "box.mbox", 1, "box.mbox: exists already");
    refused(&["in", "--out", "x.jsonl"], "out", 2, "--out");
    refused(&["in", "--drop-columns"], "out", 2, "--drop-columns");
    let (code, text) = scratch.failure(&["dedup", "in", "--unique", "--json"]);
    assert!(code == 2 && text.contains("--json is for clusters"), "{text}");
}
