"""Sets of a service (`hamdex serve`), with the methods of a store."""

from __future__ import annotations

import json
import math
import operator
import re
import ssl
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import TracebackType
from typing import Any, Self, SupportsIndex
from urllib.parse import quote, unquote

from ._hamdex import DamagedError, Error, StoreError, shingles
from ._http import Service
from ._numbers import fingerprints_in, is_null, is_single, number, one_in
from ._results import Match, Similar

_WIDE = 1 << 53

# The fields of the service by the names of measures.
_MEASURES = {"resemblance": "similar", "containing": "containing", "contained": "contained"}

# Above the most ids of an answer: a match has all of its ids, or the service refuses the query.
_ALL_IDS = 1 << 32


class RemoteError(Error):
    """A service has refused a request: `status`, `code`, and `record`, the number of the record that is wrong."""

    def __init__(self, problem: Mapping[str, Any]) -> None:
        super().__init__(problem.get("detail") or problem.get("title") or "the service refused the request")
        self.status = int(problem.get("status", 0))
        self.code = str(problem.get("code", ""))
        self.record: int | None = problem.get("record")
        self.file: str | None = problem.get("file")


class RemoteStoreError(RemoteError, StoreError):
    """The store of a service cannot be used now: try again later."""


class RemoteDamagedError(RemoteError, DamagedError):
    """A file of a service is damaged."""


class RemoteValueError(RemoteError, ValueError):
    """A request has wrong contents; nothing has changed."""


def _raise(status: int, body: bytes) -> None:
    try:
        problem = json.loads(body)
    except ValueError:
        problem = {"detail": body[:200].decode(errors="replace"), "status": status}
    if not isinstance(problem, dict):
        problem = {"detail": str(problem), "status": status}
    problem.setdefault("status", status)
    if problem.get("code") == "damaged":
        raise RemoteDamagedError(problem)
    if status in (400, 413, 422):
        raise RemoteValueError(problem)
    if status in (429, 503, 507):
        raise RemoteStoreError(problem)
    raise RemoteError(problem)


def _loaded(answer: bytes) -> Any:
    try:
        return json.loads(answer)
    except ValueError:
        raise RemoteError({"detail": "the answer is no JSON: is this the address of a hamdex service?"}) from None


class _Api:
    """The requests of one service, and their refusals as exceptions."""

    def __init__(self, service: Service) -> None:
        self.service = service

    def ask(self, method: str, path: str, body: object = None) -> Any:
        encoded = None if body is None else json.dumps(body).encode()
        status, answer = self.service.ask(method, path, encoded)
        if status >= 300:
            _raise(status, answer)
        return _loaded(answer)

    def rows(self, path: str) -> Iterator[dict[str, Any]]:
        """Return the lines of JSON of an answer."""
        rest = b""
        for status, chunk in self.service.chunks(path):
            if status >= 300:
                _raise(status, chunk)
            *lines, rest = (rest + chunk).split(b"\n")
            yield from map(_loaded, lines)


def _listed(values: Any) -> list[Any]:
    """The values of an array, an Arrow column, or anything that can be walked through."""
    for method in ("tolist", "to_pylist"):
        if hasattr(values, method):
            return list(getattr(values, method)())
    return list(values)


def _held(values: Any) -> Any:
    """Values that can be walked through again."""
    is_column = hasattr(values, "__arrow_c_stream__") and hasattr(values, "__len__")
    is_kept = is_column or hasattr(values, "ndim") or hasattr(values, "to_pylist") or isinstance(values, (bytearray, dict))
    return values if is_kept or is_single(values) else list(values)


def _texts(values: Any) -> list[str | None] | None:
    """Texts, None for nulls; None if these are no texts."""
    if isinstance(values, str):
        return [values]
    is_numeric = getattr(getattr(values, "dtype", None), "kind", "O") not in "OTU"
    if is_numeric or is_single(values) or isinstance(values, (bytearray, dict)):
        return None
    texts = [None if is_null(value) else value for value in _listed(values)]
    return texts if texts and all(text is None or isinstance(text, str) for text in texts) else None


# A text with one of these has a word.
_OF_A_WORD = re.compile("[0-9A-Za-z]")


