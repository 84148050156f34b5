"""Which URLs are fetched, and what of the answer is taken."""

import asyncio
import json
import socket
import ssl
import threading
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from sluicegate.auth import fetch
from sluicegate.auth.fetch import Fetcher, ForbiddenUrl, KeySetLocation, check_url, is_public
from sluicegate.auth.jwks import KeySetUnavailable
from tests.support.tokens import issuer_key, public_jwk


@pytest.mark.parametrize(
    "url",
    [
        "https://issuer.example/keys",
        "https://issuer.example:8443/keys?x=1",
        "https://8.8.8.8/keys",
        "https://[2606:4700::1111]/keys",
        "http://localhost:9/keys",
        "http://127.0.0.1:9/keys",
        "http://[::1]:9/keys",
    ],
)
def test_allowed_urls(url):
    check_url(url)


@pytest.mark.parametrize(
    "url",
    [
        "",
        "issuer.example",
        "ftp://issuer.example/",
        "file:///etc/passwd",
        "https://",
        "https://[::1",
        "https://issuer.example:99999/",
        "https://user:password@issuer.example/",
        "https://issuer.example/a b",
        "https://issuer.example/\u00e9",
        "http://issuer.example/",
        "http://127.0.0.2/",
        "http://localhost.example/",
        "https://localhost/",
        "https://LOCALHOST./",
        "https://a.localhost/",
        "https://127.0.0.1/",
        "https://[::1]/",
        "https://10.1.2.3/",
        "https://172.16.0.1/",
        "https://192.168.1.1/",
        "https://169.254.169.254/",
        "https://100.64.0.1/",
        "https://192.0.2.1/",
        "https://198.51.100.1/",
        "https://203.0.113.1/",
        "https://0.0.0.0/",
        "https://224.0.0.1/",
        "https://255.255.255.255/",
        "https://[fe80::1]/",
        "https://[fd00::1]/",
        "https://[2001:db8::1]/",
        "https://[::ffff:10.0.0.1]/",
        "https://[64:ff9b::7f00:1]/",
        "https://[2002:7f00:1::]/",
        "https://metadata/",
        "https://METADATA.google.internal/",
        "https://metadata.example/",
        "https://idp.internal/",
        "https://idp.internal./",
        "https://idp.local/",
    ],
)
def test_forbidden_urls(url):
    with pytest.raises(ForbiddenUrl):
        check_url(url)


def test_is_public_says_what_it_is_told_about_names():
    assert is_public("8.8.8.8")
    assert not is_public("::ffff:127.0.0.1")
    assert not is_public("a name")
    assert is_public("a name", unparsed=True)


@contextmanager
def issuer(answers, tls=None, host="127.0.0.1"):
    """Answer each path with (status, headers, body)."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            status, headers, body = answers[self.path]
            self.send_response(status)
            for name, value in {"content-length": str(len(body)), **headers}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *arguments):
            pass

    class Server(ThreadingHTTPServer):
        address_family = socket.AF_INET6 if ":" in host else socket.AF_INET

        def handle_error(self, *arguments):
            pass  # a client that does not like the certificate hangs up

    server = Server((host, 0), Handler)
    if tls is not None:
        server.socket = tls.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    try:
        yield f"http://{f'[{host}]' if ':' in host else host}:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def get(url, resolve=fetch.resolve_by_system):
    return asyncio.run(Fetcher(resolve).get(url))


def test_answers_that_are_taken_and_not():
    answers = {
        "/ok": (200, {}, b"{}"),
        "/away": (302, {"location": "/ok"}, b""),
        "/down": (500, {}, b"{}"),
        "/limit": (200, {}, b"x" * fetch.SIZE_LIMIT),
        "/huge": (200, {}, b"x" * (fetch.SIZE_LIMIT + 1)),
    }
    with issuer(answers) as base:
        assert get(base + "/ok") == b"{}"
        assert len(get(base + "/limit")) == fetch.SIZE_LIMIT
        for path, reason in (("/away", "302"), ("/down", "500"), ("/huge", "more than")):
            with pytest.raises(KeySetUnavailable, match=reason):
                get(base + path)
    with pytest.raises(KeySetUnavailable, match="cannot be fetched"):
        get(base + "/ok")


def test_a_slow_answer_is_given_up(monkeypatch):
    monkeypatch.setattr(fetch, "TIME_LIMIT", 0.05)

    async def never(host, port):
        await asyncio.Event().wait()

    with pytest.raises(KeySetUnavailable, match="no complete answer"):
        get("https://issuer.example/keys", never)


@pytest.mark.parametrize("addresses", [["10.0.0.1"], ["8.8.8.8", "127.0.0.1"], ["::ffff:192.168.0.1"], []])
def test_names_that_lead_inside_are_not_fetched(addresses):
    async def resolve(host, port):
        assert (host, port) == ("issuer.example", 443)
        return addresses

    with pytest.raises(KeySetUnavailable, match="not allowed"):
        get("https://issuer.example/keys", resolve)


def test_localhost_must_be_this_host():
    async def resolve(host, port):
        return ["8.8.8.8"]

    with pytest.raises(KeySetUnavailable, match="not allowed"):
        get("http://localhost:9/keys", resolve)


def test_a_name_that_is_not_found():
    async def resolve(host, port):
        raise OSError("no such name")

    with pytest.raises(KeySetUnavailable, match="cannot be fetched"):
        get("https://issuer.example/keys", resolve)


def certificate(tmp_path, name):
    """A certificate that vouches for itself, and its key, as one PEM file."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder(subject, subject, key.public_key(), 1, now - timedelta(days=1), now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    path = tmp_path / f"{name}.pem"
    pem, private, plain = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    path.write_bytes(made.public_bytes(pem) + key.private_bytes(pem, private, plain))
    return path


