"""The time from Ctrl-C to the end of work, with signals at random moments of each piece of work.

    python benchmarks/interrupts.py --rounds 30

Told are the median, the greatest time until KeyboardInterrupt is raised, and the phase of that one, in milliseconds.
"""

import argparse
import os
import random
import signal
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import corpus
import hamdex
import numpy as np

Work = Callable[[Callable[[str, int, int | None], object]], object]


def works(count: int, texts: int, directory: Path) -> dict[str, Work]:
    """Return the pieces of work by name."""
    random = np.random.default_rng(corpus.SEED)
    values = random.integers(0, 2**64, count, dtype=np.uint64)
    ids = np.arange(count, dtype=np.uint64)
    names = [f"https://example.org/{number}" for number in range(min(count, 2_000_000))]
    joined, _ = corpus.texts(texts)
    hamdex.build(directory / "stored", values[: count // 4], ids[: count // 4])
    stored = hamdex.Index(directory / "stored")
    new = directory / "new"
    works: dict[str, Work] = {
        "build": lambda report: hamdex.build(new, values, overwrite=True, progress=report),
        "build, ids": lambda report: hamdex.build(new, values, ids, overwrite=True, progress=report),
        "build, names": lambda report: hamdex.build(new, values[: len(names)], names, overwrite=True, progress=report),
        "build, 64 MiB": lambda report: hamdex.build(new, values, ids, overwrite=True, memory=64 << 20, progress=report),
        "pairs": lambda report: hamdex.pairs(values, k=3).count_by_distance(progress=report),
        "fingerprint": lambda report: hamdex.fingerprint(joined, progress=report),
        "dedup": lambda report: hamdex.dedup(joined, progress=report),
        "dedup, linked": lambda report: hamdex.dedup(joined, clusters="linked", progress=report),
        "dedup, k=3": lambda report: hamdex.dedup(joined, k=3, progress=report),
    }
    for strategy in ("auto", "probe", "scan"):
        works[f"batch, {strategy}"] = lambda report, strategy=strategy: stored.batch(  # type: ignore[misc]
            values[: count // 2], 3, strategy=strategy, progress=report
        )
    return works


def interrupted(work: Work, after: float) -> tuple[float, str] | None:
    """Return the time from the signal to the end of work, and its phase; ``None`` if the work ends before."""
    sent = threading.Event()
    at: list[float] = []
    phase = ["before the first phase"]

    def send() -> None:
        if not sent.wait(after):
            at.append(time.perf_counter())
            os.kill(os.getpid(), signal.SIGINT)

    def report(name: str, done: int, total: int | None) -> None:
        phase[0] = f"{name} {done}" if total is None else f"{name} {done} of {total}"

    thread = threading.Thread(target=send)
    thread.start()
    try:
        work(report)
        sent.set()
        thread.join()
    except KeyboardInterrupt:
        ended = time.perf_counter()
        thread.join()
        return ended - at[0], phase[0]
    return None


def main() -> None:
    """Interrupt each piece of work."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--fingerprints", type=int, default=20_000_000, help="how many [default: %(default)s]")
    parser.add_argument("--texts", type=int, default=100_000, help="how many [default: %(default)s]")
    parser.add_argument("--rounds", type=int, default=30, help="signals for each [default: %(default)s]")
    parser.add_argument("--only", action="append", help="this work alone; can be repeated")
    arguments = parser.parse_args()
    signal.signal(signal.SIGINT, signal.default_int_handler)
    chance = random.Random(corpus.SEED)
    print("| | takes, s | signals | median, ms | 90 % within, ms | greatest, ms | in |\n|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as directory:
        everything: dict[str, Any] = works(arguments.fingerprints, arguments.texts, Path(directory))
        for name, work in everything.items():
            if arguments.only and name not in arguments.only:
                continue
            start = time.perf_counter()
            work(lambda *_: None)
            whole = time.perf_counter() - start
            found: list[tuple[float, str]] = []
            while len(found) < arguments.rounds:
                try:
                    outcome = interrupted(work, chance.uniform(0, whole))
                except KeyboardInterrupt:
                    # It came after the work.
                    continue
                found += [outcome] if outcome else []
            found.sort()
            middle, most = found[len(found) // 2][0], found[len(found) * 9 // 10][0]
            slowest, phase = found[-1]
            figures = f"{middle * 1e3:.0f} | {most * 1e3:.0f} | {slowest * 1e3:.0f} | {phase}"
            print(f"| {name} | {whole:.2f} | {len(found)} | {figures} |", flush=True)


if __name__ == "__main__":
    main()
