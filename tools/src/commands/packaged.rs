//! `hamdex man` and `hamdex completions`: the manual pages and the shell completions that packages install, both made from
//! the definition of the command line.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use clap_complete::Shell;
use hamdex_atomic_file::Inputs;

use crate::failure::Failure;
use crate::output::{Force, Output};
use crate::{messages, standard_output};

/// Print the manual page of hamdex, or write all pages to a directory.
#[derive(clap::Args)]
#[command(after_help = "\
Example:
  hamdex man | man -l -
  hamdex man ~/.local/share/man/man1")]
pub(crate) struct Man {
    /// Write hamdex.1, hamdex-build.1 and the others into this directory, which is created if it is missing
    #[arg(value_name = "DIR")]
    directory: Option<PathBuf>,
    #[command(flatten)]
    force: Force,
}

pub(crate) fn man(args: &Man, mut command: clap::Command) -> Result<(), Failure> {
    command.build();
    match &args.directory {
        Some(directory) => write_all(directory, args.force, command),
        None => {
            let mut output = standard_output::lines();
            clap_mangen::Man::new(command).render(&mut output)?;
            output.flush()?;
            Ok(())
        }
    }
}

/// Writes a page for each command: all of them, or none if one may not be written. Pages that are in place
/// but may not be durable are reported after all are written.
fn write_all(directory: &Path, force: Force, command: clap::Command) -> Result<(), Failure> {
    fs::create_dir_all(directory).map_err(|source| Failure::Io {
        doing: "create it",
        path: directory.to_owned(),
        source,
    })?;
    let pages = pages(directory, command)?;
    let inputs = Inputs::new();
    for (path, _) in &pages {
        Output::new(path, force, &inputs).check()?;
    }
    let mut in_place = Ok(());
    for (path, page) in &pages {
        let mut file = Output::new(path, force, &inputs).create()?;
        file.write_all(page).map_err(file.failed())?;
        match file.finish() {
            Err(error) if error.is_in_place() => in_place = in_place.and(Err(error)),
            finished => finished?,
        }
    }
    in_place?;
    messages::summary(format_args!("{}: {} manual pages", directory.display(), pages.len()));
    Ok(())
}

/// Returns the page of each command, and its path.
fn pages(directory: &Path, command: clap::Command) -> Result<Vec<(PathBuf, Vec<u8>)>, Failure> {
    let mut commands = Vec::new();
    add_with_subcommands("hamdex".to_owned(), command, &mut commands);
    commands
        .into_iter()
        .map(|(name, command)| {
            let mut page = Vec::new();
            clap_mangen::Man::new(command).title(name.to_uppercase()).render(&mut page)?;
            Ok((directory.join(format!("{name}.1")), page))
        })
        .collect()
}

/// Adds a command and its subcommands, by the names of their pages.
fn add_with_subcommands(name: String, command: clap::Command, commands: &mut Vec<(String, clap::Command)>) {
    let below: Vec<clap::Command> =
        command.get_subcommands().filter(|command| command.get_name() != "help").cloned().collect();
    commands.push((name.clone(), command));
    for command in below {
        add_with_subcommands(format!("{name}-{}", command.get_name()), command, commands);
    }
}

/// Print the completion script of a shell.
#[derive(clap::Args)]
#[command(
    arg_required_else_help = true,
    after_help = "\
Example:
  hamdex completions bash > ~/.local/share/bash-completion/completions/hamdex
  hamdex completions zsh > ~/.zfunc/_hamdex
  hamdex completions fish > ~/.config/fish/completions/hamdex.fish"
)]
pub(crate) struct Completions {
    /// The shell
    #[arg(value_enum, value_name = "SHELL")]
    shell: Shell,
}

pub(crate) fn completions(args: &Completions, command: &mut clap::Command) -> Result<(), Failure> {
    // The generator panics if it cannot write, so it writes to memory.
    let mut script = Vec::new();
    clap_complete::generate(args.shell, command, "hamdex", &mut script);
    let mut output = standard_output::lines();
    output.write_all(&script)?;
    output.flush()?;
    Ok(())
}
