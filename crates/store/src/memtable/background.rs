//! Background consolidation of the memtable.

use std::sync::Arc;
use std::time::Instant;

use hamdex::{Cancellation, Fingerprint, Stopped};

use crate::inner::StoreInner;
use crate::memtable::consolidate::Consolidated;
use crate::view::View;

/// Removals, about, that a merged run catches up with while writers wait.
const MAX_CATCH_UP: u64 = 1 << 10;

impl<F: Fingerprint> StoreInner<F> {
    /// Merges runs of the memtable until none is due. Stops if it is cancelled, or the memtable is frozen.
    pub(crate) fn consolidate(&self) -> Result<(), Stopped> {
        let cancellation = self.background.cancellation();
        self.consolidate_after(0, self.view.load().generation, &cancellation)
    }

    /// Merges the runs of later insertions than one. While long runs are merged, it spends half of the time on the
    /// shorter ones that are added meanwhile, so that both make progress at any rate of writes.
    fn consolidate_after(
        &self,
        insertion: u64,
        generation: u64,
        cancellation: &Cancellation,
    ) -> Result<(), Stopped> {
        loop {
            cancellation.check()?;
            let view = self.view.load();
            // A frozen memtable is dropped after its flush.
            if view.generation != generation {
                return Err(Stopped);
            }
            let Some(due) = view.memtable.consolidation(insertion) else { return Ok(()) };
            drop(view);
            let (last, pairs) = (due.last_insertion(), due.len());
            let started = Instant::now();
            let mut next = started;
            let merged = due.run(&mut || {
                cancellation.check()?;
                let begun = Instant::now();
                if begun >= next {
                    self.consolidate_after(last, generation, cancellation)?;
                    next = Instant::now() + begun.elapsed();
                }
                Ok(())
            })?;
            self.adopt(merged, cancellation)?;
            self.run_throttle.record_flush(pairs, started.elapsed());
        }
    }

