// The first thing to read: what came of the output, and why a call failed.

import { byId, count, h } from "./dom.js";
import { explainFault } from "./faults.js";
import { linked } from "./links.js";

export class Verdict {
  constructor(store, { askForKey, examples, open }) {
    this.open = open;
    this.store = store;
    this.askForKey = askForKey;
    this.examples = examples;
    this.root = byId("verdict");
    store.on(["reading"], () => this.#show());
    this.#show();
  }

  #show() {
    const { reading } = this.store.values;
    document.body.dataset.reading = reading.status;
    if (reading.status === "empty") this.root.replaceChildren(this.#welcome());
    if (reading.status === "failed") this.root.replaceChildren(this.#failure(reading));
    if (reading.status === "done") this.root.replaceChildren(this.#summary(reading), ...this.#faults(reading));
  }

  #welcome() {
    const cards = this.examples.map((example) =>
      h("button", { type: "button", class: "example", onclick: () => this.open(example.values()) }, h("b", {}, example.title), h("span", {}, example.what)));
    return h("div", { class: "welcome" },
      h("p", { class: "lead" }, "Paste a raw output on the left, or start with a real one:"),
      h("div", { class: "example-cards" }, cards));
  }

  #failure({ message, needsKey }) {
    return h("div", { class: "banner is-error" }, h("p", {}, h("b", {}, needsKey ? "This service wants a key. " : "The output was not read. "), message),
      needsKey && h("button", { type: "button", onclick: this.askForKey }, "Give a key"));
  }

  #summary({ answer, milliseconds }) {
    const { tool_calls: calls, faults, finish } = answer;
    const cut = faults.filter((fault) => fault.incomplete).length;
    const broken = faults.length - cut;
    const parts = [];
    if (calls.length) parts.push(`${count(calls.length, "call")} read`);
    if (broken) parts.push(`${count(broken, "call")} broken`);
    if (cut) parts.push(`${count(cut, "call")} cut off`);
    if (!parts.length) parts.push("No tool call");
    if (answer.reasoning_text) parts.push("reasoning");
    if (answer.content && !(faults.length && !calls.length)) parts.push("an answer");
    const state = faults.length ? "is-error" : "is-good";
    return h("div", { class: `banner ${state}` },
      h("p", {}, h("b", {}, `${parts.slice(0, -1).join(", ")}${parts.length > 1 ? " and " : ""}${parts.at(-1)}. `),
        h("span", { class: "aside" }, "finish: ", h("code", {}, finish), ` · ${milliseconds < 10 ? milliseconds.toFixed(1) : Math.round(milliseconds)} ms`)));
  }

  #faults({ answer, offsets }) {
    return answer.faults.slice(0, 20).map((fault) => {
      const { title, message, hint, stop, excerpt } = explainFault(fault, answer, offsets);
      const show = linked(h("button", { type: "button", class: "show" }, "Show it in the output"), this.store, ...(stop ?? [fault.start, fault.end]));
      return h("article", { class: "fault-card" },
        h("h3", {}, title),
        h("p", { class: "said" }, message, stop && ` (character ${stop[0]})`),
        excerpt && h("pre", { class: "excerpt", tabIndex: 0, "aria-label": "Where reading stopped", role: "region" }, excerpt[0], h("mark", {}, excerpt[1]), excerpt[2]),
        h("p", { class: "hint" }, hint),
        fault.arguments && h("details", {}, h("summary", {}, "What was read of its arguments"), h("code", { class: "partial" }, fault.arguments)),
        show);
    });
  }
}
