"""Records of who did what on the control plane, and how often refused credentials are written to the log."""

from __future__ import annotations

from collections import OrderedDict

from sluicegate.auth.verdict import Verdict

MESSAGE = "control_plane_audit"
VALUE_LIMIT = 1024
"""Characters of one value."""
WARNING_PAUSE = 60.0
"""Least seconds between two warnings about one peer."""
PEER_LIMIT = 10_000
"""Peers that are remembered."""


def audit_record(verdict: Verdict, *, method: str, path: str, status: int, request_id: str) -> dict[str, str | int]:
    """Return the fields of one record. `path` is without its query, `status` that of the answer."""
    return {
        "principal": printable(verdict.principal),
        "auth_method": verdict.method,
        "role": verdict.role.name.lower() if verdict.role is not None else "none",
        "method": printable(method),
        "path": printable(path),
        "outcome": "success" if verdict.refusal is None else "denied",
        "status": status,
        "request_id": printable(request_id),
        "details": printable(verdict.details),
    }


def printable(text: str) -> str:
    """Cut a text that came from outside, and escape what could forge or garble a line of the log."""
    cut = text[:VALUE_LIMIT]
    if cut.isprintable() and "\\" not in cut:
        return cut
    return "".join(_escaped(character) for character in cut)[:VALUE_LIMIT]


def _escaped(character: str) -> str:
    if character == "\\":
        return "\\\\"
    if character.isprintable():
        return character
    point = ord(character)
    return f"\\u{point:04x}" if point <= 0xFFFF else f"\\U{point:08x}"


class FailureWarnings:
    """Decides which refused credentials are worth a line of the log: one per peer and minute."""

    def __init__(self) -> None:
        self._warned: OrderedDict[str, float] = OrderedDict()

    def is_due(self, peer: str, now: float) -> bool:
        """Tell whether to warn about `peer`; `now` is seconds that only grow."""
        last = self._warned.get(peer)
        if last is not None and now - last < WARNING_PAUSE:
            return False
        self._warned[peer] = now
        self._warned.move_to_end(peer)
        if len(self._warned) > PEER_LIMIT:
            self._warned.popitem(last=False)
        return True
