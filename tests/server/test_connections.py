"""HTTP/1.1 as it comes over the wire: bounds, malformed requests, slow and broken clients, the end of the service."""

from __future__ import annotations

import contextlib
import datetime as dt
import ipaddress
import json
import signal
import socket
import ssl
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

from tests.support.service import Service, running
from tests.support.wire import Wire, ask

FIXTURES = Path(__file__).parent.parent / "fixtures" / "http"
BODY = b'{"model":"","prompt":"hi"}'
TOKENS = {"tokens": [256], "count": 1, "char_count": 2}


@pytest.fixture(scope="module")
def service() -> Iterator[Service]:
    with running(
        *("--model-path", "tiny", "--max-payload-size", "100000"),
        *("--header-read-timeout-secs", "1", "--idle-connection-timeout-secs", "2"),
        cwd=FIXTURES,
    ) as service:
        yield service


class Raw:
    """A connection on which anything can be sent."""

    def __init__(self, service: Service) -> None:
        self.socket = socket.create_connection(("127.0.0.1", service.port), 10)
        self.file = self.socket.makefile("rb")

    def send(self, data: bytes) -> None:
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            self.socket.sendall(data)

    def close(self) -> None:
        self.file.close()
        self.socket.close()

    def head(self) -> tuple[int, dict[str, str]]:
        """Status and headers of the next answer."""
        status = self.file.readline()
        headers: dict[str, str] = {}
        while (line := self.file.readline()) not in (b"\r\n", b""):
            name, _, value = line.decode("latin-1").partition(":")
            headers[name.lower()] = value.strip()
        return (int(status.split()[1]) if status else 0), headers

    def answer(self) -> tuple[int, dict[str, str], bytes]:
        status, headers = self.head()
        return status, headers, self.file.read(int(headers.get("content-length", 0)))

    def is_closed(self) -> bool:
        """Whether the other side has closed, or does so while we wait."""
        try:
            return self.file.read(1) == b""
        except ConnectionResetError:
            return True


@pytest.fixture
def raw(service: Service) -> Iterator[Raw]:
    raw = Raw(service)
    yield raw
    raw.close()


def post(body: bytes = BODY, *headers: bytes, path: bytes = b"/v1/tokenize") -> bytes:
    lines = [b"POST %b HTTP/1.1" % path, b"host: x", b"content-type: application/json", *headers]
    return b"\r\n".join([*lines, b"content-length: %d" % len(body), b"", body])


@pytest.mark.parametrize(
    ("request_", "status"),
    [
        (b"nonsense\r\n\r\n", 400),
        (b"GET /health\r\n\r\n", 400),
        (b"FROBNICATE /health HTTP/1.1\r\nhost: x\r\n\r\n", 400),
        (b"GET /health HTTP/9.9\r\nhost: x\r\n\r\n", 400),
        (b"GET /health HTTP/1.1\r\nbad header\r\n\r\n", 400),
        (b"GET /health HTTP/1.1\r\nx: a\x00b\r\n\r\n", 400),
        (b"POST /v1/tokenize HTTP/1.1\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\n", 400),
        (b"POST /v1/tokenize HTTP/1.1\r\ncontent-length: -1\r\n\r\n", 400),
        (b"POST /v1/tokenize HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n", 400),
        (b"POST /v1/tokenize HTTP/1.1\r\ncontent-length: 3\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n", 400),
        (b"GET /health HTTP/1.1\r\n" + b"x: y\r\n" * 101 + b"\r\n", 431),
        (b"GET /health HTTP/1.1\r\nx: " + b"y" * 70_000 + b"\r\n\r\n", 431),
        (b"GET /" + b"x" * 20_000 + b" HTTP/1.1\r\nhost: x\r\n\r\n", 414),
    ],
)
def test_what_is_no_request_gets_a_bare_status_and_the_end(raw: Raw, request_: bytes, status: int) -> None:
    raw.send(request_)
    assert raw.answer()[::2] == (status, b"")
    assert raw.is_closed()


def test_a_hundred_headers_pass(raw: Raw) -> None:
    raw.send(b"GET /health HTTP/1.1\r\n" + b"x: y\r\n" * 100 + b"\r\n")
    assert raw.answer()[0] == 200


