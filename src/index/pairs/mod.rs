//! The self-join: every pair of stored fingerprints within a distance, once.
//!
//! - [`schedule`]: masks under one of which each pair agrees, and where their values come from
//! - [`stream`]: a table that has such values side by side
//! - [`gather`]: the same in memory, where no table has them
//! - [`runs`]: the pairs among values that agree, each told once; long runs split further
//! - [`compare`]: the inner loop
//! - [`ask`]: query by query, where memory is too small for the longest run
//! - [`ordered`]: all that on several threads, in one order
//! - [`collect`]: what becomes of a pair
//!
//! The paper has no self-join. This is its design (§3.1) turned on itself: two fingerprints within k
//! bits agree in the prefix of some table, where they lie side by side.

mod ask;
mod collect;
mod compare;
mod gather;
mod ordered;
mod runs;
mod schedule;
mod stream;

use std::fmt;
use std::num::NonZeroUsize;
use std::ops::ControlFlow;

use crate::codec::Scratch;
use crate::error::ReadError;
use crate::index::Index;
use crate::mapping::Mapping;
use crate::memory::{MIN_MEMORY, default_memory};
use crate::progress::{Counter, Phase, Progress};
use hamdex_fingerprint::Fingerprint;

use collect::{Collector, Found, Outlet};
use gather::{Gathered, Gathering};
use ordered::Outcome;
use runs::{LONGEST_RUN, Runs};
use schedule::{Source, Step};

/// Bytes of blocks that one thread reads between two looks at what the others do.
const TASK_BYTES: usize = 512 << 10;

/// Values of a task that asks query by query.
const ASKED_A_TASK: u64 = 2048;

/// Below so many fingerprints one thread is done before others have started.
const ALONE: u64 = 1 << 14;

/// What the memory limit holds of each value: it is gathered, and sorted with those of its digit, or
/// it is in a long run; and there is the copy that a vector makes when it grows.
const COPIES: u64 = 4;

/// Two stored fingerprints near each other. Their ids, if there are any: [`Index::ids`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Pair<F> {
    /// The lower one.
    pub a: F,
    /// The higher one.
    pub b: F,
    /// The Hamming distance of the two, at least 1.
    pub distance: u32,
}

/// All pairs of stored fingerprints within a distance; made by [`Index::pairs`].
///
/// Every pair comes once, in an order that depends on the file, the distance and the memory limit, and
/// not on the number of threads. A fingerprint is stored once, however many ids it has, so equal
/// fingerprints are no pairs.
///
/// Time: each table of the index is read once, and every fingerprint compared with the few that agree
/// with it in the table's prefix. Where the tables admit errors in their prefixes (`halves`), or the
/// distance is beyond the built one, the fingerprints are sorted in memory as well, as a design with
/// more tables would have them. A run of m fingerprints with equal prefixes, as crawls have them, is
/// split further by what varies in it: into distance + 1 groups of bits, one of which the two of a pair
/// agree in, and so on in each. It takes about (distance + 1) m sorting steps and comparisons for each
/// such level where the values are spread, and m² comparisons whatever they are.
///
/// What is near is told, and that can be much: no more than 65 fingerprints of 64 bits lie within two
/// bits of each other, and 2,081 within two bits of one, so a million near-equal *documents* are few
/// fingerprints with long id lists. But a million consecutive numbers, say, are some 7 × 10⁸ pairs
/// within three bits, which take as long as it takes to receive them, and no memory.
///
/// Memory: that of [`Pairs::memory`], and some tens of MiB.
///
/// ```
/// use hamdex::{Builder, Index};
///
/// let directory = tempfile::tempdir()?;
/// let path = directory.path().join("news.hamdex");
/// let mut builder = Builder::<u64>::new(&path)?;
/// for fingerprint in [0x00ff, 0x01ff, 0xabcd_ef01_2345_6789, 0xabcd_ef01_2345_678a] {
///     builder.push(fingerprint)?;
/// }
/// builder.finish()?;
///
/// let index = Index::<u64>::open(&path)?;
/// let mut pairs = index.pairs(3).collect()?;
/// pairs.sort();
/// assert_eq!((pairs[0].a, pairs[0].b, pairs[0].distance), (0x00ff, 0x01ff, 1));
/// assert_eq!(pairs[1].distance, 2);
/// assert_eq!(index.pairs(3).count_by_distance()?, [0, 1, 1, 0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use = "it does nothing until it is asked for the pairs"]
pub struct Pairs<'i, F, D = Mapping> {
    index: &'i Index<F, D>,
    distance: u32,
    memory: u64,
    threads: usize,
    progress: Option<&'i (dyn Fn(Progress) + Sync)>,
    tuning: Tuning,
}

