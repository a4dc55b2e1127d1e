//! Crowded data: all of one name, one fingerprint, one prefix or one cluster, with all that a store can do to them,
//! against a plain model.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use hamdex::{FingerprintSet, VerifyOptions};
use hamdex_simulated_disk::SimulatedDisk;
use hamdex_store::{
    Durability, Inserted, Operation, ReadOptions, Record, Snapshot, Store, StoreOptions, StoreReader, When,
};

use crate::common::{Chance, holds, seeds, shape, tiny};

/// How the records are crowded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Crowd {
    Name,
    Fingerprint,
    Prefix,
    Cluster,
}

pub(crate) const CROWDS: [Crowd; 4] = [Crowd::Name, Crowd::Fingerprint, Crowd::Prefix, Crowd::Cluster];

/// The parts of a record other than its fingerprint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Plain,
    Ids,
    Names,
    Documents,
}

impl Crowd {
    /// Returns one of its fingerprints; `number` tells them apart as far as they differ.
    pub(crate) fn fingerprint(self, number: u64) -> u64 {
        let random = Chance(number).next();
        match self {
            Self::Name => random,
            Self::Fingerprint => 0x0123_4567_89ab_cdef,
            Self::Prefix => random >> 32 | 0xfedc_ba98 << 32,
            Self::Cluster => {
                (0..8).fold(0x0123_4567_89ab_cdef, |value, at| value ^ 1 << (random >> (6 * at) & 63))
            }
        }
    }

    /// Returns one of its names.
    pub(crate) fn name(self, number: u64) -> Vec<u8> {
        match self {
            Self::Name => b"https://example.org/404".to_vec(),
            Self::Prefix => format!("https://example.org/{}{number}", "a/".repeat(50)).into_bytes(),
            Self::Fingerprint | Self::Cluster => number.to_string().into_bytes(),
        }
    }

    /// Returns the fingerprint of a record: of the crowd, as a rule.
    fn any_fingerprint(self, chance: &mut Chance) -> u64 {
        let number = chance.below(500);
        if chance.below(16) == 0 { Chance(number).next() } else { self.fingerprint(number) }
    }

    fn any_name(self, chance: &mut Chance) -> Vec<u8> {
        let number = chance.below(300);
        if chance.below(16) == 0 { vec![0xff, number as u8] } else { self.name(number) }
    }
}

/// A record of a store with names, and its shingles.
type Row = (u64, Vec<u8>, Vec<u64>);

/// A plain set of pairs, with the name of each id.
#[derive(Debug, Clone, Default)]
struct Plain {
    pairs: BTreeSet<(u64, u64)>,
    names: BTreeMap<u64, Vec<u8>>,
    next_id: u64,
}

impl Plain {
    fn ids(&self, fingerprint: u64) -> Vec<u64> {
        self.pairs.range((fingerprint, 0)..=(fingerprint, u64::MAX)).map(|pair| pair.1).collect()
    }

    fn insert_named(&mut self, (fingerprint, name, _): &Row) -> u64 {
        let id = self.next_id;
        self.next_id += 1;
        self.pairs.insert((*fingerprint, id));
        self.names.insert(id, name.clone());
        id
    }

    /// Removes the pairs that `is_gone` is true of. Returns their number.
    fn remove(&mut self, is_gone: impl Fn(&Self, &(u64, u64)) -> bool) -> u64 {
        let gone: Vec<(u64, u64)> = self.pairs.iter().filter(|pair| is_gone(self, pair)).copied().collect();
        gone.iter().for_each(|pair| {
            self.pairs.remove(pair);
        });
        gone.len() as u64
    }

    fn remove_names(&mut self, names: &HashSet<Vec<u8>>) -> u64 {
        self.remove(|model, pair| model.names.get(&pair.1).is_some_and(|name| names.contains(name)))
    }

    fn nearest(&self, query: u64, distance: u32) -> Option<(u32, u64)> {
        let near = self.pairs.iter().map(|pair| ((pair.0 ^ query).count_ones(), pair.0));
        near.filter(|found| found.0 <= distance).min()
    }

    fn within(&self, query: u64, distance: u32) -> Vec<(u32, u64)> {
        let near = self.pairs.iter().map(|pair| ((pair.0 ^ query).count_ones(), pair.0));
        let mut found: Vec<(u32, u64)> = near.filter(|found| found.0 <= distance).collect();
        found.sort_unstable();
        found.dedup();
        found
    }
}

