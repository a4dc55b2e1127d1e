//! Sources of fingerprints: accepted and rejected inputs.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};

use crate::common::{LINES, Scratch, json_line, story, with_index};

/// The fingerprints in an index.
fn stored(scratch: &Scratch, index: &str) -> Vec<String> {
    scratch.output(&["dump", index, "--fingerprints"]).lines().map(str::to_owned).collect()
}

fn raw() -> Vec<u8> {
    LINES.lines().flat_map(|line| u64::from_str_radix(line, 16).unwrap().to_le_bytes()).collect()
}

#[test]
fn raw_numbers_are_taken_only_from_names_that_say_so_or_by_format() {
    let scratch = Scratch::new();
    for name in ["in.u64", "in.u64le", "in.bin", "in.raw"] {
        scratch.write(name, raw());
        scratch.output(&["build", "-o", &format!("{name}.hamdex"), name]);
        assert_eq!(stored(&scratch, &format!("{name}.hamdex")).len(), 4, "{name}");
    }
    scratch.write("in.dat", raw());
    for command in
        [&["build", "-o", "x.hamdex", "in.dat"][..], &["query", "in.bin.hamdex", "--file", "in.dat"]]
    {
        let (code, text) = scratch.failure(command);
        assert!(text.contains("in.dat: is binary") && text.contains("--format u64le"), "{text}");
        assert_eq!(code, 1);
    }
    scratch.output(&["build", "-o", "dat.hamdex", "--format", "u64le", "in.dat"]);
    assert_eq!(stored(&scratch, "dat.hamdex").len(), 4);

    let piped = scratch.hamdex(&["build", "-o", "x.hamdex"]).write_stdin(raw()).assert().code(1);
    let text = String::from_utf8_lossy(&piped.get_output().stderr).into_owned();
    assert!(
        text.starts_with("hamdex: standard input: is binary") && text.contains("--format u64le"),
        "{text}"
    );
    scratch.hamdex(&["build", "-o", "x.hamdex", "--format", "u64le"]).write_stdin(raw()).assert().success();
}

#[test]
fn files_of_other_kinds_are_refused_by_name_whatever_they_are_called() {
    let scratch = with_index(&[]);
    let index = std::fs::read(scratch.path("index.hamdex")).unwrap();
    let program = std::fs::read(assert_cmd::cargo::cargo_bin!("hamdex")).unwrap();
    let padded = |mark: &[u8]| [mark, &[0xee; 64][mark.len()..]].concat();
    let cases: [(&str, Vec<u8>); 5] = [
        ("a hamdex index", index),
        ("executable", program[..1 << 16].to_vec()),
        ("a ZIP archive", padded(b"PK\x03\x04")),
        ("a PNG picture", padded(b"\x89PNG\r\n\x1a\n")),
        ("lzip -dc", padded(b"LZIP\x01")),
    ];
    for (kind, bytes) in cases {
        for name in ["in.bin", "in"] {
            scratch.write(name, &bytes);
            for command in
                [&["build", "-o", "x.hamdex", name][..], &["query", "index.hamdex", "--file", name]]
            {
                let (code, text) = scratch.failure(command);
                assert!(text.contains(&format!("{name}: is ")) && text.contains(kind), "{kind}: {text}");
                assert_eq!(code, 1);
            }
        }
        assert!(!scratch.path("x.hamdex").exists());
    }
}

#[test]
fn a_raw_input_that_is_cut_off_is_refused() {
    let scratch = Scratch::new();
    scratch.write("in.u64", &raw()[..23]);
    let (code, text) = scratch.failure(&["build", "-o", "x.hamdex", "in.u64"]);
    assert!(text.contains("in.u64: its length of 23 bytes is no multiple of the 8 bytes"), "{text}");
    assert_eq!(code, 1);
    let piped = ["build", "-o", "x.hamdex", "--format", "u64le"];
    let piped = scratch.hamdex(&piped).write_stdin(&raw()[..23]).assert().code(1);
    let text = String::from_utf8_lossy(&piped.get_output().stderr).into_owned();
    assert!(text.contains("standard input (byte 16): it ends inside a record: 7 of 8 bytes"), "{text}");
    assert!(scratch.names() == ["in.u64"], "nothing is left");
}

