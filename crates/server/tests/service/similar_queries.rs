//! Queries by text in the service: the stored texts that are similar, contain a text, or are contained in it.

use std::time::{Duration, Instant};

use hamdex::similar::Condition;
use hamdex::{BuildOptions, Builder};
use hamdex_server::{Options, Time};
use hamdex_simhash::Shingler;
use hamdex_store::{CreateOptions, Record, Store, StoreOptions, When};
use serde_json::{Value, json};

use crate::common::{Running, options};
use crate::similar::{MEASURES, Stored, WORDS, check_list, meeting, shingles, similarity, with_set};

/// Returns a text of numbered words.
fn words(range: std::ops::Range<u32>) -> String {
    range.map(|word| format!("w{word}")).collect::<Vec<_>>().join(" ")
}

#[test]
fn texts_are_found_by_what_they_share_until_they_are_removed() {
    let (_directory, running) = with_set();
    let client = running.client();
    let query = |body: &Value| client.post("/v1/sets/s/query", body);
    // A page, a part of it, a longer one, and one of a word.
    let texts = [(0, words(0..30)), (1, words(0..15)), (2, words(0..60)), (3, "short".to_owned())];
    let records: Vec<Value> =
        texts.iter().map(|(name, text)| json!({ "text": text, "id": format!("n{name}") })).collect();
    client.post("/v1/sets/s/insert", &json!({ "records": records })).ok();
    let mut stored: Vec<Stored> = texts
        .iter()
        .map(|(name, text)| Stored { name: format!("n{name}"), shingles: shingles(text), fingerprint: 0 })
        .collect();
    let page = words(0..30);
    let asked = [page.clone(), format!("{page}!"), "Short".to_owned(), words(100..130)];
    let check = |stored: &[Stored]| {
        for (measure, field) in MEASURES {
            for least in [0.2, 0.9] {
                let answer = query(&json!({ "texts": asked, field: least })).ok();
                let condition = Condition::new(measure, least).unwrap();
                for (found, text) in answer["results"].as_array().unwrap().iter().zip(&asked) {
                    check_list(found, &meeting(stored, text, &condition)).unwrap();
                }
            }
        }
    };
    check(&stored);
    let containing = query(&json!({ "texts": [page], "containing": 1 })).ok();
    assert_eq!(
        containing["results"],
        json!([[{ "id": "n0", "similarity": 1.0 }, { "id": "n2", "similarity": 1.0 }]])
    );
    let contained = query(&json!({ "texts": [page], "contained": 1 })).ok();
    assert_eq!(
        contained["results"],
        json!([[{ "id": "n0", "similarity": 1.0 }, { "id": "n1", "similarity": 1.0 }]])
    );
    // As `hamdex query --text`: by fingerprint if a field asks for that.
    for fields in [json!({}), json!({ "nearest": 5 }), json!({ "limit": 5 })] {
        let mut body = json!({ "texts": asked });
        body.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        let by_default = query(&body).ok();
        assert_eq!(by_default, query(&json!({ "texts": asked, "similar": 0.7 })).ok());
        assert_eq!(by_default["results"][1][0], json!({ "id": "n0", "similarity": 1.0 }));
    }
    for fields in [json!({ "distance": 3 }), json!({ "ids": true }), json!({ "ids_limit": 2 })] {
        let mut body = json!({ "texts": [page] });
        body.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        assert_eq!(query(&body).ok()["results"][0][0]["distance"], 0);
    }
    // A blank text is similar to nothing.
    let blank = query(&json!({ "texts": ["", " \n", page], "similar": 1, "limit": 1 })).ok();
    assert_eq!(blank["results"], json!([[], [], [{ "id": "n0", "similarity": 1.0 }]]));
    assert_eq!(query(&json!({ "texts": [], "similar": 1 })).ok(), json!({ "results": [] }));
    for gone in ["n0", "n3"] {
        for work in ["none", "flush", "compact"] {
            if work != "none" {
                let job = client.post(&format!("/v1/sets/s/{work}"), &json!({})).ok();
                assert_eq!(client.ended(&job)["state"], "done");
            }
            check(&stored);
        }
        assert_eq!(client.post("/v1/sets/s/remove", &json!({ "ids": [gone] })).ok()["removed"], 1);
        stored.retain(|one| one.name != gone);
        check(&stored);
    }
}

