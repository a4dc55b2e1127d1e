//! The OpenAPI document.

use std::path::PathBuf;

use serde_json::Value;

use crate::common::Running;

fn path() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("openapi.json")
}

/// `HAMDEX_BLESS=1` writes the document anew.
#[test]
fn the_document_of_the_repository_is_that_of_the_service() {
    let directory = tempfile::tempdir().unwrap();
    let served = Running::of(directory.path()).client().get("/openapi.json");
    let text = String::from_utf8(served.body).unwrap();
    if std::env::var_os("HAMDEX_BLESS").is_some() {
        std::fs::write(path(), &text).unwrap();
    }
    assert!(text == std::fs::read_to_string(path()).unwrap(), "HAMDEX_BLESS=1 writes openapi.json anew");
}

#[test]
fn every_request_of_the_document_has_a_route() {
    let directory = tempfile::tempdir().unwrap();
    let running = Running::of(directory.path());
    let document: Value = serde_json::from_str(&hamdex_server::openapi()).unwrap();
    assert!(document["openapi"].as_str().unwrap().starts_with("3.1"));
    let paths = document["paths"].as_object().unwrap();
    assert!(paths.len() > 15);
    for (path, methods) in paths {
        for method in methods.as_object().unwrap().keys() {
            let path = path.replace("{set}", "none").replace("{job}", "0");
            let answer = running.client().send(
                &method.to_uppercase(),
                &path,
                &[("content-type", "application/json")],
                b"",
            );
            assert!(
                answer.status != 405 && (answer.status != 404 || answer.problem().1 != "not_found"),
                "{method} {path}: {answer:?}"
            );
        }
    }
}
