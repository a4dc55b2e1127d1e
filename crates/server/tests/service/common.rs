//! A service in this process, and its clients.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread::JoinHandle;
use std::time::Duration;

use hamdex::{BuildOptions, Builder, Fingerprint};
use hamdex_server::{Options, Server, Time, never};
use serde_json::Value;
use tokio::sync::oneshot;

/// A service that ends with this.
pub(crate) struct Running {
    pub(crate) address: SocketAddr,
    pub(crate) url: String,
    end: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

/// Options that all tests have in common.
pub(crate) fn options() -> Options {
    Options {
        listen: Some("127.0.0.1:0".to_owned()),
        timeout: Some(Time(Duration::from_secs(20))),
        ..Options::default()
    }
}

impl Running {
    /// Serves a directory of sets.
    pub(crate) fn of(data: &Path) -> Self {
        Self::start(Options { data: Some(data.to_owned()), ..options() })
    }

    pub(crate) fn start(options: Options) -> Self {
        Self::start_with(options, never)
    }

    /// Serves, and reads certificates and tokens again whenever `reload` returns.
    pub(crate) fn start_with<R: Future<Output = ()>>(
        options: Options,
        reload: impl FnMut() -> R + Send + 'static,
    ) -> Self {
        let (end, has_ended) = oneshot::channel();
        let (started, has_started) = mpsc::channel();
        let thread = std::thread::spawn(move || {
            let runtime =
                tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
            runtime.block_on(async {
                let server = Server::bind(&options.check().unwrap()).await.unwrap();
                started.send((server.address(), server.url())).unwrap();
                server.serve(async { drop(has_ended.await) }, reload).await.unwrap();
            });
        });
        let (address, url) = has_started.recv().expect("the service starts");
        Self { address, url, end: Some(end), thread: Some(thread) }
    }

    /// Ends the service, as a signal would.
    pub(crate) fn end(mut self) {
        self.stop().expect("it ends in order");
    }

    fn stop(&mut self) -> std::thread::Result<()> {
        drop(self.end.take());
        self.thread.take().map_or(Ok(()), JoinHandle::join)
    }

    pub(crate) fn client(&self) -> Client {
        Client::new(&self.url)
    }

    /// Sends bytes, and returns everything that comes back until the service closes the connection.
    pub(crate) fn raw(&self, bytes: &[u8]) -> String {
        self.exchange(bytes, false)
    }

    /// As [`Running::raw`], after ending the sending side.
    pub(crate) fn cut_off(&self, bytes: &[u8]) -> String {
        self.exchange(bytes, true)
    }

    fn exchange(&self, bytes: &[u8], is_cut_off: bool) -> String {
        let mut stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        // The service may answer, and close, before it has read everything.
        let _ = stream.write_all(bytes);
        if is_cut_off {
            let _ = stream.shutdown(Shutdown::Write);
        }
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        String::from_utf8_lossy(&answer).into_owned()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.stop();
    }
}

/// A client that keeps its connection.
#[derive(Clone)]
pub(crate) struct Client {
    pub(crate) agent: ureq::Agent,
    url: String,
    token: Option<String>,
}

/// A status and a body.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: ureq::http::HeaderMap,
    pub(crate) body: Vec<u8>,
}

impl Answer {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body)
            .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&self.body)))
    }

    /// The body of a request that succeeds.
    pub(crate) fn ok(&self) -> Value {
        assert!(
            (200..300).contains(&self.status),
            "{}: {}",
            self.status,
            String::from_utf8_lossy(&self.body)
        );
        self.json()
    }

    /// The lines of a stream.
    pub(crate) fn rows(&self) -> Vec<Value> {
        assert_eq!(self.status, 200, "{}", String::from_utf8_lossy(&self.body));
        let text = std::str::from_utf8(&self.body).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// The status and code of a problem document, which is checked.
    pub(crate) fn problem(&self) -> (u16, String) {
        assert_eq!(self.headers["content-type"], "application/problem+json", "{self:?}");
        let problem = self.json();
        assert_eq!(problem["status"], self.status);
        for field in ["type", "title", "detail", "code"] {
            assert!(!problem[field].as_str().unwrap().is_empty(), "{problem}");
        }
        assert_eq!(self.headers.contains_key("retry-after"), matches!(self.status, 429 | 503), "{problem}");
        (self.status, problem["code"].as_str().unwrap().to_owned())
    }
}

