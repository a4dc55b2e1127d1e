//! Sets that are replaced while they are served.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use hamdex::BuildOptions;
use hamdex_server::Options;
use hamdex_shards::{Layout, ShardsBuilder};
use hamdex_store::{CreateOptions, Store, StoreOptions};
use serde_json::json;

use crate::common::{Over, Running, build, hex, options};

#[test]
fn a_file_that_is_replaced_is_opened_anew_without_a_failed_request() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("data");
    std::fs::create_dir(&data).unwrap();
    let of_round = |round: u64| (0..500).map(|number| round << 32 | number << 8).collect::<Vec<u64>>();
    build(&data.join("a"), &of_round(1));
    let running = Running::of(&data);
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        let readers: Vec<_> = (0..3)
            .map(|_| {
                let (client, is_over) = (running.client(), &is_over);
                scope.spawn(move || {
                    let mut last = 0;
                    while !is_over.load(Ordering::Relaxed) {
                        let rows = client.get("/v1/sets/a/entries").rows();
                        // One whole file or another, and never an older one.
                        let round =
                            u64::from_str_radix(rows[0]["fingerprint"].as_str().unwrap(), 16).unwrap() >> 32;
                        let expected: Vec<String> = of_round(round).into_iter().map(hex).collect();
                        assert!(rows.iter().map(|row| row["fingerprint"].as_str().unwrap()).eq(&expected));
                        assert!(round >= last);
                        last = round;
                    }
                })
            })
            .collect();
        let over = Over(&is_over);
        for round in 2..30 {
            let new = directory.path().join("new");
            build(&new, &of_round(round));
            std::fs::rename(&new, data.join("a")).unwrap();
            let found = running
                .client()
                .post("/v1/sets/a/query", &json!({ "fingerprints": [hex(round << 32)], "distance": 0 }))
                .ok();
            // Another request may be opening it just now.
            assert!(found["results"][0].as_array().unwrap().len() <= 1);
        }
        drop(over);
        readers.into_iter().for_each(|reader| reader.join().unwrap());
    });
    let first = running.client().get("/v1/sets/a/entries?limit=1").rows();
    assert_eq!(first[0]["fingerprint"], hex(29_u64 << 32));
    // Neither a file that is no set nor a missing one takes the place of a set.
    std::fs::write(directory.path().join("new"), "no set").unwrap();
    std::fs::rename(directory.path().join("new"), data.join("a")).unwrap();
    assert_eq!(running.client().get("/v1/sets/a/entries?limit=1").rows(), first);
    std::fs::remove_file(data.join("a")).unwrap();
    assert_eq!(running.client().get("/v1/sets/a/entries?limit=1").rows(), first);
}

#[test]
fn a_set_of_shards_that_is_replaced_stays_whole() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("data");
    std::fs::create_dir(&data).unwrap();
    let make = |name: &str, round: u64| {
        let path = directory.path().join(name);
        let mut builder =
            ShardsBuilder::<u64>::create(&path, Layout::Families, 4, BuildOptions::new()).unwrap();
        for number in 0..400 {
            builder.push(round << 32 | number).unwrap();
        }
        drop(builder.finish().unwrap());
        path
    };
    std::fs::rename(make("one", 1), data.join("s")).unwrap();
    let running = Running::of(&data);
    let client = running.client();
    let described = client.get("/v1/sets/s").ok();
    assert_eq!((&described["kind"], &described["fingerprints"]), (&json!("shards"), &json!(400)));
    let count = |round: u64| {
        let queries: Vec<String> = (0..400).map(|number| hex(round << 32 | number)).collect();
        let found = client.post("/v1/sets/s/query", &json!({ "fingerprints": queries, "distance": 0 })).ok();
        found["results"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|found| found.as_array().unwrap().len() == 1)
            .count()
    };
    assert_eq!(count(1), 400);
    let two = make("two", 2);
    std::fs::rename(data.join("s"), directory.path().join("old")).unwrap();
    // Between the two renames, the one before is served.
    assert_eq!(count(1), 400);
    std::fs::rename(two, data.join("s")).unwrap();
    assert_eq!((count(2), count(1)), (400, 0));
    assert_eq!(client.ended(&client.post("/v1/sets/s/verify", &json!({})).ok())["state"], "done");
}

#[cfg(unix)]
#[test]
fn a_store_in_place_of_a_file_is_opened_with_its_lock() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name);
    std::fs::create_dir(path("data")).unwrap();
    for name in ["named", "data/found"] {
        build(&path(name), &[1]);
    }
    for name in ["one", "two"] {
        drop(Store::<u64>::create(path(name), &CreateOptions::new(), StoreOptions::new()).unwrap());
    }
    let sets = vec![path("named")];
    let running = Running::start(Options { sets, data: Some(path("data")), ..options() });
    let client = running.client();
    for (name, set, store) in [("named", "named", "one"), ("found", "data/found", "two")] {
        std::os::unix::fs::symlink(path(store), path("link")).unwrap();
        std::fs::rename(path("link"), path(set)).unwrap();
        let record = json!({ "records": [{ "fingerprint": hex(7_u64), "id": 7 }] });
        let answered = loop {
            // Until then, the file is served.
            let rows = client.get(&format!("/v1/sets/{name}/entries")).rows();
            assert!(rows.is_empty() || rows[0]["fingerprint"] == hex(1_u64), "{rows:?}");
            let answer = client.post(&format!("/v1/sets/{name}/insert"), &record);
            if answer.status != 409 {
                break answer;
            }
        };
        assert_eq!(answered.ok()["inserted"], 1);
        let opened = Store::<u64>::open(path(store), StoreOptions::new());
        assert!(matches!(opened, Err(hamdex_store::Error::InUse { .. })));
    }
}
