//! Requests: their set, parameters and body.

use std::collections::HashMap;
use std::sync::Arc;

use axum::body::Body;
use axum::extract::{FromRequest, FromRequestParts, Path, Query, Request};
use axum::http::request::Parts;
use axum::http::{HeaderMap, StatusCode, header};
use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt;
use serde::de::DeserializeOwned;
use serde_path_to_error::Segment;
use tokio::time;
use utoipa::ToSchema;

use crate::admission::Held;
use crate::api::App;
use crate::api::json::{Object, at_most};
use crate::problem::Problem;
use crate::sets::Served;

/// The most bytes of JSON that are parsed at once, which takes less than a switch of threads would delay others.
pub(crate) const SMALL_BODY: usize = 1 << 16;

/// The media types of bodies.
pub(crate) const JSON: &str = "application/json";
pub(crate) const BINARY: &str = "application/octet-stream";
pub(crate) const ARROW: &str = "application/vnd.apache.arrow.stream";
pub(crate) const ROWS: &str = "application/x-ndjson";

/// Bytes that are not JSON, for the description of the API.
#[derive(ToSchema)]
#[schema(value_type = String, format = Binary)]
#[expect(dead_code, reason = "it is described, and never made")]
pub(crate) struct Binary(Vec<u8>);

/// The set that the path of a request names.
pub(crate) struct Named(pub(crate) Arc<Served>);

impl FromRequestParts<Arc<App>> for Named {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &Arc<App>) -> Result<Self, Problem> {
        let PathParts(path) = PathParts::<HashMap<String, String>>::from_request_parts(parts, app).await?;
        let name = path.get("set").cloned().unwrap_or_default();
        match app.sets.find(&name) {
            Some(set) => Ok(Self(set)),
            // The answer depends on what lies at its path.
            None if app.sets.is_gone(&name) => {
                let own = Arc::clone(app);
                app.lanes.queries.run(app.deadline(), move |_| own.sets.get(&name)).await.map(Self)
            }
            None => Err(Problem::no_set(&name)),
        }
    }
}

/// The parts of the path that have names.
pub(crate) struct PathParts<T>(pub(crate) T);

impl<T: DeserializeOwned + Send> FromRequestParts<Arc<App>> for PathParts<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &Arc<App>) -> Result<Self, Problem> {
        let Path(path) = Path::from_request_parts(parts, app).await.map_err(|_| {
            Problem::bad_request("bad_path", "the path is no UTF-8; escape it by percent signs")
        })?;
        Ok(Self(path))
    }
}

/// The parameters behind the question mark.
pub(crate) struct Parameters<T>(pub(crate) T);

impl<T: DeserializeOwned> FromRequestParts<Arc<App>> for Parameters<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &Arc<App>) -> Result<Self, Problem> {
        let parsed = Query::try_from_uri(&parts.uri);
        let Query(parameters) =
            parsed.map_err(|error| Problem::bad_request("bad_parameter", error.body_text()))?;
        Ok(Self(parameters))
    }
}

/// The kind of a body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Media {
    Json,
    /// Little-endian fingerprints.
    Binary,
}

/// A body, and the form of the answer.
pub(crate) struct Payload {
    pub(crate) media: Media,
    pub(crate) bytes: Bytes,
    /// The most items of its lists.
    most: usize,
    /// Its bytes, until it has been dealt with.
    _held: Held,
    /// Whether the answer is a stream of Arrow instead of JSON.
    pub(crate) wants_arrow: bool,
}

impl FromRequest<Arc<App>> for Payload {
    type Rejection = Problem;

    async fn from_request(request: Request, app: &Arc<App>) -> Result<Self, Problem> {
        let media = media_of(request.headers())?;
        let wants_arrow = wants_arrow(request.headers(), media)?;
        let (bytes, held) = read(request, app).await?;
        Ok(Self { media, bytes, most: app.limits.batch, _held: held, wants_arrow })
    }
}

impl Payload {
    /// Returns the body, which has to be JSON.
    ///
    /// # Errors
    /// When it is of another kind, or malformed.
    pub(crate) fn json<T: DeserializeOwned>(&self) -> Result<T, Problem> {
        match self.media {
            Media::Json => parse(&self.bytes, self.most),
            Media::Binary => Err(unsupported(JSON)),
        }
    }
}

