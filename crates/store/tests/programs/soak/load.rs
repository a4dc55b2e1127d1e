//! The load: each step follows from its number.

#[path = "../../store/chance.rs"]
mod chance;

use std::collections::BTreeSet;

use hamdex_store::Operation;

pub(crate) use chance::Chance;

/// Number of clusters of fingerprints, and of ids per fingerprint.
const CROWDS: u64 = 400;
const IDS: u64 = 3;

/// A step.
pub(crate) enum Step {
    Write(Vec<Operation<u64>>),
    UnlessNear(Vec<(u64, u64)>, u32),
    Forget(Vec<u64>),
    Flush,
    Compact,
}

/// One of some hundred thousand fingerprints: near to the centre of a crowd, and of a few crowds more often.
pub(crate) fn fingerprint(seed: u64, chance: &mut Chance) -> u64 {
    let crowds = 1 + chance.below(CROWDS);
    let crowd = chance.below(crowds);
    let centre = match crowd {
        0 => 0,
        1 => u64::MAX,
        _ => Chance(seed ^ crowd << 32).next(),
    };
    (0..chance.below(4)).fold(centre, |value, _| value ^ 1 << (chance.below(11) * 6))
}

/// The step of a number.
pub(crate) fn step(seed: u64, number: u64) -> Step {
    let mut chance = Chance(seed.wrapping_mul(0x9e37_79b9) ^ number);
    let count = 1 + if chance.below(10) == 0 { chance.below(5000) } else { chance.below(60) };
    let pair = |chance: &mut Chance| (fingerprint(seed, chance), chance.below(IDS));
    match chance.below(200) {
        0 => Step::Compact,
        1..4 => Step::Flush,
        4..24 => Step::Forget((0..count).map(|_| fingerprint(seed, &mut chance)).collect()),
        24..64 => {
            let count = 1 + chance.below(30);
            Step::UnlessNear((0..count).map(|_| pair(&mut chance)).collect(), chance.below(4) as u32)
        }
        kind => {
            let operation = |_| {
                let (fingerprint, id) = pair(&mut chance);
                // As much goes as comes, by and by.
                let is_removal = chance.below(200) < kind;
                if is_removal {
                    Operation::Remove(fingerprint, id)
                } else {
                    Operation::Insert(fingerprint, id)
                }
            };
            Step::Write((0..count).map(operation).collect())
        }
    }
}

/// Applies a step to a plain set.
pub(crate) fn apply(model: &mut BTreeSet<(u64, u64)>, step: Step) {
    match step {
        Step::Write(operations) => {
            for operation in operations {
                match operation {
                    Operation::Insert(fingerprint, id) => drop(model.insert((fingerprint, id))),
                    Operation::Remove(fingerprint, id) => drop(model.remove(&(fingerprint, id))),
                }
            }
        }
        Step::UnlessNear(pairs, distance) => {
            for pair in pairs {
                if !model.iter().any(|other| (other.0 ^ pair.0).count_ones() <= distance) {
                    model.insert(pair);
                }
            }
        }
        Step::Forget(fingerprints) => {
            let gone: BTreeSet<u64> = fingerprints.into_iter().collect();
            model.retain(|pair| !gone.contains(&pair.0));
        }
        Step::Flush | Step::Compact => {}
    }
}
