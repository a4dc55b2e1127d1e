//! A disk that is really full: a small file system in memory, if one may be mounted.

use std::fs::File;
use std::io::{ErrorKind, Write};
use std::path::Path;
use std::process::Command;

use serde_json::json;

use crate::common::{Chance, Running, hex};

/// A small file system, as long as it is held.
struct Small<'a>(&'a Path);

impl<'a> Small<'a> {
    fn mount(at: &'a Path) -> Option<Self> {
        let mounted = Command::new("mount").args(["-t", "tmpfs", "-o", "size=2m", "tmpfs"]).arg(at).output();
        mounted.is_ok_and(|output| output.status.success()).then_some(Self(at))
    }
}

impl Drop for Small<'_> {
    fn drop(&mut self) {
        drop(Command::new("umount").arg("-l").arg(self.0).output());
    }
}

/// Writes a file of 1 MiB, or as much of it as there is room for: logs keep room for what they may have to take.
fn fill(ballast: &Path) {
    let mut file = File::create(ballast).unwrap();
    for _ in 0..256 {
        match file.write_all(&[0; 4096]) {
            Err(error) if error.kind() == ErrorKind::StorageFull => return,
            written => written.unwrap(),
        }
    }
}

#[test]
fn a_full_disk_refuses_writes_and_loses_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let Some(_small) = Small::mount(directory.path()) else {
        eprintln!("a file system for it cannot be mounted here: a full disk is not tested");
        return;
    };
    let ballast = directory.path().join(".ballast");
    let running = Running::of(directory.path());
    let client = running.client();
    client.put("/v1/sets/s", &json!({})).ok();
    let mut chance = Chance(9);
    let mut answered = Vec::new();
    let mut insert = |answered: &mut Vec<String>| {
        let batch: Vec<String> = (0..100).map(|_| hex(chance.next())).collect();
        let records: Vec<_> =
            batch.iter().map(|fingerprint| json!({ "fingerprint": fingerprint, "id": 1 })).collect();
        let answer = client.post("/v1/sets/s/insert", &json!({ "records": records }));
        if answer.status == 200 {
            answered.extend(batch);
        }
        answer
    };
    for round in 0..3 {
        fill(&ballast);
        let refused = loop {
            let answer = insert(&mut answered);
            if answer.status != 200 {
                break answer;
            }
        };
        assert_eq!(refused.problem(), (507, "disk_full".to_owned()), "round {round}");
        let new = client.put("/v1/sets/new", &json!({}));
        assert!(matches!(new.status, 201 | 409 | 507), "{new:?}");
        let found = client.post("/v1/sets/s/query", &json!({ "fingerprints": answered, "distance": 0 })).ok();
        assert!(
            found["results"].as_array().unwrap().iter().all(|found| found.as_array().unwrap().len() == 1)
        );
        // With space, writes go on.
        std::fs::remove_file(&ballast).unwrap();
        assert_eq!(insert(&mut answered).status, 200, "round {round}");
        client.post("/v1/sets/s/flush", &json!({})).ok();
        let job = client.post("/v1/sets/s/compact", &json!({})).ok();
        assert_eq!(client.ended(&job)["state"], "done");
    }
    running.end();
    let running = Running::of(directory.path());
    let entries = running.client().get("/v1/sets/s/entries").rows();
    let stored: std::collections::HashSet<&str> =
        entries.iter().filter_map(|row| row["fingerprint"].as_str()).collect();
    assert!(answered.iter().all(|fingerprint| stored.contains(fingerprint.as_str())));
}
