//! The search: an index of the corpus in a temporary directory, asked for each of its fingerprints.

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

use hamdex::{BuildOptions, Builder, Codec, Design, DesignError, Fingerprint, Index, ReadError};
use rayon::prelude::*;

use crate::bars::{self, Phases};
use crate::commands::dedup::check::Check;
use crate::commands::dedup::corpus::Corpus;
use crate::failure::Failure;

/// Fingerprints asked for at a time. Each has at most as many neighbours as lie within the distance,
/// 43,745 for 3 bits of 64, and hardly ever more than a few.
const ASKED_AT_ONCE: usize = 1 << 12;

/// Bytes of a block: small ones, since all of the index is in memory and asked about again and again.
const BLOCK_BYTES: u32 = 1024;

/// How to search.
pub(super) struct Search<'a> {
    pub(super) distance: u32,
    pub(super) memory: Option<u64>,
    pub(super) directory: &'a Path,
}

/// Joins all documents whose fingerprints are within the distance, directly or over others; with a
/// check, only over pairs that it confirms.
pub(super) fn join<F: Fingerprint>(
    corpus: &mut Corpus<F>,
    search: &Search<'_>,
    mut check: Option<&mut Check>,
) -> Result<(), Failure> {
    let directory = tempfile::Builder::new().prefix("hamdex-dedup-").tempdir_in(search.directory);
    let directory = directory.map_err(|source| Failure::Io {
        doing: "make a directory in it",
        path: search.directory.to_owned(),
        source,
    })?;
    let path = directory.path().join("corpus.hamdex");
    build(corpus, search, &path)?;
    let index = Index::<F>::open(&path).map_err(Failure::index(&path))?;
    if cfg!(unix) {
        // What is mapped outlives its name, and a run that is killed then leaves nothing.
        drop(directory);
    }
    let bar = bars::of_items("Comparing", index.len());
    let mut fingerprints = index.fingerprints();
    loop {
        let asked: Vec<F> = fingerprints
            .by_ref()
            .take(ASKED_AT_ONCE)
            .collect::<Result<_, _>>()
            .map_err(Failure::index(&path))?;
        if asked.is_empty() {
            break;
        }
        let found: Vec<Vec<F>> = asked
            .par_iter()
            .map_init(|| index.searcher(), |searcher, &asked| later(searcher, asked, search.distance))
            .collect::<Result<_, ReadError>>()
            .map_err(Failure::index(&path))?;
        for (&fingerprint, others) in asked.iter().zip(found) {
            let own = documents(&index, fingerprint).map_err(Failure::index(&path))?;
            meet(corpus, &own, None, check.as_deref_mut())?;
            for other in others {
                let its = documents(&index, other).map_err(Failure::index(&path))?;
                meet(corpus, &own, Some(&its), check.as_deref_mut())?;
            }
        }
        bar.inc(asked.len() as u64);
    }
    bar.finish_and_clear();
    Ok(())
}

/// The design that costs least to ask as often as there are fingerprints. That is not the one which an
/// index that stays would have: space on the disk is lent for a moment only, up to 50 bytes a document.
pub(super) fn design<F: Fingerprint>(distance: u32, count: u64) -> Result<Design<F>, DesignError> {
    let mut least = None;
    for name in Design::<F>::names(distance) {
        let design = Design::<F>::named(&name, distance)?;
        let cost = design.cost(count, Codec::default(), BLOCK_BYTES);
        // A candidate costs less than a block, but real fingerprints crowd: there are many more of them
        // than the estimate for uniform ones has.
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

fn build<F: Fingerprint>(corpus: &Corpus<F>, search: &Search<'_>, path: &Path) -> Result<(), Failure> {
    let phases = Arc::new(Phases::default());
    let shown = Arc::clone(&phases);
    let mut options = BuildOptions::<F>::new()
        .design(design(search.distance, corpus.searched().count() as u64)?)
        .block_bytes(BLOCK_BYTES as usize)
        .ids(true)
        .temp_dir(search.directory)
        .progress(move |progress| shown.show(progress));
    if let Some(memory) = search.memory {
        options = options.memory(memory);
    }
    let mut builder = Builder::with_options(path, options)?;
    for (number, fingerprint) in corpus.searched() {
        builder.push_with_id(fingerprint, u64::from(number))?;
    }
    let outcome = builder.finish();
    phases.finish();
    outcome?;
    Ok(())
}

/// The greater fingerprints within the distance, so that each pair comes once.
fn later<F: Fingerprint>(
    searcher: &mut hamdex::Searcher<'_, F>,
    asked: F,
    distance: u32,
) -> Result<Vec<F>, ReadError> {
    let mut found = Vec::new();
    let _ = searcher.for_each(asked, distance, |near| {
        if near.fingerprint > asked {
            found.push(near.fingerprint);
        }
        ControlFlow::Continue(())
    })?;
    Ok(found)
}

fn documents<F: Fingerprint>(index: &Index<F>, fingerprint: F) -> Result<Vec<u32>, ReadError> {
    Ok(index.ids(fingerprint)?.map(|id| id as u32).collect())
}

/// Joins the documents of one fingerprint, or those of two near ones.
fn meet<F>(
    corpus: &mut Corpus<F>,
    own: &[u32],
    its: Option<&[u32]>,
    check: Option<&mut Check>,
) -> Result<(), Failure> {
    let Some(check) = check else {
        // All of one fingerprint are joined, or will be, so one of each will do.
        match its {
            Some(its) => corpus.unions.join(own[0], its[0]),
            None => own.iter().for_each(|&document| corpus.unions.join(own[0], document)),
        }
        return Ok(());
    };
    for (at, &one) in own.iter().enumerate() {
        for &other in its.unwrap_or(&own[..at]) {
            // What is joined already need not be confirmed again: the clusters would be the same.
            if !corpus.unions.are_joined(one, other) && check.confirms(one, other)? {
                corpus.unions.join(one, other);
            }
        }
    }
    Ok(())
}
