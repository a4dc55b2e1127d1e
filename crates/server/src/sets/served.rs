//! One set of the service under its name: a store that it writes, a set that it only reads, or one that cannot be opened.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use hamdex::set::Description;
use hamdex::{Verified, VerifyOptions};
use hamdex_any::{AnySet, Kind};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::problem::{Failure, Problem};
use crate::sets::Extent;
use crate::sets::fixed::Fixed;
use crate::sets::own_stores::may_be_made;
use crate::sets::reading::Reading;
use crate::sets::source::{Key, Part, Source};
use crate::sets::watch::{Directory, Stamp};
use crate::sets::written::Written;

/// The file that changes when a store is repaired.
const MANIFEST: &str = "manifest";

/// The kind of the ids of a set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum IdKind {
    /// Fingerprints alone.
    None,
    /// Each with one or more numbers of at most 64 bits.
    Numbers,
    /// Each with one or more names.
    Names,
}

impl IdKind {
    pub(crate) fn of(description: &Description) -> Self {
        match (description.has_ids, description.has_names) {
            (_, true) => Self::Names,
            (true, false) => Self::Numbers,
            (false, false) => Self::None,
        }
    }
}

/// A set under its name.
pub(crate) struct Served {
    pub(crate) name: String,
    pub(crate) path: PathBuf,
    /// Whether it was found in the directory of sets, rather than named by the operator.
    pub(super) is_found: bool,
    source: Arc<dyn Source>,
    /// The source, if it is open for writing; or the reason why it is not.
    written: Result<Arc<Written>, Problem>,
}

impl Served {
    fn new(name: String, path: &Path, source: impl Source + 'static, no_writes: Problem) -> Self {
        Self {
            name,
            path: path.to_owned(),
            is_found: false,
            source: Arc::new(source),
            written: Err(no_writes),
        }
    }

    pub(super) fn of_store(name: String, path: &Path, store: Written) -> Self {
        let store = Arc::new(store);
        let (source, written) = (Arc::clone(&store) as _, Ok(store));
        Self { name, path: path.to_owned(), is_found: false, source, written }
    }

    pub(super) fn of_reading(name: String, path: &Path, in_memory: bool) -> Result<Self, Failure> {
        let no_writes = Problem::read_only(format!("{name:?} is served for reading (--read-only)"));
        Ok(Self::new(name, path, Reading::open(path, in_memory)?, no_writes))
    }

    pub(super) fn of_fixed(name: String, path: &Path, in_memory: bool) -> Result<Self, Failure> {
        let no_writes = no_store(&name);
        Ok(Self::new(name, path, Fixed::open(path, in_memory)?, no_writes))
    }

    pub(super) fn broken(name: String, path: &Path, kind: Kind, in_memory: bool, problem: Problem) -> Self {
        if kind == Kind::Store {
            return Self::new(name, path, Broken::of(path, problem.clone()), problem);
        }
        let no_writes = no_store(&name);
        Self::new(name, path, Fixed::broken(path, in_memory, problem), no_writes)
    }

    /// Marks it as one of the directory of sets.
    pub(super) fn found(self) -> Self {
        Self { is_found: true, ..self }
    }

    /// Returns how far the queries of the set reach, without a look at the disk.
    ///
    /// # Errors
    /// When it cannot be opened.
    pub(crate) fn extent(&self) -> Result<Extent, Problem> {
        self.source.extent()
    }

    /// Returns the store, if it is open for writing.
    pub(crate) fn written(&self) -> Option<&Written> {
        self.written.as_deref().ok()
    }

    /// Returns the store.
    ///
    /// # Errors
    /// As for [`Served::opened_for_writing`]; when it is gone, or was overwritten in place.
    pub(crate) fn writable(&self) -> Result<&Written, Problem> {
        let written = self.opened_for_writing()?;
        self.in_place()?.check()?;
        Ok(written)
    }

    /// Returns the store, without a look at the disk.
    ///
    /// # Errors
    /// When the set is none, or open for reading only.
    pub(crate) fn opened_for_writing(&self) -> Result<&Written, Problem> {
        self.written.as_deref().map_err(Problem::clone)
    }

    /// Returns the set as it is now.
    ///
    /// # Errors
    /// When it cannot be opened, is gone, or was overwritten in place.
    pub(crate) fn current(&self) -> Result<AnySet, Problem> {
        self.in_place()?.current()
    }

    /// Calls `read` with the set as it is now. An answer from files that were overwritten or cut off meanwhile is an
    /// error.
    ///
    /// # Errors
    /// As for [`Served::current`]; that of `read`.
    pub(crate) fn read<T>(&self, read: impl FnOnce(&AnySet) -> Result<T, Problem>) -> Result<T, Problem> {
        let set = self.current()?;
        let outcome = read(&set);
        self.check(&set)?;
        outcome
    }

