//! A chart of scores as a self-contained SVG picture.

use std::fmt::Write;

use crate::escape::escape;

/// One line of a chart.
pub(super) struct Curve {
    /// Its name in the legend.
    pub(super) name: String,
    /// Whether it is dashed.
    pub(super) dashed: bool,
    /// Its points: a position on the x axis, and a share from 0 to 1. An unknown share (the precision of no reported
    /// pair) is a gap in the line.
    pub(super) points: Vec<(f64, Option<f64>)>,
}

const WIDTH: f64 = 760.0;
const LEFT: f64 = 62.0;
const RIGHT: f64 = 24.0;
const TOP: f64 = 48.0;
const BOTTOM: f64 = 400.0;
/// The first line of the legend, under the axis and its label.
const LEGEND: f64 = 470.0;
const LEGEND_LINE: f64 = 20.0;
/// Names longer than this need the picture's whole width.
const LEGEND_HALF_CHARS: usize = 44;
const COLOUR: &str = "#0072b2";

/// Returns a chart of shares from 0 to 1 over whole numbers, such as precision and recall over distance. The
/// text is escaped; the picture refers to nothing outside itself.
pub(super) fn svg_chart(title: &str, x_label: &str, curves: &[Curve]) -> String {
    let places = || curves.iter().flat_map(|curve| curve.points.iter().map(|&(x, _)| x));
    let (first, last) = places().fold((f64::MAX, f64::MIN), |(low, high), x| (low.min(x), high.max(x)));
    let axes = if first < last { Axes { first, last } } else { Axes { first: 0.0, last: 1.0 } };

    let columns =
        if curves.iter().all(|curve| curve.name.chars().count() <= LEGEND_HALF_CHARS) { 2 } else { 1 };
    let height = LEGEND + LEGEND_LINE * curves.len().div_ceil(columns) as f64;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" width=\"{WIDTH}\" \
         height=\"{height}\" font-family=\"sans-serif\" font-size=\"13\" fill=\"#222\" role=\"img\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n"
    );
    text(&mut svg, LEFT, 26.0, "start", "font-size=\"16\" font-weight=\"bold\"", title);
    axes.draw(&mut svg, x_label);
    for (index, curve) in curves.iter().enumerate() {
        // Later curves are thinner, so that coinciding curves stay visible.
        axes.draw_curve(&mut svg, curve, 2.0 + 0.8 * (curves.len() - 1 - index).min(3) as f64);
    }
    draw_legend(&mut svg, curves, columns);
    svg.push_str("</svg>\n");
    svg
}

/// The positions of values in the picture.
struct Axes {
    first: f64,
    last: f64,
}

impl Axes {
    fn x(&self, place: f64) -> f64 {
        LEFT + (place - self.first) / (self.last - self.first) * (WIDTH - LEFT - RIGHT)
    }

    fn y(share: f64) -> f64 {
        BOTTOM - share * (BOTTOM - TOP)
    }

    fn draw(&self, svg: &mut String, x_label: &str) {
        for quarter in 0..=4 {
            let share = f64::from(quarter) / 4.0;
            let y = Self::y(share);
            line(svg, (LEFT, y), (WIDTH - RIGHT, y), if quarter == 0 { "#222" } else { "#ddd" });
            text(svg, LEFT - 10.0, y + 4.5, "end", "", &format!("{share:.2}"));
        }
        let step = ((self.last - self.first) / 20.0).ceil().max(1.0);
        let mut tick = self.first.ceil();
        while tick <= self.last {
            let (x, bottom) = (self.x(tick), Self::y(0.0));
            line(svg, (x, bottom), (x, bottom + 5.0), "#222");
            text(svg, x, bottom + 20.0, "middle", "", &tick.to_string());
            tick += step;
        }
        text(svg, (LEFT + WIDTH - RIGHT) / 2.0, BOTTOM + 42.0, "middle", "", x_label);
    }

    fn draw_curve(&self, svg: &mut String, curve: &Curve, thickness: f64) {
        let mut path = String::new();
        let mut pen = 'M';
        for &(place, share) in &curve.points {
            if let Some(share) = share {
                let (x, y) = (self.x(place), Self::y(share));
                write!(path, "{pen}{x:.1} {y:.1}").expect("writing to a string cannot fail");
                pen = 'L';
            } else {
                pen = 'M';
            }
        }
        stroke(svg, &path, curve, thickness);
    }
}

fn draw_legend(svg: &mut String, curves: &[Curve], columns: usize) {
    let room = (WIDTH - LEFT - RIGHT) / columns as f64;
    for (index, curve) in curves.iter().enumerate() {
        let x = LEFT + room * (index % columns) as f64;
        let y = LEGEND + LEGEND_LINE * (index / columns) as f64;
        stroke(svg, &format!("M{x:.1} {y:.1}h28"), curve, 3.0);
        text(svg, x + 36.0, y + 4.5, "start", "", &curve.name);
    }
}

fn stroke(svg: &mut String, path: &str, curve: &Curve, thickness: f64) {
    let dashes = if curve.dashed { "6 4" } else { "none" };
    writeln!(
        svg,
        "<path d=\"{path}\" fill=\"none\" stroke=\"{COLOUR}\" stroke-width=\"{thickness:.1}\" \
         stroke-dasharray=\"{dashes}\" stroke-linejoin=\"round\"/>"
    )
    .expect("writing to a string cannot fail");
}

fn line(svg: &mut String, (x1, y1): (f64, f64), (x2, y2): (f64, f64), colour: &str) {
    writeln!(svg, "<line x1=\"{x1:.1}\" y1=\"{y1:.1}\" x2=\"{x2:.1}\" y2=\"{y2:.1}\" stroke=\"{colour}\"/>")
        .expect("writing to a string cannot fail");
}

fn text(svg: &mut String, x: f64, y: f64, anchor: &str, style: &str, content: &str) {
    let content = escape(content);
    writeln!(svg, "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\" {style}>{content}</text>")
        .expect("writing to a string cannot fail");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gap_starts_a_new_line() {
        let points = vec![(0.0, None), (1.0, Some(1.0)), (2.0, Some(0.5)), (3.0, None), (4.0, Some(0.0))];
        let svg = svg_chart("t", "x", &[Curve { name: "c".into(), dashed: false, points }]);
        let path = svg.lines().find(|line| line.starts_with("<path")).unwrap();
        assert_eq!((path.matches('M').count(), path.matches('L').count()), (2, 1), "{path}");
    }

    #[test]
    fn every_curve_is_in_the_legend() {
        let curve = |name: &str| Curve { name: name.into(), dashed: true, points: vec![] };
        let short = svg_chart("t", "x", &[curve("one"), curve("two")]);
        let long = svg_chart("t", "x", &[curve("one"), curve(&"long".repeat(20))]);
        assert!(short.contains(">one</text>") && short.contains(">two</text>"));
        assert!(long.contains("height=\"510\"") && short.contains("height=\"490\""));
    }

    #[test]
    fn text_is_escaped() {
        let svg = svg_chart("<a & b>", "x", &[]);
        assert!(svg.contains("&lt;a &amp; b&gt;"));
    }
}
