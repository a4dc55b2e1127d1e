//! The listener, its connections, and their end; and the certificate of TLS with its key, which can be replaced while the
//! service runs.

use std::convert::Infallible;
use std::future::Future;
use std::net::SocketAddr;
use std::panic::AssertUnwindSafe;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use std::{io, thread};

use arc_swap::ArcSwap;
use axum::Router;
use hamdex::{Mapping, chain};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::{GracefulShutdown, Watcher};
use hyper_util::service::TowerToHyperService;
use rustls::ServerConfig;
use rustls::crypto::ring;
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, PrivateKeyDer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::{pin, select, task, time};
use tokio_io_timeout::TimeoutStream;
use tokio_rustls::TlsAcceptor;

use crate::api::{App, Client, MAX_HEAD, router};
use crate::options::Config;
use crate::problem::{Failure, MEDIA_TYPE, Problem};
use crate::tokens::Tokens;

/// The time for the handshake of TLS.
const HANDSHAKE: Duration = Duration::from_secs(10);

/// The time between two attempts after the system has refused a connection.
const PAUSE: Duration = Duration::from_millis(50);

/// The time between two clean-ups of metrics.
const UPKEEP: Duration = Duration::from_secs(5);

/// The time between two looks at the directory of sets.
const LOOK: Duration = Duration::from_secs(1);

/// A service that listens, and does not answer yet.
pub struct Server {
    app: Arc<App>,
    listener: TcpListener,
    address: SocketAddr,
    shared: Shared,
    max_connections: usize,
}

/// State that connections share; certificates and tokens are read again on request.
#[derive(Clone)]
struct Shared {
    tls: Option<Arc<Tls>>,
    token_files: Arc<(Option<PathBuf>, Option<PathBuf>)>,
    timeout: Duration,
}

impl Server {
    /// Listens, and opens all sets. The process survives files that are cut off while they are mapped from now on:
    /// [`Mapping::survive_lost_pages`].
    ///
    /// # Errors
    /// When the address is taken, a file cannot be read, or a set cannot be opened.
    pub async fn bind(config: &Config) -> Result<Self, Failure> {
        let tls = match &config.tls {
            Some((certificate, key)) => Some(Arc::new(Tls::load(certificate, key)?)),
            None => None,
        };
        let refused = |source| Failure::Listen { address: config.listen.to_string(), source };
        let listener = TcpListener::bind(config.listen).await.map_err(refused)?;
        let address = listener.local_addr().map_err(refused)?;
        let refused = |error| Failure::Usage(format!("cannot set the action for SIGBUS: {error}"));
        Mapping::survive_lost_pages().map_err(refused)?;
        let app = App::open(config)?;
        // Before the address is told: what follows needs no thread that the system may refuse.
        look_again(&app)?;
        let token_files = Arc::new((config.token_file.clone(), config.read_token_file.clone()));
        let shared = Shared { tls, token_files, timeout: config.limits.timeout };
        Ok(Self { app, listener, address, shared, max_connections: config.max_connections })
    }

    /// The address that is listened on.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The address as a URL.
    #[must_use]
    pub fn url(&self) -> String {
        let scheme = if self.shared.tls.is_some() { "https" } else { "http" };
        format!("{scheme}://{}", self.address)
    }

