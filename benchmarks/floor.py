"""A server that reads nothing and answers every request alike: what a request costs any server on uvloop.

    python -m benchmarks.floor --host 127.0.0.1 --port 8000

Other flags are ignored, so that it can take the place of the service in `benchmarks.http`.
"""

from __future__ import annotations

import argparse
import asyncio
from typing import cast

import uvloop

BODY = b'{"tokens":[9707],"count":1,"char_count":5}'
ANSWER = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n%b" % (len(BODY), BODY)


class Floor(asyncio.Protocol):
    """One connection. A request that comes in two pieces would be answered twice: short ones do not."""

    _transport: asyncio.Transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """See `asyncio.BaseProtocol`."""
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        """Answer, whatever it is."""
        del data
        self._transport.write(ANSWER)


async def serve(host: str, port: int) -> None:
    """Answer until the process ends."""
    server = await asyncio.get_running_loop().create_server(Floor, host, port)
    await server.serve_forever()


def main() -> None:
    """Serve."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8000)
    arguments, _ = parser.parse_known_args()
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(serve(arguments.host, arguments.port))


if __name__ == "__main__":
    main()