/// The shingles of the document of a name.
fn shingles_of(name: &[u8]) -> Vec<u64> {
    let mut set: Vec<u64> = name.iter().map(|&byte| u64::from(byte)).collect();
    set.sort_unstable();
    set.dedup();
    set
}

struct History {
    crowd: Crowd,
    kind: Kind,
    has_lookups: bool,
    options: StoreOptions,
    disk: SimulatedDisk,
    store: Store<u64>,
    reader: StoreReader<u64>,
    model: Plain,
    chance: Chance,
}

impl History {
    fn new(crowd: Crowd, kind: Kind, has_lookups: bool, seed: u64) -> Self {
        let has_names = matches!(kind, Kind::Names | Kind::Documents);
        let mut create = shape(kind != Kind::Plain).names(has_names).lookups(has_lookups);
        if kind == Kind::Documents {
            create = create.shingles("bytes");
        }
        // Little memory, so that flushes and merges are frequent; or much, so that all stays in memory.
        let options = if seed.is_multiple_of(2) { tiny() } else { tiny().memory(1 << 26) };
        let options = options.durability(Durability::None);
        let disk = SimulatedDisk::new();
        let store = Store::create_on(disk.clone(), &create, options).unwrap();
        let reader = StoreReader::open_on(disk.clone(), ReadOptions::new()).unwrap();
        let (model, chance) = (Plain::default(), Chance(seed));
        Self { crowd, kind, has_lookups, options, disk, store, reader, model, chance }
    }

    fn count(&mut self) -> u64 {
        let most = [1, 20, 400][self.chance.below(3) as usize];
        1 + self.chance.below(most)
    }

    fn records(&mut self) -> Vec<Row> {
        let record = |chance: &mut Chance| {
            let name = self.crowd.any_name(chance);
            let set = if self.kind == Kind::Documents { shingles_of(&name) } else { Vec::new() };
            (self.crowd.any_fingerprint(chance), name, set)
        };
        let most = [1, 20, 400][self.chance.below(3) as usize];
        let count = 1 + self.chance.below(most);
        (0..count).map(|_| record(&mut self.chance)).collect()
    }

    fn pairs(&mut self) -> Vec<(u64, u64)> {
        let count = self.count();
        let id = |chance: &mut Chance| if self.kind == Kind::Ids { chance.below(2000) } else { 0 };
        (0..count).map(|_| (self.crowd.any_fingerprint(&mut self.chance), id(&mut self.chance))).collect()
    }

    fn has_names(&self) -> bool {
        matches!(self.kind, Kind::Names | Kind::Documents)
    }

    fn step(&mut self) {
        match self.chance.below(16) {
            0..=3 => self.insert(),
            4 | 5 if self.has_lookups => self.replace(),
            6 | 7 => self.insert_unless_near(),
            8 => self.remove_fingerprints(),
            9 => self.remove_pairs(),
            10 if self.kind == Kind::Ids || self.has_names() => self.remove_ids(),
            11 if self.has_names() => {
                let names: HashSet<Vec<u8>> =
                    (0..self.chance.below(20)).map(|_| self.crowd.any_name(&mut self.chance)).collect();
                assert_eq!(self.store.remove_names(&names).unwrap(), self.model.remove_names(&names));
            }
            12 => self.store.flush().unwrap(),
            13 => self.store.compact().unwrap(),
            14 => {
                self.store.shutdown().unwrap();
                self.store = Store::open_on(self.disk.clone(), self.options).unwrap();
            }
            _ => self.store.settle().unwrap(),
        }
    }

    fn insert(&mut self) {
        if !self.has_names() {
            let pairs = self.pairs();
            self.model.pairs.extend(&pairs);
            let insert = |(fingerprint, id)| Operation::Insert(fingerprint, id);
            self.store.write(pairs.into_iter().map(insert).collect()).unwrap();
            return;
        }
        let records = self.records();
        let put = self.store.put(self.kind.records(&records), When::always()).unwrap();
        let expected: Vec<u64> = records.iter().map(|record| self.model.insert_named(record)).collect();
        assert_eq!(put.ids().collect::<Vec<_>>(), expected);
        assert_eq!(put.inserted, expected.len() as u64);
    }

