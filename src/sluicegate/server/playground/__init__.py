"""The playground: static pages at `/playground` that ask the service they come from, and nobody else."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from starlette.applications import Starlette
from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.responses import RedirectResponse
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Message, Receive, Scope, Send

PREFIX: Final = "/playground"
STATIC: Final = Path(__file__).parent / "static"
HEADERS: Final = {
    # All that the pages may do: load their own files, and call the service they come from.
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "cross-origin-opener-policy": "same-origin",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    # The files change with the service, and their entity tags tell whether they have.
    "cache-control": "no-cache",
}


class Playground:
    """ASGI application that answers `/playground` and all that is below it."""

    def __init__(self) -> None:
        self._pages: ASGIApp = Starlette(
            routes=[Route(PREFIX, _to_the_page), Mount(PREFIX, StaticFiles(directory=STATIC, html=True))]
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(HEADERS)
            await send(message)

        await self._pages(scope, receive, send_with_headers)


def _to_the_page(_request: Request) -> RedirectResponse:
    """To the directory, relative to where the page is, so that a proxy may put the service under another path."""
    return RedirectResponse("playground/", 308)
