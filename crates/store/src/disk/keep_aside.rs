//! Copies of damaged files in the directory `damaged`, for people to inspect.

use std::io;
use std::ops::ControlFlow;

use crate::disk::layout;
use crate::disk::{Disk, link_or_copy};
use crate::error::Error;

/// Links or copies files into the directory of damaged files, durably. Returns their names there.
///
/// # Errors
/// When the operating system refuses it.
pub fn keep_aside(disk: &dyn Disk, names: impl Iterator<Item = String>) -> Result<Vec<String>, Error> {
    let mut kept = Vec::new();
    for name in names {
        let directory = disk.path(layout::DAMAGED);
        disk.create_directory(layout::DAMAGED).map_err(Error::io("create it", directory))?;
        let new_name = keep(disk, &name).map_err(Error::io("keep it aside", disk.path(&name)))?;
        kept.push(new_name);
    }
    if !kept.is_empty() {
        disk.sync_directory(layout::DAMAGED).map_err(Error::io("sync it", disk.path(layout::DAMAGED)))?;
    }
    Ok(kept)
}

/// Links or copies a file to the first free name.
fn keep(disk: &dyn Disk, name: &str) -> io::Result<String> {
    let plain = format!("{}/{}", layout::DAMAGED, name.replace('/', "-"));
    for attempt in 1.. {
        let new_name = if attempt == 1 { plain.clone() } else { format!("{plain}.{attempt}") };
        if disk.exists(&new_name)? {
            continue;
        }
        link_or_copy(disk, name, disk, &new_name, &mut |_| ControlFlow::Continue(()))?;
        return Ok(new_name);
    }
    unreachable!("there is a free number")
}
