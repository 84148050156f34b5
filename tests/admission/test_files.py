"""The YAML files of admission."""

import re
from pathlib import Path

import pytest

from sluicegate.admission.files import read_scheduler_file, read_tenant_file
from sluicegate.admission.scheduler import BUILT_IN_RULES, ClassRules
from sluicegate.admission.tenants import ModelRule, Rates, TenantPolicy
from sluicegate.admission.ticket import Priority
from sluicegate.core.errors import InvalidSetting

ENTRY = "{reserved_floor: 1, queue_size: 2, queue_timeout_secs: 3, starvation_threshold_secs: 4.5, can_preempt: true}"


def bulk(written="", instead=""):
    """A file with one class, with a change."""
    return (
        "classes: {bulk: " + ENTRY.replace(written, instead, 1) + "}" if written else "classes: {bulk: " + ENTRY + "}"
    )


def write(tmp_path, text):
    path = tmp_path / "file.yaml"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


@pytest.mark.parametrize("text", ["", "# nothing\n", "{}", "classes: {}\ntenant_policies: {}\n"])
def test_an_empty_scheduler_file_is_fine(tmp_path, text):
    plan = read_scheduler_file(write(tmp_path, text))
    assert plan == read_scheduler_file(None)
    assert (plan.rules, plan.ceilings) == (BUILT_IN_RULES, {})


def test_scheduler_file(tmp_path):
    plan = read_scheduler_file(
        write(
            tmp_path,
            bulk() + "\ntenant_policies: {'auth:red': {max_class: system}, 'ip:::1': {max_class: bulk}}",
        )
    )
    assert plan.rules[Priority.BULK] == ClassRules(1, 0.0, 2, 3.0, 4.5, can_preempt=True)
    assert plan.rules[Priority.SYSTEM] == BUILT_IN_RULES[Priority.SYSTEM]
    assert plan.ceilings == {"auth:red": Priority.SYSTEM, "ip:::1": Priority.BULK}


@pytest.mark.parametrize(
    "text",
    [
        "[]",
        "7",
        "classes: [",
        "a: b: c",
        "!!python/object/apply:os.getcwd []",
        "? [a]\n: 1",
        b"\xff\xfe",
        "unknown: {}",
        bulk().replace("bulk", "urgent"),
        "classes: {bulk: {queue_size: 1}}",
        bulk("}", ", reserved: 1}"),
        bulk("queue_timeout_secs: 3", "queue_timeout_secs: 0"),
        bulk("queue_timeout_secs: 3", "queue_timeout_secs: .inf"),
        bulk("starvation_threshold_secs: 4.5", "starvation_threshold_secs: 0"),
        bulk("queue_size: 2", "queue_size: -1"),
        bulk("queue_size: 2", 'queue_size: "2"'),
        bulk("can_preempt: true", "can_preempt: 1"),
        bulk("}", "}, bulk: " + ENTRY),
        "tenant_policies: {red: {max_class: bulk}}",
        "tenant_policies: {'auth:': {max_class: bulk}}",
        "tenant_policies: {'auth: red': {max_class: bulk}}",
        "tenant_policies: {'user:red': {max_class: bulk}}",
        "tenant_policies: {'ip:red': {max_class: bulk}}",
        "tenant_policies: {'auth:red': {max_class: urgent}}",
        "tenant_policies: {'auth:red': {}}",
        "tenant_policies: {'ip:::1': {max_class: bulk}, 'ip:0:0::1': {max_class: bulk}}",
    ],
)
def test_refused_scheduler_files(tmp_path, text):
    with pytest.raises(InvalidSetting, match="priority_scheduler_config"):
        read_scheduler_file(write(tmp_path, text))


def test_a_missing_file(tmp_path):
    with pytest.raises(InvalidSetting, match="cannot be read"):
        read_scheduler_file(tmp_path / "nope.yaml")


def test_a_syntax_error_names_the_line(tmp_path):
    with pytest.raises(InvalidSetting, match="line 2"):
        read_scheduler_file(write(tmp_path, "classes: {}\nb: ]"))


TENANTS = """
default_policy: {requests_per_minute: 60, characters_per_minute: 100000}
tenants:
  - tenant_key: "auth:red"
    requests_per_minute: 300
    model_rules:
      - {rule_id: small, matcher: {type: prefix, value: "qwen"}, requests_per_minute: 10}
      - {rule_id: one, matcher: {type: exact, value: "qwen"}, characters_per_minute: 5}
  - {tenant_key: "ip:::ffff:10.0.0.1", characters_per_minute: 7}
"""


