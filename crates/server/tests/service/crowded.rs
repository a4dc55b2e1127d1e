//! Insertions under all conditions at once, crowded in few fingerprints, names and texts: as a plain list does them, one
//! record after the other.

use std::collections::BTreeSet;
use std::num::NonZeroUsize;

use hamdex::Fingerprint;
use hamdex_simhash::{Fingerprinter, Recipe, Scratch, Shingler};
use serde_json::{Value, json};

use crate::common::{Chance, Client, Running, hex};

/// The number of random sets, if this variable does not say.
const SETS: u64 = 3;
const CROWDED: &str = "HAMDEX_CROWDED";

/// The greatest number of ids per match that an answer has at least.
const IDS: usize = 10;

const WORDS: NonZeroUsize = NonZeroUsize::new(5).unwrap();

/// The kind of ids and records of a set.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Kind {
    Numbers,
    Names,
    Shingles,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Row {
    fingerprint: u64,
    id: String,
    shingles: BTreeSet<u64>,
}

/// A record of a request: a row, or `None` if it is to be refused.
type Record = (Value, Option<Row>);

#[derive(Debug, Clone, Copy, PartialEq)]
enum Condition {
    Always,
    Near(u32),
    Similar(f64),
}

/// The outcome of a record.
#[derive(Debug, PartialEq)]
enum Fate {
    Inserted,
    Refused,
    /// The nearest fingerprint, and all its ids that count.
    Near(u32, u64, Vec<String>),
    Similar,
}

struct Model {
    kind: Kind,
    rows: Vec<Row>,
    inserted: u64,
    replaced: u64,
}

fn similarity(one: &BTreeSet<u64>, other: &BTreeSet<u64>) -> f64 {
    let shared = one.intersection(other).count();
    shared as f64 / (one.len() + other.len() - shared) as f64
}

impl Model {
    /// Returns what leaves a record out, among the rows that it is compared with.
    fn obstacle(&self, row: &Row, condition: Condition, replace: bool) -> Option<Fate> {
        let others = || self.rows.iter().filter(|other| !replace || other.id != row.id);
        match condition {
            Condition::Always => None,
            Condition::Near(most) => {
                let nearest = others()
                    .map(|other| (other.fingerprint.distance(row.fingerprint), other.fingerprint))
                    .min();
                let (distance, fingerprint) = nearest.filter(|nearest| nearest.0 <= most)?;
                let ids = others().filter(|other| other.fingerprint == fingerprint);
                Some(Fate::Near(distance, fingerprint, ids.map(|other| other.id.clone()).collect()))
            }
            Condition::Similar(least) => others()
                .any(|other| similarity(&other.shingles, &row.shingles) >= least)
                .then_some(Fate::Similar),
        }
    }

    fn insert(&mut self, row: &Row, replace: bool) {
        let is_stored = self.kind == Kind::Numbers && self.rows.contains(row);
        if replace {
            let before = self.rows.len();
            self.rows.retain(|other| other.id != row.id || (is_stored && other == row));
            self.replaced += (before - self.rows.len()) as u64;
            self.inserted += u64::from(!is_stored);
        } else {
            self.inserted += 1;
        }
        if !is_stored {
            self.rows.push(row.clone());
        }
    }

    fn apply(&mut self, records: &[Record], condition: Condition, replace: bool) -> Vec<Fate> {
        (self.inserted, self.replaced) = (0, 0);
        let at_once = replace && !matches!(condition, Condition::Near(_));
        let before = self.rows.clone();
        let mut fates = Vec::new();
        for (_, row) in records {
            fates.push(match row {
                None => Fate::Refused,
                Some(row) => self.obstacle(row, condition, replace).unwrap_or_else(|| {
                    self.insert(row, replace);
                    Fate::Inserted
                }),
            });
        }
        if at_once {
            // What came and went within the request was never stored.
            let stays = |row: &Row, rows: &[Row]| self.kind == Kind::Numbers && rows.contains(row);
            let accepted: Vec<&Row> = records
                .iter()
                .zip(&fates)
                .filter(|(_, fate)| **fate == Fate::Inserted)
                .filter_map(|((_, row), _)| row.as_ref())
                .collect();
            let ids: BTreeSet<&str> = accepted.iter().map(|row| &*row.id).collect();
            let last = |id: &str| *accepted.iter().rfind(|row| row.id == id).unwrap();
            self.inserted = ids.iter().filter(|id| !stays(last(id), &before)).count() as u64;
            let gone = |row: &&Row| ids.contains(&*row.id) && !stays(row, &self.rows);
            self.replaced = before.iter().filter(gone).count() as u64;
        }
        fates
    }
}

/// Makes records of a set, some of them wrong.
struct Maker {
    chance: Chance,
    kind: Kind,
    fingerprinter: Fingerprinter<u64>,
}