#[test]
fn empty_files_of_formats_that_have_none_are_refused() {
    let scratch = Scratch::new();
    for name in ["a.npy", "a.parquet", "a.arrow", "a.csv.gz", "a.txt.zst"] {
        scratch.write(name, "");
        let (code, text) = scratch.failure(&["build", "-o", "a.hamdex", name]);
        assert!(code == 1 && text.contains(": is empty, and no ."), "{text}");
    }
    scratch.write("a.txt", "");
    scratch.output(&["build", "-o", "a.hamdex", "a.txt"]);
}

#[test]
fn fingerprints_of_another_width_are_called_so() {
    let scratch = Scratch::new();
    scratch.write("64.txt", "0123456789abcdef\n0000000000000010\n");
    scratch.write("128.txt", format!("{0}{0}\n{0}{0}\n", "0000000000000010"));
    scratch.output(&["build", "--width", "128", "-o", "wide.hamdex", "128.txt"]);
    let (_, text) = scratch.failure(&["query", "wide.hamdex", "--file", "64.txt"]);
    assert!(text.contains("64.txt: has fingerprints of 64 bits, and 128 are expected"), "{text}");
}

#[test]
fn blank_lines_are_skipped() {
    let scratch = Scratch::new();
    scratch.write("in.txt", "\n00000000000000ff\n\n \t\r\n00000000000001ff\n\n");
    scratch.output(&["build", "-o", "x.hamdex", "--ids", "row", "in.txt"]);
    assert_eq!(stored(&scratch, "x.hamdex").len(), 2);
    let found = scratch.output(&["query", "x.hamdex", "00000000000001ff", "-k", "0"]);
    assert!(found.ends_with("\t1\n"), "rows are fingerprints, not lines: {found}");
}

#[test]
fn negative_numbers_are_bit_patterns_wherever_they_come_from() {
    let scratch = Scratch::new();
    scratch.write("in.txt", "-1\n5\n-9223372036854775808\n");
    scratch.output(&["build", "-o", "text.hamdex", "in.txt"]);
    let expected = ["0000000000000005", "8000000000000000", "ffffffffffffffff"];
    assert_eq!(stored(&scratch, "text.hamdex"), expected);
    let numbers: Vec<u8> = [-1i64, 5, i64::MIN].iter().flat_map(|n| n.to_le_bytes()).collect();
    scratch.write("in.npy", super::build::npy("<i8", false, "(3,)", &numbers));
    scratch.output(&["build", "-o", "npy.hamdex", "in.npy"]);
    assert_eq!(stored(&scratch, "npy.hamdex"), expected);
    let by = |args: &[&str]| scratch.output(&[&["query", "npy.hamdex", "-k", "0"], args].concat());
    let found = "ffffffffffffffff\tffffffffffffffff\t0\n";
    assert_eq!(by(&["-1"]), found);
    assert_eq!(by(&["--", "-1"]), found);
    assert_eq!(by(&["--file", "in.txt", "--limit", "1"]).lines().next().unwrap(), found.trim_end());
    let (code, text) = scratch.failure(&["query", "npy.hamdex", "-9223372036854775809"]);
    assert!(text.contains("does not fit into 64 bits"), "{text}");
    assert_eq!(code, 2);
}

#[test]
fn the_format_holds_for_fingerprints_on_the_command_line() {
    let scratch = with_index(&[]);
    let query = |format: &str| {
        let found =
            scratch.output(&["query", "index.hamdex", "--format", format, "-k", "64", "0000000000000255"]);
        found.split('\t').next().unwrap().to_owned()
    };
    assert_eq!(query("auto"), "0000000000000255");
    assert_eq!(query("hex"), "0000000000000255");
    assert_eq!(query("decimal"), "00000000000000ff");
    let refused = scratch.failure(&["query", "index.hamdex", "--format", "hex", "255"]);
    assert!(refused.1.contains("expected 16 hexadecimal digits"), "{}", refused.1);
}

