//! Options for reading documents.

use std::path::{Path, PathBuf};

use bytesize::ByteSize;
use clap::ValueEnum;
use hamdex_documents::Documents;
use indicatif::ProgressBar;

use crate::bars;
use crate::documents::notices::Notices;
use crate::failure::Failure;
use crate::input::say_that_it_waits;
use crate::values;

/// The format of documents.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// By the name and the first bytes of each input
    Auto,
    /// One per line: an id, a blank or tab, the text
    Lines,
    /// A JSON object on each line
    Jsonl,
    /// Comma-separated values, the first record naming the fields
    Csv,
    /// The same, separated by tabs
    Tsv,
    /// A Parquet file
    Parquet,
    /// An Arrow IPC file or stream
    Arrow,
    /// Each input is one document, its path the id
    Text,
    /// Each input is one HTML page, its path the id; the text is that without the tags
    Html,
}

impl Format {
    /// `None`: detected for each input.
    fn given(self) -> Option<hamdex_documents::Format> {
        use hamdex_documents::Format as Given;
        match self {
            Self::Auto => None,
            Self::Lines => Some(Given::Lines),
            Self::Jsonl => Some(Given::Jsonl),
            Self::Csv => Some(Given::Csv),
            Self::Tsv => Some(Given::Tsv),
            Self::Parquet => Some(Given::Parquet),
            Self::Arrow => Some(Given::Arrow),
            Self::Text => Some(Given::Text),
            Self::Html => Some(Given::Html),
        }
    }
}

/// Fields and limits of documents.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Fields {
    /// The field or column that holds a document's text
    #[arg(long, value_name = "NAME", default_value = "text", help_heading = "Documents")]
    pub(crate) text_field: String,
    /// The field or column that holds its id, a string or a number
    #[arg(long, value_name = "NAME", default_value = "id", help_heading = "Documents")]
    pub(crate) id_field: String,
    /// End at the first problem with a document (invalid UTF-8, malformed, a field missing, too long)
    #[arg(long, help_heading = "Documents")]
    strict: bool,
    /// Longest line or file; longer ones are skipped and counted, without being kept in memory
    #[arg(long, value_name = "SIZE", default_value = "64MiB", value_parser = values::size, help_heading = "Documents")]
    max_document: ByteSize,
}

/// Documents as input, in all commands that read them.
#[derive(Debug, clap::Args)]
pub(crate) struct Inputs {
    /// Files of documents, or directories of text and HTML files; - or none for standard input
    #[arg(value_name = "INPUT")]
    pub(crate) paths: Vec<PathBuf>,
    /// The format of the documents, which may be compressed by gzip or zstd. With auto, text with no known
    /// ending and no known start is lines
    #[arg(long, value_enum, default_value = "auto", help_heading = "Documents")]
    format: Format,
    #[command(flatten)]
    pub(crate) fields: Fields,
}

impl Inputs {
    pub(crate) fn reading(&self) -> Reading {
        Reading::new(&self.paths, self.format, &self.fields)
    }
}

/// Documents about to be read, and the progress bar of reading.
pub(crate) struct Reading {
    documents: Documents,
    bar: ProgressBar,
}

impl Reading {
    pub(crate) fn new(paths: &[PathBuf], format: Format, fields: &Fields) -> Self {
        let standard_input = [PathBuf::from("-")];
        let paths = if paths.is_empty() { &standard_input } else { paths };
        say_that_it_waits(paths);
        let mut documents = Documents::from_paths(paths)
            .id_field(&fields.id_field)
            .text_field(&fields.text_field)
            .strict(fields.strict)
            .max_document_bytes(fields.max_document.as_u64());
        if let Some(format) = format.given() {
            documents = documents.format(format);
        }
        let bar = bars::of_bytes("Reading", documents.total_bytes());
        let (counter, notices) = (bar.clone(), Notices::new(bar.clone()));
        let documents =
            documents.on_read(move |bytes| counter.inc(bytes)).on_notice(move |notice| notices.print(notice));
        Self { documents, bar }
    }

    /// One more field to read, if it exists.
    pub(crate) fn extra_field(mut self, name: Option<&str>) -> Self {
        if let Some(name) = name {
            self.documents = self.documents.extra_field(name);
        }
        self
    }

    /// Where temporary files go.
    pub(crate) fn temp_dir(mut self, directory: &Path) -> Self {
        self.documents = self.documents.temp_dir(directory);
        self
    }

    /// Calls `read`, and shows the progress of reading until it returns.
    pub(crate) fn read<T>(&self, read: impl FnOnce(&Documents) -> Result<T, Failure>) -> Result<T, Failure> {
        let outcome = read(&self.documents);
        self.bar.finish_and_clear();
        outcome
    }

    /// Returns the progress bar.
    pub(crate) fn bar(&self) -> &ProgressBar {
        &self.bar
    }
}
