"""A gRPC worker in this process: the five services of the real protos, one of which is implemented."""

from __future__ import annotations

import hashlib
import io
import zipfile
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from importlib import import_module
from typing import Any

import grpc
from smg_grpc_proto.generated import common_pb2
from smg_grpc_servicer.tokenizer_bundle import tokenizer_chunks

from sluicegate.tokenizers.worker.runtimes import RUNTIMES, Runtime

TINY = b'{"version":"1.0","model":{"type":"BPE","vocab":{"a":0},"merges":[]}}'


def zip_of(files: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return buffer.getvalue()


def chunks(archive: bytes, size: int = 65536, sha256: str | None = None) -> list[Any]:
    """The archive as a worker sends it: by the code of the real workers unless something is to be wrong."""
    digest = hashlib.sha256(archive).hexdigest() if sha256 is None else sha256
    if size == 65536:
        return list(tokenizer_chunks(archive, digest))
    pieces = [archive[start : start + size] for start in range(0, len(archive), size)]
    return [
        common_pb2.GetTokenizerChunk(data=piece, sha256=digest if index == len(pieces) - 1 else "")
        for index, piece in enumerate(pieces)
    ]


class Worker:
    """What the served engine answers; tests replace the members they care about. Counts the calls it gets."""

    def __init__(self, runtime: Runtime, info: dict[str, Any] | None = None, stream: Iterable[Any] = ()) -> None:
        self.runtime = runtime
        self.info = info or {}
        self.stream: Callable[[Any], Iterable[Any]] = lambda _context: list(stream)
        self.health: Callable[[Any], Any] = lambda _context: self._healthy()
        self.before_info: Callable[[Any], None] = lambda _context: None
        self.calls: list[str] = []
        self.url = ""

    def _healthy(self) -> Any:
        message = self.runtime.messages.HealthCheckResponse
        return message(status="ok") if self.runtime.name == "trtllm" else message(healthy=True)

    def HealthCheck(self, _request: Any, context: Any) -> Any:
        self.calls.append("HealthCheck")
        return self.health(context)

    def GetModelInfo(self, _request: Any, context: Any) -> Any:
        self.calls.append("GetModelInfo")
        self.before_info(context)
        return self.runtime.messages.GetModelInfoResponse(**self.info)

    def GetTokenizer(self, _request: Any, context: Any) -> Iterator[Any]:
        self.calls.append("GetTokenizer")
        yield from self.stream(context)

    def __getattr__(self, name: str) -> Any:  # the other methods of the service
        def unimplemented(_request: Any, context: Any) -> None:
            context.abort(grpc.StatusCode.UNIMPLEMENTED, name)

        return unimplemented


@contextmanager
def serving(worker: Worker, credentials: grpc.ServerCredentials | None = None) -> Iterator[Worker]:
    """Run `worker` on a free loopback port; the other four services are there and answer UNIMPLEMENTED."""
    server = grpc.server(ThreadPoolExecutor(max_workers=8), options=[("grpc.so_reuseport", 0)])
    for runtime in RUNTIMES:
        module = import_module(f"smg_grpc_proto.generated.{runtime.module}_pb2_grpc")
        service = runtime.service.rpartition(".")[2]
        servicer = worker if runtime == worker.runtime else getattr(module, f"{service}Servicer")()
        getattr(module, f"add_{service}Servicer_to_server")(servicer, server)
    if credentials is None:
        worker.url = f"grpc://127.0.0.1:{server.add_insecure_port('127.0.0.1:0')}"
    else:
        worker.url = f"grpcs://localhost:{server.add_secure_port('127.0.0.1:0', credentials)}"
    server.start()
    try:
        yield worker
    finally:
        server.stop(None).wait()
