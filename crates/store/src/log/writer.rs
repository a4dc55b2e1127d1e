//! The writer of a log.

use std::io::{self, Write};
use std::marker::PhantomData;

use hamdex::Fingerprint;

use super::format::{HEADER_BYTES, Header, encode, units};
use super::replay::{Replayed, Sealed, check_width};
use crate::disk::layout::MAX_NUMBER;
use crate::disk::{Disk, DiskFile, create_replacing, layout, remove_if_there, write_replacing};
use crate::error::{Error, clone_io_error};
use crate::manifest::identity::Identity;
use crate::write::{Name, Operation};

/// The current log.
///
/// Batches are [pushed](Self::push) into a buffer, [written](Self::write) together, and durable after a
/// [sync](Self::sync). A write that fails for lack of space is undone, and the log stays usable. After any other
/// failure the contents of the disk are unknown: the log is *poisoned*, and refuses every further write.
#[derive(Debug)]
pub struct LogWriter<F> {
    disk: Box<dyn Disk>,
    identity: Identity,
    number: u64,
    file: Box<dyn DiskFile>,
    /// The written length, in bytes.
    bytes: u64,
    /// The synced length, in bytes.
    synced: u64,
    /// The sequence number of the last batch, written or buffered.
    sequence: u64,
    /// The sequence number of the last written batch.
    written_sequence: u64,
    buffer: Vec<u8>,
    /// The length for which disk space is reserved; `None` if the file system cannot reserve any.
    reserved: Option<u64>,
    /// The failure that forbids every further write.
    poison: Option<io::Error>,
    fingerprint: PhantomData<fn(F)>,
}

/// Reserved bytes that only removals use, since they make room on a full disk.
const KEPT_BYTES: u64 = 1 << 16;

/// Further bytes that are reserved at once.
const RESERVED_BYTES: u64 = 1 << 20;

/// Capacity to which the buffer shrinks after a write, in bytes.
const MAX_KEPT_BUFFER_BYTES: usize = 1 << 20;

impl<F: Fingerprint> LogWriter<F> {
    /// Creates the first log of a store. It and its name are durable when this returns.
    /// Sequence numbers start above `sequence`. A log of this name without records, which an interrupted creation has
    /// left, is replaced.
    ///
    /// # Errors
    /// When another file has this name, the width is not the one of the store, or the operating system refuses an
    /// operation.
    pub fn create(disk: &dyn Disk, identity: Identity, number: u64, sequence: u64) -> Result<Self, Error> {
        check_width::<F>(disk, &identity)?;
        let name = layout::log(number);
        if disk.length(&name).is_ok_and(|bytes| bytes <= HEADER_BYTES as u64) {
            disk.remove(&name).map_err(Error::io("remove it", disk.path(&name)))?;
        }
        Self::create_after(disk, identity, number, sequence, 0)
    }

    fn create_after(
        disk: &dyn Disk,
        identity: Identity,
        number: u64,
        sequence: u64,
        previous_bytes: u64,
    ) -> Result<Self, Error> {
        let name = layout::log(number);
        let header = header(identity, number, sequence, previous_bytes);
        let create = || {
            let mut file = disk.create_new(&name)?;
            file.write_all(&header)?;
            file.sync()?;
            disk.sync_directory(layout::LOGS)?;
            Ok(file)
        };
        let file = create().map_err(Error::io("create it", disk.path(&name)))?;
        let mut log = Self::at_end(disk, identity, number, file, HEADER_BYTES as u64, sequence);
        log.keep_room();
        Ok(log)
    }

    /// Creates the first log after a repair. Until [`complete`](Self::complete) gives it its name it is not a log, and
    /// the next writer of the store removes it.
    ///
    /// # Errors
    /// When the width is not that of the store, or the operating system refuses an operation.
    pub(crate) fn create_incomplete(
        disk: &dyn Disk,
        identity: Identity,
        number: u64,
        sequence: u64,
    ) -> Result<Self, Error> {
        check_width::<F>(disk, &identity)?;
        let name = layout::new_log(number);
        let create = || {
            let mut file = create_replacing(disk, &name)?;
            file.write_all(&header(identity, number, sequence, 0))?;
            Ok(file)
        };
        let file = create().map_err(Error::io("create it", disk.path(&name)))?;
        let log = Self::at_end(disk, identity, number, file, HEADER_BYTES as u64, sequence);
        Ok(Self { synced: 0, ..log })
    }

