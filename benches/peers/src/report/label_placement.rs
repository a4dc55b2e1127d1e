//! Placement of the labels of points, without overlaps.

/// Width of a letter and height of a line, in pixels, of the letters in the picture.
const LETTER: f64 = 6.4;
const LINE: f64 = 13.0;
/// Distances of a label from its point, tried in this order.
const DISTANCES: [f64; 5] = [9.0, 16.0, 26.0, 38.0, 52.0];
/// A name further away than this needs a line to its point.
const BESIDE: f64 = 16.0;
/// Half the side of a point's marker, with a little air.
const MARKER: f64 = 7.0;

#[derive(Clone, Copy)]
pub(super) struct Area {
    pub left: f64,
    pub top: f64,
    pub right: f64,
    pub bottom: f64,
}

impl Area {
    pub(super) fn around(x: f64, y: f64, reach: f64) -> Self {
        Self { left: x - reach, top: y - reach, right: x + reach, bottom: y + reach }
    }

    pub(super) fn of_text(text: &str, left: f64, baseline: f64) -> Self {
        let width = LETTER * text.chars().count() as f64;
        Self { left, top: baseline - LINE + 3.0, right: left + width, bottom: baseline + 3.0 }
    }

    fn shared(&self, other: &Self) -> f64 {
        let width = self.right.min(other.right) - self.left.max(other.left);
        let height = self.bottom.min(other.bottom) - self.top.max(other.top);
        if width > 0.0 && height > 0.0 { width * height } else { 0.0 }
    }

    fn size(&self) -> f64 {
        (self.right - self.left) * (self.bottom - self.top)
    }
}

/// The position of a label's first letter, and whether a line leads to its point.
pub(super) struct Place {
    pub left: f64,
    pub baseline: f64,
    pub needs_line: bool,
}

/// Places the labels of points inside a frame, with as little overlap as possible with each other, the points and other
/// areas.
pub(super) fn place(points: &[(f64, f64, String)], frame: &Area, others: &[Area]) -> Vec<Place> {
    let mut taken: Vec<Area> = points.iter().map(|&(x, y, _)| Area::around(x, y, MARKER)).collect();
    taken.extend_from_slice(others);
    let mut places = Vec::new();
    for (x, y, name) in points {
        let width = LETTER * name.chars().count() as f64;
        let mut best: Option<(f64, Area, Place)> = None;
        for (distance, (right, down)) in DISTANCES.iter().flat_map(|&d| DIRECTIONS.map(|way| (d, way))) {
            let left = x + right * distance + (right.signum_or_zero() - 1.0) / 2.0 * width;
            let baseline = y + down * distance + 4.0;
            let area = Area::of_text(name, left, baseline);
            let outside = area.size() - area.shared(frame);
            let covered: f64 = outside + taken.iter().map(|other| other.shared(&area)).sum::<f64>();
            if best.as_ref().is_none_or(|(least, ..)| covered < *least) {
                let needs_line = distance > BESIDE;
                best = Some((covered, area, Place { left, baseline, needs_line }));
            }
        }
        let (_, area, chosen) = best.expect("there are directions");
        taken.push(area);
        places.push(chosen);
    }
    places
}

/// Right and down, the most natural first.
const DIRECTIONS: [(f64, f64); 8] =
    [(1.0, 0.0), (-1.0, 0.0), (0.0, -1.2), (0.0, 1.2), (0.8, -0.8), (0.8, 0.8), (-0.8, -0.8), (-0.8, 0.8)];

trait Sign {
    fn signum_or_zero(self) -> f64;
}

impl Sign for f64 {
    fn signum_or_zero(self) -> f64 {
        if self == 0.0 { 0.0 } else { self.signum() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_points_close_together_do_not_overlap() {
        let frame = Area { left: 0.0, top: 0.0, right: 400.0, bottom: 300.0 };
        let points: Vec<(f64, f64, String)> = (0..6)
            .map(|i| (380.0 + f64::from(i % 2) * 8.0, 100.0 + 6.0 * f64::from(i), format!("cover-{i}")))
            .collect();
        let areas: Vec<Area> = place(&points, &frame, &[])
            .iter()
            .zip(&points)
            .map(|(place, (_, _, name))| Area::of_text(name, place.left, place.baseline))
            .collect();
        for (number, area) in areas.iter().enumerate() {
            assert!((area.shared(&frame) - area.size()).abs() < 1e-6, "{number} leaves the frame");
            for other in &areas[..number] {
                assert!(area.shared(other) == 0.0, "{number} is covered");
            }
        }
    }
}