#[test]
fn ids_are_limited_and_counted_and_can_be_left_out() {
    let scratch = Scratch::new();
    scratch.write("in.txt", "00000000000000ff\n".repeat(1000));
    scratch.output(&["build", "-o", "x.hamdex", "--ids", "row", "in.txt"]);
    let query = |options: &[&str]| scratch.output(&[&["query", "x.hamdex", "0xff"], options].concat());
    let match_alone = "00000000000000ff\t00000000000000ff\t0";
    assert_eq!(query(&["--ids-limit", "3"]), format!("{match_alone}\t0,1,2,+997\n"));
    assert!(query(&["--ids-limit", "3", "--json"]).contains("\"ids\":[0,1,2],\"ids_count\":1000}"));
    assert_eq!(query(&[]), format!("{match_alone}\t0,1,2,3,4,5,6,7,8,9,+990\n"));
    assert_eq!(
        query(&["--each"]),
        format!("00000000000000ff\t1\t00000000000000ff\t0\t0,1,2,3,4,5,6,7,8,9,+990\n")
    );
    assert_eq!(query(&["--ids-limit", "0"]), format!("{match_alone}\t+1000\n"));
    let all = query(&["--ids-limit", "all", "--limit", "1"]);
    assert!(all.ends_with(",998,999\n") && all.split(',').count() == 1000);
    assert!(!query(&["--ids-limit", "1000", "--json"]).contains("ids_count"));
    assert_eq!(query(&["--no-ids"]), format!("{match_alone}\n"));
    assert!(!query(&["--no-ids", "--json"]).contains("ids"));
}

#[test]
fn arrays_of_other_types_are_refused_with_the_way_to_convert_them() {
    let scratch = Scratch::new();
    let cases: [(&str, &str, usize, &str); 6] = [
        ("<f8", "(2,)", 16, "floating-point numbers have lost bits"),
        ("|b1", "(2, 64)", 128, "numpy.packbits(a, axis=1).view('>u8').ravel()"),
        ("<i8", "(2, 64)", 1024, "numpy.packbits(a, axis=1).view('>u8').ravel()"),
        ("|u1", "(2, 8)", 16, ".view('>u8').ravel()"),
        ("<U16", "(2,)", 128, "int(x, 16) for x in a"),
        ("<u4", "(2,)", 8, "dtype='uint64'"),
    ];
    for (descr, shape, bytes, advice) in cases {
        scratch.write("in.npy", super::build::npy(descr, false, shape, &vec![0; bytes]));
        let (code, text) = scratch.failure(&["build", "-o", "x.hamdex", "in.npy"]);
        assert!(text.contains(advice), "{descr} {shape}: {text}");
        assert_eq!(code, 1);
    }
}

#[test]
fn headers_of_arrays_cannot_take_memory_or_stack() {
    let scratch = Scratch::new();
    let mut long = b"\x93NUMPY\x02\x00".to_vec();
    long.extend(u32::MAX.to_le_bytes());
    long.extend([b' '; 100]);
    scratch.write("long.npy", long);
    let mut deep = b"\x93NUMPY\x01\x00".to_vec();
    deep.extend(60_000u16.to_le_bytes());
    deep.extend([b'('; 60_000]);
    scratch.write("deep.npy", deep);
    let mut hidden = b"\x93NUMPY\x01\x00".to_vec();
    hidden.extend(60_000u16.to_le_bytes());
    hidden.extend(b"(')',".repeat(12_000));
    scratch.write("hidden.npy", hidden);
    scratch.write("hex.npy", super::build::npy("<u8", false, "(0xffffffffffffffff, 2)", &[0; 16]));
    scratch.write("huge.npy", super::build::npy("<u8", false, "(4294967296, 4294967296, 2)", &[0; 16]));
    for name in ["long.npy", "deep.npy", "hidden.npy", "hex.npy", "huge.npy"] {
        let (code, text) = scratch.failure(&["build", "-o", "x.hamdex", name]);
        assert!(text.contains(&format!("{name}: not a .npy file: its ")), "{text}");
        assert_eq!(code, 1);
    }
}

