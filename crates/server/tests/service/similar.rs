//! Sets with shingles: texts are found by their similarity, and inserted unless a similar one is stored, as comparing all
//! of them says.

use std::collections::BTreeSet;
use std::num::NonZeroUsize;
use std::sync::Barrier;
use std::thread;

use hamdex::similar::{Condition, Measure};
use hamdex_simhash::{Fingerprinter, Outcome, Recipe, Scratch, Shingler};
use hamdex_store::{CreateOptions, Record, Store, StoreOptions, When};
use proptest::prelude::*;
use proptest::test_runner::TestCaseError;
use serde_json::{Value, json};

use crate::common::{Chance, Client, Running, hex};

pub(super) const WORDS: NonZeroUsize = NonZeroUsize::new(5).unwrap();

/// A service with an empty set that keeps shingles.
pub(super) fn with_set() -> (tempfile::TempDir, Running) {
    let directory = tempfile::tempdir().unwrap();
    let running = Running::of(directory.path());
    running.client().put("/v1/sets/s", &json!({ "shingles": true, "durability": "none" })).ok();
    (directory, running)
}

/// A text that often differs from another of the same story in a few words.
fn text(chance: &mut Chance) -> String {
    let story = chance.below(4);
    let length = if chance.below(8) == 0 { 1 + chance.below(4) } else { 20 + chance.below(12) };
    let mut words: Vec<String> = (0..length).map(|word| format!("w{}", story * 100 + word)).collect();
    for _ in 0..chance.below(3) {
        let place = chance.below(length) as usize;
        words[place] = format!("x{}", chance.below(5));
    }
    words.join(" ")
}

pub(super) fn shingles(text: &str) -> BTreeSet<u64> {
    Shingler::new(WORDS).shingles(text).hashes().iter().copied().collect()
}

pub(super) fn similarity(one: &BTreeSet<u64>, other: &BTreeSet<u64>) -> f64 {
    let shared = one.intersection(other).count();
    shared as f64 / (one.len() + other.len() - shared) as f64
}

/// The measures, and their fields in requests.
pub(super) const MEASURES: [(Measure, &str); 3] = [
    (Measure::Resemblance, "similar"),
    (Measure::Containing, "containing"),
    (Measure::Contained, "contained"),
];

/// Returns the names and similarities of stored texts that meet a condition with a text: the most similar first, then
/// in order of insertion.
pub(super) fn meeting(stored: &[Stored], text: &str, condition: &Condition) -> Vec<(String, f64)> {
    let query = shingles(text);
    let mut found: Vec<(f64, u64, &Stored)> = Vec::new();
    for one in stored {
        let shared = one.shingles.intersection(&query).count();
        if shared > 0 && condition.is_met(shared, query.len(), one.shingles.len()) {
            let similarity = condition.share(shared, query.len(), one.shingles.len());
            found.push((similarity, number(&one.name), one));
        }
    }
    found.sort_by(|one, other| other.0.total_cmp(&one.0).then(one.1.cmp(&other.1)));
    found.into_iter().map(|(similarity, _, one)| (one.name.clone(), similarity)).collect()
}

/// Returns the number of a text, by its name.
fn number(name: &str) -> u64 {
    name[1..].parse().unwrap()
}

/// Compares a list of an answer with what is expected.
pub(super) fn check_list(found: &Value, expected: &[(String, f64)]) -> Result<(), TestCaseError> {
    let found = found.as_array().unwrap();
    let ids: Vec<&str> = found.iter().map(|one| one["id"].as_str().unwrap()).collect();
    let names: Vec<&str> = expected.iter().map(|(name, _)| &**name).collect();
    prop_assert_eq!(ids, names, "{:?} {:?}", found, expected);
    for (one, (_, similarity)) in found.iter().zip(expected) {
        prop_assert_eq!(one.as_object().unwrap().len(), 2);
        // JSON is read to the last bit but one.
        prop_assert!((one["similarity"].as_f64().unwrap() - similarity).abs() < 1e-12, "{}", one);
    }
    Ok(())
}

