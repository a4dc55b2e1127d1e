//! Every request by property: the service answers as a store in this process does, and as brute force.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use hamdex::Fingerprint;
use hamdex_store::{CreateOptions, Inserted, Operation, Store, StoreOptions, When};
use proptest::prelude::*;
use proptest::test_runner::TestCaseError;
use serde_json::{Value, json};

use crate::common::{Chance, Client, Running, hex};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ids {
    None,
    Numbers,
    Names,
}

/// A set of the service, a store that is to hold the same, and the pairs that both hold.
struct Twins<F: Fingerprint> {
    client: Client,
    path: String,
    ids: Ids,
    lookups: bool,
    store: Store<F>,
    model: BTreeMap<F, BTreeSet<u64>>,
    chance: Chance,
    next: u64,
}

fn id_json(ids: Ids, id: u64) -> Value {
    match ids {
        Ids::Names => json!(format!("n{id}")),
        _ if id > 1 << 53 => json!(id.to_string()),
        _ => json!(id),
    }
}

/// Sorts lists of names, whose order is that of their numbers in the store: records that are replaced get new ones.
fn in_order(mut value: Value) -> Value {
    match &mut value {
        Value::Array(all) => all.iter_mut().for_each(|one| *one = in_order(one.take())),
        Value::Object(fields) => fields.iter_mut().for_each(|(name, one)| match (name.as_str(), &mut *one) {
            ("ids", Value::Array(ids)) => ids.sort_by_key(Value::to_string),
            _ => *one = in_order(one.take()),
        }),
        _ => {}
    }
    value
}

impl<F: Fingerprint> Twins<F> {
    fn fingerprint(&mut self) -> F {
        match self.chance.below(20) {
            0 => F::ZERO,
            1 => F::ONES,
            2 => F::truncate(u128::from(self.chance.next())),
            _ => self.chance.clustered(5),
        }
    }

    fn id(&mut self) -> u64 {
        self.next += 1;
        match self.chance.below(8) {
            _ if self.ids != Ids::Numbers => self.next,
            0 => u64::MAX - self.next,
            1 => (1 << 53) - 2 + self.next % 5,
            _ => self.next % 40,
        }
    }

    fn records(&mut self) -> Vec<(F, u64)> {
        (0..self.chance.below(8)).map(|_| (self.fingerprint(), self.id())).collect()
    }

    fn record_json(&self, (fingerprint, id): (F, u64)) -> Value {
        match self.ids {
            Ids::None => json!({ "fingerprint": hex(fingerprint) }),
            ids => json!({ "fingerprint": hex(fingerprint), "id": id_json(ids, id) }),
        }
    }

    fn remember(&mut self, fingerprint: F, id: u64) {
        self.model.entry(fingerprint).or_default().insert(if self.ids == Ids::None { 0 } else { id });
    }

    fn ids_json(&self, fingerprint: F) -> Value {
        let ids = self.model.get(&fingerprint).into_iter().flatten();
        ids.map(|&id| id_json(self.ids, id)).collect()
    }

    fn match_json(&self, query: F, stored: F) -> Value {
        let mut found = json!({ "fingerprint": hex(stored), "distance": query.distance(stored) });
        if self.ids != Ids::None {
            found["ids"] = self.ids_json(stored);
        }
        found
    }

    /// Brute force over the model.
    fn within(&self, query: F, distance: u32) -> Vec<F> {
        let mut near: Vec<F> =
            self.model.keys().copied().filter(|one| one.distance(query) <= distance).collect();
        near.sort_by_key(|one| (one.distance(query), *one));
        near
    }

    fn post(&self, request: &str, body: &Value) -> Value {
        self.client.post(&format!("{}/{request}", self.path), body).ok()
    }