def test_tenant_file(tmp_path):
    plan = read_tenant_file(write(tmp_path, TENANTS), trust_tenant_header=False)
    assert plan.default == TenantPolicy(Rates(60, 100000))
    assert plan.tenants == {
        "auth:red": TenantPolicy(
            Rates(300),
            (ModelRule("small", "qwen", False, Rates(10)), ModelRule("one", "qwen", True, Rates(None, 5))),
        ),
        "ip:10.0.0.1": TenantPolicy(Rates(None, 7)),
    }
    assert not plan.ignores_tokens


def test_tokens_per_minute_has_no_effect(tmp_path):
    text = "default_policy: {tokens_per_minute: 5, requests_per_minute: 1}"
    plan = read_tenant_file(write(tmp_path, text), trust_tenant_header=False)
    assert plan.ignores_tokens
    assert plan.default == TenantPolicy(Rates(1))


def test_header_keys_need_a_trusted_header(tmp_path):
    path = write(tmp_path, "tenants: [{tenant_key: 'header:red', requests_per_minute: 1}]")
    assert "header:red" in read_tenant_file(path, trust_tenant_header=True).tenants
    with pytest.raises(InvalidSetting, match="--trust-tenant-header"):
        read_tenant_file(path, trust_tenant_header=False)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{}",
        "tenants: []",
        "default_policy: {}",
        "default_policy: {tokens_per_minute: 5}",
        "default_policy: {requests_per_minute: 0}",
        "default_policy: {requests_per_minute: 1.5}",
        "default_policy: {requests_per_minute: true}",
        "default_policy: {characters_per_minute: -1}",
        "default_policy: {requests_per_minute: 1, rpm: 1}",
        "default_policy: {requests_per_minute: 1, requests_per_minute: 2}",
        "tenants: [{requests_per_minute: 1}]",
        "tenants: [{tenant_key: 'auth:red'}]",
        "tenants: [{tenant_key: 'red', requests_per_minute: 1}]",
        "tenants: [{tenant_key: 'auth:red ', requests_per_minute: 1}]",
        "tenants: [{tenant_key: ' auth:red', requests_per_minute: 1}]",
        "tenants: [{tenant_key: 'auth:red', requests_per_minute: 1}, {tenant_key: 'auth:red', requests_per_minute: 2}]",
    ],
)
def test_refused_tenant_files(tmp_path, text):
    with pytest.raises(InvalidSetting, match="tenant_rate_limit_config"):
        read_tenant_file(write(tmp_path, text), trust_tenant_header=True)


RULE = "{rule_id: a, matcher: {type: exact, value: m}, requests_per_minute: 1}"


@pytest.mark.parametrize(
    "rules",
    [
        "{rule_id: a, matcher: {type: exact, value: m}}",
        "{rule_id: '', matcher: {type: exact, value: m}, requests_per_minute: 1}",
        "{rule_id: ' a', matcher: {type: exact, value: m}, requests_per_minute: 1}",
        "{rule_id: a, matcher: {type: suffix, value: m}, requests_per_minute: 1}",
        "{rule_id: a, matcher: {type: exact, value: ''}, requests_per_minute: 1}",
        "{rule_id: a, matcher: {type: exact}, requests_per_minute: 1}",
        RULE + ", " + RULE.replace("value: m", "value: n"),
        RULE + ", " + RULE.replace("rule_id: a", "rule_id: b"),
    ],
)
def test_refused_model_rules(tmp_path, rules):
    text = f"tenants: [{{tenant_key: 'auth:red', requests_per_minute: 1, model_rules: [{rules}]}}]"
    with pytest.raises(InvalidSetting):
        read_tenant_file(write(tmp_path, text), trust_tenant_header=True)


def test_the_files_of_the_guide_can_be_read(tmp_path):
    guide = Path(__file__).parents[2] / "docs" / "guide" / "admission.md"
    scheduler, tenants = re.findall(r"^```yaml\n(.*?)^```", guide.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    plan = read_scheduler_file(write(tmp_path, scheduler))
    assert plan.ceilings == {"auth:team-red": Priority.INTERACTIVE}
    assert plan.rules[Priority.INTERACTIVE].reservation(100) == 25
    assert "auth:team-red" in read_tenant_file(write(tmp_path, tenants), trust_tenant_header=False).tenants