/// A stored text: its name, shingles and fingerprint.
pub(super) struct Stored {
    pub(super) name: String,
    pub(super) shingles: BTreeSet<u64>,
    pub(super) fingerprint: u64,
}

/// A set of the service, a store in this process, and what both are to hold.
struct Twins {
    client: Client,
    store: Store<u64>,
    fingerprinter: Fingerprinter<u64>,
    stored: Vec<Stored>,
    next: usize,
}

impl Twins {
    fn fingerprint(&self, text: &str) -> u64 {
        match self.fingerprinter.fingerprint(text, &mut Scratch::default()) {
            Outcome::Fingerprint(fingerprint) => fingerprint,
            outcome => outcome.value().unwrap_or_default(),
        }
    }

    /// Inserts with a condition; `decide` says of a text, and the stored ones, whether and why it is left out.
    fn insert(
        &mut self,
        texts: &[String],
        condition: Option<(&str, Value)>,
        answered: impl FnOnce(&Value, &[String], usize, &[Stored]) -> Result<Vec<bool>, TestCaseError>,
    ) -> Result<(), TestCaseError> {
        let names: Vec<String> = (self.next..).take(texts.len()).map(|number| format!("n{number}")).collect();
        self.next += texts.len();
        let records: Vec<Value> =
            texts.iter().zip(&names).map(|(text, name)| json!({ "text": text, "id": name })).collect();
        let mut body = json!({ "records": records });
        if let Some((field, value)) = condition {
            body[field] = value;
        }
        let answer = self.client.post("/v1/sets/s/insert", &body).ok();
        let before = self.stored.len();
        for (name, text) in names.iter().zip(texts) {
            let fingerprint = self.fingerprint(text);
            self.stored.push(Stored { name: name.clone(), shingles: shingles(text), fingerprint });
        }
        let is_new = answered(&answer, &names, before, &self.stored)?;
        prop_assert_eq!(
            answer["inserted"].as_u64().unwrap() as usize,
            is_new.iter().filter(|new| **new).count()
        );
        let mut place = 0;
        self.stored.retain(|_| {
            place += 1;
            place <= before || is_new[place - 1 - before]
        });
        for stored in &self.stored[before..] {
            let set: Vec<u64> = stored.shingles.iter().copied().collect();
            self.store
                .put(
                    [(stored.fingerprint, &stored.name, &set)]
                        .iter()
                        .map(|(f, n, s)| Record::document(*f, n, s)),
                    When::always(),
                )
                .unwrap();
        }
        Ok(())
    }

    fn unless_similar(&mut self, texts: &[String], least: f64) -> Result<(), TestCaseError> {
        self.insert(texts, Some(("unless_similar", json!(least))), |answer, names, before, all| {
            let mut expected = Vec::new();
            let mut is_new: Vec<bool> = Vec::new();
            for (index, one) in all[before..].iter().enumerate() {
                // The most similar one that is stored, or was inserted before it; of equally similar ones the oldest.
                let earlier = (0..before + index).filter(|&place| place < before || is_new[place - before]);
                let similar = earlier
                    .map(|place| &all[place])
                    .map(|other| {
                        (similarity(&one.shingles, &other.shingles), number(&other.name), &other.name)
                    })
                    .filter(|(similarity, ..)| *similarity >= least)
                    .max_by(|one, other| one.0.total_cmp(&other.0).then(other.1.cmp(&one.1)));
                expected.extend(similar.map(|(similarity, _, name)| (index, similarity, name)));
                is_new.push(similar.is_none());
            }
            let similar = answer["similar"].as_array().unwrap();
            prop_assert_eq!(similar.len(), expected.len(), "{} {:?}", answer, names);
            for (found, (index, similarity, name)) in similar.iter().zip(expected) {
                prop_assert_eq!(&found["index"], &json!(index));
                // JSON is read to the last bit but one.
                let reported = found["similarity"].as_f64().unwrap();
                prop_assert!((reported - similarity).abs() < 1e-12, "{} {}", found, similarity);
                prop_assert_eq!(&found["id"], name, "{}", found);
            }
            Ok(is_new)
        })
    }

