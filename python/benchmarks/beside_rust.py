"""The package compared with the same work in Rust, in turns: build, batch and fingerprint.

    cargo build --release --manifest-path benchmarks/rust/Cargo.toml
    python benchmarks/beside_rust.py --fingerprints 20000000 --texts 200000

Prints the medians of wall time and processor time, which is more reliable on a busy machine, and the overhead of the
package. Each turn is a separate process, after a turn that is not counted and leaves it the same memory. Both must give
the same results.
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import corpus
import hamdex
import numpy as np

PROGRAM = Path(__file__).parent / "rust" / "target" / "release" / "hamdex-beside-python"
TICKS = 100


def processor() -> float:
    """Return the processor time of all threads of this process in seconds, as the Rust program measures it."""
    fields = Path("/proc/self/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def here(work: str, files: list[str], threads: int) -> None:
    """Do one piece of work in this process; print its result, wall time and processor time."""
    task: Callable[[], int]
    if work == "build":
        values = np.fromfile(files[0], dtype=np.uint64)
        ids = np.arange(len(values), dtype=np.uint64)
        task = lambda: hamdex.build(files[1], values, ids, overwrite=True, threads=threads).fingerprints  # noqa: E731
    elif work == "batch":
        index, queries = hamdex.Index(files[0]), np.fromfile(files[1], dtype=np.uint64)
        task = lambda: len(index.batch(queries, 3, threads=threads))  # noqa: E731
    else:
        texts = Path(files[0]).read_text().splitlines()
        task = lambda: int(np.bitwise_xor.reduce(hamdex.fingerprint(texts, threads=threads)))  # noqa: E731
    start, used = time.perf_counter(), processor()
    result = task()
    print(result, time.perf_counter() - start, processor() - used)


def turn(command: list[str]) -> tuple[int, float, float]:
    """Run one turn."""
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    result, seconds, used = done.stdout.split()
    return int(result), float(seconds), float(used)


def compare(work: str, files: list[str], threads: int, program: Path, rounds: int) -> None:
    """Print a row."""
    rust = [str(program), work, *files, str(threads)]
    python = [sys.executable, __file__, "--here", json.dumps([work, files, threads])]
    turns: dict[str, list[tuple[int, float, float]]] = {"rust": [], "python": []}
    for _ in range(rounds):
        for side, command in (("rust", rust), ("python", python)):
            # The first turn is not counted: its time depends on the memory that the other side has released.
            turn(command)
            turns[side].append(turn(command))
    results = {one[0] for side in turns.values() for one in side}
    if len(results) != 1:
        sys.exit(f"{work}: the two give different results: {results}")
    median = {
        side: [statistics.median(one[place] for one in found) for place in (1, 2)] for side, found in turns.items()
    }
    more = [f"{(median['python'][place] / median['rust'][place] - 1) * 100:+.1f} %" for place in (0, 1)]
    cells = [f"{median[side][place]:.2f}" for place in (0, 1) for side in ("rust", "python")]
    print(f"| {work} | {cells[0]} | {cells[1]} | {more[0]} | {cells[2]} | {cells[3]} | {more[1]} |", flush=True)


def main() -> None:
    """Run all work in turns."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--fingerprints", type=int, default=20_000_000, help="how many [default: %(default)s]")
    parser.add_argument("--texts", type=int, default=200_000, help="how many [default: %(default)s]")
    parser.add_argument("--threads", type=int, default=2, help="of both [default: %(default)s]")
    parser.add_argument("--rounds", type=int, default=5, help="turns of each that count [default: %(default)s]")
    parser.add_argument("--program", type=Path, default=PROGRAM, help="the one in Rust [default: %(default)s]")
    parser.add_argument("--here", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.here:
        here(*json.loads(options.here))
        return
    random = np.random.default_rng(corpus.SEED)
    print("| | Rust, s | Python, s | | processor: Rust, s | Python, s | |\n|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as directory:
        values, queries, texts, index = (str(Path(directory, name)) for name in ("values", "queries", "texts", "index"))
        stored = random.integers(0, 2**64, options.fingerprints, dtype=np.uint64)
        stored.tofile(values)
        # Half of the queries are near something.
        queried = stored[random.integers(0, len(stored), max(1, len(stored) // 4))]
        queried ^= np.uint64(1) << random.integers(0, 64, len(queried)).astype(np.uint64)
        queried[::2] = random.integers(0, 2**64, len(queried[::2]), dtype=np.uint64)
        queried.tofile(queries)
        Path(texts).write_text("\n".join(corpus.texts(options.texts)[0]))
        compare("build", [values, index], options.threads, options.program, options.rounds)
        compare("batch", [index, queries], options.threads, options.program, options.rounds)
        compare("fingerprint", [texts], options.threads, options.program, options.rounds)


if __name__ == "__main__":
    main()
