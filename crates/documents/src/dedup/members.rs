//! The members of clusters, and how far they are from what is kept.

use hamdex::Engine;
use hamdex_simhash::resemblance;
use rayon::prelude::*;

use crate::dedup::corpus::Corpus;
use crate::dedup::groups::Groups;
use crate::dedup::search::Search;
use crate::dedup::shelf::Shelved;
use crate::error::Error;
use crate::progress::{Progress, Stage};

/// Members that are measured between two reports.
const MEASURED_AT_ONCE: usize = 1 << 14;

/// A document of a cluster.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Member {
    /// The cluster, numbered from 1 in the order of the clusters' first documents.
    pub cluster: u32,
    /// The document, numbered from 0 in the order of the input.
    pub document: u32,
    /// Whether it is the one document of its cluster that is kept; the others are its duplicates.
    pub is_kept: bool,
    /// The distance of its fingerprint to that of the kept document, in bits.
    pub distance: u32,
    /// The share of shingles that it has in common with the kept document, from 0 to 1; `None` where texts are not
    /// compared.
    pub similarity: Option<f64>,
}

/// Finds the members of all clusters, by cluster and then by document.
pub(crate) fn find<F: Engine>(
    corpus: &Corpus<F>,
    groups: &Groups,
    search: &Search,
) -> Result<Vec<Member>, Error> {
    let classes = &groups.classes;
    let first = |class: u32| groups.first[class as usize];
    let mut sizes = vec![0u32; classes.len()];
    classes.documents().for_each(|(_, class)| sizes[first(class) as usize] += 1);
    // By the first class of each cluster; 0 before the first member is met.
    let mut numbers = vec![0; classes.len()];
    let mut kept = Vec::new();
    let mut members = Vec::new();
    for (document, class) in classes.documents() {
        let first = first(class);
        if sizes[first as usize] < 2 {
            continue;
        }
        let leader = classes.leader(first);
        let number: &mut u32 = &mut numbers[first as usize];
        if *number == 0 {
            kept.push(leader);
            *number = kept.len() as u32;
        }
        let fingerprint = |document: u32| corpus.fingerprints[document as usize];
        members.push(Member {
            cluster: *number,
            document,
            is_kept: document == leader,
            distance: fingerprint(document).distance(fingerprint(leader)),
            similarity: None,
        });
    }
    members.par_sort_unstable_by_key(|member| (member.cluster, member.document));
    if let Some(sets) = &corpus.sets {
        let total = Some(members.len() as u64);
        let mut done = 0;
        for some in members.chunks_mut(MEASURED_AT_ONCE) {
            search.report(Progress::new(Stage::Measure, done, total))?;
            done += some.len() as u64;
            some.par_iter_mut()
                .try_for_each(|member| measure(member, kept[member.cluster as usize - 1], (groups, sets)))?;
        }
    }
    Ok(members)
}

fn measure(member: &mut Member, kept: u32, (groups, sets): (&Groups, &Shelved<u64>)) -> Result<(), Error> {
    let is_equal = groups.classes.of(member.document) == groups.classes.of(kept);
    let similarity = if is_equal { 1.0 } else { resemblance(&sets.get(member.document)?, &sets.get(kept)?) };
    member.similarity = Some(similarity);
    Ok(())
}