/// A JSON body that may be missing, which means an empty object.
pub(crate) struct Optional<T>(pub(crate) T);

impl<T: DeserializeOwned + Default> FromRequest<Arc<App>> for Optional<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, app: &Arc<App>) -> Result<Self, Problem> {
        let media = request.headers().contains_key(header::CONTENT_TYPE).then(|| media_of(request.headers()));
        let (bytes, _held) = read(request, app).await?;
        if bytes.is_empty() {
            return Ok(Self(T::default()));
        }
        match media.transpose()? {
            Some(Media::Json) => parse(&bytes, app.limits.batch).map(Self),
            _ => Err(unsupported(JSON)),
        }
    }
}

fn unsupported(expected: &str) -> Problem {
    let detail = format!("the body has to be {expected}, and the header Content-Type to say so");
    Problem::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "media_type", detail)
}

/// The media type without its parameters, in lower case.
fn essence(value: &str) -> String {
    value.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}

fn media_of(headers: &HeaderMap) -> Result<Media, Problem> {
    let value = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    match essence(value).as_str() {
        JSON => Ok(Media::Json),
        BINARY => Ok(Media::Binary),
        _ => Err(unsupported(&format!("{JSON} or {BINARY}"))),
    }
}

/// Binary requests are answered in Arrow, and others in JSON, unless the client asks for the other.
fn wants_arrow(headers: &HeaderMap, media: Media) -> Result<bool, Problem> {
    let own = media == Media::Binary;
    let Some(accept) = headers.get(header::ACCEPT) else { return Ok(own) };
    let accept = accept.to_str().unwrap_or_default();
    for media in accept.split(',').map(essence) {
        match media.as_str() {
            ARROW => return Ok(true),
            JSON => return Ok(false),
            "*/*" | "application/*" => return Ok(own),
            _ => {}
        }
    }
    let detail = format!("the answer can be {JSON} or {ARROW}; the header Accept allows neither");
    Err(Problem::new(StatusCode::NOT_ACCEPTABLE, "not_acceptable", detail))
}

/// Reads a body within the limits of its length and time.
async fn read(request: Request<Body>, app: &App) -> Result<(Bytes, Held), Problem> {
    let most = app.limits.body;
    let too_large = || {
        let detail = format!("the body has more than {most} bytes (--max-body); send several requests");
        Problem::new(StatusCode::PAYLOAD_TOO_LARGE, "too_large", detail)
    };
    let length =
        request.headers().get(header::CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse().ok());
    if length.is_some_and(|length: u64| length > most as u64) {
        return Err(too_large());
    }
    let (mut body, mut held) = (request.into_body(), app.budget.hold());
    let whole = async {
        let mut first = Bytes::new();
        let mut rest = BytesMut::new();
        while let Some(frame) = body.frame().await {
            let broken = |_| Problem::bad_request("incomplete_body", "the body ended early, or is malformed");
            let Ok(bytes) = frame.map_err(broken)?.into_data() else { continue };
            if first.len() + rest.len() + bytes.len() > most {
                return Err(too_large());
            }
            held.add(bytes.len())?;
            // Most bodies come in one piece, which is not copied.
            match (first.is_empty(), rest.is_empty()) {
                (true, true) => first = bytes,
                (false, _) => {
                    rest.extend_from_slice(&std::mem::take(&mut first));
                    rest.extend_from_slice(&bytes);
                }
                (true, false) => rest.extend_from_slice(&bytes),
            }
        }
        Ok(if rest.is_empty() { first } else { rest.freeze() })
    };
    let whole = time::timeout(app.limits.timeout, whole).await.unwrap_or_else(|_| {
        let detail = "the body did not arrive in time (--timeout)";
        Err(Problem::new(StatusCode::REQUEST_TIMEOUT, "body_timeout", detail))
    })?;
    Ok((whole, held))
}

