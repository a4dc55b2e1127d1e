//! Single inputs: ids, fields, formats, encodings, and rejected inputs.

use crate::common::{Scratch, gzip, xz};
use hamdex_documents::{Documents, Format};

const JSONL: &str = "{\"text\": \"one\"}\n\n{\"text\": \"two\", \"id\": 7}\n";

#[test]
fn a_row_without_an_id_has_its_number() {
    let scratch = Scratch::new();
    scratch.write("a.jsonl", JSONL);
    scratch.write("a.csv", "text\n\"one\n1\"\ntwo\n");
    scratch.write("a.json", "[{\"text\": \"one\"},\n {\"text\": \"two\"}]");
    assert_eq!(scratch.read_file("a.jsonl").ids(), ["1", "7"]);
    assert_eq!(scratch.read_file("a.csv").ids(), ["1", "2"]);
    assert_eq!(scratch.read_file("a.json").ids(), ["1", "2"]);
    let both = scratch.read(scratch.documents(&["a.jsonl", "a.csv"]));
    assert_eq!(both.ids(), ["a.jsonl:1", "7", "a.csv:1", "a.csv:2"]);
    // One that was named must be there.
    let named = scratch.read(scratch.documents(&["a.jsonl"]).id_field("id"));
    assert_eq!((named.ids(), named.counts.missing_field), (vec!["7"], 1));
    let error = scratch.try_read(scratch.documents(&["a.csv"]).id_field("id")).unwrap_err();
    assert_eq!(error, "a.csv:1: no column is named \"id\"; there are: text");
}

#[test]
fn ids_are_as_they_are_written() {
    let scratch = Scratch::new();
    let ids = ["18446744073709551616", "1e3", "-0.50", "\"x\"", "null", "\"\"", "[1]", "true", "007"];
    let lines = ids.map(|id| format!("{{\"id\": {id}, \"text\": \"t\"}}\n"));
    scratch.write("a.jsonl", lines.concat());
    let read = scratch.read_file("a.jsonl");
    assert_eq!(read.ids(), ["18446744073709551616", "1e3", "-0.50", "x", "5", "6", "7", "true"]);
    assert_eq!(read.counts.malformed, 1, "007 is no number of JSON");
    scratch.write("a.csv", "id,text\n007,a\n,b\n");
    assert_eq!(scratch.read_file("a.csv").ids(), ["007", "2"]);
}

#[test]
fn a_record_with_more_fields_than_columns_is_no_document() {
    let scratch = Scratch::new();
    let rows = ["1,Good morning, the cat sat", "2,\"Good morning, parliament\"", "3,short,,", "4,a,b"];
    let names = ["id,text\n", ""];
    for (names, text) in names.into_iter().zip(["text", "2"]) {
        // Without names, the first record says how many columns there are.
        let rows = if names.is_empty() { [rows[1], rows[0], rows[2], rows[3]] } else { rows };
        scratch.write("a.csv", format!("{names}{}\n", rows.join("\n")));
        scratch.write("a.tsv", format!("{names}{}\n", rows.join("\n")).replace(',', "\t"));
        for name in ["a.csv", "a.tsv"] {
            let documents = scratch.documents(&[name]).header(!names.is_empty()).text_field(text);
            let read = scratch.read(documents.clone());
            assert_eq!((read.counts.documents, read.counts.malformed), (2, 2), "{read:?}");
            let expected = format!("{name}:2: the record has 3 fields, more than there are columns (2)");
            assert!(read.notices.contains(&expected), "{read:?}");
            assert_eq!(scratch.try_read(documents.strict(true)).unwrap_err(), expected);
        }
    }
}

#[test]
fn an_input_without_rows_is_whole() {
    let scratch = Scratch::new();
    for (name, text) in [("a.csv", "id,text\n"), ("a.jsonl", ""), ("a.json", "[]"), ("a.jl", "\n")] {
        scratch.write(name, text);
        let counts = scratch.read_file(name).counts;
        assert_eq!((counts.documents, counts.inputs, counts.skipped()), (0, 1, 0), "{name}");
    }
}

