//! The trait of all ways to hold a set, and the records of an id in a set with look-ups.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use hamdex::set::Description;
use hamdex::{Fingerprint, Index, Verified, VerifyOptions};
use hamdex_any::{AnySet, for_width};
use hamdex_store::Snapshot;

use crate::problem::Problem;
use crate::sets::Extent;
use crate::sets::watch::Directory;

/// A way to hold a set. `Served` asks it for the set only while [`Source::directory`] is in its place.
pub(super) trait Source: Send + Sync {
    /// Returns how far the queries of the set reach, without a look at the disk.
    fn extent(&self) -> Result<Extent, Problem>;

    /// Returns the set as it is now.
    ///
    /// # Errors
    /// When it cannot be opened, or was overwritten in place.
    fn current(&self) -> Result<AnySet, Problem>;

    /// Checks that no file was seen to be overwritten.
    fn check(&self) -> Result<(), Problem>;

    /// Looks whether files were overwritten in place; whether another attempt is due to open one for which the system is
    /// to blame.
    fn look(&self, is_due: bool);

    /// Returns the directory of a store that is open: requests fail once it is gone.
    fn directory(&self) -> Option<&Directory> {
        None
    }

    /// Whether something lies in its place that is opened in another way, or with a lock: another directory in that of a
    /// store, or a store in that of a file or of shards.
    fn is_replaced(&self) -> bool {
        self.directory().is_some_and(Directory::is_replaced)
    }

    /// Whether another file lies in the place of one of its files.
    fn has_other_file(&self) -> bool;

    /// Whether another attempt to open it may succeed without another file in place of one of its files: when it `is_due` if
    /// the system is to blame, or after a repair.
    fn may_open_now(&self, is_due: bool) -> bool;

    /// Returns the properties of the set as it is now.
    fn description(&self) -> Result<Description, Problem> {
        Ok(self.current()?.description().clone())
    }

    /// Reads and checks all files.
    fn verify(&self, options: &VerifyOptions) -> Result<Verified, Problem> {
        let set = self.current()?;
        let verified = set.verify(options);
        // Of damage in a file that was overwritten, that is the reason to give.
        set.check_files()?;
        self.check()?;
        Ok(verified?)
    }

    /// Returns the fingerprints of an id, in the set as it is now.
    fn find(&self, set: &AnySet, key: &Key) -> Result<Vec<String>, Problem> {
        for_width!(set.description().width, F => {
            let index = set.typed::<F>().and_then(|set| set.as_index());
            in_index(index.ok_or_else(Problem::no_lookups)?, key)
        })
    }

    /// Returns the index files of the set.
    fn parts(&self) -> Result<Vec<Part>, Problem>;
}

/// An index file that is a set, or a part of one.
pub(crate) struct Part {
    pub(crate) name: String,
    pub(crate) path: PathBuf,
}

impl Part {
    pub(super) fn of(path: PathBuf) -> Self {
        Self { name: path.file_name().unwrap_or_default().to_string_lossy().into_owned(), path }
    }
}

/// Returns the path of a segment of a store.
pub(super) fn segment(path: &Path, number: u64) -> PathBuf {
    path.join("segments").join(format!("{number:06}.hamdex"))
}

/// The most records of an id that are answered.
const MAX_MATCHES: usize = 1_000_000;

/// An id to look for.
pub(crate) enum Key {
    Number(u64),
    /// The names that are shown as one text.
    Names(Vec<Vec<u8>>),
}

/// Returns the fingerprints of an id, ascending, as hexadecimal digits: all if they are at most [`MAX_MATCHES`].
///
/// # Errors
/// When they are more, of which no more are gathered; when a page is damaged.
pub(super) fn in_snapshot<F: Fingerprint>(snapshot: &Snapshot<F>, key: &Key) -> Result<Vec<String>, Problem> {
    let ids = match key {
        Key::Number(id) => HashSet::from([*id]),
        Key::Names(names) => snapshot.some_ids_of_names(&names.iter().cloned().collect(), MAX_MATCHES)?,
    };
    check_number(ids.len())?;
    let pairs = snapshot.some_pairs_of(&ids, MAX_MATCHES)?;
    digits(pairs.into_iter().map(|(fingerprint, _)| fingerprint).collect())
}

/// As [`in_snapshot`].
pub(super) fn in_index<F: Fingerprint>(index: &Index<F>, key: &Key) -> Result<Vec<String>, Problem> {
    let lookups = index.lookups()?.ok_or_else(Problem::no_lookups)?;
    let mut ids = Vec::new();
    match key {
        Key::Number(id) => ids.push(*id),
        Key::Names(names) => {
            for name in names {
                ids.extend(lookups.ids_of_name_from(name, 0, MAX_MATCHES + 1)?);
                check_number(ids.len())?;
            }
        }
    }
    let mut found = Vec::new();
    for id in ids {
        for place in lookups.places_of(id, MAX_MATCHES + 1, |_| true)? {
            found.push(index.fingerprint_at(place)?);
        }
        check_number(found.len())?;
    }
    digits(found)
}

fn check_number(found: usize) -> Result<(), Problem> {
    if found <= MAX_MATCHES {
        return Ok(());
    }
    let detail = format!("the id has more than {MAX_MATCHES} records; entries has all");
    Err(Problem::unprocessable("too_many_matches", detail))
}

fn digits<F: Fingerprint>(mut fingerprints: Vec<F>) -> Result<Vec<String>, Problem> {
    check_number(fingerprints.len())?;
    fingerprints.sort_unstable();
    fingerprints.dedup();
    Ok(fingerprints.into_iter().map(|fingerprint| fingerprint.hex().to_string()).collect())
}
