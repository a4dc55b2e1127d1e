//! Time and bytes by the number of fingerprints, as a picture.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, ensure};
use plotters::coord::Shift;
use plotters::prelude::*;

use crate::figures::{self, Figures};

const SIZE: (u32, u32) = (1000, 420);

/// Readable on white and on black.
const COLOURS: [RGBColor; 5] = [
    RGBColor(31, 119, 180),
    RGBColor(214, 39, 40),
    RGBColor(44, 160, 44),
    RGBColor(148, 103, 189),
    RGBColor(140, 86, 75),
];

/// A figure by the number of fingerprints.
type Line = Vec<(f64, f64)>;

pub(crate) fn draw(paths: &[PathBuf], output: &Path) -> Result<()> {
    let runs = paths.iter().map(|path| read(path)).collect::<Result<Vec<_>>>()?;
    let (mut seconds, mut bytes) = (BTreeMap::<String, Line>::new(), BTreeMap::<String, Line>::new());
    for run in &runs {
        let (count, which) = (f64::from(run.of.log2).exp2(), format!("{}, {}", run.of.design, run.of.codec));
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
    let mut svg = String::new();
    {
        let area = SVGBackend::with_string(&mut svg, SIZE).into_drawing_area();
        let (left, right) = area.split_horizontally(SIZE.0 / 2);
        panel(&left, "seconds", &seconds)?;
        panel(&right, "bytes", &bytes)?;
        area.present().map_err(|error| anyhow!("the picture cannot be drawn: {error}"))?;
    }
    figures::write(output, &svg)
}

fn read(path: &Path) -> Result<Figures> {
    let text = fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    serde_json::from_str(&text).with_context(|| format!("{}: these are no figures of a run", path.display()))
}

fn panel(
    area: &DrawingArea<SVGBackend<'_>, Shift>,
    what: &str,
    lines: &BTreeMap<String, Line>,
) -> Result<()> {
    let drawn = |error: DrawingAreaErrorKind<_>| anyhow!("the picture cannot be drawn: {error}");
    let points = || lines.values().flatten();
    let least = |of: fn(&(f64, f64)) -> f64| points().map(of).fold(f64::INFINITY, f64::min);
    let most = |of: fn(&(f64, f64)) -> f64| points().map(of).fold(0.0, f64::max);
    let (x, y) = (|p: &(f64, f64)| p.0, |p: &(f64, f64)| p.1);
    let mut chart = ChartBuilder::on(area)
        .margin(12)
        .caption(format!("{what} by fingerprints stored"), ("sans-serif", 16))
        .x_label_area_size(32)
        .y_label_area_size(64)
        .build_cartesian_2d(
            (least(x) / 1.5..most(x) * 1.5).log_scale().base(2.0),
            (least(y) / 3.0..most(y) * 8.0).log_scale(),
        )
        .map_err(drawn)?;
    chart
        .configure_mesh()
        .light_line_style(TRANSPARENT)
        .x_label_formatter(&|count| format!("2^{:.0}", count.log2()))
        .y_label_formatter(&|value| short(*value))
        .draw()
        .map_err(drawn)?;
    for (place, (name, line)) in lines.iter().enumerate() {
        let colour = COLOURS[place % COLOURS.len()];
        chart
            .draw_series(LineSeries::new(line.iter().copied(), colour.stroke_width(2)).point_size(3))
            .map_err(drawn)?
            .label(name)
            .legend(move |(x, y)| PathElement::new([(x, y), (x + 18, y)], colour.stroke_width(2)));
    }
    chart
        .configure_series_labels()
        .position(SeriesLabelPosition::UpperLeft)
        .background_style(WHITE.mix(0.8))
        .draw()
        .map_err(drawn)
}

/// A number in a few characters: 16G, 250M, 0.5.
fn short(value: f64) -> String {
    let units = [(1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")];
    match units.into_iter().find(|(unit, _)| value >= *unit) {
        Some((unit, name)) => format!("{}{name}", value / unit),
        None => format!("{value}"),
    }
}