#[test]
fn lines_can_be_texts_and_text_files_are_one_document() {
    let scratch = Scratch::new();
    for name in ["a.lines", "a.txt", "a.md"] {
        scratch.write(name, "one two\n\nthree four\n");
    }
    let lines = scratch.read(scratch.documents(&["a.lines"]).format(Format::Lines));
    assert_eq!(lines.documents[0], ("one".to_owned(), "two".to_owned()));
    let lines = scratch.read(scratch.documents(&["a.txt"]).format(Format::TextLines));
    assert_eq!((lines.ids(), lines.texts()), (vec!["1", "3"], vec!["one two", "three four"]));
    for name in ["a.txt", "a.md", "a.lines"] {
        let read = scratch.read_file(name);
        assert_eq!((read.ids(), read.texts()), (vec![name], vec!["one two\n\nthree four\n"]));
    }
}

#[test]
fn texts_are_fields_within_fields_and_several() {
    let scratch = Scratch::new();
    let lines = [
        r#"{"id": 1, "title": "T", "body": {"text": "inner", "more": {"x": "deep"}}}"#,
        r#"{"id": 2, "title": null, "body": {"text": "inner"}, "body.text": "literal"}"#,
        r#"{"id": 3, "body": {"text": 5}}"#,
        r#"{"id": 4, "title": "alone"}"#,
        r#"{"id": 5, "body": "no object"}"#,
    ];
    scratch.write("a.jsonl", lines.join("\n"));
    let read = |names: &[&str]| scratch.read(scratch.documents(&["a.jsonl"]).text_fields(names.to_vec()));
    let both = read(&["title", "body.text"]);
    assert_eq!(both.texts(), ["T\ninner", "literal", "alone"]);
    assert_eq!(both.counts.missing_field, 2);
    assert!(both.notices[0].contains("no string in the field \"title, body.text\""), "{:?}", both.notices);
    assert_eq!(read(&["body.more.x"]).texts(), ["deep"]);
    scratch.write("a.csv", "title,body\nT,B\n,only\n");
    let read = scratch.read(scratch.documents(&["a.csv"]).text_fields(["title", "body"]));
    assert_eq!(read.texts(), ["T\nB", "only"]);
}

