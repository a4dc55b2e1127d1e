//! Clients that send too slowly, too much, too deep, or something else: they get a problem or are cut off, change
//! nothing, and others are served.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use hamdex_server::{Options, Size, Time};
use serde_json::json;

use crate::common::{Chance, Running, hex, options};

fn with_store(options: Options) -> (tempfile::TempDir, Running) {
    let directory = tempfile::tempdir().unwrap();
    let running = Running::start(Options { data: Some(directory.path().to_owned()), ..options });
    running.client().put("/v1/sets/s", &json!({})).ok();
    (directory, running)
}

fn head(length: usize) -> String {
    format!(
        "POST /v1/sets/s/insert HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n"
    )
}

#[test]
fn a_head_has_at_most_64_kib() {
    let (_directory, running) = with_store(options());
    let client = running.client();
    // What the client sends by itself is left out of the count.
    let of = |bytes: usize| {
        let start = "GET /v1/sets HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\nx-long: ";
        running.raw(format!("{start}{}\r\n\r\n", "a".repeat(bytes - start.len() - 4)).as_bytes())
    };
    for fits in [1000, 1 << 15, 1 << 16] {
        assert!(of(fits).starts_with("HTTP/1.1 200 "), "{fits}");
    }
    for beyond in [(1 << 16) + 1, 100_000] {
        let answer = of(beyond);
        assert!(answer.starts_with("HTTP/1.1 431 "), "{beyond}: {answer}");
        assert!(answer.contains("head_too_large") || answer.contains("content-length: 0"), "{answer}");
    }
    assert!(!of(10 << 20).starts_with("HTTP/1.1 200 "));
    client.get("/v1/sets").ok();
}

#[test]
fn malformed_requests_are_refused_and_change_nothing() {
    let (_directory, running) = with_store(options());
    let post = |body: &[u8]| {
        let mut request = head(body.len()).into_bytes();
        request.extend_from_slice(body);
        running.raw(&request)
    };
    let deep = "[".repeat(1 << 20);
    let deep_objects = "{\"records\":".repeat(1 << 16);
    let bodies: [&[u8]; 12] = [
        b"",
        b"{",
        b"nonsense",
        b"\xff\xfe",
        b"{\"records\":[{\"fingerprint\":\"\xff\"}]}",
        b"{\"records\":[{\"fingerprint\":\"\\ud800\"}]}",
        b"{\"records\":[]}x",
        b"{\"records\":1e999}",
        b"{\"records\":[],\"records\":[]}",
        b"null",
        deep.as_bytes(),
        deep_objects.as_bytes(),
    ];
    for body in bodies {
        let answer = post(body);
        let status = answer.get(9..12).unwrap_or_default();
        let shown = String::from_utf8_lossy(&body[..body.len().min(40)]).into_owned();
        assert!(matches!(status, "400" | "422"), "{shown}: {answer}");
        assert!(answer.contains("application/problem+json"), "{shown}: {answer}");
    }
    // Cut off, with a wrong length, or no HTTP at all.
    let record = "{\"records\":[{\"fingerprint\":\"00000000000000ff\",\"id\":1}]}";
    for request in
        [format!("{}{record}", head(record.len() + 1)), format!("{}{}", head(record.len()), &record[..20])]
    {
        assert!(!running.cut_off(request.as_bytes()).contains("200 OK"));
    }
    let wrong = [
        head(1 << 40),
        head(9).replace("content-length: 9", "content-length: x"),
        head(9).replace("content-length: 9", "content-length: 9\r\ncontent-length: 8"),
        head(9).replace("content-length: 9", "transfer-encoding: chunked\r\ncontent-length: 9") + "zz\r\n",
        "\0\0\0\0\r\n\r\n".to_owned(),
        "GET / HTTP/9.9\r\n\r\n".to_owned(),
        // The beginning of a handshake of TLS.
        "\x16\x03\x01\x02\x00\x01\x00\x01\x7c\x03\x03".to_owned(),
        format!("GET / HTTP/1.1\r\nhost: localhost\r\n{}\r\n", "x: y\r\n".repeat(1000)),
        format!("GET /{} HTTP/1.1\r\nhost: localhost\r\n\r\n", "a".repeat(1 << 20)),
    ];
    for request in wrong {
        let answer = running.raw(request.as_bytes());
        let status = answer.get(9..10).unwrap_or("4");
        assert_eq!(status, "4", "{}: {answer}", &request[..request.len().min(60)]);
    }
    assert_eq!(running.client().get("/v1/sets/s/entries").rows().len(), 0);
}

