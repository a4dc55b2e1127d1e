//! `GET /`: the page, one HTML file that loads nothing else.

use axum::http::{HeaderName, StatusCode, header};
use axum::response::{IntoResponse, Response};

const PAGE: &str = include_str!("page.html");

/// The page may load nothing but what the service answers, and no other page may show it.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; connect-src 'self'; \
                      img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// `GET /`
pub(crate) async fn get() -> Response {
    page(StatusCode::OK)
}

/// Returns the page, which asks for a token if requests need one.
pub(crate) fn page(status: StatusCode) -> Response {
    let headers: [(HeaderName, &str); 3] = [
        (header::CONTENT_TYPE, "text/html; charset=utf-8"),
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::CACHE_CONTROL, "no-cache"),
    ];
    (status, headers, PAGE).into_response()
}
