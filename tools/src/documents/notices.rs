//! Problems with single documents, printed when all are read, one line for each kind of problem; and the messages about
//! documents, which name options of the command.

use std::mem::{self, Discriminant};
use std::sync::{Mutex, PoisonError};

use bytesize::ByteSize;
use hamdex::chain;
use hamdex_documents::problems::{Action, Field, FileKind, FileSort, Notice, Position, Problem};
use hamdex_documents::{CopyErrorKind, Error};
use indicatif::{HumanCount, ProgressBar};

use crate::messages;

/// The most places of a problem that a line names behind the first.
const NAMED: usize = 2;

/// Counts problems, so that a file with a problem on every line hides no other message. Problems that were not printed are
/// printed on standard error when it is dropped.
pub(crate) struct Notices {
    bar: ProgressBar,
    kinds: Mutex<Vec<Kind>>,
}

/// Problems of one kind with the same outcome.
struct Kind {
    problem: (Discriminant<Problem>, Option<Field>),
    action: Action,
    /// The first problem, with its place.
    first: String,
    /// The places of the next ones.
    places: Vec<String>,
    others: u64,
}

impl Notices {
    pub(crate) fn new(bar: ProgressBar) -> Self {
        Self { bar, kinds: Mutex::default() }
    }

    pub(crate) fn take(&self, notice: &Notice) {
        let mut kinds = self.kinds.lock().unwrap_or_else(PoisonError::into_inner);
        let field = match &notice.problem {
            Problem::MissingField { field, .. } | Problem::MissingColumn { field, .. } => Some(*field),
            _ => None,
        };
        let (problem, action) = ((mem::discriminant(&notice.problem), field), notice.action);
        match kinds.iter_mut().find(|kind| kind.problem == problem && kind.action == action) {
            Some(kind) => {
                kind.others += 1;
                if kind.places.len() < NAMED {
                    kind.places.push(notice.place.to_string());
                }
            }
            None => {
                let first = text_of(notice);
                kinds.push(Kind { problem, action, first, places: Vec::new(), others: 0 });
            }
        }
    }
}

impl Notices {
    /// Returns the problems since the last call of [`print`](Self::print), for programs: a text each, with the first place,
    /// some more places, and the number of all others.
    pub(crate) fn to_json(&self) -> Vec<serde_json::Value> {
        let kinds = self.kinds.lock().unwrap_or_else(PoisonError::into_inner);
        let problem = |kind: &Kind| serde_json::json!({ "problem": kind.first, "also_at": kind.places, "others": kind.others });
        kinds.iter().map(problem).collect()
    }

    /// Prints the problems since the last call.
    pub(crate) fn print(&self) {
        let kinds = mem::take(&mut *self.kinds.lock().unwrap_or_else(PoisonError::into_inner));
        self.bar.suspend(|| kinds.iter().for_each(Kind::print));
    }
}

impl Kind {
    fn print(&self) {
        let Self { first, places, others, .. } = self;
        let done = match self.action {
            Action::Read => "",
            Action::Replaced => "; replaced",
            _ => "; skipped",
        };
        let more = match others {
            0 => String::new(),
            others if *others == places.len() as u64 => format!("; the same at {}", places.join(", ")),
            others => format!("; the same at {} others, such as {}", HumanCount(*others), places.join(", ")),
        };
        let line = format_args!("{first}{done}{more}");
        if self.action == Action::Read { messages::notice(line) } else { messages::warning(line) }
    }
}

impl Drop for Notices {
    fn drop(&mut self) {
        self.print();
    }
}

/// Returns a problem with its place.
pub(crate) fn text_of(notice: &Notice) -> String {
    format!("{}: {}", notice.place, of_problem(&notice.problem))
}

fn option_of(field: Field) -> &'static str {
    match field {
        Field::Id => "--id-field",
        _ => "--text-field",
    }
}

