//! Middleware of every request: its id, tokens, origin, log and metrics; and the rest of a body that is unread when its
//! request is answered, as with a set that does not exist. The next request of the connection comes behind it.

use std::hash::{BuildHasher, RandomState};
use std::net::{IpAddr, SocketAddr};
use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use axum::body::Body;
use axum::extract::{MatchedPath, Request, State};
use axum::http::uri::Authority;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use futures_util::FutureExt;
use http_body_util::BodyExt;
use hyper::body::{Body as HttpBody, Frame, SizeHint};
use tokio::time;
use tracing::Instrument;

use crate::admission;
use crate::api::{App, service};
use crate::problem::{Logged, Problem};
use crate::tokens::Access;

/// The header of request ids.
const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// The longest request id that is taken from a client.
const MAX_ID: usize = 64;

/// The address of the client of a request.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Client(pub(crate) SocketAddr);

/// Guards a request.
pub(crate) async fn guard(State(app): State<Arc<App>>, mut request: Request, next: Next) -> Response {
    let started = Instant::now();
    let max_bytes = app.limits.body;
    let unread = Unread::of(&mut request, max_bytes);
    let id = request_id(request.headers());
    let method = method_name(request.method());
    let route = request.extensions().get::<MatchedPath>().map_or("none", MatchedPath::as_str).to_owned();
    let path = request.uri().path().to_owned();
    let span = tracing::info_span!("request", id);
    let client = request.extensions().get::<Client>().filter(|_| app.logs_clients).copied();
    let answered = async {
        match check(&app, &request) {
            Err(problem) if path == "/" && problem.status() == StatusCode::UNAUTHORIZED => {
                // A browser shows the page, which asks for a token.
                let mut response = service::page_with(StatusCode::UNAUTHORIZED);
                response.headers_mut().insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
                response
            }
            Err(problem) => problem.into_response(),
            Ok(()) => AssertUnwindSafe(next.run(request)).catch_unwind().await.unwrap_or_else(|_| {
                tracing::error!("a request ended in a panic");
                admission::panicked().into_response()
            }),
        }
    };
    let mut response = answered.instrument(span.clone()).await;
    let time = started.elapsed();
    app.metrics.request(&route, method, response.status().as_u16(), time);
    let logged = response.extensions_mut().remove::<Logged>();
    let (code, fault) = logged.map_or(("", None), |logged| (logged.code, logged.fault));
    span.in_scope(|| {
        let (status, seconds) = (response.status().as_u16(), time.as_secs_f64());
        let client = client.map(|client| tracing::field::display(client.0));
        match fault {
            Some(detail) => tracing::error!(method, path, status, code, client, detail, seconds, "request"),
            None => tracing::info!(method, path, status, code, client, seconds, "request"),
        }
    });
    if let Some(unread) = unread {
        unread.finish(max_bytes, &mut response).await;
    }
    if let Ok(value) = HeaderValue::from_str(&id) {
        response.headers_mut().insert(REQUEST_ID, value);
    }
    let headers = response.headers_mut();
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    response
}

/// Takes the id of a request from its client, if it is a plain word, and makes one that no other request has otherwise.
fn request_id(headers: &HeaderMap) -> String {
    let given = headers.get(REQUEST_ID).and_then(|id| id.to_str().ok());
    let is_plain = |id: &&str| {
        !id.is_empty()
            && id.len() <= MAX_ID
            && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.'))
    };
    given
        .filter(is_plain)
        .map(str::to_owned)
        .unwrap_or_else(|| format!("{:08x}-{}", *OF_PROCESS as u32, LAST.fetch_add(1, Ordering::Relaxed) + 1))
}

/// The method as a label, of which there are few.
fn method_name(method: &Method) -> &'static str {
    match *method {
        Method::GET => "GET",
        Method::HEAD => "HEAD",
        Method::POST => "POST",
        Method::PUT => "PUT",
        Method::DELETE => "DELETE",
        _ => "other",
    }
}

