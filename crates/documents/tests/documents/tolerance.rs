//! Inputs as other programs write them, beyond the standards: nothing in them is lost or changed in silence.

use hamdex_atomic_file::AtomicFile;
use hamdex_documents::tables::Quoting;
use hamdex_documents::{Documents, Format};
use proptest::prelude::*;

use crate::common::{Scratch, gzip};

/// Copies all documents of a file to another.
fn copied(scratch: &Scratch, from: &str, to: &str) -> Vec<u8> {
    let documents = scratch.documents(&[from]).copyable(None);
    let counts = documents.read(|_| Ok::<(), hamdex_documents::Error>(())).unwrap();
    let path = scratch.path(to);
    let _ = std::fs::remove_file(&path);
    let file = AtomicFile::options().create(&path).unwrap();
    documents.copy(0..counts.documents as u32, file).unwrap();
    std::fs::read(path).unwrap()
}

#[test]
fn quotes_of_tab_separated_values_swallow_no_rows() {
    let scratch = Scratch::new();
    let rows: Vec<String> = (0..2000)
        .map(|row| match row % 250 {
            7 => format!("{row}\t\"He opened it\tand left\n"),
            9 => format!("{row}\ta pipe of 10\"\tx\n"),
            _ => format!("{row}\ttext {row}\tx\n"),
        })
        .collect();
    let unquoted = format!("id\ttext\tmore\n{}", rows.concat());
    scratch.write("a.tsv", &unquoted);
    let read = scratch.read(scratch.documents(&["a.tsv"]));
    assert_eq!((read.counts.documents, read.texts()[7]), (2000, "\"He opened it"));
    assert_eq!(copied(&scratch, "a.tsv", "b.tsv"), unquoted.as_bytes(), "byte for byte");
    // As spreadsheets write them.
    let quoted = "id\ttext\tmore\r\n1\t\"one \"\"and\"\"\ntwo\"\tx\r\n2\t\"a\tb\"\t\r\n";
    scratch.write("q.tsv", quoted);
    assert_eq!(scratch.read(scratch.documents(&["q.tsv"])).texts(), ["one \"and\"\ntwo", "a\tb"]);
    assert_eq!(copied(&scratch, "q.tsv", "r.tsv"), quoted.replace("\r\n", "\n").as_bytes());
    let given = |quoting| scratch.read(scratch.documents(&["q.tsv"]).quoting(quoting));
    assert_eq!(given(Quoting::Csv).counts.documents, 2);
    assert_eq!(given(Quoting::None).texts()[0], "\"one \"\"and\"\"");
    // CSV has quotes unless they are turned off.
    scratch.write("c.csv", "id,text\n1,\"a, b\"\n2,\"open\n3,c\n");
    assert!(scratch.refusal("c.csv").contains("not closed"));
    let read = scratch.read(scratch.documents(&["c.csv"]).quoting(Quoting::None));
    assert_eq!((read.texts(), read.counts.malformed), (vec!["\"open", "c"], 1));
}

