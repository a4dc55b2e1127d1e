//! Words of other programs on the command line, and the names that are meant.

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Command, Error};

/// Options of other programs, each with the options of hamdex that may be meant.
const OPTIONS: &[(&[&str], &[&str])] = &[
    (
        &["threshold", "thresh", "cutoff"],
        &["similarity", "unless-similar", "distance", "unless-near", "max-distance"],
    ),
    (&["jaccard", "sim", "min-similarity"], &["similarity", "unless-similar"]),
    (&["hamming", "radius", "bits", "k", "within"], &["distance", "unless-near", "width"]),
    (&["port", "host", "bind", "address", "addr"], &["listen"]),
    (&["workers", "jobs", "num-threads", "num-proc"], &["threads"]),
    (&["top", "top-k", "knn", "neighbors"], &["nearest", "limit"]),
    (&["column", "field", "text-column", "text", "content-field"], &["text-field", "fingerprint-field"]),
    (&["id-column", "name-field", "name-column", "key"], &["id-field"]),
    (&["hash-field", "hash-column", "fingerprint-column", "phash"], &["fingerprint-field"]),
    (&["overwrite", "yes"], &["force"]),
    (&["output-file", "out-file", "save", "write"], &["output", "out"]),
    (&["hashes"], &["fingerprints"]),
    (&["known", "reference", "exclude-known"], &["against"]),
];

/// Commands that hamdex does not have, and what is meant.
const COMMANDS: &[(&[&str], &str)] = &[
    (&["search", "find", "lookup", "nearest", "match"], "query"),
    (&["info", "inspect", "show", "stats", "stat", "list", "ls", "describe", "cat"], "dump"),
    (&["index", "create", "make"], "build"),
    (&["deduplicate", "dup", "dups", "duplicates", "unique", "uniq"], "dedup"),
    (&["check", "fsck", "validate"], "verify"),
    (&["hash", "simhash"], "fingerprint"),
    (&["compare", "diff", "similarity"], "distance"),
    (&["join", "self-join", "near"], "pairs"),
    (&["add", "insert", "ingest", "upsert"], "store insert"),
    (&["delete", "remove", "rm"], "store remove"),
    (&["server", "http", "daemon"], "serve"),
    (&["help-man", "manual"], "man"),
    (&["split", "partition"], "shards create"),
];

/// Returns the option or command that is meant by an unknown one, if `command`, which was to have it, has one.
pub(crate) fn meant(error: &Error, command: &Command) -> Option<String> {
    let text = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => Some(text.as_str()),
        _ => None,
    };
    match error.kind() {
        ErrorKind::UnknownArgument => {
            let name = text(ContextKind::InvalidArg)?.trim_start_matches('-').split('=').next()?;
            let has = |option: &&&str| {
                command.get_arguments().any(|known| {
                    known.get_long_and_visible_aliases().is_some_and(|names| names.contains(*option))
                })
            };
            let (_, meant) = OPTIONS.iter().find(|(others, _)| others.contains(&name))?;
            let meant: Vec<String> = meant.iter().filter(has).map(|option| format!("--{option}")).collect();
            (!meant.is_empty()).then(|| format!("tip: {}", meant.join(" or ")))
        }
        ErrorKind::InvalidSubcommand if command.get_name() == "hamdex" => {
            let name = text(ContextKind::InvalidSubcommand)?;
            if name == "serve" {
                return Some("this program was built without the service".to_owned());
            }
            let (_, meant) = COMMANDS.iter().find(|(others, _)| others.contains(&name))?;
            let first = meant.split(' ').next()?;
            command.find_subcommand(first).map(|_| format!("tip: hamdex {meant}"))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;
    use crate::cli::Cli;

    /// Returns all commands, those within others as well.
    fn all(command: &Command) -> Vec<&Command> {
        command.get_subcommands().flat_map(all).chain([command]).collect()
    }

    #[test]
    fn what_is_meant_exists_and_what_is_unknown_does_not() {
        let cli = Cli::command();
        for (others, meant) in COMMANDS {
            let mut command = Some(&cli);
            for name in meant.split(' ') {
                command = command.and_then(|command| command.find_subcommand(name));
            }
            // The service is not in every build.
            assert!(command.is_some() || *meant == "serve", "{meant}");
            assert!(others.iter().all(|other| cli.find_subcommand(other).is_none()), "{others:?}");
        }
        let has = |name: &str| {
            let mut arguments = all(&cli).into_iter().flat_map(Command::get_arguments);
            arguments.any(|argument| argument.get_long() == Some(name))
        };
        for meant in OPTIONS.iter().flat_map(|(_, meant)| *meant) {
            assert!(has(meant) || ["listen", "max-distance"].contains(meant), "{meant}");
        }
    }
}