/// A query that reads a pipe which stays open.
fn waiting_query(scratch: &Scratch, options: &[&str]) -> Child {
    Command::new(assert_cmd::cargo::cargo_bin!("hamdex"))
        .args([&["query", "index.hamdex", "-k", "0"], options].concat())
        .current_dir(scratch.path(""))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

#[test]
fn who_waits_for_an_answer_gets_it_whatever_the_first_line_is() {
    let scratch = with_index(&[]);
    for (first, second) in
        [("00000000000000ff", "ffffffffffffffff"), ("255", "-1"), ("0xff", "0xffffffffffffffff")]
    {
        for options in [&[][..], &["--file", "-"]] {
            let mut child = waiting_query(&scratch, options);
            let mut input = child.stdin.take().unwrap();
            let mut output = BufReader::new(child.stdout.take().unwrap());
            // A blank line and half a line decide nothing yet.
            let (start, rest) = first.split_at(2);
            write!(input, "\n{start}").unwrap();
            writeln!(input, "{rest}").unwrap();
            let mut answer = String::new();
            output.read_line(&mut answer).unwrap();
            assert_eq!(answer, "00000000000000ff\t00000000000000ff\t0\n");
            writeln!(input, "{second}").unwrap();
            answer.clear();
            output.read_line(&mut answer).unwrap();
            assert_eq!(answer, "ffffffffffffffff\tffffffffffffffff\t0\n");
            drop(input);
            assert!(child.wait().unwrap().success());
        }
    }
}

#[test]
fn who_sends_rows_of_a_table_gets_each_answer_before_the_next() {
    let scratch = with_index(&[]);
    for (header, options) in [("id,fingerprint", &[][..]), ("fingerprint\tid", &["--format", "tsv"])] {
        let mut child = waiting_query(&scratch, options);
        let mut input = child.stdin.take().unwrap();
        let mut output = BufReader::new(child.stdout.take().unwrap());
        writeln!(input, "{header}").unwrap();
        for fingerprint in ["00000000000000ff", "ffffffffffffffff"] {
            let row =
                if options.is_empty() { format!("7,{fingerprint}") } else { format!("{fingerprint}\t7") };
            writeln!(input, "{row}").unwrap();
            let mut answer = String::new();
            output.read_line(&mut answer).unwrap();
            assert_eq!(answer, format!("7\t{fingerprint}\t0\n"));
        }
        drop(input);
        assert!(child.wait().unwrap().success());
    }
}

#[test]
fn what_fingerprint_writes_is_what_build_reads() {
    let scratch = Scratch::new();
    let story = crate::common::story;
    scratch.write(
        "in.jsonl",
        (0..5).map(|i| crate::common::json_line(&(10 + i).to_string(), &story(i))).collect::<String>(),
    );
    for width in ["64", "128"] {
        let args = ["fingerprint", "--width", width, "--parquet", "x.parquet", "--force", "in.jsonl"];
        scratch.output(&args);
        let built = ["build", "--width", width, "--force", "--ids", "pairs", "-o", "x.hamdex", "x.parquet"];
        scratch.output(&built);
        let printed = scratch.output(&["fingerprint", "--width", width, "in.jsonl"]);
        let mut expected: Vec<&str> = printed.lines().map(|line| line.split('\t').next().unwrap()).collect();
        expected.sort_unstable();
        assert_eq!(stored(&scratch, "x.hamdex"), expected, "{width}");
        let found = scratch.output(&["query", "x.hamdex", "--file", "x.parquet", "-k", "0"]);
        assert!(found.lines().next().unwrap().ends_with("\t0\t10"), "{found}");
        assert_eq!(found.lines().count(), 5);
    }
}

#[test]
fn fingerprints_are_read_from_columns_and_from_compressed_files() {
    let scratch = Scratch::new();
    scratch.write("in.csv", "id,fingerprint\n7,00000000000000ff\n8,abcdef0123456789\n");
    scratch.write("decimal.csv", "page,simhash\n7,1234567890123456\n8,-1\n");
    scratch.write("header", "\"fingerprint\"\tid\n0xff\t7\n0xabcdef0123456789\t8\n");
    scratch.write("bare.csv", "00000000000000ff,7\nabcdef0123456789,8\n");
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    gzip.write_all(&raw()).unwrap();
    scratch.write("in.u64.gz", gzip.finish().unwrap());
    scratch.write("lines", zstd::encode_all(LINES.as_bytes(), 1).unwrap());
    for input in ["in.csv", "header", "bare.csv"] {
        scratch.output(&["build", "--force", "--ids", "pairs", "-o", "x.hamdex", input]);
        assert_eq!(stored(&scratch, "x.hamdex"), ["00000000000000ff", "abcdef0123456789"], "{input}");
        assert!(scratch.output(&["query", "x.hamdex", "0xff"]).ends_with("\t7\n"), "{input}");
    }
    let fields = ["--fingerprint-field", "simhash", "--id-field", "page"];
    let built = ["build", "--force", "--ids", "pairs", "-o", "x.hamdex", "decimal.csv"];
    scratch.output(&[&built[..], &fields].concat());
    assert_eq!(stored(&scratch, "x.hamdex"), ["000462d53c8abac0", "ffffffffffffffff"]);
    for input in ["in.u64.gz", "lines"] {
        scratch.output(&["build", "--force", "-o", "x.hamdex", input]);
        assert_eq!(stored(&scratch, "x.hamdex").len(), 4, "{input}");
    }
}

#[test]
fn columns_that_hold_no_fingerprints_are_refused_with_their_place() {
    let scratch = Scratch::new();
    scratch.write("other.csv", "id,simhash\n7,00000000000000ff\n");
    scratch.write("word.csv", "id,fingerprint\n7,00000000000000ff\n8,xyz\n");
    scratch.write("mixed.csv", "id,fingerprint\n7,00000000000000ff\n8,17\n");
    scratch.write("id.csv", "id,fingerprint\nseven,00000000000000ff\n");
    scratch.write("no.parquet", "PAR1 and then nothing of the kind");
    let cases = [
        ("other.csv", "no column is named \"fingerprint\" (--fingerprint-field); there are: id, simhash"),
        ("word.csv", "word.csv:3: expected 16 hexadecimal digits"),
        ("mixed.csv", "mixed.csv:3: \"00000000000000ff\" looks hexadecimal and \"17\" decimal"),
        ("id.csv", "id.csv:2: expected a decimal id; found \"seven\""),
        ("no.parquet", "no.parquet: not a Parquet file"),
    ];
    for (input, expected) in cases {
        let (code, text) = scratch.failure(&["build", "--ids", "pairs", "-o", "x.hamdex", input]);
        assert!(text.contains(expected), "{input}: {text}");
        assert_eq!(code, 1, "{input}");
    }
    assert!(!scratch.path("x.hamdex").exists());
}

#[test]
fn a_line_that_contradicts_those_before_it_is_an_error_with_its_number() {
    let scratch = with_index(&[]);
    let decimal = "\"17\" looks decimal, but what comes before it was read as hexadecimal";
    let hex = "\"00000000000000ff\" looks hexadecimal, but what comes before it was read as decimal";
    for (first, last, expected) in [
        ("00000000000000ff", "17", decimal),
        ("1234567890123456", "17", decimal),
        ("12345", "00000000000000ff", hex),
    ] {
        // More lines than decide on the notation.
        scratch.write("many.txt", format!("{}{last}\n", format!("{first}\n").repeat(20_000)));
        scratch.write("many.csv", format!("fingerprint\n{}{last}\n", format!("{first}\n").repeat(20_000)));
        let lines = ("many.txt", "many.txt:20001: ", "; choose one with --format");
        let column = ("many.csv", "many.csv:20002: ", "; write the whole column in one notation");
        for (name, place, advice) in [lines, column] {
            let (code, text) = scratch.failure(&["build", "-o", "x.hamdex", name]);
            assert!(text.contains(place) && text.contains(&format!("{expected}{advice}")), "{text}");
            assert_eq!(code, 1);
        }
        // Of a pipe, the first line decides: its sender waits for the answer.
        let mut child = waiting_query(&scratch, &[]);
        let mut input = child.stdin.take().unwrap();
        writeln!(input, "00000000000000ff").unwrap();
        let mut answer = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut answer).unwrap();
        assert_eq!(answer, "00000000000000ff\t00000000000000ff\t0\n");
        writeln!(input, "17").unwrap();
        drop(input);
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(1));
        let text = String::from_utf8(output.stderr).unwrap();
        assert!(text.starts_with("hamdex: standard input:2: ") && text.contains(decimal), "{text}");
    }
    assert!(!scratch.path("x.hamdex").exists());
    // An explicit notation is not called into question.
    scratch.write("hex.txt", "00000000000000ff\n17\n");
    let (_, text) = scratch.failure(&["build", "-o", "x.hamdex", "--format", "hex", "hex.txt"]);
    assert!(text.contains("hex.txt:2: expected 16 hexadecimal digits"), "{text}");
}

