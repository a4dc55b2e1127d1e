//! Ids of requests, which stand in the log and in responses.

use std::hash::{BuildHasher, RandomState};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};

/// The beginning of all ids of this process.
static OF_PROCESS: LazyLock<u64> = LazyLock::new(|| RandomState::new().hash_one(std::process::id()));

static LAST: AtomicU64 = AtomicU64::new(0);

/// The id of a request: that of its client, or one that no other request has.
pub(crate) struct RequestId(String);

impl RequestId {
    pub(crate) fn new() -> Self {
        Self(format!("{:08x}-{}", *OF_PROCESS as u32, LAST.fetch_add(1, Ordering::Relaxed) + 1))
    }

    pub(crate) fn given(id: &str) -> Self {
        Self(id.to_owned())
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}
