"""Connections of `hamdex.connect`, to a service that does what a script says, and what leaves for it."""

import json
import os
import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar, cast

import hamdex
import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from hamdex._http import pause_of

SETS: dict[str, dict[str, Any]] = {
    name: {"width": width, "distance": 3, "ids": ids, "recipe": None, "writable": True, "fingerprints": 0}
    for name, width, ids in [("s", 64, "numbers"), ("names", 64, "names"), ("wide", 128, "none")]
}


class Scripted(ThreadingHTTPServer):
    """Counts connections and writes; the next answers are as `script` says."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.connections: list[Handler] = []
        self.writes: list[dict[str, Any]] = []
        self.script: list[str] = []

    @property
    def open(self) -> int:
        """The connections that have not ended."""
        return sum(not handler.has_ended for handler in self.connections)


class Handler(BaseHTTPRequestHandler):
    """A connection."""

    protocol_version = "HTTP/1.1"
    # A connection without a request ends.
    timeout: ClassVar[float | None] = 0.5

    @property
    def scripted(self) -> Scripted:
        """The server of this connection."""
        return cast(Scripted, self.server)

    def setup(self) -> None:
        """Count it."""
        super().setup()
        self.has_ended = False
        self.scripted.connections.append(self)

    def finish(self) -> None:
        """Count no longer."""
        super().finish()
        self.has_ended = True

    def log_message(self, format: str, *arguments: object) -> None:
        """Say nothing."""

    def answer(self, status: int, body: object, headers: dict[str, str] | None = None, *, is_cut: bool = False) -> None:
        """Send an answer, or its head alone."""
        text = body.encode() if isinstance(body, str) else json.dumps(body).encode()
        self.send_response(status)
        for name, value in {"Content-Length": str(len(text)), **(headers or {})}.items():
            self.send_header(name, value)
        self.end_headers()
        if not is_cut:
            self.wfile.write(text)

    def do_GET(self) -> None:
        """Describe a set."""
        self.answer(200, SETS.get(self.path.rsplit("/", 1)[1], "<html>"))

    def do_POST(self) -> None:
        """Note what is written."""
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        step = self.scripted.script.pop(0) if self.scripted.script else "answer"
        if step.startswith("later "):
            self.answer(429, {"detail": "later"}, {"Retry-After": step.removeprefix("later ")})
            return
        self.scripted.writes.append(body)
        if step == "end":
            self.close_connection = True
            return
        self.answer(200, {"results": [[]], "removed": 0}, is_cut=step == "stall")
        if step == "stall":
            time.sleep(1)


@pytest.fixture
def service() -> Iterator[Scripted]:
    """Serve the sets."""
    with Scripted() as service:
        threading.Thread(target=service.serve_forever, args=(0.01,), daemon=True).start()
        yield service
        service.shutdown()


def connect(service: Scripted, name: str = "s", timeout: float = 10.0) -> hamdex.Remote:
    """Connect to a set."""
    return hamdex.connect(f"http://127.0.0.1:{service.server_address[1]}", name, timeout=timeout)


def test_threads_that_end_leave_no_connections(service: Scripted) -> None:
    store = connect(service)
    for number in range(50):
        thread = threading.Thread(target=store.insert, args=(number, number))
        thread.start()
        thread.join()
    assert len(service.writes) == 50 and len(service.connections) == 1
    store.close()
    with pytest.raises(ValueError, match="closed"):
        store.insert(1, 1)


def test_an_answer_that_came_too_late_is_not_that_of_the_next_request(service: Scripted) -> None:
    store = connect(service, timeout=0.2)
    service.script = ["stall"]
    with pytest.raises(TimeoutError):
        store.insert(1, 1)
    store.insert(2, 2)
    assert [write["records"][0]["id"] for write in service.writes] == [1, 2]


def test_a_write_after_a_pause_is_sent_once(service: Scripted) -> None:
    store = connect(service)
    for number in range(3):
        store.insert(number, number)
        deadline = time.monotonic() + 10
        while service.open and time.monotonic() < deadline:
            time.sleep(0.05)
        assert service.open == 0
    assert [write["records"][0]["id"] for write in service.writes] == [0, 1, 2]


def test_a_write_without_an_answer_is_not_repeated(service: Scripted) -> None:
    store = connect(service)
    service.script = ["end"]
    with pytest.raises(ConnectionError):
        store.insert(1, 1)
    assert len(service.writes) == 1
    # Reading is.
    service.script = ["answer", "end"]
    store.query(1)
    store.query(1)
    assert len(service.writes) == 4


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_a_fork_has_connections_of_its_own(service: Scripted) -> None:
    store = connect(service)
    before = len(service.connections)
    child = os.fork()
    if child == 0:
        store.insert(1, 1)
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    store.insert(2, 2)
    assert len(service.writes) == 2 and len(service.connections) == before + 1


def test_a_service_that_is_busy_names_seconds_or_a_date(service: Scripted) -> None:
    store = connect(service)
    past = format_datetime(datetime(2020, 1, 1, tzinfo=UTC), usegmt=True)
    service.script = [f"later {past}", "later 0.01"]
    store.insert(1, 1)
    assert len(service.writes) == 1
    soon = format_datetime(datetime.now(UTC) + timedelta(seconds=3), usegmt=True)
    assert 1.5 < pause_of(soon) <= 3
    assert [pause_of(header) for header in (None, "2", "1e9", "-1", "nan", "soon", past)] == [1, 2, 5, 0, 0, 1, 0]


@pytest.mark.parametrize(
    ("name", "fingerprints", "ids", "error"),
    [
        ("s", 1.7, 1, TypeError),
        ("s", True, 1, TypeError),
        ("s", np.float64(1), 1, TypeError),
        ("s", np.True_, 1, TypeError),
        ("s", [1, 2.0], [1, 2], TypeError),
        ("s", [1, False], [1, 2], TypeError),
        ("s", np.array([1.7, 2.2]), [1, 2], TypeError),
        ("s", np.array([True, False]), [1, 2], TypeError),
        ("s", np.array([1, 2], dtype="uint32"), [1, 2], TypeError),
        ("s", np.ma.array([1, 2], mask=[False, True], dtype="uint64"), [1, 2], TypeError),
        ("s", pa.array([1.5]), [1], TypeError),
        ("s", pa.array([True]), [1], TypeError),
        ("s", pa.array([1, None]), [1, 2], TypeError),
        ("s", np.zeros((2, 2), dtype="uint64"), [1, 2], ValueError),
        ("s", b"\x01\x02", [1, 2], TypeError),
        ("s", 2**64, 1, ValueError),
        ("s", 1, 1.7, TypeError),
        ("s", 1, True, TypeError),
        ("s", [1, 2], [1, 2.0], TypeError),
        ("s", [1, 2], [True, 2], TypeError),
        ("s", [1, 2], np.array([1.0, 2.0]), TypeError),
        ("s", [1, 2], np.array([True, False]), TypeError),
        ("s", [1], pa.array([None]), TypeError),
        ("names", 1, b"name", TypeError),
        ("wide", pa.array([b"\x07"]), None, TypeError),
        ("wide", np.array([1, 2, 3], dtype="uint64"), None, ValueError),
        ("wide", np.zeros((2, 3), dtype="uint64"), None, ValueError),
    ],
)
def test_what_a_store_refuses_does_not_leave(
    service: Scripted, name: str, fingerprints: Any, ids: Any, error: type[Exception]
) -> None:
    store = connect(service, name)
    for write in (store.insert, store.remove, store.insert_unless_near, store.upsert):
        with pytest.raises(error):
            write(fingerprints, ids)
    assert service.writes == []


def test_removals_and_walks_refuse_what_is_no_id(service: Scripted) -> None:
    store = connect(service)
    for wrong in ([1.7], [True], np.array([1.0]), [None]):
        with pytest.raises(TypeError):
            store.remove_ids(wrong)  # type: ignore[arg-type]
    for names in ("one", [1], [b"one"]):
        with pytest.raises(TypeError):
            store.remove_names(names)  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        next(store.entries(after=1.5))  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="unless_similar"):
        store.insert_unless_similar("text", "name", float("nan"))
    assert service.writes == []


@pytest.mark.parametrize(
    ("name", "given", "digits"),
    [
        ("s", -1, ["f" * 16]),
        ("s", np.int64(-2), ["f" * 15 + "e"]),
        ("s", np.array([-1, 1]), ["f" * 16, "0" * 15 + "1"]),
        ("s", np.array([[0, 0, 0, 0, 0, 0, 1, 2]], dtype="uint8"), ["0" * 12 + "0102"]),
        ("s", pa.array([1, 2**64 - 1], pa.uint64()), ["0" * 15 + "1", "f" * 16]),
        ("s", range(2), ["0" * 16, "0" * 15 + "1"]),
        ("wide", np.array([[-1, -2]]), ["f" * 31 + "e"]),
        ("wide", np.array([1, 2], dtype="uint64").reshape(1, 2), ["0" * 15 + "1" + "0" * 15 + "2"]),
        ("wide", [b"\x00" * 15 + b"\x07"], ["0" * 31 + "7"]),
        ("wide", pa.array([b"\x07" + b"\x00" * 14 + b"\x01"], pa.binary(16)), ["01" + "0" * 28 + "07"]),
    ],
)
def test_fingerprints_keep_their_bits(service: Scripted, name: str, given: Any, digits: list[str]) -> None:
    store = connect(service, name)
    store.remove(given)
    assert service.writes == [{"records": [{"fingerprint": one} for one in digits]}]


class Once:
    """Values that are walked through once, though they have a length, as those of a progress bar."""

    def __init__(self, values: list[int]) -> None:
        self.values = iter(values)

    def __len__(self) -> int:
        return 2

    def __iter__(self) -> Any:
        return self.values


def test_values_that_are_walked_through_once_are_sent(service: Scripted) -> None:
    store = connect(service, "wide")
    store.insert(Once([1, 2]))
    store.remove(Once([1, 2]))
    digits = ["0" * 31 + one for one in "12"]
    sent = [write.get("fingerprints") or [record["fingerprint"] for record in write["records"]] for write in service.writes]
    assert sent == [digits] * 2


def test_results_of_128_bits_are_sent_as_they_are(service: Scripted) -> None:
    values = np.array([[1, 2], [1, 3], [2**63, 5], [2**63, 4]], dtype="uint64")
    pairs = hamdex.pairs(values, k=1).read_all()
    digits = [f"{int(high):016x}{int(low):016x}" for high, low in pairs["left"]]
    assert len(digits) == 2
    store = connect(service, "wide")
    table = pa.table(pairs)
    columns = [pairs["left"], table["left"], table["left"].combine_chunks(), pl.DataFrame(pairs)["left"]]
    for column in columns:
        store.insert(column)
        store.remove(column)
        store.batch(column)
    sent = [write.get("fingerprints") or [record["fingerprint"] for record in write["records"]] for write in service.writes]
    assert sent == [digits] * (3 * len(columns))


def test_an_answer_that_is_no_json_is_said(service: Scripted) -> None:
    with pytest.raises(hamdex.RemoteError, match="is this the address of a hamdex service"):
        connect(service, "page")
