//! Load on `hamdex serve`, by connections of this process, and on Redis in the same run: the figures of BENCHMARKS.md.
//!
//!     cargo build --release -p hamdex-tools --features serve
//!     cargo run --release -p hamdex-server --example load -- target/release/hamdex [FINGERPRINTS] [SECONDS]
//!
//! It makes an index of uniform fingerprints and a store in a temporary directory, and prints for each kind of work the
//! requests, queries or records per second, the median and 99th percentile of their time, and the processor time that
//! the service takes for each. Texts have 300 words and are new; their store is synced every 100 ms. Redis, where it is installed, has a set per 16-bit part of the fingerprints.

mod peer;

use std::error::Error;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use hamdex::{BuildOptions, Builder, Codec, Design, Index};

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

/// Texts of 300 words without a pattern, as JSON strings.
fn texts(chance: &mut Chance, count: usize) -> Vec<String> {
    let text = |_| {
        let words: Vec<String> = (0..300).map(|_| format!("w{:05x}", chance.next() >> 44)).collect();
        format!("\"{}\"", words.join(" "))
    };
    (0..count).map(text).collect()
}

fn documents(chance: &mut Chance, count: usize) -> Vec<u8> {
    let names: Vec<u64> = (0..count).map(|_| chance.next()).collect();
    let record = |(text, name): (String, u64)| format!("{{\"id\":\"page {name}\",\"text\":{text}}}");
    let records: Vec<String> = texts(chance, count).into_iter().zip(names).map(record).collect();
    format!("{{\"records\":[{}],\"unless_similar\":0.7}}", records.join(",")).into_bytes()
}

fn questions(chance: &mut Chance, count: usize) -> Vec<u8> {
    format!("{{\"texts\":[{}],\"similar\":0.7}}", texts(chance, count).join(",")).into_bytes()
}

/// The times of all requests of some connections, shortest first, and how many failed.
struct Times {
    sorted: Vec<Duration>,
    errors: u64,
    seconds: f64,
}

impl Times {
    /// Calls `connect` for each of some connections on a thread of its own, and what it returns until the time is over.
    fn of<W: FnMut() -> Outcome<()>>(
        connections: u64,
        seconds: u64,
        connect: impl Fn(u64) -> Outcome<W> + Sync,
    ) -> Outcome<Self> {
        let started = Instant::now();
        let until = started + Duration::from_secs(seconds);
        let errors = AtomicU64::new(0);
        let times = thread::scope(|scope| {
            let threads: Vec<_> = (0..connections)
                .map(|number| {
                    let (connect, errors) = (&connect, &errors);
                    scope.spawn(move || -> Outcome<Vec<Duration>> {
                        let mut work = connect(number)?;
                        let mut times = Vec::new();
                        while Instant::now() < until {
                            let started = Instant::now();
                            match work() {
                                Ok(()) => times.push(started.elapsed()),
                                Err(_) => drop(errors.fetch_add(1, Ordering::Relaxed)),
                            }
                        }
                        Ok(times)
                    })
                })
                .collect();
            let ended =
                threads.into_iter().map(|thread| thread.join().map_err(|_| "a connection panicked")?);
            ended.collect::<Outcome<Vec<_>>>()
        })?;
        let mut sorted: Vec<Duration> = times.into_iter().flatten().collect();
        sorted.sort_unstable();
        let errors = errors.into_inner();
        Ok(Self { sorted, errors, seconds: started.elapsed().as_secs_f64() })
    }

    /// Returns the time in microseconds that this share of all requests does not exceed.
    fn at(&self, share: f64) -> f64 {
        let time = self.sorted.get((self.sorted.len() as f64 * share) as usize);
        time.map_or(0.0, |time| time.as_secs_f64() * 1e6)
    }

