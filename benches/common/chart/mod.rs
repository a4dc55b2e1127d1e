//! Charts as SVG, for the benches that are programs.
//!
//! - [`svg`]: a picture, and its lines and texts
//! - [`log_scale`]: a logarithmic axis

pub(crate) mod log_scale;
pub(crate) mod svg;

/// Colours that the colour-blind can tell apart (Okabe and Ito, 2008), dark enough on white.
pub(crate) const COLOURS: [&str; 6] = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00"];
