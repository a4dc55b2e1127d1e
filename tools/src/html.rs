//! Pages of HTML that load nothing else.

/// The styles of every page; colours follow the reader's choice of a light or a dark page.
const STYLE: &str = "\
:root { color-scheme: light dark; --text: #222; --ground: #fff; --grid: #ccc; }
@media (prefers-color-scheme: dark) { :root { --text: #ddd; --ground: #181818; --grid: #444; } }
body {
  font: 16px/1.5 system-ui, sans-serif; color: var(--text); background: var(--ground);
  max-width: 60em; margin: 2em auto; padding: 0 1em; overflow-wrap: anywhere;
}
h1 { font-size: 1.6em; line-height: 1.2; }
";

/// Returns the start of a page, up to its body, with further styles.
pub(crate) fn start(title: &str, style: &str) -> String {
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>{}</title>\n<style>\n{STYLE}{style}</style>\n</head>\n<body>\n",
        escape(title)
    )
}

/// The end of a page.
pub(crate) const END: &str = "</body>\n</html>\n";

/// Returns the text as HTML or SVG, also for attributes.
pub(crate) fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
