//! Requests one by one: their answers, and the problems of wrong ones.

use std::collections::HashMap;

use arrow_array::cast::AsArray;
use arrow_array::types::{UInt32Type, UInt64Type};
use arrow_ipc::reader::StreamReader;
use hamdex_server::Options;
use serde_json::{Value, json};

use crate::common::{Answer, Chance, Running, build, hex, options};

const QUERY: &str = "/v1/sets/pages/query";
const INSERT: &str = "/v1/sets/pages/insert";

/// A service with an empty store.
fn with_store(properties: &Value) -> (tempfile::TempDir, Running) {
    let directory = tempfile::tempdir().unwrap();
    let running = Running::of(directory.path());
    assert_eq!(running.client().put("/v1/sets/pages", properties).status, 201);
    (directory, running)
}

#[test]
fn a_new_set_is_described_by_its_properties_and_kept() {
    let (directory, running) = with_store(&json!({
        "distance": 3, "width": 128, "design": "cover-8", "codec": "elias-fano", "ids": "none", "durability": "interval=1000ms"
    }));
    let expected = json!({
        "name": "pages", "kind": "store", "width": 128, "distance": 3, "design": "cover-8", "codec": "elias-fano",
        "fingerprints": 0, "is_exact": true, "ids": "none", "recipe": null, "shingles": false, "lookups": false, "writable": true, "durability": "interval=1000ms"
    });
    assert_eq!(running.client().get("/v1/sets").ok(), json!({ "sets": [expected] }));
    let again = running.client().put("/v1/sets/pages", &json!({}));
    assert_eq!(again.problem(), (409, "exists".to_owned()));
    running.end();
    let running = Running::of(directory.path());
    assert_eq!(running.client().get("/v1/sets").ok(), json!({ "sets": [expected] }));
    let one = running.client().get("/v1/sets/pages").ok();
    assert_eq!((&one["statistics"]["parts"], &one["statistics"]["pressure"]), (&json!(0), &json!("none")));
    assert_eq!(running.client().get("/v1/sets/none").problem(), (404, "no_set".to_owned()));
}

#[test]
fn wrong_properties_of_a_new_set_are_refused_and_nothing_is_left() {
    let directory = tempfile::tempdir().unwrap();
    let running = Running::of(directory.path());
    let client = running.client();
    let wrong = [
        (json!({ "width": 96 }), "bad_property"),
        (json!({ "distance": 65 }), "bad_property"),
        (json!({ "codec": "zip" }), "bad_property"),
        (json!({ "filter": "x" }), "bad_property"),
        (json!({ "durability": "maybe" }), "bad_property"),
        (json!({ "recipe": "unheard-of" }), "bad_property"),
        (json!({ "recipe": "default", "width": 128 }), "bad_property"),
        (json!({ "shingles": true, "ids": "numbers" }), "bad_property"),
        (json!({ "lookups": true, "ids": "none" }), "bad_property"),
        (json!({ "shingles": "yes" }), "bad_request"),
        (json!({ "ids": "letters" }), "bad_request"),
        (json!({ "colour": "red" }), "bad_request"),
        (json!([]), "bad_request"),
    ];
    for (properties, code) in wrong {
        assert_eq!(client.put("/v1/sets/new", &properties).problem(), (422, code.to_owned()), "{properties}");
    }
    assert_eq!(client.put("/v1/sets/new", &json!({ "design": "round" })).status, 422);
    for name in [".hidden", "a%2Fb", "..%2Fup", "a%20b", "%C3%A4"] {
        assert_eq!(
            client.put(&format!("/v1/sets/{name}"), &json!({})).problem(),
            (422, "bad_name".to_owned()),
            "{name}"
        );
    }
    assert_eq!(client.put("/v1/sets/%FF", &json!({})).problem().0, 400);
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
    drop(running);
    let file = directory.path().join("a.hamdex");
    build(&file, &[1, 2]);
    let running = Running::start(Options { sets: vec![file], ..options() });
    let client = running.client();
    assert_eq!(client.put("/v1/sets/new", &json!({})).problem(), (422, "no_data_directory".to_owned()));
    for request in ["insert", "remove", "flush", "compact", "backup"] {
        let answer = client.post(&format!("/v1/sets/a.hamdex/{request}"), &json!({}));
        assert_eq!(answer.problem(), (409, "read_only".to_owned()), "{request}");
    }
}

