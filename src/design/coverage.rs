//! Does a set of tables cover every error pattern? Decided exactly, by looking for a pattern that
//! escapes.
//!
//! Bit positions that lie under the same masks are interchangeable: an *atom*. An escaping pattern
//! puts more errors than its radius into every table's prefix. The search always serves the table
//! that is furthest from that, so its depth is at most k; it stops early if the errors left
//! cannot suffice.

use crate::design::TableDesign;
use hamdex_fingerprint::Fingerprint;

/// The result of the search.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict<F> {
    /// No pattern escapes.
    Covers,
    /// This one does.
    Misses(F),
    /// The search was given up.
    TooComplex,
}

/// Steps after which the search for a new design, or for that of a file, gives up: about a second.
/// Named designs take a few thousand at most.
pub(super) const THOROUGH_STEPS: u64 = 2_000_000;

/// Looks for a pattern of at most `distance` errors that no table admits; takes the steps that this
/// needs off `steps_left`.
pub(super) fn missed<F: Fingerprint>(
    tables: &[TableDesign<F>],
    distance: u32,
    steps_left: &mut u64,
) -> Verdict<F> {
    let mut search = Search::new(tables, *steps_left);
    let escapes = search.escapes(distance);
    *steps_left = search.steps_left;
    if escapes {
        return Verdict::Misses(search.pattern());
    }
    if search.steps_left == 0 { Verdict::TooComplex } else { Verdict::Covers }
}

struct Atom<F> {
    bits: F,
    /// The tables that have these bits in their prefix, as a bit set.
    tables: u64,
    /// Number of bits that may still be in error.
    room: u32,
    errors: u32,
}

struct Search<F> {
    atoms: Vec<Atom<F>>,
    masks: Vec<F>,
    /// For each table, how many more errors its prefix needs before the pattern escapes it.
    unmet: Vec<u32>,
    steps_left: u64,
}

impl<F: Fingerprint> Search<F> {
    fn new(tables: &[TableDesign<F>], steps: u64) -> Self {
        let mut atoms: Vec<Atom<F>> = Vec::new();
        for position in 0..F::BITS {
            let bit = F::bit(position);
            let members = (0..tables.len()).filter(|&t| tables[t].mask & bit != F::ZERO);
            let set = members.fold(0u64, |set, t| set | 1 << t);
            match atoms.iter_mut().find(|atom| atom.tables == set) {
                Some(atom) => {
                    atom.bits = atom.bits | bit;
                    atom.room += 1;
                }
                None => atoms.push(Atom { bits: bit, tables: set, room: 1, errors: 0 }),
            }
        }
        Self {
            atoms,
            masks: tables.iter().map(|t| t.mask).collect(),
            unmet: tables.iter().map(|t| t.radius + 1).collect(),
            steps_left: steps,
        }
    }

    /// Returns whether `left` more errors suffice to escape every table; leaves the pattern in the atoms.
    fn escapes(&mut self, left: u32) -> bool {
        let Some(neediest) = (0..self.unmet.len()).max_by_key(|&t| self.unmet[t]) else { return false };
        if self.unmet[neediest] == 0 {
            return true;
        }
        if self.steps_left == 0 {
            return false;
        }
        // Every visited branch counts, even if the bound settles it at once: all of them take time.
        self.steps_left -= 1;
        if self.least_errors_needed(neediest) > left {
            return false;
        }
        let mut closed = Vec::new();
        let mut found = false;
        for atom in 0..self.atoms.len() {
            if self.atoms[atom].tables & (1 << neediest) == 0 || self.atoms[atom].room == 0 {
                continue;
            }
            let served = self.place(atom);
            found = self.escapes(left - 1);
            if found {
                break;
            }
            self.take_back(atom, served);
            // Patterns with one more error in this atom are done: close it to the branches after.
            closed.push((atom, self.atoms[atom].room));
            self.atoms[atom].room = 0;
        }
        for (atom, room) in closed {
            self.atoms[atom].room = room;
        }
        found
    }

    /// Puts an error into an atom; returns the tables that it served.
    fn place(&mut self, atom: usize) -> u64 {
        self.atoms[atom].room -= 1;
        self.atoms[atom].errors += 1;
        let mut served = 0;
        for (t, unmet) in self.unmet.iter_mut().enumerate() {
            if self.atoms[atom].tables & (1 << t) != 0 && *unmet > 0 {
                *unmet -= 1;
                served |= 1 << t;
            }
        }
        served
    }

