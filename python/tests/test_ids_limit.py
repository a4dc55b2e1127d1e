"""Matches with more ids than an answer has."""

import resource
from pathlib import Path

import hamdex
import numpy as np
import pytest
from conftest import Build

CROWD = 0x0123456789ABCDEF


def check(found: hamdex.Set | hamdex.Store, labels: list[int] | list[str]) -> None:
    """Ask every question about a fingerprint with these ids."""
    for limit, most in [(1, 1), (10, 10), (24, 24), (25, 25), (26, 25), (None, 25)]:
        expected = hamdex.Match(CROWD, 0, labels[:most], 25)
        assert found.query(CROWD, 0, ids_limit=limit) == [expected]
        assert found.nearest(CROWD, ids_limit=limit) == [expected]
        assert found.first(CROWD, 0, ids_limit=limit) == expected
        table = found.batch([CROWD], 0, ids_limit=limit)
        assert list(table["id"]) == labels[:most] and set(table["ids_count"].tolist()) == {25}
    assert found.query(CROWD, 0) == [(CROWD, 0, labels[:10], 25)]
    assert list(found.batch([CROWD], 0)["id"]) == labels[:10]
    assert found.query(CROWD, 0, ids_limit=0) == [(CROWD, 0, [], 25)]
    with pytest.raises(ValueError, match="ids_limit must be at least 1"):
        found.batch([CROWD], 0, ids_limit=0)
    with pytest.raises(ValueError, match="ids_limit must not be negative: -1"):
        found.query(CROWD, 0, ids_limit=-1)


def test_ids_are_limited_and_counted(build: Build, tmp_path: Path) -> None:
    crowd = [CROWD] * 25
    check(build(crowd, range(25)), list(range(25)))
    names = [f"{number:02}" for number in range(25)]
    check(build(crowd, names), names)
    with hamdex.Store(tmp_path / "s") as store:
        store.insert(crowd, range(25))
        check(store, list(range(25)))
        store.flush()
        check(store.snapshot(), list(range(25)))
        near = store.insert_unless_near(CROWD ^ 1, 99, k=1)
        assert near == (CROWD, 1, list(range(10)), 25)
    assert build([CROWD]).query(CROWD, 0) == [(CROWD, 0, [], 0)]


def test_a_batch_of_a_crowd_takes_little_memory(build: Build) -> None:
    count = 200_000
    index = build(np.full(count, CROWD, dtype=np.uint64), np.arange(count))
    queries = np.full(1000, CROWD, dtype=np.uint64)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    table = index.batch(queries, 0)
    assert len(table) == 10_000 and set(table["ids_count"].tolist()) == {count}
    # All ids would take 1.6 GB.
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 200_000
