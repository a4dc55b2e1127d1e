//! Damaged files of a store are named, and repaired as far as they can be read.

use std::fs;
use std::path::PathBuf;

use crate::common::{Scratch, crc32};
use crate::store::{Model, dumped, json_of, lines, pairs, with_store};

/// A store with a segment, removals, and a log.
fn with_everything() -> (Scratch, Vec<(u128, u64)>, Model) {
    let scratch = with_store(&["--design", "halves"]);
    let all: Vec<(u128, u64)> = (0..).zip(pairs(64, 3000, 17)).map(|(id, pair)| (pair.0, id)).collect();
    scratch.write("first.txt", lines(64, all[..2500].iter().copied()));
    scratch.write("second.txt", lines(64, all[2500..].iter().copied()));
    scratch.write("gone.txt", lines(64, all[..10].iter().copied()));
    scratch.output(&["store", "insert", "s", "first.txt"]);
    scratch.output(&["store", "flush", "s"]);
    scratch.output(&["store", "remove", "s", "gone.txt"]);
    scratch.output(&["store", "insert", "s", "--batch", "100", "second.txt"]);
    let model = all[10..].iter().copied().collect();
    (scratch, all, model)
}

fn one_file(scratch: &Scratch, directory: &str) -> PathBuf {
    let files = fs::read_dir(scratch.path(directory)).unwrap().map(|file| file.unwrap().path());
    let mut files: Vec<PathBuf> = files.collect();
    files.sort();
    files.pop().unwrap()
}

fn flip(path: &PathBuf, offset: usize) {
    let mut bytes = fs::read(path).unwrap();
    bytes[offset] ^= 1;
    // Links of the file elsewhere stay as they are.
    fs::remove_file(path).unwrap();
    fs::write(path, bytes).unwrap();
}

/// Every command refuses the store with the name of the file; returns what is said.
fn refused(scratch: &Scratch, file: &str) -> String {
    let mut said = String::new();
    for command in [&["verify", "s"][..], &["store", "compact", "s"], &["dump", "s", "--fingerprints"]] {
        let (code, text) = scratch.failure(command);
        assert!(text.contains(file), "{command:?}: {text}");
        assert!(text.contains("hamdex store repair"), "{command:?}: {text}");
        assert_eq!(code, 3, "{command:?}: {text}");
        said = text;
    }
    said
}

#[test]
fn a_whole_store_is_left_as_it_is() {
    let (scratch, _, model) = with_everything();
    let before = fs::read(scratch.path("s/manifest")).unwrap();
    let repaired = json_of(&scratch, &["store", "repair", "s", "--json"]);
    assert_eq!(repaired["files"].as_array().unwrap().len(), 0);
    assert_eq!(repaired["found"].as_array().unwrap().len(), 0);
    assert_eq!(repaired["complete"], true);
    assert_eq!(fs::read(scratch.path("s/manifest")).unwrap(), before);
    assert_eq!(dumped(&scratch, "s"), lines(64, model));
}

#[test]
fn of_a_damaged_log_all_whole_batches_are_saved() {
    let (scratch, all, mut model) = with_everything();
    let log = one_file(&scratch, "s/log");
    let bytes = fs::read(&log).unwrap();
    flip(&log, bytes.len() / 2);
    let said = refused(&scratch, "log/00000");
    assert!(said.contains("damaged at byte "), "{said}");
    let repaired = repaired_in_part(&scratch);
    assert_eq!(repaired["saved_batches"], 5, "{repaired}");
    assert!(repaired["returned_records"].as_u64().unwrap() >= 100, "{repaired}");
    assert_eq!(repaired["kept"].as_array().unwrap().len(), 1);
    let found = dumped(&scratch, "s");
    // One batch of 100 is lost, and only that.
    let lost = (0..5).find(|batch| {
        let lost = &all[2500 + batch * 100..][..100];
        let left: Model = model.iter().filter(|pair| !lost.contains(pair)).copied().collect();
        found == lines(64, left)
    });
    let lost = lost.expect("what is left is all but one batch");
    model.retain(|pair| !all[2500 + lost * 100..][..100].contains(pair));
    scratch.output(&["verify", "s"]);
    scratch.output(&["store", "compact", "s"]);
    assert_eq!(dumped(&scratch, "s"), lines(64, model));
}

#[test]
fn a_block_of_a_segment_is_put_together_from_another_table() {
    let (scratch, _, model) = with_everything();
    flip(&one_file(&scratch, "s/segments"), 4096 + 1024 + 20);
    let said = refused(&scratch, "s/segments/000001.hamdex: damaged at table 0, block 1");
    assert!(said.contains("restore the store from a backup"), "{said}");
    let repaired = json_of(&scratch, &["store", "repair", "s", "--json"]);
    assert_eq!((&repaired["complete"], &repaired["lost_records"]), (&true.into(), &0.into()), "{repaired}");
    assert_eq!(repaired["saved_records"], 2490, "{repaired}");
    assert_eq!((&repaired["records_before"], &repaired["records_after"]), (&2990.into(), &2990.into()));
    scratch.output(&["verify", "s"]);
    assert_eq!(dumped(&scratch, "s"), lines(64, model));
}

