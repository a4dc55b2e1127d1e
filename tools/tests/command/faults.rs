//! Every format of documents with every fault, in a folder beside a file that is whole, by every command that reads
//! documents: what cannot be read is named, and nothing is put in place as if it had been.

use std::fs;

use crate::common::{Scratch, json_line, story};
use crate::documents::{gzip, jsonl};

/// A fault: the bytes of a file with it, of those of a whole one.
type Fault = fn(&[u8]) -> Vec<u8>;

const FAULTS: [(&str, Fault); 6] = [
    ("empty", |_| Vec::new()),
    ("cut", |whole| whole[..whole.len() * 2 / 3].to_vec()),
    ("zero byte", |whole| {
        let (start, end) = whole.split_at(whole.len() / 2);
        [start, b"\0", end].concat()
    }),
    ("zeros", |whole| vec![0; whole.len()]),
    ("UTF-16", |whole| whole.iter().flat_map(|&byte| [byte, 0]).collect()),
    ("end", |whole| [whole, b"\x01more\xff\n"].concat()),
];

/// The outcome of a format with each fault, in the order of [`FAULTS`]: `r`, all that is there is read; `s`, a row is
/// skipped; `u`, the file cannot be read whole; `-`, no reader can tell.
const OUTCOMES: [(&str, &str); 10] = [
    ("jsonl", "rssuus"),
    ("json", "ruuuuu"),
    ("csv", "rrruur"),
    ("tsv", "rrruur"),
    ("jsonl.gz", "uuuuuu"),
    ("csv.zst", "uuuuuu"),
    ("parquet", "uuuuuu"),
    ("arrow", "uu-uuu"),
    ("warc", "ruuuuu"),
    ("mbox", "rrruur"),
];

/// A command, and the output that it puts in place.
const COMMANDS: [(&[&str], Option<&str>); 8] = [
    (&["dedup", "set"], None),
    (&["dedup", "set", "--unique", "-o", "out.jsonl"], Some("out.jsonl")),
    (&["dedup", "set", "--unique", "--output-dir", "out"], Some("out")),
    (&["dedup", "new.jsonl", "--against", "set", "-o", "out.csv"], Some("out.csv")),
    (&["fingerprint", "set"], None),
    (&["fingerprint", "set", "--parquet", "out.parquet"], Some("out.parquet")),
    (&["build", "--documents", "set", "-o", "out.hamdex"], Some("out.hamdex")),
    (&["store", "insert", "--documents", "in.store", "set"], None),
];

fn texts() -> Vec<String> {
    (1..5).map(story).collect()
}

fn rows(by: char) -> String {
    let rows = texts().iter().enumerate().map(|(id, text)| format!("{id}{by}{text}\n")).collect::<String>();
    format!("id{by}text\n{rows}")
}

fn archive() -> String {
    let record = |(id, text): (usize, String)| {
        let body = format!("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n{text}");
        let head = "WARC/1.0\r\nWARC-Type: response\r\nContent-Type: application/http; msgtype=response";
        let length = body.len();
        format!("{head}\r\nWARC-Target-URI: http://a/{id}\r\nContent-Length: {length}\r\n\r\n{body}\r\n\r\n")
    };
    texts().into_iter().enumerate().map(record).collect()
}

/// The bytes of a file of this format that is whole.
fn whole(scratch: &Scratch, format: &str) -> Vec<u8> {
    let lines: String =
        texts().iter().enumerate().map(|(id, text)| json_line(&id.to_string(), text)).collect();
    match format {
        "jsonl" => lines.into_bytes(),
        "json" => format!("[{}]\n", lines.trim_end().replace('\n', ",\n")).into_bytes(),
        "csv" => rows(',').into_bytes(),
        "tsv" => rows('\t').into_bytes(),
        "jsonl.gz" => gzip(&lines),
        "csv.zst" => zstd::encode_all(rows(',').as_bytes(), 3).unwrap(),
        "warc" => archive().into_bytes(),
        "mbox" => {
            let message = |(id, text): (usize, &String)| {
                format!(
                    "From a@b Mon Jan  1 00:00:0{id} 2024\nMessage-ID: <{id}@a>\nSubject: s\n\n{text}\n\n"
                )
            };
            texts().iter().enumerate().map(message).collect::<String>().into_bytes()
        }
        table => {
            let (input, output) = ("table.jsonl", format!("table.{table}"));
            scratch.write(input, lines);
            scratch.output(&["dedup", input, "--unique", "-o", &output]);
            let bytes = fs::read(scratch.path(&output)).unwrap();
            for name in [input, &output] {
                fs::remove_file(scratch.path(name)).unwrap();
            }
            bytes
        }
    }
}

