//! Options of the service, from the command line, the environment and a file, which agree.

use std::env;
use std::fmt;
use std::fs;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::thread;
use std::time::Duration;

use clap::builder::FalseyValueParser;
use hamdex::set::Description;
use serde::Deserialize;
use serde::de::{Deserializer, Error as _};

use crate::problem::Failure;

/// The environment variable of sets.
const SETS: &str = "HAMDEX_SETS";

/// The address that is listened on by default.
const LISTEN: &str = "127.0.0.1:7700";

/// The greatest distance of a query, by default.
const MAX_DISTANCE: u32 = 8;

/// The most queries or records per request, by default.
const MAX_BATCH: usize = 100_000;

/// The most bytes of a body, by default.
const MAX_BODY: u64 = 64 << 20;

/// The time that a request may take, by default.
const TIMEOUT: Duration = Duration::from_secs(30);

/// The most connections by default, if the system allows as many open files.
const MAX_CONNECTIONS: u64 = 16_384;

/// Open files that are not for connections: those of sets, logs and libraries.
const OTHER_FILES: u64 = 512;

/// The form of logs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LogForm {
    /// Lines to read
    #[default]
    Text,
    /// A JSON object per line
    Json,
}

/// A number of bytes: `64MiB`, or a number alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Size(pub u64);

impl FromStr for Size {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let size: bytesize::ByteSize =
            text.parse().map_err(|_| format!("invalid size {text:?}; use 64MiB"))?;
        Ok(Self(size.as_u64()))
    }
}

/// The longest time that can be set, and the shortest, which a request cannot end in.
const TIMES: std::ops::RangeInclusive<Duration> =
    Duration::from_millis(1)..=Duration::from_secs(24 * 60 * 60);

/// A time: `30s`, `500ms`, `2m`, from 1 ms to 24 hours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Time(pub Duration);

impl FromStr for Time {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let time = humantime::parse_duration(text).map_err(|_| format!("invalid time {text:?}; use 30s"))?;
        if TIMES.contains(&time) { Ok(Self(time)) } else { Err(format!("{text:?} is not from 1ms to 24h")) }
    }
}

/// A value in a file of options: a text as on the command line, or a number.
fn parsed<'de, D: Deserializer<'de>, T: FromStr<Err = String>>(
    deserializer: D,
) -> Result<Option<T>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Value {
        Number(u64),
        Text(String),
    }
    let text = match Value::deserialize(deserializer)? {
        Value::Number(number) => number.to_string(),
        Value::Text(text) => text,
    };
    text.parse().map(Some).map_err(D::Error::custom)
}

