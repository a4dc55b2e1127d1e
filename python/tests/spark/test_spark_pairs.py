"""Fingerprints and pairs on Spark, compared with one machine."""

from __future__ import annotations

import random
from typing import Any

import hamdex
import numpy as np
import pytest
from hamdex import spark as hs
from hamdex.spark import _distance_join


def signed(number: int) -> int:
    return number - 2**64 if number >= 2**63 else number


def skewed(count: int, seed: int) -> list[int]:
    """Return numbers of which many are near each other, and some equal."""
    chance = random.Random(seed)
    numbers = [0, 2**64 - 1, 2**63]
    while len(numbers) < count:
        one = chance.choice(numbers) if chance.random() < 0.7 else chance.getrandbits(64)
        for _ in range(chance.randrange(4)):
            one ^= 1 << chance.randrange(64)
        numbers.append(one)
    return numbers


def expected(numbers: list[int], k: int) -> set[tuple[int, int, int]]:
    table = hamdex.pairs(np.array(numbers, dtype=np.uint64), k).read_all()
    return {(int(a), int(b), int(d)) for a, b, d in zip(table["left"], table["right"], table["distance"])}


def test_fingerprints_are_those_of_one_machine(spark: Any, documents: list[tuple[int, str]]) -> None:
    df = spark.createDataFrame(documents, "id long, text string").repartition(3)
    values, reliable = hamdex.fingerprint([text for _, text in documents], return_reliable=True)
    rows = hs.fingerprint(df, return_reliable=True).collect()
    assert {r["id"]: (r["fingerprint"], r["reliable"]) for r in rows} == {
        number: (signed(int(value)), bool(good)) for number, (value, good) in enumerate(zip(values, reliable))
    }
    wide = hamdex.fingerprint([text for _, text in documents], width=128)
    rows = hs.fingerprint(df, width=128).collect()
    assert {r["id"]: tuple(r["fingerprint"]) for r in rows} == {
        number: (signed(int(high)), signed(int(low))) for number, (high, low) in enumerate(wide)
    }


@pytest.mark.parametrize("k", [0, 1, 3, 6])
def test_pairs_of_fingerprints_are_those_of_one_machine(spark: Any, k: int) -> None:
    numbers = skewed(600, k)
    df = spark.createDataFrame([(signed(one),) for one in numbers], "fingerprint long").repartition(5)
    rows = hs.pairs(df, k, id=None).collect()
    found = [(r["left"] % 2**64, r["right"] % 2**64, r["distance"]) for r in rows]
    assert len(found) == len(set(found))
    assert set(found) == expected(numbers, k)


def test_pairs_have_ids_and_equal_fingerprints_are_pairs(spark: Any) -> None:
    numbers = skewed(300, 1)
    rows = [(f"doc {place:04}", signed(one)) for place, one in enumerate(numbers)]
    df = spark.createDataFrame(rows, "name string, fp long").repartition(4)
    found = [tuple(row) for row in hs.pairs(df, 3, fingerprint="fp", id="name", partitions=3).collect()]
    assert len(found) == len(set(found))
    assert set(found) == {
        (rows[a][0], rows[b][0], (numbers[a] ^ numbers[b]).bit_count())
        for a in range(len(numbers))
        for b in range(a + 1, len(numbers))
        if (numbers[a] ^ numbers[b]).bit_count() <= 3
    }


def test_crowded_leads_are_split(spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    chance = random.Random(4)
    # All begin alike, and many end alike.
    numbers = [0xABCD << 48 | chance.getrandbits(14) for _ in range(300)] + skewed(200, 9)
    monkeypatch.setattr(_distance_join, "MAX_ALIKE", 20)
    df = spark.createDataFrame([(signed(one),) for one in numbers], "fingerprint long")
    rows = hs.pairs(df, 3, id=None, partitions=4).collect()
    found = [(r["left"] % 2**64, r["right"] % 2**64, r["distance"]) for r in rows]
    assert len(found) == len(set(found))
    assert set(found) == expected(numbers, 3)


def test_pairs_of_128_bits(spark: Any) -> None:
    halves = skewed(400, 2)
    wide = [(high, high ^ (low & 7)) for high, low in zip(halves[::2], halves[1::2])]
    df = spark.createDataFrame(
        [((signed(high), signed(low)),) for high, low in wide], "fingerprint struct<high: bigint, low: bigint>"
    )
    rows = hs.pairs(df, 4, id=None).collect()
    found = [(*(w % 2**64 for w in (*r["left"], *r["right"])), r["distance"]) for r in rows]
    table = hamdex.pairs(np.array(wide, dtype=np.uint64), 4).read_all()
    assert len(found) == len(set(found))
    assert set(found) == {
        (*map(int, a), *map(int, b), int(d)) for a, b, d in zip(table["left"], table["right"], table["distance"])
    }
    assert len(found) > 10


def test_nothing_has_no_pairs(spark: Any) -> None:
    df = spark.createDataFrame([], "id long, fingerprint long")
    assert hs.pairs(df).collect() == []
    one = spark.createDataFrame([(1, 5)], "id long, fingerprint long")
    assert hs.pairs(one).collect() == []


def test_bad_input_is_refused(spark: Any) -> None:
    df = spark.createDataFrame([(1, 2, 0.5, "a")], "id long, fingerprint long, score double, text string")
    with pytest.raises(KeyError, match="no column is named 'fp'; there are: 'id', 'fingerprint'"):
        hs.pairs(df, fingerprint="fp")
    with pytest.raises(TypeError, match="'score' is of type double: fingerprints are bigint"):
        hs.pairs(df, fingerprint="score")
    with pytest.raises(TypeError, match="ids are whole numbers, or string"):
        hs.pairs(df, id="score")
    with pytest.raises(TypeError, match="texts must be string"):
        hs.fingerprint(df, text="id")
    for k in (-1, 65):
        with pytest.raises(ValueError, match="0 to 64 bits"):
            hs.pairs(df, k)
    with pytest.raises(ValueError, match="partitions cannot be 0"):
        hs.pairs(df, partitions=0)
    with pytest.raises(ValueError):
        hs.fingerprint(df, recipe="no such recipe = bad")


def test_nulls_are_refused(spark: Any) -> None:
    df = spark.createDataFrame([(1, None, "a"), (None, 3, None)], "id long, fingerprint long, text string")
    with pytest.raises(Exception, match="the column 'fingerprint' has a null: leave such rows out"):
        hs.pairs(df).collect()
    with pytest.raises(Exception, match="has a null: leave such rows out"):
        hs.fingerprint(df).collect()
