//! Time against memory, a panel for each number of fingerprints (downwards) and shape (across).

use std::fmt::Write;

use crate::chart::COLOURS;
use crate::chart::log_scale::LogScale;
use crate::chart::svg::{end_group, finish, line, start, start_group, text, vertical_text};
use crate::queries::{Comparison, Row};
use crate::registry::REFERENCE;
use crate::report::Report;
use crate::report::label_placement::{Area, place};
use crate::report::table::{grouped, three_digits};

/// The width of all panels in a row; the legend needs it even with one panel.
const WIDTH: f64 = 840.0;
const LEAST_PANEL_WIDTH: f64 = 560.0;
const HEIGHT: f64 = 420.0;
const LEFT: f64 = 62.0;
const RIGHT: f64 = 14.0;
const TOP: f64 = 40.0;
const BOTTOM: f64 = 52.0;
const LEGEND: f64 = 44.0;

/// The colour of all contenders but hamdex, whose codecs have [`COLOURS`].
const OTHERS: &str = "#555555";
/// The area in which the reference is beaten in both.
const TINT: &str = "#eef6ee";

/// Draws the picture.
pub(crate) fn picture(report: &Report) -> String {
    let (counts, shapes) = (distinct(report, |c| c.count), distinct(report, |c| c.shape.clone()));
    let families = families(report);
    let panel_width = (WIDTH / shapes.len() as f64).max(LEAST_PANEL_WIDTH);
    let width = panel_width * shapes.len() as f64;
    let height = HEIGHT * counts.len() as f64 + LEGEND;
    let mut svg = start("µs per query against bytes per fingerprint", width, height);
    for (line, count) in counts.iter().enumerate() {
        let in_line: Vec<&Comparison> = report.queries.iter().filter(|c| c.count == *count).collect();
        let rows = || in_line.iter().flat_map(|comparison| &comparison.rows);
        // The panels of a row have one scale, so that they can be compared.
        let x = LogScale::new(rows().map(memory), LEFT, panel_width - RIGHT);
        let y = LogScale::new(rows().map(time), HEIGHT - BOTTOM, TOP);
        for comparison in &in_line {
            let column = shapes.iter().position(|shape| *shape == comparison.shape).unwrap_or_default();
            let (right, down) = (panel_width * column as f64, HEIGHT * line as f64);
            start_group(&mut svg, right, down);
            Panel { report, comparison, width: panel_width, x: &x, y: &y, families: &families }
                .draw(&mut svg);
            end_group(&mut svg);
        }
    }
    legend(&mut svg, &families, &members(report), HEIGHT * counts.len() as f64);
    finish(svg)
}

fn memory(row: &Row) -> f64 {
    row.bytes_per_fingerprint.total
}

fn time(row: &Row) -> f64 {
    row.microseconds.best
}

fn distinct<T: PartialEq>(report: &Report, of: impl Fn(&Comparison) -> T) -> Vec<T> {
    let mut all = Vec::new();
    for value in report.queries.iter().map(of) {
        if !all.contains(&value) {
            all.push(value);
        }
    }
    all
}

/// hamdex's families, as they come.
fn families(report: &Report) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    for row in report.queries.iter().flat_map(|comparison| &comparison.rows).filter(|row| is_ours(row)) {
        if !all.contains(&row.family) {
            all.push(row.family.clone());
        }
    }
    all
}

/// hamdex's designs, as they come.
fn members(report: &Report) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    for row in report.queries.iter().flat_map(|comparison| &comparison.rows).filter(|row| is_ours(row)) {
        if !all.contains(&row.member) {
            all.push(row.member.clone());
        }
    }
    all
}

fn is_ours(row: &Row) -> bool {
    row.family.starts_with("hamdex/")
}

fn colour(families: &[String], family: &str) -> &'static str {
    let number = families.iter().position(|known| known == family);
    number.map_or(OTHERS, |number| COLOURS[number % COLOURS.len()])
}

struct Panel<'r> {
    report: &'r Report,
    comparison: &'r Comparison,
    width: f64,
    x: &'r LogScale,
    y: &'r LogScale,
    families: &'r [String],
}

