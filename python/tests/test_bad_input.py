"""Invalid input is rejected with a message, and leaves nothing behind."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import hamdex
import numpy as np
import pyarrow as pa
import pytest
from conftest import Build, uniform

ONES = np.ones(3, dtype=np.uint64)


@pytest.mark.parametrize(
    ("fingerprints", "error", "text"),
    [
        (np.ones(3), TypeError, "floats"),
        (np.ones(3, dtype=object), TypeError, "uint64"),
        (np.ones(3, dtype=np.uint32), TypeError, "widen"),
        (np.ones(3, dtype=bool), TypeError, "uint64"),
        (np.ones((3, 3), dtype=np.uint64), ValueError, r"\(n, 2\)"),
        (np.uint64(3), ValueError, "shape"),
        ([1, -(2**63) - 1], OverflowError, "64 bits"),
        (np.ma.array([1, 2], mask=[False, True], dtype="uint64"), TypeError, "masked array"),
        (np.ones((3, 7), dtype=np.uint8), ValueError, r"\(n, 8\)"),
        ({1: 2}, TypeError, "not dict"),
        (pa.table({"a": [1]}), TypeError, "one of its columns, which are: a"),
        ([1, 2**64], OverflowError, "64 bits"),
        ([1, 2.5], TypeError, "expected an integer"),
        ([1, True], TypeError, "expected an integer, got bool"),
        ([1, np.True_], TypeError, "expected an integer, got bool"),
        (pa.array([True]), TypeError, "Boolean"),
        (["a"], TypeError, "expected an integer"),
        ("text", TypeError, "str"),
        (None, TypeError, "NoneType"),
        (pa.array([1, None], pa.uint64()), ValueError, "row 1 is null"),
        (pa.array([1.5]), TypeError, "Float64"),
        (pa.array(["a"]), TypeError, "Utf8"),
    ],
)
def test_wrong_fingerprints(tmp_path: Path, fingerprints: object, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        hamdex.build(tmp_path / "x", fingerprints)  # type: ignore[arg-type]
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("ids", "error", "text"),
    [
        ([1, 2], ValueError, "3 fingerprints but 2 ids"),
        (np.array([1, -1, 2]), ValueError, "at 1 is negative: -1"),
        (np.array([1.0, np.nan, 2.0]), TypeError, "float64"),
        (np.ones((3, 1), dtype=np.uint64), ValueError, "shape"),
        ([1, -1, 2], ValueError, "at 1 is negative"),
        ([1, False, 2], TypeError, "expected an integer, got bool"),
        (np.ones(3, dtype=bool), TypeError, "bool"),
        (["a", "b", 3], TypeError, "the id at 2 is not a str but int"),
        (["a", None, "b"], TypeError, "the id at 1 is not a str but NoneType"),
        ({"a": 1, "b": 2, "c": 3}, TypeError, "dict"),
        (np.ma.array([1, 2, 3], mask=[False, True, False]), TypeError, "ids must not be a masked array"),
        (pa.array([1, None, 2]), ValueError, "row 1 is null"),
        ("abc", TypeError, "str"),
    ],
)
def test_wrong_ids(tmp_path: Path, ids: object, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        hamdex.build(tmp_path / "x", ONES, ids)  # type: ignore[arg-type]
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"distance": 200}, "distance"),
        ({"distance": -1}, "distance must not be negative: -1"),
        ({"memory": -1}, "memory must not be negative: -1"),
        ({"threads": -1}, "threads must not be negative: -1"),
        ({"design": "nonsense"}, "use one of: "),
        ({"codec": "zip"}, "huffman, elias-fano"),
        ({"filter": "all"}, "use auto, none or 1 to 64 bits per fingerprint, not \"all\""),
        ({"filter": ""}, "1 to 64"),
        ({"filter": 0}, "1 to 64"),
        ({"filter": 65}, "1 to 64"),
        ({"filter": 2**70}, "1 to 64"),
        ({"recipe": "defautl"}, "there are: "),
        ({"recipe": "default width=128"}, "128 bits, but the given ones have 64"),
        ({"metadata": {"hamdex.x": "y"}}, "reserved for hamdex"),
        ({"threads": 0}, "at least 1"),
        ({"threads": 5000}, "at most 1024"),
        ({"memory": 1}, "at least 16 MiB"),
    ],
)
def test_wrong_options(tmp_path: Path, options: dict[str, object], text: str) -> None:
    with pytest.raises(ValueError, match=text):
        hamdex.build(tmp_path / "x", ONES, **options)  # type: ignore[arg-type]
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("filter", [True, 1.5, [11], b"none"])
def test_a_filter_of_another_type(tmp_path: Path, filter: object) -> None:
    with pytest.raises(TypeError, match='expected "auto", "none" or an int'):
        hamdex.build(tmp_path / "x", ONES, filter=filter)  # type: ignore[arg-type]


def test_what_arrays_are_taken_as(build: Build) -> None:
    values = uniform(100)
    expected = build(values).file_id
    strided = np.stack([values, uniform(100, 2)], axis=1)[:, 0]
    for same in (
        values.view(np.int64),
        strided,
        values.astype(">u8"),
        values[::-1],
        values.tolist(),
        tuple(values.tolist()),
        pa.array(values),
        pa.array(values.view(np.int64)),
        pa.chunked_array([pa.array(values[:30]), pa.array(values[30:])]),
    ):
        assert build(same).file_id == expected
    assert build(values[values > 2**63].view(np.int64)).query(np.int64(-1), k=64)[0].fingerprint > 2**63


def test_empty_input_makes_an_empty_index(build: Build) -> None:
    empties: list[object] = [[], np.array([], dtype=np.uint64), pa.array([], pa.uint64())]
    for empty in empties:
        index = build(empty)
        assert len(index) == 0 and index.query(0, k=64) == [] and len(index.pairs().read_all()) == 0
    with pytest.raises(TypeError, match="float64"):
        build(np.array([]))


def test_errors_have_the_names_of_python(tmp_path: Path, build: Build) -> None:
    with pytest.raises(FileNotFoundError):
        hamdex.Index(tmp_path / "missing")
    with pytest.raises(OSError):
        hamdex.Index(tmp_path)
    with pytest.raises(IsADirectoryError):
        hamdex.build(tmp_path, ONES)
    with pytest.raises(FileNotFoundError):
        hamdex.build(tmp_path / "no" / "where", ONES)
    path = build(ONES).path
    before = path.read_bytes()
    with pytest.raises(FileExistsError, match="overwrite=True"):
        hamdex.build(path, ONES)
    with pytest.raises(ValueError, match="is the input"):
        hamdex.merge([path], path, overwrite=True)
    assert path.read_bytes() == before


def test_damage_and_other_files(tmp_path: Path, build: Build) -> None:
    path = build(uniform(5000)).path
    whole = path.read_bytes()
    (tmp_path / "other").write_bytes(b"something else" * 1000)
    with pytest.raises(hamdex.FormatError, match="not a hamdex file"):
        hamdex.Index(tmp_path / "other")
    (tmp_path / "short").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(hamdex.DamagedError, match="truncated"):
        hamdex.Index(tmp_path / "short")
    damaged = bytearray(whole)
    damaged[len(whole) // 3] ^= 1
    (tmp_path / "damaged").write_bytes(damaged)
    with pytest.raises(hamdex.DamagedError, match="damaged at"):
        hamdex.Index(tmp_path / "damaged").verify()
    assert issubclass(hamdex.DamagedError, hamdex.Error)


def test_wrong_queries(build: Build) -> None:
    index = build(ONES)
    with pytest.raises(ValueError, match="recipe="):
        index.query("some text")
    with pytest.raises(OverflowError, match="64 bits"):
        index.query(2**64)
    with pytest.raises(OverflowError, match="64 bits"):
        index.query(-(2**63) - 1)
    with pytest.raises(ValueError, match=r"batch\(\) takes many"):
        index.query(ONES[:2])
    for wrong, text in ((65, "k must be at most 64"), (-1, "k must not be negative: -1"), (2**70, "k is too large")):
        with pytest.raises(ValueError, match=text):
            index.query(1, k=wrong)
        with pytest.raises(ValueError, match=text):
            index.first(1, k=wrong)
        with pytest.raises(ValueError, match=text):
            index.nearest(1, k=wrong)
        with pytest.raises(ValueError, match=text):
            index.batch(ONES, k=wrong)
        with pytest.raises(ValueError, match=text):
            index.pairs(k=wrong)
        with pytest.raises(ValueError, match=text):
            hamdex.pairs(ONES, k=wrong)
    assert len(index.query(1, k=64)) == 1 and len(index.nearest(1, 5, k=64)) == 1
    with pytest.raises(ValueError, match="limit must not be negative: -1"):
        index.query(1, limit=-1)
    with pytest.raises(ValueError, match="threads must not be negative: -1"):
        index.batch(ONES, threads=-1)
    with pytest.raises(ValueError, match="memory must not be negative: -1"):
        index.batch(ONES, memory=-1)
    with pytest.raises(ValueError, match="count must not be negative: -1"):
        index.nearest(1, -1)
    for many in ([1, 2], (1, 2)):
        with pytest.raises(TypeError, match=r"batch\(\) takes many"):
            index.query(many)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="k must be a whole number, not str"):
        index.query(1, k="3")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="expected an integer"):
        index.query(1.0)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"batch\(\)"):
        index.query(ONES)
    with pytest.raises(ValueError, match="of 64 bits, got 128"):
        index.batch(np.ones((2, 2), dtype=np.uint64))
    with pytest.raises(ValueError, match="there are: auto"):
        index.batch(ONES, strategy="best")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="one text"):
        index.batch("text")
    with pytest.raises(ValueError, match="recipe="):
        index.batch(["some text"])
    with pytest.raises(KeyError, match="query, fingerprint"):
        index.batch(ONES)["rows"]


def test_wrong_merges(tmp_path: Path) -> None:
    hamdex.build(tmp_path / "narrow", ONES)
    hamdex.build(tmp_path / "wide", np.ones((1, 2), dtype=np.uint64))
    hamdex.build(tmp_path / "ids", ONES, ids=[1, 2, 3])
    hamdex.build(tmp_path / "other", ONES, metadata={"a": "b"})
    for other, text in (("wide", "64 bits, and others of 128"), ("ids", "have ids"), ("other", "metadata")):
        with pytest.raises(ValueError, match=text):
            hamdex.merge([tmp_path / "narrow", tmp_path / other], tmp_path / "out")
    with pytest.raises(ValueError, match="from 1 to"):
        hamdex.merge([], tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_bool_is_no_number(build: Build, tmp_path: Path) -> None:
    index = build([0, 1, 2], [0, 1, 2])
    with hamdex.Store(tmp_path / "s", lookups=True) as store:
        store.insert(1, 1)
        for wrong in (True, np.True_):
            questions: list[Callable[[Any], object]] = [
                lambda one: index.query(one),
                lambda one: index.nearest(one),
                lambda one: index.first(one),
                lambda one: one in index,
                lambda one: index.batch([one]),
                lambda one: index.query(1, k=one),
                lambda one: index.query(1, limit=one),
                lambda one: store.insert(one, 1),
                lambda one: store.insert(1, one),
                lambda one: store.insert([1, one], [1, 2]),
                lambda one: store.insert([1, 2], [1, one]),
                lambda one: store.upsert(one, 1),
                lambda one: store.upsert(1, one),
                lambda one: store.insert_unless_near(one, 5),
                lambda one: store.insert_unless_near(5, one),
                lambda one: store.remove(one),
                lambda one: store.remove(1, one),
                lambda one: store.remove_ids([one]),
                lambda one: store.fingerprints_of(one),
                lambda one: store.query(one),
            ]
            for number, ask in enumerate(questions):
                with pytest.raises(TypeError):
                    ask(wrong)
                    pytest.fail(f"question {number} took {wrong!r}")
        assert store.query(1, 64) == [(1, 0, [1], 1)]


def test_distances_beyond_the_width_are_refused(build: Build, tmp_path: Path) -> None:
    for values, bits in ((ONES, 64), (np.ones((3, 2), dtype=np.uint64), 128)):
        index = build(values)
        query = values[0]
        assert len(index.query(query, bits)) == len(index.batch(values[:1], bits)) == 1
        width: Any = bits
        with hamdex.Store(tmp_path / f"{bits}", width=width, ids=False) as store:
            refused: list[Callable[[int], object]] = [
                lambda k: index.query(query, k),
                lambda k: index.nearest(query, k=k),
                lambda k: index.first(query, k),
                lambda k: index.batch(values, k),
                lambda k: index.pairs(k),
                lambda k: hamdex.pairs(values, k),
                lambda k: store.query(query, k),
                lambda k: store.insert_unless_near(query, k=k),
                lambda k: hamdex.build(tmp_path / "x", values, distance=k),
                lambda k: hamdex.Store(tmp_path / "y", width=width, distance=k),
                lambda k: hamdex.dedup(["a"], k=k, recipe=f"default width={bits}"),
                lambda k: hamdex.dedup(["a"], k=k, against=index, recipe=f"default width={bits}"),
            ]
            for number, ask in enumerate(refused):
                with pytest.raises(ValueError):
                    ask(bits + 1)
                    pytest.fail(f"question {number} took {bits + 1}")


def test_what_is_missing_is_not_found(tmp_path: Path) -> None:
    missing = tmp_path / "missing"
    asked: list[Callable[[Path], object]] = [
        hamdex.open,
        hamdex.Index,
        lambda path: hamdex.merge([path], tmp_path / "x"),
    ]
    for ask in asked:
        with pytest.raises(FileNotFoundError, match="missing"):
            ask(missing)
    with pytest.raises(FileNotFoundError, match="missing"):
        hamdex.dedup(["a"], against=missing)