def _without_blank(records: list[dict[str, Any] | None]) -> list[dict[str, Any] | None]:
    """Records for a set with shingles, with None in place of blank texts, which a store leaves out and a service
    refuses."""
    texts = {place: record["text"] for place, record in enumerate(records) if record is not None and "text" in record}
    blank = [place for place, text in texts.items() if not _OF_A_WORD.search(text)]
    # The start of a text mostly tells.
    for length in (64, None):
        if blank:
            lists = shingles([texts[place][:length] for place in blank])["shingles"]
            blank = [place for place, found in zip(blank, lists, strict=True) if len(found) == 0]
    left_out = set(blank)
    return [None if place in left_out else record for place, record in enumerate(records)]


def _id(id: Any) -> str | int:
    """An id of a request: a number that JSON may not keep is a text."""
    if isinstance(id, str):
        return id
    id = number(id)
    return str(id) if id > _WIDE else id


class RemoteTable:
    """The matches of a batch, in columns: query, fingerprint, distance and, in a set with ids, id and ids_count."""

    def __init__(self, columns: dict[str, list[Any]]) -> None:
        self._columns = columns

    def __len__(self) -> int:
        return len(self._columns["query"])

    @property
    def column_names(self) -> list[str]:
        """The names of the columns."""
        return list(self._columns)

    def __getitem__(self, name: str) -> list[Any]:
        return self._columns[name]

    def __contains__(self, name: object) -> bool:
        return name in self._columns

    def to_dict(self) -> dict[str, list[Any]]:
        """The columns as lists, by name."""
        return dict(self._columns)


