//! Prints the distribution as JSON.

use std::io::{self, Write};

use serde_json::{Value, json};

use crate::commands::dump::stats::gather::{LEADING_BITS, Spike, Spread};

/// Prints an object. Counts by number (leading bits, distances, h) are arrays with an item for each number
/// from 0 on.
pub(super) fn print(spread: &Spread, output: &mut impl Write) -> io::Result<()> {
    let crowded: Vec<Value> = spread
        .crowded
        .iter()
        .map(|(bits, count)| json!({ "leading": bits, "fingerprints": count }))
        .collect();
    let spikes = spread.spikes.as_ref().map(|spikes| spikes.iter().map(spike).collect::<Vec<Value>>());
    let whole = json!({
        "width": spread.bits,
        "fingerprints": spread.fingerprints,
        "ids": spread.spikes.as_ref().map(|_| spread.ids),
        "leading_bits": LEADING_BITS,
        "by_leading_bits": spread.leading,
        "crowded": crowded,
        "most_ids": spikes,
        "sampled": spread.sampled,
        "by_distance": spread.distances,
        "by_distance_expected": spread.expected_distances(),
        "by_h": spread.h,
    });
    serde_json::to_writer_pretty(&mut *output, &whole)?;
    writeln!(output)
}

fn spike(spike: &Spike) -> Value {
    json!({ "fingerprint": spike.fingerprint, "ids": spike.ids, "first_ids": spike.first_ids })
}
