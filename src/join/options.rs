//! The self-join as users start it.

use std::fmt;
use std::num::NonZeroUsize;

use crate::error::{ReadError, ReadErrorKind, check_distance};
use crate::index::Index;
use crate::join::population::{OfIndex, OfValues, Population};
use crate::join::run::Join;
use crate::join::{Found, Outlet, Pair, Tuning};
use crate::memory::{MIN_MEMORY, QUERY_HEADROOM_BYTES, affordable, default_memory, hold};
use crate::progress::{Cancellation, Counter, Phase, Progress, Report, keeping};
use crate::threads;
use crate::widths::per_width;
use hamdex_fingerprint::Fingerprint;

/// Below this number of fingerprints one thread is done before others have started.
const ALONE: u64 = 1 << 14;

/// All pairs of fingerprints within a distance; made by [`Index::pairs`],
/// [`MultiIndex::pairs`](crate::MultiIndex::pairs) or [`pairs`].
///
/// Every pair comes once, in an order that depends on the file, the distance and the memory limit, and
/// not on the number of threads. A fingerprint is stored once, however many ids it has, so equal
/// fingerprints are not pairs.
///
/// Time: each table of the index is read once, and every fingerprint compared with the few that agree with it
/// in the table's prefix. If the tables allow errors in their prefixes (`halves`), or the distance exceeds that
/// of the design, the fingerprints are also sorted in memory, as a design with more tables would have them. A
/// run of m fingerprints with equal prefixes, as crawls have them, is split further by the bits that vary in
/// it: into distance + 1 groups of bits, in one of which the two of a pair agree, and so on in each. It takes
/// about (distance + 1) m sorting steps and comparisons for each such level if the values are spread, and at
/// most m² comparisons.
///
/// All near pairs are found, which may be many: no more than 65 fingerprints of 64 bits lie within two
/// bits of each other, and 2,081 within two bits of one, so a million near-equal *documents* are few
/// fingerprints with long id lists. But a million consecutive numbers, say, are some 7 × 10⁸ pairs
/// within three bits, which take the time to receive them, and no memory.
///
/// Memory: [`Pairs::memory`], and some tens of MiB.
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
#[must_use = "it does nothing until the pairs are collected, counted or visited"]
pub struct Pairs<'a, F> {
    population: Box<dyn Population<F> + 'a>,
    distance: u32,
    options: PairsOptions,
    tuning: Tuning,
}

/// Options of a self-join, as [`Pairs`] has them.
#[derive(Debug, Clone)]
pub struct PairsOptions {
    memory: u64,
    threads: usize,
    report: Report,
}

impl Default for PairsOptions {
    fn default() -> Self {
        Self { memory: default_memory(), threads: 0, report: Report::default() }
    }
}

impl PairsOptions {
    /// Returns all threads, a quarter of the machine's memory, no report.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// See [`Pairs::memory`].
    #[must_use]
    pub fn memory(mut self, bytes: u64) -> Self {
        self.memory = bytes.max(MIN_MEMORY);
        self
    }

    /// See [`Pairs::threads`].
    #[must_use]
    pub fn threads(mut self, threads: usize) -> Self {
        self.threads = threads;
        self
    }

    crate::progress::report_setters!();
}

type OfIndexPairs<F> = for<'i> fn(&'i Index<F>, u32) -> Pairs<'i, F>;
type OfValuesPairs<F> = for<'v> fn(&'v [F], u32) -> Pairs<'v, F>;
type Run<F> = fn(&Pairs<'_, F>, bool, Outlet<'_, F>) -> Result<(), ReadError>;

per_width! {
    compiled_of_index: OfIndexPairs = |index, distance| Pairs::of(Box::new(OfIndex(index)), distance);
    compiled_of_values: OfValuesPairs = |values, distance| Pairs::of(Box::new(OfValues::new(values)), distance);
    compiled_run: Run = run;
}