/// The most bytes of the head of a request.
pub(crate) const MAX_HEAD: usize = 1 << 16;

/// Refuses a head that is too long: the buffer that it came in may be longer.
fn check_head(request: &Request) -> Result<(), Problem> {
    let path = request.uri().path_and_query().map_or(0, |path| path.as_str().len());
    let line = request.method().as_str().len() + path + "  HTTP/1.1\r\n".len();
    let of_header =
        |(name, value): (&HeaderName, &HeaderValue)| name.as_str().len() + value.len() + ": \r\n".len();
    let length = line + request.headers().iter().map(of_header).sum::<usize>() + "\r\n".len();
    if length <= MAX_HEAD {
        return Ok(());
    }
    let detail = format!("the head has {length} bytes; at most {MAX_HEAD} are allowed");
    Err(Problem::new(StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE, "head_too_large", detail))
}

fn check(app: &App, request: &Request) -> Result<(), Problem> {
    check_head(request)?;
    let path = request.uri().path();
    if matches!(path, "/healthz" | "/readyz") {
        return Ok(());
    }
    let tokens = app.tokens.load();
    check_origin(request.headers(), tokens.are_set() || app.allows_any_host)?;
    if !tokens.are_set() {
        return Ok(());
    }
    let access = token(request.headers()).and_then(|token| tokens.access(token)).ok_or_else(|| {
        let detail = "the request needs the header Authorization: Bearer and a token of this service";
        Problem::new(StatusCode::UNAUTHORIZED, "unauthorized", detail)
    })?;
    if access < needed(request.method(), path) {
        let detail = "this token allows reading only";
        return Err(Problem::new(StatusCode::FORBIDDEN, "forbidden", detail));
    }
    Ok(())
}

fn token(headers: &HeaderMap) -> Option<&[u8]> {
    let (scheme, token) = headers.get(header::AUTHORIZATION)?.as_bytes().split_at_checked(7)?;
    scheme.eq_ignore_ascii_case(b"bearer ").then(|| token.trim_ascii())
}

/// The access that a request needs: those of reading are all that change nothing.
fn needed(method: &Method, path: &str) -> Access {
    let reads = match *method {
        Method::GET | Method::HEAD => true,
        Method::POST => path.ends_with("/query") || path.ends_with("/fingerprints"),
        _ => false,
    };
    if reads { Access::Read } else { Access::Full }
}

/// Refuses requests from pages of other sites, and unknown names of the host. Without tokens this is the only defence
/// against DNS rebinding.
fn check_origin(headers: &HeaderMap, any_host: bool) -> Result<(), Problem> {
    let foreign = || {
        let detail = "a page of another site sent this request, or it names this service by a name that is not its own; use \
                      its address or localhost";
        Problem::new(StatusCode::FORBIDDEN, "foreign_origin", detail)
    };
    let host = headers.get(header::HOST).and_then(|host| host.to_str().ok());
    let authority: Option<Authority> = host.and_then(|host| host.parse().ok());
    if let Some(origin) = headers.get(header::ORIGIN) {
        let origin = origin.to_str().unwrap_or_default();
        let of_origin = origin.split_once("://").map(|(_, authority)| authority);
        if of_origin.is_none() || of_origin != host {
            return Err(foreign());
        }
    }
    if any_host {
        return Ok(());
    }
    match authority.as_ref().map(|authority| authority.host().trim_matches(['[', ']'])) {
        // Without the header, it is no browser.
        None => Ok(()),
        Some(name) if name.eq_ignore_ascii_case("localhost") || name.parse::<IpAddr>().is_ok() => Ok(()),
        Some(_) => Err(foreign()),
    }
}

/// The beginning of all ids of this process.
static OF_PROCESS: LazyLock<u64> = LazyLock::new(|| RandomState::new().hash_one(std::process::id()));

static LAST: AtomicU64 = AtomicU64::new(0);

/// The time for the rest of a body. The answer waits for it.
const TIME: Duration = Duration::from_secs(1);

