//! The spread as one HTML page, with its pictures in it: nothing else is loaded.

use std::fmt::Write;
use std::path::Path;

use indicatif::HumanCount;

use crate::commands::dump::stats::gather::{LEADING_BITS, Spread};

const WIDTH: f64 = 900.0;
const HEIGHT: f64 = 260.0;
const LEFT: f64 = 80.0;
const BOTTOM: f64 = 30.0;
/// Names under the axis, at most.
const MOST_NAMES: usize = 17;

pub(super) fn page(path: &Path, spread: &Spread) -> String {
    let name = escape(&path.display().to_string());
    let mut page = format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<title>{name}</title>\n<style>\n\
         body {{ font: 16px/1.5 system-ui, sans-serif; max-width: 60em; margin: 2em auto; padding: 0 1em; }}\n\
         svg {{ width: 100%; height: auto; font-size: 12px; }}\n\
         table {{ border-collapse: collapse; }} td, th {{ padding: 0.1em 1em 0.1em 0; text-align: right; }}\n\
         td:first-child {{ font-family: monospace; }}\n</style>\n</head>\n<body>\n<h1>{name}</h1>\n\
         <p>{} distinct fingerprints of {} bits.</p>\n",
        HumanCount(spread.fingerprints),
        spread.bits
    );
    section(&mut page, &format!("Fingerprints by their first {LEADING_BITS} bits"));
    chart(&mut page, &spread.leading, None, |bits| format!("{bits:02x}"));
    let crowded = spread.crowded.iter().map(|(bits, count)| (format!("{bits:08b}"), *count));
    table(&mut page, "starts with", "fingerprints", crowded);

    section(&mut page, "Fingerprints with the most ids");
    match &spread.spikes {
        None => page.push_str("<p>There are no ids in this index.</p>\n"),
        Some(spikes) if spikes.is_empty() => page.push_str("<p>No fingerprint has more than one id.</p>\n"),
        Some(spikes) => table(&mut page, "fingerprint", "ids", spikes.iter().cloned()),
    }

    section(&mut page, &format!("Distances between {} of the fingerprints", HumanCount(spread.sampled)));
    page.push_str("<p>The line is what uniform fingerprints would give.</p>\n");
    chart(&mut page, &spread.distances, Some(&spread.expected_distances()), |distance| distance.to_string());

    section(&mut page, "h, where neighbours first differ");
    chart(&mut page, &spread.h, None, |h| h.to_string());
    page.push_str("</body>\n</html>\n");
    page
}

fn section(page: &mut String, title: &str) {
    writeln!(page, "<h2>{}</h2>", escape(title)).expect("a String takes all");
}

fn table(page: &mut String, first: &str, second: &str, rows: impl Iterator<Item = (String, u64)>) {
    let rows: String = rows
        .map(|(name, count)| format!("<tr><td>{}</td><td>{}</td></tr>\n", escape(&name), HumanCount(count)))
        .collect();
    if !rows.is_empty() {
        page.push_str(&format!("<table>\n<tr><th>{first}</th><th>{second}</th></tr>\n{rows}</table>\n"));
    }
}

/// Bars of counts, each with its number as a tool tip, and a line of what is expected.
fn chart(page: &mut String, counts: &[u64], expected: Option<&[f64]>, name: impl Fn(usize) -> String) {
    let highest = expected.unwrap_or_default().iter().copied().fold(0.0, f64::max);
    let most = counts.iter().map(|&count| count as f64).fold(highest, f64::max).max(1.0);
    let step = (WIDTH - LEFT) / counts.len() as f64;
    let y = |count: f64| (HEIGHT - BOTTOM) * (1.0 - count / most);
    let floor = HEIGHT - BOTTOM;
    let mut svg = format!("<svg viewBox=\"0 -14 {WIDTH} {}\" role=\"img\">\n", HEIGHT + 14.0);
    for share in [0.0, 0.5, 1.0] {
        let (at, value) = (y(most * share), HumanCount((most * share).round() as u64));
        svg.push_str(&format!(
            "<line x1=\"{LEFT}\" x2=\"{WIDTH}\" y1=\"{at:.1}\" y2=\"{at:.1}\" stroke=\"#ccc\"/>\
             <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{value}</text>\n",
            LEFT - 6.0,
            at + 4.0
        ));
    }
    for (number, &count) in counts.iter().enumerate().filter(|(_, count)| **count > 0) {
        let (x, top) = (LEFT + step * number as f64, y(count as f64));
        svg.push_str(&format!(
            "<rect x=\"{x:.2}\" y=\"{top:.2}\" width=\"{:.2}\" height=\"{:.2}\" fill=\"#0072b2\">\
             <title>{}: {}</title></rect>\n",
            step * 0.9,
            floor - top,
            escape(&name(number)),
            HumanCount(count)
        ));
    }
    if let Some(expected) = expected {
        let points: Vec<String> = expected
            .iter()
            .enumerate()
            .map(|(number, &count)| format!("{:.1},{:.1}", LEFT + step * (number as f64 + 0.45), y(count)))
            .collect();
        let points = points.join(" ");
        svg.push_str(&format!(
            "<polyline points=\"{points}\" fill=\"none\" stroke=\"#d55e00\" stroke-width=\"2\"/>\n"
        ));
    }
    for number in (0..counts.len()).step_by(counts.len().div_ceil(MOST_NAMES)) {
        let x = LEFT + step * (number as f64 + 0.45);
        svg.push_str(&format!(
            "<text x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>\n",
            HEIGHT - 10.0,
            escape(&name(number))
        ));
    }
    svg.push_str("</svg>\n");
    page.push_str(&svg);
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
