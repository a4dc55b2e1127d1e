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
    assert_eq!(read.ids(), ["tree/a/page.html", "tree/brace", "tree/keys.arrows", "tree/z"]);
    assert_eq!((read.texts()[0], read.counts.litter), ("a page", 1));
    let all = scratch.documents(&["tree"]).include(["*"]);
    let lines = scratch.read(all.format(Format::TextLines));
    assert_eq!(lines.ids()[0], "tree/a/.hidden:1");
}

#[test]
fn a_mixture_is_reported_and_unreadable_files_are_skipped() {
    let scratch = Scratch::new();
    scratch.write("tree/a.jsonl", line("a"));
    scratch.write("tree/b.csv", "id,text\nb,x\n");
    scratch.write("tree/c.csv", "key,body\nc,x\n");
    scratch.write("tree/d.md", "prose ".repeat(100));
    scratch.write("tree/e.pdf", "%PDF-1.4 ...");
    scratch.write("tree/f.png", b"\x89PNG\r\n\x1a\n\0\0");
    scratch.write("tree/g.txt.gz", &gzip(b"cut off in the middle")[..20]);
    scratch.write("tree/h.txt", b"\xe4\xf6\xfc \xe4\xf6\xfc");
    let error = scratch.try_read(scratch.documents(&["tree"])).unwrap_err();
    assert_eq!(error, "3 files (tree/c.csv, tree/g.txt.gz, tree/h.txt) cannot be read whole");
    let read = scratch.read(scratch.documents(&["tree"]).skip_unreadable(true));
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
    assert_eq!(ids(&["*.txt"], &[]), "tree/a.txt tree/new/d.txt tree/old/c.txt");
    assert_eq!(ids(&["*"], &["old", "new", "*.md"]), "tree/.git/e.txt tree/a.txt");
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

/// A folder as Spark writes it, with the files that repositories of data sets have next to their tables.
const OF_TABLES: [(&str, &str); 8] = [
    ("_SUCCESS", ""),
    (".part-0.jsonl.crc", "crc"),
    (".gitattributes", "*.jsonl filter=lfs"),
    ("README.md", "# A card"),
    ("state.json", "{\"_data_files\": [{\"filename\": \"part-0.jsonl\"}]}"),
    ("_temporary/0/part-0.jsonl", "{\"id\": \"t\", \"text\": \"half a row\"}\n"),
    ("date=1/part-0.jsonl", "{\"id\": \"a\", \"text\": \"the first of all the texts\"}\n"),
    ("part-0.jsonl", "{\"id\": \"b\", \"text\": \"the second of all the texts\"}\n"),
];

#[test]
fn what_lies_next_to_tables_is_no_document() {
    let scratch = Scratch::new();
    for (name, text) in OF_TABLES {
        scratch.write(&format!("tables/{name}"), text);
    }
    let read = scratch.read_file("tables");
    assert_eq!((read.ids(), read.counts.litter, read.counts.skipped()), (vec!["a", "b"], 6, 0));
    let expected = "tables: 6 files, such as .gitattributes, .part-0.jsonl.crc, README.md are not read: hidden, or no \
                    table next to tables";
    assert_eq!(read.notices, [expected]);
    let shown = |glob: &str| scratch.read(scratch.documents(&["tables"]).include([glob]));
    assert_eq!(shown("README.md").texts(), ["# A card"]);
    assert_eq!(shown("*.jsonl").ids(), ["a", "b"]);
    assert_eq!(shown("_temporary/**").ids(), ["t"]);
    assert_eq!(shown("*").counts.inputs, 8);
    // A file that is passed over there is read where it is named.
    let named = scratch.read(scratch.documents(&["tables", "tables/README.md", "tables"]));
    assert_eq!((named.ids(), named.counts.repeated_files), (vec!["a", "b", "tables/README.md"], 3));
    // With a format, all that are not hidden are read in it.
    let given = scratch.read(scratch.documents(&["tables"]).format(Format::TextLines));
    assert_eq!((given.counts.documents, given.counts.litter), (4, 4));
    // Where most is prose, a table next to it changes nothing.
    scratch.write("tables/README.md", "prose ".repeat(100));
    assert_eq!(scratch.read_file("tables").counts.documents, 3);
}

#[test]
fn what_lies_next_to_tables_in_an_archive_is_no_document() {
    let scratch = Scratch::new();
    let files = OF_TABLES.map(|(name, text)| (name, text.as_bytes()));
    scratch.write("all.zip", zip(&files));
    let read = scratch.read_file("all.zip");
    assert_eq!((read.ids(), read.counts.litter), (vec!["a", "b"], 6));
    // A tar archive tells its files one by one: hidden names are all that is known of each.
    scratch.write("all.tar", tar(&files));
    let read = scratch.read_file("all.tar");
    assert_eq!((read.counts.documents, read.counts.litter), (3, 4));
}

#[test]
fn a_shard_that_cannot_be_read_is_an_error() {
    let good = (0..50).map(|number| line(&number.to_string())).collect::<String>();
    let parquet_start = b"PAR1\x15\x04\x15 and no end";
    let cut: Vec<u8> = gzip(good.as_bytes())[..40].to_vec();
    let utf16: Vec<u8> = good.encode_utf16().flat_map(u16::to_le_bytes).collect();
    let noise: Vec<u8> = (0..500u32).map(|number| (number.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    let pointer = b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n";
    let body = b"{\"id\": 1, \"body\": \"no text\"}\n";
    let shards: [(&str, &[u8]); 19] = [
        ("b.jsonl.gz", &cut),
        ("b.jsonl.zst", &zstd::encode_all(good.as_bytes(), 1).unwrap()[..30]),
        ("b.parquet", parquet_start),
        ("b.jsonl", &utf16),
        ("b.csv", b"id,body\n1,no text\n"),
        ("b.jsonl", body),
        ("part-b", &body.repeat(2)),
        ("b.jsonl.snappy", &noise.iter().map(|byte| byte | 0x80).collect::<Vec<_>>()),
        ("b.csv.tmp", b"id,body\n1,no text\n"),
        ("b.csv", b"id,text\n1,\"a quote that is not closed\n2,x\n"),
        ("b.json", b"[{\"id\": 1, \"text\": \"x\"}, {\"id\""),
        ("part-b", &utf16[..200]),
        ("b.jsonl.br", &noise),
        ("b.avro", b"Obj\x01\0\0"),
        ("b.parquet", b""),
        ("b.arrow", b"not downloaded"),
        ("b.parquet", pointer),
        ("b.jsonl", pointer),
        ("b.csv.gz", b""),
    ];
    for (name, bytes) in shards {
        let scratch = Scratch::new();
        scratch.write("set/a.jsonl", &good);
        scratch.write(&format!("set/{name}"), bytes);
        let error = scratch.try_read(scratch.documents(&["set"])).unwrap_err();
        assert_eq!(error, format!("set/{name} cannot be read whole"));
        let rest = scratch.read(scratch.documents(&["set"]).skip_unreadable(true));
        assert!(rest.counts.documents >= 50 && rest.counts.skipped() > 0, "{name}: {rest:?}");
        assert!(scratch.try_read(scratch.documents(&["set"]).strict(true)).is_err(), "{name}");
    }
    // In a tar archive, too, where no other file is known.
    let scratch = Scratch::new();
    scratch.write("set.tar", tar(&[("a.jsonl", good.as_bytes()), ("b.csv", b"id,body\n1,no text\n")]));
    assert_eq!(scratch.refusal("set.tar"), "set.tar/b.csv cannot be read whole");
    let scratch = Scratch::new();
    scratch.write("set/a.jsonl", &good);
    scratch.write("set/all.zip", &zip(&[("x.jsonl", good.as_bytes())])[..60]);
    assert_eq!(scratch.refusal("set"), "set/all.zip cannot be read whole");
}

#[test]
fn what_is_a_table_next_to_tables_is_read_whatever_its_name() {
    let scratch = Scratch::new();
    let rows = |id: &str| line(id).repeat(3);
    scratch.write("set/a.jsonl", rows("a").repeat(20));
    scratch.write("set/b.jsonl.tmp", rows("b"));
    scratch.write("set/part-c", rows("c"));
    scratch.write("set/part-d.000", gzip(rows("d").as_bytes()));
    scratch.write("set/part-e", "id\ttext\ne\tsome text\n");
    scratch.write("set/part-f", format!("{{\"id\": \"f\", \"text\": \"{}\"}}\n", "word ".repeat(20_000)));
    scratch.write("set/part-g.bak", "{\"text\": NaN}\n{\"id\": \"g\", \"text\": \"x\"}\n");
    scratch.write("set/z.jsonl", rows("z").repeat(3000));
    for (name, text) in [
        ("a.jsonl.sha256", "00  a.jsonl"),
        ("LICENSE", "Some text, of more\nlines"),
        ("README.md", "{% a template %}"),
        ("state", "{\"version\": 1}"),
        ("state.tmp", "{\"version\": 1}\n"),
    ] {
        scratch.write(&format!("set/{name}"), text);
    }
    let read = scratch.read_file("set");
    let mut ids = read.ids();
    ids.dedup();
    assert_eq!(ids, ["a", "b", "c", "d", "e", "f", "g", "z"]);
    assert_eq!((read.counts.litter, read.counts.missing_field), (5, 1));
    // With other files, each is a text.
    scratch.write("set/README.md", "prose ".repeat(100_000));
    assert!(scratch.read_file("set").ids().contains(&"set/part-c"));
}

#[test]
fn the_state_of_a_program_next_to_other_files_is_no_document() {
    let scratch = Scratch::new();
    let state = |bytes: usize| format!("{{\"version\": \"{}\"}}", "1".repeat(bytes));
    scratch.write("tree/a.txt", "some text ".repeat(20_000));
    scratch.write("tree/package.json", state(1));
    scratch.write("tree/lock.json", state(100_000));
    let read = scratch.read_file("tree");
    assert_eq!((read.ids(), read.counts.missing_field), (vec!["tree/a.txt"], 2));
    // Where each object is a file, one without a text is missed.
    scratch.write("objects/a.json", line("a"));
    scratch.write("objects/b.json", state(1));
    assert_eq!(scratch.refusal("objects"), "objects/b.json cannot be read whole");
    scratch.write("tree/rows.json", "[{\"version\": 1}, {\"version\": 2}]");
    assert_eq!(scratch.refusal("tree"), "tree/rows.json cannot be read whole");
}

#[cfg(unix)]
#[test]
fn a_file_that_is_reached_again_is_read_once() {
    let scratch = Scratch::new();
    let file = scratch.write("n/a.jsonl", "{\"id\": \"a\", \"text\": \"a text\"}\n");
    scratch.write("n/copy.jsonl", "{\"id\": \"b\", \"text\": \"a text\"}\n");
    std::fs::hard_link(&file, scratch.path("n/z.jsonl")).unwrap();
    std::os::unix::fs::symlink(&file, scratch.path("link.jsonl")).unwrap();
    let read = scratch.read(scratch.documents(&["n", "n/a.jsonl", "link.jsonl", "./n"]));
    assert_eq!((read.ids(), read.counts.repeated_files), (vec!["a", "b"], 6));
    assert_eq!(read.notices.len(), 1, "{:?}", read.notices);
    assert!(
        read.notices[0].starts_with("n/z.jsonl: read once, though 6 files, such as n/z.jsonl"),
        "{:?}",
        read.notices
    );
}

#[test]
fn each_file_of_an_archive_is_read() {
    let scratch = Scratch::new();
    let files: [(&str, &[u8]); 4] = [
        ("z.txt", b"prose that is longer than the tables next to it: one, two, three, four, five, six"),
        ("a/set.jsonl", b"{\"text\": \"x\"}\n"),
        ("a/packed.csv.gz", &gzip(b"id,text\nb,y\n")),
        ("inner.zip", &zip(&[("x", b"x")])),
    ];
    scratch.write("all.zip", zip(&files));
    let read = scratch.read_file("all.zip");
    assert_eq!(read.ids(), ["b", "all.zip/a/set.jsonl:1", "all.zip/z.txt"]);
    assert_eq!(
        (read.texts(), read.counts.binary),
        (vec!["y", "x", std::str::from_utf8(files[0].1).unwrap()], 1)
    );
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
