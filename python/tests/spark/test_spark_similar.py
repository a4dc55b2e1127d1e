"""Similar texts on Spark: the pairs found, and the sizes of groups."""

from __future__ import annotations

import itertools
import json
import os
import random
import subprocess
import sys
from collections import Counter
from typing import Any

import pytest
from hamdex.spark import _prefix_filter, _similarity_join

from .test_spark_dedup import clusters, on_one_machine, same


def share(one: set[int], other: set[int]) -> float:
    common = len(one & other)
    return common / (len(one) + len(other) - common)


def crowded(count: int, seed: int) -> list[set[int]]:
    """Return sets: some near each other, most of them with a large part in common, of very different sizes."""
    chance = random.Random(seed)
    common = list(range(60))
    sets = []
    for _ in range(count):
        own = {chance.randrange(100, 10_000) for _ in range(chance.randrange(1, 14))}
        sets.append(own | set(chance.sample(common, chance.choice([0, 3, 30, 55]))))
    sets += [set(chance.sample(sorted(one), len(one) * 9 // 10 or 1)) | {-1} for one in sets[::4]]
    return [set(one) for one in {frozenset(one) for one in sets}]


def frame(spark: Any, sets: list[set[int]]) -> Any:
    rows = [((number,), sorted(one), 0, True) for number, one in enumerate(sets)]
    kinds = "node struct<id: bigint>, shingles array<bigint>, fingerprint bigint, reliable boolean"
    return spark.createDataFrame(rows, kinds).repartition(4)


def pairs(spark: Any, sets: list[set[int]], similarity: float) -> list[tuple[int, int]]:
    held: list[Any] = []
    rows = _similarity_join.similar(frame(spark, sets), similarity, held, width=64).collect()
    for one in held:
        one.unpersist()
    return [tuple(sorted((row["one"]["id"], row["other"]["id"]))) for row in rows]


def by_all(sets: list[set[int]], similarity: float) -> set[tuple[int, int]]:
    numbered = itertools.combinations(enumerate(sets), 2)
    return {(a, b) for (a, one), (b, other) in numbered if share(one, other) >= similarity}


@pytest.mark.parametrize("similarity", [0.01, 0.4, 0.7, 1.0])
def test_pairs_are_those_of_comparing_all(spark: Any, similarity: float) -> None:
    sets = crowded(120, 1)
    found = pairs(spark, sets, similarity)
    # Each pair is compared once.
    assert len(found) == len(set(found))
    assert set(found) == by_all(sets, similarity)


def test_crowds_are_split_into_blocks(spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    # As if a few were very many.
    monkeypatch.setattr(_similarity_join, "MAX_ALIKE", 8)
    monkeypatch.setattr(_prefix_filter, "MAX_COMMON", 20)
    sets = crowded(150, 2)
    for similarity in (0.4, 0.7):
        found = pairs(spark, sets, similarity)
        assert len(found) == len(set(found))
        assert set(found) == by_all(sets, similarity)
    held: list[Any] = []
    rows = _prefix_filter.prefixes(frame(spark, sets), 0.4, held)
    meeting = Counter(row["shingle"] for row in rows.collect())
    groups = Counter((row["shingle"], row["low"], row["high"]) for row in _similarity_join.split(rows).collect())
    # Blocks come by hashes, so they are not all of one size.
    assert max(meeting.values()) > 6 * 8 and max(groups.values()) < 6 * 8
    for one in held:
        one.unpersist()


def test_what_many_texts_share_is_in_no_prefix(spark: Any) -> None:
    chance = random.Random(3)
    footer = set(range(30))
    sets = [footer | {chance.randrange(1000, 1 << 40) for _ in range(70)} for _ in range(200)]
    sets += [set(list(one)[:-3]) for one in sets[:20]]
    held: list[Any] = []
    rows = _prefix_filter.prefixes(frame(spark, sets), 0.7, held).collect()
    for one in held:
        one.unpersist()
    # Of 100 shingles, 70 are its own, and a prefix has 31.
    assert rows and not {row["shingle"] for row in rows} & footer


@pytest.mark.parametrize("similarity", [0.01, 1 / 3, 0.7, 1.0])
def test_lengths_and_least_shares_are_those_of_the_definition(spark: Any, similarity: float) -> None:
    from pyspark.sql import functions as F

    sizes = spark.range(1, 61).select(F.col("id").cast("int").alias("one"))
    both = sizes.crossJoin(sizes.withColumnRenamed("one", "other"))
    least = _similarity_join.least_shared(F.col("one"), F.col("other"), similarity)
    long, short = _prefix_filter.lengths(F.col("one"), similarity)
    shortest: dict[int, int] = {}
    for one, other, found, own_long, own_short in both.select("one", "other", least, long, short).collect():
        # More than the smaller one has, if they cannot be similar.
        enough = [n for n in range(one + other) if n / (one + other - n) >= similarity]
        assert found == enough[0], (one, other)
        if found <= min(one, other):
            shortest[one] = min(found, shortest.get(one, found))
            if other >= one:
                assert own_short >= one - found + 1
        assert own_long <= one
    for one, _, _, own_long, _ in both.select("one", "other", least, long, short).collect():
        assert own_long >= one - shortest[one] + 1


def test_boilerplate_has_the_same_clusters(spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_similarity_join, "MAX_ALIKE", 16)
    chance = random.Random(5)
    page = [f"menu{place}" for place in range(80)]
    texts = [" ".join(page + [f"w{chance.randrange(10_000)}" for _ in range(chance.randrange(40))]) for _ in range(120)]
    assert len(same(spark, list(enumerate(texts)))) >= 1
    assert len(same(spark, list(enumerate(texts)), similarity=0.5, clusters="linked")) >= 1


ON_ONE = """
import json, os, sys
from pyspark.sql import SparkSession
from hamdex import spark as hs

session = SparkSession.builder.master("local-cluster[1,1,1024]")
options = {
    "spark.ui.enabled": "false",
    "spark.executor.memory": "1g",
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    "spark.executor.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.local.dir": sys.argv[1],
    "spark.worker.dir": sys.argv[1],
    "spark.sql.shuffle.partitions": "2",
    "spark.executorEnv.PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
}
for name, value in options.items():
    session = session.config(name, value)
session = session.getOrCreate()
session.sparkContext.setLogLevel("OFF")
df = session.createDataFrame(json.load(sys.stdin), "id long, text string")
found = [[row.asDict() for row in hs.dedup(df, **options).collect()] for options in ({}, {"k": 3})]
print("found", json.dumps(found))
session.stop()
"""


@pytest.mark.usefixtures("spark")
def test_one_executor_finds_what_two_find(documents: list[tuple[int, str]], tmp_path: Any) -> None:
    # Two find what one machine finds, as other tests see.
    run = subprocess.run(
        [sys.executable, "-c", ON_ONE, str(tmp_path)],
        input=json.dumps(documents),
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
        env=os.environ | {"PYSPARK_PYTHON": sys.executable},
    )
    lines = [line for line in run.stdout.splitlines() if line.startswith("found ")]
    assert len(lines) == 1, run.stderr[-3000:]
    similar, near = json.loads(lines[0].removeprefix("found "))
    assert clusters(similar) == on_one_machine(documents)
    assert clusters(near) == on_one_machine(documents, k=3)