/// What tests turn to force each way of the work. Nothing here is promised to stay.
#[doc(hidden)]
#[derive(Debug, Clone, Copy, Default)]
pub struct Tuning {
    pub way: Way,
    pub blocks_a_task: Option<usize>,
    pub longest_run: Option<usize>,
    /// Values that memory holds.
    pub capacity: Option<usize>,
}

/// Where the values of the work come from.
#[doc(hidden)]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Way {
    #[default]
    Auto,
    /// Nothing is taken from a table but 0.
    Gather,
    /// Every fingerprint is asked about.
    Ask,
}

/// Memory that the tasks of a thread use again and again.
struct Workspace<F> {
    scratch: Scratch<F>,
    values: Vec<F>,
    gathered: Vec<F>,
    starts: Vec<u32>,
}

impl<F> Default for Workspace<F> {
    fn default() -> Self {
        Self { scratch: Scratch::default(), values: Vec::new(), gathered: Vec::new(), starts: Vec::new() }
    }
}

impl<F: Fingerprint, D: AsRef<[u8]>> Index<F, D> {
    /// The self-join: all pairs of stored fingerprints within `distance`, which may be any; one beyond
    /// the design's takes longer. Nothing happens until the result is asked for them.
    pub fn pairs(&self, distance: u32) -> Pairs<'_, F, D> {
        Pairs {
            index: self,
            distance: distance.min(F::BITS),
            memory: default_memory(),
            threads: 0,
            progress: None,
            tuning: Tuning::default(),
        }
    }
}

impl<'i, F: Fingerprint, D: AsRef<[u8]> + Sync> Pairs<'i, F, D> {
    /// The memory to keep to, in bytes; a quarter of the machine's unless told otherwise, 16 MiB at the
    /// least. What does not fit is done in slices, which read table 0 again; where not even all the
    /// fingerprints that agree in one prefix fit, every fingerprint is looked up on its own.
    pub fn memory(mut self, bytes: u64) -> Self {
        self.memory = bytes.max(MIN_MEMORY);
        self
    }

    /// How many threads to use; 0, as it is unless told otherwise, for as many as the machine has. The
    /// threads are its own, and gone when it is done.
    pub fn threads(mut self, threads: usize) -> Self {
        self.threads = threads;
        self
    }

    /// What to call, from any thread, as the work goes on.
    pub fn progress(mut self, report: &'i (dyn Fn(Progress) + Sync)) -> Self {
        self.progress = Some(report);
        self
    }

    #[doc(hidden)]
    pub fn tuning(mut self, tuning: Tuning) -> Self {
        self.tuning = tuning;
        self
    }

    /// Calls `visit`, on this thread, with each pair until it breaks. Tells whether it did.
    ///
    /// ```
    /// # use hamdex::{Builder, Index};
    /// # let directory = tempfile::tempdir()?;
    /// # let path = directory.path().join("news.hamdex");
    /// # let mut builder = Builder::<u64>::new(&path)?;
    /// # (0..100u64).try_for_each(|i| builder.push(i))?;
    /// # builder.finish()?;
    /// use std::ops::ControlFlow;
    ///
    /// let index = Index::<u64>::open(&path)?;
    /// let mut first_ten = Vec::new();
    /// let outcome = index.pairs(1).for_each(|pair| {
    ///     first_ten.push(pair);
    ///     if first_ten.len() < 10 { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    /// })?;
    /// assert!(outcome.is_break());
    /// assert!(first_ten.iter().all(|pair| pair.a < pair.b && pair.distance == 1));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// When a block is damaged; the pairs that come before it in the order have been visited then.
    pub fn for_each(
        &self,
        mut visit: impl FnMut(Pair<F>) -> ControlFlow<()>,
    ) -> Result<ControlFlow<()>, ReadError> {
        self.for_each_batch(|batch| batch.iter().try_for_each(|&pair| visit(pair)))
    }

    /// As [`Pairs::for_each`], some thousands of pairs at a time.
    ///
    /// # Errors
    /// As there.
    pub fn for_each_batch(
        &self,
        mut visit: impl FnMut(&[Pair<F>]) -> ControlFlow<()>,
    ) -> Result<ControlFlow<()>, ReadError> {
        self.run(false, &mut |found| match found {
            Found::Pairs(pairs) => visit(&pairs),
            Found::Counts(_) => unreachable!("pairs were asked for"),
        })
    }

