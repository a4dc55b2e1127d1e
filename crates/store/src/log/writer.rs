//! Writing a log.

use std::io::{self, Write};
use std::marker::PhantomData;

use hamdex::Fingerprint;

use super::header::{HEADER_BYTES, Header};
use super::record::{encode, units};
use super::replay::{Replayed, Sealed, check_width};
use crate::disk::layout;
use crate::disk::{Disk, DiskFile, create_anew};
use crate::error::{Error, again};
use crate::manifest::identity::Identity;
use crate::write::batch::{Name, Operation};

/// The log that is being written.
///
/// Batches are [pushed](Self::push) into a buffer, [written](Self::write) together, and durable after a
/// [sync](Self::sync). A write that fails because there is no space is undone, and the log goes on. After any
/// other failure nobody knows what the disk has: the log is *poisoned*, and refuses everything from then on.
#[derive(Debug)]
pub struct LogWriter<F> {
    disk: Box<dyn Disk>,
    identity: Identity,
    number: u64,
    file: Box<dyn DiskFile>,
    /// How much of the log is written, in bytes.
    bytes: u64,
    /// How much of it is durable for certain.
    synced: u64,
    /// The sequence number of the last batch, whether it is written or in the buffer.
    sequence: u64,
    /// The sequence number of the last batch that is written.
    written_sequence: u64,
    buffer: Vec<u8>,
    /// How long the file may become without more space on the disk; unknown where the file system cannot tell.
    reserved: Option<u64>,
    /// The failure that forbids every further write.
    poison: Option<io::Error>,
    fingerprint: PhantomData<fn(F)>,
}

/// Space that is kept for removals, in bytes: on a full disk they are what makes room.
const KEPT_BYTES: u64 = 1 << 16;

/// Space that is reserved at once beyond it, in bytes.
const RESERVED_BYTES: u64 = 1 << 20;

/// Buffers that grew beyond this are given back, in bytes.
const MAX_KEPT_BUFFER_BYTES: usize = 1 << 20;

impl<F: Fingerprint> LogWriter<F> {
    /// Creates the first log of a store, or the first after a repair. It is durable when this returns, its name
    /// included. Sequence numbers are above `sequence`. A log of this name that never had a record, which an
    /// interrupted creation left, is replaced.
    ///
    /// # Errors
    /// When there is a file of this name, the width is not the store's, or the operating system refuses something.
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
        let header = Header { identity, number, first_sequence: sequence.saturating_add(1), previous_bytes };
        let create = || {
            let mut file = disk.create_new(&name)?;
            file.write_all(&header.to_bytes())?;
            file.sync()?;
            disk.sync_directory(layout::LOGS)?;
            Ok(file)
        };
        let file = create().map_err(Error::io("create it", disk.path(&name)))?;
        Ok(Self::at_end(disk, identity, number, file, HEADER_BYTES as u64, sequence))
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