def test_a_service_lives_on_after_malformed_requests(service: Service) -> None:
    for noise in (b"\x16\x03\x01\x02\x00\x01", b"\x00" * 1000, b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", b"\r\n\r\n\r\n"):
        raw = Raw(service)
        raw.send(noise)
        raw.close()
    assert ask(service.port, "POST", "/v1/tokenize", BODY).json() == TOKENS


def test_answers_to_pipelined_requests_keep_their_order(raw: Raw) -> None:
    texts = ["hi", "hi hi", "", "a" * 5000, "hi"]
    raw.send(b"".join(post(json.dumps({"model": "", "prompt": text}).encode()) for text in texts))
    assert [json.loads(raw.answer()[2])["char_count"] for _ in texts] == [*map(len, texts)]


def test_long_inputs_and_short_ones_keep_their_order(raw: Raw) -> None:
    """The long ones are worked on in a thread, the short ones could be answered before them."""
    texts = ["x " * 40_000, "hi", "y " * 30_000, "hi hi"]
    threading.Thread(
        target=raw.send,
        args=(b"".join(post(json.dumps({"model": "", "prompt": text}).encode()) for text in texts),),
    ).start()
    assert [json.loads(raw.answer()[2])["char_count"] for _ in texts] == [*map(len, texts)]


@pytest.mark.parametrize("garbage", [b"nonsense\r\n\r\n", b"GET / HTTP/1.1\r\n" + b"x: y\r\n" * 101 + b"\r\n"])
def test_what_came_whole_before_a_malformed_request_is_answered(raw: Raw, garbage: bytes) -> None:
    long = json.dumps({"model": "", "prompt": "x " * 40_000}).encode()
    raw.send(post(long) + post() + garbage)
    assert json.loads(raw.answer()[2])["char_count"] == 80_000
    assert json.loads(raw.answer()[2]) == TOKENS
    assert raw.is_closed()


def test_a_body_that_breaks_is_refused(raw: Raw) -> None:
    raw.send(b"POST /v1/tokenize HTTP/1.1\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n")
    raw.send(b"2\r\n{}\r\nzz\r\n")
    assert raw.answer()[::2] == (400, b"")
    assert raw.is_closed()


def test_a_request_may_come_byte_by_byte(raw: Raw) -> None:
    for byte in post():
        raw.send(bytes([byte]))
    assert json.loads(raw.answer()[2]) == TOKENS


def test_a_chunked_body_is_read(raw: Raw) -> None:
    chunks = b"".join(b"1\r\n%c\r\n" % byte for byte in BODY) + b"0\r\n\r\n"
    head = b"POST /v1/tokenize HTTP/1.1\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n"
    raw.send(head + chunks)
    assert json.loads(raw.answer()[2]) == TOKENS


def test_head_has_the_headers_of_get_and_no_body(raw: Raw) -> None:
    raw.send(b"HEAD /health HTTP/1.1\r\nhost: x\r\n\r\nGET /health HTTP/1.1\r\nhost: x\r\n\r\n")
    status, headers = raw.head()
    assert (status, headers["content-length"]) == (200, "2")
    assert raw.answer()[::2] == (200, b"OK")


def test_http_1_0_ends_the_connection(raw: Raw) -> None:
    raw.send(b"GET /health HTTP/1.0\r\n\r\n")
    assert raw.answer()[::2] == (200, b"OK")
    assert raw.is_closed()


def test_an_offer_to_upgrade_is_ignored(raw: Raw) -> None:
    """Java's client offers HTTP/2 in this way with each first request."""
    raw.send(post(BODY, b"connection: Upgrade, HTTP2-Settings", b"upgrade: h2c", b"http2-settings: AAEAAEAAAAIAAAAB"))
    assert json.loads(raw.answer()[2]) == TOKENS
    raw.send(post())
    assert json.loads(raw.answer()[2]) == TOKENS


@pytest.mark.parametrize(("path", "status"), [(b"/health", 200), (b"/v1/tokenize", 405), (b"/nope", 404)])
def test_an_offer_of_a_websocket_where_none_is_spoken_is_ignored(raw: Raw, path: bytes, status: int) -> None:
    offer = b"connection: Upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\nsec-websocket-key: eA==\r\n"
    raw.send(b"GET " + path + b" HTTP/1.1\r\nhost: x\r\n" + offer + b"\r\n")
    found, headers, _ = raw.answer()
    assert (found, "x-request-id" in headers) == (status, True)
    raw.send(b"GET /health HTTP/1.1\r\nhost: x\r\n\r\n")
    assert raw.answer()[0] == 200


def test_a_websocket_does_not_take_the_connection_from_a_request_that_is_still_to_be_answered(raw: Raw) -> None:
    offer = b"connection: Upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\nsec-websocket-key: eA==\r\n"
    raw.send(post(b"{}", path=b"/nope") + b"GET /parse/session HTTP/1.1\r\nhost: x\r\n" + offer + b"\r\n")
    assert raw.answer()[0] == 404
    assert raw.answer()[0] == 404


def test_a_tunnel_is_refused(raw: Raw) -> None:
    raw.send(b"CONNECT example.org:443 HTTP/1.1\r\nhost: example.org\r\n\r\n")
    assert raw.answer()[0] == 404
    assert raw.is_closed()


def test_a_body_is_asked_for_where_the_client_waits_for_it(raw: Raw) -> None:
    request = post(BODY, b"expect: 100-continue")
    raw.send(request.removesuffix(BODY))
    assert raw.head()[0] == 100
    raw.send(BODY)
    assert json.loads(raw.answer()[2]) == TOKENS


def test_no_body_is_asked_for_that_is_too_large(raw: Raw) -> None:
    raw.send(b"POST /nope HTTP/1.1\r\ncontent-length: 100001\r\nexpect: 100-continue\r\n\r\n")
    status, headers, body = raw.answer()
    assert (status, headers["connection"]) == (413, "close")
    assert json.loads(body)["error"]["code"] == "request_body_too_large"
    assert raw.is_closed()


def test_the_refusal_of_a_large_body_arrives_although_the_client_goes_on_sending(raw: Raw) -> None:
    raw.send(b"POST /v1/tokenize HTTP/1.1\r\ncontent-length: 3000000\r\n\r\n" + b"x" * 3_000_000)
    assert raw.answer()[0] == 413


def test_the_body_of_a_request_without_one_is_skipped(raw: Raw) -> None:
    raw.send(b"GET /health HTTP/1.1\r\ncontent-length: 4\r\n\r\nbodyGET /readiness HTTP/1.1\r\n\r\n")
    assert raw.answer()[0] == 200
    assert raw.answer()[0] == 200


def test_a_slow_head_is_given_up(raw: Raw) -> None:
    raw.send(b"GET /health HTTP/1.1\r\nx: ")
    assert raw.is_closed()


def test_a_connection_without_a_request_is_closed(raw: Raw) -> None:
    began = time.monotonic()
    assert raw.is_closed()
    assert time.monotonic() - began >= 0.9


def test_an_idle_connection_is_closed_but_not_a_busy_one(raw: Raw) -> None:
    began = time.monotonic()
    raw.send(post())
    raw.answer()
    assert raw.is_closed()
    assert time.monotonic() - began >= 1.8


def test_absolute_targets_are_paths(raw: Raw) -> None:
    raw.send(b"GET http://example.org/health?x=1 HTTP/1.1\r\nhost: example.org\r\n\r\n")
    assert raw.answer()[::2] == (200, b"OK")


def test_many_idle_connections_do_not_disturb_others(service: Service) -> None:
    idle = [socket.create_connection(("127.0.0.1", service.port), 10) for _ in range(300)]
    try:
        assert ask(service.port, "POST", "/v1/tokenize", BODY).json() == TOKENS
    finally:
        for connection in idle:
            connection.close()


def test_a_request_in_progress_is_answered_after_sigterm() -> None:
    with running("--model-path", "tiny", cwd=FIXTURES) as service:
        half = Wire(service.port, "POST", "/v1/tokenize", {"content-type": "application/json"}, BODY, keep_back=True)
        wait_for_requests(service)
        service.process.send_signal(signal.SIGTERM)
        wait_for_status(service, 503)
        assert ask(service.port, "POST", "/v1/tokenize", BODY).headers["connection"] == "close"
        assert ask(service.port, "GET", "/liveness").status == 200
        half.complete()
        assert half.answer().json() == TOKENS
        assert service.process.wait(10) == 0


def test_sigint_ends_an_idle_service() -> None:
    with running() as service:
        service.process.send_signal(signal.SIGINT)
        assert service.process.wait(10) == 0


def test_the_grace_period_bounds_the_end() -> None:
    with running("--model-path", "tiny", "--shutdown-grace-period-secs", "0.3", cwd=FIXTURES) as service:
        half = Wire(service.port, "POST", "/v1/tokenize", {"content-type": "application/json"}, BODY, keep_back=True)
        wait_for_requests(service)
        service.process.send_signal(signal.SIGTERM)
        assert service.process.wait(10) == 0
        half.close()


@pytest.fixture
def certificate(tmp_path: Path) -> tuple[Path, Path]:
    """A certificate for 127.0.0.1 that vouches for itself, and its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "test")])
    now = dt.datetime.now(dt.UTC)
    built = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - dt.timedelta(days=1))
        .not_valid_after(now + dt.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), critical=False)
        .sign(key, hashes.SHA256())
    )
    files = tmp_path / "certificate.pem", tmp_path / "key.pem"
    files[0].write_bytes(built.public_bytes(Encoding.PEM))
    files[1].write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    return files


def test_tls(certificate: tuple[Path, Path]) -> None:
    with running(
        *("--tls-cert-path", str(certificate[0]), "--tls-key-path", str(certificate[1]), "--log-json"), ready="/metrics"
    ) as service:
        context = ssl.create_default_context(cafile=str(certificate[0]))
        with (
            socket.create_connection(("127.0.0.1", service.port), 10) as plain,
            context.wrap_socket(plain, server_hostname="127.0.0.1") as encrypted,
        ):
            long = json.dumps({"text": "the mill " * 100_000, "reasoning_parser": "qwen3"}).encode()
            encrypted.sendall(post(long, path=b"/parse/reasoning"))
            encrypted.sendall(b"GET /health HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n")
            received = b"".join(iter(lambda: encrypted.recv(100_000), b""))
        assert received.startswith(b"HTTP/1.1 200 OK")
        assert received.count(b"the mill ") == 100_000
        assert received.endswith(b"OK")
        lines = service.log.read_text("utf-8").splitlines()
    assert lines
    for line in lines:
        members = [name for name, _ in json.loads(line, object_pairs_hook=list)]
        assert len(members) == len(set(members))
        assert {"event", "level", "timestamp"} <= set(members)


def test_answers_go_out_before_tls_ends_where_the_client_ends_it_with_its_request(
    certificate: tuple[Path, Path],
) -> None:
    with running(
        "--tls-cert-path", str(certificate[0]), "--tls-key-path", str(certificate[1]), ready="/metrics"
    ) as service:
        context = ssl.create_default_context(cafile=str(certificate[0]))
        for _ in range(2):
            incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
            client = context.wrap_bio(incoming, outgoing, server_hostname="127.0.0.1")
            with socket.create_connection(("127.0.0.1", service.port), 10) as plain:
                while True:
                    try:
                        client.do_handshake()
                        break
                    except ssl.SSLWantReadError:
                        plain.sendall(outgoing.read())
                        incoming.write(plain.recv(65536))
                client.write(2 * b"GET /health HTTP/1.1\r\nhost: x\r\n\r\n")
                with contextlib.suppress(ssl.SSLWantReadError):
                    client.unwrap()
                plain.sendall(outgoing.read())
                incoming.write(b"".join(iter(lambda: plain.recv(65536), b"")))
            received = b""
            with contextlib.suppress(ssl.SSLError):
                while piece := client.read(65536):
                    received += piece
            assert received.count(b"HTTP/1.1 200 OK") == 2


def wait_for_requests(service: Service) -> None:
    """Until the service has seen a connection that holds a request, which the metrics tell."""
    for _ in range(100):
        text = ask(service.metrics_port, "GET", "/metrics").text
        if "smg_admission_inflight 1.0" in text:
            return
        time.sleep(0.05)
    raise AssertionError(text)


def wait_for_status(service: Service, status: int) -> None:
    for _ in range(100):
        if ask(service.port, "GET", "/readiness").status == status:
            return
        time.sleep(0.05)
    raise AssertionError(f"/readiness does not answer {status}")
