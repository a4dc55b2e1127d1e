//! Problems with single documents, printed when all are read: one line for each kind of problem.

use std::mem::{self, Discriminant};
use std::sync::{Mutex, PoisonError};

use hamdex_documents::problems::{Action, Field, Notice, Problem};
use indicatif::{HumanCount, ProgressBar};

use crate::documents::message;
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
                let first = format!("{}: {}", notice.place, message::of_problem(&notice.problem));
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
