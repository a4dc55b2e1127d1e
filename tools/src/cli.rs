//! The command line: its subcommands, the exit code of each outcome, and words of other programs, with the names that
//! are meant.

use std::borrow::Cow;
use std::ffi::OsString;
use std::io::{self, IsTerminal, Write};

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{CommandFactory, Parser, Subcommand};

#[cfg(feature = "serve")]
use crate::commands::serve;
use crate::commands::{
    build, dedup, demo, designs, distance, dump, fingerprint, idf, merge, packaged, pairs, query, shards,
    store, verify,
};
use crate::failure::Failure;
use crate::{help, messages, standard_output};

const AFTER_HELP: &str = "\
Exit codes:
  0  done (also when a query finds nothing)
  1  an input or the system failed: malformed data, unreadable file, no space
  2  the command line is wrong
  3  an index file is damaged, not a hamdex file, or of another version
  4  the output is complete and in place, but something failed afterwards

Example:
  hamdex dedup articles.jsonl
  hamdex build -o news.hamdex fingerprints.txt
  hamdex query news.hamdex 0123456789abcdef";

/// The output of `hamdex --version`; version.rs provides the part in brackets.
const LONG_VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), " (", env!("HAMDEX_BUILD"), ")");

/// Find near-duplicates: a compressed index of simhash fingerprints that returns all within k bits.
#[derive(Parser)]
#[command(
    name = "hamdex",
    version,
    long_version = LONG_VERSION,
    after_help = AFTER_HELP,
    arg_required_else_help = true
)]
pub(crate) struct Cli {
    #[command(subcommand)]
    command: Command,
    /// No progress, summaries or warnings; errors are still reported
    #[arg(short, long, global = true, display_order = 900)]
    quiet: bool,
    /// When to use colors; NO_COLOR=1 in the environment turns them off too
    #[arg(
        long,
        value_enum,
        value_name = "WHEN",
        global = true,
        default_value = "auto",
        hide_default_value = true,
        display_order = 901
    )]
    color: clap::ColorChoice,
}

#[derive(Subcommand)]
enum Command {
    Dedup(dedup::Args),
    Fingerprint(fingerprint::Args),
    Idf(idf::Args),
    Build(build::Args),
    Merge(merge::Args),
    Query(query::Args),
    Distance(distance::Args),
    Pairs(pairs::Args),
    Dump(dump::Args),
    Verify(verify::Args),
    Store(store::Args),
    Shards(shards::Args),
    #[cfg(feature = "serve")]
    Serve(serve::Args),
    Designs(designs::Args),
    Demo(demo::Args),
    Completions(packaged::Completions),
    Man(packaged::Man),
}

impl Command {
    fn run(&self) -> Result<(), Failure> {
        match self {
            Self::Dedup(args) => dedup::run(args),
            Self::Fingerprint(args) => fingerprint::run(args),
            Self::Idf(args) => idf::run(args),
            Self::Build(args) => build::run(args),
            Self::Merge(args) => merge::run(args),
            Self::Query(args) => query::run(args),
            Self::Distance(args) => distance::run(args),
            Self::Pairs(args) => pairs::run(args),
            Self::Dump(args) => dump::run(args),
            Self::Verify(args) => verify::run(args),
            Self::Store(args) => store::run(args),
            Self::Shards(args) => shards::run(args),
            #[cfg(feature = "serve")]
            Self::Serve(args) => serve::run(args),
            Self::Designs(args) => designs::run(args),
            Self::Demo(args) => demo::run(args),
            Self::Completions(args) => packaged::completions(args, &mut Cli::command()),
            Self::Man(args) => packaged::man(args, Cli::command()),
        }
    }

    /// Whether the command reads standard input if it has no arguments.
    fn reads_standard_input(&self) -> bool {
        matches!(self, Self::Dedup(_) | Self::Fingerprint(_))
    }
}