#[test]
fn all_copies_of_a_crowd_are_found_and_long_texts_as_short_ones_are() {
    let (_directory, running) = with_set();
    let client = running.client();
    let records: Vec<Value> = (0..3000)
        .map(|number| json!({ "text": format!("{} end{}", words(0..30), number % 3), "id": format!("n{number}") }))
        .collect();
    client.post("/v1/sets/s/insert", &json!({ "records": records })).ok();
    let page = format!("{} end1", words(0..30));
    // The same again beyond the length of small requests.
    let long = words(1000..20_000);
    let body = json!({ "texts": [page, long, page], "similar": 0.7 });
    let answer = client.post("/v1/sets/s/query", &body).ok();
    let similarity = similarity(&shingles(&page), &shingles(&format!("{} end0", words(0..30))));
    let mut expected: Vec<(String, f64)> =
        (0..3000).filter(|number| number % 3 == 1).map(|number| (format!("n{number}"), 1.0)).collect();
    let others = (0..3000).filter(|number| number % 3 != 1);
    expected.extend(others.map(|number| (format!("n{number}"), similarity)));
    check_list(&answer["results"][0], &expected).unwrap();
    check_list(&answer["results"][1], &[]).unwrap();
    check_list(&answer["results"][2], &expected).unwrap();
    let few =
        client.post("/v1/sets/s/query", &json!({ "texts": [page], "similar": 0.7, "limit": 1200 })).ok();
    check_list(&few["results"][0], &expected[..1200]).unwrap();
    // 334 times 3000 are more than an answer may have.
    let body = json!({ "texts": vec![page; 334], "similar": 0.7 });
    let refused = client.post("/v1/sets/s/query", &body);
    assert_eq!(refused.problem(), (422, "too_many_matches".to_owned()));
}

#[test]
fn requests_by_similarity_that_mean_nothing_are_refused() {
    let (_directory, running) = with_set();
    let client = running.client();
    let query = |body: &Value| client.post("/v1/sets/s/query", body);
    for (_, field) in MEASURES {
        for least in [json!(0), json!(-0.5), json!(1.01), json!("0.7"), json!([0.7]), json!(true)] {
            let refused = query(&json!({ "texts": ["a"], field: least }));
            assert_eq!(refused.problem(), (422, "bad_request".to_owned()), "{field} {least}");
        }
        let others = [
            ("fingerprints", json!(["00000000000000ff"])),
            ("distance", json!(3)),
            ("ids", json!(true)),
            ("ids_limit", json!(3)),
        ];
        for (other, value) in others {
            let refused = query(&json!({ "texts": ["a"], field: 0.7, other: value }));
            assert_eq!(refused.problem(), (422, "bad_request".to_owned()), "{field} {other}");
        }
        let refused = query(&json!({ "fingerprints": ["00000000000000ff"], field: 0.7 }));
        assert_eq!(refused.problem(), (422, "bad_request".to_owned()), "{field}");
        assert_eq!(query(&json!({ field: 0.7 })).problem(), (422, "bad_request".to_owned()), "{field}");
        for (_, other) in MEASURES.iter().filter(|(_, other)| *other != field) {
            let refused = query(&json!({ "texts": ["a"], field: 0.7, *other: 0.7 }));
            assert_eq!(refused.problem(), (422, "bad_request".to_owned()), "{field} {other}");
        }
        let body = serde_json::to_vec(&json!({ "texts": ["a"], field: 0.7 })).unwrap();
        let arrow = [("content-type", "application/json"), ("accept", "application/vnd.apache.arrow.stream")];
        let refused = client.send("POST", "/v1/sets/s/query", &arrow, &body);
        assert_eq!(refused.problem(), (406, "not_acceptable".to_owned()), "{field}");
        let binary = [("content-type", "application/octet-stream")];
        let refused = client.send("POST", &format!("/v1/sets/s/query?{field}=0.7"), &binary, &[0; 8]);
        assert_eq!(refused.problem(), (400, "bad_parameter".to_owned()), "{field}");
    }
    client.put("/v1/sets/plain", &json!({ "recipe": "default" })).ok();
    let plain = client.post("/v1/sets/plain/query", &json!({ "texts": ["a"], "similar": 0.7 }));
    assert_eq!(plain.problem(), (422, "no_shingles".to_owned()));
}