fn run(scratch: &Scratch, args: &[&str]) -> (i32, String) {
    let output = scratch.hamdex(args).output().unwrap();
    (output.status.code().unwrap(), String::from_utf8(output.stderr).unwrap())
}

/// Runs a command, asserts its exit code, and returns its messages. Its output is in place or not.
fn check(
    scratch: &Scratch,
    args: &[&str],
    output: Option<&str>,
    code: i32,
    is_written: bool,
    case: &str,
) -> String {
    if args[0] == "store" {
        scratch.output(&["store", "create", "in.store", "--documents"]);
    }
    let before = scratch.names();
    let (found, messages) = run(scratch, args);
    assert_eq!(found, code, "{case}: {args:?}: {messages}");
    let Some(output) = output else {
        assert_eq!(scratch.names(), before, "{case}: {args:?}");
        let _ = fs::remove_dir_all(scratch.path("in.store"));
        return messages;
    };
    let path = scratch.path(output);
    assert_eq!(path.exists(), is_written, "{case}: {args:?}: {messages}");
    if path.is_dir() {
        fs::remove_dir_all(path).unwrap();
    } else if is_written {
        fs::remove_file(path).unwrap();
    }
    messages
}

#[test]
fn each_format_with_each_fault_is_read_or_named_by_each_command() {
    let scratch = Scratch::new();
    fs::create_dir(scratch.path("set")).unwrap();
    scratch.write("set/a.jsonl", json_line("a", &story(9)));
    scratch.write("new.jsonl", json_line("new", &story(8)));
    for (format, outcomes) in OUTCOMES {
        if cfg!(not(feature = "parquet")) && ["parquet", "arrow"].contains(&format) {
            continue;
        }
        let name = format!("b.{format}");
        let file = format!("set/{name}");
        let bytes = whole(&scratch, format);
        let faults = FAULTS
            .iter()
            .zip(outcomes.chars())
            .map(|((what, fault), outcome)| (*what, fault(&bytes), outcome));
        for (what, bytes, outcome) in [("nothing", bytes.clone(), 'r')].into_iter().chain(faults) {
            let case = format!("{format}, {what}");
            scratch.write(&file, bytes);
            for (args, output) in COMMANDS {
                let is_folder = output == Some("out");
                if outcome == '-' || is_folder && ["warc", "mbox"].contains(&format) {
                    continue;
                }
                // A copy that lacks a row says so; a result that lacks one does.
                let is_copy = args.contains(&"--unique");
                let is_unread = outcome == 'u';
                let code = i32::from(is_unread || outcome == 's' && is_copy);
                let messages = check(&scratch, args, output, code, !is_unread, &case);
                assert!(outcome == 'r' || messages.contains(&name), "{case}: {args:?}: {messages}");
                let accepted = [args, &["--skip-unreadable"]].concat();
                check(&scratch, &accepted, output, 0, true, &case);
            }
        }
        fs::remove_file(scratch.path(&file)).unwrap();
    }
}

/// A document of several fields in a row of each text format, or one that no format reads.
fn fields(format: &str) -> Vec<u8> {
    // In windows-1251.
    let byte = |letter: char| u32::from(letter).checked_sub(0x350).unwrap_or(u32::from(letter)) as u8;
    let cyrillic: Vec<u8> = "Привет, это письмо о погоде, с приветом из города".chars().map(byte).collect();
    let rows: String = texts().iter().map(|text| format!("{{\"id\": 1, \"body\": \"{text}\"}}\n")).collect();
    match format {
        "jsonl" => rows.into_bytes(),
        "json" => format!("[{}]", rows.trim_end().replace('\n', ",")).into_bytes(),
        "csv" => b"id,body\n1,some words\n".to_vec(),
        "tsv" => b"id\tbody\n1\tsome words\n".to_vec(),
        "state" => b"{\"version\": 1}".to_vec(),
        "packed" => {
            (0..400u32).map(|number| (number.wrapping_mul(2_654_435_761) >> 24) as u8 | 0x80).collect()
        }
        "mail" => [&b"From: a@b.c\nSubject: 2024\n\n"[..], &cyrillic].concat(),
        "text" => cyrillic,
        "metadata" => b"WARC/1.0\r\nWARC-Type: metadata\r\nContent-Length: 2\r\n\r\n{}\r\n\r\n".to_vec(),
        "old" => b"filedesc://x.arc 0.0.0.0 19960923142103 text/plain 76\n1 0 Alexa Internet\n".to_vec(),
        other => panic!("{other}"),
    }
}

