"""One HTTP request on a connection of its own, whose body may come in two parts."""

from __future__ import annotations

import contextlib
import http.client
import json
import select
import socket
from collections.abc import Mapping
from typing import Any


class Answer:
    """What came back. Header names are in lower case."""

    def __init__(self, response: http.client.HTTPResponse) -> None:
        self.status = response.status
        self.headers = {name.lower(): value for name, value in response.getheaders()}
        self.body = response.read()

    @property
    def text(self) -> str:
        return self.body.decode("utf-8", "replace")

    def json(self) -> Any:
        return json.loads(self.body)


class Wire:
    """Sends the head at once, and the body but for `keep_back`."""

    def __init__(
        self,
        port: int,
        method: str,
        path: str,
        headers: Mapping[str, str | list[str]] | None = None,
        body: bytes | None = None,
        *,
        keep_back: bool = False,
    ) -> None:
        self.method = method
        fields = [
            (name, one)
            for name, value in (headers or {}).items()
            for one in (value if isinstance(value, list) else [value])
        ]
        names = {name.lower() for name, _ in fields}
        if "host" not in names:
            fields.append(("host", f"127.0.0.1:{port}"))
        payload = body or b""
        if ("transfer-encoding", "chunked") in fields:
            payload = b"%x\r\n%b\r\n0\r\n\r\n" % (len(payload), payload)
        elif body is not None and "content-length" not in names:
            fields.append(("content-length", str(len(payload))))
        head = "".join([f"{method} {path} HTTP/1.1\r\n", *(f"{name}: {value}\r\n" for name, value in fields), "\r\n"])
        sent = 1 if keep_back else len(payload)
        self._rest = payload[sent:]
        self._socket = socket.create_connection(("127.0.0.1", port), 10)
        self.send(head.encode("utf-8", "surrogateescape") + payload[:sent])

    def send(self, data: bytes) -> None:
        """Send raw bytes; a side that has closed does not matter."""
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            self._socket.sendall(data)

    def complete(self) -> None:
        """Send what was kept back, unless there already is an answer."""
        if self._rest and not self.is_answered():
            self.send(self._rest)
        self._rest = b""

    def is_answered(self) -> bool:
        """Whether something has come back."""
        return bool(select.select([self._socket], [], [], 0)[0])

    def answer(self, seconds: float = 30.0) -> Answer:
        """The answer, and the end of the connection."""
        self._socket.settimeout(seconds)
        try:
            response = http.client.HTTPResponse(self._socket, method=self.method)
            response.begin()
            return Answer(response)
        finally:
            self.close()

    def close(self) -> None:
        """Drop the connection."""
        self._socket.close()


def ask(port: int, method: str, path: str, body: Any = None, headers: Mapping[str, str] | None = None) -> Answer:
    """Send a request, with a JSON body if there is one, and return the answer."""
    fields = {"content-type": "application/json", **(headers or {})} if body is not None else dict(headers or {})
    raw = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
    return Wire(port, method, path, fields, raw).answer()