    /// Continues the last log where a [replay](super::replay) found its end. What the replay found is durable when
    /// this returns: unless the log was closed cleanly, all of it is written and synced again, since a sync that
    /// failed earlier may have left it readable and not durable. It replaces the old file in one step.
    ///
    /// # Errors
    /// What the operating system refuses.
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
        Ok(Self::at_end(disk, identity, end.log, file, end.offset, end.sequence))
    }

    /// Refuses every further write, as after a failure: the log is about to be read again.
    pub(crate) fn forbid_writes(&mut self) {
        self.poison.get_or_insert_with(|| io::Error::other("the log was read again, and that failed"));
    }

    /// The log's number.
    #[must_use]
    pub fn number(&self) -> u64 {
        self.number
    }

    /// How many bytes are written.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// How much of the log is durable for certain.
    #[must_use]
    pub fn sealed(&self) -> Sealed {
        Sealed { log: self.number, bytes: self.synced }
    }

    /// Whether everything written is durable.
    #[must_use]
    pub fn is_synced(&self) -> bool {
        self.synced == self.bytes && self.buffer.is_empty()
    }

    /// Whether an earlier failure forbids every further write.
    #[must_use]
    pub fn is_poisoned(&self) -> bool {
        self.poison.is_some()
    }

    /// The failure that forbids every further write, if there was one.
    #[must_use]
    pub fn poison(&self) -> Option<Error> {
        self.check().err()
    }

    /// Takes a batch into the buffer.
    ///
    /// # Panics
    /// When the sequence number is not above that of the batch before, or is above
    /// [`MAX_SEQUENCE`](super::MAX_SEQUENCE), or there are more operations than
    /// [`MAX_OPERATIONS`](super::MAX_OPERATIONS).
    pub fn push(&mut self, sequence: u64, operations: &[Operation<F>]) {
        self.push_named(sequence, operations, &[]);
    }

    /// Takes a batch and the names of its ids into the buffer, in a store with names.
    ///
    /// # Panics
    /// As for [`Self::push`], where each part of a name as long as an operation counts as one.
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

    /// Makes sure that there is space on the disk for what is in the buffer, and for some removals behind it.
    ///
    /// # Errors
    /// When there is not: nothing of the buffer is in the log then. When the log is poisoned.
    pub fn keep_room(&mut self) -> Result<(), Error> {
        self.check()?;
        let needed = self.bytes + self.buffer.len() as u64 + KEPT_BYTES;
        if self.reserved.is_none_or(|reserved| needed <= reserved) {
            return Ok(());
        }
        let outcome =
            [needed + RESERVED_BYTES, needed].into_iter().find_map(|bytes| match self.file.reserve(bytes) {
                Err(error) if is_lack_of_space(&error) && bytes > needed => None,
                outcome => Some(outcome.map(|()| bytes)),
            });
        match outcome.expect("the last attempt counts") {
            Ok(bytes) => self.reserved = Some(bytes),
            Err(error) if is_lack_of_space(&error) => {
                self.buffer.clear();
                self.sequence = self.written_sequence;
                return Err(self.error("write to it")(error));
            }
            // A file system without such reservations.
            Err(_) => self.reserved = None,
        }
        Ok(())
    }

    /// Writes what is in the buffer.
    ///
    /// # Errors
    /// When the operating system refuses it: nothing of the buffer is in the log then. When the log is poisoned.
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
                // A part of it may be there; with that behind the last record, later ones would not be found.
                if !is_lack_of_space(&error) || self.file.truncate(self.bytes).is_err() {
                    self.poison = Some(again(&error));
                }
                return Err(self.error("write to it")(error));
            }
        }
        Ok(())
    }

    /// Writes what is in the buffer, and makes everything written durable.
    ///
    /// # Errors
    /// What the operating system refuses: after a failed sync the log is poisoned. When it was before.
    pub fn sync(&mut self) -> Result<(), Error> {
        self.write()?;
        if self.synced < self.bytes {
            let outcome = self.file.sync();
            self.poison = outcome.as_ref().err().map(again);
            outcome.map_err(self.error("sync it"))?;
            self.synced = self.bytes;
        }
        Ok(())
    }

    /// Begins the next log, and makes it and all of this one durable.
    ///
    /// # Errors
    /// What the operating system refuses. Unless this log is poisoned then, it goes on.
    pub fn rotate(&mut self) -> Result<(), Error> {
        self.sync()?;
        let next = self.number + 1;
        match Self::create_after(&*self.disk, self.identity, next, self.sequence, self.bytes) {
            Ok(writer) => *self = writer,
            Err(error) => {
                // The new log says where this one ends: with it there, nothing may be added here.
                self.poison = remove_durably(&*self.disk, &layout::log(next)).err();
                return Err(error);
            }
        }
        Ok(())
    }

    /// Begins to make what is written durable, while the log is written on: [run](PendingSync::run) it without a hold
    /// on the log, then [report](Self::end_sync) its outcome.
    ///
    /// # Errors
    /// What the operating system refuses. When the log is poisoned.
    pub fn begin_sync(&mut self) -> Result<PendingSync, Error> {
        self.write()?;
        // Opened anew rather than duplicated: of each file that is open the system reports a failure once.
        let file = self.disk.append(&layout::log(self.number)).map_err(self.error("open it"))?;
        Ok(PendingSync { file, sealed: Sealed { log: self.number, bytes: self.bytes } })
    }

    /// Takes note of a sync that was begun earlier.
    ///
    /// # Errors
    /// When it failed: the log is poisoned then, whatever has been written since.
    pub fn end_sync(&mut self, outcome: Result<Sealed, io::Error>) -> Result<(), Error> {
        let sealed = outcome.map_err(|error| {
            self.poison = Some(again(&error));
            self.error("sync it")(error)
        })?;
        if sealed.log == self.number {
            self.synced = self.synced.max(sealed.bytes);
        }
        Ok(())
    }

    fn check(&self) -> Result<(), Error> {
        match &self.poison {
            Some(error) => {
                Err(Error::Poisoned { path: self.disk.path(&layout::log(self.number)), source: again(error) })
            }
            None => Ok(()),
        }
    }

    fn error(&self, doing: &'static str) -> impl FnOnce(io::Error) -> Error + use<F> {
        Error::io(doing, self.disk.path(&layout::log(self.number)))
    }
}

/// A sync that runs beside the writing.
#[derive(Debug)]
pub struct PendingSync {
    file: Box<dyn DiskFile>,
    sealed: Sealed,
}

impl PendingSync {
    /// Syncs. Returns how much is durable then.
    ///
    /// # Errors
    /// What the operating system refuses.
    pub fn run(mut self) -> io::Result<Sealed> {
        self.file.sync()?;
        Ok(self.sealed)
    }
}

/// Whether nothing but space is lacking, so that what was written before is not in doubt.
pub(crate) fn is_lack_of_space(error: &io::Error) -> bool {
    use io::ErrorKind::{FileTooLarge, QuotaExceeded, StorageFull};
    matches!(error.kind(), StorageFull | QuotaExceeded | FileTooLarge)
}

/// Removes a file, if it is there, for certain.
fn remove_durably(disk: &dyn Disk, name: &str) -> io::Result<()> {
    match disk.remove(name) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        outcome => outcome?,
    }
    disk.sync_directory(layout::LOGS)
}

/// Replaces a log by its first bytes, durably.
fn rewrite(disk: &dyn Disk, number: u64, bytes: u64) -> io::Result<()> {
    let (name, new_name) = (layout::log(number), layout::new_log(number));
    let mut contents = disk.read(&name)?;
    contents.truncate(bytes as usize);
    let mut file = create_anew(disk, &new_name)?;
    file.write_all(&contents)?;
    file.sync()?;
    disk.rename(&new_name, &name)?;
    disk.sync_directory(layout::LOGS)
}
