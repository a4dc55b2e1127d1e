use clap::builder::StyledStr;
use clap::{Command, CommandFactory};

use super::*;
use crate::cli::Cli;

/// Returns the arguments that name each command, and its definition.
fn all() -> Vec<(Vec<String>, Command)> {
    fn add(args: Vec<String>, command: &Command, commands: &mut Vec<(Vec<String>, Command)>) {
        for below in command.get_subcommands() {
            add([&args[..], &[below.get_name().to_owned()]].concat(), below, commands);
        }
        commands.push((args, command.clone()));
    }
    let mut commands = Vec::new();
    add(vec!["hamdex".to_owned()], &Cli::command(), &mut commands);
    commands
}

/// Returns the page of `-h` or `--help`, without the lines broken to fit a terminal.
fn page_of(args: &[String], option: &str) -> String {
    let args: Vec<OsString> = args.iter().map(String::as_str).chain([option]).map(OsString::from).collect();
    let text: Option<StyledStr> = page(&Cli::command().term_width(usize::MAX), &args);
    text.expect("it is a page").to_string()
}

/// Returns the words of a command line up to a pipe or a redirection, as a shell splits them.
fn words(line: &str) -> Vec<String> {
    let parts = line.split('\'').enumerate();
    let words = parts.flat_map(|(place, part)| match place % 2 {
        0 => part.split_whitespace().map(str::to_owned).collect(),
        _ => vec![part.to_owned()],
    });
    words.take_while(|word| !["|", ">"].contains(&word.as_str())).collect()
}

/// Whether a page has a line for an argument.
fn has(page: &str, arg: &Arg) -> bool {
    let name = match arg.get_long() {
        Some(long) => format!("--{long}"),
        None => {
            return page.contains(&format!("{}>", arg.get_value_names().unwrap()[0])) || page.contains(']');
        }
    };
    page.lines().any(|line| {
        let words = line.trim_start().split([' ', '[', ',']).take(3);
        line.starts_with("  ") && words.into_iter().any(|word| word == name)
    })
}

#[test]
fn short_help_fits_a_screen() {
    for (args, command) in all() {
        let page = page_of(&args, "-h");
        assert!(page.lines().count() <= 40, "{} lines: {page}", page.lines().count());
        for line in page.lines() {
            assert!(line.chars().count() <= 100, "{} columns: {line}", line.chars().count());
        }
        assert_eq!(page.lines().last(), Some(END), "{page}");
        for arg in command.get_arguments().filter(|arg| arg.get_long().is_some() && arg.is_required_set()) {
            assert!(has(&page, arg), "a required option is hidden: {arg}\n{page}");
        }
    }
}

#[test]
fn short_help_opens_with_uses_that_the_parser_takes() {
    for (args, _) in all() {
        let page = page_of(&args, "-h");
        assert!(page.starts_with("Common uses:\n"), "{page}");
        let uses: Vec<&str> = page.lines().skip(1).take_while(|line| !line.is_empty()).collect();
        assert!((2..=4).contains(&uses.len()), "{page}");
        assert!(uses.iter().any(|line| line.starts_with(&format!("  {}", args.join(" ")))), "{page}");
        for line in uses {
            let line = line.strip_prefix("  ").unwrap();
            let words = words(line.split("  ").next().unwrap());
            if let Err(error) = Cli::command().try_get_matches_from(&words) {
                panic!("{words:?}: {error}");
            }
        }
    }
}

#[test]
fn lines_of_short_help_are_those_of_commands_and_options() {
    let commands = all();
    for page in pages::PAGES {
        let path: Vec<&str> = page.command.split_whitespace().collect();
        let Some((_, command)) = commands.iter().find(|(args, _)| args[1..] == path[..]) else {
            // The service is not in every build.
            assert_eq!(page.command, "serve");
            continue;
        };
        let names: Vec<String> = command
            .get_arguments()
            .map(|arg| {
                arg.get_long().map_or_else(|| arg.get_value_names().unwrap()[0].to_string(), str::to_owned)
            })
            .collect();
        for (option, _) in page.options {
            let name = option.split('=').next().unwrap();
            assert!(names.iter().any(|known| known == name), "{}: {option}", page.command);
        }
    }
}

#[test]
fn long_help_and_manual_pages_have_every_option() {
    for (args, command) in all() {
        let long = page_of(&args, "--help");
        assert!(!long.trim_end().ends_with(END), "{long}");
        let mut manual = Vec::new();
        clap_mangen::Man::new(command.clone()).render(&mut manual).unwrap();
        let manual = String::from_utf8(manual).unwrap().replace("\\-", "-");
        for arg in command.get_arguments().filter(|arg| !arg.is_hide_set()) {
            assert!(has(&long, arg), "{args:?}: {arg}");
            if let Some(name) = arg.get_long() {
                assert!(manual.contains(&format!("--{name}")), "{args:?}: {arg}");
            }
        }
    }
}

#[test]
fn both_pages_of_hamdex_list_each_command_once() {
    let root = ["hamdex".to_owned()];
    let names: Vec<String> =
        Cli::command().get_subcommands().map(|command| command.get_name().to_owned()).collect();
    for option in ["-h", "--help"] {
        let page = page_of(&root, option);
        for name in names.iter().map(String::as_str).chain(["help"]) {
            let lines = page.lines().filter(|line| line.starts_with(&format!("  {name} ")));
            assert_eq!(lines.count(), 1, "{name}: {page}");
        }
        let groups = GROUPS.iter().filter(|(name, _)| page.contains(&format!("\n{name}:\n")));
        assert!(groups.count() >= 4, "{page}");
    }
}
