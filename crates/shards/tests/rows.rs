//! Each row of the table of refusals in shards-spec.md, with a set in which as little else as possible is wrong.

mod common;

use std::collections::BTreeMap;
use std::path::Path;

use common::{Pushed, build, kinds};
use hamdex::{BuildOptions, Builder, Fingerprint, OpenOptions, RECIPE_KEY, VerifyOptions};
use hamdex_manifest::seal;
use hamdex_shards::inspect::read_manifest;
use hamdex_shards::{Error, Layout, MANIFEST, Shards, add, create};

/// The latest moment at which a reader refuses.
const MOMENTS: [&str; 3] = ["open", "use", "verify"];

fn report(error: &Error) -> &'static str {
    match error {
        Error::NotShards { .. } => "not a set of shards",
        Error::Missing { .. } => "missing",
        Error::Newer { .. } => "too new",
        Error::Damaged { .. } => "damaged",
        Error::Width { .. } => "another width",
        Error::Read(_) => "as there",
        _ => "something else",
    }
}

/// At which moment a set is refused, and how.
fn refused<F: Fingerprint>(path: &Path) -> Option<(&'static str, Error)> {
    let set = match Shards::<F>::open(path, &OpenOptions::new()) {
        Ok(set) => set,
        Err(error) => return Some(("open", error)),
    };
    for number in 0..set.manifest().shards.len() {
        if let Err(error) = set.shard(number) {
            return Some(("use", error));
        }
    }
    set.verify(&VerifyOptions::new().threads(1)).err().map(|error| ("verify", error))
}

/// Two families of two shards, with ids.
fn families(path: &Path) {
    build::<u64>(path, Layout::Families, 2, 1, &kinds::of(0, 60, 5), true);
}

/// Two shards of layout `hash`, with ids.
fn hash(path: &Path) {
    build::<u64>(path, Layout::Hash, 2, 3, &kinds::of(0, 60, 5), true);
}

/// An index file with the fingerprints from one number on, of the width, ids, names or recipe that the options say.
fn index<F: Fingerprint>(path: &Path, options: BuildOptions<F>, from: u64) {
    let (ids, names) = (options.has_ids(), options.has_names());
    let mut builder = Builder::with_options(path, options.block_bytes(512).distance(3)).unwrap();
    for number in from..from + 20 {
        let fingerprint = F::truncate(u128::from(common::mix(number)));
        match ids {
            true => builder.push_with_id(fingerprint, number).unwrap(),
            false => builder.push(fingerprint).unwrap(),
        }
        if names {
            builder.push_name(number, "a name").unwrap();
        }
    }
    builder.finish().unwrap();
}

/// The lines of a manifest except the last one.
fn lines_of(path: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(path.join(MANIFEST)).unwrap();
    let mut lines: Vec<String> = text.split_inclusive('\n').map(str::to_owned).collect();
    lines.pop();
    lines
}

fn write(path: &Path, lines: &[String]) {
    std::fs::write(path.join(MANIFEST), seal(lines.concat())).unwrap();
}

fn alter(path: &Path, change: impl FnOnce(&mut Vec<u8>)) {
    let mut bytes = std::fs::read(path).unwrap();
    change(&mut bytes);
    std::fs::write(path, bytes).unwrap();
}

type Edit = Box<dyn Fn(&Path)>;

/// Replaces a part of the text, under right checksums.
fn text(old: &'static str, new: &'static str) -> Edit {
    Box::new(move |path| {
        let lines = lines_of(path).concat();
        assert!(lines.contains(old), "{old} in {lines}");
        write(path, &[lines.replacen(old, new, 1)]);
    })
}

/// Changes the lines, under right checksums.
fn lines(change: fn(&mut Vec<String>)) -> Edit {
    Box::new(move |path| {
        let mut lines = lines_of(path);
        change(&mut lines);
        write(path, &lines);
    })
}

/// Changes the bytes of the manifest.
fn bytes(change: fn(&mut Vec<u8>)) -> Edit {
    Box::new(move |path| alter(&path.join(MANIFEST), change))
}

