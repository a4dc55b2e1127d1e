//! Names of ids, and shingles of documents: durable, merged and removed with their pairs.

use std::collections::{BTreeMap, HashSet};

use hamdex::{FingerprintSet, VerifyOptions};
use hamdex_simulated_disk::{SimulatedDisk, Survival};
use hamdex_store::{
    CreateOptions, Durability, Error, Operation, Put, Record, Snapshot, Store, StoreOptions, StoreReader,
    When,
};

use crate::common::{Chance, seeds, shape, step, tiny};

/// Fingerprint and name of each id.
type Named = BTreeMap<u64, (u64, Vec<u8>)>;

pub(super) fn named_shape() -> CreateOptions {
    shape(true).names(true)
}

/// A name: short, empty, long, not text; now and then the same for several.
pub(super) fn name(chance: &mut Chance) -> Vec<u8> {
    match chance.below(8) {
        0 => Vec::new(),
        1 => vec![0xff; chance.below(3000) as usize],
        2 => b"the same".to_vec(),
        _ => format!("https://example.org/{}", chance.next()).into_bytes(),
    }
}

pub(super) fn batch(chance: &mut Chance) -> Vec<(u64, Vec<u8>)> {
    (0..1 + chance.below(60)).map(|_| (chance.fingerprint(), name(chance))).collect()
}

fn found(snapshot: &Snapshot<u64>) -> Named {
    let pairs = snapshot.pairs_in_order().map(Result::unwrap);
    let named = |(fingerprint, id)| {
        let name = snapshot.name(id).unwrap().unwrap_or_else(|| panic!("id {id} has no name"));
        (id, (fingerprint, name.to_vec()))
    };
    let named: Named = pairs.map(named).collect();
    if snapshot.describe().has_shingles {
        let mut sets = BTreeMap::new();
        for part in snapshot.shingle_parts(1 << 12).unwrap().unwrap() {
            let flow = snapshot.visit_shingles(&part, &|| Ok(()), &mut |id, set| {
                assert_eq!(sets.insert(id.id, set.to_vec()), None, "id {} twice", id.id);
                Ok(())
            });
            flow.unwrap();
        }
        let expected = named.iter().map(|(id, (_, name))| (*id, shingles_of(name)));
        assert_eq!(sets, expected.collect());
    }
    named
}

/// The shingles of the document of a name.
fn shingles_of(name: &[u8]) -> Vec<u64> {
    let hash =
        |run: &[u8]| run.iter().fold(7, |hash: u64, byte| hash.wrapping_mul(0x9e37_79b1) + u64::from(*byte));
    let mut set: Vec<u64> = name.windows(5).map(|run| hash(run) % (1 << hamdex::shingles::BITS)).collect();
    set.sort_unstable();
    set.dedup();
    set
}

/// Puts named fingerprints, with shingles if the store has them.
fn put(store: &Store<u64>, named: &[(u64, Vec<u8>)], when: When) -> Result<Put<u64>, Error> {
    if !store.snapshot().describe().has_shingles {
        return store.put(named, when);
    }
    let sets: Vec<Vec<u64>> = named.iter().map(|(_, name)| shingles_of(name)).collect();
    let documents = named.iter().zip(&sets);
    store.put(documents.map(|((value, name), set)| Record::document(*value, name, set)), when)
}

/// The history of a store until power was lost: see `crash`.
struct Done {
    states: Vec<Named>,
    least: usize,
}

/// Changes a store in one of several ways. Returns whether the change was acknowledged; the model has it in any case.
fn change(store: &Store<u64>, chance: &mut Chance, done: &mut Done) -> bool {
    let mut next = done.states.last().unwrap().clone();
    let last = next.last_key_value().map(|(id, _)| *id);
    match chance.below(6) {
        0 if !next.is_empty() => {
            let (&id, &(fingerprint, _)) = next.iter().nth(chance.below(next.len() as u64) as usize).unwrap();
            next.remove(&id);
            done.states.push(next);
            store.write(vec![Operation::Remove(fingerprint, id)]).is_ok()
        }
        1 => {
            let names = HashSet::from([b"the same".to_vec(), b"of nobody".to_vec()]);
            let before = next.len();
            next.retain(|_, (_, name)| name != b"the same");
            let removed = before - next.len();
            done.states.push(next);
            store.remove_names(&names).is_ok_and(|count| count == removed as u64)
        }
        2 => {
            let named = batch(chance);
            let Ok(Put { outcomes, .. }) = put(store, &named, When::unless_near(1)) else {
                // Its insertions are not known here; the next state of the model is the same, or more.
                return false;
            };
            let given: Vec<u64> = outcomes.iter().filter_map(hamdex_store::Inserted::id).collect();
            let inserted = named.into_iter().zip(&outcomes).filter(|(_, outcome)| outcome.is_new());
            let snapshot = store.snapshot();
            let ids = snapshot.pairs_in_order().map(|pair| pair.unwrap().1);
            let mut ids: Vec<u64> = ids.filter(|id| last.is_none_or(|last| *id > last)).collect();
            ids.sort_unstable();
            assert_eq!(ids, given);
            let inserted: Vec<_> = inserted.map(|(pair, _)| pair).collect();
            assert_eq!(ids.len(), inserted.len());
            next.extend(ids.into_iter().zip(inserted));
            done.states.push(next);
            true
        }
        _ => {
            let named = batch(chance);
            let first = store.snapshot().pairs_in_order().map(|pair| pair.unwrap().1 + 1).max().unwrap_or(0);
            match put(store, &named, When::always()) {
                Ok(put) => {
                    let ids: Vec<u64> = put.ids().collect();
                    assert!(ids.iter().copied().eq((ids[0]..).take(named.len())) && ids[0] >= first);
                    next.extend(ids.into_iter().zip(named));
                    done.states.push(next);
                    true
                }
                Err(_) => {
                    // Ids that were given and whose pairs have gone are not given again, so what comes next is not
                    // known here; what is found has these pairs all the same, or none of them.
                    next.extend((1 << 40..).zip(named));
                    done.states.push(next);
                    false
                }
            }
        }
    }
}

