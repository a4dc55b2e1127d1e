//! The members of clusters, and their distances from the kept documents.

use hamdex::Fingerprint;
use hamdex_simhash::resemblance;
use rayon::prelude::*;

use crate::dedup::classes::Classes;
use crate::dedup::corpus::Corpus;
use crate::dedup::grouping::Groups;
use crate::dedup::resources::{CHECK_EVERY, Resources};
use crate::dedup::resources::{Progress, Stage};
use crate::dedup::spill::Spilled;
use crate::error::Error;

/// Members measured between two progress reports.
const MEASURED_AT_ONCE: usize = 1 << 14;

/// A document of a cluster.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Member {
    /// The cluster, numbered from 1 in the order of the clusters' first documents.
    pub cluster: u32,
    /// The document, numbered from 0 in the order of the input.
    pub document: u32,
    /// Whether it is the kept document of its cluster; the others are its duplicates.
    pub is_kept: bool,
    /// The distance of its fingerprint from that of the kept document, in bits.
    pub distance: u32,
    /// The share of shingles in common with the kept document, from 0 to 1; `None` unless texts are compared.
    pub similarity: Option<f64>,
}

/// A placeholder for a member that is not filled in yet.
const UNFILLED: Member = Member { cluster: 0, document: 0, is_kept: false, distance: 0, similarity: None };

/// Finds the members of all clusters, by cluster and then by document.
pub(crate) fn find<F: Fingerprint>(
    corpus: &Corpus<F>,
    groups: &Groups,
    resources: &Resources,
) -> Result<Vec<Member>, Error> {
    let classes = &groups.classes;
    let first = |class: u32| groups.first[class as usize];
    let check = resources.cancellation_check(Stage::Cluster, corpus.states.len());
    let mut sizes = vec![0; classes.len()];
    for_each(classes, &check, |_, class| sizes[first(class) as usize] += 1)?;
    // The number of a cluster by its first class, 0 until its first member is found; by cluster, the kept document
    // and the start of its members.
    let mut numbers = vec![0; classes.len()];
    let (mut kept, mut starts) = (Vec::new(), Vec::new());
    let mut count = 0;
    for_each(classes, &check, |_, class| {
        let first = first(class);
        let (size, number): (usize, &mut u32) = (sizes[first as usize], &mut numbers[first as usize]);
        if size > 1 && *number == 0 {
            kept.push(classes.leader(first));
            starts.push(count);
            count += size;
            *number = kept.len() as u32;
        }
    })?;
    let mut members = vec![UNFILLED; count];
    // Documents come in ascending order, so each member takes the next place of its cluster.
    for_each(classes, &check, |document, class| {
        let cluster = numbers[first(class) as usize];
        let Some(number) = (cluster as usize).checked_sub(1) else { return };
        let leader = kept[number];
        let fingerprint = |document: u32| corpus.fingerprints[document as usize];
        members[starts[number]] = Member {
            cluster,
            document,
            is_kept: document == leader,
            distance: fingerprint(document).distance(fingerprint(leader)),
            similarity: None,
        };
        starts[number] += 1;
    })?;
    if let Some(sets) = &corpus.sets {
        let total = Some(members.len() as u64);
        let mut done = 0;
        for some in members.chunks_mut(MEASURED_AT_ONCE) {
            resources.report(Progress::new(Stage::Measure, done, total))?;
            done += some.len() as u64;
            some.par_iter_mut()
                .try_for_each(|member| measure(member, kept[member.cluster as usize - 1], (groups, sets)))?;
        }
    }
    Ok(members)
}

/// Calls `visit` with every document that has a class, and its class; and `check` now and then, until it fails.
fn for_each(
    classes: &Classes,
    check: &impl Fn() -> Result<(), Error>,
    mut visit: impl FnMut(u32, u32),
) -> Result<(), Error> {
    for (place, (document, class)) in classes.documents().enumerate() {
        if place.is_multiple_of(CHECK_EVERY) {
            check()?;
        }
        visit(document, class);
    }
    Ok(())
}

fn measure(member: &mut Member, kept: u32, (groups, sets): (&Groups, &Spilled<u64>)) -> Result<(), Error> {
    let is_equal = groups.classes.of(member.document) == groups.classes.of(kept);
    let similarity = if is_equal { 1.0 } else { resemblance(&sets.get(member.document)?, &sets.get(kept)?) };
    member.similarity = Some(similarity);
    Ok(())
}
