"""The client against a real gRPC server in this process."""

from __future__ import annotations

import contextlib
import datetime as dt
import io
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import grpc
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from smg_grpc_proto.generated import common_pb2

from sluicegate.core.errors import InvalidSetting
from sluicegate.tokenizers.worker.address import WorkerAddress
from sluicegate.tokenizers.worker.bundle import BundleLimits
from sluicegate.tokenizers.worker.client import WorkerClient
from sluicegate.tokenizers.worker.credentials import WorkerCredentials
from sluicegate.tokenizers.worker.errors import BundleError, WorkerError, WorkerRefused, WorkerUnreachable
from sluicegate.tokenizers.worker.runtimes import RUNTIMES, ModelInfo, Runtime
from tests.support.grpc_worker import Worker, chunks, serving, zip_of

SGLANG = next(runtime for runtime in RUNTIMES if runtime.name == "sglang")
ARCHIVE = zip_of({"tokenizer.json": b"{}" * 100_000, "config.json": bytes(range(256)) * 2000})


def client_of(worker: Worker, credentials: WorkerCredentials | None = None) -> WorkerClient:
    return WorkerClient(WorkerAddress.parse(worker.url), credentials)


@pytest.fixture
def worker() -> Iterator[Worker]:
    with serving(Worker(SGLANG, stream=chunks(ARCHIVE))) as running:
        yield running


def fetch(worker: Worker, timeout: float = 10, limits: BundleLimits | None = None) -> bytes:
    output = io.BytesIO()
    with client_of(worker) as client:
        client.fetch_bundle(worker.runtime, output, timeout, limits or BundleLimits())
    return output.getvalue()


@pytest.mark.parametrize("runtime", RUNTIMES, ids=lambda runtime: runtime.name)
def test_each_runtime_is_detected_and_asked(runtime: Runtime) -> None:
    members = {field.name for field in runtime.messages.GetModelInfoResponse.DESCRIPTOR.fields}
    wanted = {"served_model_name": "name", "model_path": "/models/x", "tokenizer_path": "/models/y"}
    info = {name: value for name, value in wanted.items() if name in members}
    with serving(Worker(runtime, info, chunks(ARCHIVE))) as worker, client_of(worker) as client:
        assert client.detect_runtime(10) is runtime
        assert client.model_info(runtime, 10) == ModelInfo(**info)
        assert fetch(worker) == ARCHIVE
    assert runtime.name == "trtllm" or info["served_model_name"] == "name"


def test_an_unhealthy_worker_is_a_worker(worker: Worker) -> None:
    worker.health = lambda _context: SGLANG.messages.HealthCheckResponse(healthy=False, message="loading")
    with client_of(worker) as client:
        assert client.detect_runtime(10) is SGLANG


def test_a_worker_whose_health_check_fails_is_found_by_the_others(worker: Worker) -> None:
    worker.health = lambda context: context.abort(grpc.StatusCode.INTERNAL, "broken")
    with client_of(worker) as client:
        assert client.detect_runtime(10) is SGLANG


def test_a_server_without_any_of_the_services(worker: Worker) -> None:
    worker.health = lambda context: context.abort(grpc.StatusCode.UNIMPLEMENTED, "")
    with client_of(worker) as client, pytest.raises(WorkerRefused, match=r"serves none of tokenspeed\.grpc"):
        client.detect_runtime(10)


def test_nobody_listens() -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        address = WorkerAddress.parse(f"grpc://127.0.0.1:{closed.getsockname()[1]}")
        with WorkerClient(address) as client, pytest.raises(WorkerUnreachable, match="UNAVAILABLE") as caught:
            client.detect_runtime(10)
    assert caught.value.retryable


def test_a_worker_that_never_answers() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = WorkerAddress.parse(f"grpc://127.0.0.1:{silent.getsockname()[1]}")
        with WorkerClient(address) as client, pytest.raises(WorkerUnreachable):
            client.detect_runtime(0.3)


@pytest.mark.parametrize("size", [65536, 1000, 4_000_000])
def test_the_bundle_arrives_in_messages_of_any_size(worker: Worker, size: int) -> None:
    worker.stream = lambda _context: chunks(ARCHIVE, size)
    assert fetch(worker) == ARCHIVE


