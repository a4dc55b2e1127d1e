//! Errors of requests: problem documents (RFC 9457) with a stable code; and the errors of starting and ending the service.

use std::error::Error;
use std::io;
use std::path::{Path, PathBuf};

use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use hamdex::{Category, ReadError, ReadErrorKind, SetError, chain};
use hamdex_documents::Error as TextError;
use hamdex_store::Error as StoreError;
use serde::Serialize;
use utoipa::ToSchema;

/// The media type of problem documents.
pub(crate) const MEDIA_TYPE: &str = "application/problem+json";

/// Seconds after which a client may repeat a request that came at a bad time.
const RETRY_SECONDS: u32 = 1;

/// A problem document, as RFC 9457 describes them.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub(crate) struct Problem {
    /// `about:blank`: `code` says what is wrong.
    #[serde(rename = "type")]
    #[schema(example = "about:blank")]
    kind: &'static str,
    /// The status in words.
    #[schema(example = "Unprocessable Entity")]
    title: &'static str,
    /// The status of the response.
    #[schema(example = 422)]
    status: u16,
    /// A word for programs, which stays the same in later versions.
    #[schema(example = "bad_record")]
    code: &'static str,
    /// The error in a sentence for people, which may change.
    #[schema(example = "record 3: invalid fingerprint \"xyz\"")]
    detail: String,
    /// The number of the record, text or query that is wrong, counted from 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    record: Option<usize>,
    /// The file that is damaged.
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<String>,
}

impl Problem {
    /// Creates a problem.
    pub(crate) fn new(status: StatusCode, code: &'static str, detail: impl Into<String>) -> Self {
        Self {
            kind: "about:blank",
            title: status.canonical_reason().unwrap_or("Error"),
            status: status.as_u16(),
            code,
            detail: detail.into(),
            record: None,
            file: None,
        }
    }

    /// Names the record, text or query that is wrong.
    pub(crate) fn record(mut self, record: usize) -> Self {
        self.record = Some(record);
        self
    }

    fn file(mut self, file: &Path) -> Self {
        self.file = Some(file.display().to_string());
        self
    }

    /// The request is understood, and its contents are wrong.
    pub(crate) fn unprocessable(code: &'static str, detail: impl Into<String>) -> Self {
        Self::new(StatusCode::UNPROCESSABLE_ENTITY, code, detail)
    }

    /// A record, text or query is wrong.
    pub(crate) fn bad_record(record: usize, detail: impl std::fmt::Display) -> Self {
        Self::unprocessable("bad_record", format!("record {record}: {detail}")).record(record)
    }

    /// Returns the error of a record, without its number.
    pub(crate) fn of_record(self) -> String {
        let prefix = self.record.map(|record| format!("record {record}: ")).unwrap_or_default();
        self.detail.strip_prefix(&prefix).map(str::to_owned).unwrap_or(self.detail)
    }

    pub(crate) fn bad_request(code: &'static str, detail: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, code, detail)
    }

    pub(crate) fn not_found(code: &'static str, detail: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, code, detail)
    }

    /// The time of the request is over.
    pub(crate) fn timeout() -> Self {
        let detail =
            "the request took longer than the service allows (--timeout); ask for less, or try again later";
        Self::unavailable("timeout", detail)
    }

    /// The service cannot do it now.
    pub(crate) fn unavailable(code: &'static str, detail: impl Into<String>) -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, code, detail)
    }

    /// Too many requests wait already.
    pub(crate) fn too_many(what: &str) -> Self {
        let detail = format!("too many {what} wait already; send this one again later");
        Self::new(StatusCode::TOO_MANY_REQUESTS, "too_many_requests", detail)
    }

    pub(crate) fn shutting_down() -> Self {
        Self::unavailable(
            "shutting_down",
            "the service is shutting down; send the request to another, or again later",
        )
    }

