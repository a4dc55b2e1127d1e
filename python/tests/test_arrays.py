"""Random arrays of any type, shape, order and alignment: accepted with the right numbers, or rejected."""

from collections.abc import Callable
from pathlib import Path

import hamdex
import numpy as np
import numpy.typing as npt
import polars as pl
import pyarrow as pa
import pytest
from conftest import Build, Words, clustered

Array = npt.NDArray[np.generic]

CASES = range(150)


def scattered(array: Array, random: np.random.Generator) -> Array:
    """Return the same array with its items elsewhere in memory."""
    if array.dtype.hasobject:
        return array
    match random.integers(0, 9):
        case 0:
            return np.repeat(array, 2, axis=0)[::2]
        case 1:
            return array[::-1].copy()[::-1]
        case 2:
            return np.asfortranarray(array)
        case 3:
            padded = np.zeros((len(array) + 7, *array.shape[1:]), array.dtype)
            padded[3 : 3 + len(array)] = array
            return padded[3 : 3 + len(array)]
        case 4:
            # Unaligned items.
            memory = bytearray(array.nbytes + 8)
            shifted = np.frombuffer(memory, array.dtype, array.size, offset=3).reshape(array.shape)
            shifted[...] = array
            return shifted
        case 5:
            array = array.copy()
            array.flags.writeable = False
            return array
        case 6:
            records = np.zeros(array.shape, [("before", "u1"), ("item", array.dtype)])
            records["item"] = array
            return records["item"]
        case 7:
            return array.astype(array.dtype.newbyteorder())
        case _:
            return array.view(np.recarray)


def columns(array: Words, random: np.random.Generator) -> object:
    """Return the same numbers as an Arrow column."""
    dtype = [np.uint64, np.int64][random.integers(0, 2)]
    start = int(random.integers(0, 5))
    padded = np.concatenate([np.arange(start, dtype=np.uint64), array]).view(dtype)
    column = pa.array(padded)[start:]
    cut = int(random.integers(0, len(array) + 1))
    match random.integers(0, 5):
        case 0:
            return column
        case 1:
            return pa.chunked_array([column[:cut], column[cut:]])
        case 2:
            return pa.chunked_array([column[:cut], column[cut:cut], column[cut:]])
        case 3:
            # Unaligned numbers.
            buffer = pa.py_buffer(b"123" + padded.tobytes())[3:]
            return pa.Array.from_buffers(column.type, len(padded), [None, buffer])[start:]
        case _:
            return pl.Series(padded)[start:]


def numbers_of(array: Words) -> list[int]:
    """Return the fingerprints in an array."""
    if array.ndim == 1:
        return [int(word) for word in array]
    return [int(high) << 64 | int(low) for high, low in array]


@pytest.mark.parametrize("seed", CASES)
def test_arrays_are_the_numbers_that_they_hold(build: Build, seed: int) -> None:
    random = np.random.default_rng(seed)
    count = int(random.integers(2, 40))
    wide = bool(random.integers(0, 2))
    values = clustered(2 * count, seed).reshape(-1, 2) if wide else clustered(count, seed)
    ids = random.integers(0, 2**63, count, dtype=np.int64)
    expected = build(values.copy(), ids.tolist()).file_id

    given: object = scattered(values.view([np.uint64, np.int64][random.integers(0, 2)]), random)
    if random.integers(0, 3) == 0:
        given = wide_column(values) if wide else columns(values, random)
    given_ids = scattered(ids, random) if random.integers(0, 2) else columns(ids.view(np.uint64), random)
    index = build(given, given_ids)
    assert index.file_id == expected

    # The same as queries: each finds itself.
    table = index.batch(given, k=0)  # type: ignore[arg-type]
    assert sorted(set(table["query"].tolist())) == list(range(count))
    for row, fingerprint in zip(table["query"].tolist(), numbers_of(table["fingerprint"]), strict=True):
        assert fingerprint == numbers_of(values)[row]
    place = int(random.integers(0, count))
    one = scattered(values, random)[place]
    assert index.query(one, k=0)[0].fingerprint == numbers_of(values)[place]


def wide_column(values: Words) -> pa.Array:
    """Return a slice of an Arrow column of 128-bit numbers."""
    texts = [number.to_bytes(16, "little") for number in numbers_of(values)]
    return pa.array([bytes(16), *texts], pa.binary(16))[1:]


WRONG_TYPES = ["f8", "f4", "u4", "i4", "u2", "i1", "?", "c16", "S8", "M8[s]", "m8[s]", "O"]


@pytest.mark.parametrize("seed", CASES)
def test_other_arrays_are_refused_and_leave_nothing(tmp_path: Path, seed: int) -> None:
    random = np.random.default_rng(seed)
    count = int(random.integers(2, 20))
    good = clustered(count, seed)

    def of_wrong_type() -> object:
        dtype = WRONG_TYPES[random.integers(0, len(WRONG_TYPES))]
        shape = [(count,), (count, 2), (count, 3)][random.integers(0, 3)]
        return scattered(np.zeros(shape, dtype), random)

    def of_wrong_shape() -> object:
        shapes = [(count, 1), (count, 3), (count, 2, 1), (count, 1, 2), (), (0, 3), (0, 0)]
        return np.zeros(shapes[random.integers(0, len(shapes))], [np.uint64, np.int64][random.integers(0, 2)])

    def with_null() -> object:
        numbers = [int(number) for number in good]
        nulls = [None if place == seed % count else number for place, number in enumerate(numbers)]
        column = pa.array(nulls, pa.uint64())
        return [column, pa.chunked_array([column[:1], column[1:]]), pl.Series(nulls, dtype=pl.UInt64), nulls][
            random.integers(0, 4)
        ]

    def of_wrong_column() -> object:
        kinds = [pa.uint32(), pa.int8(), pa.float64(), pa.string(), pa.binary(), pa.bool_(), pa.binary(8), pa.null()]
        kind = kinds[random.integers(0, len(kinds))]
        return pa.nulls(count, kind)

    makers: list[Callable[[], object]] = [of_wrong_type, of_wrong_shape, with_null, of_wrong_column]
    given = makers[random.integers(0, len(makers))]()
    with pytest.raises((TypeError, ValueError, OverflowError)):
        hamdex.build(tmp_path / "x", given)  # type: ignore[arg-type]
    assert list(tmp_path.iterdir()) == []
    ids = makers[random.integers(0, len(makers))]()
    with pytest.raises((TypeError, ValueError, OverflowError)):
        hamdex.build(tmp_path / "x", good, ids)  # type: ignore[arg-type]
    assert list(tmp_path.iterdir()) == []