fn work(disk: &SimulatedDisk, seed: u64, options: StoreOptions) -> Option<Done> {
    let mut chance = Chance(seed);
    let mut done = Done { states: vec![Named::default()], least: 0 };
    // Every other seed is of a store with shingles.
    let shape = if seed % 2 == 1 { named_shape().shingles("runs of 5 bytes") } else { named_shape() };
    let mut store = Store::<u64>::create_on(disk.clone(), &shape, options).ok()?;
    let is_sync = options == tiny().merges(false);
    for _ in 0..22 {
        let is_done = match chance.below(8) {
            0..=4 => {
                let is_done = change(&store, &mut chance, &mut done);
                if is_done && is_sync {
                    done.least = done.states.len() - 1;
                }
                is_done
            }
            5 => store.flush().is_ok() && settled(&mut done),
            6 => store.compact().is_ok() && settled(&mut done),
            _ => {
                drop(store);
                match Store::open_on(disk.clone(), options) {
                    Ok(opened) => store = opened,
                    Err(_) => return Some(done),
                }
                true
            }
        };
        if !is_done {
            return Some(done);
        }
        if done.least + 1 == done.states.len() || is_sync {
            assert_eq!(found(&store.snapshot()), *done.states.last().unwrap());
        }
    }
    Some(done)
}

fn settled(done: &mut Done) -> bool {
    done.least = done.states.len() - 1;
    true
}

/// Drops the ids, which are unknown after a batch of unknown outcome.
fn values(named: &Named) -> Vec<&(u64, Vec<u8>)> {
    let mut values: Vec<_> = named.values().collect();
    values.sort_unstable();
    values
}

fn check(disk: &SimulatedDisk, done: &Done, what: &str) {
    let store = Store::<u64>::open_on(disk.clone(), tiny().merges(false))
        .unwrap_or_else(|error| panic!("{what}: {error}\n{:#?}", disk.trace()));
    let is = found(&store.snapshot());
    let allowed = &done.states[done.least..];
    let is_allowed = |state: &&Named| values(state) == values(&is);
    let newest_is_unknown = allowed.iter().find(is_allowed).is_none();
    // An insert unless something is near that was under way: all that was there, and perhaps more.
    let known = allowed.last().unwrap();
    let is_more = known.iter().all(|(id, named)| is.get(id) == Some(named));
    assert!(!newest_is_unknown || is_more, "{what}: none of the {} allowed states", allowed.len());
    store.verify(&VerifyOptions::new().threads(1)).unwrap();
    // It goes on, and gives no id twice.
    let added = put(&store, &[(42, b"one more".to_vec())], When::always()).unwrap();
    let id = added.ids().next().unwrap();
    assert!(is.keys().all(|other| *other < id), "{what}");
    store.compact().unwrap();
    let mut expected = is;
    expected.insert(id, (42, b"one more".to_vec()));
    assert_eq!(found(&store.snapshot()), expected, "{what}");
    store.verify(&VerifyOptions::new().threads(1)).unwrap();
}

fn crash_everywhere(seed: u64, options: StoreOptions) {
    let whole = SimulatedDisk::new();
    work(&whole, seed, options).unwrap();
    let changes = whole.changes();
    let mut chance = Chance(seed ^ 0xabcd);
    for last in (0..changes).step_by(step(3)) {
        let disk = SimulatedDisk::new();
        disk.lose_power_after(last);
        let Some(done) = work(&disk, seed, options) else { continue };
        let any = Survival::Any(chance.next());
        for survival in [Survival::Nothing, Survival::Everything, Survival::Names, Survival::Bytes, any] {
            let what = format!("seed {seed}, power lost after {last} of {changes}, {survival:?} survives");
            check(&disk.crashed(survival), &done, &what);
        }
    }
}