def test_the_digest_may_come_alone(worker: Worker) -> None:
    *first, last = chunks(ARCHIVE)
    worker.stream = lambda _context: [
        *first,
        common_pb2.GetTokenizerChunk(data=last.data),
        common_pb2.GetTokenizerChunk(sha256=last.sha256.upper()),
    ]
    assert fetch(worker) == ARCHIVE


@pytest.mark.parametrize(
    ("stream", "error", "reason", "retryable"),
    [
        (lambda _: [], BundleError, "without a message", False),
        (lambda _: chunks(ARCHIVE, sha256=""), BundleError, "without a sha256", False),
        (lambda _: chunks(ARCHIVE, sha256="0" * 64), BundleError, "does not match", False),
        (lambda _: chunks(bytes(5_000_000), 5_000_000), WorkerRefused, "RESOURCE_EXHAUSTED", False),
        (lambda context: context.abort(grpc.StatusCode.UNIMPLEMENTED, ""), BundleError, "UNIMPLEMENTED", False),
        (lambda context: context.abort(grpc.StatusCode.NOT_FOUND, "no dir"), WorkerRefused, "no dir", False),
        (lambda context: context.abort(grpc.StatusCode.UNAVAILABLE, "gone"), WorkerUnreachable, "gone", True),
    ],
)
def test_streams_that_are_refused(
    worker: Worker, stream: Any, error: type[WorkerError], reason: str, retryable: bool
) -> None:
    worker.stream = stream
    with pytest.raises(error, match=reason) as caught:
        fetch(worker)
    assert caught.value.retryable is retryable


def test_a_worker_that_dies_midway(worker: Worker) -> None:
    def dying(_context: Any) -> Iterator[Any]:
        yield from chunks(ARCHIVE, 1000)[:3]
        raise RuntimeError("died")

    worker.stream = dying
    with pytest.raises(WorkerUnreachable, match="GetTokenizer"):
        fetch(worker)


def test_a_worker_that_hangs_midway_is_left_at_the_deadline(worker: Worker) -> None:
    gone = threading.Event()

    def hanging(context: Any) -> Iterator[Any]:
        context.add_callback(gone.set)
        yield chunks(ARCHIVE, 1000)[0]
        gone.wait(30)

    worker.stream = hanging
    with pytest.raises(WorkerUnreachable, match="DEADLINE_EXCEEDED"):
        fetch(worker, timeout=0.3)
    assert gone.wait(10)


def test_too_much_is_cut_off_while_it_comes(worker: Worker) -> None:
    gone = threading.Event()

    def endless(context: Any) -> Iterator[Any]:
        context.add_callback(gone.set)
        while not gone.is_set():
            yield common_pb2.GetTokenizerChunk(data=bytes(65536))

    worker.stream = endless
    with pytest.raises(BundleError, match="larger than 1000000 bytes"):
        fetch(worker, limits=BundleLimits(archive_bytes=1_000_000))
    assert gone.wait(10)


def test_cancelling_ends_what_is_in_flight(worker: Worker) -> None:
    started, gone = threading.Event(), threading.Event()

    def hanging(context: Any) -> Iterator[Any]:
        context.add_callback(gone.set)
        yield chunks(ARCHIVE, 1000)[0]
        started.set()
        gone.wait(30)

    worker.stream = hanging
    with client_of(worker) as client:

        def cancel_once_started() -> None:
            started.wait(10)
            client.cancel()

        canceller = threading.Thread(target=cancel_once_started)
        canceller.start()
        with pytest.raises(WorkerUnreachable):
            client.fetch_bundle(SGLANG, io.BytesIO(), 30)
        canceller.join()
        with pytest.raises(WorkerUnreachable, match="given up"):
            client.model_info(SGLANG, 1)
    client.cancel()


def test_cancelling_at_any_moment_is_safe(worker: Worker) -> None:
    for pause in range(30):
        client = client_of(worker)
        canceller = threading.Timer(pause / 5000, client.cancel)
        canceller.start()
        with client, contextlib.suppress(WorkerUnreachable):
            runtime = client.detect_runtime(10)
            client.model_info(runtime, 10)
            client.fetch_bundle(runtime, io.BytesIO(), 10)
        canceller.join()


