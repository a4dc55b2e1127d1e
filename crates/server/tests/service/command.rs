//! The command as an operator runs it: its address, its end, and what can be set wrong.

use std::ffi::OsString;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::OnceLock;

use serde_json::{Value, json};

use crate::common::{Client, build};
use crate::protection::{certificate, secret, trusting};

/// Returns the command, built with its service.
pub(crate) fn hamdex() -> Command {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    let path = BUILT.get_or_init(|| {
        // With the features of the tests, so that the engine is not compiled again: those of development count if
        // a test is built too.
        let packages =
            ["-p", "hamdex-tools", "-p", "hamdex-test-features", "--features", "hamdex-tools/serve"];
        let targets = ["--bin", "hamdex", "--test", "book"];
        let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or("cargo".into()));
        // A dependency is compiled again if the variables that cargo sets for a package, here for these tests, change.
        let variables = std::env::vars_os().map(|(name, _)| name);
        let of_package = |name: &OsString| {
            let name = name.as_encoded_bytes();
            name.starts_with(b"CARGO_PKG_") || name.starts_with(b"CARGO_MANIFEST_")
        };
        for name in variables.filter(of_package) {
            cargo.env_remove(name);
        }
        let output = cargo
            .arg("build")
            .args(packages)
            .args(targets)
            .args(["--message-format", "json", "--quiet"])
            .current_dir(env!("CARGO_MANIFEST_DIR"))
            .stderr(Stdio::inherit())
            .output()
            .unwrap();
        assert!(output.status.success(), "the command is built");
        let messages = String::from_utf8(output.stdout).unwrap();
        let mut built = messages.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        let is_command = |message: &Value| {
            message["target"]["kind"] == json!(["bin"]) && message["executable"].is_string()
        };
        let command = built.find(is_command).unwrap_or_default();
        PathBuf::from(command["executable"].as_str().expect("cargo names the command"))
    });
    let mut command = Command::new(path);
    // Options of the environment in which the tests run.
    for (name, _) in std::env::vars_os().filter(|(name, _)| name.as_encoded_bytes().starts_with(b"HAMDEX_")) {
        command.env_remove(name);
    }
    command
}

/// A running command, which ends with this.
pub(crate) struct Serving {
    child: Child,
    pub(crate) url: String,
    log: Option<std::thread::JoinHandle<String>>,
}

impl Serving {
    pub(crate) fn start(directory: &Path, arguments: &[&str]) -> Self {
        Self::of(
            hamdex().arg("serve").args(arguments).args(["--listen", "127.0.0.1:0"]).current_dir(directory),
        )
    }

    fn of(command: &mut Command) -> Self {
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let mut log = BufReader::new(child.stderr.take().unwrap());
        let mut line = String::new();
        let url = loop {
            line.clear();
            assert!(log.read_line(&mut line).unwrap() > 0, "the command has ended");
            if let Some((_, url)) = line.trim_end().split_once("hamdex: listening on ") {
                break url.to_owned();
            }
        };
        let log = std::thread::spawn(move || {
            let mut rest = String::new();
            let _ = log.read_to_string(&mut rest);
            rest
        });
        Self { child, url, log: Some(log) }
    }

    pub(crate) fn client(&self) -> Client {
        Client::new(&self.url)
    }

    pub(crate) fn signal(&self, name: &str) {
        let status =
            Command::new("kill").arg(format!("-{name}")).arg(self.child.id().to_string()).status().unwrap();
        assert!(status.success());
    }

    /// Lets the command have hardly more address space than it has: none for the stack of another thread.
    #[cfg(target_os = "linux")]
    fn limit_memory(&self) {
        use rustix::process::{Pid, Resource, Rlimit, prlimit};
        let id = self.child.id();
        let status = std::fs::read_to_string(format!("/proc/{id}/status")).unwrap();
        let size = status.lines().find_map(|line| line.strip_prefix("VmSize:")).unwrap();
        let kilobytes: u64 = size.trim().strip_suffix(" kB").unwrap().parse().unwrap();
        let limit = Some((kilobytes << 10) + (1 << 20));
        let pid = Pid::from_raw(i32::try_from(id).unwrap());
        prlimit(pid, Resource::As, Rlimit { current: limit, maximum: limit }).unwrap();
    }