/// A cell of a table: its text without quotes around it, with line ends in quotes, with a tab in quotes, or with text
/// behind the closing quote.
fn cell() -> impl Strategy<Value = (usize, String, String)> {
    (0..4_usize, "[a-c][a-c ]{0,3}", "[a-c][a-c ]{0,3}")
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn tables_are_read_as_they_were_written(rows in prop::collection::vec((cell(), any::<bool>()), 1..40)) {
        let is_quoted = rows.iter().any(|((kind, ..), _)| matches!(kind, 1 | 2));
        let (mut table, mut texts) = ("n\ttext\tx\n".to_owned(), Vec::new());
        for ((kind, a, b), is_last) in &rows {
            let (written, text) = match kind {
                0 => (format!("{a}\" {b}"), format!("{a}\" {b}")),
                1 => (format!("\"{a}\n\n{b}\""), format!("{a}\n\n{b}")),
                2 => (format!("\"{a}\t{b}\""), format!("{a}\t{b}")),
                // Without quoting, it is a text like any other.
                _ if is_quoted => (format!("\"{a}\" {b}"), format!("{a} {b}")),
                _ => (format!("\"{a}\" {b}"), format!("\"{a}\" {b}")),
            };
            table += &if *is_last { format!("1\t{written}\t\n") } else { format!("\t{written}\tx\n") };
            texts.push(text);
        }
        let scratch = Scratch::new();
        scratch.write("a.tsv", &table);
        let read = scratch.read_file("a.tsv");
        prop_assert_eq!(read.texts(), texts);
        let strays = rows.iter().filter(|((kind, ..), _)| *kind == 3).count();
        let expected = if is_quoted { strays + 1 } else { 0 };
        prop_assert_eq!(read.notices.len(), expected, "{:?}", read.notices);
        prop_assert_eq!(copied(&scratch, "a.tsv", "b.tsv"), table.as_bytes());
        // The same table as CSV, which has quotes in any case.
        let table = table.replace('\t', ",");
        scratch.write("a.csv", &table);
        let read = scratch.read_file("a.csv");
        prop_assert_eq!(read.notices.len(), strays);
        let strict = scratch.try_read(scratch.documents(&["a.csv"]).strict(true));
        prop_assert_eq!(strict.is_err(), strays > 0);
        prop_assert_eq!(copied(&scratch, "a.csv", "b.csv"), table.as_bytes());
    }
}

#[test]
fn records_with_stray_quotes_are_read_and_reported() {
    let scratch = Scratch::new();
    scratch.write(
        "a.csv",
        "id,text\n1,\"abc\"def\n2,\"x\"\"\"\n3,\"open\n4,b\n5,\"c\n6,\"He \\\"said\\\"\"\n7,\"\"\n",
    );
    let read = scratch.read_file("a.csv");
    assert_eq!(read.texts(), ["abcdef", "x\"", "open\n4,b\n5,c", "He \\said\\\"\"", ""]);
    let found: Vec<&str> = read.notices.iter().map(|notice| notice.split(": ").next().unwrap()).collect();
    assert_eq!(found, ["a.csv:2", "a.csv:4", "a.csv:7"]);
    let error = scratch.try_read(scratch.documents(&["a.csv"]).strict(true)).unwrap_err();
    assert!(error.starts_with("a.csv:2: text follows a closing quote"), "{error}");
    // Many lines are no error, since a text can have them.
    for (lines, expected) in [(50, 0), (51, 1)] {
        scratch.write("b.csv", format!("id,text\n1,\"{}end\"\n2,b\n", "line\n".repeat(lines - 1)));
        let read = scratch.read(scratch.documents(&["b.csv"]).strict(true));
        assert_eq!((read.counts.documents, read.notices.len()), (2, expected));
    }
}

#[test]
fn a_choice_against_quotes_is_reported() {
    let scratch = Scratch::new();
    scratch.write("a.tsv", "id\ttext\n1\t\"a \"\"b\"\"\"\n2\t\"a\" b\n3\tc\n");
    let read = scratch.read_file("a.tsv");
    assert_eq!(read.texts()[..2], ["\"a \"\"b\"\"\"", "\"a\" b"]);
    assert_eq!(read.notices, ["a.tsv: its fields in quotes are read with the quotes as part of them"]);
    assert_eq!(scratch.read(scratch.documents(&["a.tsv"]).quoting(Quoting::None)).notices.len(), 0);
}