/// One option names the format in every command; `--documents` and `--fingerprints` say how the inputs are read.
#[test]
fn a_format_is_named_by_one_option_everywhere() {
    let scratch = Scratch::new();
    // By its ending, it is one document.
    let lines: String = (0..20)
        .map(|number| crate::common::json_line(&number.to_string(), &crate::common::story(number)))
        .collect();
    scratch.write("in.txt", lines);
    scratch.write("hashes.txt", LINES);
    let reading = [
        &["build", "--quiet", "-o", "x.hamdex"][..],
        &["store", "insert", "x.store"],
        &["query", "known.hamdex", "--json", "--file"],
    ];
    scratch.output(&["build", "-o", "known.hamdex", "--documents", "--format", "jsonl", "in.txt"]);
    for command in reading {
        let of = |options: &[&str]| {
            std::fs::remove_file(scratch.path("x.hamdex")).ok();
            std::fs::remove_dir_all(scratch.path("x.store")).ok();
            scratch.output(&["store", "create", "--quiet", "x.store", "--documents"]);
            [command, &["in.txt"], options].concat().into_iter().map(str::to_owned).collect::<Vec<_>>()
        };
        let shape = |options: &[&str]| {
            let args = of(options);
            let printed = scratch.output(&args.iter().map(String::as_str).collect::<Vec<_>>());
            let index = std::fs::read(scratch.path("x.hamdex")).ok();
            let store = scratch.output(&["dump", "x.store", "--fingerprints"]);
            (if command[0] == "query" { printed } else { String::new() }, index, store)
        };
        let expected = shape(&["--documents=jsonl"]);
        assert_eq!(shape(&["--documents", "--format", "jsonl"]), expected, "{command:?}");
        assert_eq!(shape(&["--documents=jsonl", "--format", "jsonl"]), expected, "{command:?}");
        assert_ne!(shape(&["--documents"]), expected, "{command:?}");
        for (options, message) in [
            (&["--documents=jsonl", "--format", "csv"][..], "two formats are given, csv and jsonl"),
            (&["--documents", "--format", "hex"], "--format hex is for fingerprints"),
        ] {
            let args = of(options);
            let (code, text) = scratch.failure(&args.iter().map(String::as_str).collect::<Vec<_>>());
            assert!(code == 2 && text.contains(message), "{command:?} {options:?}: {code} {text}");
        }
    }
    let (code, text) = scratch.failure(&["build", "-o", "y.hamdex", "--format", "jsonl", "in.txt"]);
    assert!(
        code == 2 && text.contains("--format jsonl is for documents") && !scratch.path("y.hamdex").exists(),
        "{text}"
    );
    let dedup = |options: &[&str]| scratch.output(&[&["dedup", "hashes.txt"][..], options].concat());
    assert_eq!(dedup(&["--fingerprints", "--format", "hex"]), dedup(&["--fingerprints=hex"]));
    let (code, text) = scratch.failure(&["dedup", "--fingerprints", "--format", "jsonl", "hashes.txt"]);
    assert!(code == 2 && text.contains("--format jsonl is for documents"), "{text}");
}

