"""Results in other libraries."""

import hamdex
import numpy as np
import polars as pl
import pyarrow as pa
from conftest import Build, clustered, wide


def test_tables_are_taken_without_a_copy_of_their_own(build: Build) -> None:
    values = clustered(1000)
    result = build(values, np.arange(1000)).batch(values[:50], k=2)
    table = pa.table(result)
    assert table.schema.names == ["query", "fingerprint", "distance", "id", "ids_count"]
    assert table.schema.types == [pa.uint64(), pa.uint64(), pa.uint32(), pa.uint64(), pa.uint64()]
    assert pa.record_batch(result).num_rows == table.num_rows == len(result)
    frame = pl.DataFrame(result)
    for name in result.column_names:
        assert table[name].to_pylist() == frame[name].to_list() == result[name].tolist()


def test_pairs_are_a_stream(build: Build) -> None:
    pairs = build(clustered(2000)).pairs(k=4)
    table = pa.RecordBatchReader.from_stream(pairs).read_all()
    assert table.num_rows == len(pairs.read_all()) > 0
    assert table.schema == pa.schema(pairs)
    assert pl.DataFrame(pairs).height == table.num_rows


def test_wide_fingerprints_are_little_endian_bytes(build: Build) -> None:
    values = wide(500)
    table = pa.table(build(values).batch(values[:20], k=0))
    assert table["fingerprint"].type == pa.binary(16)
    numbers = [int.from_bytes(value.as_py(), "little") for value in table["fingerprint"]]
    assert numbers == [int(high) << 64 | int(low) for high, low in values[:20]]
    assert build(table["fingerprint"]).width == 128


def test_a_result_is_an_input_again(build: Build) -> None:
    values = clustered(500)
    table = pa.table(hamdex.pairs(values, k=4).read_all())
    assert len(build(table["left"])) == len(set(table["left"].to_pylist()))
