//! Load on a service of this process, by connections of this process: the figures of BENCHMARKS.md.
//!
//!     cargo run --release -p hamdex-server --example load -- [FINGERPRINTS] [SECONDS]
//!
//! It makes an index of uniform fingerprints and a store in a temporary directory, and prints for each kind of work the
//! requests, queries or records per second, and the median and 99th percentile of their time.

use std::error::Error;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use hamdex::{BuildOptions, Builder, Codec, Design};
use hamdex_server::{Options, Server, never};

type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

/// Numbers by chance: SplitMix64.
struct Chance(u64);

impl Chance {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }
}

/// A connection that is kept.
struct Connection(BufReader<TcpStream>);

impl Connection {
    fn open(address: SocketAddr) -> Outcome<Self> {
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        Ok(Self(BufReader::new(stream)))
    }

    /// Sends a request, and returns the body of the answer.
    fn send(&mut self, method: &str, path: &str, media: &str, body: &[u8]) -> Outcome<Vec<u8>> {
        let length = body.len();
        let mut request = format!(
            "{method} {path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: {media}\r\ncontent-length: {length}\r\n\r\n"
        )
        .into_bytes();
        request.extend_from_slice(body);
        self.0.get_mut().write_all(&request)?;
        let (mut line, mut length, mut status) = (String::new(), 0, String::new());
        loop {
            line.clear();
            self.0.read_line(&mut line)?;
            if status.is_empty() {
                status.clone_from(&line);
            }
            match line.split_once(": ") {
                Some(("content-length", value)) => length = value.trim().parse()?,
                Some(_) => {}
                None if line == "\r\n" => break,
                None => {}
            }
        }
        let mut body = vec![0; length];
        self.0.read_exact(&mut body)?;
        if status.contains(" 20") {
            Ok(body)
        } else {
            Err(format!("{status}{}", String::from_utf8_lossy(&body)).into())
        }
    }
}

/// One kind of work.
struct Work {
    name: &'static str,
    connections: u64,
    /// Queries or records per request.
    batch: usize,
    path: &'static str,
    media: &'static str,
    body: fn(&mut Chance, usize) -> Vec<u8>,
}

const JSON: &str = "application/json";
const BINARY: &str = "application/octet-stream";

fn queries(chance: &mut Chance, count: usize) -> Vec<u8> {
    let texts: Vec<String> = (0..count).map(|_| format!("\"{:016x}\"", chance.next())).collect();
    format!("{{\"fingerprints\":[{}],\"distance\":3}}", texts.join(",")).into_bytes()
}

fn binary(chance: &mut Chance, count: usize) -> Vec<u8> {
    (0..count).flat_map(|_| chance.next().to_le_bytes()).collect()
}

fn records(chance: &mut Chance, count: usize) -> Vec<u8> {
    let record = |_| format!("{{\"fingerprint\":\"{:016x}\",\"id\":1}}", chance.next());
    let records: Vec<String> = (0..count).map(record).collect();
    format!("{{\"records\":[{}]}}", records.join(",")).into_bytes()
}

/// Does work on all connections for a time, and prints what came of it.
fn measure(address: SocketAddr, work: &Work, seconds: u64) -> Outcome<()> {
    let until = Instant::now() + Duration::from_secs(seconds);
    let errors = Arc::new(AtomicU64::new(0));
    let threads: Vec<_> = (0..work.connections)
        .map(|number| {
            let errors = Arc::clone(&errors);
            let Work { batch, path, media, body, .. } = *work;
            thread::spawn(move || -> Outcome<Vec<Duration>> {
                let mut connection = Connection::open(address)?;
                // Other numbers for every connection of every work.
                let mut chance = Chance(number << 32 ^ batch as u64 ^ path.len() as u64);
                let mut times = Vec::new();
                while Instant::now() < until {
                    let body = body(&mut chance, batch);
                    let started = Instant::now();
                    match connection.send("POST", path, media, &body) {
                        Ok(_) => times.push(started.elapsed()),
                        Err(_) => drop(errors.fetch_add(1, Ordering::Relaxed)),
                    }
                }
                Ok(times)
            })
        })
        .collect();
    let mut times = Vec::new();
    for thread in threads {
        times.extend(thread.join().map_err(|_| "a connection panicked")??);
    }
    times.sort_unstable();
    let at = |share: f64| times.get((times.len() as f64 * share) as usize).map_or(0, Duration::as_micros);
    println!(
        "{:44} {:9.0} per second  p50 {:7} µs  p99 {:7} µs  {} errors",
        work.name,
        (times.len() * work.batch) as f64 / seconds as f64,
        at(0.5),
        at(0.99),
        errors.load(Ordering::Relaxed)
    );
    Ok(())
}

