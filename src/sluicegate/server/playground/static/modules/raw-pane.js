// The raw output on the left: typed or pasted by the user, coloured in place.

import { byId, count, grouped } from "./dom.js";
import { describe, stretchAt } from "./links.js";
import { Offsets } from "./offsets.js";
import { Painter } from "./painter.js";
import { stopPlace } from "./faults.js";

/** Longest text, in UTF-16 units, that is edited in place; longer ones are shown in blocks and replaced as a whole. */
const EDITABLE = 100_000;
const KINDS = ["reasoning", "call", "markup", "frame", "fault"];
const PARTS = ["name", "key", "value"];

export class RawPane {
  constructor(store) {
    this.store = store;
    this.input = byId("raw-input");
    this.scroller = byId("raw-scroller");
    this.painter = new Painter(byId("raw-text"));
    this.layers = {};
    this.shown = "";
    this.input.addEventListener("input", () => store.set({ text: this.input.value, chosen: null, linked: null }));
    document.addEventListener("selectionchange", () => this.#caretMoved());
    this.scroller.addEventListener("pointermove", (event) => this.#pointed(event));
    this.scroller.addEventListener("pointerleave", () => store.set({ linked: null }));
    this.scroller.addEventListener("click", (event) => this.#clicked(event));
    this.scroller.addEventListener("paste", (event) => this.#pasted(event));
    store.on(["text"], () => this.#show());
    store.on(["reading", "playhead", "tab"], () => this.#paint());
    store.on(["linked", "chosen", "reading"], () => this.#paintLinks());
    store.on(["chosen"], () => this.#reveal());
    this.#show();
  }

  #show() {
    const text = this.store.get("text");
    // A text area would turn the carriage returns into line feeds.
    this.readOnly = text.length > EDITABLE || text.includes("\r");
    const before = this.shown;
    const old = this.layers;
    this.shown = text;
    document.body.classList.toggle("has-text", text !== "");
    this.scroller.classList.toggle("is-read-only", this.readOnly);
    this.input.hidden = this.readOnly;
    if (this.readOnly) {
      this.scroller.tabIndex = 0;
      this.input.value = "";
    } else {
      this.scroller.removeAttribute("tabindex");
      if (this.input.value !== text) this.input.value = text;
    }
    byId("raw-note").textContent = this.readOnly
      ? text.length > EDITABLE
        ? "A long output is shown, not edited: paste over it, or clear it."
        : "This output has carriage returns. To keep them it is shown, not edited."
      : "";
    this.painter.show(text, { inBlocks: text.length > EDITABLE });
    // Until the new text has been read, what was not touched keeps its colour.
    this.layers = this.readOnly ? {} : moved(old, before, text);
    this.painter.paint(this.layers);
    this.#count();
  }

  #count() {
    const { text } = this.store.values;
    const points = new Offsets(text).length;
    const bytes = new TextEncoder().encode(text).length;
    byId("raw-count").textContent = text ? `${count(points, "character")} · ${count(bytes, "byte")}` : "";
  }

  #paint() {
    const { reading, tab, playhead } = this.store.values;
    if (reading.status !== "done" || reading.offsets.text !== this.shown) {
      if (reading.status === "empty") this.layers = {};
      return;
    }
    const { answer, offsets } = reading;
    const layers = Object.fromEntries([...KINDS, ...PARTS, "problem", "warning", "stop"].map((name) => [name, []]));
    const unit = (point) => offsets.unit(point);
    for (const span of answer.spans) {
      layers[span.kind]?.push([unit(span.start), unit(span.end)]);
      for (const part of span.parts ?? []) layers[part.kind]?.push([unit(part.start), unit(part.end)]);
    }
    for (const diagnostic of answer.diagnostics) {
      if (diagnostic.code === "no_parser") continue;
      const layer = diagnostic.severity === "error" ? "problem" : "warning";
      layers[layer].push([unit(diagnostic.start), unit(diagnostic.end)]);
    }
    for (const fault of answer.faults) {
      const place = stopPlace(fault, offsets);
      if (place) layers.stop.push([unit(place[0]), unit(place[1])]);
    }
    layers.unfed = [];
    layers.held = [];
    if (tab === "stream" && playhead) {
      layers.unfed = [[unit(playhead.fed), this.shown.length]];
      layers.held = playhead.held.map(([start, end]) => [unit(start), unit(end)]);
    }
    this.layers = layers;
    this.painter.paint(layers);
  }

  #paintLinks() {
    const { reading, linked, chosen } = this.store.values;
    const { offsets, answer } = reading;
    const units = (range) => (range && offsets ? [[offsets.unit(range[0]), offsets.unit(range[1])]] : []);
    this.painter.paint({ linked: units(linked), chosen: units(chosen) });
    const range = linked ?? chosen;
    const words = range && answer ? describe(answer, range) : "";
    byId("inspector").textContent = words
      ? `${words} · characters ${grouped(range[0])} to ${grouped(range[1])} (${grouped(range[1] - range[0])})`
      : offsets
        ? "Point at the output, or move through it, to see what is what."
        : "";
  }

  /** Bring what was chosen among the results into view. */
  #reveal() {
    const { reading, chosen, chosenBy } = this.store.values;
    if (!chosen || chosenBy !== "result" || reading.status !== "done") return;
    const [start, end] = chosen.map((point) => reading.offsets.unit(point));
    if (!this.readOnly) this.input.setSelectionRange(start, end);
    const here = this.painter.liveRange(start, end);
    const box = this.scroller.getBoundingClientRect();
    const target = here.getBoundingClientRect();
    if (target.top < box.top || target.bottom > box.bottom) {
      this.scroller.scrollBy({ top: target.top - box.top - Math.max(24, (box.height - target.height) / 3) });
    }
  }

  /** The code point under the pointer, -1 if there is none. */
  #pointAt(event) {
    const { reading } = this.store.values;
    if (reading.status !== "done" || reading.offsets.text !== this.shown) return -1;
    const place = caretAt(event.clientX, event.clientY);
    if (!place) return -1;
    const unit = this.input.contains(place.node) || place.node === this.input ? place.offset : this.painter.offsetOf(place.node, place.offset);
    return unit < 0 ? -1 : reading.offsets.point(unit);
  }

  /** What is there: a token while the tokens are shown, else the innermost stretch. */
  #rangeAt(point) {
    if (point < 0) return null;
    const { tokenAt, reading } = this.store.values;
    if (tokenAt) return tokenAt(point);
    const found = stretchAt(reading.answer.spans, point);
    return found && [found.start, found.end];
  }

  #pointed(event) {
    if (event.buttons) return;
    this.store.set({ linked: this.#rangeAt(this.#pointAt(event)) });
  }

  #clicked(event) {
    if (!this.readOnly) return;
    this.#choose(this.#pointAt(event));
  }

  #caretMoved() {
    const { reading, chosenBy } = this.store.values;
    if (document.activeElement !== this.input || reading.status !== "done" || reading.offsets.text !== this.shown) return;
    if (this.input.selectionStart !== this.input.selectionEnd) return;
    if (chosenBy === "result") this.store.set({ chosenBy: "text" });
    this.#choose(reading.offsets.point(this.input.selectionStart));
  }

