//! Directories and archives.

use crate::common::{Scratch, gzip, tar, xz, zip};
use hamdex_documents::Format;

fn line(id: &str) -> String {
    format!("{{\"id\": \"{id}\", \"text\": \"text of {id}\"}}\n")
}

#[test]
fn a_directory_of_data_is_one_data_set() {
    let scratch = Scratch::new();
    scratch.write("set/b.jsonl", line("b"));
    scratch.write("set/a.csv.gz", gzip(b"id,text\na,text of a\n"));
    scratch.write("set/c/part.json", format!("[{}]", line("c")));
    let read = scratch.read_file("set");
    assert_eq!((read.ids(), read.notices.len()), (vec!["a", "b", "c"], 0));
    // Without ids, the file and the number.
    scratch.write("set/d.tsv", "text\nx\n");
    assert_eq!(scratch.read_file("set").ids(), ["a", "b", "c", "set/d.tsv:1"]);
}

#[test]
fn a_directory_of_prose_has_a_document_in_each_file() {
    let scratch = Scratch::new();
    scratch.write("tree/z", "plain");
    scratch.write("tree/a/page.html", "<p>a page");
    scratch.write("tree/a/.hidden", "hidden");
    scratch.write("tree/brace", "{ is no object");
    scratch.write("tree/keys.arrows", "up and down");
    let read = scratch.read_file("tree");
    assert_eq!(
        read.ids(),
        ["tree/a/.hidden", "tree/a/page.html", "tree/brace", "tree/keys.arrows", "tree/z"]
    );
    assert_eq!(read.texts()[1], "a page");
    let lines = scratch.read(scratch.documents(&["tree"]).format(Format::TextLines));
    assert_eq!(lines.ids()[0], "tree/a/.hidden:1");
}

#[test]
fn a_mixture_is_reported_and_unreadable_files_are_skipped() {
    let scratch = Scratch::new();
    scratch.write("tree/a.jsonl", line("a"));
    scratch.write("tree/b.csv", "id,text\nb,x\n");
    scratch.write("tree/c.csv", "key,body\nc,x\n");
    scratch.write("tree/d.md", "prose");
    scratch.write("tree/e.pdf", "%PDF-1.4 ...");
    scratch.write("tree/f.png", b"\x89PNG\r\n\x1a\n\0\0");
    scratch.write("tree/g.txt.gz", &gzip(b"cut off in the middle")[..20]);
    scratch.write("tree/h.txt", b"\xe4\xf6\xfc \xe4\xf6\xfc");
    let read = scratch.read_file("tree");
    assert_eq!(read.ids(), ["a", "b", "tree/d.md"]);
    let counts = &read.counts;
    assert_eq!((counts.binary, counts.unreadable, counts.not_utf8), (2, 2, 1));
    let expected = [
        "tree/c.csv:1: no column is named \"text\"; there are: key, body",
        "tree/e.pdf: is a PDF document",
        "tree/g.txt.gz: cannot read it: ",
        "tree/h.txt: not UTF-8",
        "tree: holds 2 csv files, 1 jsonl file with a document in each row, and 1 file that is one document",
    ];
    assert_eq!(read.notices.len(), expected.len(), "{:?}", read.notices);
    for (notice, expected) in read.notices.iter().zip(expected) {
        assert!(notice.starts_with(expected), "{notice}");
    }
    let error = scratch.try_read(scratch.documents(&["tree"]).strict(true)).unwrap_err();
    assert!(error.contains("tree/c.csv:1: no column"), "{error}");
}

#[test]
fn globs_choose_files() {
    let scratch = Scratch::new();
    for name in ["tree/a.txt", "tree/b.md", "tree/old/c.txt", "tree/new/d.txt", "tree/.git/e.txt"] {
        scratch.write(name, "text");
    }
    let ids = |included: &[&str], excluded: &[&str]| {
        let documents = scratch.documents(&["tree"]).include(included.to_vec()).exclude(excluded.to_vec());
        scratch.read(documents).ids().join(" ")
    };
    assert_eq!(ids(&["*.txt"], &[".git"]), "tree/a.txt tree/new/d.txt tree/old/c.txt");
    assert_eq!(ids(&["*.txt", "*.md"], &["old", ".*"]), "tree/a.txt tree/b.md tree/new/d.txt");
    assert_eq!(ids(&["new/**"], &[]), "tree/new/d.txt");
    assert_eq!(ids(&[], &["*.txt"]), "tree/b.md");
    let error = scratch.try_read(scratch.documents(&["tree"]).include(["a[b"])).unwrap_err();
    assert!(error.contains("a[b"), "{error}");
    scratch.write("tree/.gitignore", "old/\n*.md\n");
    let obeyed = scratch.read(scratch.documents(&["tree"]).obey_ignore_files(true));
    assert_eq!(obeyed.ids(), ["tree/a.txt", "tree/new/d.txt"]);
}

#[cfg(unix)]
#[test]
fn links_and_sockets_are_counted() {
    let scratch = Scratch::new();
    let file = scratch.write("tree/a.txt", "text");
    std::os::unix::fs::symlink(&file, scratch.path("tree/link")).unwrap();
    std::os::unix::fs::symlink(scratch.path("tree"), scratch.path("tree/loop")).unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(scratch.path("tree/socket")).unwrap();
    let read = scratch.read_file("tree");
    assert_eq!((read.counts.documents, read.counts.passed_over, read.counts.skipped()), (1, 3, 0));
    // A link that is named is followed.
    std::os::unix::fs::symlink(scratch.path("tree"), scratch.path("named")).unwrap();
    assert_eq!(scratch.read_file("named").ids(), ["named/a.txt"]);
}