#[test]
fn json_is_an_array_an_object_or_lines() {
    let scratch = Scratch::new();
    let objects = [r#"{"id": "a", "text": "one ]"}"#, r#"{"id": "b", "text": "tw\"o"}"#];
    let pretty: Vec<String> = objects
        .iter()
        .map(|object| format!("{:#}", serde_json::from_str::<serde_json::Value>(object).unwrap()))
        .collect();
    for (name, text) in [
        ("array.json", format!("[{}]", objects.join(","))),
        ("pretty.json", format!("[\n{}\n]\n", pretty.join(",\n"))),
        ("lines.json", objects.join("\n")),
        ("stream.json", pretty.join("\n")),
        ("array.jsonl", format!("[{}]", pretty.join(","))),
    ] {
        scratch.write(name, text);
        let read = scratch.read_file(name);
        assert_eq!((read.ids(), read.texts()), (vec!["a", "b"], vec!["one ]", "tw\"o"]), "{name}");
    }
    scratch.write("one.json", &pretty[0]);
    assert_eq!(scratch.read_file("one.json").ids(), ["a"]);
    scratch.write("skips.json", format!("[{}, 5, {{\"id\": 1}}, {}]", objects[0], objects[1]));
    let skips = scratch.read_file("skips.json");
    assert_eq!((skips.ids(), skips.counts.malformed, skips.counts.missing_field), (vec!["a", "b"], 1, 1));
    assert!(skips.notices[0].starts_with("skips.json (object 2): not a JSON object"), "{:?}", skips.notices);
    scratch.write("cut.json", format!("[{}, {{\"id\"", objects[0]));
    assert_eq!(scratch.refusal("cut.json"), "cut.json (object 2): the file ends within an array");
}

#[test]
fn every_compression_is_read_and_damage_is_an_error() {
    let scratch = Scratch::new();
    let lines = "{\"id\": 1, \"text\": \"some text\"}\n".repeat(500);
    scratch.write("a.jsonl.xz", xz(lines.as_bytes()));
    scratch.write("a.jsonl.gz", gzip(lines.as_bytes()));
    for name in ["a.jsonl.xz", "a.jsonl.gz"] {
        assert_eq!(scratch.read_file(name).counts.documents, 500);
        let whole = std::fs::read(scratch.path(name)).unwrap();
        scratch.write(name, &whole[..whole.len() - 9]);
        assert_eq!(scratch.refusal(name), format!("{name}: cannot read it"));
    }
}

#[test]
fn a_bomb_is_passed_over_in_little_memory() {
    let scratch = Scratch::new();
    let bomb = vec![b'x'; 30 << 20];
    let lines = [b"{\"text\": \"", &bomb[..], b"\"}\n{\"text\": \"good\"}\n"].concat();
    scratch.write("bomb.jsonl.xz", xz(&lines));
    scratch.write("bomb.txt.gz", gzip(&bomb));
    scratch
        .write("bomb.json.gz", gzip(&[b"[", &lines[..bomb.len() + 12], b",{\"text\": \"good\"}]"].concat()));
    for (name, documents) in [("bomb.jsonl.xz", 1), ("bomb.json.gz", 1), ("bomb.txt.gz", 0)] {
        let read = scratch.read(scratch.documents(&[name]).max_document_bytes(1 << 16));
        assert_eq!((read.counts.documents, read.counts.too_long), (documents, 1), "{name}");
    }
}

#[test]
fn encodings_are_declared_or_given() {
    let scratch = Scratch::new();
    let text = "id,text\n1,Grüße aus Köln für Jörg\n2,我们\n";
    let utf16 = |text: &str, big: bool| -> Vec<u8> {
        let unit = |unit: u16| if big { unit.to_be_bytes() } else { unit.to_le_bytes() };
        text.encode_utf16().flat_map(unit).collect()
    };
    scratch.write("a.csv", utf16(&format!("\u{feff}{text}"), false));
    scratch.write("b.csv", utf16(&format!("\u{feff}{text}"), true));
    scratch.write("c.csv", format!("\u{feff}{text}"));
    for name in ["a.csv", "b.csv", "c.csv"] {
        let read = scratch.read_file(name);
        assert_eq!(read.texts(), ["Grüße aus Köln für Jörg", "我们"], "{name}");
        assert_eq!(read.ids(), ["1", "2"], "{name}");
    }
    scratch.write("bare.csv", utf16(text, false));
    assert_eq!(scratch.refusal("bare.csv"), "bare.csv: not text");
    let documents = scratch.documents(&["bare.csv"]).encoding("utf-16le").unwrap();
    assert_eq!(scratch.read(documents).ids(), ["1", "2"]);

    let latin = |text: &str| -> Vec<u8> { text.chars().map(|c| c as u8).collect() };
    let german = "Grüße aus Köln für Jörg und Käthe";
    scratch.write("latin.lines", latin(german));
    assert_eq!(scratch.refusal("latin.lines"), "latin.lines: not UTF-8");
    let documents = scratch.documents(&["latin.lines"]).encoding("latin1").unwrap();
    assert_eq!(scratch.read(documents).texts(), [german]);
    let page = |meta: &str| format!("<html><head>{meta}</head><p>{german}</html>");
    scratch.write("meta.html", latin(&page("<meta charset='iso-8859-1'>")));
    assert_eq!(scratch.read_file("meta.html").texts()[0].trim(), german);
    scratch.write("none.html", latin(&page("")));
    assert_eq!(scratch.refusal("none.html"), "none.html: not UTF-8");
    assert!(Documents::from_paths(["-"]).encoding("no such").is_err());
}

#[test]
fn binary_files_are_refused_whatever_their_names() {
    let scratch = Scratch::new();
    let cases: [(&str, &[u8], &str); 6] = [
        ("a.txt", b"%PDF-1.7\nstream of text", "is a PDF document"),
        ("b.jsonl", b"{\\rtf1\\ansi some text}", "is an RTF document"),
        ("c.csv", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1\0\0", "is an old Office document"),
        ("d.txt", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "is a PNG picture"),
        ("e.feather", b"FEA1\0\0\0\0", "is a Feather file of version 1"),
        ("f", b"some \0 bytes", "not text"),
    ];
    for (name, bytes, expected) in cases {
        scratch.write(name, bytes);
        assert_eq!(scratch.refusal(name), format!("{name}: {expected}"));
    }
    // Words at the start of a text are no marks.
    scratch.write("g.txt", "RIFF is a format, GIF8 is not.");
    assert_eq!(scratch.read_file("g.txt").counts.documents, 1);
}

#[test]
fn an_id_that_occurs_twice_is_counted_or_refused_with_both_places() {
    let scratch = Scratch::new();
    scratch.write("a.jsonl", "{\"id\": \"x\", \"text\": \"one\"}\n{\"id\": 2, \"text\": \"two\"}\n");
    scratch.write("b.csv", "id,text\nx,three\n2,four\n2,five\n");
    let documents = scratch.documents(&["a.jsonl", "b.csv"]);
    let read = scratch.read(documents.clone());
    assert_eq!((read.counts.documents, read.counts.repeated_ids), (5, 3));
    assert!(!read.counts.ids_are_sampled);
    let error = scratch.try_read(documents.strict(true)).unwrap_err();
    assert_eq!(error, "b.csv:2: the id \"x\" is that of an earlier document, a.jsonl:1");
}

#[test]
fn a_quote_that_is_not_closed_is_named_by_its_line() {
    let scratch = Scratch::new();
    let rows: String = (0..100).map(|row| format!("{row},text {row}\n")).collect();
    scratch.write("end.csv", format!("id,text\n1,\"a\nb\"\n2,\"open\n{rows}"));
    assert_eq!(scratch.refusal("end.csv"), "end.csv:4: a quote that is opened on this line is not closed");
    scratch.write("header.csv", "id,\"text\n1,a\n");
    assert_eq!(
        scratch.refusal("header.csv"),
        "header.csv:1: a quote that is opened on this line is not closed"
    );
    // One that is closed far away makes a long record.
    let long = "x\n".repeat(10_000);
    scratch.write("long.csv", format!("id,text\n1,a\n2,b,\"{long}\",c\n3,d\n"));
    let read = scratch.read(scratch.documents(&["long.csv"]).max_document_bytes(5000));
    assert_eq!(read.ids(), ["1", "3"]);
    assert_eq!(read.notices, ["long.csv:3: the text in quotes is longer than 5000 bytes"]);
    // Quotes that are closed at the very end, with and without a line end, are fine.
    for end in ["", "\n", "\r\n"] {
        scratch.write("fine.csv", format!("id,text\n1,\"a \"\"b\"\"\"{end}"));
        assert_eq!(scratch.read_file("fine.csv").texts(), ["a \"b\""]);
    }
}

#[test]
fn columns_without_names_are_numbered() {
    let scratch = Scratch::new();
    scratch.write("a.csv", "7,some text\n8,other text\n");
    let error = scratch.refusal("a.csv");
    assert_eq!(error, "a.csv:1: no column is named \"text\"; there are: 7, some text");
    let documents = scratch.documents(&["a.csv"]).header(false);
    let read = scratch.read(documents.clone().text_field("2"));
    assert_eq!((read.ids(), read.texts()), (vec!["1", "2"], vec!["some text", "other text"]));
    assert_eq!(scratch.read(documents.clone().text_field("2").id_field("1")).ids(), ["7", "8"]);
    assert_eq!(scratch.read(documents.clone().text_field("3")).counts.missing_field, 2);
    assert!(scratch.try_read(documents).unwrap_err().contains("\"text\" is not the number of a column"));
    // The message does not print the document.
    let secret = "word ".repeat(1000);
    scratch.write("b.csv", format!("1,\"{secret}\"\n"));
    assert!(scratch.refusal("b.csv").len() < 200);
}

#[test]
fn damaged_inputs_end_and_are_read_the_same_again() {
    let scratch = Scratch::new();
    let files: [(&str, &[u8]); 5] = [
        (
            "a.jsonl",
            b"{\"id\": 1, \"text\": \"one\"}\n{\"id\": \"x\\u00e9\", \"text\": \"two \\\" three\"}\n",
        ),
        (
            "a.json",
            b"[{\"id\": 1, \"text\": \"one\"},\n {\"text\": {\"text\": [1, \"two\"]}}, {\"text\": \"x\"}]",
        ),
        ("a.csv", b"id,text\n1,\"one, \"\"two\"\"\n three\"\r\n2,four\n"),
        ("a.html", b"<html><meta charset='koi8-r'><p>one &amp; <b>two</b><script>x</script>"),
        ("a.lines", b"\xff\xfe1\0 \0o\0n\0e\0\n\x002\0 \0t\0w\0o\0"),
    ];
    let mut state = 0x9e37_79b9_7f4a_7c15u64;
    let mut random = |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state % below as u64) as usize
    };
    for round in 0..400 {
        let (name, bytes) = files[round % files.len()];
        let mut damaged = bytes.to_vec();
        for _ in 0..=random(3) {
            let at = random(damaged.len());
            match random(3) {
                0 => damaged[at] = b"\"{}[],\n\r\0\xff\\<"[random(12)],
                1 => damaged.truncate(at + 1),
                _ => damaged.insert(at, b"\"{}[],\n\r\0\xff\\<"[random(12)]),
            }
        }
        scratch.write(name, &damaged);
        let read = || match scratch.try_read(scratch.documents(&[name]).max_document_bytes(40)) {
            Ok(read) => (read.documents, read.notices, None),
            Err(error) => (Vec::new(), Vec::new(), Some(error)),
        };
        assert_eq!(read(), read(), "{name}: {damaged:?}");
    }
}