impl Panel<'_> {
    fn draw(&self, svg: &mut String) {
        let frame = Area { left: LEFT, top: TOP, right: self.width - RIGHT, bottom: HEIGHT - BOTTOM };
        text(svg, (LEFT, TOP - 16.0), "start", "font-size=\"15\" font-weight=\"600\"", &self.title());
        let reference = self.comparison.rows.iter().find(|row| row.name == REFERENCE.name());
        let reference = reference.map(|row| (self.x.at(memory(row)), self.y.at(time(row))));
        if let Some((x, y)) = reference {
            let (left, width, height) = (frame.left, x - frame.left, frame.bottom - y);
            let area = format!("x=\"{left}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{height:.1}\"");
            writeln!(svg, "<rect {area} fill=\"{TINT}\"/>").expect("a String takes all");
        }
        self.axes(svg, &frame);
        let corner = reference.and_then(|(x, y)| explain_tint(svg, &frame, x, y));
        let points: Vec<(f64, f64, String)> = self
            .comparison
            .rows
            .iter()
            .map(|row| (self.x.at(memory(row)), self.y.at(time(row)), name(row)))
            .collect();
        let places = place(&points, &frame, corner.as_slice());
        for ((row, (x, y, name)), place) in self.comparison.rows.iter().zip(&points).zip(&places) {
            let colour = colour(self.families, &row.family);
            if place.needs_line {
                let label = Area::of_text(name, place.left, place.baseline);
                let (to_x, to_y) =
                    (x.clamp(label.left, label.right), y.clamp(label.top + 3.0, label.bottom - 3.0));
                line(svg, (*x, *y), (to_x, to_y), &format!("stroke=\"{colour}\" stroke-opacity=\"0.5\""));
            }
            writeln!(svg, "<g><title>{}</title>", tip(row)).expect("a String takes all");
            marker(svg, if is_ours(row) { &row.member } else { "" }, *x, *y, colour);
            let style = format!("fill=\"{colour}\" {}", rim("#ffffff"));
            text(svg, (place.left, place.baseline), "start", &style, name);
            end_group(svg);
        }
    }

    fn title(&self) -> String {
        let Comparison { fingerprints, shape, .. } = self.comparison;
        format!("{} {shape} fingerprints, distance {}", grouped(*fingerprints as u64), self.report.distance)
    }

    fn axes(&self, svg: &mut String, frame: &Area) {
        let &Area { left, top, right, bottom } = frame;
        let grid = "stroke=\"#dddddd\"";
        for tick in self.x.ticks() {
            let x = self.x.at(tick);
            line(svg, (x, top), (x, bottom), grid);
            text(svg, (x, bottom + 16.0), "middle", "", &plain(tick));
        }
        for tick in self.y.ticks() {
            let y = self.y.at(tick);
            line(svg, (left, y), (right, y), grid);
            text(svg, (left - 6.0, y + 4.0), "end", "", &plain(tick));
        }
        line(svg, (left, bottom), (right, bottom), "stroke=\"#222\"");
        line(svg, (left, top), (left, bottom), "stroke=\"#222\"");
        let middle = (left + right) / 2.0;
        text(
            svg,
            (middle, bottom + 36.0),
            "middle",
            "",
            "bytes per fingerprint, file and memory (fewer is better)",
        );
        let words = format!("µs per query, best of {} rounds", self.report.rounds);
        let middle = (top + bottom) / 2.0;
        vertical_text(svg, (16.0, middle), &words);
    }
}

/// Says what the tinted corner means, if there is room up to the reference; gives the place it took.
fn explain_tint(svg: &mut String, frame: &Area, x: f64, y: f64) -> Option<Area> {
    let (words, baseline) = ("faster and smaller than mih-rs", frame.bottom - 7.0);
    let area = Area::of_text(words, frame.left + 6.0, baseline);
    let fits = area.right < x && area.top > y;
    if fits {
        let style = format!("fill=\"#5a7d5a\" font-size=\"11\" {}", rim(TINT));
        text(svg, (area.left, baseline), "start", &style, words);
    }
    fits.then_some(area)
}

/// A rim in the colour of the ground keeps letters readable on lines.
fn rim(ground: &str) -> String {
    format!("stroke=\"{ground}\" stroke-width=\"3\" paint-order=\"stroke\"")
}

fn legend(svg: &mut String, families: &[String], members: &[String], top: f64) {
    let (mut x, y) = (LEFT, top + 16.0);
    let mut entry = |svg: &mut String, member: &str, colour: &str, words: &str| {
        marker(svg, member, x, y - 4.0, colour);
        text(svg, (x + 11.0, y), "start", "", words);
        x += 11.0 + 7.0 * words.chars().count() as f64 + 26.0;
    };
    for family in families {
        entry(svg, "any", colour(families, family), &family.replace('/', " "));
    }
    entry(svg, "", OTHERS, "others");
    for member in members {
        entry(svg, member, "#999999", member);
    }
}

fn name(row: &Row) -> String {
    match (is_ours(row), row.member.as_str()) {
        (true, design) => design.to_owned(),
        (false, "default" | "scan") => row.family.replace("brute-force", "brute force"),
        (false, member) => format!("{}, {}", row.family, member.replace('-', " ")),
    }
}

fn tip(row: &Row) -> String {
    let (time, memory) = (three_digits(time(row)), memory(row));
    format!("{}: {time} µs per query, {memory:.2} bytes per fingerprint", row.name)
}

/// Draws a marker: each design has its own form; contenders without a design are crosses.
fn marker(svg: &mut String, member: &str, x: f64, y: f64, colour: &str) {
    let rim = "stroke=\"#ffffff\"";
    let polygon = |corners: &[(f64, f64)]| {
        let corners: Vec<String> =
            corners.iter().map(|(right, down)| format!("{:.1},{:.1}", x + right, y + down)).collect();
        format!("<polygon points=\"{}\" fill=\"{colour}\" {rim}/>", corners.join(" "))
    };
    let form = match member {
        "halves" => format!("<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"5\" fill=\"{colour}\" {rim}/>"),
        "cover-6" => polygon(&[(-4.5, -4.5), (4.5, -4.5), (4.5, 4.5), (-4.5, 4.5)]),
        "cover-8" => polygon(&[(0.0, -5.5), (5.5, 4.5), (-5.5, 4.5)]),
        "paper-10" => polygon(&[(0.0, -6.5), (6.5, 0.0), (0.0, 6.5), (-6.5, 0.0)]),
        "" => {
            let (left, right, top, bottom) = (x - 4.5, x + 4.5, y - 4.5, y + 4.5);
            format!(
                "<path d=\"M{left:.1} {top:.1}L{right:.1} {bottom:.1}M{left:.1} {bottom:.1}L{right:.1} \
                 {top:.1}\" stroke=\"{colour}\" stroke-width=\"2.5\" fill=\"none\"/>"
            )
        }
        // A swatch of the colour alone.
        _ => polygon(&[(-7.0, -3.5), (7.0, -3.5), (7.0, 3.5), (-7.0, 3.5)]),
    };
    writeln!(svg, "{form}").expect("a String takes all");
}

/// A tick's number without needless zeros.
fn plain(tick: f64) -> String {
    if tick >= 1.0 {
        grouped(tick.round() as u64)
    } else {
        format!("{tick:.3}").trim_end_matches('0').to_owned()
    }
}
