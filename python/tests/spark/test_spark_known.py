"""Near-duplicates of known documents on Spark, compared with one machine."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import product
from pathlib import Path
from typing import Any

import hamdex
import numpy as np
import pyarrow as pa
import pytest
from hamdex import spark as hs
from hamdex.spark import _dedup, _known
from hamdex.spark._document_features import features
from pyspark.sql import functions as F

from .test_spark_dedup import Clusters, clusters

Documents = list[tuple[Any, str]]

# A greater number shows the same at scale: HAMDEX_KNOWN_ROWS=200000.
ROWS = int(os.environ.get("HAMDEX_KNOWN_ROWS", "4000"))


def on_one(documents: Documents, against: Any, **options: Any) -> tuple[Clusters, dict[Any, tuple[Any, float]]]:
    table = pa.table({"id": [one for one, _ in documents], "text": [text for _, text in documents]})
    found, known = hamdex.dedup(table, id="id", against=against, **options)
    return clusters(pa.table(found).to_pylist()), {
        row["id"]: (row.get("known"), row.get("similarity", row.get("distance"))) for row in pa.table(known).to_pylist()
    }


def on_spark(
    spark: Any, documents: Documents, against: Any, **options: Any
) -> tuple[Clusters, dict[Any, tuple[Any, float]]]:
    kind = "long" if isinstance(documents[0][0], int) else "string"
    df = spark.createDataFrame(documents, f"id {kind}, text string").repartition(5)
    found, known = hs.dedup(df, against=against, **options)
    mine = [row.asDict() for row in found.collect()]
    rows = [row.asDict() for row in known.collect()]
    found.unpersist()
    known.unpersist()
    assert len({row["id"] for row in rows}) == len(rows)
    return clusters(mine), {row["id"]: (row["known"], row.get("similarity", row.get("distance"))) for row in rows}


@contextmanager
def known_alone(
    spark: Any, documents: Documents, similarity: float = 0.7, shingle: int = 5
) -> Iterator[Callable[[Any], dict[Any, tuple[Any, float]]]]:
    """Prepare documents, to find those that are known as ``on_spark`` does, without the clusters of the others."""
    method = _dedup.method_of(similarity, None, shingle, "default")
    kind = "long" if isinstance(documents[0][0], int) else "string"
    rows = spark.createDataFrame(documents, f"id {kind}, text string").repartition(5)
    held: list[Any] = []
    prepared = features(rows, "text", F.struct(F.col("id")), method).persist()
    classes = _dedup.first_of_each(prepared).persist()
    held += [prepared, classes]

    def known(against: Any) -> dict[Any, tuple[Any, float]]:
        found = _dedup.known_texts(prepared, classes, against, ("text", "id"), method, held).collect()
        assert len({row["id"] for row in found}) == len(found)
        return {row["id"]: (row["known"], row["similarity"]) for row in found}

    try:
        yield known
    finally:
        for one in held:
            one.unpersist()


@pytest.fixture(scope="module")
def halves(documents: Documents) -> tuple[Documents, Documents]:
    """New documents and known ones: copies of each other, equal ones, short and blank ones are on both sides."""
    known = [(f"k{number:05}", text) for number, text in documents if number % 3 == 0]
    return [(number, text) for number, text in documents if number % 3], known


@pytest.mark.parametrize("options", [{}, {"similarity": 0.4, "shingle": 2}, {"similarity": 1.0}], ids=str)
def test_known_texts_are_those_of_one_machine(
    spark: Any,
    halves: tuple[Documents, Documents],
    options: dict[str, Any],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    new, known = halves
    table = pa.table({"id": [name for name, _ in known], "text": [text for _, text in known]})
    expected = on_one(new, table, **options)
    assert len(expected[0]) > 5 and len(expected[1]) > 20
    df = spark.createDataFrame(known, "id string, text string").repartition(4)
    assert on_spark(spark, new, df, **options) == expected
    texts, names = [text for _, text in known], [name for name, _ in known]
    words = options.get("shingle", 5)
    stored = {"recipe": "default", "shingles": words}
    hamdex.build(tmp_path / "known.hamdex", texts, ids=names, **stored)
    with hamdex.Store(tmp_path / "known.store", names=True, **stored) as store:
        store.insert(texts, names)
    parts = [tmp_path / f"{part}.hamdex" for part in range(3)]
    for part, path in enumerate(parts):
        hamdex.build(path, texts[part::3], ids=names[part::3], **stored)
    command = [sys.executable, "-m", "hamdex._command", "--quiet", "shards", "create", tmp_path / "shards", *parts]
    subprocess.run(command, check=True)
    containers = (tmp_path / "known.hamdex", str(tmp_path / "known.store"), tmp_path / "shards", parts)
    # Each text is looked up, or all sets pass by.
    modes = (0, 1 << 40)
    with known_alone(spark, new, **options) as known_of:
        for mode, against in product(modes, containers):
            monkeypatch.setattr(_known, "DOCUMENTS_PER_LOOK_UP", mode)
            assert known_of(against) == expected[1], against
    # With the clusters of the others, each kind of set once.
    wholes = {None: ((0, 0), (1, 1)), 0.4: ((1, 2),), 1.0: ((0, 3),)}[options.get("similarity")]
    for mode, container in wholes:
        monkeypatch.setattr(_known, "DOCUMENTS_PER_LOOK_UP", modes[mode])
        assert on_spark(spark, new, containers[container], **options) == expected


def test_known_numbers_and_a_large_index_are_the_same(
    spark: Any, halves: tuple[Documents, Documents], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    new, known = halves
    texts, ids = [text for _, text in known], list(range(len(known)))[::-1]
    expected = on_one(new, pa.table({"id": ids[::-1], "text": texts[::-1]}))
    df = spark.createDataFrame(list(zip(ids, texts, strict=True)), "id long, text string")
    # As if it were too large for every task.
    monkeypatch.setattr(_known, "BROADCAST_ROWS", 0)
    assert on_spark(spark, new, df) == expected
    hamdex.build(tmp_path / "known.hamdex", texts, ids=ids, recipe="default", shingles=True)
    with known_alone(spark, new) as known_of:
        for documents_per_look_up in (0, 1 << 40):
            monkeypatch.setattr(_known, "DOCUMENTS_PER_LOOK_UP", documents_per_look_up)
            assert known_of(tmp_path / "known.hamdex") == expected[1]


def test_of_equally_similar_documents_the_smallest_id_is_known(
    spark: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    text = "call me ishmael some years ago never mind how long precisely"
    # Not in the order of their ids.
    names = ["whale", "boat", "sea", "anchor"]
    hamdex.build(tmp_path / "one.hamdex", [text, text + " indeed"] * 2, ids=names, recipe="default", shingles=True)
    hamdex.build(tmp_path / "other.hamdex", [text] * 30, ids=[f"b{n}" for n in range(30)], recipe="default", shingles=True)
    one, other = tmp_path / "one.hamdex", tmp_path / "other.hamdex"
    new = [("new", text), ("blank", " ")]
    of_names = ((one, "sea"), ([one, other], "b0"), ([other, one], "b0"))
    # Numbers are compared without a sign: Spark has those from 2^63 on as negative ones.
    numbers = tmp_path / "numbers.hamdex"
    ids = np.array([1 << 63, 7, (1 << 64) - 1, 9], dtype=np.uint64)
    hamdex.build(numbers, [text] * 4, ids=ids, recipe="default", shingles=True)
    with known_alone(spark, new) as known_of:
        for documents_per_look_up, (against, known) in product((0, 1 << 40), (*of_names, (numbers, 7))):
            monkeypatch.setattr(_known, "DOCUMENTS_PER_LOOK_UP", documents_per_look_up)
            assert known_of(against) == {"new": (known, 1.0)}
    with pytest.raises(ValueError, match="some of the known sets have names"):
        on_spark(spark, new, [one, numbers])


def test_known_fingerprints_are_those_of_one_machine(
    spark: Any, halves: tuple[Documents, Documents], tmp_path: Path
) -> None:
    new, known = halves
    fingerprints, reliable = hamdex.fingerprint([text for _, text in known], return_reliable=True)
    rows = [(name, fp) for (name, _), fp, is_reliable in zip(known, fingerprints, reliable, strict=True) if is_reliable]
    names, values = [name for name, _ in rows], fingerprints[reliable]
    hamdex.build(tmp_path / "known.hamdex", values, ids=names, recipe="default")
    for k in (3, 9):
        expected = on_one(new, tmp_path / "known.hamdex", k=k)
        found = on_spark(spark, new, tmp_path / "known.hamdex", k=k)
        # Of several at one distance, one machine takes the least fingerprint, and Spark the least id.
        assert found[0] == expected[0] and len(found[1]) > 10
        assert {id: away for id, (_, away) in found[1].items()} == {id: away for id, (_, away) in expected[1].items()}
        # k says nothing about the texts among themselves.
        assert all(similarities is not None for _, _, similarities in found[0].values())


def test_known_documents_that_cannot_be_compared_are_refused(spark: Any, tmp_path: Path) -> None:
    df = spark.createDataFrame([(1, "a b c")], "id long, text string")
    hamdex.build(tmp_path / "bare.hamdex", [1, 2])
    hamdex.build(tmp_path / "plain.hamdex", [1, 2], recipe="default")
    hamdex.build(tmp_path / "three.hamdex", ["a b c d"], ids=["x"], recipe="default", shingles=3)
    wrong: list[tuple[Any, dict[str, Any], str]] = [
        (df, {"k": 3}, "leave k out"),
        (tmp_path / "plain.hamdex", {}, "without shingles"),
        (tmp_path / "bare.hamdex", {"k": 3}, "recipe="),
        (tmp_path / "plain.hamdex", {"k": 3, "recipe": "default width=128"}, "64"),
        (tmp_path / "three.hamdex", {}, "shingle=3"),
    ]
    for against, options, text in wrong:
        with pytest.raises(ValueError, match=text):
            hs.dedup(df, against=against, **options)
    with pytest.raises(KeyError, match="no column is named 'text'"):
        hs.dedup(df, against=df.withColumnRenamed("text", "body"))
    with pytest.raises(FileNotFoundError):
        hs.dedup(df, against=tmp_path / "missing")
    nothing = df.where("id < 0")
    found, known = hs.dedup(nothing, against=df)
    assert found.collect() == [] and known.collect() == []
    found, known = hs.dedup(df, against=nothing)
    assert found.collect() == [] and known.collect() == []


def test_many_rows_are_those_of_one_machine(spark: Any) -> None:
    chance = random.Random(200)
    words = [f"w{number}" for number in range(30_000)]

    def text(copied: list[str] | None) -> list[str]:
        copy = copied[:] if copied else chance.choices(words, k=chance.choice([20, 40, 60]))
        for _ in range(chance.randrange(6) if copied else 0):
            copy[chance.randrange(len(copy))] = chance.choice(words)
        return copy

    known: list[list[str]] = []
    new: list[list[str]] = []
    for _ in range(ROWS // 2):
        known.append(text(chance.choice(known) if known and chance.random() < 0.2 else None))
        source = chance.random()
        new.append(text(chance.choice(known) if source < 0.3 else chance.choice(new) if new and source < 0.5 else None))
    of_known = [(number, " ".join(one)) for number, one in enumerate(known)]
    of_new = [(number, " ".join(one)) for number, one in enumerate(new)]
    table = pa.table({"id": [number for number, _ in of_known], "text": [one for _, one in of_known]})
    expected = on_one(of_new, table)
    assert len(expected[0]) > ROWS // 50 and len(expected[1]) > ROWS // 20
    df = spark.createDataFrame(pa.table({"id": table["id"].cast(pa.int64()), "text": table["text"]}).to_pandas())
    assert on_spark(spark, of_new, df) == expected