    fn insert(&mut self) -> Result<(), TestCaseError> {
        let records = self.records();
        let json: Vec<Value> = records.iter().map(|&record| self.record_json(record)).collect();
        let answer = if self.ids != Ids::Names && self.chance.below(3) == 0 {
            let mut bytes = Vec::new();
            for (fingerprint, id) in &records {
                bytes.extend_from_slice(&fingerprint.to_u128().to_le_bytes()[..F::BYTES]);
                if self.ids == Ids::Numbers {
                    bytes.extend_from_slice(&id.to_le_bytes());
                }
            }
            let headers = [("content-type", "application/octet-stream"), ("accept", "application/json")];
            self.client.send("POST", &format!("{}/insert", self.path), &headers, &bytes).ok()
        } else {
            self.post("insert", &json!({ "records": json }))
        };
        prop_assert_eq!(answer, json!({ "inserted": records.len(), "near": [] }));
        let operation =
            |&(f, id): &(F, u64)| Operation::Insert(f, if self.ids == Ids::None { 0 } else { id });
        match self.ids {
            Ids::Names => {
                let named: Vec<_> = records.iter().map(|(f, id)| (*f, format!("n{id}"))).collect();
                self.store.put(&named, When::always()).unwrap();
            }
            _ => drop(self.store.write(records.iter().map(operation).collect()).unwrap()),
        }
        records.into_iter().for_each(|(fingerprint, id)| self.remember(fingerprint, id));
        Ok(())
    }

    fn insert_unless_near(&mut self) -> Result<(), TestCaseError> {
        let (records, distance) = (self.records(), self.chance.below(6) as u32);
        let json: Vec<Value> = records.iter().map(|&record| self.record_json(record)).collect();
        let answer = self.post("insert", &json!({ "records": json, "unless_near": distance }));
        let pairs: Vec<(F, u64)> =
            records.iter().map(|&(f, id)| (f, if self.ids == Ids::None { 0 } else { id })).collect();
        let outcomes = match self.ids {
            Ids::Names => {
                let named: Vec<_> = records.iter().map(|(f, id)| (*f, format!("n{id}"))).collect();
                self.store.put(&named, When::unless_near(distance)).unwrap().outcomes
            }
            _ => self.store.put(&pairs, When::unless_near(distance)).unwrap().outcomes,
        };
        let (mut inserted, mut near) = (0, Vec::new());
        for (index, (outcome, &(fingerprint, id))) in outcomes.iter().zip(&records).enumerate() {
            let nearest = self.within(fingerprint, distance).first().copied();
            match outcome {
                Inserted::New { .. } => {
                    prop_assert_eq!(nearest, None);
                    inserted += 1;
                    self.remember(fingerprint, id);
                }
                Inserted::Near(found) => {
                    prop_assert_eq!(nearest.map(|near| near.distance(fingerprint)), Some(found.distance));
                    let mut document = self.match_json(fingerprint, found.fingerprint);
                    if found.all_ids > found.ids.len() as u64 {
                        let names = found.names.iter().map(|name| json!(String::from_utf8_lossy(name)));
                        document["ids"] = match self.ids {
                            Ids::Names => names.collect(),
                            _ => found.ids.iter().map(|&id| id_json(self.ids, id)).collect(),
                        };
                        document["ids_count"] = json!(found.all_ids);
                    }
                    document["index"] = json!(index);
                    near.push(document);
                }
                Inserted::Similar(similar) => panic!("{similar:?} is no answer to a distance"),
            }
        }
        prop_assert_eq!(in_order(answer), in_order(json!({ "inserted": inserted, "near": near })));
        Ok(())
    }

    fn replace(&mut self) -> Result<(), TestCaseError> {
        let mut records = self.records();
        // Of stored records, of an id twice.
        let again: Vec<u64> = (0..2).filter_map(|_| Some(self.stored()?.1)).collect();
        for id in again {
            records.push((self.fingerprint(), id));
        }
        let json: Vec<Value> = records.iter().map(|&record| self.record_json(record)).collect();
        let body = json!({ "records": json, "replace": true });
        if !self.lookups {
            let answer = self.client.post(&format!("{}/insert", self.path), &body);
            prop_assert_eq!(answer.problem(), (422, "no_lookups".to_owned()));
            return Ok(());
        }
        let answer = self.post("insert", &body);
        let last: BTreeMap<u64, F> = records.iter().map(|&(fingerprint, id)| (id, fingerprint)).collect();
        let before = self.count();
        // A pair that is stored as it is stays; records with names are written anew.
        let holds = |f: &F, id: &u64| self.model.get(f).is_some_and(|ids| ids.contains(id));
        let is_kept = |&(id, f): &(&u64, &F)| self.ids == Ids::Numbers && holds(f, id);
        let kept = last.iter().filter(is_kept).count() as u64;
        self.model.values_mut().for_each(|ids| ids.retain(|id| !last.contains_key(id)));
        self.model.retain(|_, ids| !ids.is_empty());
        let replaced = before - self.count() - kept;
        last.iter().for_each(|(&id, &fingerprint)| self.remember(fingerprint, id));
        let written = match self.ids {
            Ids::Names => {
                let named: Vec<_> = records.iter().map(|(f, id)| (*f, format!("n{id}"))).collect();
                self.store.put(&named, When::always().replacing()).unwrap()
            }
            _ => self.store.put(&records, When::always().replacing()).unwrap(),
        };
        let expected = json!({ "inserted": written.inserted, "near": [], "replaced": written.removed });
        prop_assert_eq!(answer, expected);
        prop_assert_eq!((written.inserted, written.removed), (last.len() as u64 - kept, replaced));
        Ok(())
    }

