//! Text inside HTML.

/// The text as it stands in HTML, in an attribute too.
pub(super) fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
