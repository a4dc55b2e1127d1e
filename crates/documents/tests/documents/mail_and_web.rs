//! Mail, mailboxes and web archives.

use hamdex_documents::{Counts, Format};

use crate::common::{Scratch, gzip};

const MAILBOX: &str = "\
From a@example.org Mon Sep 17 00:00:00 2001
Message-ID: <one@example.org>
Subject: A subject
Content-Type: text/html; charset=utf-8
Content-Transfer-Encoding: quoted-printable

<p>f=C3=BCr</p><p>alle</p>

From b@example.org Tue Sep 18 00:00:00 2001
From: b
To: c

>From the start.
";

#[test]
fn mail_is_a_document_each() {
    let scratch = Scratch::new();
    for name in ["a.mbox", "inbox", "b.mbox.gz"] {
        let bytes = MAILBOX.as_bytes();
        scratch.write(name, if name.ends_with("gz") { gzip(bytes) } else { bytes.to_vec() });
        let read = scratch.read_file(name);
        assert_eq!(read.ids(), ["one@example.org", "2"], "{name}");
        let words: Vec<Vec<&str>> =
            read.texts().iter().map(|text| text.split_whitespace().collect()).collect();
        assert_eq!(words, [vec!["A", "subject", "für", "alle"], vec!["From", "the", "start."]], "{name}");
    }
    let (_, message) = MAILBOX.split_once('\n').unwrap();
    for name in ["a.eml", "17.M5P6.host:2,S"] {
        scratch.write(name, message.split("\n\nFrom b").next().unwrap());
        let read = scratch.read_file(name);
        assert_eq!((read.ids(), read.texts()[0].split_whitespace().count()), (vec![name], 4), "{name}");
        assert!(hamdex_documents::read_text(scratch.path(name)).unwrap().starts_with("A subject\n"));
    }
    let short = scratch.read(scratch.documents(&["a.mbox"]).max_document_bytes(100));
    assert_eq!(short.ids(), ["2"]);
    assert_eq!(short.notices, ["a.mbox (message 1): the message is longer than 100 bytes"]);
}