    pub(crate) fn internal(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "internal", detail)
    }

    /// There is no set of this name.
    pub(crate) fn no_set(name: &str) -> Self {
        Self::not_found("no_set", format!("there is no set {name:?}; GET /v1/sets lists all"))
    }

    /// The set takes no writes.
    pub(crate) fn read_only(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::CONFLICT, "read_only", detail)
    }

    /// The set cannot find records by their id.
    pub(crate) fn no_lookups() -> Self {
        let detail = "the set has no look-ups, by which records are found; make one with \"lookups\": true";
        Self::unprocessable("no_lookups", detail)
    }

    /// The set cannot compare texts.
    pub(crate) fn no_shingles(reason: impl std::fmt::Display) -> Self {
        let detail = format!("{reason}; make a set with \"shingles\": true");
        Self::unprocessable("no_shingles", detail)
    }

    /// A file was overwritten in place while it was mapped.
    pub(crate) fn overwritten(path: &Path) -> Self {
        let detail = format!(
            "{}: was overwritten or cut off in place since it was opened, and answers from it may be wrong; put a new \
             file in its place by a rename (mv), never by cp",
            path.display()
        );
        Self::damaged(detail).file(path)
    }

    /// A set was moved away, removed, or replaced by what is none; whether PUT can make a store of its name.
    pub(crate) fn gone(path: &Path, may_be_made: bool) -> Self {
        let detail = format!(
            "{}: is gone: it was moved away, removed or replaced while it was served",
            path.display()
        );
        let problem = Self::new(StatusCode::GONE, "gone", detail);
        if may_be_made { problem.with_remedy("PUT makes a new store of this name") } else { problem }
    }

    /// Adds what an operator can do.
    pub(crate) fn with_remedy(mut self, remedy: &str) -> Self {
        self.detail = format!("{}; {remedy}", self.detail);
        self
    }

    fn disk_full(detail: String) -> Self {
        Self::new(StatusCode::INSUFFICIENT_STORAGE, "disk_full", detail)
    }

    fn damaged(detail: String) -> Self {
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "damaged", detail)
    }

    pub(crate) fn status(&self) -> StatusCode {
        StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
    }

    /// Whether files are damaged.
    pub(crate) fn is_damage(&self) -> bool {
        self.code == "damaged"
    }

    /// The file that is damaged.
    pub(crate) fn damaged_file(&self) -> Option<&Path> {
        self.file.as_deref().map(Path::new)
    }

    pub(crate) fn code(&self) -> &'static str {
        self.code
    }

    pub(crate) fn detail(&self) -> &str {
        &self.detail
    }

    /// The problem of an error of which only the category is known.
    fn of_category(category: Category, detail: String) -> Self {
        match category {
            Category::Damaged | Category::Format => Self::damaged(detail),
            Category::Usage | Category::Input => Self::unprocessable("refused", detail),
            Category::Exists => Self::new(StatusCode::CONFLICT, "exists", detail),
            Category::Unavailable => Self::unavailable("unavailable", detail),
            Category::Memory => Self::unavailable("out_of_memory", detail),
            Category::Stopped => Self::timeout(),
            _ => Self::new(StatusCode::INTERNAL_SERVER_ERROR, "system", detail),
        }
    }
}

/// Whether the disk, or the part of it that the service may use, is full.
fn is_disk_full(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge
    )
}

/// Whether an error or one of its causes is that of a full disk.
fn has_full_disk(error: &(dyn Error + 'static)) -> bool {
    let mut next = Some(error);
    while let Some(error) = next {
        if error.downcast_ref::<io::Error>().is_some_and(is_disk_full) {
            return true;
        }
        next = error.source();
    }
    false
}

impl From<ReadError> for Problem {
    fn from(error: ReadError) -> Self {
        let problem = match error.kind() {
            ReadErrorKind::Stopped => return Self::timeout(),
            ReadErrorKind::NoShingles | ReadErrorKind::OldShingles => {
                return Self::no_shingles(chain(&error));
            }
            _ if has_full_disk(&error) => Self::disk_full(chain(&error)),
            _ => Self::of_category(error.category(), chain(&error)),
        };
        match error.path() {
            Some(path) if problem.code == "damaged" => problem.file(path),
            _ => problem,
        }
    }
}

impl From<StoreError> for Problem {
    fn from(error: StoreError) -> Self {
        let detail = chain(&error);
        match &error {
            _ if has_full_disk(&error) => Self::disk_full(detail),
            StoreError::Read(_) => {
                let StoreError::Read(error) = error else { unreachable!("it was matched") };
                error.into()
            }
            StoreError::Damaged { path, .. } | StoreError::Missing { path } => {
                Self::damaged(detail).file(path)
            }
            StoreError::TimedOut { .. } => Self::timeout(),
            StoreError::Closed { .. } => Self::unavailable(
                "closed",
                "the store is closed, to be opened again or because the service is shutting down; send the request again",
            ),
            StoreError::Lost { .. } => Self::unavailable("lost", detail),
            StoreError::BatchTooLarge { .. } => Self::unprocessable("batch_too_large", detail),
            StoreError::NoIds { .. } | StoreError::Names { .. } => Self::unprocessable("ids", detail),
            StoreError::Full { source, .. } if has_full_disk(&**source) => Self::disk_full(detail),
            StoreError::Build(error) if error.category() == Category::Stopped => Self::timeout(),
            other => Self::of_category(other.category(), detail),
        }
    }
}

impl From<SetError> for Problem {
    fn from(error: SetError) -> Self {
        let error = match error.downcast::<ReadError>() {
            Ok(error) => return error.into(),
            Err(error) => error,
        };
        let error = match error.downcast::<StoreError>() {
            Ok(error) => return error.into(),
            Err(error) => error,
        };
        match error.downcast::<hamdex_shards::Error>() {
            Ok(hamdex_shards::Error::Read(error)) => error.into(),
            Ok(error) => Self::of_category(error.category(), chain(&error)),
            Err(error) => Self::of_category(error.category(), chain(&error)),
        }
    }
}

impl From<TextError> for Problem {
    fn from(error: TextError) -> Self {
        match error {
            TextError::NoShingles | TextError::OtherShingles { .. } => Self::no_shingles(error),
            TextError::Stopped => Self::timeout(),
            TextError::Index(error) => error.into(),
            TextError::Reference { source } => match source.downcast::<SetError>() {
                Ok(error) => (*error).into(),
                Err(source) => Self::of_category(Category::Input, chain(&*source)),
            },
            other => Self::of_category(other.category(), chain(&other)),
        }
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let status = self.status();
        let body = serde_json::to_vec(&self).expect("a problem is plain data");
        let mut response = (status, [(header::CONTENT_TYPE, MEDIA_TYPE)], body).into_response();
        let headers = response.headers_mut();
        let mut add = |name: HeaderName, value: &'static str| {
            headers.insert(name, HeaderValue::from_static(value));
        };
        match status {
            StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE => {
                headers.insert(header::RETRY_AFTER, HeaderValue::from(RETRY_SECONDS));
            }
            StatusCode::UNAUTHORIZED => add(header::WWW_AUTHENTICATE, "Bearer"),
            // The rest of the body is not read: the connection cannot serve another request.
            StatusCode::PAYLOAD_TOO_LARGE | StatusCode::REQUEST_TIMEOUT => add(header::CONNECTION, "close"),
            _ => {}
        }
        let is_ours = matches!(status, StatusCode::INTERNAL_SERVER_ERROR | StatusCode::INSUFFICIENT_STORAGE);
        response.extensions_mut().insert(Logged { code: self.code, fault: is_ours.then_some(self.detail) });
        response
    }
}

