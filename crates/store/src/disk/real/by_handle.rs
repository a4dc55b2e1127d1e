//! A directory that is opened once and held: whatever its path leads to later, files are those of this directory.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock};

use rustix::fs::{
    self as at, AtFlags, CWD, Dir, FileType, Mode, OFlags, Stat, fstat, mkdirat, openat, renameat, statat,
    unlinkat,
};
use rustix::io::{Errno, retry_on_intr};

use super::{Access, sync_opened};
use crate::disk::Lost;
use crate::error::Unpoisoned;

/// The flags of every directory that is opened.
const DIRECTORY: OFlags = OFlags::DIRECTORY.union(OFlags::CLOEXEC);

/// A directory, opened when it is first used.
#[derive(Debug)]
pub(super) struct Directory {
    path: PathBuf,
    /// The path, whatever the working directory is later.
    absolute: PathBuf,
    root: OnceLock<Held>,
    /// Directories in it in which this process has created, renamed or removed files.
    parts: Mutex<BTreeMap<String, Arc<Held>>>,
    /// The locked file, and its name.
    locked: Mutex<Option<(String, Identity)>>,
    /// The loss that was found. It lasts, since another process may have written meanwhile.
    lost: OnceLock<Lost>,
}

/// An open directory. Its inode is not given to another while it is held.
#[derive(Debug)]
struct Held {
    file: File,
    identity: Identity,
}

/// The device and the inode of a file. While it is held, the same identity under its name means that it has a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Identity(at::Dev, u64);

impl Identity {
    /// Returns the identity of an open file.
    pub(super) fn of(file: &File) -> io::Result<Self> {
        Ok(fstat(file)?.into())
    }
}

impl From<Stat> for Identity {
    #[allow(clippy::unnecessary_cast, reason = "the types differ between systems")]
    fn from(stat: Stat) -> Self {
        Self(stat.st_dev as at::Dev, stat.st_ino as u64)
    }
}

impl Held {
    fn open(directory: impl AsFd, path: &Path) -> io::Result<Self> {
        let file = File::from(retry_on_intr(|| openat(&directory, path, DIRECTORY, Mode::empty()))?);
        let identity = Identity::of(&file)?;
        Ok(Self { file, identity })
    }
}

impl Directory {
    pub(super) fn new(path: &Path) -> Self {
        Self {
            path: path.to_owned(),
            absolute: std::path::absolute(path).unwrap_or_else(|_| path.to_owned()),
            root: OnceLock::new(),
            parts: Mutex::default(),
            locked: Mutex::default(),
            lost: OnceLock::new(),
        }
    }

    /// Returns the directory to which the path leads now.
    pub(super) fn opened_anew(&self) -> Self {
        Self { absolute: self.absolute.clone(), ..Self::new(&self.path) }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    fn root(&self) -> io::Result<&Held> {
        if let Some(root) = self.root.get() {
            return Ok(root);
        }
        let root = Held::open(CWD, &self.absolute)?;
        // Another thread may have been first.
        Ok(self.root.get_or_init(|| root))
    }

    /// Calls a system function with an open directory and a name in it.
    fn with<T>(&self, name: &str, call: impl FnOnce(&File, &str) -> Result<T, Errno>) -> io::Result<T> {
        let root = self.root()?;
        let held = name
            .split_once('/')
            .and_then(|(part, rest)| Some((self.parts.lock().unpoisoned().get(part)?.clone(), rest)));
        Ok(match held {
            Some((part, rest)) => call(&part.file, rest)?,
            None => call(&root.file, if name.is_empty() { "." } else { name })?,
        })
    }

    /// As [`Directory::with`], for a change: after a check, and in directories that are held from then on.
    fn change<T>(&self, name: &str, call: impl FnOnce(&File, &str) -> Result<T, Errno>) -> io::Result<T> {
        self.check()?;
        if let Some((part, _)) = name.split_once('/') {
            let is_held = self.parts.lock().unpoisoned().contains_key(part);
            if !is_held {
                let held = Arc::new(Held::open(&self.root()?.file, Path::new(part))?);
                self.parts.lock().unpoisoned().entry(part.to_owned()).or_insert(held);
            }
        }
        self.with(name, call)
    }

    pub(super) fn create_directory(&self, name: &str) -> io::Result<()> {
        self.check()?;
        let root = self.root()?;
        match mkdirat(&root.file, name, Mode::from_raw_mode(0o777)) {
            Err(Errno::EXIST) if is_directory(&statat(&root.file, name, AtFlags::empty())?) => {}
            outcome => outcome?,
        }
        sync_opened(&root.file)
    }

    pub(super) fn open(&self, name: &str, access: Access) -> io::Result<File> {
        let flags = match access {
            // A pipe does not wait for a writer.
            Access::Read => OFlags::RDONLY | OFlags::NONBLOCK,
            Access::Write => OFlags::WRONLY,
            Access::CreateNew => OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL,
            Access::Lock => OFlags::RDWR | OFlags::CREATE,
        };
        let open = |directory: &File, name: &str| {
            let mode = Mode::from_raw_mode(0o666);
            retry_on_intr(|| openat(directory, name, flags | OFlags::CLOEXEC, mode))
        };
        let file = match access {
            Access::CreateNew => self.change(name, open)?,
            _ => self.with(name, open)?,
        };
        Ok(file.into())
    }

    pub(super) fn sync(&self, name: &str) -> io::Result<()> {
        if name.is_empty() {
            return sync_opened(&self.root()?.file);
        }
        if let Some(part) = self.parts.lock().unpoisoned().get(name).cloned() {
            return sync_opened(&part.file);
        }
        sync_opened(&Held::open(&self.root()?.file, Path::new(name))?.file)
    }

    pub(super) fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        self.change(from, |from_directory, from| {
            let renamed = |to_directory: &File, to: &str| renameat(from_directory, from, to_directory, to);
            Ok(self.with(to, renamed))
        })?
    }

