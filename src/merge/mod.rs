//! Merging: several indexes in, one out, without sorting again.
//!
//! - [`merged`]: the tables of the output, merged from the inputs' tables by all threads
//! - [`gather`]: dividing the tables at common values, and the records of a part, from all inputs
//! - [`shingles`]: the documents of all inputs, and the lists of their shingles
//!
//! Tables of one design have the same values in the same order in every file. So table t of the output is table t
//! of all inputs, merged: block by block, in the memory of a few blocks per input. A table that some input lacks is
//! sorted, as a build would. Names are united by id, in this file.

mod gather;
mod merged;
mod shingles;

use std::fmt;
use std::io::Write;
use std::path::{Path, PathBuf};

use gather::Filter;
use merged::Merged;
use shingles::MergedShingles;

use crate::error::{BuildError, IdColumn, ReadError};
use crate::format::FileId;
use crate::index::Index;
use crate::names::Names;
use crate::progress::Phase;
use crate::sorted_union::SortedUnion;
use crate::widths::per_width;
use crate::writer::{
    BuildOptions, ColumnSource, Columns, Job, NameSpool, OneByOne, Output, SealedIndex, Sorted, Summary,
    WithId,
};
use hamdex_atomic_file::{AtomicFile, Inputs};
use hamdex_fingerprint::Fingerprint;

/// The most indexes that are merged at once.
pub const MAX_MERGED: usize = 256;

/// Merges indexes into one.
///
/// The output has every fingerprint that some input has, once, and its ids from all inputs, each once. It has
/// the bytes that a build from all fingerprints and ids with the same options has. Tables that all inputs
/// have are merged in the memory of a few blocks per input and without sorting; others are sorted as by a
/// [`Builder`](crate::Builder).
///
/// ```
/// use hamdex::{BuildOptions, Builder, Index, Merger};
///
/// let directory = tempfile::tempdir()?;
/// let path = |name| directory.path().join(name);
/// for (name, fingerprints) in [("a.hamdex", [1, 2]), ("b.hamdex", [2, 3])] {
///     let mut builder = Builder::<u64>::new(path(name))?;
///     fingerprints.into_iter().try_for_each(|fingerprint| builder.push(fingerprint))?;
///     builder.finish()?;
/// }
/// let inputs = [Index::<u64>::open(path("a.hamdex"))?, Index::open(path("b.hamdex"))?];
/// let summary = Merger::new(&inputs)?.finish(path("both.hamdex"))?;
/// assert_eq!(summary.fingerprints, 3);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Merger<'i, F: Fingerprint> {
    inputs: Vec<&'i Index<F>>,
    options: BuildOptions<F>,
    filter: Option<Box<Filter<'i, F>>>,
    renumbers: bool,
}

