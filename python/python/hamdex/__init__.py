"""Find near-duplicates among billions of documents: exactly, in microseconds, from a compressed file.

>>> import hamdex, os, tempfile
>>> path = os.path.join(tempfile.mkdtemp(), "news.hamdex")
>>> story = "Call me Ishmael. Some years ago, never mind how long precisely, having little or no money in my purse"
>>> fps = hamdex.fingerprint([story, story + " at all"])
>>> summary = hamdex.build(path, fps, ids=["one", "two"], distance=3, recipe="default")
>>> index = hamdex.Index(path)
>>> index.query(story)[0].ids
['one']
"""

from ._hamdex import (
    BuildError,
    DamagedError,
    Error,
    FormatError,
    Index,
    Pairs,
    Set,
    Snapshot,
    Store,
    StoreError,
    Table,
    __version__,
    build,
    dedup,
    fingerprint,
    fingerprint_features,
    merge,
    open,
    pairs,
    shingles,
)
from ._remote import Remote, RemoteError, connect
from ._results import Match, Similar, Summary, Verified

__all__ = [
    "BuildError",
    "DamagedError",
    "Error",
    "FormatError",
    "Index",
    "Match",
    "Pairs",
    "Remote",
    "RemoteError",
    "Set",
    "Similar",
    "Snapshot",
    "Store",
    "StoreError",
    "Summary",
    "Table",
    "Verified",
    "__version__",
    "build",
    "connect",
    "dedup",
    "fingerprint",
    "fingerprint_features",
    "merge",
    "open",
    "pairs",
    "shingles",
]