/// Compressed lists in two members, of which the second is damaged at its start, so that it looks like other bytes.
#[test]
fn rows_behind_a_damaged_member_are_not_lost_in_silence() {
    let scratch = Scratch::new();
    let packed = |text: &str| {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        encoder.write_all(text.as_bytes()).unwrap();
        encoder.finish().unwrap()
    };
    let parts = |name: &str| -> (String, String) {
        let (first, second) = LINES.split_at(2 * 17);
        if name.contains("csv") {
            let rows = |text: &str| text.lines().map(|line| format!("{line},x\n")).collect::<String>();
            (format!("fingerprint,id\n{}", rows(first)), rows(second))
        } else {
            (first.to_owned(), second.to_owned())
        }
    };
    for name in ["two.txt.gz", "two.csv.gz"] {
        let (first, second) = parts(name);
        for damage in ["none", "mark", "junk"] {
            let mut rest = packed(&second);
            match damage {
                "mark" => rest[1] ^= 1,
                "junk" => rest.extend(b"other bytes"),
                _ => {}
            }
            scratch.write(name, [packed(&first), rest].concat());
            for command in [
                &["build", "-o", "x.hamdex", name][..],
                &["store", "insert", "x.store", name],
                &["query", "known.hamdex", "--file", name],
                &["dedup", "--fingerprints", name],
                &["dedup", "--fingerprints", "--unique", "-o", "x.csv", name],
            ] {
                for left in ["x.hamdex", "x.csv"] {
                    std::fs::remove_file(scratch.path(left)).ok();
                }
                std::fs::remove_dir_all(scratch.path("x.store")).ok();
                scratch.output(&["store", "create", "--quiet", "x.store", "--ids", "none"]);
                if !scratch.path("known.hamdex").exists() {
                    scratch.write("known.txt", LINES);
                    scratch.output(&["build", "--quiet", "-o", "known.hamdex", "known.txt"]);
                }
                if damage == "none" {
                    scratch.output(command);
                    continue;
                }
                let (code, text) = scratch.failure(command);
                assert!(code == 1 && text.contains(name), "{command:?} {damage}: {code} {text}");
                assert!(
                    text.contains("other data follows the compressed data"),
                    "{command:?} {damage}: {text}"
                );
                assert!(!scratch.path("x.hamdex").exists() && !scratch.path("x.csv").exists(), "{command:?}");
            }
        }
    }
}

