// Every stretch of the output in order, with the diagnostics under the one they belong to.

import { byId, count, h } from "./dom.js";
import { hintOf } from "./faults.js";
import { kindName, linked, stretchAt } from "./links.js";

const MANY = 200;
const EXCERPT = 64;

export class Outline {
  constructor(store) {
    this.store = store;
    this.list = h("ol", { class: "spans" });
    this.summary = h("summary", {}, "Every stretch");
    this.details = h("details", { class: "card outline", open: true }, this.summary, this.list);
    byId("outline").append(this.details);
    store.on(["reading"], () => this.#show());
    this.#show();
  }

  #show() {
    const { reading } = this.store.values;
    this.details.hidden = reading.status !== "done";
    if (reading.status !== "done") return;
    const { answer, offsets } = reading;
    const below = new Map(answer.spans.map((span) => [span, []]));
    for (const diagnostic of answer.diagnostics) {
      const span = stretchAt(answer.spans, diagnostic.start)?.span ?? answer.spans.at(-1);
      below.get(span)?.push(diagnostic);
    }
    this.summary.textContent = `Every stretch (${answer.spans.length}) and what was noticed (${answer.diagnostics.length})`;
    const rows = (spans) => spans.map((span) => this.#row(span, below.get(span), offsets));
    // Where there is something to tell, it is not hidden behind a button.
    const first = answer.spans.filter((span, index) => index < MANY || (below.get(span).length && index < 10 * MANY));
    this.list.replaceChildren(...rows(first));
    if (first.length < answer.spans.length) {
      const button = h("button", { type: "button", class: "more" }, `Show ${count(Math.min(answer.spans.length, 10 * MANY), "stretch").replace("stretchs", "stretches")}`);
      button.addEventListener("click", () => this.list.replaceChildren(...rows(answer.spans.slice(0, 10 * MANY))));
      this.list.append(h("li", {}, button));
    }
  }

  #row(span, diagnostics, offsets) {
    const button = h("button", { type: "button", class: `span-row is-${span.kind}` },
      h("span", { class: "kind" }, kindName(span.kind)),
      h("code", { class: "excerpt-line" }, excerpt(offsets, span)),
      h("span", { class: "place" }, `${span.start}–${span.end}`));
    linked(button, this.store, span.start, span.end);
    return h("li", {}, button, diagnostics.length > 0 && h("ul", { class: "diagnostics" }, diagnostics.map((one) => this.#diagnostic(one))));
  }

  #diagnostic(diagnostic) {
    const button = h("button", { type: "button", class: `diagnostic is-${diagnostic.severity}` },
      h("b", {}, diagnostic.code), h("span", {}, diagnostic.message), hintOf(diagnostic.code) && h("span", { class: "hint" }, hintOf(diagnostic.code)));
    return h("li", {}, linked(button, this.store, diagnostic.start, diagnostic.end));
  }
}

function excerpt(offsets, { start, end }) {
  const text = end - start > EXCERPT ? `${offsets.slice(start, start + EXCERPT - 20)} … ${offsets.slice(end - 16, end)}` : offsets.slice(start, end);
  return text.replaceAll("\n", "↵").replaceAll("\t", "⇥").replaceAll("\r", "␍");
}
