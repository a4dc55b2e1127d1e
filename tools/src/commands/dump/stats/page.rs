//! The distribution of the fingerprints as an HTML page with charts.

use std::fmt::Write;
use std::path::Path;

use indicatif::HumanCount;

use crate::commands::dump::stats::{LEADING_BITS, Spike, Spread};
use crate::html::{self, escape};
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

/// Intervals between two labels of the axis below the bars.
const INTERVALS: usize = 8;

/// The most lines across the bars, without the floor.
const MAX_LINES: u64 = 4;

/// The share of its slot that a bar fills.
const BAR_WIDTH: f64 = 0.9;

/// The data of a chart.
pub(super) struct Chart<'a> {
    /// The subject of the chart, for screen readers.
    pub(super) description: &'a str,
    /// The height of each bar.
    pub(super) counts: &'a [u64],
    /// A line of expected heights.
    pub(super) expected: Option<&'a [f64]>,
    /// Returns the label of a bar.
    pub(super) name: &'a dyn Fn(usize) -> String,
    /// The title of the axis below the bars.
    pub(super) axis: &'a str,
}

impl Chart<'_> {
    pub(super) fn html(&self) -> String {
        let lines = lines(self.highest());
        let top = *lines.last().expect("there is a floor") as f64;
        let heights: Vec<String> = lines.iter().map(|&line| HumanCount(line).to_string()).collect();
        let longest = heights.iter().map(String::len).max().unwrap_or_default();
        let beside = lines.iter().zip(&heights).map(|(&line, text)| label("bottom", line as f64 / top, text));
        let places = self.counts.len() as f64;
        let below = labelled(self.counts.len())
            .map(|bar| label("left", self.middle(bar) / places, &(self.name)(bar)));
        format!(
            "<figure>\n<div class=\"y\" style=\"width:{}ch\">{}</div>\n{}<div class=\"x\">{}</div>\n\
             <figcaption>{}</figcaption>\n</figure>\n",
            // Space between the longest label and the bars.
            longest + 2,
            beside.collect::<String>(),
            self.svg(&lines, top),
            below.collect::<String>(),
            escape(self.axis)
        )
    }

    fn highest(&self) -> u64 {
        let expected = self.expected.unwrap_or_default().iter().copied().fold(0.0, f64::max);
        self.counts.iter().copied().max().unwrap_or(0).max(expected.ceil() as u64)
    }

    /// Returns the middle of a bar, in bars.
    fn middle(&self, bar: usize) -> f64 {
        bar as f64 + BAR_WIDTH / 2.0
    }

    /// Returns lines, bars and the expected line; the unit is a bar across and one hundredth of the height
    /// down.
    fn svg(&self, lines: &[u64], top: f64) -> String {
        let down = |count: f64| 100.0 * (1.0 - count / top);
        let width = self.counts.len();
        let mut svg = format!(
            "<svg viewBox=\"0 0 {width} 100\" preserveAspectRatio=\"none\" role=\"img\" aria-label=\"{}\">\n",
            escape(self.description)
        );
        for &line in lines {
            let y = down(line as f64);
            writeln!(svg, "<line class=\"grid\" x1=\"0\" x2=\"{width}\" y1=\"{y:.2}\" y2=\"{y:.2}\"/>")
                .expect("a String takes all");
        }
        for (bar, &count) in self.counts.iter().enumerate().filter(|(_, count)| **count > 0) {
            let y = down(count as f64);
            writeln!(
                svg,
                "<rect class=\"bar\" x=\"{bar}\" y=\"{y:.3}\" width=\"{BAR_WIDTH}\" height=\"{:.3}\"><title>{}: \
                 {}</title></rect>",
                100.0 - y,
                escape(&(self.name)(bar)),
                HumanCount(count)
            )
            .expect("a String takes all");
        }
        if let Some(expected) = self.expected {
            let points: Vec<String> = expected
                .iter()
                .enumerate()
                .map(|(bar, &count)| format!("{:.2},{:.3}", self.middle(bar), down(count)))
                .collect();
            writeln!(svg, "<polyline class=\"expected\" points=\"{}\"/>", points.join(" "))
                .expect("a String takes all");
        }
        svg + "</svg>\n"
    }
}

/// Returns a label at a share of the axis.
fn label(side: &str, share: f64, text: &str) -> String {
    format!("<span style=\"{side}:{:.2}%\">{}</span>", share * 100.0, escape(text))
}

/// Returns the bars with a label: the first, the last, and some at equal distances between.
fn labelled(bars: usize) -> impl Iterator<Item = usize> {
    let step = (bars / INTERVALS).max(1);
    let last = bars.saturating_sub(1);
    // The last label but one is left out if it would touch the last.
    (0..last).step_by(step).filter(move |bar| (last - bar) * 2 >= step).chain([last])
}

/// Returns the heights of the lines: multiples of a round number, from 0 to the first that is not below
/// `highest`.
fn lines(highest: u64) -> Vec<u64> {
    let round = (0u32..).flat_map(|zeros| [1, 2, 5].map(|digit| digit * 10u64.saturating_pow(zeros)));
    let step =
        { round }.find(|step| highest.div_ceil(*step) <= MAX_LINES).expect("some step is large enough");
    (0..=highest.div_ceil(step).max(1)).map(|line| line * step).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ends_and_the_middle_have_labels() {
        for (bars, middle) in [(256, 0x80), (64, 32), (65, 32), (128, 64), (129, 64), (10, 5)] {
            let labelled: Vec<usize> = labelled(bars).collect();
            assert_eq!((labelled[0], labelled[labelled.len() - 1]), (0, bars - 1));
            assert!(labelled.contains(&middle), "{labelled:?}");
            assert!(labelled.windows(2).all(|two| two[0] < two[1]), "{labelled:?}");
        }
        assert_eq!(labelled(1).collect::<Vec<_>>(), [0]);
    }

    #[test]
    fn lines_stand_at_whole_round_numbers_and_reach_the_highest_bar() {
        assert_eq!(lines(0), [0, 1]);
        assert_eq!(lines(1), [0, 1]);
        assert_eq!(lines(9), [0, 5, 10]);
        assert_eq!(lines(43), [0, 20, 40, 60]);
        assert_eq!(lines(7382), [0, 2000, 4000, 6000, 8000]);
        assert!(lines(u64::MAX / 2).len() <= 5);
    }

    #[test]
    fn a_bar_is_as_high_as_its_count() {
        let chart = Chart {
            description: "a <test>",
            counts: &[0, 5, 10],
            expected: Some(&[10.0, 0.0, 0.0]),
            name: &|bar| format!("bar {bar}"),
            axis: "bars",
        };
        let html = chart.html();
        assert!(html.contains("aria-label=\"a &lt;test&gt;\""), "{html}");
        assert!(
            html.contains("x=\"1\" y=\"50.000\" width=\"0.9\" height=\"50.000\"><title>bar 1: 5<"),
            "{html}"
        );
        assert!(html.contains("points=\"0.45,0.000 1.45,100.000 2.45,100.000\""), "{html}");
        assert!(html.contains("<span style=\"left:15.00%\">bar 0</span>"), "{html}");
        assert!(html.contains("<span style=\"left:81.67%\">bar 2</span>"), "{html}");
        assert!(html.contains("<span style=\"bottom:50.00%\">5</span>"), "{html}");
        assert!(!html.contains("bar 0: 0"), "{html}");
    }
}