    fn unless_near(&mut self, texts: &[String], distance: u32) -> Result<(), TestCaseError> {
        self.insert(texts, Some(("unless_near", json!(distance))), |answer, _, before, all| {
            let mut is_new: Vec<bool> = Vec::new();
            for (index, one) in all[before..].iter().enumerate() {
                let is_there = |place: &usize| *place < before || is_new[place - before];
                let near = (0..before + index).filter(is_there);
                let least = near.map(|place| (all[place].fingerprint ^ one.fingerprint).count_ones()).min();
                is_new.push(least.is_none_or(|least| least > distance));
            }
            let near: Vec<u64> = answer["near"]
                .as_array()
                .unwrap()
                .iter()
                .map(|near| near["index"].as_u64().unwrap())
                .collect();
            let expected: Vec<u64> =
                (0..).zip(&is_new).filter(|(_, new)| !**new).map(|(index, _)| index).collect();
            prop_assert_eq!(near, expected);
            Ok(is_new)
        })
    }

    fn query(&self, texts: &[String], chance: &mut Chance) -> Result<(), TestCaseError> {
        let (measure, field) = MEASURES[chance.below(3) as usize];
        let least = [0.01, 0.3, 0.7, 1.0][chance.below(4) as usize];
        let mut body = json!({ "texts": texts, field: least });
        let mut limit = usize::MAX;
        if chance.below(2) == 0 {
            limit = chance.below(4) as usize;
            body[if chance.below(2) == 0 { "limit" } else { "nearest" }] = json!(limit);
        }
        let answer = self.client.post("/v1/sets/s/query", &body).ok();
        let results = answer["results"].as_array().unwrap();
        prop_assert_eq!(results.len(), texts.len());
        let condition = Condition::new(measure, least).unwrap();
        for (found, text) in results.iter().zip(texts) {
            let mut expected = meeting(&self.stored, text, &condition);
            expected.truncate(limit);
            check_list(found, &expected)?;
        }
        Ok(())
    }

    fn check(&self) -> Result<(), TestCaseError> {
        let entries = self.client.get("/v1/sets/s/entries").rows();
        let mut found: Vec<(String, String)> = Vec::new();
        for entry in &entries {
            let ids = entry["ids"].as_array().unwrap().iter();
            found.extend(ids.map(|id| {
                (entry["fingerprint"].as_str().unwrap().to_owned(), id.as_str().unwrap().to_owned())
            }));
        }
        found.sort();
        let mut expected: Vec<(String, String)> =
            self.stored.iter().map(|stored| (hex(stored.fingerprint), stored.name.clone())).collect();
        expected.sort();
        prop_assert_eq!(&found, &expected);
        let snapshot = self.store.snapshot();
        let mut in_process = Vec::new();
        for pair in snapshot.pairs_in_order() {
            let (fingerprint, id) = pair.unwrap();
            let name = String::from_utf8(snapshot.name(id).unwrap().unwrap().to_vec()).unwrap();
            in_process.push((hex(fingerprint), name));
        }
        in_process.sort();
        prop_assert_eq!(in_process, expected);
        Ok(())
    }
}

