//! Documents in: every format, and all that can be wrong with them, by `hamdex fingerprint`.

use std::fs;
use std::io::Write;

use crate::common::{Scratch, json_line, story};
use predicates::prelude::*;
use serde_json::{Value, json};

const IDS: [&str; 3] = ["a", "b/2", "17"];

fn texts() -> [String; 3] {
    // Quotes, commas and other scripts must come through every format.
    [story(1), format!("{}, \"quoted\" & <marked>", story(2)), format!("我们都知道这件事情。{}", story(3))]
}

pub(crate) fn jsonl() -> String {
    IDS.iter().zip(texts()).map(|(id, text)| json_line(id, &text)).collect()
}

fn separated(by: char) -> String {
    let quote = |text: &str| format!("\"{}\"", text.replace('"', "\"\""));
    let rows = IDS.iter().zip(texts()).map(|(id, text)| format!("x{by}{}{by}{id}\n", quote(&text)));
    format!("more{by}text{by}id\n{}", rows.collect::<String>())
}

pub(crate) fn gzip(bytes: &str) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(bytes.as_bytes()).unwrap();
    encoder.finish().unwrap()
}

/// Returns the standard error of a run that succeeds.
fn messages(scratch: &Scratch, args: &[&str]) -> String {
    let output = scratch.hamdex(args).assert().success();
    String::from_utf8(output.get_output().stderr.clone()).unwrap()
}

#[test]
fn every_format_gives_the_same_fingerprints() {
    let scratch = Scratch::new();
    scratch.write("in.jsonl", jsonl());
    let expected = scratch.output(&["fingerprint", "in.jsonl"]);
    assert_eq!(expected.lines().count(), 3);
    let lines: String = IDS.iter().zip(texts()).map(|(id, text)| format!("{id} {text}\n")).collect();
    scratch.write("in.train", &lines);
    scratch.write("dos.train", lines.replace('\n', "\r\n"));
    scratch.write(
        "tabs.train",
        IDS.iter().zip(texts()).map(|(id, text)| format!("{id}\t{text}\n")).collect::<String>(),
    );
    scratch.write("in.csv", separated(','));
    scratch.write("bom.csv", format!("\u{feff}{}", separated(',')));
    scratch.write("in.tsv", separated('\t'));
    scratch.write("number.jsonl", jsonl().replace("\"17\"", "17"));
    scratch.write("in.jsonl.gz", gzip(&jsonl()));
    scratch.write("in.csv.gz", gzip(&separated(',')));
    scratch.write("in.csv.zst", zstd::encode_all(separated(',').as_bytes(), 3).unwrap());
    for input in [
        "in.train",
        "dos.train",
        "tabs.train",
        "in.csv",
        "bom.csv",
        "in.tsv",
        "number.jsonl",
        "in.jsonl.gz",
        "in.csv.gz",
        "in.csv.zst",
    ] {
        let format = if input.ends_with("train") { "lines" } else { "auto" };
        assert_eq!(scratch.output(&["fingerprint", input, "--format", format]), expected, "{input}");
    }
    for (bytes, format) in [
        (jsonl().into_bytes(), "auto"),
        (gzip(&jsonl()), "auto"),
        (gzip(&separated(',')), "csv"),
        (separated(',').into_bytes(), "auto"),
        (separated('\t').into_bytes(), "auto"),
        (separated(';').into_bytes(), "auto"),
        (gzip(&separated('|')), "auto"),
        (separated('^').into_bytes(), "--delimiter=^"),
        (lines.into_bytes(), "auto"),
    ] {
        let option = if format.starts_with('-') { format.to_owned() } else { format!("--format={format}") };
        let mut command = scratch.hamdex(&["fingerprint", &option]);
        command.write_stdin(bytes).assert().success().stdout(expected.clone());
    }
}

