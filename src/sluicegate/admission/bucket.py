"""Token bucket, the one clockwork of every rate limit here."""

from __future__ import annotations

# Sums of floating-point steps may fall short of a whole token by less than this.
_TOLERANCE = 1e-9


class TokenBucket:
    """Holds up to `size` tokens and gains `rate` tokens per second. Times are seconds of a clock that only grows."""

    __slots__ = ("_level", "_stamp", "rate", "size")

    def __init__(self, size: float, rate: float, now: float) -> None:
        self.size = size
        self.rate = rate
        self._level = size
        self._stamp = now

    def level(self, now: float) -> float:
        """Return how many tokens there are."""
        if now > self._stamp:
            self._level = min(self.size, self._level + (now - self._stamp) * self.rate)
            self._stamp = now
        return self._level

    def holds(self, amount: float, now: float) -> bool:
        """Tell whether `amount` tokens are there."""
        return self.level(now) + _TOLERANCE >= amount

    def take(self, amount: float, now: float) -> None:
        """Take tokens that are there."""
        self._level = max(0.0, self.level(now) - amount)

    def wait(self, amount: float, now: float) -> float | None:
        """Return the seconds until `amount` tokens are there; None if there never will be so many."""
        if amount > self.size:
            return None
        missing = amount - self.level(now)
        return 0.0 if missing <= _TOLERANCE else missing / self.rate

    def is_full(self, now: float) -> bool:
        """Tell whether the bucket is as good as new."""
        return self.holds(self.size, now)