fn check(seed: u64, steps: usize) -> Result<(), TestCaseError> {
    let (directory, mut running) = with_set();
    let twin = tempfile::tempdir().unwrap();
    let create = CreateOptions::new().shingles(Shingler::new(WORDS).definition());
    let mut twins = Twins {
        client: running.client(),
        store: Store::create(twin.path().join("s"), &create, StoreOptions::new()).unwrap(),
        fingerprinter: Fingerprinter::new(&Recipe::default()).unwrap(),
        stored: Vec::new(),
        next: 0,
    };
    let mut chance = Chance(seed);
    for _ in 0..steps {
        let texts: Vec<String> = (0..1 + chance.below(5)).map(|_| text(&mut chance)).collect();
        match chance.below(11) {
            8..=10 => twins.query(&texts, &mut chance)?,
            0..=3 => {
                let least = [0.3, 0.7, 0.9, 1.0][chance.below(4) as usize];
                twins.unless_similar(&texts, least)?;
            }
            4 => twins.unless_near(&texts, 3)?,
            5 => twins.insert(&texts, None, |_, names, _, _| Ok(vec![true; names.len()]))?,
            6 => {
                let work = ["flush", "compact", "verify"][chance.below(3) as usize];
                let job = twins.client.post(&format!("/v1/sets/s/{work}"), &json!({})).ok();
                prop_assert_eq!(&twins.client.ended(&job)["state"], "done");
            }
            _ => {
                if !twins.stored.is_empty() {
                    let gone = twins.stored.swap_remove(chance.below(twins.stored.len() as u64) as usize);
                    let ids = json!({ "ids": [gone.name] });
                    prop_assert_eq!(&twins.client.post("/v1/sets/s/remove", &ids).ok()["removed"], 1);
                    prop_assert_eq!(twins.store.remove_names(&[gone.name.into_bytes()].into()).unwrap(), 1);
                }
                running.end();
                running = Running::of(directory.path());
                twins.client = running.client();
            }
        }
    }
    twins.check()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 8, max_shrink_iters: 0, ..ProptestConfig::default() })]

    #[test]
    fn texts_are_inserted_unless_one_is_similar(seed: u64) {
        check(seed, 30)?;
    }
}

#[test]
fn sets_with_shingles_take_texts_with_names_and_others_refuse_the_comparison() {
    let (_directory, running) = with_set();
    let client = running.client();
    let insert = |body: &Value| client.post("/v1/sets/s/insert", body);
    let set = client.get("/v1/sets/s").ok();
    assert_eq!(
        (&set["shingles"], &set["ids"], set["recipe"].is_string()),
        (&json!(true), &json!("names"), true)
    );
    let text = json!({ "text": "one two three four five six", "id": "a" });
    let wrong = [
        (json!({ "fingerprint": "00000000000000ff", "id": "b" }), 1),
        (json!({ "text": " ", "id": "b" }), 1),
        (json!({ "text": "one", "id": 7 }), 1),
        (json!({ "text": "one" }), 1),
    ];
    for (record, number) in wrong {
        for condition in ["unless_near", "unless_similar", "none"] {
            let mut body = json!({ "records": [text, record] });
            if condition != "none" {
                body[condition] = json!(1);
            }
            let refused = insert(&body);
            assert_eq!(refused.problem(), (422, "bad_record".to_owned()), "{body}");
            assert_eq!(refused.json()["record"], number, "{body}");
        }
    }
    for least in [json!(0), json!(-1), json!(1.5), json!("0.7"), json!([])] {
        let refused = insert(&json!({ "records": [text], "unless_similar": least }));
        assert_eq!(refused.problem(), (422, "bad_request".to_owned()), "{least}");
    }
    let both = insert(&json!({ "records": [text], "unless_similar": 0.7, "unless_near": 3 }));
    assert_eq!(both.problem(), (422, "bad_request".to_owned()));
    assert_eq!(client.get("/v1/sets/s/entries").rows().len(), 0);
    let nothing = insert(&json!({ "records": [], "unless_similar": 0.7 })).ok();
    assert_eq!(nothing, json!({ "inserted": 0, "near": [], "similar": [] }));
    // Without text, its name is enough to be removed, and the fingerprint of a short text as well.
    insert(&json!({ "records": [text, { "text": "short", "id": "b" }] })).ok();
    let removed =
        client.post("/v1/sets/s/remove", &json!({ "records": [{ "text": "short", "id": "b" }] })).ok();
    assert_eq!(removed["removed"], 1);
    assert_eq!(client.post("/v1/sets/s/remove", &json!({ "ids": ["a", "b"] })).ok()["removed"], 1);
    client.put("/v1/sets/plain", &json!({ "recipe": "default" })).ok();
    let plain = client.post("/v1/sets/plain/insert", &json!({ "records": [text], "unless_similar": 0.7 }));
    assert_eq!(plain.problem(), (422, "no_shingles".to_owned()));
}