/// Returns the advice for a file of a kind that is not read.
fn advice(kind: FileKind) -> &'static str {
    match kind.sort {
        FileSort::Document => "convert it to text first",
        FileSort::Data => "write its texts as JSON Lines, CSV or Parquet",
        FileSort::Archive => "unpack it, and name the files in it",
        FileSort::Compressed(_) => "decompress it first",
        FileSort::Pointer => "download it, as with git lfs pull",
        FileSort::Pages => "convert it to WARC",
        _ => "it holds no documents",
    }
}

/// Describes a problem with a document.
fn of_problem(problem: &Problem) -> String {
    match problem {
        Problem::MissingList { .. } => format!("{problem} (--text-field)"),
        Problem::OneDocument { format } => {
            format!("{problem}; --format {format} reads a document on each line")
        }
        Problem::MissingField { field, .. } => format!("{problem} ({})", option_of(*field)),
        Problem::MissingColumn { field, column, columns } => missing(*field, column, columns),
        Problem::TooLong { what, max_bytes } => {
            format!("the {what} is longer than {} (--max-document)", ByteSize(*max_bytes))
        }
        Problem::NotRead { kind } => format!("{problem}; {}", advice(*kind)),
        Problem::NotUtf8 => format!("{problem}; name its encoding with --encoding, as in windows-1252"),
        Problem::Binary => {
            format!(
                "{problem}: it has zero bytes (UTF-16 without a byte order mark needs --encoding utf-16le or utf-16be)"
            )
        }
        Problem::ManyLines { .. } | Problem::StrayQuote | Problem::UnclosedQuote | Problem::Quotes => {
            format!("{problem} (--quoting none)")
        }
        Problem::NoQuotes => format!("{problem} (--quoting csv)"),
        Problem::Litter { .. } => format!("{problem} (--include, as in --include '*', reads them)"),
        other => other.to_string(),
    }
}

/// Returns whether the name of a column holds what often lies between names.
fn has_delimiter(name: &str) -> bool {
    name.contains([',', ';', '|', '\t', '^'])
}

fn missing(field: Field, column: &str, columns: &[String]) -> String {
    let hint = if column.contains("[]") { "; lists: --join, in JSON, Parquet and Arrow" } else { "" };
    format!("no column is named {column:?} ({}{hint}); there are: {}", option_of(field), columns.join(", "))
}

/// Describes an error and its causes, in one line.
pub(crate) fn of_error(error: &Error) -> String {
    match error {
        Error::Document { place, problem } => format!("{place}: {}", of_problem(problem)),
        Error::MissingColumn { place, field: Some(field), column, columns } => {
            // Only text tables have line numbers, and they may lack a header.
            let hint = match place.position {
                Position::Line(_) if columns.len() == 1 && has_delimiter(&columns[0]) => {
                    " (if these are several: --delimiter)"
                }
                Position::Line(_) => " (if that is no header: --no-header, and numbers of columns)",
                _ => "",
            };
            format!("{place}: {}{hint}", missing(*field, column, columns))
        }
        Error::Copy { kind, .. } => {
            let hint = match kind {
                CopyErrorKind::LostColumns => {
                    " (--drop-columns does that; a file that ends as the inputs do keeps all, as --output-dir does)"
                }
                CopyErrorKind::OtherColumns => {
                    " (--output-dir gives each file its own; a .jsonl file takes those of JSON, CSV and TSV)"
                }
                CopyErrorKind::Value => " (a .jsonl file takes it, and --output-dir gives each file its own)",
                CopyErrorKind::NoText => " (--output-dir gives each file its own)",
                CopyErrorKind::NoStream => ": name one with --out, as in --out unique.parquet",
                _ => "",
            };
            format!("{error}{hint}")
        }
        Error::NoValues => format!("{error} (--keep)"),
        Error::Unread { .. } => format!("{error} (--skip-unreadable leaves them out)"),
        Error::ColumnType { .. } => format!("{error} (--text-field, --id-field)"),
        other => chain(other),
    }
}