    /// Waits for the end, and returns the log.
    pub(crate) fn ended(mut self) -> (ExitStatus, String) {
        let status = self.child.wait().unwrap();
        (status, self.log.take().unwrap().join().unwrap())
    }

    pub(crate) fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// The one line of a command that is refused, and its exit code.
fn refused(command: &mut Command) -> (i32, String) {
    let output = command.output().unwrap();
    let text = String::from_utf8(output.stderr).unwrap();
    assert_eq!(text.lines().count(), 1, "{text}");
    assert!(output.stdout.is_empty() && text.starts_with("hamdex: "), "{text}");
    (output.status.code().unwrap(), text)
}

#[test]
fn what_an_operator_sets_wrong_is_one_line_before_anything_is_served() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name).to_str().unwrap().to_owned();
    build(&directory.path().join("a"), &[1]);
    std::fs::create_dir(directory.path().join("sub")).unwrap();
    build(&directory.path().join("sub/a"), &[1]);
    for (name, text, mode) in
        [("open", "token\n", 0o644), ("empty", "\n", 0o600), ("text", "no = [", 0o600), ("key", "k", 0o600)]
    {
        std::fs::write(directory.path().join(name), text).unwrap();
        std::fs::set_permissions(directory.path().join(name), std::fs::Permissions::from_mode(mode)).unwrap();
    }
    let serve = |arguments: &[&str]| {
        let mut command = hamdex();
        command.arg("serve").args(arguments).current_dir(directory.path());
        if !arguments.contains(&"--listen") {
            command.args(["--listen", "127.0.0.1:0"]);
        }
        refused(&mut command)
    };
    let is = |(code, line): (i32, String), expected: i32, part: &str| {
        assert!(code == expected && line.contains(part), "{code}: {line}");
    };
    is(serve(&[]), 2, "name a set to serve");
    is(serve(&["a", "--listen", "0.0.0.0:0"]), 2, "--token-file");
    is(serve(&["a", "--listen", "nowhere"]), 2, "--listen nowhere");
    is(serve(&["a", "--tls-key", "key"]), 2, "--tls-cert");
    is(serve(&["a", "--tls-cert", "key"]), 2, "--tls-key");
    is(serve(&["a", "sub/a"]), 2, "two sets are named \"a\"");
    is(serve(&["a", "--max-body", "much"]), 2, "--max-body");
    is(serve(&["a", "--config", "text"]), 2, "text:1: ");
    is(serve(&["a", "--config", "none"]), 1, "none: cannot read it");
    is(serve(&["none"]), 1, "none: cannot read it");
    is(serve(&["--data", "none"]), 1, "none: cannot list it");
    is(serve(&["a", "--token-file", "open"]), 1, "chmod 600");
    is(serve(&["a", "--token-file", "empty"]), 1, "has no token");
    is(serve(&["a", "--token-file", "none"]), 1, "none: cannot read it");
    is(serve(&["a", "--tls-cert", "key", "--tls-key", "key"]), 1, "key: cannot be used for TLS");

    let other = Serving::start(directory.path(), &["a"]);
    let taken = other.url.strip_prefix("http://").unwrap();
    is(serve(&["a", "--listen", taken]), 1, &format!("cannot listen on {taken}"));
    let created = hamdex().args(["--quiet", "store", "create", &path("s")]).status().unwrap();
    assert!(created.success());
    let holder = Serving::start(directory.path(), &["s"]);
    is(serve(&["s"]), 1, &format!("in use by process {}", holder.child.id()));
    let data = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink(path("s"), data.path().join("s")).unwrap();
    // One of several is served as what cannot be opened.
    for arguments in [&["--data", data.path().to_str().unwrap()][..], &["a", "s"]] {
        let others = Serving::start(directory.path(), arguments);
        let answer = others.client().get("/v1/sets/s");
        assert_eq!(answer.problem(), (503, "unavailable".to_owned()));
        assert!(answer.json()["detail"].as_str().unwrap().contains("in use by process"));
    }
    is(serve(&["a", "--timeout", "18446744073709551615s"]), 2, "--timeout");
    is(serve(&["a", "--max-connections", "18446744073709551615"]), 2, "--max-connections");
    is(serve(&["a", "--threads", "4096"]), 2, "--threads 4096");
}