#[test]
fn a_named_file_is_a_document_whatever_its_ending() {
    let scratch = Scratch::new();
    let names =
        ["main.rs", "paper.tex", "notes.org", "Makefile", "a.log", "ls.1.gz", "b.patch", "c.xml", "d.train"];
    for name in names {
        let text = format!("first {name}\nsecond line");
        scratch.write(name, if name.ends_with("gz") { gzip(text.as_bytes()) } else { text.into_bytes() });
    }
    let read = scratch.read(scratch.documents(&names));
    assert_eq!(read.ids(), names);
    for (name, text) in names.iter().zip(read.texts()) {
        assert_eq!(text, format!("first {name}\nsecond line"));
    }
    // The same as in a directory.
    for name in names {
        scratch.write(&format!("tree/{name}"), std::fs::read(scratch.path(name)).unwrap());
    }
    assert_eq!(scratch.read_file("tree").ids().len(), names.len());
    // A text that looks like rows is a document too, and that is said.
    scratch.write("rows", "{\"text\": \"one\"}\n{\"text\": \"two\"}\n");
    let read = scratch.read_file("rows");
    assert_eq!(read.ids(), ["rows"]);
    assert!(
        read.notices[0].starts_with("rows: looks like jsonl; it is read as one document"),
        "{:?}",
        read.notices
    );
    let lines = scratch.read(scratch.documents(&["rows"]).format(Format::Jsonl));
    assert_eq!((lines.texts(), lines.notices.len()), (vec!["one", "two"], 0));
}

