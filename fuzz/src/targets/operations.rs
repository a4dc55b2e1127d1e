//! Operations on a store by chance, with power lost at any moment: the set is that of a plain one, and what was
//! acknowledged is there.

use arbitrary::Unstructured;
use hamdex_simulated_disk::{SimulatedDisk, Survival};
use hamdex_store::{Operation, Store, StoreOptions, When};

use crate::choose::{below, flag, one_of};

/// The model of the store's tests.
#[path = "../../../crates/store/tests/store/common.rs"]
#[allow(dead_code, unreachable_pub, reason = "a part of it is used here")]
pub(crate) mod model;

use model::{Chance, Model, assert_same, shape, tiny};

fn options() -> StoreOptions {
    tiny().merges(false)
}

/// Does what the input says.
pub fn run(input: &[u8]) {
    let mut bytes = Unstructured::new(input);
    let has_ids = flag(&mut bytes);
    let mut disk = SimulatedDisk::new();
    let mut store = Store::<u64>::create_on(disk.clone(), &shape(has_ids), options()).expect("a new disk");
    let mut model = Model::<u64>::default();
    let mut chance = Chance(bytes.arbitrary().unwrap_or(0));
    for _ in 0..24 {
        if bytes.is_empty() {
            break;
        }
        let before = model.clone();
        // Power may go within the next changes of the disk.
        if below(&mut bytes, 6) == 0 {
            disk.lose_power_after(disk.changes() + below(&mut bytes, 12) as u64);
        }
        let is_done = step(&mut bytes, &mut chance, &store, &mut model, has_ids).is_some();
        let mut opened = None;
        if is_done && !disk.has_lost_power() {
            if below(&mut bytes, 6) > 0 {
                opened = Some(store);
            } else {
                // Power may go while it is closed or opened, too.
                drop(store);
                opened = Store::open_on(disk.clone(), options()).ok();
                assert!(opened.is_some() || disk.has_lost_power(), "a store that was closed");
            }
        }
        store = opened.unwrap_or_else(|| {
            let seed = bytes.arbitrary().unwrap_or(0);
            let kinds = [
                Survival::Nothing,
                Survival::Everything,
                Survival::Names,
                Survival::Bytes,
                Survival::Any(seed),
            ];
            disk = disk.crashed(one_of(&mut bytes, &kinds));
            let store = Store::open_on(disk.clone(), options()).expect("what a crash has left");
            let found = store.snapshot().pairs_in_order().collect::<Result<_, _>>();
            // The last step has happened or not.
            let found = Model(found.expect("what a crash has left"));
            assert!(found == model || found == before, "neither before nor after");
            model = found;
            store
        });
        let queries: Vec<u64> = (0..3).map(|_| chance.fingerprint()).collect();
        assert_same(&store.snapshot(), &model, &queries, has_ids);
    }
}

/// One step; `None` if the disk refused it. The model is as if it had happened.
fn step(
    bytes: &mut Unstructured<'_>,
    chance: &mut Chance,
    store: &Store<u64>,
    model: &mut Model<u64>,
    has_ids: bool,
) -> Option<()> {
    let id = |bytes: &mut Unstructured<'_>| if has_ids { below(bytes, 5) as u64 } else { 0 };
    match below(bytes, 8) {
        0..=2 => {
            let operations = chance.operations(1 + below(bytes, 200) as u64, has_ids);
            model.apply(&operations);
            store.write(operations).ok().map(drop)
        }
        3 => {
            let operation = Operation::Remove(chance.fingerprint(), id(bytes));
            let was_there = model.0.remove(&operation.pair());
            let removed = store.remove(operation.pair().0, operation.pair().1).ok()?;
            assert_eq!(removed, was_there);
            Some(())
        }
        4 => {
            let fingerprint = chance.fingerprint();
            let ids = model.ids(fingerprint);
            model.0.retain(|pair| pair.0 != fingerprint);
            assert_eq!(store.remove_fingerprint(fingerprint).ok()?, ids.len() as u64);
            Some(())
        }
        5 => {
            let pairs: Vec<(u64, u64)> =
                (0..1 + below(bytes, 12)).map(|_| (chance.fingerprint(), id(bytes))).collect();
            let distance = below(bytes, 4) as u32;
            let expected: Vec<Option<(u32, u64)>> = pairs
                .iter()
                .map(|&pair| {
                    let near = model.within(pair.0, distance).first().copied();
                    if near.is_none() {
                        model.0.insert(pair);
                    }
                    near
                })
                .collect();
            let outcomes = store.put(&pairs, When::unless_near(distance)).ok()?.outcomes;
            let found: Vec<_> =
                outcomes.iter().map(|o| o.near().map(|near| (near.distance, near.fingerprint))).collect();
            assert_eq!(found, expected);
            Some(())
        }
        6 => store.flush().ok(),
        _ => store.compact().ok(),
    }
}

/// Choices by chance.
#[must_use]
pub fn seeds() -> Vec<Vec<u8>> {
    super::choices(12, 120)
}
