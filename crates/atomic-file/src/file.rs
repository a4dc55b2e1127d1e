//! Outputs, from creation to publication, written in pieces of a huge page.

use std::fs::{File, OpenOptions};
use std::hint;
use std::io::{self, BufWriter, IntoInnerError, Write};
use std::path::{Path, PathBuf};

use crate::Error;
use crate::inputs::{Identity, Inputs};
use crate::target::{Target, directory_of};
use crate::unfinished::{Unfinished, sync_directory};

/// Options of creating an output. By default nothing is replaced.
#[derive(Debug, Clone, Copy, Default)]
pub struct CreateOptions<'a> {
    overwrite: bool,
    inputs: Option<&'a Inputs>,
}

/// An output that is being written: a file that gets its name in [`AtomicFile::finish`], or a stream.
///
/// A file dropped before that leaves nothing behind.
#[derive(Debug)]
pub struct AtomicFile {
    path: PathBuf,
    overwrite: bool,
    written_bytes: u64,
    destination: Destination,
}

#[derive(Debug)]
enum Destination {
    /// The path with symbolic links followed, and the contents.
    File(PathBuf, Pieces<Contents>),
    Stream(BufWriter<File>),
}

/// A writer to a file that owns its temporary name.
#[derive(Debug)]
struct Contents(Unfinished);

impl Write for Contents {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.file().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.file().flush()
    }
}

impl<'a> CreateOptions<'a> {
    /// Sets whether an existing file may be replaced, and a block device be written to.
    #[must_use]
    pub fn overwrite(mut self, overwrite: bool) -> Self {
        self.overwrite = overwrite;
        self
    }

    /// Sets the inputs, which are never overwritten.
    #[must_use]
    pub fn inputs(mut self, inputs: &'a Inputs) -> Self {
        self.inputs = Some(inputs);
        self
    }

    /// Checks that an output may be written to this path, without creating anything.
    ///
    /// # Errors
    /// When it is an input, exists without permission to replace it, is not a file, or cannot be inspected.
    pub fn check(&self, path: impl AsRef<Path>) -> Result<(), Error> {
        self.permit(path.as_ref()).map(drop)
    }

    /// Starts an output to this path.
    ///
    /// # Errors
    /// When it may not be written, as in [`CreateOptions::check`], or cannot be created.
    pub fn create(&self, path: impl AsRef<Path>) -> Result<AtomicFile, Error> {
        let path = path.as_ref();
        let failed = || Error::io("create it", path);
        let stream = |file: io::Result<File>| {
            let buffer = BufWriter::with_capacity(STREAM_BUFFER_BYTES, file.map_err(failed())?);
            Ok::<_, Error>(Destination::Stream(buffer))
        };
        let file = |name, file| Destination::File(name, Pieces::new(Contents(file)));
        let destination = match self.permit(path)? {
            Target::Descriptor(descriptor) => stream(descriptor.open())?,
            Target::Stream | Target::BlockDevice => stream(OpenOptions::new().write(true).open(path))?,
            Target::New(name) => {
                let unfinished = Unfinished::create(directory_of(&name)).map_err(failed())?;
                file(name, unfinished)
            }
            Target::File(name) => {
                let unfinished = Unfinished::create(directory_of(&name)).map_err(failed())?;
                let replaced = name.metadata().map_err(failed())?;
                unfinished.take_permissions(&replaced).map_err(failed())?;
                file(name, unfinished)
            }
        };
        Ok(AtomicFile { path: path.to_owned(), overwrite: self.overwrite, written_bytes: 0, destination })
    }

    /// Returns the target of the path, if it may be written.
    fn permit(&self, path: &Path) -> Result<Target, Error> {
        let target = Target::of(path)?;
        let input = self.inputs.and_then(|inputs| match &target {
            Target::File(name) => inputs.find(name),
            Target::Descriptor(descriptor) => {
                let identity = descriptor.open().ok().filter(is_regular)?;
                inputs.find_file(&Identity::of_file(&identity).ok()?)
            }
            // The device node; another node of the same device has another identity.
            Target::BlockDevice => inputs.find(path),
            Target::Stream | Target::New(_) => None,
        });
        if let Some(input) = input {
            return Err(Error::IsInput { path: path.to_owned(), input: input.to_owned() });
        }
        if !self.overwrite && matches!(target, Target::File(_) | Target::BlockDevice) {
            return Err(Error::Exists { path: path.to_owned() });
        }
        Ok(target)
    }
}

fn is_regular(file: &File) -> bool {
    file.metadata().is_ok_and(|metadata| metadata.is_file())
}

