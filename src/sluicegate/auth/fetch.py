"""Fetching of the issuer's documents: which URLs may be fetched, and how far the answer is trusted.

A URL of the issuer makes the service send a request, so it must not lead into the network the service runs in: https to
public addresses only, the resolved ones included; http only to the host itself, by its three fixed names.
"""

from __future__ import annotations

import asyncio
import ipaddress
import socket
from collections.abc import Awaitable, Callable, Sequence
from urllib.parse import SplitResult, urlsplit
from urllib.request import getproxies, proxy_bypass

import httpx
import msgspec

from sluicegate.auth.jwks import InvalidKeySet, KeySet, KeySetUnavailable, read_key_set

TIME_LIMIT = 10.0
"""Seconds for one document, from the look-up of the name to the last byte."""
SIZE_LIMIT = 1024 * 1024
"""Bytes of one document."""

_TIMEOUT = httpx.Timeout(TIME_LIMIT, connect=3.0)
_LOOPBACK_HOSTS = ("localhost", "127.0.0.1", "::1")

Resolve = Callable[[str, int], Awaitable[Sequence[str]]]
"""From host name and port to IP addresses; raises `OSError`."""


class ForbiddenUrl(ValueError):
    """The URL must not be fetched; the message says why."""


def check_url(url: str) -> SplitResult:
    """Check what the URL itself shows, without looking its name up. Raises `ForbiddenUrl`."""
    try:
        parts = urlsplit(url)
        host, port = (parts.hostname or "").rstrip("."), parts.port
    except ValueError:
        raise ForbiddenUrl("it is not a URL") from None
    if not host or port == 0 or not url.isascii() or not url.isprintable() or " " in url:
        raise ForbiddenUrl("it is not a URL")
    if parts.username is not None or parts.password is not None:
        raise ForbiddenUrl("it holds a user name or a password")
    if parts.scheme == "http":
        if not is_loopback(parts):
            raise ForbiddenUrl("http is allowed for localhost, 127.0.0.1 and [::1] only; use https")
        return parts
    if parts.scheme != "https":
        raise ForbiddenUrl("it must begin with https://")
    if host == "localhost" or host.endswith(".localhost"):
        raise ForbiddenUrl("https to a loopback name is not allowed")
    if host.startswith("metadata") or host.endswith((".internal", ".local")):
        raise ForbiddenUrl("names metadata*, *.internal and *.local are not allowed")
    if not is_public(host, unparsed=True):
        raise ForbiddenUrl("the address is not a public one")
    return parts


def is_loopback(parts: SplitResult) -> bool:
    """Tell whether the URL names the host itself, by one of the names that http is allowed for."""
    return parts.hostname in _LOOPBACK_HOSTS


def is_public(address: str, *, unparsed: bool = False) -> bool:
    """Tell whether an IP address can be reached from everywhere; `unparsed` is the answer for what is no address."""
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return unparsed
    if isinstance(parsed, ipaddress.IPv6Address):
        # An IPv4 address inside an IPv6 one counts as what it is.
        inner = parsed.ipv4_mapped or parsed.sixtofour
        if inner is None and parsed in ipaddress.ip_network("64:ff9b::/96"):
            inner = ipaddress.IPv4Address(int(parsed) & 0xFFFFFFFF)
        if inner is not None:
            return inner.is_global and not inner.is_multicast
    return parsed.is_global and not parsed.is_multicast


async def resolve_by_system(host: str, port: int) -> Sequence[str]:
    """Look a name up the way every other program here does."""
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return [str(entry[4][0]) for entry in found]


class _CheckedTransport(httpx.AsyncHTTPTransport):
    """Connects to an address that has been checked, so that a second look-up cannot lead elsewhere."""

    def __init__(self, resolve: Resolve) -> None:
        super().__init__(trust_env=True)  # SSL_CERT_FILE and SSL_CERT_DIR may name the authority of an issuer
        self._resolve = resolve

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        url = request.url
        addresses = await self._resolve(url.host, url.port or (443 if url.scheme == "https" else 80))
        wrong = [address for address in addresses if _misleads(url.scheme, address)]
        if wrong or not addresses:
            raise ForbiddenUrl("the name leads to an address that is not allowed")
        if url.scheme == "https":
            request.extensions = {**request.extensions, "sni_hostname": url.host}
        for address in addresses[:-1]:
            request.url = url.copy_with(host=address)
            try:
                return await super().handle_async_request(request)
            except (httpx.ConnectError, httpx.ConnectTimeout):
                continue  # nobody answers there; a name often has an address that is not in use
        request.url = url.copy_with(host=addresses[-1])
        return await super().handle_async_request(request)