  #choose(point) {
    this.store.set({ chosenBy: "text", chosen: this.#rangeAt(point) });
  }

  #pasted(event) {
    if (!this.readOnly) return;
    event.preventDefault();
    this.store.set({ text: event.clipboardData.getData("text/plain"), chosen: null, linked: null });
  }
}

function caretAt(x, y) {
  if (document.caretPositionFromPoint) {
    const found = document.caretPositionFromPoint(x, y);
    return found && { node: found.offsetNode, offset: found.offset };
  }
  const range = document.caretRangeFromPoint?.(x, y);
  return range && { node: range.startContainer, offset: range.startOffset };
}

/** The layers of a text after an edit: what stood behind the edit moves, what it touched grows or shrinks. */
function moved(layers, before, after) {
  const most = Math.min(before.length, after.length);
  let head = 0;
  while (head < most && before[head] === after[head]) head += 1;
  let tail = 0;
  while (tail < most - head && before[before.length - 1 - tail] === after[after.length - 1 - tail]) tail += 1;
  if (head + tail === 0) return {};
  const change = after.length - before.length;
  const place = (offset) => (offset <= head ? offset : offset >= before.length - tail ? offset + change : Math.min(offset, after.length - tail));
  return Object.fromEntries(
    Object.entries(layers).map(([name, ranges]) => [name, ranges.map(([start, end]) => [place(start), place(end)])]),
  );
}