#[cfg(feature = "parquet")]
#[test]
fn columns_give_the_same_fingerprints() {
    use std::sync::Arc;

    use arrow_array::{ArrayRef, LargeStringArray, RecordBatch, StringArray};

    let scratch = Scratch::new();
    scratch.write("in.jsonl", jsonl());
    let expected = scratch.output(&["fingerprint", "in.jsonl"]);
    scratch.output(&["dedup", "in.jsonl", "--unique", "--out", "in.parquet"]);
    assert_eq!(scratch.output(&["fingerprint", "in.parquet"]), expected);
    let bytes = fs::read(scratch.path("in.parquet")).unwrap();
    scratch.hamdex(&["fingerprint", "-"]).write_stdin(bytes).assert().success().stdout(expected.clone());

    let other: ArrayRef = Arc::new(StringArray::from(vec!["x"; 3]));
    let ids: ArrayRef = Arc::new(StringArray::from(IDS.to_vec()));
    let texts: ArrayRef = Arc::new(LargeStringArray::from(texts().to_vec()));
    let batch = RecordBatch::try_from_iter([("other", other), ("body", texts), ("key", ids)]).unwrap();
    let mut file = arrow_ipc::writer::FileWriter::try_new(Vec::new(), &batch.schema()).unwrap();
    file.write(&batch).unwrap();
    scratch.write("in.arrow", file.into_inner().unwrap());
    let mut stream = arrow_ipc::writer::StreamWriter::try_new(Vec::new(), &batch.schema()).unwrap();
    stream.write(&batch).unwrap();
    scratch.write("stream.arrow", stream.into_inner().unwrap());
    for input in ["in.arrow", "stream.arrow"] {
        let args = ["fingerprint", input, "--text-field", "body", "--id-field", "key"];
        assert_eq!(scratch.output(&args), expected, "{input}");
    }
    let (code, text) = scratch.failure(&["fingerprint", "in.arrow"]);
    assert!(
        text.contains("in.arrow: no column is named \"text\" (--text-field); there are: other, body, key"),
        "{text}"
    );
    assert_eq!(code, 1);
    let (_, text) = scratch.failure(&["fingerprint", "in.arrow", "--text-field", "body", "--id-field", "id"]);
    assert!(text.contains("in.arrow: no column is named \"id\" (--id-field)"), "{text}");
    let rows = scratch.output(&["fingerprint", "in.arrow", "--text-field", "body"]);
    let ids: Vec<&str> = rows.lines().filter_map(|line| line.split('\t').nth(1)).collect();
    assert_eq!(ids, ["0", "1", "2"]);

    scratch.output(&["fingerprint", "in.jsonl", "--parquet", "out.parquet"]);
    assert!(fs::read(scratch.path("out.parquet")).unwrap().starts_with(b"PAR1"));
    scratch.write("not.parquet", "PAR1 and no more");
    assert!(scratch.failure(&["fingerprint", "not.parquet"]).1.contains("not.parquet: not a Parquet file"));
}

#[test]
fn a_tree_is_read_in_the_order_of_its_paths_without_what_is_no_text() {
    let scratch = Scratch::new();
    for folder in ["tree", "tree/b", "tree/a"] {
        fs::create_dir(scratch.path(folder)).unwrap();
    }
    scratch.write("tree/z.txt", story(1));
    scratch.write("tree/b/page.html", format!("<html><script>{}</script><p>{}", story(7), story(2)));
    scratch.write("tree/a/packed.gz", gzip(&story(3)));
    scratch.write("tree/a/image", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR");
    let json = scratch.output(&["fingerprint", "tree", "--json"]);
    let ids: Vec<Value> =
        json.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()["id"].clone()).collect();
    assert_eq!(ids, ["tree/a/packed.gz", "tree/b/page.html", "tree/z.txt"]);
    assert!(messages(&scratch, &["fingerprint", "tree"]).contains("3 documents"));
    assert!(messages(&scratch, &["fingerprint", "tree"]).contains("1 skipped (1 binary)"));

    // The same texts without markup have the same fingerprints.
    scratch.write("plain.jsonl", [3, 2, 1].map(|number| json_line("x", &story(number))).concat());
    let values = |text: &str| -> Vec<String> {
        text.lines().map(|line| line.split('\t').next().unwrap().to_owned()).collect()
    };
    assert_eq!(
        values(&scratch.output(&["fingerprint", "tree"])),
        values(&scratch.output(&["fingerprint", "plain.jsonl"]))
    );
    // Every file in the given format.
    let lines = scratch.output(&["fingerprint", "tree", "--format", "text-lines"]);
    let ids: Vec<&str> = lines.lines().filter_map(|line| line.split('\t').nth(1)).collect();
    assert_eq!(ids, ["tree/a/packed.gz:1", "tree/b/page.html:1", "tree/z.txt:1"]);
    assert_eq!(scratch.output(&["fingerprint", "tree", "--include", "*.html"]).lines().count(), 1);
    assert_eq!(
        scratch.output(&["fingerprint", "tree", "--exclude", "a", "--exclude", "b"]).lines().count(),
        1
    );
    let (code, text) = scratch.failure(&["fingerprint", "tree", "--include", "a[b"]);
    assert!(text.contains("a[b"), "{text}");
    assert_eq!(code, 2);
}

