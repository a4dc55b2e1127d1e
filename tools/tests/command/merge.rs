//! `hamdex merge`.

use std::fs;

use serde_json::Value;

use crate::common::{Scratch, json_line, story};

/// Fingerprints of some numbers, a line each.
fn lines(numbers: impl Iterator<Item = u64>) -> String {
    numbers.map(|x| format!("{:016x}\n", x.wrapping_mul(0x9e37_79b9_7f4a_7c15))).collect()
}

/// Two overlapping inputs and all of both, as text and as indexes.
fn scene(options: &[&str]) -> Scratch {
    let scratch = Scratch::new();
    for (name, numbers) in [("a", 0..3000), ("b", 2000..5000), ("all", 0..5000)] {
        scratch.write(&format!("{name}.txt"), lines(numbers));
        let (input, index) = (format!("{name}.txt"), format!("{name}.hamdex"));
        scratch.output(&[&["build", &input, "-o", &index], options].concat());
    }
    scratch
}

fn same(scratch: &Scratch, a: &str, b: &str) -> bool {
    fs::read(scratch.path(a)).unwrap() == fs::read(scratch.path(b)).unwrap()
}

/// A refusal that leaves everything as it was.
fn refused(scratch: &Scratch, args: &[&str], code: i32, expected: &str) {
    let before = scratch.names();
    let (found, text) = scratch.failure(&[&["merge"], args].concat());
    assert!(text.contains(expected), "{args:?}: {text}");
    assert_eq!((found, scratch.names()), (code, before), "{args:?}: {text}");
}

#[test]
fn a_merged_file_is_the_file_of_a_build() {
    for options in [&["--design", "halves"][..], &["--design", "cover-5", "--codec", "elias-fano"]] {
        let scratch = scene(options);
        let json = scratch.output(&["merge", "a.hamdex", "b.hamdex", "-o", "merged.hamdex", "--json"]);
        assert!(same(&scratch, "merged.hamdex", "all.hamdex"), "{options:?}");
        let report: Value = serde_json::from_str(&json).unwrap();
        assert_eq!((&report["merged"], &report["read"]), (&Value::from(2), &Value::from(6000)));
        assert_eq!(report["fingerprints"], 5000);
        scratch.output(&["verify", "merged.hamdex"]);
        // Another shape, the same contents.
        let other = ["--design", "single", "--codec", "huffman", "--block-size", "1024", "-k", "2"];
        scratch.output(&[&["merge", "a.hamdex", "b.hamdex", "-o", "other.hamdex"], &other[..]].concat());
        scratch.output(&[&["build", "all.txt", "-o", "expected.hamdex"], &other[..]].concat());
        assert!(same(&scratch, "other.hamdex", "expected.hamdex"), "{options:?}");
        let piped = scratch.hamdex(&["merge", "a.hamdex", "b.hamdex", "-o", "-"]).assert().success();
        assert!(piped.get_output().stdout == fs::read(scratch.path("all.hamdex")).unwrap());
    }
}

#[test]
fn look_ups_are_made_anew() {
    let scratch = Scratch::new();
    scratch.write("a.txt", "00000000000000ff 1\n0000000000000fff 7\n");
    scratch.write("b.txt", "00000000000000ff 3\n");
    for (input, index) in
        [(&["a.txt"][..], "a.hamdex"), (&["b.txt"], "b.hamdex"), (&["a.txt", "b.txt"], "all.hamdex")]
    {
        scratch.output(&[&["build", "--ids", "pairs", "--lookups", "-o", index], input].concat());
    }
    scratch.output(&["merge", "a.hamdex", "b.hamdex", "-o", "merged.hamdex"]);
    assert!(same(&scratch, "merged.hamdex", "all.hamdex"));
}

#[test]
fn ids_of_all_inputs_are_united() {
    let scratch = Scratch::new();
    scratch.write("a.txt", "00000000000000ff 1\n00000000000000ff 7\n");
    scratch.write("b.txt", "00000000000000ff 7\n00000000000000ff 3\n0000000000000001 3\n");
    for name in ["a", "b"] {
        let (input, index) = (format!("{name}.txt"), format!("{name}.hamdex"));
        scratch.output(&["build", "--ids", "pairs", &input, "-o", &index]);
    }
    scratch.output(&["merge", "a.hamdex", "b.hamdex", "-o", "c.hamdex"]);
    assert_eq!(
        scratch.output(&["dump", "c.hamdex", "--fingerprints", "--ids"]),
        "0000000000000001\t3\n00000000000000ff\t1\n00000000000000ff\t3\n00000000000000ff\t7\n"
    );
}