#[test]
fn one_bad_record_refuses_the_request_by_its_number_and_changes_nothing() {
    let (_directory, running) = with_store(&json!({}));
    let client = running.client();
    let good = json!({ "fingerprint": "00000000000000ff", "id": 1 });
    let bad = [
        json!({ "fingerprint": "00000000000000f", "id": 1 }),
        json!({ "fingerprint": "00000000000000fg", "id": 1 }),
        json!({ "fingerprint": 255, "id": 1 }),
        json!({ "fingerprint": "00000000000000ff" }),
        json!({ "fingerprint": "00000000000000ff", "id": "x" }),
        json!({ "fingerprint": "00000000000000ff", "id": -1 }),
        json!({ "fingerprint": "00000000000000ff", "id": 1.5 }),
        json!({ "fingerprint": "00000000000000ff", "id": "18446744073709551616" }),
        json!({ "fingerprint": "00000000000000ff", "id": null }),
        json!({ "fingerprint": "00000000000000ff", "text": "both", "id": 1 }),
        json!({ "fingerprint": "00000000000000ff", "id": 1, "name": "x" }),
        json!({ "id": 1 }),
        json!([]),
        json!(["00000000000000ff", null, 1]),
        json!(null),
    ];
    for record in bad {
        for unless_near in [json!(null), json!(3)] {
            let answer =
                client.post(INSERT, &json!({ "records": [good, good, record], "unless_near": unless_near }));
            assert_eq!(answer.problem(), (422, "bad_record".to_owned()), "{record}");
            assert_eq!(answer.json()["record"], 2, "{record}");
        }
        let answer = client.post("/v1/sets/pages/remove", &json!({ "records": [good, good, record] }));
        assert_eq!(
            (answer.problem().1.as_str(), &answer.json()["record"]),
            ("bad_record", &json!(2)),
            "{record}"
        );
    }
    let text = json!({ "records": [{ "text": "x", "id": 1 }] });
    assert_eq!(client.post(INSERT, &text).problem(), (422, "no_recipe".to_owned()));
    let similar = json!({ "records": [good], "unless_similar": 0.7 });
    assert_eq!(client.post(INSERT, &similar).problem(), (422, "no_shingles".to_owned()));
    let far = json!({ "records": [good], "unless_near": 9 });
    assert_eq!(client.post(INSERT, &far).problem(), (422, "distance_too_great".to_owned()));
    assert_eq!(client.binary(INSERT, &[0; 15]).problem(), (422, "bad_length".to_owned()));
    assert_eq!(client.get("/v1/sets/pages/entries").rows().len(), 0);
}

#[test]
fn wrong_queries_are_refused() {
    let (_directory, running) = with_store(&json!({}));
    let client = running.client();
    let query = |body: Value| client.post(QUERY, &body).problem();
    let refused = |code: &str| (422, code.to_owned());
    assert_eq!(query(json!({})), refused("bad_request"));
    assert_eq!(query(json!({ "fingerprints": [], "texts": [] })), refused("bad_request"));
    assert_eq!(query(json!({ "fingerprints": [], "k": 3 })), refused("bad_request"));
    assert_eq!(query(json!({ "fingerprints": ["0x"] })), refused("bad_record"));
    assert_eq!(query(json!({ "fingerprints": [], "distance": 9 })), refused("distance_too_great"));
    assert_eq!(query(json!({ "fingerprints": [], "distance": -1 })), refused("bad_request"));
    assert_eq!(query(json!({ "fingerprints": [], "distance": "3" })), refused("bad_request"));
    assert_eq!(query(json!({ "texts": ["a"] })), refused("no_recipe"));
    assert_eq!(client.binary(QUERY, &[0; 9]).problem(), refused("bad_length"));
    assert_eq!(client.binary(&format!("{QUERY}?colour=red"), &[0; 8]).problem().0, 400);
    assert_eq!(client.post(&format!("{QUERY}?limit=1"), &json!({ "fingerprints": [] })).problem().0, 400);
    let json = ("content-type", "application/json");
    assert_eq!(client.send("POST", QUERY, &[json, ("accept", "text/html")], b"{}").problem().0, 406);
    assert_eq!(client.send("POST", QUERY, &[("content-type", "text/plain")], b"{}").problem().0, 415);
    assert_eq!(client.send("POST", QUERY, &[], b"{}").problem().0, 415);
    assert_eq!(client.get(QUERY).problem(), (405, "method_not_allowed".to_owned()));
    assert_eq!(client.get("/v2").problem(), (404, "not_found".to_owned()));
    for path in ["entries?after=x", "entries?limit=-1", "entries?x=1", "pairs?distance=x"] {
        assert_eq!(client.get(&format!("/v1/sets/pages/{path}")).problem().0, 400, "{path}");
    }
    assert_eq!(client.get("/v1/sets/pages/pairs?distance=9").problem(), refused("distance_too_great"));
    for path in ["tables?part=1", "blocks?part=0", "../jobs/7", "../jobs/x"] {
        let answer = client.get(&format!("/v1/sets/pages/{path}"));
        assert!(matches!(answer.status, 200 | 404), "{path}: {answer:?}");
    }
}

