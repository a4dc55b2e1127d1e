//! Escapes text for HTML and SVG.

/// Returns the text as HTML or SVG, also for attributes.
pub(crate) fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
