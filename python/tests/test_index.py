"""Building and querying, against brute force."""

import gc
import pickle
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Literal

import hamdex
import numpy as np
import pytest
from conftest import Build, Words, bit_counts, clustered, near, uniform, wide


@pytest.mark.parametrize("values", [uniform(3000), clustered(3000)], ids=["uniform", "clustered"])
@pytest.mark.parametrize("codec", ["huffman", "elias-fano"])
def test_queries_equal_brute_force(build: Build, values: Words, codec: str) -> None:
    index = build(values, codec=codec)
    assert len(index) == len(np.unique(values))
    for query in [*values[:20], *uniform(10, 7), np.uint64(0), np.uint64(2**64 - 1)]:
        for k in (0, 1, 3, 6):
            found = index.query(query, k=k)
            assert [(m.distance, m.fingerprint) for m in found] == near(query, values, k)
            assert all(m.ids == [] for m in found)
            first = index.first(query, k=k)
            assert (first is not None) == bool(found) and (first is None or first in found)
        nearest = index.nearest(query, 5)
        assert [(m.distance, m.fingerprint) for m in nearest] == near(query, values, 64)[:5]
        assert index.query(query, k=6, limit=2) == index.query(query, k=6)[:2]


def test_a_batch_has_the_rows_of_its_queries(build: Build) -> None:
    values = clustered(4000)
    ids = np.arange(len(values), dtype=np.uint64) % np.uint64(1000)
    index = build(values, ids)
    queries = np.concatenate([values[:300], uniform(50, 3)])
    strategies: list[Literal["auto", "probe", "scan"]] = ["auto", "probe", "scan"]
    for strategy in strategies:
        table = index.batch(queries, k=4, strategy=strategy)
        assert table.column_names == ["query", "fingerprint", "distance", "id", "ids_count"]
        rows = list(zip(*(table[name].tolist() for name in table.column_names), strict=True))
        expected = [
            (row, match.fingerprint, match.distance, id, match.ids_count)
            for row, query in enumerate(queries)
            for match in index.query(query, k=4)
            for id in match.ids
        ]
        assert rows == expected and len(rows) == len(table)
    assert len(index.batch(np.array([], dtype=np.uint64))) == 0


def test_ids_are_all_of_a_fingerprint(build: Build) -> None:
    index = build([5, 7, 5, 5], ids=[30, 10, 20, 30])
    assert [match.ids for match in index.query(5, k=1)] == [[20, 30], [10]]
    assert index.has_ids and 5 in index and 6 not in index


def test_names_come_back_as_texts(build: Build) -> None:
    index = build([5, 7, 5], ids=["a", "b", "größer"])
    assert [match.ids for match in index.query(5, k=1)] == [["a", "größer"], ["b"]]
    assert index.batch([7], k=0)["id"] == ["b"]
    assert index.first(7, k=0) == (7, 0, ["b"], 1)


def test_fingerprints_of_128_bits(build: Build) -> None:
    values = wide(2000)
    index = build(values, np.arange(2000))
    numbers = [int(high) << 64 | int(low) for high, low in values]
    assert (index.width, len(index)) == (128, len(set(numbers)))
    for place in range(20):
        expected = sorted(
            ((number ^ numbers[place]).bit_count(), number)
            for number in set(numbers)
            if (number ^ numbers[place]).bit_count() <= 5
        )
        for query in (values[place], numbers[place]):
            assert [(m.distance, m.fingerprint) for m in index.query(query, k=5)] == expected
    table = index.batch(values[:50], k=0)
    assert table["fingerprint"].shape == (len(table), 2)
    assert (table["fingerprint"] == values[table["query"]]).all()


def test_all_pairs_equal_brute_force(build: Build) -> None:
    values = clustered(1500)
    distinct = np.unique(values)
    expected = {
        (int(left), int(right))
        for place, left in enumerate(distinct)
        for right in distinct[place + 1 :][bit_counts(distinct[place + 1 :] ^ left) <= 4]
    }
    index = build(values)
    for pairs in (index.pairs(k=4), hamdex.pairs(values, k=4)):
        table = pairs.read_all()
        found = list(zip(table["left"].tolist(), table["right"].tolist(), strict=True))
        assert len(found) == len(set(found)) and set(found) == expected
        assert (bit_counts(table["left"] ^ table["right"]) == table["distance"]).all()
        assert sum(len(part) for part in pairs) == len(expected)
        assert pairs.count_by_distance().tolist() == np.bincount(table["distance"], minlength=5).tolist()


def test_a_stream_that_is_left_ends(build: Build) -> None:
    # Half a million numbers in a row have hundreds of millions of pairs.
    pairs = hamdex.pairs(np.arange(500_000, dtype=np.uint64), k=3)
    before = threading.active_count()
    stream = iter(pairs)
    assert len(next(stream)) > 0
    del stream
    gc.collect()
    assert threading.active_count() == before


