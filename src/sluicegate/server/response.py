"""What the service answers with, and the three shapes of its errors."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any, Literal, TypeAlias

import msgspec

Headers: TypeAlias = tuple[tuple[bytes, bytes], ...]
ErrorShape: TypeAlias = Literal["api", "parse", "workers"]

JSON = b"application/json"
TEXT = b"text/plain; charset=utf-8"

encode_json = msgspec.json.Encoder().encode


class Response:
    """A whole answer: `status`, `body`, its media type, and further headers.

    `code` is the error code, which every refusal that has one carries in `x-smg-error-code`; `close` ends the
    connection after the answer.
    """

    __slots__ = ("body", "close", "code", "content_type", "headers", "status")

    def __init__(
        self,
        body: bytes,
        status: int = 200,
        *,
        content_type: bytes = JSON,
        headers: Headers = (),
        code: str | None = None,
        close: bool = False,
    ) -> None:
        self.body = body
        self.status = status
        self.content_type = content_type
        self.headers = headers
        self.code = code
        self.close = close


class StreamedResponse(Response):
    """An answer that comes in pieces, of a length that is not known before its end."""

    __slots__ = ("pieces",)

    def __init__(self, pieces: AsyncIterator[bytes], *, content_type: bytes, headers: Headers = ()) -> None:
        super().__init__(b"", content_type=content_type, headers=headers)
        self.pieces = pieces


class Refused(Exception):
    """A request is answered with `response` instead of going on."""

    def __init__(self, response: Response) -> None:
        super().__init__(response.status, response.code)
        self.response = response


def json_response(value: Any, status: int = 200, *, headers: Headers = ()) -> Response:
    """An answer with `value` as compact JSON."""
    return Response(encode_json(value), status, headers=headers)


def text_response(text: str, status: int = 200) -> Response:
    """An answer in plain text."""
    return Response(text.encode(), status, content_type=TEXT)


def error_response(
    shape: ErrorShape,
    status: int,
    code: str,
    message: str,
    *,
    param: str | None = None,
    type: str = "invalid_request_error",  # noqa: A002 - the name of the member
    headers: Headers = (),
    close: bool = False,
) -> Response:
    """A refusal that has a code, in the shape of its path."""
    body: dict[str, Any]
    if shape == "parse":
        body = {"error": message, "success": False}
    elif shape == "workers":
        body = {"error": message, "code": code}
    else:
        body = {"error": {"message": message, "type": type, "param": param, "code": code}}
    return Response(
        encode_json(body),
        status,
        headers=((b"x-smg-error-code", code.encode()), *headers),
        code=code,
        close=close,
    )


def plain_error(status: int, type: str, message: str) -> Response:  # noqa: A002 - the name of the member
    """The errors that clients know with two members alone: `tokenizer_not_found`, `tokenization_error`, …"""
    return Response(encode_json({"error": {"message": message, "type": type}}), status, code=type)
