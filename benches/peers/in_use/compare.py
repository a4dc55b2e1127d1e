"""hamdex compared with other ways to search fingerprints: Redis, FAISS and the index of PyPI's simhash.

    apt-get install redis-server
    pip install ../../../python numpy redis hiredis faiss-cpu simhash
    python compare.py --count 1000000

All store the same uniform fingerprints of 64 bits, and answer the same queries one by one: everything within 3 bits.
Half of the queries are near a stored fingerprint. Each contender runs in a separate process. Their answers are compared;
if one differs, the script exits with 1. Contenders that are not installed are reported and left out.
"""

import argparse
import json
import multiprocessing
import sys
import time
from typing import Any

import contenders
import numpy as np

SEED = 2007
DISTANCE = 3


def data(count: int, queries: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the stored fingerprints and the queries."""
    random = np.random.default_rng(SEED)
    stored = np.unique(random.integers(0, 2**64, count, dtype=np.uint64))
    queried = random.integers(0, 2**64, queries, dtype=np.uint64)
    planted = queried[::2]
    planted[:] = stored[random.integers(0, len(stored), len(planted))]
    for _ in range(DISTANCE):
        planted ^= np.uint64(1) << random.integers(0, 64, len(planted)).astype(np.uint64)
    return stored, queried


def measure(name: str, count: int, queries: int, rounds: int) -> dict[str, Any]:
    """Measure one contender in this process."""
    stored, queried = data(count, queries)
    started = time.perf_counter()
    with contenders.ALL[name](stored, DISTANCE) as contender:
        built = time.perf_counter() - started
        size = contender.bytes()
        keys = [int(query) for query in queried]
        seconds, answers = [], []
        for _ in range(rounds):
            started = time.perf_counter()
            answers = [contender.query(key) for key in keys]
            seconds.append(time.perf_counter() - started)
    return {
        "name": name,
        "build": built,
        "microseconds": min(seconds) / len(keys) * 1e6,
        "bytes": size / len(stored),
        "answers": [sorted(answer) for answer in answers],
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=1_000_000, help="how many fingerprints [1,000,000]")
    parser.add_argument("--queries", type=int, default=1000, help="how many queries [1,000]")
    parser.add_argument("--rounds", type=int, default=3, help="rounds, of which the best counts [3]")
    parser.add_argument("--only", action="append", choices=list(contenders.ALL), help="some contenders only")
    parser.add_argument("--json", action="store_true", help="print a JSON array")
    arguments = parser.parse_args()

    rows, right = [], None
    for name in arguments.only or contenders.ALL:
        missing = contenders.ALL[name].missing()
        if missing:
            print(f"{name} is left out: {missing}", file=sys.stderr)
            continue
        context = multiprocessing.get_context("spawn")
        with context.Pool(1) as pool:
            row = pool.apply(measure, (name, arguments.count, arguments.queries, arguments.rounds))
        answers = row.pop("answers")
        right = right or answers
        if answers != right:
            print(f"{name} gives other answers than {rows[0]['name']}", file=sys.stderr)
            return 1
        rows.append(row)

    if arguments.json:
        json.dump(rows, sys.stdout, indent=2)
        print()
        return 0
    print(f"{arguments.count:,} fingerprints, {arguments.queries:,} queries with {sum(map(len, right or [])):,} matches\n")
    print("| | µs per query | bytes per fingerprint | built in, s |\n|---|---|---|---|")
    for row in rows:
        print(f"| {row['name']} | {row['microseconds']:,.1f} | {row['bytes']:,.1f} | {row['build']:,.1f} |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