#[test]
fn limits_hold_at_their_edge() {
    let directory = tempfile::tempdir().unwrap();
    let limits = Options {
        data: Some(directory.path().to_owned()),
        max_batch: Some(3),
        max_body: Some("200".parse().unwrap()),
        max_distance: Some(5),
        ..options()
    };
    let running = Running::start(limits);
    let client = running.client();
    client.put("/v1/sets/pages", &json!({})).ok();
    let query = |count: usize| client.binary(&format!("{QUERY}?distance=5"), &vec![0; 8 * count]);
    assert_eq!(query(3).status, 200);
    assert_eq!(query(4).problem(), (422, "too_many_records".to_owned()));
    assert_eq!(query(25).problem(), (422, "too_many_records".to_owned()));
    assert_eq!(query(26).problem(), (413, "too_large".to_owned()));
    assert_eq!(client.binary(&format!("{QUERY}?distance=6"), &[0; 8]).problem().1, "distance_too_great");
    let body = |length: usize| format!("{:<length$}", "{\"fingerprints\":[]}");
    let json = [("content-type", "application/json")];
    assert_eq!(client.send("POST", QUERY, &json, body(200).as_bytes()).status, 200);
    assert_eq!(client.send("POST", QUERY, &json, body(201).as_bytes()).problem().0, 413);
    let head = format!(
        "POST {QUERY} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-type: application/json\r\n"
    );
    let chunked = |length: usize| {
        running.raw(
            format!("{head}transfer-encoding: chunked\r\n\r\n{length:x}\r\n{}\r\n0\r\n\r\n", body(length))
                .as_bytes(),
        )
    };
    assert!(chunked(200).starts_with("HTTP/1.1 200 "));
    assert!(chunked(201).starts_with("HTTP/1.1 413 "));
}

/// The columns of an answer in Arrow, as JSON, and its metadata.
fn columns(answer: &Answer) -> (Vec<Value>, HashMap<String, String>) {
    assert_eq!(
        (answer.status, &answer.headers["content-type"]),
        (200, &"application/vnd.apache.arrow.stream".parse().unwrap())
    );
    let reader = StreamReader::try_new(answer.body.as_slice(), None).unwrap();
    let metadata = reader
        .schema()
        .metadata()
        .clone()
        .into_iter()
        .map(|(key, value)| (key.to_string(), value.to_string()))
        .collect();
    let mut rows = Vec::new();
    for batch in reader {
        let batch = batch.unwrap();
        let numbers = |name: &str| batch[name].as_primitive::<UInt32Type>().clone();
        let query = numbers(batch.schema().field(0).name());
        let (fingerprints, distances) =
            (batch["fingerprint"].as_primitive::<UInt64Type>().clone(), numbers("distance"));
        for row in 0..batch.num_rows() {
            let ids = batch.column_by_name("ids").map(|ids| ids.as_list::<i64>().value(row));
            let ids = ids.map(|ids| match ids.as_primitive_opt::<UInt64Type>() {
                Some(ids) => json!(ids.values().to_vec()),
                None => json!(ids.as_string::<i64>().iter().flatten().collect::<Vec<_>>()),
            });
            rows.push(json!([query.value(row), hex(fingerprints.value(row)), distances.value(row), ids]));
        }
    }
    (rows, metadata)
}

