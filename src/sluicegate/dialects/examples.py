"""A minimal output of each format, by the format's main name: what `GET /parse/parsers` and the documentation show."""

from __future__ import annotations

from typing import Final

TOOL_EXAMPLES: Final = {
    "passthrough": "It rains.",
    "json": '{"name": "get_weather", "arguments": {"city": "Oslo"}}',
    "mistral": '[TOOL_CALLS] [{"name": "get_weather", "arguments": {"city": "Oslo"}}]',
    "qwen": '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Oslo"}}\n</tool_call>',
    "llama": '<|python_tag|>{"name": "get_weather", "parameters": {"city": "Oslo"}}',
    "deepseek": "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>get_weather\n"
    '```json\n{"city": "Oslo"}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>',
    "deepseek31": "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>get_weather<｜tool▁sep｜>"
    '{"city": "Oslo"}<｜tool▁call▁end｜><｜tool▁calls▁end｜>',
    "pythonic": '[get_weather(city="Oslo")]',
    "sarashina": '<|tool_calls|>[{"name": "get_weather", "arguments": {"city": "Oslo"}}]',
    "kimik2": "<|tool_calls_section_begin|><|tool_call_begin|>functions.get_weather:0<|tool_call_argument_begin|>"
    '{"city": "Oslo"}<|tool_call_end|><|tool_calls_section_end|>',
    "inkling": "<|message_model|>get_weather<|content_invoke_tool_json|>"
    '{"name": "get_weather", "args": {"city": "Oslo"}}<|end_message|>',
    "minimax_m3": ']<]minimax[>[<tool_call>\n]<]minimax[>[<invoke name="get_weather">'
    "]<]minimax[>[<city>Oslo]<]minimax[>[</city>]<]minimax[>[</invoke>\n]<]minimax[>[</tool_call>",
    "gemma4": '<|tool_call>call:get_weather{city:<|"|>Oslo<|"|>}<tool_call|>',
    "cohere": '<|START_ACTION|>[{"tool_call_id": "0", "tool_name": "get_weather", "parameters": {"city": "Oslo"}}]'
    "<|END_ACTION|>",
    "qwen_xml": "<tool_call>\n<function=get_weather>\n<parameter=city>\nOslo\n</parameter>\n</function>\n</tool_call>",
    "deepseek32": '<｜DSML｜function_calls>\n<｜DSML｜invoke name="get_weather">\n'
    '<｜DSML｜parameter name="city" string="true">Oslo</｜DSML｜parameter>\n</｜DSML｜invoke>\n'
    "</｜DSML｜function_calls>",
    "deepseek_v4": '<｜DSML｜tool_calls>\n<｜DSML｜invoke name="get_weather">\n'
    '<｜DSML｜parameter name="city" string="true">Oslo</｜DSML｜parameter>\n</｜DSML｜invoke>\n</｜DSML｜tool_calls>',
    "deepseek_v41": '<｜DSML｜ calls>\n<｜DSML｜ invoke name="get_weather">\n'
    '<｜DSML｜ parameter name="city" string="true">Oslo</｜DSML｜ parameter>\n</｜DSML｜ invoke>\n</｜DSML｜ calls>',
    "glm45_moe": "<tool_call>get_weather\n<arg_key>city</arg_key>\n<arg_value>Oslo</arg_value>\n</tool_call>",
    "glm47_moe": "<tool_call>get_weather<arg_key>city</arg_key><arg_value>Oslo</arg_value></tool_call>",
    "step3": "<｜tool_calls_begin｜>\n<｜tool_call_begin｜>function<｜tool_sep｜>"
    '<steptml:invoke name="get_weather">\n<steptml:parameter name="city">Oslo</steptml:parameter>\n'
    "</steptml:invoke><｜tool_call_end｜>\n<｜tool_calls_end｜>",
    "minimax_m2": '<minimax:tool_call>\n<invoke name="get_weather">\n<parameter name="city">Oslo</parameter>\n'
    "</invoke>\n</minimax:tool_call>",
    "hy_v4": "<tool_calls:6124c78e><tool_call:6124c78e>get_weather<arg_key:6124c78e>city</arg_key:6124c78e>"
    "<arg_value:6124c78e>Oslo</arg_value:6124c78e></tool_call:6124c78e></tool_calls:6124c78e>",
    "kimi_k3": '<|open|>tools<|sep|><|open|>call tool="get_weather" index="1"<|sep|>'
    '<|open|>argument key="city" type="string"<|sep|>Oslo<|close|>argument<|sep|>'
    "<|close|>call<|sep|><|close|>tools<|sep|>",
}

THINK: Final = "<think>The user asks for the weather.</think>It rains."
THINK_ON_LINES: Final = "<think>\nThe user asks for the weather.\n</think>\n\nIt rains."

REASONING_EXAMPLES: Final = {
    "passthrough": "It rains.",
    "base": THINK,
    "deepseek_r1": "The user asks for the weather.</think>It rains.",
    "deepseek_v31": THINK,
    "deepseek_v4": THINK,
    "deepseek_v41": THINK,
    "qwen3": THINK_ON_LINES,
    "qwen3_thinking": THINK_ON_LINES.removeprefix("<think>\n"),
    "nano_v3": THINK_ON_LINES.replace("\n\n", "\n"),
    "glm45": "\n<think>The user asks for the weather.</think>\nIt rains.",
    "step3": THINK_ON_LINES.removeprefix("<think>\n").replace("\n\n", "\n"),
    "kimi": "◁think▷The user asks for the weather.◁/think▷It rains.",
    "kimi_k25": THINK,
    "kimi_thinking": "The user asks for the weather.</think>It rains.",
    "kimi_k3": "<|open|>think<|sep|>The user asks for the weather.<|close|>think<|sep|>"
    "<|open|>response<|sep|>It rains.<|close|>response<|sep|>",
    "minimax": THINK_ON_LINES.removeprefix("<think>\n"),
    "minimax_m3": "<mm:think>The user asks for the weather.</mm:think>It rains.",
    "cohere_cmd": "<|START_THINKING|>The user asks for the weather.<|END_THINKING|>It rains.",
    "hy_v4": "<think:6124c78e>The user asks for the weather.</think:6124c78e>It rains.",
    "gemma4": "<|channel>thought\nThe user asks for the weather.\n<channel|>It rains.",
    "inkling": "<|content_thinking|>The user asks for the weather.<|end_message|>"
    "<|message_model|><|content_text|>It rains.<|end_message|>",
}
