//! Threads that insert variants of a few texts at once, each unless one is similar. At every moment no two stored documents
//! are similar, and each refused one is similar to the document that its outcome names: a program that compares all with
//! all says so.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use hamdex::FingerprintSet;
use hamdex::similar::{Condition, Measure};
use hamdex_store::{Durability, Inserted, Record, Similar, Snapshot, Store, When};

use crate::common::{Chance, seeds, tiny};
use crate::similar::{are_alike, set, shape};

const WRITERS: u64 = 5;
const DOCUMENTS_EACH: u64 = 120;

/// Names of documents that replace each other.
const NAMES: u64 = 40;

/// The way in which threads write.
#[derive(Clone, Copy, Debug)]
struct Race {
    condition: Condition,
    /// Whether documents replace the ones of their name.
    replaces: bool,
    /// Whether some are removed meanwhile.
    removes: bool,
}

/// A document that was given to the store, and its outcome.
struct Given {
    name: String,
    set: Vec<u64>,
    /// How often each name is in its batch.
    names_of_batch: HashMap<String, usize>,
    outcome: Inserted<u64>,
}

/// The shingles of all documents, by id.
fn documents(snapshot: &Snapshot<u64>) -> BTreeMap<u64, Vec<u64>> {
    let mut sets = BTreeMap::new();
    for part in snapshot.shingle_parts(1 << 12).unwrap().unwrap() {
        let flow = snapshot.visit_shingles(&part, &|| Ok(()), &mut |id, set| {
            assert_eq!(sets.insert(id.id, set.to_vec()), None);
            Ok(())
        });
        flow.unwrap();
    }
    sets
}

/// Checks that no document is similar to one before it: ids ascend as documents are stored.
fn check_all(snapshot: &Snapshot<u64>, race: &Race) {
    let all: Vec<(u64, Vec<u64>)> = documents(snapshot).into_iter().collect();
    for (place, (id, one)) in all.iter().enumerate() {
        for (other_id, other) in &all[..place] {
            let what = || format!("{id} {one:?} and {other_id} {other:?} are stored, {race:?}");
            assert!(!are_alike(one, other, &race.condition), "{}", what());
        }
    }
}

/// Writes documents, alone and in batches.
fn write(store: &Store<u64>, race: Race, seed: u64) -> Vec<Given> {
    let (mut chance, mut given) = (Chance(seed), Vec::new());
    while (given.len() as u64) < DOCUMENTS_EACH {
        let count = [1, 1, 1, 4, 20][chance.below(5) as usize];
        let batch: Vec<(u64, String, Vec<u64>)> = (0..count)
            .map(|number| {
                let name = match race.replaces {
                    true => format!("page {}", chance.below(NAMES)),
                    false => format!("{seed} {}", given.len() + number),
                };
                (chance.next(), name, set(&mut chance))
            })
            .collect();
        let mut names_of_batch = HashMap::new();
        batch.iter().for_each(|(_, name, _)| *names_of_batch.entry(name.clone()).or_insert(0) += 1);
        let when = When::unless_similar(race.condition);
        let records = batch.iter().map(|(value, name, set)| Record::document(*value, name, set));
        let put = store.put(records, if race.replaces { when.replacing() } else { when }).unwrap();
        let outcomes = batch.into_iter().zip(put.outcomes);
        given.extend(outcomes.map(|((_, name, set), outcome)| {
            let names_of_batch = names_of_batch.clone();
            Given { name, set, names_of_batch, outcome }
        }));
    }
    given
}

/// Removes some documents, and brings the store into other forms.
fn disturb(store: &Store<u64>, race: Race, seed: u64, is_over: &AtomicBool) {
    let mut chance = Chance(seed);
    while !is_over.load(Ordering::Relaxed) {
        match chance.below(8) {
            0 => store.flush().unwrap(),
            1 => store.compact().map(drop).unwrap(),
            _ if race.removes => {
                let pairs: Vec<(u64, u64)> = store.snapshot().pairs_in_order().map(Result::unwrap).collect();
                if !pairs.is_empty() {
                    let (fingerprint, id) = pairs[chance.below(pairs.len() as u64) as usize];
                    store.remove(fingerprint, id).unwrap();
                }
            }
            _ => thread::sleep(Duration::from_micros(chance.below(500))),
        }
    }
}