/// A list is no duplicate of itself under another name.
#[test]
fn a_list_of_fingerprints_is_read_once() {
    let scratch = Scratch::new();
    let lines: String =
        LINES.lines().zip(0..).map(|(line, number)| format!("{line}\tname{number}\n")).collect();
    scratch.write("c.txt", lines);
    std::fs::hard_link(scratch.path("c.txt"), scratch.path("other.txt")).unwrap();
    let alone = scratch.output(&["dedup", "--fingerprints", "-k", "0", "c.txt", "--print", "duplicates"]);
    for others in [&["c.txt"][..], &["./c.txt"], &["other.txt"], &["other.txt", "c.txt"]] {
        let args =
            [&["dedup", "--fingerprints", "-k", "0", "--print", "duplicates", "c.txt"], others].concat();
        let output = scratch.hamdex(&args).assert().success().get_output().clone();
        assert_eq!(String::from_utf8(output.stdout).unwrap(), alone, "{others:?}");
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(said.contains("named more than once, and read once"), "{others:?}: {said}");
    }
}

/// The rest of a line that is cut off would pass for an id, a name or a fingerprint.
#[test]
fn a_line_that_is_too_long_is_refused_whole() {
    let scratch = Scratch::new();
    scratch.output(&["store", "create", "ids.store"]);
    scratch.write("pairs.txt", "00000000000000ff 123456\n00000000000001ff 7890\n");
    scratch.output(&["store", "insert", "ids.store", "pairs.txt"]);
    scratch.output(&["store", "create", "names.store", "--ids", "names"]);
    scratch.write("names.txt", "00000000000000ff\tx\n");
    scratch.output(&["store", "insert", "names.store", "names.txt"]);
    scratch.output(&["build", "-o", "known.hamdex", "--ids", "names", "names.txt"]);

    let (id, number, name) = (256, 1024, 1 << 20);
    let blanks = |count: usize| " ".repeat(count);
    let cases: [(&[&str], usize, String); 8] = [
        (&["store", "remove", "ids.store", "--ids", "only"], id, blanks(id - 6) + "1234567890\n"),
        (&["store", "remove", "ids.store", "--ids", "only"], id, blanks(id) + "\n7890\n"),
        (&["store", "remove", "ids.store"], number, blanks(number) + "00000000000000ff 123456\n"),
        (&["store", "remove", "ids.store"], number, "\t".to_owned() + &blanks(number) + "7\n"),
        (&["store", "remove", "ids.store"], number, "\u{feff}".to_owned() + &blanks(number) + "\n"),
        (&["store", "remove", "names.store"], name, "y".repeat(name) + "x\n"),
        (
            &["query", "known.hamdex", "--format", "hex", "--file"],
            name,
            "\t".to_owned() + &"y".repeat(name) + "\n",
        ),
        (&["fingerprint", "--features"], name, "y".repeat(name) + "\n"),
    ];
    for (command, limit, line) in cases {
        let is_marked = line.starts_with('\u{feff}');
        let first = if is_marked { "" } else { "\n" };
        scratch.write("long.txt", first.to_owned() + &line);
        let (code, text) = scratch.failure(&[command, &["long.txt"]].concat());
        let place =
            format!("long.txt:{}: the line is longer than {limit} bytes", if is_marked { 1 } else { 2 });
        assert!(code == 1 && text.contains(&place), "{command:?}: {code} {text}");
    }
    let stored = |store: &str| scratch.output(&["dump", store, "--fingerprints"]).lines().count();
    assert_eq!((stored("ids.store"), stored("names.store")), (2, 1));

    // A line of as many bytes as there may be, with its end.
    scratch.write("long.txt", blanks(id - 7) + "123456\n" + &blanks(id - 4) + "7890");
    scratch.output(&["store", "remove", "ids.store", "--ids", "only", "long.txt"]);
    scratch.write("long.txt", format!("{}x\0x\0", "y".repeat(name)));
    let (_, text) = scratch.failure(&["store", "remove", "names.store", "-0", "long.txt"]);
    assert!(text.contains("long.txt:1: the name is longer"), "{text}");
    assert_eq!((stored("ids.store"), stored("names.store")), (0, 1));
}

