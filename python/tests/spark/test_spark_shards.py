"""Sets of shards: built, queried, rejected."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import hamdex
import numpy as np
import pyarrow as pa
import pytest
from hamdex import spark as hs
from hamdex.spark import _bit_words, _build, _shards

from .test_spark_pairs import signed, skewed


def frame(spark: Any, numbers: list[int], ids: list[Any] | None = None, kind: str = "long") -> Any:
    ids = list(range(len(numbers))) if ids is None else ids
    rows = list(zip(ids, map(signed, numbers)))
    return spark.createDataFrame(rows, f"id {kind}, fingerprint long").repartition(3)


def by_all(queries: list[int], stored: list[int], k: int) -> set[tuple[int, int, int]]:
    return {
        (q, s, (one ^ other).bit_count())
        for q, one in enumerate(queries)
        for s, other in enumerate(stored)
        if (one ^ other).bit_count() <= k
    }


def matches(*arguments: Any) -> Any:
    """Return the matches of queries with all ids, without their number."""
    return hs.query(*arguments, ids_limit=None).drop("ids_count")


def test_a_query_finds_what_comparing_all_finds(spark: Any, tmp_path: Path) -> None:
    stored, queries = skewed(500, 1), skewed(120, 2) + skewed(40, 1)
    built = hs.build(frame(spark, stored), tmp_path / "set", shards=5)
    assert (built.ids, built.fingerprints, len(built.shards)) == (len(stored), len(set(stored)), 5)
    assert sorted(os.listdir(tmp_path / "set")) == sorted(["manifest", *(one.file for one in built.shards)])
    for k in (None, 0, 2, 5):
        rows = [tuple(row) for row in matches(frame(spark, queries), tmp_path / "set", k).collect()]
        assert len(rows) == len(set(rows))
        assert set(rows) == by_all(queries, stored, 3 if k is None else k)


def test_ids_can_be_names_or_missing(spark: Any, tmp_path: Path) -> None:
    stored = skewed(200, 3)
    names = [f"page {number}" for number in range(len(stored))]
    # More shards than some have rows.
    hs.build(frame(spark, stored, names, "string"), tmp_path / "names", shards=40, distance=2)
    rows = matches(frame(spark, stored[:50], names[:50], "string"), tmp_path / "names").collect()
    assert {tuple(row) for row in rows} == {(names[q], names[s], d) for q, s, d in by_all(stored[:50], stored, 2)}
    hs.build(frame(spark, stored), tmp_path / "without", shards=2, id=None)
    found = [tuple(row) for row in matches(frame(spark, stored[:50]), tmp_path / "without").collect()]
    assert len(found) == len(set(found))
    assert set(found) == {(q, signed(stored[s]), d) for q, s, d in by_all(stored[:50], stored, 3)}


def test_ids_of_a_match_are_limited_and_counted(spark: Any, tmp_path: Path) -> None:
    hs.build(frame(spark, [5] * 25 + [4]), tmp_path / "set", shards=2)
    cases: list[tuple[dict[str, Any], int]] = [({}, 10), ({"ids_limit": 3}, 3), ({"ids_limit": None}, 25)]
    for options, most in cases:
        found = hs.query(frame(spark, [5]), tmp_path / "set", 1, **options).orderBy("distance", "id").collect()
        assert [tuple(row) for row in found] == [*((0, id, 0, 25) for id in range(most)), (0, 25, 1, 1)]
    with pytest.raises(ValueError, match="ids_limit cannot be 0"):
        hs.query(frame(spark, [5]), tmp_path / "set", ids_limit=0)


def test_fingerprints_of_128_bits_are_found(spark: Any, tmp_path: Path) -> None:
    numbers = skewed(200, 5)
    rows = [(place, (signed(one), signed(one ^ 1))) for place, one in enumerate(numbers)]
    df = spark.createDataFrame(rows, "id long, fingerprint struct<high: bigint, low: bigint>")
    hs.build(df, tmp_path / "set", shards=3)
    found = {tuple(row) for row in matches(df, tmp_path / "set", 4).collect()}
    assert found == {(a, b, 2 * d) for a, b, d in by_all(numbers, numbers, 2)}


def test_a_set_is_replaced_only_on_request_and_as_a_whole(spark: Any, tmp_path: Path) -> None:
    first = hs.build(frame(spark, skewed(50, 1)), tmp_path / "set", shards=3)
    with pytest.raises(FileExistsError, match="overwrite=True"):
        hs.build(frame(spark, skewed(60, 2)), tmp_path / "set", shards=2)
    bad = spark.createDataFrame([(-1, 3)], "id long, fingerprint long")
    with pytest.raises(Exception, match="the column 'id' has a negative id"):
        hs.build(bad, tmp_path / "set", shards=2, overwrite=True)
    # The old set is unchanged.
    assert len(os.listdir(tmp_path / "set")) == 4
    assert matches(frame(spark, [5]), tmp_path / "set").collect() is not None
    second = hs.build(frame(spark, skewed(60, 2)), tmp_path / "set", shards=2, overwrite=True)
    assert sorted(os.listdir(tmp_path / "set")) == sorted(["manifest", *(one.file for one in second.shards)])
    assert first.fingerprints != second.fingerprints
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "notes.txt").write_text("mine")
    with pytest.raises(FileExistsError, match="other files"):
        hs.build(frame(spark, [1]), tmp_path / "other")
    assert os.listdir(tmp_path / "other") == ["notes.txt"]


@pytest.mark.parametrize("is_written", [False, True])
def test_an_interrupted_write_of_the_manifest_leaves_one_whole_set(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_written: bool
) -> None:
    rows = frame(spark, [5])
    first = hs.build(rows, tmp_path, shards=2)
    write = _shards.write

    def interrupted(shards: hs.Shards) -> None:
        if is_written:
            write(shards)
        raise KeyboardInterrupt

    monkeypatch.setattr(_shards, "write", interrupted)
    with pytest.raises(KeyboardInterrupt):
        hs.build(frame(spark, [5, 7]), tmp_path, shards=3, overwrite=True)
    found = _shards.read(tmp_path)
    assert (found == first, len(found.shards)) == (not is_written, 3 if is_written else 2)
    assert {shard.file for shard in found.shards} <= set(os.listdir(tmp_path))
    assert matches(rows, tmp_path, 0).count() == 1
    # What is in no manifest is gone, except an old set, which may be in use.
    assert len(os.listdir(tmp_path)) == (6 if is_written else 3)


def test_missing_and_changed_shards_are_refused(spark: Any, tmp_path: Path) -> None:
    built = hs.build(frame(spark, skewed(100, 1)), tmp_path / "set", shards=3)
    path, other = built.path(1), built.path(2)
    content = path.read_bytes()
    found = hs.query(frame(spark, [5]), built)
    path.unlink()
    with pytest.raises(FileNotFoundError, match="a shard is missing"):
        hs.query(frame(spark, [5]), tmp_path / "set")
    with pytest.raises(Exception, match="an executor does not see the shard"):
        found.collect()
    path.write_bytes(content[:-1])
    with pytest.raises(hamdex.DamagedError, match="the manifest says"):
        hs.query(frame(spark, [5]), tmp_path / "set")
    path.write_bytes(other.read_bytes())
    with pytest.raises(Exception, match="not the file that the manifest names|the manifest says"):
        matches(frame(spark, [5]), tmp_path / "set").collect()
    with pytest.raises(FileNotFoundError, match="no manifest of shards"):
        hs.query(frame(spark, [5]), tmp_path)
    wide = spark.createDataFrame([(1, (2, 3))], "id long, fingerprint struct<high: bigint, low: bigint>")
    with pytest.raises(ValueError, match="the queries have 128 bits, and the shards 64"):
        path.write_bytes(content)
        hs.query(wide, tmp_path / "set")


def test_files_built_one_by_one_are_a_set_if_they_are_alike(spark: Any, tmp_path: Path) -> None:
    stored = skewed(300, 6)
    values, ids = np.array(stored, dtype=np.uint64), np.arange(300, dtype=np.uint64)
    half = {"a": slice(0, 150), "b": slice(150, 300)}
    for name, part in half.items():
        hamdex.build(tmp_path / name, values[part], ids=ids[part])
    rows = matches(frame(spark, stored[:60]), [tmp_path / "a", tmp_path / "b"]).collect()
    assert {tuple(row) for row in rows} == by_all(stored[:60], stored, 3)
    hamdex.build(tmp_path / "k", values, ids=ids, distance=4)
    hamdex.build(tmp_path / "none", values)
    hamdex.build(tmp_path / "recipe", values, ids=ids, recipe="default")
    hamdex.build(tmp_path / "wide", np.stack([values, values], axis=1), ids=ids)
    for name, text in (("k", "distance 4"), ("none", "ids None"), ("recipe", "recipe"), ("wide", "width 128")):
        with pytest.raises(ValueError, match=f"the shards differ: .*{name} has {text}"):
            hs.query(frame(spark, [1]), [tmp_path / "a", tmp_path / name])
    with pytest.raises(ValueError, match="no index file"):
        hs.query(frame(spark, [1]), [])
    with pytest.raises(FileNotFoundError):
        hs.query(frame(spark, [1]), [tmp_path / "absent"])


def test_a_task_that_runs_twice_writes_one_file(tmp_path: Path) -> None:
    numbers = np.array(skewed(100, 1), dtype=np.uint64)
    batch = pa.RecordBatch.from_pydict(
        {
            "fingerprint": _bit_words.to_column(numbers),
            "id": pa.array(range(100), pa.int64()),
            "shard": pa.array([0] * 100, pa.int32()),
        }
    )
    options = {"distance": 3, "design": None, "codec": "huffman", "recipe": None, "memory": None}
    arguments: dict[str, Any] = {"directory": str(tmp_path), "names": ["a.hamdex"], "width": 64, "id_type": "numbers"}
    once = list(_build.work([batch], **arguments, options=options))
    content = (tmp_path / "a.hamdex").read_bytes()
    again = list(_build.work([batch.slice(50), batch.slice(0, 50)], **arguments, options=options))
    assert once == again
    assert os.listdir(tmp_path) == ["a.hamdex"]
    assert (tmp_path / "a.hamdex").read_bytes() == content


def test_no_rows_make_the_same_set_whatever_the_plan(spark: Any, tmp_path: Path) -> None:
    one = frame(spark, [7])
    empty: dict[str, Any] = {
        "created": spark.createDataFrame([], "id long, fingerprint long"),
        "filtered": one.where("id > 5"),
        "never": one.where("false"),
        "limited": one.limit(0),
        "joined": one.join(one.where("id > 5"), "id", "left_semi"),
        "read": one.repartition(3).where("id > 5").persist(),
        "united": one.where("false").unionByName(one.limit(0)),
    }
    for kind, df in empty.items():
        built = hs.build(df, tmp_path / kind, shards=3)
        assert [(shard.fingerprints, shard.ids) for shard in built.shards] == [(0, 0)] * 3, kind
        assert matches(one, tmp_path / kind).collect() == []
        wide = df.selectExpr("id", "named_struct('high', fingerprint, 'low', fingerprint) fingerprint")
        assert len(hs.build(wide, tmp_path / f"{kind} wide", shards=2, id=None).shards) == 2
    sets = {tuple(shard.file_id for shard in _shards.read(tmp_path / kind).shards) for kind in empty}
    assert len(sets) == 1
    # And of a single row, all in one task or not.
    for kind, df in {"one": one, "first": one.limit(1), "both": one.unionByName(empty["never"])}.items():
        built = hs.build(df, tmp_path / kind, shards=3)
        assert (built.fingerprints, len(built.shards)) == (1, 3)


def test_options_are_checked_before_any_work(spark: Any, tmp_path: Path) -> None:
    df = spark.createDataFrame([(1, 5)], "id long, fingerprint long")
    wrong: list[dict[str, Any]] = [
        {"design": "no such"},
        {"codec": "no such"},
        {"filter": 65},
        {"recipe": "bad = bad"},
        {"distance": 65},
        {"shards": 0},
        {"shards": 1 << 16},
    ]
    for options in wrong:
        with pytest.raises(ValueError):
            hs.build(df, tmp_path / "set", **options)
    assert not (tmp_path / "set").exists()


def command(*arguments: Any) -> str:
    """Return what the hamdex command prints."""
    run = [sys.executable, "-m", "hamdex._command", *map(str, arguments)]
    return subprocess.run(run, check=True, capture_output=True, text=True).stdout


def test_the_command_and_spark_read_each_others_sets(spark: Any, tmp_path: Path) -> None:
    stored, queries = skewed(300, 8), skewed(40, 8) + skewed(20, 9)
    lines = "".join(f"{number:016x}\t{place}\n" for place, number in enumerate(stored))
    (tmp_path / "in.txt").write_text(lines)
    expected = by_all(queries, stored, 3)
    for layout in ("hash", "families"):
        options = ("--ids", "pairs", "--shards", "3", "--layout", layout)
        command("build", tmp_path / "in.txt", "-o", tmp_path / layout, *options)
        rows = matches(frame(spark, queries), tmp_path / layout).collect()
        assert len(rows) == len(set(rows))
        assert {tuple(row) for row in rows} == expected, layout
    hs.build(frame(spark, stored), tmp_path / "spark", shards=3)
    of_command = [command("dump", tmp_path / name, "--fingerprints", "--ids") for name in ("hash", "spark")]
    assert of_command[0] == of_command[1]
    command("verify", tmp_path / "spark")
    found = set()
    for place, query in enumerate(queries):
        for line in command("query", tmp_path / "spark", f"0x{query:016x}", "--json").splitlines():
            match = json.loads(line)
            found |= {(place, id, match["distance"]) for id in match["ids"]}
    assert found == expected
