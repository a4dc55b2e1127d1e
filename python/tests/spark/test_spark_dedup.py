"""Near-duplicates on Spark, compared with one machine."""

from __future__ import annotations

from typing import Any

import hamdex
import pyarrow as pa
import pytest
from hamdex import spark as hs
from hamdex.spark import _grouping

from .conftest import ARTICLES

Clusters = dict[frozenset[Any], tuple[Any, dict[Any, int], dict[Any, float] | None]]


def clusters(rows: list[dict[str, Any]]) -> Clusters:
    """Return the clusters by their members: the kept text, distances, similarities."""
    by_cluster: dict[Any, list[dict[str, Any]]] = {}
    for row in rows:
        by_cluster.setdefault(row["cluster"], []).append(row)
    found: Clusters = {}
    for members in by_cluster.values():
        (kept,) = (row["id"] for row in members if row["kept"])
        similarities = {row["id"]: row["similarity"] for row in members} if "similarity" in members[0] else None
        found[frozenset(row["id"] for row in members)] = (
            kept,
            {row["id"]: row["distance"] for row in members},
            similarities,
        )
    assert sum(map(len, found)) == len(rows)
    return found


def on_one_machine(documents: list[tuple[Any, str]], **options: Any) -> Clusters:
    """Return the clusters that one machine finds."""
    table = pa.table({"id": [one for one, _ in documents], "text": [text for _, text in documents]})
    return clusters(pa.table(hamdex.dedup(table, id="id", **options)).to_pylist())


def same(spark: Any, documents: list[tuple[Any, str]], **options: Any) -> Clusters:
    """Return the clusters that Spark and one machine both find."""
    kind = "long" if isinstance(documents[0][0], int) else "string"
    df = spark.createDataFrame(documents, f"id {kind}, text string").repartition(5)
    result = hs.dedup(df, **options)
    mine = [row.asDict() for row in result.collect()]
    result.unpersist()
    expected = on_one_machine(documents, **options)
    assert clusters(mine) == expected
    assert all(row["cluster"] == row["id"] for row in mine if row["kept"])
    return expected


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"similarity": 0.4, "clusters": "linked"},
        {"similarity": 0.5, "keep": "longest", "shingle": 2},
        {"similarity": 0.4, "k": 6},
        {"k": 3},
        {"k": 8, "clusters": "linked"},
        {"k": 6, "keep": "longest"},
    ],
    ids=str,
)
def test_clusters_are_those_of_one_machine(
    spark: Any, documents: list[tuple[int, str]], options: dict[str, Any]
) -> None:
    assert len(same(spark, documents, **options)) > 5


def test_clusters_of_many_pairs_are_the_same(
    spark: Any, documents: list[tuple[int, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    # As if there were too many for one task.
    monkeypatch.setattr(_grouping, "FEW", 0)
    same(spark, documents)
    same(spark, [(f"n{number:05}", text) for number, text in documents], k=8, clusters="linked")


def test_shared_articles_have_the_same_clusters(spark: Any) -> None:
    if not ARTICLES.exists():
        pytest.skip(f"{ARTICLES} is not there")
    lines = ARTICLES.read_text(encoding="utf-8").splitlines()
    documents = sorted((name, text) for name, _, text in (line.partition(" ") for line in lines))
    assert len(same(spark, documents)) >= 5
    assert len(same(spark, documents, k=3)) >= 5


def test_an_order_of_ones_own_says_what_is_kept(spark: Any, documents: list[tuple[int, str]]) -> None:
    rows = [(number, text, -number) for number, text in documents]
    df = spark.createDataFrame(rows, "id long, text string, age long")
    found = clusters([row.asDict() for row in hs.dedup(df, k=6, order="age").collect()])
    table = pa.table({"id": [n for n, _ in documents[::-1]], "text": [text for _, text in documents[::-1]]})
    assert found == clusters(pa.table(hamdex.dedup(table, id="id", k=6)).to_pylist())


def test_clusters_do_not_depend_on_how_data_are_spread(spark: Any, documents: list[tuple[int, str]]) -> None:
    df = spark.createDataFrame(documents, "id long, text string")
    one = {tuple(row) for row in hs.dedup(df.repartition(1), k=6, partitions=1).collect()}
    other = {tuple(row) for row in hs.dedup(df.orderBy("text").repartition(7), k=6, partitions=6).collect()}
    assert one == other
    one = {tuple(row) for row in hs.dedup(df.repartition(1)).collect()}
    other = {tuple(row) for row in hs.dedup(df.orderBy("text").repartition(7)).collect()}
    assert one == other


def test_nothing_and_blank_texts_have_no_clusters(spark: Any) -> None:
    for rows in ([], [(1, ""), (2, " ")]):
        df = spark.createDataFrame(rows, "id long, text string")
        different: list[dict[str, Any]] = [{}, {"k": 3}, {"clusters": "linked"}, {"k": 3, "clusters": "linked"}]
        for options in different:
            assert hs.dedup(df, **options).collect() == []


def test_bad_input_is_refused(spark: Any) -> None:
    df = spark.createDataFrame([(1, "a", 1.5), (1, "b", None)], "id long, text string, age double")
    with pytest.raises(ValueError, match="the id 1 occurs 2 times"):
        hs.dedup(df, k=3)
    with pytest.raises(KeyError, match="no column is named 'body'"):
        hs.dedup(df, k=3, text="body")
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"keep": "last"}, "first or longest"),
        ({"keep": "longest", "order": "age"}, "leave order out"),
        ({"clusters": "chains"}, "stars or linked"),
        ({"k": 65}, "0 to 64"),
        ({"similarity": 0}, "above 0"),
        ({"similarity": 1.5, "k": 3}, "above 0"),
        ({"shingle": 0}, "at least 1"),
        ({"shingle": 65}, "more than 64"),
        ({"partitions": 3}, "k alone"),
    ]
    for options, text in wrong:
        with pytest.raises(ValueError, match=text):
            hs.dedup(df, **options)
    with pytest.raises(Exception, match="the column 'age' has a null"):
        hs.dedup(df, k=3, order="age")


def test_a_null_is_a_document_without_text(spark: Any, documents: list[tuple[int, str]]) -> None:
    some: list[tuple[Any, Any]] = [*documents[:80], (9000, None), (9001, None), (9002, "")]
    for options in ({}, {"k": 3}, {"keep": "longest"}):
        same(spark, some, **options)
    df = spark.createDataFrame(some, "id long, text string")
    made = {row["id"]: tuple(row)[1:] for row in hs.fingerprint(df, return_reliable=True).collect()}
    assert len(made) == len(some) and made[9000] == made[9001] == (0, False)
    _, known = hs.dedup(df, against=df.where("id >= 9000"))
    assert known.count() == 0