fn build(path: &Path, count: u64) -> Outcome<()> {
    let options = BuildOptions::new().codec(Codec::EliasFano).design(Design::named("halves", 3)?);
    let mut builder = Builder::<u64>::with_options(path, options)?;
    let mut chance = Chance(1);
    (0..count).try_for_each(|_| builder.push(chance.next()))?;
    builder.finish()?;
    Ok(())
}

/// Serves a directory until the process ends.
fn serve(data: &Path) -> Outcome<SocketAddr> {
    let options =
        Options { data: Some(data.to_owned()), listen: Some("127.0.0.1:0".to_owned()), ..Options::default() };
    let config = options.check()?;
    let (started, address) = mpsc::channel();
    thread::spawn(move || -> Outcome<()> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .max_blocking_threads(4096)
            .enable_all()
            .build()?;
        runtime.block_on(async {
            let server = Server::bind(&config).await?;
            started.send(server.address())?;
            Ok(server.serve(std::future::pending(), never).await?)
        })
    });
    Ok(address.recv()?)
}

fn main() -> Outcome<()> {
    let mut arguments = std::env::args().skip(1);
    let count: u64 = arguments.next().map_or(Ok(10_000_000), |text| text.parse())?;
    let seconds: u64 = arguments.next().map_or(Ok(5), |text| text.parse())?;
    let directory = tempfile::tempdir()?;
    build(&directory.path().join("index"), count)?;
    let address = serve(directory.path())?;
    Connection::open(address)?.send("PUT", "/v1/sets/store", JSON, b"{}")?;
    println!("{count} uniform fingerprints, distance 3, elias-fano, halves; {seconds} seconds each");
    let query = "/v1/sets/index/query";
    let insert = "/v1/sets/store/insert";
    let all = [
        Work {
            name: "single queries, 1 connection",
            connections: 1,
            batch: 1,
            path: query,
            media: JSON,
            body: queries,
        },
        Work {
            name: "single queries, 64 connections",
            connections: 64,
            batch: 1,
            path: query,
            media: JSON,
            body: queries,
        },
        Work {
            name: "batches of 1000, JSON",
            connections: 4,
            batch: 1000,
            path: query,
            media: JSON,
            body: queries,
        },
        Work {
            name: "batches of 1000, binary",
            connections: 4,
            batch: 1000,
            path: query,
            media: BINARY,
            body: binary,
        },
        Work {
            name: "durable inserts, 1 connection",
            connections: 1,
            batch: 1,
            path: insert,
            media: JSON,
            body: records,
        },
        Work {
            name: "durable inserts, 64 connections",
            connections: 64,
            batch: 1,
            path: insert,
            media: JSON,
            body: records,
        },
    ];
    for work in &all {
        measure(address, work, seconds)?;
    }
    // The same while another connection writes and compacts.
    let is_over = Arc::new(AtomicU64::new(0));
    let writer = {
        let is_over = Arc::clone(&is_over);
        thread::spawn(move || -> Outcome<()> {
            let (mut connection, mut chance) = (Connection::open(address)?, Chance(99));
            while is_over.load(Ordering::Relaxed) == 0 {
                for _ in 0..20 {
                    connection.send("POST", insert, JSON, &records(&mut chance, 1000))?;
                }
                connection.send("POST", "/v1/sets/store/compact", JSON, b"{}")?;
            }
            Ok(())
        })
    };
    measure(address, &Work { name: "single queries, 64, while writing", ..all[1] }, seconds)?;
    is_over.store(1, Ordering::Relaxed);
    writer.join().map_err(|_| "the writer panicked")?
}
