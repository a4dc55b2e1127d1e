"""The inputs that are taken for fingerprints, texts and sets, and the outputs as tables."""

from collections import Counter
from pathlib import Path
from typing import Any

import hamdex
import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from conftest import Build, clustered, wide
from hamdex._hamdex import run_command

pd: Any = pytest.importorskip("pandas")

STORY = "Call me Ishmael. Some years ago, never mind how long precisely, having little or no money in my purse"


def test_negative_numbers_are_bit_patterns(build: Build) -> None:
    values = clustered(100)
    signed = values.view(np.int64).tolist()
    assert min(signed) < 0
    expected = build(values)
    assert build(signed).file_id == expected.file_id
    assert expected.query(signed[0], k=0) == expected.query(values[0], k=0)
    assert [expected.query(-1, k=0)[0].fingerprint] == [2**64 - 1]
    both = build(np.array([[2**64 - 1, 2**64 - 1], [0, 5]], dtype=np.uint64))
    assert both.query(-1, k=0)[0].fingerprint == 2**128 - 1
    assert -1 in both and -(2**127) not in both


def test_packed_hashes_have_the_most_significant_byte_first(build: Build) -> None:
    values = clustered(50)
    packed = values.astype(">u8").view(np.uint8).reshape(-1, 8)
    index = build(packed)
    assert index.file_id == build(values).file_id
    for given in (packed, packed[::-1][::-1], np.asfortranarray(packed)):
        assert index.batch(given, k=0)["query"].tolist() == list(range(50)) or len(set(values)) < 50
    assert index.query(packed[7], k=0)[0].fingerprint == int(values[7])
    both = wide(30)
    packed = both.astype(">u8").view(np.uint8).reshape(-1, 16)
    assert build(packed).file_id == build(both).file_id
    assert build(packed).query(packed[3], k=0)[0].fingerprint == int(both[3][0]) << 64 | int(both[3][1])
    assert hamdex.pairs(np.zeros((0, 8), dtype=np.uint8)).read_all().to_dict()["left"].tolist() == []


def test_columns_of_categories_are_their_values() -> None:
    texts = [STORY, "another text, of other words altogether, which is long enough as well, and so on", STORY]
    expected = hamdex.fingerprint(texts).tolist()
    column = pa.array(texts).dictionary_encode()
    assert hamdex.fingerprint(column).tolist() == expected
    assert hamdex.fingerprint(pl.Series(texts, dtype=pl.Categorical)).tolist() == expected
    frame = pd.DataFrame({"text": pd.Categorical(texts), "id": ["a", "b", "c"]})
    assert hamdex.dedup(pa.Table.from_pandas(frame), id="id")["id"] == ["a", "c"]
    assert hamdex.fingerprint(pa.array([STORY, None]).dictionary_encode()).tolist() == [expected[0], 0]


@pytest.mark.parametrize("texts", [{"a": 1}, {"a", "b"}, frozenset("ab")])
def test_texts_without_an_order_are_refused(texts: object) -> None:
    with pytest.raises(TypeError, match="texts must be a list of str"):
        hamdex.fingerprint(texts)  # type: ignore[call-overload]


def test_features_are_given_with_their_weights() -> None:
    of = hamdex.fingerprint_features
    assert of([[("aaa", 1), ("bbb", 1)]], recipe="simhash-py").tolist() == [57087923692560392]
    assert of([[(0xABCD, 1), (0xBCDE, 1), (0xCDEF, 1)]], recipe="seomoz").tolist() == [0xADCF]
    speech = "Four score and seven years ago"
    given: list[Any] = [[(speech, 11.7), ("and", 0.4)], {speech: 11.7, "and": 0.4}, Counter({speech: 9, "and": 2})]
    assert of(given, recipe="yanyiwu").tolist() == [0x17770551CE7226E6] * 3
    values, reliable = of([[], [(b"\xff", 1.0)]], recipe="default", return_reliable=True)
    assert values[0] == 0 and reliable.tolist() == [False, False]
    assert of([[("a", 1)]], recipe="default width=128").shape == (1, 2)
    refused: list[tuple[Any, type[Exception], str]] = [
        ([[("a", "b")]], TypeError, "document at 0 has a weight that is no number"),
        ([["ab"]], TypeError, "pairs of a feature and its weight"),
        (["text"], TypeError, "has a str"),
        ({"a": 1}, TypeError, "not dict"),
        ([[("a", float("nan"))]], ValueError, "weight NaN"),
        ([[(2**64, 1)]], OverflowError, "64 bits"),
    ]
    for wrong, error, text in refused:
        with pytest.raises(error, match=text):
            of(wrong)