/// The options of the service. Each can stand on the command line, in the environment (`HAMDEX_LISTEN` for `--listen`)
/// or in a TOML file (`listen = "…"`); the first of these that has it counts.
#[derive(Debug, Clone, Default, clap::Args, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Options {
    /// Sets to serve: index files, stores and sets of shards, each under its file name [env: HAMDEX_SETS=, as PATH has
    /// several]
    #[arg(value_name = "PATH")]
    pub sets: Vec<PathBuf>,
    /// A directory of sets: all are served, and new stores are made in it
    #[arg(long, value_name = "DIR", env = "HAMDEX_DATA")]
    pub data: Option<PathBuf>,
    /// Open stores for reading, without their lock: stores that another process writes to, or of a medium that cannot be
    /// written; no request changes anything
    #[arg(long, env = "HAMDEX_READ_ONLY", value_parser = FalseyValueParser::new())]
    pub read_only: bool,
    /// Read files into memory instead of mapping them: then it does no harm if one is overwritten or cut off
    #[arg(long, env = "HAMDEX_IN_MEMORY", value_parser = FalseyValueParser::new())]
    pub in_memory: bool,
    /// The address to listen on, port 0 for any free port; one that other machines reach needs a file of tokens, or
    /// --insecure
    /// [default: 127.0.0.1:7700]
    #[arg(long, value_name = "ADDRESS", env = "HAMDEX_LISTEN")]
    pub listen: Option<String>,
    /// Allow an address that other machines reach without tokens
    #[arg(long, env = "HAMDEX_INSECURE", value_parser = FalseyValueParser::new())]
    pub insecure: bool,
    /// A file of bearer tokens that allow everything, one per line; only its owner and group may have access to it
    #[arg(long, value_name = "F", env = "HAMDEX_TOKEN_FILE")]
    pub token_file: Option<PathBuf>,
    /// A file of bearer tokens that allow reading only, as that of --token-file
    #[arg(long, value_name = "F", env = "HAMDEX_READ_TOKEN_FILE")]
    pub read_token_file: Option<PathBuf>,
    /// The certificate chain for TLS, as PEM; read again on SIGHUP
    #[arg(long, value_name = "F", env = "HAMDEX_TLS_CERT")]
    pub tls_cert: Option<PathBuf>,
    /// The private key of the certificate, as PEM
    #[arg(long, value_name = "F", env = "HAMDEX_TLS_KEY")]
    pub tls_key: Option<PathBuf>,
    /// The greatest distance of a query, or that of its set if it is greater [default: 8]
    #[arg(long, value_name = "K", env = "HAMDEX_MAX_DISTANCE")]
    pub max_distance: Option<u32>,
    /// The most queries or records per request [default: 100000]
    #[arg(long, value_name = "N", env = "HAMDEX_MAX_BATCH")]
    pub max_batch: Option<usize>,
    /// The most bytes of a request's body [default: 64MiB]
    #[arg(long, value_name = "SIZE", env = "HAMDEX_MAX_BODY")]
    #[serde(deserialize_with = "parsed")]
    pub max_body: Option<Size>,
    /// The time that a request may take, a client may be silent, and running requests have at the end [default: 30s]
    #[arg(long, value_name = "TIME", env = "HAMDEX_TIMEOUT")]
    #[serde(deserialize_with = "parsed")]
    pub timeout: Option<Time>,
    /// The most connections at once [default: 16384, or fewer if the system allows fewer open files]
    #[arg(long, value_name = "N", env = "HAMDEX_MAX_CONNECTIONS")]
    pub max_connections: Option<usize>,
    /// Threads for queries [default: one per processor]
    #[arg(long, value_name = "N", env = "HAMDEX_THREADS")]
    pub threads: Option<usize>,
    /// The directory of backups [default: .backups in the directory of sets, or next to the store]
    #[arg(long, value_name = "DIR", env = "HAMDEX_BACKUPS")]
    pub backups: Option<PathBuf>,
    /// The form of the log on standard error [default: text]
    #[arg(long, value_enum, value_name = "FORM", env = "HAMDEX_LOG")]
    pub log: Option<LogForm>,
    /// The least severe lines of the log: error, warn, info (one per request), debug [default: info]
    #[arg(long, value_name = "LEVEL", env = "HAMDEX_LOG_LEVEL")]
    pub log_level: Option<String>,
    /// Log the address of the client of each request
    #[arg(long, env = "HAMDEX_LOG_CLIENTS", value_parser = FalseyValueParser::new())]
    pub log_clients: bool,
    /// A TOML file with any of these options, named as here; PATHs are called sets
    #[arg(long, value_name = "F", env = "HAMDEX_CONFIG")]
    #[serde(skip)]
    pub config: Option<PathBuf>,
}

/// Checked options.
#[derive(Debug, Clone)]
pub struct Config {
    pub(crate) sets: Vec<PathBuf>,
    pub(crate) data: Option<PathBuf>,
    pub(crate) read_only: bool,
    pub(crate) in_memory: bool,
    pub(crate) listen: SocketAddr,
    pub(crate) insecure: bool,
    pub(crate) token_file: Option<PathBuf>,
    pub(crate) read_token_file: Option<PathBuf>,
    pub(crate) tls: Option<(PathBuf, PathBuf)>,
    pub(crate) limits: Limits,
    pub(crate) max_connections: usize,
    pub(crate) threads: usize,
    pub(crate) backups: Option<PathBuf>,
    pub(crate) log: LogForm,
    pub(crate) log_level: tracing::level_filters::LevelFilter,
    pub(crate) log_clients: bool,
}

/// The limits of a request.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    pub(crate) distance: u32,
    pub(crate) batch: usize,
    pub(crate) body: usize,
    pub(crate) timeout: Duration,
}

impl Limits {
    /// The greatest distance of a query to a set: for its own, it is made, and its fingerprints bound all.
    pub(crate) fn distance_of(&self, set: &Description) -> u32 {
        self.distance.max(set.distance).min(set.width)
    }
}