/// A record of a WARC file.
fn record(kind: &str, address: &str, body: &[u8]) -> Vec<u8> {
    let head = format!(
        "WARC/1.0\r\nWARC-Type: {kind}\r\nWARC-Target-URI: {address}\r\nContent-Type: text/plain\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    [head.as_bytes(), body, b"\r\n\r\n"].concat()
}

#[test]
fn web_archives_have_a_document_for_each_page() {
    let scratch = Scratch::new();
    let records = [
        record("warcinfo", "", b"software: x\r\n"),
        record("request", "http://a/", b"GET / HTTP/1.1\r\n\r\n"),
        record(
            "response",
            "http://a/",
            b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<html><p>one<p>two",
        ),
        record(
            "response",
            "http://a/x.png",
            b"HTTP/1.1 200 OK\r\nContent-Type: image/png\r\n\r\n\x89PNG\r\n\x1a\n",
        ),
        record("conversion", "http://b/", "für".as_bytes()),
    ];
    let whole = records.concat();
    let packed: Vec<u8> = records.iter().flat_map(|record| gzip(record)).collect();
    for (name, bytes) in
        [("a.warc", &whole), ("a.warc.gz", &packed), ("crawl", &whole), ("a.warc.wet.gz", &packed)]
    {
        scratch.write(name, bytes);
        let read = scratch.read_file(name);
        assert_eq!(read.ids(), ["http://a/", "http://b/"], "{name}");
        assert_eq!((read.texts()[0].trim(), read.texts()[1]), ("one\ntwo", "für"), "{name}");
        assert_eq!((read.counts.binary, read.notices.len()), (1, 0), "{name}");
    }
    for length in (1..whole.len()).step_by(11) {
        scratch.write("cut.warc", &whole[..length]);
        let outcome = scratch.try_read(scratch.documents(&["cut.warc"]));
        let ends: Vec<usize> = (1..=records.len()).map(|count| records[..count].concat().len()).collect();
        // The blank lines at the end of a record do not matter.
        let is_between = ends.iter().any(|&end| (end - 4..=end).contains(&length));
        assert_eq!(outcome.is_ok(), is_between, "cut to {length} bytes: {outcome:?}");
    }
    let short = scratch.read(scratch.documents(&["a.warc"]).max_document_bytes(2));
    assert_eq!(short.counts.too_long, 2);
}

#[test]
fn web_archives_without_pages_or_of_the_old_format_are_errors() {
    let scratch = Scratch::new();
    let metadata =
        [record("warcinfo", "", b"software: x\r\n"), record("metadata", "http://a/", b"{}")].concat();
    let old = b"filedesc://x.arc 0.0.0.0 19960923142103 text/plain 76\n1 0 Alexa Internet\n";
    let no_pages = "holds metadata and no pages, as .wat files do";
    let is_old = "is a web archive of the old format ARC";
    for (name, bytes, expected) in [
        ("a.wat", &metadata[..], no_pages),
        ("a.warc.wat.gz", &gzip(&metadata), no_pages),
        ("a.arc", old, is_old),
        ("a.arc.gz", &gzip(old), is_old),
        ("crawl", old, is_old),
        ("b.arc", b"http://a/ 0.0.0.0 19960923142103 text/html 9\n", is_old),
    ] {
        scratch.write(name, bytes);
        let said = scratch.refusal(name);
        assert!(said.starts_with(&format!("{name}: {expected}")), "{said}");
        scratch.write(&format!("{name}.d/{name}"), bytes);
        scratch.write(&format!("{name}.d/a.txt"), "some text");
        assert_eq!(scratch.refusal(&format!("{name}.d")), format!("{name}.d/{name} cannot be read whole"));
    }
    let lines = scratch.documents(&["b.arc"]).format(Format::TextLines);
    assert_eq!(scratch.read(lines).counts.documents, 1);
}

/// Damages a record of an archive, in its head, its body or its packing, and reads all others.
#[test]
fn records_behind_a_damaged_one_are_read() {
    let scratch = Scratch::new();
    let page = |number: usize| format!("page {number} {}", "of some words ".repeat(number * 40));
    let records: Vec<Vec<u8>> =
        (0..6).map(|i| record("conversion", &format!("http://{i}/"), page(i).as_bytes())).collect();
    let read = |name: &str, bytes: &[u8]| {
        scratch.write(name, bytes);
        let counts = scratch.read(scratch.documents(&[name]).skip_unreadable(true));
        let strict = scratch.try_read(scratch.documents(&[name]));
        assert!(strict.is_err(), "{name}");
        let Counts { malformed, unreadable, .. } = counts.counts;
        assert_eq!(malformed + unreadable, 1, "{name}: {:?}", counts.notices);
        counts.ids().into_iter().map(str::to_owned).collect::<Vec<String>>()
    };
    for damaged in [vec![0], vec![2], vec![5], vec![1, 2], vec![0, 3]] {
        let whole: Vec<String> =
            (0..6).filter(|i| !damaged.contains(i)).map(|i| format!("http://{i}/")).collect();
        // The middle of the packed record is in its body.
        let mut packed: Vec<Vec<u8>> = records.iter().map(|record| gzip(record)).collect();
        damaged.iter().for_each(|&i| {
            let middle = packed[i].len() / 2;
            packed[i][middle..middle + 8].fill(0xff);
        });
        assert_eq!(read("a.warc.gz", &packed.concat()), whole, "{damaged:?}");
        let mut plain = records.clone();
        damaged.iter().for_each(|&i| plain[i][3] = b'?');
        assert_eq!(read("a.warc", &plain.concat()), whole, "{damaged:?}");
    }
    // A record that is too short for what its head says is followed by others all the same.
    let mut short = records.clone();
    let length = short[2].len();
    short[2].truncate(length - 30);
    let ids = read("short.warc", &short.concat());
    assert!(ids.ends_with(&["http://4/".into(), "http://5/".into()]), "{ids:?}");
}
