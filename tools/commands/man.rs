//! `hamdex man`: manual pages.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use clap_mangen::Man;

use crate::failure::Failure;
use crate::say;

/// Print the manual page of hamdex, or write one for each command into a directory.
#[derive(clap::Args)]
#[command(after_help = "\
Example:
  hamdex man | man -l -
  hamdex man ~/.local/share/man/man1")]
pub(crate) struct Args {
    /// Where to write hamdex.1, hamdex-build.1 and the others; pages of an earlier version are replaced
    #[arg(value_name = "DIR")]
    directory: Option<PathBuf>,
}

pub(crate) fn run(args: &Args, mut command: clap::Command) -> Result<(), Failure> {
    command.build();
    match &args.directory {
        Some(directory) => write_all(directory, command),
        None => {
            let mut output = std::io::stdout().lock();
            Man::new(command).render(&mut output)?;
            output.flush()?;
            Ok(())
        }
    }
}

fn write_all(directory: &Path, command: clap::Command) -> Result<(), Failure> {
    let failed = |doing: &'static str, path: &Path| {
        let path = path.to_owned();
        move |source| Failure::Io { doing, path, source }
    };
    fs::create_dir_all(directory).map_err(failed("create it", directory))?;
    let subcommands: Vec<clap::Command> =
        command.get_subcommands().filter(|command| command.get_name() != "help").cloned().collect();
    let count = subcommands.len() + 1;
    for (name, command) in std::iter::once(("hamdex".to_owned(), command))
        .chain(subcommands.into_iter().map(|command| (format!("hamdex-{}", command.get_name()), command)))
    {
        let mut page = Vec::new();
        Man::new(command).title(name.to_uppercase()).render(&mut page)?;
        let path = directory.join(format!("{name}.1"));
        fs::write(&path, page).map_err(failed("write to it", &path))?;
    }
    say::summary(format_args!("{}: {count} manual pages", directory.display()));
    Ok(())
}