/// Files without a text to read, between tables (`a.jsonl`) or texts (`a.txt`): the name, the contents, and whether the
/// file should hold documents next to each.
const WITHOUT_TEXT: [(&str, &str, [bool; 2]); 19] = [
    ("b.jsonl", "jsonl", [true, true]),
    ("b.json", "json", [true, true]),
    ("b.csv", "csv", [true, true]),
    ("b.tsv", "tsv", [true, true]),
    ("b.csv.Z", "packed", [true, true]),
    ("b.jsonl.snappy", "packed", [true, true]),
    ("b.jsonl.tmp", "jsonl", [true, false]),
    ("b.csv.tmp", "csv", [true, false]),
    ("part-b", "jsonl", [true, false]),
    ("part-b.000", "jsonl", [true, false]),
    ("b.eml", "mail", [false, true]),
    ("b.txt", "text", [false, true]),
    ("b.arc", "old", [true, true]),
    ("crawl", "old", [true, true]),
    ("b.wat", "metadata", [true, true]),
    ("state.json", "state", [false, false]),
    ("state", "state", [false, false]),
    ("b.jsonl.crc", "state", [false, false]),
    ("README.md", "csv", [false, false]),
];

#[test]
fn a_file_without_a_text_is_named_by_each_command_unless_it_need_not_hold_documents() {
    for (beside, number) in [("a.jsonl", 0), ("a.txt", 1)] {
        let scratch = Scratch::new();
        fs::create_dir(scratch.path("set")).unwrap();
        let words = (1..40).map(story).collect::<String>();
        scratch.write(&format!("set/{beside}"), if number == 0 { json_line("a", &words) } else { words });
        scratch.write("new.jsonl", json_line("new", &story(8)));
        for (name, contents, are_missed) in WITHOUT_TEXT {
            let file = format!("set/{name}");
            scratch.write(&file, fields(contents));
            for (args, output) in COMMANDS {
                if output == Some("out") && contents == "metadata" {
                    continue;
                }
                let case = format!("{name} next to {beside}");
                let is_missed = are_missed[number];
                let quiet = [args, &["--quiet"]].concat();
                let messages = check(&scratch, &quiet, output, i32::from(is_missed), !is_missed, &case);
                assert_eq!(messages.contains(&file), is_missed, "{case}: {args:?}: {messages}");
                let accepted = [args, &["--skip-unreadable"]].concat();
                check(&scratch, &accepted, output, 0, true, &case);
            }
            fs::remove_file(scratch.path(&file)).unwrap();
        }
    }
}

#[test]
fn each_of_several_text_fields_is_in_each_file() {
    let scratch = Scratch::new();
    fs::create_dir(scratch.path("set")).unwrap();
    let both =
        |id: &str, text: &str| format!("{{\"id\": \"{id}\", \"text\": \"{text}\", \"title\": \"x\"}}\n");
    scratch.write("set/a.jsonl", both("a", &story(9)));
    scratch.write("new.jsonl", both("new", &story(8)));
    for (name, bytes) in [
        ("b.jsonl", whole(&scratch, "jsonl")),
        ("b.json", whole(&scratch, "json")),
        ("b.csv", whole(&scratch, "csv")),
    ] {
        scratch.write(&format!("set/{name}"), bytes);
        for (args, output) in COMMANDS {
            let several = [args, &["--text-field", "text", "--text-field", "title"]].concat();
            let messages = check(&scratch, &several, output, 1, false, name);
            let expected = "no column is named \"title\" (--text-field); there are: id, text";
            assert!(messages.contains(expected), "{name}: {args:?}: {messages}");
            check(&scratch, &[&several[..], &["--skip-unreadable"]].concat(), output, 0, true, name);
        }
        fs::remove_file(scratch.path(&format!("set/{name}"))).unwrap();
    }
}