    /// Gives an [incomplete](Self::create_incomplete) log its name. It and its name are durable when this returns.
    pub(crate) fn complete(&mut self) -> Result<(), Error> {
        self.sync()?;
        let path = self.disk.path(&layout::new_log(self.number));
        publish(&*self.disk, self.number).map_err(Error::io("rename it", path))
    }

    fn at_end(
        disk: &dyn Disk,
        identity: Identity,
        number: u64,
        file: Box<dyn DiskFile>,
        bytes: u64,
        sequence: u64,
    ) -> Self {
        Self {
            disk: disk.box_clone(),
            identity,
            number,
            file,
            bytes,
            synced: bytes,
            sequence,
            written_sequence: sequence,
            buffer: Vec::new(),
            reserved: Some(0),
            poison: None,
            fingerprint: PhantomData,
        }
    }

    /// Continues the last log at the end that a [replay](super::replay) found. The replayed batches are durable when
    /// this returns: unless the log was closed cleanly, a synced copy replaces it atomically, since an earlier failed
    /// sync may have left it readable but not durable.
    pub fn resume(disk: &dyn Disk, identity: Identity, replayed: &Replayed) -> Result<Self, Error> {
        check_width::<F>(disk, &identity)?;
        let end = replayed.end;
        let name = layout::log(end.log);
        if let Some(unfinished) = replayed.unfinished_log {
            let name = layout::log(unfinished);
            disk.remove(&name).map_err(Error::io("remove it", disk.path(&name)))?;
        }
        if !replayed.is_clean {
            rewrite(disk, end.log, end.offset).map_err(Error::io("write it again", disk.path(&name)))?;
        }
        let file = disk.append(&name).map_err(Error::io("open it for writing", disk.path(&name)))?;
        let mut log = Self::at_end(disk, identity, end.log, file, end.offset, end.sequence);
        log.keep_room();
        Ok(log)
    }

    /// Poisons the log, unless it is poisoned already, or the store is lost.
    pub(crate) fn forbid_writes(&mut self, why: &Error) {
        if !matches!(why, Error::Lost { .. }) {
            self.poison.get_or_insert_with(|| match why {
                Error::Io { source, .. } => clone_io_error(source),
                _ => io::Error::other(why.to_string()),
            });
        }
    }

    /// Poisons the log before it is read again.
    pub(crate) fn forbid_writes_before_reading(&mut self) {
        self.poison.get_or_insert_with(|| io::Error::other("the log was read again, and that failed"));
    }

    /// Returns the number of the log.
    #[must_use]
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Returns the written length, in bytes.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Returns the synced length.
    #[must_use]
    pub fn sealed(&self) -> Sealed {
        Sealed { log: self.number, bytes: self.synced }
    }

    /// Whether every batch is durable.
    #[must_use]
    pub fn is_synced(&self) -> bool {
        self.synced == self.bytes && self.buffer.is_empty()
    }

    /// Whether the log is poisoned.
    #[must_use]
    pub fn is_poisoned(&self) -> bool {
        self.poison.is_some()
    }

    /// Returns the failure that has poisoned the log, if there was one.
    #[must_use]
    pub fn poison(&self) -> Option<Error> {
        self.check().err()
    }

    /// Checks that batches can have numbers up to this one. A forged record can have the greatest.
    pub(crate) fn check_sequence(&self, last: u64) -> Result<(), Error> {
        match last > super::MAX_SEQUENCE {
            true => Err(self.error("write to it")(io::Error::other("no sequence number is left for it"))),
            false => Ok(()),
        }
    }

    /// Adds a batch to the buffer.
    ///
    /// # Panics
    /// When the sequence number is not above the previous one, or above [`MAX_SEQUENCE`](super::MAX_SEQUENCE), or there
    /// are more than [`MAX_OPERATIONS`](super::MAX_OPERATIONS) operations.
    pub fn push(&mut self, sequence: u64, operations: &[Operation<F>]) {
        self.push_named(sequence, operations, &[]);
    }