#[test]
fn one_file_can_be_one_document() {
    let scratch = Scratch::new();
    scratch.write("two lines.txt", story(1).replacen(' ', "\n", 1));
    let text = scratch.output(&["fingerprint", "--format", "text", "two lines.txt"]);
    assert_eq!(text.lines().count(), 1);
    assert!(text.ends_with("\ttwo lines.txt\n"), "{text}");
}

#[test]
fn json_says_what_is_too_short() {
    let scratch = Scratch::new();
    scratch.write("in.jsonl", json_line("long", &story(1)) + &json_line("short", "Page not found"));
    let text = scratch.output(&["fingerprint", "--json", "in.jsonl"]);
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines[0]["id"], "long");
    assert_eq!(lines[0]["fingerprint"].as_str().unwrap().len(), 16);
    assert_eq!(lines[1], json!({ "id": "short", "fingerprint": null, "too_short_features": 3 }));
    let plain = scratch.output(&["fingerprint", "in.jsonl"]);
    assert!(plain.ends_with("\tlong\n") && plain.lines().count() == 1, "{plain}");
    let text = messages(&scratch, &["fingerprint", "in.jsonl"]);
    assert!(text.contains("\"short\" is too short for a fingerprint (3 features)"), "{text}");
    assert!(text.contains("1 too short"), "{text}");
}

#[test]
fn problems_are_reported_and_counted_and_the_rest_is_read() {
    let scratch = Scratch::new();
    let good = json_line("good", &story(1));
    scratch
        .write("in.jsonl", format!("{good}{{\"id\": 3\n{{\"id\":\"x\"}}\n{{\"text\":\"x\"}}\n[1]\n\n{good}"));
    let args = ["fingerprint", "in.jsonl", "--id-field", "id"];
    let text = scratch.output(&args);
    assert_eq!(text.lines().count(), 2);
    let text = messages(&scratch, &args);
    for expected in [
        "hamdex: in.jsonl:2: not a JSON object: EOF while parsing an object",
        "hamdex: in.jsonl:3: no string in the field \"text\" (--text-field); skipped",
        "hamdex: in.jsonl:4: no string or number in the field \"id\" (--id-field); skipped",
        "; skipped; the same at in.jsonl:5",
        "2 documents",
        "4 skipped (2 malformed, 2 without a field), 1 with the id of an earlier one",
    ] {
        assert!(text.contains(expected), "{expected}: {text}");
    }
    let (code, text) = scratch.failure(&["fingerprint", "--strict", "in.jsonl"]);
    assert!(text.contains("in.jsonl:2: not a JSON object"), "{text}");
    assert_eq!(code, 1);
}

#[test]
fn a_flood_of_complaints_ends() {
    let scratch = Scratch::new();
    scratch.write("in.jsonl", json_line("one", &story(1)) + &"nothing\n".repeat(1000));
    let text = messages(&scratch, &["fingerprint", "--format", "jsonl", "in.jsonl"]);
    assert!(text.lines().count() < 30, "{text}");
    assert!(text.contains("1,000 skipped (1,000 malformed)"), "{text}");
}

#[test]
fn invalid_utf8_is_replaced_and_counted_or_refused() {
    let scratch = Scratch::new();
    let broken = [b"a ", story(1).as_bytes(), b" caf\xe9\nb ", story(2).as_bytes(), b"\n"].concat();
    scratch.write("in.train", &broken);
    scratch.write("in.csv", [b"id,text\n".as_slice(), &broken].concat().replace_blanks());
    for (input, format) in [("in.train", "lines"), ("in.csv", "auto")] {
        let args = ["fingerprint", "--format", format, input];
        assert_eq!(scratch.output(&args).lines().count(), 2, "{input}");
        let text = messages(&scratch, &args);
        assert!(text.contains("invalid UTF-8; replaced") && text.contains("1 with invalid UTF-8"), "{text}");
        let (code, text) = scratch.failure(&[&args[..], &["--strict"]].concat());
        assert!(text.contains(&format!("{input}:")) && text.contains("invalid UTF-8"), "{text}");
        assert_eq!(code, 1);
    }
}

