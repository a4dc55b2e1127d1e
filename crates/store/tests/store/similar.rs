//! Documents similar to a set of shingles, in stores that change: the same that a program finds which compares all.

use std::collections::{BTreeMap, BTreeSet};

use hamdex::similar::{Condition, Measure};
use hamdex::{FingerprintSet, ReadErrorKind};
use hamdex_simulated_disk::SimulatedDisk;
use hamdex_store::{CreateOptions, Error, Inserted, Record, Snapshot, Store, StoreOptions, When};

use crate::common::{Chance, seeds, tiny};
use crate::named::named_shape;

/// Name, fingerprint and shingles of each stored document, by id.
type Documents = BTreeMap<u64, (Vec<u8>, u64, Vec<u64>)>;

pub(super) fn shape(lookups: bool) -> CreateOptions {
    named_shape().lookups(lookups).shingles("numbers of this test")
}

/// A set that crowds: of few shingles, with the parts of a footer, or a variant of one of a few texts.
pub(super) fn set(chance: &mut Chance) -> Vec<u64> {
    let mut set: BTreeSet<u64> = match chance.below(4) {
        0 => (0..chance.below(12)).map(|_| chance.below(30)).collect(),
        1 => (0..chance.below(20)).map(|_| chance.next() >> 16).collect(),
        _ => {
            let text = 1000 * (1 + chance.below(3));
            (text..text + 20).filter(|_| chance.below(8) > 0).collect()
        }
    };
    set.extend((0..chance.below(6)).map(|part| 500 + part));
    set.into_iter().collect()
}

fn check(snapshot: &Snapshot<u64>, documents: &Documents, chance: &mut Chance) {
    let least = f64::from(1 + chance.below(100) as u32) / 100.0;
    let stored: Vec<&Vec<u64>> = documents.values().map(|document| &document.2).collect();
    let mut queries: Vec<Vec<u64>> = (0..3).map(|_| set(chance)).collect();
    if !stored.is_empty() {
        queries.push(stored[chance.below(stored.len() as u64) as usize].clone());
    }
    for measure in [Measure::Resemblance, Measure::Containing, Measure::Contained] {
        let condition = Condition::new(measure, least).unwrap();
        for query in &queries {
            let mut expected: Vec<(u64, f64)> = Vec::new();
            for (&id, (_, _, set)) in documents {
                let shared = set.iter().filter(|&shingle| query.binary_search(shingle).is_ok()).count();
                if shared > 0 && condition.is_met(shared, query.len(), set.len()) {
                    expected.push((id, condition.share(shared, query.len(), set.len())));
                }
            }
            expected.sort_by(|one, other| other.1.total_cmp(&one.1).then(one.0.cmp(&other.0)));
            let found = snapshot.open_searcher().similar(query, &condition, usize::MAX).unwrap();
            let found: Vec<_> = found.into_iter().map(|one| (one.id.id, one.similarity)).collect();
            assert_eq!(found, expected, "{condition:?}");
        }
    }
}

#[test]
fn they_are_those_of_the_documents_that_are_left() {
    for seed in seeds(0..24) {
        let mut chance = Chance(seed);
        let has_lookups = chance.below(2) == 0;
        let disk = SimulatedDisk::new();
        let mut store = Some(Store::<u64>::create_on(disk.clone(), &shape(has_lookups), tiny()).unwrap());
        let mut documents = Documents::new();
        let mut earlier: Option<(Snapshot<u64>, Documents)> = None;
        for step in 0..40 {
            let open = store.as_ref().unwrap();
            match chance.below(12) {
                0 => open.flush().unwrap(),
                1 => open.compact().map(drop).unwrap(),
                2 => {
                    store.take().unwrap().close().unwrap();
                    store = Some(Store::open_on(disk.clone(), tiny()).unwrap());
                }
                3 | 4 if !documents.is_empty() => {
                    let all: Vec<u64> = documents.keys().copied().collect();
                    let gone = all[chance.below(all.len() as u64) as usize];
                    let (_, fingerprint, _) = documents.remove(&gone).unwrap();
                    open.remove(fingerprint, gone).unwrap();
                }
                5 => earlier = Some((open.snapshot(), documents.clone())),
                _ => {
                    let new: Vec<(u64, Vec<u8>, Vec<u64>)> = (0..1 + chance.below(30))
                        .map(|number| {
                            (chance.next(), format!("{step} {number}").into_bytes(), set(&mut chance))
                        })
                        .collect();
                    let records = new.iter().map(|(value, name, set)| Record::document(*value, name, set));
                    let put = open.put(records, When::always()).unwrap();
                    for (id, (value, name, set)) in put.ids().zip(new) {
                        documents.insert(id, (name, value, set));
                    }
                }
            }
            check(&store.as_ref().unwrap().snapshot(), &documents, &mut chance);
            if let Some((snapshot, documents)) = &earlier {
                check(snapshot, documents, &mut chance);
            }
        }
    }
}

