//! The commands of `hamdex -h` and `hamdex --help`, in groups.

use clap::Command;

use crate::help::heading;

/// Every command is in one group; a group whose commands this build lacks is left out.
pub(super) const GROUPS: [(&str, &[&str]); 5] = [
    ("Documents", &["dedup", "distance", "fingerprint", "idf"]),
    ("Indexes", &["build", "query", "pairs", "merge", "verify", "dump", "designs"]),
    ("Stores and shards", &["store", "shards"]),
    ("Service", &["serve"]),
    ("More", &["demo", "completions", "man", "help"]),
];

/// The command that the parser adds to the others.
const HELP: &str = "Print the help of hamdex or of a command";

/// Lists the commands below this one in groups, with this text between them.
pub(super) fn list(command: Command, separator: &str) -> Command {
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
