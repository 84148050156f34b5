"""Limits of each tenant: requests and characters per minute, and tighter ones for some models."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from sluicegate.admission.bucket import TokenBucket
from sluicegate.admission.observer import Observer
from sluicegate.admission.ticket import Refusal, whole_seconds

REMEMBERED_TENANTS = 100_000
_SEARCHED = 32
"""Oldest tenants among which a full one is looked for before one that is not full is forgotten."""


@dataclass(frozen=True, slots=True)
class Rates:
    """Limits per minute; None is no limit. Characters are code points of prompts, or ids of sequences."""

    requests: int | None = None
    characters: int | None = None


@dataclass(frozen=True, slots=True)
class ModelRule:
    """Limits of one tenant for models of this name (`exact`), or whose name begins so."""

    id: str
    value: str
    exact: bool
    rates: Rates


@dataclass(frozen=True, slots=True)
class TenantPolicy:
    """Limits of a tenant."""

    rates: Rates
    model_rules: Sequence[ModelRule] = ()

    def rule_for(self, model: str) -> ModelRule | None:
        """Return the one rule that applies: the exact one, else that of the longest prefix."""
        best: ModelRule | None = None
        for rule in self.model_rules:
            if rule.exact and rule.value == model:
                return rule
            longer = best is None or len(rule.value) > len(best.value)
            if not rule.exact and model.startswith(rule.value) and longer:
                best = rule
        return best


UNLIMITED = TenantPolicy(Rates())


def _per_minute(limit: int | None, now: float) -> TokenBucket | None:
    return None if limit is None else TokenBucket(limit, limit / 60.0, now)


class _Buckets:
    """Buckets of one tenant, or of one of its rules."""

    __slots__ = ("characters", "requests")

    def __init__(self, rates: Rates, now: float) -> None:
        self.requests = _per_minute(rates.requests, now)
        self.characters = _per_minute(rates.characters, now)

    def is_full(self, now: float) -> bool:
        return all(bucket is None or bucket.is_full(now) for bucket in (self.requests, self.characters))


@dataclass(slots=True)
class _Account:
    policy: TenantPolicy
    own: _Buckets
    rules: dict[str, _Buckets] = field(default_factory=dict[str, _Buckets])

    def is_full(self, now: float) -> bool:
        return self.own.is_full(now) and all(buckets.is_full(now) for buckets in self.rules.values())


class TenantLimits:
    """Counts what each tenant uses. `now` is seconds of a clock that only grows; keys are those of `auth.tenant`."""

    def __init__(
        self,
        default: TenantPolicy,
        tenants: Mapping[str, TenantPolicy],
        *,
        observer: Observer | None = None,
        remembered: int = REMEMBERED_TENANTS,
    ) -> None:
        self._default = default
        self._policies = tenants
        self._observer = observer or Observer()
        self._remembered = remembered
        # Least recently used first: those buckets have had the most time to fill up.
        self._accounts: OrderedDict[str, _Account] = OrderedDict()

    def __len__(self) -> int:
        """Tenants that are remembered."""
        return len(self._accounts)

    def take_request(self, tenant: str, now: float) -> Refusal | None:
        """Count one request, or return why it is over the limit."""
        bucket = self._account(tenant, now).own.requests
        if bucket is None:
            return None
        allowed = bucket.holds(1, now)
        self._observer.tenant_limited(tenant, "requests", allowed=allowed)
        if not allowed:
            return _refusal("requests per minute of this tenant are used up", bucket.wait(1, now))
        bucket.take(1, now)
        return None

    def take_characters(self, tenant: str, model: str, characters: int, now: float) -> Refusal | None:
        """Count the characters of a request and what a model rule counts: all of it, or nothing of it."""
        account = self._account(tenant, now)
        wanted = [("characters", account.own.characters, characters)]
        rule = account.policy.rule_for(model)
        if rule is not None:
            buckets = account.rules.get(rule.id)
            if buckets is None:
                buckets = account.rules[rule.id] = _Buckets(rule.rates, now)
            wanted += [("model_requests", buckets.requests, 1), ("model_characters", buckets.characters, characters)]
        checks = [(limit, bucket, amount) for limit, bucket, amount in wanted if bucket is not None]
        refusal: Refusal | None = None
        longest: float | None = 0.0
        for limit, bucket, amount in checks:
            allowed = bucket.holds(amount, now)
            self._observer.tenant_limited(tenant, limit, allowed=allowed)
            if not allowed:
                wait = bucket.wait(amount, now)
                longest = None if wait is None or longest is None else max(longest, wait)
                refusal = _refusal(_explanation(limit, amount, bucket), longest)
        if refusal is None:
            for _, bucket, amount in checks:
                bucket.take(amount, now)
        return refusal

    def _account(self, tenant: str, now: float) -> _Account:
        account = self._accounts.get(tenant)
        if account is None:
            policy = self._policies.get(tenant, self._default)
            account = self._accounts[tenant] = _Account(policy, _Buckets(policy.rates, now))
            if len(self._accounts) > self._remembered:
                self._forget_one(now)
        else:
            self._accounts.move_to_end(tenant)
        return account

    def _forget_one(self, now: float) -> None:
        oldest = next(iter(self._accounts))
        for _, tenant in zip(range(_SEARCHED), self._accounts, strict=False):
            if self._accounts[tenant].is_full(now):
                oldest = tenant
                break
        del self._accounts[oldest]


def _explanation(limit: str, amount: int, bucket: TokenBucket) -> str:
    kind = limit.removeprefix("model_")
    whose = "this tenant for this model" if limit.startswith("model_") else "this tenant"
    if amount > bucket.size:
        return f"the request has {amount} {kind}, more than the {bucket.size:.0f} per minute of {whose}"
    return f"{kind} per minute of {whose} are used up"


def _refusal(message: str, wait: float | None) -> Refusal:
    retry_after = None if wait is None else whole_seconds(wait)
    return Refusal(429, "tenant_rate_limit_exceeded", message, retry_after)