#[test]
fn one_file_that_is_empty_or_no_file_of_its_format_leaves_no_output() {
    let scratch = Scratch::new();
    for name in ["a.csv", "a.tsv", "a.jsonl", "a.json"] {
        scratch.write(name, "");
        for output in ["out.csv", "out.tsv", "out.jsonl", "out.parquet", "out.arrow"] {
            if cfg!(not(feature = "parquet")) && output.contains("ar") {
                continue;
            }
            scratch.output(&["dedup", name, "--unique", "-o", output]);
            // What is written is whole: it is read again.
            assert_eq!(scratch.output(&["fingerprint", output]), "", "{name}: {output}");
            fs::remove_file(scratch.path(output)).unwrap();
        }
    }
    for name in ["b.parquet", "b.arrow", "b.parquet.gz", "b.feather"] {
        scratch.write(name, "");
        for args in
            [&["dedup", name][..], &["dedup", name, "--unique", "-o", "out.jsonl"], &["fingerprint", name]]
        {
            let (code, text) = scratch.failure(args);
            assert!(
                code == 1 && text.contains(&format!("{name}: ")) && text.contains("it is empty"),
                "{text}"
            );
            assert!(!scratch.path("out.jsonl").exists());
        }
    }
}

#[test]
fn inputs_that_are_not_there_or_break_off_are_failures() {
    let scratch = Scratch::new();
    let packed = gzip(&jsonl().repeat(100));
    scratch.write("cut.jsonl.gz", &packed[..packed.len() / 2]);
    scratch.write("names.csv", "key,body\n1,2\n");
    let cases: [(&[&str], &str); 5] = [
        (&["missing.jsonl"], "missing.jsonl: cannot read it"),
        (&["cut.jsonl.gz"], "cut.jsonl.gz: cannot read it"),
        (&["names.csv"], "names.csv:1: no column is named \"text\" (--text-field); there are: key, body (if"),
        (&["names.csv", "--idf", "no.idf"], "no.idf: cannot read it"),
        (&["names.csv", "--id-field", "id"], "no column is named \"id\" (--id-field)"),
    ];
    for (args, expected) in cases {
        let (code, text) = scratch.failure(&[&["fingerprint"], args].concat());
        assert!(text.contains(expected), "{args:?}: {text}");
        assert_eq!(code, 1, "{args:?}");
    }
    let (code, text) = scratch.failure(&["fingerprint", "--recipe", "defualt", "names.csv"]);
    assert!(text.contains("no recipe is named \"defualt\""), "{text}");
    assert_eq!(code, 2);
}

#[test]
fn a_command_that_could_use_no_document_fails_and_leaves_nothing() {
    let scratch = Scratch::new();
    scratch.write("bad.jsonl", "not json\n{\"text\": null}\n");
    scratch.write("empty.jsonl", "");
    let commands: [&[&str]; 7] = [
        &["dedup"],
        &["dedup", "--unique", "--out", "out.jsonl"],
        &["dedup", "--out", "out.csv"],
        &["fingerprint"],
        &["fingerprint", "--parquet", "out.parquet"],
        &["idf", "-o", "out.idf"],
        &["build", "-o", "out.hamdex", "--documents"],
    ];
    for command in commands {
        let (code, text) = scratch.failure(&[command, &["--quiet", "bad.jsonl"]].concat());
        let expected = "hamdex: no document could be used: 2 skipped (1 malformed, 1 without a field)\n";
        assert_eq!((code, text.as_str()), (1, expected), "{command:?}");
        assert_eq!(scratch.names(), ["bad.jsonl", "empty.jsonl"], "{command:?}");
    }
    fs::create_dir(scratch.path("none")).unwrap();
    for command in commands {
        let (code, text) = scratch.failure(&[command, &["none"]].concat());
        let expected = "hamdex: no document was found: the inputs hold no file to read\n";
        assert_eq!((code, text.as_str()), (1, expected), "{command:?}");
    }
    assert_eq!(scratch.names(), ["bad.jsonl", "empty.jsonl", "none"]);
}