impl Options {
    /// Takes the sets of the environment if there are no others, as the command line does with all other options.
    #[must_use]
    pub(crate) fn with_environment(mut self) -> Self {
        if self.sets.is_empty()
            && let Some(sets) = env::var_os(SETS)
        {
            self.sets = env::split_paths(&sets).filter(|path| !path.as_os_str().is_empty()).collect();
        }
        self
    }

    /// Adds the options of the file that `--config` names, and checks all.
    ///
    /// # Errors
    /// When the file cannot be read or understood, options contradict each other, or one is out of range.
    pub fn check(self) -> Result<Config, Failure> {
        let whole = match &self.config {
            Some(path) => {
                let file = Self::read(path)?;
                self.or(file)
            }
            None => self,
        };
        whole.into_config()
    }

    fn read(path: &Path) -> Result<Self, Failure> {
        let text = fs::read_to_string(path).map_err(Failure::io("read it", path))?;
        let mut options: Self = toml::from_str(&text).map_err(|error| {
            let line = error.span().map_or(1, |span| 1 + text[..span.start].matches('\n').count());
            Failure::Usage(format!("{}:{line}: {}", path.display(), error.message().replace('\n', "; ")))
        })?;
        // A file names other files from its own directory.
        let from = path.parent().unwrap_or(Path::new(""));
        let named = [
            &mut options.data,
            &mut options.token_file,
            &mut options.read_token_file,
            &mut options.tls_cert,
            &mut options.tls_key,
            &mut options.backups,
        ];
        for path in named.into_iter().flatten().chain(&mut options.sets) {
            *path = from.join(&*path);
        }
        Ok(options)
    }

    fn or(self, file: Self) -> Self {
        Self {
            sets: if self.sets.is_empty() { file.sets } else { self.sets },
            data: self.data.or(file.data),
            read_only: self.read_only || file.read_only,
            in_memory: self.in_memory || file.in_memory,
            listen: self.listen.or(file.listen),
            insecure: self.insecure || file.insecure,
            token_file: self.token_file.or(file.token_file),
            read_token_file: self.read_token_file.or(file.read_token_file),
            tls_cert: self.tls_cert.or(file.tls_cert),
            tls_key: self.tls_key.or(file.tls_key),
            max_distance: self.max_distance.or(file.max_distance),
            max_batch: self.max_batch.or(file.max_batch),
            max_body: self.max_body.or(file.max_body),
            timeout: self.timeout.or(file.timeout),
            max_connections: self.max_connections.or(file.max_connections),
            threads: self.threads.or(file.threads),
            backups: self.backups.or(file.backups),
            log: self.log.or(file.log),
            log_level: self.log_level.or(file.log_level),
            log_clients: self.log_clients || file.log_clients,
            config: self.config,
        }
    }

