"""Sets of a service (`hamdex serve`), with the methods of a store."""

from __future__ import annotations

import http.client
import json
import operator
import ssl
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import TracebackType
from typing import Any, Self, SupportsIndex
from urllib.parse import quote, unquote, urlsplit

from ._hamdex import DamagedError, Error, StoreError
from ._results import Match

_WIDE = 1 << 53
_TRIES = 3


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


class _Service:
    """Requests to one service; each thread has a connection of its own."""

    def __init__(self, url: str, token: str | None, timeout: float, context: ssl.SSLContext | None) -> None:
        parts = urlsplit(url if "://" in url else "http://" + url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError(f"{url!r} is no address of a service; use http://localhost:7700")
        self.url = f"{parts.scheme}://{parts.netloc}"
        self.path = parts.path
        self._host, self._port = parts.hostname, parts.port
        self._context = (context or ssl.create_default_context()) if parts.scheme == "https" else None
        self._timeout = timeout
        self._headers = {"Accept": "application/json"}
        if token is not None:
            self._headers["Authorization"] = f"Bearer {token}"
        self._local = threading.local()
        self._all: list[http.client.HTTPConnection] = []
        self._lock = threading.Lock()
        self.closed = False

    def _connection(self) -> http.client.HTTPConnection:
        if self.closed:
            raise ValueError("the connection is closed")
        connection: http.client.HTTPConnection | None = getattr(self._local, "connection", None)
        if connection is None:
            if self._context is not None:
                connection = http.client.HTTPSConnection(self._host, self._port, timeout=self._timeout, context=self._context)
            else:
                connection = http.client.HTTPConnection(self._host, self._port, timeout=self._timeout)
            self._local.connection = connection
            with self._lock:
                self._all.append(connection)
        return connection

    def _send(self, method: str, path: str, body: bytes | None) -> http.client.HTTPResponse:
        headers = dict(self._headers)
        if body is not None:
            headers["Content-Type"] = "application/json"
        connection = self._connection()
        is_kept = connection.sock is not None
        try:
            connection.request(method, path, body, headers)
            return connection.getresponse()
        except (http.client.RemoteDisconnected, BrokenPipeError, ConnectionResetError):
            connection.close()
            # The service ends connections that were idle. Only reading is repeated: a change may have been made.
            if not is_kept or not (method == "GET" or path.endswith(("/query", "/fingerprints"))):
                raise
            connection.request(method, path, body, headers)
            return connection.getresponse()
        except BaseException:
            # Half an answer would be taken for that of the next request.
            connection.close()
            raise

    def ask(self, method: str, path: str, body: object = None) -> Any:
        encoded = None if body is None else json.dumps(body).encode()
        attempt = 0
        while True:
            attempt += 1
            response = self._send(method, path, encoded)
            answer = response.read()
            status = response.status
            # Refused before anything was done.
            if status == 429 and attempt < _TRIES:
                time.sleep(min(float(response.headers.get("Retry-After") or 1), 5.0))
                continue
            break
        if status >= 300:
            _raise(status, answer)
        return json.loads(answer)

    def rows(self, path: str) -> Iterator[dict[str, Any]]:
        """Lines of JSON, on a connection of their own, so that other requests can be made meanwhile."""
        other = _Service(self.url, None, self._timeout, self._context)
        other._headers = self._headers
        try:
            response = other._send("GET", path, None)
            if response.status >= 300:
                _raise(response.status, response.read())
            rest = b""
            # Of a stream that is cut off, read1 raises IncompleteRead; lines of the response would just end.
            while chunk := response.read1(1 << 16):
                *lines, rest = (rest + chunk).split(b"\n")
                yield from map(json.loads, lines)
        finally:
            other.close()

    def close(self) -> None:
        self.closed = True
        with self._lock:
            for connection in self._all:
                connection.close()
            self._all.clear()


def _one(fingerprint: Any) -> int | None:
    """The number of a single fingerprint; None if it is several."""
    if hasattr(fingerprint, "ndim") and fingerprint.ndim > 0:
        return None
    try:
        return operator.index(fingerprint)
    except TypeError:
        return None


def _numbers(values: Any, is_wide: bool) -> list[int]:
    """The numbers of fingerprints: of an array, or of any sequence."""
    if hasattr(values, "ndim"):
        if values.ndim == 2:
            return [int(high) << 64 | int(low) for high, low in values]
        return [int(value) & (2**64 - 1) if value < 0 else int(value) for value in values.tolist()]
    if hasattr(values, "to_pylist"):
        values = values.to_pylist()
    return [int.from_bytes(value, "big") if is_wide and isinstance(value, bytes) else operator.index(value) for value in values]


class RemoteTable:
    """The matches of a batch, in columns: query, fingerprint, distance and, in a set with ids, id."""

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
    """

    def __init__(self, service: _Service, name: str) -> None:
        self._service = service
        self._name = name
        self._path = f"/v1/sets/{quote(name, safe='')}"
        self._set = service.ask("GET", self._path)

    def __repr__(self) -> str:
        kind = {"none": "without ids", "numbers": "with ids", "names": "with names"}[self._set["ids"]]
        return f"<hamdex.Remote {self._service.url}{self._path}, {self.width} bits, {kind}>"

    @property
    def url(self) -> str:
        """The address of the service."""
        return self._service.url + self._path

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
        return self._service.closed

    def __len__(self) -> int:
        return int(self._service.ask("GET", self._path)["fingerprints"])

    def __bool__(self) -> bool:
        return True

    def __contains__(self, fingerprint: SupportsIndex | str) -> bool:
        return bool(self.query(fingerprint, 0, limit=1))

    def _hex(self, number: int) -> str:
        if not 0 <= number < 1 << self.width:
            raise ValueError(f"{number} is no fingerprint of {self.width} bits")
        return f"{number:0{self.width // 4}x}"

    def _asked(self, queries: Any) -> dict[str, Any]:
        if isinstance(queries, str):
            return {"texts": [queries]}
        number = _one(queries)
        if number is not None:
            return {"fingerprints": [self._hex(number)]}
        if not hasattr(queries, "ndim") and not hasattr(queries, "to_pylist"):
            queries = list(queries)
            if queries and isinstance(queries[0], str):
                return {"texts": queries}
        return {"fingerprints": [self._hex(number) for number in _numbers(queries, self.width == 128)]}

    def _match(self, found: Mapping[str, Any]) -> Match:
        return Match(int(found["fingerprint"], 16), found["distance"], self._ids(found.get("ids", [])))

    def _ids(self, ids: Sequence[Any]) -> list[Any]:
        return list(ids) if self.has_names else [int(id) for id in ids]

    def _results(self, queries: Any, k: int | None, limit: int | None, nearest: int | None = None) -> list[list[Match]]:
        body = self._asked(queries)
        if k is not None:
            body["distance"] = operator.index(k)
        if limit is not None:
            body["limit"] = operator.index(limit)
        if nearest is not None:
            body["nearest"] = operator.index(nearest)
        results = self._service.ask("POST", self._path + "/query", body)["results"]
        return [[self._match(found) for found in result] for result in results]

    def query(self, query: SupportsIndex | str, k: int | None = None, *, limit: int | None = None) -> list[Match]:
        """Return everything within k bits (the distance of the set), nearest first."""
        return self._results(query, k, limit)[0]

    def nearest(self, query: SupportsIndex | str, count: int = 1, *, k: int | None = None) -> list[Match]:
        """Return the nearest, within k bits or the greatest distance that the service allows."""
        return self._results(query, k, None, count)[0]

    def first(self, query: SupportsIndex | str, k: int | None = None) -> Match | None:
        """Return the nearest match within k bits, or None."""
        return next(iter(self._results(query, k, 1)[0]), None)

    def batch(self, queries: Any, k: int | None = None, *, limit: int | None = None) -> RemoteTable:
        """Return the matches of many queries as a table: a row for each id of each match, or per match without ids."""
        columns: dict[str, list[Any]] = {"query": [], "fingerprint": [], "distance": []}
        if self.has_ids:
            columns["id"] = []
        for place, matches in enumerate(self._results(queries, k, limit)):
            for match in matches:
                for id in match.ids if self.has_ids else [None]:
                    columns["query"].append(place)
                    columns["fingerprint"].append(match.fingerprint)
                    columns["distance"].append(match.distance)
                    if self.has_ids:
                        columns["id"].append(id)
        return RemoteTable(columns)

    def _records(self, fingerprints: Any, ids: Any) -> list[dict[str, Any]]:
        asked = self._asked(fingerprints)
        if "texts" in asked:
            records: list[dict[str, Any]] = [{"text": text} for text in asked["texts"]]
        else:
            records = [{"fingerprint": digits} for digits in asked["fingerprints"]]
        if ids is None:
            return records
        if isinstance(ids, str):
            given: list[Any] = [ids]
        else:
            number = _one(ids)
            given = [number] if number is not None else ids.tolist() if hasattr(ids, "tolist") else list(ids)
        if len(given) != len(records):
            raise ValueError(f"{len(records)} fingerprints and {len(given)} ids")
        for record, id in zip(records, given, strict=True):
            if not isinstance(id, str):
                id = operator.index(id)
            record["id"] = str(id) if isinstance(id, int) and id > _WIDE else id
        return records

    def insert(self, fingerprints: Any, ids: Any = None) -> None:
        """Insert fingerprints, or texts by the recipe, with their ids: all or none."""
        self._service.ask("POST", self._path + "/insert", {"records": self._records(fingerprints, ids)})

    def upsert(self, fingerprints: Any, ids: Any) -> int:
        """Insert as ``insert`` does, each in place of everything with its id, in a set with look-ups; return the number of
        replaced records."""
        body = {"records": self._records(fingerprints, ids), "replace": True}
        return int(self._service.ask("POST", self._path + "/insert", body)["replaced"])

    def insert_unless_near(self, fingerprints: Any, ids: Any = None, *, k: int | None = None) -> Any:
        """Insert each unless something is within k bits; return that instead of None, for each."""
        is_one = isinstance(fingerprints, str) or _one(fingerprints) is not None
        records = self._records(fingerprints, ids)
        body = {"records": records, "unless_near": self.distance if k is None else operator.index(k)}
        outcomes: list[Match | None] = [None] * len(records)
        for near in self._service.ask("POST", self._path + "/insert", body)["near"]:
            outcomes[near["index"]] = self._match(near)
        return outcomes[0] if is_one else outcomes

    def insert_unless_similar(self, texts: Any, ids: Any, similarity: float = 0.7) -> Any:
        """Insert each text unless a stored one shares this part of its shingles, in a set with shingles; return the name of
        that one and the similarity instead of None, for each."""
        records = self._records(texts, ids)
        outcomes: list[tuple[str, float] | None] = [None] * len(records)
        answer = self._service.ask("POST", self._path + "/insert", {"records": records, "unless_similar": similarity})
        for similar in answer["similar"]:
            outcomes[similar["index"]] = similar["id"], similar["similarity"]
        return outcomes[0] if isinstance(texts, str) else outcomes

    def remove(self, fingerprints: Any, ids: Any = None) -> int:
        """Remove these pairs, or without ids every pair of the fingerprints; return how many were stored."""
        body = {"records": self._records(fingerprints, ids)}
        return int(self._service.ask("POST", self._path + "/remove", body)["removed"])

    def remove_names(self, names: Iterable[str]) -> int:
        """Remove every pair with one of these names."""
        return int(self._service.ask("POST", self._path + "/remove", {"ids": list(names)})["removed"])

    def remove_ids(self, ids: Iterable[int]) -> int:
        """Remove every pair with one of these ids."""
        wanted = [str(id) if id > _WIDE else id for id in map(operator.index, ids)]
        return int(self._service.ask("POST", self._path + "/remove", {"ids": wanted})["removed"])

    def entries(self, after: int | None = None, limit: int | None = None) -> Iterator[tuple[int, list[Any]]]:
        """Walk through the set: fingerprints, ascending, with their ids."""
        parameters = [f"after={self._hex(after)}"] if after is not None else []
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
        self._service.close()

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
    service = _Service(url, token, timeout, ssl_context)
    try:
        named = service.path.rstrip("/").removeprefix("/v1/sets").strip("/")
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
        service.close()
        raise