class Remote:
    """A set of a service: the methods of `Store`, over the network. Any number of threads may use it.

    Inserts and removals are as durable as the store promises when they return. An index file or a set of shards can be
    queried, and refuses changes.

    Connections are kept, and opened anew after a pause or a fork. Questions are repeated when a connection breaks. A change
    whose answer is lost raises `ConnectionError` or `TimeoutError`: it may have been made, and is not sent again.
    """

    def __init__(self, service: _Api, name: str) -> None:
        self._service = service
        self._name = name
        self._path = f"/v1/sets/{quote(name, safe='')}"
        self._set = service.ask("GET", self._path)

    def __repr__(self) -> str:
        kind = {"none": "without ids", "numbers": "with ids", "names": "with names"}[self._set["ids"]]
        return f"<hamdex.Remote {self.url}, {self.width} bits, {kind}>"

    @property
    def url(self) -> str:
        """The address of the service."""
        return self._service.service.url + self._path

    @property
    def name(self) -> str:
        """The name of the set in the service."""
        return self._name

    @property
    def width(self) -> int:
        """Bits of a fingerprint."""
        return int(self._set["width"])

    @property
    def distance(self) -> int:
        """The distance, in bits, for which the set is made."""
        return int(self._set["distance"])

    @property
    def has_ids(self) -> bool:
        """Whether fingerprints have ids."""
        return bool(self._set["ids"] != "none")

    @property
    def has_names(self) -> bool:
        """Whether ids are names."""
        return bool(self._set["ids"] == "names")

    @property
    def has_shingles(self) -> bool:
        """Whether ids have the shingles of their documents."""
        return bool(self._set.get("shingles"))

    @property
    def has_lookups(self) -> bool:
        """Whether records are found by id without reading the whole set."""
        return bool(self._set["lookups"])

    @property
    def recipe(self) -> str | None:
        """The recipe of the fingerprints of texts, if the set has one."""
        recipe: str | None = self._set["recipe"]
        return recipe

    @property
    def writable(self) -> bool:
        """Whether the set is a store."""
        return bool(self._set["writable"])

    @property
    def closed(self) -> bool:
        """Whether the connections are closed."""
        return self._service.service.closed

    def __len__(self) -> int:
        return int(self._service.ask("GET", self._path)["fingerprints"])

    def __bool__(self) -> bool:
        return True

    def __contains__(self, fingerprint: SupportsIndex | str) -> bool:
        return bool(self.query(fingerprint, 0, limit=1))

    def _hex(self, number: int) -> str:
        # Below 0: the bit pattern of a signed integer of this width.
        if not -1 << self.width - 1 <= number < 1 << self.width:
            raise ValueError(f"{number} is no fingerprint of {self.width} bits")
        return f"{number & (1 << self.width) - 1:0{self.width // 4}x}"

    def _asked(self, queries: Any) -> dict[str, Any]:
        queries = _held(queries)
        texts = _texts(queries)
        if texts is not None:
            # The service refuses a query without words, as an index does.
            return {"texts": [text or "" for text in texts]}
        one = one_in(queries, self.width)
        if one is not None:
            return {"fingerprints": [self._hex(one)]}
        return {"fingerprints": [self._hex(one) for one in fingerprints_in(queries, self.width)]}

    def _match(self, found: Mapping[str, Any]) -> Match:
        ids = self._ids(found.get("ids", []))
        return Match(int(found["fingerprint"], 16), found["distance"], ids, found.get("ids_count", len(ids)))

    def _ids(self, ids: Sequence[Any]) -> list[Any]:
        return list(ids) if self.has_names else [int(id) for id in ids]

    def _results(
        self, queries: Any, k: int | None, limit: int | None, ids_limit: int | None, nearest: int | None = None
    ) -> list[list[Match]]:
        body = self._asked(queries)
        body["ids_limit"] = _ALL_IDS if ids_limit is None else number(ids_limit)
        if body["ids_limit"] < 0:
            raise ValueError(f"ids_limit must not be negative: {ids_limit}")
        if k is not None:
            body["distance"] = operator.index(k)
        if limit is not None:
            body["limit"] = operator.index(limit)
        if nearest is not None:
            body["nearest"] = operator.index(nearest)
        results = self._service.ask("POST", self._path + "/query", body)["results"]
        return [[self._match(found) for found in result] for result in results]

    def query(
        self, query: SupportsIndex | str, k: int | None = None, *, limit: int | None = None, ids_limit: int | None = 10
    ) -> list[Match]:
        """Return everything within k bits (the distance of the set), nearest first, with its first ids (None: all, unless
        the service refuses so many) and their number."""
        return self._results(query, k, limit, ids_limit)[0]

    def nearest(
        self, query: SupportsIndex | str, count: int = 1, *, k: int | None = None, ids_limit: int | None = 10
    ) -> list[Match]:
        """Return the nearest, within k bits or the greatest distance that the service allows."""
        return self._results(query, k, None, ids_limit, count)[0]

    def first(
        self, query: SupportsIndex | str, k: int | None = None, *, ids_limit: int | None = 10
    ) -> Match | None:
        """Return the nearest match within k bits, or None."""
        return next(iter(self._results(query, k, 1, ids_limit)[0]), None)

    def batch(
        self, queries: Any, k: int | None = None, *, limit: int | None = None, ids_limit: int | None = 10
    ) -> RemoteTable:
        """Return the matches of many queries as a table: a row for each of the first ids of each match, or per match without
        ids."""
        if ids_limit == 0:
            raise ValueError("ids_limit must be at least 1: a table of matches has a row for each id")
        columns: dict[str, list[Any]] = {"query": [], "fingerprint": [], "distance": []}
        if self.has_ids:
            columns |= {"id": [], "ids_count": []}
        for place, matches in enumerate(self._results(queries, k, limit, ids_limit)):
            for match in matches:
                for id in match.ids if self.has_ids else [None]:
                    columns["query"].append(place)
                    columns["fingerprint"].append(match.fingerprint)
                    columns["distance"].append(match.distance)
                    if self.has_ids:
                        columns["id"].append(id)
                        columns["ids_count"].append(match.ids_count)
        return RemoteTable(columns)

    def similar(
        self, texts: Any, threshold: float = 0.7, *, measure: str = "resemblance", limit: int | None = None
    ) -> Any:
        """Return the documents that are similar to a text, the most similar first, with their ids and similarities, in a set
        with shingles; for many texts, a list for each: see ``Index.similar``."""
        field = _MEASURES.get(measure)
        if field is None:
            raise ValueError(f"measure must be one of {', '.join(_MEASURES)}, not {measure!r}")
        if not 0 < threshold <= 1:
            raise ValueError(f"threshold must be above 0 and at most 1, not {threshold}")
        held = _held(texts)
        given = _texts(held)
        if given is None and (is_single(held) or len(held)):
            raise TypeError("texts must be a text, or many")
        body: dict[str, Any] = {"texts": [text or "" for text in given or []], field: float(threshold)}
        if limit is not None:
            body["limit"] = number(limit)
        results = self._service.ask("POST", self._path + "/query", body)["results"]
        lists = [
            [Similar(self._ids([found["id"]])[0], found["similarity"]) for found in result] for result in results
        ]
        return lists[0] if isinstance(texts, str) else lists

    def _records(self, fingerprints: Any, ids: Any) -> list[dict[str, Any] | None]:
        """Return the records to write; None for a null among texts, which is left out."""
        records: list[dict[str, Any] | None]
        fingerprints = _held(fingerprints)
        texts = _texts(fingerprints)
        if texts is not None:
            records = [None if text is None else {"text": text} for text in texts]
        else:
            records = [{"fingerprint": digits} for digits in self._asked(fingerprints)["fingerprints"]]
        if ids is None:
            return records
        given = [ids] if is_single(ids) else _listed(ids)
        if len(given) != len(records):
            raise ValueError(f"{len(records)} fingerprints and {len(given)} ids")
        for record, id in zip(records, given, strict=True):
            checked = _id(id)
            if record is not None:
                record["id"] = checked
        return records

    def _insert(self, records: list[dict[str, Any] | None], **options: Any) -> dict[str, Any]:
        """Insert records, of which a set with shingles leaves out blank ones, unless they are to replace others. Places in
        the answer are those of the records given."""
        if self.has_shingles and not options.get("replace"):
            records = _without_blank(records)
        places = [place for place, record in enumerate(records) if record is not None]
        body = {"records": [record for record in records if record is not None], **options}
        answer: dict[str, Any] = self._service.ask("POST", self._path + "/insert", body)
        for found in [*answer.get("near", []), *answer.get("similar", [])]:
            found["index"] = places[found["index"]]
        return answer

    def insert(self, fingerprints: Any, ids: Any = None) -> None:
        """Insert fingerprints, or texts by the recipe, with their ids: all or none. Nulls among texts are left out, and
        blank texts in a set with shingles."""
        self._insert(self._records(fingerprints, ids))

    def upsert(self, fingerprints: Any, ids: Any) -> int:
        """Insert as ``insert`` does, each in place of everything with its id, in a set with look-ups; return the number of
        replaced records."""
        records = self._records(fingerprints, ids)
        if None in records:
            place = records.index(None)
            raise ValueError(f"the text at {place} is blank: nothing can replace what is stored; remove what has its id")
        return int(self._insert(records, replace=True)["replaced"])

    def insert_unless_near(
        self, fingerprints: Any, ids: Any = None, *, k: int | None = None, replace: bool = False
    ) -> Any:
        """Insert each unless something is within k bits; return that instead of None, for each. With replace, in a set with
        look-ups, each takes the place of everything with its id, to which it is not near."""
        is_one = isinstance(fingerprints, str) or one_in(fingerprints, self.width) is not None
        records = self._records(fingerprints, ids)
        distance = self.distance if k is None else number(k)
        outcomes: list[Match | None] = [None] * len(records)
        for near in self._insert(records, unless_near=distance, replace=bool(replace))["near"]:
            outcomes[near["index"]] = self._match(near)
        return outcomes[0] if is_one else outcomes

    def insert_unless_similar(self, texts: Any, ids: Any, similarity: float = 0.7, *, replace: bool = False) -> Any:
        """Insert each text unless a stored one shares this part of its shingles, in a set with shingles; return the name of
        that one and the similarity instead of None, for each. Blank texts are left out. With replace, in a set with look-ups, each takes the place of
        everything with its name, to which it is not compared."""
        if not math.isfinite(similarity):
            raise ValueError(f"unless_similar cannot be {similarity}")
        records = self._records(texts, ids)
        outcomes: list[Similar | None] = [None] * len(records)
        answer = self._insert(records, unless_similar=float(similarity), replace=bool(replace))
        for similar in answer["similar"]:
            outcomes[similar["index"]] = Similar(similar["id"], similar["similarity"])
        return outcomes[0] if isinstance(texts, str) else outcomes

    def fingerprints_of(self, id: SupportsIndex | str) -> list[int]:
        """Return the fingerprints of an id, or of a name, ascending, in a set with look-ups."""
        try:
            found = self._service.ask("GET", f"{self._path}/records/{quote(str(_id(id)), safe='')}")
        except RemoteError as error:
            if error.code == "no_record":
                return []
            raise
        return [int(digits, 16) for digits in found["fingerprints"]]

    def remove(self, fingerprints: Any, ids: Any = None) -> int:
        """Remove these pairs, or without ids every pair of the fingerprints; return how many were stored."""
        records = [record for record in self._records(fingerprints, ids) if record is not None]
        return int(self._service.ask("POST", self._path + "/remove", {"records": records})["removed"])

    def remove_names(self, names: Iterable[str]) -> int:
        """Remove every pair with one of these names."""
        if isinstance(names, str):
            raise TypeError("remove_names takes several names: give a list, even of one")
        wanted = _listed(names)
        for name in wanted:
            if not isinstance(name, str):
                raise TypeError(f"a name is a str, not {type(name).__name__}")
        return int(self._service.ask("POST", self._path + "/remove", {"ids": wanted})["removed"])

    def remove_ids(self, ids: Iterable[int]) -> int:
        """Remove every pair with one of these ids."""
        wanted = [_id(number(id)) for id in _listed(ids)]
        return int(self._service.ask("POST", self._path + "/remove", {"ids": wanted})["removed"])

    def entries(self, after: int | None = None, limit: int | None = None) -> Iterator[tuple[int, list[Any]]]:
        """Walk through the set: fingerprints, ascending, with their ids."""
        parameters = [f"after={self._hex(number(after))}"] if after is not None else []
        if limit is not None:
            parameters.append(f"limit={operator.index(limit)}")
        for row in self._service.rows(self._path + "/entries?" + "&".join(parameters)):
            yield int(row["fingerprint"], 16), self._ids(row.get("ids", []))

    def pairs(self, k: int | None = None) -> Iterator[tuple[int, int, int]]:
        """Find all pairs within k bits: both fingerprints, and their distance."""
        parameters = "" if k is None else f"?distance={operator.index(k)}"
        for row in self._service.rows(self._path + "/pairs" + parameters):
            yield int(row["a"], 16), int(row["b"], 16), row["distance"]

    def _job(self, work: str) -> dict[str, Any]:
        job: dict[str, Any] = self._service.ask("POST", f"{self._path}/{work}", {})
        wait = 0.01
        while job["state"] == "running":
            time.sleep(wait)
            wait = min(wait * 2, 1.0)
            job = self._service.ask("GET", f"/v1/jobs/{job['id']}")
        if job["state"] != "done":
            problem = job.get("problem") or {"detail": f"{work} was cancelled", "status": 503}
            _raise(problem["status"], json.dumps(problem).encode())
        return job

    def sync(self) -> None:
        """Make everything durable, whatever the store promises."""
        self.flush()

    def flush(self) -> None:
        """Write what is in memory to a file."""
        self._job("flush")

    def compact(self) -> None:
        """Merge all files of the store into one, and wait for it."""
        self._job("compact")

    def verify(self) -> dict[str, Any]:
        """Read and check every byte, and wait for it."""
        result: dict[str, Any] = self._job("verify")["result"]
        return result

    def stats(self) -> dict[str, Any]:
        """Return counts and costs of the set."""
        found = self._service.ask("GET", self._path)
        return {"fingerprints": found["fingerprints"], "is_exact": found["is_exact"], **found["statistics"]}

    def close(self) -> None:
        """Close the connections. The set stays open in the service."""
        self._service.service.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def connect(
    url: str,
    set: str | None = None,
    *,
    token: str | None = None,
    create: Mapping[str, Any] | None = None,
    timeout: float = 60.0,
    ssl_context: ssl.SSLContext | None = None,
) -> Remote:
    """Connect to a set of a service, which has the methods of `Store`.

    `url` is that of the service and `set` the name of the set, or `url` ends with `/v1/sets/NAME`. Without a name, it is the
    only set of the service. With `create`, the properties of a new store, it is made if it is not there.

    >>> import hamdex
    >>> pages = hamdex.connect("http://localhost:7700", "pages", token="…")  # doctest: +SKIP
    >>> pages.insert_unless_near(0x0123456789abcdef, 17)  # doctest: +SKIP
    """
    service = _Api(Service(url, token, timeout, ssl_context))
    try:
        named = service.service.path.rstrip("/").removeprefix("/v1/sets").strip("/")
        if named and set is not None:
            raise ValueError(f"{url!r} names a set already; leave {set!r} out")
        name = unquote(named) or set
        if name is None:
            names = [one["name"] for one in service.ask("GET", "/v1/sets")["sets"]]
            if len(names) != 1:
                raise ValueError(f"name a set of the service: {', '.join(names) or 'it has none'}")
            name = names[0]
        if create is not None:
            try:
                service.ask("PUT", f"/v1/sets/{quote(name, safe='')}", dict(create))
            except RemoteError as error:
                if error.code != "exists":
                    raise
        return Remote(service, name)
    except BaseException:
        service.service.close()
        raise
