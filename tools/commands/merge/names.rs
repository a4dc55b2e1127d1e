//! The names of documents beside the files to merge.
//!
//! An id is the number of a name. So files are merged only where each number stands for the same name in all of
//! them: the names of one continue those of another, or are the same.

use std::path::Path;

use hamdex::Fingerprint;
use hamdex_documents::{Names, NamesWriter};

use crate::commands::merge::inputs::Merging;
use crate::failure::{Failure, shown};

/// The names of the output; `None` where ids do not stand for names.
pub(super) fn unite<F: Fingerprint>(
    merging: &Merging<'_, F>,
    temp_dir: &Path,
) -> Result<Option<NamesWriter>, Failure> {
    let mut all = Vec::new();
    for (path, index) in merging.paths.iter().zip(&merging.indexes) {
        all.extend(Names::of(path, index)?);
    }
    // Where some have names and others do not, the metadata differ, which is refused.
    let Some(longest) = (0..all.len()).max_by_key(|&number| all[number].count()) else { return Ok(None) };
    let mut longest = all.swap_remove(longest);
    let mut writer = NamesWriter::new(temp_dir)?;
    for number in 0..longest.count() {
        let name = longest.get(number)?;
        for other in all.iter_mut().filter(|other| number < other.count()) {
            let theirs = other.get(number)?;
            if theirs != name {
                return Err(differ(number, (&longest, &name), (other, &theirs)));
            }
        }
        writer.push(&name)?;
    }
    Ok(Some(writer))
}

fn differ(number: u64, (ours, our_name): (&Names, &str), (other, their_name): (&Names, &str)) -> Failure {
    Failure::Wrong(format!(
        "id {number} is {} in {} and {} in {}: ids would be confused; build one index of all documents",
        shown(our_name),
        ours.path().display(),
        shown(their_name),
        other.path().display(),
    ))
}