    fn into_config(self) -> Result<Config, Failure> {
        if self.sets.is_empty() && self.data.is_none() {
            return Err(usage("name a set to serve, or a directory of sets by --data"));
        }
        let listen = address(self.listen.as_deref().unwrap_or(LISTEN))?;
        let has_tokens = self.token_file.is_some() || self.read_token_file.is_some();
        if !is_loopback(listen.ip()) && !has_tokens && !self.insecure {
            return Err(Failure::Usage(format!(
                "--listen {listen}: other machines reach this address: protect it by --token-file, or allow everything to \
                 everyone by --insecure"
            )));
        }
        let tls = match (self.tls_cert, self.tls_key) {
            (Some(certificate), Some(key)) => Some((certificate, key)),
            (None, None) => None,
            (Some(_), None) => {
                return Err(usage("--tls-cert needs --tls-key, the private key of the certificate"));
            }
            (None, Some(_)) => return Err(usage("--tls-key needs --tls-cert, the certificate of the key")),
        };
        let number = |name: &str, number: Option<usize>, most: usize| match number {
            Some(number) if !(1..=most).contains(&number) => {
                out_of_range(name, number as u64, 1, most as u64)
            }
            other => Ok(other),
        };
        let max_body = self.max_body.map_or(MAX_BODY, |size| size.0);
        if !(1..=MOST_BODY).contains(&max_body) {
            return out_of_range("max-body", max_body, 1, MOST_BODY);
        }
        let distance = self.max_distance.unwrap_or(MAX_DISTANCE);
        if distance > u128::BITS {
            return out_of_range("max-distance", u64::from(distance), 0, u64::from(u128::BITS));
        }
        let timeout = self.timeout.map_or(TIMEOUT, |time| time.0);
        if !TIMES.contains(&timeout) {
            return Err(Failure::Usage(format!("--timeout {timeout:?}: is not from 1ms to 24h")));
        }
        let level = self.log_level.as_deref().unwrap_or("info");
        let log_level = level.parse().map_err(|_| {
            Failure::Usage(format!("invalid --log-level {level:?}; use error, warn, info, debug or trace"))
        })?;
        Ok(Config {
            sets: self.sets,
            data: self.data,
            read_only: self.read_only,
            in_memory: self.in_memory,
            listen,
            insecure: self.insecure,
            token_file: self.token_file,
            read_token_file: self.read_token_file,
            tls,
            limits: Limits {
                distance,
                batch: number("max-batch", self.max_batch, MOST_BATCH)?.unwrap_or(MAX_BATCH),
                body: usize::try_from(max_body).unwrap_or(usize::MAX),
                timeout,
            },
            max_connections: number("max-connections", self.max_connections, MOST_CONNECTIONS)?
                .unwrap_or_else(affordable_connections),
            threads: number("threads", self.threads, MAX_THREADS)?.unwrap_or_else(|| {
                thread::available_parallelism().map_or(1, std::num::NonZero::get).min(MAX_THREADS)
            }),
            backups: self.backups,
            log: self.log.unwrap_or_default(),
            log_level,
            log_clients: self.log_clients,
        })
    }
}

/// The most threads for queries.
const MAX_THREADS: usize = 1024;

/// The greatest values of `--max-batch`, `--max-connections` and `--max-body`.
const MOST_BATCH: usize = 100_000_000;
const MOST_CONNECTIONS: usize = 1_000_000;
const MOST_BODY: u64 = 64 << 30;

fn out_of_range<T>(name: &str, given: u64, least: u64, most: u64) -> Result<T, Failure> {
    Err(Failure::Usage(format!("--{name} {given}: is not from {least} to {most}")))
}

impl Config {
    /// The form of logs.
    #[must_use]
    pub fn log_form(&self) -> LogForm {
        self.log
    }
}

fn usage(text: &str) -> Failure {
    Failure::Usage(text.to_owned())
}

fn address(text: &str) -> Result<SocketAddr, Failure> {
    let mut all = text.to_socket_addrs().map_err(|error| {
        Failure::Usage(format!("--listen {text}: no address and port: {error}; use 127.0.0.1:7700"))
    })?;
    all.next().ok_or_else(|| Failure::Usage(format!("--listen {text}: names no address")))
}

/// Whether only this machine reaches an address.
pub(crate) fn is_loopback(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => address.is_loopback(),
        IpAddr::V6(address) => {
            address.is_loopback() || address.to_ipv4_mapped().is_some_and(|address| address.is_loopback())
        }
    }
}

/// Allows as many open files as the system lets a process allow itself, and returns the connections for which they
/// suffice.
fn affordable_connections() -> usize {
    usize::try_from(open_files().saturating_sub(OTHER_FILES).clamp(64, MAX_CONNECTIONS)).unwrap_or(64)
}

#[cfg(unix)]
fn open_files() -> u64 {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limit = getrlimit(Resource::Nofile);
    let wanted = MAX_CONNECTIONS + OTHER_FILES;
    let current = limit.current.unwrap_or(u64::MAX);
    if current >= wanted {
        return current;
    }
    let raised = wanted.min(limit.maximum.unwrap_or(u64::MAX)).max(current);
    let raised_limit = Rlimit { current: Some(raised), maximum: limit.maximum };
    if setrlimit(Resource::Nofile, raised_limit).is_ok() { raised } else { current }
}

#[cfg(not(unix))]
fn open_files() -> u64 {
    MAX_CONNECTIONS + OTHER_FILES
}

