//! The same work on Redis: a set per 16-bit part of the fingerprints, of which the client compares all members.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use crate::{Chance, Outcome, Times, print_memory, processor_time};

const PARTS: u64 = 4;

/// A running Redis, which ends with this.
struct Redis {
    process: Child,
    port: u16,
}

impl Drop for Redis {
    fn drop(&mut self) {
        drop(self.process.kill());
        drop(self.process.wait());
    }
}

impl Redis {
    /// Starts a server; `None` if there is none on this machine.
    fn start(directory: &Path, is_durable: bool) -> Outcome<Option<Self>> {
        let port = std::net::TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
        let durable = if is_durable { "yes" } else { "no" };
        let started = Command::new("redis-server")
            .args(["--port", &port.to_string(), "--save", "", "--appendonly", durable])
            .args(["--appendfsync", "always", "--dir"])
            .arg(directory)
            .stdout(Stdio::null())
            .spawn();
        let Ok(process) = started else { return Ok(None) };
        let redis = Self { process, port };
        while redis.connect().is_err() {
            thread::sleep(Duration::from_millis(20));
        }
        Ok(Some(redis))
    }

    fn connect(&self) -> Outcome<Client> {
        let stream = TcpStream::connect(("127.0.0.1", self.port))?;
        stream.set_nodelay(true)?;
        Ok(Client { stream: BufReader::with_capacity(1 << 16, stream), text: Vec::new() })
    }

    fn processor_time(&self) -> Duration {
        processor_time(self.process.id())
    }
}

/// A connection that sends commands together, and then reads their answers.
struct Client {
    stream: BufReader<TcpStream>,
    text: Vec<u8>,
}

impl Client {
    fn add(&mut self, parts: &[&str]) {
        self.text.extend_from_slice(format!("*{}\r\n", parts.len()).as_bytes());
        for part in parts {
            self.text.extend_from_slice(format!("${}\r\n{part}\r\n", part.len()).as_bytes());
        }
    }

    fn send(&mut self) -> Outcome<()> {
        self.stream.get_mut().write_all(&self.text)?;
        self.text.clear();
        Ok(())
    }

    /// Reads an answer, and calls `member` with each number in it.
    fn answer(&mut self, member: &mut dyn FnMut(u64)) -> Outcome<()> {
        let mut line = String::new();
        self.stream.read_line(&mut line)?;
        let (kind, rest) = line.trim_end().split_at_checked(1).ok_or("an answer")?;
        match kind {
            "*" => (0..rest.parse::<u64>()?).try_for_each(|_| self.answer(member)),
            "$" => {
                let mut text = vec![0; rest.parse::<usize>()? + 2];
                self.stream.read_exact(&mut text)?;
                member(std::str::from_utf8(&text)?.trim_end().parse::<i64>()? as u64);
                Ok(())
            }
            "-" => Err(line.into()),
            _ => Ok(()),
        }
    }
}

fn bits_of(fingerprint: u64, part: u64) -> u64 {
    fingerprint >> (16 * part) & 0xffff
}

/// The key of a part. Members are signed: small sets of such numbers take 8 bytes for each.
fn key(fingerprint: u64, part: u64) -> String {
    format!("{part}:{:x}", bits_of(fingerprint, part))
}

/// Adds all fingerprints, those of a key together.
fn fill(client: &mut Client, count: u64) -> Outcome<()> {
    let mut chance = Chance(1);
    let mut all: Vec<u64> = (0..count).map(|_| chance.next()).collect();
    for part in 0..PARTS {
        all.sort_unstable_by_key(|fingerprint| bits_of(*fingerprint, part));
        let mut sent = 0;
        for of_key in all.chunk_by(|one, other| bits_of(*one, part) == bits_of(*other, part)) {
            let key = key(of_key[0], part);
            let members: Vec<String> = of_key.iter().map(|member| member.cast_signed().to_string()).collect();
            let command: Vec<&str> =
                ["SADD", &key].into_iter().chain(members.iter().map(|text| &**text)).collect();
            client.add(&command);
            sent += 1;
            if sent == 64 {
                client.send()?;
                (0..std::mem::take(&mut sent)).try_for_each(|_| client.answer(&mut drop))?;
            }
        }
        client.send()?;
        (0..sent).try_for_each(|_| client.answer(&mut drop))?;
    }
    Ok(())
}

/// Finds what is within 3 bits: two such fingerprints have at least one of four parts in common.
fn query(client: &mut Client, fingerprint: u64) -> Outcome<usize> {
    for part in 0..PARTS {
        client.add(&["SMEMBERS", &key(fingerprint, part)]);
    }
    client.send()?;
    let mut found = Vec::new();
    for _ in 0..PARTS {
        client.answer(&mut |member| {
            if (member ^ fingerprint).count_ones() <= 3 {
                found.push(member);
            }
        })?;
    }
    found.sort_unstable();
    found.dedup();
    Ok(found.len())
}

/// Measures Redis, if it is installed.
pub(crate) fn measure(directory: &Path, count: u64, seconds: u64) -> Outcome<()> {
    let Some(redis) = Redis::start(directory, false)? else {
        println!("there is no redis-server: no peer is measured");
        return Ok(());
    };
    fill(&mut redis.connect()?, count)?;
    // Its records are found.
    assert!(query(&mut redis.connect()?, Chance(1).next() ^ 0b111)? > 0);
    for connections in [1, 64] {
        let before = redis.processor_time();
        let times = Times::of(connections, seconds, |number| {
            let (mut client, mut chance) = (redis.connect()?, Chance(number << 32));
            Ok(move || query(&mut client, chance.next()).map(drop))
        })?;
        let name = format!("Redis: single queries, {connections} connections");
        times.print(&name, 1, redis.processor_time() - before);
    }
    print_memory("Redis", redis.process.id());
    drop(redis);
    let Some(redis) = Redis::start(directory, true)? else { return Ok(()) };
    for connections in [1, 64] {
        let before = redis.processor_time();
        let times = Times::of(connections, seconds, |number| {
            let (mut client, mut chance) = (redis.connect()?, Chance(number << 32));
            Ok(move || {
                let fingerprint = chance.next();
                let member = fingerprint.cast_signed().to_string();
                (0..PARTS).for_each(|part| client.add(&["SADD", &key(fingerprint, part), &member]));
                client.send()?;
                (0..PARTS).try_for_each(|_| client.answer(&mut drop))
            })
        })?;
        let name = format!("Redis: durable inserts, {connections} connections");
        times.print(&name, 1, redis.processor_time() - before);
    }
    Ok(())
}
