//! Files that a crash or a failure left behind.

use std::io;

use super::Manifest;
use crate::disk::Disk;
use crate::error::Error;
use crate::layout;

/// Names of files in the directory of a store that have no part in it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Leftovers {
    /// What the store wrote, and needs no more: the next writer removes it.
    pub own: Vec<String>,
    /// What is none of the store's: nothing removes it.
    pub foreign: Vec<String>,
}

/// Lists the files that have no part in the store of this manifest.
///
/// # Errors
/// What the operating system refuses.
pub fn leftovers<D: Disk>(disk: &D, manifest: &Manifest) -> Result<Leftovers, Error> {
    let mut found = Leftovers::default();
    for directory in ["", layout::SEGMENTS, layout::DELETES, layout::LOGS] {
        let names = disk.list(directory).map_err(Error::io("list it", disk.path(directory)))?;
        for name in names {
            let part = part_of(manifest, directory, &name);
            let name = if directory.is_empty() { name } else { format!("{directory}/{name}") };
            match part {
                Part::Needed => {}
                Part::Leftover => found.own.push(name),
                Part::Foreign => found.foreign.push(name),
            }
        }
    }
    Ok(found)
}

enum Part {
    Needed,
    Leftover,
    Foreign,
}

/// What part a file has in a store.
fn part_of(manifest: &Manifest, directory: &str, name: &str) -> Part {
    let of_segment = |number: u64| manifest.segments.iter().find(|segment| segment.number == number);
    let is_needed = match directory {
        layout::SEGMENTS => layout::parse_segment(name).map(|number| of_segment(number).is_some()),
        layout::DELETES => layout::parse_removals(name).map(|(number, version)| {
            of_segment(number)
                .and_then(|segment| segment.removals)
                .is_some_and(|named| named.version == version)
        }),
        layout::LOGS => match name.strip_suffix(".new") {
            Some(number) => layout::parse_log(number).map(|_| false),
            None => layout::parse_log(name).map(|number| number >= manifest.first_log),
        },
        _ => match name {
            layout::MANIFEST | layout::LOCK => Some(true),
            layout::NEW_MANIFEST | layout::BACKUP => Some(false),
            _ => None,
        },
    };
    match is_needed {
        Some(true) => Part::Needed,
        Some(false) => Part::Leftover,
        None => Part::Foreign,
    }
}

/// Removes the leftovers of the store itself.
pub(super) fn remove<D: Disk>(disk: &D, leftovers: &Leftovers) -> Result<(), Error> {
    for name in &leftovers.own {
        match disk.remove(name) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            outcome => outcome.map_err(Error::io("remove it", disk.path(name)))?,
        }
    }
    Ok(())
}
