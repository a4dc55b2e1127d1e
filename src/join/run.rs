//! The work of a self-join: step after step of its schedule, or query by query, if memory is too small for the longest
//! run.

use std::num::NonZeroUsize;
use std::ops::Range;

use crate::error::ReadError;
use crate::join::gather::{Gathered, Gathering};
use crate::join::lead::{self, Source, Step};
use crate::join::ordered;
use crate::join::population::{Neighbours, Part, Population};
use crate::join::runs::{MAX_RUN, RunPairs};
use crate::join::{Collector, Outlet, Tuning, Way, Workspace};
use crate::progress::{Counter, Phase, Report};
use crate::table::{Table, runs_of};
use hamdex_fingerprint::Fingerprint;

/// Bytes of blocks per task of a thread.
const TASK_BYTES: usize = 512 << 10;

/// Fingerprints of a task that queries each of them.
const QUERIES_PER_TASK: u64 = 2048;

/// Copies of each value within the memory limit: it is gathered, and sorted with the values of its digit, or it
/// is in a long run; and a growing vector makes a copy.
const COPIES: u64 = 4;

/// The work of a self-join.
pub(super) struct Join<'a, F> {
    pub(super) population: &'a dyn Population<F>,
    pub(super) distance: u32,
    /// Bytes.
    pub(super) memory: u64,
    pub(super) threads: NonZeroUsize,
    pub(super) report: &'a Report,
    pub(super) tuning: Tuning,
    /// Whether pairs are counted rather than delivered.
    pub(super) is_counting: bool,
}