#[test]
fn binary_queries_and_inserts_are_answered_in_arrow() {
    let (_directory, running) = with_store(&json!({}));
    let client = running.client();
    let mut records = Vec::new();
    for (fingerprint, id) in [(0xff_u64, 5_u64), (0xff, u64::MAX), (0xf0f0, 6), (0xfe, 7)] {
        records.extend_from_slice(&fingerprint.to_le_bytes());
        records.extend_from_slice(&id.to_le_bytes());
    }
    let (near, metadata) = columns(&client.binary(&format!("{INSERT}?unless_near=1"), &records));
    assert_eq!(metadata["inserted"], "2");
    assert_eq!(near, [json!([1, "00000000000000ff", 0, [5]]), json!([3, "00000000000000ff", 1, [5]]),]);
    let mut queries = 0xfe_u64.to_le_bytes().to_vec();
    queries.extend_from_slice(&[0xaa; 8]);
    queries.extend_from_slice(&0xf0f1_u64.to_le_bytes());
    let (found, _) = columns(&client.binary(QUERY, &queries));
    assert_eq!(found, [json!([0, "00000000000000ff", 1, [5]]), json!([2, "000000000000f0f0", 1, [6]])]);
    let (found, _) = columns(&client.binary(&format!("{QUERY}?ids=false&nearest=1&distance=2"), &queries));
    assert_eq!(found[0], json!([0, "00000000000000ff", 1, null]));
    let headers = [("content-type", "application/json"), ("accept", "application/vnd.apache.arrow.stream")];
    let (none, _) = columns(&client.send("POST", QUERY, &headers, b"{\"fingerprints\":[]}"));
    assert_eq!(none.len(), 0);
}

#[test]
fn texts_become_records_by_the_recipe_of_the_set() {
    let (_directory, running) = with_store(&json!({ "recipe": "default" }));
    let client = running.client();
    let text = "Call me Ishmael. Some years ago, never mind how long precisely, having little or no money in my purse";
    let record = |text: &str, id: &str| json!({ "text": text, "id": id });
    let records = [record(text, "first"), record(text, "second")];
    let answer = client.post(INSERT, &json!({ "records": records, "unless_near": 3 })).ok();
    assert_eq!((&answer["inserted"], &answer["near"][0]["ids"]), (&json!(1), &json!(["first"])));
    let found = client.post(QUERY, &json!({ "texts": [text] })).ok();
    assert_eq!(found["results"][0][0]["ids"], json!(["first"]));
    let short = client.post(QUERY, &json!({ "texts": [text, "too short"] }));
    assert_eq!((short.problem().1.as_str(), &short.json()["record"]), ("bad_record", &json!(1)));
    assert_eq!(client.binary(INSERT, &[0; 8]).problem(), (422, "ids".to_owned()));
    assert_eq!(client.post("/v1/sets/pages/remove", &json!({ "ids": ["first", "none"] })).ok()["removed"], 1);
}

#[test]
fn backups_are_stores_that_can_be_served() {
    let (directory, running) = with_store(&json!({}));
    let client = running.client();
    client.post(INSERT, &json!({ "records": [{ "fingerprint": "00000000000000ff", "id": 1 }] })).ok();
    let backup = |body: &Value| client.post("/v1/sets/pages/backup", body);
    let job = backup(&json!({ "name": "monday" }));
    assert_eq!((job.status, &job.headers["location"]), (202, &"/v1/jobs/1".parse().unwrap()));
    let job = client.ended(&job.ok());
    assert_eq!(job["state"], "done", "{job}");
    assert_eq!(backup(&json!({ "name": "monday" })).problem(), (409, "exists".to_owned()));
    assert_eq!(backup(&json!({ "name": "../monday" })).problem(), (422, "bad_name".to_owned()));
    assert_eq!(client.ended(&backup(&json!({})).ok())["state"], "done");
    // Copies are no sets of the service.
    running.end();
    let running = Running::of(directory.path());
    assert_eq!(running.client().get("/v1/sets").ok()["sets"].as_array().unwrap().len(), 1);
    let copy =
        Running::start(Options { sets: vec![job["result"]["path"].as_str().unwrap().into()], ..options() });
    assert_eq!(
        copy.client().get("/v1/sets/monday/entries").rows(),
        [json!({ "fingerprint": "00000000000000ff", "ids": [1] })]
    );
}