    fn count(&self) -> u64 {
        self.model.values().map(|ids| ids.len() as u64).sum()
    }

    fn stored(&mut self) -> Option<(F, u64)> {
        let all: Vec<(F, u64)> =
            self.model.iter().flat_map(|(f, ids)| ids.iter().map(|id| (*f, *id))).collect();
        (!all.is_empty()).then(|| all[self.chance.below(all.len() as u64) as usize])
    }

    fn remove(&mut self) -> Result<(), TestCaseError> {
        let mut records: Vec<(F, u64)> = (0..3).filter_map(|_| self.stored()).collect();
        records.push((self.fingerprint(), 7));
        let kind = if self.ids == Ids::None { 0 } else { self.chance.below(3) };
        let (body, gone): (Value, Vec<(F, u64)>) = match kind {
            // Every record of these fingerprints.
            0 => {
                let list: Vec<Value> =
                    records.iter().map(|(f, _)| json!({ "fingerprint": hex(*f) })).collect();
                let of =
                    |f: &F| self.model.get(f).into_iter().flatten().map(|id| (*f, *id)).collect::<Vec<_>>();
                (json!({ "records": list }), records.iter().flat_map(|(f, _)| of(f)).collect())
            }
            1 => {
                let list: Vec<Value> = records.iter().map(|&record| self.record_json(record)).collect();
                (json!({ "records": list }), records)
            }
            _ => {
                let ids: HashSet<u64> = records.iter().map(|(_, id)| *id).collect();
                let list: Vec<Value> = ids.iter().map(|id| id_json(self.ids, *id)).collect();
                let all = self.model.iter().flat_map(|(f, of)| of.iter().map(|id| (*f, *id)));
                (json!({ "ids": list }), all.filter(|(_, id)| ids.contains(id)).collect())
            }
        };
        let answer = self.post("remove", &body);
        let mut removed = 0;
        for (fingerprint, id) in gone {
            let Some(ids) = self.model.get_mut(&fingerprint) else { continue };
            if ids.remove(&id) {
                removed += 1;
                let snapshot = self.store.snapshot();
                let stored = match self.ids {
                    Ids::None => 0,
                    Ids::Numbers => id,
                    Ids::Names => {
                        let name = format!("n{id}").into_bytes();
                        let all = snapshot.ids(fingerprint).unwrap();
                        all.into_iter().find(|one| snapshot.name(*one).unwrap() == Some(&name)).unwrap()
                    }
                };
                prop_assert!(self.store.remove(fingerprint, stored).unwrap());
            }
            if self.model[&fingerprint].is_empty() {
                self.model.remove(&fingerprint);
            }
        }
        prop_assert_eq!(answer, json!({ "removed": removed }));
        Ok(())
    }

    fn query(&mut self) -> Result<(), TestCaseError> {
        let few = if self.chance.below(2) == 0 { 3 } else { 20 };
        let queries: Vec<F> = (0..self.chance.below(few)).map(|_| self.fingerprint()).collect();
        let distance = self.chance.below(9) as u32;
        let limit = [usize::MAX, 0, 1, 3][self.chance.below(4) as usize];
        let texts: Vec<String> = queries.iter().map(|query| hex(*query)).collect();
        let mut body = json!({ "fingerprints": texts, "distance": distance, "ids_limit": 100_000 });
        if limit != usize::MAX {
            let field = if self.chance.below(2) == 0 { "limit" } else { "nearest" };
            body[field] = json!(limit);
        }
        let answer = self.post("query", &body);
        let mut searcher = self.store.snapshot().searcher();
        let mut expected = Vec::new();
        for &query in &queries {
            let found: Vec<F> =
                searcher.within(query, distance).unwrap().iter().map(|found| found.fingerprint).collect();
            prop_assert_eq!(&found, &self.within(query, distance));
            let of_query = found.into_iter().take(limit).map(|stored| self.match_json(query, stored));
            expected.push(of_query.collect::<Value>());
        }
        prop_assert_eq!(in_order(answer), in_order(json!({ "results": expected })));
        Ok(())
    }