def test_any_set_is_opened_by_its_path(tmp_path: Path, build: Build) -> None:
    values = clustered(200)
    index = build(values, ids=list(range(200)))
    opened = hamdex.open(index.path)
    assert isinstance(opened, hamdex.Index) and opened.file_id == index.file_id
    with hamdex.Store(tmp_path / "a.store", distance=3) as store:
        store.insert(values, list(range(200)))
        current = hamdex.open(tmp_path / "a.store")
        assert isinstance(current, hamdex.Snapshot)
    made = ["hamdex", "-q", "shards", "create", str(tmp_path / "a.shards"), str(index.path)]
    assert run_command(made) == 0
    shards = hamdex.open(str(tmp_path / "a.shards"))
    for found in (opened, current, shards):
        assert (len(found), found.width, found.distance, found.has_ids) == (len(set(values.tolist())), 64, 3, True)
        assert (found.has_shingles, found.recipe, found.closed) == (False, None, False)
        assert values[7] in found and len(found.pairs(k=3).read_all()) == len(index.pairs(k=3).read_all())
        assert found.verify().bytes >= 0
        assert found.query(values[3], k=3) == index.query(values[3], k=3)
        assert found.batch(values, k=3).to_dict()["distance"].tolist() == index.batch(values, k=3)["distance"].tolist()
        limited = found.batch(values, k=9, limit=1, strategy="scan", threads=1)
        assert limited["query"].tolist() == sorted(limited["query"].tolist()) and limited["distance"].max() == 0
        with pytest.raises(ValueError, match="at most 64"):
            found.query(values[3], k=65)
        with found as same:
            assert same is found
        assert found.closed and "closed" in repr(found)
        with pytest.raises(ValueError, match="is closed"):
            found.query(values[3])
    with pytest.raises(FileNotFoundError):
        hamdex.open(tmp_path / "missing")


def test_tables_have_rows(build: Build) -> None:
    texts = [STORY, STORY + " & <b>more</b>", "x"]
    table = hamdex.dedup(texts)
    rows = list(table)
    assert [row["id"] for row in rows] == [0, 1] and rows[0]["kept"] is True and len(rows) == len(table)
    assert list(table[1:]) == rows[1:] and list(table[::-1]) == rows[::-1] and len(table[5:]) == 0
    assert isinstance(table[:1], hamdex.Table) and table[:1].column_names == table.column_names
    frame = pd.DataFrame(table)
    assert list(frame.columns) == table.column_names and frame["id"].tolist() == [0, 1]
    names = build(clustered(40), ids=[f"<{number}>" for number in range(40)]).batch(clustered(40), k=2)
    page = names._repr_html_()
    assert page.count("<tr>") == 11 and "&lt;0&gt;" in page and f"{len(names) - 10:,} more rows" in page
    with pytest.raises(TypeError, match="a slice of rows, not int"):
        table[0]  # type: ignore[call-overload]


def test_columns_of_frames_whose_rows_have_other_labels(build: Build) -> None:
    frame = pd.DataFrame({"url": ["a", "b", "c"], "text": [STORY, STORY + " x", STORY + " y"], "n": [7, 8, 9]})[1:]
    fingerprints = hamdex.fingerprint(frame["text"])
    assert build(fingerprints, frame["url"]).query(fingerprints[0], k=0)[0].ids == ["b"]
    assert build(fingerprints, frame["n"]).query(fingerprints[0], k=0)[0].ids == [8]
    assert build(fingerprints, range(5, 7)).query(fingerprints[0], k=0)[0].ids == [5]