/// Checks that a refused document is similar to one that was stored, as its outcome says. Returns whether the latter was
/// replaced by another of the same batch, so that its shingles are not known by its id.
fn check_refused(refused: &Given, similar: &Similar, stored: &HashMap<u64, &Given>, race: &Race) -> bool {
    let Given { name, set, names_of_batch, .. } = refused;
    let other = stored[&similar.id];
    assert_eq!(other.name.as_bytes(), &*similar.name, "{race:?}");
    assert!(!race.replaces || other.name != *name, "{name} is similar to what it replaces, {race:?}");
    let shared = set.iter().filter(|&shingle| other.set.binary_search(shingle).is_ok()).count();
    let is_told = race.condition.share(shared, set.len(), other.set.len()) == similar.similarity;
    let may_be_replaced = race.replaces && names_of_batch.get(&other.name).is_some_and(|&times| times > 1);
    assert!(is_told || may_be_replaced, "{set:?} was refused for {:?}, {race:?}", other.set);
    assert!(similar.similarity >= race.condition.least());
    !is_told
}

/// Lets threads race. Returns the number of documents given to the store, and of documents refused.
fn run(race: Race, seed: u64) -> (usize, usize) {
    let directory = tempfile::tempdir().unwrap();
    let durability = if seed.is_multiple_of(4) { Durability::Sync } else { Durability::None };
    let store =
        Store::<u64>::create(directory.path(), &shape(race.replaces), tiny().durability(durability)).unwrap();
    let is_over = AtomicBool::new(false);
    let given: Vec<Given> = thread::scope(|scope| {
        let (store, is_over) = (&store, &is_over);
        scope.spawn(move || disturb(store, race, seed, is_over));
        scope.spawn(move || {
            while !is_over.load(Ordering::Relaxed) {
                check_all(&store.snapshot(), &race);
            }
        });
        let writers: Vec<_> = (0..WRITERS)
            .map(|writer| scope.spawn(move || write(store, race, seed << 8 | (writer + 1))))
            .collect();
        let given: Vec<_> = writers.into_iter().map(thread::ScopedJoinHandle::join).collect();
        is_over.store(true, Ordering::Relaxed);
        given.into_iter().flat_map(Result::unwrap).collect()
    });
    let mut stored: HashMap<u64, &Given> = HashMap::new();
    for one in &given {
        let Some(id) = one.outcome.id() else { continue };
        // One that was replaced by another of its batch has the id of that one, which comes later.
        let before = stored.insert(id, one);
        assert!(before.is_none_or(|before| race.replaces && before.name == one.name), "{id} twice, {race:?}");
    }
    let mut refused = 0;
    let mut unknown = 0;
    for one in &given {
        let Some(similar) = one.outcome.similar() else { continue };
        refused += 1;
        unknown += usize::from(check_refused(one, similar, &stored, &race));
    }
    assert!(unknown * 4 <= refused, "{unknown} of {refused} are not known, {race:?}");
    check_left(&store.snapshot(), &stored, &race);
    drop(store);
    let store = Store::<u64>::open(directory.path(), tiny()).unwrap();
    check_left(&store.snapshot(), &stored, &race);
    (given.len(), refused)
}

/// Checks what is left: what was stored, with its shingles, and all of it unless it was replaced or removed.
fn check_left(snapshot: &Snapshot<u64>, stored: &HashMap<u64, &Given>, race: &Race) {
    check_all(snapshot, race);
    let left = documents(snapshot);
    let mut names = HashSet::new();
    for (id, set) in &left {
        assert_eq!(*set, stored[id].set, "{race:?}");
        assert_eq!(snapshot.name(*id).unwrap(), Some(stored[id].name.as_bytes()));
        assert!(names.insert(&stored[id].name) || !race.replaces, "{} is stored twice", stored[id].name);
    }
    if !race.removes {
        // Of each name the last: ids ascend.
        let mut last: BTreeMap<&str, u64> = BTreeMap::new();
        stored.iter().for_each(|(&id, one)| {
            last.entry(&one.name).and_modify(|other| *other = id.max(*other)).or_insert(id);
        });
        let expected: HashSet<u64> = last.into_values().collect();
        assert_eq!(left.keys().copied().collect::<HashSet<u64>>(), expected, "{race:?}");
    }
}

#[test]
fn of_similar_documents_that_are_inserted_at_once_one_is_stored() {
    let (mut given, mut refused, mut races) = (0, 0, 0);
    for seed in seeds(0..8) {
        let mut chance = Chance(seed);
        let measures = [Measure::Resemblance, Measure::Resemblance, Measure::Containing, Measure::Contained];
        let measure = measures[chance.below(4) as usize];
        let condition = Condition::new(measure, 0.3 + chance.below(70) as f64 / 100.0).unwrap();
        let race = Race { condition, replaces: seed % 2 == 1, removes: seed % 4 >= 2 };
        let (of_race, refused_of_race) = run(race, seed);
        (given, refused, races) = (given + of_race, refused + refused_of_race, races + 1);
    }
    println!(
        "{races} races of {WRITERS} writers: {given} documents, {refused} of them refused, none wrongly"
    );
    assert!(refused > given / 4 && refused < given, "{refused} of {given}");
}