    fn stream(&mut self) -> Result<(), TestCaseError> {
        let sorted = |rows: Vec<Value>| rows.into_iter().map(in_order).collect::<Vec<_>>();
        let entries = |after: &str| sorted(self.client.get(&format!("{}/entries{after}", self.path)).rows());
        let entry = |f: &F| match self.ids {
            Ids::None => json!({ "fingerprint": hex(*f) }),
            _ => json!({ "fingerprint": hex(*f), "ids": self.ids_json(*f) }),
        };
        let all: Vec<Value> = self.model.keys().map(entry).map(in_order).collect();
        prop_assert_eq!(&entries(""), &all);
        if let Some((after, _)) = self.stored() {
            let entries = |rest: &str| {
                sorted(self.client.get(&format!("{}/entries?after={}{rest}", self.path, hex(after))).rows())
            };
            let place = self.model.range(..=after).count();
            prop_assert_eq!(entries(""), &all[place..]);
            prop_assert_eq!(entries("&limit=2"), &all[place..all.len().min(place + 2)]);
        }
        let distance = self.chance.below(7) as u32;
        let rows = self.client.get(&format!("{}/pairs?distance={distance}", self.path)).rows();
        let pair = |row: &Value| (row["a"].to_string(), row["b"].to_string(), row["distance"].as_u64());
        let found: BTreeSet<_> = rows.iter().map(pair).collect();
        prop_assert_eq!(found.len(), rows.len());
        let keys: Vec<F> = self.model.keys().copied().collect();
        let mut expected = BTreeSet::new();
        for (place, &b) in keys.iter().enumerate() {
            for &a in &keys[..place] {
                if a.distance(b) <= distance {
                    let row = json!({ "a": hex(a), "b": hex(b), "distance": a.distance(b) });
                    expected.insert(pair(&row));
                }
            }
        }
        prop_assert_eq!(found, expected);
        Ok(())
    }

    fn maintain(&mut self) -> Result<(), TestCaseError> {
        let work = ["flush", "compact", "verify"][self.chance.below(3) as usize];
        let job = self.client.post(&format!("{}/{work}", self.path), &json!({})).ok();
        let job = self.client.ended(&job);
        prop_assert_eq!(&job["state"], "done", "{}", job);
        Ok(())
    }
}

fn check<F: Fingerprint>(ids: Ids, seed: u64, steps: usize) -> Result<(), TestCaseError> {
    let lookups = ids != Ids::None && !seed.is_multiple_of(3);
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("data");
    std::fs::create_dir(&data).unwrap();
    let mut running = Running::of(&data);
    let name = ["none", "numbers", "names"][ids as usize];
    let made = running.client().put(
        "/v1/sets/twin",
        &json!({ "width": F::BITS, "ids": name, "durability": "none", "lookups": lookups }),
    );
    prop_assert_eq!(made.status, 201);
    prop_assert_eq!(made.json()["lookups"].as_bool(), Some(lookups));
    let create = CreateOptions::new().ids(ids != Ids::None).names(ids == Ids::Names).lookups(lookups);
    let store = Store::create(directory.path().join("twin"), &create, StoreOptions::new()).unwrap();
    let mut twins = Twins::<F> {
        client: running.client(),
        path: "/v1/sets/twin".to_owned(),
        ids,
        lookups,
        store,
        model: BTreeMap::new(),
        chance: Chance(seed),
        next: 0,
    };
    for _ in 0..steps {
        match twins.chance.below(14) {
            0..=2 => twins.insert()?,
            3..=4 => twins.insert_unless_near()?,
            5..=6 => twins.remove()?,
            7..=8 => twins.query()?,
            9 => twins.stream()?,
            10 => twins.maintain()?,
            11..=12 if ids != Ids::None => twins.replace()?,
            _ => {
                running.end();
                running = Running::of(&data);
                twins.client = running.client();
            }
        }
    }
    twins.query()?;
    twins.stream()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 6, max_shrink_iters: 0, ..ProptestConfig::default() })]

    #[test]
    fn a_set_answers_as_a_store_in_this_process_does(seed: u64) {
        for ids in [Ids::None, Ids::Numbers, Ids::Names] {
            check::<u64>(ids, seed, 40)?;
            check::<u128>(ids, seed ^ 1, 40)?;
        }
    }
}