/// The parts of a problem that the log has.
#[derive(Debug, Clone)]
pub(crate) struct Logged {
    pub(crate) code: &'static str,
    /// The detail, if the client is not to blame.
    pub(crate) fault: Option<String>,
}

/// Returns a function that wraps an I/O error with a file of a store.
pub(crate) fn store_io(doing: &'static str, path: impl AsRef<Path>) -> impl Fn(io::Error) -> StoreError {
    move |source| StoreError::Io { doing, path: path.as_ref().to_owned(), source }
}

/// The reason why the service does not start, or does not end in order.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Failure {
    /// Options that contradict each other or are out of range.
    #[error("{0}")]
    Usage(String),
    /// A file with unexpected contents.
    #[error("{}: {what}", path.display())]
    Input {
        /// The file.
        path: PathBuf,
        /// The fault, and the remedy.
        what: String,
    },
    /// The operating system refused something.
    #[error("{}: cannot {doing}", path.display())]
    Io {
        /// The operation.
        doing: &'static str,
        /// The file or directory.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// The address cannot be listened on.
    #[error("cannot listen on {address}")]
    Listen {
        /// The address.
        address: String,
        /// The error of the operating system.
        source: io::Error,
    },
    /// None of the sets can be opened.
    #[error("{what}")]
    Unavailable {
        /// The reason of the first.
        what: String,
        /// Its kind.
        category: Category,
    },
    /// A set cannot be opened.
    #[error(transparent)]
    Set(#[from] SetError),
    /// A store cannot be opened or closed.
    #[error(transparent)]
    Store(#[from] hamdex_store::Error),
}

impl Failure {
    /// Returns a function that wraps an I/O error with a file.
    pub(crate) fn io(doing: &'static str, path: impl AsRef<Path>) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Io { doing, path: path.as_ref().to_owned(), source }
    }

    /// Returns the error of contents of a file.
    pub(crate) fn input(path: &Path, what: impl Into<String>) -> Self {
        Self::Input { path: path.to_owned(), what: what.into() }
    }

    /// The kind of the failure.
    #[must_use]
    pub fn category(&self) -> Category {
        match self {
            Self::Usage(_) => Category::Usage,
            Self::Input { .. } => Category::Input,
            Self::Io { .. } | Self::Listen { .. } => Category::System,
            Self::Unavailable { category, .. } => *category,
            Self::Set(error) => error.category(),
            Self::Store(error) => error.category(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_of_the_store_have_the_status_of_their_cause() {
        let full = || io::Error::from(io::ErrorKind::StorageFull);
        let path = || std::path::PathBuf::from("s");
        let of = |error: StoreError| {
            let problem = Problem::from(error);
            (problem.status, problem.code)
        };
        assert_eq!(
            of(StoreError::Io { doing: "write it", path: path(), source: full() }),
            (507, "disk_full")
        );
        assert_eq!(of(StoreError::Poisoned { path: path(), source: full() }), (507, "disk_full"));
        let source = std::sync::Arc::new(StoreError::Io { doing: "write it", path: path(), source: full() });
        assert_eq!(of(StoreError::Full { path: path(), source }), (507, "disk_full"));
        assert_eq!(of(StoreError::TimedOut { path: path() }), (503, "timeout"));
        assert_eq!(of(StoreError::NoIds { path: path() }), (422, "ids"));
        let damage = StoreError::Damaged { path: path(), offset: Some(3), what: "bad".to_owned() };
        let problem = Problem::from(damage);
        assert_eq!((problem.status, problem.code, problem.file.as_deref()), (500, "damaged", Some("s")));
    }
}