    /// Adds a batch and the names of its ids to the buffer, in a store with names.
    ///
    /// # Panics
    /// As for [`Self::push`]; each part of a name of the length of an operation counts as one.
    pub fn push_named(&mut self, sequence: u64, operations: &[Operation<F>], names: &[Name]) {
        let is_next = sequence > self.sequence && sequence <= super::MAX_SEQUENCE;
        assert!(is_next, "batch {sequence} after batch {}", self.sequence);
        let units = units(&self.identity, operations, names);
        assert!(units <= super::MAX_OPERATIONS, "a batch of {units} operations");
        let offset = self.bytes + self.buffer.len() as u64;
        let numbers = (sequence, self.synced);
        encode(&mut self.buffer, &self.identity, self.number, offset, numbers, (operations, names));
        self.sequence = sequence;
    }

    /// Reserves disk space for the buffer, and for some removals after it.
    ///
    /// # Errors
    /// When there is too little space: the buffer is discarded then. When the log is poisoned.
    pub fn reserve_space(&mut self) -> Result<(), Error> {
        self.check()?;
        let needed = self.bytes + self.buffer.len() as u64 + KEPT_BYTES;
        if self.reserved.is_none_or(|reserved| needed <= reserved) {
            return Ok(());
        }
        let outcome =
            [needed + RESERVED_BYTES, needed].into_iter().find_map(|bytes| match self.file.reserve(bytes) {
                Err(error) if is_out_of_space(&error) && bytes > needed => None,
                outcome => Some(outcome.map(|()| bytes)),
            });
        match outcome.expect("the last attempt counts") {
            Ok(bytes) => self.reserved = Some(bytes),
            Err(error) if is_out_of_space(&error) => {
                self.buffer.clear();
                self.sequence = self.written_sequence;
                return Err(self.error("write to it")(error));
            }
            // The file system cannot reserve space.
            Err(_) => self.reserved = None,
        }
        Ok(())
    }

    /// Reserves room for removals after the end, if there is some.
    fn keep_room(&mut self) {
        let kept = self.bytes + KEPT_BYTES;
        self.reserved = match self.file.reserve(kept) {
            Ok(()) => Some(kept),
            Err(error) if is_out_of_space(&error) => Some(0),
            Err(_) => None,
        };
    }

    /// Writes the buffer.
    ///
    /// # Errors
    /// When the operating system refuses it: no batch of the buffer is in the log then. When the log is poisoned.
    pub fn write(&mut self) -> Result<(), Error> {
        self.check()?;
        let outcome = self.file.write_all(&self.buffer);
        let written = self.buffer.len() as u64;
        self.buffer.clear();
        self.buffer.shrink_to(MAX_KEPT_BUFFER_BYTES);
        match outcome {
            Ok(()) => {
                self.bytes += written;
                self.written_sequence = self.sequence;
            }
            Err(error) => {
                self.sequence = self.written_sequence;
                // A partial write would hide later records.
                if !is_out_of_space(&error) || self.file.truncate(self.bytes).is_err() {
                    self.poison = Some(clone_io_error(&error));
                } else {
                    // The truncation has given up the reserved space as well.
                    self.keep_room();
                }
                return Err(self.error("write to it")(error));
            }
        }
        Ok(())
    }

    /// Writes the buffer and syncs the log.
    ///
    /// # Errors
    /// When the operating system refuses an operation; a failed sync poisons the log. When the log is poisoned.
    pub fn sync(&mut self) -> Result<(), Error> {
        self.write()?;
        if self.synced < self.bytes {
            let outcome = self.file.sync();
            self.poison = outcome.as_ref().err().map(clone_io_error);
            outcome.map_err(self.error("sync it"))?;
            self.synced = self.bytes;
        }
        self.check_held()
    }

    /// Checks that the log is where the next process finds it.
    ///
    /// # Errors
    /// When it, its directory or the lock of the store is another now: [`Error::Lost`].
    pub fn check_held(&self) -> Result<(), Error> {
        self.file.check_held().map_err(self.error("look for it"))
    }

