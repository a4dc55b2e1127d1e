//! The bytes of long bodies and answers that the service holds at once, however many clients send or read them slowly.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};

use axum::body::Body;
use axum::response::Response;
use bytes::Bytes;
use hyper::body::{Frame, SizeHint};

use crate::problem::Problem;

/// The least limit, which several answers of the greatest length fit into.
const LEAST: usize = 1 << 30;

/// Bodies of the greatest length that can be held at once.
const BODIES: usize = 4;

/// The bytes that are held, and their limit.
#[derive(Debug)]
pub(crate) struct Budget {
    held: AtomicUsize,
    most: usize,
}

/// Bytes that are held, until this is dropped.
#[derive(Debug)]
pub(crate) struct Held {
    budget: Arc<Budget>,
    bytes: usize,
}

impl Budget {
    /// Creates a budget for bodies of at most `body` bytes.
    pub(crate) fn new(body: usize) -> Arc<Self> {
        Arc::new(Self { held: AtomicUsize::new(0), most: body.saturating_mul(BODIES).max(LEAST) })
    }

    /// Returns the number of bytes that are held.
    pub(crate) fn held(&self) -> usize {
        self.held.load(Ordering::Relaxed)
    }

    /// Begins to hold bytes.
    pub(crate) fn hold(self: &Arc<Self>) -> Held {
        Held { budget: Arc::clone(self), bytes: 0 }
    }

    /// Holds the bytes of an answer until it is sent.
    ///
    /// # Errors
    /// When too many are held.
    pub(crate) fn answer(self: &Arc<Self>, answer: Response) -> Result<Response, Problem> {
        let mut held = self.hold();
        held.add(length(&answer))?;
        Ok(held.until_sent(answer))
    }

    /// As [`Budget::answer`], however many are held: the answer says what has been done.
    pub(crate) fn answer_done(self: &Arc<Self>, answer: Response) -> Response {
        let mut held = self.hold();
        held.add_done(length(&answer));
        held.until_sent(answer)
    }
}

/// Returns the bytes of an answer.
fn length(answer: &Response) -> usize {
    let bytes = hyper::body::Body::size_hint(answer.body()).exact().unwrap_or_default();
    usize::try_from(bytes).unwrap_or(usize::MAX)
}

impl Held {
    /// Holds more bytes.
    ///
    /// # Errors
    /// When too many are held.
    pub(crate) fn add(&mut self, bytes: usize) -> Result<(), Problem> {
        let sum = |held: usize| held.checked_add(bytes).filter(|&sum| sum <= self.budget.most);
        let added = self.budget.held.fetch_update(Ordering::Relaxed, Ordering::Relaxed, sum);
        added.map_err(|_| Problem::too_many("bytes of bodies and answers"))?;
        self.bytes += bytes;
        Ok(())
    }

    /// Holds bytes that cannot be refused any more.
    pub(crate) fn add_done(&mut self, bytes: usize) {
        self.budget.held.fetch_add(bytes, Ordering::Relaxed);
        self.bytes += bytes;
    }

    /// Holds the bytes until an answer is sent.
    fn until_sent(self, answer: Response) -> Response {
        answer.map(|body| Body::new(Counted { body, _held: self }))
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.budget.held.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

/// A body whose bytes are held until it is sent.
struct Counted {
    body: Body,
    _held: Held,
}

impl hyper::body::Body for Counted {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_beyond_the_limit_are_refused_and_given_back() {
        let budget = Budget::new(LEAST);
        let mut all = budget.hold();
        all.add(BODIES * LEAST).unwrap();
        let answer = || Response::new(Body::from("four"));
        assert_eq!(budget.answer(answer()).unwrap_err().code(), "too_many_requests");
        let mut refused = budget.hold();
        assert_eq!(refused.add(1).unwrap_err().code(), "too_many_requests");
        assert_eq!(budget.held(), BODIES * LEAST);
        let done = budget.answer_done(answer());
        assert_eq!(budget.held(), BODIES * LEAST + 4);
        drop(done);
        drop(all);
        let held = budget.answer(answer()).unwrap();
        assert_eq!(budget.held(), 4);
        drop(held);
        assert_eq!(budget.held(), 0);
    }
}