/// Replaces a field of a line by that of another line.
fn take(lines: &mut [String], to: usize, from: usize, field: &str) {
    let value = |line: &str| {
        let start = line.find(&format!("\"{field}\":")).unwrap() + field.len() + 3;
        let end = start + line[start..].find([',', '}']).unwrap();
        start..end
    };
    let new = lines[from][value(&lines[from])].to_owned();
    let range = value(&lines[to]);
    lines[to].replace_range(range, &new);
}

fn with_field(line: &str, field: &str, value: &str) -> String {
    let start = line.find(&format!("\"{field}\":")).unwrap() + field.len() + 3;
    let end = start + line[start..].find([',', '}']).unwrap();
    [&line[..start], value, &line[end..]].concat()
}

/// Another file in the place of the first shard, of which the manifest has file id and counts as well.
fn named_shard<F: Fingerprint>(options: fn() -> BuildOptions<F>) -> Edit {
    Box::new(move |path| {
        let manifest = read_manifest(path).unwrap();
        let file = path.join(&manifest.shards[0].file);
        std::fs::remove_file(&file).unwrap();
        index(&file, options(), 70);
        let opened = OpenOptions::new().open::<F>(&file).unwrap();
        let ids = if manifest.id_type.is_some() { opened.len() } else { 0 };
        let mut lines = lines_of(path);
        for (field, value) in [
            ("fingerprints", opened.len().to_string()),
            ("ids", ids.to_string()),
            ("bytes", opened.stats().file_bytes.to_string()),
            ("file_id", format!("\"{}\"", opened.file_id())),
        ] {
            lines[1] = with_field(&lines[1], field, &value);
        }
        write(path, &lines);
    })
}

