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

class _ArrowStream(Protocol):
    def __arrow_c_stream__(self, requested_schema: object = None) -> object: ...

class _ArrowArray(Protocol):
    def __arrow_c_array__(self, requested_schema: object = None) -> tuple[object, object]: ...

_Arrow = _ArrowStream | _ArrowArray
_Path = str | PathLike[str]
_Numbers = npt.NDArray[np.uint64] | npt.NDArray[np.int64] | npt.NDArray[np.uint8] | Sequence[SupportsIndex] | _Arrow
_One = SupportsIndex | npt.NDArray[np.uint64] | npt.NDArray[np.int64]
_Texts = Iterable[str] | _Arrow
_Progress = bool | Callable[[str, int, int | None], object] | None
_Codec = Literal["huffman", "elias-fano"]
_Filter = Literal["auto", "none"] | SupportsIndex
_Strategy = Literal["auto", "probe", "scan"]

class Error(Exception): ...
class DamagedError(Error): ...
class FormatError(Error): ...
class BuildError(Error): ...
class StoreError(Error): ...

@overload
def fingerprint(  # type: ignore[overload-overlap]
    texts: str,
    recipe: str = "default",
    *,
    width: Literal[64, 128] | None = None,
    return_reliable: Literal[False] = False,
    threads: int | None = None,
    progress: _Progress = None,
) -> int: ...
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
) -> npt.NDArray[np.uint64]: ...
@overload
def fingerprint_features(
    documents: Iterable[_Features],
    recipe: str = "default",
    *,
    width: Literal[64, 128] | None = None,
    return_reliable: Literal[True],
) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.bool_]]: ...
def open(path: _Path) -> Index | Snapshot: ...
def shingles(
    texts: _Texts, words: int = 5, *, threads: int | None = None, progress: _Progress = None
) -> Table: ...
def build(
    path: _Path,
    fingerprints: _Numbers | _Texts,
    ids: _Numbers | Sequence[str] | None = None,
    *,
    distance: int = 3,
    design: str | None = None,
    codec: _Codec = "huffman",
    filter: _Filter | None = None,
    recipe: str | None = None,
    shingles: bool | int | None = None,
    metadata: Mapping[str, str | bytes] | None = None,
    overwrite: bool = False,
    memory: int | None = None,
    threads: int | None = None,
    temp_dir: _Path | None = None,
    progress: _Progress = None,
) -> Summary: ...
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
) -> Summary: ...
def pairs(fingerprints: _Numbers, k: int = 3, *, memory: int | None = None, threads: int | None = None) -> Pairs: ...
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
    memory: int | None = None,
    threads: int | None = None,
    progress: _Progress = None,
) -> Table: ...
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
    memory: int | None = None,
    threads: int | None = None,
    progress: _Progress = None,
) -> tuple[Table, Table]: ...
def run_command(arguments: Sequence[str]) -> int: ...

class Table:
    def __len__(self) -> int: ...
    @property
    def column_names(self) -> list[str]: ...
    @overload
    def __getitem__(self, key: str) -> Any: ...
    @overload
    def __getitem__(self, key: slice) -> Self: ...
    def __iter__(self) -> Iterator[dict[str, Any]]: ...
    def __contains__(self, name: object) -> bool: ...
    def _repr_html_(self) -> str: ...
    def to_dict(self) -> dict[str, Any]: ...
    def __arrow_c_schema__(self) -> object: ...
    def __arrow_c_array__(self, requested_schema: object = None) -> tuple[object, object]: ...
    def __arrow_c_stream__(self, requested_schema: object = None) -> object: ...

class Pairs:
    @property
    def distance(self) -> int: ...
    def __iter__(self) -> Iterator[Table]: ...
    def read_all(self, *, progress: _Progress = None) -> Table: ...
    def count_by_distance(self, *, progress: _Progress = None) -> npt.NDArray[np.uint64]: ...
    def __arrow_c_schema__(self) -> object: ...
    def __arrow_c_stream__(self, requested_schema: object = None) -> object: ...

class Index:
    def __new__(cls, path: _Path, *, in_memory: bool = False, larger_than_memory: bool = False, map_keys: bool = False) -> Self: ...
    def __len__(self) -> int: ...
    def __contains__(self, fingerprint: _One | str) -> bool: ...
    @property
    def path(self) -> Path: ...
    @property
    def width(self) -> int: ...
    @property
    def distance(self) -> int: ...
    @property
    def design(self) -> str: ...
    @property
    def codec(self) -> str: ...
    @property
    def has_ids(self) -> bool: ...
    @property
    def has_shingles(self) -> bool: ...
    @property
    def file_id(self) -> str: ...
    @property
    def recipe(self) -> str | None: ...
    @property
    def metadata(self) -> dict[str, bytes]: ...
    @property
    def closed(self) -> bool: ...
    def query(self, query: _One | str, k: int | None = None, *, limit: int | None = None) -> list[Match]: ...
    def nearest(self, query: _One | str, count: int = 1, *, k: int | None = None) -> list[Match]: ...
    def first(self, query: _One | str, k: int | None = None) -> Match | None: ...
    def batch(
        self,
        queries: _Numbers | Sequence[str],
        k: int | None = None,
        *,
        limit: int | None = None,
        strategy: _Strategy = "auto",
        memory: int | None = None,
        threads: int | None = None,
        progress: _Progress = None,
    ) -> Table: ...
    def pairs(self, k: int | None = None, *, memory: int | None = None, threads: int | None = None) -> Pairs: ...
    def shingles(self) -> Iterator[Table]: ...
    def verify(self, *, threads: int | None = None, progress: _Progress = None) -> Verified: ...
    def close(self) -> None: ...
    def __enter__(self) -> Self: ...
    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...

