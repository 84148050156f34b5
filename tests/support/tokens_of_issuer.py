"""Signed tokens of a test issuer, and the key set that vouches for them."""

from __future__ import annotations

import base64
import json
import re
import time
from typing import Any

from cryptography.hazmat.primitives import hashes, hmac
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, padding, rsa
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature

HASHES = {"256": hashes.SHA256(), "384": hashes.SHA384(), "512": hashes.SHA512()}
SECRET = b"a shared secret of the tests, long enough for HS512" * 2


def encode(data: bytes) -> str:
    """Base64 for URLs, without padding."""
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def number(value: int) -> str:
    """A number as a key set writes it."""
    return encode(value.to_bytes((value.bit_length() + 7) // 8, "big"))


class Issuer:
    """Keys of all kinds by name, and `key_set()` as the recorded cases expect it."""

    def __init__(self) -> None:
        self.keys: dict[str, Any] = {
            "rsa1": rsa.generate_private_key(65537, 2048),
            "rsa2": rsa.generate_private_key(65537, 2048),
            "rsaSmall": rsa.generate_private_key(65537, 1024),
            "e256": ec.generate_private_key(ec.SECP256R1()),
            "e384": ec.generate_private_key(ec.SECP384R1()),
            "ed": ed25519.Ed25519PrivateKey.generate(),
        }

    def key_set(self) -> dict[str, Any]:
        """The public keys: `kid` is the name by which the cases refer to an entry."""
        entries = {
            "r256": ("rsa1", "RS256", "sig"),
            "r384": ("rsa1", "RS384", "sig"),
            "r512": ("rsa1", "RS512", "sig"),
            "ps256": ("rsa1", "PS256", "sig"),
            "rnoalg": ("rsa1", None, "sig"),
            "enc": ("rsa1", "RS256", "enc"),
            "rsmall": ("rsaSmall", "RS256", "sig"),
            "e256": ("e256", "ES256", "sig"),
            "e384": ("e384", "ES384", "sig"),
            "ed": ("ed", "EdDSA", "sig"),
        }
        keys: list[dict[str, Any]] = []
        for kid, (name, algorithm, use) in entries.items():
            entry = {"kid": kid, "use": use, **self._public(name)}
            keys.append(entry if algorithm is None else {**entry, "alg": algorithm})
        keys.append({"kid": "oct", "kty": "oct", "k": encode(SECRET), "alg": "HS256", "use": "sig"})
        return {"keys": keys}

    def _public(self, name: str) -> dict[str, str]:
        key = self.keys[name].public_key()
        if isinstance(key, rsa.RSAPublicKey):
            return {"kty": "RSA", "n": number(key.public_numbers().n), "e": number(key.public_numbers().e)}
        if isinstance(key, ec.EllipticCurvePublicKey):
            size, numbers = key.key_size // 8, key.public_numbers()
            point = {axis: encode(value.to_bytes(size, "big")) for axis, value in (("x", numbers.x), ("y", numbers.y))}
            return {"kty": "EC", "crv": f"P-{key.key_size}", **point}
        return {"kty": "OKP", "crv": "Ed25519", "x": encode(key.public_bytes_raw())}

    def token(self, spec: dict[str, Any]) -> str:
        """The token of a recorded case: `now+600` and the like are times."""
        header = {"alg": spec["alg"], "typ": "JWT"}
        if spec.get("kid") is not None:
            header["kid"] = spec["kid"]
        claims = {name: _time(value) for name, value in spec["claims"].items()}
        parts = [{**header, **spec.get("header", {})}, claims]
        signed = ".".join(encode(json.dumps(part).encode()) for part in parts)
        return f"{signed}.{encode(self._sign(spec['alg'], spec['key'], signed.encode()))}"

    def _sign(self, algorithm: str, name: str, data: bytes) -> bytes:
        if algorithm == "none":
            return b""
        if algorithm == "EdDSA":
            return bytes(self.keys[name].sign(data))
        digest = HASHES[algorithm[2:]]
        if algorithm.startswith("HS"):
            mac = hmac.HMAC(SECRET, digest)
            mac.update(data)
            return mac.finalize()
        key = self.keys[name]
        if algorithm.startswith("RS"):
            return bytes(key.sign(data, padding.PKCS1v15(), digest))
        if algorithm.startswith("PS"):
            return bytes(key.sign(data, padding.PSS(padding.MGF1(digest), digest.digest_size), digest))
        size = key.key_size // 8
        return b"".join(part.to_bytes(size, "big") for part in decode_dss_signature(key.sign(data, ec.ECDSA(digest))))


def _time(value: Any) -> Any:
    found = re.fullmatch(r"now([+-][\d.]+)", value) if isinstance(value, str) else None
    if found is None:
        return value
    moment = int(time.time()) + float(found[1])
    return moment if "." in found[1] else int(moment)
