"""A blocking client of one gRPC worker, for one thread; any other may `cancel` what is in flight."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, BinaryIO

import grpc
from smg_grpc_proto.generated import common_pb2

from sluicegate.tokenizers.worker.address import WorkerAddress
from sluicegate.tokenizers.worker.bundle import DEFAULT_LIMITS, BundleLimits, BundleReceiver
from sluicegate.tokenizers.worker.credentials import WorkerCredentials
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


class WorkerClient:
    """Asks one worker which engine it is, which model it serves, and for its tokenizer.

    Belongs to the thread that calls it, which also closes it; `cancel` alone may be called from another.
    """

    def __init__(self, address: WorkerAddress, credentials: WorkerCredentials | None = None) -> None:
        if address.secure:
            trust = credentials or WorkerCredentials()
            tls = grpc.ssl_channel_credentials(trust.authorities, trust.key, trust.certificate)
            self._channel = grpc.secure_channel(address.target, tls, _CHANNEL_OPTIONS)
        else:
            self._channel = grpc.insecure_channel(address.target, _CHANNEL_OPTIONS)
        self._address = address
        # A channel that is closed in one thread while another starts a call on it ends the process: gRPC reads freed
        # memory. So calls start, are cancelled and lose their channel under this lock, and only the owner closes.
        self._lock = threading.Lock()
        self._cancelled = False
        self._calls: list[Any] = []

    def __enter__(self) -> WorkerClient:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the connection; to be called by the thread that makes the calls."""
        with self._lock:
            self._cancelled = True
            self._calls.clear()
            self._channel.close()

    def cancel(self) -> None:
        """End the calls in flight and let none start: they fail with `WorkerUnreachable`. Harmless after `close`."""
        with self._lock:
            self._cancelled = True
            for call in self._calls:
                call.cancel()

    def detect_runtime(self, timeout: float) -> Runtime:
        """The service that does not answer `HealthCheck` with UNIMPLEMENTED, within `timeout` seconds.

        Raises `WorkerUnreachable` when nobody answers, `WorkerRefused` when the worker has none of the services.
        An unhealthy worker is a worker: what it answers does not matter.
        """
        calls = [(runtime, self._start_unary(runtime, "HealthCheck", timeout)) for runtime in RUNTIMES]
        failures: dict[Runtime, grpc.RpcError] = {}
        for runtime, call in calls:
            try:
                call.result()
            except grpc.RpcError as error:
                if error.code() is not grpc.StatusCode.UNIMPLEMENTED:
                    failures[runtime] = error
            except grpc.FutureCancelledError as error:
                raise self._was_cancelled() from error
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
            return ModelInfo.from_message(self._start_unary(runtime, "GetModelInfo", timeout).result())
        except grpc.RpcError as error:
            raise self._error("GetModelInfo", error) from error
        except grpc.FutureCancelledError as error:
            raise self._was_cancelled() from error

    def fetch_bundle(
        self, runtime: Runtime, output: BinaryIO, timeout: float, limits: BundleLimits = DEFAULT_LIMITS
    ) -> None:
        """Receive the worker's tokenizer bundle into `output`, the whole of it within `timeout` seconds.

        Raises `BundleError` for what is refused, `WorkerUnreachable` for a broken stream.
        """
        receiver = BundleReceiver(output, limits)
        request = common_pb2.GetTokenizerRequest()
        stream = self._start(lambda: runtime.stub(self._channel).GetTokenizer(request, timeout=timeout))
        try:
            for message in stream:
                receiver.feed(message.data, message.sha256)
        except grpc.RpcError as error:
            raise self._error("GetTokenizer", error) from error
        finally:
            stream.cancel()  # without effect after the end; frees the worker when the bundle was refused
        receiver.finish()

    def _start_unary(self, runtime: Runtime, method: str, timeout: float) -> Any:
        request = getattr(runtime.messages, f"{method}Request")()
        return self._start(lambda: getattr(runtime.stub(self._channel), method).future(request, timeout=timeout))

    def _start(self, call: Callable[[], Any]) -> Any:
        with self._lock:
            if self._cancelled:
                raise self._was_cancelled()
            started = call()
            self._calls.append(started)
            return started

    def _was_cancelled(self) -> WorkerUnreachable:
        return WorkerUnreachable(f"The connection to worker {self._address.target} was given up")

    def _error(self, method: str, error: grpc.RpcError) -> BundleError | WorkerRefused | WorkerUnreachable:
        """The error of this library for a call that ended with a status."""
        target, code, details = self._address.target, error.code(), (error.details() or "")[:300]
        if method == "GetTokenizer" and code is grpc.StatusCode.UNIMPLEMENTED:
            return BundleError(f"Worker {target} does not serve its tokenizer (GetTokenizer: UNIMPLEMENTED)")
        text = f"Worker {target} failed {method}: {code.name}: {details}"
        if code in _AWAY or (method == "GetTokenizer" and code in _PASSING):
            return WorkerUnreachable(text)
        return WorkerRefused(text)