#[test]
fn a_store_without_shingles_says_so() {
    let store = Store::<u64>::create_on(SimulatedDisk::new(), &named_shape(), tiny()).unwrap();
    let condition = Condition::new(Measure::Resemblance, 0.7).unwrap();
    let refused = store.snapshot().searcher().similar(&[1], &condition, 1).unwrap_err();
    assert!(
        matches!(&refused, Error::Read(error) if matches!(error.kind(), ReadErrorKind::NoShingles)),
        "{refused}"
    );
    assert!(refused.to_string().contains("keeps no shingles"), "{refused}");
}

/// Whether two sets meet a condition.
pub(super) fn are_alike(one: &[u64], other: &[u64], condition: &Condition) -> bool {
    let shared = one.iter().filter(|&shingle| other.binary_search(shingle).is_ok()).count();
    shared > 0 && condition.is_met(shared, one.len(), other.len())
}

/// Documents are decided one after the other, as a program that knows all of them decides.
#[test]
fn a_document_is_inserted_unless_one_is_similar() {
    for seed in seeds(0..24) {
        let mut chance = Chance(seed);
        let has_lookups = chance.below(2) == 0;
        let store = Store::<u64>::create_on(SimulatedDisk::new(), &shape(has_lookups), tiny()).unwrap();
        let condition = Condition::new(Measure::Resemblance, 0.3 + chance.below(70) as f64 / 100.0).unwrap();
        let mut documents = Documents::new();
        for step in 0..40 {
            match chance.below(10) {
                0 => store.flush().unwrap(),
                1 if !documents.is_empty() => {
                    let all: Vec<u64> = documents.keys().copied().collect();
                    let gone = all[chance.below(all.len() as u64) as usize];
                    let (_, fingerprint, _) = documents.remove(&gone).unwrap();
                    store.remove(fingerprint, gone).unwrap();
                }
                _ => {}
            }
            let replaces = has_lookups && chance.below(2) == 0;
            let new: Vec<(u64, Vec<u8>, Vec<u64>)> = (0..1 + chance.below(12))
                .map(|_| (chance.next(), format!("page {}", chance.below(20)).into_bytes(), set(&mut chance)))
                .collect();
            let records = || new.iter().map(|(value, name, set)| Record::document(*value, name, set));
            let when = When::unless_similar(condition);
            let put = store.put(records(), if replaces { when.replacing() } else { when }).unwrap();
            let mut told = Vec::new();
            for (outcome, (value, name, set)) in put.outcomes.iter().zip(&new) {
                let others = documents.iter().filter(|(_, other)| !replaces || other.0 != *name);
                let alike: Vec<(u64, f64)> = others
                    .filter(|(_, other)| are_alike(set, &other.2, &condition))
                    .map(|(&id, (_, _, other))| {
                        let shared =
                            set.iter().filter(|&shingle| other.binary_search(shingle).is_ok()).count();
                        (id, condition.share(shared, set.len(), other.len()))
                    })
                    .collect();
                let most = alike.iter().map(|one| one.1).fold(0.0, f64::max);
                match outcome {
                    Inserted::New { .. } => {
                        assert!(alike.is_empty(), "step {step}: {alike:?}");
                        if replaces {
                            documents.retain(|_, other| other.0 != *name);
                        }
                        // Its id in the store is known when all are inserted.
                        let id = u64::MAX / 2 + documents.len() as u64 + chance.below(1 << 40) * 1000;
                        documents.insert(id, (name.clone(), *value, set.clone()));
                    }
                    Inserted::Similar(similar) => {
                        assert_eq!(similar.similarity, most, "step {step}");
                        told.push((set.clone(), similar.clone()));
                    }
                    other => panic!("{other:?}"),
                }
            }
            // The ids that the store has assigned.
            let stored: Vec<(u64, u64)> = store.snapshot().pairs_in_order().map(Result::unwrap).collect();
            let mut renumbered = Documents::new();
            for (_, (name, value, set)) in documents {
                let id = stored.iter().find(|pair| pair.0 == value).expect("it is stored").1;
                assert_eq!(store.snapshot().name(id).unwrap(), Some(&name[..]));
                renumbered.insert(id, (name, value, set));
            }
            documents = renumbered;
            for (set, similar) in told {
                // Unless a later one of the batch has taken its place.
                let Some((name, _, other)) = documents.get(&similar.id) else {
                    assert!(replaces, "step {step}");
                    continue;
                };
                assert_eq!(similar.name, name.as_slice().into(), "step {step}");
                let shared = set.iter().filter(|&shingle| other.binary_search(shingle).is_ok()).count();
                let share = condition.share(shared, set.len(), other.len());
                let is_replaced = replaces && new.iter().filter(|one| one.1 == *name).count() > 1;
                assert!(is_replaced || share == similar.similarity, "step {step}");
            }
            assert_eq!(stored.len(), documents.len(), "step {step}");
            check(&store.snapshot(), &documents, &mut chance);
        }
    }
}

