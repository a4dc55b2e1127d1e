//! Tokens and TLS.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use hamdex::{BuildOptions, Builder};
use hamdex_server::Options;
use serde_json::json;

use crate::common::{Client, Running, build, options};

pub(crate) fn secret(directory: &Path, name: &str, text: &str) -> PathBuf {
    let path = directory.join(name);
    std::fs::write(&path, text).unwrap();
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
    }
    path
}

#[test]
fn without_the_right_token_only_the_health_is_answered() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("data");
    std::fs::create_dir(&data).unwrap();
    build(&data.join("a"), &[1]);
    let lookups = BuildOptions::new().ids(true).lookups(true);
    let mut builder = Builder::<u64>::with_options(data.join("ids"), lookups).unwrap();
    builder.push_with_id(1, 1).unwrap();
    builder.finish().unwrap();
    let running = Running::start(Options {
        data: Some(data),
        token_file: Some(secret(directory.path(), "full", "full-token\nsecond-token\n")),
        read_token_file: Some(secret(directory.path(), "read", "read-token\n")),
        ..options()
    });
    let stranger = running.client();
    let (full, second, reader) =
        (stranger.token("full-token"), stranger.token("second-token"), stranger.token("read-token"));
    let reads = [
        ("GET", "/v1/sets"),
        ("GET", "/v1/sets/a"),
        ("GET", "/v1/sets/a/entries"),
        ("GET", "/v1/sets/a/pairs"),
        ("GET", "/v1/sets/a/tables"),
        ("GET", "/v1/sets/ids/records/1"),
        ("GET", "/v1/jobs"),
        ("GET", "/metrics"),
        ("GET", "/openapi.json"),
        ("GET", "/"),
        ("POST", "/v1/sets/a/query"),
    ];
    let changes = [
        ("PUT", "/v1/sets/b"),
        ("POST", "/v1/sets/a/insert"),
        ("POST", "/v1/sets/a/remove"),
        ("POST", "/v1/sets/a/flush"),
        ("POST", "/v1/sets/a/compact"),
        ("POST", "/v1/sets/a/backup"),
        ("POST", "/v1/sets/a/verify"),
        ("DELETE", "/v1/jobs/1"),
        ("DELETE", "/v1/sets/a"),
    ];
    let json = [("content-type", "application/json")];
    let status = |client: &Client, (method, path): (&str, &str)| {
        let body: &[u8] = if path.ends_with("query") { b"{\"fingerprints\":[]}" } else { b"" };
        client.send(method, path, &json, body).status
    };
    for health in [("GET", "/healthz"), ("GET", "/readyz")] {
        assert_eq!(status(&stranger, health), 200);
    }
    let wrong = ["full-toke", "full-token1", "full-tokeN", "x", "read-token,full-token"];
    for request in reads.into_iter().chain(changes).chain([("GET", "/nothing"), ("OPTIONS", "/v1/sets")]) {
        assert_eq!(status(&stranger, request), 401, "{request:?}");
        for token in wrong {
            assert_eq!(status(&stranger.token(token), request), 401, "{request:?} {token}");
        }
    }
    let refused = stranger.get("/v1/sets");
    assert_eq!(
        (refused.problem(), &refused.headers["www-authenticate"]),
        ((401, "unauthorized".to_owned()), &"Bearer".parse().unwrap())
    );
    let other = [("authorization", "Basic ZnVsbC10b2tlbg==")];
    assert_eq!(stranger.send("GET", "/v1/sets", &other, b"").status, 401);
    let lower = [("authorization", "bearer full-token")];
    assert_eq!(stranger.send("GET", "/v1/sets", &lower, b"").status, 200);
    for request in reads {
        for client in [&full, &second, &reader] {
            assert_eq!(status(client, request), 200, "{request:?}");
        }
    }
    for request in changes {
        assert_eq!(status(&reader, request), 403, "{request:?}");
        assert!(!matches!(status(&full, request), 401 | 403), "{request:?}");
    }
    // The page comes with the refusal, and asks for a token.
    let page = stranger.get("/");
    assert!(page.status == 401 && page.body.starts_with(b"<!DOCTYPE html>"));
}