class Snapshot:
    def __len__(self) -> int: ...
    def __contains__(self, fingerprint: _One | str) -> bool: ...
    @property
    def path(self) -> Path: ...
    @property
    def width(self) -> int: ...
    @property
    def distance(self) -> int: ...
    @property
    def has_ids(self) -> bool: ...
    @property
    def has_shingles(self) -> bool: ...
    @property
    def recipe(self) -> str | None: ...
    @property
    def metadata(self) -> dict[str, bytes]: ...
    @property
    def closed(self) -> bool: ...
    def query(self, query: _One | str, k: int | None = None, *, limit: int | None = None) -> list[Match]: ...
    def nearest(self, query: _One | str, count: int = 1, *, k: int | None = None) -> list[Match]: ...
    def first(self, query: _One | str, k: int | None = None) -> Match | None: ...
    def batch(
        self,
        queries: _Numbers | Sequence[str],
        k: int | None = None,
        *,
        limit: int | None = None,
        strategy: _Strategy = "auto",
        memory: int | None = None,
        threads: int | None = None,
        progress: _Progress = None,
    ) -> Table: ...
    def pairs(self, k: int | None = None, *, memory: int | None = None, threads: int | None = None) -> Pairs: ...
    def shingles(self) -> Iterator[Table]: ...
    def verify(self, *, threads: int | None = None, progress: _Progress = None) -> Verified: ...
    def close(self) -> None: ...
    def __enter__(self) -> Self: ...
    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...

class Store:
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
        durability: str = "sync",
        memory: int | None = None,
        threads: int | None = None,
        merges: bool = True,
    ) -> Self: ...
    @property
    def path(self) -> Path: ...
    @property
    def width(self) -> int: ...
    @property
    def distance(self) -> int: ...
    @property
    def has_ids(self) -> bool: ...
    @property
    def has_shingles(self) -> bool: ...
    @property
    def recipe(self) -> str | None: ...
    @property
    def closed(self) -> bool: ...
    def __contains__(self, fingerprint: _One | str) -> bool: ...
    def insert(
        self,
        fingerprints: _Numbers | Sequence[str] | SupportsIndex | str,
        ids: _Numbers | Sequence[str] | SupportsIndex | str | None = None,
    ) -> None: ...
    @overload
    def insert_unless_near(  # type: ignore[overload-overlap]
        self, fingerprints: SupportsIndex | str, ids: SupportsIndex | str | None = None, *, k: int | None = None
    ) -> Match | None: ...
    @overload
    def insert_unless_near(
        self, fingerprints: _Numbers | Sequence[str], ids: _Numbers | Sequence[str] | None = None, *, k: int | None = None
    ) -> list[Match | None]: ...
    @overload
    def insert_unless_similar(  # type: ignore[overload-overlap]
        self,
        texts: str,
        ids: str,
        *,
        similarity: float = 0.7,
        threads: int | None = None,
        progress: _Progress = None,
    ) -> Similar | None: ...
    @overload
    def insert_unless_similar(
        self,
        texts: _Texts,
        ids: Sequence[str] | _Arrow,
        *,
        similarity: float = 0.7,
        threads: int | None = None,
        progress: _Progress = None,
    ) -> list[Similar | None]: ...
    def remove(
        self,
        fingerprints: _Numbers | Sequence[str] | SupportsIndex | str,
        ids: _Numbers | SupportsIndex | None = None,
    ) -> int: ...
    def remove_names(self, names: set[str]) -> int: ...
    def query(self, query: _One | str, k: int | None = None, *, limit: int | None = None) -> list[Match]: ...
    def nearest(self, query: _One | str, count: int = 1, *, k: int | None = None) -> list[Match]: ...
    def first(self, query: _One | str, k: int | None = None) -> Match | None: ...
    def batch(
        self,
        queries: _Numbers | Sequence[str],
        k: int | None = None,
        *,
        limit: int | None = None,
        strategy: _Strategy = "auto",
        memory: int | None = None,
        threads: int | None = None,
        progress: _Progress = None,
    ) -> Table: ...
    def snapshot(self) -> Snapshot: ...
    def sync(self) -> None: ...
    def flush(self) -> None: ...
    def compact(self) -> None: ...
    def stats(self) -> dict[str, Any]: ...
    def close(self) -> None: ...
    def __enter__(self) -> Self: ...
    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...