#[test]
fn files_that_do_not_fit_each_other_are_refused() {
    let scratch = scene(&["--design", "halves"]);
    let build = |index: &str, options: &[&str]| {
        scratch.output(&[&["build", "a.txt", "-o", index], options].concat());
    };
    build("other-design.hamdex", &["--design", "single"]);
    build("other-codec.hamdex", &["--design", "halves", "--codec", "elias-fano"]);
    build("ids.hamdex", &["--design", "halves", "--ids", "row"]);
    scratch.write("wide.txt", "000000000000000000000000000000ff\n");
    scratch.output(&["build", "wide.txt", "-o", "wide.hamdex", "--width", "128"]);
    let with = |other: &'static str| ["a.hamdex", other, "-o", "out.hamdex"];
    refused(&scratch, &with("other-codec.hamdex"), 2, "choose one with --codec");
    refused(&scratch, &with("ids.hamdex"), 1, "ids.hamdex has ids, and a.hamdex has none");
    refused(
        &scratch,
        &with("wide.hamdex"),
        1,
        "a.hamdex holds fingerprints of 64 bits, and wide.hamdex of 128",
    );
    refused(&scratch, &with("missing.hamdex"), 1, "missing.hamdex: cannot read it");
    refused(&scratch, &with("a.txt"), 3, "a.txt: not a hamdex file");
    refused(&scratch, &["a.hamdex", "b.hamdex", "-k", "2", "-o", "out.hamdex"], 2, "--design");
    refused(&scratch, &[&["a.hamdex"; 257][..], &["-o", "out.hamdex"]].concat(), 2, "merge them in steps");
    scratch.output(&["merge", "a.hamdex", "other-design.hamdex", "-o", "d.hamdex", "--design", "halves"]);
    assert!(same(&scratch, "d.hamdex", "a.hamdex"));
}

#[test]
fn where_designs_differ_one_is_chosen_as_a_build_does() {
    let scratch = scene(&[]);
    scratch.output(&["build", "a.txt", "-o", "a.hamdex", "--design", "thirds", "--force"]);
    scratch.output(&["merge", "a.hamdex", "b.hamdex", "-o", "merged.hamdex"]);
    assert!(same(&scratch, "merged.hamdex", "all.hamdex"));
    // The greatest distance is that of the output.
    scratch.output(&["build", "a.txt", "-o", "a.hamdex", "-k", "5", "--force"]);
    scratch.output(&["build", "all.txt", "-o", "all.hamdex", "-k", "5", "--force"]);
    scratch.output(&["merge", "a.hamdex", "b.hamdex", "-o", "merged.hamdex", "--force"]);
    assert!(same(&scratch, "merged.hamdex", "all.hamdex"));
}

#[test]
fn damaged_and_newer_files_are_refused_and_leave_no_output() {
    let scratch = scene(&["--design", "halves"]);
    let whole = fs::read(scratch.path("b.hamdex")).unwrap();
    let with = |change: &dyn Fn(&mut Vec<u8>)| {
        let mut bytes = whole.clone();
        change(&mut bytes);
        scratch.write("b.hamdex", bytes);
    };
    let args = ["a.hamdex", "b.hamdex", "-o", "out.hamdex"];
    with(&|bytes| bytes[6000] ^= 1);
    refused(&scratch, &args, 3, "b.hamdex: damaged at table 0, block");
    with(&|bytes| bytes.truncate(9000));
    refused(&scratch, &args, 3, "b.hamdex: truncated");
    with(&|bytes| {
        bytes[8] = 200;
        let crc = crc(&bytes[..60]);
        bytes[60..64].copy_from_slice(&crc.to_le_bytes());
    });
    refused(&scratch, &args, 3, "b.hamdex: format version 200 is too new");
}

/// CRC-32/ISO-HDLC, bit by bit.
fn crc(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0, |crc, &byte| {
        (0..8).fold(crc ^ u32::from(byte), |crc, _| crc >> 1 ^ if crc & 1 == 1 { 0xedb8_8320 } else { 0 })
    })
}

/// Documents of these numbers, named so, as an index with names.
fn documents(scratch: &Scratch, index: &str, numbers: std::ops::Range<u64>, options: &[&str]) {
    let text: String = numbers.map(|i| json_line(&format!("name {i}"), &story(i))).collect();
    scratch.write("documents.jsonl", text);
    scratch.output(&[&["build", "--documents", "documents.jsonl", "-o", index], options].concat());
}

#[test]
fn documents_that_were_numbered_apart_are_merged_with_their_names() {
    let scratch = Scratch::new();
    documents(&scratch, "few.hamdex", 0..3, &[]);
    documents(&scratch, "more.hamdex", 2..5, &[]);
    documents(&scratch, "recipe.hamdex", 0..3, &["--recipe", "simhash-py", "--ids", "row"]);
    documents(&scratch, "rows.hamdex", 0..3, &["--ids", "row"]);
    scratch.output(&["merge", "few.hamdex", "more.hamdex", "-o", "out.hamdex"]);
    assert!(scratch.output(&["verify", "out.hamdex"]).ends_with("6 ids, 6 names\n"));
    for number in 0..5 {
        let found = scratch.output(&["query", "out.hamdex", "--text", &story(number)]);
        // One document is in both files.
        let expected = format!("\tname {number}{}\n", if number == 2 { ",name 2" } else { "" });
        assert!(found.ends_with(&expected), "{found}");
    }
    // One file alone keeps its numbers.
    scratch.output(&["merge", "few.hamdex", "-o", "copy.hamdex"]);
    assert!(same(&scratch, "copy.hamdex", "few.hamdex"));

    let with = |a: &'static str, b: &'static str| [a, b, "-o", "new.hamdex"];
    refused(&scratch, &with("rows.hamdex", "recipe.hamdex"), 1, "different recipes");
    refused(
        &scratch,
        &with("rows.hamdex", "few.hamdex"),
        1,
        "few.hamdex has names, and rows.hamdex has none",
    );
}
