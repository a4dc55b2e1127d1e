//! Files that are overwritten or cut off in place while they are served: their set ends with an error, and others answer on.

use std::fs::{self, File};
use std::iter;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use hamdex::BuildOptions;
use hamdex_server::Options;
use hamdex_shards::{Layout, ShardsBuilder};
use serde_json::json;

use crate::common::{Answer, Chance, Client, Running, build, hex, options};

fn numbers(seed: u64) -> Vec<u64> {
    let mut chance = Chance(seed);
    (0..20_000).map(|_| chance.next()).collect()
}

fn ask(client: &Client, set: &str, fingerprint: u64) -> Answer {
    client
        .post(&format!("/v1/sets/{set}/query"), &json!({ "fingerprints": [hex(fingerprint)], "distance": 0 }))
}

/// Ends an endless iterator after a time in which all that is waited for has happened even on a busy machine.
fn until_late<T>(items: impl Iterator<Item = T>) -> impl Iterator<Item = T> {
    let deadline = Instant::now() + Duration::from_secs(100);
    items.take_while(move |_| Instant::now() < deadline)
}

/// Asks until the set has ended; every answer before is right.
fn ended(client: &Client, set: &str, stored: &[u64]) -> Answer {
    let mut answers = until_late(stored.iter().cycle()).map(|&fingerprint| ask(client, set, fingerprint));
    answers.find(|answer| answer.status != 200).unwrap()
}

fn check_ended(client: &Client, set: &str, stored: &[u64]) {
    let answer = ended(client, set, stored);
    assert_eq!(answer.problem(), (500, "damaged".to_owned()));
    let detail = answer.json()["detail"].as_str().unwrap().to_owned();
    assert!(detail.contains("mv"), "{detail}");
    // It stays so, for every kind of request.
    for path in ["", "/entries", "/pairs?distance=0"] {
        assert_eq!(client.get(&format!("/v1/sets/{set}{path}")).problem().1, "damaged", "{path}");
    }
    let sets = client.get("/v1/sets").ok();
    let listed = sets["sets"].as_array().unwrap().iter().find(|listed| listed["name"] == set).unwrap();
    assert_eq!(listed["problem"]["code"], "damaged");
}

#[test]
fn an_index_file_that_is_overwritten_ends_and_another_in_its_place_is_served() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name);
    let (stored, other) = (numbers(1), numbers(2));
    for name in ["whole", "copied", "cut", "emptied"] {
        build(&path(name), &stored);
    }
    build(&path(".other"), &other);
    let running = Running::of(directory.path());
    let client = running.client();
    for name in ["copied", "cut", "emptied"] {
        assert_eq!(ask(&client, name, stored[0]).ok()["results"][0][0]["ids"], json!([0]));
    }
    // What cp does, and writers that fail.
    fs::copy(path(".other"), path("copied")).unwrap();
    let length = path("cut").metadata().unwrap().len();
    File::options().write(true).open(path("cut")).unwrap().set_len(length / 3).unwrap();
    File::options().write(true).open(path("emptied")).unwrap().set_len(0).unwrap();
    for name in ["copied", "cut", "emptied"] {
        check_ended(&client, name, &stored);
        assert_eq!(ask(&client, "whole", stored[7]).ok()["results"][0][0]["ids"], json!([7]));
    }
    // A rename mends it.
    build(&path(".new"), &other);
    fs::rename(path(".new"), path("cut")).unwrap();
    assert_eq!(ask(&client, "cut", other[9]).ok()["results"][0][0]["ids"], json!([9]));
}

