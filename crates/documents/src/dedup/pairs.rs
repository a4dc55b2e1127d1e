//! The search: a temporary index of the corpus, queried with each of its fingerprints.

use std::fs::File;
use std::io;
use std::ops::ControlFlow;
#[cfg(target_os = "linux")]
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};

use hamdex::{
    BuildError, BuildOptions, Builder, Codec, Design, DesignError, Engine, Fingerprint, Index, OpenOptions,
    OutputError, ReadError,
};
use rayon::prelude::*;
use tempfile::TempDir;

use crate::dedup::check::Checker;
use crate::dedup::corpus::Corpus;
use crate::error::Error;
use crate::progress::{OnProgress, Progress};

/// Fingerprints queried at a time. Each has at most as many neighbours as lie within the distance,
/// 43,745 for 3 bits of 64, and hardly ever more than a few.
const QUERY_BATCH: usize = 1 << 12;

/// Bytes of a block: small blocks, since the whole index is in memory and is queried many times.
const BLOCK_BYTES: u32 = 1024;

/// Options of the search.
#[derive(Clone)]
pub(crate) struct Search {
    pub(crate) distance: u32,
    pub(crate) memory: Option<u64>,
    pub(crate) directory: PathBuf,
    pub(crate) on_progress: Option<OnProgress>,
}

impl Search {
    fn report(&self, progress: Progress) {
        if let Some(report) = &self.on_progress {
            report(progress);
        }
    }
}

/// Joins all documents whose fingerprints are within the distance of each other; with a check, only pairs that
/// it confirms.
pub(crate) fn join<F: Engine>(
    corpus: &mut Corpus<F>,
    search: &Search,
    mut check: Option<&mut Checker<'_>>,
) -> Result<(), Error> {
    let place = Place::new(&search.directory)
        .map_err(Error::temporary("create a temporary file in it", &search.directory))?;
    build(corpus, search, &place.path).map_err(|error| of_temporary(error, &search.directory))?;
    let index = F::open(&place.path, &OpenOptions::new())?;
    if cfg!(unix) {
        // A mapped file outlives its name.
        drop(place);
    }
    let mut fingerprints = index.fingerprints();
    let mut done = 0;
    loop {
        search.report(Progress::Compare { done, total: index.len() });
        let batch: Vec<F> = fingerprints.by_ref().take(QUERY_BATCH).collect::<Result<_, _>>()?;
        if batch.is_empty() {
            return Ok(());
        }
        let found: Vec<Vec<F>> = batch
            .par_iter()
            .map_init(|| index.searcher(), |searcher, &query| later(searcher, query, search.distance))
            .collect::<Result<_, ReadError>>()?;
        for (&fingerprint, others) in batch.iter().zip(found) {
            let own = documents(&index, fingerprint)?;
            meet(corpus, &own, None, check.as_deref_mut())?;
            for other in others {
                let its = documents(&index, other)?;
                meet(corpus, &own, Some(&its), check.as_deref_mut())?;
            }
        }
        done += batch.len() as u64;
    }
}

/// Where the index of the search is while it is built: on Linux a file without a name, so that a killed run
/// leaves nothing, under the one by which the system knows it.
struct Place {
    path: PathBuf,
    _file: Option<File>,
    _directory: Option<TempDir>,
}

impl Place {
    fn new(directory: &Path) -> io::Result<Self> {
        #[cfg(target_os = "linux")]
        {
            let file = tempfile::tempfile_in(directory)?;
            let path = PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd()));
            if path.metadata().is_ok() {
                return Ok(Self { path, _file: Some(file), _directory: None });
            }
        }
        let directory = tempfile::Builder::new().prefix("hamdex-dedup-").tempdir_in(directory)?;
        let path = directory.path().join("corpus.hamdex");
        Ok(Self { path, _file: None, _directory: Some(directory) })
    }
}

/// Says of an error of the temporary index in which directory it is: its own name says nothing to a user.
fn of_temporary(error: Error, directory: &Path) -> Error {
    match error {
        Error::Build(BuildError::Output(OutputError::Io { source, .. })) => {
            Error::temporary("write a temporary file in it", directory)(source)
        }
        other => other,
    }
}

/// Returns the design with the fastest queries, one per fingerprint. An index that is kept would have a smaller
/// one; this index exists only for the search, and takes up to 50 bytes per document.
pub(crate) fn design<F: Fingerprint>(distance: u32, count: u64) -> Result<Design<F>, DesignError> {
    let mut least = None;
    for name in Design::<F>::names(distance) {
        let design = Design::<F>::named(&name, distance)?;
        let cost = design.cost(count, Codec::default(), BLOCK_BYTES);
        // A candidate costs less than a block, but real fingerprints are clustered: there are many more
        // candidates than in the estimate for uniform ones.
        let steps = cost.blocks_per_query + cost.candidates_per_query;
        if least.as_ref().is_none_or(|(fewest, _)| steps < *fewest) {
            least = Some((steps, design));
        }
    }
    match least {
        Some((_, design)) => Ok(design),
        None => Design::auto(distance, count, Codec::default(), BLOCK_BYTES),
    }
}

fn build<F: Engine>(corpus: &Corpus<F>, search: &Search, path: &Path) -> Result<(), Error> {
    let mut options = BuildOptions::<F>::new()
        .design(design(search.distance, corpus.searched().count() as u64)?)
        .block_bytes(BLOCK_BYTES as usize)
        .ids(true)
        .temp_dir(&search.directory);
    if let Some(report) = search.on_progress.clone() {
        options = options.progress(move |progress| {
            report(Progress::Index(progress));
            ControlFlow::Continue(())
        });
    }
    if let Some(memory) = search.memory {
        options = options.memory(memory);
    }
    let mut builder = Builder::with_options(path, options)?;
    for (number, fingerprint) in corpus.searched() {
        F::push_with_id(&mut builder, fingerprint, u64::from(number))?;
    }
    F::seal(builder)?.publish()?;
    Ok(())
}

/// Returns the greater fingerprints within the distance, so each pair is found once.
fn later<F: Engine>(
    searcher: &mut hamdex::Searcher<&Index<F>>,
    query: F,
    distance: u32,
) -> Result<Vec<F>, ReadError> {
    let near = F::within(searcher, query, distance)?.iter().map(|near| near.fingerprint);
    Ok(near.filter(|&near| near > query).collect())
}

fn documents<F: Engine>(index: &Index<F>, fingerprint: F) -> Result<Vec<u32>, ReadError> {
    Ok(F::ids(index, fingerprint)?.map(|id| id as u32).collect())
}

/// Joins the documents of one fingerprint, or those of two near ones.
fn meet<F>(
    corpus: &mut Corpus<F>,
    own: &[u32],
    its: Option<&[u32]>,
    check: Option<&mut Checker<'_>>,
) -> Result<(), Error> {
    let Some(check) = check else {
        // All documents of one fingerprint are joined, or will be, so one of each is enough.
        match its {
            Some(its) => corpus.unions.join(own[0], its[0]),
            None => own.iter().for_each(|&document| corpus.unions.join(own[0], document)),
        }
        return Ok(());
    };
    for (at, &one) in own.iter().enumerate() {
        for &other in its.unwrap_or(&own[..at]) {
            // Joined documents need no check: the clusters would be the same.
            if !corpus.unions.are_joined(one, other) && check.confirms(one, other)? {
                corpus.unions.join(one, other);
            }
        }
    }
    Ok(())
}