    /// Answers requests until `end` is ready. Then no connection is accepted, running requests end within the time of a
    /// request, and all stores are closed. Whenever `reload` returns, certificates and tokens are read again.
    ///
    /// # Errors
    /// When a store cannot be closed.
    pub async fn serve<R: Future<Output = ()>>(
        self,
        end: impl Future<Output = ()>,
        mut reload: impl FnMut() -> R,
    ) -> Result<(), Failure> {
        let Self { app, listener, shared, max_connections, .. } = self;
        let router = router(&app);
        let places = Arc::new(Semaphore::new(max_connections));
        let graceful = GracefulShutdown::new();
        pin!(end);
        let mut upkeep = time::interval(UPKEEP);
        let mut next_reload = || {
            let (reloaded, shared, app) = (reload(), shared.clone(), Arc::clone(&app));
            async move {
                reloaded.await;
                // Apart from this thread: the disk may hang, and the system may refuse another thread.
                let read = task::spawn(async { task::spawn_blocking(move || shared.reload(&app)).await });
                drop(read.await);
            }
        };
        let reloaded = next_reload();
        pin!(reloaded);
        loop {
            select! {
                () = &mut end => break,
                () = &mut reloaded => reloaded.set(next_reload()),
                _ = upkeep.tick() => {
                    app.metrics.connections(max_connections - places.available_permits());
                    app.metrics.upkeep();
                }
                accepted = listener.accept() => match accepted {
                    Ok((stream, client)) => match Arc::clone(&places).try_acquire_owned() {
                        Ok(place) => {
                            let connection = Connection { shared: shared.clone(), router: router.clone(), place, client: Client(client) };
                            task::spawn(connection.run(stream, graceful.watcher()));
                        }
                        Err(_) => refuse(&stream, shared.tls.is_some()),
                    },
                    Err(error) => {
                        tracing::warn!(%error, "cannot accept a connection");
                        time::sleep(PAUSE).await;
                    }
                },
            }
        }
        drop(listener);
        tracing::info!("shutting down");
        app.begin_ending();
        app.jobs.stop_all();
        if time::timeout(shared.timeout, graceful.shutdown()).await.is_err() {
            tracing::warn!("requests were still running at the end of their time");
        }
        // On this thread: the system may refuse another one.
        let closed = std::panic::catch_unwind(AssertUnwindSafe(|| app.sets.close()));
        closed.unwrap_or_else(|_| Err(Failure::Usage("closing the stores ended in a panic".to_owned())))
    }
}

/// Starts the thread that looks for sets that appear, disappear, or are overwritten, until the service ends.
fn look_again(app: &Arc<App>) -> Result<(), Failure> {
    let app = Arc::downgrade(app);
    let looks = move || {
        loop {
            thread::sleep(LOOK);
            match app.upgrade() {
                Some(app) if !app.is_ending() => {
                    // The panic itself is in the log; the next look may go well.
                    drop(std::panic::catch_unwind(AssertUnwindSafe(|| app.sets.look())));
                }
                _ => return,
            }
        }
    };
    let started = thread::Builder::new().name("hamdex-look".to_owned()).spawn(looks);
    started.map(drop).map_err(|error| Failure::Usage(format!("cannot start a thread: {error}")))
}

/// Answers a connection beyond the limit, if that takes no time.
fn refuse(stream: &TcpStream, has_tls: bool) {
    tracing::warn!("too many connections (--max-connections)");
    if !has_tls {
        // The client may be gone already.
        drop(stream.try_write(too_many().as_bytes()));
    }
}

/// The answer to a connection beyond the limit.
fn too_many() -> String {
    let problem = Problem::unavailable("too_many_connections", "too many connections; try again later");
    let body = serde_json::to_string(&problem).expect("a problem is plain data");
    let length = body.len();
    format!(
        "HTTP/1.1 503 Service Unavailable\r\ncontent-type: {MEDIA_TYPE}\r\nretry-after: 1\r\nconnection: close\r\n\
         content-length: {length}\r\n\r\n{body}"
    )
}

impl Shared {
    /// Reads certificates and tokens again; if any of them cannot be read, all stay as they were.
    fn reload(&self, app: &App) {
        let (full, read) = &*self.token_files;
        let tls = self.tls.as_ref().map(|tls| tls.read_again().map(|config| (tls, config))).transpose();
        match tls.and_then(|tls| Ok((tls, Tokens::load(full.as_deref(), read.as_deref())?))) {
            Ok((tls, tokens)) => {
                app.tokens.store(Arc::new(tokens));
                if let Some((tls, config)) = tls {
                    tls.replace(config);
                }
                tracing::info!("read certificates and tokens again");
            }
            Err(error) => tracing::error!(
                error = chain(&error),
                "cannot read certificates and tokens again; the ones before stay"
            ),
        }
    }
}

/// A connection, as long as it is open.
struct Connection {
    shared: Shared,
    router: Router,
    place: OwnedSemaphorePermit,
    client: Client,
}

