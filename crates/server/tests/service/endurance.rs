//! Many connections, and a long time: memory stays flat.

use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::command::Serving;
use crate::common::{Chance, Client, build, hex};

/// How many connections are idle, and how many seconds the soak takes, unless these variables say otherwise:
/// `.ci/campaign-serve` asks for 10,000 and for half an hour.
const IDLE: &str = "HAMDEX_IDLE";
const USUAL_IDLE: usize = 200;
const SOAK: &str = "HAMDEX_SOAK";
const USUAL_SOAK: u64 = 3;

/// Bytes per idle connection that are more than its buffers need.
const MAX_IDLE_BYTES: f64 = 32_768.0;

fn setting<T: std::str::FromStr>(name: &str, usual: T) -> T {
    std::env::var(name).ok().and_then(|value| value.parse().ok()).unwrap_or(usual)
}

/// A figure of the metrics.
fn figure(client: &Client, name: &str) -> f64 {
    let metrics = String::from_utf8(client.get("/metrics").body).unwrap();
    let line = metrics.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' ')?.parse().ok());
    line.unwrap_or_else(|| panic!("{name}: {metrics}"))
}

#[test]
fn idle_connections_take_little_memory_while_others_are_served() {
    let count = setting(IDLE, USUAL_IDLE);
    let directory = tempfile::tempdir().unwrap();
    build(&directory.path().join("a"), &[1, 2, 3]);
    let most = (count + 100).to_string();
    let serving = Serving::start(directory.path(), &["a", "--max-connections", &most, "--timeout", "300s"]);
    let client = serving.client();
    let address = serving.url.strip_prefix("http://").unwrap();
    let memory = || figure(&client, "process_resident_memory_bytes");
    let body = json!({ "fingerprints": ["0000000000000001"], "distance": 0 });
    // Code that is used for the first time takes memory, too.
    for _ in 0..100 {
        assert_eq!(client.post("/v1/sets/a/query", &body).status, 200);
    }
    let before = memory();
    let request = b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n";
    let mut idle: Vec<TcpStream> = Vec::new();
    for number in 0..count {
        let mut stream = TcpStream::connect(address).unwrap();
        // Some have sent nothing, some a part of a head, some were answered and are kept.
        match number % 3 {
            0 => {}
            1 => stream.write_all(&request[..20]).unwrap(),
            _ => {
                stream.write_all(request).unwrap();
                assert!(stream.read(&mut [0; 1024]).unwrap() > 0);
            }
        }
        idle.push(stream);
    }
    while figure(&client, "hamdex_connections") < count as f64 {
        thread::sleep(Duration::from_millis(20));
    }
    let times: Vec<Duration> = (0..100)
        .map(|_| {
            let started = Instant::now();
            assert_eq!(client.post("/v1/sets/a/query", &body).status, 200);
            started.elapsed()
        })
        .collect();
    let per_connection = (memory() - before) / count as f64;
    println!(
        "{count} idle connections: {per_connection:.0} bytes each; slowest of 100 queries beside them {:?}",
        times.iter().max().unwrap()
    );
    assert!(per_connection < MAX_IDLE_BYTES, "{per_connection} bytes per connection");
    serving.signal("TERM");
    // A client that has sent a part of a head is not waited for.
    drop(idle);
    assert!(serving.ended().0.success());
}