#[test]
fn a_text_that_is_replaced_is_compared_no_more() {
    let directory = tempfile::tempdir().unwrap();
    let running = Running::of(directory.path());
    let client = running.client();
    client.put("/v1/sets/s", &json!({ "shingles": true, "lookups": true })).ok();
    let insert = |body: &Value| client.post("/v1/sets/s/insert", body);
    let of = |start: u32| (start..start + 30).map(|word| format!("w{word}")).collect::<Vec<_>>().join(" ");
    let record = |start: u32, name: &str| json!({ "text": of(start), "id": name });
    let new = insert(&json!({ "records": [record(0, "a"), record(100, "b")], "replace": true })).ok();
    assert_eq!(new, json!({ "inserted": 2, "near": [], "replaced": 0 }));
    let changed = insert(&json!({ "records": [record(200, "a")], "replace": true })).ok();
    assert_eq!(changed, json!({ "inserted": 1, "near": [], "replaced": 1 }));
    let asked = json!({ "records": [record(0, "c"), record(200, "d")], "unless_similar": 0.7 });
    let answer = insert(&asked).ok();
    assert_eq!((&answer["inserted"], &answer["similar"][0]["id"]), (&json!(1), &json!("a")), "{answer}");
    for condition in ["unless_similar", "unless_near"] {
        // With a condition, it is compared with all others.
        let other = insert(&json!({ "records": [record(0, "e")], "replace": true, condition: 1 })).ok();
        assert_eq!((&other["inserted"], &other["replaced"]), (&json!(0), &json!(0)), "{other}");
        let own = insert(&json!({ "records": [record(0, "c")], "replace": true, condition: 1 })).ok();
        assert_eq!((&own["inserted"], &own["replaced"]), (&json!(1), &json!(1)), "{own}");
    }
    let both = json!({ "records": [record(0, "e")], "unless_similar": 1, "unless_near": 1 });
    assert_eq!(insert(&both).problem(), (422, "bad_request".to_owned()));
    assert_eq!(client.post("/v1/sets/s/remove", &json!({ "ids": ["a", "c", "x"] })).ok()["removed"], 2);
}

#[test]
fn of_two_similar_texts_from_two_connections_one_wins() {
    let (_directory, running) = with_set();
    let (rounds, barrier) = (60, Barrier::new(2));
    let wins = thread::scope(|scope| {
        let contender = |number: u64| {
            let (client, barrier) = (running.client(), &barrier);
            scope.spawn(move || {
                let mut won = Vec::new();
                for round in 0..rounds {
                    let words: Vec<String> = (0..30).map(|word| format!("r{round}w{word}")).collect();
                    let text = format!("{} end{number}", words.join(" "));
                    let record = json!({ "text": text, "id": format!("{round}-{number}") });
                    barrier.wait();
                    let body = json!({ "records": [record], "unless_similar": 0.7 });
                    let answer = client.post("/v1/sets/s/insert", &body).ok();
                    let inserted = answer["inserted"].as_u64().unwrap();
                    if inserted == 0 {
                        assert_eq!(answer["similar"][0]["id"], json!(format!("{round}-{}", 1 - number)));
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
}
