//! Output files that harm nothing.
//!
//! One rule for every file that a program writes:
//!
//! - **Never over an input.** An output that is the same file as an input ([`Inputs`]) is refused, whatever
//!   the names: symbolic links, hard links, redirected standard input, a file in a directory that is read.
//! - **Never over anything without permission** ([`CreateOptions::overwrite`]).
//! - **Whole or not at all.** The file gets its name when it has been written and synced; until then its name
//!   stands for nothing, or for the file that was there before. On Linux it has no name until then, so a
//!   killed process leaves nothing. Elsewhere, and on file systems that cannot do this, it has a temporary
//!   name in the same directory, which is removed unless the process is killed outright.
//! - **Durable.** File and directory are synced before [`AtomicFile::finish`] returns.
//! - **Permissions are kept.** A file that replaces another one takes its mode and, where the system permits
//!   it, its owner and group. A new file gets what the process's mask leaves of 0666. Access control lists and
//!   extended attributes are not copied.
//! - **Symbolic links are followed.** The link stays; the file that it points to is created or replaced.
//! - **Streams are written to.** A character device, a FIFO and an open descriptor (`/dev/stdout`,
//!   `/dev/fd/3`) take the bytes as they come, without permission: there is nothing to replace. A block device
//!   holds data, so it needs permission.
//! - Anything else (a directory, a socket) is refused.
//!
//! Files that belong together get their names together, in a directory of their own: [`AtomicDirectory`].
//!
//! ```
//! use std::io::Write;
//! use hamdex_atomic_file::{AtomicFile, Inputs};
//!
//! let directory = tempfile::tempdir()?;
//! let (input, output) = (directory.path().join("in.txt"), directory.path().join("out.txt"));
//! std::fs::write(&input, "three\nlines\nhere\n")?;
//!
//! let inputs = Inputs::of([&input]);
//! let mut file = AtomicFile::options().inputs(&inputs).create(&output)?;
//! writeln!(file, "3 lines")?;
//! assert!(!output.exists());
//! file.finish()?;
//! assert_eq!(std::fs::read_to_string(&output)?, "3 lines\n");
//!
//! assert!(AtomicFile::options().create(&output).is_err(), "it exists");
//! assert!(AtomicFile::options().inputs(&inputs).overwrite(true).create(&input).is_err(), "it is an input");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod directory;
mod error;
mod file;
mod identity;
mod inputs;
mod link;
mod pieces;
mod sync;
mod target;
mod temporary;
mod unfinished;

pub use directory::AtomicDirectory;
pub use error::Error;
pub use file::{AtomicFile, CreateOptions, SealedFile};
pub use inputs::Inputs;
pub use link::link_or_copy;
pub use pieces::Pieces;
pub use sync::sync_directory;
pub use target::STANDARD_OUTPUT;
pub use temporary::{read_exact_at, temporary_directory};