impl Client {
    pub(crate) fn new(url: &str) -> Self {
        Self::with(ureq::Agent::config_builder(), url)
    }

    pub(crate) fn with(config: ureq::config::ConfigBuilder<ureq::typestate::AgentScope>, url: &str) -> Self {
        let config = config.http_status_as_error(false).timeout_global(Some(Duration::from_secs(120)));
        Self { agent: config.build().into(), url: url.to_owned(), token: None }
    }

    pub(crate) fn token(&self, token: &str) -> Self {
        Self { token: Some(token.to_owned()), ..self.clone() }
    }

    /// Sends a request; `None` if the connection fails.
    pub(crate) fn try_send(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> Option<Answer> {
        let mut request = ureq::http::Request::builder().method(method).uri(format!("{}{path}", self.url));
        if let Some(token) = &self.token {
            request = request.header("authorization", format!("Bearer {token}"));
        }
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let response = if body.is_empty() && matches!(method, "GET" | "DELETE" | "HEAD") {
            self.agent.run(request.body(()).unwrap())
        } else {
            self.agent.run(request.body(body).unwrap())
        };
        let mut response = response.ok()?;
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        let body = response.body_mut().with_config().limit(1 << 30).read_to_vec().ok()?;
        Some(Answer { status, headers, body })
    }

    pub(crate) fn send(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Answer {
        self.try_send(method, path, headers, body).unwrap_or_else(|| panic!("{method} {path} is answered"))
    }

    pub(crate) fn get(&self, path: &str) -> Answer {
        self.send("GET", path, &[], b"")
    }

    pub(crate) fn post(&self, path: &str, body: &Value) -> Answer {
        self.send("POST", path, &[("content-type", "application/json")], body.to_string().as_bytes())
    }

    pub(crate) fn put(&self, path: &str, body: &Value) -> Answer {
        self.send("PUT", path, &[("content-type", "application/json")], body.to_string().as_bytes())
    }

    pub(crate) fn binary(&self, path: &str, body: &[u8]) -> Answer {
        self.send("POST", path, &[("content-type", "application/octet-stream")], body)
    }

    /// Waits for the end of a job, and returns it.
    pub(crate) fn ended(&self, job: &Value) -> Value {
        loop {
            let job = self.get(&format!("/v1/jobs/{}", job["id"].as_str().unwrap())).ok();
            if job["state"] != "running" {
                return job;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

/// Numbers by chance: Knuth's generator, TAOCP 2, 3.3.4; its high bits.
pub(crate) struct Chance(pub(crate) u64);

impl Chance {
    pub(crate) fn next(&mut self) -> u64 {
        let mut word = || {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            self.0 >> 32
        };
        word() << 32 | word()
    }

    pub(crate) fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }

    /// A fingerprint near one of a few centres.
    pub(crate) fn clustered<F: Fingerprint>(&mut self, centres: u64) -> F {
        let centre = Self(self.below(centres)).next();
        let mut number = F::truncate(u128::from(centre) << 64 | u128::from(centre));
        for _ in 0..self.below(6) {
            number ^= F::bit(self.below(u64::from(F::BITS)) as u32);
        }
        number
    }
}

/// Builds an index file with the place of each fingerprint as its id.
pub(crate) fn build(path: &Path, fingerprints: &[u64]) {
    let mut builder = Builder::<u64>::with_options(path, BuildOptions::new().ids(true)).unwrap();
    for (id, &fingerprint) in (0..).zip(fingerprints) {
        builder.push_with_id(fingerprint, id).unwrap();
    }
    builder.finish().unwrap();
}

/// The digits of a fingerprint.
pub(crate) fn hex<F: Fingerprint>(fingerprint: F) -> String {
    fingerprint.hex().to_string()
}

/// Tells other threads that a test is over, also if it fails.
pub(crate) struct Over<'a>(pub(crate) &'a AtomicBool);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}
