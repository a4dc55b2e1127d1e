//! Time and bytes by the number of fingerprints, as a picture.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use crate::chart::COLOURS;
use crate::chart::log_scale::LogScale;
use crate::chart::svg::{end_group, finish, line, start, start_group, text, vertical_text};
use crate::figures::{self, Figures};
use anyhow::{Context, Result, ensure};

/// The size of a panel, and of its margins.
const WIDTH: f64 = 500.0;
const HEIGHT: f64 = 420.0;
const LEFT: f64 = 72.0;
const RIGHT: f64 = 16.0;
const TOP: f64 = 40.0;
const BOTTOM: f64 = 52.0;
/// The height of a line of the legend.
const LEGEND_LINE: f64 = 18.0;

/// A figure by the number of fingerprints.
type Line = Vec<(f64, f64)>;

pub(crate) fn draw(paths: &[PathBuf], output: &Path) -> Result<()> {
    let runs = paths.iter().map(|path| read(path)).collect::<Result<Vec<_>>>()?;
    let (mut seconds, mut bytes) = (BTreeMap::<String, Line>::new(), BTreeMap::<String, Line>::new());
    for run in &runs {
        let filters = if run.of.filter == "none" { "" } else { ", filters" };
        let which = format!("{}, {}{filters}", run.of.design, run.of.codec);
        let count = f64::from(run.of.log2).exp2();
        if let Some(build) = &run.build {
            seconds.entry(format!("build, {which}")).or_default().push((count, build.cost.seconds));
            bytes.entry(which.clone()).or_default().push((count, build.file_bytes as f64));
            bytes.entry("raw".into()).or_default().push((count, 8.0 * count));
        }
        if let Some(batch) = &run.batch {
            let name = format!("batch of {} ({}), {which}", run.of.batch, run.of.strategy);
            seconds.entry(name).or_default().push((count, batch.cost.seconds));
        }
    }
    ensure!(!bytes.is_empty(), "none of these runs has built anything yet");
    for line in seconds.values_mut().chain(bytes.values_mut()) {
        line.sort_by(|a, b| a.0.total_cmp(&b.0));
        line.dedup();
    }
    let legend = LEGEND_LINE * seconds.len().max(bytes.len()) as f64;
    let mut svg = start("seconds and bytes by fingerprints stored", 2.0 * WIDTH, HEIGHT + legend);
    for (number, (what, lines)) in [("seconds", &seconds), ("bytes", &bytes)].into_iter().enumerate() {
        start_group(&mut svg, WIDTH * number as f64, 0.0);
        panel(&mut svg, what, lines);
        end_group(&mut svg);
    }
    let svg = finish(svg);
    figures::write(output, &svg)
}

fn read(path: &Path) -> Result<Figures> {
    let text = fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    serde_json::from_str(&text).with_context(|| format!("{}: these are no figures of a run", path.display()))
}

fn panel(svg: &mut String, what: &str, lines: &BTreeMap<String, Line>) {
    let points = || lines.values().flatten();
    let (right, bottom) = (WIDTH - RIGHT, HEIGHT - BOTTOM);
    let x_axis = LogScale::new(points().map(|point| point.0), LEFT, right);
    let y_axis = LogScale::new(points().map(|point| point.1), bottom, TOP);
    let title = format!("{what} by fingerprints stored");
    text(svg, (LEFT, TOP - 16.0), "start", "font-size=\"15\" font-weight=\"600\"", &title);
    let mut counts: Vec<f64> = points().map(|point| point.0).collect();
    counts.sort_by(f64::total_cmp);
    counts.dedup();
    let grid = "stroke=\"#dddddd\"";
    for count in counts {
        let x = x_axis.at(count);
        line(svg, (x, TOP), (x, bottom), grid);
        text(svg, (x, bottom + 16.0), "middle", "", &format!("2^{:.0}", count.log2()));
    }
    for tick in y_axis.ticks() {
        let y = y_axis.at(tick);
        line(svg, (LEFT, y), (right, y), grid);
        text(svg, (LEFT - 6.0, y + 4.0), "end", "", &short(tick));
    }
    line(svg, (LEFT, bottom), (right, bottom), "stroke=\"#222\"");
    line(svg, (LEFT, TOP), (LEFT, bottom), "stroke=\"#222\"");
    text(svg, ((LEFT + right) / 2.0, bottom + 36.0), "middle", "", "fingerprints");
    vertical_text(svg, (16.0, (TOP + bottom) / 2.0), what);
    for (number, (name, points)) in lines.iter().enumerate() {
        let colour = COLOURS[number % COLOURS.len()];
        let style = format!("stroke=\"{colour}\" stroke-width=\"2\" stroke-linecap=\"round\"");
        let places: Vec<(f64, f64)> = points.iter().map(|&(x, y)| (x_axis.at(x), y_axis.at(y))).collect();
        places.windows(2).for_each(|ends| line(svg, ends[0], ends[1], &style));
        // A line of no length with round ends is a point.
        let point = format!("stroke=\"{colour}\" stroke-width=\"7\" stroke-linecap=\"round\"");
        places.iter().for_each(|&place| line(svg, place, place, &point));
        let y = HEIGHT + LEGEND_LINE * number as f64;
        line(svg, (LEFT, y - 4.0), (LEFT + 18.0, y - 4.0), &style);
        text(svg, (LEFT + 26.0, y), "start", "", name);
    }
}

/// A number in a few characters: 16G, 250M, 0.5.
fn short(value: f64) -> String {
    let units = [(1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")];
    match units.into_iter().find(|(unit, _)| value >= *unit) {
        Some((unit, name)) => format!("{}{name}", value / unit),
        None => format!("{value}"),
    }
}
