//! A logarithmic axis.

/// Room beyond the outermost values, as a factor: points and their labels do not touch the frame.
const MARGIN: f64 = 1.5;
/// Beyond this number of powers of ten, only these are marked.
const DECADES_WITH_STEPS: f64 = 2.0;

/// A logarithmic axis.
pub(crate) struct LogScale {
    low: f64,
    high: f64,
    /// The coordinates of these two.
    from: f64,
    to: f64,
}

impl LogScale {
    /// Creates an axis for these values, all of them positive, drawn between two coordinates.
    pub(crate) fn new(values: impl Iterator<Item = f64>, from: f64, to: f64) -> Self {
        let (low, high) = values.fold((f64::INFINITY, 0.0_f64), |(low, high), x| (low.min(x), high.max(x)));
        if low > high {
            return Self { low: 1.0, high: 10.0, from, to };
        }
        Self { low: low / MARGIN, high: high * MARGIN, from, to }
    }

    /// Returns the coordinate of a value.
    pub(crate) fn at(&self, value: f64) -> f64 {
        self.from + (value / self.low).ln() / (self.high / self.low).ln() * (self.to - self.from)
    }

    /// Returns round numbers along the axis.
    pub(crate) fn ticks(&self) -> Vec<f64> {
        let steps: &[f64] =
            if (self.high / self.low).log10() > DECADES_WITH_STEPS { &[1.0] } else { &[1.0, 2.0, 5.0] };
        let powers = self.low.log10().floor() as i32..=self.high.log10().ceil() as i32;
        powers
            .flat_map(|power| steps.iter().map(move |step| step * 10_f64.powi(power)))
            .filter(|tick| (self.low..=self.high).contains(tick))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_ratios_are_equally_far_apart() {
        let scale = LogScale::new([1.5, 600.0].into_iter(), 0.0, 300.0);
        let [one, ten, hundred] = [1.0, 10.0, 100.0].map(|x| scale.at(x));
        assert!((one - 0.0).abs() < 1e-9 && ((ten - one) - (hundred - ten)).abs() < 1e-9);
        assert_eq!(scale.ticks().len(), 3);
    }

    #[test]
    fn a_single_value_lies_in_the_middle() {
        let scale = LogScale::new([7.0].into_iter(), 100.0, 0.0);
        assert!((scale.at(7.0) - 50.0).abs() < 1e-9);
        assert!(!scale.ticks().is_empty());
    }
}
