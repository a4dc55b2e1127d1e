//! Bar charts as HTML.
//!
//! The bars are an SVG that is stretched to the width of the page. The labels are HTML next to it, placed by
//! percentages, so that letters keep their size and shape at any width.

use std::fmt::Write;

use indicatif::HumanCount;

use crate::escape::escape;

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
