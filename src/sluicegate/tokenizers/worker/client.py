"""A blocking client of one gRPC worker; call it from a thread, `close` from any other ends what is in flight."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import grpc
from smg_grpc_proto.generated import common_pb2

from sluicegate.tokenizers.worker.address import WorkerAddress
from sluicegate.tokenizers.worker.bundle import DEFAULT_LIMITS, BundleLimits, BundleReceiver
from sluicegate.tokenizers.worker.errors import BundleError, WorkerRefused, WorkerUnreachable
from sluicegate.tokenizers.worker.runtimes import RUNTIMES, ModelInfo, Runtime

MAXIMUM_MESSAGE_BYTES = 4_194_304

_CHANNEL_OPTIONS = [
    ("grpc.max_receive_message_length", MAXIMUM_MESSAGE_BYTES),
    ("grpc.enable_http_proxy", 0),  # workers are neighbours; proxies are for the hub and for key sets
    # Subchannels are shared by default, so that a new client would inherit the back-off of one that failed before.
    ("grpc.use_local_subchannel_pool", 1),
]

# A status that the same question may not meet again: the worker is away, starting, overloaded, or its stream broke.
_PASSING = frozenset(
    {
        grpc.StatusCode.UNAVAILABLE,
        grpc.StatusCode.DEADLINE_EXCEEDED,
        grpc.StatusCode.ABORTED,
        grpc.StatusCode.CANCELLED,
        grpc.StatusCode.INTERNAL,
        grpc.StatusCode.UNKNOWN,
    }
)
_AWAY = frozenset({grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED, grpc.StatusCode.CANCELLED})


@dataclass(frozen=True, slots=True)
class WorkerCredentials:
    """TLS material towards workers, PEM bytes. Without `authorities` the ones that gRPC carries are trusted."""

    authorities: bytes | None = None
    certificate: bytes | None = None
    key: bytes | None = None

    @classmethod
    def from_files(cls, authorities: Iterable[Path], certificate: Path | None, key: Path | None) -> WorkerCredentials:
        """Read the files of `--ca-cert-paths`, `--client-cert-path` and `--client-key-path`.

        Raises `ValueError` when one of certificate and key is missing, `OSError` when a file cannot be read.
        """
        if (certificate is None) != (key is None):
            raise ValueError("a client certificate and its key belong together: give both or neither")
        return cls(
            authorities=b"\n".join(path.read_bytes() for path in authorities) or None,
            certificate=certificate.read_bytes() if certificate else None,
            key=key.read_bytes() if key else None,
        )


class WorkerClient:
    """Asks one worker which engine it is, which model it serves, and for its tokenizer."""

    def __init__(self, address: WorkerAddress, credentials: WorkerCredentials | None = None) -> None:
        if address.secure:
            trust = credentials or WorkerCredentials()
            tls = grpc.ssl_channel_credentials(trust.authorities, trust.key, trust.certificate)
            self._channel = grpc.secure_channel(address.target, tls, _CHANNEL_OPTIONS)
        else:
            self._channel = grpc.insecure_channel(address.target, _CHANNEL_OPTIONS)
        self._address = address

    def __enter__(self) -> WorkerClient:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection; calls in flight end with `WorkerUnreachable`. May be called twice."""
        self._channel.close()

    def detect_runtime(self, timeout: float) -> Runtime:
        """The service that does not answer `HealthCheck` with UNIMPLEMENTED, within `timeout` seconds.

        Raises `WorkerUnreachable` when nobody answers, `WorkerRefused` when the worker has none of the services.
        An unhealthy worker is a worker: what it answers does not matter.
        """
        calls = [
            (runtime, runtime.stub(self._channel).HealthCheck.future(runtime.messages.HealthCheckRequest(), timeout))
            for runtime in RUNTIMES
        ]
        failures: dict[Runtime, grpc.RpcError] = {}
        for runtime, call in calls:
            try:
                call.result()
            except grpc.RpcError as error:
                if error.code() is not grpc.StatusCode.UNIMPLEMENTED:
                    failures[runtime] = error
            except grpc.FutureCancelledError as error:
                raise WorkerUnreachable(f"The connection to worker {self._address.target} was closed") from error
            else:
                return runtime
        if not failures:
            raise WorkerRefused(
                f"Worker {self._address.target} serves none of {', '.join(runtime.service for runtime in RUNTIMES)}"
            )
        if len(failures) == len(RUNTIMES):
            raise self._error("HealthCheck", next(iter(failures.values())))
        return next(iter(failures))  # the others say UNIMPLEMENTED, so this one exists

    def model_info(self, runtime: Runtime, timeout: float) -> ModelInfo:
        """What the worker says about its model, within `timeout` seconds. Raises `WorkerError`."""
        try:
            request = runtime.messages.GetModelInfoRequest()
            return ModelInfo.from_message(runtime.stub(self._channel).GetModelInfo(request, timeout=timeout))
        except (grpc.RpcError, ValueError) as error:
            raise self._error("GetModelInfo", error) from error

    def fetch_bundle(
        self, runtime: Runtime, output: BinaryIO, timeout: float, limits: BundleLimits = DEFAULT_LIMITS
    ) -> None:
        """Receive the worker's tokenizer bundle into `output`, the whole of it within `timeout` seconds.

        Raises `BundleError` for what is refused, `WorkerUnreachable` for a broken stream.
        """
        receiver = BundleReceiver(output, limits)
        stream: Any = None
        try:
            stream = runtime.stub(self._channel).GetTokenizer(common_pb2.GetTokenizerRequest(), timeout=timeout)
            for message in stream:
                receiver.feed(message.data, message.sha256)
        except (grpc.RpcError, ValueError) as error:
            raise self._error("GetTokenizer", error) from error
        finally:
            if stream is not None:
                stream.cancel()  # without effect after the end; frees the worker when the bundle was refused
        receiver.finish()

    def _error(self, method: str, error: grpc.RpcError | ValueError) -> BundleError | WorkerRefused | WorkerUnreachable:
        """The error of this library for a failed call; gRPC raises `ValueError` for a channel that was closed."""
        target = self._address.target
        if not isinstance(error, grpc.RpcError):
            return WorkerUnreachable(f"The connection to worker {target} was closed")
        code, details = error.code(), (error.details() or "")[:300]
        if method == "GetTokenizer" and code is grpc.StatusCode.UNIMPLEMENTED:
            return BundleError(f"Worker {target} does not serve its tokenizer (GetTokenizer: UNIMPLEMENTED)")
        text = f"Worker {target} failed {method}: {code.name}: {details}"
        if code in _AWAY or (method == "GetTokenizer" and code in _PASSING):
            return WorkerUnreachable(text)
        return WorkerRefused(text)