    /// Replaces runs by the run that has been merged from them.
    fn adopt(&self, mut merged: Consolidated<F>, cancellation: &Cancellation) -> Result<(), Stopped> {
        // Most removals are applied while writers go on.
        while merged.catch_up(&self.view.load().memtable).is_some_and(|removals| removals > MAX_CATCH_UP) {
            cancellation.check()?;
        }
        let writer = self.writer();
        let mut view = View::clone(&self.view.load());
        let is_adopted = view.memtable.adopt(&mut merged);
        let before = is_adopted.then(|| self.view.swap(Arc::new(view)));
        drop(writer);
        // Long runs are dropped without the lock, since that takes time.
        drop((before, merged));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::thread;
    use std::time::Duration;

    use hamdex::Fingerprint;
    use tempfile::TempDir;

    use super::*;
    use crate::disk::RealDisk;
    use crate::options::{CreateOptions, StoreOptions};
    use crate::read::Snapshot;
    use crate::store::Store;
    use crate::write::request::{Inserted, Request};
    use crate::write::writer::Durability;
    use crate::write::{Operation, Pair, When};

    fn options() -> StoreOptions {
        StoreOptions::new().durability(Durability::None).merges(false).memory(1 << 30)
    }

    fn pair(number: u64) -> Pair<u64> {
        (number.wrapping_mul(0x9e37_79b9_7f4a_7c15), number)
    }

    fn inserts(numbers: std::ops::Range<u64>) -> Vec<Operation<u64>> {
        numbers.map(pair).map(|(value, id)| Operation::Insert(value, id)).collect()
    }

    /// Returns a store without threads, with runs that are due.
    fn filled() -> (TempDir, StoreInner<u64>) {
        let directory = tempfile::tempdir().unwrap();
        let disk = Box::new(RealDisk::new(directory.path()));
        let inner = StoreInner::create(disk, &CreateOptions::new(), options()).unwrap();
        for batch in 0..5 {
            inner.commit(Request::Batch(inserts(10_000 * batch..10_000 * (batch + 1))), None).unwrap();
        }
        assert_eq!(inner.view.load().memtable.overdue_runs(), 4);
        (directory, inner)
    }

    #[test]
    fn what_is_due_is_merged_unless_it_is_cancelled() {
        let (_directory, inner) = filled();
        let before = inner.view.load_full();
        assert!(inner.consolidate().is_ok());
        let view = inner.view.load_full();
        assert_eq!((view.memtable.overdue_runs(), before.memtable.overdue_runs()), (0, 4));
        assert_eq!((view.memtable.len(), view.memtable.to_sorted()), (50_000, before.memtable.to_sorted()));

        let (_directory, inner) = filled();
        inner.background.stop();
        assert!(inner.consolidate().is_err() && !inner.background.wait_for_consolidation());
        assert_eq!(inner.view.load().memtable.overdue_runs(), 4);
    }

    #[test]
    fn a_memtable_that_is_frozen_meanwhile_is_left_alone() {
        let (_directory, inner) = filled();
        let (generation, cancellation) = (inner.view.load().generation, inner.background.cancellation());
        let due = inner.view.load().memtable.consolidation(0).unwrap();
        let last = due.last_insertion();
        // The memtable is frozen at the third pause.
        let mut pauses = 0;
        let outcome = due.run(&mut || {
            pauses += 1;
            if pauses == 3 {
                inner.freeze(&mut inner.writer()).unwrap();
            }
            inner.consolidate_after(last, generation, &cancellation)
        });
        assert!(outcome.is_err() && pauses == 3);
        // One that was ready before is not adopted either.
        let (_directory, inner) = filled();
        let due = inner.view.load().memtable.consolidation(0).unwrap();
        let Ok(merged) = due.run(&mut || Ok::<_, Stopped>(())) else { panic!() };
        inner.freeze(&mut inner.writer()).unwrap();
        assert!(inner.adopt(merged, &cancellation).is_ok());
        let view = inner.view.load();
        assert_eq!((view.memtable.len(), view.frozen[0].memtable.overdue_runs()), (0, 4));
    }

    fn assert_answers(snapshot: &Snapshot<u64>, model: &BTreeSet<Pair<u64>>, round: u64) {
        let mut searcher = snapshot.searcher();
        for query in [pair(round * 1000).0 ^ 0b11, pair(round * 7000 + 1).0, pair(1 << 40).0] {
            let mut expected: Vec<(u32, u64)> = model.iter().map(|p| (p.0.distance(query), p.0)).collect();
            expected.retain(|found| found.0 <= 3);
            expected.sort_unstable();
            expected.dedup();
            let found =
                searcher.within(query, 3).unwrap().iter().map(|found| (found.distance, found.fingerprint));
            assert_eq!(found.collect::<Vec<_>>(), expected);
            let ids: Vec<u64> = model.range((query, 0)..=(query, u64::MAX)).map(|pair| pair.1).collect();
            assert_eq!(snapshot.ids(query).unwrap(), ids);
        }
    }

    fn assert_pairs(snapshot: &Snapshot<u64>, model: &BTreeSet<Pair<u64>>) {
        let pairs: Result<Vec<_>, _> = snapshot.pairs_in_order().collect();
        assert!(pairs.unwrap().into_iter().eq(model.iter().copied()));
    }

    #[test]
    fn answers_are_those_of_brute_force_while_runs_are_merged() {
        let directory = tempfile::tempdir().unwrap();
        let store = Store::<u64>::create(directory.path(), &CreateOptions::new(), options()).unwrap();
        let (mut model, mut snapshots) = (BTreeSet::new(), Vec::new());
        for round in 0..40 {
            let first = round * 8000;
            let mut operations = inserts(first..first + 8000);
            // Old ones and new ones go.
            let gone = (first / 3..first / 3 + 500).chain(first..first + 50).map(pair);
            operations.extend(gone.map(|(value, id)| Operation::Remove(value, id)));
            for &operation in &operations {
                match operation {
                    Operation::Insert(value, id) => assert!(model.insert((value, id))),
                    Operation::Remove(value, id) => {
                        model.remove(&(value, id));
                    }
                }
            }
            store.write(operations).unwrap();
            assert_answers(&store.snapshot(), &model, round);
            // Near to present pairs, and to removed ones.
            let asked = [first + 10, first + 40, first + 60, first + 5000, first / 3 + 10, first / 3 + 600];
            let asked = asked.map(|number| (pair(number).0 ^ 1, number + (1 << 32)));
            for (outcome, pair) in
                store.put(asked.iter(), When::unless_near(1)).unwrap().outcomes.iter().zip(asked)
            {
                let is_near = model.iter().any(|other| other.0.distance(pair.0) <= 1);
                assert_eq!(matches!(outcome, Inserted::Near(_)), is_near, "{pair:?}");
                if !is_near {
                    model.insert(pair);
                }
            }
            match round {
                13 | 29 => store.flush().unwrap(),
                20 => store.reopen().unwrap(),
                _ if round % 8 == 3 => snapshots.push((store.snapshot(), model.clone())),
                _ => {}
            }
        }
        for _ in 0..6000 {
            if store.inner().view.load().memtable.overdue_runs() == 0 {
                break;
            }
            thread::sleep(Duration::from_millis(10));
        }
        assert_eq!(store.inner().view.load().memtable.overdue_runs(), 0);
        snapshots.push((store.snapshot(), model));
        for (snapshot, model) in &snapshots {
            assert_pairs(snapshot, model);
        }
        store.close().unwrap();
    }
}
