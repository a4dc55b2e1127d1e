//! Helpers of the integration tests: data of all shapes, and brute force.
#![allow(
    dead_code,
    unreachable_pub,
    unused_imports,
    unused_macros,
    reason = "each test file uses a part of it"
)]

pub mod allocations;
pub mod ask;
pub mod file;
pub mod forge;

/// Makes a module for each distance that designs are made for, with these tests: what each does, given the
/// distance.
macro_rules! for_each_distance {
    (@ $module:ident $distance:literal $($test:ident: $check:expr;)*) => {
        mod $module {
            use super::*;

            $(#[test]
            fn $test() {
                let check: fn(u32) = $check;
                check($distance);
            })*
        }
    };
    ($($tests:tt)*) => {
        for_each_distance! { @ distance_0 0 $($tests)* }
        for_each_distance! { @ distance_1 1 $($tests)* }
        for_each_distance! { @ distance_2 2 $($tests)* }
        for_each_distance! { @ distance_3 3 $($tests)* }
        for_each_distance! { @ distance_4 4 $($tests)* }
        for_each_distance! { @ distance_5 5 $($tests)* }
        for_each_distance! { @ distance_6 6 $($tests)* }
        for_each_distance! { @ distance_7 7 $($tests)* }
        for_each_distance! { @ distance_8 8 $($tests)* }
    };
}
pub(crate) use for_each_distance;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex};

use hamdex::{
    BuildOptions, Builder, Cancellation, Design, Fingerprint, Index, Match, Place, Progress, ReadError,
    ReadErrorKind, Report,
};

/// SplitMix64: the same numbers everywhere.
pub struct Numbers(pub u64);

impl Numbers {
    pub fn word(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub fn below(&mut self, end: u64) -> u64 {
        self.word() % end
    }

    pub fn fingerprint<F: Fingerprint>(&mut self) -> F {
        F::truncate(u128::from(self.word()) << 64 | u128::from(self.word()))
    }

    /// `near` with up to `flips` bits flipped.
    pub fn near<F: Fingerprint>(&mut self, near: F, flips: u64) -> F {
        let flips = self.below(flips + 1);
        (0..flips).fold(near, |x, _| x ^ F::bit(self.below(u64::from(F::BITS)) as u32))
    }
}

/// The bytes of a file with a damaged block, number 3 of table 0, and the keys of that table.
pub fn with_a_damaged_block() -> (Vec<u8>, Vec<u64>) {
    let stored = data::<u64>(Shape::Uniform, 4000, 1);
    let design = Design::named("single", 1).unwrap();
    let mut bytes = built(&stored, BuildOptions::new().design(design).block_bytes(512));
    let position = file::block(&bytes, 0, 3).start + 100;
    bytes[position] ^= 1;
    let keys = file::Parts::read(&bytes).tables[0].keys.iter().map(|&key| key as u64).collect();
    (bytes, keys)
}

/// The progress reported so far.
#[derive(Clone, Default)]
pub struct Reports(Arc<Mutex<Vec<Progress>>>);

impl Reports {
    /// Returns a callback that records its arguments.
    pub fn keep(&self) -> impl Fn(Progress) + Send + Sync + use<> {
        let kept = Arc::clone(&self.0);
        move |progress| kept.lock().unwrap().push(progress)
    }

    /// Returns a report that records the progress, and cancels the work at the one with this number.
    pub fn stopping(&self, at: usize) -> Report {
        let (keep, count, cancellation) = (self.keep(), AtomicUsize::new(0), Cancellation::new());
        Report::new().cancellation(cancellation.clone()).progress(move |progress| {
            keep(progress);
            if count.fetch_add(1, Relaxed) >= at {
                cancellation.cancel();
            }
        })
    }

    pub fn all(&self) -> Vec<Progress> {
        self.0.lock().unwrap().clone()
    }
}

/// Returns whether an outcome is an error about damaged bytes.
pub fn is_damage<T>(outcome: &Result<T, ReadError>) -> bool {
    outcome.as_ref().is_err_and(|error| matches!(error.kind(), ReadErrorKind::Damaged { .. }))
}

/// Returns the place of the damage in an error.
pub fn damaged_at(error: &ReadError) -> Option<Place> {
    match error.kind() {
        ReadErrorKind::Damaged { place, .. } => Some(*place),
        _ => None,
    }
}

/// The shapes of data that an index must serve alike.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    Empty,
    One,
    Uniform,
    /// A few centres, each with many neighbours within a few bits.
    Clustered,
    /// Consecutive numbers, and numbers that differ in their last bits only.
    Runs,
    /// 0, the greatest number, powers of two, and repeats of all.
    Extreme,
    /// Something of each.
    Mixed,
}

pub const SHAPES: [Shape; 7] =
    [Shape::Empty, Shape::One, Shape::Uniform, Shape::Clustered, Shape::Runs, Shape::Extreme, Shape::Mixed];

