//! Writes the distribution as one HTML page that loads nothing else.

use std::path::Path;

use indicatif::HumanCount;

use crate::commands::dump::stats::chart::Chart;
use crate::commands::dump::stats::gather::{LEADING_BITS, Spike, Spread};
use crate::escape::escape;
use crate::html;
use crate::messages::counted;

/// The number of distances at the near end that have a chart of their own, and of those whose pairs are counted in a
/// table: there may be few, of which nothing would be seen.
const NEAR_DISTANCES: usize = 17;
const COUNTED_DISTANCES: usize = 8;

/// The styles of charts and tables.
const STYLE: &str = "\
:root { --bar: #0072b2; --expected: #d55e00; }
@media (prefers-color-scheme: dark) { :root { --bar: #56b4e9; --expected: #e69f00; } }
figure {
  display: grid; grid-template-columns: max-content minmax(0, 1fr); margin: 1.5em 1em 1.5em 0; font-size: 12px;
}
figure svg { grid-column: 2; width: 100%; height: 220px; display: block; overflow: visible; }
.y { grid-column: 1; position: relative; }
.y span { position: absolute; right: 0.7em; transform: translateY(50%); line-height: 1; white-space: nowrap; }
.x { grid-column: 2; position: relative; height: 1.8em; }
.x span { position: absolute; top: 0.3em; transform: translateX(-50%); white-space: nowrap; }
figcaption { grid-column: 2; text-align: center; }
.grid { stroke: var(--grid); stroke-width: 1; vector-effect: non-scaling-stroke; }
.bar { fill: var(--bar); }
.expected { fill: none; stroke: var(--expected); stroke-width: 2; vector-effect: non-scaling-stroke; }
dl { display: grid; grid-template-columns: max-content minmax(0, 1fr); gap: 0.1em 1.5em; }
dt { font-weight: 600; }
dd { margin: 0; }
.tables { overflow-x: auto; }
table { border-collapse: collapse; }
td, th { padding: 0.1em 1.5em 0.1em 0; text-align: left; vertical-align: top; }
td:first-child { font-family: ui-monospace, monospace; overflow-wrap: normal; }
th { white-space: nowrap; }
td.count, th.count { text-align: right; white-space: nowrap; }
";

/// Returns the whole page.
pub(super) fn page(path: &Path, facts_of_file: &[(&str, String)], spread: &Spread) -> String {
    let name = escape(&path.display().to_string());
    let fingerprints = counted(spread.fingerprints, "distinct fingerprint", "distinct fingerprints");
    let body = if spread.fingerprints == 0 {
        "<p>There is nothing to show.</p>\n".to_owned()
    } else {
        [leading(spread), spikes(spread), distances(spread), first_differences(spread)].concat()
    };
    let start = html::start(&format!("{}: how the fingerprints are spread", path.display()), STYLE);
    format!(
        "{start}<h1>{name}</h1>\n<p>{fingerprints} of {} bits.</p>\n{}{body}{}",
        spread.bits,
        facts(facts_of_file),
        html::END
    )
}

/// Returns a list of what the file is.
fn facts(facts: &[(&str, String)]) -> String {
    let rows = facts.iter().map(|(name, value)| format!("<dt>{name}</dt><dd>{}</dd>\n", escape(value)));
    format!("<dl>\n{}</dl>\n", rows.collect::<String>())
}

fn leading(spread: &Spread) -> String {
    let title = format!("Fingerprints by their first {LEADING_BITS} bits");
    let chart = Chart {
        description: &title,
        counts: &spread.leading,
        expected: None,
        name: &|bits| format!("{bits:02x}"),
        axis: &format!("first {LEADING_BITS} bits, in hexadecimal"),
    };
    let rows =
        spread.crowded.iter().map(|(bits, count)| [format!("{bits:08b}"), HumanCount(*count).to_string()]);
    section(&title, &(chart.html() + &table(["first bits", "fingerprints"], rows)))
}

fn spikes(spread: &Spread) -> String {
    let contents = match &spread.spikes {
        None => "<p>This index has no ids.</p>\n".to_owned(),
        Some(spikes) if spikes.is_empty() => "<p>No fingerprint has more than one id.</p>\n".to_owned(),
        Some(spikes) => {
            let headings = ["fingerprint", "ids", if spread.has_names { "documents" } else { "the ids" }];
            let row = |spike: &Spike| {
                [spike.fingerprint.clone(), HumanCount(spike.ids).to_string(), spike.shown_ids()]
            };
            table(headings, spikes.iter().map(row))
        }
    };
    section("Fingerprints with the most ids", &contents)
}

fn distances(spread: &Spread) -> String {
    if spread.sampled < 2 {
        return section("Distances", "<p>One fingerprint alone has no distances.</p>\n");
    }
    let pairs = spread.distances.iter().sum();
    let which = if spread.sampled == spread.fingerprints {
        format!("the {} fingerprints", HumanCount(spread.sampled))
    } else {
        format!("a sample of {} fingerprints", HumanCount(spread.sampled))
    };
    let pairs = counted(pairs, "pair", "pairs");
    let explained = format!(
        "<p>Bars: {pairs} of {which}, by the number of bits in which the two differ. Line: what uniform \
         fingerprints would give.</p>\n"
    );
    let expected = spread.expected_distances();
    let chart = Chart {
        description: "Pairs by their distance",
        counts: &spread.distances,
        expected: Some(&expected),
        name: &|distance| distance.to_string(),
        axis: "distance in bits",
    };
    section("Distances", &(explained + &chart.html() + &near_distances(spread, &expected)))
}

/// Returns a chart of the small distances, whose bars are too low to be seen among all.
fn near_distances(spread: &Spread, expected: &[f64]) -> String {
    let nearest = NEAR_DISTANCES.min(spread.distances.len());
    let chart = Chart {
        description: "Pairs by their distance, the near ones alone",
        counts: &spread.distances[..nearest],
        expected: Some(&expected[..nearest]),
        name: &|distance| distance.to_string(),
        axis: "distance in bits, the near end at a scale of its own",
    };
    let counted = spread.distances[..nearest].iter().enumerate().take(COUNTED_DISTANCES);
    let rows = counted.map(|(distance, &count)| [distance.to_string(), HumanCount(count).to_string()]);
    chart.html() + &table(["distance", "pairs"], rows)
}

fn first_differences(spread: &Spread) -> String {
    let title = "First differing position (h)";
    if spread.fingerprints < 2 {
        return section(title, "<p>One fingerprint alone has no neighbours.</p>\n");
    }
    let explained = "<p>With the fingerprints in ascending order, h is the first bit position, counted from 0 at \
                     the most significant bit, in which a fingerprint differs from the one before it: the larger \
                     h, the closer the two.</p>\n";
    let chart = Chart {
        description: "Neighbours by h",
        counts: &spread.h,
        expected: None,
        name: &|h| h.to_string(),
        axis: "h",
    };
    section(title, &(explained.to_owned() + &chart.html()))
}

fn section(title: &str, contents: &str) -> String {
    format!("<h2>{}</h2>\n{contents}", escape(title))
}

/// Returns a table of texts, whose second column is a count; an empty string if there are no rows.
fn table<const N: usize>(headings: [&str; N], rows: impl Iterator<Item = [String; N]>) -> String {
    let line = |cell: &str, cells: &[String]| -> String {
        let cells = cells.iter().enumerate().map(|(column, text)| {
            let class = if column == 1 { " class=\"count\"" } else { "" };
            format!("<{cell}{class}>{}</{cell}>", escape(text))
        });
        format!("<tr>{}</tr>\n", cells.collect::<String>())
    };
    let rows: String = rows.map(|row| line("td", &row)).collect();
    if rows.is_empty() {
        return rows;
    }
    format!("<table>\n{}{rows}</table>\n", line("th", &headings.map(str::to_owned)))
}
