//! Services that are killed at any time under load.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use serde_json::json;

use crate::command::Serving;
use crate::common::{Chance, hex};

/// How many services are killed, unless this variable says otherwise: `.ci/campaign-serve` asks for hundreds.
const KILLS: &str = "HAMDEX_KILLS";
const USUAL_KILLS: u64 = 8;

const WRITERS: u64 = 6;

#[test]
fn a_service_that_is_killed_at_any_time_loses_nothing_that_it_answered() {
    let kills = std::env::var(KILLS).map_or(USUAL_KILLS, |kills| kills.parse().unwrap());
    let directory = tempfile::tempdir().unwrap();
    let mut chance = Chance(17);
    let (mut answered, mut sent): (BTreeSet<u64>, BTreeSet<u64>) = Default::default();
    for round in 0..kills {
        let serving = Serving::start(directory.path(), &["--data", ".", "--log-level", "error"]);
        let _ = serving.client().try_send("PUT", "/v1/sets/s", &[], b"");
        let is_over = AtomicBool::new(false);
        let outcomes = thread::scope(|scope| {
            let writers: Vec<_> = (0..WRITERS)
                .map(|writer| {
                    let (client, is_over) = (serving.client(), &is_over);
                    let mut chance = Chance(round << 8 | writer);
                    scope.spawn(move || {
                        let (mut answered, mut sent) = (Vec::new(), Vec::new());
                        while !is_over.load(Ordering::Relaxed) {
                            let batch: Vec<u64> = (0..1 + chance.below(5)).map(|_| chance.next()).collect();
                            let records: Vec<_> =
                                batch.iter().map(|f| json!({ "fingerprint": hex(*f), "id": 1 })).collect();
                            let mut body = json!({ "records": records });
                            if chance.below(2) == 0 {
                                body["unless_near"] = json!(0);
                            }
                            sent.extend_from_slice(&batch);
                            let headers = [("content-type", "application/json")];
                            let answer = client.try_send(
                                "POST",
                                "/v1/sets/s/insert",
                                &headers,
                                body.to_string().as_bytes(),
                            );
                            match answer {
                                Some(answer) if answer.status == 200 => answered.extend(batch),
                                _ => break,
                            }
                        }
                        (answered, sent)
                    })
                })
                .collect();
            let flusher = serving.client();
            let flusher = scope.spawn(move || {
                while flusher.try_send("POST", "/v1/sets/s/flush", &[], b"").is_some() {
                    drop(flusher.try_send("POST", "/v1/sets/s/compact", &[], b""));
                }
            });
            thread::sleep(Duration::from_millis(20 + chance.below(300)));
            serving.kill();
            is_over.store(true, Ordering::Relaxed);
            flusher.join().unwrap();
            writers.into_iter().map(|writer| writer.join().unwrap()).collect::<Vec<_>>()
        });
        for (of_writer, sent_by) in outcomes {
            answered.extend(of_writer);
            sent.extend(sent_by);
        }
        let serving = Serving::start(directory.path(), &["--data", ".", "--log-level", "error"]);
        let rows = serving.client().get("/v1/sets/s/entries").rows();
        let found: BTreeSet<u64> = rows
            .iter()
            .map(|row| u64::from_str_radix(row["fingerprint"].as_str().unwrap(), 16).unwrap())
            .collect();
        assert!(answered.is_subset(&found), "round {round}: {} lost", answered.difference(&found).count());
        assert!(found.is_subset(&sent), "round {round}: {} never sent", found.difference(&sent).count());
        serving.kill();
    }
    println!("{kills} services killed; {} records answered before, all of them found", answered.len());
    assert!(!answered.is_empty(), "none lived long enough to answer");
}
