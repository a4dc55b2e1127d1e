//! The network service of hamdex: sets of fingerprints over HTTP, for several processes and languages.
//!
//! `hamdex serve` runs it. `docs/serve.md` is for its users; [`openapi`] describes every request.
//!
//! - [`Options`] come from the command line, the environment and a file; [`Options::check`] makes a [`Config`] of them
//! - [`run`] serves until the process gets a signal to end; [`Server`] is a part of another program
//!
//! ```no_run
//! use hamdex_server::Options;
//!
//! let options = Options { data: Some("sets".into()), ..Options::default() };
//! hamdex_server::run(options, false, |url| eprintln!("listening on {url}"))?;
//! # Ok::<(), hamdex_server::Failure>(())
//! ```
//!
//! # How it works
//!
//! Threads of their own poll sockets; everything that reads a set runs on others, in lanes (`admission.rs`): small queries,
//! heavy queries, streams, jobs, and the writes of each store. A lane lets so much work run and so much wait, and
//! refuses the rest. Sets are queried through [`hamdex_any::AnySet`], whatever they are; a store through a snapshot of
//! the moment. Writes of many connections run at once, so that the store syncs its log once for all of them.

mod admission;
mod api;
mod jobs;
mod metrics;
mod options;
mod problem;
mod server;
mod sets;
mod tokens;

use std::io::IsTerminal;

use tokio::runtime::Builder;
use tracing::level_filters::LevelFilter;
use tracing_subscriber::fmt;

pub use api::service::openapi;
pub use options::{Config, LogForm, Options, Size, Time};
pub use problem::Failure;
pub use server::{Server, never};

/// Threads that may run work of requests: those of lanes, and of writes of many stores.
const MAX_WORKERS: usize = 4096;

/// Heaps that threads share.
const MAX_HEAPS: u16 = 2;

/// Threads that poll sockets.
const MAX_POLLERS: usize = 4;

/// Serves until the process gets SIGTERM or SIGINT. `announce` is called with the URL once requests are answered.
/// The log of the process goes to standard error, only with errors if `is_quiet`.
///
/// # Errors
/// When the options are wrong, the address is taken, a set cannot be opened or closed, or the system refuses something.
pub fn run(options: Options, is_quiet: bool, announce: impl FnOnce(&str)) -> Result<(), Failure> {
    let config = options.with_environment().check()?;
    start_log(config.log_form(), if is_quiet { LevelFilter::ERROR } else { config.log_level });
    tracing::debug!(?config, "options");
    // Threads of work come and go.
    hamdex::limit_heaps(MAX_HEAPS);
    let runtime = Builder::new_multi_thread()
        .worker_threads(config.threads.min(MAX_POLLERS))
        .max_blocking_threads(MAX_WORKERS)
        .thread_name("hamdex-serve")
        .enable_all()
        .build()
        .map_err(|error| Failure::Usage(format!("cannot start a thread: {error}")))?;
    let outcome = runtime.block_on(async {
        let server = Server::bind(&config).await?;
        let end = end()?;
        let reload = reload()?;
        announce(&server.url());
        server.serve(end, reload).await
    });
    // Work that did not end in its time is not waited for.
    runtime.shutdown_background();
    outcome
}

/// Starts the log of this process, unless it has one.
fn start_log(form: LogForm, level: LevelFilter) {
    let log = fmt().with_max_level(level).with_writer(std::io::stderr).with_target(false);
    // One that a program has started before stays.
    drop(match form {
        LogForm::Text => log.with_ansi(std::io::stderr().is_terminal()).try_init(),
        LogForm::Json => log.json().flatten_event(true).try_init(),
    });
}

#[cfg(unix)]
fn signal(kind: tokio::signal::unix::SignalKind) -> Result<tokio::signal::unix::Signal, Failure> {
    tokio::signal::unix::signal(kind)
        .map_err(|error| Failure::Usage(format!("cannot wait for signals: {error}")))
}

/// Returns the future of the signal to end.
#[cfg(unix)]
fn end() -> Result<impl Future<Output = ()>, Failure> {
    use tokio::signal::unix::SignalKind;
    let (mut terminate, mut interrupt) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    Ok(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
    })
}

#[cfg(not(unix))]
fn end() -> Result<impl Future<Output = ()>, Failure> {
    Ok(async { drop(tokio::signal::ctrl_c().await) })
}

type Reload = std::pin::Pin<Box<dyn Future<Output = ()>>>;

/// Returns the futures of the signal to reload.
#[cfg(unix)]
fn reload() -> Result<impl FnMut() -> Reload, Failure> {
    let hangups = signal(tokio::signal::unix::SignalKind::hangup())?;
    let hangups = std::rc::Rc::new(std::cell::RefCell::new(hangups));
    Ok(move || -> Reload {
        let hangups = std::rc::Rc::clone(&hangups);
        Box::pin(std::future::poll_fn(move |context| hangups.borrow_mut().poll_recv(context).map(drop)))
    })
}

#[cfg(not(unix))]
fn reload() -> Result<impl FnMut() -> Reload, Failure> {
    Ok(|| -> Reload { Box::pin(never()) })
}