    /// Checks that no file of the set was overwritten or truncated since the result was computed.
    ///
    /// # Errors
    /// When one was.
    pub(crate) fn check(&self, set: &AnySet) -> Result<(), Problem> {
        set.check_files()?;
        self.source.check()
    }

    /// The problem of a store whose directory was moved away or removed.
    pub(super) fn gone(&self) -> Problem {
        let may_be_made = self.is_found && self.written().is_some() && may_be_made(&self.path);
        Problem::gone(&self.path, may_be_made)
    }

    /// Returns the source, unless it is gone.
    fn in_place(&self) -> Result<&dyn Source, Problem> {
        if self.is_gone() { Err(self.gone()) } else { Ok(&*self.source) }
    }

    /// Looks whether files of the set were overwritten in place; whether another attempt is due to open one for which the
    /// system is to blame.
    pub(super) fn look(&self, is_due: bool) {
        self.source.look(is_due);
    }

    /// Whether it is a store whose directory was moved away or removed.
    pub(super) fn is_gone(&self) -> bool {
        self.source.directory().is_some_and(|directory| !directory.is_there())
    }

    /// Whether something lies in its place that is opened in another way.
    pub(super) fn is_replaced(&self) -> bool {
        self.source.is_replaced()
    }

    /// Whether requests to it fail, and another attempt to open it may succeed: of one for which the system is to blame
    /// when it `is_due`, of others after a repair, or when another file lies in place of one that was overwritten.
    pub(super) fn may_open_now(&self, is_due: bool) -> bool {
        self.current().is_err() && self.source.has_other_file()
            || !self.is_gone() && self.source.may_open_now(is_due)
    }

    /// Returns the properties of the set as it is now.
    ///
    /// # Errors
    /// As for [`Served::current`].
    pub(crate) fn description(&self) -> Result<Description, Problem> {
        self.in_place()?.description()
    }

    /// Reads and checks all files of the set.
    ///
    /// # Errors
    /// The first damage; as for [`Served::current`].
    pub(crate) fn verify(&self, options: &VerifyOptions) -> Result<Verified, Problem> {
        self.in_place()?.verify(options)
    }

    /// Returns the fingerprints of an id, ascending, as hexadecimal digits, in a set with look-ups.
    ///
    /// # Errors
    /// When a page is damaged; as for [`Served::current`].
    pub(crate) fn find(&self, key: &Key) -> Result<Vec<String>, Problem> {
        self.read(|set| self.source.find(set, key))
    }

    /// Returns the index files of the set.
    ///
    /// # Errors
    /// When a manifest cannot be read.
    pub(crate) fn parts(&self) -> Result<Vec<Part>, Problem> {
        self.in_place()?.parts()
    }
}

/// The reason why index files and shards take no writes.
fn no_store(name: &str) -> Problem {
    Problem::read_only(format!("{name:?} is no store: index files and shards never change"))
}

/// A store that cannot be opened, and the state that decides about another attempt; others are served.
struct Broken {
    problem: Problem,
    /// As it was: another one in its place is opened.
    directory: Directory,
    /// The manifest and the damaged file, as they were.
    files: Vec<(PathBuf, Option<Stamp>)>,
}

impl Broken {
    fn of(path: &Path, problem: Problem) -> Self {
        let files = [Some(path.join(MANIFEST)), problem.damaged_file().map(Path::to_owned)];
        let files = files.into_iter().flatten().map(|path| (path.clone(), Stamp::of(&path))).collect();
        Self { problem, directory: Directory::of(path), files }
    }
}

impl Source for Broken {
    fn extent(&self) -> Result<Extent, Problem> {
        Err(self.problem.clone())
    }

    fn current(&self) -> Result<AnySet, Problem> {
        Err(self.problem.clone())
    }

    fn check(&self) -> Result<(), Problem> {
        Ok(())
    }

    fn look(&self, _is_due: bool) {}

    fn is_replaced(&self) -> bool {
        self.directory.is_replaced()
    }

    fn has_other_file(&self) -> bool {
        false
    }

    /// A repair, or another file in place of the damaged one, may have mended it.
    fn may_open_now(&self, is_due: bool) -> bool {
        is_due && !self.problem.is_damage()
            || self.files.iter().any(|(path, before)| Stamp::of(path) != *before)
    }

    fn parts(&self) -> Result<Vec<Part>, Problem> {
        Err(self.problem.clone())
    }
}
