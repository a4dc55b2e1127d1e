//! Opens files and standard input, and decompresses them; and inputs that are read twice, for their fingerprints and to
//! copy rows.

use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};

use hamdex::Fingerprint;
use hamdex_documents::{Document, Documents, Input, InputRows};
use indicatif::ProgressBar;

use crate::failure::Failure;
use crate::input::{Form, Kind, Reader, Reading, Rows, Source, read_one, table};
use crate::messages;

/// An input, ready to be read.
pub(super) struct Opened {
    pub(super) source: Source,
    pub(super) input: Input,
    /// The name, without the ending of a compressed file; `None` for standard input.
    pub(super) path: Option<PathBuf>,
    /// The length, if it is a regular file that is not compressed.
    pub(super) bytes: Option<u64>,
}

/// Opens a file, or standard input for `-`.
pub(super) fn open(path: &Path, bar: &ProgressBar) -> Result<Opened, Failure> {
    announce_terminal_input([path]);
    refuse_directory(path)?;
    let bar = bar.clone();
    Ok(Opened::new(path, Input::open_reporting(path, move |bytes| bar.inc(bytes))?))
}

/// Fails if the path names a directory.
pub(super) fn refuse_directory(path: &Path) -> Result<(), Failure> {
    if is_standard_input(path) || !path.is_dir() {
        return Ok(());
    }
    let source = Source { name: path.display().to_string() };
    Err(source.complaint("is a directory; name the files in it"))
}

impl Opened {
    /// An input at this path.
    pub(super) fn new(path: &Path, input: Input) -> Self {
        let source = Source { name: input.name().to_owned() };
        let metadata = if is_standard_input(path) { None } else { path.metadata().ok() };
        let bytes = metadata.filter(|metadata| metadata.is_file() && !input.is_compressed());
        let path = match path {
            path if is_standard_input(path) => None,
            path if input.is_compressed() => Some(path.with_extension("")),
            path => Some(path.to_owned()),
        };
        Self { source, input, path, bytes: bytes.map(|metadata| metadata.len()) }
    }
}

fn is_standard_input(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// Prints that the command reads from the terminal, if standard input is one and about to be read.
pub(crate) fn announce_terminal_input<P: AsRef<Path>>(paths: impl IntoIterator<Item = P>) {
    if paths.into_iter().any(|path| is_standard_input(path.as_ref())) && io::stdin().is_terminal() {
        messages::notice("reading from the terminal; end with Ctrl-D");
    }
}

/// Returns the bytes of all inputs, if all are plain files.
pub(crate) fn total_bytes(paths: &[PathBuf]) -> Option<u64> {
    paths.iter().map(|path| path.metadata().ok().filter(std::fs::Metadata::is_file).map(|m| m.len())).sum()
}

/// The inputs, as the first reading finds them.
#[derive(Default)]
pub(crate) struct InputKinds {
    kinds: Vec<(String, Kind)>,
    /// Rows without a fingerprint.
    pub(crate) missing: u64,
}

impl InputKinds {
    /// Returns whether an input is a table.
    pub(crate) fn have_table(&self) -> bool {
        self.kinds.iter().any(|(_, (format, _))| format.table().is_some())
    }

    /// Returns whether an input is a list.
    pub(crate) fn have_list(&self) -> bool {
        self.kinds.iter().any(|(_, (format, _))| format.table().is_none())
    }

    /// Returns the tables that have fingerprints, by name, with their form.
    pub(crate) fn forms(&self) -> impl Iterator<Item = (&str, Form)> {
        self.kinds.iter().filter_map(|(name, (_, form))| Some((name.as_str(), (*form)?)))
    }
}

/// Reads the inputs, as [`read_rows`](crate::input::read_rows) does, so that rows can be copied; or again, with
/// the same outcome.
pub(crate) fn read_to_copy<F: Fingerprint>(
    reading: &Reading,
    documents: &Documents,
    rows: &mut Rows<'_, F>,
) -> Result<InputKinds, Failure> {
    reading.paths.iter().try_for_each(|path| refuse_directory(path))?;
    let mut paths = reading.paths.iter();
    let (mut reader, mut inputs) = (Reader::new(reading)?, InputKinds::default());
    documents.read_inputs(|input, copied| {
        let name = input.name().to_owned();
        let path = paths.next().map_or("-".as_ref(), |path| path.as_path());
        let (missing, kind) = reader.read(Opened::new(path, input), Some(copied), rows)?;
        inputs.kinds.push((name, kind));
        inputs.missing += missing;
        Ok::<(), Failure>(())
    })?;
    reader.finish()?;
    Ok(inputs)
}

/// Returns a function that gives the rows of each input again. `document` makes a document of a fingerprint; that of a
/// list is written, if it is wanted, and that of a table stands for its row.
pub(crate) fn copy<'a, F: Fingerprint>(
    reading: &'a Reading,
    inputs: &'a InputKinds,
    document: &'a mut dyn FnMut(F, bool) -> Result<Document, Failure>,
) -> impl FnMut(Input, &mut InputRows<'_, '_>) -> Result<(), Failure> + 'a {
    let mut kinds = inputs.kinds.iter();
    move |input, copied| {
        let changed = || Failure::from(hamdex_documents::Error::Changed);
        let (_, (format, form)) = kinds.next().ok_or_else(changed)?;
        if let Some(table) = format.table() {
            let column = &reading.columns.fingerprint;
            return table::copy(input, table, column, *form, copied, &mut |fingerprint| {
                document(fingerprint, false)
            });
        }
        // Without the paths, which are as many as the lists.
        let (columns, temp_dir) = (reading.columns.clone(), reading.temp_dir.clone());
        let reading = Reading { format: *format, paths: Vec::new(), columns, temp_dir, ..*reading };
        // Without a name: its format is known.
        let opened = Opened::new("-".as_ref(), input);
        read_one(opened, &reading, None, &mut None, &mut |fingerprint, _, _| {
            let document = fingerprint.map(|fingerprint| document(fingerprint, true)).transpose()?;
            Ok(copied.take(document.as_ref())?)
        })
        .map(drop)
    }
}