#[test]
fn a_shard_that_cannot_be_read_leaves_no_output() {
    let scratch = Scratch::new();
    fs::create_dir(scratch.path("set")).unwrap();
    scratch.write("set/a.jsonl", jsonl());
    scratch.write("set/b.jsonl.gz", &gzip(&jsonl())[..60]);
    scratch.write("new.jsonl", jsonl());
    let commands: [&[&str]; 7] = [
        &["dedup", "set"],
        &["dedup", "set", "--unique", "--out", "out.jsonl"],
        &["dedup", "set", "--out", "out.csv"],
        &["dedup", "new.jsonl", "--against", "set", "--unique", "--out", "out.jsonl"],
        &["fingerprint", "set", "--parquet", "out.parquet"],
        &["idf", "set", "-o", "out.idf"],
        &["build", "-o", "out.hamdex", "--documents", "set"],
    ];
    for command in commands {
        let (code, text) = scratch.failure(&[command, &["--quiet"]].concat());
        let expected = "hamdex: set/b.jsonl.gz cannot be read whole (--skip-unreadable leaves them out)\n";
        assert_eq!((code, text.as_str()), (1, expected), "{command:?}");
        assert_eq!(scratch.names(), ["new.jsonl", "set"], "{command:?}");
    }
    for command in commands {
        scratch.output(&[command, &["--skip-unreadable"]].concat());
        for name in scratch.names() {
            if name.starts_with("out.") {
                fs::remove_file(scratch.path(&name)).unwrap();
            }
        }
    }
}

#[test]
fn an_empty_result_is_a_result() {
    let scratch = Scratch::new();
    scratch.write("none.csv", "id,text\n");
    scratch.write("none.json", "[]");
    for name in ["none.csv", "none.json"] {
        assert_eq!(scratch.output(&["dedup", name]), "");
        assert_eq!(scratch.output(&["fingerprint", name]), "");
        scratch.output(&["build", "-o", "none.hamdex", "--force", "--documents", name]);
        assert_eq!(scratch.output(&["query", "none.hamdex", "0x0"]), "");
    }
    scratch.output(&["dedup", "none.csv", "--unique", "--out", "unique.csv"]);
    assert_eq!(fs::read_to_string(scratch.path("unique.csv")).unwrap(), "id,text\n");
}

#[test]
fn binary_files_are_no_documents_unless_a_format_is_given() {
    let scratch = Scratch::new();
    scratch.write("program", b"\x7fELF\x02\x01\x01\0\0\0\0\0 some words\n");
    scratch.write("bytes", format!("some\0 {}\n", story(1)));
    let latin: Vec<u8> = format!("\u{e4}\u{f6}\u{fc}\u{df} {}", "Gr\u{fc}\u{df}e ".repeat(20))
        .chars()
        .map(|c| c as u8)
        .collect();
    scratch.write("latin.txt", latin);
    for command in [&["dedup"][..], &["fingerprint"], &["build", "--documents", "-o", "x.hamdex"]] {
        let (code, text) = scratch.failure(&[command, &["program"]].concat());
        assert_eq!(code, 1, "{text}");
        assert!(text.contains("program: is an ELF executable; it holds no documents"), "{text}");
        let (code, text) = scratch.failure(&[command, &["bytes"]].concat());
        assert!(code == 1 && text.contains("bytes: not text"), "{text}");
        let (code, text) = scratch.failure(&[command, &["latin.txt"]].concat());
        assert!(
            code == 1 && text.contains("latin.txt: not UTF-8; name its encoding with --encoding"),
            "{text}"
        );
    }
    assert_eq!(scratch.names(), ["bytes", "latin.txt", "program"]);
    scratch.output(&["fingerprint", "latin.txt", "--encoding", "latin1"]);
    scratch.output(&["fingerprint", "bytes", "--format", "text"]);
    assert_eq!(scratch.failure(&["fingerprint", "latin.txt", "--encoding", "klingon"]).0, 2);
}

#[test]
fn problems_of_one_kind_are_one_line() {
    let scratch = Scratch::new();
    let mut lines = json_line("a", &story(1));
    for row in 0..40 {
        lines += if row % 2 == 0 { "{\"text\": 1\n" } else { "{\"id\": 3, \"text\": 7}\n" };
    }
    scratch.write("in.jsonl", lines);
    let output = scratch.hamdex(&["fingerprint", "in.jsonl"]).assert().success();
    let text = String::from_utf8(output.get_output().stderr.clone()).unwrap();
    let more = "; skipped; the same at 19 others, such as in.jsonl:4, in.jsonl:6";
    assert!(text.lines().next().unwrap().starts_with("hamdex: in.jsonl:2: not a JSON object"), "{text}");
    assert!(text.contains(more), "{text}");
    assert_eq!(text.lines().count(), 3, "{text}");
}
