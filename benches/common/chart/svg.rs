//! A self-contained SVG picture.

use std::fmt::Write;

/// Starts a picture. Its ground is drawn: pictures are also looked at on dark pages.
pub(crate) fn start(title: &str, width: f64, height: f64) -> String {
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" \
         height=\"{height}\" font-family=\"system-ui, sans-serif\" font-size=\"12\" fill=\"#222\">\n\
         <title>{}</title>\n\
         <rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n",
        escaped(title)
    )
}

/// Ends a picture.
pub(crate) fn finish(mut svg: String) -> String {
    svg.push_str("</svg>\n");
    svg
}

/// Draws a line.
pub(crate) fn line(svg: &mut String, from: (f64, f64), to: (f64, f64), style: &str) {
    let ((x1, y1), (x2, y2)) = (from, to);
    writeln!(svg, "<line x1=\"{x1:.1}\" y1=\"{y1:.1}\" x2=\"{x2:.1}\" y2=\"{y2:.1}\" {style}/>")
        .expect("a String takes all");
}

/// Writes a text.
pub(crate) fn text(svg: &mut String, (x, y): (f64, f64), anchor: &str, style: &str, content: &str) {
    writeln!(
        svg,
        "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\" {style}>{}</text>",
        escaped(content)
    )
    .expect("a String takes all");
}

/// Writes the caption of a vertical axis, from bottom to top.
pub(crate) fn vertical_text(svg: &mut String, (x, y): (f64, f64), content: &str) {
    text(svg, (x, y), "middle", &format!("transform=\"rotate(-90 {x} {y})\""), content);
}

/// Starts a group that is moved by this much.
pub(crate) fn start_group(svg: &mut String, right: f64, down: f64) {
    writeln!(svg, "<g transform=\"translate({right} {down})\">").expect("a String takes all");
}

/// Ends a group.
pub(crate) fn end_group(svg: &mut String) {
    svg.push_str("</g>\n");
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