impl AtomicFile {
    /// Starts a new file under this name; messages call it `path`.
    pub(crate) fn create_as(path: PathBuf, name: PathBuf) -> Result<Self, Error> {
        let file = Unfinished::create(directory_of(&name)).map_err(Error::io("create it", &path))?;
        let destination = Destination::File(name, Pieces::new(Contents(file)));
        Ok(Self { path, overwrite: false, written_bytes: 0, destination })
    }

    /// Returns options for creating an output.
    #[must_use]
    pub fn options<'a>() -> CreateOptions<'a> {
        CreateOptions::default()
    }

    /// Returns the path as given.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the number of bytes written so far.
    #[must_use]
    pub fn written_bytes(&self) -> u64 {
        self.written_bytes
    }

    /// Returns whether it is a stream: written bytes cannot be read back.
    #[must_use]
    pub fn is_stream(&self) -> bool {
        matches!(self.destination, Destination::Stream(_))
    }

    /// Returns a function that turns an error of [`Write`] into one about this file.
    pub fn failed(&self) -> impl FnOnce(io::Error) -> Error + use<> {
        Error::io("write to it", &self.path)
    }

    /// Makes the contents durable, and then publishes the file.
    ///
    /// # Errors
    /// When the rest cannot be written or synced, or the name has been taken meanwhile; there is no new file then,
    /// except with [`Error::NotDurable`].
    pub fn finish(self) -> Result<(), Error> {
        self.seal()?.publish()
    }

    /// Makes the contents durable without publishing the file, so that several files can be published together after
    /// everything that may fail.
    ///
    /// # Errors
    /// When the rest cannot be written or synced; there is no new file then.
    pub fn seal(self) -> Result<SealedFile, Error> {
        let Self { path, overwrite, destination, .. } = self;
        let failed = |doing| Error::io(doing, &path);
        let file = match destination {
            Destination::Stream(mut stream) => {
                stream.flush().map_err(failed("write to it"))?;
                None
            }
            Destination::File(name, contents) => {
                let Contents(file) = contents.into_inner().map_err(failed("write to it"))?;
                file.file().sync_all().map_err(failed("sync it to disk"))?;
                Some((name, file))
            }
        };
        Ok(SealedFile { path, overwrite, file })
    }
}

/// A complete and durable output that is not published yet, made by [`AtomicFile::seal`]. Dropped, it leaves nothing
/// behind.
#[derive(Debug)]
#[must_use = "a file that is not published is gone"]
pub struct SealedFile {
    path: PathBuf,
    overwrite: bool,
    /// The path with symbolic links followed, and the file; `None` for a stream, which is complete.
    file: Option<(PathBuf, Unfinished)>,
}

impl SealedFile {
    /// Publishes the file under its name.
    ///
    /// # Errors
    /// When the name has been taken meanwhile, or the file cannot be renamed; there is no new file then, except with
    /// [`Error::NotDurable`].
    pub fn publish(self) -> Result<(), Error> {
        self.publish_with(sync_directory)
    }

    /// Publishes the file under another name on the same file system, without syncing the directory.
    pub(crate) fn publish_as(self, name: &Path) -> Result<(), Error> {
        let Some((_, file)) = self.file else {
            return Err(Error::NotAFile { path: self.path, what: "is a stream" });
        };
        file.name(name, false).map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => Error::Exists { path: name.to_owned() },
            _ => Error::io("give it its name", name)(error),
        })
    }

    fn publish_with(self, sync_directory: impl FnOnce(&Path) -> io::Result<()>) -> Result<(), Error> {
        let Self { path, overwrite, file } = self;
        let Some((name, file)) = file else { return Ok(()) };
        file.name(&name, overwrite).map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => Error::Exists { path: path.clone() },
            _ => Error::io("give it its name", &path)(error),
        })?;
        sync_directory(directory_of(&name)).map_err(|source| Error::NotDurable { path, source })
    }
}

impl Write for AtomicFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = match &mut self.destination {
            Destination::File(_, contents) => contents.write(bytes)?,
            Destination::Stream(stream) => stream.write(bytes)?,
        };
        self.written_bytes += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.destination {
            Destination::File(_, contents) => contents.flush(),
            Destination::Stream(stream) => stream.flush(),
        }
    }
}

