//! Power loss after every change of the disk, of a store into which documents are inserted unless one is similar.

use hamdex::FingerprintSet;
use hamdex::similar::{Condition, Measure};
use hamdex_simulated_disk::{SimulatedDisk, Survival};
use hamdex_store::{Record, Snapshot, Store, When};

use crate::common::{Chance, seeds, step, tiny};
use crate::similar::{are_alike, set, shape};

/// Names and shingles of documents, in the order in which they were stored.
type Documents = Vec<(String, Vec<u64>)>;

/// The history of a store until power was lost.
struct Done {
    /// The documents after each write, and after the unfinished one, if any.
    states: Vec<Documents>,
    /// The index of the first of these that may be found, since it was durable.
    least: usize,
}

fn condition() -> Condition {
    Condition::new(Measure::Resemblance, 0.5).unwrap()
}

/// Stores documents as a program does that compares each with all.
fn put(documents: &mut Documents, new: &[(String, Vec<u64>)], replaces: bool) {
    for (name, set) in new {
        let mut others = documents.iter().filter(|other| !replaces || other.0 != *name);
        if others.any(|other| are_alike(set, &other.1, &condition())) {
            continue;
        }
        documents.retain(|other| !replaces || other.0 != *name);
        documents.push((name.clone(), set.clone()));
    }
}

/// Works on a store until an operation fails.
fn work(disk: &SimulatedDisk, seed: u64) -> Option<Done> {
    let mut chance = Chance(seed);
    let mut done = Done { states: vec![Documents::new()], least: 0 };
    let options = tiny().merges(false);
    let mut store = Store::<u64>::create_on(disk.clone(), &shape(true), options).ok()?;
    for _ in 0..24 {
        let is_done = match chance.below(8) {
            0..=4 => {
                let new: Documents = (0..1 + chance.below(12))
                    .map(|_| (format!("page {}", chance.below(30)), set(&mut chance)))
                    .collect();
                let replaces = chance.below(2) == 0;
                let mut next = done.states.last().unwrap().clone();
                put(&mut next, &new, replaces);
                done.states.push(next);
                let when = When::unless_similar(condition());
                let records = new.iter().map(|(name, set)| Record::document(7, name, set));
                store.put(records, if replaces { when.replacing() } else { when }).is_ok()
            }
            5 => store.flush().is_ok(),
            6 => store.compact().is_ok(),
            _ => {
                drop(store);
                let Ok(opened) = Store::open_on(disk.clone(), options) else { return Some(done) };
                store = opened;
                true
            }
        };
        if !is_done {
            return Some(done);
        }
        done.least = done.states.len() - 1;
    }
    Some(done)
}

/// Returns the documents in the order of their ids.
fn documents(snapshot: &Snapshot<u64>) -> Documents {
    let mut found = Vec::new();
    for part in snapshot.shingle_parts(1 << 12).unwrap().unwrap() {
        let flow = snapshot.visit_shingles(&part, &|| Ok(()), &mut |id, set| {
            let name = snapshot.name(id.id).unwrap().unwrap().to_vec();
            found.push((id.id, String::from_utf8(name).unwrap(), set.to_vec()));
            Ok(())
        });
        flow.unwrap();
    }
    found.sort();
    found.into_iter().map(|(_, name, set)| (name, set)).collect()
}

/// Opens a store after a crash, and compares it.
fn check(disk: &SimulatedDisk, done: &Done, chance: &mut Chance, what: &str) {
    let store = Store::<u64>::open_on(disk.clone(), tiny().merges(false))
        .unwrap_or_else(|error| panic!("{what}: {error}\n{:#?}", disk.trace()));
    let mut found = documents(&store.snapshot());
    assert!(done.states[done.least..].contains(&found), "{what}: {found:?} is no allowed state");
    // It goes on, and knows all that is stored.
    let mut new: Documents = found.iter().take(3).map(|(_, set)| ("again".to_owned(), set.clone())).collect();
    new.extend((0..4).map(|_| ("new".to_owned(), set(chance))));
    let records = new.iter().map(|(name, set)| Record::document(7, name, set));
    store.put(records, When::unless_similar(condition())).unwrap();
    put(&mut found, &new, false);
    assert_eq!(documents(&store.snapshot()), found, "{what}");
    store.compact().unwrap();
    assert_eq!(documents(&store.snapshot()), found, "{what}");
}

#[test]
fn a_crash_among_similar_documents_loses_none_that_was_acknowledged_and_stores_no_two() {
    let mut crashes = 0;
    for seed in seeds(0..2) {
        let whole = SimulatedDisk::new();
        work(&whole, seed).unwrap();
        let changes = whole.changes();
        let mut chance = Chance(seed ^ 0xabcd);
        for last in (0..changes).step_by(step(5)) {
            let disk = SimulatedDisk::new();
            disk.lose_power_after(last);
            let Some(done) = work(&disk, seed) else { continue };
            let any = Survival::Any(chance.next());
            for survival in [Survival::Nothing, Survival::Everything, Survival::Names, Survival::Bytes, any] {
                let what =
                    format!("seed {seed}, power lost after {last} of {changes}, {survival:?} survives");
                check(&disk.crashed(survival), &done, &mut chance, &what);
                crashes += 1;
            }
        }
    }
    println!("{crashes} crashes among similar documents, none lost that was acknowledged, no two stored");
}
