"""The two YAML files of admission: classes of the scheduler, limits of the tenants. Read strictly."""

from __future__ import annotations

import ipaddress
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar, cast

import msgspec
import yaml
from msgspec import Meta

from sluicegate.admission.scheduler import BUILT_IN_RULES, ClassRules
from sluicegate.admission.tenants import UNLIMITED, ModelRule, Rates, TenantPolicy
from sluicegate.admission.ticket import Priority
from sluicegate.core.errors import InvalidSetting

SCHEDULER_FIELD = "priority_scheduler_config"
TENANT_FIELD = "tenant_rate_limit_config"

_KINDS = ("auth", "header", "ip")

Count = Annotated[int, Meta(ge=0)]
PerMinute = Annotated[int, Meta(gt=0)]
Share = Annotated[float, Meta(ge=0, le=1)]
Time = Annotated[float, Meta(gt=0, le=366 * 86400)]
ClassName = Literal["bulk", "default", "interactive", "system"]


class _Strict(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    pass


class _ClassEntry(_Strict, frozen=True):
    reserved_floor: Count
    queue_size: Count
    queue_timeout_secs: Time
    starvation_threshold_secs: Time
    can_preempt: bool
    reserved_per_slot: Share = 0.0


class _CeilingEntry(_Strict, frozen=True):
    max_class: ClassName


class _SchedulerFile(_Strict, frozen=True):
    classes: dict[ClassName, _ClassEntry] = {}
    tenant_policies: dict[str, _CeilingEntry] = {}


class _Limits(_Strict, frozen=True, kw_only=True):
    requests_per_minute: PerMinute | None = None
    characters_per_minute: PerMinute | None = None
    tokens_per_minute: PerMinute | None = None


class _Matcher(_Strict, frozen=True):
    type: Literal["exact", "prefix"]
    value: Annotated[str, Meta(min_length=1)]


class _RuleEntry(_Limits, frozen=True, kw_only=True):
    rule_id: Annotated[str, Meta(min_length=1)]
    matcher: _Matcher


class _TenantEntry(_Limits, frozen=True, kw_only=True):
    tenant_key: str
    model_rules: list[_RuleEntry] = []


class _TenantFile(_Strict, frozen=True):
    default_policy: _Limits | None = None
    tenants: list[_TenantEntry] = []


@dataclass(frozen=True, slots=True)
class SchedulerPlan:
    """What the file of the scheduler says; classes that it does not name have the built-in rules."""

    rules: Mapping[Priority, ClassRules]
    ceilings: Mapping[str, Priority]


@dataclass(frozen=True, slots=True)
class TenantPlan:
    """What the file of the tenant limits says."""

    default: TenantPolicy
    tenants: Mapping[str, TenantPolicy]
    ignores_tokens: bool
    """Whether the file has `tokens_per_minute`, which has no effect here."""


def read_scheduler_file(path: Path | None) -> SchedulerPlan:
    """Read the file of the scheduler; None is an empty one. Raises `InvalidSetting`."""
    content = _SchedulerFile() if path is None else _read(SCHEDULER_FIELD, path, _SchedulerFile)
    rules = dict(BUILT_IN_RULES)
    for name, entry in content.classes.items():
        rules[Priority[name.upper()]] = ClassRules(
            entry.reserved_floor,
            entry.reserved_per_slot,
            entry.queue_size,
            entry.queue_timeout_secs,
            entry.starvation_threshold_secs,
            entry.can_preempt,
        )
    ceilings: dict[str, Priority] = {}
    for key, ceiling in content.tenant_policies.items():
        known = _tenant_key(SCHEDULER_FIELD, path, key, ceilings)
        ceilings[known] = Priority[ceiling.max_class.upper()]
    return SchedulerPlan(rules, ceilings)


def read_tenant_file(path: Path, *, trust_tenant_header: bool) -> TenantPlan:
    """Read the file of the tenant limits. Raises `InvalidSetting`."""
    content = _read(TENANT_FIELD, path, _TenantFile)
    if content.default_policy is None and not content.tenants:
        raise InvalidSetting(TENANT_FIELD, path, "names neither a default_policy nor tenants")
    default = UNLIMITED
    if content.default_policy is not None:
        default = TenantPolicy(_rates(path, content.default_policy, "default_policy"))
    tenants: dict[str, TenantPolicy] = {}
    for entry in content.tenants:
        key = _tenant_key(TENANT_FIELD, path, entry.tenant_key, tenants)
        if key.startswith("header:") and not trust_tenant_header:
            raise InvalidSetting(TENANT_FIELD, path, f"tenant_key '{key}' never matches without --trust-tenant-header")
        rules = _model_rules(path, key, entry.model_rules)
        tenants[key] = TenantPolicy(_rates(path, entry, f"tenant_key '{key}'"), rules)
    limits: list[_Limits] = [*content.tenants, *(rule for entry in content.tenants for rule in entry.model_rules)]
    if content.default_policy is not None:
        limits.append(content.default_policy)
    return TenantPlan(default, tenants, any(entry.tokens_per_minute is not None for entry in limits))


def _model_rules(path: Path, tenant: str, entries: Iterable[_RuleEntry]) -> tuple[ModelRule, ...]:
    rules: list[ModelRule] = []
    for entry in entries:
        exact = entry.matcher.type == "exact"
        where = f"rule_id '{entry.rule_id}' of tenant_key '{tenant}'"
        if entry.rule_id != entry.rule_id.strip() or any(rule.id == entry.rule_id for rule in rules):
            raise InvalidSetting(TENANT_FIELD, path, f"{where} is padded or given twice")
        if any((rule.exact, rule.value) == (exact, entry.matcher.value) for rule in rules):
            raise InvalidSetting(TENANT_FIELD, path, f"the matcher of {where} is given twice")
        rules.append(ModelRule(entry.rule_id, entry.matcher.value, exact, _rates(path, entry, where)))
    return tuple(rules)


def _rates(path: Path, entry: _Limits, where: str) -> Rates:
    if entry.requests_per_minute is None and entry.characters_per_minute is None:
        raise InvalidSetting(TENANT_FIELD, path, f"{where} needs requests_per_minute or characters_per_minute")
    return Rates(entry.requests_per_minute, entry.characters_per_minute)


def _tenant_key(field: str, path: Path | None, key: str, known: Mapping[str, object]) -> str:
    """Return the key as requests have it."""
    kind, colon, value = key.partition(":")
    if not colon or kind not in _KINDS or not value or value != value.strip():
        raise InvalidSetting(field, path, f"tenant key '{key}' must be auth:<tenant>, header:<value> or ip:<address>")
    if kind == "ip":
        try:
            address = ipaddress.ip_address(value)
        except ValueError:
            raise InvalidSetting(field, path, f"tenant key '{key}' holds no IP address") from None
        inner = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
        key = f"ip:{inner or address}"
    if key in known:
        raise InvalidSetting(field, path, f"tenant key '{key}' is given twice")
    return key


class _Loader(yaml.SafeLoader):
    """Refuses mappings that have a key twice, of which YAML would take the last."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        seen: set[str] = set()
        for key_node, _ in node.value:
            if not isinstance(key_node, yaml.ScalarNode):
                continue
            if key_node.value in seen:
                raise yaml.constructor.ConstructorError(
                    None, None, f"'{key_node.value}' is given twice", key_node.start_mark
                )
            seen.add(key_node.value)
        return super().construct_mapping(node, deep)


_File = TypeVar("_File", bound=msgspec.Struct)


def _read(field: str, path: Path, kind: type[_File]) -> _File:
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise InvalidSetting(field, path, "is not UTF-8") from None
    except OSError as error:
        raise InvalidSetting(field, path, f"cannot be read: {error.strerror}") from None
    try:
        content = cast("object", yaml.load(text, _Loader))  # noqa: S506 - a safe loader
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        mark = getattr(error, "problem_mark", None)
        place = f"line {mark.line + 1}: " if mark is not None else ""
        raise InvalidSetting(field, path, f"{place}{getattr(error, 'problem', None) or 'is not YAML'}") from None
    try:
        return msgspec.convert({} if content is None else content, kind)
    except msgspec.ValidationError as error:
        raise InvalidSetting(field, path, str(error).replace("`", "'").replace("$.", "")) from None
