"""Near-duplicates on Spark: the same answers as on one machine, from as many as there are.

>>> from hamdex import spark as hs                                # doctest: +SKIP
>>> hs.fingerprint(df, text="text", id="id")                      # doctest: +SKIP
>>> hs.build(df, "/shared/news", shards=64)                       # doctest: +SKIP
>>> hs.query(queries, "/shared/news", k=3)                        # doctest: +SKIP
>>> hs.pairs(df, k=3)                                             # doctest: +SKIP
>>> hs.dedup(df)                                                  # doctest: +SKIP

Spark has no unsigned numbers: a fingerprint of 64 bits is a ``bigint`` with the same bits, one of 128 bits a
``struct<high: bigint, low: bigint>``.

- ``_tasks``: how work gets to executors
- ``_columns``, ``_words``: what columns must be, and their bits as arrays
- ``_fingerprint``, ``_build``, ``_query``, ``_pairs``, ``_dedup``: what the package offers
- ``_shards``: the files of a set, and the file that lists them
- ``_leads``, ``_near``: fingerprints within a distance
- ``_prefixes``, ``_similar``: similar texts
- ``_features``, ``_components``, ``_stars``: from texts to clusters
- ``_plans``: what Spark keeps
- ``_rows``: rows where whole columns will not do
"""

from importlib.util import find_spec

# Spark needs pandas for whatever goes through Arrow, and says so late.
for _needed in ("pyspark", "pyarrow", "pandas"):
    if find_spec(_needed) is None:
        raise ModuleNotFoundError(
            f"hamdex.spark needs {_needed}, which is not installed: pip install 'hamdex[spark]'", name=_needed
        )

from ._build import build  # noqa: E402
from ._dedup import dedup  # noqa: E402
from ._fingerprint import fingerprint  # noqa: E402
from ._pairs import pairs  # noqa: E402
from ._query import query  # noqa: E402
from ._shards import Shard, Shards  # noqa: E402

__all__ = ["Shard", "Shards", "build", "dedup", "fingerprint", "pairs", "query"]