/// Links a file that is never changed in place under another name, and syncs its contents; copies it if it cannot be
/// linked, as to another file system. The directory of the name is not synced.
///
/// # Errors
/// When the name is taken, or the file cannot be linked, read, copied or synced; there is no new name then.
pub fn link_or_copy(file: &Path, name: &Path) -> Result<(), Error> {
    // Link the file itself, not a symbolic link to it.
    let file = file.canonicalize().map_err(Error::io("read it", file))?;
    match std::fs::hard_link(&file, name) {
        Ok(()) => {
            let synced = File::open(&file).and_then(|file| file.sync_all());
            synced.map_err(|error| {
                let _ = std::fs::remove_file(name);
                Error::io("sync it to disk", &file)(error)
            })
        }
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            Err(Error::Exists { path: name.to_owned() })
        }
        Err(_) => {
            let mut from = File::open(&file).map_err(Error::io("read it", &file))?;
            let mut copy = AtomicFile::options().create(name)?;
            let failed = copy.failed();
            io::copy(&mut from, &mut copy).map_err(failed)?;
            copy.seal()?.publish_as(name)
        }
    }
}

/// Buffer size for streams, and for files if memory is short.
pub(crate) const STREAM_BUFFER_BYTES: usize = 1 << 18;

/// Buffer size for files, and the alignment of writes: a huge page of most processors.
const PIECE_BYTES: usize = 2 << 20;

/// If less memory than this can be allocated, files are written with the buffer size of streams.
const SPARE_BYTES: usize = 12 << 20;

/// A writer of a new file in aligned pieces of 2 MiB.
///
/// Linux (ext4 since 6.16, XFS since 6.6) keeps each write in one piece of its page cache and maps that as a huge page,
/// which makes random reads of a mapped file faster. If memory is short, the pieces are smaller.
#[derive(Debug)]
pub struct Pieces<W: Write> {
    buffer: BufWriter<W>,
    written_bytes: u64,
}

impl<W: Write> Pieces<W> {
    /// Creates a writer to an empty file.
    pub fn new(file: W) -> Self {
        Self { buffer: BufWriter::with_capacity(buffer_bytes(), file), written_bytes: 0 }
    }

    /// Writes the rest of the buffer, and returns the file.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn into_inner(self) -> io::Result<W> {
        self.buffer.into_inner().map_err(IntoInnerError::into_error)
    }
}

impl<W: Write> Write for Pieces<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // The buffer ends at the end of a piece of the file.
        let room = PIECE_BYTES - self.written_bytes as usize % PIECE_BYTES;
        let written = self.buffer.write(&bytes[..bytes.len().min(room)])?;
        self.written_bytes += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.buffer.flush()
    }
}

/// Returns the buffer size. Tries the allocation first, since a failed allocation aborts the process.
fn buffer_bytes() -> usize {
    let mut spare = Vec::<u8>::new();
    let is_there = spare.try_reserve_exact(SPARE_BYTES).is_ok();
    drop(hint::black_box(spare));
    if is_there { PIECE_BYTES } else { STREAM_BUFFER_BYTES }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_that_cannot_be_synced_is_an_error_that_says_that_the_file_is_in_place() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("out.txt");
        for overwrite in [false, true] {
            let mut file = AtomicFile::options().overwrite(overwrite).create(&path).unwrap();
            write!(file, "whole {overwrite}").unwrap();
            let refuse = |synced: &Path| {
                assert_eq!(synced, directory.path());
                Err(io::Error::other("the disk is gone"))
            };
            let error = file.seal().unwrap().publish_with(refuse).unwrap_err();
            assert!(error.is_in_place());
            let text = "is complete and in place, but its directory cannot be synced to disk";
            assert_eq!(error.to_string(), format!("{}: {text}", path.display()));
            assert_eq!(std::error::Error::source(&error).unwrap().to_string(), "the disk is gone");
            assert_eq!(std::fs::read_to_string(&path).unwrap(), format!("whole {overwrite}"));
            // Earlier errors say the contrary.
            let again = AtomicFile::options().overwrite(true).create(&path).unwrap().seal().unwrap();
            let taken = SealedFile { overwrite: false, ..again }.publish().unwrap_err();
            assert!(!taken.is_in_place(), "{taken}");
        }
    }

    /// Records the length of every write.
    #[derive(Default)]
    struct Lengths(Vec<usize>);

    impl Write for Lengths {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.push(bytes.len());
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn every_piece_but_the_last_is_whole() {
        for at_once in [1000, 65_537, PIECE_BYTES - 1, PIECE_BYTES, 3 * PIECE_BYTES + 5] {
            let mut pieces = Pieces::new(Lengths::default());
            let bytes = vec![7; at_once];
            let mut all = 0;
            while all < 5 * PIECE_BYTES {
                pieces.write_all(&bytes).unwrap();
                all += at_once;
            }
            let Lengths(mut lengths) = pieces.into_inner().unwrap();
            assert_eq!(lengths.iter().sum::<usize>(), all);
            let last = lengths.pop().unwrap();
            assert!(last <= PIECE_BYTES && lengths.iter().all(|&length| length == PIECE_BYTES), "{at_once}");
        }
    }
}