/// Runs the command line, whose first item is the name of the program, and returns its exit code.
pub fn run(args: impl IntoIterator<Item = impl Into<OsString>>) -> u8 {
    let args: Vec<OsString> = args.into_iter().map(Into::into).collect();
    messages::use_color(color_of(&args));
    let cli = match Cli::try_parse_from(&args) {
        Ok(cli) => cli,
        Err(error) => return refuse(&error, &args),
    };
    messages::configure(cli.quiet);
    if args.len() == 2 && cli.command.reads_standard_input() && io::stdin().is_terminal() {
        // Waiting for input in silence would puzzle a new user: show the help.
        return show_help(&args[1]);
    }
    let outcome = cli.command.run();
    match outcome {
        Ok(()) => 0,
        Err(failure) if failure.is_closed_pipe() => 0,
        Err(failure) => {
            messages::error(failure.line());
            failure.exit_code()
        }
    }
}

/// Returns the value of `--color`, read before the command line is parsed: help and errors obey it too.
fn color_of(args: &[OsString]) -> clap::ColorChoice {
    let mut args = args.iter().skip(1).map(|arg| arg.to_string_lossy()).take_while(|arg| arg != "--");
    let mut choice = None;
    while let Some(arg) = args.next() {
        match arg.strip_prefix("--color") {
            Some("") => choice = args.next().map(Cow::into_owned),
            Some(value) => choice = value.strip_prefix('=').map(str::to_owned),
            None => {}
        }
    }
    choice.and_then(|choice| choice.parse().ok()).unwrap_or(clap::ColorChoice::Auto)
}

/// Prints the outcome of the parser: help and version as results, errors on one line.
fn refuse(error: &clap::Error, args: &[OsString]) -> u8 {
    let help = || help::page(&Cli::command(), args).unwrap_or_else(|| error.render());
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
            let text = if error.kind() == ErrorKind::DisplayHelp { help() } else { error.render() };
            let printed = standard_output::in_colour()
                .and_then(|mut output| write!(output, "{}", text.ansi()).and_then(|()| output.flush()));
            match printed {
                Ok(()) => 0,
                Err(error) if error.kind() == io::ErrorKind::BrokenPipe => 0,
                Err(error) => {
                    messages::error(Failure::Output(error).line());
                    1
                }
            }
        }
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            messages::text(&help().ansi().to_string());
            2
        }
        _ => {
            messages::error(Failure::Usage(one_line(error, args)).line());
            2
        }
    }
}

/// Returns the parser's error on one line, with a pointer to the help instead of the whole usage.
fn one_line(error: &clap::Error, args: &[OsString]) -> String {
    let text = error.render().to_string();
    let text = text.as_str();
    let root = Cli::command();
    let (command, name) = named_command(&root, args);
    let meant = meant(error, command);
    let what = text.split("\n\nUsage: ").next().unwrap_or(text);
    let what = what.split("\n\nFor more information").next().unwrap_or(what);
    let what = what.strip_prefix("error: ").unwrap_or(what);
    let paragraphs: Vec<String> = what
        .split("\n\n")
        .map(|paragraph| paragraph.split_whitespace().collect::<Vec<_>>().join(" "))
        // The parser's own tip is the name that is spelled most alike.
        .filter(|paragraph| !paragraph.is_empty() && (meant.is_none() || !paragraph.starts_with("tip: ")))
        .chain(meant.clone())
        .collect();
    let what = paragraphs
        .join("; ")
        .replace(": invalid digit found in string", ": expected a number")
        .replace(": cannot parse integer from empty string", ": expected a number")
        .replace(": number too large to fit in target type", ": the number is too large");
    format!("{what}; see '{name} --help'")
}

/// Returns the command, below others, that the arguments name, and its whole name.
fn named_command<'c>(root: &'c clap::Command, args: &[OsString]) -> (&'c clap::Command, String) {
    let (mut command, mut name) = (root, root.get_name().to_owned());
    let mut args = args.iter().skip(1).map(|arg| arg.to_string_lossy());
    while let Some(arg) = args.next() {
        match command.find_subcommand(&*arg) {
            Some(subcommand) => {
                command = subcommand;
                name = format!("{name} {}", command.get_name());
            }
            // The one option of all commands that has a value.
            None if arg == "--color" => drop(args.next()),
            None if arg.starts_with('-') => {}
            None => break,
        }
    }
    (command, name)
}