#[test]
fn shingles_that_are_not_of_texts_are_compared_with_none() {
    let directory = tempfile::tempdir().unwrap();
    let create = CreateOptions::new().shingles("of my own");
    let store = Store::<u64>::create(directory.path().join("s"), &create, StoreOptions::new()).unwrap();
    store.put([Record::document(0x00ff, "n0", &[1, 2, 3])], When::always()).unwrap();
    store.close().unwrap();
    let running = Running::of(directory.path());
    let refused = running.client().post("/v1/sets/s/query", &json!({ "texts": ["a"], "similar": 0.7 }));
    assert_eq!(refused.problem(), (422, "no_shingles".to_owned()));
}

#[test]
fn the_texts_of_a_file_are_found_by_their_numbers() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("s.hamdex");
    let text = words(0..30);
    let set: Vec<u64> = shingles(&text).into_iter().collect();
    let definition = Shingler::new(WORDS).definition();
    let of_texts = BuildOptions::new().ids(true).shingles(true).metadata(hamdex::shingles::KEY, definition);
    let mut builder = Builder::with_options(&file, of_texts).unwrap();
    builder.push_with_id(0x00ff_u64, u64::MAX).unwrap();
    builder.push_shingles(u64::MAX, &set).unwrap();
    builder.finish().unwrap();
    let running = Running::start(Options { sets: vec![file], ..options() });
    let answer =
        running.client().post("/v1/sets/s.hamdex/query", &json!({ "texts": [text], "similar": 0.7 })).ok();
    // A number that some programs do not know is text, as everywhere.
    let expected = json!([[{ "id": u64::MAX.to_string(), "similarity": 1.0 }]]);
    assert_eq!(answer["results"], expected);
}

#[test]
fn a_search_that_takes_too_long_ends() {
    let directory = tempfile::tempdir().unwrap();
    let create = CreateOptions::new().shingles(Shingler::new(WORDS).definition());
    let store = Store::<u64>::create(directory.path().join("s"), &create, StoreOptions::new()).unwrap();
    let page = words(0..30);
    let set: Vec<u64> = shingles(&page).into_iter().collect();
    let names: Vec<String> = (0..5000).map(|number| format!("n{number}")).collect();
    store.put(names.iter().map(|name| Record::document(0x00ff, name, &set)), When::always()).unwrap();
    store.close().unwrap();
    let timeout = Some(Time(Duration::from_secs(1)));
    let running = Running::start(Options { data: Some(directory.path().to_owned()), timeout, ..options() });
    let client = running.client();
    let query = |texts: usize, field: &str| {
        let texts = vec![&page; texts];
        client.post("/v1/sets/s/query", &json!({ "texts": texts, field: 0.7, "limit": 1 }))
    };
    // All of them take minutes.
    for (_, field) in MEASURES {
        let started = Instant::now();
        assert_eq!(query(10_000, field).problem(), (503, "timeout".to_owned()), "{field}");
        assert!(started.elapsed() < Duration::from_secs(20), "{field} {:?}", started.elapsed());
        assert_eq!(query(1, field).ok()["results"][0][0]["id"], "n0", "{field}");
    }
}
