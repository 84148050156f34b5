"""Messages as the chat templates of the families with tagged parameters write them."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, kw_only=True)
class Template:
    """What a family's template writes: each part is a format string with `name`, `key`, `type` and `value` in it."""

    parser: str
    before_first: str = ""
    section: str = ""
    section_end: str = ""
    call: str
    item: str
    item_end: str
    call_end: str
    between: str = ""
    answer: str = "{content}"
    types: Callable[[Any], str] = lambda _value: ""

    @property
    def value_closer(self) -> str:
        """The closing tag of a value, without the template's white space."""
        return self.item_end.strip()

    @property
    def call_closer(self) -> str:
        """The closing tag of a call, without the template's white space."""
        return self.call_end.strip().split("\n")[0]

    def render_call(self, name: str, arguments: dict[str, Any]) -> str:
        """One call: strings raw, everything else as JSON."""
        items = [
            self.item.format(key=key, type=self.types(value))
            + (value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))
            + self.item_end
            for key, value in arguments.items()
        ]
        return self.call.format(name=name) + "".join(items) + self.call_end

    def render(self, content: str, calls: Sequence[tuple[str, dict[str, Any]]]) -> str:
        """The message as raw text."""
        text = self.answer.format(content=content)
        if calls:
            text += self.before_first + self.section
            text += self.between.join(self.render_call(name, arguments) for name, arguments in calls)
            text += self.section_end
        return text


def _dsml(parser: str, blank: str, section: str) -> Template:
    dsml = f"｜DSML｜{blank}"
    return Template(
        parser=parser,
        before_first="\n\n",
        section=f"<{dsml}{section}>\n",
        section_end=f"\n</{dsml}{section}>",
        call=f'<{dsml}invoke name="{{name}}">\n',
        item=f'<{dsml}parameter name="{{key}}" string="{{type}}">',
        item_end=f"</{dsml}parameter>\n",
        call_end=f"</{dsml}invoke>",
        between="\n",
        types=lambda value: str(isinstance(value, str)).lower(),
    )


def _xtml_type(value: Any) -> str:
    names = {str: "string", bool: "boolean", int: "number", float: "number", list: "array", dict: "object"}
    return names.get(type(value), "null")


TEMPLATES = (
    Template(
        parser="qwen_xml",
        before_first="\n\n",
        call="<tool_call>\n<function={name}>\n",
        item="<parameter={key}>\n",
        item_end="\n</parameter>\n",
        call_end="</function>\n</tool_call>",
        between="\n",
    ),
    _dsml("deepseek32", "", "function_calls"),
    _dsml("deepseek_v4", "", "tool_calls"),
    _dsml("deepseek_v41", " ", "calls"),
    Template(
        parser="glm45_moe",
        before_first="\n",
        call="<tool_call>{name}\n",
        item="<arg_key>{key}</arg_key>\n<arg_value>",
        item_end="</arg_value>\n",
        call_end="</tool_call>",
        between="\n",
    ),
    Template(
        parser="glm47_moe",
        call="<tool_call>{name}",
        item="<arg_key>{key}</arg_key><arg_value>",
        item_end="</arg_value>",
        call_end="</tool_call>",
    ),
    Template(
        parser="step3",
        section="<｜tool_calls_begin｜>\n",
        section_end="\n<｜tool_calls_end｜>",
        call='<｜tool_call_begin｜>function<｜tool_sep｜><steptml:invoke name="{name}">',
        item='<steptml:parameter name="{key}">',
        item_end="</steptml:parameter>",
        call_end="</steptml:invoke><｜tool_call_end｜>",
        between="\n",
    ),
    Template(
        parser="minimax_m2",
        before_first="\n",
        section="<minimax:tool_call>\n",
        section_end="\n</minimax:tool_call>",
        call='<invoke name="{name}">\n',
        item='<parameter name="{key}">',
        item_end="</parameter>\n",
        call_end="</invoke>",
        between="\n",
    ),
    Template(
        parser="hy_v4",
        section="<tool_calls:6124c78e>",
        section_end="</tool_calls:6124c78e>",
        call="<tool_call:6124c78e>{name}",
        item="<arg_key:6124c78e>{key}</arg_key:6124c78e><arg_value:6124c78e>",
        item_end="</arg_value:6124c78e>",
        call_end="</tool_call:6124c78e>",
    ),
    Template(
        parser="kimi_k3",
        section="<|open|>tools<|sep|>",
        section_end="<|close|>tools<|sep|>",
        call='<|open|>call tool="{name}" index="1"<|sep|>',
        item='<|open|>argument key="{key}" type="{type}"<|sep|>',
        item_end="<|close|>argument<|sep|>",
        call_end="<|close|>call<|sep|>",
        answer="<|open|>response<|sep|>{content}<|close|>response<|sep|>",
        types=_xtml_type,
    ),
)