#[test]
fn each_file_of_an_archive_is_read() {
    let scratch = Scratch::new();
    let files: [(&str, &[u8]); 4] = [
        ("z.txt", b"prose"),
        ("a/set.jsonl", b"{\"text\": \"x\"}\n"),
        ("a/packed.csv.gz", &gzip(b"id,text\nb,y\n")),
        ("inner.zip", &zip(&[("x", b"x")])),
    ];
    scratch.write("all.zip", zip(&files));
    let read = scratch.read_file("all.zip");
    assert_eq!(read.ids(), ["b", "all.zip/a/set.jsonl:1", "all.zip/z.txt"]);
    assert_eq!((read.texts(), read.counts.binary), (vec!["y", "x", "prose"], 1));
    let text = scratch.read(scratch.documents(&["all.zip"]).include(["*.txt"]));
    assert_eq!(text.ids(), ["all.zip/z.txt"]);
    scratch.write("tree/all.zip", zip(&files[..1]));
    assert_eq!(scratch.read_file("tree").ids(), ["tree/all.zip/z.txt"]);
    scratch.write("a.docx", zip(&[("[Content_Types].xml", b"<x/>"), ("word/document.xml", b"<x/>")]));
    assert_eq!(scratch.refusal("a.docx"), "a.docx: is an Office document or e-book");
}

#[test]
fn damaged_archives_are_errors_and_never_other_texts() {
    let scratch = Scratch::new();
    let text: String = (0..300).map(|number| format!("word{number} ")).collect();
    let whole = zip(&[("a.txt", text.as_bytes()), ("b.txt", text.as_bytes())]);
    for length in (0..whole.len()).step_by(7) {
        scratch.write("cut.zip", &whole[..length]);
        let outcome = scratch.try_read(scratch.documents(&["cut.zip"]).strict(true));
        assert!(outcome.is_err() || length < 4, "cut to {length} bytes: {outcome:?}");
    }
    for at in (0..whole.len()).step_by(3) {
        let mut damaged = whole.clone();
        damaged[at] ^= 0x21;
        scratch.write("bad.zip", &damaged);
        if let Ok(read) = scratch.try_read(scratch.documents(&["bad.zip"])) {
            assert!(read.texts().iter().all(|found| *found == text), "byte {at}");
        }
    }
}

#[test]
fn each_file_of_a_tar_archive_is_read_in_its_order() {
    let scratch = Scratch::new();
    let long = format!("a/{}/long.txt", "directory/".repeat(30));
    let files: [(&str, &[u8]); 6] = [
        ("z.txt", b"prose"),
        ("a/set.jsonl", b"{\"text\": \"x\"}\n{\"text\": \"y\"}\n"),
        ("./main.rs", b"fn main() {}"),
        ("a/packed.csv.gz", &gzip(b"id,text\nb,z\n")),
        ("a/program", b"\x7fELF\0"),
        (&long, b"deep"),
    ];
    let whole = tar(&files);
    let long = format!("/{long}");
    for (name, bytes) in [
        ("all.tar", whole.clone()),
        ("all.tar.gz", gzip(&whole)),
        ("all.tgz", gzip(&whole)),
        ("all.tar.xz", xz(&whole)),
        ("all.tar.zst", zstd::encode_all(&whole[..], 1).unwrap()),
        ("tree/inner", whole.clone()),
    ] {
        scratch.write(name, bytes);
        let read = scratch.read_file(name);
        let expected = ["/z.txt", "/a/set.jsonl:1", "/a/set.jsonl:2", "/main.rs", "b", &long];
        let expected = expected.map(|id| if id == "b" { id.to_owned() } else { format!("{name}{id}") });
        assert_eq!((read.ids(), read.counts.binary), (expected.iter().map(String::as_str).collect(), 1));
        assert_eq!(read.texts(), ["prose", "x", "y", "fn main() {}", "z", "deep"]);
    }
    let text = scratch.read(scratch.documents(&["all.tar"]).include(["*.txt"]));
    assert_eq!(text.texts(), ["prose", "deep"]);
    // Archives that follow each other.
    scratch.write("both.tar", [tar(&files[..1]), tar(&files[2..3])].concat());
    assert_eq!(scratch.read_file("both.tar").texts(), ["prose", "fn main() {}"]);
}

#[test]
fn damaged_tar_archives_are_errors_and_never_other_texts() {
    let scratch = Scratch::new();
    let text: String = (0..300).map(|number| format!("word{number} ")).collect();
    let whole = tar(&[("a.txt", text.as_bytes()), ("b.txt", text.as_bytes())]);
    let end = whole.iter().rposition(|&byte| byte != 0).unwrap() / 512 * 512 + 512;
    for length in (512..end + 512).step_by(37) {
        scratch.write("cut.tar", &whole[..length]);
        let outcome = scratch.try_read(scratch.documents(&["cut.tar"]));
        assert!(outcome.is_err(), "cut to {length} bytes: {outcome:?}");
    }
    for at in (0..512).step_by(3) {
        let mut damaged = whole.clone();
        damaged[at] ^= 0x21;
        scratch.write("bad.tar", &damaged);
        assert!(scratch.try_read(scratch.documents(&["bad.tar"])).is_err(), "byte {at}");
    }
    // A name without an end is not kept in memory.
    let mut header = ::tar::Header::new_gnu();
    header.set_entry_type(::tar::EntryType::GNULongName);
    header.set_size(40 << 20);
    header.set_cksum();
    scratch.write("bomb.tar.gz", gzip(&[&header.as_bytes()[..], &vec![b'x'; 40 << 20]].concat()));
    assert!(scratch.refusal("bomb.tar.gz").contains("cannot read the archive"));
}
