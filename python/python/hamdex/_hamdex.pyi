"""The compiled part of the package."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from os import PathLike
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Protocol, Self, SupportsIndex, overload

import numpy as np
import numpy.typing as npt

from ._results import Match, Similar, Summary, Verified

__version__: str
_MAX_SHARDS: int

class _ArrowStream(Protocol):
    def __arrow_c_stream__(self, requested_schema: object = None) -> object: ...

class _ArrowArray(Protocol):
    def __arrow_c_array__(self, requested_schema: object = None) -> tuple[object, object]: ...

_Arrow = _ArrowStream | _ArrowArray
_Path = str | PathLike[str]
_Numbers = npt.NDArray[np.uint64] | npt.NDArray[np.int64] | npt.NDArray[np.uint8] | Sequence[SupportsIndex] | _Arrow
_One = SupportsIndex | npt.NDArray[np.uint64] | npt.NDArray[np.int64]
_Texts = Iterable[str | None] | _Arrow
_Progress = bool | Callable[[str, int, int | None], object] | None
_Codec = Literal["huffman", "elias-fano"]
_Filter = Literal["auto", "none"] | SupportsIndex
_Strategy = Literal["auto", "probe", "scan"]
_Measure = Literal["resemblance", "containing", "contained"]
_Shard = tuple[str, int, int, int, str]
_Manifest = tuple[int, int, str | None, str | None, Sequence[_Shard], str, str | None]

class Error(Exception):
    """An error of hamdex without a built-in exception."""
class DamagedError(Error):
    """A file is damaged: its bytes have changed since they were written."""
class FormatError(Error):
    """A file is not a hamdex file, or of an unsupported version."""
class BuildError(Error):
    """An index cannot be built."""
class StoreError(Error):
    """A store cannot be used now: another process has it open, or had it before a fork."""

@overload
def fingerprint(  # type: ignore[overload-overlap]
    texts: str,
    recipe: str = "default",
    *,
    width: Literal[64, 128] | None = None,
    return_reliable: Literal[False] = False,
    threads: int | None = None,
    progress: _Progress = None,
) -> int:
    """Make fingerprints of texts. The fingerprints of near-duplicates differ in few bits.

    ``texts`` is a list of str, or an Arrow column of strings. The result is an array of uint64; for 128 bits
    an array of shape (n, 2), the high word first. A single str gives a single int.

    The fingerprint of a text of too few words is unreliable: ``return_reliable=True`` returns a second array,
    of bool, which is false for such texts. A text without features has the fingerprint 0, as has a null.

    >>> import hamdex
    >>> texts = ["the quick brown fox jumps over the lazy dog " * 3, "nothing"]
    >>> hamdex.fingerprint(texts).dtype
    dtype('uint64')
    >>> hamdex.fingerprint(texts, recipe="default width=128").shape
    (2, 2)
    >>> _, reliable = hamdex.fingerprint(texts, return_reliable=True)
    >>> reliable.tolist()
    [False, False]
    """
@overload
def fingerprint(  # type: ignore[overload-overlap]
    texts: str,
    recipe: str = "default",
    *,
    width: Literal[64, 128] | None = None,
    return_reliable: Literal[True],
    threads: int | None = None,
    progress: _Progress = None,
) -> tuple[int, bool]: ...
@overload
def fingerprint(
    texts: _Texts,
    recipe: str = "default",
    *,
    width: Literal[64, 128] | None = None,
    return_reliable: Literal[False] = False,
    threads: int | None = None,
    progress: _Progress = None,
) -> npt.NDArray[np.uint64]: ...
@overload
def fingerprint(
    texts: _Texts,
    recipe: str = "default",
    *,
    width: Literal[64, 128] | None = None,
    return_reliable: Literal[True],
    threads: int | None = None,
    progress: _Progress = None,
) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.bool_]]: ...

_Feature = str | bytes | SupportsIndex
_Features = Iterable[tuple[_Feature, float]] | Mapping[Any, float]

@overload
def fingerprint_features(
    documents: Iterable[_Features],
    recipe: str = "default",
    *,
    width: Literal[64, 128] | None = None,
    return_reliable: Literal[False] = False,
) -> npt.NDArray[np.uint64]:
    """Make fingerprints of features with weights, for the recipes that take no text, such as "seomoz" and "yanyiwu".

    ``documents`` has, for each document, a list of pairs of a feature and its weight, or a dict. A feature is a str or
    bytes, which the recipe hashes, or an int, which is the hash itself. The result is as that of ``fingerprint``.

    >>> import hamdex
    >>> hamdex.fingerprint_features([[("aaa", 1), ("bbb", 1)], {"ccc": 2.5}], recipe="simhash-py")[0]
    np.uint64(57087923692560392)
    """
@overload
def fingerprint_features(
    documents: Iterable[_Features],
    recipe: str = "default",
    *,
    width: Literal[64, 128] | None = None,
    return_reliable: Literal[True],
) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.bool_]]: ...
def open(path: _Path) -> Index | Snapshot:
    """Open the index file, the store or the set of shards at a path, for queries.

    A file is an ``Index``. A store or a set of shards is a ``Snapshot``, with the same queries: a store as it is now,
    also while another process writes to it; ``Store`` opens it for writes.

    >>> import hamdex, os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "small.store")
    >>> with hamdex.Store(path, distance=3) as store:
    ...     store.insert([0b0000, 0b0111], ids=[1, 2])
    >>> hamdex.open(path).query(0b0001, k=1)
    [Match(fingerprint=0, distance=1, ids=[1], ids_count=1)]
    """
def shingles(
    texts: _Texts, words: int = 5, *, threads: int | None = None, progress: _Progress = None
) -> Table:
    """Cut texts into shingles, the runs of ``words`` words in them; ``dedup`` compares texts by their shingles.

    ``texts`` is a list of str, or an Arrow column of strings. The result is a table with one column,
    ``shingles``: for each text its distinct shingles as hashes of 48 bits, in ascending order, a
    ``large_list<uint64>`` in Arrow. The similarity of two texts is the number of shared hashes divided by the
    number of distinct hashes of both.

    Words are those of Unicode; case and punctuation do not count; in a script without spaces each character
    is a word. A text of fewer words has one shingle, all of it, and a blank text has none. ``words`` is at
    most 64.

    >>> import hamdex
    >>> one, other, blank = hamdex.shingles(["the cat sat on the mat", "The cat sat on a mat!", " "], words=2)["shingles"]
    >>> len(one), len(other), len(blank), len(set(one.tolist()) & set(other.tolist()))
    (5, 5, 0, 3)
    """
def build(
    path: _Path,
    fingerprints: _Numbers | _Texts,
    ids: _Numbers | Iterable[str] | None = None,
    *,
    distance: int = 3,
    design: str | None = None,
    codec: _Codec = "huffman",
    filter: _Filter | None = None,
    recipe: str | None = None,
    shingles: bool | int | None = None,
    lookups: bool = False,
    metadata: Mapping[str, str | bytes] | None = None,
    overwrite: bool = False,
    memory: int | None = None,
    threads: int | None = None,
    temp_dir: _Path | None = None,
    progress: _Progress = None,
) -> Summary:
    """Build an index file of fingerprints, or of texts.

    ``fingerprints``: an array of uint64 (int64 is taken as bit patterns), of shape (n, 2) for 128 bits, the
    high word first; an Arrow column; or a list of int. ``ids``: a number or a name for each; without ids,
    queries return fingerprints alone. ``distance`` is that of most queries; any other is answered exactly,
    too. ``filter``: prefix filters, which spare queries the blocks without a match: ``"auto"`` where they pay,
    ``"none"``, or at most so many bits per fingerprint and table, 1 to 64. ``recipe`` says how the
    fingerprints were made of texts, so that the index can be queried with texts; with it, ``fingerprints`` may be
    the texts themselves. A null among them, ``None`` or NaN, is a document without text, and is left out.

    ``shingles=True`` keeps the shingles of the texts as well, of five words each or of as many as it says, so that
    ``dedup(against=...)`` compares with the texts of the index; blank texts, which are similar to nothing, are left
    out then. Shingles take about 5 bytes per word.

    ``lookups=True`` lets the ids be looked up: ``hamdex dump --id`` and ``--name`` find the fingerprints of one. It
    takes about 5 bytes per record, and as much per name.

    The file appears only when it is complete; an existing file is replaced with ``overwrite=True`` only.

    >>> import hamdex, numpy, tempfile, os
    >>> path = os.path.join(tempfile.mkdtemp(), "small.hamdex")
    >>> hamdex.build(path, numpy.array([1, 3, 2**63], dtype="uint64"), ids=[10, 11, 12]).fingerprints
    3
    >>> hamdex.Index(path).query(1, k=1)
    [Match(fingerprint=1, distance=0, ids=[10], ids_count=1), Match(fingerprint=3, distance=1, ids=[11], ids_count=1)]
    """
def merge(
    inputs: Sequence[_Path | Index],
    path: _Path,
    *,
    distance: int | None = None,
    design: str | None = None,
    codec: _Codec | None = None,
    filter: _Filter | None = None,
    overwrite: bool = False,
    memory: int | None = None,
    threads: int | None = None,
    temp_dir: _Path | None = None,
    progress: _Progress = None,
) -> Summary:
    """Merge indexes into one, without sorting again.

    ``inputs`` are paths or open indexes of one width; either all have ids or none has. Recipe and metadata
    must agree, and are kept. The result has the design and the codec of the first unless others are chosen;
    ``filter`` is as in :func:`build`.
    Ids with names are renumbered: those of each input follow those of the one before; other ids stay as they
    are.
    """
def pairs(fingerprints: _Numbers, k: int = 3, *, memory: int | None = None, threads: int | None = None) -> Pairs:
    """All pairs of an array of fingerprints within ``k`` bits, without an index: see ``Pairs``.

    >>> import hamdex
    >>> hamdex.pairs([0b0000, 0b0001, 0b1111], k=1).read_all().to_dict()
    {'left': array([0], dtype=uint64), 'right': array([1], dtype=uint64), 'distance': array([1], dtype=uint32)}
    """
@overload
def dedup(
    table: _Texts,
    *,
    text: str = "text",
    id: str | None = None,
    similarity: float | None = None,
    shingle: int = 5,
    k: int | None = None,
    keep: Literal["first", "longest"] = "first",
    clusters: Literal["stars", "linked"] = "stars",
    recipe: str | None = None,
    against: None = None,
    skip_unreadable: bool = False,
    memory: int | None = None,
    threads: int | None = None,
    progress: _Progress = None,
) -> Table:
    """Find the near-duplicates among texts: clusters, and the text of each to keep.

    ``table`` is an Arrow table with a column of texts, or a list of str. Texts are near-duplicates if they
    share ``similarity`` of their shingles (default 0.7, of five words each); with ``k`` alone, if their
    fingerprints differ in at most ``k`` bits; with both, if both hold. In every case the search is exact.

    The result has a row for every text in a cluster: ``cluster`` (counted from 1), ``id`` (from the column
    ``id``, or the number of the row), ``kept``, ``distance`` of its fingerprint to that of the kept text, in
    bits, and its ``similarity`` to the kept text if texts are compared. Texts in no cluster are unique.
    ``keep`` is "first" or "longest"; ``clusters`` is "stars" (every text is a near-duplicate of the kept one)
    or "linked" (near-duplicates always share a cluster).

    ``against`` is what is known already: a table or a list of texts, the path of documents, or an index, a
    store or a set of shards that was made with shingles (or its path), whose recipe is used. Texts that are
    near-duplicates of a known one, by the same rule, are left out of the clusters, and the result is a pair:
    the clusters, and a table with a row for each known text: ``id``, its ``similarity`` to the most similar
    known one, and ``known``, the id, name or row of that. With ``k``, a set without shingles will do: texts
    whose fingerprints are within ``k`` bits of a stored one are known; the table has ``fingerprint`` and
    ``distance`` of the nearest then. ``k`` says nothing about the texts among themselves in that case. A file of
    documents that cannot be read whole is an error, unless ``skip_unreadable=True`` leaves it out; problems with
    documents are warnings.

    A null text, ``None`` or NaN, is a document without text: it is a near-duplicate of none.

    >>> import hamdex
    >>> text = "Call me Ishmael. Some years ago, never mind how long precisely, having little or no money in my purse"
    >>> hamdex.dedup([text, "something else", text + "!"])["id"].tolist()
    [0, 2]
    """
@overload
def dedup(
    table: _Texts,
    *,
    text: str = "text",
    id: str | None = None,
    similarity: float | None = None,
    shingle: int = 5,
    k: int | None = None,
    keep: Literal["first", "longest"] = "first",
    clusters: Literal["stars", "linked"] = "stars",
    recipe: str | None = None,
    against: _Path | Index | Store | Snapshot | _Texts,
    skip_unreadable: bool = False,
    memory: int | None = None,
    threads: int | None = None,
    progress: _Progress = None,
) -> tuple[Table, Table]: ...
def _most_similar(paths: Sequence[str], shingles: _ArrowArray, threshold: float, threads: int | None) -> Table: ...
def _read_manifest(directory: _Path) -> _Manifest: ...
def _write_manifest(directory: _Path, fields: _Manifest) -> None: ...
def _is_shards(directory: _Path) -> bool: ...
def run_command(arguments: Sequence[str]) -> int:
    """Run the command line, whose first item is the name of the program. Returns its exit code."""

class Table:
    """Named columns of equal length. Anything that takes Arrow data takes a table: ``pyarrow.table(result)``,
    ``polars.DataFrame(result)``. ``result["distance"]`` is a column as a numpy array (a list for texts, a
    list of arrays for lists).
    """
    def __len__(self) -> int: ...
    @property
    def column_names(self) -> list[str]:
        """The names of the columns."""
    @overload
    def __getitem__(self, key: str) -> Any: ...
    @overload
    def __getitem__(self, key: slice) -> Self: ...
    def __iter__(self) -> Iterator[dict[str, Any]]: ...
    def __contains__(self, name: object) -> bool: ...
    def _repr_html_(self) -> str: ...
    def to_dict(self) -> dict[str, Any]:
        """All columns by their names."""
    def __arrow_c_schema__(self) -> object: ...
    def __arrow_c_array__(self, requested_schema: object = None) -> tuple[object, object]: ...
    def __arrow_c_stream__(self, requested_schema: object = None) -> object: ...

class Pairs:
    """The pairs of fingerprints within a distance of each other: a stream of tables of ``left``, ``right`` and
    ``distance``, each pair once, the lower fingerprint on the left. Equal fingerprints count as one, not as a
    pair.

    Iterate over its tables; pass it to consumers of Arrow streams, such as
    ``pyarrow.RecordBatchReader.from_stream``; read it as one table; or count it. Each of these finds the
    pairs anew. They are found while the stream is read, so only a few tables are in memory at a time.
    """
    @property
    def distance(self) -> int:
        """The distance, in bits."""
    def __iter__(self) -> Iterator[Table]: ...
    def read_all(self, *, progress: _Progress = None) -> Table:
        """Read all pairs into one table, in memory."""
    def count_by_distance(self, *, progress: _Progress = None) -> npt.NDArray[np.uint64]:
        """Count the pairs at each distance from 0 on (0 has none)."""
    def __arrow_c_schema__(self) -> object: ...
    def __arrow_c_stream__(self, requested_schema: object = None) -> object: ...

class Set:
    """An open set, which finds all fingerprints within k bits of one, of many, or of each other; exactly. An ``Index``, or a
    ``Snapshot`` of a store or a set of shards.
    """
    def __len__(self) -> int: ...
    def __contains__(self, fingerprint: _One | str) -> bool: ...
    @property
    def path(self) -> Path:
        """The path of the file or the directory."""
    @property
    def width(self) -> int:
        """The width of the fingerprints, in bits: 64 or 128."""
    @property
    def distance(self) -> int:
        """The distance that the set is made for; any other is answered exactly, too."""
    @property
    def has_ids(self) -> bool:
        """Whether fingerprints have ids."""
    @property
    def has_shingles(self) -> bool:
        """Whether ids have the shingles of their documents."""
    @property
    def recipe(self) -> str | None:
        """The recipe of the fingerprints; ``None`` if the set has none."""
    @property
    def metadata(self) -> dict[str, bytes]:
        """The metadata: names, and bytes."""
    @property
    def closed(self) -> bool:
        """Whether it is closed."""
    def query(
        self, query: _One | str, k: int | None = None, *, limit: int | None = None, ids_limit: int | None = 10
    ) -> list[Match]:
        """All stored fingerprints within ``k`` bits (default: the distance of the set), nearest first, with
        their first ``ids_limit`` ids (``None``: all) and the number of all. ``query`` is a fingerprint, or a text if the
        set has a recipe.
        """
    def nearest(
        self, query: _One | str, count: int = 1, *, k: int | None = None, ids_limit: int | None = 10
    ) -> list[Match]:
        """The ``count`` nearest stored fingerprints, nearest first; within ``k`` bits if given."""
    def first(self, query: _One | str, k: int | None = None, *, ids_limit: int | None = 10) -> Match | None:
        """Any stored fingerprint within ``k`` bits, or ``None``: the fastest test of whether there is one."""
    def batch(
        self,
        queries: _Numbers | Sequence[str],
        k: int | None = None,
        *,
        limit: int | None = None,
        ids_limit: int | None = 10,
        strategy: _Strategy = "auto",
        memory: int | None = None,
        threads: int | None = None,
        progress: _Progress = None,
    ) -> Table:
        """The answers to many queries, on all threads: a table of ``query`` (its row), ``fingerprint``,
        ``distance`` and, if there are ids, ``id`` and ``ids_count``; a row for each of the first ``ids_limit`` ids
        (``None``: all) of each match, which has ``ids_count``, queries in their order, matches nearest first. ``queries``
        are fingerprints, or texts if the set has a recipe.
        """
    @overload
    def similar(  # type: ignore[overload-overlap]
        self,
        texts: str,
        threshold: float = 0.7,
        *,
        measure: _Measure = "resemblance",
        limit: int | None = None,
        threads: int | None = None,
    ) -> list[Similar]:
        """The documents that are similar to a text, the most similar first, with their ids and similarities; for many texts,
        a list for each. The set must keep shingles. By the ``measure`` "resemblance", the similarity is the share of
        all shingles of the two that both have, as ``dedup`` compares texts; by "containing", the share of those of the
        text that the document has; by "contained", of those of the document that the text has. ``threshold`` is the
        least share; no document is missed. A blank text or a null is similar to nothing.

        >>> import hamdex, tempfile, os
        >>> path = os.path.join(tempfile.mkdtemp(), "texts.hamdex")
        >>> text = "Call me Ishmael. Some years ago, never mind how long precisely, having little or no money in my purse"
        >>> _ = hamdex.build(path, [text, "another one"], ids=["whale", "other"], recipe="default", shingles=True)
        >>> with hamdex.Index(path) as index:
        ...     index.similar(text + "!")
        ...     index.similar(["some years ago, never mind how long", ""], 0.9, measure="containing")
        [Similar(id='whale', similarity=1.0)]
        [[Similar(id='whale', similarity=1.0)], []]
        """
    @overload
    def similar(
        self,
        texts: _Texts,
        threshold: float = 0.7,
        *,
        measure: _Measure = "resemblance",
        limit: int | None = None,
        threads: int | None = None,
    ) -> list[list[Similar]]: ...
    def pairs(self, k: int | None = None, *, memory: int | None = None, threads: int | None = None) -> Pairs:
        """All pairs of stored fingerprints within ``k`` bits, each once: a stream of tables of ``left``, ``right`` and
        ``distance``.
        """
    def shingles(self) -> Iterator[Table]:
        """The documents with their shingles: an iterator over tables of ``id`` and ``shingles``, as
        ``hamdex.shingles`` makes them. Only a set that was made with shingles has them.
        """
    def verify(self, *, threads: int | None = None, progress: _Progress = None) -> Verified:
        """Read all files and check everything. Raises ``DamagedError`` at the first damage."""
    def close(self) -> None:
        """Let go of the files. Later use raises ``ValueError``."""
    def __enter__(self) -> Self: ...
    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...

class Index(Set):
    """An open index, which finds all fingerprints within k bits of one, of many, or of each other; exactly.

    Opening maps the file, at almost no cost. Keys and filters, about a fifth of a file with filters, are copied into
    memory, unless ``map_keys=True`` leaves them in the mapping, which all processes share: for many processes of one
    file. Any number of threads may use an index. It can be pickled, as
    its path and the id of the file, and sent to other processes.

    >>> import hamdex, tempfile, os
    >>> path = os.path.join(tempfile.mkdtemp(), "small.hamdex")
    >>> _ = hamdex.build(path, [0b0000, 0b0111, 0b1111], ids=["a", "b", "c"])
    >>> with hamdex.Index(path) as index:
    ...     print(len(index), index.query(0b0001, k=1))
    3 [Match(fingerprint=0, distance=1, ids=['a'], ids_count=1)]
    """
    def __new__(cls, path: _Path, *, in_memory: bool = False, larger_than_memory: bool = False, map_keys: bool = False) -> Self: ...
    @property
    def design(self) -> str:
        """The name of the design, which sets the tables."""
    @property
    def codec(self) -> str:
        """The name of the codec of blocks."""
    @property
    def file_id(self) -> str:
        """The id of the file: files with the same id are equal, byte for byte."""

class Snapshot(Set):
    """A store at one moment, or a set of shards: queries see no later writes. Taking a snapshot costs nothing; its files
    are kept until it is closed, or no longer in use.
    """

class Store:
    """A directory with a set of fingerprints that can be updated while it is queried. Writes are durable when
    they return, unless ``durability`` is lower.

    A missing store is created: for fingerprints of ``width`` bits, with ids unless ``ids=False``, which are names with
    ``names=True``, for queries at ``distance``. With a recipe it takes texts, and with names and ``shingles=True`` it
    keeps their shingles too, of five words each or of as many as it says, so that texts are compared as ``dedup``
    compares them. With ``lookups=True`` it finds records by id or name without reading the whole set, for ``upsert``,
    ``remove_ids`` and ``remove_names``, which takes about 5 bytes per record, and as much per name. ``memory`` limits
    the memory for recent writes, in bytes: at most 8 GiB, and more counts as that. One process at a time has a store
    open. After a fork, the child must open it again.

    >>> import hamdex, tempfile, os
    >>> path = os.path.join(tempfile.mkdtemp(), "small.store")
    >>> with hamdex.Store(path) as store:
    ...     store.insert([0b0000, 0b1111], ids=[1, 2])
    ...     store.insert_unless_near(0b0001, 3, k=1)
    ...     store.query(0b1111)
    Match(fingerprint=0, distance=1, ids=[1], ids_count=1)
    [Match(fingerprint=15, distance=0, ids=[2], ids_count=1)]
    """
    def __new__(
        cls,
        path: _Path,
        *,
        distance: int | None = None,
        ids: bool | None = None,
        names: bool | None = None,
        width: Literal[64, 128] | None = None,
        design: str | None = None,
        codec: _Codec | None = None,
        filter: _Filter | None = None,
        recipe: str | None = None,
        shingles: bool | int | None = None,
        lookups: bool | None = None,
        durability: str = "sync",
        memory: int | None = None,
        threads: int | None = None,
        merges: bool = True,
    ) -> Self: ...
    @property
    def path(self) -> Path:
        """The path of the directory."""
    @property
    def width(self) -> int:
        """The width of the fingerprints, in bits: 64 or 128."""
    @property
    def distance(self) -> int:
        """The distance that the store is made for; any other is answered exactly, too."""
    @property
    def has_ids(self) -> bool:
        """Whether fingerprints have ids."""
    @property
    def has_shingles(self) -> bool:
        """Whether ids have the shingles of their documents."""
    @property
    def has_names(self) -> bool:
        """Whether ids are names."""
    @property
    def has_lookups(self) -> bool:
        """Whether records are found by id without reading the whole set."""
    @property
    def recipe(self) -> str | None:
        """The recipe of the fingerprints; ``None`` if the store has none."""
    @property
    def closed(self) -> bool:
        """Whether the store is closed."""
    def __contains__(self, fingerprint: _One | str) -> bool: ...
    def insert(
        self,
        fingerprints: _Numbers | Sequence[str | None] | SupportsIndex | str,
        ids: _Numbers | Sequence[str] | SupportsIndex | str | None = None,
    ) -> None:
        """Insert fingerprints, one or many, with their ids: all of them, or none. A store with a recipe also
        takes texts, none of which may be too short for a reliable fingerprint. A store with shingles takes texts
        alone, of any length; blank ones, which are similar to nothing, are left out. So are nulls, ``None`` or NaN, in
        every store.
        """
    def upsert(
        self,
        fingerprints: _Numbers | Sequence[str | None] | SupportsIndex | str,
        ids: _Numbers | Sequence[str] | SupportsIndex | str,
    ) -> int:
        """Insert fingerprints or texts as ``insert`` does, each in place of everything with its id, or its name, in a
        store with look-ups: all of them, or none. Of several with one id, the last counts. Returns the number of
        replaced records.

        >>> import hamdex, tempfile, os
        >>> path = os.path.join(tempfile.mkdtemp(), "small.store")
        >>> with hamdex.Store(path, lookups=True) as store:
        ...     store.insert([0b0001, 0b1111], ids=[1, 2])
        ...     store.upsert([0b0011, 0b0111], ids=[2, 3])
        ...     store.fingerprints_of(2)
        1
        [3]
        """
    @overload
    def insert_unless_near(  # type: ignore[overload-overlap]
        self,
        fingerprints: SupportsIndex | str,
        ids: SupportsIndex | str | None = None,
        *,
        k: int | None = None,
        replace: bool = False,
    ) -> Match | None:
        """Insert each fingerprint or text, one or many, unless something stored, or inserted before it, is
        within ``k`` bits. Returns the nearest, or ``None`` if it was inserted, or is a null; for many, a list. With ``replace``, in a
        store with look-ups, each takes the place of everything with its id, or its name, to which it is not near: a
        page that is crawled again is not near to itself. What is near to something else replaces nothing.
        """
    @overload
    def insert_unless_near(
        self,
        fingerprints: _Numbers | Sequence[str | None],
        ids: _Numbers | Iterable[str] | None = None,
        *,
        k: int | None = None,
        replace: bool = False,
    ) -> list[Match | None]: ...
    @overload
    def insert_unless_similar(  # type: ignore[overload-overlap]
        self,
        texts: str,
        ids: str,
        *,
        similarity: float = 0.7,
        replace: bool = False,
        threads: int | None = None,
        progress: _Progress = None,
    ) -> Similar | None:
        """Insert each text, one or many, unless a stored text, or one inserted before it, is similar: shares
        ``similarity`` of its shingles, as ``dedup`` compares texts. Returns the most similar one with its similarity,
        or ``None`` if the text was inserted; for many, a list. The store must keep shingles. Blank texts are similar to
        nothing, and are left out. With ``replace``, in a store with look-ups, each takes the place of everything with
        its name, to which it is not compared; one that is similar to something else replaces nothing.

        Long lists are stored by at most 4,096 texts at a time. If the call is interrupted or fails, the texts before stay
        stored, and their answers are lost; a repeated call finds them similar to themselves, unless it has ``replace``.

        >>> import hamdex, tempfile, os
        >>> path = os.path.join(tempfile.mkdtemp(), "texts.store")
        >>> text = "Call me Ishmael. Some years ago, never mind how long precisely, having little or no money in my purse"
        >>> with hamdex.Store(path, names=True, recipe="default", shingles=True) as store:
        ...     store.insert_unless_similar([text, text + "!", "another one"], ["first", "copy", "other"])
        [None, Similar(id='first', similarity=1.0), None]
        """
    @overload
    def insert_unless_similar(
        self,
        texts: _Texts,
        ids: _Texts,
        *,
        similarity: float = 0.7,
        replace: bool = False,
        threads: int | None = None,
        progress: _Progress = None,
    ) -> list[Similar | None]: ...
    def remove(
        self,
        fingerprints: _Numbers | Sequence[str | None] | SupportsIndex | str,
        ids: _Numbers | SupportsIndex | None = None,
    ) -> int:
        """Remove fingerprints or texts, one or many: with ids these pairs, without ids all pairs of the fingerprints.
        Nulls, and blank texts in a store with shingles, are passed over. Returns the number of removed pairs.
        """
    def remove_ids(self, ids: _Numbers) -> int:
        """Remove everything with one of these ids; without look-ups this reads the whole store. Returns the number of
        removed pairs.
        """
    def fingerprints_of(self, id: SupportsIndex | str) -> list[int]:
        """The fingerprints of an id, or of a name, ascending; without look-ups this reads the whole store."""
    def remove_names(self, names: set[str]) -> int:
        """Remove everything with one of these names; without look-ups this reads the whole store. Returns the number of
        removed pairs.
        """
    def query(
        self, query: _One | str, k: int | None = None, *, limit: int | None = None, ids_limit: int | None = 10
    ) -> list[Match]:
        """All fingerprints within ``k`` bits, nearest first, with their first ``ids_limit`` ids (``None``: all) and the number
        of all. ``query`` is a fingerprint, or a text if the store has a recipe.
        """
    def nearest(
        self, query: _One | str, count: int = 1, *, k: int | None = None, ids_limit: int | None = 10
    ) -> list[Match]:
        """The ``count`` nearest fingerprints, nearest first; within ``k`` bits if given."""
    def first(self, query: _One | str, k: int | None = None, *, ids_limit: int | None = 10) -> Match | None:
        """Any fingerprint within ``k`` bits, or ``None``."""
    def batch(
        self,
        queries: _Numbers | Sequence[str],
        k: int | None = None,
        *,
        limit: int | None = None,
        ids_limit: int | None = 10,
        strategy: _Strategy = "auto",
        memory: int | None = None,
        threads: int | None = None,
        progress: _Progress = None,
    ) -> Table:
        """The answers to many queries: see ``Index.batch``."""
    @overload
    def similar(  # type: ignore[overload-overlap]
        self,
        texts: str,
        threshold: float = 0.7,
        *,
        measure: _Measure = "resemblance",
        limit: int | None = None,
        threads: int | None = None,
    ) -> list[Similar]:
        """The documents that are similar to a text, or to many: see ``Index.similar``."""
    @overload
    def similar(
        self,
        texts: _Texts,
        threshold: float = 0.7,
        *,
        measure: _Measure = "resemblance",
        limit: int | None = None,
        threads: int | None = None,
    ) -> list[list[Similar]]: ...
    def snapshot(self) -> Snapshot:
        """A snapshot of the set as it is now: its queries see no later writes."""
    def sync(self) -> None:
        """Make all writes durable, whatever ``durability`` is."""
    def flush(self) -> None:
        """Write everything in memory to a file."""
    def compact(self) -> None:
        """Merge everything into one file, without removed records. An interruption changes nothing."""
    def stats(self) -> dict[str, Any]:
        """The counts of the store, and their costs."""
    def close(self) -> None:
        """Make all writes durable, wait for a running merge, and close the store, even if that fails. Later use
        of the store raises ``ValueError``.
        """
    def __enter__(self) -> Self: ...
    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...
