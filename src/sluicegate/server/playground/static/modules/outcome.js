// Reasoning, answer and calls: what a caller gets.

import { byId, grouped, h } from "./dom.js";
import { jsonTree } from "./json-tree.js";
import { linked, markElements } from "./links.js";
import { checkCall } from "./schema-check.js";

/** Most code points of a text, and most calls, that are shown before one asks for more. */
const LONG_TEXT = 6000;
const MANY_CALLS = 100;
/** Code points from which on a text may not fit its card. */
const SCROLLED = 300;

export class Outcome {
  constructor(store) {
    this.store = store;
    this.root = byId("outcome");
    store.on(["reading"], () => this.#show());
    store.on(["linked", "chosen"], () => markElements(byId("panel-parse"), store));
  }

  #show() {
    const { reading } = this.store.values;
    if (reading.status !== "done") {
      if (reading.status === "empty" || reading.status === "failed") this.root.replaceChildren();
      return;
    }
    const { answer, offsets } = reading;
    const first = (kind) => answer.spans.find((span) => span.kind === kind);
    const cards = [];
    if (answer.reasoning_text) cards.push(this.#text("Reasoning", "reasoning", answer.reasoning_text, first("reasoning")));
    if (answer.content) {
      const card = this.#text("Answer", "content", answer.content, first("content"));
      const stays = answer.faults.length && !answer.tool_calls.length;
      if (stays) card.append(h("p", { class: "aside" }, "Nothing is dropped: as no call could be read, the block stays in the answer."));
      cards.push(card);
    }
    cards.push(...this.#calls(answer, offsets));
    this.root.replaceChildren(...cards);
  }

  #text(title, kind, text, span) {
    const heading = h("h3", {}, title);
    // What may have to be scrolled is reached by the keyboard, too.
    const body = h("p", { class: "prose", ...(text.length > SCROLLED && { tabIndex: 0 }) }, text.slice(0, LONG_TEXT));
    const card = h("article", { class: `card is-${kind}` }, heading, body);
    if (text.length > LONG_TEXT) {
      card.append(more(`Show all ${grouped(text.length)} characters`, () => (body.textContent = text)));
    }
    if (span) heading.append(this.#jump(span, title.toLowerCase()));
    return card;
  }

  #calls(answer, offsets) {
    const spans = answer.spans.filter((span) => span.kind === "call");
    const of = (index) => spans.filter((span) => span.call === index);
    const card = (call, index) => this.#call(call, index, answer.tool_calls.length > MANY_CALLS ? [spans[index]] : of(index), offsets);
    const cards = answer.tool_calls.slice(0, MANY_CALLS).map(card);
    if (answer.tool_calls.length > MANY_CALLS) {
      const rest = more(`Show all ${grouped(answer.tool_calls.length)} calls`, () =>
        this.root.append(...answer.tool_calls.slice(MANY_CALLS).map((call, index) => card(call, index + MANY_CALLS))));
      cards.push(rest);
    }
    return cards;
  }

  #call(call, index, spans, offsets) {
    const parts = spans.flatMap((span) => span?.parts ?? []);
    const name = parts.find((part) => part.kind === "name");
    const label = h("button", { type: "button", class: "call-name" }, call.function.name);
    if (name) linked(label, this.store, name.start, name.end);
    const keys = parts.filter((part) => part.kind === "key");
    const values = parts.filter((part) => part.kind === "value");
    let next = 0;
    const tree = jsonTree(call.function.arguments, (key, keyElement, valueElement) => {
      let at = keys.findIndex((part) => spelt(offsets.slice(part.start, part.end)) === key);
      if (at < 0) at = next;
      next = at + 1;
      if (keys[at]) linked(keyElement, this.store, keys[at].start, keys[at].end);
      if (values[at]) linked(valueElement, this.store, values[at].start, values[at].end);
    });
    const heading = h("h3", {}, h("span", { class: "ordinal" }, `Call ${index + 1}`), label);
    if (spans[0]) heading.append(this.#jump(spans[0], `call ${index + 1}`));
    const problems = checkCall(call, this.store.get("reading").request.tools);
    return h("article", { class: "card is-call" }, heading, tree,
      problems.length > 0 && h("ul", { class: "misfits" }, problems.map((problem) => h("li", {}, `Schema: ${problem}.`))),
      h("details", {}, h("summary", {}, "As JSON text"), h("code", { class: "partial" }, call.function.arguments)));
  }

  #jump(span, what) {
    return linked(h("button", { type: "button", class: "show", "aria-label": `Show the ${what} in the output` }, "show"), this.store, span.start, span.end);
  }
}

/** A key without the quotes it may stand in. */
function spelt(key) {
  try {
    return String(JSON.parse(key));
  } catch {
    return key.replace(/^['"]|['"]$/g, "");
  }
}

function more(label, show) {
  const button = h("button", { type: "button", class: "more" }, label);
  button.addEventListener("click", () => {
    button.remove();
    show();
  });
  return button;
}