#[test]
fn options_of_the_environment_and_of_a_file_agree_with_the_command_line() {
    let directory = tempfile::tempdir().unwrap();
    build(&directory.path().join("a"), &[1]);
    std::fs::write(directory.path().join("serve.toml"), "sets = [\"a\"]\nmax-distance = 5\nmax-batch = 2\n")
        .unwrap();
    let mut command = hamdex();
    command.args(["serve", "--max-batch", "4"]).current_dir(directory.path());
    command
        .env("HAMDEX_CONFIG", "serve.toml")
        .env("HAMDEX_LISTEN", "127.0.0.1:0")
        .env("HAMDEX_MAX_BATCH", "3");
    let serving = Serving::of(&mut command);
    let client = serving.client();
    let code = |distance: u32, queries: usize| {
        let answer = client.binary(&format!("/v1/sets/a/query?distance={distance}"), &vec![0; 8 * queries]);
        if answer.status == 200 { String::new() } else { answer.problem().1 }
    };
    assert_eq!(
        (code(5, 4), code(6, 1), code(5, 5)),
        (String::new(), "distance_too_great".into(), "too_many_records".into())
    );
}

#[test]
fn every_option_is_the_same_by_flag_by_environment_and_in_a_file() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name).to_str().unwrap().to_owned();
    build(&directory.path().join("a"), &[1]);
    build(&directory.path().join("b"), &[1]);
    std::fs::create_dir(path("data")).unwrap();
    for (name, token) in [("full", "f"), ("read", "r")] {
        std::fs::write(path(name), token).unwrap();
        std::fs::set_permissions(path(name), std::fs::Permissions::from_mode(0o600)).unwrap();
    }
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    std::fs::write(path("crt"), made.cert.pem()).unwrap();
    std::fs::write(path("key"), made.signing_key.serialize_pem()).unwrap();
    let options = [
        ("data", path("data")),
        ("listen", "127.0.0.1:0".to_owned()),
        ("insecure", "true".to_owned()),
        ("read-only", "true".to_owned()),
        ("in-memory", "true".to_owned()),
        ("token-file", path("full")),
        ("read-token-file", path("read")),
        ("tls-cert", path("crt")),
        ("tls-key", path("key")),
        ("max-distance", "5".to_owned()),
        ("max-batch", "17".to_owned()),
        ("max-body", "3MiB".to_owned()),
        ("timeout", "7s".to_owned()),
        ("max-connections", "33".to_owned()),
        ("threads", "3".to_owned()),
        ("backups", path("elsewhere")),
        ("log", "json".to_owned()),
        ("log-level", "debug".to_owned()),
        ("log-clients", "true".to_owned()),
    ];
    let mut command = hamdex();
    let help = command.args(["serve", "--help"]).output().unwrap();
    let help = String::from_utf8(help.stdout).unwrap();
    let variables = help.split_whitespace().filter(|word| {
        word.trim_start_matches("[env:").starts_with("HAMDEX_")
            && word.trim_end_matches([']', ',']).ends_with('=')
    });
    // Those of --config, which names the file itself, and of the paths are not among the options.
    assert_eq!(variables.count(), options.len() + 2, "{help}");
    let sets = [path("a"), path("b")];
    let effective = |command: &mut Command| {
        command.current_dir(directory.path()).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let lines = BufReader::new(child.stderr.take().unwrap()).lines().map(Result::unwrap);
        let mut config = None;
        for line in lines {
            if let Ok(line) = serde_json::from_str::<Value>(&line)
                && line["message"] == "options"
            {
                config = line["config"].as_str().map(str::to_owned);
            }
            if line.contains("listening on https://127.0.0.1:") {
                break;
            }
        }
        child.kill().unwrap();
        child.wait().unwrap();
        config.expect("the log tells the options")
    };
    let mut flags = hamdex();
    flags.arg("serve").args(&sets);
    for (name, value) in &options {
        flags.arg(format!("--{name}"));
        if value != "true" {
            flags.arg(value);
        }
    }
    let mut environment = hamdex();
    environment.arg("serve").env("HAMDEX_SETS", sets.join(":"));
    for (name, value) in &options {
        environment.env(format!("HAMDEX_{}", name.to_uppercase().replace('-', "_")), value);
    }
    let mut file = hamdex();
    let quoted = |(name, value): &(&str, String)| match value.parse::<u64>() {
        Ok(_) => format!("{name} = {value}\n"),
        Err(_) if value == "true" => format!("{name} = {value}\n"),
        Err(_) => format!("{name} = {value:?}\n"),
    };
    let text: String = options.iter().map(quoted).collect();
    std::fs::write(path("serve.toml"), format!("sets = {sets:?}\n{text}")).unwrap();
    file.args(["serve", "--config", "serve.toml"]);
    let by_flags = effective(&mut flags);
    assert!(by_flags.contains("body: 3145728") && by_flags.contains("insecure: true"), "{by_flags}");
    assert_eq!(effective(&mut environment), by_flags);
    assert_eq!(effective(&mut file), by_flags);
}

