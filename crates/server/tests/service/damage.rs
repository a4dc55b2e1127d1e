//! Damaged files: requests to their set fail and name the file, and other sets answer on.

use std::path::Path;

use serde_json::json;

use crate::common::{Chance, Running, build, hex};

/// Changes a byte in a copy that takes the place of the file, so that nothing mapped changes.
fn flip(path: &Path, at: usize) {
    let mut bytes = std::fs::read(path).unwrap();
    bytes[at] ^= 1;
    std::fs::remove_file(path).unwrap();
    std::fs::write(path, bytes).unwrap();
}

#[test]
fn a_damaged_segment_fails_by_its_name_and_other_sets_answer_on() {
    let directory = tempfile::tempdir().unwrap();
    let mut chance = Chance(1);
    let fingerprints: Vec<u64> = (0..2000).map(|_| chance.next()).collect();
    build(&directory.path().join("whole"), &fingerprints);
    let running = Running::of(directory.path());
    let client = running.client();
    client.put("/v1/sets/s", &json!({})).ok();
    let records: Vec<_> = fingerprints.iter().map(|f| json!({ "fingerprint": hex(*f), "id": 1 })).collect();
    client.post("/v1/sets/s/insert", &json!({ "records": records })).ok();
    client.post("/v1/sets/s/flush", &json!({})).ok();
    running.end();
    let segment = directory.path().join("s/segments/000001.hamdex");
    // In the first block of the first table.
    flip(&segment, 4096 + 100);

    let running = Running::of(directory.path());
    let client = running.client();
    let query = |set: &str, fingerprint: u64| {
        client.post(
            &format!("/v1/sets/{set}/query"),
            &json!({ "fingerprints": [hex(fingerprint)], "distance": 0 }),
        )
    };
    let failed: Vec<_> =
        fingerprints.iter().map(|f| query("s", *f)).filter(|answer| answer.status != 200).collect();
    assert!(!failed.is_empty() && failed.len() < fingerprints.len() / 2, "{} fail", failed.len());
    for answer in failed {
        assert_eq!(answer.problem(), (500, "damaged".to_owned()));
        assert_eq!(answer.json()["file"], segment.to_str().unwrap());
    }
    assert_eq!(client.get("/v1/sets/s/entries").problem(), (500, "damaged".to_owned()));
    assert_eq!(client.get("/v1/sets/s/blocks").ok()["is_whole"], false);
    let job = client.ended(&client.post("/v1/sets/s/verify", &json!({})).ok());
    assert_eq!((&job["state"], &job["problem"]["code"]), (&json!("failed"), &json!("damaged")));
    assert_eq!(job["problem"]["file"], segment.to_str().unwrap());
    assert!(fingerprints.iter().all(|f| query("whole", *f).ok()["results"][0][0]["distance"] == 0));
    assert_eq!(client.ended(&client.post("/v1/sets/whole/verify", &json!({})).ok())["state"], "done");
}

#[test]
fn a_set_that_cannot_be_opened_does_not_keep_others_from_being_served() {
    let directory = tempfile::tempdir().unwrap();
    build(&directory.path().join("whole"), &[1, 2, 3]);
    build(&directory.path().join("broken"), &[1, 2, 3]);
    std::fs::write(directory.path().join("notes.txt"), "no set").unwrap();
    std::fs::create_dir(directory.path().join("lost+found")).unwrap();
    let running = Running::of(directory.path());
    running.client().put("/v1/sets/s", &json!({})).ok();
    running.end();
    let end = std::fs::metadata(directory.path().join("broken")).unwrap().len() as usize;
    flip(&directory.path().join("broken"), end - 30);
    for name in ["manifest", "manifest.copy"] {
        let path = directory.path().join("s").join(name);
        if path.exists() {
            flip(&path, 40);
        }
    }
    let running = Running::of(directory.path());
    let client = running.client();
    let sets = client.get("/v1/sets").ok();
    let of = |name: &str| sets["sets"].as_array().unwrap().iter().find(|set| set["name"] == name).cloned();
    assert_eq!(of("whole").unwrap()["fingerprints"], 3);
    for name in ["broken", "s"] {
        assert_eq!(of(name).unwrap()["problem"]["code"], "damaged", "{sets}");
        let answer = client.post(&format!("/v1/sets/{name}/query"), &json!({ "fingerprints": [] }));
        assert_eq!(answer.problem(), (500, "damaged".to_owned()));
        assert!(answer.json()["file"].as_str().unwrap().contains(name));
        assert_eq!(client.put(&format!("/v1/sets/{name}"), &json!({})).problem().0, 409);
    }
    assert!(of("notes.txt").is_none() && of("lost+found").is_none());
    // A whole file in the place of a damaged one is served.
    build(&directory.path().join(".new"), &[5, 6]);
    std::fs::rename(directory.path().join(".new"), directory.path().join("broken")).unwrap();
    let repaired =
        client.post("/v1/sets/broken/query", &json!({ "fingerprints": [hex(5_u64)], "distance": 0 })).ok();
    assert_eq!(repaired["results"][0][0]["ids"], json!([0]));
    let metrics = String::from_utf8(client.get("/metrics").body).unwrap();
    assert!(
        metrics.contains("hamdex_set_up{set=\"s\"} 0") && metrics.contains("hamdex_set_up{set=\"whole\"} 1")
    );
}