trait ReplaceBlanks {
    fn replace_blanks(self) -> Self;
}

impl ReplaceBlanks for Vec<u8> {
    /// The first blank of each line becomes a comma.
    fn replace_blanks(self) -> Self {
        let lines = self.split_inclusive(|&byte| byte == b'\n').map(|line| {
            let mut line = line.to_vec();
            if let Some(at) = line.iter().position(|&byte| byte == b' ') {
                line[at] = b',';
            }
            line
        });
        lines.collect::<Vec<_>>().concat()
    }
}

#[test]
fn what_is_too_long_is_passed_over() {
    let scratch = Scratch::new();
    let long = "long ".repeat(100_000);
    scratch.write("in.train", format!("a {}\nb {long}\nc {}\n", story(1), story(2)));
    scratch.write("in.csv", format!("id,text\na,{}\nb,{long}\nc,{}\n", story(1), story(2)));
    fs::create_dir(scratch.path("tree")).unwrap();
    for (name, text) in [("a", &story(1)), ("b", &long), ("c", &story(2))] {
        scratch.write(&format!("tree/{name}"), text);
    }
    for (input, format, place) in
        [("in.train", "lines", "in.train:2"), ("in.csv", "auto", "in.csv:3"), ("tree", "auto", "tree/b")]
    {
        let args = ["fingerprint", "--max-document", "100KiB", "--format", format, input];
        let ids: Vec<String> =
            scratch.output(&args).lines().map(|line| line.split('\t').next().unwrap().to_owned()).collect();
        assert_eq!(ids.len(), 2, "{input}");
        let text = messages(&scratch, &args);
        assert!(
            text.contains(&format!("hamdex: {place}: the ")) && text.contains("--max-document"),
            "{text}"
        );
        assert!(text.contains("1 skipped (1 too long)"), "{text}");
    }
}

#[test]
fn a_line_of_a_hundred_megabytes_takes_no_memory() {
    let scratch = Scratch::new();
    let path = scratch.path("in.train");
    let mut file = std::io::BufWriter::new(fs::File::create(&path).unwrap());
    writeln!(file, "a {}", story(1)).unwrap();
    write!(file, "b ").unwrap();
    (0..100).for_each(|_| file.write_all(&[b'x'; 1 << 20]).unwrap());
    writeln!(file, "\nc {}", story(2)).unwrap();
    file.into_inner().unwrap();
    let args = ["fingerprint", "in.train", "--format", "lines", "--max-document", "1MiB"];
    assert_eq!(scratch.output(&args).lines().count(), 2);
    assert!(
        messages(&scratch, &args)
            .contains("in.train:2: the line is longer than 1.0 MiB (--max-document); skipped")
    );
}

#[test]
fn documents_without_text_are_counted() {
    let scratch = Scratch::new();
    scratch.write("in.train", format!("a\nb  \nc {}\n", story(1)));
    let said = messages(&scratch, &["fingerprint", "--format", "lines", "in.train"]);
    assert!(said.contains("3 documents") && said.contains("2 too short, 2 without text"), "{said}");
}

#[test]
fn recipe_and_width_are_chosen() {
    let scratch = Scratch::new();
    scratch.write("in.jsonl", jsonl());
    let narrow = scratch.output(&["fingerprint", "in.jsonl"]);
    let wide = scratch.output(&["fingerprint", "in.jsonl", "--width", "128"]);
    let value = |text: &str| text.lines().next().unwrap().split('\t').next().unwrap().to_owned();
    assert_eq!((value(&narrow).len(), value(&wide).len()), (16, 32));
    assert_ne!(scratch.output(&["fingerprint", "in.jsonl", "--recipe", "default hash=xxh3:1"]), narrow);
    scratch.write("stop.txt", story(1).split(' ').take(60).collect::<Vec<_>>().join("\n"));
    assert_ne!(
        value(&scratch.output(&["fingerprint", "in.jsonl", "--stop-words", "stop.txt"])),
        value(&narrow)
    );
}

