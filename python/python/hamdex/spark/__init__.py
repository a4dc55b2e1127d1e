"""Near-duplicates on Spark: the same answers as on one machine, from any number of machines.

>>> from hamdex import spark as hs                                # doctest: +SKIP
>>> hs.fingerprint(df, text="text", id="id")                      # doctest: +SKIP
>>> hs.build(df, "/shared/news", shards=64)                       # doctest: +SKIP
>>> hs.query(queries, "/shared/news", k=3)                        # doctest: +SKIP
>>> hs.pairs(df, k=3)                                             # doctest: +SKIP
>>> hs.dedup(df)                                                  # doctest: +SKIP
>>> hs.dedup(df, against=yesterday)                               # doctest: +SKIP

Spark has no unsigned numbers: a fingerprint of 64 bits is a ``bigint`` with the same bits, one of 128 bits a
``struct<high: bigint, low: bigint>``.

Modules of the public functions: ``_fingerprint``, ``_build``, ``_query``, ``_pairs`` and ``_dedup``. Below them:

- ``_columns``: checks of the columns that a caller names
- ``_bit_words``: fingerprints as arrays of 64-bit words
- ``_shards``: the files of a set, and its manifest
- ``_distance_join``, ``_pigeonhole``: all pairs within a distance, and the groups of bits by which they are found
- ``_similarity_join``, ``_prefix_filter``: all pairs of similar texts, and the shingles by which they are found
- ``_known``: documents that are known already
- ``_document_features``, ``_grouping``, ``_components``: the steps of ``dedup`` before and after such a join
- ``_executors``: functions that run on executors
- ``_persisted``: tables that Spark keeps
- ``_row_batches``: rows of batches, for steps that cannot work on whole columns
"""

from importlib.util import find_spec

# Spark needs pandas for data that passes through Arrow, and fails late without it.
for _needed in ("pyspark", "pyarrow", "pandas"):
    if find_spec(_needed) is None:
        raise ModuleNotFoundError(
            f"hamdex.spark needs {_needed}, which is not installed: pip install './python[spark]', from a clone of the repository",
            name=_needed,
        )

from ._build import build  # noqa: E402
from ._dedup import dedup  # noqa: E402
from ._fingerprint import fingerprint  # noqa: E402
from ._pairs import pairs  # noqa: E402
from ._query import query  # noqa: E402
from ._shards import Shard, Shards  # noqa: E402

__all__ = ["Shard", "Shards", "build", "dedup", "fingerprint", "pairs", "query"]
