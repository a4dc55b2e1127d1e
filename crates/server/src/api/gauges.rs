//! The gauges of `/metrics`, set at each scrape.

use ::metrics::{counter, gauge};
use hamdex::inspect::blocks_read;
use hamdex_store::for_any_store;

use crate::app::App;
use crate::sets::Served;

/// Sets all gauges.
pub(super) fn observe(app: &App) {
    counter!("hamdex_blocks_read_total").absolute(blocks_read());
    gauge!("hamdex_held_bytes").set(app.budget.held() as f64);
    for lane in app.lanes.all() {
        gauge!("hamdex_waiting", "for" => lane.name()).set(lane.waiting() as f64);
    }
    let sets = app.sets.all();
    gauge!("hamdex_sets").set(sets.len() as f64);
    sets.iter().for_each(|set| of_set(set));
}

fn of_set(set: &Served) {
    let of = |name: &'static str| gauge!(name, "set" => set.name.clone());
    let description = set.description();
    of("hamdex_set_up").set(if description.is_ok() { 1.0 } else { 0.0 });
    let Ok(description) = description else { return };
    of("hamdex_set_fingerprints").set(description.fingerprints as f64);
    let Some(written) = set.written() else { return };
    let stats = for_any_store!(&written.store, store => store.stats());
    of("hamdex_store_segments").set(stats.segments.len() as f64);
    of("hamdex_store_bytes").set(stats.bytes as f64);
    of("hamdex_store_memtable_records").set(stats.recent as f64);
    of("hamdex_store_memtable_bytes").set(stats.recent_bytes as f64);
    of("hamdex_store_removed_records").set(stats.removed as f64);
    of("hamdex_store_write_amplification").set(stats.write_amplification);
    of("hamdex_store_writes_waiting").set(written.writes.waiting() as f64);
    if let Ok(inspected) = hamdex_store::inspect(&set.path) {
        of("hamdex_store_log_bytes").set(inspected.logs.iter().map(|log| log.bytes).sum::<u64>() as f64);
    }
    if let Some(health) = stats.health {
        of("hamdex_store_unsynced_seconds").set(health.unsynced.map_or(0.0, |age| age.as_secs_f64()));
        of("hamdex_store_pressure").set(f64::from(health.pressure as u8));
        for work in ["flush", "merge", "sync", "log"] {
            let failure = health.failures.iter().find(|failure| failure.work.to_string() == work);
            gauge!("hamdex_store_failing", "set" => set.name.clone(), "work" => work)
                .set(failure.map_or(0.0, |failure| failure.attempts as f64));
        }
    }
}
