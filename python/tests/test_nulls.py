"""A null is a document without text: kept, a near-duplicate of none, and not stored."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import hamdex
import numpy as np
import polars as pl
import pyarrow as pa
import pytest

pd: Any = pytest.importorskip("pandas")

STORY = "Call me Ishmael. Some years ago, never mind how long precisely, having little or no money in my purse"
OTHER = "The sun shone, having no alternative, on the nothing new; Murphy sat out of it, as though he were free, in a mew"
TEXTS = [None, STORY, OTHER, None, STORY]
NAMES = ["a", "b", "c", "d", "e"]
WITHOUT = [STORY, OTHER, STORY]

FORMS: dict[str, Callable[[list[str | None]], Any]] = {
    "list": list,
    "nan": lambda texts: [float("nan") if text is None else text for text in texts],
    "numpy": lambda texts: np.array(texts, dtype=object),
    "pandas": lambda texts: pd.Series(texts, dtype=object),
    "pandas nan": lambda texts: pd.Series([np.nan if text is None else text for text in texts], dtype=object),
    "pandas string": lambda texts: pd.Series(texts, dtype="string"),
    "polars": lambda texts: pl.Series(texts, dtype=pl.String),
    "pyarrow": lambda texts: pa.array(texts, pa.string()),
    "chunks": lambda texts: pa.chunked_array([texts[:1], texts[1:]], pa.large_string()),
    "categories": lambda texts: pa.array(texts, pa.string()).dictionary_encode(),
}


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_a_null_is_a_document_without_text(tmp_path: Path, form: Callable[[list[str | None]], Any]) -> None:
    given = form(TEXTS)
    fingerprints, reliable = hamdex.fingerprint(given, return_reliable=True)
    assert fingerprints[[1, 2, 4]].tolist() == hamdex.fingerprint(WITHOUT).tolist()
    assert fingerprints[[0, 3]].tolist() == [0, 0] and reliable.tolist() == [False, True, True, False, True]
    assert [len(one) > 0 for one in hamdex.shingles(given)["shingles"]] == reliable.tolist()
    choices: list[dict[str, Any]] = [{}, {"k": 3}, {"similarity": 0.7, "k": 3}]
    for options in choices:
        assert hamdex.dedup(given, **options)["id"].tolist() == [1, 4]
    clusters, known = hamdex.dedup([None, OTHER, None], against=given)
    assert len(clusters) == 0 and known["id"].tolist() == [1] and known["known"].tolist() == [2]
    for shingles in (False, True):
        path = tmp_path / f"{shingles}.hamdex"
        assert hamdex.build(path, given, NAMES, recipe="default", shingles=shingles).ids == 3
        assert hamdex.Index(path).query(STORY, 0)[0].ids == ["b", "e"]
        with pytest.raises(ValueError, match="the text at 0 has no fingerprint"):
            hamdex.Index(path).batch(given)
    with hamdex.Store(tmp_path / "names", names=True, recipe="default", lookups=True) as store:
        store.insert(given, NAMES)
        assert [name for name in NAMES if store.fingerprints_of(name)] == ["b", "c", "e"]
        outcomes = store.insert_unless_near(given, ["f", "g", "h", "i", "j"], k=0)
        assert [near and near.ids for near in outcomes] == [None, ["b", "e"], ["c"], None, ["b", "e"]]
        assert store.insert_unless_near(form([None, STORY, None]), ["f", "b", "i"], k=0, replace=True)[0] is None
        with pytest.raises(ValueError, match="the text at 0 is blank: nothing can replace"):
            store.upsert(given, NAMES)
    with hamdex.Store(tmp_path / "numbers", recipe="default") as store:
        store.insert(given, range(5))
        assert store.query(STORY, 0)[0].ids == [1, 4]
    with hamdex.Store(tmp_path / "texts", names=True, recipe="default", shingles=True) as store:
        assert store.insert_unless_similar(given, NAMES) == [None, None, None, None, ("b", 1.0)]
        assert store.snapshot().query(STORY, 0)[0].ids == ["b"] and len(store.snapshot()) == 2


@pytest.mark.parametrize("form", [pa.table, pl.DataFrame, pd.DataFrame], ids=["pyarrow", "polars", "pandas"])
def test_tables_may_have_nulls(form: Callable[[dict[str, Any]], Any]) -> None:
    table = form({"text": TEXTS, "id": NAMES})
    assert hamdex.dedup(table, id="id")["id"] == ["b", "e"]


NULLS: list[Any] = [
    [None, None],
    pa.nulls(2, pa.string()),
    pl.Series([None, None], dtype=pl.String),
    # Arrow's own type of nothing, which a column without any text gets.
    pa.nulls(2),
    pa.chunked_array([pa.nulls(1), pa.nulls(0), pa.nulls(1)]),
    pa.array([None, None]).dictionary_encode(),
    pl.Series([None, None]),
    pd.Series(pa.nulls(2), dtype=pd.ArrowDtype(pa.null())),
]


def test_nothing_but_nulls(tmp_path: Path) -> None:
    for nulls in NULLS:
        assert len(hamdex.dedup(nulls)) == 0
        assert hamdex.fingerprint(nulls).tolist() == [0, 0]
        with hamdex.Store(tmp_path / "s", recipe="default") as store:
            store.insert(nulls, [1, 2])
            assert len(store.snapshot()) == 0
            assert store.insert_unless_near(nulls, [3, 4]) == [None, None]
    with pytest.raises(TypeError, match="the id at 0 is not a str but NoneType"):
        hamdex.build(tmp_path / "x", [1, 2], [None, "a"])  # type: ignore[arg-type]


def test_a_column_of_nothing_has_texts_and_no_ids(tmp_path: Path) -> None:
    tables: list[Callable[[dict[str, Any]], Any]] = [pa.table, pl.DataFrame]
    for table in tables:
        new = table({"text": [None, None], "id": ["a", "b"]})
        clusters, known = hamdex.dedup(new, id="id", against=table({"text": [None], "id": ["c"]}))
        assert len(clusters) == 0 and len(known) == 0
        with pytest.raises(ValueError, match="the id of row 0 is null: leave such rows out"):
            hamdex.dedup(table({"text": WITHOUT, "id": [None] * 3}), id="id")
    nulls: Any
    for nulls in (pa.nulls(3), pa.chunked_array([pa.nulls(1), pa.nulls(2)]), pl.Series([None] * 3)):
        summary = hamdex.build(tmp_path / "a", nulls, NAMES[:3], recipe="default", shingles=True, overwrite=True)
        assert summary.ids == 0
        with pytest.raises(ValueError, match="the id of row 0 is null"):
            hamdex.build(tmp_path / "b", [1, 2, 3], nulls)
        with pytest.raises(ValueError, match="the fingerprint of row 0 is null"):
            hamdex.build(tmp_path / "b", nulls)
        with hamdex.Store(tmp_path / "c", recipe="default") as store:
            with pytest.raises(ValueError, match="the id of row 0 is null"):
                store.insert(WITHOUT, nulls)
            with pytest.raises(ValueError, match="the text at 0 has no fingerprint"):
                store.snapshot().batch(nulls)
            store.insert(pa.array([]), pa.array([]))
            assert len(store.snapshot()) == 0
    assert hamdex.build(tmp_path / "b", pa.array([]), pa.array([])).ids == 0