impl Connection {
    async fn run(self, stream: TcpStream, watcher: Watcher) {
        let Self { shared, router, place: _place, client } = self;
        // Small answers are not kept back for more.
        drop(stream.set_nodelay(true));
        let outcome = match &shared.tls {
            None => answer(stream, (router, client), watcher, shared.timeout).await,
            Some(tls) => match time::timeout(HANDSHAKE, tls.acceptor().accept(stream)).await {
                Ok(Ok(stream)) => answer(stream, (router, client), watcher, shared.timeout).await,
                Ok(Err(error)) => Err(error.into()),
                Err(_) => Err(io::Error::from(io::ErrorKind::TimedOut).into()),
            },
        };
        if let Err(error) = outcome {
            tracing::debug!(error = chain(&*error), "a connection ended early");
        }
    }
}

/// Answers the requests of a connection.
async fn answer(
    stream: impl AsyncRead + AsyncWrite + Send + 'static,
    (router, client): (Router, Client),
    watcher: Watcher,
    timeout: Duration,
) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    let mut stream = TimeoutStream::new(stream);
    // A client that does not read its answer does not keep it in memory.
    stream.set_write_timeout(Some(timeout));
    let mut builder = http1::Builder::new();
    // A head that is a little too long gets an answer that says so.
    builder.timer(TokioTimer::new()).header_read_timeout(timeout).max_buf_size(2 * MAX_HEAD);
    let service = TowerToHyperService::new(router);
    let service = service_fn(move |mut request: hyper::Request<hyper::body::Incoming>| {
        request.extensions_mut().insert(client);
        hyper::service::Service::call(&service, request)
    });
    let connection = builder.serve_connection(TokioIo::new(Box::pin(stream)), service);
    watcher.watch(connection).await.map_err(Into::into)
}

/// A `reload` that never happens.
pub async fn never() {
    let never: Infallible = std::future::pending().await;
    match never {}
}

/// A certificate and its key.
pub(crate) struct Tls {
    certificate: PathBuf,
    key: PathBuf,
    current: ArcSwap<ServerConfig>,
}

impl Tls {
    /// # Errors
    /// When a file cannot be read, or the key is not that of the certificate.
    pub(crate) fn load(certificate: &Path, key: &Path) -> Result<Self, Failure> {
        let current = ArcSwap::new(read(certificate, key)?);
        Ok(Self { certificate: certificate.to_owned(), key: key.to_owned(), current })
    }

    /// Reads the files again, for [`Tls::replace`].
    ///
    /// # Errors
    /// As for [`Tls::load`].
    pub(crate) fn read_again(&self) -> Result<Arc<ServerConfig>, Failure> {
        read(&self.certificate, &self.key)
    }

    /// Uses another certificate from now on; connections that are open keep what they have.
    pub(crate) fn replace(&self, config: Arc<ServerConfig>) {
        self.current.store(config);
    }

    fn acceptor(&self) -> TlsAcceptor {
        TlsAcceptor::from(self.current.load_full())
    }
}

fn read(certificate: &Path, key: &Path) -> Result<Arc<ServerConfig>, Failure> {
    let wrong = |path: &Path, error: &dyn std::fmt::Display| {
        Failure::input(path, format!("cannot be used for TLS: {error}"))
    };
    let open = |path: &Path| std::fs::read(path).map_err(Failure::io("read it", path));
    let pem = open(certificate)?;
    let chain: Vec<CertificateDer<'static>> = CertificateDer::pem_slice_iter(&pem)
        .collect::<Result<_, _>>()
        .map_err(|error| wrong(certificate, &error))?;
    if chain.is_empty() {
        return Err(wrong(certificate, &"it has no certificate as PEM"));
    }
    let own_key = PrivateKeyDer::from_pem_slice(&open(key)?).map_err(|error| wrong(key, &error))?;
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .and_then(|builder| builder.with_no_client_auth().with_single_cert(chain, own_key));
    let mut config = config.map_err(|error| wrong(key, &error))?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(Arc::new(config))
}
