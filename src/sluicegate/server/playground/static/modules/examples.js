// Outputs to begin with.

import { SHARED } from "./store.js";

const tool = (name, properties, required) => ({ type: "function", function: { name, parameters: { type: "object", properties, required } } });
const WEATHER = tool("get_weather", { city: { type: "string" }, days: { type: "integer" } }, ["city"]);
const WRITE = tool("write_file", { path: { type: "string" }, content: { type: "string" } }, ["path", "content"]);

const example = (title, what, values) => ({
  title,
  what,
  values: () => ({ ...SHARED, ...values, tools: JSON.stringify(values.tools, null, 2), chosen: null, linked: null, playhead: null }),
});

export const EXAMPLES = [
  example("Thought and two calls", "Qwen3 thinks, answers and calls two tools at once.", {
    model: "Qwen/Qwen3-8B",
    tools: [WEATHER],
    text: `<think>
The user plans a trip from Oslo to Zürich 🏔️ and wants to know what to pack. I need the weather of both cities.
</think>

I'll look at both places first.
<tool_call>
{"name": "get_weather", "arguments": {"city": "Oslo", "days": 3}}
</tool_call>
<tool_call>
{"name": "get_weather", "arguments": {"city": "Zürich", "days": 5}}
</tool_call>`,
  }),
  example("A call that failed", "The model tried to write a file, and nothing happened. Why?", {
    model: "Qwen/Qwen2.5-7B-Instruct",
    tools: [WRITE],
    text: `I'll create the script for you.
<tool_call>
{"name": "write_file", "arguments": {"path": "hello.py", "content": "name = input("Your name: ")\\nprint(f'Hello, {name}!')\\n"}}
</tool_call>`,
  }),
  example("Cut off in the middle", "GLM ran out of tokens while it wrote its second call.", {
    tools: [WRITE, tool("run", { command: { type: "string" }, timeout: { type: "integer" } }, ["command"])],
    text: `<think>The test fails because of the rounding. I fix the function, then run the tests again.</think>
Found it: the total is rounded too early.
<tool_call>run
<arg_key>command</arg_key>
<arg_value>pytest -q tests/test_total.py</arg_value>
<arg_key>timeout</arg_key>
<arg_value>60</arg_value>
</tool_call>
<tool_call>write_file
<arg_key>path</arg_key>
<arg_value>shop/total.py</arg_value>
<arg_key>content</arg_key>
<arg_value>from decimal import Decimal


def total(prices):
    return sum(map(Decimal, pri`,
  }),
];
