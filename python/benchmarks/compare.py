"""hamdex compared with datasketch (MinHashLSH), simhash (SimhashIndex) and FAISS (multi-hash), on the same data.

    pip install datasketch faiss-cpu simhash
    python benchmarks/compare.py --fingerprints 1000000 --texts 20000

Packages that are not installed are reported and left out. Every row has its recall, compared with brute force; rows of
texts also the share of wrong pairs. Times are the minimum of several rounds, in seconds.
"""

import argparse
import tempfile
import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal

import corpus
import hamdex
import numpy as np

SEED = corpus.SEED


def least(rounds: int, work: Callable[[], Any]) -> tuple[float, Any]:
    """Return the minimum time of some rounds, and the result of the last."""
    times, result = [], None
    for _ in range(rounds):
        start = time.perf_counter()
        result = work()
        times.append(time.perf_counter() - start)
    return min(times), result


def row(name: str, build: float, query: float, queries: int, recall: float) -> None:
    print(f"| {name} | {build:.3f} | {query:.4f} | {queries / query:,.0f} | {recall:.4f} |")


def header(title: str) -> None:
    print(f"\n{title}\n\n| | build, s | queries, s | queries per second | recall |\n|---|---|---|---|---|")


def fingerprints(count: int, k: int, rounds: int) -> None:
    """Measure queries of fingerprints within k bits."""
    random = np.random.default_rng(SEED)
    stored = random.integers(0, 2**64, count, dtype=np.uint64)
    queries = stored[random.integers(0, count, 2000)].copy()
    for _ in range(k):
        queries ^= np.uint64(1) << random.integers(0, 64, len(queries)).astype(np.uint64)
    sample = queries[:200]
    truth = {(row, int(x)) for row, query in enumerate(sample) for x in stored[np.bitwise_count(stored ^ query) <= k]}

    def recall(found: set[tuple[int, int]]) -> float:
        return len({pair for pair in found if pair[0] < len(sample)} & truth) / len(truth)

    header(f"{count:,} fingerprints of 64 bits, {len(queries):,} queries within {k} bits")
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "x.hamdex"
        codec: Literal["huffman", "elias-fano"]
        for codec in ("huffman", "elias-fano"):
            built, _ = least(1, lambda: hamdex.build(path, stored, codec=codec, distance=k, overwrite=True))
            index = hamdex.Index(path)
            asked, table = least(rounds, lambda: index.batch(queries, k=k))
            found = set(zip(table["query"].tolist(), table["fingerprint"].tolist(), strict=True))
            row(f"hamdex.batch, {codec}", built, asked, len(queries), recall(found))
            asked, answers = least(rounds, lambda: [index.query(int(query), k=k) for query in queries])
            found = {(place, match.fingerprint) for place, matches in enumerate(answers) for match in matches}
            row(f"hamdex.query, {codec}", built, asked, len(queries), recall(found))
    if find_spec("faiss") is None:
        print("| FAISS | not installed | | | |")
    else:
        import faiss

        binary = stored.view(np.uint8).reshape(-1, 8)
        # As many hashes as the distance has parts and one: exact. A hash of fewer bits than 64 / (k + 1) loses nothing.
        hashes = faiss.IndexBinaryMultiHash(64, k + 1, min(16, 64 // (k + 1)))
        for name, peer, given in (
            ("IndexBinaryMultiHash", hashes, queries),
            ("IndexBinaryFlat", faiss.IndexBinaryFlat(64), sample),
        ):
            built, _ = least(1, lambda: peer.add(binary))
            asked, answer = least(rounds, lambda: peer.range_search(given.view(np.uint8).reshape(-1, 8), k + 1))
            limits, _, places = answer
            found = {
                (place, int(stored[hit]))
                for place in range(len(given))
                for hit in places[limits[place] : limits[place + 1]]
            }
            row(f"FAISS {name}", built, asked, len(given), recall(found))
    if find_spec("simhash") is None:
        print("| simhash | not installed | | | |")
    elif count > 200_000:
        print("| simhash | left out above 200,000 | | | |")
    else:
        from simhash import Simhash, SimhashIndex

        objects = [(str(place), Simhash(int(value))) for place, value in enumerate(stored)]
        built, buckets = least(1, lambda: SimhashIndex(objects, k=k))
        asks = [Simhash(int(query)) for query in queries]
        asked, answers = least(rounds, lambda: [buckets.get_near_dups(ask) for ask in asks])
        found = {(place, int(stored[int(hit)])) for place, hits in enumerate(answers) for hit in hits}
        row("simhash SimhashIndex", built, asked, len(queries), recall(found))


def texts(count: int, rounds: int) -> None:
    """Measure near-duplicates among texts: pairs that share at least 0.7 of their shingles."""
    joined, similar = corpus.texts(count)
    print(f"\n{len(joined):,} texts of {corpus.LENGTH} words, of which {len(similar):,} are similar to an earlier one\n")
    print("| | s | recall | wrong |\n|---|---|---|---|")

    def show(name: str, taken: float, found: set[tuple[int, int]]) -> None:
        recall, wrong = corpus.shares(found, similar)
        print(f"| {name} | {taken:.3f} | {recall:.4f} | {wrong:.4f} |")

    taken, _ = least(rounds, lambda: hamdex.fingerprint(joined))
    print(f"| hamdex.fingerprint | {taken:.3f} | | |")
    for name, k in (("hamdex.dedup", None), ("hamdex.dedup, k=3", 3)):
        taken, table = least(rounds, lambda: hamdex.dedup(joined, k=k))
        show(name, taken, corpus.pairs_of(*(table[column].tolist() for column in ("id", "cluster", "kept"))))
    if find_spec("datasketch") is None:
        print("| datasketch | not installed | | |")
        return
    from datasketch import MinHash, MinHashLSH

    def lsh() -> set[tuple[int, int]]:
        index = MinHashLSH(threshold=corpus.SIMILARITY, num_perm=128)
        pairs = set()
        for place, text in enumerate(joined):
            sketch = MinHash(num_perm=128)
            sketch.update_batch([shingle.encode() for shingle in corpus.shingles(text.split())])
            pairs |= {(int(str(other)), place) for other in index.query(sketch)}
            index.insert(str(place), sketch)
        return pairs

    show("datasketch MinHashLSH, 128 permutations", *least(1, lsh))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--fingerprints", type=int, default=1_000_000, help="how many are stored [default: %(default)s]")
    parser.add_argument("--texts", type=int, default=20_000, help="how many texts [default: %(default)s]")
    parser.add_argument(
        "--distance", type=int, nargs="+", default=[3], help="within how many bits; several in turn [default: 3]"
    )
    parser.add_argument("--rounds", type=int, default=3, help="rounds; the minimum is reported [default: %(default)s]")
    arguments = parser.parse_args()
    for distance in arguments.distance:
        fingerprints(arguments.fingerprints, distance, arguments.rounds)
    texts(arguments.texts, arguments.rounds)


if __name__ == "__main__":
    main()