    fn replace(&mut self) {
        // One again and again, or many.
        for _ in 0..[1, 30][self.chance.below(2) as usize] {
            if !self.has_names() {
                let pairs = self.pairs();
                let last: BTreeMap<u64, u64> = pairs.iter().map(|&(value, id)| (id, value)).collect();
                let before = self.model.pairs.clone();
                self.model.remove(|_, pair| last.get(&pair.1).is_some_and(|new| *new != pair.0));
                let removed = before.difference(&self.model.pairs).count() as u64;
                self.model.pairs.extend(last.into_iter().map(|(id, value)| (value, id)));
                assert_eq!(self.store.put(&pairs, When::always().replacing()).unwrap().removed, removed);
                continue;
            }
            let mut records = self.records();
            records.truncate(40);
            let when = When::always().replacing();
            let written = self.store.put(self.kind.records(&records), when).unwrap();
            let names: HashSet<Vec<u8>> = records.iter().map(|record| record.1.clone()).collect();
            assert_eq!(written.removed, self.model.remove_names(&names));
            // The last of each name counts.
            let mut seen = HashSet::new();
            let mut last: Vec<&Row> = records.iter().rev().filter(|record| seen.insert(&record.1)).collect();
            last.reverse();
            assert_eq!(written.inserted, last.len() as u64);
            for record in last {
                self.model.insert_named(record);
            }
        }
    }

    fn insert_unless_near(&mut self) {
        let distance = self.chance.below(5) as u32;
        let (outcomes, records) = if self.has_names() {
            let records = self.records();
            let put = self.store.put(self.kind.records(&records), When::unless_near(distance)).unwrap();
            (put.outcomes, records.into_iter().map(|record| (record, 0)).collect::<Vec<_>>())
        } else {
            let pairs = self.pairs();
            let outcomes = self.store.put(&pairs, When::unless_near(distance)).unwrap().outcomes;
            (outcomes, pairs.into_iter().map(|(value, id)| ((value, Vec::new(), Vec::new()), id)).collect())
        };
        for (outcome, (record, id)) in outcomes.into_iter().zip(records) {
            match self.model.nearest(record.0, distance) {
                None => {
                    let id = if self.has_names() {
                        self.model.insert_named(&record)
                    } else {
                        self.model.pairs.insert((record.0, id));
                        id
                    };
                    assert_eq!(outcome, Inserted::New { id });
                }
                Some(nearest) => {
                    let near = outcome.near().expect("something is near");
                    assert_eq!((near.distance, near.fingerprint), nearest);
                }
            }
        }
    }

    fn remove_fingerprints(&mut self) {
        let gone: Vec<u64> =
            (0..1 + self.chance.below(30)).map(|_| self.crowd.any_fingerprint(&mut self.chance)).collect();
        let written = self.store.remove_fingerprints(gone.clone()).unwrap();
        assert_eq!(written.removed, self.model.remove(|_, pair| gone.contains(&pair.0)));
    }

    fn remove_pairs(&mut self) {
        // Stored ones and others.
        let part = 1 + self.chance.below(4);
        let stored: Vec<(u64, u64)> =
            self.model.pairs.iter().filter(|pair| pair.1 % part == 0).copied().collect();
        let mut gone = if self.chance.below(2) == 0 { stored } else { Vec::new() };
        gone.extend(self.pairs());
        let written = self
            .store
            .write(gone.iter().map(|&(fingerprint, id)| Operation::Remove(fingerprint, id)).collect())
            .unwrap();
        let gone: HashSet<(u64, u64)> = gone.into_iter().collect();
        assert_eq!(written.removed, self.model.remove(|_, pair| gone.contains(pair)));
    }

    fn remove_ids(&mut self) {
        let most = 1 + self.model.next_id.max(2000);
        let ids: HashSet<u64> = (0..1 + self.chance.below(50)).map(|_| self.chance.below(most)).collect();
        assert_eq!(self.store.remove_ids(&ids).unwrap(), self.model.remove(|_, pair| ids.contains(&pair.1)));
    }