fn show_help(name: &OsString) -> u8 {
    let mut cli = help::short(Cli::command());
    cli.build();
    let name = name.to_string_lossy();
    let command = cli.find_subcommand_mut(&*name).expect("the parser has found it");
    messages::text(&command.render_help().ansi().to_string());
    2
}

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
fn meant(error: &clap::Error, command: &clap::Command) -> Option<String> {
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
    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn every_command_has_an_example() {
        for command in Cli::command().get_subcommands() {
            let after = command.get_after_long_help().or(command.get_after_help());
            let after = after.map(ToString::to_string).unwrap_or_default();
            assert!(after.contains("Example:\n  hamdex "), "{}", command.get_name());
        }
    }

    #[test]
    fn what_the_parser_refuses_is_one_line_that_says_where_to_read_on() {
        let line = |args: &[&str]| match Cli::try_parse_from(args) {
            Ok(_) => panic!("{args:?} is refused"),
            Err(error) => {
                let args: Vec<OsString> = args.iter().map(OsString::from).collect();
                one_line(&error, &args)
            }
        };
        let missing = line(&["hamdex", "build", "in.txt"]);
        assert_eq!(
            missing,
            "the following required arguments were not provided: --output <OUT>; see 'hamdex build --help'"
        );
        let unknown = line(&["hamdex", "build", "-o", "x", "--forse"]);
        assert!(unknown.contains("unexpected argument '--forse' found; tip: "), "{unknown}");
        for (args, expected) in [
            (&["hamdex", "dedup", "--threshold", "0.8"][..], "found; tip: --similarity or --distance; see"),
            (&["hamdex", "query", "--threshold=3", "x"], "found; tip: --distance; see"),
            (
                &["hamdex", "store", "insert", "x", "--threshold", "3"],
                "found; tip: --unless-similar or --unless-near; see",
            ),
            (&["hamdex", "search", "x"], "unrecognized subcommand 'search'; tip: hamdex query; see"),
            (&["hamdex", "info", "x"], "unrecognized subcommand 'info'; tip: hamdex dump; see"),
            #[cfg(feature = "serve")]
            (&["hamdex", "serve", "--port", "7700"], "found; tip: --listen; see"),
            #[cfg(not(feature = "serve"))]
            (
                &["hamdex", "serve", "--port", "7700"],
                "'serve'; this program was built without the service; see",
            ),
        ] {
            let line = line(args);
            assert!(line.contains(expected), "{line}");
        }
        let value = line(&["hamdex", "query", "x", "--format", "hexx"]);
        assert!(value.contains("[possible values: auto, hex"), "{value}");
        assert!(line(&["hamdex", "bild"]).ends_with("; see 'hamdex --help'"));
        assert!(line(&["hamdex", "bild", "store"]).ends_with("; see 'hamdex --help'"));
        for (args, command) in [
            (&["hamdex", "query", "x", "-k", "y"][..], "query"),
            (&["hamdex", "--color", "never", "-q", "query", "x", "-k", "y"], "query"),
            (&["hamdex", "build", "dump", "--block-bytes", "1"], "build"),
            (&["hamdex", "store", "--quiet", "insert", "x", "--batch", "0"], "store insert"),
            (&["hamdex", "store", "inset"], "store"),
            (&["hamdex", "shards", "create"], "shards create"),
        ] {
            let line = line(args);
            assert!(line.ends_with(&format!("; see 'hamdex {command} --help'")), "{line}");
        }
    }

    #[test]
    fn color_is_known_before_the_rest_is_parsed() {
        let of = |args: &[&str]| color_of(&args.iter().map(OsString::from).collect::<Vec<_>>());
        assert_eq!(of(&["hamdex", "--help"]), clap::ColorChoice::Auto);
        assert_eq!(of(&["hamdex", "--color", "never", "--help"]), clap::ColorChoice::Never);
        assert_eq!(of(&["hamdex", "query", "--color=always"]), clap::ColorChoice::Always);
        assert_eq!(of(&["hamdex", "query", "--", "--color=always"]), clap::ColorChoice::Auto);
    }

    /// Returns all commands, those within others as well.
    fn all(command: &clap::Command) -> Vec<&clap::Command> {
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
            let mut arguments = all(&cli).into_iter().flat_map(clap::Command::get_arguments);
            arguments.any(|argument| argument.get_long() == Some(name))
        };
        for meant in OPTIONS.iter().flat_map(|(_, meant)| *meant) {
            assert!(has(meant) || ["listen", "max-distance"].contains(meant), "{meant}");
        }
    }
}