    /// All pairs. They are all in memory then, of which [`Pairs::memory`] knows nothing.
    ///
    /// # Errors
    /// When a block is damaged.
    pub fn collect(&self) -> Result<Vec<Pair<F>>, ReadError> {
        let mut all = Vec::new();
        let _ = self.for_each_batch(|batch| {
            all.extend_from_slice(batch);
            ControlFlow::Continue(())
        })?;
        Ok(all)
    }

    /// How many pairs there are at each distance, from 0 on, where there are none.
    ///
    /// # Errors
    /// When a block is damaged.
    pub fn count_by_distance(&self) -> Result<Vec<u64>, ReadError> {
        let mut sums = vec![0; self.distance as usize + 1];
        let _ = self.run(true, &mut |found| {
            if let Found::Counts(counts) = found {
                sums.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
            }
            ControlFlow::Continue(())
        })?;
        Ok(sums)
    }

    fn run(&self, is_counting: bool, deliver: Outlet<'_, F>) -> Outcome {
        if self.distance == 0 || self.index.len() < 2 {
            return Ok(ControlFlow::Continue(()));
        }
        let threads = match NonZeroUsize::new(self.threads) {
            Some(threads) => threads,
            None if self.index.len() < ALONE => NonZeroUsize::MIN,
            None => std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN),
        };
        let quiet = |_| ();
        let join = Join { pairs: self, is_counting, threads, report: self.progress.unwrap_or(&quiet) };
        join.run(deliver)
    }
}

impl<F: Fingerprint, D> fmt::Debug for Pairs<'_, F, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pairs")
            .field("index", self.index)
            .field("distance", &self.distance)
            .field("memory", &self.memory)
            .field("threads", &self.threads)
            .finish_non_exhaustive()
    }
}

/// The work, now that it is asked for.
struct Join<'a, 'i, F, D> {
    pairs: &'a Pairs<'i, F, D>,
    is_counting: bool,
    threads: NonZeroUsize,
    report: &'a (dyn Fn(Progress) + Sync),
}

