//! An index compared with the truth.

use std::collections::BTreeMap;

use byteorder::{ByteOrder, LittleEndian as Le};
use hamdex::inspect::Permutation;
use hamdex::inspect::reference::{Coding, fingerprints, read_block};
use hamdex::similar::{Condition, Measure};
use hamdex::{
    BatchOptions, Fingerprint, Index, Match, Pair, ReadError, Stopped, Strategy, VerifyOptions, shingles,
};

use crate::common::allocations::largest;
use crate::common::ask::ask;
use crate::common::file::Parts;
use crate::common::{brute_force, pairs, queries};

/// More fingerprints than this are compared with brute force at a few queries only.
const MANY: usize = 1000;

/// More than this are not compared all with all.
pub const MAX_JOINED: usize = 400;

/// The most that is allocated at once, whatever a small file says: as in the tests of hostile files.
const MAX_ALLOCATED: usize = 16 << 20;

/// The same of larger files, for each of their bytes.
const MAX_ALLOCATED_PER_BYTE: usize = 256;

/// Opens a file of any width and asks it all there is; compares every answer with brute force where the file verifies.
/// Nothing of that allocates out of proportion.
pub fn file(bytes: &[u8]) {
    // Of the whole process: what it has had before is not due to this file.
    let before = largest();
    of_width::<u64>(bytes);
    of_width::<u128>(bytes);
    let most = MAX_ALLOCATED.max(bytes.len() * MAX_ALLOCATED_PER_BYTE);
    let largest = largest();
    assert!(largest == before || largest <= most, "{largest} bytes at once for a file of {}", bytes.len());
}

fn of_width<F: Fingerprint>(bytes: &[u8]) {
    let Ok(index) = Index::<F>::from_bytes(bytes) else { return };
    let fresh = index.verify_with(&VerifyOptions::new().threads(1)).map_err(|error| error.to_string());
    for query in queries::<F>(&[], 2, 7) {
        let _ = ask(&index, query);
    }
    for table in 0..index.design().tables().len() {
        let _ = (index.filter_load(table), index.filter_false_positives(table, 20));
    }
    let mut searcher = index.searcher();
    for query in [F::ZERO, F::ONES] {
        for distance in [0, 3, index.design().distance(), F::BITS] {
            if let Ok(found) = searcher.within(query, distance) {
                assert_sound(found, query, distance);
            }
            let _ = index.explain(query, distance);
        }
    }
    let _ = index.entries().take(MANY).filter_map(Result::ok).map(|entry| entry.ids.count()).sum::<usize>();
    let _ = index.pairs(3).threads(1).count_by_distance();
    similar(&index, bytes);
    let again = index.verify_with(&VerifyOptions::new().threads(1)).map_err(|error| error.to_string());
    assert_eq!(fresh, again, "what is verified does not hang on what was asked before");
    if fresh.is_ok() {
        agrees(&index, bytes);
    }
}

/// That documents similar to any shingles, and to some that are stored, are found or refused, whatever the file is; and
/// that each is above the least share, the most similar first.
fn similar<F: Fingerprint>(index: &Index<F>, bytes: &[u8]) {
    let words =
        bytes.rchunks_exact(8).take(40).map(|word| Le::read_u64(word) >> (u64::BITS - shingles::BITS));
    let mut queries = vec![vec![], (0..20).collect(), words.collect(), vec![u64::MAX]];
    if let Ok(Some(stored)) = index.shingles() {
        for part in stored.parts(1 << 12).unwrap_or_default().into_iter().take(2) {
            let visit = |_, set: &[u64]| {
                queries.push(set.to_vec());
                if queries.len() < 10 { Ok(()) } else { Err(ReadError::from(Stopped)) }
            };
            let _ = stored.for_each_while(part, &|| Ok(()), visit);
        }
    }
    // A byte of the file chooses a share.
    let any = f64::from(bytes[bytes.len() / 2].max(1)) / 255.0;
    let mut searcher = index.searcher();
    for (measure, least) in [
        (Measure::Resemblance, 0.7),
        (Measure::Resemblance, any),
        (Measure::Containing, any),
        (Measure::Contained, any),
        (Measure::Contained, 0.001),
    ] {
        let condition = Condition::new(measure, least).expect("it is above 0 and at most 1");
        for query in &mut queries {
            query.sort_unstable();
            query.dedup();
            let Ok(found) = searcher.similar(query, &condition, 50) else { continue };
            assert!(found.iter().all(|found| found.similarity >= least));
            assert!(found.is_sorted_by(|one, other| one.similarity >= other.similarity));
        }
    }
}

/// That matches are what they say, whatever the file is.
pub fn assert_sound<F: Fingerprint>(found: &[Match<F>], query: F, distance: u32) {
    for found in found {
        assert_eq!(found.distance, found.fingerprint.distance(query));
        assert!(found.distance <= distance);
    }
}