#[test]
fn a_dictionary_is_built_and_used() {
    let scratch = Scratch::new();
    scratch.write("in.train", "1 the hen\n2 the fox\n3 the fox and the hen\n4 the dog\n");
    scratch
        .hamdex(&["idf", "--format", "lines", "in.train", "-o", "words.idf"])
        .assert()
        .success()
        .stderr(predicate::str::contains("5 words"));
    let dictionary = fs::read_to_string(scratch.path("words.idf")).unwrap();
    let words: Vec<&str> = dictionary.lines().map(|line| line.split(' ').next().unwrap()).collect();
    assert_eq!(words, ["and", "dog", "fox", "hen", "the"]);
    assert!(dictionary.ends_with("the 0\n"), "{dictionary}");

    scratch.write("in.jsonl", jsonl());
    scratch.output(&["idf", "in.jsonl", "-o", "in.idf"]);
    let plain = scratch.output(&["fingerprint", "in.jsonl"]);
    assert_ne!(scratch.output(&["fingerprint", "in.jsonl", "--idf", "words.idf"]), "");
    assert_ne!(scratch.output(&["fingerprint", "in.jsonl", "--idf", "in.idf"]), plain);
}

#[test]
fn more_text_fields_than_a_document_has_are_refused() {
    let scratch = Scratch::new();
    scratch.write("in.jsonl", jsonl());
    let fields: Vec<String> = (0..61).map(|number| format!("--text-field={number}")).collect();
    let fields: Vec<&str> = fields.iter().map(String::as_str).collect();
    let (code, text) = scratch.failure(&[&["dedup", "in.jsonl"], &*fields].concat());
    assert_eq!((code, text.as_str()), (2, "hamdex: at most 60 text fields (--text-field)\n"));
}

#[test]
fn an_error_is_said_once() {
    let scratch = Scratch::new();
    scratch.write("a.csv", "id,words\n1,some\n");
    let (_, text) = scratch.failure(&["dedup", "a.csv"]);
    assert_eq!(text.matches("no column is named").count(), 1, "{text}");
}

#[test]
fn a_named_file_is_a_document_and_its_name_the_id() {
    let scratch = Scratch::new();
    let source: String = (0..30).map(|line| format!("let line{line} = {};\n", story(line))).collect();
    scratch.write("main.rs", &source);
    scratch.write("copy.rs", &source);
    scratch.write("rows", jsonl());
    assert_eq!(scratch.output(&["dedup", "main.rs", "copy.rs", "--print", "duplicates", "-0"]), "copy.rs\0");
    let said = messages(&scratch, &["fingerprint", "rows"]);
    assert!(said.contains("rows: looks like jsonl; it is read as one document"), "{said}");
    assert!(said.contains("--format jsonl reads a document on each line"), "{said}");
    let said = messages(&scratch, &["dedup", "main.rs"]);
    assert!(said.contains("one document has no duplicates; --format lines reads one on each line"), "{said}");
    assert!(!messages(&scratch, &["dedup", "main.rs", "--format", "text"]).contains("--format lines"));
}

#[test]
fn a_table_on_standard_input_is_one_also_without_the_text_field() {
    let scratch = Scratch::new();
    let refused = |text: &str, args: &[&str]| {
        let output = scratch.hamdex(&[&["dedup"], args].concat()).write_stdin(text).assert().code(1);
        String::from_utf8(output.get_output().stderr.clone()).unwrap()
    };
    let rows: String = (0..600).map(|row| format!("{row},\"{}\nsecond line\",x\n", story(row))).collect();
    let said = refused(&format!("key,body,more\n{rows}"), &[]);
    assert!(
        said.contains(
            "standard input:1: no column is named \"text\" (--text-field); there are: key, body, more"
        ),
        "{said}"
    );
    let mut command = scratch.hamdex(&["dedup", "--text-field", "body"]);
    let output = command.write_stdin(format!("key,body,more\n{rows}")).assert().success();
    assert!(String::from_utf8_lossy(&output.get_output().stderr).contains("600 documents"));
    let said = refused("a^b\n1^2\n", &["--format", "csv"]);
    assert!(said.contains("(if these are several: --delimiter)"), "{said}");
    assert_eq!(scratch.failure(&["dedup", "--delimiter", "xy", "in.csv"]).0, 2);
}