    fn check(&mut self) {
        let queries: Vec<u64> = (0..3).map(|_| self.crowd.any_fingerprint(&mut self.chance)).collect();
        let names: Vec<Vec<u8>> = (0..3).map(|_| self.crowd.any_name(&mut self.chance)).collect();
        self.assert_same(&self.store.snapshot(), &queries, &names);
        let stats = self.store.stats();
        assert!(
            stats.fingerprints
                >= self.model.pairs.iter().map(|pair| pair.0).collect::<BTreeSet<_>>().len() as u64
        );
        if self.chance.below(4) == 0 {
            self.reader.refresh().unwrap();
            self.assert_same(&self.reader.snapshot(), &queries, &names);
        }
    }

    fn assert_same(&self, snapshot: &Snapshot<u64>, queries: &[u64], names: &[Vec<u8>]) {
        let what = (self.crowd, self.kind, self.has_lookups);
        let all: Vec<(u64, u64)> = snapshot.pairs_in_order().collect::<Result<_, _>>().unwrap();
        assert!(all.iter().eq(&self.model.pairs), "{what:?}");
        let mut searcher = snapshot.searcher();
        for &query in queries {
            for distance in [0, 3, 4] {
                let found = searcher.within(query ^ 1, distance).unwrap().iter();
                let found: Vec<(u32, u64)> = found.map(|m| (m.distance, m.fingerprint)).collect();
                assert_eq!(found, self.model.within(query ^ 1, distance), "{what:?} within {distance}");
            }
            let ids = if self.kind == Kind::Plain { Vec::new() } else { self.model.ids(query) };
            assert_eq!(snapshot.ids(query).unwrap(), ids, "{what:?}");
            assert_eq!(snapshot.contains(query).unwrap(), !self.model.ids(query).is_empty());
            for id in [0, 7, 1000] {
                let is_there = self.model.pairs.contains(&(query, id));
                assert_eq!(holds(snapshot, query, id), is_there, "{what:?}");
            }
        }
        if !self.has_names() {
            return;
        }
        for &(_, id) in all.iter().step_by(17) {
            assert_eq!(snapshot.name(id).unwrap(), self.model.names.get(&id).map(|name| &name[..]));
        }
        let of_name = |name: &Vec<u8>| {
            let pairs = self.model.pairs.iter().filter(|pair| self.model.names[&pair.1] == *name);
            let mut found: Vec<u64> = pairs.map(|pair| pair.0).collect();
            found.dedup();
            found
        };
        let expected: Vec<Vec<u64>> = names.iter().map(of_name).collect();
        assert_eq!(snapshot.fingerprints_of_names(names).unwrap(), expected, "{what:?}");
        if self.kind == Kind::Documents {
            self.assert_same_shingles(snapshot);
        }
    }

    fn assert_same_shingles(&self, snapshot: &Snapshot<u64>) {
        let mut found = BTreeMap::new();
        for part in snapshot.shingle_parts(1 << 12).unwrap().unwrap() {
            let flow = snapshot.visit_shingles(&part, &|| Ok(()), &mut |id, set| {
                assert_eq!(found.insert(id.id, set.to_vec()), None, "id {} twice", id.id);
                Ok(())
            });
            flow.unwrap();
        }
        let ids: BTreeSet<u64> = self.model.pairs.iter().map(|pair| pair.1).collect();
        assert!(found.into_iter().eq(ids.into_iter().map(|id| (id, shingles_of(&self.model.names[&id])))));
    }
}

impl Kind {
    /// Returns records with names as the store takes them.
    fn records(self, rows: &[Row]) -> Vec<Record<'_, u64>> {
        let of_row = rows.iter().map(|(fingerprint, name, set)| match self {
            Self::Documents => Record::document(*fingerprint, name, set),
            _ => Record::named(*fingerprint, name),
        });
        of_row.collect()
    }
}

#[test]
fn a_store_of_a_crowd_is_the_set_that_its_writes_left() {
    let mut steps = 0;
    for crowd in CROWDS {
        for kind in [Kind::Plain, Kind::Ids, Kind::Names, Kind::Documents] {
            for has_lookups in [false, true] {
                if kind == Kind::Plain && has_lookups {
                    continue;
                }
                for seed in seeds(0..2) {
                    let mut history = History::new(crowd, kind, has_lookups, seed);
                    for _ in 0..25 {
                        history.step();
                        history.check();
                        steps += 1;
                    }
                    history.store.flush().unwrap();
                    history.check();
                    history.store.verify(&VerifyOptions::new()).unwrap();
                }
            }
        }
    }
    println!("{steps} steps on crowded stores agree with the model");
}