type Seal<F> = fn(Merger<'_, F>, &Path) -> Result<SealedIndex, BuildError>;
type WriteTo<F> = fn(Merger<'_, F>, &mut (dyn Write + Send)) -> Result<Summary, BuildError>;

per_width! {
    compiled_seal: Seal = seal;
    compiled_write: WriteTo = write;
}

impl<F: Fingerprint> Index<F> {
    /// Returns the options with which a build shapes a file as this one is: design, codec, bytes per block, and whether
    /// there are ids, names, shingles and look-ups.
    #[must_use]
    pub fn build_options(&self) -> BuildOptions<F> {
        let stats = self.stats();
        BuildOptions::new()
            .design(self.design().clone())
            .codec(stats.codec)
            .block_bytes(stats.block_bytes as usize)
            .ids(self.has_ids())
            .names(self.has_names())
            .shingles(self.has_shingles())
            .lookups(self.has_lookups())
    }
}

impl<'i, F: Fingerprint> Merger<'i, F> {
    /// Starts a merge. The output is shaped as the first input is ([`Index::build_options`]), and has no
    /// metadata.
    ///
    /// # Errors
    /// When there is no index, or more than [`MAX_MERGED`]; or when some have ids, names or shingles, and others have
    /// none.
    pub fn new(inputs: impl IntoIterator<Item = &'i Index<F>>) -> Result<Self, BuildError> {
        let inputs: Vec<&Index<F>> = inputs.into_iter().collect();
        let Some(first) = inputs.first().filter(|_| inputs.len() <= MAX_MERGED) else {
            return Err(BuildError::Option {
                option: "the number of indexes to merge",
                given: inputs.len().to_string(),
                expected: format!("from 1 to {MAX_MERGED}; merge more in steps"),
            });
        };
        if inputs.iter().any(|index| index.has_ids() != first.has_ids()) {
            return Err(BuildError::IdsInSome);
        }
        if inputs.iter().any(|index| index.has_names() != first.has_names()) {
            return Err(BuildError::ColumnInSome { column: IdColumn::Names });
        }
        if inputs.iter().any(|index| index.has_shingles() != first.has_shingles()) {
            return Err(BuildError::ColumnInSome { column: IdColumn::Shingles });
        }
        let options = first.build_options();
        Ok(Self { inputs, options, filter: None, renumbers: false })
    }

    /// Sets the options of the output. It has ids, names and shingles if the inputs have, regardless of the options.
    #[must_use]
    pub fn options(mut self, options: BuildOptions<F>) -> Self {
        self.options = options;
        self
    }

    /// Keeps only the records for which `keep` returns `true`, given the number of the input, a fingerprint, and one of
    /// its ids, as in the output, if there are ids. A record that several inputs have is kept if it is kept from one of
    /// them. A fingerprint of which no record is kept is not in the output, nor is the name of such an id.
    ///
    /// It is called from any thread, in no particular order, and twice for each record: it must return the
    /// same both times.
    #[must_use]
    pub fn filter(mut self, keep: impl Fn(usize, F, Option<u64>) -> bool + Sync + 'i) -> Self {
        self.filter = Some(Box::new(keep));
        self
    }

    /// Sets whether the ids of each input are shifted beyond those of the inputs before it: for indexes with
    /// names that were numbered separately, each from 0 on. Names move along. Otherwise ids stay as they are,
    /// and one that several inputs have must have the same name in all of them.
    #[must_use]
    pub fn renumber(mut self, renumber: bool) -> Self {
        self.renumbers = renumber;
        self
    }

    /// Merges into a file, and publishes it once it is durable.
    ///
    /// # Errors
    /// When an option is out of its range, the file cannot be created, is an input, or may not be replaced; when
    /// an input is damaged, or memory or disk run out. The target is untouched then, unless the error is
    /// [`BuildError::is_in_place`].
    pub fn finish(self, path: impl AsRef<Path>) -> Result<Summary, BuildError> {
        self.seal(path)?.publish()
    }

    /// As [`Merger::finish`], without publishing the file: see
    /// [`Builder::seal`](crate::Builder::seal).
    ///
    /// # Errors
    /// As for [`Merger::finish`].
    pub fn seal(self, path: impl AsRef<Path>) -> Result<SealedIndex, BuildError> {
        compiled_seal()(self, path.as_ref())
    }

    /// Merges into any writer, front to back, and flushes it: into a `Vec<u8>`, say, for
    /// [`Index::from_bytes`].
    ///
    /// # Errors
    /// As for [`Merger::finish`]; the writer may have a part of the index then.
    pub fn write_to(self, writer: &mut (impl Write + Send)) -> Result<Summary, BuildError> {
        compiled_write()(self, writer)
    }
}

fn seal<F: Fingerprint>(merger: Merger<'_, F>, path: &Path) -> Result<SealedIndex, BuildError> {
    let Merger { inputs, options, filter, renumbers } = merger;
    let options = checked(&inputs, options)?;
    let id_offsets = id_offsets(&inputs, renumbers)?;
    let files = Inputs::of(inputs.iter().filter_map(|index| index.path.as_deref()));
    let output = AtomicFile::options().overwrite(options.is_overwriting()).inputs(&files).create(path)?;
    let job = Job::new(options, Some(path))?;
    SealedIndex::of(output, &job.options.report, |output| {
        merge((&inputs, &id_offsets), filter.as_deref(), &job, output)
    })
}

fn write<F: Fingerprint>(
    merger: Merger<'_, F>,
    writer: &mut (dyn Write + Send),
) -> Result<Summary, BuildError> {
    let Merger { inputs, options, filter, renumbers } = merger;
    let id_offsets = id_offsets(&inputs, renumbers)?;
    let job = Job::new(checked(&inputs, options)?, None)?;
    let output = Output::new(writer, None);
    Ok(merge((&inputs, &id_offsets), filter.as_deref(), &job, output)?.0)
}

fn merge<F: Fingerprint>(
    inputs: (&[&Index<F>], &[u64]),
    filter: Option<&Filter<'_, F>>,
    job: &Job<F>,
    output: Output<'_>,
) -> Result<(Summary, FileId), BuildError> {
    let columns = columns(inputs, filter.is_some(), job)?;
    if job.options.ids {
        job.write(output, |job| Ok(Merged::<F, WithId<F>>::new(job, inputs, filter)), columns)
    } else {
        job.write(output, |job| Ok(Merged::<F, F>::new(job, inputs, filter)), columns)
    }
}

fn checked<F: Fingerprint>(
    inputs: &[&Index<F>],
    options: BuildOptions<F>,
) -> Result<BuildOptions<F>, BuildError> {
    let options = options
        .ids(inputs.iter().any(|index| index.has_ids()))
        .names(inputs.iter().any(|index| index.has_names()))
        .shingles(inputs.iter().any(|index| index.has_shingles()));
    options.check()?;
    Ok(options)
}

/// Returns the number added to the ids of each input.
fn id_offsets<F: Fingerprint>(inputs: &[&Index<F>], renumbers: bool) -> Result<Vec<u64>, BuildError> {
    if !renumbers {
        return Ok(vec![0; inputs.len()]);
    }
    // The bound that the width of ids gives needs no reading.
    match offsets(inputs, |index| Ok(index.most_id())) {
        Err(BuildError::IdsTooLarge) => offsets(inputs, Index::last_id),
        outcome => outcome,
    }
}

/// Returns the numbers by which ids follow those of the inputs before, given the last id of an index without columns.
fn offsets<F: Fingerprint>(
    inputs: &[&Index<F>],
    last_id: impl Fn(&Index<F>) -> Result<Option<u64>, ReadError>,
) -> Result<Vec<u64>, BuildError> {
    let mut offsets = vec![0; inputs.len()];
    let mut next = Some(0u64);
    for (&index, offset) in inputs.iter().zip(&mut offsets) {
        // Columns have all ids of the index.
        let named = index.names()?.map(|names| names.last_id()).transpose()?.flatten();
        let documents =
            index.shingles()?.map(|shingles| shingles.documents().last_id()).transpose()?.flatten();
        let last = named.max(documents).map_or_else(|| last_id(index), |last| Ok(Some(last)))?;
        let Some(last) = last else { continue };
        *offset = next.ok_or(BuildError::IdsTooLarge)?;
        let last = offset.checked_add(last).ok_or(BuildError::IdsTooLarge)?;
        next = last.checked_add(1);
    }
    Ok(offsets)
}

/// Returns the columns of all inputs.
fn columns<'i, F: Fingerprint>(
    (inputs, id_offsets): (&[&'i Index<F>], &[u64]),
    is_filtered: bool,
    job: &Job<F>,
) -> Result<Columns<'i>, BuildError> {
    let (mut names, mut shingles) = (Vec::new(), Vec::new());
    for (index, &offset) in inputs.iter().zip(id_offsets) {
        names.extend(index.names()?.map(|names| (names, offset)));
        shingles.extend(index.shingles()?.map(|shingles| (shingles, offset)));
    }
    let (temp_dir, done) = (&job.temp_dir, job.options.silent_counter(Phase::Ids));
    let names = job.options.names.then(|| Box::new(MergedNames::new(&names, is_filtered, temp_dir)) as _);
    let merged = || Box::new(MergedShingles::new(shingles, is_filtered, temp_dir, done)) as _;
    Ok(Columns { names, shingles: job.options.shingles.then(merged) })
}

impl<F: Fingerprint> fmt::Debug for Merger<'_, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Merger")
            .field("inputs", &self.inputs)
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}

/// The ids of the output, for ids that ascend.
struct Kept<'s> {
    /// `None` if the output has all ids.
    ids: Option<OneByOne<'s, u64>>,
    next: Option<u64>,
}

