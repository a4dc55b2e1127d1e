//! The SQLite extension in a real SQLite, compared with brute force.
#![cfg(unix)]

mod common;
#[path = "sqlite/queries.rs"]
mod queries;

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use common::{both, built, has, in_crate, run};
use hamdex::{BuildOptions, Builder, Fingerprint};
use hamdex_shards::{Layout, ShardsBuilder};
use hamdex_store::{CreateOptions, Store, StoreOptions, When};

/// The extension, compiled, in a directory for files.
struct Extension {
    directory: tempfile::TempDir,
}

impl Extension {
    /// None without a C compiler, SQLite's headers, or its shell.
    fn new() -> Option<Self> {
        // The published package of the library has no extensions.
        let has_all = in_crate("../../extensions/sqlite/build").exists()
            && has("cc", &["--version"])
            && has("sqlite3", &["--version"])
            && has("cc", &["-fsyntax-only", "-x", "c", "-include", "sqlite3ext.h", "/dev/null"]);
        if !has_all {
            return None;
        }
        static COMPILED: OnceLock<PathBuf> = OnceLock::new();
        let compiled = COMPILED.get_or_init(|| {
            let output = built().join("hamdex-sqlite.so");
            let build = in_crate("../../extensions/sqlite/build");
            run(Command::new(build).arg(&output).env("HAMDEX_BUILT", built()));
            output
        });
        let directory = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink(compiled, directory.path().join("hamdex.so")).unwrap();
        Some(Self { directory })
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// The output of the shell for statements.
    fn output(&self, sql: &str) -> String {
        let mut shell = Command::new("sqlite3")
            .args(["-batch", ":memory:"])
            .current_dir(self.directory.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut input = shell.stdin.take().unwrap();
        let text = format!(".load ./hamdex\n{sql}");
        let writer = std::thread::spawn(move || input.write_all(text.as_bytes()));
        let output = shell.wait_with_output().unwrap();
        writer.join().unwrap().unwrap();
        both(&output)
    }

    fn rows(&self, sql: &str) -> Vec<String> {
        self.output(sql).lines().map(str::to_owned).collect()
    }
}

/// Uniform fingerprints, some with a neighbour.
fn fingerprints<F: Fingerprint>(count: u64) -> Vec<F> {
    let mut state = 0x1234_5678_9abc_def0_u128;
    let mut fingerprints: Vec<F> = Vec::new();
    for number in 0..count {
        state = state.wrapping_mul(0x2360_ed05_1fc6_5da4_4385_df64_9fcc_f645).wrapping_add(0x5851_f42d);
        let near = |last: &F| *last ^ F::truncate(1 << (number % 60) | 1 << (number % 17));
        let fresh = F::truncate(state ^ state >> 64);
        fingerprints.push(if number % 3 == 1 { near(&fingerprints[number as usize - 1]) } else { fresh });
    }
    fingerprints
}

fn insert<F: Fingerprint>(table: &str, fingerprints: &[F]) -> String {
    let mut sql = format!("CREATE TABLE {table}(id INTEGER PRIMARY KEY, hash BLOB);\nBEGIN;\n");
    for (id, fingerprint) in fingerprints.iter().enumerate() {
        writeln!(sql, "INSERT INTO {table} VALUES ({id}, x'{}');", fingerprint.hex()).unwrap();
    }
    sql + "COMMIT;\n"
}

fn build_index<F: Fingerprint>(path: &Path, fingerprints: &[F]) {
    let mut builder = Builder::<F>::with_options(path, BuildOptions::new().ids(true)).unwrap();
    for (id, &fingerprint) in (0..).zip(fingerprints) {
        builder.push_with_id(fingerprint, id).unwrap();
    }
    builder.finish().unwrap();
}

fn joins_equal_brute_force<F: Fingerprint>(extension: &Extension) {
    let stored: Vec<F> = fingerprints(600);
    let file = extension.path(&format!("stored{}.hamdex", F::BITS));
    build_index(&file, &stored);
    let asked: Vec<F> = stored.iter().step_by(7).map(|one| *one ^ F::truncate(0b101)).collect();
    let sql = format!(
        "{}SELECT asked.id, near.id, near.distance FROM asked JOIN hamdex('{}', asked.hash, 3) AS near ORDER BY 1, 2;\n",
        insert("asked", &asked),
        file.display()
    );
    let mut expected = Vec::new();
    for (place, query) in asked.iter().enumerate() {
        for (id, one) in stored.iter().enumerate().filter(|(_, one)| one.distance(*query) <= 3) {
            expected.push(format!("{place}|{id}|{}", one.distance(*query)));
        }
    }
    assert!(expected.len() > asked.len());
    assert_eq!(extension.rows(&sql), expected);
    // The same by SQL alone.
    let sql = format!(
        "{}{}SELECT asked.id, stored.id, hamming(asked.hash, stored.hash) FROM asked, stored
         WHERE hamming(asked.hash, stored.hash) <= 3 ORDER BY 1, 2;\n",
        insert("asked", &asked),
        insert("stored", &stored)
    );
    assert_eq!(extension.rows(&sql), expected);
}

#[test]
fn joins_of_64_bits_equal_brute_force() {
    if let Some(extension) = Extension::new() {
        joins_equal_brute_force::<u64>(&extension);
    }
}

#[test]
fn joins_of_128_bits_equal_brute_force() {
    if let Some(extension) = Extension::new() {
        joins_equal_brute_force::<u128>(&extension);
    }
}

#[test]
fn fingerprints_are_blobs_texts_or_integers() {
    let Some(extension) = Extension::new() else { return };
    build_index(&extension.path("a.hamdex"), &[0x0123_4567_89ab_cdef_u64, u64::MAX]);
    let sql = "
        SELECT id, distance, hex(fingerprint), name, part FROM hamdex('a.hamdex', x'0123456789abcdee', 3);
        SELECT id, distance FROM hamdex('a.hamdex', '0123456789ABCDEF');
        SELECT id, distance FROM hamdex('a.hamdex', -2, 1);
        SELECT id, distance FROM hamdex('a.hamdex', 0, 64) ORDER BY distance;
        SELECT id, distance FROM hamdex('a.hamdex', 0, 64, 1);
        SELECT count(*) FROM hamdex('a.hamdex', 0, 64, 0);
        SELECT count(*) FROM hamdex('a.hamdex', NULL);
        SELECT path, hex(query), max_distance, max_matches FROM hamdex('a.hamdex', x'ffffffffffffffff', 0);
        SELECT id FROM hamdex WHERE path = 'a.hamdex' AND query = -1 AND max_distance = 0;
        SELECT hamming(-1, 0), hamming('0f', x'f0'), hamming(NULL, 1), hamming(x'00', NULL);
        SELECT hamming(zeroblob(32), '00000000000000000000000000000000000000000000000000000000000000ff');
    ";
    let expected = [
        "0|1|0123456789ABCDEF||0",
        "0|0",
        "1|1",
        "0|32",
        "1|64",
        "0|32",
        "0",
        "0",
        "a.hamdex|FFFFFFFFFFFFFFFF|0|",
        "1",
        "64|8||",
        "8",
    ];
    assert_eq!(extension.rows(sql), expected);
}

#[test]
fn stores_and_shards_are_asked_as_files_are() {
    let Some(extension) = Extension::new() else { return };
    let create = CreateOptions::new().names(true);
    let store = Store::<u64>::create(extension.path("a.store"), &create, StoreOptions::new()).unwrap();
    store.put([(1, "one"), (3, "three"), (1, "eins")], When::always()).unwrap();
    let options = BuildOptions::new().distance(2);
    let mut shards =
        ShardsBuilder::<u128>::create(extension.path("a.shards"), Layout::Families, 2, options).unwrap();
    [1_u128, 3, 1 << 127].iter().for_each(|&one| shards.push(one).unwrap());
    shards.finish().unwrap();
    let sql = "
        SELECT id, distance, name FROM hamdex('a.store', 1, 1);
        SELECT id, distance, hex(fingerprint) FROM hamdex('a.shards', zeroblob(16), 1);
    ";
    let expected = [
        "0|0|one",
        "2|0|eins",
        "1|1|three",
        "|1|00000000000000000000000000000001",
        "|1|80000000000000000000000000000000",
    ];
    assert_eq!(extension.rows(sql), expected);
    // The store is still open for writing; the next statement sees what was written.
    store.put([(0, "zero")], When::always()).unwrap();
    assert_eq!(extension.rows("SELECT name FROM hamdex('a.store', 0, 0);\n"), ["zero"]);
}

#[test]
fn a_table_builds_an_index_of_its_fingerprints() {
    let Some(extension) = Extension::new() else { return };
    let sql = insert("photos", &fingerprints::<u128>(100))
        + "
        INSERT INTO photos VALUES (1000, NULL);
        SELECT hamdex_build('ids.hamdex', hash, id) FROM photos;
        SELECT hamdex_build('names.hamdex', hash, 'photo ' || id) FROM photos;
        SELECT hamdex_build('plain.hamdex', hash) FROM photos;
        SELECT count(*) = (SELECT count(*) FROM photos a, photos b WHERE hamming(a.hash, b.hash) <= 3)
            FROM photos JOIN hamdex('ids.hamdex', photos.hash, 3);
        SELECT min(near.name = 'photo ' || photos.id) FROM photos JOIN hamdex('names.hamdex', photos.hash, 0) AS near;
        SELECT count(*), count(near.id) FROM photos JOIN hamdex('plain.hamdex', photos.hash, 0) AS near;
        SELECT hamdex_build('none.hamdex', hash) FROM photos WHERE id < 0;
        SELECT hamdex_build('ids.hamdex', hash, id) FROM photos;
        SELECT hamdex_build('mixed.hamdex', hash, CASE id WHEN 7 THEN 'seven' ELSE id END) FROM photos;
        SELECT hamdex_build('mixed.hamdex', CASE id WHEN 7 THEN 7 ELSE hash END) FROM photos;
        SELECT hamdex_build(CASE id WHEN 7 THEN 'other' ELSE 'mixed' END || '.hamdex', hash, id) FROM photos;
        SELECT sum(built) FROM (SELECT hamdex_build('part' || (id % 2), hash, id) AS built FROM photos GROUP BY id % 2);
        SELECT count(*) FROM photos JOIN hamdex('part' || (photos.id % 2), photos.hash, 0) AS near ON near.id = photos.id;
        ";
    let rows = extension.rows(&sql);
    assert_eq!(rows[..9], ["100", "100", "100", "1", "1", "100|0", "0", "100", "100"], "{rows:?}");
    assert!(rows[9].contains("exists already"), "{rows:?}");
    assert!(rows[10].contains("ids are integers, or all are texts"), "{rows:?}");
    assert!(rows[11].contains("fingerprints have 8 bytes, or all have 16"), "{rows:?}");
    assert!(rows[12].contains("different paths"), "{rows:?}");
    assert!(!extension.path("none.hamdex").exists() && !extension.path("mixed.hamdex").exists());
}

#[test]
fn a_file_is_made_for_the_distance_that_is_given() {
    let Some(extension) = Extension::new() else { return };
    let sql = insert("photos", &fingerprints::<u64>(100))
        + "
        SELECT hamdex_build('five.hamdex', hash, id, 5) FROM photos;
        SELECT hamdex_build('names.hamdex', hash, 'photo ' || id, 6) FROM photos;
        SELECT hamdex_build('plain.hamdex', hash, NULL, 7) FROM photos;
        SELECT hamdex_build('three.hamdex', hash, id, NULL) FROM photos;
        SELECT hamdex_build('wide.hamdex', zeroblob(16), 1, 6);
        SELECT count(*) = (SELECT count(*) FROM photos a, photos b WHERE hamming(a.hash, b.hash) <= 5)
            FROM photos JOIN hamdex('five.hamdex', photos.hash);
        SELECT hamdex_build('not.hamdex', hash, id, 0) FROM photos;
        SELECT hamdex_build('not.hamdex', hash, id, 65) FROM photos;
        SELECT hamdex_build('not.hamdex', hash, id, 3.5) FROM photos;
        SELECT hamdex_build('not.hamdex', hash, id, '3') FROM photos;
        SELECT hamdex_build('not.hamdex', hash, id, 1 + id % 2) FROM photos;
        SELECT hamdex_build('not.hamdex', hash, CASE id WHEN 7 THEN NULL ELSE id END, 4) FROM photos;
        SELECT hamdex_build('not.hamdex', hash, NULL) FROM photos;
        ";
    let rows = extension.rows(&sql);
    assert_eq!(rows[..6], ["100", "100", "100", "100", "1", "1"], "{rows:?}");
    let said = [
        "distance is",
        "distance is",
        "distance is",
        "distance is",
        "different distances",
        "ids are",
        "ids are",
    ];
    let refused: Vec<&String> = rows[6..].iter().filter(|row| row.contains("rror")).collect();
    assert_eq!(refused.len(), said.len(), "{rows:?}");
    assert!(refused.iter().zip(said).all(|(row, said)| row.contains(said)), "{rows:?}");
    assert!(!extension.path("not.hamdex").exists());
    let distance = |name: &str| hamdex::Index::<u64>::open(extension.path(name)).unwrap().design().distance();
    assert_eq!(
        ["five", "names", "plain", "three"].map(|name| distance(&format!("{name}.hamdex"))),
        [5, 6, 7, 3]
    );
}

#[test]
fn sides_of_an_or_give_each_row_once() {
    let Some(extension) = Extension::new() else { return };
    build_index(&extension.path("a.hamdex"), &[1_u64, 3, 7, 15]);
    let sql = "
        SELECT id FROM hamdex('a.hamdex', x'0000000000000001', 2) WHERE id = 0 OR distance = 1;
        SELECT count(*) FROM hamdex WHERE (path = 'a.hamdex' AND query = 1 AND max_distance = 3)
            OR (path = 'a.hamdex' AND query = 15 AND max_distance = 2);
        SELECT count(*) FROM hamdex WHERE (path = 'a.hamdex' AND query = 1 AND distance = 0)
            OR (path = 'a.hamdex' AND query = 1 AND id < 2);
        SELECT id, query FROM hamdex WHERE path = 'a.hamdex' AND max_distance = 0
            AND ((query = 1 AND id < 5) OR (query = 15 AND id > 2)) ORDER BY id;
        SELECT 'nothing' FROM hamdex('a.hamdex', 1, 3) AS one JOIN hamdex AS other WHERE one.id = 0 OR other.id = 0;
    ";
    let rows = extension.rows(sql);
    assert_eq!(rows[..6], ["0", "1", "7", "2", "0|1", "3|15"]);
    assert!(rows[6].contains("a path and a fingerprint are needed"), "{rows:?}");
}

#[test]
fn a_file_that_is_replaced_is_opened_anew() {
    let Some(extension) = Extension::new() else { return };
    build_index(&extension.path("a.hamdex"), &[1_u64]);
    build_index(&extension.path("b.hamdex"), &[1_u64, 2, 3]);
    let ask = "SELECT count(*) FROM hamdex('a.hamdex', 0, 64);\n";
    let sql = format!("{ask}{ask}.shell mv b.hamdex a.hamdex\n{ask}");
    assert_eq!(extension.rows(&sql), ["1", "1", "3"]);
}

#[test]
fn what_is_wrong_is_said() {
    let Some(extension) = Extension::new() else { return };
    build_index(&extension.path("a.hamdex"), &[1_u64]);
    let mut bytes = std::fs::read(extension.path("a.hamdex")).unwrap();
    let middle = bytes.len() / 2;
    bytes.truncate(middle);
    std::fs::write(extension.path("cut.hamdex"), bytes).unwrap();
    std::fs::write(extension.path("text.hamdex"), [b'x'; 4096]).unwrap();
    for (sql, said) in [
        ("SELECT * FROM hamdex", "a path and a fingerprint are needed"),
        ("SELECT * FROM hamdex('a.hamdex')", "a path and a fingerprint are needed"),
        ("SELECT * FROM hamdex('missing.hamdex', 1)", "missing.hamdex"),
        ("SELECT * FROM hamdex('cut.hamdex', 1)", "truncated"),
        ("SELECT * FROM hamdex('text.hamdex', 1)", "not a hamdex file"),
        ("SELECT * FROM hamdex('a.hamdex', x'00')", "1 bytes"),
        ("SELECT * FROM hamdex('a.hamdex', zeroblob(16))", "16 bytes"),
        ("SELECT * FROM hamdex('a.hamdex', zeroblob(33))", "a fingerprint is a blob"),
        ("SELECT * FROM hamdex('a.hamdex', zeroblob(0))", ""),
        ("SELECT * FROM hamdex('a.hamdex', 'no hexadecimal')", "a fingerprint is a blob"),
        ("SELECT * FROM hamdex('a.hamdex', 1.5)", "a fingerprint is a blob"),
        ("SELECT * FROM hamdex('a.hamdex', 1, -1)", "integers from 0 on"),
        ("SELECT * FROM hamdex('a.hamdex', 1, 'three')", "integers from 0 on"),
        ("SELECT hamming(1, x'00')", "different widths"),
        ("SELECT hamming(1, 'zz')", "a fingerprint is a blob"),
        ("SELECT hamdex_build(NULL, 1)", "the path is null"),
        // It is there once, and there is no memory for another copy of it.
        (
            "PRAGMA hard_heap_limit = 42000000; SELECT hamdex_build(printf('%.*c', 16000000, 'a'), 1)",
            "out of memory",
        ),
        ("SELECT * FROM hamdex('a.hamdex' || char(0) || 'b', 1)", "the path has a zero byte"),
        ("SELECT hamdex_build('b.hamdex' || char(0) || 'c', 1)", "the path has a zero byte"),
        ("SELECT hamdex_build('b.hamdex', x'00')", "fingerprints have 8 bytes"),
        ("CREATE VIEW v AS SELECT * FROM hamdex('a.hamdex', 1); SELECT * FROM v", "unsafe use"),
    ] {
        let output = extension.output(&format!("{sql};\n"));
        assert!(output.contains(said), "{sql}: {output}");
    }
    assert!(!extension.path("b.hamdex").exists());
}