/// The name of a row, a set, and the edit that makes it wrong.
type Row = (&'static str, fn(&Path), Edit);

fn edits() -> Vec<Row> {
    let first_file = |path: &Path| path.join(&read_manifest(path).unwrap().shards[0].file);
    vec![
        ("manifest.missing", hash, Box::new(|path| std::fs::remove_file(path.join(MANIFEST)).unwrap())),
        (
            "manifest.missing",
            hash,
            Box::new(|path| {
                std::fs::remove_file(path.join(MANIFEST)).unwrap();
                std::fs::create_dir(path.join(MANIFEST)).unwrap();
            }),
        ),
        ("manifest.beginning", hash, bytes(|text| text[0] ^= 1)),
        ("manifest.beginning", hash, bytes(Vec::clear)),
        ("manifest.beginning", hash, bytes(|text| *text = vec![b' '; (1 << 25) + 1])),
        ("manifest.beginning", hash, text("{\"hamdex_shards\":", "{\"hamdex_store\":")),
        // JSON, but not this one.
        ("manifest.beginning", hash, text("{\"hamdex_shards\":", "{ \"hamdex_shards\":")),
        ("manifest.beginning", hash, text("{\"hamdex_shards\":", "{\"hamdex\\u005fshards\":")),
        ("manifest.length", hash, bytes(|text| text.resize((1 << 25) + 1, b' '))),
        ("manifest.checksum", hash, bytes(|text| text[40] ^= 1)),
        ("manifest.checksum", hash, bytes(|text| text.truncate(300))),
        ("manifest.checksum", hash, bytes(|text| text.extend(b"\n"))),
        // Damaged, so that it is not known whether it is newer.
        ("manifest.checksum", hash, bytes(|text| text["{\"hamdex_shards\":".len()] = b'2')),
        ("manifest.newer", hash, text("\"hamdex_shards\":1", "\"hamdex_shards\":2")),
        (
            "manifest.newer",
            hash,
            text("\"hamdex_shards\":1,\"layout\"", "\"hamdex_shards\":2,\"anything\" there"),
        ),
        (
            "manifest.utf8",
            hash,
            Box::new(|path| {
                let mut lines = lines_of(path).concat().into_bytes();
                let at = lines.windows(4).position(|word| word == b"hash").unwrap();
                lines[at] = 0xff;
                std::fs::write(path.join(MANIFEST), sealed(&lines)).unwrap();
            }),
        ),
        ("manifest.lines", hash, lines(|lines| lines[0] = "{\"hamdex_shards\":1}\n".to_owned())),
        ("manifest.lines", hash, lines(|lines| lines[1] = "\n".to_owned())),
        ("manifest.lines", hash, text("\"width\":64", "\"width\":\"64\"")),
        ("manifest.lines", hash, text("\"width\":64", "\"width\":64,\"more\":0")),
        ("manifest.lines", hash, text("\"width\":64", "\"width\":64,\"width\":64")),
        ("manifest.lines", hash, text("\"width\":64,", "")),
        ("manifest.lines", hash, text("{\"file\"", "[\"file\"")),
        ("manifest.lines", hash, text("\"recipe\":null", "\"recipe\":\"\\ud800\"")),
        ("manifest.text", hash, text("\"width\":64", "\"width\": 64")),
        ("manifest.text", hash, text("\"hamdex_shards\":1", "\"hamdex_shards\":0")),
        ("manifest.text", hash, text("\"hash\"", "\"\\u0068ash\"")),
        ("manifest.text", hash, text("\"recipe\":null,", "")),
        ("manifest.text", hash, text("\"distance\":3", "\"distance\":3.0")),
        ("manifest.layout", hash, text("\"hash\"", "\"rings\"")),
        ("manifest.width", hash, text("\"width\":64", "\"width\":65")),
        ("manifest.distance", hash, text("\"distance\":3", "\"distance\":65")),
        ("manifest.distance", families, text("\"distance\":1", "\"distance\":64")),
        ("manifest.id-type", hash, text("\"numbers\"", "\"colours\"")),
        ("manifest.shards", hash, lines(|lines| lines.truncate(1))),
        (
            "manifest.shards",
            hash,
            lines(|lines| {
                let shard = |number: usize| with_field(&lines[1], "file", &format!("\"{number}\""));
                let shards: String = (0..=1 << 15).map(shard).collect();
                lines.truncate(1);
                lines.push(shards);
            }),
        ),
        ("manifest.families", families, text("\"distance\":1", "\"distance\":2")),
        ("manifest.families", families, lines(|lines| drop(lines.pop()))),
        ("manifest.sums", families, lines(|lines| take(lines, 1, 2, "fingerprints"))),
        (
            "manifest.sums",
            families,
            lines(|lines| {
                let more = 1 + lines[1]
                    .split("\"ids\":")
                    .nth(1)
                    .unwrap()
                    .split(',')
                    .next()
                    .unwrap()
                    .parse::<u64>()
                    .unwrap();
                lines[1] = with_field(&lines[1], "ids", &more.to_string());
            }),
        ),
        ("manifest.file", hash, lines(|lines| lines[1] = with_field(&lines[1], "file", "\"\""))),
        ("manifest.file", hash, lines(|lines| lines[1] = with_field(&lines[1], "file", "\"..\""))),
        ("manifest.file", hash, lines(|lines| lines[1] = with_field(&lines[1], "file", "\"../a\""))),
        ("manifest.file", hash, lines(|lines| lines[1] = with_field(&lines[1], "file", "\"a\\\\b\""))),
        ("manifest.file", hash, lines(|lines| lines[1] = with_field(&lines[1], "file", "\"C:a\""))),
        ("manifest.file", hash, lines(|lines| lines[1] = with_field(&lines[1], "file", "\"a\\nb\""))),
        ("manifest.file", hash, lines(|lines| lines[1] = with_field(&lines[1], "file", "\"a\u{85}b\""))),
        ("manifest.file", hash, lines(|lines| lines[1] = with_field(&lines[1], "file", "\"manifest\""))),
        ("manifest.files", hash, lines(|lines| take(lines, 1, 2, "file"))),
        ("manifest.file-id", hash, lines(|lines| lines[1] = with_field(&lines[1], "file_id", "\"00\""))),
        (
            "manifest.file-id",
            hash,
            lines(|lines| lines[1] = lines[1].to_uppercase().replace("\"FILE\"", "\"file\"")),
        ),
        (
            "manifest.counts",
            hash,
            lines(|lines| lines[1] = with_field(&lines[1], "bytes", "281474976710657")),
        ),
        ("manifest.counts", hash, lines(|lines| lines[1] = with_field(&lines[1], "ids", "0"))),
        ("manifest.counts", hash, lines(|lines| lines[1] = with_field(&lines[1], "fingerprints", "0"))),
        ("manifest.counts", hash, text("\"numbers\"", "null")),
        ("manifest.shingles", hash, text("\"numbers\"", "null,\"shingles\":\"some\"")),
        ("shard.missing", hash, Box::new(move |path| std::fs::remove_file(first_file(path)).unwrap())),
        (
            "shard.kind",
            hash,
            Box::new(move |path| {
                let file = first_file(path);
                std::fs::remove_file(&file).unwrap();
                std::fs::create_dir(file).unwrap();
            }),
        ),
        ("shard.length", hash, Box::new(move |path| alter(&first_file(path), |bytes| bytes.push(0)))),
        ("shard.file", hash, Box::new(move |path| alter(&first_file(path), |bytes| bytes[0] ^= 1))),
        ("shard.width", hash, named_shard(|| BuildOptions::<u128>::new().ids(true))),
        ("shard.file-id", hash, lines(|lines| take(lines, 1, 2, "file_id"))),
        ("shard.counts", hash, lines(|lines| take(lines, 1, 2, "fingerprints"))),
        ("shard.counts", hash, lines(|lines| lines[1] = with_field(&lines[1], "ids", "999"))),
        ("shard.ids", hash, named_shard(|| BuildOptions::<u64>::new().names(true))),
        (
            "shard.recipe",
            hash,
            named_shard(|| BuildOptions::<u64>::new().ids(true).metadata(RECIPE_KEY, "a recipe")),
        ),
        ("shard.recipe", hash, text("\"recipe\":null", "\"recipe\":\"a recipe\"")),
        (
            "shard.recipe",
            hash,
            named_shard(|| BuildOptions::<u64>::new().ids(true).metadata(RECIPE_KEY, b"\xff".as_slice())),
        ),
        ("shard.shingles", hash, text("\"numbers\"", "\"numbers\",\"shingles\":\"some\"")),
        ("families.place", families, lines(|lines| lines.swap(3, 4))),
        ("families.members", families, Box::new(exchanged_family)),
    ]
}

/// The last line for lines that are not UTF-8.
fn sealed(lines: &[u8]) -> Vec<u8> {
    let checksum = |line| format!("\"{:08x}\"", crc32fast::hash(line));
    let checksums: Vec<_> = lines.split_inclusive(|&byte| byte == b'\n').map(checksum).collect();
    [lines, format!("{{\"crc32\":[{}]}}\n", checksums.join(",")).as_bytes()].concat()
}

/// Replaces the second family by that of another set with the same numbers of fingerprints and ids.
fn exchanged_family(path: &Path) {
    let other = tempfile::tempdir().unwrap();
    let mut pushed: Vec<Pushed<u64>> = kinds::of(0, 60, 5);
    pushed[0].1 += 1;
    let other = other.path().join("other");
    build::<u64>(&other, Layout::Families, 2, 1, &pushed, true);
    let (mut lines, others) = (lines_of(path), lines_of(&other));
    for number in [3, 4] {
        let file = |path: &Path| path.join(&read_manifest(path).unwrap().shards[number - 1].file);
        std::fs::copy(file(&other), file(path)).unwrap();
        lines[number].clone_from(&others[number]);
    }
    write(path, &lines);
}

/// The rows of the table: when, and how it is reported, by name.
fn rows() -> BTreeMap<String, (String, String)> {
    let spec = include_str!("../../../shards-spec.md");
    let table =
        spec.split("<!-- refusals -->").nth(1).unwrap().split("<!-- end of refusals -->").next().unwrap();
    let rows = table.lines().filter(|line| line.starts_with("| `")).map(|line| {
        let cells: Vec<_> = line.trim_matches('|').split(" | ").map(str::trim).collect();
        assert_eq!(cells.len(), 4, "{line}");
        (cells[0].trim_matches('`').to_owned(), (cells[2].to_owned(), cells[3].to_owned()))
    });
    rows.collect()
}

#[test]
fn every_row_of_the_table_is_refused_as_it_says() {
    let parent = tempfile::tempdir().unwrap();
    let rows = rows();
    let mut left = rows.clone();
    for (number, (name, make, edit)) in edits().into_iter().enumerate() {
        let path = parent.path().join(number.to_string());
        make(&path);
        edit(&path);
        let (when, how) = &rows[name];
        let (moment, error) =
            refused::<u64>(&path).unwrap_or_else(|| panic!("{name} ({number}): not refused"));
        assert_eq!((moment, report(&error)), (when.as_str(), how.as_str()), "{name} ({number}): {error}");
        assert!(MOMENTS.contains(&moment));
        left.remove(name);
    }
    let path = parent.path().join("wide");
    hash(&path);
    let (when, how) = left.remove("width").unwrap();
    let (moment, error) = refused::<u128>(&path).unwrap();
    assert_eq!((moment, report(&error)), (when.as_str(), how.as_str()));
    assert!(left.is_empty(), "rows without a test: {left:?}");
}

#[test]
fn sets_of_these_tests_are_whole_as_they_are() {
    let parent = tempfile::tempdir().unwrap();
    for (name, make) in [("families", families as fn(&Path)), ("hash", hash)] {
        let path = parent.path().join(name);
        make(&path);
        assert!(refused::<u64>(&path).is_none());
        // Reverting an edit restores the set.
        write(&path, &lines_of(&path));
        assert!(refused::<u64>(&path).is_none());
        // A file of another name says nothing.
        std::fs::write(path.join("shards.json"), "{}").unwrap();
        assert!(refused::<u64>(&path).is_none());
    }
    let path = parent.path().join("families");
    let before = std::fs::read(path.join(MANIFEST)).unwrap();
    exchanged_family(&path);
    assert_ne!(std::fs::read(path.join(MANIFEST)).unwrap(), before);
}

#[test]
fn names_of_files_and_recipes_are_written_as_the_text_has_it() {
    let parent = tempfile::tempdir().unwrap();
    let at = |name: &str| parent.path().join(name);
    let recipe = "a \"recipe\"\n\u{1}\u{7f}\\ü";
    let options = || BuildOptions::<u64>::new().metadata(RECIPE_KEY, recipe);
    index(&at("one"), options(), 0);
    index(&at("two"), options(), 20);
    create(at("set"), &[at("one")], false, &VerifyOptions::new()).unwrap();
    // A name with a character that JSON escapes, which only another writer would choose.
    let manifest = read_manifest(at("set")).unwrap();
    let name = "a \"name\" ü\u{2028}";
    std::fs::rename(at("set").join(&manifest.shards[0].file), at("set").join(name)).unwrap();
    let mut lines = lines_of(&at("set"));
    assert_eq!(
        lines[0].split("\"recipe\":").nth(1).unwrap(),
        "\"a \\\"recipe\\\"\\n\\u0001\u{7f}\\\\ü\",\"id_type\":null}\n"
    );
    lines[1] = with_field(&lines[1], "file", "\"a \\\"name\\\" ü\u{2028}\"");
    write(&at("set"), &lines);
    assert_eq!(read_manifest(at("set")).unwrap().shards[0].file, name);
    let manifest = add(at("set"), &[at("two")], &VerifyOptions::new()).unwrap();
    assert_eq!((manifest.recipe.as_deref(), manifest.shards.len()), (Some(recipe), 2));
    assert!(refused::<u64>(&at("set")).is_none());
    // An escape that the character does not need is another text.
    let lines = lines_of(&at("set"));
    let escaped = lines.concat().replacen('ü', "\\u00fc", 1);
    write(&at("set"), &[escaped]);
    assert!(matches!(read_manifest(at("set")), Err(Error::Damaged { .. })));
}
