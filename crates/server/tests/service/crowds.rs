//! Crowded sets: many ids on one fingerprint, long names, and answers that stay bounded.

use std::path::Path;

use hamdex::MAX_NAME_BYTES;
use hamdex_store::{CreateOptions, Operation, Store, StoreOptions};
use serde_json::{Value, json};

use crate::common::{Running, hex};

const CROWD: u64 = 0x00ff;

/// A store whose ids are numbers, so many of them on one fingerprint: in a segment, in a memtable, some in both, and some
/// removed.
fn crowded(path: &Path, ids: u64) -> u64 {
    let options = StoreOptions::new().merges(false);
    let store = Store::<u64>::create(path, &CreateOptions::new(), options).unwrap();
    let insert = |ids: std::ops::Range<u64>| {
        store.write(ids.map(|id| Operation::Insert(CROWD, id)).collect()).unwrap();
    };
    insert(0..ids / 2);
    store.flush().unwrap();
    insert(ids / 2 - 100..ids);
    store.write((5..50).map(|id| Operation::Remove(CROWD, id)).collect()).unwrap();
    store.close().unwrap();
    ids - 45
}

#[test]
fn a_match_has_its_first_ids_and_the_number_of_all() {
    let directory = tempfile::tempdir().unwrap();
    let all = crowded(&directory.path().join("crowd"), 20_000);
    let running = Running::of(directory.path());
    let client = running.client();
    let query = |body: Value| client.post("/v1/sets/crowd/query", &body);
    let first: Vec<u64> = (0..5).chain(50..).take(10).collect();
    // One fingerprint again and again: each answer is bounded, and so is their sum.
    let answer = query(json!({ "fingerprints": vec![hex(CROWD); 1000], "distance": 0 })).ok();
    let results = answer["results"].as_array().unwrap();
    assert_eq!(results.len(), 1000);
    for result in results {
        assert_eq!(
            result,
            &json!([{ "fingerprint": hex(CROWD), "distance": 0, "ids": first, "ids_count": all }])
        );
    }
    let one =
        |limit: u64| query(json!({ "fingerprints": [hex(CROWD)], "ids_limit": limit, "limit": 1 })).ok();
    assert_eq!(
        one(0)["results"][0][0],
        json!({ "fingerprint": hex(CROWD), "distance": 0, "ids": [], "ids_count": all })
    );
    assert_eq!(one(2)["results"][0][0]["ids"], json!([0, 1]));
    let whole = one(u64::MAX);
    assert_eq!(whole["results"][0][0]["ids"].as_array().unwrap().len() as u64, all);
    assert!(whole["results"][0][0].get("ids_count").is_none(), "all are there");
    // All ids, many times.
    let fingerprints = vec![hex(CROWD); 100];
    let refused = query(json!({ "fingerprints": fingerprints, "ids_limit": 1_000_000 }));
    assert_eq!(refused.problem(), (422, "too_many_matches".to_owned()));
    assert!(refused.json()["detail"].as_str().unwrap().contains("ids_limit"));
}

#[test]
fn records_near_a_crowd_have_its_first_ids() {
    let directory = tempfile::tempdir().unwrap();
    let all = crowded(&directory.path().join("crowd"), 20_000);
    let running = Running::of(directory.path());
    let records: Vec<Value> =
        (0..2000).map(|id| json!({ "fingerprint": hex(CROWD ^ (id % 4)), "id": 1_000_000 + id })).collect();
    let request = json!({ "records": records, "unless_near": 3 });
    let answer = running.client().post("/v1/sets/crowd/insert", &request).ok();
    let near = answer["near"].as_array().unwrap();
    assert_eq!((answer["inserted"].as_u64(), near.len()), (Some(0), 2000));
    let first: Vec<u64> = (0..5).chain(50..).take(10).collect();
    for (index, near) in near.iter().enumerate() {
        assert_eq!(
            (&near["index"], &near["ids"], &near["ids_count"]),
            (&json!(index), &json!(first), &json!(all))
        );
        assert_eq!(near["distance"], (index as u64 % 4).count_ones());
    }
}

#[test]
fn long_names_are_refused_and_an_answer_of_many_bytes_too() {
    let directory = tempfile::tempdir().unwrap();
    let running = Running::of(directory.path());
    let client = running.client();
    assert_eq!(client.put("/v1/sets/pages", &json!({ "ids": "names" })).status, 201);
    let insert = |name: String| {
        let records = json!({ "records": [{ "fingerprint": hex(CROWD), "id": name }] });
        client.post("/v1/sets/pages/insert", &records)
    };
    let long = insert("x".repeat(MAX_NAME_BYTES + 1));
    assert_eq!(long.problem(), (422, "bad_record".to_owned()));
    assert_eq!(long.json()["record"], 0);
    for number in 0..10 {
        assert_eq!(insert(format!("{number}{}", "\u{1}".repeat(MAX_NAME_BYTES - 1))).ok()["inserted"], 1);
    }
    // As JSON, each byte of these names is six.
    let query = |count: usize| {
        client
            .post("/v1/sets/pages/query", &json!({ "fingerprints": vec![hex(CROWD); count], "distance": 0 }))
    };
    assert_eq!(query(2).ok()["results"][1][0]["ids"].as_array().unwrap().len(), 10);
    assert_eq!(query(100).problem(), (422, "too_many_matches".to_owned()));
    // The records are near, but their names would be too long: as many come as there is room for.
    let records: Vec<Value> = (0..100).map(|_| json!({ "fingerprint": hex(CROWD), "id": "new" })).collect();
    let near = client.post("/v1/sets/pages/insert", &json!({ "records": records, "unless_near": 0 })).ok();
    let near = near["near"].as_array().unwrap();
    assert_eq!(near.len(), 100);
    assert!(near.iter().all(|near| near["ids"].as_array().unwrap().len() == 1 && near["ids_count"] == 10));
}
