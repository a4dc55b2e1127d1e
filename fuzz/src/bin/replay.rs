//! Runs fuzz targets without a fuzzer.
//!
//! ```text
//! replay list                        the names of the targets
//! replay seeds DIR                   writes the seeds of each target to DIR/TARGET
//! replay run TARGET FILE...          runs a target on files, such as one that a fuzzer has found
//! replay mutate TARGET|all COUNT [SEED]   runs targets on their seeds, and on COUNT changes of these
//! ```

use std::panic::{self, AssertUnwindSafe};
use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

use hamdex_fuzz::common::Numbers;
use hamdex_fuzz::mutate::mutate;
use hamdex_fuzz::{TARGETS, Target};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let outcome = match arguments[..] {
        ["list"] => {
            TARGETS.iter().for_each(|target| println!("{}", target.name));
            Ok(())
        }
        ["seeds", directory] => write_seeds(Path::new(directory)),
        ["run", name, ref files @ ..] if !files.is_empty() => run(name, files),
        ["mutate", name, count] => mutated(name, count, "0"),
        ["mutate", name, count, seed] => mutated(name, count, seed),
        _ => Err("replay list | seeds DIR | run TARGET FILE... | mutate TARGET|all COUNT [SEED]".to_owned()),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("replay: {message}");
            ExitCode::FAILURE
        }
    }
}

fn named(name: &str) -> Result<Vec<Target>, String> {
    let found: Vec<Target> =
        TARGETS.iter().filter(|target| name == "all" || target.name == name).copied().collect();
    if found.is_empty() { Err(format!("no target is named {name}")) } else { Ok(found) }
}

fn write_seeds(directory: &Path) -> Result<(), String> {
    for target in TARGETS {
        let directory = directory.join(target.name);
        std::fs::create_dir_all(&directory).map_err(|error| error.to_string())?;
        for (number, seed) in (target.seeds)().iter().enumerate() {
            let path = directory.join(format!("seed-{number:02}"));
            std::fs::write(path, seed).map_err(|error| error.to_string())?;
        }
    }
    Ok(())
}

fn run(name: &str, files: &[&str]) -> Result<(), String> {
    for target in named(name)? {
        for file in files {
            let input = std::fs::read(file).map_err(|error| format!("{file}: {error}"))?;
            attempt(target, &input)?;
        }
    }
    Ok(())
}

fn mutated(name: &str, count: &str, seed: &str) -> Result<(), String> {
    let number = |text: &str| text.parse::<u64>().map_err(|error| format!("{text}: {error}"));
    let (count, seed) = (number(count)?, number(seed)?);
    for target in named(name)? {
        let start = Instant::now();
        let seeds = (target.seeds)();
        seeds.iter().try_for_each(|input| attempt(target, input))?;
        let mut numbers = Numbers(seed);
        for _ in 0..count {
            let pick = |numbers: &mut Numbers| &seeds[numbers.below(seeds.len() as u64) as usize];
            let other = pick(&mut numbers);
            let mut input = pick(&mut numbers).clone();
            mutate(&mut input, other, &mut numbers);
            attempt(target, &input)?;
        }
        let runs = seeds.len() as u64 + count;
        println!("{}: {runs} runs in {:.1} s", target.name, start.elapsed().as_secs_f64());
    }
    Ok(())
}

/// Runs a target on an input. One that it fails on is kept in a file.
fn attempt(target: Target, input: &[u8]) -> Result<(), String> {
    if panic::catch_unwind(AssertUnwindSafe(|| (target.run)(input))).is_ok() {
        return Ok(());
    }
    let name = format!("crash-{}-{:08x}", target.name, crc32fast::hash(input));
    let kept = match std::fs::write(&name, input) {
        Ok(()) => format!("the input is kept: replay run {} {name}", target.name),
        Err(error) => format!("the input could not be kept: {error}"),
    };
    Err(format!("{} failed; {kept}", target.name))
}