impl Maker {
    fn record(&mut self, wrong: bool) -> Record {
        let is_wrong = wrong && self.chance.below(6) == 0;
        let id = match self.kind {
            Kind::Numbers => self.chance.below(7).to_string(),
            Kind::Names | Kind::Shingles => format!("https://example.org/{}\t", self.chance.below(7)),
        };
        let given: Value =
            if self.kind == Kind::Numbers { id.parse::<u64>().unwrap().into() } else { id.clone().into() };
        if self.kind == Kind::Shingles {
            let text = if is_wrong { " \n".to_owned() } else { self.text() };
            let (outcome, shingles) = self.fingerprinter.fingerprint_and_shingles(
                &text,
                &mut Scratch::default(),
                &mut Shingler::new(WORDS),
            );
            let row = outcome.value_of_text(&shingles).map(|fingerprint| Row {
                fingerprint,
                id,
                shingles: shingles.hashes().iter().copied().collect(),
            });
            return (json!({ "text": text, "id": given }), row);
        }
        if is_wrong {
            return match (self.chance.below(3), self.kind) {
                (0, Kind::Names) => (json!({ "text": "too short", "id": given }), None),
                (1, _) => (json!({ "fingerprint": "0123456789abcdef" }), None),
                _ => (json!({ "fingerprint": "no digits", "id": given }), None),
            };
        }
        let centre = [0, u64::MAX, 0x0123_4567_89ab_cdef][self.chance.below(3) as usize];
        let flips = self.chance.below(4);
        let fingerprint = (0..flips).fold(centre, |value, _| value ^ 1 << self.chance.below(16));
        (
            json!({ "fingerprint": hex(fingerprint), "id": given }),
            Some(Row { fingerprint, id, shingles: BTreeSet::new() }),
        )
    }

    /// A text of one of three stories, a few words of which differ.
    fn text(&mut self) -> String {
        let (story, length) = (self.chance.below(3) * 100, 20 + self.chance.below(4));
        let mut words: Vec<String> = (0..length).map(|word| format!("w{}", story + word)).collect();
        for _ in 0..self.chance.below(3) {
            let place = self.chance.below(length) as usize;
            words[place] = format!("x{}", self.chance.below(4));
        }
        words.join(" ")
    }
}

/// Returns all rows of a set, without shingles, in order.
fn stored(client: &Client) -> Vec<(String, String)> {
    let mut rows = Vec::new();
    for entry in client.get("/v1/sets/s/entries").rows() {
        for id in entry["ids"].as_array().unwrap() {
            let id = id.as_str().map_or_else(|| id.to_string(), str::to_owned);
            rows.push((entry["fingerprint"].as_str().unwrap().to_owned(), id));
        }
    }
    rows.sort();
    rows
}

/// Compares an answer with what a list says.
fn check(answer: &Value, model: &Model, fates: &[Fate], replace: bool, skip: bool) {
    assert_eq!(answer["inserted"], model.inserted, "{answer}");
    assert_eq!(answer["replaced"].as_u64(), replace.then_some(model.replaced), "{answer}");
    let indexes = |name: &str| -> Vec<usize> {
        let list = answer[name].as_array().map(Vec::as_slice).unwrap_or_default();
        list.iter().map(|one| one["index"].as_u64().unwrap() as usize).collect()
    };
    let of =
        |is: fn(&Fate) -> bool| -> Vec<usize> { (0..fates.len()).filter(|&at| is(&fates[at])).collect() };
    assert_eq!(indexes("near"), of(|fate| matches!(fate, Fate::Near(..))), "{answer}");
    assert_eq!(indexes("similar"), of(|fate| *fate == Fate::Similar), "{answer}");
    for near in answer["near"].as_array().unwrap() {
        let Fate::Near(distance, fingerprint, ids) = &fates[near["index"].as_u64().unwrap() as usize] else {
            unreachable!()
        };
        assert_eq!((&near["distance"], &near["fingerprint"]), (&json!(distance), &json!(hex(*fingerprint))));
        let mut ids = ids.clone();
        ids.sort();
        let answered = near["ids"].as_array().unwrap().iter();
        let mut answered: Vec<String> =
            answered.map(|id| id.as_str().map_or_else(|| id.to_string(), str::to_owned)).collect();
        answered.sort();
        assert!(
            answered.iter().all(|id| ids.contains(id)) && answered.len() >= ids.len().min(IDS),
            "{near}: {ids:?}"
        );
    }
    if skip {
        assert_eq!(indexes("refused"), of(|fate| *fate == Fate::Refused));
        let word = |fate: &Fate| match fate {
            Fate::Inserted => "inserted",
            Fate::Refused => "refused",
            Fate::Near(..) => "near",
            Fate::Similar => "similar",
        };
        assert_eq!(answer["outcomes"], json!(fates.iter().map(word).collect::<Vec<_>>()));
        for refused in answer["refused"].as_array().unwrap() {
            assert!(!refused["reason"].as_str().unwrap().starts_with("record "), "{refused}");
        }
    } else {
        assert!(answer.get("outcomes").is_none() && answer.get("refused").is_none());
    }
}

