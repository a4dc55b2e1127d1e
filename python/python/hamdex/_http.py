"""Requests to a service, on connections that are kept."""

from __future__ import annotations

import http.client
import os
import select
import ssl
import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from urllib.parse import urlsplit

_TRIES = 3
# The longest time between two tries, in seconds.
_MAX_PAUSE = 5.0


def pause_of(retry_after: str | None) -> float:
    """Return the seconds to wait that a header asks for, in seconds or as a date."""
    try:
        seconds = float(retry_after or 1)
    except ValueError:
        try:
            date = parsedate_to_datetime(retry_after or "")
            seconds = (date.replace(tzinfo=date.tzinfo or UTC) - datetime.now(UTC)).total_seconds()
        except (ValueError, OverflowError):
            seconds = 1.0
    # Also what is not a number.
    return min(seconds, _MAX_PAUSE) if seconds > 0 else 0.0


def _has_ended(connection: http.client.HTTPConnection) -> bool:
    """Whether the service has ended a connection that waits for no answer: there is something to read."""
    if connection.sock is None:
        return True
    if not hasattr(select, "poll"):
        return bool(select.select([connection.sock], [], [], 0)[0])
    waiting = select.poll()
    waiting.register(connection.sock, select.POLLIN)
    return bool(waiting.poll(0))


class Service:
    """Requests to one service. A connection serves one request at a time, and those of any thread."""

    def __init__(self, url: str, token: str | None, timeout: float, context: ssl.SSLContext | None) -> None:
        parts = urlsplit(url if "://" in url else "http://" + url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError(f"{url!r} is no address of a service; use http://localhost:7700")
        self.url = f"{parts.scheme}://{parts.netloc}"
        self.path = parts.path
        self.closed = False
        self._host, self._port = parts.hostname, parts.port
        self._context = (context or ssl.create_default_context()) if parts.scheme == "https" else None
        self._timeout = timeout
        self._headers = {"Accept": "application/json"}
        if token is not None:
            self._headers["Authorization"] = f"Bearer {token}"
        # Connections that no request uses, the last one used at the end.
        self._idle: list[http.client.HTTPConnection] = []
        self._process = os.getpid()
        self._lock = threading.Lock()

    def _fresh(self) -> http.client.HTTPConnection:
        if self._context is not None:
            return http.client.HTTPSConnection(self._host, self._port, timeout=self._timeout, context=self._context)
        return http.client.HTTPConnection(self._host, self._port, timeout=self._timeout)

    def _kept(self) -> http.client.HTTPConnection | None:
        """Take an idle connection that is still open."""
        if self._process != os.getpid():
            # A fork has copied them, and perhaps a lock that another thread of the parent held.
            self._lock, self._idle, self._process = threading.Lock(), [], os.getpid()
        with self._lock:
            if self.closed:
                raise ValueError("the connection is closed")
            while self._idle:
                connection = self._idle.pop()
                if not _has_ended(connection):
                    return connection
                connection.close()
        return None

    def _keep(self, connection: http.client.HTTPConnection) -> None:
        with self._lock:
            if not self.closed:
                self._idle.append(connection)
                return
        connection.close()

    def _send(
        self, method: str, path: str, body: bytes | None
    ) -> tuple[http.client.HTTPConnection, http.client.HTTPResponse]:
        headers = dict(self._headers)
        if body is not None:
            headers["Content-Type"] = "application/json"
        is_read = method == "GET" or path.endswith(("/query", "/fingerprints"))
        kept = self._kept()
        connection = kept or self._fresh()
        while True:
            is_sent = False
            try:
                connection.request(method, path, body, headers)
                is_sent = True
                return connection, connection.getresponse()
            except (http.client.RemoteDisconnected, BrokenPipeError, ConnectionResetError):
                connection.close()
                # The service ends connections that were idle. A request that was not sent to its end was not carried out;
                # one that was, is repeated if it changes nothing.
                if connection is not kept or (is_sent and not is_read):
                    raise
                connection = self._fresh()
            except BaseException:
                connection.close()
                raise

    def ask(self, method: str, path: str, body: bytes | None) -> tuple[int, bytes]:
        """Return the status of the answer, and its body."""
        attempt = 0
        while True:
            attempt += 1
            connection, response = self._send(method, path, body)
            try:
                answer = response.read()
            except BaseException:
                # The rest of the answer would be taken for that of the next request.
                connection.close()
                raise
            self._keep(connection)
            # Refused before anything was done.
            if response.status != 429 or attempt == _TRIES:
                return response.status, answer
            time.sleep(pause_of(response.headers.get("Retry-After")))

    def chunks(self, path: str) -> Iterator[tuple[int, bytes]]:
        """Return the pieces of an answer, each with its status; a refusal is one piece."""
        connection, response = self._send("GET", path, None)
        try:
            if response.status >= 300:
                yield response.status, response.read()
                return
            # Of an answer that is cut off, read1 raises IncompleteRead; lines of the response would just end.
            while chunk := response.read1(1 << 16):
                yield response.status, chunk
        finally:
            connection.close()

    def close(self) -> None:
        """Close the connections; one that is in use, when its request ends."""
        with self._lock:
            self.closed = True
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()