/// The body of a request, which remains after its handler has dropped it.
#[derive(Clone)]
pub(crate) struct Unread {
    kept: Arc<Mutex<Kept>>,
    /// Whether the rest is read, or left to be cut off.
    is_read: bool,
}

struct Kept {
    body: Body,
    has_ended: bool,
}

impl Unread {
    /// Takes the body out of a request, and puts a share of it there. `max_bytes` is the limit of bodies.
    pub(crate) fn of(request: &mut Request, max_bytes: usize) -> Option<Self> {
        if request.body().is_end_stream() {
            return None;
        }
        let is_read = is_worth_reading(request.headers(), max_bytes);
        let body = std::mem::take(request.body_mut());
        let unread = Self { kept: Arc::new(Mutex::new(Kept { body, has_ended: false })), is_read };
        *request.body_mut() = Body::new(unread.clone());
        Some(unread)
    }

    /// Reads the rest of the body, within its limit and a short time. If more of it may come, the answer says that the
    /// connection ends.
    pub(crate) async fn finish(mut self, max_bytes: usize, response: &mut Response) {
        if self.is_read && !self.kept().has_ended {
            let mut left = max_bytes;
            let rest = async {
                while let Some(Ok(frame)) = self.frame().await {
                    let length = frame.data_ref().map_or(0, Bytes::len);
                    let Some(less) = left.checked_sub(length) else { return };
                    left = less;
                }
            };
            // Without a whole body at its end, the connection ends.
            drop(time::timeout(TIME, rest).await);
        }
        if !self.kept().has_ended {
            response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
        }
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns whether the rest of a body comes soon: it is not too long, and its client does not wait for a word before it
/// sends it.
fn is_worth_reading(headers: &HeaderMap, max_bytes: usize) -> bool {
    let length = headers.get(header::CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse().ok());
    !headers.contains_key(header::EXPECT) && length.is_none_or(|length: u64| length <= max_bytes as u64)
}

impl HttpBody for Unread {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let mut kept = self.kept();
        if kept.has_ended {
            return Poll::Ready(None);
        }
        let polled = Pin::new(&mut kept.body).poll_frame(context);
        kept.has_ended = matches!(polled, Poll::Ready(None)) || kept.body.is_end_stream();
        polled
    }

    fn is_end_stream(&self) -> bool {
        let kept = self.kept();
        kept.has_ended || kept.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.kept().body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_of_other_sites_are_refused() {
        let of = |host: &str, origin: Option<&str>, any_host: bool| {
            let mut headers = HeaderMap::new();
            headers.insert(header::HOST, host.parse().unwrap());
            origin.map(|origin| headers.insert(header::ORIGIN, origin.parse().unwrap()));
            check_origin(&headers, any_host).is_ok()
        };
        assert!(of("127.0.0.1:7700", None, false));
        assert!(of("[::1]:7700", None, false));
        assert!(of("localhost:7700", Some("http://localhost:7700"), false));
        assert!(!of("127.0.0.1:7700", Some("http://evil.example"), false));
        assert!(!of("127.0.0.1:7700", Some("null"), true));
        assert!(!of("evil.example:7700", None, false));
        assert!(!of("evil.example:7700", Some("http://evil.example:7700"), false));
        assert!(of("search.internal:7700", Some("https://search.internal:7700"), true));
    }

    #[test]
    fn only_reading_needs_less_than_everything() {
        assert_eq!(needed(&Method::GET, "/v1/sets"), Access::Read);
        assert_eq!(needed(&Method::POST, "/v1/sets/a/query"), Access::Read);
        assert_eq!(needed(&Method::POST, "/v1/sets/a/fingerprints"), Access::Read);
        for path in ["/v1/sets/a/insert", "/v1/sets/query/remove", "/v1/sets/a/verify"] {
            assert_eq!(needed(&Method::POST, path), Access::Full, "{path}");
        }
        assert_eq!(needed(&Method::PUT, "/v1/sets/query"), Access::Full);
        assert_eq!(needed(&Method::DELETE, "/v1/jobs/1"), Access::Full);
    }
}