#[test]
fn a_byte_order_mark_is_no_part_of_a_first_line() {
    let scratch = Scratch::new();
    let stored = |store: &str| scratch.output(&["dump", store, "--fingerprints", "--ids"]);
    let lines = "00000000000000ff\tone\n00000000000001ff\ttwo\n00000000000003ff\t\u{feff}three\n";
    scratch.write("named.txt", lines);
    scratch.output(&["store", "create", "names.store", "--ids", "names"]);
    scratch.output(&["store", "insert", "names.store", "named.txt"]);
    scratch.write("marked.txt", "\u{feff}one\ntwo\n");
    scratch.output(&["store", "remove", "names.store", "marked.txt"]);
    assert_eq!(stored("names.store").lines().count(), 1);
    // Names that begin with one are in quotes, and between zero bytes they are as they are.
    let three = "00000000000003ff\t\u{feff}three\n";
    scratch.write("three.txt", three.to_owned() + three);
    let print = |options: &[&str]| {
        scratch
            .output(&[&["dedup", "--fingerprints", "three.txt", "--print", "duplicates"], options].concat())
    };
    assert_eq!((print(&[]), print(&["-0"])), ("\"\u{feff}three\"\n".into(), "\u{feff}three\0".into()));
    for options in [&[][..], &["-0"]] {
        scratch.write("printed.txt", print(options));
        scratch.output(&[&["store", "remove", "names.store", "printed.txt"], options].concat());
        assert_eq!(stored("names.store"), "", "{options:?}");
        scratch.write("three.txt", three);
        scratch.output(&["store", "insert", "names.store", "three.txt"]);
        scratch.write("three.txt", three.to_owned() + three);
    }

    scratch.output(&["store", "create", "ids.store"]);
    scratch.write("pairs.txt", "\u{feff}00000000000000ff 17\n");
    scratch.output(&["store", "insert", "ids.store", "pairs.txt"]);
    scratch.write("ids.txt", "\u{feff}17\n");
    scratch.output(&["store", "remove", "ids.store", "--ids", "only", "ids.txt"]);
    assert_eq!(stored("ids.store"), "");

    let text = json_line("a", &story(1));
    scratch.write("in.jsonl", &text);
    scratch.write("list.txt", "\u{feff}in.jsonl\n");
    assert_eq!(
        scratch.output(&["fingerprint", "--files-from", "list.txt"]),
        scratch.output(&["fingerprint", "in.jsonl"])
    );
    let features = |mark: &str| {
        scratch.write("terms.tsv", format!("{mark}one\t2\ntwo\n"));
        scratch.output(&["fingerprint", "--features", "--recipe", "simhash-py", "terms.tsv"])
    };
    assert_eq!(features("\u{feff}"), features(""));
}
