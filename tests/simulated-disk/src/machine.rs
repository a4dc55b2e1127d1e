//! Files, names and locks of one simulated machine, and its injected faults.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::io;
use std::ops::Range;
use std::sync::Arc;

use crate::choice::{Choices, Survival};
use crate::contents::Contents;
use crate::names::{FileNumber, Names};

/// The kind of an injected failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Failure {
    /// An I/O error.
    Io,
    /// No space left.
    Full,
}

impl Failure {
    pub(crate) fn error(self) -> io::Error {
        match self {
            Self::Io => io::Error::other("simulated I/O error"),
            Self::Full => io::Error::new(io::ErrorKind::StorageFull, "simulated full disk"),
        }
    }
}

/// The effect of an operation on the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// None.
    Read,
    /// It changes bytes or names, or their durability.
    Change,
    /// As `Change`, and it needs space.
    Grow,
}

/// A callback that gets each operation on a name before it happens: what it does, and the name.
pub type BeforeOperation = dyn Fn(&str, &str) + Send + Sync;

#[derive(Clone)]
pub(crate) struct Hook(pub(crate) Arc<BeforeOperation>);

impl fmt::Debug for Hook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Hook")
    }
}

/// One simulated machine.
#[derive(Debug, Default)]
pub(crate) struct Machine {
    pub(crate) files: Vec<Contents>,
    pub(crate) names: Names,
    /// Directories, which are durable from their creation on.
    pub(crate) directories: BTreeSet<String>,
    pub(crate) locks: BTreeMap<String, String>,
    pub(crate) operations: u64,
    pub(crate) changes: u64,
    pub(crate) trace: Vec<String>,
    /// No operation succeeds after this many changes.
    pub(crate) last_change: Option<u64>,
    /// The operations of these numbers fail.
    pub(crate) failure: Option<(Range<u64>, Failure)>,
    /// Whether no space is left.
    pub(crate) is_full: bool,
    /// The bytes that are left; `None` if they are not counted, and cannot be reserved.
    pub(crate) space: Option<u64>,
    /// The length up to which a file has space, if it has more than its bytes.
    pub(crate) reserved: BTreeMap<FileNumber, usize>,
    /// Changes of files with this path prefix fail.
    pub(crate) failing_names: Option<String>,
    /// Whether no file can be looked for.
    pub(crate) are_checks_failing: bool,
    pub(crate) hook: Option<Hook>,
}

impl Machine {
    /// Counts an operation. Returns its injected failure, if any.
    pub(crate) fn begin(&mut self, kind: Kind, what: &str, name: &str) -> io::Result<()> {
        if self.has_lost_power() {
            return Err(io::Error::other("simulated power loss"));
        }
        self.operations += 1;
        self.changes += u64::from(kind != Kind::Read);
        self.trace.push(format!("{what} {name}"));
        let is_failing = self.failing_names.as_ref().is_some_and(|names| name.starts_with(&**names));
        match &self.failure {
            _ if is_failing && kind != Kind::Read => Err(Failure::Io.error()),
            Some((numbers, failure)) if numbers.contains(&self.operations) => Err(failure.error()),
            _ if self.is_full && kind == Kind::Grow => Err(Failure::Full.error()),
            _ => Ok(()),
        }
    }

    /// Returns the length up to which a file has space.
    fn allocated(&self, file: FileNumber) -> usize {
        self.files[file].bytes().len().max(self.reserved.get(&file).copied().unwrap_or(0))
    }

    /// Takes space for a file up to a length. Returns the length up to which there is some.
    pub(crate) fn allocate(&mut self, file: FileNumber, length: usize) -> usize {
        let allocated = self.allocated(file);
        let Some(space) = &mut self.space else { return length };
        let more = (length.saturating_sub(allocated) as u64).min(*space);
        *space -= more;
        length.min(allocated + more as usize)
    }

    /// Gives back the space of a file behind a length.
    pub(crate) fn release(&mut self, file: FileNumber, length: usize) {
        let allocated = self.allocated(file);
        self.reserved.remove(&file);
        if let Some(space) = &mut self.space {
            *space += allocated.saturating_sub(length) as u64;
        }
    }

    pub(crate) fn has_lost_power(&self) -> bool {
        self.last_change.is_some_and(|last| self.changes >= last)
    }

    pub(crate) fn file(&self, path: &str) -> io::Result<FileNumber> {
        self.names.get(path).ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    /// Checks that a name is free and its directory exists.
    pub(crate) fn free_name(&self, path: &str) -> io::Result<()> {
        if !self.directories.contains(crate::names::directory_of(path)) {
            return Err(io::ErrorKind::NotFound.into());
        }
        match self.names.get(path) {
            Some(_) => Err(io::ErrorKind::AlreadyExists.into()),
            None => Ok(()),
        }
    }

    /// Returns the machine after a crash and restart.
    pub(crate) fn crashed(&self, survival: Survival) -> Self {
        let mut choices = Choices::new(survival);
        let names = Names::durable(self.names.survivors(&mut choices));
        let survivors = self.files.iter().map(|file| file.survivor(&mut choices));
        let files = survivors.map(Contents::durable).collect();
        Self { files, names, directories: self.directories.clone(), ..Self::default() }
    }
}
