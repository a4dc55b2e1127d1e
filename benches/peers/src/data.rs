//! The stored fingerprints and the queries: the same for every contender.

use std::collections::HashSet;

use crate::common::{self, SHAPES, number};
use crate::options::Options;

pub(crate) struct Data {
    pub shape: String,
    /// All distinct, since hamdex keeps a set and mih-rs a list; in no order, as documents come.
    pub stored: Vec<u64>,
    /// The queries that are timed and checked, all distinct.
    pub queries: Vec<u64>,
    /// Other queries that run before them, to warm memory up.
    pub warm_up: Vec<u64>,
    /// Number of queries that brute force answers.
    pub scanned: usize,
}

impl Data {
    pub(crate) fn new(shape: &str, count: u32, options: &Options) -> Self {
        let (_, make) = SHAPES.iter().find(|(name, _)| *name == shape).expect("clap accepts no other");
        let mut stored = make(count as usize);
        // Sorted by a hash of themselves, equal ones meet, and the order says nothing.
        stored.sort_unstable_by_key(|&x| number(x));
        stored.dedup();
        let mut seen = HashSet::new();
        let mut queries = common::queries(&stored, 2 * options.queries as usize);
        queries.retain(|&query| seen.insert(query));
        let warm_up = queries.split_off(queries.len() / 2);
        let scanned = queries.len().min(options.scanned as usize);
        Self { shape: shape.to_owned(), stored, queries, warm_up, scanned }
    }
}
