//! The log on a real disk: pairs appended, appended and synced, and replayed.
//!
//! `cargo bench -p hamdex-store --bench log`

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use hamdex_store::Operation;
use hamdex_store::disk::{Disk, RealDisk};
use hamdex_store::inspect::{Identity, StoreId};
use hamdex_store::internals::log::{LogWriter, Position, replay};

const PAIRS: u64 = 1_000_000;
const IDENTITY: Identity =
    Identity { store: StoreId([0x5a; 16]), width: 64, has_ids: true, has_names: false, has_shingles: false };

/// Pairs per batch.
const BATCHES: [u64; 3] = [1, 100, 1_000];

fn new_store() -> (tempfile::TempDir, RealDisk) {
    let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a directory");
    let disk = RealDisk::new(directory.path());
    disk.create_directory("log").expect("a directory");
    (directory, disk)
}

fn writer(disk: &RealDisk) -> LogWriter<u64> {
    LogWriter::create(disk, IDENTITY, 1, 0).expect("a new log")
}

/// Random pairs.
fn batch(sequence: u64, length: u64) -> Vec<Operation<u64>> {
    let first = sequence * length;
    (first..first + length).map(|id| Operation::Insert(id.wrapping_mul(0x9e37_79b9_7f4a_7c15), id)).collect()
}

fn appends(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("log/append");
    for length in BATCHES {
        group.throughput(Throughput::Elements(length));
        for is_synced in [false, true] {
            let (_directory, disk) = new_store();
            let mut log = writer(&disk);
            let mut sequence = 0;
            let name = if is_synced { "synced" } else { "written" };
            group.bench_function(format!("{length}/{name}"), |bencher| {
                bencher.iter(|| {
                    sequence += 1;
                    log.push(sequence, &batch(sequence, length));
                    if is_synced { log.sync() } else { log.write() }.expect("there is room");
                });
            });
        }
    }
}

fn replays(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("log/replay");
    group.sample_size(20).throughput(Throughput::Elements(PAIRS));
    for length in BATCHES {
        let (_directory, disk) = new_store();
        let mut log = writer(&disk);
        for sequence in 1..=PAIRS / length {
            log.push(sequence, &batch(sequence, length));
            if sequence % 1_000 == 0 {
                log.write().expect("there is room");
            }
        }
        log.sync().expect("there is room");
        group.bench_function(length.to_string(), |bencher| {
            bencher.iter(|| {
                let mut sum = 0;
                let start = Position::start_of(1, 0);
                let replayed = replay::<u64>(&disk, &IDENTITY, start, None, |_, batch| {
                    sum += batch.operations.iter().map(|operation| operation.pair().1).sum::<u64>();
                    Ok(())
                });
                assert_eq!(replayed.expect("it is whole").operations, PAIRS);
                black_box(sum)
            });
        });
    }
}

criterion_group!(all, appends, replays);
criterion_main!(all);
