"""The live store."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import hamdex
import numpy as np
import pyarrow as pa
import pytest
from conftest import clustered, near, uniform


def test_it_equals_a_set(tmp_path: Path) -> None:
    values = clustered(2000)
    with hamdex.Store(tmp_path / "s", durability="none", memory=1 << 14) as store:
        store.insert(values[:1500], np.arange(1500))
        store.insert(values[1500:], list(range(1500, 2000)))
        assert store.remove(values[:500], np.arange(500)) == 500
        left = values[500:]
        moment = store.snapshot()
        for query in (*values[:20], np.uint64(0)):
            found = store.query(query, k=5)
            assert [(m.distance, m.fingerprint) for m in found] == near(query, left, 5)
            for match in found:
                assert match.ids == [500 + int(place) for place in np.flatnonzero(left == np.uint64(match.fingerprint))]
            assert store.nearest(query, 3) == moment.nearest(query, 3)
            assert (store.first(query, k=5) is None) == (not found)
        table = pa.table(store.batch(values[:100], k=5))
        rows = list(zip(*(table[name].to_pylist() for name in ("query", "fingerprint", "distance", "id")), strict=True))
        assert rows == [
            (row, match.fingerprint, match.distance, id)
            for row, query in enumerate(values[:100])
            for match in store.query(query, k=5)
            for id in match.ids
        ]
        pairs = store.snapshot().pairs(k=4).read_all()
        assert len(pairs) == len(hamdex.pairs(left, k=4).read_all())
        store.compact()
        assert store.stats()["files"] == 1 and store.query(values[900], k=5) == moment.query(values[900], k=5)


def test_it_is_there_again(tmp_path: Path) -> None:
    with hamdex.Store(tmp_path / "s", distance=2) as store:
        store.insert(7, 1)
        assert "with ids" in repr(store)
    with hamdex.Store(tmp_path / "s") as store:
        assert (store.distance, store.width, store.has_ids) == (2, 64, True)
        assert store.query(7) == [(7, 0, [1], 1)] and 7 in store and 8 not in store
    assert store.closed
    with pytest.raises(ValueError, match="closed"):
        store.insert(1, 1)


def test_insert_unless_near(tmp_path: Path) -> None:
    store = hamdex.Store(tmp_path / "s")
    assert store.insert_unless_near(0b0, 1, k=1) is None
    assert store.insert_unless_near(0b1, 2, k=1) == hamdex.Match(0, 1, [1], 1)
    assert store.insert_unless_near([0b11, 0b111, 0b1], [3, 4, 5], k=1) == [None, (3, 1, [3], 1), (0, 1, [1], 1)]
    assert store.insert_unless_near(np.array([255], dtype=np.uint64), [9], k=1) == [None]


def test_without_ids_and_of_128_bits(tmp_path: Path) -> None:
    store = hamdex.Store(tmp_path / "s", ids=False, width=128)
    values = np.stack([uniform(10), uniform(10, 2)], axis=1)
    store.insert(values)
    assert len(store.batch(values, k=0)) == 10 and "id" not in store.batch(values)
    assert store.remove(values[:4]) == 4 and store.remove(values[:5]) == 1
    with pytest.raises(ValueError, match="no ids"):
        store.insert(values, list(range(10)))
    with pytest.raises(ValueError, match="expected fingerprints of 128 bits"):
        store.insert(uniform(3))


def test_ids_can_be_names(tmp_path: Path) -> None:
    with hamdex.Store(tmp_path / "s", names=True) as store:
        store.insert([1, 1, 255], ["a", "b", "c"])
        assert store.insert_unless_near(3, "d", k=1) == hamdex.Match(1, 1, ["a", "b"], 2)
        assert store.insert_unless_near([2**63], ["e"], k=1) == [None]
        assert store.batch([255, 2**63], k=0)["id"] == ["c", "e"]
        assert store.remove_names({"a", "c"}) == 2 and 255 not in store
        with pytest.raises(ValueError, match="remove_names"):
            store.remove(1, 0)
        assert store.remove(1) == 1
    store = hamdex.Store(tmp_path / "s")
    assert store.query(2**63, k=0) == [(2**63, 0, ["e"], 1)] and "with names" in repr(store)


def story(number: int) -> str:
    return " ".join(f"word{number}x{place}" for place in range(80))


def test_texts_go_in_and_are_asked_for(tmp_path: Path) -> None:
    recipe = "default min-features=3"
    with hamdex.Store(tmp_path / "s", names=True, recipe=recipe) as store:
        assert store.recipe is not None and "min-features=3" in store.recipe
        store.insert([story(0), story(1)], ["zero", "one"])
        store.insert(story(2), "two")
        copy = story(1).replace("x7 ", "y7 ")
        away = (hamdex.fingerprint(copy, recipe) ^ hamdex.fingerprint(story(1), recipe)).bit_count()
        near = store.insert_unless_near(copy, "copy", k=away)
        assert near is not None and near.ids == ["one"] and near.distance == away
        assert store.insert_unless_near([story(3), story(0)], ["three", "again"], k=0) == [
            None,
            (hamdex.fingerprint(story(0), recipe), 0, ["zero"], 1),
        ]
        assert [match.ids for match in store.query(story(2), k=0)] == [["two"]]
        assert story(3) in store and story(4) not in store and story(3) in store.snapshot()
        assert store.nearest(story(0))[0].ids == ["zero"]
        texts = [story(3), story(9), story(0)]
        for queries in (texts, pa.array(texts), pa.chunked_array([texts[:1], texts[1:]])):
            table = store.batch(queries, k=0)
            assert (table["query"].tolist(), table["id"]) == ([0, 2], ["three", "zero"])
        with pytest.raises(ValueError, match="the text at 1 is too short for a reliable fingerprint"):
            store.insert([story(5), "short"], ["five", "short"])
        assert story(5) not in store
        with pytest.raises(ValueError, match="the text is too short"):
            store.insert("short", "short")
        assert store.remove(story(2)) == 1 and story(2) not in store
        assert store.remove(pa.array([story(3), None, story(9), story(0)])) == 2 and store.remove([story(1)]) == 1
        with pytest.raises(ValueError, match="the text is too short"):
            store.remove("short")
    with hamdex.Store(tmp_path / "wide", recipe=recipe, width=128) as store:
        store.insert([story(1)], [7])
        assert store.query(story(1), k=0)[0].ids == [7]
        assert store.batch([story(1)], k=0)["id"].tolist() == [7]
        assert store.remove(story(1), 7) == 1
    with hamdex.Store(tmp_path / "bare") as store:
        assert store.recipe is None
        for use in (lambda: store.query(story(1)), lambda: store.insert(story(1), 1), lambda: store.batch([story(1)]), lambda: store.remove(story(1))):
            with pytest.raises(ValueError, match="make a store with recipe="):
                use()
    with hamdex.Store(tmp_path / "shingles", names=True, recipe=recipe, shingles=True) as store:
        store.insert(["short", story(1), "other", story(2)], ["short", "one", "other", "two"])
        assert store.remove("short") == 1 and store.remove([" ", story(1), None]) == 1 and store.remove("") == 0
        assert store.remove(hamdex.fingerprint(story(2), recipe)) == 1 and store.remove("other") == 1


@pytest.mark.parametrize("names", [False, True])
def test_upsert_replaces_by_id(tmp_path: Path, names: bool) -> None:
    chance = np.random.default_rng(3)
    values = clustered(600)
    expected: dict[Any, int] = {}
    with hamdex.Store(tmp_path / "s", names=names, lookups=True, durability="none", memory=1 << 14) as store:
        assert store.has_lookups
        for start in range(0, 600, 60):
            ids: Any = [f"n{id}" if names else int(id) for id in chance.integers(0, 200, 60)]
            replaced = sum(id in expected for id in set(ids))
            assert store.upsert(values[start : start + 60], ids) == replaced
            expected.update(zip(ids, values[start : start + 60].tolist(), strict=True))
        store.compact()
        for id, value in expected.items():
            assert store.fingerprints_of(id) == [value]
            assert id in store.query(value, 0)[0].ids
        gone = sorted(expected)[:30]
        assert (store.remove_names(set(gone)) if names else store.remove_ids(gone)) == 30
        assert store.fingerprints_of(gone[0]) == []
        assert store.upsert(7, gone[0]) == 0 and store.fingerprints_of(gone[0]) == [7]
    with hamdex.Store(tmp_path / "s") as store:
        assert store.has_lookups and store.fingerprints_of(gone[0]) == [7]
    with pytest.raises(ValueError, match="lookups"):
        hamdex.Store(tmp_path / "s", lookups=False)


def test_a_page_that_is_crawled_again_is_not_near_to_itself(tmp_path: Path) -> None:
    with hamdex.Store(tmp_path / "s", names=True, lookups=True) as store:
        store.insert([0b0001, 0xFF00000], ["a", "b"])
        outcomes = store.insert_unless_near([0b0011, 0b0111], ["a", "c"], k=2, replace=True)
        assert outcomes == [None, (0b0011, 1, ["a"], 1)]
        assert store.fingerprints_of("a") == [0b0011] and store.fingerprints_of("c") == []
        assert store.insert_unless_near(0b0001, "a", k=2, replace=True) is None
        assert store.insert_unless_near(0xFF00001, "a", k=2, replace=True) == (0xFF00000, 1, ["b"], 1)
        assert store.fingerprints_of("a") == [0b0001]
    with hamdex.Store(tmp_path / "plain") as store, pytest.raises(ValueError, match="lookups=True"):
        store.insert_unless_near(1, 1, replace=True)


def test_upsert_needs_lookups_and_ids(tmp_path: Path) -> None:
    with hamdex.Store(tmp_path / "plain") as store, pytest.raises(ValueError, match="lookups=True"):
        store.upsert(1, 1)
    with hamdex.Store(tmp_path / "plain") as store:
        store.insert([1, 3], [7, 7])
        assert store.fingerprints_of(7) == [1, 3] and store.remove_ids([7, 8]) == 2
    with pytest.raises(ValueError, match="lookups=True needs ids"):
        hamdex.Store(tmp_path / "none", ids=False, lookups=True)
    with pytest.raises(ValueError, match="by id"):
        hamdex.build(tmp_path / "none.hamdex", [1], lookups=True)
    hamdex.build(tmp_path / "ids.hamdex", [1, 3], ids=[7, 8], lookups=True)
    words = " ".join(f"w{number}" for number in range(30))
    options = {"names": True, "recipe": "default", "shingles": True, "lookups": True}
    with hamdex.Store(tmp_path / "texts", **options) as store:  # type: ignore[arg-type]
        assert store.upsert([words, "another text of a few words"], ["a", "b"]) == 0
        with pytest.raises(ValueError, match="blank"):
            store.upsert(["x y z", " "], ["a", "b"])
        assert store.upsert("other words", "a") == 1
        assert store.insert_unless_similar(words, "c") is None
        with pytest.raises(ValueError, match="names"):
            store.remove_ids([1])


def test_snapshots_see_no_later_writes(tmp_path: Path) -> None:
    store = hamdex.Store(tmp_path / "s")
    store.insert([1, 2], [1, 2])
    snapshot = store.snapshot()
    store.insert(3, 3)
    assert store.remove(1) == 1
    assert 1 in snapshot and 3 not in snapshot and 1 not in store and 3 in store


def test_what_is_refused(tmp_path: Path) -> None:
    store = hamdex.Store(tmp_path / "s")
    with pytest.raises(hamdex.StoreError, match="in use"):
        hamdex.Store(tmp_path / "s")
    store.close()
    with pytest.raises(ValueError, match="created with width=64, not 128"):
        hamdex.Store(tmp_path / "s", width=128)
    with pytest.raises(ValueError, match="durability"):
        hamdex.Store(tmp_path / "s", durability="maybe")
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "file").touch()
    with pytest.raises(hamdex.FormatError, match="not a store"):
        hamdex.Store(tmp_path / "other")
    assert os.listdir(tmp_path / "other") == ["file"]
    store = hamdex.Store(tmp_path / "s")
    with pytest.raises(ValueError, match="give one for each"):
        store.insert([1, 2])
    with pytest.raises(ValueError, match="2 fingerprints but 1 ids"):
        store.insert([1, 2], [1])
    with pytest.raises(ValueError, match="negative"):
        store.insert(1, -1)


FORKED = """
import os, sys, hamdex
store = hamdex.Store(sys.argv[1])
store.insert(1, 1)
child = os.fork()
if child == 0:
    try:
        store.insert(2, 2)
    except hamdex.StoreError as error:
        assert "after a fork" in str(error)
        store.close()
        sys.exit(7)
    sys.exit(0)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