impl<'s> Kept<'s> {
    fn new(ids: Option<&'s Sorted<u64>>) -> Result<Self, BuildError> {
        let mut ids = ids.map(Sorted::one_by_one).transpose()?;
        let next = ids.as_mut().map_or(Ok(None), OneByOne::next)?;
        Ok(Self { ids, next })
    }

    /// Returns whether the output has an id, not below that of the call before.
    fn contains(&mut self, id: u64) -> Result<bool, BuildError> {
        let Some(ids) = &mut self.ids else { return Ok(true) };
        while self.next.is_some_and(|next| next < id) {
            self.next = ids.next()?;
        }
        Ok(self.next == Some(id))
    }
}

/// The names of several indexes.
struct MergedNames<'i> {
    /// The names of each, and the number added to its ids.
    inputs: Vec<(Names<'i>, u64)>,
    /// Whether the names of ids that are left out are left out, too.
    is_filtered: bool,
    temp_dir: PathBuf,
}

impl<'i> MergedNames<'i> {
    fn new(inputs: &[(Names<'i>, u64)], is_filtered: bool, temp_dir: &Path) -> Self {
        Self { inputs: inputs.to_vec(), is_filtered, temp_dir: temp_dir.to_owned() }
    }
}

impl ColumnSource for MergedNames<'_> {
    type Spool = NameSpool;

    fn wants_ids(&self) -> bool {
        self.is_filtered
    }

    fn spool(self: Box<Self>, ids: Option<&Sorted<u64>>) -> Result<NameSpool, BuildError> {
        let mut spool = NameSpool::new(&self.temp_dir)?;
        let mut kept = Kept::new(ids)?;
        let lists = self.inputs.into_iter().map(|(names, offset)| {
            names.iter().map(move |named| named.map(|(id, name)| (id.saturating_add(offset), name)))
        });
        let mut last: Option<(u64, &[u8])> = None;
        for item in SortedUnion::of(lists) {
            let (id, _, name) = item?;
            if let Some((last_id, last_name)) = last
                && last_id == id
            {
                if last_name != name {
                    return Err(BuildError::NamesDiffer { id, names: [last_name.to_vec(), name.to_vec()] });
                }
                continue;
            }
            last = Some((id, name));
            if kept.contains(id)? {
                spool.push(id, name)?;
            }
        }
        Ok(spool)
    }
}