impl<F: Fingerprint> Join<'_, F> {
    pub(super) fn run(&self, deliver: Outlet<'_, F>) -> Result<(), ReadError> {
        let &Self { population, distance, tuning, .. } = self;
        if tuning.way == Way::Query {
            let done = self.report.counter(Phase::Pairs, Some(population.len()))?;
            return self.query_each(1, &done, deliver);
        }
        let capacity = self.capacity();
        let steps = lead::choose(population, distance, tuning.way == Way::Gather);
        let total = steps.len() as u64 * population.len();
        let done = self.report.counter(Phase::Pairs, Some(total))?;
        let Some(gatherings) = self.prepare(&steps, capacity, &done)? else {
            return self.query_each(steps.len() as u64, &done, deliver);
        };
        for (step, gathering) in steps.iter().zip(&gatherings) {
            match gathering {
                Some(gathering) => self.gather(step, gathering, &done, deliver)?,
                None => self.stream(step, &done, deliver)?,
            }
        }
        Ok(())
    }

    /// Values that memory holds, in all their copies.
    fn capacity(&self) -> NonZeroUsize {
        let Self { population, memory, tuning, .. } = self;
        let values = memory / (COPIES * F::BYTES as u64);
        // Places in a run are 32 bits wide.
        let values = tuning.capacity.unwrap_or(values.min(u64::from(u32::MAX)) as usize);
        NonZeroUsize::new(values.max(population.held() as usize)).unwrap_or(NonZeroUsize::MIN)
    }

    /// Returns the plan for gathering the leads that are not streamed; `None` if memory is too small for it or
    /// for a run.
    fn prepare<'s>(
        &self,
        steps: &'s [Step<F>],
        capacity: NonZeroUsize,
        done: &Counter,
    ) -> Result<Option<Vec<Option<Gathering<'s, F>>>>, ReadError> {
        let population = self.population;
        let (tables, file) = population.tables();
        let mut workspace = Workspace::default();
        for step in steps {
            if step.source == Source::Streamed
                && population.len() > capacity.get() as u64
                && !runs_fit(
                    &tables[step.lead.table],
                    file,
                    step.lead.mask,
                    capacity.get(),
                    &mut workspace,
                    done,
                )?
            {
                return Ok(None);
            }
        }
        let gathered = steps.iter().filter(|step| step.source == Source::Gathered);
        let leads: Vec<_> = gathered.map(|step| &step.lead).collect();
        let (size, threads) = (self.tuning.slice, self.threads);
        let gatherings = Gathering::of_each(population, &leads, capacity, size, threads, done)?;
        Ok(gatherings.map(|gatherings| {
            let mut gatherings = gatherings.into_iter();
            let of_step =
                |step: &Step<F>| if step.source == Source::Gathered { gatherings.next() } else { None };
            steps.iter().map(of_step).collect()
        }))
    }

    fn stream(&self, step: &Step<F>, done: &Counter, deliver: Outlet<'_, F>) -> Result<(), ReadError> {
        let population = self.population;
        let (tables, file) = population.tables();
        let table = &tables[step.lead.table];
        let blocks = table.keys.len();
        let per_task = TASK_BYTES / table.codec.layout().block_bytes;
        let per_task = self.tuning.blocks_per_task.unwrap_or(per_task);
        ordered::run(
            self.threads,
            blocks.div_ceil(per_task),
            Workspace::default,
            |workspace, task, send| {
                let mine = task * per_task..blocks.min((task + 1) * per_task);
                let entries = population.len() * mine.len() as u64 / blocks as u64;
                let mut collector = self.collector(send);
                let mut runs = self.runs(step, &mut collector, done);
                // The tasks of the other threads have been prefetched by those before. The last run of the last one goes
                // on in the next block, most of the time no further.
                let ahead = self.threads.get() * per_task;
                let prefetched = if task == 0 { 0 } else { mine.start + ahead };
                population.read_ahead(table, prefetched..mine.end + ahead);
                stream(table, file, step.lead.mask, mine, workspace, &mut runs)?;
                done.add(entries)?;
                Ok(collector.finish()?)
            },
            deliver,
        )
    }

    fn gather(
        &self,
        step: &Step<F>,
        gathering: &Gathering<'_, F>,
        done: &Counter,
        deliver: Outlet<'_, F>,
    ) -> Result<(), ReadError> {
        for slice in &gathering.slices {
            let gathered: Gathered<'_, F> = gathering.gather(self.population, slice, self.threads, done)?;
            let per_task = gathered.digits_per_task(slice.len()).clamp(1, slice.len().max(1));
            ordered::run(
                self.threads,
                slice.len().div_ceil(per_task),
                Workspace::default,
                |workspace, task, send| {
                    let mine = task * per_task..slice.len().min((task + 1) * per_task);
                    let mut collector = self.collector(send);
                    let mut runs = self.runs(step, &mut collector, done);
                    let count = gathered.find(mine, workspace, &mut runs)?;
                    done.add(count as u64)?;
                    Ok(collector.finish()?)
                },
                deliver,
            )?;
        }
        Ok(())
    }

    /// Queries each fingerprint, and counts it `times` times.
    fn query_each(&self, times: u64, done: &Counter, deliver: Outlet<'_, F>) -> Result<(), ReadError> {
        let &Self { population, distance, tuning, .. } = self;
        let size = tuning.queries_per_task.unwrap_or(QUERIES_PER_TASK);
        let parts = population.parts(0, size);
        let entries = population.len() / (parts.len() as u64).max(1);
        ordered::run(
            self.threads,
            parts.len(),
            || (Workspace::default(), population.neighbours()),
            |(workspace, neighbours), task, send| {
                let (mine, mut collector) = ((population, &parts[task]), self.collector(send));
                query_each(mine, distance, workspace, neighbours, &mut collector, done)?;
                done.add(times * entries)?;
                Ok(collector.finish()?)
            },
            deliver,
        )
    }

    fn collector<'c>(&self, outlet: Outlet<'c, F>) -> Collector<'c, F> {
        if self.is_counting {
            Collector::of_counts(self.distance, outlet)
        } else {
            Collector::of_pairs(outlet)
        }
    }

    fn runs<'r, 'c>(
        &self,
        step: &'r Step<F>,
        collector: &'r mut Collector<'c, F>,
        done: &'r Counter,
    ) -> RunPairs<'r, 'c, F> {
        let longest = self.tuning.longest_run.unwrap_or(MAX_RUN);
        RunPairs::new(&step.lead, self.distance, longest, collector, done)
    }
}