#[test]
fn the_log_has_the_addresses_of_clients_if_it_is_to() {
    for switch in [&[][..], &["--log-clients"]] {
        let directory = tempfile::tempdir().unwrap();
        let arguments = [&["--data", ".", "--log", "json"], switch].concat();
        let serving = Serving::start(directory.path(), &arguments);
        serving.client().get("/v1/sets").ok();
        serving.signal("TERM");
        let (_, log) = serving.ended();
        assert_eq!(log.contains("127.0.0.1:"), !switch.is_empty(), "{log}");
    }
}

#[test]
fn the_end_is_in_order_and_the_log_tells_requests_and_no_contents() {
    let directory = tempfile::tempdir().unwrap();
    let serving = Serving::start(directory.path(), &["--data", ".", "--log", "json"]);
    let client = serving.client();
    client.put("/v1/sets/s", &json!({ "durability": "none", "recipe": "default" })).ok();
    let record = json!({ "fingerprint": "0123456789abcdef", "id": "secret-name" });
    client.post("/v1/sets/s/insert", &json!({ "records": [record] })).ok();
    client.get("/v1/sets/s/entries?after=0123456789abcdee");
    client.send(
        "POST",
        "/v1/sets/s/query",
        &[("x-request-id", "my-request"), ("content-type", "application/json")],
        b"{\"fingerprints\":[\"0123456789abcdeg\"]}",
    );
    serving.signal("TERM");
    let (status, log) = serving.ended();
    assert!(status.success(), "{status}: {log}");
    assert!(!log.contains("0123456789abcde") && !log.contains("secret-name"), "{log}");
    let lines: Vec<Value> = log.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let refused = lines.iter().find(|line| line["code"] == "bad_record").expect("a request in the log");
    assert_eq!(
        (&refused["span"]["id"], &refused["status"], &refused["level"]),
        (&json!("my-request"), &json!(422), &json!("INFO"))
    );
    // Everything is durable, whatever the store promised.
    let entries =
        hamdex().args(["dump", "s", "--fingerprints"]).current_dir(directory.path()).output().unwrap();
    assert!(String::from_utf8(entries.stdout).unwrap().contains("0123456789abcdef"));
}