impl fmt::Display for LogForm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Text => "text",
            Self::Json => "json",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of_file(text: &str) -> Result<Options, Failure> {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("serve.toml");
        fs::write(&path, text).unwrap();
        Options::read(&path)
    }

    #[test]
    fn a_file_has_every_option_of_the_command_line() {
        use clap::Args;
        let command = Options::augment_args(clap::Command::new("serve"));
        let mut text = String::new();
        for option in command.get_arguments() {
            let name = option.get_long().unwrap_or("sets");
            let value = match name {
                "config" => continue,
                "sets" => "[\"a\", \"b\"]",
                "insecure" | "read-only" | "in-memory" | "log-clients" => "true",
                "max-distance" | "max-batch" | "max-connections" | "threads" | "max-body" => "3",
                "timeout" => "\"3s\"",
                "log" => "\"json\"",
                _ => "\"x\"",
            };
            text += &format!("{name} = {value}\n");
            if name != "sets" {
                let environment = format!("HAMDEX_{}", name.to_uppercase().replace('-', "_"));
                assert_eq!(option.get_env().unwrap().to_str().unwrap(), environment);
            }
        }
        let options = of_file(&text).unwrap();
        assert_eq!(
            (options.sets.len(), options.max_body, options.log),
            (2, Some(Size(3)), Some(LogForm::Json))
        );
        assert!(options.token_file.unwrap().is_absolute());
        let unknown = of_file("listen = \"x\"\nlisten-to = 3\n").unwrap_err().to_string();
        assert!(unknown.contains("serve.toml:2: unknown field `listen-to`"), "{unknown}");
    }

    #[test]
    fn the_command_line_counts_before_the_file() {
        let file = Options { max_batch: Some(3), threads: Some(3), ..Options::default() };
        let line = Options { max_batch: Some(4), ..Options::default() };
        let both = line.or(file);
        assert_eq!((both.max_batch, both.threads), (Some(4), Some(3)));
    }

    #[test]
    fn contradictions_are_refused() {
        let with = |change: fn(&mut Options)| {
            let mut options = Options { sets: vec!["x".into()], ..Options::default() };
            change(&mut options);
            options.check().map(drop).map_err(|failure| failure.to_string())
        };
        assert_eq!(with(|_| ()), Ok(()));
        assert!(with(|o| o.sets.clear()).unwrap_err().contains("name a set"));
        assert!(with(|o| o.listen = Some("0.0.0.0:0".into())).unwrap_err().contains("--token-file"));
        assert_eq!(with(|o| (o.listen, o.insecure) = (Some("0.0.0.0:0".into()), true)), Ok(()));
        assert_eq!(with(|o| o.listen = Some("[::1]:0".into())), Ok(()));
        assert!(with(|o| o.listen = Some("7700".into())).unwrap_err().contains("--listen 7700"));
        assert!(with(|o| o.tls_cert = Some("c".into())).unwrap_err().contains("--tls-key"));
        assert!(with(|o| o.tls_key = Some("k".into())).unwrap_err().contains("--tls-cert"));
        assert!(with(|o| o.threads = Some(0)).unwrap_err().contains("--threads"));
        assert!(with(|o| o.log_level = Some("loud".into())).unwrap_err().contains("--log-level"));
        for time in ["0s", "3", "18446744073709551615s", "25h", "1us", "99999999999999999999999s"] {
            assert!(time.parse::<Time>().is_err(), "{time}");
        }
        assert!("24h".parse::<Time>().is_ok() && "1ms".parse::<Time>().is_ok());
        assert!(with(|o| o.timeout = Some(Time(Duration::MAX))).unwrap_err().contains("--timeout"));
        assert!(with(|o| o.max_distance = Some(129)).unwrap_err().contains("--max-distance 129"));
        assert!(with(|o| o.max_batch = Some(usize::MAX)).unwrap_err().contains("--max-batch"));
        assert!(with(|o| o.max_connections = Some(usize::MAX)).unwrap_err().contains("--max-connections"));
        assert!(with(|o| o.max_body = Some(Size(u64::MAX))).unwrap_err().contains("--max-body"));
        assert!(with(|o| o.threads = Some(1025)).unwrap_err().contains("--threads 1025"));
        assert_eq!(with(|o| o.max_distance = Some(128)), Ok(()));
        let reading = |o: &mut Options| {
            (o.listen, o.read_token_file) = (Some("0.0.0.0:0".into()), Some("t".into()));
        };
        assert_eq!(with(reading), Ok(()));
        assert_eq!("64MiB".parse(), Ok(Size(64 << 20)));
    }
}