#[test]
fn archives_and_lists_are_read_by_the_command() {
    let scratch = Scratch::new();
    let pages: String = [1, 2, 1].map(|number| format!("{{\"body\": \"{}\"}}", story(number))).join(",");
    scratch.write("book.json", format!("{{\"title\": \"T\", \"pages\": [{pages}]}}"));
    let args = ["dedup", "book.json", "--text-field", "pages[].body", "--print", "duplicates"];
    assert_eq!(scratch.output(&args), "3\n");
    let (code, text) = scratch.failure(&["dedup", "book.json", "--text-field", "a[].b", "--text-field", "c"]);
    assert!(code == 2 && text.contains("\"c\" is not a field of the list \"a\""), "{text}");
    let said = String::from_utf8(
        scratch
            .hamdex(&["dedup", "book.json", "--text-field", "chapters[].body"])
            .assert()
            .code(1)
            .get_output()
            .stderr
            .clone(),
    );
    assert!(said.unwrap().contains("no list in the field \"chapters\" (--text-field); skipped"));
}

#[test]
fn conversations_are_compared_as_a_whole_and_kept_as_they_are() {
    let scratch = Scratch::new();
    let talk = |id: u64, numbers: [u64; 2]| {
        let turns =
            numbers.map(|number| format!("{{ \"role\":\"user\", \"content\":\"{}\"}}", story(number)));
        format!("{{\"id\": {id},  \"messages\": [{}]}}\n", turns.join(" ,"))
    };
    let rows = [talk(1, [1, 2]), talk(2, [1, 3]), talk(3, [1, 2])];
    scratch.write("talks.jsonl", rows.concat());
    let shared = ["dedup", "talks.jsonl", "--text-field", "messages[].content"];
    for join in ["--join", "--join= | "] {
        let args = [&shared[..], &[join, "--unique", "--out", "kept.jsonl", "--force"]].concat();
        scratch.output(&args);
        assert_eq!(fs::read_to_string(scratch.path("kept.jsonl")).unwrap(), rows[..2].concat(), "{join}");
    }
    let fingerprint = |args: &[&str]| scratch.output(&[&["fingerprint"], args].concat());
    scratch.write("text.txt", format!("{}\n{}", story(1), story(2)));
    let whole = fingerprint(&["text.txt"]);
    let joined = fingerprint(&["talks.jsonl", "--join", "--text-field", "messages[].content"]);
    let digits = |lines: &str| lines.split('\t').next().map(str::to_owned);
    assert_eq!(digits(&joined), digits(&whole), "the text of all turns, in order");
    let (code, text) = scratch.failure(&["dedup", "talks.jsonl", "--join"]);
    assert_eq!(
        (code, text.as_str()),
        (2, "hamdex: --join is for a list, as in --text-field 'messages[].content'\n")
    );
    scratch.write("talks.csv", "id,messages\n1,a\n");
    let (_, text) = scratch.failure(&["fingerprint", "talks.csv", "--text-field", "messages[].content"]);
    assert!(
        text.contains("(--text-field; lists: --join, in JSON, Parquet and Arrow); there are: id, messages"),
        "{text}"
    );
}

#[test]
fn inputs_are_listed_in_a_file() {
    let scratch = Scratch::new();
    scratch.write("a b.txt", story(1));
    scratch.write("c.txt", story(2));
    scratch.write("d.txt", story(1));
    let found = "1\tkept\t0\t1.000\ta b.txt\n1\tduplicate\t0\t1.000\td.txt\n";
    for list in ["a b.txt\nc.txt\nd.txt\n", "a b.txt\0c.txt\0d.txt\0", "\"a\\x20b.txt\"\r\n\nd.txt"] {
        scratch.write("list", list);
        assert_eq!(scratch.output(&["dedup", "--files-from", "list"]), found);
        let mut piped = scratch.hamdex(&["dedup", "--files-from", "-"]);
        assert_eq!(piped.write_stdin(list).assert().success().get_output().stdout, found.as_bytes());
    }
    scratch.write("list", "d.txt\n");
    assert_eq!(scratch.output(&["dedup", "a b.txt", "--files-from", "list"]), found);
    assert_eq!(scratch.output(&["fingerprint", "--files-from", "list"]).lines().count(), 1);
    scratch.write("wrong", "d.txt\n\"\\q\"\n");
    let (code, text) = scratch.failure(&["dedup", "--files-from", "wrong"]);
    assert!(code == 1 && text.starts_with("hamdex: wrong:2: in a name in double quotes"), "{text}");
    // A list of nothing is no standard input, and inputs that it lists are not written over.
    scratch.write("none", "\n");
    assert_eq!(scratch.failure(&["dedup", "--files-from", "none"]).1, "hamdex: none: lists no files\n");
    let (code, text) = scratch.failure(&["dedup", "--files-from", "list", "--html", "d.txt", "--force"]);
    assert!(code != 0 && text.contains("d.txt"), "{text}");
    assert_eq!(fs::read_to_string(scratch.path("d.txt")).unwrap(), story(1));
}