    /// Prints a row: `batch` items per request, and the processor time of the process that served them.
    fn print(&self, name: &str, batch: usize, processor: Duration) {
        let items = (self.sorted.len() * batch).max(1) as f64;
        println!(
            "{name:44} {:9.0} per second  p50 {:8.1} µs  p99 {:8.1} µs  processor {:7.1} µs each  {} errors",
            items / self.seconds,
            self.at(0.5),
            self.at(0.99),
            processor.as_secs_f64() * 1e6 / items,
            self.errors
        );
    }
}

/// Returns the processor time that a process has taken, in clock ticks of a hundredth of a second.
fn processor_time(process: u32) -> Duration {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    let fields: Vec<&str> = stat.rsplit(") ").next().unwrap_or_default().split(' ').collect();
    let ticks = |field: usize| fields.get(field).and_then(|ticks| ticks.parse::<u64>().ok()).unwrap_or(0);
    Duration::from_millis(10 * (ticks(11) + ticks(12)))
}

/// Prints the resident memory of a process; of a mapped file, the pages that were read are in it.
fn print_memory(name: &str, process: u32) {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let resident = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kibibytes =
        resident.and_then(|text| text.split_whitespace().next()?.parse::<u64>().ok()).unwrap_or(0);
    println!("{name:44} {} MiB of memory", kibibytes >> 10);
}

/// Does work on all connections for a time, and prints the times.
fn measure(service: &Service, work: &Work, seconds: u64) -> Outcome<Times> {
    let before = processor_time(service.process.id());
    let times = Times::of(work.connections, seconds, |number| {
        let mut connection = Connection::open(service.address)?;
        // Other numbers for every connection of every work.
        let mut chance = Chance(number << 32 ^ work.batch as u64 ^ work.path.len() as u64);
        Ok(move || {
            let body = (work.body)(&mut chance, work.batch);
            connection.send("POST", work.path, work.media, &body).map(drop)
        })
    })?;
    times.print(work.name, work.batch, processor_time(service.process.id()) - before);
    Ok(times)
}

fn build(path: &Path, count: u64) -> Outcome<()> {
    let options = BuildOptions::new().codec(Codec::EliasFano).design(Design::named("halves", 3)?);
    let mut builder = Builder::<u64>::with_options(path, options)?;
    let mut chance = Chance(1);
    (0..count).try_for_each(|_| builder.push(chance.next()))?;
    builder.finish()?;
    Ok(())
}

/// A running `hamdex serve`, which ends with this.
struct Service {
    process: Child,
    address: SocketAddr,
}

impl Service {
    fn start(hamdex: &str, data: &Path) -> Outcome<Self> {
        let mut process = Command::new(hamdex)
            .arg("serve")
            .arg("--data")
            .arg(data)
            .args(["--listen", "127.0.0.1:0", "--log-level", "error"])
            .stderr(Stdio::piped())
            .spawn()?;
        let mut line = String::new();
        BufReader::new(process.stderr.take().ok_or("it has a standard error")?).read_line(&mut line)?;
        let address = line.trim_end().rsplit_once("http://").ok_or("it says its address")?.1.parse()?;
        Ok(Self { process, address })
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        drop(self.process.kill());
        drop(self.process.wait());
    }
}

/// Prints how long queries take in this process, and answers to nothing.
fn measure_overhead(service: &Service, index: &Path, seconds: u64) -> Outcome<()> {
    let index = Index::<u64>::open(index)?;
    let alone = Times::of(1, seconds, |_| {
        let (mut searcher, mut chance) = (index.searcher(), Chance(7));
        Ok(move || {
            searcher.within(chance.next(), 3)?;
            Ok(())
        })
    })?;
    println!(
        "{:44} p50 {:.1} µs  p99 {:.1} µs",
        "single queries in this process",
        alone.at(0.5),
        alone.at(0.99)
    );
    let nothing = Times::of(1, seconds, |_| {
        let mut connection = Connection::open(service.address)?;
        Ok(move || connection.send("GET", "/healthz", JSON, b"").map(drop))
    })?;
    println!(
        "{:44} p50 {:.1} µs  p99 {:.1} µs",
        "GET /healthz, 1 connection",
        nothing.at(0.5),
        nothing.at(0.99)
    );
    Ok(())
}