#[test]
fn short_records_are_copied_as_they_are() {
    let scratch = Scratch::new();
    for (name, table) in
        [("a.csv", "id,text,x\n1,\"a\",\n2\n\"3\"\n4,b\n"), ("a.tsv", "id\ttext\n1\t\"a\n b\"\n2\tc\n")]
    {
        scratch.write(name, table);
        let documents =
            scratch.documents(&[name]).quoting(if name == "a.csv" { Quoting::Csv } else { Quoting::None });
        let read = scratch.read(documents.clone());
        assert_eq!(read.counts.missing_field, if name == "a.csv" { 2 } else { 1 });
        let copy = scratch.path(&format!("copy-{name}"));
        let documents = documents.copyable(None);
        documents.read(|_| Ok::<(), hamdex_documents::Error>(())).unwrap();
        let copied = documents.copy(0..2, AtomicFile::options().create(&copy).unwrap()).unwrap();
        assert_eq!((copied.unread, copied.left_out), (read.counts.missing_field, 0));
        assert_eq!(std::fs::read_to_string(copy).unwrap(), table);
    }
}

#[test]
fn a_copy_of_records_has_their_bytes() {
    let scratch = Scratch::new();
    let csv = "id,text,n\n1,\"one\",007\n2,\"a \"\"b\"\"\nc\",\n3, spaced ,\"\"\n4,gr\u{fc}n\n";
    scratch.write("a.csv", csv);
    assert_eq!(copied(&scratch, "a.csv", "b.csv"), csv.as_bytes());
    scratch.write("a.csv", format!("\n\n{}", csv.trim_end().replace('\n', "\r\n")));
    assert_eq!(copied(&scratch, "a.csv", "b.csv"), csv.replace("b\"\"\nc", "b\"\"\r\nc").as_bytes());
    // A name that occurs twice has a number in an object.
    scratch.write("twice.csv", "text,text,text_2\na,b,c\n");
    let documents = scratch.documents(&["twice.csv"]).copyable(Some(table_format("x.jsonl")));
    documents.read(|_| Ok::<(), hamdex_documents::Error>(())).unwrap();
    documents.copy(0..1, AtomicFile::options().create(scratch.path("x.jsonl")).unwrap()).unwrap();
    let objects = std::fs::read_to_string(scratch.path("x.jsonl")).unwrap();
    assert_eq!(objects, "{\"text\":\"a\",\"text_3\":\"b\",\"text_2\":\"c\"}\n");
}

fn table_format(name: &str) -> hamdex_documents::tables::TableFormat {
    hamdex_documents::tables::TableFormat::of(name.as_ref()).unwrap()
}

#[test]
fn objects_that_other_readers_take_are_read_and_copied_as_they_are() {
    let scratch = Scratch::new();
    let lines = [
        r#"{"id": 1, "text": "half \ud83d of a pair", "n": NaN}"#,
        r#"{"id": 2, "text": "whole \ud83d\ude00", "n": [-Infinity, Infinity], "m": "\ud83d"}"#,
        r#"{"id": true, "text": "NaN is a word", "n": 1}"#,
    ];
    let text = lines.map(|line| format!("{line}\n")).concat();
    scratch.write("a.jsonl", &text);
    let read = scratch.read_file("a.jsonl");
    assert_eq!(read.texts(), ["half \u{fffd} of a pair", "whole \u{1f600}", "NaN is a word"]);
    assert_eq!((read.ids(), read.counts.skipped()), (vec!["1", "2", "true"], 0));
    assert_eq!(copied(&scratch, "a.jsonl", "b.jsonl"), text.as_bytes());
    // A zero byte and a row that is no object are defects of their rows.
    scratch.write("c.jsonl", format!("{text}{{\"text\": \"a\0b\"}}\n{{\"id\": 9,\n{text}"));
    let read = scratch.read_file("c.jsonl");
    assert_eq!((read.counts.documents, read.counts.malformed), (6, 2));
    scratch.write("c.csv", format!("id,text\n1,a\0b\n{}", "2,some more text\n".repeat(20)));
    assert_eq!(scratch.read_file("c.csv").counts.documents, 21);
}