#[test]
fn a_service_under_mixed_load_for_long_keeps_its_memory_its_files_and_its_records() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("data");
    std::fs::create_dir(&data).unwrap();
    build(&data.join("index"), &[1]);
    let serving = Serving::start(directory.path(), &["--data", "data", "--log-level", "error"]);
    let client = serving.client();
    client.put("/v1/sets/s", &json!({})).ok();
    // From here on: the command may have been built just now.
    let until = Instant::now() + Duration::from_secs(setting(SOAK, USUAL_SOAK));
    let writers = 4_u64;
    // Each writer has fingerprints of its own, inserts some and removes some, and knows which are stored.
    let write = |writer: u64, client: Client| {
        let mut chance = Chance(writer + 100);
        let mut stored: BTreeSet<u64> = BTreeSet::new();
        let mut requests = 0_u64;
        while Instant::now() < until {
            let own = |chance: &mut Chance| writer << 60 | chance.next() >> 20 & !0xfff;
            let records = |batch: &[u64]| -> Vec<_> {
                batch.iter().map(|f| json!({ "fingerprint": hex(*f), "id": 7 })).collect()
            };
            if stored.len() < 2000 {
                let batch: Vec<u64> = (0..1 + chance.below(50)).map(|_| own(&mut chance)).collect();
                let answer = client.post("/v1/sets/s/insert", &json!({ "records": records(&batch) }));
                assert_eq!(answer.status, 200, "{answer:?}");
                stored.extend(batch);
            } else {
                let gone: Vec<u64> = stored.iter().copied().take(1000).collect();
                let answer = client.post("/v1/sets/s/remove", &json!({ "records": records(&gone) })).ok();
                assert_eq!(answer["removed"], gone.len());
                gone.iter().for_each(|f| assert!(stored.remove(f)));
            }
            if let Some(&one) = stored.iter().nth(chance.below(stored.len().max(1) as u64) as usize) {
                let body = json!({ "fingerprints": [hex(one ^ 1)], "distance": 1 });
                let found = client.post("/v1/sets/s/query", &body).ok();
                assert_eq!(found["results"][0][0]["fingerprint"], hex(one));
            }
            requests += 2;
        }
        (stored, requests)
    };
    let maintain = |client: Client| {
        let mut round = 1;
        while Instant::now() < until {
            build(&data.join(".new"), &[round]);
            std::fs::rename(data.join(".new"), data.join("index")).unwrap();
            for work in ["flush", "compact", "verify"] {
                let job = client.post(&format!("/v1/sets/s/{work}"), &json!({})).ok();
                let ended = client.ended(&job);
                assert_eq!(ended["state"], "done", "{ended}");
            }
            assert_eq!(client.get("/v1/sets/index/entries").rows().len(), 1);
            assert_eq!(client.get("/v1/sets/s/entries?limit=100").status, 200);
            // A client that goes away in the middle.
            let mut stream = TcpStream::connect(serving.url.strip_prefix("http://").unwrap()).unwrap();
            stream.write_all(b"GET /v1/sets/s/entries HTTP/1.1\r\nhost: localhost\r\n\r\n").unwrap();
            drop(stream);
            round += 1;
        }
        round
    };
    let observe = |client: Client| {
        let mut seen = Vec::new();
        while Instant::now() < until {
            seen.push((
                figure(&client, "process_resident_memory_bytes"),
                figure(&client, "process_open_fds"),
            ));
            thread::sleep(Duration::from_millis(200));
        }
        seen
    };
    let (stored, requests, rounds, seen) = thread::scope(|scope| {
        let writing: Vec<_> = (0..writers)
            .map(|number| {
                let (client, write) = (serving.client(), &write);
                scope.spawn(move || write(number, client))
            })
            .collect();
        let maintaining = {
            let client = serving.client();
            scope.spawn(|| maintain(client))
        };
        let observing = {
            let client = serving.client();
            scope.spawn(|| observe(client))
        };
        let (mut stored, mut requests) = (BTreeSet::new(), 0);
        for writer in writing {
            let (of_writer, by_writer) = writer.join().unwrap();
            stored.extend(of_writer);
            requests += by_writer;
        }
        (stored, requests, maintaining.join().unwrap(), observing.join().unwrap())
    });
    let rows = client.get("/v1/sets/s/entries").rows();
    let found: BTreeSet<u64> = rows
        .iter()
        .map(|row| u64::from_str_radix(row["fingerprint"].as_str().unwrap(), 16).unwrap())
        .collect();
    assert_eq!(found, stored);
    assert!(requests > 0 && seen.len() > 1, "nothing was asked");
    let most = |seen: &[(f64, f64)], of: fn(&(f64, f64)) -> f64| seen.iter().map(of).fold(0.0, f64::max);
    let (early, late) = seen.split_at(seen.len() / 2);
    let mib = f64::from(1 << 20);
    println!(
        "{requests} requests and {rounds} rounds of maintenance; at most {:.0} MiB in the first half, {:.0} MiB in the second; \
         {} and {} open files",
        most(early, |seen| seen.0) / mib,
        most(late, |seen| seen.0) / mib,
        most(early, |seen| seen.1),
        most(late, |seen| seen.1),
    );
    assert!(most(late, |seen| seen.0) < 1.5 * most(early, |seen| seen.0) + 64.0 * mib);
    assert!(most(late, |seen| seen.1) < most(early, |seen| seen.1) + 50.0);
    serving.signal("TERM");
    assert!(serving.ended().0.success());
}
