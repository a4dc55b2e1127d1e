//! The pages of `-h` and `--help`.
//!
//! `--help`, manual pages and completions show the definitions of the commands as they are. `-h` fits one screen: it
//! is made of the same definitions with the lines of [`pages`], which has the common uses and the important options of
//! each command.

mod pages;

use std::ffi::OsString;

use clap::builder::{StyledStr, Styles};
use clap::{Arg, Command};

use crate::help::pages::Page;

/// The last line of `-h`.
const END: &str = "`--help` has all options";

/// Returns the page that the arguments ask for: `-h`, `--help`, or a command that lacks all its arguments.
pub(crate) fn page(command: &Command, args: &[OsString]) -> Option<StyledStr> {
    let page = |command: Command| Some(command.try_get_matches_from(args).err()?.render());
    let short = page(short(command.clone()))?;
    // The parser does not tell -h from --help; only the page of -h ends in this line.
    match short.to_string().trim_end().ends_with(END) {
        true => Some(short),
        false => page(list(command.clone(), "\n\n")),
    }
}

/// Returns the definitions with the texts of `-h`.
pub(crate) fn short(command: Command) -> Command {
    list(shorten(command, ""), "\n")
}

/// Gives a command, and those below it, the texts of `-h`. `path` is its name without that of the program.
fn shorten(command: Command, path: &str) -> Command {
    let page = pages::of(path);
    let after = command.get_after_long_help().or(command.get_after_help()).cloned().unwrap_or_default();
    let before = command.get_before_help().cloned().unwrap_or_else(|| uses(page).into());
    command
        .before_help(before)
        .after_help(END)
        .after_long_help(after)
        .mut_args(|arg| shorten_option(arg, page))
        .mut_subcommands(|below| {
            let path = format!("{path} {}", below.get_name());
            shorten(below, path.trim_start())
        })
}

/// Returns the common uses, with aligned explanations.
fn uses(page: &Page) -> String {
    let width = page.uses.iter().map(|(command, _)| command.len()).max().unwrap_or(0);
    let mut uses = "Common uses:".to_owned();
    for (command, purpose) in page.uses {
        let line = format!("{command:width$}  {purpose}");
        uses.push_str("\n  ");
        uses.push_str(line.trim_end());
    }
    uses
}

/// Gives an option its one line of `-h`, or hides it there.
fn shorten_option(arg: Arg, page: &Page) -> Arg {
    let name = arg.get_long().map(str::to_owned);
    let name = name.or_else(|| Some(arg.get_value_names()?.first()?.to_string())).unwrap_or_default();
    let known = |option: &&(usize, &(&str, &str))| option.1.0.split('=').next() == Some(&*name);
    let options: Vec<_> = page.options.iter().enumerate().collect();
    let Some((place, (option, line))) = options.iter().find(known) else {
        let is_option = !arg.is_positional();
        return arg.hide_short_help(is_option);
    };
    let arg = match option.split_once('=') {
        Some((_, value)) => arg.value_name(value),
        None => arg,
    };
    let arg = if arg.is_global_set() { arg } else { arg.display_order(*place) };
    // Only options of the service can stand in the environment.
    #[cfg(feature = "serve")]
    let arg = arg.hide_env(true);
    let has_value = arg.get_action().takes_values();
    arg.help(*line).help_heading(None::<&str>).hide_default_value(has_value).hide_possible_values(has_value)
}

/// Every command is in one group; a group whose commands this build lacks is left out.
const GROUPS: [(&str, &[&str]); 5] = [
    ("Documents", &["dedup", "distance", "fingerprint", "idf"]),
    ("Indexes", &["build", "query", "pairs", "merge", "verify", "dump", "designs"]),
    ("Stores and shards", &["store", "shards"]),
    ("Service", &["serve"]),
    ("More", &["demo", "completions", "man", "help"]),
];

/// The command that the parser adds to the others.
const HELP: &str = "Print the help of hamdex or of a command";

/// Lists the commands below this one in groups, with this text between them.
fn list(command: Command, separator: &str) -> Command {
    let groups = GROUPS.iter().filter_map(|(name, commands)| group(&command, name, commands));
    let groups: Vec<String> = groups.collect();
    let template = format!(
        "{{before-help}}{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{}\n\n{}\n{{options}}{{after-help}}",
        groups.join(separator),
        heading(command.get_styles(), "Options"),
    );
    command.help_template(template)
}

/// Returns a group: its heading, and a line for each command.
fn group(command: &Command, name: &str, commands: &[&str]) -> Option<String> {
    let style = command.get_styles().get_literal();
    let lines = commands.iter().filter_map(|name| {
        let about = match command.find_subcommand(name) {
            Some(below) => below.get_about().map(ToString::to_string)?,
            None if *name == "help" => HELP.to_owned(),
            None => return None,
        };
        Some(format!("\n  {style}{name:11}{style:#}  {about}"))
    });
    let lines: String = lines.collect();
    (!lines.is_empty()).then(|| heading(command.get_styles(), name) + &lines)
}

/// Returns a heading in the style of the parser's own.
fn heading(styles: &Styles, text: &str) -> String {
    let style = styles.get_header();
    format!("{style}{text}:{style:#}")
}

#[cfg(test)]
mod tests;
