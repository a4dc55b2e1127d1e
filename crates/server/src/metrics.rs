//! Metrics, in the text form of Prometheus.

use std::time::Duration;

use ::metrics::{
    Unit, counter, describe_counter, describe_gauge, describe_histogram, gauge, histogram,
    with_local_recorder,
};
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
            describe_observed();
            observe();
        });
        self.handle.render() + &observed.handle().render()
    }
}

fn describe() {
    describe_counter!("hamdex_requests_total", Unit::Count, "Requests, by route and status.");
    describe_histogram!(
        "hamdex_request_seconds",
        Unit::Seconds,
        "Time from the head of a request to its response."
    );
    describe_counter!("hamdex_queries_total", Unit::Count, "Queries: each of a batch counts.");
    describe_counter!("hamdex_matches_total", Unit::Count, "Matches of queries.");
    describe_counter!("hamdex_inserted_total", Unit::Count, "Inserted records.");
    describe_counter!("hamdex_removed_total", Unit::Count, "Removed records.");
    describe_histogram!(
        "hamdex_write_seconds",
        Unit::Seconds,
        "Time of a write until it is durable, the sync included."
    );
    describe_histogram!(
        "hamdex_store_work_seconds",
        Unit::Seconds,
        "Time of a sync of the log, a flush or a merge."
    );
    describe_gauge!("hamdex_connections", Unit::Count, "Open connections.");
}

/// Describes the gauges that are set on request.
fn describe_observed() {
    describe_counter!(
        "hamdex_blocks_read_total",
        Unit::Count,
        "Blocks of index files that queries have read, of all sets."
    );
    describe_gauge!(
        "hamdex_held_bytes",
        Unit::Bytes,
        "Bytes of bodies and answers that are received or sent."
    );
    describe_gauge!("hamdex_waiting", Unit::Count, "Requests that wait for a thread, by kind.");
    describe_gauge!("hamdex_sets", Unit::Count, "Sets.");
    describe_gauge!("hamdex_set_up", "1 if the set is open, 0 if it is damaged or cannot be opened.");
    describe_gauge!("hamdex_set_fingerprints", Unit::Count, "Fingerprints; an upper bound in a store.");
    describe_gauge!("hamdex_store_segments", Unit::Count, "Segments of a store: queries search them all.");
    describe_gauge!("hamdex_store_bytes", Unit::Bytes, "Bytes of the segments.");
    describe_gauge!(
        "hamdex_store_memtable_records",
        Unit::Count,
        "Records in memory, which the log has as well."
    );
    describe_gauge!("hamdex_store_memtable_bytes", Unit::Bytes, "Bytes of the records in memory.");
    describe_gauge!("hamdex_store_log_bytes", Unit::Bytes, "Bytes of the logs that a restart reads.");
    describe_gauge!("hamdex_store_removed_records", Unit::Count, "Removed records that segments still hold.");
    describe_gauge!("hamdex_store_write_amplification", "Bytes written per byte of new segments.");
    describe_gauge!(
        "hamdex_store_writes_waiting",
        Unit::Count,
        "Writes that wait for a place in the group commit."
    );
    describe_gauge!(
        "hamdex_store_unsynced_seconds",
        Unit::Seconds,
        "Age of the oldest write that is not durable."
    );
    describe_gauge!("hamdex_store_pressure", "Back-pressure on writers: 0 none, 1 slowed, 2 stopped.");
    describe_gauge!(
        "hamdex_store_failing",
        Unit::Count,
        "Failures of background work in a row, 0 if it succeeds."
    );
}
