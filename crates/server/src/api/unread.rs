//! The rest of a body that is unread when its request is answered, as with a set that does not exist. The next request of
//! the connection comes behind it.

use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::Body;
use axum::extract::Request;
use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::Response;
use bytes::Bytes;
use http_body_util::BodyExt;
use hyper::body::{Body as HttpBody, Frame, SizeHint};
use tokio::time;

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