#[test]
fn files_are_looked_into_down_to_the_bit() {
    let directory = tempfile::tempdir().unwrap();
    let mut chance = Chance(5);
    let mut fingerprints: Vec<u64> = (0..3000).map(|_| chance.next()).collect();
    build(&directory.path().join("a"), &fingerprints);
    let running = Running::of(directory.path());
    let client = running.client();
    let part = client.get("/v1/sets/a/tables").ok();
    assert_eq!((&part["parts"], &part["fingerprints"]), (&json!(["a"]), &json!(3000)));
    let mut found = Vec::new();
    for block in 0..part["tables"][0]["blocks"].as_u64().unwrap() {
        let block = client.get(&format!("/v1/sets/a/blocks?table=0&block={block}")).ok();
        assert_eq!(block["is_whole"], true);
        let entries = block["entries"].as_array().unwrap();
        found.extend(entries.iter().map(|entry| entry["fingerprint"].as_str().unwrap().to_owned()));
        let fields = block["fields"].as_array().unwrap();
        let bits: u64 = fields
            .iter()
            .map(|field| field["end"].as_u64().unwrap() - field["start"].as_u64().unwrap())
            .sum();
        assert_eq!(bits, 8 * block["bytes"].as_u64().unwrap());
    }
    found.sort();
    fingerprints.sort_unstable();
    assert_eq!(found, fingerprints.into_iter().map(hex).collect::<Vec<_>>());
    assert_eq!(client.get("/v1/sets/a/blocks?table=9").problem(), (404, "no_block".to_owned()));
    assert_eq!(client.get("/v1/sets/a/tables?part=1").problem(), (404, "no_part".to_owned()));
}

#[test]
fn the_service_tells_how_it_is() {
    let (_directory, running) = with_store(&json!({}));
    let client = running.client();
    client.post(INSERT, &json!({ "records": [{ "fingerprint": "00000000000000ff", "id": 1 }] })).ok();
    client.post(QUERY, &json!({ "fingerprints": ["00000000000000ff", "00000000000000fe"] })).ok();
    client.post("/v1/sets/pages/flush", &json!({})).ok();
    assert_eq!(client.get("/healthz").status, 200);
    assert_eq!(client.get("/readyz").status, 200);
    let page = client.get("/");
    assert!(page.headers["content-security-policy"].to_str().unwrap().starts_with("default-src 'none'"));
    let metrics = String::from_utf8(client.get("/metrics").body).unwrap();
    for line in [
        "hamdex_queries_total{set=\"pages\"} 2",
        "hamdex_matches_total{set=\"pages\"} 2",
        "hamdex_inserted_total{set=\"pages\"} 1",
        "hamdex_store_segments{set=\"pages\"} 1",
        "hamdex_store_memtable_records{set=\"pages\"} 0",
        "hamdex_store_log_bytes{set=\"pages\"}",
        "hamdex_write_seconds_count{set=\"pages\"} 1",
        "hamdex_store_work_seconds_count{set=\"pages\",work=\"sync\"} 1",
        "hamdex_store_work_seconds_count{set=\"pages\",work=\"flush\"} 1",
        "hamdex_blocks_read_total ",
        "hamdex_held_bytes ",
        "hamdex_requests_total{route=\"/v1/sets/{set}/query\",method=\"POST\",status=\"200\"} 1",
        "hamdex_request_seconds_bucket{route=\"/v1/sets/{set}/query\"",
        "process_resident_memory_bytes",
    ] {
        assert!(metrics.contains(line), "{line}: {metrics}");
    }
    let id =
        client.send("GET", "/healthz", &[("x-request-id", "abc-1")], b"").headers["x-request-id"].clone();
    assert_eq!(id, "abc-1");
    let id = client.send("GET", "/healthz", &[("x-request-id", "a b")], b"").headers["x-request-id"].clone();
    assert_ne!(id, "a b");
}