def test_metadata_and_recipe_travel_along(build: Build) -> None:
    texts = [f"the story of the number {number} and of all that came of it, told by {number * 7}" for number in range(50)]
    fingerprints = hamdex.fingerprint(texts, recipe="default min-features=1")
    index = build(fingerprints, recipe="default min-features=1", metadata={"source": "news", "raw": b"\x00\xff"})
    assert index.metadata["source"] == b"news" and index.metadata["raw"] == b"\x00\xff"
    assert index.recipe is not None and "min-features=1" in index.recipe
    assert index.query(texts[3], k=0)[0].fingerprint == int(fingerprints[3])
    assert index.batch(texts[:5], k=0)["fingerprint"].tolist() == fingerprints[:5].tolist()
    with pytest.raises(ValueError, match="the text at 1 has no fingerprint"):
        index.batch([texts[0], ""])
    assert index.distance == 3 and index.design in repr(index) and index.codec == "huffman"


def test_filters_change_the_size_and_no_answer(tmp_path: Path) -> None:
    values = uniform(20_000)

    def built(**options: object) -> tuple[int, list[list[hamdex.Match]]]:
        path = tmp_path / "x.hamdex"
        size = hamdex.build(path, values, design="halves", overwrite=True, **options).bytes  # type: ignore[arg-type]
        answers = []
        for map_keys in (False, True):
            with hamdex.Index(path, map_keys=map_keys) as index:
                answers.append([index.query(query ^ np.uint64(5 << 30), k=3) for query in values[:200]])
        assert answers[0] == answers[1]
        return size, answers[0]

    none, auto, twelve = built(filter="none"), built(filter="auto"), built(filter=12)
    assert auto == built() and twelve == built(filter=np.int64(12)) == built(filter="12")
    assert none[0] + 2 * 20_000 * 11 // 8 * 0.99 < auto[0] < twelve[0]
    assert none[1] == auto[1] == twelve[1] and all(none[1])

    def merged(**options: object) -> int:
        return hamdex.merge([tmp_path / "x.hamdex"], tmp_path / "y.hamdex", overwrite=True, **options).bytes  # type: ignore[arg-type]

    assert (merged(filter="none"), merged(), merged(filter=12)) == (none[0], auto[0], twelve[0])


def test_the_same_input_gives_the_same_bytes(tmp_path: Path) -> None:
    values = clustered(5000)
    hamdex.build(tmp_path / "a", values, threads=1)
    hamdex.build(tmp_path / "b", values[::-1], threads=2)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_indexes_are_merged(tmp_path: Path) -> None:
    values = clustered(3000)
    for name, part in (("a", values[:2000]), ("b", values[1000:])):
        hamdex.build(tmp_path / name, part, metadata={"kind": "test"})
    summary = hamdex.merge([tmp_path / "a", hamdex.Index(tmp_path / "b")], tmp_path / "c")
    assert summary.fingerprints == len(np.unique(values))
    merged = hamdex.Index(tmp_path / "c")
    assert merged.metadata == {"kind": b"test"} and len(merged) == summary.fingerprints
    assert [(m.distance, m.fingerprint) for m in merged.query(values[5], k=4)] == near(values[5], values, 4)


def test_an_index_travels_by_pickle(build: Build) -> None:
    index = build(clustered(1000))
    copy = pickle.loads(pickle.dumps(index))
    assert copy.file_id == index.file_id and copy.query(0, k=8) == index.query(0, k=8)
    pickled = pickle.dumps(index)
    build(uniform(10))
    with pytest.raises(hamdex.Error, match="not the file that was pickled"):
        pickle.loads(pickled)


def test_threads_share_an_index(build: Build) -> None:
    values = clustered(3000)
    index = build(values)
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda query: index.query(query, k=5), values[:400]))
    assert answers == [index.query(query, k=5) for query in values[:400]]


FORKED = """
import os, sys, hamdex, numpy
index = hamdex.Index(sys.argv[1])
queries = numpy.arange(5000, dtype="uint64")
expected = len(index.batch(queries, k=5))
hamdex.fingerprint(["some text"] * 100)
child = os.fork()
if child == 0:
    same = len(index.batch(queries, k=5)) == expected and len(hamdex.fingerprint(["some text"] * 100)) == 100
    os._exit(0 if same else 1)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


def test_a_forked_process_goes_on_with_an_open_index(build: Build) -> None:
    index = build(clustered(3000))
    subprocess.run([sys.executable, "-c", FORKED, str(index.path)], check=True, timeout=60)


def test_a_closed_index_says_so(build: Build) -> None:
    with build([1, 2, 3]) as index:
        assert not index.closed
    assert index.closed and "closed" in repr(index)
    for use in (lambda: index.query(1), lambda: len(index), lambda: index.batch([1]), lambda: pickle.dumps(index)):
        with pytest.raises(ValueError, match="closed"):
            use()


def test_verify_reads_all_of_it(build: Build) -> None:
    index = build(uniform(20_000), design="halves")
    verified = index.verify()
    assert verified.bytes == index.path.stat().st_size
    assert (verified.fingerprints, verified.ids, verified.tables) == (20_000, 0, 2)