fn run(kind: Kind, seed: u64) {
    let directory = tempfile::tempdir().unwrap();
    let mut running = Running::of(directory.path());
    let properties = match kind {
        Kind::Numbers => json!({ "ids": "numbers", "lookups": true }),
        Kind::Names => json!({ "ids": "names", "lookups": true, "recipe": "default" }),
        Kind::Shingles => json!({ "shingles": true, "lookups": true }),
    };
    running.client().put("/v1/sets/s", &properties).ok();
    let fingerprinter = Fingerprinter::new(&Recipe::default()).unwrap();
    let mut maker = Maker { chance: Chance(seed), kind, fingerprinter };
    let mut model = Model { kind, rows: Vec::new(), inserted: 0, replaced: 0 };
    for _ in 0..25 {
        let client = running.client();
        let condition = match maker.chance.below(3) {
            0 => Condition::Always,
            1 if kind == Kind::Shingles => Condition::Similar(0.7),
            _ => Condition::Near(3),
        };
        let (replace, skip) = (maker.chance.below(3) > 0, maker.chance.below(3) > 0);
        let most = if maker.chance.below(4) == 0 { 90 } else { 9 };
        let length = 1 + maker.chance.below(most);
        let wrong = maker.chance.below(2) == 0;
        let records: Vec<Record> = (0..length).map(|_| maker.record(wrong)).collect();
        let mut body = json!({ "records": records.iter().map(|record| &record.0).collect::<Vec<_>>(), "replace": replace });
        match condition {
            Condition::Always => {}
            Condition::Near(distance) => body["unless_near"] = distance.into(),
            Condition::Similar(least) => body["unless_similar"] = least.into(),
        }
        if skip {
            body["on_refused"] = "skip".into();
        }
        let answer = client.post("/v1/sets/s/insert", &body);
        let first = records.iter().position(|record| record.1.is_none());
        if let (Some(first), false) = (first, skip) {
            assert_eq!(answer.problem(), (422, "bad_record".to_owned()));
            assert_eq!(answer.json()["record"], first);
        } else {
            let fates = model.apply(&records, condition, replace);
            check(&answer.ok(), &model, &fates, replace, skip);
        }
        match maker.chance.below(8) {
            0 => drop(client.post("/v1/sets/s/flush", &json!({})).ok()),
            1 => drop(client.ended(&client.post("/v1/sets/s/compact", &json!({})).ok())),
            2 => {
                running.end();
                running = Running::of(directory.path());
            }
            _ => {}
        }
        let mut expected: Vec<(String, String)> =
            model.rows.iter().map(|row| (hex(row.fingerprint), row.id.clone())).collect();
        expected.sort();
        assert_eq!(stored(&running.client()), expected);
    }
}

fn run_all(kind: Kind) {
    let sets = std::env::var(CROWDED).map_or(SETS, |sets| sets.parse().unwrap());
    (0..sets).for_each(|seed| run(kind, seed));
}

#[test]
fn crowded_numbers_are_inserted_as_a_list_does_it() {
    run_all(Kind::Numbers);
}

#[test]
fn crowded_names_are_inserted_as_a_list_does_it() {
    run_all(Kind::Names);
}

#[test]
fn crowded_texts_are_inserted_as_a_list_does_it() {
    run_all(Kind::Shingles);
}

#[test]
fn one_short_text_refuses_itself_alone_if_the_client_says_so() {
    let directory = tempfile::tempdir().unwrap();
    let running = Running::of(directory.path());
    let client = running.client();
    client.put("/v1/sets/s", &json!({ "ids": "names", "recipe": "default", "lookups": true })).ok();
    let story = |n: usize| (0..60).map(|word| format!("w{}", n * 100 + word)).collect::<Vec<_>>().join(" ");
    let mut records: Vec<Value> =
        (0..500).map(|n| json!({ "text": story(n), "id": format!("page {n}") })).collect();
    records[7] = json!({ "text": "404", "id": "page 7" });
    let all = client.post("/v1/sets/s/insert", &json!({ "records": records, "unless_near": 0 }));
    assert_eq!((all.problem().1.as_str(), &all.json()["record"]), ("bad_record", &json!(7)));
    assert_eq!(client.get("/v1/sets/s").ok()["fingerprints"], 0);
    let body = json!({ "records": records, "unless_near": 0, "on_refused": "skip" });
    let answer = client.post("/v1/sets/s/insert", &body).ok();
    assert_eq!((&answer["inserted"], answer["outcomes"].as_array().unwrap().len()), (&json!(499), 500));
    assert_eq!(answer["refused"].as_array().unwrap().len(), 1);
    assert!(
        answer["refused"][0]["reason"].as_str().unwrap().starts_with("the text is too short"),
        "{answer}"
    );
    // Crawled again, every page is near to itself alone.
    let mut body = body;
    body["replace"] = true.into();
    let again = client.post("/v1/sets/s/insert", &body).ok();
    assert_eq!(
        (&again["inserted"], &again["replaced"], &again["near"]),
        (&json!(499), &json!(499), &json!([]))
    );
    // A body of another form refuses all.
    let wrong =
        client.post("/v1/sets/s/insert", &json!({ "records": [{ "txt": "a" }], "on_refused": "skip" }));
    assert_eq!(wrong.status, 422);
}
