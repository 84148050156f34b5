"""Keys of a token issuer, and tokens that it signs."""

from functools import cache

import jwt
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from jwt import algorithms

_MAKERS = {
    "rsa": lambda: rsa.generate_private_key(65537, 2048),
    "rsa_other": lambda: rsa.generate_private_key(65537, 2048),
    "small": lambda: rsa.generate_private_key(65537, 1024),
    "p256": lambda: ec.generate_private_key(ec.SECP256R1()),
    "p384": lambda: ec.generate_private_key(ec.SECP384R1()),
    "ed25519": ed25519.Ed25519PrivateKey.generate,
}


@cache
def issuer_key(name):
    """Return a private key, made on first use: big ones take their time."""
    return _MAKERS[name]()


def public_jwk(key):
    """Return the public members of a key, without `kid`, `alg` and `use`."""
    kinds = {rsa.RSAPrivateKey: algorithms.RSAAlgorithm, ec.EllipticCurvePrivateKey: algorithms.ECAlgorithm}
    kind = next((found for base, found in kinds.items() if isinstance(key, base)), algorithms.OKPAlgorithm)
    members = kind.to_jwk(key.public_key(), as_dict=True)
    return {name: members[name] for name in ("kty", "crv", "n", "e", "x", "y") if name in members}


def sign(claims, key="rsa", algorithm="RS256", kid="k", **header):
    """Return a token. `kid=None` leaves the key id out."""
    headers = {**({} if kid is None else {"kid": kid}), **header}
    return jwt.encode(claims, issuer_key(key), algorithm, headers)