/// Parses JSON whose lists have at most `most` items; errors name the record.
fn parse<T: DeserializeOwned>(bytes: &[u8], most: usize) -> Result<T, Problem> {
    let mut deserializer = serde_json::Deserializer::from_slice(bytes);
    let parsed = at_most(most, || serde_path_to_error::deserialize(&mut deserializer));
    let Object(parsed) = parsed.map_err(|error| {
        // A dot is the body itself.
        let path = Some(error.path().to_string()).filter(|path| path != ".");
        let path = path.map_or_else(String::new, |path| path + ": ");
        let record = error.path().iter().find_map(|segment| match segment {
            Segment::Seq { index } => Some(*index),
            _ => None,
        });
        let inner = error.into_inner();
        if !inner.is_data() {
            return Problem::bad_request("malformed_json", format!("malformed JSON: {inner}"));
        }
        match record {
            Some(record) => Problem::bad_record(record, format!("{path}{inner}")),
            None => Problem::unprocessable("bad_request", format!("{path}{inner}")),
        }
    })?;
    let ended = deserializer.end();
    ended.map_err(|error| Problem::bad_request("malformed_json", format!("malformed JSON: {error}")))?;
    Ok(parsed)
}

#[cfg(test)]
mod tests {
    use std::pin::pin;
    use std::time::Duration;

    use hamdex::{BuildOptions, Builder};
    use hyper::service::Service;
    use hyper_util::service::TowerToHyperService;

    use super::*;
    use crate::Options;
    use crate::api::router;

    #[tokio::test]
    async fn a_set_that_is_gone_is_looked_for_apart_from_the_threads_that_poll_sockets() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a");
        Builder::<u64>::with_options(&path, BuildOptions::new()).unwrap().finish().unwrap();
        let data = Some(directory.path().to_owned());
        let options = Options { data, threads: Some(1), ..Options::default() };
        let app = App::open(&options.check().unwrap()).unwrap();
        let service = TowerToHyperService::new(router(&app));
        let ask = |path: &str| service.call(Request::get(path).body(Body::empty()).unwrap());
        assert_eq!(ask("/v1/sets/a").await.unwrap().status(), StatusCode::OK);
        std::fs::remove_file(&path).unwrap();
        app.sets.look();
        app.sets.look();
        let busy = app.lanes.queries.admit(None).await.unwrap();
        let mut gone = pin!(ask("/v1/sets/a"));
        assert!(time::timeout(Duration::from_millis(100), &mut gone).await.is_err());
        assert_eq!(app.lanes.queries.waiting(), 1);
        // Of one that never was, nothing on the disk is asked.
        assert_eq!(ask("/v1/sets/none").await.unwrap().status(), StatusCode::NOT_FOUND);
        drop(busy);
        assert_eq!(gone.await.unwrap().status(), StatusCode::GONE);
    }

    #[test]
    fn the_answer_has_the_form_that_the_client_accepts() {
        let of = |accept: Option<&'static str>, media| {
            let mut headers = HeaderMap::new();
            accept.map(|accept| headers.insert(header::ACCEPT, accept.parse().unwrap()));
            wants_arrow(&headers, media).map_err(|problem| problem.code())
        };
        assert_eq!(of(None, Media::Json), Ok(false));
        assert_eq!(of(None, Media::Binary), Ok(true));
        assert_eq!(of(Some("*/*"), Media::Binary), Ok(true));
        assert_eq!(of(Some("Application/JSON; q=1"), Media::Binary), Ok(false));
        assert_eq!(of(Some("text/html, application/vnd.apache.arrow.stream"), Media::Json), Ok(true));
        assert_eq!(of(Some("text/html"), Media::Json), Err("not_acceptable"));
    }

    #[test]
    fn errors_of_json_are_of_syntax_or_of_contents_and_name_the_record() {
        let of = |text: &[u8]| parse::<HashMap<String, Vec<u32>>>(text, 9).unwrap_err();
        assert_eq!((of(b"{").status().as_u16(), of(b"{").code()), (400, "malformed_json"));
        assert_eq!(of(b"{} x").code(), "malformed_json");
        assert_eq!(of(b"{\"\xff\":[]}").code(), "malformed_json");
        assert_eq!(of("{\"a\":".repeat(100_000).as_bytes()).status().as_u16() / 100, 4);
        assert_eq!(of(b"[]").status().as_u16(), 422);
        let wrong = of(b"{\"a\":[1,2,\"x\"]}");
        assert_eq!((wrong.status().as_u16(), wrong.code()), (422, "bad_record"));
        assert!(wrong.detail().starts_with("record 2: "), "{}", wrong.detail());
    }
}
