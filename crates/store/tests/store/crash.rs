//! Power loss after every change of the disk.

use hamdex_simulated_disk::{SimulatedDisk, Survival};
use hamdex_store::{Durability, Operation, Store, StoreOptions};

use crate::common::{Chance, Model, assert_same, seeds, shape, step, tiny};

/// The history of a store until power was lost.
struct Done {
    /// The set after each acknowledged batch, and after the unfinished one, if any.
    states: Vec<Model<u64>>,
    /// The index of the first of these sets that may be found, since it was durable.
    least: usize,
}

/// Works on a store until an operation fails.
fn work(disk: &SimulatedDisk, seed: u64, options: StoreOptions) -> Option<Done> {
    let mut chance = Chance(seed);
    let mut done = Done { states: vec![Model::default()], least: 0 };
    let mut store = Store::<u64>::create_on(disk.clone(), &shape(true), options).ok()?;
    let is_sync = options == tiny().merges(false);
    for _ in 0..24 {
        let mut next = done.states.last().unwrap().clone();
        match chance.below(8) {
            0..=4 => {
                let count = 1 + chance.below(300);
                let operations = chance.operations(count, true);
                next.apply(&operations);
                done.states.push(next);
                if store.write(operations).is_err() {
                    return Some(done);
                }
                if is_sync {
                    done.least = done.states.len() - 1;
                }
            }
            5 => {
                if store.flush().is_err() {
                    return Some(done);
                }
                done.least = done.states.len() - 1;
            }
            6 => {
                if store.compact().is_err() {
                    return Some(done);
                }
                done.least = done.states.len() - 1;
            }
            _ => {
                drop(store);
                match Store::open_on(disk.clone(), options) {
                    Ok(opened) => store = opened,
                    Err(_) => return Some(done),
                }
            }
        }
    }
    Some(done)
}

/// Opens a store after a crash, and compares it.
fn check(disk: &SimulatedDisk, done: &Done, chance: &mut Chance, what: &str) {
    let store = Store::<u64>::open_on(disk.clone(), tiny().merges(false))
        .unwrap_or_else(|error| panic!("{what}: {error}\n{:#?}", disk.trace()));
    let found: Model<u64> = Model(store.snapshot().pairs_in_order().collect::<Result<_, _>>().unwrap());
    let allowed = &done.states[done.least..];
    let model = allowed.iter().find(|state| **state == found);
    let model = model.unwrap_or_else(|| panic!("{what}: none of the {} allowed states", allowed.len()));
    let queries: Vec<u64> = (0..2).map(|_| chance.fingerprint()).collect();
    assert_same(&store.snapshot(), model, &queries, true);
    // It goes on.
    store.write(vec![Operation::Insert(42, 42)]).unwrap();
    store.compact().unwrap();
    assert!(store.snapshot().contains(42).unwrap());
}

fn crash_everywhere(seed: u64, options: StoreOptions) -> usize {
    let mut crashes = 0;
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
            check(&disk.crashed(survival), &done, &mut chance, &what);
            crashes += 1;
        }
    }
    crashes
}

#[test]
fn a_crash_after_any_change_loses_nothing_that_was_acknowledged() {
    let crashes: usize = seeds(0..2).map(|seed| crash_everywhere(seed, tiny().merges(false))).sum();
    println!("{crashes} crashes, nothing lost that was acknowledged");
}

#[test]
fn without_syncs_a_crash_loses_only_the_latest_batches() {
    let options = tiny().merges(false).durability(Durability::None);
    let crashes: usize = seeds(10_000..10_002).map(|seed| crash_everywhere(seed, options)).sum();
    println!("{crashes} crashes without syncs, only the latest batches lost");
}