#[test]
fn of_a_segment_with_damaged_ids_the_rest_is_saved() {
    let (scratch, all, model) = with_everything();
    let segment = one_file(&scratch, "s/segments");
    let shape = json_of(&scratch, &["dump", segment.to_str().unwrap(), "--json"]);
    let blocks = shape["tables"][0]["blocks"].as_u64().unwrap() * shape["block_bytes"].as_u64().unwrap();
    flip(&segment, 4096 + blocks as usize + 20);
    let repaired = repaired_in_part(&scratch);
    let lost = repaired["lost_records"].as_u64().unwrap();
    assert!(lost > 0 && repaired["complete"] == false, "{repaired}");
    let found = dumped(&scratch, "s");
    let expected = lines(64, model.iter().copied());
    let missing = model.len() as u64 - found.lines().count() as u64;
    assert!(missing <= lost && lost <= missing + 10, "{missing}: {repaired}");
    assert!(found.lines().all(|line| expected.contains(line)), "nothing removed is back");
    // All pairs of the log are there.
    assert!(all[2500..].iter().all(|pair| found.contains(lines(64, [*pair]).trim_end())));
}

#[test]
fn one_bit_of_the_manifest_closes_no_door() {
    for at in [0, 10, 170, 400] {
        let (scratch, _, model) = with_everything();
        flip(&scratch.path("s/manifest"), at);
        assert_eq!(dumped(&scratch, "s"), lines(64, model.clone()), "the copy serves");
        let (code, said) = scratch.failure(&["verify", "s"]);
        assert!(code == 3 && said.contains("s/manifest: damaged"), "{said}");
        let repaired = json_of(&scratch, &["store", "repair", "s", "--json"]);
        assert_eq!(repaired["complete"], true, "{repaired}");
        assert_eq!(repaired["files"].as_array().unwrap().len(), 1, "{repaired}");
        assert_eq!(dumped(&scratch, "s"), lines(64, model));
        scratch.output(&["verify", "s"]);
        assert!(fs::read_dir(scratch.path("s/damaged")).unwrap().count() >= 1);
    }
}

#[test]
fn of_a_damaged_manifest_without_a_copy_the_lines_that_can_be_read_count() {
    let (scratch, _, model) = with_everything();
    let manifest = scratch.path("s/manifest");
    let text = fs::read_to_string(&manifest).unwrap();
    fs::remove_file(scratch.path("s/manifest.copy")).unwrap();
    // The checksum itself.
    flip(&manifest, text.find("crc32").unwrap() + 8);
    let (code, said) = scratch.failure(&["query", "s", "0xff"]);
    assert!(said.contains("s/manifest: damaged") && said.contains("hamdex store repair"), "{said}");
    assert_eq!(code, 3);
    scratch.output(&["store", "repair", "s"]);
    assert_eq!(dumped(&scratch, "s"), lines(64, model));
    scratch.output(&["verify", "s"]);
    assert!(fs::read_dir(scratch.path("s/damaged")).unwrap().count() >= 1);
}

#[test]
fn a_missing_segment_is_named_and_the_rest_saved() {
    let (scratch, all, _) = with_everything();
    fs::remove_file(one_file(&scratch, "s/segments")).unwrap();
    refused(&scratch, "s/segments/000001.hamdex: is missing");
    let repaired = repaired_in_part(&scratch);
    // Among them the ten that the log removes.
    assert_eq!(repaired["lost_records"], 2500, "{repaired}");
    let left: Model = all[2500..].iter().copied().collect();
    assert_eq!(dumped(&scratch, "s"), lines(64, left));
}

/// The report of a repair that is not complete, which its exit code says.
fn repaired_in_part(scratch: &Scratch) -> serde_json::Value {
    let outcome = scratch.hamdex(&["store", "repair", "s", "--json"]).output().unwrap();
    assert_eq!(outcome.status.code(), Some(3), "{outcome:?}");
    assert!(String::from_utf8_lossy(&outcome.stderr).contains("not complete"), "{outcome:?}");
    serde_json::from_slice(&outcome.stdout).unwrap()
}

#[test]
fn a_store_of_a_later_version_is_left_alone() {
    let (scratch, ..) = with_everything();
    let manifest = scratch.path("s/manifest");
    let text = fs::read_to_string(&manifest).unwrap();
    let checksum =
        |text: &str| format!("{:08x}", crc32(text.split_inclusive('\n').next().unwrap().as_bytes()));
    let later = text.replacen("\"hamdex_store\":1", "\"hamdex_store\":9", 1);
    let later = later.replacen(&checksum(&text), &checksum(&later), 1);
    fs::write(&manifest, &later).unwrap();
    for command in [&["query", "s", "0xff"][..], &["store", "repair", "s"], &["store", "compact", "s"]] {
        let (code, said) = scratch.failure(command);
        assert!(said.contains("too new") && code == 3, "{said}");
    }
    assert_eq!(fs::read_to_string(&manifest).unwrap(), later);
}
