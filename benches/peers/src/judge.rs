//! Checks that all contenders give the same answers: the figures of one that errs are worth nothing.

use anyhow::{Result, bail};

use crate::brute::Scan;
use crate::common::number;
use crate::contender::Contender;
use crate::data::Data;

/// The answer to a query, whatever the order of its matches.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Answer {
    pub matches: u64,
    /// Over each match together with its query.
    pub checksum: u64,
}

impl Answer {
    fn add(&mut self, query: u64, fingerprint: u64) {
        self.matches += 1;
        self.checksum = self.checksum.wrapping_add(number(number(query) ^ fingerprint));
    }
}

/// Keeps the first answers that it gets and compares all later ones with them.
pub(crate) struct Judge<'d> {
    data: &'d Data,
    distance: u32,
    /// Brute force's answers to the scanned queries.
    truth: Vec<Answer>,
    /// The first contender that ran all queries: its name and its answers.
    first: Option<(String, Vec<Answer>)>,
}

impl<'d> Judge<'d> {
    pub(crate) fn new(data: &'d Data, distance: u32) -> Result<Self> {
        let truth = answers(&Scan(&data.stored), &data.queries[..data.scanned], distance)?;
        Ok(Self { data, distance, truth, first: None })
    }

    /// Compares the answers of a contender to its share of the queries; returns the number of matches.
    pub(crate) fn check(&mut self, name: &str, contender: &dyn Contender, share: usize) -> Result<u64> {
        let given = answers(contender, &self.data.queries[..share], self.distance)?;
        self.compare("brute force", &self.truth, name, &given)?;
        if let Some((first, expected)) = &self.first {
            self.compare(first, expected, name, &given)?;
        } else if share == self.data.queries.len() {
            self.first = Some((name.to_owned(), given.clone()));
        }
        Ok(given.iter().map(|answer| answer.matches).sum())
    }

    /// All matches of all queries, if some contender ran them all.
    pub(crate) fn agreed(&self) -> Option<Answer> {
        let (_, answers) = self.first.as_ref()?;
        Some(answers.iter().fold(Answer::default(), |sum, answer| Answer {
            matches: sum.matches + answer.matches,
            checksum: sum.checksum.wrapping_add(answer.checksum),
        }))
    }

    fn compare(&self, first: &str, expected: &[Answer], second: &str, given: &[Answer]) -> Result<()> {
        for ((query, expected), given) in self.data.queries.iter().zip(expected).zip(given) {
            if expected != given {
                bail!(
                    "{first} and {second} disagree on the matches of {query:016x}: {} and {} matches, \
                     checksums {:016x} and {:016x}",
                    expected.matches,
                    given.matches,
                    expected.checksum,
                    given.checksum
                );
            }
        }
        Ok(())
    }
}

fn answers(contender: &dyn Contender, queries: &[u64], distance: u32) -> Result<Vec<Answer>> {
    let mut answers = vec![Answer::default(); queries.len()];
    contender.for_each_match(queries, distance, &mut |number, x| answers[number].add(queries[number], x))?;
    Ok(answers)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Gives the right answers except for one fingerprint, which it misses or reports twice.
    struct Wrong {
        right: Scan<Vec<u64>>,
        at: u64,
        times: usize,
    }

    impl Contender for Wrong {
        fn count(&self, _: &[u64], _: u32) -> Result<u64> {
            unreachable!("only its matches are compared")
        }

        fn for_each_match(
            &self,
            queries: &[u64],
            distance: u32,
            found: &mut dyn FnMut(usize, u64),
        ) -> Result<()> {
            self.right.for_each_match(queries, distance, &mut |number, x| {
                (0..if x == self.at { self.times } else { 1 }).for_each(|_| found(number, x));
            })
        }
    }

    fn data(scanned: usize) -> Data {
        let stored: Vec<u64> = (0..1000).map(number).collect();
        let queries = stored.iter().map(|x| x ^ 5).collect();
        Data { shape: "uniform".to_owned(), stored, queries, warm_up: Vec::new(), scanned }
    }

    #[test]
    fn brute_force_agrees_with_itself() {
        let data = data(10);
        let mut judge = Judge::new(&data, 3).expect("a scan cannot fail");
        for _ in 0..2 {
            let matches = judge.check("scan", &Scan(&data.stored), 1000).expect("it is right");
            assert_eq!(matches, 1000);
        }
        assert_eq!(judge.agreed().map(|answer| answer.matches), Some(1000));
    }

    #[test]
    fn a_match_missed_or_reported_twice_is_noticed_wherever_it_is() {
        for (at, times) in [(3, 0), (3, 2), (700, 0), (700, 2)] {
            let data = data(10);
            let mut judge = Judge::new(&data, 3).expect("a scan cannot fail");
            judge.check("scan", &Scan(&data.stored), 1000).expect("it is right");
            let wrong = Wrong { right: Scan(data.stored.clone()), at: data.stored[at], times };
            assert!(judge.check("wrong", &wrong, 1000).is_err(), "{at} {times}");
        }
    }
}