impl<F: Fingerprint, D: AsRef<[u8]> + Sync> Join<'_, '_, F, D> {
    fn run(&self, deliver: Outlet<'_, F>) -> Outcome {
        let &Pairs { index, distance, tuning, .. } = self.pairs;
        if tuning.way == Way::Ask {
            return self.ask(deliver);
        }
        let capacity = self.capacity();
        let steps = schedule::choose(index, distance, capacity, tuning.way == Way::Gather);
        let Some(gatherings) = self.prepare(&steps, capacity)? else {
            return self.ask(deliver);
        };
        let total = steps.len() as u64 * index.len();
        let done = Progress::counter(Phase::Pairs, Some(total), self.report);
        for (step, gathering) in steps.iter().zip(&gatherings) {
            let outcome = match gathering {
                Some(gathering) => self.gather(step, gathering, &done, deliver)?,
                None => self.stream(step, &done, deliver)?,
            };
            if outcome.is_break() {
                return Ok(outcome);
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    /// Values that memory holds, in all their copies.
    fn capacity(&self) -> NonZeroUsize {
        let Pairs { memory, tuning, .. } = self.pairs;
        let values = memory / (COPIES * F::BYTES as u64);
        // Places in a run are 32 bits wide.
        let values = tuning.capacity.unwrap_or(values.min(u64::from(u32::MAX)) as usize);
        NonZeroUsize::new(values).unwrap_or(NonZeroUsize::MIN)
    }

    /// How to gather what is not streamed; `None` where memory is too small for that or for a run.
    fn prepare<'s>(
        &self,
        steps: &'s [Step<F>],
        capacity: NonZeroUsize,
    ) -> Result<Option<Vec<Option<Gathering<'s, F>>>>, ReadError> {
        let index = self.pairs.index;
        let mut workspace = Workspace::default();
        let mut gatherings = Vec::new();
        for step in steps {
            gatherings.push(match step.source {
                Source::Table(table) => {
                    let table = &index.tables[table];
                    let (file, mask) = (index.data.as_ref(), step.lead.mask);
                    if index.len() > capacity.get() as u64
                        && !stream::runs_fit(table, file, mask, capacity.get(), &mut workspace)?
                    {
                        return Ok(None);
                    }
                    None
                }
                Source::Gathered => {
                    let gathering = Gathering::new(index, &step.lead, capacity, self.threads)?;
                    if gathering.is_none() {
                        return Ok(None);
                    }
                    gathering
                }
            });
        }
        Ok(Some(gatherings))
    }

    fn stream(&self, step: &Step<F>, done: &Counter<'_>, deliver: Outlet<'_, F>) -> Outcome {
        let index = self.pairs.index;
        let Source::Table(table) = step.source else { unreachable!("it is not gathered") };
        let (table, file) = (&index.tables[table], index.data.as_ref());
        let blocks = table.keys.len();
        let a_task = TASK_BYTES / index.footer.layout.block_bytes;
        let a_task = self.pairs.tuning.blocks_a_task.unwrap_or(a_task);
        ordered::run(
            self.threads,
            blocks.div_ceil(a_task),
            Workspace::default,
            |workspace, task, send| {
                let mine = task * a_task..blocks.min((task + 1) * a_task);
                let entries = index.len() * mine.len() as u64 / blocks as u64;
                let mut collector = self.collector(send);
                let mut runs = self.runs(step, &mut collector);
                // Its last run goes on in the next block, most of the time no further.
                index.read_ahead.run(&index.data, table, mine.start..mine.end + 1);
                let outcome = stream::stream(table, file, step.lead.mask, mine, workspace, &mut runs)?;
                done.add(entries);
                Ok(finish(outcome, collector))
            },
            deliver,
        )
    }

    fn gather(
        &self,
        step: &Step<F>,
        gathering: &Gathering<'_, F>,
        done: &Counter<'_>,
        deliver: Outlet<'_, F>,
    ) -> Outcome {
        for slice in &gathering.slices {
            let gathered: Gathered<'_, F> = gathering.gather(self.pairs.index, slice, self.threads)?;
            let a_task = gathered.digits_a_task(slice.len()).clamp(1, slice.len().max(1));
            let outcome = ordered::run(
                self.threads,
                slice.len().div_ceil(a_task),
                Workspace::default,
                |workspace, task, send| {
                    let mine = task * a_task..slice.len().min((task + 1) * a_task);
                    let mut collector = self.collector(send);
                    let mut runs = self.runs(step, &mut collector);
                    let (count, outcome) = gathered.tell(mine, workspace, &mut runs);
                    done.add(count as u64);
                    Ok(finish(outcome, collector))
                },
                deliver,
            )?;
            if outcome.is_break() {
                return Ok(outcome);
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    fn ask(&self, deliver: Outlet<'_, F>) -> Outcome {
        let &Pairs { index, distance, tuning, .. } = self.pairs;
        let (table, file) = (&index.tables[0], index.data.as_ref());
        let blocks = table.keys.len();
        let a_task = (ASKED_A_TASK * blocks as u64 / index.len()).max(1) as usize;
        let a_task = tuning.blocks_a_task.unwrap_or(a_task);
        let done = Progress::counter(Phase::Pairs, Some(index.len()), self.report);
        ordered::run(
            self.threads,
            blocks.div_ceil(a_task),
            || (Workspace::default(), index.searcher()),
            |(workspace, searcher), task, send| {
                let mine = task * a_task..blocks.min((task + 1) * a_task);
                let entries = index.len() * mine.len() as u64 / blocks as u64;
                let mut collector = self.collector(send);
                index.read_ahead.run(&index.data, table, mine.clone());
                let outcome = ask::ask(table, file, distance, mine, workspace, searcher, &mut collector)?;
                done.add(entries);
                Ok(finish(outcome, collector))
            },
            deliver,
        )
    }

    fn collector<'c>(&self, outlet: Outlet<'c, F>) -> Collector<'c, F> {
        if self.is_counting {
            Collector::of_counts(self.pairs.distance, outlet)
        } else {
            Collector::of_pairs(outlet)
        }
    }

    fn runs<'r, 'c>(&self, step: &'r Step<F>, collector: &'r mut Collector<'c, F>) -> Runs<'r, 'c, F> {
        let longest = self.pairs.tuning.longest_run.unwrap_or(LONGEST_RUN);
        Runs::new(&step.lead, self.pairs.distance, longest, collector)
    }
}

/// Hands on what a task has left, unless it was stopped.
fn finish<F: Fingerprint>(outcome: ControlFlow<()>, collector: Collector<'_, F>) -> ControlFlow<()> {
    outcome?;
    collector.finish()
}
