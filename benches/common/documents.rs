//! Sets of shingles of documents of 300 words: some are phrases that others have, the rest their own.

use hamdex::shingles::BITS;

use super::number;

/// Shingles of a document.
const SIZE: usize = 296;

/// Those that other documents have.
const PHRASES: usize = 50;

/// Those of an edited copy that differ.
const EDITED: usize = 25;

/// Documents without a pattern, one after another.
pub struct Documents {
    counter: u64,
    phrases: Vec<u64>,
}

impl Documents {
    pub fn new(seed: u64) -> Self {
        let mut documents = Self { counter: seed, phrases: Vec::new() };
        documents.phrases = (0..1_000_000).map(|_| documents.shingle()).collect();
        documents
    }

    /// A number without a pattern.
    pub fn number(&mut self) -> u64 {
        self.counter += 1;
        number(self.counter)
    }

    pub fn below(&mut self, end: usize) -> usize {
        (self.number() % end as u64) as usize
    }

    fn shingle(&mut self) -> u64 {
        self.number() >> (u64::BITS - BITS)
    }

    /// A phrase: few are frequent, most are rare.
    fn phrase(&mut self) -> u64 {
        let share = (self.number() >> 11) as f64 / (1u64 << 53) as f64;
        let rank = (self.phrases.len() as f64).powf(share) as usize;
        self.phrases[rank.min(self.phrases.len() - 1)]
    }

    /// A new document.
    pub fn next(&mut self) -> Vec<u64> {
        let mut set: Vec<u64> = (0..PHRASES).map(|_| self.phrase()).collect();
        set.extend((PHRASES..SIZE).map(|_| self.shingle()));
        sorted(set)
    }

    /// A copy of a document with some words changed.
    pub fn edited(&mut self, of: &[u64]) -> Vec<u64> {
        let mut set = of.to_vec();
        for _ in 0..EDITED {
            let at = self.below(set.len());
            set[at] = self.shingle();
        }
        sorted(set)
    }
}

fn sorted(mut set: Vec<u64>) -> Vec<u64> {
    set.sort_unstable();
    set.dedup();
    set
}
