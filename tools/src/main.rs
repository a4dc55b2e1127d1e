//! The `hamdex` command; all of it is in the library.

fn main() -> std::process::ExitCode {
    hamdex_tools::run(std::env::args_os()).into()
}