/// About `count` fingerprints of a shape, in no order, with repeats.
pub fn data<F: Fingerprint>(shape: Shape, count: usize, seed: u64) -> Vec<F> {
    let mut numbers = Numbers(seed);
    match shape {
        Shape::Empty => Vec::new(),
        Shape::One => vec![numbers.fingerprint()],
        Shape::Uniform => (0..count).map(|_| numbers.fingerprint()).collect(),
        Shape::Clustered => {
            let centres: Vec<F> = (0..5).map(|_| numbers.fingerprint()).collect();
            (0..count)
                .map(|_| {
                    let centre = centres[numbers.below(5) as usize];
                    numbers.near(centre, 6)
                })
                .collect()
        }
        Shape::Runs => {
            let start: F = numbers.fingerprint();
            let high = start & F::prefix_mask(F::BITS - 20);
            (0..count as u128)
                .map(|i| if i % 3 == 0 { F::truncate(i) } else { high | F::truncate(i * 5 % (1 << 18)) })
                .collect()
        }
        Shape::Extreme => {
            let mut all = vec![F::ZERO, F::ONES, F::ZERO, F::ONES];
            all.extend((0..F::BITS).map(F::bit));
            all.extend((0..=F::BITS).map(F::prefix_mask));
            all
        }
        Shape::Mixed => [Shape::Uniform, Shape::Clustered, Shape::Runs, Shape::Extreme]
            .into_iter()
            .flat_map(|shape| data(shape, count / 4, seed))
            .collect(),
    }
}

/// Queries near the data and far from it.
pub fn queries<F: Fingerprint>(data: &[F], count: usize, seed: u64) -> Vec<F> {
    let mut numbers = Numbers(seed ^ 0xabcd);
    let mut queries = vec![F::ZERO, F::ONES];
    for _ in 0..count {
        queries.push(numbers.fingerprint());
        if !data.is_empty() {
            let stored = data[numbers.below(data.len() as u64) as usize];
            queries.push(stored);
            queries.push(numbers.near(stored, 5));
        }
    }
    queries
}

/// The truth.
pub fn brute_force<F: Fingerprint>(data: &[F], query: F, distance: u32) -> Vec<(u32, F)> {
    let mut all: Vec<(u32, F)> =
        data.iter().map(|&x| (x.distance(query), x)).filter(|&(d, _)| d <= distance).collect();
    all.sort_unstable();
    all.dedup();
    all
}

pub fn pairs<F: Fingerprint>(matches: &[Match<F>]) -> Vec<(u32, F)> {
    matches.iter().map(|m| (m.distance, m.fingerprint)).collect()
}

/// A directory that goes when the test does, and a file name in it.
pub struct Scratch {
    pub directory: tempfile::TempDir,
}

impl Scratch {
    pub fn new() -> Self {
        Self { directory: tempfile::tempdir().unwrap() }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }
}

/// The bytes of an index over these fingerprints.
pub fn built<F: Fingerprint>(data: &[F], options: BuildOptions<F>) -> Vec<u8> {
    let scratch = Scratch::new();
    let path = scratch.path("index.hamdex");
    let mut builder = Builder::with_options(&path, options).unwrap();
    data.iter().try_for_each(|&x| builder.push(x)).unwrap();
    builder.finish().unwrap();
    std::fs::read(path).unwrap()
}

/// The bytes of an index over these fingerprints and ids.
pub fn built_with_ids<F: Fingerprint>(data: &[(F, u64)], options: BuildOptions<F>) -> Vec<u8> {
    let scratch = Scratch::new();
    let path = scratch.path("index.hamdex");
    let mut builder = Builder::with_options(&path, options.ids(true)).unwrap();
    data.iter().try_for_each(|&(x, id)| builder.push_with_id(x, id)).unwrap();
    builder.finish().unwrap();
    std::fs::read(path).unwrap()
}

/// The bytes of an index over these fingerprints and ids, whose names are these.
pub fn built_with_names<F: Fingerprint>(
    data: &[(F, u64)],
    names: &BTreeMap<u64, Vec<u8>>,
    options: BuildOptions<F>,
) -> Vec<u8> {
    let mut builder = Builder::in_memory(options.names(true)).unwrap();
    data.iter().try_for_each(|&(x, id)| builder.push_with_id(x, id)).unwrap();
    names.iter().try_for_each(|(&id, name)| builder.push_name(id, name)).unwrap();
    builder.into_inner().unwrap().0
}

pub fn index<F: Fingerprint>(bytes: Vec<u8>) -> Index<F> {
    Index::from_bytes(bytes).unwrap()
}

/// The ids of each fingerprint, ascending, each once.
pub fn id_lists<F: Fingerprint>(data: &[(F, u64)]) -> BTreeMap<F, Vec<u64>> {
    let mut lists: BTreeMap<F, Vec<u64>> = BTreeMap::new();
    for &(fingerprint, id) in data {
        lists.entry(fingerprint).or_default().push(id);
    }
    for list in lists.values_mut() {
        list.sort_unstable();
        list.dedup();
    }
    lists
}
