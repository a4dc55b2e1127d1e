//! Budget of a scan for work that only a sample could estimate.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicU64, Ordering};

/// Nanoseconds of the cost model that all tasks of a scan may still spend on fingerprints that meet queries.
pub(super) struct Budget {
    left_ns: Option<AtomicU64>,
}

impl Budget {
    /// Creates a budget; `None` means no limit.
    pub(super) fn new(most_ns: Option<u64>) -> Self {
        Self { left_ns: most_ns.map(AtomicU64::new) }
    }

    /// Breaks when more is spent than there is left.
    pub(super) fn spend(&self, ns: f64) -> ControlFlow<()> {
        let Some(left) = &self.left_ns else { return ControlFlow::Continue(()) };
        // An overdraft leaves nothing for later tasks.
        let spend = |left: u64| Some(left.saturating_sub(ns as u64));
        let before = left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, spend).unwrap_or(0);
        if before < ns as u64 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_spent_is_gone_for_all() {
        let budget = Budget::new(Some(100));
        assert!(budget.spend(60.0).is_continue());
        assert!(budget.spend(40.0).is_continue());
        assert!(budget.spend(0.0).is_continue());
        assert!(budget.spend(1.0).is_break());
        assert!(Budget::new(None).spend(f64::MAX).is_continue());
    }
}