impl<F: Fingerprint> Index<F> {
    /// Returns the self-join: all pairs of stored fingerprints within `distance`; one beyond the design's takes
    /// longer. Nothing happens until one of the methods of [`Pairs`] is called for them.
    pub fn pairs(&self, distance: u32) -> Pairs<'_, F> {
        compiled_of_index()(self, distance)
    }
}

/// Returns the self-join of fingerprints in memory: all pairs of them within `distance`, without an index. Equal ones
/// count as one, so they are not pairs.
///
/// Nothing happens until one of the methods of [`Pairs`] is called; then the fingerprints are copied, sorted
/// once, and joined as those of an index are. That takes memory for about three copies, regardless of
/// [`Pairs::memory`].
///
/// ```
/// let fingerprints = [0x00ff, 0xabcd_ef01_2345_6789, 0x01ff, 0x00ff_u64];
/// let pairs = hamdex::pairs(&fingerprints, 3).collect()?;
/// assert_eq!(pairs.len(), 1);
/// assert_eq!((pairs[0].a, pairs[0].b, pairs[0].distance), (0x00ff, 0x01ff, 1));
/// # Ok::<(), hamdex::ReadError>(())
/// ```
pub fn pairs<F: Fingerprint>(fingerprints: &[F], distance: u32) -> Pairs<'_, F> {
    compiled_of_values()(fingerprints, distance)
}

impl<'a, F: Fingerprint> Pairs<'a, F> {
    pub(crate) fn of(population: Box<dyn Population<F> + 'a>, distance: u32) -> Self {
        Self { population, distance, options: PairsOptions::default(), tuning: Tuning::default() }
    }

    /// Sets the memory limit, in bytes; by default a quarter of the machine's memory, at least 16 MiB. Values
    /// that do not fit are joined in slices, each of which reads table 0 again; if the fingerprints that agree
    /// in one prefix do not fit, every fingerprint is queried on its own.
    pub fn memory(mut self, bytes: u64) -> Self {
        self.options = self.options.memory(bytes);
        self
    }

    /// Takes all of these options.
    pub fn options(mut self, options: &PairsOptions) -> Self {
        self.options = options.clone();
        self
    }

    /// Sets the number of threads; 0, the default, for all: see [the crate](crate#threads-memory-progress).
    /// They are never threads of a pool, since threads that wait for their turn must not block a pool.
    pub fn threads(mut self, threads: usize) -> Self {
        self.options.threads = threads;
        self
    }

    /// Sets a callback that any thread calls during the work: see [the crate](crate#threads-memory-progress).
    pub fn progress(mut self, report: impl Fn(Progress) + Send + Sync + 'static) -> Self {
        self.options = self.options.progress(report);
        self
    }

    /// Adds a cancellation of the work: see [the crate](crate#threads-memory-progress).
    pub fn cancellation(mut self, cancellation: Cancellation) -> Self {
        self.options = self.options.cancellation(cancellation);
        self
    }

    /// Forces a way of the work.
    #[cfg(feature = "unstable")]
    pub fn tuning(mut self, tuning: Tuning) -> Self {
        self.tuning = tuning;
        self
    }

    /// Calls `visit`, on this thread, with each pair. An error of `visit` ends it.
    ///
    /// ```
    /// # use hamdex::{Builder, Index};
    /// # let directory = tempfile::tempdir()?;
    /// # let path = directory.path().join("news.hamdex");
    /// # let mut builder = Builder::<u64>::new(&path)?;
    /// # (0..100u64).try_for_each(|i| builder.push(i))?;
    /// # builder.finish()?;
    /// use hamdex::{ReadError, Stopped};
    ///
    /// let index = Index::<u64>::open(&path)?;
    /// let mut first_ten = Vec::new();
    /// let outcome = index.pairs(1).for_each(|pair| {
    ///     first_ten.push(pair);
    ///     if first_ten.len() < 10 { Ok(()) } else { Err(ReadError::from(Stopped)) }
    /// });
    /// assert!(outcome.is_err() && first_ten.len() == 10);
    /// assert!(first_ten.iter().all(|pair| pair.a < pair.b && pair.distance == 1));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// When a block is damaged, and the pairs that come before it in the order have been visited then; or the distance
    /// exceeds the width; the error of `visit`.
    pub fn for_each<E: From<ReadError>>(
        &self,
        mut visit: impl FnMut(Pair<F>) -> Result<(), E>,
    ) -> Result<(), E> {
        self.for_each_batch(|batch| batch.iter().try_for_each(|&pair| visit(pair)))
    }