@pytest.mark.parametrize(
    ("url", "secure", "target"),
    [
        ("grpc://127.0.0.1:50051", False, "127.0.0.1:50051"),
        ("grpcs://Worker-1.Example:443/", True, "worker-1.example:443"),
        ("grpc://[::1]:50051", False, "[::1]:50051"),
    ],
)
def test_worker_urls(url: str, secure: bool, target: str) -> None:
    assert WorkerAddress.parse(url) == WorkerAddress(secure, target)


@pytest.mark.parametrize(
    "url",
    [
        *("", "GRPC://a:1", "grpc://", "grpc://a", "grpc://a:", "grpc://a:0", "grpc://a:65536", "grpc://a:1/x"),
        *("http://a:1", "ipc:///x", "grpc://u:p@a:1", "grpc://a:1?x", "grpc://a:1#x", " grpc://a:1", "grpc://a:1\n"),
        *("grpc://dns:///a:1", "grpc://a:1,b:2", "grpc://é:1", "grpc://a:١", "grpc://" + "a" * 3000 + ":1"),
    ],
)
def test_what_is_no_worker_url(url: str) -> None:
    with pytest.raises(ValueError, match="is not a worker URL"):
        WorkerAddress.parse(url)


def issue(name: str, issuer: tuple[x509.Certificate, ec.EllipticCurvePrivateKey] | None = None) -> Any:
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    start = dt.datetime(2020, 1, 1, tzinfo=dt.UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer[0].subject if issuer else subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(start)
        .not_valid_after(start + dt.timedelta(days=36500))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
        .add_extension(x509.BasicConstraints(ca=issuer is None, path_length=None), critical=True)
        .sign(issuer[1] if issuer else key, hashes.SHA256())
    )
    return certificate, key


def pem(certificate: x509.Certificate) -> bytes:
    return certificate.public_bytes(serialization.Encoding.PEM)


def key_pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )


def test_tls_with_client_certificates(tmp_path: Path) -> None:
    authority, server, own = issue("authority"), None, None
    server, own = issue("localhost", authority), issue("gateway", authority)
    demanding = grpc.ssl_server_credentials(
        [(key_pem(server[1]), pem(server[0]))], root_certificates=pem(authority[0]), require_client_auth=True
    )
    files = {"ca": pem(authority[0]), "other": pem(issue("other")[0]), "cert": pem(own[0]), "key": key_pem(own[1])}
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)
    paths = {name: str(tmp_path / name) for name in files}
    right = WorkerCredentials.from_files([paths["other"], paths["ca"]], paths["cert"], paths["key"])
    wrong = [
        None,
        WorkerCredentials.from_files([paths["ca"]], None, None),
        WorkerCredentials.from_files([paths["other"]], paths["cert"], paths["key"]),
    ]
    with serving(Worker(SGLANG), demanding) as worker:
        with client_of(worker, right) as client:
            assert client.detect_runtime(10) is SGLANG
        for credentials in wrong:
            with client_of(worker, credentials) as client, pytest.raises(WorkerUnreachable):
                client.detect_runtime(5)


@pytest.mark.parametrize(
    ("authorities", "certificate", "key", "reason"),
    [
        ([], "cert", None, "'client_cert_path': .*give both or neither"),
        ([], None, "key", "'client_key_path': .*give both or neither"),
        (["missing"], None, None, "'ca_cert_paths': .*No such file"),
        (["junk"], None, None, "'ca_cert_paths': .*no certificates in PEM form"),
        ([], "cert", "missing", "'client_cert_path': .*No such file"),
        ([], "junk", "key", "'client_cert_path': .*does not make a client certificate"),
        ([], "cert", "other-key", "'client_cert_path': .*does not make a client certificate"),
        ([], "cert", "locked-key", "'client_cert_path': .*the key is encrypted"),
    ],
)
def test_credentials_that_cannot_be_used(
    tmp_path: Path, authorities: list[str], certificate: str | None, key: str | None, reason: str
) -> None:
    own, other = issue("own"), issue("other")
    locked = own[1].private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.BestAvailableEncryption(b"password"),
    )
    files = {"cert": pem(own[0]), "key": key_pem(own[1]), "other-key": key_pem(other[1]), "locked-key": locked}
    for name, content in {**files, "junk": b"junk"}.items():
        (tmp_path / name).write_bytes(content)
    paths = [name and str(tmp_path / name) for name in (certificate, key)]
    with pytest.raises(InvalidSetting, match=reason):
        WorkerCredentials.from_files([str(tmp_path / name) for name in authorities], *paths)