#[test]
fn objects_without_the_field_end_the_command_with_the_fields_that_are_there() {
    let scratch = Scratch::new();
    let rows = |count: usize| "{\"id\": 1, \"body\": \"x\"}\n".repeat(count);
    scratch.write("in.jsonl", rows(5000));
    let output = scratch.hamdex(&["dedup", "in.jsonl", "--unique", "--out", "out.jsonl"]).assert().code(1);
    let text = String::from_utf8(output.get_output().stderr.clone()).unwrap();
    let expected = "in.jsonl:1000: no column is named \"text\" (--text-field); there are: body, id";
    assert!(text.contains(expected), "{text}");
    assert_eq!(scratch.names(), ["in.jsonl"]);
    // Rows without a text at the start of others are kept.
    let null = "{\"id\": 1, \"text\": null}\n".repeat(1500);
    scratch.write("in.jsonl", format!("{}{null}{}", rows(900), json_line("a", &story(1))));
    scratch.output(&["dedup", "in.jsonl", "--unique", "--out", "out.jsonl"]);
    assert_eq!(fs::read_to_string(scratch.path("out.jsonl")).unwrap().lines().count(), 2401);
}

#[test]
fn the_quoting_of_tables_is_chosen() {
    let scratch = Scratch::new();
    let rows = format!("id\ttext\n1\t\"{0}\n2\t{0}\"\n3\t{0}\n", story(1));
    scratch.write("in.tsv", &rows);
    scratch.output(&["dedup", "in.tsv", "--unique", "--out", "out.tsv"]);
    assert_eq!(
        fs::read_to_string(scratch.path("out.tsv")).unwrap(),
        format!("id\ttext\n1\t\"{}\n", story(1))
    );
    scratch.write("in.csv", format!("id,text\n1,\"{0}\n2,{0}\n", story(1)));
    let text = scratch.failure(&["dedup", "in.csv"]).1;
    assert!(text.contains("not closed (--quoting none)"), "{text}");
    assert_eq!(scratch.output(&["dedup", "in.csv", "--quoting", "none"]).lines().count(), 2);
    assert_eq!(scratch.failure(&["dedup", "in.csv", "--quoting", "tsv"]).0, 2);
    // Fields of two lines are read with quotes, although one quote is a character of the text.
    let greeting = |row: u64| format!("{row}\t\"Dear all,\n{}\"\n", story(row));
    let rows: String = (1..4).map(greeting).collect();
    scratch.write("in.tsv", format!("id\ttext\n{rows}9\t\"Quoted\" she said\n"));
    let text = messages(&scratch, &["dedup", "in.tsv", "--unique", "--out", "out.tsv", "--force"]);
    assert_eq!(fs::read(scratch.path("out.tsv")).unwrap(), fs::read(scratch.path("in.tsv")).unwrap());
    assert!(text.contains("in.tsv:8: text follows a closing quote"), "{text}");
    assert_eq!(text.matches("(--quoting none)").count(), 2, "{text}");
    scratch.hamdex(&["dedup", "in.tsv", "--strict"]).assert().code(1);
    scratch.write("in.tsv", "id\ttext\n1\t\"a \"\"b\"\"\"\n2\t\"a\" b\n");
    let text = messages(&scratch, &["dedup", "in.tsv"]);
    assert!(text.contains("(--quoting csv)"), "{text}");
}