#[test]
fn a_delimiter_is_given_or_the_one_by_which_the_header_has_the_text() {
    let scratch = Scratch::new();
    scratch.write("german.csv", "id;text\n7;\"eins; zwei\"\n8;drei, vier\n");
    scratch.write("pipes.csv", "id|text\n7|\"eins; zwei\"\n8|drei, vier\n");
    for name in ["german.csv", "pipes.csv"] {
        let read = scratch.read_file(name);
        assert_eq!((read.ids(), read.texts()), (vec!["7", "8"], vec!["eins; zwei", "drei, vier"]), "{name}");
    }
    scratch.write("carets.csv", "id^text\n7^eins\n");
    assert!(scratch.refusal("carets.csv").contains("no column is named \"text\""));
    assert_eq!(scratch.read(scratch.documents(&["carets.csv"]).delimiter(b'^')).ids(), ["7"]);
    // A comma in the name of a column is no delimiter if another one has the text.
    scratch.write("both.csv", "id,text;x\n7,eins;y\n");
    assert!(scratch.refusal("both.csv").contains("there are: id, text;x"));
}

#[test]
fn texts_are_in_lists_and_are_lists() {
    let scratch = Scratch::new();
    scratch.write(
        "a.jsonl",
        "{\"id\": 1, \"text\": [\"one\", \"two\"]}\n{\"id\": 2, \"text\": []}\n{\"id\": 3, \"text\": [1]}\n",
    );
    let read = scratch.read_file("a.jsonl");
    assert_eq!(
        (read.ids(), read.texts(), read.counts.missing_field),
        (vec!["1", "2"], vec!["one\ntwo", ""], 1)
    );
    let pages = r#"{"book": {"x": [1, {"y": 2}]}, "data": {"pages": [{"id": 1, "body": {"t": "one"}}, {"url": "u", "body": {"t": "two"}}, {"id": 3}]}}"#;
    for (name, text) in [
        ("a.json", pages.to_owned()),
        ("b.jsonl", format!("{pages}\n{pages}\n")),
        ("c.json", format!("[{pages}]")),
    ] {
        scratch.write(name, text);
        let read = scratch.read(scratch.documents(&[name]).text_field("data.pages[].body.t"));
        assert_eq!(read.ids()[..2], ["1", "2"], "{name}");
        assert_eq!((read.texts()[..2].to_vec(), read.counts.missing_field > 0), (vec!["one", "two"], true));
        for id in ["url", "data.pages[].url"] {
            let read =
                scratch.read(scratch.documents(&[name]).text_field("data.pages[].body.t").id_field(id));
            assert_eq!(read.ids()[0], "u", "{name}");
        }
    }
    scratch.write("texts.json", r#"{"texts": ["one", "two"]}"#);
    let read = scratch.read(scratch.documents(&["texts.json"]).text_field("texts[]"));
    assert_eq!((read.ids(), read.texts()), (vec!["1", "2"], vec!["one", "two"]));
    let refused = |names: &[&str]| {
        scratch.try_read(scratch.documents(&["texts.json"]).text_fields(names.to_vec())).unwrap_err()
    };
    assert_eq!(refused(&["pages[].body"]), "texts.json (object 1): no list in the field \"pages\"");
    assert!(refused(&["texts[].a", "b"]).contains("\"b\" is not a field of the list \"texts\""));
}

#[test]
fn fields_that_no_object_of_a_file_has_are_errors() {
    let scratch = Scratch::new();
    let rows =
        [r#"{"id": 1, "text": "one", "a": {"b": "x"}}"#, r#"{"id": 2, "text": null, "c": [{"d": "y"}]}"#];
    let files = [
        ("a.jsonl", rows.join("\n")),
        ("b.json", format!("[{}]", rows.join(","))),
        ("c.json", rows.join("\n\n")),
    ];
    for (name, text) in files {
        scratch.write(name, text);
        let read = |names: &[&str]| scratch.try_read(scratch.documents(&[name]).text_fields(names.to_vec()));
        for (names, missing) in [
            (&["body"][..], "body"),
            (&["body", "title"], "body, title"),
            (&["text", "title"], "title"),
            (&["a.c", "text"], "a.c"),
            (&["text", "id.x"], "id.x"),
        ] {
            let expected = format!("{name}: no column is named {missing:?}; there are: a, c, id, text");
            assert_eq!(read(names).unwrap_err(), expected);
            let rest = scratch.documents(&[name]).text_fields(names.to_vec()).skip_unreadable(true);
            let rest = scratch.read(rest);
            assert_eq!(
                (rest.counts.unreadable, rest.texts().len()),
                (1, usize::from(names.contains(&"text")))
            );
        }
        // A null, and a field of one row, is there.
        assert_eq!(read(&["text"]).unwrap().texts(), ["one"]);
        assert_eq!(read(&["text", "a.b"]).unwrap().texts(), ["one\nx"]);
        let named = |id: &str| scratch.try_read(scratch.documents(&[name]).id_field(id));
        assert_eq!(named("a.b").unwrap().ids(), ["x"]);
        let expected = format!("{name}: no column is named \"key\"; there are: a, c, id, text");
        assert_eq!(named("key").unwrap_err(), expected);
    }
    // An object that is a file need not have all of them; one that is empty tells nothing.
    scratch.write("alone.json", rows[0]);
    let read = |name: &str, field: &str| {
        scratch
            .try_read(scratch.documents(&[name]).text_fields(["text", field]))
            .map(|read| read.texts().len())
    };
    assert_eq!(read("alone.json", "title"), Ok(1));
    scratch.write("nulls.jsonl", "{\"text\": null}\n".repeat(3));
    scratch.write("empty.jsonl", "{}\n{}\n");
    for name in ["nulls.jsonl", "empty.jsonl"] {
        assert_eq!(scratch.read_file(name).counts.missing_field, if name == "nulls.jsonl" { 3 } else { 2 });
    }
    scratch.write("lists.jsonl", "{\"pages\": []}\n{\"pages\": null}\n");
    let lists = |field: &str| scratch.try_read(scratch.documents(&["lists.jsonl"]).text_field(field));
    assert_eq!(lists("pages[].body").unwrap().counts.documents, 0);
    assert_eq!(lists("page[].body").unwrap_err(), "lists.jsonl: no list in the field \"page\"");
}
