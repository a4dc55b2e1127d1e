//! The outputs of commands, by one rule: see [`hamdex_atomic_file`].

use std::ffi::OsStr;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};

use hamdex_atomic_file::{AtomicFile, CreateOptions, Inputs, STANDARD_OUTPUT, temporary_directory};

use crate::failure::Failure;
use crate::standard_output;

/// The option that every command with an output has.
#[derive(Debug, Clone, Copy, clap::Args)]
pub(crate) struct Force {
    /// Replace the output if it exists; an input is never replaced
    #[arg(long)]
    pub(crate) force: bool,
}

/// An output file.
pub(crate) struct Output<'a> {
    path: &'a Path,
    force: Force,
    inputs: &'a Inputs,
}

impl<'a> Output<'a> {
    /// Returns the output that an argument names; `-` is standard output.
    pub(crate) fn new(argument: &'a Path, force: Force, inputs: &'a Inputs) -> Self {
        Self { path: path_of(argument), force, inputs }
    }

    /// Returns the path, with `-` as `/dev/stdout`.
    pub(crate) fn path(&self) -> &'a Path {
        self.path
    }

    /// Returns how to create the file.
    pub(crate) fn options(&self) -> CreateOptions<'a> {
        AtomicFile::options().overwrite(self.force.force).inputs(self.inputs)
    }

    /// Refuses a file that may not be written, before any work.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        self.check_open()?;
        Ok(self.options().check(self.path)?)
    }

    pub(crate) fn create(&self) -> Result<AtomicFile, Failure> {
        self.check_open()?;
        Ok(self.options().create(self.path)?)
    }

    fn check_open(&self) -> Result<(), Failure> {
        if is_standard_output(self.path) {
            standard_output::require_open()?;
        }
        Ok(())
    }
}

/// Returns the file that an argument names; `-` is standard output.
pub(crate) fn path_of(argument: &Path) -> &Path {
    if argument.as_os_str() == "-" { Path::new(STANDARD_OUTPUT) } else { argument }
}

/// Whether an argument names standard output.
pub(crate) fn is_standard_output(argument: &Path) -> bool {
    path_of(argument) == Path::new(STANDARD_OUTPUT)
}

/// Refuses to mix the JSON of `--json` with the bytes of the output.
pub(crate) fn check_not_mixed(output: &Path, json: bool) -> Result<(), Failure> {
    if json && is_standard_output(output) {
        return Err(Failure::Usage(
            "--json and the output cannot both go to standard output: name a file with --output".to_owned(),
        ));
    }
    Ok(())
}

/// Refuses two outputs in one place: the second would replace the first.
pub(crate) fn check_distinct(one: &Path, other: &Path) -> Result<(), Failure> {
    let place = |path: &Path| {
        path.canonicalize().ok().or_else(|| {
            let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
            let parent = parent.unwrap_or(Path::new(".")).canonicalize().ok()?;
            Some(parent.join(path.file_name()?))
        })
    };
    let (one, other) = (path_of(one), path_of(other));
    if one == other || place(one).is_some_and(|one| Some(one) == place(other)) {
        return Err(Failure::usage_of(other, "two outputs have this name; choose another for one"));
    }
    Ok(())
}

/// Refuses to write an index to a terminal, or to mix it with the JSON of `--json`.
pub(crate) fn check_index_output(output: &Path, json: bool) -> Result<(), Failure> {
    check_not_mixed(output, json)?;
    if is_standard_output(output) && std::io::stdout().is_terminal() {
        return Err(Failure::Usage(
            "an index is not text for a terminal: redirect it, or name a file with --output".to_owned(),
        ));
    }
    Ok(())
}

/// Returns the directory for temporary files: the user's choice, or that of the output.
pub(crate) fn temp_dir(chosen: Option<&Path>, output: Option<&Path>) -> PathBuf {
    chosen.map_or_else(|| temporary_directory(output.map(path_of)), Path::to_owned)
}

/// Refuses a directory for temporary files that is missing or not writable, before any work.
pub(crate) fn check_temp_dir(directory: &Path) -> Result<(), Failure> {
    tempfile::tempfile_in(directory).map(drop).map_err(|source| Failure::Io {
        doing: "create a temporary file in it",
        path: directory.to_owned(),
        source,
    })
}

/// Returns the files that a command reads, as arguments name them: `-` is standard input.
pub(crate) fn inputs_of<P: AsRef<OsStr>>(arguments: impl IntoIterator<Item = P>) -> Inputs {
    let mut inputs = Inputs::new();
    for argument in arguments {
        match argument.as_ref() {
            argument if argument == "-" => inputs.add_standard_input(),
            argument => inputs.add(Path::new(argument)),
        }
    }
    inputs
}

/// Returns the files, or standard input if there are none.
pub(crate) fn inputs_or_standard_input(arguments: &[PathBuf]) -> Inputs {
    if arguments.is_empty() { inputs_of(["-"]) } else { inputs_of(arguments) }
}