    pub(super) fn remove(&self, name: &str) -> io::Result<()> {
        self.change(name, |directory, name| unlinkat(directory, name, AtFlags::empty()))
    }

    pub(super) fn link(&self, name: &str, to: &Self, to_name: &str) -> io::Result<()> {
        to.change(to_name, |to_directory, to_name| {
            let linked =
                |from: &File, name: &str| at::linkat(from, name, to_directory, to_name, AtFlags::empty());
            Ok(self.with(name, linked))
        })?
    }

    /// Returns the names of the directories, or of the other files, in a directory.
    pub(super) fn names(&self, directory: &str, are_directories: bool) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        let opened = match directory {
            "" => Dir::read_from(&self.root()?.file)?,
            // The entries are read through another handle than the held one, which has one position for all threads.
            name => Dir::read_from(&Held::open(&self.root()?.file, Path::new(name))?.file)?,
        };
        for entry in opened {
            let entry = entry?;
            let name = entry.file_name().to_bytes();
            if matches!(name, b"." | b"..") {
                continue;
            }
            // A name that is not UTF-8 is foreign, and only shown.
            let name = String::from_utf8_lossy(name).into_owned();
            let is_directory = match entry.file_type() {
                FileType::Unknown => {
                    let full =
                        if directory.is_empty() { name.clone() } else { format!("{directory}/{name}") };
                    let stat = self.with(&full, |at, name| statat(at, name, AtFlags::SYMLINK_NOFOLLOW));
                    stat.is_ok_and(|stat| is_directory(&stat))
                }
                kind => kind == FileType::Directory,
            };
            if is_directory == are_directories {
                names.push(name);
            }
        }
        Ok(names)
    }

    pub(super) fn is_link(&self, name: &str) -> bool {
        let stat = self.with(name, |directory, name| statat(directory, name, AtFlags::SYMLINK_NOFOLLOW));
        stat.is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::Symlink)
    }

    pub(super) fn length(&self, name: &str) -> io::Result<u64> {
        let stat = self.with(name, |directory, name| statat(directory, name, AtFlags::empty()))?;
        Ok(u64::try_from(stat.st_size).unwrap_or(0))
    }

    /// Remembers the file that this process has locked, for [`Directory::check`].
    pub(super) fn set_locked(&self, locked: Option<(String, Identity)>) {
        *self.locked.lock().unpoisoned() = locked;
    }

    /// Whether a name leads to an open file.
    pub(super) fn leads_to(&self, name: &str, file: Identity) -> io::Result<bool> {
        is_at(&self.root()?.file, name, file)
    }

    /// Checks that the path leads to the directory that is held, and names in it to the files that are.
    ///
    /// # Errors
    /// When one does not: the store is lost then, and stays so. When the system refuses to look.
    fn check(&self) -> io::Result<()> {
        self.check_held()?;
        let Some(root) = self.root.get() else { return Ok(()) };
        for (name, part) in &*self.parts.lock().unpoisoned() {
            if !is_at(&root.file, name, part.identity)? {
                return self.lose(format!("its directory `{name}` was moved, removed or replaced"));
            }
        }
        Ok(())
    }

    /// As [`Directory::check`], with the directory itself and the locked file only.
    pub(super) fn check_held(&self) -> io::Result<()> {
        if let Some(lost) = self.lost.get() {
            return Err(lost.clone().into());
        }
        let Some(root) = self.root.get() else { return Ok(()) };
        if !is_at(CWD, &self.absolute, root.identity)? {
            return self.lose("the path no longer leads to the directory that was opened, which was moved, removed or replaced".to_owned());
        }
        if let Some((name, locked)) = &*self.locked.lock().unpoisoned()
            && !is_at(&root.file, name, *locked)?
        {
            return self.lose(format!(
                "its file `{name}` was removed or replaced, so another process may write to it"
            ));
        }
        Ok(())
    }

    /// As [`Directory::check_held`], with an open file.
    pub(super) fn check_file(&self, name: &str, file: Identity) -> io::Result<()> {
        self.check_held()?;
        match self.leads_to(name, file)? {
            true => Ok(()),
            false => self.lose(format!("its file `{name}` was moved, removed or replaced")),
        }
    }

    fn lose(&self, what: String) -> io::Result<()> {
        let lost = self.lost.get_or_init(|| Lost { path: self.path.clone(), what });
        Err(lost.clone().into())
    }
}

/// Whether a path leads to a file.
fn is_at(directory: impl AsFd, path: impl rustix::path::Arg, file: Identity) -> io::Result<bool> {
    match statat(directory, path, AtFlags::empty()) {
        Ok(stat) => Ok(Identity::from(stat) == file),
        Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

fn is_directory(stat: &Stat) -> bool {
    FileType::from_raw_mode(stat.st_mode) == FileType::Directory
}