    fn take_back(&mut self, atom: usize, served: u64) {
        self.atoms[atom].room += 1;
        self.atoms[atom].errors -= 1;
        for (t, unmet) in self.unmet.iter_mut().enumerate() {
            *unmet += u32::from(served & (1 << t) != 0);
        }
    }

    /// Returns a lower bound: tables without a bit in common each need their errors for themselves.
    fn least_errors_needed(&self, neediest: usize) -> u32 {
        let mut taken = self.masks[neediest];
        let mut sum = self.unmet[neediest];
        for (&mask, &unmet) in self.masks.iter().zip(&self.unmet) {
            if unmet > 0 && mask & taken == F::ZERO {
                taken = taken | mask;
                sum += unmet;
            }
        }
        sum
    }

    /// Returns the pattern found: the errors of each atom in its first bits.
    fn pattern(&self) -> F {
        let mut pattern = F::ZERO;
        for atom in &self.atoms {
            let positions = (0..F::BITS).filter(|&p| atom.bits & F::bit(p) != F::ZERO);
            for position in positions.take(atom.errors as usize) {
                pattern = pattern | F::bit(position);
            }
        }
        pattern
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Returns all patterns of at most `distance` errors over the low `bits` bits, tried one by one.
    fn missed_by_enumeration(tables: &[TableDesign<u64>], distance: u32, bits: u32) -> Option<u64> {
        (0..1u64 << bits)
            .filter(|pattern| pattern.count_ones() <= distance)
            .find(|&pattern| !tables.iter().any(|table| table.admits(pattern)))
    }

    proptest! {
        /// Masks over the low 12 bits only, so that every relevant pattern can be enumerated.
        #[test]
        fn the_verdict_is_that_of_enumeration(
            tables in prop::collection::vec((1u64..1 << 12, 0u32..3), 1..7),
            distance in 0u32..6,
        ) {
            let tables: Vec<TableDesign<u64>> =
                tables.into_iter().map(|(mask, radius)| TableDesign { mask, radius }).collect();
            let expected = missed_by_enumeration(&tables, distance, 12);
            let mut steps_left = THOROUGH_STEPS;
            match missed(&tables, distance, &mut steps_left) {
                Verdict::Covers => prop_assert_eq!(expected, None),
                Verdict::Misses(pattern) => {
                    prop_assert!(pattern.count_ones() <= distance);
                    prop_assert!(!tables.iter().any(|table| table.admits(pattern)));
                    prop_assert!(expected.is_some());
                }
                Verdict::TooComplex => prop_assert!(false, "12 bits are not complex"),
            }
        }
    }

    /// 64 tables of 12 scattered bits each. Only about one in eight of the visited branches continues, but all
    /// take time, and a file with such a design must not block its reader.
    #[test]
    fn branches_that_the_bound_settles_are_steps_too() {
        let mut state = 5u64;
        let mut scattered = || {
            let mut mask = 0u64;
            while mask.count_ones() < 12 {
                state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
                mask |= 1 << (state >> 58);
            }
            TableDesign { mask, radius: 1 }
        };
        let tables: Vec<TableDesign<u64>> = (0..64).map(|_| scattered()).collect();
        assert_eq!(missed(&tables, 7, &mut (1 << 14)), Verdict::TooComplex);
        // The search of format-spec.md, written anew from its pseudocode, ends after 61,053 steps.
        assert_eq!(missed(&tables, 7, &mut 61_053), Verdict::TooComplex);
        assert_eq!(missed(&tables, 7, &mut 61_054), Verdict::Covers);
    }

    /// Readers written from format-spec.md decide as many designs as it demands of them.
    #[test]
    fn the_limit_is_that_of_the_specification() {
        let spec = include_str!("../../format-spec.md");
        assert_eq!(THOROUGH_STEPS, 2_000_000);
        assert!(spec.contains("steps += 1; if steps = 2,000,000: give up"));
    }

    #[test]
    fn a_search_without_steps_knows_nothing() {
        let table = TableDesign { mask: u64::MAX << 32, radius: 0 };
        assert_eq!(missed(&[table], 3, &mut 0), Verdict::TooComplex);
        assert!(matches!(missed(&[table], 3, &mut 10), Verdict::Misses(_)));
    }
}
