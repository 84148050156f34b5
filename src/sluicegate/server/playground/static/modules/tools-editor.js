// The tools that the model was given: they type the arguments, and tell which names it made up.

import { byId, count, h } from "./dom.js";
import { checkTools } from "./tools.js";

export class ToolsEditor {
  constructor(store) {
    this.store = store;
    this.input = h("textarea", { id: "tools-input", rows: 8, spellcheck: false, placeholder: '[{"type": "function", "function": {"name": "get_weather", "parameters": {"type": "object", "properties": {"city": {"type": "string"}}}}}]', "aria-describedby": "tools-problems" });
    this.input.addEventListener("input", () => store.set({ tools: this.input.value }));
    this.problems = h("ul", { class: "problems" });
    this.summary = h("summary", {}, "Tools");
    this.format = h("button", { type: "button", onclick: () => this.#format() }, "Format");
    this.fromCalls = h("button", { type: "button", onclick: () => this.#fromCalls() }, "Make them from the calls");
    this.details = h("details", { class: "card tools" }, this.summary,
      h("label", { for: "tools-input" }, "Tool definitions, as JSON in the OpenAI shape"), this.input, h("div", { id: "tools-problems", role: "status" }, this.problems),
      h("div", { class: "actions" }, this.format, this.fromCalls));
    byId("tools").append(this.details);
    store.on(["tools"], () => this.#show());
    this.#show();
  }

  #show() {
    const source = this.store.get("tools");
    if (this.input.value !== source) this.input.value = source;
    const { tools, problems } = checkTools(source);
    this.summary.textContent = `Tools (${source.trim() ? (tools ? tools.length : "not readable") : "none given"})`;
    const lines = problems.map(({ message, fatal }) => h("li", { class: fatal ? "is-error" : "is-warning" }, message));
    if (problems.some((problem) => problem.fatal)) lines.push(h("li", {}, "Until this is mended the output is read without tools."));
    else if (tools && !problems.length) lines.push(h("li", { class: "is-good" }, `${count(tools.length, "tool")}, well formed.`));
    this.problems.replaceChildren(...lines);
    this.format.disabled = !tools;
  }

  #format() {
    const { tools } = checkTools(this.input.value);
    if (tools) this.store.set({ tools: JSON.stringify(tools, null, 2) });
  }

  #fromCalls() {
    const { reading } = this.store.values;
    if (reading.status !== "done" || !reading.answer.tool_calls.length) return;
    const byName = new Map();
    for (const call of reading.answer.tool_calls) {
      const properties = byName.get(call.function.name) ?? {};
      for (const [key, value] of Object.entries(JSON.parse(call.function.arguments))) properties[key] ??= { type: typeOf(value) };
      byName.set(call.function.name, properties);
    }
    const tools = [...byName].map(([name, properties]) => ({ type: "function", function: { name, parameters: { type: "object", properties } } }));
    this.store.set({ tools: JSON.stringify(tools, null, 2) });
  }
}

function typeOf(value) {
  if (value === null) return "null";
  if (Array.isArray(value)) return "array";
  if (typeof value === "number") return Number.isInteger(value) ? "integer" : "number";
  return typeof value;
}