#[test]
fn a_crash_after_any_change_loses_no_name_that_was_acknowledged() {
    seeds(0..2).for_each(|seed| crash_everywhere(seed, tiny().merges(false)));
}

#[test]
fn without_syncs_a_crash_loses_only_the_latest_names() {
    let options = tiny().merges(false).durability(Durability::None);
    seeds(10_000..10_001).for_each(|seed| crash_everywhere(seed, options));
}

#[test]
fn names_agree_with_the_model_through_flushes_merges_and_openings() {
    for seed in seeds(100_000..100_030) {
        work(&SimulatedDisk::new(), seed, tiny().merges(false)).unwrap();
    }
}

#[test]
fn a_reader_sees_names_and_old_snapshots_keep_theirs() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("named.store");
    let store = Store::<u64>::create(&path, &named_shape(), tiny().merges(false)).unwrap();
    store.put([(1, "one"), (2, "two")], When::always()).unwrap();
    let mut reader = StoreReader::<u64>::open(&path).unwrap();
    let old = store.snapshot();
    store.flush().unwrap();
    store.put([(3, "three")], When::always()).unwrap();
    assert_eq!(store.remove_names(&HashSet::from([b"one".to_vec()])).unwrap(), 1);
    store.compact().unwrap();
    assert_eq!(reader.snapshot().name(1).unwrap(), Some(&b"two"[..]));
    reader.refresh().unwrap();
    for snapshot in [store.snapshot(), reader.snapshot()] {
        let names = [0, 1, 2, 3].map(|id| snapshot.name(id).unwrap().map(<[u8]>::to_vec));
        assert_eq!(names, [None, Some(b"two".to_vec()), Some(b"three".to_vec()), None]);
    }
    assert_eq!(old.name(0).unwrap(), Some(&b"one"[..]));
}

#[test]
fn purged_names_are_in_no_file() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("named.store");
    let store = Store::<u64>::create(&path, &named_shape(), tiny().merges(false)).unwrap();
    store
        .put([(1, "https://example.org/forgotten"), (2, "https://example.org/kept")], When::always())
        .unwrap();
    store.flush().unwrap();
    store.put([(3, "https://example.org/forgotten")], When::always()).unwrap();
    assert_eq!(store.remove_names(&HashSet::from([b"https://example.org/forgotten".to_vec()])).unwrap(), 2);
    store.purge().unwrap();
    let mut kept = 0;
    for file in walk(&path) {
        let bytes = std::fs::read(&file).unwrap();
        let has = |name: &[u8]| bytes.windows(name.len()).any(|part| part == name);
        assert!(!has(b"/forgotten"), "{}", file.display());
        kept += usize::from(has(b"/kept"));
    }
    assert_eq!(kept, 1);
}

fn walk(directory: &std::path::Path) -> Vec<std::path::PathBuf> {
    let entries = std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { walk(&path) } else { vec![path] }).collect()
}

#[test]
fn names_where_there_are_none_and_their_lack_are_refused() {
    let open = |create: &CreateOptions| {
        Store::<u64>::create_on(SimulatedDisk::new(), create, tiny().merges(false)).unwrap()
    };
    let (named, plain) = (open(&named_shape()), open(&shape(true)));
    assert!(matches!(named.insert(1, 1), Err(Error::Names { has_names: true, .. })));
    assert!(matches!(named.insert_unless_near(1, 1, 3), Err(Error::Names { has_names: true, .. })));
    assert!(matches!(plain.put([(1, "a")], When::always()), Err(Error::Names { has_names: false, .. })));
    assert!(matches!(plain.put([(1, "a")], When::unless_near(3)), Err(Error::Names { .. })));
    assert!(matches!(plain.remove_names(&HashSet::new()), Err(Error::Names { .. })));
    assert!(!named.remove(7, 7).unwrap());
    assert_eq!(plain.snapshot().name(0).unwrap(), None);
    let shingled = open(&named_shape().shingles("some"));
    assert!(matches!(
        shingled.put([(1, "a")], When::always()),
        Err(Error::Shingles { has_shingles: true, .. })
    ));
    assert!(matches!(
        named.put([Record::document(1, "a", &[])], When::always()),
        Err(Error::Shingles { has_shingles: false, .. })
    ));
    let records = [Record::document(1, "a", &[1]), Record::document(2, "b", &[2, 2])];
    let wrong = shingled.put(records, When::always());
    assert!(matches!(wrong, Err(Error::InvalidShingles { document: 1 })), "{wrong:?}");
    assert_eq!(found(&shingled.snapshot()), Named::new());
}