/// Neither time nor memory grows with the square of a batch in which all are alike.
#[test]
fn a_crowd_in_one_batch_is_one_document() {
    let store = Store::<u64>::create_on(SimulatedDisk::new(), &shape(true), StoreOptions::new()).unwrap();
    let condition = Condition::new(Measure::Resemblance, 0.7).unwrap();
    let set: Vec<u64> = (0..5).collect();
    let names: Vec<String> = (0..100_000).map(|number| format!("page {number}")).collect();
    for replaces in [false, true] {
        let when = When::unless_similar(condition);
        let records = names.iter().map(|name| Record::document(7, name, &set));
        let put = store.put(records, if replaces { when.replacing() } else { when }).unwrap();
        assert_eq!(put.inserted, 1);
        assert!(put.outcomes[1..].iter().all(|outcome| &*outcome.similar().unwrap().name == b"page 0"));
    }
}

/// More documents are similar to a text than the search keeps, and the batch replaces all of them before.
#[test]
fn a_text_is_new_once_all_that_was_similar_is_replaced() {
    let store = Store::<u64>::create_on(SimulatedDisk::new(), &shape(true), StoreOptions::new()).unwrap();
    let condition = Condition::new(Measure::Resemblance, 0.7).unwrap();
    let name = |number: u64| format!("page {number}");
    let old: Vec<(String, Vec<u64>)> = (0..200).map(|number| (name(number), (0..20).collect())).collect();
    store.put(old.iter().map(|(name, set)| Record::document(7, name, set)), When::always()).unwrap();
    store.flush().unwrap();
    let fresh = |number: u64| (0..20).map(|shingle| 1000 * (number + 1) + shingle).collect();
    for replaced in [199, 200] {
        let mut new: Vec<(String, Vec<u64>)> =
            (0..replaced).map(|number| (name(number), fresh(number))).collect();
        new.push(("another".to_owned(), (0..20).collect()));
        let records = new.iter().map(|(name, set)| Record::document(7, name, set));
        let put = store.put(records, When::unless_similar(condition).replacing()).unwrap();
        assert_eq!((put.inserted, put.removed), (replaced + u64::from(replaced == 200), replaced));
        let similar = put.outcomes.last().unwrap().similar().map(|similar| similar.name.to_vec());
        assert_eq!(similar, (replaced == 199).then(|| b"page 199".to_vec()));
    }
}

/// The documents of a name may be more than the search keeps, and do not count for one that replaces them.
#[test]
fn a_document_replaces_a_crowd_of_its_name() {
    let condition = Condition::new(Measure::Resemblance, 0.7).unwrap();
    let set: Vec<u64> = (0..20).collect();
    for (crowd, is_flushed) in [(1, true), (2, false), (65, true), (66, true), (67, false), (500, true)] {
        for others in [0, 1, 64, 65, 66] {
            let store =
                Store::<u64>::create_on(SimulatedDisk::new(), &shape(true), StoreOptions::new()).unwrap();
            let own = (0..crowd).map(|_| Record::document(7, "own", &set));
            store.put(own, When::always()).unwrap();
            let other = (0..others).map(|_| Record::document(7, "other", &set));
            store.put(other, When::always()).unwrap();
            if is_flushed {
                store.flush().unwrap();
            }
            let record = Record::document(8, "own", &set);
            let put = store.put([record], When::unless_similar(condition).replacing()).unwrap();
            let similar = put.outcomes[0].similar().map(|similar| (similar.id, similar.name.to_vec()));
            assert_eq!(similar, (others > 0).then(|| (crowd, b"other".to_vec())), "{crowd} and {others}");
            assert_eq!((put.inserted, put.removed), if others > 0 { (0, 0) } else { (1, crowd) });
        }
    }
}