def _misleads(scheme: str, address: str) -> bool:
    if scheme == "http":
        return not ipaddress.ip_address(address).is_loopback
    return not is_public(address)


class Fetcher:
    """Fetches documents of the issuer, within the rules. `resolve` is how names are looked up."""

    def __init__(self, resolve: Resolve = resolve_by_system) -> None:
        self._resolve = resolve

    async def get(self, url: str) -> bytes:
        """Return the body behind the URL. Raises `KeySetUnavailable`, with a message for the log."""
        try:
            parts = check_url(url)
            async with asyncio.timeout(TIME_LIMIT), self._client(parts) as client:
                return await _read(client, url)
        except ForbiddenUrl as error:
            raise KeySetUnavailable(f"{url} is not fetched: {error}") from None
        except TimeoutError:
            raise KeySetUnavailable(f"{url} gave no complete answer within {TIME_LIMIT:.0f} s") from None
        except (httpx.HTTPError, httpx.InvalidURL, OSError, UnicodeError) as error:
            raise KeySetUnavailable(f"{url} cannot be fetched: {type(error).__name__}") from None

    def _client(self, parts: SplitResult) -> httpx.AsyncClient:
        proxies = getproxies()
        proxy = proxies.get(parts.scheme) or proxies.get("all")
        if proxy and not is_loopback(parts) and not proxy_bypass(parts.hostname or ""):
            # Behind a proxy names are looked up there; it is the operator who says what the proxy may reach.
            return httpx.AsyncClient(proxy=proxy, timeout=_TIMEOUT, follow_redirects=False)
        return httpx.AsyncClient(
            transport=_CheckedTransport(self._resolve), timeout=_TIMEOUT, follow_redirects=False, trust_env=False
        )


async def _read(client: httpx.AsyncClient, url: str) -> bytes:
    # Compressed bodies are refused: their size is known only after they have been unpacked.
    headers = {"accept": "application/json", "accept-encoding": "identity"}
    async with client.stream("GET", url, headers=headers) as answer:
        if answer.status_code != 200:
            raise KeySetUnavailable(f"{url} answered with status {answer.status_code}")
        body = bytearray()
        async for piece in answer.aiter_raw():
            body += piece
            if len(body) > SIZE_LIMIT:
                raise KeySetUnavailable(f"{url} answered with more than {SIZE_LIMIT} bytes")
        return bytes(body)


class _Discovery(msgspec.Struct):
    jwks_uri: str


class KeySetLocation:
    """Where the key set is: a configured URL, or the `jwks_uri` of the issuer's discovery document.

    A discovered URL is kept; it is discovered again when a fetch of the set fails.
    """

    def __init__(self, get: Callable[[str], Awaitable[bytes]], issuer: str, url: str | None = None) -> None:
        self._get = get
        self._document = f"{issuer.rstrip('/')}/.well-known/openid-configuration"
        self._configured = url
        self._discovered: str | None = None

    @property
    def needs_discovery(self) -> bool:
        """Whether the URL of the key set is not known yet."""
        return self._configured is None and self._discovered is None

    async def discover(self) -> str:
        """Return the URL of the key set. Raises `KeySetUnavailable`."""
        url = self._configured or self._discovered
        if url is None:
            url = self._discovered = self._url_in(await self._get(self._document))
        return url

    async def fetch(self) -> KeySet:
        """Fetch the key set. Raises `KeySetUnavailable`."""
        url = await self.discover()
        try:
            return read_key_set(await self._get(url))
        except InvalidKeySet as error:
            self._discovered = None
            raise KeySetUnavailable(f"{url}: {error}") from None
        except KeySetUnavailable:
            self._discovered = None
            raise

    def _url_in(self, document: bytes) -> str:
        try:
            url = msgspec.json.decode(document, type=_Discovery).jwks_uri
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            raise KeySetUnavailable(f"{self._document} names no jwks_uri") from None
        try:
            parts = check_url(url)
        except ForbiddenUrl as error:
            raise KeySetUnavailable(f"the jwks_uri in {self._document} is not fetched: {error}") from None
        if is_loopback(parts) and not is_loopback(urlsplit(self._document)):
            raise KeySetUnavailable(f"the jwks_uri in {self._document} leads to this host")
        return url