/// Does work while other connections keep the service busy, and prints the times.
fn measure_beside(
    service: &Service,
    work: &Work,
    seconds: u64,
    other: impl Fn(&mut Connection, &mut Chance) -> Outcome<()> + Sync,
) -> Outcome<()> {
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        let beside = scope.spawn(|| -> Outcome<()> {
            let (mut connection, mut chance) = (Connection::open(service.address)?, Chance(99));
            while !is_over.load(Ordering::Relaxed) {
                other(&mut connection, &mut chance)?;
            }
            Ok(())
        });
        let measured = measure(service, work, seconds);
        is_over.store(true, Ordering::Relaxed);
        beside.join().map_err(|_| "the other connection panicked")??;
        measured.map(drop)
    })
}

fn main() -> Outcome<()> {
    let mut arguments = std::env::args().skip(1);
    let hamdex = arguments.next().unwrap_or_else(|| "target/release/hamdex".to_owned());
    let count: u64 = arguments.next().map_or(Ok(10_000_000), |text| text.parse())?;
    let seconds: u64 = arguments.next().map_or(Ok(5), |text| text.parse())?;
    let directory = tempfile::tempdir()?;
    let data = directory.path().join("sets");
    std::fs::create_dir(&data)?;
    build(&data.join("index"), count)?;
    let service = Service::start(&hamdex, &data)?;
    Connection::open(service.address)?.send("PUT", "/v1/sets/store", JSON, b"{}")?;
    println!("{count} uniform fingerprints, distance 3, elias-fano, halves; {seconds} seconds each");
    let (query, insert) = ("/v1/sets/index/query", "/v1/sets/store/insert");
    let of =
        |name, connections, batch, path, media, body| Work { name, connections, batch, path, media, body };
    let small =
        of("single queries, 64 connections", 64, 1, query, JSON, queries as fn(&mut Chance, usize) -> _);
    measure_overhead(&service, &data.join("index"), seconds)?;
    let all = [
        of("single queries, 1 connection", 1, 1, query, JSON, queries),
        of("batches of 1000, JSON", 4, 1000, query, JSON, queries),
        of("batches of 1000, binary", 4, 1000, query, BINARY, binary),
        of("durable inserts, 1 connection", 1, 1, insert, JSON, records),
        of("durable inserts, 64 connections", 64, 1, insert, JSON, records),
    ];
    measure(&service, &small, seconds)?;
    for work in &all {
        measure(&service, work, seconds)?;
    }
    print_memory("the service", service.process.id());
    let writing = Work { name: "single queries, 64, while writing", ..small };
    measure_beside(&service, &writing, seconds, |connection, chance| {
        for _ in 0..20 {
            connection.send("POST", insert, JSON, &records(chance, 1000))?;
        }
        connection.send("POST", "/v1/sets/store/compact", JSON, b"{}").map(drop)
    })?;
    let heavy = Work { name: "single queries, 64, beside distant ones", ..small };
    measure_beside(&service, &heavy, seconds, |connection, chance| {
        let body = format!("{{\"fingerprints\":[\"{:016x}\"],\"distance\":8}}", chance.next());
        connection.send("POST", query, JSON, body.as_bytes()).map(drop)
    })?;
    let stored = br#"{"shingles":true,"durability":"interval=100ms"}"#;
    Connection::open(service.address)?.send("PUT", "/v1/sets/texts", JSON, stored)?;
    for work in [
        of("texts unless similar, 8 connections", 8, 16, "/v1/sets/texts/insert", JSON, documents),
        of("similar texts, 8 connections", 8, 1, "/v1/sets/texts/query", JSON, questions),
        of("similar texts, 1 connection", 1, 1, "/v1/sets/texts/query", JSON, questions),
    ] {
        measure(&service, &work, seconds)?;
    }
    drop(service);
    peer::measure(directory.path(), count, seconds)
}