#[cfg(target_os = "linux")]
#[test]
fn the_end_is_in_order_without_memory_for_another_thread() {
    let directory = tempfile::tempdir().unwrap();
    let created = hamdex().args(["--quiet", "store", "create", "s"]).current_dir(directory.path()).status();
    assert!(created.unwrap().success());
    let serving = Serving::start(directory.path(), &["s"]);
    serving.limit_memory();
    serving.signal("TERM");
    let (status, log) = serving.ended();
    assert!(status.success() && !log.contains("panicked"), "{status}: {log}");
}

#[test]
fn on_a_hangup_tokens_are_read_again() {
    let directory = tempfile::tempdir().unwrap();
    build(&directory.path().join("a"), &[1]);
    let tokens = directory.path().join("tokens");
    let write = |text: &str| {
        std::fs::write(&tokens, text).unwrap();
        std::fs::set_permissions(&tokens, std::fs::Permissions::from_mode(0o600)).unwrap();
    };
    write("old");
    let serving = Serving::start(directory.path(), &["a", "--token-file", "tokens"]);
    let status = |token: &str| serving.client().token(token).get("/v1/sets").status;
    assert_eq!((status("old"), status("new")), (200, 401));
    write("new");
    serving.signal("HUP");
    while status("new") == 401 {
        std::thread::yield_now();
    }
    assert_eq!(status("old"), 401);
    // A file without tokens does not open the doors.
    write("");
    serving.signal("HUP");
    for _ in 0..50 {
        assert_eq!((status("new"), status("")), (200, 401));
    }
}

#[test]
fn a_hangup_changes_all_or_nothing() {
    let directory = tempfile::tempdir().unwrap();
    build(&directory.path().join("a"), &[1]);
    let (crt, key, made) = certificate(directory.path(), "one");
    let tokens = secret(directory.path(), "tokens", "old");
    let path = |path: &Path| path.to_str().unwrap().to_owned();
    let (crt_path, key_path, tokens_path) = (path(&crt), path(&key), path(&tokens));
    let serving = Serving::start(
        directory.path(),
        &["a", "--tls-cert", &crt_path, "--tls-key", &key_path, "--token-file", &tokens_path],
    );
    let port = serving.url.rsplit(':').next().unwrap().parse().unwrap();
    let status = |token: &str| trusting(port, &made).token(token).get("/v1/sets").status;
    let right = std::fs::read(&crt).unwrap();
    std::fs::write(&crt, "no certificate").unwrap();
    std::fs::write(&tokens, "new").unwrap();
    serving.signal("HUP");
    for _ in 0..50 {
        assert_eq!((status("old"), status("new")), (200, 401));
    }
    std::fs::write(&crt, right).unwrap();
    serving.signal("HUP");
    while status("new") != 200 {
        std::thread::yield_now();
    }
    assert_eq!(status("old"), 401);
}

#[test]
fn on_a_hangup_certificates_are_read_again() {
    let directory = tempfile::tempdir().unwrap();
    build(&directory.path().join("a"), &[1]);
    let (crt, key, first) = certificate(directory.path(), "one");
    let arguments = ["a", "--tls-cert", crt.to_str().unwrap(), "--tls-key", key.to_str().unwrap()];
    let serving = Serving::start(directory.path(), &arguments);
    let port = serving.url.rsplit(':').next().unwrap().parse().unwrap();
    let is_served = |made: &_| trusting(port, made).try_send("GET", "/healthz", &[], b"").is_some();
    let (new_crt, new_key, second) = certificate(directory.path(), "two");
    assert!(is_served(&first) && !is_served(&second));
    // A key that is not that of the certificate changes nothing.
    std::fs::copy(&new_key, &key).unwrap();
    serving.signal("HUP");
    for _ in 0..20 {
        assert!(is_served(&first));
    }
    std::fs::copy(&new_crt, &crt).unwrap();
    serving.signal("HUP");
    while !is_served(&second) {
        std::thread::yield_now();
    }
    assert!(!is_served(&first));
    serving.signal("TERM");
    assert!(serving.ended().0.success());
}