#[test]
fn in_memory_nothing_that_happens_to_a_file_matters() {
    let directory = tempfile::tempdir().unwrap();
    let stored = numbers(1);
    build(&directory.path().join("a"), &stored);
    let running =
        Running::start(Options { data: Some(directory.path().to_owned()), in_memory: true, ..options() });
    let client = running.client();
    client.put("/v1/sets/s", &json!({})).ok();
    let records: Vec<_> = stored.iter().map(|f| json!({ "fingerprint": hex(*f), "id": 1 })).collect();
    client.post("/v1/sets/s/insert", &json!({ "records": records })).ok();
    client.post("/v1/sets/s/flush", &json!({})).ok();
    for file in ["a", "s/segments/000001.hamdex"] {
        File::options().write(true).open(directory.path().join(file)).unwrap().set_len(10).unwrap();
    }
    for &fingerprint in &stored[..500] {
        for set in ["a", "s"] {
            assert_eq!(ask(&client, set, fingerprint).ok()["results"][0][0]["distance"], 0);
        }
    }
}

/// Sets the length of a file to 0 while readers are in it. Each of their answers is right until they get an error.
fn cut_under_readers(running: &Running, set: &str, stored: &[u64], file: &Path) {
    thread::scope(|scope| {
        for reader in 0..4 {
            let client = running.client();
            scope.spawn(move || {
                let asked = until_late(stored.iter().cycle().skip(reader * 5000));
                let mut answers = asked.map(|&fingerprint| ask(&client, set, fingerprint));
                let is_right = |answer: &Answer| answer.json()["results"][0][0]["distance"] == 0;
                let first_error = answers.find(|answer| answer.status != 200 || !is_right(answer)).unwrap();
                assert_eq!(first_error.problem(), (500, "damaged".to_owned()));
            });
        }
        File::options().write(true).open(file).unwrap().set_len(0).unwrap();
    });
}

#[test]
fn a_segment_or_a_shard_that_is_cut_off_ends_its_set_under_its_readers() {
    let directory = tempfile::tempdir().unwrap();
    let stored = numbers(3);
    build(&directory.path().join("whole"), &stored);
    let shards = directory.path().join("shards");
    let mut builder =
        ShardsBuilder::<u64>::create(&shards, Layout::Families, 4, BuildOptions::new()).unwrap();
    stored.iter().for_each(|&fingerprint| builder.push(fingerprint).unwrap());
    drop(builder.finish().unwrap());
    let running = Running::of(directory.path());
    let client = running.client();
    client.put("/v1/sets/s", &json!({})).ok();
    let records: Vec<_> = stored.iter().map(|f| json!({ "fingerprint": hex(*f), "id": 1 })).collect();
    client.post("/v1/sets/s/insert", &json!({ "records": records })).ok();
    client.post("/v1/sets/s/flush", &json!({})).ok();
    let segment = directory.path().join("s/segments/000001.hamdex");
    fs::copy(&segment, directory.path().join(".segment")).unwrap();
    cut_under_readers(&running, "s", &stored, &segment);
    // A write may depend on what is lost.
    let record = json!({ "records": [{ "fingerprint": hex(1_u64), "id": 1 }], "unless_near": 3 });
    assert_eq!(client.post("/v1/sets/s/insert", &record).problem(), (500, "damaged".to_owned()));
    let some_shard = fs::read_dir(&shards)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "hamdex"))
        .min()
        .expect("a shard");
    fs::copy(&some_shard, directory.path().join(".shard")).unwrap();
    cut_under_readers(&running, "shards", &stored, &some_shard);
    for (id, &fingerprint) in stored.iter().enumerate().take(500) {
        assert_eq!(ask(&client, "whole", fingerprint).ok()["results"][0][0]["ids"], json!([id]));
    }
    assert_eq!(client.get("/healthz").status, 200);
    // A rename mends them.
    fs::rename(directory.path().join(".segment"), segment).unwrap();
    fs::rename(directory.path().join(".shard"), some_shard).unwrap();
    for set in ["s", "shards"] {
        let mut answers =
            until_late(iter::repeat(stored[0])).map(|fingerprint| ask(&client, set, fingerprint));
        assert!(answers.any(|answer| answer.status == 200), "{set}");
        for &fingerprint in stored.iter().take(500) {
            assert_eq!(ask(&client, set, fingerprint).ok()["results"][0][0]["distance"], 0);
        }
    }
    assert_eq!(client.post("/v1/sets/s/insert", &record).ok()["inserted"], 1);
}
