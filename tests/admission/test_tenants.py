"""Limits of tenants."""

from hypothesis import given
from hypothesis import strategies as st

from sluicegate.admission.bucket import TokenBucket
from sluicegate.admission.observer import Observer, TenantLabels
from sluicegate.admission.tenants import ModelRule, Rates, TenantLimits, TenantPolicy


def limits(default=None, **tenants):
    return TenantLimits(default or TenantPolicy(Rates()), {f"auth:{name}": policy for name, policy in tenants.items()})


def test_requests_per_minute():
    pool = limits(red=TenantPolicy(Rates(requests=3)))
    assert [pool.take_request("auth:red", 0.0) for _ in range(3)] == [None] * 3
    refusal = pool.take_request("auth:red", 0.0)
    assert (refusal.status, refusal.code, refusal.retry_after) == (429, "tenant_rate_limit_exceeded", 20)
    assert pool.take_request("auth:blue", 0.0) is None
    assert pool.take_request("auth:red", 19.9) is not None
    assert pool.take_request("auth:red", 20.0) is None


def test_the_default_policy_is_for_each_tenant_on_its_own():
    pool = limits(TenantPolicy(Rates(requests=1)), red=TenantPolicy(Rates(characters=5)))
    assert pool.take_request("ip:10.0.0.1", 0.0) is None
    assert pool.take_request("ip:10.0.0.2", 0.0) is None
    assert pool.take_request("ip:10.0.0.1", 0.0) is not None
    # An entry replaces the default: this one has no limit of requests.
    assert [pool.take_request("auth:red", 0.0) for _ in range(9)] == [None] * 9


def test_characters_are_all_taken_or_none():
    pool = limits(red=TenantPolicy(Rates(characters=20)))
    assert pool.take_characters("auth:red", "m", 15, 0.0) is None
    refusal = pool.take_characters("auth:red", "m", 15, 0.0)
    assert refusal.retry_after == 30
    assert pool.take_characters("auth:red", "m", 5, 0.0) is None
    never = pool.take_characters("auth:red", "m", 21, 600.0)
    assert never.retry_after is None
    assert "21" in never.message
    assert pool.take_characters("auth:red", "m", 20, 600.0) is None
    assert pool.take_characters("auth:red", "m", 0, 600.0) is None


RULES = (
    ModelRule("long", "qwen3", exact=False, rates=Rates(requests=2)),
    ModelRule("short", "qwen", exact=False, rates=Rates(requests=1)),
    ModelRule("exact", "qwen3-8b", exact=True, rates=Rates(characters=10)),
)


def test_at_most_one_model_rule_applies():
    policy = TenantPolicy(Rates(requests=9), RULES)
    names = {
        model: rule and rule.id
        for model in ("qwen3-8b", "qwen3-32b", "qwen2", "llama")
        for rule in [policy.rule_for(model)]
    }
    assert names == {"qwen3-8b": "exact", "qwen3-32b": "long", "qwen2": "short", "llama": None}


def test_model_rules_come_on_top_and_take_nothing_when_they_refuse():
    pool = limits(red=TenantPolicy(Rates(characters=100), RULES))
    assert pool.take_characters("auth:red", "qwen3-32b", 10, 0.0) is None
    assert pool.take_characters("auth:red", "qwen3-32b", 10, 0.0) is None
    assert pool.take_characters("auth:red", "qwen3-32b", 10, 0.0).retry_after == 30
    assert pool.take_characters("auth:red", "qwen3-8b", 11, 0.0).retry_after is None
    assert pool.take_characters("auth:red", "llama", 80, 0.0) is None
    assert pool.take_characters("auth:red", "qwen2", 1, 0.0) is not None
    assert pool.take_characters("auth:red", "qwen2", 1, 0.6) is None


def test_the_longest_wait_counts():
    pool = limits(red=TenantPolicy(Rates(characters=60), [ModelRule("r", "m", exact=True, rates=Rates(requests=1))]))
    assert pool.take_characters("auth:red", "m", 60, 0.0) is None
    assert pool.take_characters("auth:red", "m", 30, 0.0).retry_after == 60
    assert pool.take_characters("auth:red", "m", 61, 0.0).retry_after is None


def test_memory_is_bounded_and_full_buckets_go_first():
    pool = TenantLimits(TenantPolicy(Rates(requests=2)), {}, remembered=3)
    for _ in range(2):
        assert pool.take_request("busy", 0.0) is None
    pool.take_characters("idle", "m", 0, 0.0)
    for number in range(4):
        pool.take_request(f"other-{number}", 0.0)
        assert len(pool) <= 3
    # Had it been forgotten while it was empty, it would start with a full bucket.
    assert pool.take_request("idle", 0.0) is None
    pool = TenantLimits(TenantPolicy(Rates(requests=2)), {}, remembered=3)
    for _ in range(2):
        pool.take_request("busy", 0.0)
    pool.take_characters("idle", "m", 0, 0.0)
    pool.take_request("a", 0.0)
    pool.take_request("b", 0.0)
    assert pool.take_request("busy", 0.0) is not None


def test_what_is_counted():
    class Counts(Observer):
        def __init__(self):
            self.seen = []

        def tenant_limited(self, tenant, limit, *, allowed):
            self.seen.append((tenant, limit, allowed))

    counts = Counts()
    policy = TenantPolicy(Rates(requests=1, characters=5), [ModelRule("r", "m", exact=True, rates=Rates(requests=9))])
    pool = TenantLimits(policy, {}, observer=counts)
    pool.take_request("a", 0.0), pool.take_request("a", 0.0)
    pool.take_characters("a", "m", 6, 0.0)
    assert counts.seen == [
        ("a", "requests", True),
        ("a", "requests", False),
        ("a", "characters", False),
        ("a", "model_requests", True),
    ]


def test_tenant_labels_are_bounded():
    labels = TenantLabels(2)
    assert [labels.label(name) for name in ("a", "b", "c", "a", "c")] == ["a", "b", "other", "a", "other"]
    assert TenantLabels(0).label("a") == "other"


@given(
    st.integers(1, 1000),
    st.lists(st.tuples(st.floats(0, 30), st.integers(0, 400)), max_size=50),
)
def test_no_minute_holds_more_than_size_and_refill(size, uses):
    now, bucket, taken = 0.0, TokenBucket(size, size / 60, 0.0), []
    for pause, amount in uses:
        now += pause
        wait = bucket.wait(amount, now)
        assert (wait is None) is (amount > size)
        if bucket.holds(amount, now):
            assert wait == 0.0
            bucket.take(amount, now)
            taken.append((now, amount))
        elif wait is not None:
            assert wait > 0.0
            now += wait
            assert bucket.holds(amount, now)
    for start, _ in taken:
        used = sum(amount for at, amount in taken if start <= at <= start + 60)
        assert used <= 2 * size + 1e-6