#[test]
fn objects_on_one_line_and_on_several_follow_each_other() {
    let scratch = Scratch::new();
    let one = |id: u32| format!("{{\"id\": {id}, \"text\": \"text {id}\"}}");
    let several = |id: u32| {
        format!("{{\n  \"id\": {id},\n  \"list\": [\n    {{}}\n  ],\n  \"text\": \"text {id}\"\n}}")
    };
    let cut = "{\"id\": 7, \"text\": \"cut off";
    let all = [
        one(1),
        several(2),
        several(3),
        one(4),
        cut.to_owned(),
        one(5),
        "{}".to_owned(),
        several(6),
        cut.to_owned(),
    ];
    scratch.write("a.json", all.join("\n"));
    let read = scratch.read_file("a.json");
    assert_eq!(read.ids(), ["1", "2", "3", "4", "5", "6"]);
    assert_eq!((read.counts.malformed, read.counts.missing_field), (2, 1));
}

#[test]
fn texts_that_are_not_utf_8_are_not_compared_by_what_is_left() {
    let scratch = Scratch::new();
    let cyrillic = |number: u32| -> Vec<u8> {
        let text = format!("Привет, это письмо номер {number}, 2024 год, с приветом из города");
        encoding_rs::WINDOWS_1251.encode(&text).0.into_owned()
    };
    let good = "{\"id\": \"g\", \"text\": \"some good text\"}\n".repeat(4000);
    let row = |number| [b"{\"id\": 1, \"text\": \"", &cyrillic(number)[..], b"\"}\n"].concat();
    scratch.write(
        "a.jsonl",
        [good.as_bytes(), &row(1), &row(2), b"{\"id\": 2, \"text\": \"one caf\xe9\"}\n"].concat(),
    );
    let read = scratch.read_file("a.jsonl");
    assert_eq!((read.counts.documents, read.counts.not_utf8, read.counts.replaced), (4001, 2, 1));
    // Mail that does not say its encoding, alone and in a mailbox.
    let mail = |number| [b"Subject: 2024\nFrom: a@b\n\n", &cyrillic(number)[..], b"\n"].concat();
    scratch.write("mail/a.eml", mail(1));
    scratch.write("mail/b.eml", mail(2));
    assert_eq!(scratch.refusal("mail"), "2 files (mail/a.eml, mail/b.eml) cannot be read whole");
    let read = scratch.read(scratch.documents(&["mail"]).skip_unreadable(true));
    assert_eq!((read.counts.documents, read.counts.not_utf8), (0, 2));
    assert_eq!(scratch.refusal("mail/a.eml"), "mail/a.eml: not UTF-8");
    scratch.write("a.mbox", [b"From a\n", &mail(1)[..], b"\nFrom b\n", &mail(2)].concat());
    assert_eq!(scratch.read_file("a.mbox").counts.not_utf8, 2);
    assert!(scratch.try_read(scratch.documents(&["a.mbox"]).strict(true)).unwrap_err().contains("not UTF-8"));
    let declared =
        [b"Subject: x\nContent-Type: text/plain; charset=windows-1251\n\n", &cyrillic(3)[..]].concat();
    scratch.write("c.eml", declared);
    assert!(scratch.read_file("c.eml").texts()[0].contains("Привет"));
    // A file that is one document is refused, or decoded as it is told.
    scratch.write("t.txt", cyrillic(1).repeat(10));
    assert!(scratch.refusal("t.txt").contains("not UTF-8"));
    let given = scratch.read(Documents::encoding(scratch.documents(&["t.txt"]), "windows-1251").unwrap());
    assert!(given.texts()[0].starts_with("Привет"));
    let lines = scratch.documents(&["t.txt"]).format(Format::TextLines).encoding("windows-1251").unwrap();
    assert_eq!(scratch.read(lines).counts.documents, 1);
}

