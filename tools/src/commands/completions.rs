//! `hamdex completions`: shell completions.

use std::io::Write;

use clap_complete::Shell;

use crate::failure::Failure;
use crate::standard_output;

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
pub(crate) struct Args {
    /// The shell
    #[arg(value_enum, value_name = "SHELL")]
    shell: Shell,
}

pub(crate) fn run(args: &Args, command: &mut clap::Command) -> Result<(), Failure> {
    // The generator panics if it cannot write, so it writes to memory.
    let mut script = Vec::new();
    clap_complete::generate(args.shell, command, "hamdex", &mut script);
    let mut output = standard_output::lines();
    output.write_all(&script)?;
    output.flush()?;
    Ok(())
}