/// Values decoded before they are compared: they are still in cache then.
const CHUNK: usize = 8192;

/// Finds the pairs of all runs of values equal under `mask`, leading bits in the table's order, that
/// begin in some blocks; so each run belongs to the one task in whose blocks it begins.
fn stream<F: Fingerprint>(
    table: &Table<F>,
    file: &[u8],
    mask: F,
    blocks: Range<usize>,
    workspace: &mut Workspace<F>,
    runs: &mut RunPairs<'_, '_, F>,
) -> Result<(), ReadError> {
    let Workspace { scratch, values, .. } = workspace;
    values.clear();
    let keys = table.keys.in_file(file);
    let mut block = blocks.start;
    if let Some(before) = block.checked_sub(1) {
        let begun = keys.get(before) & mask;
        while block < blocks.end && keys.get(block) & mask == begun {
            block += 1;
        }
        if block == blocks.end {
            return Ok(());
        }
        table.decode(file, block, scratch, values)?;
        values.drain(..values.partition_point(|&value| value & mask == begun));
        block += 1;
    }
    for run in runs_of(block..blocks.end) {
        let end = run.end;
        table.decode_run(file, run, scratch, values)?;
        if values.len() < CHUNK {
            continue;
        }
        let open = keys.get(end - 1) & mask;
        let whole = values.partition_point(|&value| value & mask < open);
        runs.find(&mut values[..whole], mask)?;
        values.drain(..whole);
    }
    // The last run may go on behind.
    let open = keys.get(blocks.end - 1) & mask;
    for block in blocks.end..table.keys.len() {
        let start = values.len();
        table.decode(file, block, scratch, values)?;
        let run = values[start..].partition_point(|&value| value & mask == open);
        values.truncate(start + run);
        runs.check_cancelled(run)?;
        if keys.get(block) & mask != open {
            break;
        }
    }
    Ok(runs.find(values, mask)?)
}

/// Returns whether no run of values equal under `mask` is longer than `max_run`, so that memory holds each.
fn runs_fit<F: Fingerprint>(
    table: &Table<F>,
    file: &[u8],
    mask: F,
    max_run: usize,
    workspace: &mut Workspace<F>,
    done: &Counter,
) -> Result<bool, ReadError> {
    let keys = table.keys.in_file(file);
    let blocks = keys.len();
    let max_per_block = table.codec.layout().block_bytes * 8;
    let mut start = 0;
    while start < blocks {
        let prefix = keys.get(start) & mask;
        // The block in which the run ends has a key beyond it.
        let last = keys.find(prefix | !mask).min(blocks - 1);
        if (last - start + 1).saturating_mul(max_per_block) > max_run {
            // Checked only if it is possible, which is rare.
            let mut count = 0;
            for block in start..=last {
                done.check()?;
                workspace.values.clear();
                table.decode(file, block, &mut workspace.scratch, &mut workspace.values)?;
                count += workspace.values.iter().filter(|&&value| value & mask == prefix).count();
            }
            if count > max_run {
                return Ok(false);
            }
        }
        start = last.max(start + 1);
    }
    Ok(true)
}

/// Queries between cancellation checks.
const QUERIES_AT_ONCE: usize = 64;

/// Finds the pairs whose lower fingerprint is in a part.
pub(super) fn query_each<F: Fingerprint>(
    (population, part): (&dyn Population<F>, &Part),
    distance: u32,
    workspace: &mut Workspace<F>,
    neighbours: &mut Neighbours<'_, F>,
    collector: &mut Collector<'_, F>,
    done: &Counter,
) -> Result<(), ReadError> {
    let mut queries = std::mem::take(&mut workspace.gathered);
    queries.clear();
    population.read(part, workspace, &mut |values| queries.extend_from_slice(values))?;
    for (number, &query) in queries.iter().enumerate() {
        if number % QUERIES_AT_ONCE == 0 {
            done.check()?;
        }
        neighbours(part.source, query, distance, &mut |near| {
            if near > query { collector.pair(query, near) } else { Ok(()) }
        })?;
    }
    workspace.gathered = queries;
    Ok(())
}