def test_https_goes_to_the_checked_address_and_checks_the_certificate_of_the_name(tmp_path, monkeypatch):
    path = certificate(tmp_path, "issuer.example")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(path)
    asked = []
    context.sni_callback = lambda _socket, name, _context: asked.append(name)
    with issuer({"/ok": (200, {}, b"{}")}, context) as base:
        port = base.rpartition(":")[2]

        async def resolve(host, port):
            return ["127.0.0.1"]

        # This host is no address that a name may lead to; here it stands for the issuer's.
        monkeypatch.setattr(fetch, "is_public", lambda address, unparsed=False: True)
        monkeypatch.setenv("SSL_CERT_FILE", str(path))
        assert get(f"https://issuer.example:{port}/ok", resolve) == b"{}"
        with pytest.raises(KeySetUnavailable, match="ConnectError"):
            get(f"https://other.example:{port}/ok", resolve)
        monkeypatch.delenv("SSL_CERT_FILE")
        with pytest.raises(KeySetUnavailable, match="ConnectError"):
            get(f"https://issuer.example:{port}/ok", resolve)
    assert asked == ["issuer.example", "other.example", "issuer.example"]


def test_every_address_of_a_name_is_tried():
    async def resolve(host, port):
        return ["::1", "127.0.0.2", "127.0.0.1"]

    with issuer({"/ok": (200, {}, b"{}")}) as base:
        assert get(base.replace("127.0.0.1", "localhost") + "/ok", resolve) == b"{}"


def test_an_ipv6_address_can_be_connected_to():
    async def resolve(host, port):
        return ["::1"]

    with issuer({"/ok": (200, {}, b"{}")}, host="::1") as base:
        assert get(base.replace("[::1]", "localhost") + "/ok", resolve) == b"{}"
        assert get(base + "/ok") == b"{}"


def test_a_proxy_of_the_environment_is_used_except_for_this_host(monkeypatch):
    with issuer({"/ok": (200, {}, b"{}")}) as base:
        monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
        monkeypatch.setenv("https_proxy", base)
        assert get(base + "/ok") == b"{}"
        # The stand-in knows no CONNECT, which shows that it was asked.
        with pytest.raises(KeySetUnavailable, match="ProxyError"):
            get("https://issuer.example/ok")


class Documents:
    """Documents by URL; what is not there cannot be fetched."""

    def __init__(self, documents):
        self.documents = documents
        self.asked = []

    async def get(self, url):
        self.asked.append(url)
        if url not in self.documents:
            raise KeySetUnavailable(f"{url} is down")
        return self.documents[url]


KEY_SET = json.dumps({"keys": [{"kid": "k", **public_jwk(issuer_key("p256"))}]}).encode()
ISSUER = "https://issuer.example"
DISCOVERY = f"{ISSUER}/.well-known/openid-configuration"


def test_discovery_is_remembered_until_the_key_set_fails():
    documents = Documents({DISCOVERY: b'{"jwks_uri": "https://keys.example/a"}', "https://keys.example/a": KEY_SET})
    location = KeySetLocation(documents.get, ISSUER + "/")

    async def scenario():
        assert location.needs_discovery
        assert "k" in await location.fetch()
        assert not location.needs_discovery
        assert "k" in await location.fetch()
        assert documents.asked.count(DISCOVERY) == 1
        documents.documents[DISCOVERY] = b'{"jwks_uri": "https://keys.example/b"}'
        documents.documents["https://keys.example/b"] = KEY_SET
        documents.documents["https://keys.example/a"] = b"gone"
        with pytest.raises(KeySetUnavailable):
            await location.fetch()
        assert "k" in await location.fetch()

    asyncio.run(scenario())


def test_a_configured_url_needs_no_discovery():
    documents = Documents({"https://keys.example/a": KEY_SET})
    location = KeySetLocation(documents.get, ISSUER, "https://keys.example/a")
    assert not location.needs_discovery
    assert "k" in asyncio.run(location.fetch())
    assert documents.asked == ["https://keys.example/a"]


@pytest.mark.parametrize(
    "document",
    [
        b"",
        b"[]",
        b"{}",
        b'{"jwks_uri": 7}',
        b'{"jwks_uri": "http://keys.example/"}',
        b'{"jwks_uri": "https://10.0.0.1/"}',
        b'{"jwks_uri": "http://127.0.0.1:8080/"}',
    ],
)
def test_discovery_that_leads_nowhere_counts_as_unobtainable(document):
    location = KeySetLocation(Documents({DISCOVERY: document}).get, ISSUER)
    with pytest.raises(KeySetUnavailable):
        asyncio.run(location.fetch())
    assert location.needs_discovery
