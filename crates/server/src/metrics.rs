//! Metrics, in the text form of Prometheus.

use std::time::Duration;

use ::metrics::{counter, describe_gauge, gauge, histogram, with_local_recorder};
use hamdex_store::health::Event;
use metrics_exporter_prometheus::{Matcher, PrometheusBuilder, PrometheusHandle, PrometheusRecorder};
use metrics_process::Collector;

/// The upper ends of the buckets of times, in seconds.
const TIMES: &[f64] = &[
    0.000_1, 0.000_25, 0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0,
    10.0, 30.0, 100.0, 300.0,
];

/// The metrics of one service.
pub(crate) struct Metrics {
    recorder: PrometheusRecorder,
    handle: PrometheusHandle,
    process: Collector,
}

impl Metrics {
    pub(crate) fn new() -> Self {
        let builder =
            PrometheusBuilder::new().set_buckets_for_metric(Matcher::Suffix("_seconds".to_owned()), TIMES);
        let recorder = builder.expect("there are buckets").build_recorder();
        let metrics = Self { handle: recorder.handle(), recorder, process: Collector::default() };
        metrics.record(|| {
            metrics.process.describe();
            describe();
        });
        metrics
    }

    fn record<T>(&self, record: impl FnOnce() -> T) -> T {
        with_local_recorder(&self.recorder, record)
    }

    /// Records a request.
    pub(crate) fn request(&self, route: &str, method: &'static str, status: u16, time: Duration) {
        let (route, status) = (route.to_owned(), status.to_string());
        self.record(|| {
            counter!("hamdex_requests_total", "route" => route.clone(), "method" => method, "status" => status).increment(1);
            histogram!("hamdex_request_seconds", "route" => route, "method" => method).record(time.as_secs_f64());
        });
    }

    /// Records queries and their matches.
    pub(crate) fn queries(&self, set: &str, queries: usize, matches: usize) {
        let set = set.to_owned();
        self.record(|| {
            counter!("hamdex_queries_total", "set" => set.clone()).increment(queries as u64);
            counter!("hamdex_matches_total", "set" => set).increment(matches as u64);
        });
    }

    /// Records a write that is as durable as the store promises.
    pub(crate) fn write(&self, set: &str, inserted: u64, removed: u64, time: Duration) {
        let set = set.to_owned();
        self.record(|| {
            counter!("hamdex_inserted_total", "set" => set.clone()).increment(inserted);
            counter!("hamdex_removed_total", "set" => set.clone()).increment(removed);
            histogram!("hamdex_write_seconds", "set" => set).record(time.as_secs_f64());
        });
    }

    /// Records and logs an event of a store; failures of background work when their number reaches a power of two.
    pub(crate) fn event(&self, set: &str, event: &Event) {
        match event {
            Event::Done(work, took) => self.record(|| {
                let (set, work) = (set.to_owned(), work.to_string());
                histogram!("hamdex_store_work_seconds", "set" => set, "work" => work)
                    .record(took.as_secs_f64());
            }),
            Event::Failed(failure) if failure.attempts.is_power_of_two() => tracing::error!(
                set,
                work = %failure.work,
                attempts = failure.attempts,
                message = failure.message,
                remedy = %failure.remedy,
                "background work failed"
            ),
            Event::Recovered(work) => tracing::info!(set, %work, "background work succeeds again"),
            event => tracing::debug!(set, ?event, "event of a store"),
        }
    }

    /// Moves samples into buckets, so that they take no memory until the next scrape.
    pub(crate) fn upkeep(&self) {
        self.handle.run_upkeep();
    }

    pub(crate) fn connections(&self, open: usize) {
        self.record(|| gauge!("hamdex_connections").set(open as f64));
    }

    /// Returns all metrics as text, including the ones that `observe` sets. These live for this text alone: those of sets
    /// that are gone are not in the next one.
    pub(crate) fn render(&self, observe: impl FnOnce()) -> String {
        self.record(|| self.process.collect());
        let observed = PrometheusBuilder::new().build_recorder();
        with_local_recorder(&observed, || {
            describe();
            observe();
        });
        self.handle.render() + &observed.handle().render()
    }
}

/// All metrics with their descriptions.
const DESCRIBED: &[(&str, &str)] = &[
    ("hamdex_requests_total", "Requests, by route and status."),
    ("hamdex_request_seconds", "Time from the head of a request to its response."),
    ("hamdex_queries_total", "Queries: each of a batch counts."),
    ("hamdex_matches_total", "Matches of queries."),
    ("hamdex_inserted_total", "Inserted records."),
    ("hamdex_removed_total", "Removed records."),
    ("hamdex_write_seconds", "Time of a write until it is durable, the sync included."),
    ("hamdex_store_work_seconds", "Time of a sync of the log, a flush or a merge."),
    ("hamdex_connections", "Open connections."),
    ("hamdex_blocks_read_total", "Blocks of index files that queries have read, of all sets."),
    ("hamdex_held_bytes", "Bytes of bodies and answers that are received or sent."),
    ("hamdex_waiting", "Requests that wait for a thread, by kind."),
    ("hamdex_sets", "Sets."),
    ("hamdex_set_up", "1 if the set is open, 0 if it is damaged or cannot be opened."),
    ("hamdex_set_fingerprints", "Fingerprints; an upper bound in a store."),
    ("hamdex_store_segments", "Segments of a store: queries search them all."),
    ("hamdex_store_bytes", "Bytes of the segments."),
    ("hamdex_store_memtable_records", "Records in memory, which the log has as well."),
    ("hamdex_store_memtable_bytes", "Bytes of the records in memory."),
    ("hamdex_store_log_bytes", "Bytes of the logs that a restart reads."),
    ("hamdex_store_removed_records", "Removed records that segments still hold."),
    ("hamdex_store_write_amplification", "Bytes written per byte of new segments."),
    ("hamdex_store_writes_waiting", "Writes that wait for a place in the group commit."),
    ("hamdex_store_unsynced_seconds", "Age of the oldest write that is not durable."),
    ("hamdex_store_pressure", "Back-pressure on writers: 0 none, 1 slowed, 2 stopped."),
    ("hamdex_store_failing", "Failures of background work in a row, 0 if it succeeds."),
];

/// Describes all metrics. The exporter keeps one description per name, whatever the kind, and shows names with samples.
fn describe() {
    for (name, text) in DESCRIBED {
        describe_gauge!(*name, *text);
    }
}