/// That an index without damage answers everything as brute force does, and that the reference codec reads it alike.
pub fn agrees<F: Fingerprint>(index: &Index<F>, bytes: &[u8]) {
    let stored: Vec<F> = index.fingerprints().map(Result::unwrap).collect();
    assert_eq!(stored.len() as u64, index.len());
    assert!(stored.is_sorted_by(|a, b| a < b));
    read_by_reference(&Parts::read(bytes), &stored);
    let queries = queries(&stored, if stored.len() > MANY { 1 } else { 3 }, 5);
    let known = index.design().distance();
    let mut searcher = index.searcher();
    for &query in &queries {
        for distance in [0, 1, 3, known, (known + 1).min(F::BITS), F::BITS] {
            let expected = brute_force(&stored, query, distance);
            assert_eq!(pairs(searcher.within(query, distance).unwrap()), expected, "within {distance}");
            let first = searcher.first(query, distance).unwrap();
            assert_eq!(first.is_some(), !expected.is_empty(), "first within {distance}");
            assert!(first.is_none_or(|found| expected.contains(&(found.distance, found.fingerprint))));
            let probes = index.explain(query, distance).unwrap();
            let found = probes.iter().flat_map(|probe| &probe.blocks).flat_map(|block| &block.matches);
            let returned = found.filter(|found| found.is_returned);
            let mut returned: Vec<(u32, F)> = returned.map(|m| (m.distance, m.fingerprint)).collect();
            returned.sort_unstable();
            assert_eq!(returned, expected, "explained within {distance}");
            let nearest = pairs(searcher.nearest_within(query, 2, distance).unwrap());
            assert_eq!(nearest, expected[..expected.len().min(2)], "nearest within {distance}");
        }
        let place = stored.binary_search(&query);
        assert_eq!(index.contains(query).unwrap(), place.is_ok());
        assert_eq!(index.rank(query).unwrap(), place.unwrap_or_else(|place| place) as u64);
    }
    batches(index, &stored, &queries);
    if stored.len() <= MAX_JOINED {
        [1, 3].iter().for_each(|&distance| joined(index, &stored, distance));
    }
    ids(index, &stored);
}

/// That the reference codec finds the same set in each table.
fn read_by_reference<F: Fingerprint>(parts: &Parts, stored: &[F]) {
    for table in &parts.tables {
        let coding = match parts.codec {
            1 => Coding::Huffman { code_lengths: &table.code_lengths },
            _ => Coding::EliasFano,
        };
        let permutation = Permutation::new(F::truncate(table.mask));
        let mut found = Vec::new();
        for (block, &key) in table.blocks.iter().zip(&table.keys) {
            let entries = fingerprints::<F>(&read_block(block, coding).expect("a block that was verified"));
            assert_eq!(entries.last(), Some(&F::truncate(key)));
            found.extend(entries.into_iter().map(|entry| permutation.undo(entry)));
        }
        found.sort_unstable();
        assert_eq!(found, stored);
    }
}

fn batches<F: Fingerprint>(index: &Index<F>, stored: &[F], queries: &[F]) {
    for strategy in [Strategy::Auto, Strategy::Probe, Strategy::Scan] {
        let options = BatchOptions::new().strategy(strategy).threads(1);
        for distance in [0, 3, index.design().distance()] {
            let mut next = 0;
            let outcome = index.batch_with(queries, distance, &options, |place, found| {
                assert_eq!(place, next);
                next += 1;
                assert_eq!(pairs(found), brute_force(stored, queries[place], distance), "{strategy:?}");
                Ok::<_, ReadError>(())
            });
            outcome.unwrap();
            assert_eq!(next, queries.len());
        }
    }
}

fn joined<F: Fingerprint>(index: &Index<F>, stored: &[F], distance: u32) {
    are_all_pairs(index.pairs(distance).threads(1).collect().unwrap(), stored, distance);
}

/// That these are all pairs of what is stored, ascending, each once.
pub fn are_all_pairs<F: Fingerprint>(found: Vec<Pair<F>>, stored: &[F], distance: u32) {
    let mut expected = Vec::new();
    for (at, &a) in stored.iter().enumerate() {
        let near = stored[at + 1..].iter().filter(|&&b| a.distance(b) <= distance);
        expected.extend(near.map(|&b| (a, b, a.distance(b))));
    }
    let mut found: Vec<(F, F, u32)> = found.into_iter().map(|pair| (pair.a, pair.b, pair.distance)).collect();
    found.sort_unstable();
    assert_eq!(found, expected, "pairs within {distance}");
}

/// That ids and names are the same by every way to them.
fn ids<F: Fingerprint>(index: &Index<F>, stored: &[F]) {
    let names = index.names().unwrap();
    assert_eq!(names.is_some(), index.has_names());
    let named: BTreeMap<u64, Vec<u8>> = names
        .iter()
        .flat_map(|names| names.iter())
        .map(|name| name.map(|(id, name)| (id, name.to_vec())).unwrap())
        .collect();
    let mut place = 0;
    for (entry, &fingerprint) in index.entries().zip(stored) {
        let entry = entry.unwrap();
        assert_eq!(entry.fingerprint, fingerprint);
        let ids: Vec<u64> = entry.ids.collect();
        assert!(ids.is_sorted_by(|a, b| a < b) && ids.is_empty() != index.has_ids());
        assert!(index.ids(fingerprint).unwrap().eq(ids.iter().copied()));
        let places = place..place + ids.len().max(1) as u64;
        assert_eq!(index.places(fingerprint).unwrap(), places);
        place = places.end;
        for id in ids.iter().take(3) {
            if let Some(names) = &names {
                assert_eq!(names.get(*id).unwrap(), Some(named[id].as_slice()));
            }
        }
    }
}