store.insert(3, 3)
assert [match.fingerprint for match in store.query(1, k=64)] == [1, 3]
"""


def test_a_store_keeps_to_its_filters(tmp_path: Path) -> None:
    def segment_bytes(name: str, **options: object) -> int:
        with hamdex.Store(tmp_path / name, durability="none", merges=False, ids=False, **options) as store:  # type: ignore[arg-type]
            store.insert(uniform(20_000))
            store.flush()
        return sum(path.stat().st_size for path in (tmp_path / name / "segments").iterdir())

    none = segment_bytes("none", design="halves", filter="none")
    assert none + 20_000 * 2 * 2 * 0.98 < segment_bytes("sixteen", design="halves", filter=16)
    with pytest.raises(ValueError, match="created with filter=16, not none"):
        hamdex.Store(tmp_path / "sixteen", filter="none")
    hamdex.Store(tmp_path / "sixteen", filter=16).close()


def test_a_forked_process_is_told_to_open_it_again(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-c", FORKED, str(tmp_path / "s")], check=True, timeout=60)


def test_closing_waits_for_merges(tmp_path: Path) -> None:
    values = uniform(60_000)
    with hamdex.Store(tmp_path / "s", durability="none", memory=1 << 16) as store:
        for start in range(0, len(values), 5000):
            store.insert(values[start : start + 5000], np.arange(start, start + 5000))
    # No handle holds it, and nothing is on its way.
    with hamdex.Store(tmp_path / "s") as store:
        assert [match.ids for match in store.query(values[-1], k=0)] == [[len(values) - 1]]
        store.close()
        store.close()
        with pytest.raises(ValueError, match="closed"):
            store.compact()


FULL = """
import errno, resource, sys, hamdex
store = hamdex.Store(sys.argv[1])
store.insert(1, 1)
resource.setrlimit(resource.RLIMIT_FSIZE, (4096, resource.RLIM_INFINITY))
for _ in range(2):
    try:
        store.insert(list(range(1000)), list(range(1000)))
    except OSError as error:
        assert error.errno == errno.EFBIG and "log" in str(error.filename), repr(error)
    else:
        sys.exit("it was written")
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
store.insert(2, 2)
assert [match.fingerprint for match in store.query(1, k=64)] == [1, 2]
"""


def test_what_the_system_refuses_is_an_os_error(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-c", FULL, str(tmp_path / "s")], check=True, timeout=60)


def test_an_open_store_keeps_no_files_that_are_merged(tmp_path: Path) -> None:
    path = tmp_path / "s"

    def segments() -> int:
        return len(list((path / "segments").iterdir()))

    with hamdex.Store(path, durability="none") as store:
        store.insert(uniform(500), np.arange(500))
        store.flush()
    with hamdex.Store(path, durability="none") as store:
        for start in (1000, 2000):
            store.insert(uniform(500) ^ np.uint64(start), np.arange(500))
            store.flush()
        before = segments()
        store.compact()
        assert before > 1 and segments() == 1
