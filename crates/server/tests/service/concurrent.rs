//! Several connections at once.

use std::collections::HashSet;
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use serde_json::json;

use crate::common::{Chance, Over, Running, hex};

#[test]
fn of_two_near_records_from_two_connections_one_wins() {
    let directory = tempfile::tempdir().unwrap();
    let running = Running::of(directory.path());
    running.client().put("/v1/sets/s", &json!({ "durability": "none" })).ok();
    let (rounds, barrier) = (200, Barrier::new(2));
    let wins = thread::scope(|scope| {
        let contender = |number: u64| {
            let (client, barrier) = (running.client(), &barrier);
            scope.spawn(move || {
                let mut won = Vec::new();
                for round in 0..rounds {
                    // The two differ in one bit, and from those of other rounds in many.
                    let fingerprint = Chance(round).next() & !1 | number;
                    let record = json!({ "fingerprint": hex(fingerprint), "id": number });
                    barrier.wait();
                    let answer = client
                        .post("/v1/sets/s/insert", &json!({ "records": [record], "unless_near": 3 }))
                        .ok();
                    let inserted = answer["inserted"].as_u64().unwrap();
                    assert_eq!(answer["near"].as_array().unwrap().len() as u64, 1 - inserted);
                    if inserted == 0 {
                        assert_eq!(answer["near"][0]["ids"], json!([1 - number]));
                    }
                    won.push(inserted);
                }
                won
            })
        };
        let contenders = [contender(0), contender(1)];
        contenders.map(|contender| contender.join().unwrap())
    });
    let [one, other] = wins;
    assert!(one.iter().zip(&other).all(|(one, other)| one + other == 1), "{one:?} {other:?}");
    assert_eq!(running.client().get("/v1/sets/s/entries").rows().len() as u64, rounds);
}

#[test]
fn queries_see_every_answered_insert_while_others_write_compact_and_stream() {
    let directory = tempfile::tempdir().unwrap();
    let running = Running::of(directory.path());
    running.client().put("/v1/sets/s", &json!({ "durability": "none" })).ok();
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        let (maintainer, is_over) = (running.client(), &is_over);
        scope.spawn(move || {
            while !is_over.load(Ordering::Relaxed) {
                maintainer.post("/v1/sets/s/flush", &json!({})).ok();
                let job = maintainer.post("/v1/sets/s/compact", &json!({})).ok();
                assert_eq!(maintainer.ended(&job)["state"], "done");
                assert_eq!(maintainer.get("/v1/sets/s/pairs?distance=1").status, 200);
            }
        });
        let writers: Vec<_> = (0..4u64)
            .map(|writer| {
                let client = running.client();
                scope.spawn(move || {
                    let mut chance = Chance(writer);
                    for number in 0..150 {
                        let fingerprint = hex(chance.next());
                        let record = json!({ "fingerprint": fingerprint, "id": number });
                        client.post("/v1/sets/s/insert", &json!({ "records": [record] })).ok();
                        let found = client.post(
                            "/v1/sets/s/query",
                            &json!({ "fingerprints": [fingerprint], "distance": 0 }),
                        );
                        assert_eq!(found.ok()["results"][0][0]["ids"], json!([number]));
                    }
                })
            })
            .collect();
        let _over = Over(is_over);
        writers.into_iter().for_each(|writer| writer.join().unwrap());
    });
    let rows = running.client().get("/v1/sets/s/entries").rows();
    let distinct: HashSet<String> = rows.iter().map(|row| row["fingerprint"].to_string()).collect();
    assert_eq!(distinct.len(), 600);
}