#[test]
fn slow_senders_are_cut_off_while_others_are_served() {
    let (_directory, running) =
        with_store(Options { timeout: Some(Time(Duration::from_secs(2))), ..options() });
    let starts = ["", "GET /healthz HT", "GET /healthz HTTP/1.1\r\nhost: localhost\r\nx: "];
    let mut slow: Vec<TcpStream> = Vec::new();
    for start in starts.map(str::to_owned).into_iter().chain([head(1000), format!("{}{{", head(1000))]) {
        let mut stream = TcpStream::connect(running.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        stream.write_all(start.as_bytes()).unwrap();
        slow.push(stream);
    }
    let client = running.client();
    for _ in 0..20 {
        assert_eq!(
            client.post("/v1/sets/s/query", &json!({ "fingerprints": ["00000000000000ff"] })).status,
            200
        );
    }
    for mut stream in slow {
        let mut answer = Vec::new();
        // It ends, with or without an answer: the connection is not kept.
        let _ = stream.read_to_end(&mut answer);
        let answer = String::from_utf8_lossy(&answer);
        assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 408 "), "{answer}");
    }
}

/// Reads one answer of a connection that stays open; `None` if there is none.
fn next_answer(stream: &mut TcpStream) -> Option<String> {
    let mut answer = Vec::new();
    let end = loop {
        if let Some(end) = answer.windows(4).position(|four| four == b"\r\n\r\n") {
            break end + 4;
        }
        let mut byte = [0];
        if stream.read(&mut byte).ok()? == 0 {
            return None;
        }
        answer.push(byte[0]);
    };
    let text = String::from_utf8(answer).unwrap();
    let length = text.split("content-length: ").nth(1).unwrap().split("\r\n").next().unwrap();
    let mut body = vec![0; length.parse().unwrap()];
    stream.read_exact(&mut body).ok()?;
    assert_eq!(text.len(), end);
    Some(text + &String::from_utf8(body).unwrap())
}

#[test]
fn a_connection_stays_open_after_an_early_answer_or_says_that_it_does_not() {
    let (_directory, running) = with_store(Options { max_body: Some(Size(1 << 20)), ..options() });
    let head = |path: &str, more: &str| {
        format!("POST {path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n{more}\r\n\r\n")
    };
    let length = |bytes: usize| format!("content-length: {bytes}");
    let connect = || {
        let stream = TcpStream::connect(running.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        stream
    };
    let paths = [
        ("/v1/sets/nope/query", "404"),
        ("/v1/nothing", "404"),
        ("/healthz", "405"),
        ("/v1/sets/s/query?x=1", "400"),
    ];
    for (path, status) in paths {
        // One connection for bodies of all lengths, in one piece and in chunks.
        let mut stream = connect();
        for bytes in [1, 1000, 32 << 10, 100_000, 1 << 20] {
            let body = "a".repeat(bytes);
            let chunked = format!("{bytes:x}\r\n{body}\r\n0\r\n\r\n");
            for (header, body) in
                [(length(bytes), &body), ("transfer-encoding: chunked".to_owned(), &chunked)]
            {
                stream.write_all(head(path, &header).as_bytes()).unwrap();
                stream.write_all(body.as_bytes()).unwrap();
                let answer = next_answer(&mut stream).unwrap_or_else(|| panic!("{path} {header}"));
                assert_eq!(&answer[9..12], status, "{path} {header}: {answer}");
                assert!(!answer.contains("connection: close"), "{path} {header}: {answer}");
            }
        }
        stream.write_all(b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n").unwrap();
        assert!(next_answer(&mut stream).unwrap().starts_with("HTTP/1.1 200 "), "{path}");
    }
    // The rest does not come, is too long, or would come after a word alone.
    let path = "/v1/sets/nope/query";
    for header in
        [length(100_000), length((1 << 20) + 1), format!("expect: 100-continue\r\n{}", length(100_000))]
    {
        let mut stream = connect();
        stream.write_all(head(path, &header).as_bytes()).unwrap();
        let answer = next_answer(&mut stream).unwrap();
        assert!(
            answer.starts_with("HTTP/1.1 404 ") && answer.contains("connection: close"),
            "{header}: {answer}"
        );
        assert_eq!(stream.read(&mut [0]).unwrap_or(0), 0, "{header}: it is closed");
    }
}

#[test]
fn a_client_that_does_not_read_holds_nothing_for_long() {
    let timeout = Some(Time(Duration::from_millis(500)));
    let (_directory, running) = with_store(Options { timeout, threads: Some(1), ..options() });
    let client = running.client();
    let mut chance = Chance(3);
    for _ in 0..5 {
        let records: Vec<_> =
            (0..20_000).map(|_| json!({ "fingerprint": hex(chance.next()), "id": 1 })).collect();
        client.post("/v1/sets/s/insert", &json!({ "records": records })).ok();
    }
    // More of them than there are places for streams.
    let request = "GET /v1/sets/s/entries HTTP/1.1\r\nhost: localhost\r\n\r\n";
    let readers: Vec<TcpStream> = (0..8)
        .map(|_| {
            let mut stream = TcpStream::connect(running.address).unwrap();
            stream.write_all(request.as_bytes()).unwrap();
            stream
        })
        .collect();
    // Meanwhile, small queries are answered, and in the end streams again.
    assert_eq!(client.post("/v1/sets/s/query", &json!({ "fingerprints": ["00000000000000ff"] })).status, 200);
    loop {
        let answer = client.try_send("GET", "/v1/sets/s/entries?limit=1", &[], b"");
        if answer.is_some_and(|answer| answer.status == 200) {
            break;
        }
    }
    drop(readers);
}

#[test]
fn lists_are_not_kept_beyond_the_limit() {
    let (_directory, running) = with_store(Options { max_batch: Some(10), ..options() });
    let client = running.client();
    for (path, list, item) in
        [("insert", "records", "{}"), ("remove", "ids", "1"), ("query", "fingerprints", "\"\"")]
    {
        let body = format!("{{\"{list}\":[{}{item}]}}", format!("{item},").repeat(500_000));
        let headers = [("content-type", "application/json")];
        let refused = client.send("POST", &format!("/v1/sets/s/{path}"), &headers, body.as_bytes());
        assert_eq!(refused.problem(), (422, "too_many_records".to_owned()), "{path}");
        assert!(refused.json()["detail"].as_str().unwrap().contains("500001 records"), "{refused:?}");
    }
}

#[test]
fn streams_beyond_the_queue_are_refused_and_small_queries_answered() {
    let (_directory, running) = with_store(Options { threads: Some(1), ..options() });
    let client = running.client();
    // More pairs than the buffers of any socket hold.
    let flipped = (0..64_u64).flat_map(|one| (0..one).map(move |two| 1 << one | 1 << two));
    let records: Vec<_> = flipped.map(|f: u64| json!({ "fingerprint": hex(f), "id": 1 })).collect();
    client.post("/v1/sets/s/insert", &json!({ "records": records })).ok();
    let request = "GET /v1/sets/s/pairs?distance=4 HTTP/1.1\r\nhost: localhost\r\n\r\n";
    let readers: Vec<TcpStream> = (0..120)
        .map(|_| {
            let mut stream = TcpStream::connect(running.address).unwrap();
            stream.write_all(request.as_bytes()).unwrap();
            stream
        })
        .collect();
    let refused = loop {
        let metrics = String::from_utf8(client.get("/metrics").body).unwrap();
        if metrics.contains("hamdex_waiting{for=\"streams\"} 64") {
            break client.get("/v1/sets/s/pairs");
        }
    };
    assert_eq!(refused.problem(), (429, "too_many_requests".to_owned()));
    assert_eq!(client.post("/v1/sets/s/query", &json!({ "fingerprints": ["00000000000000ff"] })).status, 200);
    // Their going away ends their streams.
    drop(readers);
    while client.get("/v1/sets/s/entries?limit=1").status != 200 {}
}

#[test]
fn connections_beyond_the_limit_are_refused_and_those_within_it_served() {
    let (_directory, running) = with_store(Options { max_connections: Some(8), ..options() });
    let client = running.client();
    assert_eq!(client.get("/healthz").status, 200);
    let idle: Vec<TcpStream> = (0..20).map(|_| TcpStream::connect(running.address).unwrap()).collect();
    let mut refused = 0;
    for mut stream in idle {
        stream.set_read_timeout(Some(Duration::from_millis(200))).unwrap();
        let mut answer = String::new();
        let _ = stream.read_to_string(&mut answer);
        if answer.starts_with("HTTP/1.1 503 ") {
            let (_, body) = answer.split_once("\r\n\r\n").unwrap();
            let body: serde_json::Value = serde_json::from_str(body).unwrap();
            assert_eq!(body["code"], "too_many_connections");
            assert!(answer.contains("content-length: ") && answer.contains("retry-after: "));
            let length = answer.split("content-length: ").nth(1).unwrap().split("\r\n").next().unwrap();
            assert_eq!(length.parse::<usize>().unwrap(), answer.split_once("\r\n\r\n").unwrap().1.len());
            refused += 1;
        }
        assert_eq!(client.get("/healthz").status, 200);
    }
    assert!(refused > 0);
}