    /// As [`Pairs::for_each`], some thousands of pairs at a time.
    ///
    /// # Errors
    /// As there.
    pub fn for_each_batch<E: From<ReadError>>(
        &self,
        mut visit: impl FnMut(&[Pair<F>]) -> Result<(), E>,
    ) -> Result<(), E> {
        check_distance::<F>(self.distance)?;
        keeping(|keep| {
            compiled_run()(self, false, &mut |found| match found {
                Found::Pairs(pairs) => keep.error(visit(&pairs)),
                Found::Counts(_) => unreachable!("pairs are not counted here"),
            })
        })
    }

    /// Returns all pairs. They are all in memory then, of which [`Pairs::memory`] knows nothing.
    ///
    /// # Errors
    /// When a block is damaged, or the distance exceeds the width.
    pub fn collect(&self) -> Result<Vec<Pair<F>>, ReadError> {
        let mut all = Vec::new();
        self.for_each_batch(|batch| {
            all.extend_from_slice(batch);
            Ok::<_, ReadError>(())
        })?;
        Ok(all)
    }

    /// Counts the pairs at each distance, from 0 on, which has none.
    ///
    /// # Errors
    /// When a block is damaged, or the distance exceeds the width.
    pub fn count_by_distance(&self) -> Result<Vec<u64>, ReadError> {
        check_distance::<F>(self.distance)?;
        let mut sums = vec![0; self.distance as usize + 1];
        compiled_run()(self, true, &mut |found| {
            if let Found::Counts(counts) = found {
                sums.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
            }
            Ok(())
        })?;
        Ok(sums)
    }
}

fn run<F: Fingerprint>(
    pairs: &Pairs<'_, F>,
    is_counting: bool,
    deliver: Outlet<'_, F>,
) -> Result<(), ReadError> {
    let population = &*pairs.population;
    if pairs.distance == 0 || population.len() < 2 {
        return Ok(());
    }
    let is_small = pairs.options.threads == 0 && population.len() < ALONE;
    let threads = if is_small {
        NonZeroUsize::MIN
    } else {
        // The threads must leave this to the work.
        let _held = hold(pairs.options.memory.min(MIN_MEMORY) + QUERY_HEADROOM_BYTES);
        threads::count(pairs.options.threads)
    };
    let memory = {
        // The threads start later, and need theirs.
        let _held = (threads > NonZeroUsize::MIN).then(|| hold(threads::room(threads)));
        affordable(pairs.options.memory, QUERY_HEADROOM_BYTES)
    };
    let memory = memory.map_err(|bytes| population.error(ReadErrorKind::OutOfMemory { bytes }.into()))?;
    let preparing = Counter::new(pairs.options.report.clone(), Phase::Pairs, None);
    population.prepare(pairs.options.threads, &preparing).map_err(|error| population.error(error))?;
    let join = Join {
        population,
        distance: pairs.distance,
        memory,
        threads,
        report: &pairs.options.report,
        tuning: pairs.tuning,
        is_counting,
    };
    join.run(deliver).map_err(|error| population.error(error))
}

impl<F: Fingerprint> fmt::Debug for Pairs<'_, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pairs")
            .field("fingerprints", &self.population.len())
            .field("distance", &self.distance)
            .field("memory", &self.options.memory)
            .field("threads", &self.options.threads)
            .finish_non_exhaustive()
    }
}