#[test]
fn connections_are_accepted_while_tokens_are_read_again() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("data");
    std::fs::create_dir(&data).unwrap();
    let tokens = secret(directory.path(), "full", "before");
    let with_tokens = Options { data: Some(data), token_file: Some(tokens.clone()), ..options() };
    let asked = Arc::new(tokio::sync::Notify::new());
    let is_asked = Arc::clone(&asked);
    let running = Running::start_with(with_tokens, move || {
        let is_asked = Arc::clone(&is_asked);
        async move { is_asked.notified().await }
    });
    // It hangs, as a disk may, until something is written.
    std::fs::remove_file(&tokens).unwrap();
    assert!(Command::new("mkfifo").args(["-m", "600"]).arg(&tokens).status().unwrap().success());
    asked.notify_one();
    let mut pipe = std::fs::OpenOptions::new().write(true).open(&tokens).unwrap();
    running.client().token("before").get("/v1/sets").ok();
    pipe.write_all(b"after").unwrap();
    drop(pipe);
    while running.client().token("after").get("/v1/sets").status != 200 {}
    assert_eq!(running.client().token("before").get("/v1/sets").status, 401);
}

#[test]
fn other_sites_cannot_use_a_service_without_tokens() {
    let directory = tempfile::tempdir().unwrap();
    let running = Running::of(directory.path());
    let client = running.client();
    let put = |headers: &[(&str, &str)]| client.send("PUT", "/v1/sets/a", headers, b"").status;
    assert_eq!(put(&[("origin", "http://evil.example")]), 403);
    assert_eq!(put(&[("host", "evil.example")]), 403);
    assert_eq!(put(&[("host", "localhost:7"), ("origin", "http://localhost:7")]), 201);
}

/// A certificate, and its key.
pub(crate) fn certificate(
    directory: &Path,
    name: &str,
) -> (PathBuf, PathBuf, rcgen::CertifiedKey<rcgen::KeyPair>) {
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let certificate = secret(directory, &format!("{name}.crt"), &made.cert.pem());
    let key = secret(directory, &format!("{name}.key"), &made.signing_key.serialize_pem());
    (certificate, key, made)
}

/// A client that trusts one certificate.
pub(crate) fn trusting(port: u16, made: &rcgen::CertifiedKey<rcgen::KeyPair>) -> Client {
    let root = ureq::tls::Certificate::from_der(made.cert.der()).to_owned();
    let roots = ureq::tls::RootCerts::Specific(Arc::new(vec![root]));
    let tls = ureq::tls::TlsConfig::builder().root_certs(roots).build();
    let url = format!("https://localhost:{port}");
    Client::with(ureq::Agent::config_builder().tls_config(tls), &url)
}

#[test]
fn with_a_certificate_everything_is_encrypted() {
    let directory = tempfile::tempdir().unwrap();
    let (tls_cert, tls_key, made) = certificate(directory.path(), "one");
    let data = directory.path().join("data");
    std::fs::create_dir(&data).unwrap();
    let running = Running::start(Options {
        data: Some(data),
        tls_cert: Some(tls_cert),
        tls_key: Some(tls_key),
        ..options()
    });
    assert!(running.url.starts_with("https://"));
    let client = trusting(running.address.port(), &made);
    assert_eq!(client.put("/v1/sets/a", &json!({})).status, 201);
    assert_eq!(client.get("/v1/sets/a/entries").rows().len(), 0);
    let (_, _, other) = certificate(directory.path(), "two");
    assert!(trusting(running.address.port(), &other).try_send("GET", "/healthz", &[], b"").is_none());
    let plain = running.cut_off(b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n");
    assert!(!plain.contains("200 OK"), "{plain}");
    assert_eq!(client.get("/healthz").status, 200);
}

#[test]
fn certificates_that_cannot_be_used_are_refused_at_the_start() {
    let directory = tempfile::tempdir().unwrap();
    let (certificate_file, key, _) = certificate(directory.path(), "one");
    let (other_certificate, other_key, _) = certificate(directory.path(), "two");
    let text = secret(directory.path(), "text", "no PEM");
    let refused = |tls_cert: &Path, tls_key: &Path| {
        let options = Options {
            data: Some(directory.path().to_owned()),
            tls_cert: Some(tls_cert.to_owned()),
            tls_key: Some(tls_key.to_owned()),
            ..options()
        };
        let config = options.check().unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(hamdex_server::Server::bind(&config)).map(drop).unwrap_err().to_string()
    };
    assert!(refused(&certificate_file, &other_key).contains("two.key"));
    assert!(refused(&other_certificate, &key).contains("one.key"));
    assert!(refused(&text, &key).contains("no certificate"));
    assert!(refused(&certificate_file, &text).contains("text"));
    assert!(refused(&directory.path().join("none"), &key).contains("none: cannot read it"));
}
