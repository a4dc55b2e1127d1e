//! The state that all requests share.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use arc_swap::ArcSwap;

use crate::budget::Budget;
use crate::failure::Failure;
use crate::jobs::Jobs;
use crate::lane::{self, Lanes};
use crate::metrics::Metrics;
use crate::options::{Config, Limits};
use crate::sets::Sets;
use crate::tokens::Tokens;

/// The state that all requests share.
pub(crate) struct App {
    pub(crate) sets: Sets,
    pub(crate) lanes: Lanes,
    pub(crate) limits: Limits,
    pub(crate) budget: Arc<Budget>,
    pub(crate) threads: usize,
    pub(crate) tokens: ArcSwap<Tokens>,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) jobs: Jobs,
    /// Whether requests without a token may come by any name of this machine.
    pub(crate) allows_any_host: bool,
    /// Whether the log has the addresses of clients.
    pub(crate) logs_clients: bool,
    is_ending: AtomicBool,
}

impl App {
    pub(crate) fn open(config: &Config) -> Result<Arc<Self>, Failure> {
        let tokens = Tokens::load(config.token_file.as_deref(), config.read_token_file.as_deref())?;
        let metrics = Arc::new(Metrics::new());
        Ok(Arc::new(Self {
            sets: Sets::open(config, &metrics)?,
            lanes: Lanes::new(config.threads),
            limits: config.limits,
            budget: Budget::new(config.limits.body),
            threads: config.threads,
            allows_any_host: config.insecure,
            logs_clients: config.log_clients,
            tokens: ArcSwap::from_pointee(tokens),
            metrics,
            jobs: Jobs::default(),
            is_ending: AtomicBool::new(false),
        }))
    }

    /// The deadline of a request that begins now.
    pub(crate) fn deadline(&self) -> Instant {
        lane::deadline(self.limits.timeout)
    }

    pub(crate) fn begin_ending(&self) {
        self.is_ending.store(true, Ordering::Relaxed);
    }

    pub(crate) fn is_ending(&self) -> bool {
        self.is_ending.load(Ordering::Relaxed)
    }
}
