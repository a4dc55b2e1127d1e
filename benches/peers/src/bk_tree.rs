//! A BK-tree (Burkhard and Keller, CACM 1973): the children of a node are one for each distance from it.
//!
//! A match within k of a query, which is d from a node, is below a child whose distance is from d − k to d + k. The
//! nodes lie in one array, and the children of a node are a list in it: 24 bytes per fingerprint.

use std::time::Instant;

use anyhow::Result;

use crate::contender::{Built, Contender};
use crate::memory::held;

/// The end of a list.
const NONE: u32 = u32::MAX;

struct Node {
    value: u64,
    first_child: u32,
    sibling: u32,
    /// Distance from the parent.
    edge: u32,
}

struct BkTree(Vec<Node>);

/// Builds it by inserting in the order given.
pub(crate) fn build(stored: &[u64]) -> Built {
    let started = Instant::now();
    let (tree, held_bytes) = held(|| {
        let mut tree = BkTree(Vec::with_capacity(stored.len()));
        stored.iter().for_each(|&value| tree.insert(value));
        tree
    });
    let build_seconds = started.elapsed().as_secs_f64();
    Built { contender: Box::new(tree), file_bytes: 0, held_bytes, build_seconds }
}

impl BkTree {
    fn insert(&mut self, value: u64) {
        let new = self.0.len() as u32;
        let mut parent = 0;
        while let Some(node) = self.0.get(parent as usize) {
            let edge = (node.value ^ value).count_ones();
            if edge == 0 {
                return;
            }
            let mut child = node.first_child;
            while child != NONE && self.0[child as usize].edge != edge {
                child = self.0[child as usize].sibling;
            }
            if child == NONE {
                let sibling = std::mem::replace(&mut self.0[parent as usize].first_child, new);
                self.0.push(Node { value, first_child: NONE, sibling, edge });
                return;
            }
            parent = child;
        }
        self.0.push(Node { value, first_child: NONE, sibling: NONE, edge: 0 });
    }

    fn find(&self, query: u64, distance: u32, open: &mut Vec<u32>, mut found: impl FnMut(u64)) {
        open.clear();
        open.extend((!self.0.is_empty()).then_some(0));
        while let Some(node) = open.pop() {
            let node = &self.0[node as usize];
            let away = (node.value ^ query).count_ones();
            if away <= distance {
                found(node.value);
            }
            let mut child = node.first_child;
            while child != NONE {
                let next = &self.0[child as usize];
                if next.edge.abs_diff(away) <= distance {
                    open.push(child);
                }
                child = next.sibling;
            }
        }
    }
}

impl Contender for BkTree {
    fn count(&self, queries: &[u64], distance: u32) -> Result<u64> {
        let (mut open, mut count) = (Vec::new(), 0);
        queries.iter().for_each(|&query| self.find(query, distance, &mut open, |_| count += 1));
        Ok(count)
    }

    fn for_each_match(
        &self,
        queries: &[u64],
        distance: u32,
        found: &mut dyn FnMut(usize, u64),
    ) -> Result<()> {
        let mut open = Vec::new();
        for (number, &query) in queries.iter().enumerate() {
            self.find(query, distance, &mut open, |value| found(number, value));
        }
        Ok(())
    }
}
