// Which parsers read the output: the pickers, what decided, and what else would fit.

import { byId, h } from "./dom.js";
import { knownFormats } from "./parsers.js";

const MODELS = [
  "Qwen/Qwen3-8B", "Qwen/Qwen3-Coder-30B-A3B-Instruct", "deepseek-ai/DeepSeek-V3.1", "deepseek-ai/DeepSeek-R1", "moonshotai/Kimi-K2-Instruct",
  "zai-org/GLM-4.5", "meta-llama/Llama-3.1-8B-Instruct", "mistralai/Mistral-Small-3.2-24B-Instruct-2506", "MiniMaxAI/MiniMax-M2", "CohereLabs/command-a-03-2025",
];
const SIDES = [
  { kind: "tool_call", value: "toolParser", label: "Tool calls", id: "tool-parser" },
  { kind: "reasoning", value: "reasoningParser", label: "Reasoning", id: "reasoning-parser" },
];

export class Pickers {
  constructor(store) {
    this.store = store;
    this.model = h("input", { id: "model", type: "text", value: store.get("model"), placeholder: "not needed", autocomplete: "off", spellcheck: false });
    this.model.setAttribute("list", "models");
    this.model.addEventListener("input", () => store.set({ model: this.model.value.trim() }));
    this.selects = Object.fromEntries(
      SIDES.map(({ value, id }) => [value, h("select", { id, onchange: (event) => store.set({ [value]: event.target.value }) })]),
    );
    this.start = h(
      "select",
      { id: "in-reasoning", onchange: (event) => store.set({ inReasoning: event.target.value }) },
      [["", "by default"], ["true", "in reasoning"], ["false", "in the answer"]].map(([value, text]) => h("option", { value }, text)),
    );
    this.reasons = h("ul", { class: "reasons" });
    const field = (id, label, control) => h("div", { class: "field" }, h("label", { for: id }, label), control);
    byId("pickers").append(
      h(
        "section",
        { class: "card pickers", "aria-label": "How it is read" },
        h("div", { class: "fields" },
          field("model", "Model", this.model),
          SIDES.map(({ value, id, label }) => field(id, label, this.selects[value])),
          field("in-reasoning", "The output begins", this.start)),
        this.reasons,
        h("datalist", { id: "models" }, MODELS.map((name) => h("option", { value: name }))),
      ),
    );
    this.#fill([]);
    this.load();
    store.on(["model", "toolParser", "reasoningParser", "inReasoning"], () => this.#follow());
    store.on(["reading"], () => this.#explain());
  }

  /** Ask for the formats, again after a key was given. */
  async load() {
    try {
      this.#fill(await knownFormats());
    } catch {
      // Reading the output tells what is wrong with the service.
    }
  }

  #fill(formats) {
    for (const { kind, value } of SIDES) {
      const names = formats.filter((format) => format.kind === kind).map((format) => format.names);
      const chosen = this.store.get(value);
      if (chosen !== "auto" && !names.flat().includes(chosen)) names.push([chosen]);
      this.selects[value].replaceChildren(
        h("option", { value: "auto" }, "detect"),
        ...names.map(([name, ...others]) => h("option", { value: name }, others.length ? `${name} (${others.join(", ")})` : name)),
      );
    }
    this.#follow();
  }

  #follow() {
    const { model, inReasoning } = this.store.values;
    if (this.model.value.trim() !== model) this.model.value = model;
    this.start.value = inReasoning;
    for (const { value } of SIDES) {
      const select = this.selects[value];
      const chosen = this.store.get(value);
      // A link may name a parser by one of its other names.
      if (![...select.options].some((option) => option.value === chosen)) select.append(h("option", { value: chosen }, chosen));
      select.value = chosen;
    }
  }

  #explain() {
    const { reading } = this.store.values;
    if (reading.status !== "done") {
      if (reading.status === "empty") this.reasons.replaceChildren();
      return;
    }
    this.reasons.replaceChildren(
      ...SIDES.map(({ kind, label, value }) => {
        const side = reading.sides[kind];
        const select = this.selects[value];
        select.options[0].textContent = side.source === "picked" ? "detect" : `${side.parser} (auto)`;
        return h("li", {}, h("b", {}, `${label}: `), h("code", {}, side.parser), side.score !== undefined && h("span", { class: "score" }, ` ${Math.round(side.score * 100)} %`),
          h("span", { class: "why" }, ` ${side.source === "output" ? "looks like it: " : ""}${side.why}. `),
          side.others.length > 0 && h("span", { class: "others" }, "Also fits: ", side.others.map((other) =>
            h("button", { type: "button", class: "chip", onclick: () => this.store.set({ [value]: other.parser }), title: other.reasons.join("; ") }, `${other.parser} ${Math.round(other.score * 100)} %`))));
      }),
    );
  }
}