    /// Syncs this log and begins the next one, durably.
    ///
    /// # Errors
    /// When the operating system refuses an operation. This log stays in use then, unless it is poisoned.
    pub fn rotate(&mut self) -> Result<(), Error> {
        self.sync()?;
        let next = self.number + 1;
        if next > MAX_NUMBER {
            return Err(self.error("begin the next one")(io::Error::other("no number is left for it")));
        }
        match Self::create_after(&*self.disk, self.identity, next, self.sequence, self.bytes) {
            Ok(writer) => *self = writer,
            Err(error) => {
                // The header of the new log has the length of this one, so this one must not grow while the other
                // exists.
                self.poison = remove_durably(&*self.disk, &layout::log(next)).err();
                return Err(error);
            }
        }
        Ok(())
    }

    /// Begins a sync that is concurrent with further writes: [run](PendingSync::run) it without a lock on the log, then
    /// [record](Self::end_sync) its outcome.
    ///
    /// # Errors
    /// When the operating system refuses an operation, or the log is poisoned.
    pub fn begin_sync(&mut self) -> Result<PendingSync, Error> {
        self.write()?;
        self.check_held()?;
        // Opened anew rather than duplicated: the system reports a write-back failure once per open file.
        let file = self.disk.append(&layout::log(self.number)).map_err(self.error("open it"))?;
        Ok(PendingSync { file, sealed: Sealed { log: self.number, bytes: self.bytes } })
    }

    /// Records the outcome of a sync that was begun earlier.
    ///
    /// # Errors
    /// When it failed: the log is poisoned then.
    pub fn end_sync(&mut self, outcome: Result<Sealed, io::Error>) -> Result<(), Error> {
        let sealed = outcome.map_err(|error| {
            self.poison = Some(clone_io_error(&error));
            self.error("sync it")(error)
        })?;
        if sealed.log == self.number {
            self.synced = self.synced.max(sealed.bytes);
        }
        self.check_held()
    }

    pub(crate) fn check(&self) -> Result<(), Error> {
        match &self.poison {
            Some(error) => Err(Error::Poisoned {
                path: self.disk.path(&layout::log(self.number)),
                source: clone_io_error(error),
            }),
            None => Ok(()),
        }
    }

    fn error(&self, doing: &'static str) -> impl FnOnce(io::Error) -> Error + use<F> {
        Error::io(doing, self.disk.path(&layout::log(self.number)))
    }
}

/// A sync that is concurrent with writes.
#[derive(Debug)]
pub struct PendingSync {
    file: Box<dyn DiskFile>,
    sealed: Sealed,
}

impl PendingSync {
    /// Syncs the log. Returns its synced length.
    pub fn run(mut self) -> io::Result<Sealed> {
        self.file.sync()?;
        Ok(self.sealed)
    }
}

/// Whether the error is only a lack of space, so that earlier writes are not in doubt.
pub(crate) fn is_out_of_space(error: &io::Error) -> bool {
    use io::ErrorKind::{FileTooLarge, QuotaExceeded, StorageFull};
    matches!(error.kind(), StorageFull | QuotaExceeded | FileTooLarge)
}

/// Removes a file durably, if it exists.
fn remove_durably(disk: &dyn Disk, name: &str) -> io::Result<()> {
    remove_if_there(disk, name)?;
    disk.sync_directory(layout::LOGS)
}

/// Replaces a log by a durable copy of its first `bytes` bytes.
fn rewrite(disk: &dyn Disk, number: u64, bytes: u64) -> io::Result<()> {
    let mut contents = disk.read(&layout::log(number))?;
    contents.truncate(bytes as usize);
    write_replacing(disk, &layout::new_log(number), &contents)?;
    publish(disk, number)
}

/// Gives a complete log its name, durably.
fn publish(disk: &dyn Disk, number: u64) -> io::Result<()> {
    disk.rename(&layout::new_log(number), &layout::log(number))?;
    disk.sync_directory(layout::LOGS)
}

/// Returns the header of a log whose first batch follows `sequence`.
fn header(identity: Identity, number: u64, sequence: u64, previous_bytes: u64) -> [u8; HEADER_BYTES] {
    Header { identity, number, first_sequence: sequence.saturating_add(1), previous_bytes }.to_bytes()
}