#[test]
fn what_follows_compressed_data_or_a_stream_is_no_end() {
    let scratch = Scratch::new();
    let member =
        |number: u32| gzip(format!("{{\"id\": {number}, \"text\": \"text {number}\"}}\n").as_bytes());
    let mut members: Vec<u8> = (0..5).flat_map(member).collect();
    scratch.write("a.jsonl.gz", &members);
    assert_eq!(scratch.read_file("a.jsonl.gz").counts.documents, 5);
    members[member(0).len()] ^= 1;
    scratch.write("a.jsonl.gz", &members);
    assert_eq!(scratch.refusal("a.jsonl.gz"), "a.jsonl.gz cannot be read whole");
    let rest = scratch.read(scratch.documents(&["a.jsonl.gz"]).skip_unreadable(true));
    assert_eq!(rest.ids(), ["0"]);
    // Padding is none.
    scratch.write("b.jsonl.gz", [&member(0)[..], &[0; 600]].concat());
    assert_eq!(scratch.read_file("b.jsonl.gz").counts.documents, 1);
}

#[test]
fn objects_that_are_cut_off_or_share_a_line_hide_no_others() {
    let scratch = Scratch::new();
    let read = |lines: &[&str]| {
        scratch.write("a.json", lines.join("\n"));
        let read = scratch.read_file("a.json");
        (read.ids().join(" "), read.counts.malformed)
    };
    let first = r#"{"id": 1, "text": "a"}"#;
    let nested = r#"{"id": "inner", "text": "b"}"#;
    let expected = |ids: &str, malformed| (ids.to_owned(), malformed);
    assert_eq!(read(&[first, r#"{"id": 2, "items": ["#, nested, r#"], "text": "c"}"#]), expected("1 2", 0));
    assert_eq!(read(&[first, r#"{"id": 2, "item":"#, nested, r#", "text": "c"}"#]), expected("1 2", 0));
    assert_eq!(
        read(&[first, r#"{"id": 2,"#, r#"  {"id": 3, "text": "c"}"#, r#" {"id": 4, "text": "d"}"#]),
        expected("1 3 4", 1)
    );
    let both = format!("{first}{{\"id\": 5, \"text\": \"e\"}} {{\"id\": 6,");
    assert_eq!(read(&[first, &both, r#""text": "f"}{"id": 7, "text": "g"}"#]), expected("1 1 5 6 7", 0));
    assert_eq!(read(&[first, r#"{"id": 2, "text": "b"} more"#, first]), expected("1 1", 1));
    // A long list of objects, each of which could be the next row.
    let items = vec![r#"{"id": "inner", "text": "b"}"#; 50_000].join(",\n");
    assert_eq!(read(&[first, r#"{"id": 2, "items": ["#, &items, r#"], "text": "c"}"#]), expected("1 2", 0));
    // Damage in one line counts for the whole object.
    let broken = [first.as_bytes(), b"\n{\"id\": 2, \"text\": \"caf\xe9\",\n\"n\": 1}\n"].concat();
    scratch.write("b.json", &broken);
    assert_eq!(scratch.read_file("b.json").counts.replaced, 1);
    assert!(scratch.try_read(scratch.documents(&["b.json"]).strict(true)).is_err());
}

#[test]
fn carriage_returns_and_blank_lines_are_no_rows() {
    let scratch = Scratch::new();
    scratch.write("a.tsv", "id\ttext\r\n\r\n1\ta\rb\r\n\n\r\n2\tc");
    let read = scratch.read_file("a.tsv");
    assert_eq!((read.texts(), read.counts.skipped()), (vec!["a\rb", "c"], 0));
    assert_eq!(copied(&scratch, "a.tsv", "b.tsv"), b"id\ttext\n1\ta\rb\n2\tc\n");
    // In a copy of another format, all fields are looked at.
    scratch.write("c.csv", b"id,text,author\n1,a,Andr\xe9\n");
    assert_eq!(scratch.read_file("c.csv").counts.replaced, 0);
    let documents = scratch.documents(&["c.csv"]).copyable(Some(table_format("c.jsonl")));
    let counts = documents.read(|_| Ok::<(), hamdex_documents::Error>(())).unwrap();
    assert_eq!(counts.replaced, 1);
}
